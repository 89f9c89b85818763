//! Dates and times, as fields. Impossible dates (31 February, month 0) pass through untouched.
//!
//! Each type has an old form (whole seconds, decimal digits packed in an integer) and a newer one (bit fields and a
//! fraction of up to six digits). MariaDB 5.3 had a form between them (one big-endian number that counts in the
//! fraction's unit), which columns keep until they are rebuilt. All come out the same.

use super::push_digits;
use crate::binlog::cursor::{be_uint, le_uint};

/// `0000-00-00` to `9999-12-31`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Date {
    pub year: u16,
    pub month: u8,
    pub day: u8,
}

/// `-838:59:59` to `838:59:59`, with a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Time {
    pub negative: bool,
    pub hours: u16,
    pub minutes: u8,
    pub seconds: u8,
    pub microseconds: u32,
    /// Digits of the fraction that the column has.
    pub digits: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DateTime {
    pub date: Date,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microseconds: u32,
    /// Digits of the fraction that the column has.
    pub digits: u8,
}

/// An instant. All zero is the zero date, not the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timestamp {
    /// Since the Unix epoch; up to 2106.
    pub seconds: u64,
    pub microseconds: u32,
    /// Digits of the fraction that the column has.
    pub digits: u8,
}

/// Bytes of a fraction of so many digits.
pub(in crate::binlog) const fn fraction_size(digits: u8) -> usize {
    digits.div_ceil(2) as usize
}

/// Bytes that a fraction adds to a number which counts in its unit: five digits fit where four do.
const fn joined_fraction_size(digits: u8) -> usize {
    if digits == 5 { fraction_size(4) } else { fraction_size(digits) }
}

/// Microseconds in the last of so many digits.
fn unit_of(digits: u8) -> u32 {
    10u32.pow(6u32.saturating_sub(u32::from(digits)))
}

/// Microseconds from the bytes of a fraction.
fn fraction(bytes: &[u8]) -> u32 {
    let unit = match bytes.len() {
        1 => 10_000,
        2 => 100,
        _ => 1,
    };
    be_uint(bytes) as u32 * unit
}

impl Date {
    /// From three bytes: five bits of day, four of month, the rest is the year.
    pub(in crate::binlog) fn from_packed(bytes: [u8; 3]) -> Self {
        let value = le_uint(&bytes);
        Self { year: (value >> 9) as u16, month: (value >> 5 & 15) as u8, day: (value & 31) as u8 }
    }

    pub fn write_text(&self, out: &mut Vec<u8>) {
        push_digits(u32::from(self.year), 4, out);
        out.push(b'-');
        push_digits(u32::from(self.month), 2, out);
        out.push(b'-');
        push_digits(u32::from(self.day), 2, out);
    }
}

impl Time {
    /// From the old form: `hhmmss` as a signed decimal number of three bytes.
    pub(in crate::binlog) fn from_decimal(bytes: [u8; 3]) -> Self {
        let [low, middle, high] = bytes;
        let value = i32::from_le_bytes([0, low, middle, high]) >> 8;
        let absolute = value.unsigned_abs();
        Self {
            negative: value < 0,
            hours: (absolute / 10_000) as u16,
            minutes: (absolute / 100 % 100) as u8,
            seconds: (absolute % 100) as u8,
            microseconds: 0,
            digits: 0,
        }
    }

    /// From the newer form: three bytes and a fraction, together one number with an offset. Below zero the fraction
    /// counts towards zero, which is why whole and fraction must not be read apart.
    pub(in crate::binlog) fn from_packed(whole: [u8; 3], fraction_bytes: &[u8], digits: u8) -> Self {
        let fraction_bits = 8 * fraction_bytes.len() as u32;
        let joined = (be_uint(&whole) << fraction_bits | be_uint(fraction_bytes)) as i64;
        let value = joined - (0x80_0000 << fraction_bits);
        let absolute = value.unsigned_abs();
        let clock = absolute >> fraction_bits;
        let fraction_value = absolute & ((1 << fraction_bits) - 1);
        let fraction_bytes_of = fraction_value.to_be_bytes();
        let fraction_part = fraction_bytes_of.get(8 - fraction_bytes.len()..).unwrap_or_default();
        Self {
            negative: value < 0,
            hours: (clock >> 12 & 0x3ff) as u16,
            minutes: (clock >> 6 & 0x3f) as u8,
            seconds: (clock & 0x3f) as u8,
            microseconds: fraction(fraction_part),
            digits,
        }
    }

