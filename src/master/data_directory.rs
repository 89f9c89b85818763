//! The directory that holds everything a `serve` keeps, and the lock that lets one process at a time have it.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

const LOCK_FILE: &str = "ferrymaster.lock";

#[derive(Debug, thiserror::Error)]
pub enum DataDirectoryError {
    #[error("cannot make the data directory {path}")]
    Make {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("cannot lock the data directory {path}")]
    Lock {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error(
        "another ferrymaster is using the data directory {path}: stop it first, or give this one another --data-dir"
    )]
    InUse { path: PathBuf },
}

/// A data directory that this process has for itself. The lock is the system's own: it ends with the process, however
/// that ends, and a copy of the directory is not locked.
#[derive(Debug)]
pub struct DataDirectory {
    path: PathBuf,
    _lock: File,
}

impl DataDirectory {
    /// Makes the directory when there is none.
    pub fn lock(path: &Path) -> Result<Self, DataDirectoryError> {
        let owned = || path.to_owned();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|cause| DataDirectoryError::Make { path: owned(), cause })?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path.join(LOCK_FILE))
            .map_err(|cause| DataDirectoryError::Lock { path: owned(), cause })?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(DataDirectoryError::InUse { path: owned() }),
            Err(TryLockError::Error(cause)) => Err(DataDirectoryError::Lock { path: owned(), cause }),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_directory_is_made_for_its_owner_and_held_by_one_process() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a/b");
        let held = DataDirectory::lock(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        let error = DataDirectory::lock(&path).unwrap_err();
        assert!(error.to_string().contains("another ferrymaster is using"), "{error}");
        drop(held);
        DataDirectory::lock(&path).unwrap();
    }

    #[test]
    fn a_copy_is_nobody_s_yet() {
        let place = tempfile::tempdir().unwrap();
        let _held = DataDirectory::lock(&place.path().join("one")).unwrap();
        std::fs::create_dir(place.path().join("two")).unwrap();
        std::fs::copy(place.path().join("one").join(LOCK_FILE), place.path().join("two").join(LOCK_FILE)).unwrap();
        DataDirectory::lock(&place.path().join("two")).unwrap();
    }

    #[test]
    fn a_path_that_cannot_be_a_directory_is_named() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("file"), "").unwrap();
        let error = DataDirectory::lock(&place.path().join("file/below")).unwrap_err();
        assert!(matches!(error, DataDirectoryError::Make { .. }), "{error}");
    }
}
