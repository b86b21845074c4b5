//! WebAssembly's 128-bit vectors. No gather; denormals cannot be flushed. A fused multiply-add only with the feature `relaxed-simd`, and there where
//! the processor has one: a program that names it is refused whole by a browser that does not know it.
#![cfg(target_feature = "simd128")]
#![expect(unsafe_code, reason = "loads and stores of vectors; each call says why it may be made")]

use std::arch::wasm32::*;

use super::lanes::{Kernel, Simd};

/// Four lanes of simd128, which the build's target promises.
#[derive(Clone, Copy, Debug)]
pub struct Simd128 {
    /// Whether `relaxed_madd` rounds once: each browser does one or the other on each machine, always the same.
    fused: bool,
}

impl Simd128 {
    #[must_use]
    pub fn detect() -> Self {
        Self { fused: Self { fused: false }.run(RoundsOnce) }
    }
}

/// Whether 2^−24 is left of (1 + 2^−12)² − 1 − 2^−11, in a machine that the compiler does not calculate for.
struct RoundsOnce;

impl Kernel<Simd128> for RoundsOnce {
    type Output = bool;

    #[inline(always)]
    fn run(self, s: Simd128) -> bool {
        let [a, c] = std::hint::black_box([1.0 + 1.0 / 4096.0, -1.0 - 1.0 / 2048.0]);
        f32x4_extract_lane::<0>(s.mul_add(s.splat(a), s.splat(a), s.splat(c))) != 0.0
    }
}

impl Simd for Simd128 {
    type F = v128;
    type U = v128;
    type M = v128;
    const LANES: usize = 4;
    /// Of a processor's 16 a browser keeps one for itself.
    const REGISTERS: usize = 15;
    const NAME: &'static str = if cfg!(feature = "relaxed-simd") { "wasm relaxed simd" } else { "wasm simd128" };

