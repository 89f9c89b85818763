//! Time zones and times as users write them.

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

use crate::error::{Fault, codes};

const SMALLEST_OFFSET_MIN: i32 = -(12 * 60 + 59);
const LARGEST_OFFSET_MIN: i32 = 14 * 60;

/// An IANA name, or `±hh:mm` from -12:59 to +14:00. Names that mean another zone on each machine are refused.
pub fn check_timezone(name: &str) -> Result<(), Fault> {
    let is_offset = name.starts_with(['+', '-']);
    let known = if is_offset {
        offset_minutes(name).is_some_and(|minutes| (SMALLEST_OFFSET_MIN..=LARGEST_OFFSET_MIN).contains(&minutes))
    } else {
        !name.eq_ignore_ascii_case("system") && !name.eq_ignore_ascii_case("local") && TimeZone::get(name).is_ok()
    };
    if known {
        return Ok(());
    }
    Err(codes::TIMEZONE_INVALID.fault(format!("invalid timezone string: {name}")).with_workaround(
        "`task.timezone`: expected an IANA name such as `Asia/Shanghai`, or `±hh:mm` from -12:59 to +14:00",
    ))
}

/// `+08:00`, and nothing less.
fn offset_minutes(text: &str) -> Option<i32> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(hours) || !digits(minutes) {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (minutes < 60).then_some(sign * (hours * 60 + minutes))
}

/// When to start, as far as the text says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartTime {
    /// With a zone: microseconds since 1970.
    Instant { at_us: i64 },
    /// Without a zone: the source's own counts.
    OfSource(DateTime),
}

/// `YYYY-MM-DD[ T]hh:mm:ss` with an optional `Z`, `±hh:mm` or `±hhmm`.
pub fn parse_start_time(text: &str) -> Option<StartTime> {
    let (civil, zone) = text.split_at_checked(19)?;
    let form = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        10 => byte == b' ' || byte == b'T',
        13 | 16 => byte == b':',
        _ => byte.is_ascii_digit(),
    };
    if !civil.bytes().enumerate().all(form) {
        return None;
    }
    let civil: DateTime = civil.replace(' ', "T").parse().ok()?;
    let minutes = match zone {
        "" => return Some(StartTime::OfSource(civil)),
        "Z" => 0,
        _ if zone.len() == 5 => offset_minutes(&format!("{}:{}", zone.get(..3)?, zone.get(3..)?))?,
        _ if zone.starts_with(['+', '-']) => offset_minutes(zone)?,
        _ => return None,
    };
    let offset = Offset::from_seconds(minutes.checked_mul(60)?).ok()?;
    let instant = offset.to_timestamp(civil).ok()?;
    Some(StartTime::Instant { at_us: instant.as_microsecond() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_names_or_offsets_within_bounds() {
        for name in ["UTC", "Asia/Shanghai", "Europe/Berlin", "+08:00", "-12:59", "+14:00", "+00:00"] {
            assert!(check_timezone(name).is_ok(), "{name}");
        }
        for name in
            ["SYSTEM", "Local", "local", "Mars/Base", "+14:01", "-13:00", "+8:00", "+08:60", "+08", "", "+é8:00"]
        {
            assert_eq!(check_timezone(name).unwrap_err().code, 20008, "{name}");
        }
    }

    #[test]
    fn start_times_are_read_with_and_without_a_zone() {
        let instant = Some(StartTime::Instant { at_us: 1_136_214_245_000_000 });
        for text in [
            "2006-01-02T15:04:05Z",
            "2006-01-02 15:04:05Z",
            "2006-01-02 23:04:05+08:00",
            "2006-01-02T23:04:05+0800",
            "2006-01-02T10:04:05-05:00",
        ] {
            assert_eq!(parse_start_time(text), instant, "{text}");
        }
        assert!(matches!(parse_start_time("2006-01-02 15:04:05"), Some(StartTime::OfSource(_))));
    }

    #[test]
    fn other_forms_are_no_start_time() {
        for text in [
            "",
            "2006-01-02",
            "2006-01-02 15:04",
            "2006-1-2 15:04:05",
            "2006-02-30 15:04:05",
            "2006-01-02 15:04:05.1",
            "2006-01-02 25:04:05",
            "2006-01-02 15:04:05 UTC",
            "2006-01-02 15:04:05+8",
            "2006-01-02_15:04:05",
        ] {
            assert_eq!(parse_start_time(text), None, "{text}");
        }
    }
}
