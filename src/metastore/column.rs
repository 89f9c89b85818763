//! Numbers between our types and BIGINT columns. Counters begin at 0 and grow by one: none comes near 2^63.

/// For storing.
pub(super) fn to_column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// From storage; a negative number can only come from a hand-made edit and counts as 0.
pub(super) fn from_column(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// From storage, for numbers that fit 32 bits.
pub(super) fn from_column_u32(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}
