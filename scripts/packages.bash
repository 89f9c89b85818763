# Sourced by the scripts beside it: installing what is missing from the distribution (Debian, Ubuntu), with sudo when not
# root. Every script says by its own name what it does.

script_name=$(basename "$0")

fail() {
    echo "$script_name: $*" >&2
    exit 1
}

say() {
    echo "$script_name: $*" >&2
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@" >&2
}

apt_install() {
    say "installing $*"
    apt_get update
    apt_get install -y --no-install-recommends "$@"
}

# Whether all of these commands are there. (`command -v` of several is content with one.)
have() {
    local name
    for name in "$@"; do command -v "$name" >/dev/null || return 1; done
}

# A C compiler and what crates with C code build by; the Rust toolchain is the one thing that is expected to be there.
need_compiler() {
    have cargo || fail "cargo is missing: install Rust first (https://rustup.rs)"
    if ! have cc make; then apt_install build-essential; fi
}

# need_command COMMAND [PACKAGE]: installs the package (by default of the same name) unless the command is there.
need_command() {
    if ! have "$1"; then apt_install "${2:-$1}"; fi
}