    #[inline(always)]
    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        #[cfg_attr(feature = "relaxed-simd", target_feature(enable = "relaxed-simd"))]
        #[inline(never)]
        fn boundary<K: Kernel<Simd128>>(simd: Simd128, kernel: K) -> K::Output {
            kernel.run(simd)
        }
        boundary(self, kernel)
    }
    #[inline(always)]
    fn fuses(self) -> bool {
        self.fused
    }
    /// Unrolled, a loop shares its loads between turns; browsers cannot keep so many values in registers, and spill the accumulators.
    #[inline(always)]
    fn rolled(self, n: usize) -> usize {
        std::hint::black_box(n)
    }
    /// A vector that is named takes browsers three instructions; read, one.
    #[inline(always)]
    fn constants<const N: usize>(self, numbers: &'static [f32; N]) -> &'static [f32; N] {
        std::hint::black_box(numbers)
    }
    #[inline(always)]
    fn splat(self, x: f32) -> v128 {
        f32x4_splat(x)
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> v128 {
        let from = &from[..4];
        // SAFETY: four floats are there, and v128_load asks for no alignment.
        unsafe { v128_load(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store(self, v: v128, to: &mut [f32]) {
        let to = &mut to[..4];
        // SAFETY: four floats are there, and v128_store asks for no alignment.
        unsafe { v128_store(to.as_mut_ptr().cast(), v) }
    }
    #[inline(always)]
    fn flat(v: &[v128]) -> &[f32] {
        // SAFETY: a v128 is 16 bytes, any of which may be read as four f32.
        unsafe { std::slice::from_raw_parts(v.as_ptr().cast(), v.len() * 4) }
    }
    #[inline(always)]
    fn add(self, a: v128, b: v128) -> v128 {
        f32x4_add(a, b)
    }
    #[inline(always)]
    fn sub(self, a: v128, b: v128) -> v128 {
        f32x4_sub(a, b)
    }
    #[inline(always)]
    fn mul(self, a: v128, b: v128) -> v128 {
        f32x4_mul(a, b)
    }
    #[inline(always)]
    fn div(self, a: v128, b: v128) -> v128 {
        f32x4_div(a, b)
    }
    #[inline(always)]
    fn mul_add(self, a: v128, b: v128, c: v128) -> v128 {
        #[cfg(feature = "relaxed-simd")]
        return f32x4_relaxed_madd(a, b, c);
        #[cfg(not(feature = "relaxed-simd"))]
        f32x4_add(f32x4_mul(a, b), c)
    }
    #[inline(always)]
    fn min(self, a: v128, b: v128) -> v128 {
        // The pseudo-minimum is one instruction on x86: `y < x ? y : x` of its arguments (x, y).
        f32x4_pmin(b, a)
    }
    #[inline(always)]
    fn max(self, a: v128, b: v128) -> v128 {
        f32x4_pmax(b, a)
    }
    #[inline(always)]
    fn sqrt(self, a: v128) -> v128 {
        f32x4_sqrt(a)
    }
    #[inline(always)]
    fn greater(self, a: v128, b: v128) -> v128 {
        f32x4_gt(a, b)
    }
    #[inline(always)]
    fn equal(self, a: v128, b: v128) -> v128 {
        f32x4_eq(a, b)
    }
    #[inline(always)]
    fn select(self, mask: v128, a: v128, b: v128) -> v128 {
        // Masks are all ones or all zeros in each lane: then every browser takes the lane of `a` or of `b`, most by one instruction instead of three.
        #[cfg(feature = "relaxed-simd")]
        return i32x4_relaxed_laneselect(a, b, mask);
        #[cfg(not(feature = "relaxed-simd"))]
        v128_bitselect(a, b, mask)
    }
    #[inline(always)]
    fn zip(self, a: v128, b: v128) -> (v128, v128) {
        (i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<2, 6, 3, 7>(a, b))
    }
    #[inline(always)]
    fn splat_u(self, x: u32) -> v128 {
        u32x4_splat(x)
    }
    #[inline(always)]
    fn load_u(self, from: &[u32]) -> v128 {
        let from = &from[..4];
        // SAFETY: four words are there, and v128_load asks for no alignment.
        unsafe { v128_load(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store_u(self, v: v128, to: &mut [u32]) {
        let to = &mut to[..4];
        // SAFETY: four words are there, and v128_store asks for no alignment.
        unsafe { v128_store(to.as_mut_ptr().cast(), v) }
    }
    #[inline(always)]
    fn add_u(self, a: v128, b: v128) -> v128 {
        u32x4_add(a, b)
    }
    #[inline(always)]
    fn sub_u(self, a: v128, b: v128) -> v128 {
        u32x4_sub(a, b)
    }
    #[inline(always)]
    fn xor(self, a: v128, b: v128) -> v128 {
        v128_xor(a, b)
    }
    #[inline(always)]
    fn and(self, a: v128, b: v128) -> v128 {
        v128_and(a, b)
    }
    #[inline(always)]
    fn or(self, a: v128, b: v128) -> v128 {
        v128_or(a, b)
    }
    #[inline(always)]
    fn shl(self, a: v128, bits: u32) -> v128 {
        u32x4_shl(a, bits)
    }
    #[inline(always)]
    fn shr(self, a: v128, bits: u32) -> v128 {
        u32x4_shr(a, bits)
    }
    #[inline(always)]
    fn min_i(self, a: v128, b: v128) -> v128 {
        i32x4_min(a, b)
    }
    #[inline(always)]
    fn max_i(self, a: v128, b: v128) -> v128 {
        i32x4_max(a, b)
    }
    #[inline(always)]
    fn bits(self, a: v128) -> v128 {
        a
    }
    #[inline(always)]
    fn float(self, a: v128) -> v128 {
        a
    }
    #[inline(always)]
    fn to_f32(self, a: v128) -> v128 {
        f32x4_convert_i32x4(a)
    }
    #[inline(always)]
    fn to_i32(self, a: v128) -> v128 {
        i32x4_trunc_sat_f32x4(f32x4_nearest(a))
    }
    #[inline(always)]
    fn gather(self, table: &[f32], index: v128) -> v128 {
        let last = table.len() - 1;
        let at = |i: u32| table[(i as usize).min(last)];
        f32x4(
            at(u32x4_extract_lane::<0>(index)),
            at(u32x4_extract_lane::<1>(index)),
            at(u32x4_extract_lane::<2>(index)),
            at(u32x4_extract_lane::<3>(index)),
        )
    }
}
