//! A database account at rest: its secrets sealed for the row they stand in.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::model::{Endpoint, Tls};
use crate::secrets::{SealError, Sealer};

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::metastore) struct StoredEndpoint {
    host: String,
    port: u16,
    user: String,
    sealed_password: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tls: Option<StoredTls>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredTls {
    ca: String,
    certificate: String,
    sealed_key: String,
    #[serde(default)]
    allowed_common_names: Vec<String>,
}

impl StoredEndpoint {
    /// `row` names the row and column, for example `sources/mysql-1`.
    pub(super) fn seal(row: &str, endpoint: &Endpoint, sealer: &Sealer) -> Result<Self, SealError> {
        let tls = match &endpoint.tls {
            Some(tls) => Some(StoredTls {
                ca: tls.ca.clone(),
                certificate: tls.certificate.clone(),
                sealed_key: sealer.seal(&key_row(row), &tls.key)?,
                allowed_common_names: tls.allowed_common_names.clone(),
            }),
            None => None,
        };
        Ok(Self {
            host: endpoint.host.clone(),
            port: endpoint.port,
            user: endpoint.user.clone(),
            sealed_password: sealer.seal(&password_row(row), &endpoint.password)?,
            tls,
        })
    }

    pub(super) fn open(self, row: &str, sealer: &Sealer) -> Result<Endpoint, SealError> {
        let tls = match self.tls {
            Some(tls) => Some(Tls {
                ca: tls.ca,
                certificate: tls.certificate,
                key: sealer.open(&key_row(row), &tls.sealed_key)?,
                allowed_common_names: tls.allowed_common_names,
            }),
            None => None,
        };
        let password: SecretString = sealer.open(&password_row(row), &self.sealed_password)?;
        Ok(Endpoint { host: self.host, port: self.port, user: self.user, password, tls })
    }
}

fn password_row(row: &str) -> String {
    format!("{row}/password")
}

fn key_row(row: &str) -> String {
    format!("{row}/tls_key")
}
