//! From what a client sent of a server to an [`Endpoint`] with its secrets, and what a mask stands for.
//!
//! The surprise: a masked or absent secret is taken from the stored endpoint only while host, port and user are the
//! stored ones. Otherwise changing the host would send the password to wherever the caller says.

use secrecy::SecretString;

use super::faults::common;
use crate::error::Fault;
use crate::model::wire::{Secret, Security};
use crate::model::{Endpoint, Tls};

/// What a client sent of a server.
pub struct SentEndpoint<'a> {
    /// Where in the body it stood, for hints: `source` or `task.target_config`.
    pub field: &'static str,
    pub host: &'a str,
    pub port: u16,
    pub user: &'a str,
    /// None: left out.
    pub password: Option<&'a Secret>,
    pub security: Option<&'a Security>,
}

impl SentEndpoint<'_> {
    /// The endpoint, with secrets that were not sent taken from `stored`. A new one has nothing stored.
    pub fn resolve(&self, stored: Option<&Endpoint>) -> Result<Endpoint, Fault> {
        let field = self.field;
        if self.host.trim().is_empty() {
            return Err(common(
                format!("{field}.host is empty"),
                format!("`{field}.host`: expected a host name or address"),
            ));
        }
        for (part, text) in [("host", self.host), ("user", self.user)] {
            if text.chars().any(char::is_control) {
                return Err(common(
                    format!("{field}.{part} {text:?} has a control character"),
                    format!("`{field}.{part}`: expected a name without control characters"),
                ));
            }
        }
        if self.port == 0 {
            return Err(common(
                format!("{field}.port is 0"),
                format!("`{field}.port`: expected a port from 1 to 65535"),
            ));
        }
        let mut endpoint = Endpoint {
            host: self.host.to_owned(),
            port: self.port,
            user: self.user.to_owned(),
            password: SecretString::default(),
            tls: None,
        };
        let stored = stored.map(|stored| Stored { same_account: stored.same_account(&endpoint), endpoint: stored });
        endpoint.password = self.password(stored.as_ref())?;
        endpoint.tls = self.tls(stored.as_ref())?;
        Ok(endpoint)
    }

    fn password(&self, stored: Option<&Stored<'_>>) -> Result<SecretString, Fault> {
        match (self.password, stored) {
            (Some(password), _) if !password.is_mask() => Ok(password.clone().into_inner()),
            (None, None) => Ok(SecretString::default()),
            (_, Some(stored)) if stored.same_account => Ok(stored.endpoint.password.clone()),
            (_, Some(_)) => Err(self.moved("password")),
            (Some(_), None) => Err(self.masked("password")),
        }
    }

    fn tls(&self, stored: Option<&Stored<'_>>) -> Result<Option<Tls>, Fault> {
        let Some(security) = self.security else { return Ok(None) };
        let field = self.field;
        let names = security.cert_allowed_cn.clone().unwrap_or_default();
        if !names.is_empty() {
            return Err(common(
                format!("{field}.security.cert_allowed_cn is not built yet"),
                format!("leave `{field}.security.cert_allowed_cn` out: the server's host name is checked"),
            ));
        }
        let has_key = !security.ssl_key_content.is_empty();
        if has_key == security.ssl_cert_content.is_empty() {
            return Err(common(
                format!("{field}.security has a client certificate without its key, or a key without a certificate"),
                format!("give both or neither of `{field}.security.ssl_cert_content` and `ssl_key_content`"),
            ));
        }
        if security.ssl_ca_content.is_empty() && !has_key {
            return Ok(None);
        }
        let stored_key =
            stored.and_then(|stored| Some((stored.same_account, stored.endpoint.tls.as_ref()?.key.clone())));
        let key = match (security.ssl_key_content.is_mask(), stored_key) {
            (false, _) => security.ssl_key_content.clone().into_inner(),
            (true, Some((true, key))) => key,
            (true, Some((false, _))) => return Err(self.moved("security.ssl_key_content")),
            (true, None) => return Err(self.masked("security.ssl_key_content")),
        };
        Ok(Some(Tls {
            ca: security.ssl_ca_content.clone(),
            certificate: security.ssl_cert_content.clone(),
            key,
            allowed_common_names: names,
        }))
    }

    fn moved(&self, secret: &str) -> Fault {
        let field = self.field;
        common(
            format!("{field}.{secret} cannot stay as it is when host, port or user change"),
            format!("send `{field}.{secret}` in full"),
        )
    }

    fn masked(&self, secret: &str) -> Fault {
        let field = self.field;
        common(
            format!("{field}.{secret} is the mask that answers show, and nothing is stored that it could stand for"),
            format!("send `{field}.{secret}` in full"),
        )
    }
}

struct Stored<'a> {
    endpoint: &'a Endpoint,
    same_account: bool,
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn stored() -> Endpoint {
        Endpoint {
            host: "db".to_owned(),
            port: 3306,
            user: "dm".to_owned(),
            password: "old".into(),
            tls: Some(Tls {
                ca: "CA".to_owned(),
                certificate: "CERT".to_owned(),
                key: "KEY".into(),
                allowed_common_names: Vec::new(),
            }),
        }
    }

    fn resolve(
        host: &str,
        password: Option<&str>,
        key: Option<&str>,
        stored: Option<&Endpoint>,
    ) -> Result<Endpoint, Fault> {
        let password = password.map(Secret::new);
        let security = key.map(|key| Security {
            ssl_ca_content: "CA".to_owned(),
            ssl_cert_content: "CERT".to_owned(),
            ssl_key_content: Secret::new(key),
            cert_allowed_cn: None,
        });
        SentEndpoint {
            field: "source",
            host,
            port: 3306,
            user: "dm",
            password: password.as_ref(),
            security: security.as_ref(),
        }
        .resolve(stored)
    }

    #[test]
    fn a_mask_or_nothing_keeps_the_password_of_the_same_account() {
        for (sent, password) in [(Some("******"), "old"), (None, "old"), (Some("new"), "new"), (Some(""), "")] {
            let endpoint = resolve("db", sent, Some("******"), Some(&stored())).unwrap();
            assert_eq!(endpoint.password.expose_secret(), password, "{sent:?}");
            assert_eq!(endpoint.tls.unwrap().key.expose_secret(), "KEY");
        }
    }

    #[test]
    fn a_password_is_never_sent_to_another_host() {
        for sent in [Some("******"), None] {
            assert!(resolve("evil", sent, None, Some(&stored())).unwrap_err().message.contains("cannot stay"));
        }
        assert!(resolve("evil", Some("new"), Some("******"), Some(&stored())).is_err());
        assert!(resolve("evil", Some("new"), Some("KEY2"), Some(&stored())).is_ok());
    }

    #[test]
    fn a_mask_in_a_create_is_refused_and_nothing_is_no_password() {
        assert!(resolve("db", Some("******"), None, None).is_err());
        assert!(resolve("db", Some("p"), Some("******"), None).is_err());
        assert_eq!(resolve("db", None, None, None).unwrap().password.expose_secret(), "");
    }

    #[test]
    fn a_key_without_a_certificate_is_refused() {
        let security = Security {
            ssl_ca_content: String::new(),
            ssl_cert_content: String::new(),
            ssl_key_content: Secret::new("KEY"),
            cert_allowed_cn: None,
        };
        let sent =
            SentEndpoint { field: "source", host: "db", port: 1, user: "", password: None, security: Some(&security) };
        assert!(sent.resolve(None).is_err());
    }
}
