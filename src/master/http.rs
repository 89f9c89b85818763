//! The HTTP server: one listener, with limits on how long a client may take to say what it wants.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use axum::Router;
use tokio::task::JoinHandle;

/// From the first byte of a request's head to its last.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// From the connection to the first request.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("cannot listen on {address}: it is in use; stop the other process, or give this one another --listen")]
    InUse { address: SocketAddr },
    #[error("cannot listen on {address}")]
    Bind {
        address: SocketAddr,
        #[source]
        cause: io::Error,
    },
}

/// Binds before anything else is begun, so that a taken port changes nothing.
pub(super) fn bind(address: SocketAddr) -> Result<TcpListener, ListenError> {
    let bind = |cause: io::Error| match cause.kind() {
        io::ErrorKind::AddrInUse => ListenError::InUse { address },
        _ => ListenError::Bind { address, cause },
    };
    let listener = TcpListener::bind(address).map_err(bind)?;
    listener.set_nonblocking(true).map_err(bind)?;
    Ok(listener)
}

pub(super) struct Server {
    handle: axum_server::Handle<SocketAddr>,
    serving: JoinHandle<io::Result<()>>,
}

impl Server {
    pub(super) fn begin(listener: TcpListener, router: Router) -> Self {
        let handle = axum_server::Handle::new();
        let serving = tokio::spawn({
            let handle = handle.clone();
            async move {
                let mut server = axum_server::from_tcp(listener)?;
                server.http_builder().http1().header_read_timeout(HEADER_TIMEOUT);
                server
                    .first_request_timeout(FIRST_REQUEST_TIMEOUT)
                    .handle(handle)
                    .serve(router.into_make_service())
                    .await
            }
        });
        Self { handle, serving }
    }

    /// Returns when the server ended though nobody asked it to; with its error, if it had one.
    pub(super) async fn ended(&mut self) -> Option<io::Error> {
        match (&mut self.serving).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(error) => Some(io::Error::other(error)),
        }
    }

    /// Accepts nothing more; answers that are under way get `drain` to be sent.
    pub(super) async fn stop(&mut self, drain: Duration) {
        if self.serving.is_finished() {
            return;
        }
        self.handle.graceful_shutdown(Some(drain));
        let bound = drain + Duration::from_secs(1);
        if tokio::time::timeout(bound, &mut self.serving).await.is_err() {
            tracing::warn!("connections did not end in time and are cut");
            self.serving.abort();
        }
    }
}
