//! The file that holds the installation's sealing key: made once, readable by its owner only.
//!
//! The surprise: a missing file is simply made anew. That a lost key is not replaced in silence is the metastore's
//! part: it keeps a text sealed with the first key, and refuses to open under another.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::{Generate as _, Key};
use zeroize::Zeroizing;

use super::Sealer;

/// Its name in the data directory.
pub const KEY_FILE: &str = "ferrymaster.key";

#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("cannot read the key file {path}")]
    Read {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("cannot make the key file {path}")]
    Create {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("the key file {path} may be read by others (mode {mode:04o}); run: chmod 600 {path}")]
    Permissions { path: PathBuf, mode: u32 },
    #[error("the key file {path} does not hold a key: {reason}")]
    Content { path: PathBuf, reason: &'static str },
}

impl Sealer {
    /// Opens the key file in `directory`, or makes it when there is none.
    pub fn open_or_create(directory: &Path) -> Result<Self, KeyFileError> {
        let path = directory.join(KEY_FILE);
        match File::open(&path) {
            Ok(file) => read(&path, file),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => create(&path),
            Err(cause) => Err(KeyFileError::Read { path, cause }),
        }
    }
}

fn read(path: &Path, mut file: File) -> Result<Sealer, KeyFileError> {
    let unreadable = |cause| KeyFileError::Read { path: path.to_owned(), cause };
    let unusable = |reason| KeyFileError::Content { path: path.to_owned(), reason };
    let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeyFileError::Permissions { path: path.to_owned(), mode });
    }
    let mut text = Zeroizing::new(String::new());
    file.read_to_string(&mut text).map_err(unreadable)?;
    let bytes = Zeroizing::new(BASE64.decode(text.trim()).map_err(|_| unusable("it is not base64"))?);
    let key: &[u8; 32] = bytes.as_slice().try_into().map_err(|_| unusable("it is not 32 bytes long"))?;
    Ok(Sealer::new(key))
}

/// Written under another name first: a crash half-way leaves no file that looks like a key.
fn create(path: &Path) -> Result<Sealer, KeyFileError> {
    let failed = |cause| KeyFileError::Create { path: path.to_owned(), cause };
    let key = Key::<XChaCha20Poly1305>::try_generate()
        .map_err(|_| failed(io::Error::other("the system gave no random numbers")))?;
    let bytes = Zeroizing::new(<[u8; 32]>::from(key));
    let text = Zeroizing::new(format!("{}\n", BASE64.encode(bytes.as_slice())));
    let draft = path.with_extension("key.new");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    std::fs::rename(&draft, path).map_err(failed)?;
    if let Some(directory) = path.parent() {
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
    }
    Ok(Sealer::new(&bytes))
}

#[cfg(test)]
mod tests {
    use secrecy::{ExposeSecret as _, SecretString};

    use super::*;

    #[test]
    fn the_key_is_made_once_and_opens_later_what_it_sealed() {
        let directory = tempfile::tempdir().unwrap();
        let sealed = Sealer::open_or_create(directory.path()).unwrap().seal("r", &SecretString::from("s")).unwrap();
        let again = Sealer::open_or_create(directory.path()).unwrap();
        assert_eq!(again.open("r", &sealed).unwrap().expose_secret(), "s");
        let mode = std::fs::metadata(directory.path().join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_key_file_that_others_may_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        Sealer::open_or_create(directory.path()).unwrap();
        let path = directory.path().join(KEY_FILE);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = Sealer::open_or_create(directory.path()).unwrap_err();
        assert!(error.to_string().contains("mode 0640"), "{error}");
    }

    #[test]
    fn a_file_that_holds_no_key_is_named_and_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(KEY_FILE);
        std::fs::write(&path, "c2hvcnQ=").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(Sealer::open_or_create(directory.path()), Err(KeyFileError::Content { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "c2hvcnQ=");
    }
}
