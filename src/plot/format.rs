//! Number formats for readers.

use std::cell::Cell;

pub use crate::accounting::decimal::{lower, upper};
use crate::accounting::decimal::{upper_percent, upper_power};

thread_local! {
    /// The decimal and group separators of numbers for readers.
    static SIGNS: Cell<[char; 2]> = const { Cell::new(['.', ',']) };
}

/// Sets the decimal and group separators that this thread uses for readers. The formats that
/// programs read ([`fixed`], [`exact`]) do not change.
pub fn speak(decimal: char, group: char) {
    SIGNS.set([decimal, group]);
}

/// Replaces the English separators of `number` by those of the visitor's language.
#[must_use]
pub fn local(number: String) -> String {
    let [decimal, group] = SIGNS.get();
    if decimal == '.' && group == ',' {
        return number;
    }
    let sign = |letter| match letter {
        '.' => decimal,
        ',' => group,
        other => other,
    };
    number.chars().map(sign).collect()
}

/// `60000` → `60,000`.
#[must_use]
pub fn integer(n: u64) -> String {
    local(grouped(&n.to_string()))
}

/// Formats as [`fixed`] with the language's separators.
#[must_use]
pub fn decimals_of(x: f64, decimals: usize) -> String {
    local(fixed(x, decimals))
}

/// Separates thousands by commas.
fn grouped(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Formats a finite number with `decimals` decimals, halves rounded away from 0. The standard
/// library's formatting is exact for any number of digits, but adds six kilobytes to the page.
#[must_use]
pub fn fixed(x: f64, decimals: usize) -> String {
    let unit = 10u64.pow(decimals as u32);
    let units = (x.abs() * unit as f64).round() as u64;
    let sign = if x < 0.0 && units > 0 { "-" } else { "" };
    let (whole, rest) = (units / unit, units % unit);
    if decimals == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest:0decimals$}") }
}

/// Removes trailing zeros after the decimal point.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// A share from 0 to 1 → `84.2%`.
#[must_use]
pub fn percent(share: f64) -> String {
    decimals_of(share * 100.0, 1) + "%"
}

/// An upper bound on a share from 0 to 1, rounded up: 0.8411 → `84.2%`.
#[must_use]
pub fn percent_at_most(share: f64) -> String {
    local(upper_percent(share, 1)) + "%"
}

/// Formats ε to about three digits, rounded *up*, so that it remains an upper bound.
#[must_use]
pub fn epsilon(epsilon: f64) -> String {
    local(match decimals(epsilon) {
        None if epsilon == 0.0 => "0".to_owned(),
        None => upper_power(epsilon, 2),
        Some(0) => grouped(&upper(epsilon, 0)),
        Some(decimals) => upper(epsilon, decimals),
    })
}

/// Formats an ε set by the user, which is not a bound: as many digits, rounded to nearest.
#[must_use]
pub fn budget(epsilon: f64) -> String {
    decimals(epsilon).map_or_else(|| number(epsilon), |decimals| decimals_of(epsilon, decimals))
}

/// Returns the number of decimals shown of ε; `None` for a power of ten.
const fn decimals(epsilon: f64) -> Option<usize> {
    match epsilon {
        e if e < 1e-3 => None,
        e if e < 0.1 => Some(4),
        e if e < 1.0 => Some(3),
        e if e < 10.0 => Some(2),
        e if e < 100.0 => Some(1),
        e if e < 1e15 => Some(0),
        _ => None,
    }
}

/// Returns an upper bound on the values that [`epsilon`] shows as it shows this one.
#[must_use]
pub fn shown(epsilon: f64) -> f64 {
    // Exceeds the rounding errors below.
    const MARGIN: f64 = 1.0 + 1e-14;
    let unit = match decimals(epsilon) {
        Some(decimals) => 0.1f64.powi(decimals as i32),
        None if epsilon > 0.0 => 10f64.powf(epsilon.log10().floor() - 2.0),
        None => return epsilon,
    };
    (epsilon / unit * MARGIN).ceil() * unit * MARGIN
}

