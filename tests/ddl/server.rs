//! Real servers, whose addresses come from the environment.

use ferrymaster::ddl::{Context, Flavor};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    MariaDb,
    MySql,
}

/// A session on one server, in a database of its own that is made anew.
pub struct Session {
    pub conn: Conn,
    pub server: Server,
    pub version: u32,
    pub schema: String,
}

impl Server {
    /// `host:port` of a server where root has no password.
    pub fn address(self) -> String {
        let variable = match self {
            Self::MariaDb => "FERRYMASTER_TEST_MARIADB_SOURCE",
            Self::MySql => "FERRYMASTER_TEST_MYSQL_SOURCE",
        };
        std::env::var(variable).unwrap_or_else(|_| panic!("{variable} is not set: run these tests by scripts/test"))
    }

    pub fn flavor(self) -> Flavor {
        match self {
            Self::MariaDb => Flavor::MariaDb,
            Self::MySql => Flavor::MySql,
        }
    }

    /// Opens a session with an empty database of this name.
    pub async fn open(self, schema: &str) -> Session {
        let address = self.address();
        let (host, port) = address.rsplit_once(':').expect("an address is host:port");
        let options = OptsBuilder::default()
            .ip_or_hostname(host.to_owned())
            .tcp_port(port.parse().expect("the port is a number"))
            .user(Some("root"))
            .prefer_socket(false);
        let mut conn = Conn::new(options).await.expect("the test server answers");
        let (text, number): (String, String) =
            conn.query_first("SELECT VERSION(), @@version").await.unwrap().expect("a version");
        let version = version_number(&text, &number);
        conn.query_drop(format!("DROP DATABASE IF EXISTS `{schema}`")).await.unwrap();
        conn.query_drop(format!("CREATE DATABASE `{schema}`")).await.unwrap();
        conn.query_drop(format!("USE `{schema}`")).await.unwrap();
        Session { conn, server: self, version, schema: schema.to_owned() }
    }
}

/// `10.11.19-MariaDB` is 101119.
fn version_number(version: &str, _: &str) -> u32 {
    let digits = version.split(|c: char| !c.is_ascii_digit());
    digits.take(3).fold(0, |number, part| number * 100 + part.parse::<u32>().unwrap_or(0))
}

impl Session {
    pub fn context(&self) -> Context {
        Context::new(self.server.flavor(), self.version).with_default_schema(self.schema.clone())
    }

    /// Runs a statement; the error's code and text otherwise.
    pub async fn run(&mut self, sql: &str) -> Result<(), (u16, String)> {
        match self.conn.query_drop(sql).await {
            Ok(()) => Ok(()),
            Err(mysql_async::Error::Server(error)) => Err((error.code, error.message)),
            Err(other) => panic!("{sql}: {other}"),
        }
    }

    pub async fn close(mut self) {
        let schema = &self.schema;
        self.conn.query_drop(format!("DROP DATABASE `{schema}`")).await.unwrap();
        self.conn.disconnect().await.unwrap();
    }
}
