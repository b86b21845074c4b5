//! Vectors whose lanes are *examples*: what a kernel needs of the machine, once for every instruction set.
//!
//! A [`Kernel`] is written once, generic over [`Simd`], and entered through [`Simd::run`], the only place where
//! instructions are used that the build's target does not promise. A value of a [`Simd`] type is the proof that they
//! exist: [`dispatch`] hands it out after asking the processor.

#[cfg(any(test, not(all(target_arch = "wasm32", target_feature = "simd128"))))]
mod portable;
#[cfg(target_arch = "wasm32")]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(any(test, not(all(target_arch = "wasm32", target_feature = "simd128"))))]
pub use portable::Portable;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub use wasm::Simd128;
#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

/// Widest vector of any instruction set, in lanes of f32.
pub const MOST_LANES: usize = 16;

/// An instruction set. Methods are element-wise over [`Simd::LANES`] lanes.
pub trait Simd: Copy + Send + Sync + 'static {
    /// Lanes of f32.
    type F: Copy + Send + Sync + 'static;
    /// Lanes of u32.
    type U: Copy + Send + Sync + 'static;
    /// One truth value a lane.
    type M: Copy;
    const LANES: usize;
    /// Vector registers: decides how large a kernel's tile of accumulators is.
    const REGISTERS: usize;
    const NAME: &'static str;

    /// Runs `kernel`, compiled for this instruction set.
    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output;

    /// `n`, which the compiler does not know where it had better not unroll a loop of so many turns.
    #[inline(always)]
    fn rolled(self, n: usize) -> usize {
        n
    }

    /// `numbers`, which the compiler does not know where it is cheaper to read a constant than to name it.
    #[inline(always)]
    fn constants<const N: usize>(self, numbers: &'static [f32; N]) -> &'static [f32; N] {
        numbers
    }

    fn splat(self, x: f32) -> Self::F;
    /// The first lanes of `from`.
    fn load(self, from: &[f32]) -> Self::F;
    /// Into the first lanes of `to`.
    fn store(self, v: Self::F, to: &mut [f32]);
    /// The same memory as plain floats.
    fn flat(v: &[Self::F]) -> &[f32];

    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    /// a·b + c, rounded once where [`Simd::fuses`], else twice.
    fn mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    fn fuses(self) -> bool;
    /// The smaller; `b` where either is NaN.
    fn min(self, a: Self::F, b: Self::F) -> Self::F;
    /// The larger; `b` where either is NaN.
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    fn sqrt(self, a: Self::F) -> Self::F;
    /// a > b; false where either is NaN.
    fn greater(self, a: Self::F, b: Self::F) -> Self::M;
    fn equal(self, a: Self::F, b: Self::F) -> Self::M;
    /// `a` where the mask is set, else `b`.
    fn select(self, mask: Self::M, a: Self::F, b: Self::F) -> Self::F;
    /// Interleaves: (a0 b0 a1 b1 …, … b_last).
    fn zip(self, a: Self::F, b: Self::F) -> (Self::F, Self::F);

    fn splat_u(self, x: u32) -> Self::U;
    fn load_u(self, from: &[u32]) -> Self::U;
    fn store_u(self, v: Self::U, to: &mut [u32]);
    fn add_u(self, a: Self::U, b: Self::U) -> Self::U;
    fn sub_u(self, a: Self::U, b: Self::U) -> Self::U;
    fn xor(self, a: Self::U, b: Self::U) -> Self::U;
    fn and(self, a: Self::U, b: Self::U) -> Self::U;
    fn or(self, a: Self::U, b: Self::U) -> Self::U;
    fn shl(self, a: Self::U, bits: u32) -> Self::U;
    fn shr(self, a: Self::U, bits: u32) -> Self::U;
    /// The smaller, as i32.
    fn min_i(self, a: Self::U, b: Self::U) -> Self::U;
    /// The larger, as i32.
    fn max_i(self, a: Self::U, b: Self::U) -> Self::U;
    fn bits(self, a: Self::F) -> Self::U;
    fn float(self, a: Self::U) -> Self::F;
    /// The lanes as i32, rounded to f32.
    fn to_f32(self, a: Self::U) -> Self::F;
    /// To the nearest i32 (ties to even); |a| < 2^31.
    fn to_i32(self, a: Self::F) -> Self::U;
    /// `table[index]`; an index beyond the table reads its last entry.
    fn gather(self, table: &[f32], index: Self::U) -> Self::F;

    /// −a.
    #[inline(always)]
    fn neg(self, a: Self::F) -> Self::F {
        self.float(self.xor(self.bits(a), self.splat_u(1 << 31)))
    }

    /// |a|.
    #[inline(always)]
    fn abs(self, a: Self::F) -> Self::F {
        self.float(self.and(self.bits(a), self.splat_u(!(1 << 31))))
    }

    #[inline(always)]
    fn rotl(self, a: Self::U, bits: u32) -> Self::U {
        self.or(self.shl(a, bits), self.shr(a, 32 - bits))
    }

    /// Transposes a square tile: lane j of vector i becomes lane i of vector j.
    #[inline(always)]
    fn transpose(self, tile: &mut [Self::F; MOST_LANES]) {
        let half = Self::LANES / 2;
        let mut stage = 1;
        while stage < Self::LANES {
            let before = *tile;
            for i in 0..half {
                (tile[2 * i], tile[2 * i + 1]) = self.zip(before[i], before[i + half]);
            }
            stage *= 2;
        }
    }
}

/// A computation and its arguments.
///
/// Everything that reaches a method of [`Simd`] must be inlined into [`Simd::run`], or each such method is a call: `run`
/// is `#[inline(always)]`, and so are the functions that it calls. A closure cannot promise that, a `FnOnce` neither:
/// closures here are small and called from one place, and a kernel is a type.
pub trait Kernel<S: Simd> {
    type Output;
    fn run(self, s: S) -> Self::Output;
}

/// Something to build for whichever instruction set the machine has.
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

#[cfg(test)]
mod tests {
    use super::*;

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
            // (1 + 2^−12)² − 1 − 2^−11 is 2^−24, of which a rounded square leaves nothing.
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
