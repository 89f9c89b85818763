//! Where a source's binlog was read up to.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A place in the binlog by file and byte offset. `offset` is 64 bits wide: files can pass 4 GiB.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BinlogPosition {
    pub file: String,
    pub offset: u64,
}

impl BinlogPosition {
    pub fn new(file: impl Into<String>, offset: u64) -> Self {
        Self { file: file.into(), offset }
    }

    /// The number at the end of the file's name (`mysql-bin.000007` → 7): file names sort by it, since the server
    /// goes from `.999999` to `.1000000`.
    pub fn file_number(&self) -> u64 {
        self.file.rsplit('.').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }

    /// Whether both files are of one log: their names differ in the number only.
    pub fn is_of_same_log(&self, other: &Self) -> bool {
        let base = |position: &Self| position.file.rsplit_once('.').map(|(base, _)| base.to_owned());
        base(self).is_some() && base(self) == base(other)
    }
}

impl PartialOrd for BinlogPosition {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for BinlogPosition {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.file_number(), self.offset, &self.file).cmp(&(other.file_number(), other.offset, &other.file))
    }
}

/// As DM prints positions: `(mysql-bin.000001, 1979)`.
impl fmt::Display for BinlogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.file, self.offset)
    }
}

/// A text is no `(mysql-bin.000001, 1979)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a position of the form (file, offset)")]
pub struct NoPosition;

/// The form that it is printed in.
impl FromStr for BinlogPosition {
    type Err = NoPosition;

    fn from_str(text: &str) -> Result<Self, NoPosition> {
        let inside = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).ok_or(NoPosition)?;
        let (file, offset) = inside.rsplit_once(", ").ok_or(NoPosition)?;
        Ok(Self::new(file, offset.parse().map_err(|_| NoPosition)?))
    }
}

/// A place in a source's binlog: always by file and offset, and by GTID set where the source has one.
/// `gtid` is the set of all transactions before this place, in the server's own text form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePosition {
    pub binlog: BinlogPosition,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gtid: Option<String>,
}

impl fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.gtid {
            Some(gtid) if !gtid.is_empty() => write!(f, "{} gtid {gtid}", self.binlog),
            _ => self.binlog.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_is_printed() {
        let position = BinlogPosition::new("odd, (name).000007", 5_000_000_000);
        assert_eq!(position.to_string().parse(), Ok(position));
        for text in ["", "()", "(b.1)", "(b.1, x)", "b.1, 4", "(b.1, -4)"] {
            assert_eq!(text.parse::<BinlogPosition>(), Err(NoPosition), "{text}");
        }
    }

    #[test]
    fn files_are_ordered_by_number_not_by_text() {
        assert!(BinlogPosition::new("b.999999", 9) < BinlogPosition::new("b.1000000", 4));
        assert!(BinlogPosition::new("b.000002", 4) > BinlogPosition::new("b.000001", 5_000_000_000));
    }
}