    /// Bytes of MariaDB 5.3's form.
    pub(in crate::binlog) const fn middle_size(digits: u8) -> usize {
        3 + joined_fraction_size(digits)
    }

    /// From MariaDB 5.3's form: the time in units of its last digit, above the least time there is.
    pub(in crate::binlog) fn from_middle(bytes: &[u8], digits: u8) -> Self {
        const SECONDS_BELOW_ZERO: i64 = 838 * 3600 + 59 * 60 + 60;
        let unit = unit_of(digits);
        let units_a_second = i64::from(1_000_000 / unit);
        let value = (be_uint(bytes) as i64).wrapping_sub(SECONDS_BELOW_ZERO * units_a_second);
        let absolute = value.unsigned_abs();
        let seconds = absolute / units_a_second.unsigned_abs();
        Self {
            negative: value < 0,
            hours: (seconds / 3600) as u16,
            minutes: (seconds / 60 % 60) as u8,
            seconds: (seconds % 60) as u8,
            microseconds: (absolute % units_a_second.unsigned_abs()) as u32 * unit,
            digits,
        }
    }

    /// From the servers' number in memory, which JSON documents hold: 24 bits of microseconds below the clock.
    pub(in crate::binlog) fn from_memory(value: i64) -> Self {
        let absolute = value.unsigned_abs();
        let clock = absolute >> 24;
        Self {
            negative: value < 0,
            hours: (clock >> 12 & 0x3ff) as u16,
            minutes: (clock >> 6 & 0x3f) as u8,
            seconds: (clock & 0x3f) as u8,
            microseconds: (absolute & 0xff_ffff) as u32,
            digits: 6,
        }
    }

    pub fn write_text(&self, out: &mut Vec<u8>) {
        if self.negative {
            out.push(b'-');
        }
        push_digits(u32::from(self.hours), if self.hours < 100 { 2 } else { 3 + usize::from(self.hours > 999) }, out);
        out.push(b':');
        push_digits(u32::from(self.minutes), 2, out);
        out.push(b':');
        push_digits(u32::from(self.seconds), 2, out);
        write_fraction(self.microseconds, self.digits, out);
    }
}

impl DateTime {
    /// From the old form: `YYYYMMDDhhmmss` as a decimal number.
    pub(in crate::binlog) fn from_decimal(bytes: [u8; 8]) -> Self {
        let value = u64::from_le_bytes(bytes);
        let part = |unit: u64| (value / unit % 100) as u8;
        Self {
            date: Date { year: (value / 10_000_000_000) as u16, month: part(100_000_000), day: part(1_000_000) },
            hour: part(10_000),
            minute: part(100),
            second: part(1),
            microseconds: 0,
            digits: 0,
        }
    }

    /// From the newer form: five bytes with an offset, and a fraction. None below zero, where no date is.
    pub(in crate::binlog) fn from_packed(whole: [u8; 5], fraction_bytes: &[u8], digits: u8) -> Option<Self> {
        let clock = be_uint(&whole).checked_sub(0x80_0000_0000)?;
        Some(Self::from_clock(clock, fraction(fraction_bytes), digits))
    }

    /// Bytes of MariaDB 5.3's form.
    pub(in crate::binlog) const fn middle_size(digits: u8) -> usize {
        5 + joined_fraction_size(digits)
    }

    /// From MariaDB 5.3's form: months of 32 days in years of 13 months, in units of the last digit.
    pub(in crate::binlog) fn from_middle(bytes: &[u8], digits: u8) -> Self {
        let unit = unit_of(digits);
        let units_a_second = u64::from(1_000_000 / unit);
        let value = be_uint(bytes);
        let seconds = value / units_a_second;
        let days = seconds / 86_400;
        Self {
            date: Date { year: (days / 32 / 13) as u16, month: (days / 32 % 13) as u8, day: (days % 32) as u8 },
            hour: (seconds / 3600 % 24) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            microseconds: (value % units_a_second) as u32 * unit,
            digits,
        }
    }

