//! Plain arrays, for other instruction sets. The compiler vectorises what it can.

use super::lanes::{Kernel, Simd};

#[derive(Clone, Copy, Debug)]
pub struct Portable<const N: usize>;

#[inline(always)]
fn map<const N: usize, A: Copy, B: Copy, C>(a: [A; N], b: [B; N], f: impl Fn(A, B) -> C) -> [C; N] {
    std::array::from_fn(|i| f(a[i], b[i]))
}

impl<const N: usize> Simd for Portable<N> {
    type F = [f32; N];
    type U = [u32; N];
    type M = [bool; N];
    const LANES: usize = N;
    /// As in browsers, so that tests cover their tiles.
    const REGISTERS: usize = 15;
    const NAME: &'static str = "portable";

    #[inline(always)]
    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
    #[inline(always)]
    fn splat(self, x: f32) -> Self::F {
        [x; N]
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> Self::F {
        std::array::from_fn(|i| from[i])
    }
    #[inline(always)]
    fn store(self, v: Self::F, to: &mut [f32]) {
        to[..N].copy_from_slice(&v);
    }
    #[inline(always)]
    fn flat(v: &[Self::F]) -> &[f32] {
        v.as_flattened()
    }
    #[inline(always)]
    fn add(self, a: Self::F, b: Self::F) -> Self::F {
        map(a, b, |x, y| x + y)
    }
    #[inline(always)]
    fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        map(a, b, |x, y| x - y)
    }
    #[inline(always)]
    fn mul(self, a: Self::F, b: Self::F) -> Self::F {
        map(a, b, |x, y| x * y)
    }
    #[inline(always)]
    fn div(self, a: Self::F, b: Self::F) -> Self::F {
        map(a, b, |x, y| x / y)
    }
    #[inline(always)]
    fn mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        std::array::from_fn(|i| a[i] * b[i] + c[i])
    }
    #[inline(always)]
    fn fuses(self) -> bool {
        false
    }
    #[inline(always)]
    fn min(self, a: Self::F, b: Self::F) -> Self::F {
        map(a, b, |x, y| if x < y { x } else { y })
    }
    #[inline(always)]
    fn max(self, a: Self::F, b: Self::F) -> Self::F {
        map(a, b, |x, y| if x > y { x } else { y })
    }
    #[inline(always)]
    fn sqrt(self, a: Self::F) -> Self::F {
        a.map(f32::sqrt)
    }
    #[inline(always)]
    fn greater(self, a: Self::F, b: Self::F) -> Self::M {
        map(a, b, |x, y| x > y)
    }
    #[inline(always)]
    fn equal(self, a: Self::F, b: Self::F) -> Self::M {
        map(a, b, |x, y| x == y)
    }
    #[inline(always)]
    fn select(self, mask: Self::M, a: Self::F, b: Self::F) -> Self::F {
        std::array::from_fn(|i| if mask[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    fn zip(self, a: Self::F, b: Self::F) -> (Self::F, Self::F) {
        let pick = |k: usize| if k.is_multiple_of(2) { a[k / 2] } else { b[k / 2] };
        (std::array::from_fn(pick), std::array::from_fn(|k| pick(k + N)))
    }
    #[inline(always)]
    fn splat_u(self, x: u32) -> Self::U {
        [x; N]
    }
    #[inline(always)]
    fn load_u(self, from: &[u32]) -> Self::U {
        std::array::from_fn(|i| from[i])
    }
    #[inline(always)]
    fn store_u(self, v: Self::U, to: &mut [u32]) {
        to[..N].copy_from_slice(&v);
    }
    #[inline(always)]
    fn add_u(self, a: Self::U, b: Self::U) -> Self::U {
        map(a, b, u32::wrapping_add)
    }
    #[inline(always)]
    fn sub_u(self, a: Self::U, b: Self::U) -> Self::U {
        map(a, b, u32::wrapping_sub)
    }
    #[inline(always)]
    fn xor(self, a: Self::U, b: Self::U) -> Self::U {
        map(a, b, |x, y| x ^ y)
    }
    #[inline(always)]
    fn and(self, a: Self::U, b: Self::U) -> Self::U {
        map(a, b, |x, y| x & y)
    }
    #[inline(always)]
    fn or(self, a: Self::U, b: Self::U) -> Self::U {
        map(a, b, |x, y| x | y)
    }
    #[inline(always)]
    fn shl(self, a: Self::U, bits: u32) -> Self::U {
        a.map(|x| x << bits)
    }
    #[inline(always)]
    fn shr(self, a: Self::U, bits: u32) -> Self::U {
        a.map(|x| x >> bits)
    }
    #[inline(always)]
    fn min_i(self, a: Self::U, b: Self::U) -> Self::U {
        map(a, b, |x, y| if x.cast_signed() < y.cast_signed() { x } else { y })
    }
    #[inline(always)]
    fn max_i(self, a: Self::U, b: Self::U) -> Self::U {
        map(a, b, |x, y| if x.cast_signed() > y.cast_signed() { x } else { y })
    }
    #[inline(always)]
    fn bits(self, a: Self::F) -> Self::U {
        a.map(f32::to_bits)
    }
    #[inline(always)]
    fn float(self, a: Self::U) -> Self::F {
        a.map(f32::from_bits)
    }
    #[inline(always)]
    fn to_f32(self, a: Self::U) -> Self::F {
        a.map(|x| x.cast_signed() as f32)
    }
    #[inline(always)]
    fn to_i32(self, a: Self::F) -> Self::U {
        a.map(|x| (x.round_ties_even() as i32).cast_unsigned())
    }
    #[inline(always)]
    fn gather(self, table: &[f32], index: Self::U) -> Self::F {
        index.map(|i| table[(i as usize).min(table.len() - 1)])
    }
}
