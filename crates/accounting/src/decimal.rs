//! Decimal bounds rounded to the safe side: the decimal of an upper bound is never below it.
//!
//! A binary fraction has finitely many decimals, and all are used: m·2^−k = m·5^k / 10^k. No power
//! of ten is rounded, unlike in `(x * 1e6).ceil() / 1e6`.

pub use super::numeric::six_digits_up;

/// Decimal exponent from which numbers are written as a power of ten.
const LARGE: i32 = 15;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Above,
    Below,
}

/// Writes the upper bound `x` with `decimals` decimals, rounded up: `0.5671` with two is `0.57`. If
/// two digits do not fit, or from 10^15 on, as a power of ten with as many decimals. NaN gives `∞`.
#[must_use]
pub fn upper(x: f64, decimals: usize) -> String {
    placed(x, decimals, Side::Above)
}

/// As [`upper`], for a lower bound, rounded down. NaN gives `−∞`.
#[must_use]
pub fn lower(x: f64, decimals: usize) -> String {
    placed(x, decimals, Side::Below)
}

/// Writes an upper bound as a power of ten, rounded up, with up to `decimals` decimals: `3.21e-7`.
#[must_use]
pub fn upper_power(x: f64, decimals: usize) -> String {
    power(x, decimals, Side::Above)
}

/// Writes the upper bound `share`, in [0, 1], in percent, rounded up, without the sign: 0.1234 with
/// one decimal is `12.4`. A positive share is at least a unit of the last decimal.
#[must_use]
pub fn upper_percent(share: f64, decimals: usize) -> String {
    fixed(share, 2, decimals, Side::Above)
}

/// Writes a number with all its digits, as a power of ten where it would be mostly zeros.
#[must_use]
pub fn quoted(x: f64) -> String {
    if x == 0.0 || (1e-4..1e15).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") }
}

fn placed(x: f64, decimals: usize, side: Side) -> String {
    // Zero is written without decimals.
    if x == 0.0 {
        return "0".to_owned();
    }
    let point = Digits::of(x).point;
    if point > LARGE || point <= 0 && point + (decimals as i32) < 2 {
        power(x, decimals, side)
    } else {
        fixed(x, 0, decimals, side)
    }
}

fn power(x: f64, decimals: usize, side: Side) -> String {
    if x == 0.0 || !x.is_finite() {
        return fixed(x, 0, 0, side);
    }
    let mut digits = Digits::of(x);
    digits.keep(decimals as i32 + 1, (side == Side::Above) == (x > 0.0));
    let last = (1..=decimals as i32).rev().find(|&place| digits.at(place) != b'0').unwrap_or(0);
    let mut out = digits.written(x, 1, last);
    out.push('e');
    out.push_str(&(digits.point - 1).to_string());
    out
}

fn fixed(x: f64, shift: i32, decimals: usize, side: Side) -> String {
    if !x.is_finite() {
        return if side == Side::Above { "∞" } else { "−∞" }.to_owned();
    }
    let decimals = decimals as i32;
    let mut digits = Digits::of(x);
    digits.point += shift;
    digits.keep(digits.point + decimals, (side == Side::Above) == (x > 0.0));
    digits.written(x, digits.point, decimals)
}

/// |x| = 0.d₀d₁d₂… · 10^point, exactly.
struct Digits {
    digits: Vec<u8>,
    point: i32,
}

impl Digits {
    /// The digits of a finite number.
    fn of(x: f64) -> Self {
        let bits = x.to_bits();
        let (exponent, fraction) = (((bits >> 52) & 0x7ff) as i32, bits & ((1 << 52) - 1));
        // Subnormal numbers have no hidden bit.
        let mut number = if exponent == 0 { fraction } else { fraction | (1 << 52) };
        let (zeros, mut digits) = (number.trailing_zeros() % 64, vec![]);
        number >>= zeros;
        // |x| = number · 2^two.
        let two = exponent.max(1) - 1075 + zeros as i32;
        push(&mut digits, number);
        let (base, mut left): (u64, u32) = if two < 0 { (5, two.unsigned_abs()) } else { (2, two.unsigned_abs()) };
        while left > 0 {
            // Ten times 5^25 fits in 64 bits.
            let factor = base.pow(left.min(25));
            left -= left.min(25);
            let mut carry = 0;
            for digit in &mut digits {
                let product = u64::from(*digit) * factor + carry;
                *digit = (product % 10) as u8;
                carry = product / 10;
            }
            push(&mut digits, carry);
        }
        digits.reverse();
        Self { point: digits.len() as i32 + two.min(0), digits }
    }

