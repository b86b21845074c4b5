//! Chooses an instruction set at run time.

use super::lanes::Simd;
#[cfg(any(test, not(all(target_arch = "wasm32", target_feature = "simd128"))))]
use super::portable::Portable;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use super::wasm::Simd128;
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2, Avx512};

/// Something to build for any instruction set.
pub trait Dispatch {
    type Output;
    fn with<S: Simd>(self, simd: S) -> Self::Output;
}

/// Builds `what` for the best instruction set of this machine.
pub fn dispatch<D: Dispatch>(what: D) -> D::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(simd) = Avx512::detect() {
            return what.with(simd);
        }
        if let Some(simd) = Avx2::detect() {
            return what.with(simd);
        }
    }
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    return what.with(Simd128::detect());
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    what.with(Portable::<4>)
}

/// Runs `what` for every instruction set that this machine has.
#[cfg(test)]
pub fn for_each<D: Dispatch<Output = ()> + Copy>(what: D) {
    what.with(Portable::<4>);
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(simd) = Avx2::detect() {
            what.with(simd);
        }
        if let Some(simd) = Avx512::detect() {
            what.with(simd);
        }
    }
}

/// Number of instruction sets that this machine has.
#[cfg(test)]
pub fn sets() -> usize {
    #[cfg(target_arch = "x86_64")]
    return 1 + usize::from(Avx2::detect().is_some()) + usize::from(Avx512::detect().is_some());
    #[cfg(not(target_arch = "x86_64"))]
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::lanes::{Kernel, MOST_LANES};

    struct Transpose<'a> {
        numbers: &'a [f32],
        out: &'a mut [f32],
    }

    impl<S: Simd> Kernel<S> for Transpose<'_> {
        type Output = ();

        #[inline(always)]
        fn run(self, s: S) {
            let mut tile = [s.splat(0.0); MOST_LANES];
            for (k, v) in tile[..S::LANES].iter_mut().enumerate() {
                *v = s.load(&self.numbers[k * S::LANES..]);
            }
            s.transpose(&mut tile);
            self.out[..S::LANES * S::LANES].copy_from_slice(S::flat(&tile[..S::LANES]));
        }
    }

    #[derive(Clone, Copy)]
    struct Shuffles;

    impl Dispatch for Shuffles {
        type Output = ();
        fn with<S: Simd>(self, simd: S) {
            let mut numbers = [0.0; MOST_LANES * MOST_LANES];
            for (k, x) in numbers.iter_mut().enumerate() {
                *x = k as f32;
            }
            let mut out = [0.0; MOST_LANES * MOST_LANES];
            simd.run(Transpose { numbers: &numbers, out: &mut out });
            for i in 0..S::LANES {
                for j in 0..S::LANES {
                    assert_eq!(out[i * S::LANES + j], numbers[j * S::LANES + i], "{} {i} {j}", S::NAME);
                }
            }
        }
    }

    #[test]
    fn a_tile_is_transposed() {
        for_each(Shuffles);
    }

    #[derive(Clone, Copy)]
    struct Elements;

    impl Dispatch for Elements {
        type Output = ();
        fn with<S: Simd>(self, s: S) {
            let pick = |v: S::F| S::flat(&[v])[0];
            let lane = |v: S::U| pick(s.float(v)).to_bits();
            let f = |x| s.splat(x);
            let nan = f(f32::NAN);
            assert_eq!(pick(s.min(nan, f(1.0))), 1.0);
            assert!(pick(s.min(f(1.0), nan)).is_nan());
            assert_eq!(pick(s.max(nan, f(1.0))), 1.0);
            assert!(pick(s.max(f(1.0), nan)).is_nan());
            assert_eq!(pick(s.select(s.greater(nan, f(0.0)), f(1.0), f(2.0))), 2.0);
            assert_eq!(pick(s.select(s.greater(f(1.0), f(0.0)), f(1.0), f(2.0))), 1.0);
            assert_eq!(pick(s.neg(f(3.0))), -3.0);
            assert_eq!(pick(s.abs(f(-3.0))), 3.0);
            assert_eq!(pick(s.mul_add(f(2.0), f(3.0), f(4.0))), 10.0);
            // (1 + 2^−12)² − 1 − 2^−11 is 2^−24, which a rounded square loses.
            let (a, c) = (f(1.0 + 1.0 / 4096.0), f(-1.0 - 1.0 / 2048.0));
            assert_eq!(pick(s.mul_add(a, a, c)), if s.fuses() { 2f32.powi(-24) } else { 0.0 }, "{}", S::NAME);
            assert_eq!(lane(s.rotl(s.splat_u(0x8000_0001), 7)), 0xc0);
            assert_eq!(lane(s.max_i(s.splat_u(u32::MAX), s.splat_u(1))), 1);
            assert_eq!(lane(s.min_i(s.splat_u(u32::MAX), s.splat_u(1))), u32::MAX);
            assert_eq!(lane(s.to_i32(f(-2.5))), (-2_i32).cast_unsigned());
            assert_eq!(pick(s.to_f32(s.splat_u(u32::MAX))), -1.0);
            let table = [1.0, 2.0, 3.0];
            assert_eq!(pick(s.gather(&table, s.splat_u(1))), 2.0);
            assert_eq!(pick(s.gather(&table, s.splat_u(u32::MAX))), 3.0);
        }
    }

    #[test]
    fn elements_are_as_documented() {
        for_each(Elements);
    }
}
