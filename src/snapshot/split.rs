//! Cuts a table into key ranges that can be read side by side.

use super::error::Error;
use super::select::{KeyForm, KeyValues, SourceTable, key_after};
use crate::faults::SMALL_STEPS;
use crate::mysql::{Connection, Deadline, identifier};

/// Above `lower`, up to `upper`; None is unbounded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyRange {
    pub lower: Option<KeyValues>,
    pub upper: Option<KeyValues>,
}

/// A table smaller than this is one range: opening another costs more than it gains.
const RANGE_ROWS_MIN: u64 = if SMALL_STEPS { 1_000 } else { 100_000 };

/// Cuts a table of about `estimated_rows` rows into at most `parts` ranges.
pub async fn split(
    session: &mut Connection,
    table: &SourceTable,
    estimated_rows: u64,
    parts: u64,
    deadline: Deadline,
) -> Result<Vec<KeyRange>, Error> {
    let parts = parts.min(estimated_rows / RANGE_ROWS_MIN);
    if parts < 2 || table.key.is_empty() {
        return Ok(vec![KeyRange::default()]);
    }
    let bounds = match table.key.as_slice() {
        [column] if column.form == KeyForm::Integer => {
            let failed = |cause| Error::of_rows(&table.name, cause);
            let name = identifier(&column.name);
            let sql = format!("SELECT MIN({name}) AS low, MAX({name}) AS high FROM {}", table.name);
            let row = session.first_row(&sql, "reading a key's ends", deadline).await.map_err(failed)?;
            match (row.optional_number::<i128>("low"), row.optional_number::<i128>("high")) {
                (Ok(Some(low)), Ok(Some(high))) => integer_bounds(low, high, parts)
                    .into_iter()
                    .map(|bound| vec![bound.to_string().into_bytes()])
                    .collect(),
                _ => Vec::new(),
            }
        }
        _ => probe_bounds(session, table, estimated_rows / parts, parts, deadline).await?,
    };
    Ok(ranges_between(bounds))
}

/// Bounds at equal distances strictly inside `low..high`.
fn integer_bounds(low: i128, high: i128, parts: u64) -> Vec<i128> {
    let width = high - low;
    let parts = i128::from(parts);
    if width < parts {
        return Vec::new();
    }
    (1..parts).map(|part| low + width * part / parts).collect()
}

/// Walks the key in steps of equal row counts: the only way that is even for every type and every skew.
async fn probe_bounds(
    session: &mut Connection,
    table: &SourceTable,
    step: u64,
    parts: u64,
    deadline: Deadline,
) -> Result<Vec<KeyValues>, Error> {
    let failed = |cause| Error::of_rows(&table.name, cause);
    let mut bounds: Vec<KeyValues> = Vec::new();
    for _ in 1..parts {
        let sql = key_after(table, bounds.last(), step);
        let Some(row) = session.optional_row(&sql, "probing a key", deadline).await.map_err(failed)? else { break };
        bounds.push((0..row.len()).map(|index| row.bytes(index).unwrap_or_default().to_vec()).collect());
    }
    Ok(bounds)
}

fn ranges_between(bounds: Vec<KeyValues>) -> Vec<KeyRange> {
    let mut ranges = Vec::with_capacity(bounds.len() + 1);
    let mut lower = None;
    for bound in bounds {
        ranges.push(KeyRange { lower: lower.take(), upper: Some(bound.clone()) });
        lower = Some(bound);
    }
    ranges.push(KeyRange { lower, upper: None });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_cut_evenly_over_the_whole_signed_and_unsigned_range() {
        assert_eq!(integer_bounds(0, 100, 4), [25, 50, 75]);
        assert_eq!(integer_bounds(-10, 10, 2), [0]);
        assert_eq!(integer_bounds(0, i128::from(u64::MAX), 2), [i128::from(u64::MAX) / 2]);
        assert_eq!(integer_bounds(5, 6, 4), Vec::<i128>::new());
    }

    #[test]
    fn ranges_meet_without_gap_or_overlap_and_are_open_at_the_ends() {
        let key = |value: &str| vec![value.as_bytes().to_vec()];
        assert_eq!(
            ranges_between(vec![key("3"), key("7")]),
            [
                KeyRange { lower: None, upper: Some(key("3")) },
                KeyRange { lower: Some(key("3")), upper: Some(key("7")) },
                KeyRange { lower: Some(key("7")), upper: None },
            ]
        );
        assert_eq!(ranges_between(Vec::new()), [KeyRange::default()]);
    }
}
