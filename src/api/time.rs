//! Points in time on the wire.

use jiff::Timestamp;

/// RFC 3339 in UTC. A time that no calendar holds, which only a broken clock gives, is written as the nearest one.
pub fn to_rfc3339(at_us: i64) -> String {
    let nearest = if at_us < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_microsecond(at_us).unwrap_or(nearest).to_string()
}

/// Now, as the metastore keeps times.
pub fn now_us() -> i64 {
    Timestamp::now().as_microsecond()
}
