//! One row of an answer in the text protocol.

use super::{Error, ErrorKind};

/// Cells by column name, case-insensitively: servers differ in the case, the order and the number of columns that
/// SHOW statements answer with, so nothing is read by position unless the statement itself fixed it.
#[derive(Debug)]
pub struct Row {
    pub(super) inner: mysql_async::Row,
    pub(super) doing: std::sync::Arc<str>,
    pub(super) server: std::sync::Arc<str>,
}

impl Row {
    /// The number of columns.
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes at a position; None is NULL or no such column.
    pub fn bytes(&self, index: usize) -> Option<&[u8]> {
        match self.inner.as_ref(index) {
            Some(mysql_async::Value::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// The position of a column by name.
    pub fn index_of(&self, column: &str) -> Option<usize> {
        self.inner.columns_ref().iter().position(|c| c.name_str().eq_ignore_ascii_case(column))
    }

    /// The text of a column; NULL and a missing column are errors.
    pub fn text(&self, column: &str) -> Result<String, Error> {
        self.optional_text(column)?.ok_or_else(|| self.wrong(format!("column {column} is NULL")))
    }

    /// The text of a column, None for NULL; a missing column is an error.
    pub fn optional_text(&self, column: &str) -> Result<Option<String>, Error> {
        let index = self.index_of(column).ok_or_else(|| self.wrong(format!("column {column} is missing")))?;
        Ok(self.bytes(index).map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
    }

    /// The text at a position that the statement fixed.
    pub fn text_at(&self, index: usize) -> Result<String, Error> {
        self.bytes(index)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .ok_or_else(|| self.wrong(format!("column {} is NULL or missing", index + 1)))
    }

    /// A number of a column.
    pub fn number<N: std::str::FromStr>(&self, column: &str) -> Result<N, Error> {
        let text = self.text(column)?;
        text.parse().map_err(|_| self.wrong(format!("column {column} is no number: {text}")))
    }

    /// A number of a column, None for NULL.
    pub fn optional_number<N: std::str::FromStr>(&self, column: &str) -> Result<Option<N>, Error> {
        match self.optional_text(column)? {
            None => Ok(None),
            Some(text) => {
                text.parse().map(Some).map_err(|_| self.wrong(format!("column {column} is no number: {text}")))
            }
        }
    }

    fn wrong(&self, text: String) -> Error {
        Error::new(&self.doing, &self.server, ErrorKind::Answer(text.into()))
    }
}
