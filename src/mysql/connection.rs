//! One session on one server.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use mysql_async::prelude::Queryable;
use mysql_async::{ClientIdentity, Conn, OptsBuilder, SslOpts};
use secrecy::ExposeSecret;
use tokio::time::timeout_at;

use super::{Deadline, Error, ErrorKind, Purpose, Row, Server};
use crate::model::Endpoint;

/// How long a dropped connection may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);
/// The driver's own limit; the server's is what counts.
const CLIENT_PACKET_BYTES: usize = 1 << 30;

/// What a statement without rows did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// With [`Purpose::Writing`]: rows that matched; else rows that changed.
    pub rows: u64,
    pub warnings: u16,
    /// The server's summary, such as `Records: 3  Deleted: 0  Skipped: 0  Warnings: 0`.
    pub info: String,
}

/// A session. Dropping it closes it; so does every failure that may leave an answer unread.
#[derive(Debug)]
pub struct Connection {
    inner: Option<Conn>,
    name: Arc<str>,
    server: Server,
}

impl Connection {
    /// Opens a session and sets it for its purpose.
    pub async fn open(endpoint: &Endpoint, purpose: Purpose, deadline: Deadline) -> Result<Self, Error> {
        let name: Arc<str> = endpoint.to_string().into();
        let opening = Conn::new(options(endpoint, purpose));
        let inner = match timeout_at(deadline.instant(), opening).await {
            Ok(Ok(conn)) => conn,
            Ok(Err(error)) => return Err(Error::new("connecting", &name, error.into())),
            Err(_) => return Err(Error::new("connecting", &name, ErrorKind::TimedOut)),
        };
        let mut connection = Self { inner: Some(inner), name, server: unknown_server() };
        connection.server = Server::read(&mut connection, deadline).await?;
        connection.run_many(purpose.statements().as_bytes(), "setting the session", deadline).await?;
        Ok(connection)
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    /// `user@host:port`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the session can still be used.
    pub fn is_open(&self) -> bool {
        self.inner.is_some()
    }

    /// Runs one statement that answers no rows.
    pub async fn run(&mut self, sql: impl AsRef<[u8]>, doing: &str, deadline: Deadline) -> Result<Done, Error> {
        self.run_many(sql.as_ref(), doing, deadline).await.map(|mut all| all.pop().unwrap_or_default())
    }

    /// Runs several statements, separated by `;`, sent in one packet; one [`Done`] for each. The first that fails
    /// ends the packet: those before it have been done.
    pub async fn run_many(&mut self, sql: &[u8], doing: &str, deadline: Deadline) -> Result<Vec<Done>, Error> {
        self.guarded(doing, deadline, async |conn| {
            let mut result = conn.query_iter(sql).await?;
            let mut all = Vec::new();
            loop {
                all.push(Done {
                    rows: result.affected_rows(),
                    warnings: result.warnings(),
                    info: result.info().into_owned(),
                });
                let is_last = result.is_empty();
                // The driver keeps the error of a later statement for whoever asks next, and the result then looks
                // empty: so the last one is asked as well.
                while result.next().await?.is_some() {}
                if is_last {
                    return Ok(all);
                }
            }
        })
        .await
    }

    /// The rows of one statement, all at once: for answers that are small by nature.
    pub async fn rows(&mut self, sql: &str, doing: &str, deadline: Deadline) -> Result<Vec<Row>, Error> {
        let shared: Arc<str> = doing.into();
        let server = Arc::clone(&self.name);
        let rows: Vec<mysql_async::Row> = self.guarded(doing, deadline, async |conn| conn.query(sql).await).await?;
        Ok(rows
            .into_iter()
            .map(|inner| Row { inner, doing: Arc::clone(&shared), server: Arc::clone(&server) })
            .collect())
    }

    /// The first row of an answer that has one by nature.
    pub async fn first_row(&mut self, sql: &str, doing: &str, deadline: Deadline) -> Result<Row, Error> {
        let rows = self.rows(sql, doing, deadline).await?;
        rows.into_iter()
            .next()
            .ok_or_else(|| Error::new(doing, &self.name, ErrorKind::Answer("no row came back".into())))
    }

    /// The first row, if there is one.
    pub async fn optional_row(&mut self, sql: &str, doing: &str, deadline: Deadline) -> Result<Option<Row>, Error> {
        Ok(self.rows(sql, doing, deadline).await?.into_iter().next())
    }

    /// Begins to read rows one by one. `patience` bounds the wait for each.
    pub async fn stream<'a>(
        &'a mut self,
        sql: &'a str,
        doing: &'a str,
        patience: Duration,
    ) -> Result<RowStream<'a>, Error> {
        let name = Arc::clone(&self.name);
        let Some(conn) = self.inner.as_mut() else { return Err(closed(doing, &name)) };
        match timeout_at(Deadline::after(patience).instant(), conn.query_iter(sql)).await {
            Ok(Ok(result)) => Ok(RowStream { result, doing, name, patience }),
            Ok(Err(error)) => Err(Error::new(doing, &name, error.into())),
            Err(_) => Err(Error::new(doing, &name, ErrorKind::TimedOut)),
        }
    }

    /// Runs a LOAD DATA LOCAL statement whose file is the stream. If the stream ends with an error the call fails;
    /// the caller must then roll back, since the driver ends the file in an orderly way.
    pub async fn load(
        &mut self,
        sql: &str,
        data: BoxStream<'static, std::io::Result<Bytes>>,
        doing: &str,
        deadline: Deadline,
    ) -> Result<Done, Error> {
        // The driver wants a future that could be shared; a lock makes one of a stream that cannot.
        let data = parking_lot::Mutex::new(data);
        self.guarded(doing, deadline, async |conn| {
            conn.set_infile_handler(async move { Ok(data.into_inner()) });
            let result = conn.query_iter(sql).await?;
            let done =
                Done { rows: result.affected_rows(), warnings: result.warnings(), info: result.info().into_owned() };
            result.drop_result().await?;
            Ok(done)
        })
        .await
    }

    /// Ends the session in an orderly way.
    pub async fn close(mut self, deadline: Deadline) {
        if let Some(conn) = self.inner.take() {
            // A session that does not say goodbye in time is dropped; the server finds out by itself.
            let _ = timeout_at(deadline.instant(), conn.disconnect()).await;
        }
    }

    /// Runs a call of the driver under a deadline, and closes the session unless it is surely in step.
    async fn guarded<T>(
        &mut self,
        doing: &str,
        deadline: Deadline,
        call: impl AsyncFnOnce(&mut Conn) -> Result<T, mysql_async::Error>,
    ) -> Result<T, Error> {
        // Taken out for the time of the call: if this future is dropped half way, the session is gone with it.
        let Some(mut conn) = self.inner.take() else { return Err(closed(doing, &self.name)) };
        let outcome = timeout_at(deadline.instant(), call(&mut conn)).await;
        let error = match outcome {
            Ok(Ok(value)) => {
                self.inner = Some(conn);
                return Ok(value);
            }
            Ok(Err(error)) => Error::new(doing, &self.name, error.into()),
            Err(_) => Error::new(doing, &self.name, ErrorKind::TimedOut),
        };
        if error.is_fatal() {
            say_goodbye(conn);
        } else {
            self.inner = Some(conn);
        }
        Err(error)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(conn) = self.inner.take() {
            say_goodbye(conn);
        }
    }
}

