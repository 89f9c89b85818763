//! Floating-point numbers as text: the shortest digits that read back as the same number, laid out as the servers
//! lay them out.
//!
//! For DOUBLE that is exactly what the servers print. For FLOAT they print six digits, which do not read back; we
//! print as many as needed. A DOUBLE(M,D) prints without the zeros that the servers add.

/// The servers write numbers out in full while the point stands at most this far from the first digit.
const PLAIN_EXPONENT: i32 = 15;

pub fn write_double(value: f64, out: &mut Vec<u8>) {
    write_scientific(format_args!("{value:e}"), out);
}

pub fn write_float(value: f32, out: &mut Vec<u8>) {
    write_scientific(format_args!("{value:e}"), out);
}

/// Lays out `-1.25e-7`, which is how Rust prints the shortest digits.
fn write_scientific(text: std::fmt::Arguments<'_>, out: &mut Vec<u8>) {
    use std::io::Write;

    // Sign, 17 digits, point, exponent: far less than the buffer has; NaN and infinities have no exponent.
    let mut buffer = [0u8; 40];
    let mut rest = buffer.as_mut_slice();
    let fits = rest.write_fmt(text).is_ok();
    let unused = rest.len();
    let printed = buffer.get(..buffer.len() - unused).filter(|_| fits).unwrap_or_default();

    let (sign, printed) = match printed.split_first() {
        Some((b'-', printed)) => (&b"-"[..], printed),
        _ => (&b""[..], printed),
    };
    out.extend_from_slice(sign);
    let Some((mantissa, exponent)) = split_exponent(printed) else {
        out.extend_from_slice(printed);
        return;
    };
    let mut digits = [0u8; 24];
    let mut count = 0;
    for (slot, digit) in digits.iter_mut().zip(mantissa.iter().filter(|byte| **byte != b'.')) {
        *slot = *digit;
        count += 1;
    }
    let digits = digits.get(..count).unwrap_or_default();
    // Where the point stands, counted from the first digit.
    let point = exponent + 1;
    if !(1 - PLAIN_EXPONENT..=PLAIN_EXPONENT).contains(&point) {
        let (first, more) = digits.split_at_checked(1).unwrap_or_default();
        out.extend_from_slice(first);
        if !more.is_empty() {
            out.push(b'.');
            out.extend_from_slice(more);
        }
        out.push(b'e');
        super::write_int(i64::from(exponent), out);
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + point.unsigned_abs() as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        let whole = point.unsigned_abs() as usize;
        match digits.split_at_checked(whole) {
            Some((whole, fraction)) => {
                out.extend_from_slice(whole);
                if !fraction.is_empty() {
                    out.push(b'.');
                    out.extend_from_slice(fraction);
                }
            }
            None => {
                out.extend_from_slice(digits);
                out.resize(out.len() + whole - digits.len(), b'0');
            }
        }
    }
}

fn split_exponent(printed: &[u8]) -> Option<(&[u8], i32)> {
    let at = printed.iter().position(|byte| *byte == b'e')?;
    let (mantissa, exponent) = printed.split_at_checked(at)?;
    let exponent = str::from_utf8(exponent.get(1..)?).ok()?.parse().ok()?;
    Some((mantissa, exponent))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn double(value: f64) -> String {
        let mut out = Vec::new();
        write_double(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn float(value: f32) -> String {
        let mut out = Vec::new();
        write_float(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_are_laid_out_as_the_server_does() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (123_456.789, "123456.789"),
            (1e14, "100000000000000"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e15, "1e15"),
            (1.5e20, "1.5e20"),
            (0.001, "0.001"),
            (1.5e-10, "0.00000000015"),
            (1e-15, "0.000000000000001"),
            (1.25e-16, "1.25e-16"),
            (f64::MAX, "1.7976931348623157e308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (5e-324, "5e-324"),
            (0.1, "0.1"),
        ] {
            assert_eq!(double(value), expected);
        }
    }

    #[test]
    fn floats_have_as_many_digits_as_they_need() {
        assert_eq!(float(0.1), "0.1");
        assert_eq!(float(16_777_216.0), "16777216");
        assert_eq!(float(3.402_823_5e38), "3.4028235e38");
    }

    proptest! {
        #[test]
        fn text_reads_back_as_the_same_number(value in any::<f64>(), small in any::<f32>()) {
            prop_assert_eq!(double(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
            prop_assert_eq!(float(small).parse::<f32>().unwrap().to_bits(), small.to_bits());
            // A target may read the text as a double first.
            prop_assert_eq!((float(small).parse::<f64>().unwrap() as f32).to_bits(), small.to_bits());
        }
    }
}