    /// Keeps the first `count` digits; rounds up if digits are cut and `away` from 0 is safe.
    fn keep(&mut self, count: i32, away: bool) {
        // If the last place kept is above the first digit, no digit is kept.
        self.point -= count.min(0);
        let count = count.max(0) as usize;
        let left_out = self.digits.iter().skip(count).any(|digit| *digit > 0);
        self.digits.truncate(count);
        if !(left_out && away) {
            return;
        }
        for digit in self.digits.iter_mut().rev() {
            *digit = (*digit + 1) % 10;
            if *digit > 0 {
                return;
            }
        }
        // All nines, or no digit.
        self.digits.clear();
        self.digits.push(1);
        self.point += 1;
    }

    /// The digit at a place, in ASCII.
    fn at(&self, place: i32) -> u8 {
        b'0' + usize::try_from(place).ok().and_then(|place| self.digits.get(place)).copied().unwrap_or(0)
    }

    /// Writes the sign of `x` (unless 0), `whole` digits, the point and `decimals` decimals.
    fn written(&self, x: f64, whole: i32, decimals: i32) -> String {
        let mut out = String::new();
        if x < 0.0 && self.digits.iter().any(|digit| *digit > 0) {
            out.push('-');
        }
        // Zeros before the first digit; at least one is written.
        ((whole - 1).min(0)..whole).for_each(|place| out.push(char::from(self.at(place))));
        if decimals > 0 {
            out.push('.');
            (whole..whole + decimals).for_each(|place| out.push(char::from(self.at(place))));
        }
        out
    }
}