    /// From the servers' number in memory, which JSON documents hold.
    pub(in crate::binlog) fn from_memory(value: i64) -> Self {
        let absolute = value.unsigned_abs();
        Self::from_clock(absolute >> 24, (absolute & 0xff_ffff) as u32, 6)
    }

    fn from_clock(clock: u64, microseconds: u32, digits: u8) -> Self {
        let (day, time) = (clock >> 17, clock & 0x1_ffff);
        let year_and_month = day >> 5;
        Self {
            date: Date {
                year: (year_and_month / 13) as u16,
                month: (year_and_month % 13) as u8,
                day: (day & 31) as u8,
            },
            hour: (time >> 12) as u8,
            minute: (time >> 6 & 0x3f) as u8,
            second: (time & 0x3f) as u8,
            microseconds,
            digits,
        }
    }

    pub fn write_text(&self, out: &mut Vec<u8>) {
        self.date.write_text(out);
        out.push(b' ');
        push_digits(u32::from(self.hour), 2, out);
        out.push(b':');
        push_digits(u32::from(self.minute), 2, out);
        out.push(b':');
        push_digits(u32::from(self.second), 2, out);
        write_fraction(self.microseconds, self.digits, out);
    }
}

impl Timestamp {
    /// From the old form.
    pub(in crate::binlog) fn from_seconds(bytes: [u8; 4]) -> Self {
        Self { seconds: le_uint(&bytes), microseconds: 0, digits: 0 }
    }

    /// From the newer form.
    pub(in crate::binlog) fn from_packed(whole: [u8; 4], fraction_bytes: &[u8], digits: u8) -> Self {
        Self { seconds: be_uint(&whole), microseconds: fraction(fraction_bytes), digits }
    }

    /// Bytes of MariaDB 5.3's form.
    pub(in crate::binlog) const fn middle_size(digits: u8) -> usize {
        4 + fraction_size(digits)
    }

    /// From MariaDB 5.3's form: the seconds, then the fraction in units of its last digit.
    pub(in crate::binlog) fn from_middle(bytes: &[u8], digits: u8) -> Self {
        let (whole, fraction) = bytes.split_at_checked(4).unwrap_or_default();
        let microseconds = (be_uint(fraction) as u32).saturating_mul(unit_of(digits));
        Self { seconds: be_uint(whole), microseconds, digits }
    }

    /// The same instant as date and time in UTC.
    pub fn to_utc(&self) -> DateTime {
        let Self { seconds, microseconds, digits } = *self;
        if seconds == 0 && microseconds == 0 {
            let date = Date { year: 0, month: 0, day: 0 };
            return DateTime { date, hour: 0, minute: 0, second: 0, microseconds, digits };
        }
        let time = seconds % 86_400;
        DateTime {
            date: date_of(seconds / 86_400),
            hour: (time / 3600) as u8,
            minute: (time / 60 % 60) as u8,
            second: (time % 60) as u8,
            microseconds,
            digits,
        }
    }

    pub fn write_text(&self, out: &mut Vec<u8>) {
        self.to_utc().write_text(out);
    }
}

/// The date so many days after 1970-01-01. Counts in years that begin on 1 March, so that the leap day is the last.
fn date_of(days: u64) -> Date {
    const DAYS_BEFORE_1970: u64 = 719_468; // since 0000-03-01
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let days = days + DAYS_BEFORE_1970;
    let (era, day_of_era) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    Date { year: year as u16, month: month as u8, day: day as u8 }
}

