//! What handlers work with.

/// The handlers' state; cheap to clone.
#[derive(Clone, Default)]
pub struct App {}