/// Formats any finite number in few characters: `0.05`, `1e-5`, `12,000`.
#[must_use]
pub fn number(x: f64) -> String {
    local(short(x))
}

fn short(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e9).contains(&size) {
        if !x.is_finite() {
            return exact(x);
        }
        let mut exponent = size.log10().floor() as i32;
        let mut digits = x / 10f64.powi(exponent);
        // Rounds to 10.
        if digits.abs() >= 9.995 {
            (exponent, digits) = (exponent + 1, digits / 10.0);
        }
        format!("{}e{exponent}", trimmed(&fixed(digits, 2)))
    } else if size >= 10_000.0 && x.fract() == 0.0 {
        format!("{}{}", if x < 0.0 { "−" } else { "" }, grouped(&(size as u64).to_string()))
    } else {
        let decimals = (4 - size.log10().floor() as i32).clamp(0, 6) as usize;
        trimmed(&fixed(x, decimals)).to_owned()
    }
}

/// Formats a number for a text field, with as few digits as identify it.
pub use crate::train::number::quoted as exact;

/// Formats as [`exact`] with the language's separators.
#[must_use]
pub fn field(x: f64) -> String {
    local(exact(x))
}

/// Converts typed text to [`exact`]'s format: `1.000,5` is 1000.5 where the language writes it so.
/// A point that separates no thousands is a decimal point.
#[must_use]
pub fn neutral(typed: &str) -> String {
    let [decimal, group] = SIGNS.get();
    if decimal == '.' {
        return typed.to_owned();
    }
    let mut parts = typed.trim().split(group);
    let first = parts.next().unwrap_or_default();
    let thousands = (1..=3).contains(&first.len()) && !first.starts_with('0') && parts.all(|part| part.len() == 3);
    if typed.contains(decimal) || thousands { typed.replace(group, "").replace(decimal, ".") } else { typed.to_owned() }
}

/// Rounds `x` to `digits` significant digits; 0 if it is 0 or not finite.
#[must_use]
pub fn significant(x: f64, digits: i32) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return 0.0;
    }
    let unit = 10f64.powf(x.abs().log10().floor() + 1.0 - f64::from(digits));
    // Dividing by 10^k is exact where multiplying by 10^−k is not: 0.3, not 0.30000000000000004.
    if unit < 1.0 { (x / unit).round() / (1.0 / unit).round() } else { (x / unit).round() * unit }
}

/// Seconds → `0.8 s`, `42 s`, `3 min 05 s`, `1 h 02 min`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match seconds {
        s if s < 9.95 => decimals_of(s, 1) + " s",
        s if s < 59.5 => format!("{whole} s"),
        s if s < 3599.5 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Bytes → `1.2 MB`.
