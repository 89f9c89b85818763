//! How a database is reached.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

/// A database server and the account used there. Formatting it never shows a secret; serialising it does (the
/// worker link carries it, the metastore seals it), so never serialise it into a log or an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Endpoint {
    pub host: String,
    pub port: u16,
    pub user: String,
    #[serde(serialize_with = "expose")]
    pub password: SecretString,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
}

/// TLS material as PEM text. An empty string means "not given".
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tls {
    pub ca: String,
    pub certificate: String,
    #[serde(serialize_with = "expose")]
    pub key: SecretString,
    /// Common names of which the server's certificate must carry one; empty: the host name is checked as usual.
    #[serde(default)]
    pub allowed_common_names: Vec<String>,
}

fn expose<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

impl Endpoint {
    /// Whether both name the same account on the same server.
    pub fn same_account(&self, other: &Self) -> bool {
        self.host == other.host && self.port == other.port && self.user == other.user
    }
}

/// `user@host:port`, with brackets round an IPv6 address.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "{}@[{}]:{}", self.user, self.host, self.port)
        } else {
            write!(f, "{}@{}:{}", self.user, self.host, self.port)
        }
    }
}
