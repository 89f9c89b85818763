//! House rules that the compiler does not hold: which module may use which, how long a file may be, and what no tracked
//! file may say. Each rule lists all of its breaches at once.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails, and says why")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

/// What each module may use besides itself and [`SHARED`]. A new module needs a line here, which is the moment to think
/// about where it stands.
const MAY_USE: &[(&str, &[&str])] = &[
    // the control plane
    ("api", &["metastore", "registry", "probe", "secrets", "reconciler"]), // the reconciler only to wake it
    ("reconciler", &["scheduler", "registry", "metastore", "probe", "link"]),
    ("probe", &["mysql", "filter", "route", "ledger"]),
    ("link", &["registry", "metastore"]),
    ("scheduler", &[]),
    ("registry", &["metastore"]),
    ("metastore", &["secrets"]),
    // the data plane
    (
        "worker",
        &[
            "snapshot",
            "load",
            "replicate",
            "validate",
            "binlog",
            "ddl",
            "catalogue",
            "ledger",
            "filter",
            "route",
            "mysql",
            "link",
        ],
    ),
    ("snapshot", &["mysql", "filter", "route", "ledger"]),
    ("load", &["mysql", "filter", "route", "ledger"]),
    ("replicate", &["binlog", "ddl", "catalogue", "mysql", "filter", "route", "ledger"]),
    ("validate", &["mysql", "filter", "route"]),
    ("binlog", &[]),
    ("ddl", &[]),
    ("catalogue", &["ddl", "binlog", "mysql"]),
    ("ledger", &["mysql"]),
    ("filter", &[]),
    ("route", &["filter"]), // for the patterns
    ("mysql", &[]),
    ("secrets", &[]),
    ("cli", &[]),
];

/// Plain data and the like: everybody may use these, and they each other.
const SHARED: &[&str] = &["model", "error", "config", "telemetry", "shutdown", "faults"];

/// The map, the roles, the wiring: these may use anything.
const ROOTS: &[&str] = &["lib", "main", "master"];

/// Crates that only one module names, so that changing them is a change of one module.
const ONLY_IN: &[(&str, &str)] = &[("mysql_async", "mysql"), ("sqlx", "metastore")];

/// A file longer than this holds more than one idea.
const LINES_MAX: usize = 700;

#[test]
fn modules_use_only_what_they_may() {
    let paths = Regex::new(r"\bcrate::(?:\{([^;]*)\}|([a-z_]+))").unwrap();
    let mut breaches = BTreeSet::new();
    for file in rust_files("src").into_iter().filter(|file| !is_of_tests(file)) {
        let module = module_of(&file);
        if ROOTS.contains(&module.as_str()) {
            continue;
        }
        let allowed: &[&str] = match MAY_USE.iter().find(|(name, _)| *name == module) {
            Some((_, allowed)) => allowed,
            None if SHARED.contains(&module.as_str()) => &[],
            None => {
                breaches.insert(format!("{module} is not in the table of tests/tidy.rs"));
                continue;
            }
        };
        for found in paths.captures_iter(&code_of(&file)) {
            let used = match (found.get(1), found.get(2)) {
                (Some(group), _) => first_names(group.as_str()),
                (_, Some(name)) => vec![name.as_str().to_owned()],
                (None, None) => continue,
            };
            for used in used {
                if used != module && !SHARED.contains(&used.as_str()) && !allowed.contains(&used.as_str()) {
                    breaches.insert(format!("{}: {module} may not use {used}", shown(&file)));
                }
            }
        }
    }
    none_of(&breaches);
}

#[test]
fn a_driver_is_named_by_its_own_module_only() {
    let mut breaches = BTreeSet::new();
    for file in rust_files("src").into_iter().filter(|file| !is_of_tests(file)) {
        let code = code_of(&file);
        for (crate_name, home) in ONLY_IN {
            if module_of(&file) != *home && Regex::new(&format!(r"\b{crate_name}\b")).unwrap().is_match(&code) {
                breaches.insert(format!("{}: only src/{home} names {crate_name}", shown(&file)));
            }
        }
    }
    none_of(&breaches);
}

#[test]
fn every_module_says_what_it_is() {
    let begins = rust_files("src").into_iter().filter(|file| !is_of_tests(file));
    none_of(
        &begins
            .filter(|file| !fs::read_to_string(file).unwrap().starts_with("//!"))
            .map(|file| format!("{}: does not begin with a `//!` comment", shown(&file)))
            .collect(),
    );
}

#[test]
fn no_file_is_longer_than_one_idea() {
    let long = rust_files("src").into_iter().chain(rust_files("tests")).filter_map(|file| {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        (lines > LINES_MAX).then(|| format!("{}: {lines} lines, at most {LINES_MAX}", shown(&file)))
    });
    none_of(&long.collect());
}