#[must_use]
pub fn bytes(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => decimals_of(n as f64 / 1e3, 0) + " KB",
        1_000_000..1_000_000_000 => decimals_of(n as f64 / 1e6, 1) + " MB",
        _ => decimals_of(n as f64 / 1e9, 1) + " GB",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_use_the_separators_of_the_language() {
        speak(',', '.');
        assert_eq!(
            [integer(60_000), number(0.05), number(-12_000.0), epsilon(0.5357)],
            ["60.000", "0,05", "−12.000", "0,536"]
        );
        assert_eq!([percent(0.9053), duration(0.84), bytes(1_250_000)], ["90,5%", "0,8 s", "1,3 MB"]);
        assert_eq!([fixed(0.5, 1), exact(0.5)], ["0.5", "0.5"], "programs read these");
        assert_eq!([field(0.05), field(1.125), field(1e-5)], ["0,05", "1,125", "1e-5"]);
        for (typed, read) in [
            ("0,5", "0.5"),
            ("0.5", "0.5"),
            ("1.000,5", "1000.5"),
            ("60.000", "60000"),
            ("1,125", "1.125"),
            ("1e-5", "1e-5"),
        ] {
            assert_eq!(neutral(typed), read, "{typed}");
        }
        speak('.', ',');
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(integer(0), "0");
        assert_eq!(integer(999), "999");
        assert_eq!(integer(1000), "1,000");
        assert_eq!(integer(1_234_567), "1,234,567");
    }

    #[test]
    fn a_shown_epsilon_is_never_below_the_bound() {
        for e in [1e-300, 1e-9, 0.0421, 0.56781, 0.9999, 1.2802, 2.597, 9.999, 16.41, 99.99, 123.4, 1e7, 1.0e24, 1e300]
        {
            let text = epsilon(e);
            let read: f64 = text.replace(',', "").parse().unwrap();
            assert!(read >= e * (1.0 - 1e-15), "{e} is shown as {text}");
            assert!(read <= e * 1.011, "{e} is shown as {text}");
            // `shown` bounds all values with the same text.
            let (mut next, whole) = (e, shown(e));
            assert!(whole >= read && whole <= read * 1.02, "{e}: {whole}");
            while epsilon(next) == text {
                assert!(next <= whole, "{next} is shown as {e} is, and above {whole}");
                next *= 1.0 + 1e-4;
            }
        }
        assert_eq!([epsilon(2.5), epsilon(2.597), epsilon(2.6)], ["2.50", "2.60", "2.61"]);
        assert_eq!([1.0, 2.6, 0.1, 12.0, 1e-4].map(budget), ["1.00", "2.60", "0.100", "12.0", "1e-4"]);
        assert_eq!([epsilon(f64::INFINITY), epsilon(0.0), epsilon(f64::NAN)], ["∞", "0", "∞"]);
        assert_eq!([epsilon(12_345.6), epsilon(1.0e24), epsilon(4.201e-12)], ["12,346", "1e24", "4.21e-12"]);
        assert_eq!(
            [percent_at_most(0.841_1), percent_at_most(1.0), percent_at_most(1e-12)],
            ["84.2%", "100.0%", "0.1%"]
        );
    }

    #[test]
    fn numbers_stay_short() {
        assert_eq!(number(0.5), "0.5");
        assert_eq!(number(1e-5), "1e-5");
        assert_eq!(number(60_000.0), "60,000");
        assert_eq!(number(1.1), "1.1");
        assert_eq!(number(0.0), "0");
        assert_eq!(number(-0.25), "-0.25");
        assert_eq!(
            [3.2e-7, -1.5e-9, 9.999e-5, 2e12, 1e-300].map(number),
            ["3.2e-7", "-1.5e-9", "1e-4", "2e12", "1e-300"]
        );
        assert_eq!(
            [fixed(0.0, 2), fixed(-0.001, 2), fixed(-12.345, 1), fixed(7.05, 2)],
            ["0.00", "0.00", "-12.3", "7.05"]
        );
        assert_eq!([fixed(99.95, 1), fixed(2.5, 0), fixed(1e9 - 0.5, 6)], ["100.0", "3", "999999999.500000"]);
        assert_eq!(exact(1e-5), "1e-5");
        assert_eq!(exact(0.1), "0.1");
        assert_eq!(exact(256.0), "256");
    }

    #[test]
    fn significant_keeps_the_given_number_of_digits() {
        assert_eq!(significant(0.3049, 2), 0.3);
        assert_eq!(significant(-123_456.0, 3), -123_000.0);
        assert_eq!(significant(9.0909e-13, 3), 9.09e-13);
        assert_eq!([0.0, f64::NAN, f64::INFINITY].map(|x| significant(x, 3)), [0.0; 3]);
    }

    #[test]
    fn durations_read_naturally() {
        assert_eq!(duration(0.84), "0.8 s");
        assert_eq!(duration(42.2), "42 s");
        assert_eq!(duration(185.0), "3 min 05 s");
        assert_eq!(duration(3720.0), "1 h 02 min");
    }
}
