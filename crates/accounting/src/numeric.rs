//! Sums in log space, cancellation-free elementary functions, and a root search with a safe result.

/// ln Σ exp(values); −∞ for an empty slice.
#[must_use]
pub fn log_sum_exp(values: &[f64]) -> f64 {
    let top = values.iter().copied().fold(f64::NEG_INFINITY, max_or_infinite);
    if !top.is_finite() {
        return top;
    }
    // Terms below e^−50 of the largest are together beyond the last digit.
    top + values.iter().map(|v| v - top).filter(|v| *v > -50.0).map(f64::exp).sum::<f64>().ln()
}

/// The larger of two bounds; NaN, an unknown bound, counts as +∞. (`f64::max` would drop it.)
#[must_use]
pub fn max_or_infinite(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::INFINITY } else { a.max(b) }
}

/// ln(e^x − 1) for x > 0 without overflow; −∞ at 0.
#[must_use]
pub fn ln_expm1(x: f64) -> f64 {
    if x > 40.0 { x } else { x.exp_m1().ln() }
}

/// ln(1 + e^y), without overflow or loss of digits.
#[must_use]
pub fn ln_1p_exp(y: f64) -> f64 {
    if y > 0.0 { y + (-y).exp().ln_1p() } else { y.exp().ln_1p() }
}

/// e^x − 1 − x ≥ 0, to full relative accuracy near 0 too.
#[must_use]
pub fn exp_minus_1_minus_x(x: f64) -> f64 {
    if x.abs() > 0.5 {
        return x.exp_m1() - x;
    }
    // Taylor series; for |x| ≤ 1/2 the 16th term is below 2^-60 of the first.
    let mut term = 0.5 * x * x;
    let mut sum = 0.0;
    for n in 3..20 {
        sum += term;
        term *= x / f64::from(n);
    }
    sum
}

/// ln(1 + x) − x ≤ 0, to full relative accuracy near 0 too.
#[must_use]
pub fn ln_1p_minus(x: f64) -> f64 {
    if x.abs() > 0.1 {
        return x.ln_1p() - x;
    }
    // Σ (−x)ⁿ/n; for |x| ≤ 0.1 the 17th term is below 2^-50 of the first.
    let mut power = -x;
    let mut sum = 0.0;
    for n in 2..19 {
        power *= -x;
        sum -= power / f64::from(n);
    }
    sum
}

/// e^{kρ} − 1 − k(e^ρ − 1) ≥ 0: the integrand of I_k − 1 at likelihood ratio e^ρ. The linear terms
/// are removed before subtraction, so nothing cancels for small ρ.
#[must_use]
pub fn ratio_excess(k: f64, rho: f64) -> f64 {
    max_or_infinite(exp_minus_1_minus_x(k * rho) - k * exp_minus_1_minus_x(rho), 0.0)
}

/// The sampled loss, in the direction "remove", of an unsampled loss `l`: ln(1 − q + q·e^l).
#[must_use]
pub fn sampled_loss(rate: f64, l: f64) -> f64 {
    if rate == 1.0 {
        return l;
    }
    let growth = rate * l.exp_m1();
    if l > 600.0 {
        l + rate.ln()
    } else if growth < -0.5 {
        // 1 − q keeps all its digits when the difference is small.
        ((1.0 - rate) + rate * l.exp()).ln()
    } else {
        growth.ln_1p()
    }
}

/// ln Γ(x), x > 0.
#[must_use]
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// ln Γ(a + ½) − ln Γ(a), a > 0, without cancellation of two large logarithms.
#[must_use]
pub fn ln_gamma_half_step(a: f64) -> f64 {
    if a < 30.0 {
        return ln_gamma(a + 0.5) - ln_gamma(a);
    }
    let i = 1.0 / a;
    let i2 = i * i;
    // Asymptotic series (Tricomi & Erdélyi 1951); the first omitted term is below 3e-16 at a = 30.
    0.5 * a.ln() - i * (1.0 / 8.0 - i2 * (1.0 / 192.0 - i2 * (1.0 / 640.0 - i2 * 17.0 / 14336.0)))
}

