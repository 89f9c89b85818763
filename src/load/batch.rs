//! Rows on their way, in the form of a load file: fields end with a tab, rows with a line feed, and those bytes,
//! the backslash and NUL are escaped wherever they stand in a value. Pure.

use bytes::{Bytes, BytesMut};
use memchr::{memchr, memchr3};

/// Bytes sent to the driver at once.
const PIECE_BYTES: usize = 256 * 1024;

/// A finished batch.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub rows: u64,
    pub bytes: u64,
    pub pieces: Vec<Bytes>,
}

/// Gathers rows into a [`Batch`].
#[derive(Debug, Default)]
pub struct BatchBuilder {
    rows: u64,
    bytes: u64,
    pieces: Vec<Bytes>,
    current: BytesMut,
    row_is_open: bool,
}

impl BatchBuilder {
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes gathered, escapes included.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.current.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds a cell to the open row; None is NULL.
    pub fn cell(&mut self, value: Option<&[u8]>) {
        if self.row_is_open {
            self.current.extend_from_slice(b"\t");
        }
        self.row_is_open = true;
        match value {
            None => self.current.extend_from_slice(b"\\N"),
            // A large value goes over several pieces, so that no buffer grows with it.
            Some(bytes) => {
                for part in bytes.chunks(PIECE_BYTES) {
                    escape(part, &mut self.current);
                    self.close_piece_if_full();
                }
            }
        }
    }

    /// Ends the open row.
    pub fn end_row(&mut self) {
        self.current.extend_from_slice(b"\n");
        self.row_is_open = false;
        self.rows += 1;
        self.close_piece_if_full();
    }

    /// Takes what was gathered.
    pub fn take(&mut self) -> Batch {
        self.close_piece();
        Batch {
            rows: std::mem::take(&mut self.rows),
            bytes: std::mem::take(&mut self.bytes),
            pieces: std::mem::take(&mut self.pieces),
        }
    }

    fn close_piece_if_full(&mut self) {
        if self.current.len() >= PIECE_BYTES {
            self.close_piece();
        }
    }

    fn close_piece(&mut self) {
        if !self.current.is_empty() {
            self.bytes += self.current.len() as u64;
            self.pieces.push(self.current.split().freeze());
            self.current.reserve(PIECE_BYTES + PIECE_BYTES / 8);
        }
    }
}

fn escape(bytes: &[u8], out: &mut BytesMut) {
    let mut rest = bytes;
    loop {
        let special = memchr3(b'\t', b'\n', b'\\', rest);
        let before = special.unwrap_or(rest.len());
        let (plain, tail) = rest.split_at(before);
        escape_nul(plain, out);
        match tail.split_first() {
            Some((b'\t', after)) => {
                out.extend_from_slice(b"\\t");
                rest = after;
            }
            Some((b'\n', after)) => {
                out.extend_from_slice(b"\\n");
                rest = after;
            }
            Some((_, after)) => {
                out.extend_from_slice(b"\\\\");
                rest = after;
            }
            None => return,
        }
    }
}

fn escape_nul(mut plain: &[u8], out: &mut BytesMut) {
    while let Some(at) = memchr(0, plain) {
        let (before, after) = plain.split_at(at);
        out.extend_from_slice(before);
        out.extend_from_slice(b"\\0");
        plain = after.get(1..).unwrap_or_default();
    }
    out.extend_from_slice(plain);
}

impl Batch {
    /// The rows again, cell by cell.
    pub fn parsed_rows(&self) -> impl Iterator<Item = Vec<Option<Vec<u8>>>> + '_ {
        let mut open: Vec<u8> = Vec::new();
        self.pieces.iter().flat_map(|piece| piece.split_inclusive(|&byte| byte == b'\n')).filter_map(move |line| {
            let Some(end) = line.strip_suffix(b"\n") else {
                open.extend_from_slice(line);
                return None;
            };
            if open.is_empty() {
                return Some(parse_row(end));
            }
            open.extend_from_slice(end);
            let row = parse_row(&open);
            open = Vec::new();
            Some(row)
        })
    }
}

fn parse_row(line: &[u8]) -> Vec<Option<Vec<u8>>> {
    line.split(|&byte| byte == b'\t').map(parse_cell).collect()
}

fn parse_cell(field: &[u8]) -> Option<Vec<u8>> {
    if field == b"\\N" {
        return None;
    }
    let mut value = Vec::with_capacity(field.len());
    let mut bytes = field.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\\' => match bytes.next() {
                Some(b't') => value.push(b'\t'),
                Some(b'n') => value.push(b'\n'),
                Some(b'0') => value.push(0),
                Some(&other) => value.push(other),
                None => {}
            },
            plain => value.push(plain),
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_read_back_as_they_were_added(
            rows in proptest::collection::vec(
                proptest::collection::vec(proptest::option::of(proptest::collection::vec(any::<u8>(), 0..20)), 3),
                0..50,
            )
        ) {
            let mut builder = BatchBuilder::default();
            for row in &rows {
                for cell in row {
                    builder.cell(cell.as_deref());
                }
                builder.end_row();
            }
            let batch = builder.take();
            prop_assert_eq!(batch.rows, rows.len() as u64);
            prop_assert_eq!(batch.bytes, batch.pieces.iter().map(|piece| piece.len() as u64).sum::<u64>());
            prop_assert_eq!(batch.parsed_rows().collect::<Vec<_>>(), rows);
            prop_assert!(builder.is_empty());
        }
    }

    #[test]
    fn a_value_larger_than_a_piece_goes_over_several() {
        let large: Vec<u8> = (0..=255).cycle().take(3 * PIECE_BYTES).collect();
        let mut builder = BatchBuilder::default();
        for cell in [Some(b"before".as_slice()), Some(&large), None] {
            builder.cell(cell);
        }
        builder.end_row();
        builder.cell(Some(b"after"));
        builder.end_row();
        let batch = builder.take();
        assert!(batch.pieces.iter().all(|piece| piece.len() < 2 * PIECE_BYTES), "a piece is too large");
        let rows: Vec<_> = batch.parsed_rows().collect();
        assert_eq!(rows, [vec![Some(b"before".to_vec()), Some(large), None], vec![Some(b"after".to_vec())]]);
    }

    #[test]
    fn empty_strings_null_and_the_text_of_null_stay_apart() {
        let mut builder = BatchBuilder::default();
        for cell in [Some(b"".as_slice()), None, Some(b"\\N")] {
            builder.cell(cell);
            builder.end_row();
        }
        let batch = builder.take();
        assert_eq!(batch.pieces.concat(), b"\n\\N\n\\\\N\n");
        let cells: Vec<_> = batch.parsed_rows().flatten().collect();
        assert_eq!(cells, [Some(Vec::new()), None, Some(b"\\N".to_vec())]);
    }
}
