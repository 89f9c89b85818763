//! Seals one secret for one row.
//!
//! The row's identity is authenticated along with the secret, so a sealed text that is copied into another row does
//! not open there. The surprise: sealing the same secret twice gives two texts, so sealed texts are never compared.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use chacha20poly1305::aead::{Aead, Generate, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

/// Stands before every sealed text, so that another way of sealing can be told apart later.
const PREFIX: &str = "x1:";
const NONCE_BYTES: usize = 24;

#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error("cannot seal the secret of {row}")]
    Seal { row: String },
    #[error("the stored secret of {row} is damaged: {reason}")]
    Damaged { row: String, reason: &'static str },
    #[error("the stored secret of {row} was not sealed with this installation's key, or belongs to another row")]
    WrongKey { row: String },
}

/// Holds the installation's key; cheap to share behind an `Arc`.
pub struct Sealer {
    cipher: XChaCha20Poly1305,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer")
    }
}

impl Sealer {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        Self { cipher: XChaCha20Poly1305::new(key.into()) }
    }

    /// Seals `secret` for `row` (for example `sources/mysql-1/password`).
    pub fn seal(&self, row: &str, secret: &SecretString) -> Result<String, SealError> {
        let failed = || SealError::Seal { row: row.to_owned() };
        let nonce = XNonce::try_generate().map_err(|_| failed())?;
        let payload = Payload { msg: secret.expose_secret().as_bytes(), aad: row.as_bytes() };
        let sealed = self.cipher.encrypt(&nonce, payload).map_err(|_| failed())?;
        let mut bytes = nonce.to_vec();
        bytes.extend_from_slice(&sealed);
        Ok(format!("{PREFIX}{}", BASE64.encode(bytes)))
    }

    /// Opens what [`Sealer::seal`] gave for the same row.
    pub fn open(&self, row: &str, sealed: &str) -> Result<SecretString, SealError> {
        let damaged = |reason| SealError::Damaged { row: row.to_owned(), reason };
        let text = sealed.strip_prefix(PREFIX).ok_or_else(|| damaged("unknown kind of sealing"))?;
        let bytes = BASE64.decode(text).map_err(|_| damaged("not base64"))?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_BYTES).ok_or_else(|| damaged("too short"))?;
        let nonce = XNonce::try_from(nonce).map_err(|_| damaged("too short"))?;
        let plain = self
            .cipher
            .decrypt(&nonce, Payload { msg: sealed, aad: row.as_bytes() })
            .map_err(|_| SealError::WrongKey { row: row.to_owned() })?;
        let plain = Zeroizing::new(plain);
        let text = std::str::from_utf8(&plain).map_err(|_| damaged("not text"))?;
        Ok(SecretString::from(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer(byte: u8) -> Sealer {
        Sealer::new(&[byte; 32])
    }

    #[test]
    fn a_sealed_secret_opens_in_its_own_row() {
        let sealed = sealer(1).seal("sources/a/password", &SecretString::from("geheim ü")).unwrap();
        assert!(!sealed.contains("geheim"));
        assert_eq!(sealer(1).open("sources/a/password", &sealed).unwrap().expose_secret(), "geheim ü");
    }

    #[test]
    fn a_sealed_secret_opens_in_no_other_row_and_under_no_other_key() {
        let sealed = sealer(1).seal("sources/a/password", &SecretString::from("x")).unwrap();
        assert!(matches!(sealer(1).open("sources/b/password", &sealed), Err(SealError::WrongKey { .. })));
        assert!(matches!(sealer(2).open("sources/a/password", &sealed), Err(SealError::WrongKey { .. })));
    }

    #[test]
    fn damaged_text_is_named_and_does_not_panic() {
        for text in ["", "x1:", "x1:AAAA", "x1:%%%", "plain"] {
            assert!(matches!(sealer(1).open("r", text), Err(SealError::Damaged { .. })), "{text}");
        }
    }

    #[test]
    fn an_empty_secret_is_a_secret() {
        let sealed = sealer(1).seal("r", &SecretString::from("")).unwrap();
        assert_eq!(sealer(1).open("r", &sealed).unwrap().expose_secret(), "");
    }
}