/// The x > 0 with `tail(x) = q`, for a decreasing `tail` on (0, ∞) and q in (0, ½], to about 1e-15
/// relative. Bisection: a few hundred evaluations for every family, and never divergent.
#[must_use]
pub fn invert_survival(q: f64, scale: f64, tail: impl Fn(f64) -> f64) -> f64 {
    let (mut lo, mut hi) = (0.0, scale);
    while tail(hi) > q && hi < 1e300 {
        lo = hi;
        hi *= 4.0;
    }
    for _ in 0..400 {
        let mid = if lo > 0.0 && hi / lo > 2.0 { (lo * hi).sqrt() } else { 0.5 * (lo + hi) };
        if mid <= lo || mid >= hi {
            break;
        }
        if tail(mid) > q {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    hi
}

/// Searches for the root of a monotone f between two ends with `f_safe` ≤ 0 < `f_unsafe`; returns
/// an x > 0 on the safe side (`f(x)` ≤ 0), within `relative` of the root. Works in ln x, by inverse
/// quadratic interpolation, with bisection if the bracket does not shrink (Chandrupatla 1997).
///
/// # Errors
/// Errors of `f`.
pub fn safe_root<E>(
    (safe, f_safe): (f64, f64),
    (unsafe_end, f_unsafe): (f64, f64),
    relative: f64,
    mut f: impl FnMut(f64) -> Result<f64, E>,
) -> Result<f64, E> {
    // a: the newest point; b: the other end of the bracket; c: the point before.
    let (mut a, mut fa) = (unsafe_end.ln(), f_unsafe);
    let (mut b, mut fb) = (safe.ln(), f_safe);
    let mut fraction = 0.5;
    for _ in 0..200 {
        let x = a + fraction * (b - a);
        let fx = f(x.exp())?;
        let (c, fc);
        if (fx > 0.0) == (fa > 0.0) {
            (c, fc) = (a, fa);
        } else {
            (c, fc) = (b, fb);
            (b, fb) = (a, fa);
        }
        (a, fa) = (x, fx);
        let width = (b - a).abs();
        if width <= relative {
            break;
        }
        let least = 0.3 * relative / width;
        let (xi, phi) = ((a - b) / (c - b), (fa - fb) / (fc - fb));
        let smooth = phi * phi < xi && (1.0 - phi).powi(2) < 1.0 - xi;
        fraction = if smooth && fa.is_finite() && fb.is_finite() && fc.is_finite() {
            fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        } else {
            0.5
        };
        fraction = if fraction.is_finite() { fraction.clamp(least, 1.0 - least) } else { 0.5 };
    }
    Ok(if fa > 0.0 { b.exp() } else { a.exp() })
}

/// u = (w + ½)/2^64 in (0, 1) for a 64-bit word w. Small u keep all digits; the largest words,
/// which would round to 1, give the f64 before 1.
#[must_use]
pub fn unit_from_words(high: u32, low: u32) -> f64 {
    let u = ((f64::from(high) * 4_294_967_296.0 + f64::from(low)) + 0.5) * 2f64.powi(-64);
    u.min(1.0 - f64::EPSILON / 2.0)
}

/// −ln u of the same u, to full relative accuracy near 1 too, where 1 − u has the inverted word.
#[must_use]
pub fn negative_log_of_unit(high: u32, low: u32) -> f64 {
    if high >> 31 == 1 { -(-unit_from_words(!high, !low)).ln_1p() } else { -unit_from_words(high, low).ln() }
}

/// Formats a number with at most six significant digits, without trailing zeros.
#[must_use]
pub fn six_digits(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    let rounded: f64 = format!("{x:.5e}").parse().unwrap_or(x);
    if (1e-6..1e9).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}

/// Rounds `x` up to six significant digits, for upper bounds.
#[must_use]
pub fn six_digits_up(x: f64) -> f64 {
    let nearest = |x: f64| format!("{x:.5e}").parse().unwrap_or(x);
    let rounded: f64 = nearest(x);
    if rounded >= x || !x.is_finite() {
        return rounded;
    }
    // The nearest value is below: half a unit of the sixth digit, and a little, gives the next.
    nearest(x + 0.51 * 10f64.powf(x.abs().log10().floor() - 5.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_upwards_are_never_below() {
        for (x, up) in [
            (1.1, 1.1),
            (1.234_561, 1.234_57),
            (0.999_999_1, 1.0),
            (123_456.1, 123_457.0),
            (3.0e-7, 3.0e-7),
            (0.0, 0.0),
        ] {
            assert_eq!(six_digits_up(x), up);
        }
        let mut x = 1e-9;
        while x < 1e9 {
            let up = six_digits_up(x);
            assert!(up >= x && up <= x * 1.000_011, "{x} {up}");
            assert_eq!(six_digits(up).parse::<f64>().unwrap(), up);
            x *= 1.013_7;
        }
    }

    #[test]
    fn units_are_strictly_inside_their_interval() {
        for high in [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, u32::MAX] {
            for low in [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_fc00, 0xffff_fdff, 0xffff_fe00, u32::MAX] {
                let u = unit_from_words(high, low);
                assert!(u > 0.0 && u < 1.0, "{high:#x} {low:#x}: {u}");
            }
        }
        assert_eq!(unit_from_words(0, 0), 2f64.powi(-65));
        assert_eq!(unit_from_words(u32::MAX, u32::MAX), 1f64.next_down());
    }

    #[test]
    fn ln_1p_minus_keeps_its_digits() {
        // x = e^y − 1: ln(1 + x) − x = −(e^y − 1 − y).
        for y in [1e-12f64, -1e-6, 1e-3, -0.09, 0.095, 0.1, -0.4, 3.0] {
            let (got, want) = (ln_1p_minus(y.exp_m1()), -exp_minus_1_minus_x(y));
            assert!((got / want - 1.0).abs() < 1e-13, "{y}: {got} {want}");
        }
    }

    #[test]
    fn logarithms_of_units_keep_their_digits_at_both_ends() {
        for k in [0u32, 1, 2, 77, 1 << 20] {
            let want = (f64::from(k) + 0.5) * 2f64.powi(-64);
            assert!((negative_log_of_unit(u32::MAX, !k) / want - 1.0).abs() < 1e-12, "{k}");
        }
        assert!((negative_log_of_unit(0, 0) - 65.0 * std::f64::consts::LN_2).abs() < 1e-14);
        let (below, above) = (negative_log_of_unit(0x7fff_ffff, u32::MAX), negative_log_of_unit(0x8000_0000, 0));
        assert!(below >= above && below - above < 1e-15);
    }

    #[test]
    fn exp_minus_1_minus_x_keeps_its_digits() {
        // References: 30-digit values of the series.
        for (x, want) in [
            (1e-8, 5.000_000_016_666_667e-17),
            (-1e-3, 4.998_333_749_916_681e-7),
            (0.4, 0.091_824_697_641_270_32),
            (0.6, 0.222_118_800_390_508_9),
        ] {
            let got = exp_minus_1_minus_x(x);
            assert!((got / want - 1.0).abs() < 3e-15, "{x}: {got} {want}");
        }
    }

    #[test]
    fn numbers_for_people() {
        for (x, text) in [
            (256.0 / 60_000.0, "0.00426667"),
            (1.1, "1.1"),
            (1e-5, "0.00001"),
            (1.0, "1"),
            (3.25e-12, "3.25e-12"),
            (0.0, "0"),
        ] {
            assert_eq!(six_digits(x), text);
        }
    }

    #[test]
    fn safe_root_ends_on_the_safe_side() {
        for root in [1e-6f64, 0.3, 1.0, 7.5, 1e5] {
            let mut calls = 0;
            let f = |x: f64| -> Result<f64, ()> {
                calls += 1;
                Ok((root / x).powi(3) - 1.0)
            };
            let x = safe_root((root * 11.0, (1.0f64 / 11.0).powi(3) - 1.0), (root / 7.0, 342.0), 1e-9, f).unwrap();
            assert!(x >= root && x <= root * (1.0 + 2e-9), "{root} {x}");
            assert!(calls < 25, "{calls}");
        }
    }

    #[test]
    fn gamma_half_step_is_continuous_at_its_switch() {
        let (below, above) = (ln_gamma_half_step(30.0 - 1e-9), ln_gamma_half_step(30.0 + 1e-9));
        assert!((below - above).abs() < 2e-10, "{below} {above}");
        assert!((ln_gamma_half_step(0.5) - (1.0 / std::f64::consts::PI.sqrt()).ln()).abs() < 1e-14);
    }
}
