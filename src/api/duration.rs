//! Durations as Go writes them: `1h30m`, `300ms`, `1.5s`, `0`.

use std::time::Duration;

/// None if the text is no duration, is negative, or is longer than 64 bits of nanoseconds hold.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let number_ends = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(number_ends);
        let unit_ends = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_ends);
        total = total.checked_add(nanoseconds(number, unit)?)?;
        rest = tail;
    }
    u64::try_from(total).ok().filter(|nanos| i64::try_from(*nanos).is_ok()).map(Duration::from_nanos)
}

fn nanoseconds(number: &str, unit: &str) -> Option<u128> {
    let scale: u128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanos = whole.checked_mul(scale)?;
    let mut place = scale;
    for digit in fraction.bytes() {
        place /= 10;
        nanos = nanos.checked_add(u128::from(digit.checked_sub(b'0')?) * place)?;
    }
    Some(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, milliseconds) in [
            ("10s", 10_000),
            ("1h30m", 5_400_000),
            ("300ms", 300),
            ("1.5s", 1_500),
            (".5s", 500),
            ("0", 0),
            ("+1m", 60_000),
        ] {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        assert_eq!(parse_duration("2µs"), Some(Duration::from_micros(2)));
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for text in ["", "10", "s", "1x", "-1s", "1..5s", ".s", "1 s", "99999999999h", "1s2", "１s"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
