//! The shared servers, and accounts and databases of a test's own on them.

use ferrymaster::model::Endpoint;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};
use uuid::Uuid;

/// A server that `scripts/test` started; root has no password.
pub struct Server {
    host: String,
    port: u16,
}

/// All four, each by the variable that says where it is.
pub fn mariadb_source() -> Server {
    Server::at("FERRYMASTER_TEST_MARIADB_SOURCE")
}

pub fn mariadb_target() -> Server {
    Server::at("FERRYMASTER_TEST_MARIADB_TARGET")
}

pub fn mysql_source() -> Server {
    Server::at("FERRYMASTER_TEST_MYSQL_SOURCE")
}

impl Server {
    fn at(variable: &str) -> Self {
        let address = std::env::var(variable)
            .unwrap_or_else(|_| panic!("{variable} is not set: run scripts/test, which starts the servers"));
        let (host, port) = address.rsplit_once(':').expect("host:port");
        Self { host: host.to_owned(), port: port.parse().expect("a port") }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn root(&self) -> Endpoint {
        self.endpoint("root", "")
    }

    pub fn endpoint(&self, user: &str, password: &str) -> Endpoint {
        Endpoint {
            host: self.host.clone(),
            port: self.port,
            user: user.to_owned(),
            password: password.to_owned().into(),
            tls: None,
        }
    }

    /// Runs statements as root, one after the other.
    pub async fn run(&self, statements: &[&str]) {
        let options = OptsBuilder::default()
            .ip_or_hostname(self.host.clone())
            .tcp_port(self.port)
            .user(Some("root"))
            .prefer_socket(false);
        let mut conn = Conn::new(options).await.expect("root can log in");
        for statement in statements {
            conn.query_drop(*statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
        conn.disconnect().await.expect("goodbye");
    }
}

/// A name that no other test has.
pub fn unique(prefix: &str) -> String {
    format!("{prefix}_{}", &Uuid::new_v4().simple().to_string()[..12])
}
