//! What a kernel needs of an instruction set.

/// Widest vector of any instruction set, in lanes of f32.
pub const MOST_LANES: usize = 16;

/// Length of a buffer for `parameters` numbers that every instruction set's vectors fill evenly.
pub const fn padded(parameters: usize) -> usize {
    parameters.next_multiple_of(MOST_LANES)
}

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