/// Appends the decimal digits of a number, last digit first.
fn push(digits: &mut Vec<u8>, mut number: u64) {
    while number > 0 {
        digits.push((number % 10) as u8);
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quoted_numbers_are_not_mostly_zeros() {
        for (x, text) in
            [(1e-300, "1e-300"), (-2.5e20, "-2.5e20"), (0.0, "0"), (0.05, "0.05"), (1e-4, "0.0001"), (-1.0, "-1")]
        {
            assert_eq!(quoted(x), text);
        }
        assert_eq!(quoted(f64::NAN), "NaN");
        let refused = crate::noise::NoiseSpec::Gaussian { sigma: 1e-300 }.build().map(drop).unwrap_err();
        assert!(refused.to_string().contains("is 1e-300;"), "{refused}");
    }

    /// Sign, digits and power of ten of a decimal, parsed by hand.
    fn read(text: &str) -> (bool, String, i32) {
        let (number, power) = text.split_once('e').unwrap_or((text, "0"));
        let (negative, number) = number.strip_prefix('-').map_or((false, number), |number| (true, number));
        let (whole, rest) = number.split_once('.').unwrap_or((number, ""));
        let digits = format!("{whole}{rest}");
        (negative, digits, power.parse::<i32>().unwrap() - rest.len() as i32)
    }

    /// Compares two decimals digit by digit, as real numbers.
    fn compare(a: &str, b: &str) -> Ordering {
        let ((a_negative, mut a, a_power), (b_negative, mut b, b_power)) = (read(a), read(b));
        let zero = |digits: &str| digits.bytes().all(|digit| digit == b'0');
        match (a_negative && !zero(&a), b_negative && !zero(&b)) {
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            _ => {}
        }
        let least = a_power.min(b_power);
        a.push_str(&"0".repeat((a_power - least) as usize));
        b.push_str(&"0".repeat((b_power - least) as usize));
        let width = a.len().max(b.len());
        let order = format!("{a:0>width$}").cmp(&format!("{b:0>width$}"));
        if a_negative && b_negative { order.reverse() } else { order }
    }

    /// All decimals of a number; the standard library writes them exactly.
    fn all(x: f64) -> String {
        format!("{x:.1100}")
    }

    /// Checks both bounds of a number with `decimals` decimals.
    fn check(x: f64, decimals: usize) {
        for (low, high) in [
            (lower(x, decimals), upper(x, decimals)),
            (power(x, decimals, Side::Below), upper_power(x, decimals)),
            (fixed(x, 0, decimals, Side::Below), fixed(x, 0, decimals, Side::Above)),
        ] {
            assert!(compare(&high, &all(x)).is_ge(), "{x:e} is shown as at most {high}");
            assert!(compare(&low, &all(x)).is_le(), "{x:e} is shown as at least {low}");
            // The bounds are neighbours or equal: no decimal of as many places lies between.
            let (low_value, high_value): (f64, f64) = (low.parse().unwrap(), high.parse().unwrap());
            let (_, _, step) = read(&high);
            let unit = format!("1e{step}").parse::<f64>().unwrap();
            let close = high_value - low_value <= 1.001 * unit + 4.0 * f64::EPSILON * x.abs();
            assert!(close || x.abs() > 1e300 || high.contains('e'), "{x:e}: {low} {high}");
        }
        let (share, percent) = (all(x), upper_percent(x, decimals));
        assert!(compare(&format!("{percent}e-2"), &share).is_ge() || percent == "∞", "{x:e} is shown as {percent} %");
        assert!(
            x <= 0.0 || upper(x, decimals).bytes().any(|byte| (b'1'..=b'9').contains(&byte)),
            "{x:e} is shown as 0"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn any_number_lies_between_its_bounds(bits: u64, decimals in 0usize..9) {
            let x = f64::from_bits(bits);
            prop_assume!(x.is_finite());
            check(x, decimals);
        }

        #[test]
        fn usual_numbers_lie_between_their_bounds(x in 1e-12..1e6f64, decimals in 0usize..9) {
            check(x, decimals);
            check(-x, decimals);
        }

        /// Numbers for which a product by a power of ten would round to the decimal below.
        #[test]
        fn neighbours_of_round_decimals_lie_between_their_bounds(units in 1u64..1_000_000, decimals in 0usize..7) {
            let round: f64 = format!("{units}e-{decimals}").parse().unwrap();
            for x in [round.next_down(), round, round.next_up()] {
                check(x, decimals);
            }
        }
    }

    #[test]
    fn extremes_are_shown() {
        for x in [0.0, -0.0, f64::MIN_POSITIVE, f64::from_bits(1), f64::MAX, f64::MIN, 1e15, 1e24, 9.999e-7, 0.1 + 0.2]
        {
            (0..9).for_each(|decimals| check(x, decimals));
        }
        assert_eq!([upper(0.0, 4), upper(f64::INFINITY, 4), upper(f64::NAN, 4)], ["0", "∞", "∞"]);
        assert_eq!([lower(f64::NEG_INFINITY, 4), lower(f64::NAN, 0)], ["−∞", "−∞"]);
        assert_eq!([lower(2.0, 0), lower(0.999, 2), lower(9.99e-8, 1)], ["2", "0.99", "9.9e-8"]);
    }

    #[test]
    fn bounds_are_rounded_up_in_their_last_decimal() {
        assert_eq!(upper(4.377_178_095_7, 6), "4.377179");
        assert_eq!([upper(0.5, 6), upper(2.5, 0), upper(99.99, 1)], ["0.500000", "3", "100.0"]);
        assert_eq!(
            [upper(2f64.powi(-28), 6), upper(9.999_999_99e-9, 3), upper(1e24, 6)],
            ["3.725291e-9", "1e-8", "1e24"]
        );
        assert_eq!(
            [upper(1.1e24, 2), upper(1.8e-5, 6), upper(2f64.powi(-17), 6)],
            ["1.11e24", "0.000019", "7.629395e-6"]
        );
        assert_eq!(
            [upper_percent(0.123_4, 1), upper_percent(1.0, 1), upper_percent(1e-9, 1)],
            ["12.4", "100.0", "0.1"]
        );
        assert_eq!([upper_percent(0.0, 1), upper_percent(0.5, 0), upper_percent(0.999_9, 1)], ["0.0", "50", "100.0"]);
    }
}
