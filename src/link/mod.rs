//! How a worker and the master talk: the worker calls, the master never does.
//!
//! Two calls matter. *wanted* is held open for at most a second: its answer renews the worker's lease and carries what
//! is wanted of it, so that a stop reaches it within milliseconds. *report* carries numbered news of its runs. Around
//! them: *register*, which gives the worker its epoch, and *goodbye*. Both ends are here; between them is anything that
//! implements [`MasterLink`]: memory now, HTTP for workers elsewhere (every message can be serialised).
//! Never here: deciding what is wanted, or running it. The surprise: a worker that is not answered goes on with what
//! runs. Generations and session locks in the target keep it from harm, not its clock.

pub mod client;
mod message;
mod outbox;
mod server;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;

pub use message::{
    GoodbyeRequest, RegisterAnswer, RegisterRequest, ReportAnswer, ReportRequest, SetVersion, Verdict, WantedAnswer,
    WantedRequest, WantedSet,
};
pub use outbox::{Fingerprint, Outbox};
pub use server::{LinkServer, LinkSettings};

use crate::metastore::StoreError;

/// The master, as a worker sees it. A call that was not answered may or may not have had its effect; all of them may
/// be repeated.
pub trait MasterLink: Send + Sync {
    /// Gives this incarnation its epoch. An older incarnation of the same name is told to end.
    fn register(&self, request: RegisterRequest) -> BoxFuture<'_, Result<RegisterAnswer, LinkError>>;

    /// Answers at once when the worker's set is not the present one, else when it changes, else after the asked hold.
    fn wanted(&self, request: WantedRequest) -> BoxFuture<'_, Result<WantedAnswer, LinkError>>;

    /// Done means that the news counts: whoever waits for it has been told.
    fn report(&self, request: ReportRequest) -> BoxFuture<'_, Result<ReportAnswer, LinkError>>;

    /// All runs are closed; the worker need not be waited for.
    fn goodbye(&self, request: GoodbyeRequest) -> BoxFuture<'_, Result<(), LinkError>>;
}

#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("the master could not store the registration")]
    Registration(#[source] StoreError),
    #[error("the master did not answer in time")]
    Unanswered,
    #[error("the master cannot be reached")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
}
