//! AVX-512 and AVX2 with FMA, detected at run time.
#![expect(unsafe_code, reason = "intrinsics and functions of a target feature; each call says why it may be made")]

use std::arch::x86_64::*;

use super::lanes::{Kernel, Simd};

/// Sixteen lanes. A value exists only if the processor has AVX-512 F, BW, DQ and VL.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

/// Eight lanes. A value exists only if the processor has AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl Avx512 {
    #[must_use]
    pub fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && Avx2::detect().is_some();
        found.then_some(Self(()))
    }
}

impl Avx2 {
    #[must_use]
    pub fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
    }
}

/// One method per line: an intrinsic whose instructions `self` proves to exist.
macro_rules! intrinsics {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty = $body:expr;)*) => {$(
        #[inline(always)]
        fn $name(self, $($argument: $type),*) -> $result {
            // SAFETY: `Self` proves that `detect` found the instructions; lengths are checked.
            unsafe { $body }
        }
    )*};
}

macro_rules! boundary {
    ($lanes:literal, $features:literal) => {
        const LANES: usize = $lanes;

        #[inline(always)]
        fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
            #[target_feature(enable = $features)]
            #[inline(never)]
            fn boundary<S: Simd, K: Kernel<S>>(simd: S, kernel: K) -> K::Output {
                kernel.run(simd)
            }
            // SAFETY: a value of `Self` exists only if `detect` found these features.
            unsafe { boundary(self, kernel) }
        }
        #[inline(always)]
        fn fuses(self) -> bool {
            true
        }
        #[inline(always)]
        fn flat(v: &[Self::F]) -> &[f32] {
            // SAFETY: a vector is $lanes f32 without padding.
            unsafe { std::slice::from_raw_parts(v.as_ptr().cast(), v.len() * $lanes) }
        }
    };
}

impl Simd for Avx512 {
    type F = __m512;
    type U = __m512i;
    type M = __mmask16;
    const REGISTERS: usize = 32;
    const NAME: &'static str = "AVX-512";
    boundary!(16, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt");

    intrinsics! {
        splat(x: f32) -> __m512 = _mm512_set1_ps(x);
        load(from: &[f32]) -> __m512 = _mm512_loadu_ps(from[..16].as_ptr());
        store(v: __m512, to: &mut [f32]) -> () = _mm512_storeu_ps(to[..16].as_mut_ptr(), v);
        add(a: __m512, b: __m512) -> __m512 = _mm512_add_ps(a, b);
        sub(a: __m512, b: __m512) -> __m512 = _mm512_sub_ps(a, b);
        mul(a: __m512, b: __m512) -> __m512 = _mm512_mul_ps(a, b);
        div(a: __m512, b: __m512) -> __m512 = _mm512_div_ps(a, b);
        mul_add(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fmadd_ps(a, b, c);
        min(a: __m512, b: __m512) -> __m512 = _mm512_min_ps(a, b);
        max(a: __m512, b: __m512) -> __m512 = _mm512_max_ps(a, b);
        sqrt(a: __m512) -> __m512 = _mm512_sqrt_ps(a);
        greater(a: __m512, b: __m512) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b);
        equal(a: __m512, b: __m512) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(a, b);
        select(mask: __mmask16, a: __m512, b: __m512) -> __m512 = _mm512_mask_blend_ps(mask, b, a);
        zip(a: __m512, b: __m512) -> (__m512, __m512) = (
            _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), b),
            _mm512_permutex2var_ps(a, _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), b)
        );
        splat_u(x: u32) -> __m512i = _mm512_set1_epi32(x.cast_signed());
        load_u(from: &[u32]) -> __m512i = _mm512_loadu_si512(from[..16].as_ptr().cast());
        store_u(v: __m512i, to: &mut [u32]) -> () = _mm512_storeu_si512(to[..16].as_mut_ptr().cast(), v);
        add_u(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32(a, b);
        sub_u(a: __m512i, b: __m512i) -> __m512i = _mm512_sub_epi32(a, b);
        xor(a: __m512i, b: __m512i) -> __m512i = _mm512_xor_si512(a, b);
        and(a: __m512i, b: __m512i) -> __m512i = _mm512_and_si512(a, b);
        or(a: __m512i, b: __m512i) -> __m512i = _mm512_or_si512(a, b);
        shl(a: __m512i, bits: u32) -> __m512i = _mm512_sll_epi32(a, _mm_cvtsi32_si128(bits.cast_signed()));
        shr(a: __m512i, bits: u32) -> __m512i = _mm512_srl_epi32(a, _mm_cvtsi32_si128(bits.cast_signed()));
        min_i(a: __m512i, b: __m512i) -> __m512i = _mm512_min_epi32(a, b);
        max_i(a: __m512i, b: __m512i) -> __m512i = _mm512_max_epi32(a, b);
        bits(a: __m512) -> __m512i = _mm512_castps_si512(a);
        float(a: __m512i) -> __m512 = _mm512_castsi512_ps(a);
        to_f32(a: __m512i) -> __m512 = _mm512_cvtepi32_ps(a);
        to_i32(a: __m512) -> __m512i = _mm512_cvtps_epi32(a);
        gather(table: &[f32], index: __m512i) -> __m512 = {
            assert!(!table.is_empty());
            let last = i32::try_from(table.len() - 1).unwrap_or(i32::MAX);
            let index = _mm512_min_epu32(index, _mm512_set1_epi32(last));
            _mm512_i32gather_ps::<4>(index, table.as_ptr())
        };
    }
}

