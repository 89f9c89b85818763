//! Reads the statements that change shapes and names of tables, and gives new texts of them by editing spans.
//!
//! In: a statement's text and the [`Context`] that the server read it in. Out: [`Parsed`], which is understood whole,
//! named only, or not understood, with the reason. Never here: I/O, and any knowledge of which tables exist.
//! The surprise: nothing is ever printed from the tree. A routed statement is the original text with a few spans
//! replaced, so that what this parser does not model (an option, an expression) still arrives.

mod context;
pub mod edit;
mod event_kind;
mod hazard;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;
mod token;
mod tree;
mod words;

pub use context::{Context, Flavor};
pub use event_kind::{EventKind, UnknownEventKind, event_kinds, named_event_kind};
pub use hazard::{Hazard, hazards};
pub use parser::{Meaning, NotUnderstood, Parsed, is_blank, parse};
pub use token::{ExecutableComment, Span};
pub use tree::*;
pub use words::may_name;
