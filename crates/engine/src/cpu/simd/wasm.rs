//! WebAssembly's 128-bit vectors, without gather or flushing of denormals. Multiply-adds fuse only
//! with `relaxed-simd`, on some processors; browsers that do not know it reject the whole program.
#![cfg(target_feature = "simd128")]
#![expect(unsafe_code, reason = "loads and stores of vectors; each call says why it may be made")]

use std::arch::wasm32::*;

use hushgrad_message::word;

use super::lanes::{Kernel, Simd};

/// Four lanes of simd128, which the build's target guarantees.
#[derive(Clone, Copy, Debug)]
pub struct Simd128 {
    /// True if `relaxed_madd` rounds once. A browser on a given machine always does the same.
    fused: bool,
}

impl Simd128 {
    #[must_use]
    pub fn detect() -> Self {
        Self { fused: Self { fused: false }.run(RoundsOnce) }
    }
}

/// Checks at run time whether (1 + 2^−12)² − 1 − 2^−11 leaves 2^−24.
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
    /// Browsers reserve one of a processor's 16.
    const REGISTERS: usize = 15;
    const NAME: &'static str =
        if cfg!(feature = "relaxed-simd") { word!("wasm relaxed simd") } else { word!("wasm simd128") };

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
    /// An unrolled loop shares its loads between iterations; browsers then spill the accumulators.
    #[inline(always)]
    fn opaque_len(self, n: usize) -> usize {
        std::hint::black_box(n)
    }
    /// Building a constant vector takes browsers three instructions, loading it one.
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
        // SAFETY: `from` has four floats, and v128_load needs no alignment.
        unsafe { v128_load(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store(self, v: v128, to: &mut [f32]) {
        let to = &mut to[..4];
        // SAFETY: `to` has four floats, and v128_store needs no alignment.
        unsafe { v128_store(to.as_mut_ptr().cast(), v) }
    }
    #[inline(always)]
    fn flat(v: &[v128]) -> &[f32] {
        // SAFETY: the 16 bytes of a v128 are valid as four f32.
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
        // Mask lanes are all ones or all zeros, so every browser picks whole lanes of `a` or `b`,
        // most in one instruction instead of three.
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
        // SAFETY: `from` has four words, and v128_load needs no alignment.
        unsafe { v128_load(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store_u(self, v: v128, to: &mut [u32]) {
        let to = &mut to[..4];
        // SAFETY: `to` has four words, and v128_store needs no alignment.
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
