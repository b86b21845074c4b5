//! What a kernel needs from an instruction set.

/// Widest vector of any instruction set, in lanes of f32.
pub const MOST_LANES: usize = 16;

/// Length of a buffer for `parameters` numbers, padded to whole vectors of any instruction set.
pub const fn padded(parameters: usize) -> usize {
    parameters.next_multiple_of(MOST_LANES)
}

/// An instruction set. Methods are element-wise over [`Simd::LANES`] lanes.
pub trait Simd: Copy + Send + Sync + 'static {
    /// Lanes of f32.
    type F: Copy + Send + Sync + 'static;
    /// Lanes of u32.
    type U: Copy + Send + Sync + 'static;
    /// One truth value per lane.
    type M: Copy;
    const LANES: usize;
    /// Number of vector registers; determines the size of a kernel's tile of accumulators.
    const REGISTERS: usize;
    const NAME: &'static str;

    /// Runs `kernel`, compiled for this instruction set.
    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output;

    /// Returns `n`, opaquely if the compiler should not unroll a loop of that length.
    #[inline(always)]
    fn opaque_len(self, n: usize) -> usize {
        n
    }

    /// Returns `numbers`, opaquely if loading constants is cheaper than immediates.
    #[inline(always)]
    fn constants<const N: usize>(self, numbers: &'static [f32; N]) -> &'static [f32; N] {
        numbers
    }

    fn splat(self, x: f32) -> Self::F;
    /// Loads the first lanes of `from`.
    fn load(self, from: &[f32]) -> Self::F;
    /// Stores to the first lanes of `to`.
    fn store(self, v: Self::F, to: &mut [f32]);
    /// The same memory as plain floats.
    fn flat(v: &[Self::F]) -> &[f32];

    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    /// a·b + c, rounded once if [`Simd::fuses`], else twice.
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
    /// The smaller, compared as i32.
    fn min_i(self, a: Self::U, b: Self::U) -> Self::U;
    /// The larger, compared as i32.
    fn max_i(self, a: Self::U, b: Self::U) -> Self::U;
    fn bits(self, a: Self::F) -> Self::U;
    fn float(self, a: Self::U) -> Self::F;
    /// Converts lanes, read as i32, to f32.
    fn to_f32(self, a: Self::U) -> Self::F;
    /// Rounds to the nearest i32 (ties to even); |a| < 2^31.
    fn to_i32(self, a: Self::F) -> Self::U;
    /// `table[index]`; an index beyond the table reads its last entry.
    fn gather(self, table: &[f32], index: Self::U) -> Self::F;

    #[inline(always)]
    fn neg(self, a: Self::F) -> Self::F {
        self.float(self.xor(self.bits(a), self.splat_u(1 << 31)))
    }

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
/// Everything that calls a method of [`Simd`] must be inlined into [`Simd::run`], or each such
/// method is a function call: `run` is `#[inline(always)]`, and so is all that it calls. Closures
/// cannot promise that, so a kernel is a type; closures here are small and have one caller.
pub trait Kernel<S: Simd> {
    type Output;
    fn run(self, s: S) -> Self::Output;
}
