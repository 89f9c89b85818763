//! Exact decimals in the servers' binary form.
//!
//! Nine digits take four bytes, fewer take less; the digits before and after the point are packed apart. The
//! highest bit is turned over so that bytes sort as values, and all bits of a negative number are turned over.

use super::push_digits;
use crate::binlog::ValueError;
use crate::binlog::cursor::be_uint;

/// Digits in all, at most; of both families.
pub const PRECISION_MAX: u8 = 65;

const GROUP_DIGITS: u8 = 9;
const GROUP_BYTES: u8 = 4;
/// Bytes for a group of fewer than nine digits.
const PARTIAL_BYTES: [u8; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
/// No decimal of [`PRECISION_MAX`] digits is longer.
const BYTES_MAX: usize = 32;

/// A decimal with `scale` digits after the point, of `precision` in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal<'a> {
    bytes: &'a [u8],
    precision: u8,
    scale: u8,
}

fn packed_size(digits: u8) -> u8 {
    let partial = PARTIAL_BYTES.get(usize::from(digits % GROUP_DIGITS)).copied().unwrap_or(0);
    digits / GROUP_DIGITS * GROUP_BYTES + partial
}

/// Bytes that a decimal takes; None if there can be no such decimal.
pub(in crate::binlog) fn binary_size(precision: u8, scale: u8) -> Option<u8> {
    let fits = (1..=PRECISION_MAX).contains(&precision) && scale <= precision;
    fits.then(|| packed_size(precision - scale) + packed_size(scale))
}

impl<'a> Decimal<'a> {
    /// `bytes` are as many as [`binary_size`] says.
    pub(in crate::binlog) fn new(precision: u8, scale: u8, bytes: &'a [u8]) -> Self {
        Self { bytes, precision, scale }
    }

    pub fn precision(&self) -> u8 {
        self.precision
    }

    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// The servers' binary form: equal values of one column have equal bytes.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Appends `-12.300`: all digits after the point, and no needless ones before it.
    pub fn write_text(&self, out: &mut Vec<u8>) -> Result<(), ValueError> {
        let mut buffer = [0u8; BYTES_MAX];
        let negative = self.bytes.first().is_some_and(|first| first & 0x80 == 0);
        let turned = if negative { 0xff } else { 0 };
        for (slot, byte) in buffer.iter_mut().zip(self.bytes) {
            *slot = byte ^ turned;
        }
        if let Some(first) = buffer.first_mut() {
            *first ^= 0x80;
        }
        let mut input = buffer.as_slice();

        let start = out.len();
        let written = self.write_digits(&mut input, negative, out);
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    fn write_digits(&self, input: &mut &[u8], negative: bool, out: &mut Vec<u8>) -> Result<(), ValueError> {
        let whole = self.precision - self.scale;
        if negative {
            out.push(b'-');
        }
        let first_digit = out.len();
        self.write_group(input, whole % GROUP_DIGITS, out)?;
        for _ in 0..whole / GROUP_DIGITS {
            self.write_group(input, GROUP_DIGITS, out)?;
        }
        let zeros = out.iter().skip(first_digit).take_while(|digit| **digit == b'0').count();
        out.drain(first_digit..first_digit + zeros);
        if out.len() == first_digit {
            out.push(b'0');
        }
        if self.scale > 0 {
            out.push(b'.');
            for _ in 0..self.scale / GROUP_DIGITS {
                self.write_group(input, GROUP_DIGITS, out)?;
            }
            self.write_group(input, self.scale % GROUP_DIGITS, out)?;
        }
        Ok(())
    }

    /// Writes one group of digits with its leading zeros.
    fn write_group(&self, input: &mut &[u8], digits: u8, out: &mut Vec<u8>) -> Result<(), ValueError> {
        let malformed = ValueError { offset: 0, expected: "groups of decimal digits" };
        let (group, rest) = input.split_at_checked(usize::from(packed_size(digits))).ok_or(malformed)?;
        *input = rest;
        let value = be_uint(group);
        if value >= 10u64.pow(u32::from(digits)) {
            return Err(malformed);
        }
        push_digits(value as u32, usize::from(digits), out);
        Ok(())
    }
}

#[cfg(test)]
pub(in crate::binlog) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The server's own packing, as a counterpart.
    pub fn pack(whole: &str, fraction: &str, negative: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut push = |digits: &str| {
            let value: u32 = digits.parse().unwrap_or(0);
            let size = usize::from(packed_size(digits.len() as u8));
            bytes.extend(&value.to_be_bytes()[4 - size..]);
        };
        let (head, groups) = whole.split_at(whole.len() % 9);
        push(head);
        groups.as_bytes().chunks(9).for_each(|group| push(str::from_utf8(group).unwrap()));
        fraction.as_bytes().chunks(9).for_each(|group| push(str::from_utf8(group).unwrap()));
        bytes[0] ^= 0x80;
        if negative {
            bytes.iter_mut().for_each(|byte| *byte ^= 0xff);
        }
        bytes
    }

    fn text(bytes: &[u8], precision: u8, scale: u8) -> Result<String, ValueError> {
        assert_eq!(binary_size(precision, scale).map(usize::from), Some(bytes.len()));
        let decimal = Decimal::new(precision, scale, bytes);
        let mut out = b"x".to_vec();
        decimal.write_text(&mut out).map(|()| String::from_utf8(out).unwrap()[1..].to_owned())
    }

    #[test]
    fn decimals_print_all_their_digits() {
        assert_eq!(text(&[0x80, 0], 3, 2).unwrap(), "0.00");
        assert_eq!(text(&[0x81, 0x0d, 0xfb, 0x38, 0xd2, 0x04, 0xd2], 14, 4).unwrap(), "1234567890.1234");
        assert_eq!(text(&[0x7e, 0xf2, 0x04, 0xc7, 0x2d, 0xfb, 0x2d], 14, 4).unwrap(), "-1234567890.1234");
        assert_eq!(text(&[0xe4], 2, 2).unwrap_err().expected, "groups of decimal digits");
    }

    #[test]
    fn impossible_decimals_are_refused() {
        assert_eq!(
            (binary_size(65, 30), binary_size(66, 0), binary_size(3, 4), binary_size(0, 0)),
            (Some(30), None, None, None)
        );
        for scale in 0..=PRECISION_MAX {
            assert!(usize::from(binary_size(PRECISION_MAX, scale).unwrap()) <= BYTES_MAX);
        }
    }

    proptest! {
        #[test]
        fn digits_come_back_as_they_were(whole in "[0-9]{0,35}", fraction in "[0-9]{0,30}", negative: bool) {
            prop_assume!(!whole.is_empty() || !fraction.is_empty());
            let (precision, scale) = ((whole.len() + fraction.len()) as u8, fraction.len() as u8);
            let shown = whole.trim_start_matches('0');
            let mut expected = if negative { "-".to_owned() } else { String::new() };
            expected += if shown.is_empty() { "0" } else { shown };
            if scale > 0 {
                expected += ".";
                expected += &fraction;
            }
            prop_assert_eq!(text(&pack(&whole, &fraction, negative), precision, scale).unwrap(), expected);
        }
    }
}
