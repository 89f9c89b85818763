//! Lengths of time and sizes as people write them: `1.5s`, `5m`, `64MiB`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error as _};

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

const UNITS: &[(&str, u64)] = &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no length of time: expected for example 500ms, 3.5s, 5m or 1h");
        let (number, unit) = split(text).ok_or_else(wrong)?;
        let (_, unit_ms) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let thousandths = thousandths(number).and_then(|number| number.checked_mul(*unit_ms)).ok_or_else(wrong)?;
        Ok(Self(Duration::from_micros(thousandths)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

const SIZES: &[(&str, u64)] = &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no size: expected for example 512KiB, 64MiB or 1GiB");
        let (number, unit) = split(text).ok_or_else(wrong)?;
        let (_, unit_bytes) = SIZES.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        number.checked_mul(*unit_bytes).map(Self).ok_or_else(wrong)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, unit) = SIZES.iter().rev().find(|(_, unit)| self.0.is_multiple_of(*unit)).unwrap_or(&("B", 1));
        write!(f, "{}{name}", self.0 / unit)
    }
}

/// The number, and the unit behind it.
fn split(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (number, unit) = text.split_at_checked(end)?;
    (!number.is_empty()).then_some((number, unit))
}

/// `1.5` → 1500. More than three decimals are refused rather than cut.
fn thousandths(number: &str) -> Option<u64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    if part.is_empty() || part.len() > 3 {
        return None;
    }
    let scale = [1_u64, 100, 10, 1].get(part.len())?;
    let part: u64 = part.parse::<u64>().ok()?.checked_mul(*scale)?;
    whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(part)
}

macro_rules! from_text {
    ($name:ident) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    };
}

from_text!(Span);
from_text!(ByteSize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_people_write_them() {
        for (text, ms) in [("500ms", 500.0), ("3.5s", 3_500.0), ("0s", 0.0), ("1.25m", 75_000.0), ("2h", 7_200_000.0)] {
            assert_eq!(text.parse::<Span>().unwrap().0.as_secs_f64() * 1_000.0, ms, "{text}");
        }
        for text in ["", "5", "s", "-1s", "1.s", "1.2345s", "1 s", "1d", "1s2", "99999999999999999h", "1.2.3s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_and_shown_as_people_write_them() {
        for (text, bytes) in [("1B", 1), ("512KiB", 512 << 10), ("64MiB", 64 << 20), ("3GiB", 3 << 30)] {
            let size: ByteSize = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, text));
        }
        for text in ["", "64", "64MB", "1.5GiB", "99999999999999GiB"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }
}
