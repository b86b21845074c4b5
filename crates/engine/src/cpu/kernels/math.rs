//! Elementary functions on lanes: minimax polynomials and one rational function, fitted for this
//! file by interpolation in Chebyshev points. Each states its tested relative error, against f64.

use std::f32::consts::{FRAC_PI_2, LN_2, LOG2_E};

use crate::cpu::simd::Simd;

/// Horner's rule: c₀ + c₁x + c₂x² + …
#[inline(always)]
pub fn polynomial<S: Simd, const N: usize>(s: S, x: S::F, coefficients: &'static [f32; N]) -> S::F {
    let coefficients = s.constants(coefficients);
    let mut sum = s.splat(coefficients[N - 1]);
    for &c in coefficients[..N - 1].iter().rev() {
        sum = s.mul_add(sum, x, s.splat(c));
    }
    sum
}

/// tanh x, relative error below 5e-7; odd, never beyond ±1, NaN for NaN.
#[inline(always)]
pub fn tanh<S: Simd>(s: S, x: S::F) -> S::F {
    // Beyond 9 the nearest f32 is 1.
    let x = s.max(s.splat(-9.0), s.min(s.splat(9.0), x));
    let t = s.mul(x, x);
    let p =
        polynomial(s, t, &[0.999_999_98, 0.140_253_63, 4.328_735e-3, 3.986_411_4e-5, 9.833_164e-8, 2.954_169_5e-11]);
    let q = polynomial(s, t, &[1.0, 0.473_586_9, 2.885_776_2e-2, 4.824_192_6e-4, 2.387_158_6e-6, 2.498_265_5e-9]);
    let y = s.div(s.mul(x, p), q);
    s.max(s.splat(-1.0), s.min(s.splat(1.0), y))
}

/// Splits a positive normal x = 2^k·m into (k, m), with m in [√½, √2).
#[inline(always)]
fn split<S: Simd>(s: S, x: S::F) -> (S::F, S::F) {
    let bits = s.bits(x);
    // Adding the distance from √½ to 1 carries into the exponent exactly if m would be √2 or more.
    let offset = s.splat_u(0x3f80_0000 - 0x3f35_04f3);
    let shifted = s.add_u(bits, offset);
    let k = s.to_f32(s.sub_u(s.shr(shifted, 23), s.splat_u(127)));
    let m = s.add_u(s.and(shifted, s.splat_u(0x007f_ffff)), s.splat_u(0x3f35_04f3));
    (k, s.float(m))
}

/// ln x for positive normal x, relative error below 3e-7.
#[inline(always)]
pub fn ln<S: Simd>(s: S, x: S::F) -> S::F {
    let (k, m) = split(s, x);
    let f = s.sub(m, s.splat(1.0));
    let p = polynomial(
        s,
        f,
        &[
            0.333_333_3,
            -0.249_999_97,
            0.200_007_16,
            -0.166_678_02,
            0.142_490_58,
            -0.124_256_87,
            0.116_854_2,
            -0.114_797_34,
            0.069_716_12,
        ],
    );
    let ff = s.mul(f, f);
    // f − f²/2 + f³p + k ln 2, small terms first. ln 2 is split so that k·ln 2 keeps all digits.
    let small = s.mul_add(s.mul(ff, f), p, s.mul(k, s.splat(LN_2 - 0.693_359_4)));
    let small = s.mul_add(ff, s.splat(-0.5), small);
    s.add(s.add(f, small), s.mul(k, s.splat(0.693_359_4)))
}

/// ln(1 + x) for x in (−1, 2^60), relative error below 5e-7, also for tiny x.
#[inline(always)]
pub fn ln_1p<S: Simd>(s: S, x: S::F) -> S::F {
    let one = s.splat(1.0);
    let y = s.add(one, x);
    // First-order correction for the part of x that rounding lost.
    let lost = s.sub(x, s.sub(y, one));
    s.add(ln(s, y), s.div(lost, y))
}