/// Rows of a SELECT, one by one. Dropped before its end, it makes the connection read the rest: close the
/// connection instead.
pub struct RowStream<'a> {
    result: mysql_async::QueryResult<'a, 'static, mysql_async::TextProtocol>,
    doing: &'a str,
    name: Arc<str>,
    patience: Duration,
}

impl RowStream<'_> {
    /// The next row; None at the end of the rows.
    pub async fn next(&mut self) -> Result<Option<Cells>, Error> {
        match timeout_at(Deadline::after(self.patience).instant(), self.result.next()).await {
            Ok(Ok(row)) => Ok(row.map(Cells)),
            Ok(Err(error)) => Err(Error::new(self.doing, &self.name, error.into())),
            Err(_) => Err(Error::new(self.doing, &self.name, ErrorKind::TimedOut)),
        }
    }
}

/// The cells of one streamed row, in the order of the statement.
#[derive(Debug)]
pub struct Cells(mysql_async::Row);

impl Cells {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes at a position; None is NULL. The text protocol knows nothing else.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        match self.0.as_ref(index) {
            Some(mysql_async::Value::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }
}

fn closed(doing: &str, name: &str) -> Error {
    Error::new(doing, name, ErrorKind::Connection("the session was closed after an earlier failure".into()))
}

/// Closes a session without making anyone wait. The driver, left alone, would first read all that is unread,
/// without a limit.
fn say_goodbye(conn: Conn) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            let _ = tokio::time::timeout(GOODBYE, conn.disconnect()).await;
        });
    }
}

fn unknown_server() -> Server {
    Server {
        flavor: crate::model::Flavor::MySql,
        version: 0,
        version_text: String::new(),
        connection_id: 0,
        max_allowed_packet: 1 << 20,
        lower_case_table_names: 0,
        default_character_set: String::new(),
        default_collation: String::new(),
        sql_mode: String::new(),
    }
}

fn options(endpoint: &Endpoint, purpose: Purpose) -> OptsBuilder {
    let mut options = OptsBuilder::default()
        .ip_or_hostname(endpoint.host.clone())
        .tcp_port(endpoint.port)
        .user(Some(endpoint.user.clone()))
        .pass(Some(endpoint.password.expose_secret().to_owned()))
        .prefer_socket(false)
        .tcp_nodelay(true)
        .tcp_keepalive(Some(purpose.keepalive()))
        .max_allowed_packet(Some(CLIENT_PACKET_BYTES))
        .wait_timeout(Some(28_800))
        .client_found_rows(purpose == Purpose::Writing)
        .connect_attribute("program_name", "ferrymaster");
    if let Some(tls) = &endpoint.tls {
        let mut ssl = SslOpts::default().with_disable_built_in_roots(!tls.ca.is_empty());
        if !tls.ca.is_empty() {
            ssl = ssl.with_root_certs(vec![tls.ca.clone().into_bytes().into()]);
        }
        if !tls.certificate.is_empty() {
            ssl = ssl.with_client_identity(Some(ClientIdentity::new(
                tls.certificate.clone().into_bytes().into(),
                tls.key.expose_secret().to_owned().into_bytes().into(),
            )));
        }
        options = options.ssl_opts(ssl);
    }
    options
}
