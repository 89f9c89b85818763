//! From a request to typed input: body, query and path, each with errors that name the field.

mod json;
mod path;
mod query;
mod reader;

pub use json::{Json, OptionalJson};
pub use path::{Path, SchemaPath, SourcePath, TaskPath};
pub use query::{FromQuery, Query, QueryParameters};