fn write_fraction(microseconds: u32, digits: u8, out: &mut Vec<u8>) {
    if digits > 0 {
        out.push(b'.');
        push_digits(microseconds / unit_of(digits), usize::from(digits.min(6)), out);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    /// The server's own packing of a TIME, as a counterpart.
    fn pack_time(time: &Time) -> Vec<u8> {
        let clock = i64::from(time.hours) << 12 | i64::from(time.minutes) << 6 | i64::from(time.seconds);
        let size = fraction_size(time.digits);
        let unit = [1_000_000, 10_000, 100, 1][size];
        let value = clock << (8 * size) | i64::from(time.microseconds / unit);
        let value = if time.negative { -value } else { value } + (0x80_0000 << (8 * size));
        value.to_be_bytes()[8 - 3 - size..].to_vec()
    }

    #[test]
    fn negative_times_keep_their_fractions() {
        let cases = [
            ("-00:00:00.000001", 6, 0, 0, 0, 1),
            ("-838:59:59.0", 1, 838, 59, 59, 0),
            ("-12:34:56.78", 2, 12, 34, 56, 780_000),
            ("-12:34:56.7", 1, 12, 34, 56, 700_000),
            ("-00:00:01.500", 3, 0, 0, 1, 500_000),
            ("-01:00:00", 0, 1, 0, 0, 0),
        ];
        for (expected, digits, hours, minutes, seconds, microseconds) in cases {
            let time = Time { negative: true, hours, minutes, seconds, microseconds, digits };
            let packed = pack_time(&time);
            let (whole, fraction) = packed.split_first_chunk::<3>().unwrap();
            assert_eq!(Time::from_packed(*whole, fraction, digits), time);
            assert_eq!(text(|out| time.write_text(out)), expected);
        }
    }

    #[test]
    fn old_forms_are_decimal_digits() {
        let time = Time::from_decimal([0xff, 0xff, 0xff]);
        assert_eq!(text(|out| time.write_text(out)), "-00:00:01");
        let time = Time::from_decimal(8_385_959i32.to_le_bytes()[..3].try_into().unwrap());
        assert_eq!(text(|out| time.write_text(out)), "838:59:59");
        let datetime = DateTime::from_decimal(20_230_231_010_203u64.to_le_bytes());
        assert_eq!(text(|out| datetime.write_text(out)), "2023-02-31 01:02:03");
    }

    #[test]
    fn zero_and_impossible_dates_pass_through() {
        assert_eq!(text(|out| Date::from_packed([0, 0, 0]).write_text(out)), "0000-00-00");
        let packed = (2024u32 << 9 | 15).to_le_bytes();
        assert_eq!(text(|out| Date::from_packed([packed[0], packed[1], packed[2]]).write_text(out)), "2024-00-15");
        let zero = DateTime::from_packed([0x80, 0, 0, 0, 0], &[0, 0], 3).unwrap();
        assert_eq!(text(|out| zero.write_text(out)), "0000-00-00 00:00:00.000");
        assert_eq!(DateTime::from_packed([0x7f, 0xff, 0xff, 0xff, 0xff], &[], 0), None);
    }

    #[test]
    fn timestamps_are_utc_up_to_2106() {
        let stamp = |seconds, microseconds, digits| Timestamp { seconds, microseconds, digits };
        assert_eq!(text(|out| stamp(0, 0, 2).write_text(out)), "0000-00-00 00:00:00.00");
        assert_eq!(text(|out| stamp(1, 0, 0).write_text(out)), "1970-01-01 00:00:01");
        assert_eq!(text(|out| stamp(951_782_400, 400_000, 1).write_text(out)), "2000-02-29 00:00:00.4");
        assert_eq!(text(|out| stamp(4_294_967_295, 999_999, 6).write_text(out)), "2106-02-07 06:28:15.999999");
    }

    proptest! {
        #[test]
        fn times_come_back_as_they_were(
            negative: bool, hours in 0u16..839, minutes in 0u8..60, seconds in 0u8..60, micros in 0u32..1_000_000, digits in 0u8..=6,
        ) {
            let microseconds = micros / 10u32.pow(6 - u32::from(digits)) * 10u32.pow(6 - u32::from(digits));
            let negative = negative && (hours, minutes, seconds, microseconds) != (0, 0, 0, 0);
            let time = Time { negative, hours, minutes, seconds, microseconds, digits };
            let packed = pack_time(&time);
            let (whole, fraction) = packed.split_first_chunk::<3>().unwrap();
            prop_assert_eq!(Time::from_packed(*whole, fraction, digits), time);
        }

        #[test]
        fn utc_agrees_with_a_calendar(seconds in 1u32..=u32::MAX) {
            let shown = text(|out| Timestamp { seconds: u64::from(seconds), microseconds: 0, digits: 0 }.write_text(out));
            let calendar = jiff::Timestamp::from_second(i64::from(seconds)).unwrap();
            prop_assert_eq!(shown, calendar.strftime("%Y-%m-%d %H:%M:%S").to_string());
        }
    }
}