/// e^x for |x| ≤ 87 (clamped there), relative error below 3e-7.
#[inline(always)]
pub fn exp<S: Simd>(s: S, x: S::F) -> S::F {
    let x = s.max(s.splat(-87.0), s.min(s.splat(87.0), x));
    let k = s.to_i32(s.mul(x, s.splat(LOG2_E)));
    let kf = s.to_f32(k);
    let r = s.sub(x, s.mul(kf, s.splat(0.693_359_4)));
    let r = s.sub(r, s.mul(kf, s.splat(LN_2 - 0.693_359_4)));
    let p = polynomial(s, r, &[0.5, 0.166_666_67, 4.166_645_7e-2, 8.333_31e-3, 1.393_454_2e-3, 1.989_198e-4]);
    let y = s.add(s.splat(1.0), s.mul_add(s.mul(r, r), p, r));
    s.float(s.add_u(s.bits(y), s.shl(k, 23)))
}

/// e^x − 1 for 0 ≤ x ≤ 87, relative error below 5e-7.
#[inline(always)]
pub fn exp_m1<S: Simd>(s: S, x: S::F) -> S::F {
    let p =
        polynomial(s, x, &[0.5, 0.166_666_67, 4.166_678e-2, 8.332_372e-3, 1.392_767_2e-3, 1.904_672e-4, 3.267_312e-5]);
    let near = s.mul_add(s.mul(x, x), p, x);
    let far = s.sub(exp(s, x), s.splat(1.0));
    s.select(s.greater(s.splat(LN_2), x), near, far)
}

/// (sin x, cos x) for |x| ≤ π/4, relative error below 2e-7.
#[inline(always)]
pub fn sin_cos<S: Simd>(s: S, x: S::F) -> (S::F, S::F) {
    let t = s.mul(x, x);
    let p = polynomial(s, t, &[-0.166_666_67, 8.333_332e-3, -1.984_008_6e-4, 2.724_986_5e-6]);
    let q = polynomial(s, t, &[4.166_666_5e-2, -1.388_830_3e-3, 2.454_789e-5]);
    let sin = s.mul_add(s.mul(x, t), p, x);
    let cos = s.add(s.splat(1.0), s.mul_add(t, s.splat(-0.5), s.mul(s.mul(t, t), q)));
    (sin, cos)
}

/// cos(2π(w + ½)/2^32): a uniform angle of 32 bits. Absolute error below 2e-7.
#[inline(always)]
pub fn cos_turn<S: Simd>(s: S, w: S::U) -> S::F {
    // The nearest quarter turn q and the remainder, both exact in integers.
    let q = s.shr(s.add_u(w, s.splat_u(1 << 29)), 30);
    let rest = s.to_f32(s.sub_u(w, s.shl(q, 30)));
    let angle = s.mul(s.add(rest, s.splat(0.5)), s.splat(FRAC_PI_2 / (1u32 << 30) as f32));
    let (sin, cos) = sin_cos(s, angle);
    // cos(a + qπ/2) = cos a, −sin a, −cos a, sin a.
    let odd = s.equal(s.to_f32(s.and(q, s.splat_u(1))), s.splat(1.0));
    let value = s.select(odd, sin, cos);
    let negative = s.shl(s.and(s.add_u(q, s.splat_u(1)), s.splat_u(2)), 30);
    s.float(s.xor(s.bits(value), negative))
}

/// An unsigned word, rounded to f32.
#[inline(always)]
pub fn from_u32<S: Simd>(s: S, w: S::U) -> S::F {
    let high = s.to_f32(s.shr(w, 16));
    let low = s.to_f32(s.and(w, s.splat_u(0xffff)));
    s.mul_add(high, s.splat(65_536.0), low)
}

