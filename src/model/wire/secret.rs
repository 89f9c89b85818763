//! A password or key as it came in over the wire.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What stands in place of a secret in every answer. Sent back by a client it means "unchanged".
pub const MASK: &str = "******";

/// Reads as text, and writes, prints and stores as [`MASK`].
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(SecretString::from(text.into()))
    }

    /// The mask itself: what an answer shows of a secret that is stored elsewhere.
    pub fn masked() -> Self {
        Self::new(MASK)
    }

    /// Whether the client sent the mask back.
    pub fn is_mask(&self) -> bool {
        self.0.expose_secret() == MASK
    }

    pub fn is_empty(&self) -> bool {
        self.0.expose_secret().is_empty()
    }

    /// The secret, for the endpoint that is connected to.
    pub fn into_inner(self) -> SecretString {
        self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// An empty secret stays visibly empty: it says that none is set, and a GET then PUT must not set one.
impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if self.is_empty() { "" } else { MASK })
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The reader's own message would repeat what stands there.
        String::deserialize(deserializer).map(Self::new).map_err(|_| D::Error::custom("expected a string"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_shows_when_printed_or_serialised() {
        let secret = Secret::new("p@ss:w/o#r?d");
        assert_eq!(format!("{secret:?}"), MASK);
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"******\"");
    }

    #[test]
    fn an_empty_secret_stays_empty() {
        assert_eq!(serde_json::to_string(&Secret::new("")).unwrap(), "\"\"");
    }
}