impl Simd for Avx2 {
    type F = __m256;
    type U = __m256i;
    type M = __m256;
    const REGISTERS: usize = 16;
    const NAME: &'static str = "AVX2";
    boundary!(8, "avx2,fma,bmi1,bmi2,lzcnt,popcnt");

    intrinsics! {
        splat(x: f32) -> __m256 = _mm256_set1_ps(x);
        load(from: &[f32]) -> __m256 = _mm256_loadu_ps(from[..8].as_ptr());
        store(v: __m256, to: &mut [f32]) -> () = _mm256_storeu_ps(to[..8].as_mut_ptr(), v);
        add(a: __m256, b: __m256) -> __m256 = _mm256_add_ps(a, b);
        sub(a: __m256, b: __m256) -> __m256 = _mm256_sub_ps(a, b);
        mul(a: __m256, b: __m256) -> __m256 = _mm256_mul_ps(a, b);
        div(a: __m256, b: __m256) -> __m256 = _mm256_div_ps(a, b);
        mul_add(a: __m256, b: __m256, c: __m256) -> __m256 = _mm256_fmadd_ps(a, b, c);
        min(a: __m256, b: __m256) -> __m256 = _mm256_min_ps(a, b);
        max(a: __m256, b: __m256) -> __m256 = _mm256_max_ps(a, b);
        sqrt(a: __m256) -> __m256 = _mm256_sqrt_ps(a);
        greater(a: __m256, b: __m256) -> __m256 = _mm256_cmp_ps::<_CMP_GT_OQ>(a, b);
        equal(a: __m256, b: __m256) -> __m256 = _mm256_cmp_ps::<_CMP_EQ_OQ>(a, b);
        select(mask: __m256, a: __m256, b: __m256) -> __m256 = _mm256_blendv_ps(b, a, mask);
        zip(a: __m256, b: __m256) -> (__m256, __m256) = {
            let (low, high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            (_mm256_permute2f128_ps::<0x20>(low, high), _mm256_permute2f128_ps::<0x31>(low, high))
        };
        splat_u(x: u32) -> __m256i = _mm256_set1_epi32(x.cast_signed());
        load_u(from: &[u32]) -> __m256i = _mm256_loadu_si256(from[..8].as_ptr().cast());
        store_u(v: __m256i, to: &mut [u32]) -> () = _mm256_storeu_si256(to[..8].as_mut_ptr().cast(), v);
        add_u(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
        sub_u(a: __m256i, b: __m256i) -> __m256i = _mm256_sub_epi32(a, b);
        xor(a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
        and(a: __m256i, b: __m256i) -> __m256i = _mm256_and_si256(a, b);
        or(a: __m256i, b: __m256i) -> __m256i = _mm256_or_si256(a, b);
        shl(a: __m256i, bits: u32) -> __m256i = _mm256_sll_epi32(a, _mm_cvtsi32_si128(bits.cast_signed()));
        shr(a: __m256i, bits: u32) -> __m256i = _mm256_srl_epi32(a, _mm_cvtsi32_si128(bits.cast_signed()));
        min_i(a: __m256i, b: __m256i) -> __m256i = _mm256_min_epi32(a, b);
        max_i(a: __m256i, b: __m256i) -> __m256i = _mm256_max_epi32(a, b);
        bits(a: __m256) -> __m256i = _mm256_castps_si256(a);
        float(a: __m256i) -> __m256 = _mm256_castsi256_ps(a);
        to_f32(a: __m256i) -> __m256 = _mm256_cvtepi32_ps(a);
        to_i32(a: __m256) -> __m256i = _mm256_cvtps_epi32(a);
        gather(table: &[f32], index: __m256i) -> __m256 = {
            assert!(!table.is_empty());
            let last = i32::try_from(table.len() - 1).unwrap_or(i32::MAX);
            let index = _mm256_min_epu32(index, _mm256_set1_epi32(last));
            _mm256_i32gather_ps::<4>(table.as_ptr(), index)
        };
    }
}
