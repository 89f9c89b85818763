//! Sealing of passwords and keys at rest, and masking of them in what is shown.
//!
//! In: a secret and the row it belongs to. Out: text that only this installation's key opens, and only in that row.
//! Never here: a secret in an error, a log line or a `Debug` output.

mod key_file;
mod mask;
mod seal;

pub use key_file::{KEY_FILE, KeyFileError};
pub use mask::{MASK, is_mask};
pub use seal::{SealError, Sealer};
