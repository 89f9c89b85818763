//! What tests stand on: real servers, the real binary, a network that can be broken, and a comparison that finds every
//! difference. Everything waits for states with a deadline; whatever a test starts ends with it.
#![allow(dead_code, reason = "each test binary uses a part of this")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

pub mod compare;
pub mod distributed;
pub mod ferrymaster;
pub mod http;
pub mod numbers;
pub mod proxy;
pub mod random;
pub mod servers;
pub mod wait;
pub mod workload;
pub mod writer;
