//! Settings: from flags, the environment and a file, merged once and checked once, at start.
//!
//! In: what the user gave, every value of it optional. Out: [`Serve`], in which nothing is left to check. Never here:
//! looking a setting up later, or from the depths. The surprise: a value that makes no sense beside another one (an
//! expiry shorter than a heartbeat) is refused here too, with both named.

mod given;
mod quantity;
mod serve;
#[cfg(test)]
mod tests;

pub use given::GivenServe;
pub use quantity::{ByteSize, Span};
pub use serve::{ConfigError, LogFormat, LogSettings, Serve};