#[test]
fn tests_wait_for_states_and_not_for_a_length_of_time() {
    let sleeping = Regex::new(r"\bsleep\(").unwrap();
    let breaches =
        rust_files("tests").into_iter().filter(|file| !file.components().any(|part| part.as_os_str() == "support"));
    none_of(
        &breaches
            .filter(|file| sleeping.is_match(&code_of(file)))
            .map(|file| format!("{}: sleeps; see tests/support/wait.rs", shown(&file)))
            .collect(),
    );
}

#[test]
fn no_tracked_file_names_a_path_of_one_machine() {
    // Put together here, so that this file does not break its own rule.
    let roots = [["wo", "rk"].concat(), ["fa", "rm"].concat(), ["ro", "ot"].concat()].join("|");
    let machine = Regex::new(&format!(r"(^|[^A-Za-z0-9_./-])/({roots})/[A-Za-z0-9.]")).unwrap();
    let outside = ["..", "shared"].join("/");
    let mut breaches = BTreeSet::new();
    for file in tracked_files() {
        // What is no text holds no path that anybody reads.
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for (number, line) in text.lines().enumerate() {
            if machine.is_match(line) || line.contains(&outside) {
                breaches.insert(format!("{}:{}: {}", shown(&file), number + 1, line.trim()));
            }
        }
    }
    none_of(&breaches);
}

#[test]
fn the_rules_see_what_they_forbid() {
    assert_eq!(code_without_comments("a // b\n\"crate::x // \\\" y\" /* c\n */ d"), "a \n\"\"  d");
    assert_eq!(code_without_comments("'\"' r#\"crate::x\"# 'a 'x'"), "' ' r\"\" 'a ' '");
    assert_eq!(first_names("a, b::{c, d}, e::f::g as h"), ["a", "b", "e"]);
    assert_eq!(module_of(&root().join("src/api/tasks/mod.rs")), "api");
    assert_eq!(module_of(&root().join("src/error.rs")), "error");
    assert!(rust_files("src").len() > 5 && tracked_files().len() > 20);
}

#[track_caller]
fn none_of(breaches: &BTreeSet<String>) {
    let list: Vec<_> = breaches.iter().map(String::as_str).collect();
    assert!(list.is_empty(), "\n{}", list.join("\n"));
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn shown(file: &Path) -> String {
    file.strip_prefix(root()).unwrap_or(file).display().to_string()
}

/// The room that a file under `src/` belongs to.
fn module_of(file: &Path) -> String {
    let inside = file.strip_prefix(root().join("src")).unwrap();
    let first = inside.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// Whether a file under `src/` holds nothing but unit tests, which may put several rooms together.
fn is_of_tests(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
}

fn rust_files(under: &str) -> Vec<PathBuf> {
    let mut files = files_under(&root().join(under), |_| true);
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files
}

fn files_under(directory: &Path, enters: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_dir() {
                files.push(path);
            } else if enters(&path) {
                open.push(path);
            }
        }
    }
    files.sort();
    files
}

/// What git tracks; where git cannot tell (an unpacked archive), all files but those of builds.
fn tracked_files() -> Vec<PathBuf> {
    let listing = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    match listing {
        Ok(output) if output.status.success() => {
            let names = String::from_utf8(output.stdout).unwrap();
            let files = names.split('\0').filter(|name| !name.is_empty()).map(|name| root().join(name));
            files.filter(|file| file.is_file()).collect()
        }
        _ => files_under(&root(), |path| !path.ends_with("target") && !path.ends_with(".git")),
    }
}

fn code_of(file: &Path) -> String {
    code_without_comments(&fs::read_to_string(file).unwrap())
}

/// The text with comments taken out and strings emptied: what is left is what the compiler reads as names.
fn code_without_comments(text: &str) -> String {
    let parts =
        Regex::new(r##"(?s)//[^\n]*|/\*.*?\*/|r#"(?:.*?)"#|r"[^"]*"|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'"##).unwrap();
    parts
        .replace_all(text, |found: &regex::Captures<'_>| match found[0].chars().next() {
            Some('"') => "\"\"",
            Some('r') => "r\"\"",
            Some('\'') => "' '",
            _ => "",
        })
        .into_owned()
}

/// The first names in the inside of a `use crate::{…}` group.
fn first_names(group: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut depth = 0;
    let mut item = String::new();
    for letter in group.chars().chain([',']) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let name: String = item.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if !name.is_empty() {
                    names.push(name);
                }
                item.clear();
                continue;
            }
            _ => {}
        }
        item.push(letter);
    }
    names
}