/// Interpolates `table` linearly at 0 ≤ position < 2^31; constant beyond the last node.
#[inline(always)]
pub fn interpolate<S: Simd>(s: S, table: &[f32], position: S::F) -> S::F {
    // The floor: the nearest integer, minus one if that is above the position.
    let nearest = s.to_f32(s.to_i32(position));
    let beyond = s.greater(nearest, position);
    let floor = s.sub(nearest, s.select(beyond, s.splat(1.0), s.splat(0.0)));
    let node = s.to_i32(floor);
    let left = s.gather(table, node);
    let right = s.gather(table, s.add_u(node, s.splat_u(1)));
    s.mul_add(s.sub(right, left), s.sub(position, floor), left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::{Dispatch, for_each};

    /// Checks the error of each function against f64, over the range that its users need.
    #[derive(Clone, Copy)]
    struct Errors;

    /// `function` at `x`, in the first lane.
    fn at<S: Simd>(s: S, x: f32, function: impl FnOnce(S, S::F) -> S::F) -> f32 {
        S::flat(&[function(s, s.splat(x))])[0]
    }

    fn relative(found: f32, exact: f64) -> f64 {
        if f64::from(found) == exact { 0.0 } else { ((f64::from(found) - exact) / exact).abs() }
    }

    impl Dispatch for Errors {
        type Output = ();
        fn with<S: Simd>(self, s: S) {
            for k in 1..20_000 {
                let t = f64::from(k) / 20_000.0;
                let x = (20.0 * t - 10.0) as f32;
                assert!(relative(at(s, x, tanh), f64::from(x).tanh()) < 5e-7, "tanh {x}");
                let small = (10f64.powf(-30.0 * t)) as f32;
                assert!(relative(at(s, small, tanh), f64::from(small).tanh()) < 5e-7, "tanh {small}");
                assert!(relative(at(s, small, ln), f64::from(small).ln()) < 3e-7, "ln {small}");
                assert!(
                    relative(at(s, -small / 2.0, ln_1p), f64::from(-small / 2.0).ln_1p()) < 5e-7,
                    "ln_1p −{small}/2"
                );
                assert!(relative(at(s, small, exp_m1), f64::from(small).exp_m1()) < 5e-7, "exp_m1 {small}");
                let x = (80.0 * t) as f32;
                assert!(relative(at(s, x, exp_m1), f64::from(x).exp_m1()) < 5e-7, "exp_m1 {x}");
                assert!(relative(at(s, x, ln_1p), f64::from(x).ln_1p()) < 5e-7, "ln_1p {x}");
                assert!(relative(at(s, -x, exp), f64::from(-x).exp()) < 3e-7, "exp −{x}");
                let x = ((2.0 * t - 1.0) * std::f64::consts::FRAC_PI_4) as f32;
                assert!(relative(at(s, x, |s, x| sin_cos(s, x).0), f64::from(x).sin()) < 2e-7, "sin {x}");
                assert!(relative(at(s, x, |s, x| sin_cos(s, x).1), f64::from(x).cos()) < 2e-7, "cos {x}");
                let w = (k as u32).wrapping_mul(2_654_435_761);
                let turn = (f64::from(w) + 0.5) / 4_294_967_296.0 * std::f64::consts::TAU;
                let found = at(s, 0.0, |s, _| cos_turn(s, s.splat_u(w)));
                assert!((f64::from(found) - turn.cos()).abs() < 2e-7, "cos_turn {w}");
                let found = at(s, 0.0, |s, _| from_u32(s, s.splat_u(w)));
                assert!(relative(found, f64::from(w)) < 1.2e-7, "from_u32 {w}");
            }
            assert_eq!(at(s, 100.0, tanh), 1.0);
            assert_eq!(at(s, f32::NEG_INFINITY, tanh), -1.0);
            assert!(at(s, f32::NAN, tanh).is_nan());
            assert_eq!(at(s, 0.0, tanh), 0.0);
            assert_eq!(at(s, 1.0, ln), 0.0);
            assert_eq!(at(s, 0.0, exp), 1.0);
        }
    }

    #[test]
    fn functions_keep_their_stated_error() {
        for_each(Errors);
    }
}
