//! What the engine asks of its kernels, whatever instruction set and threads they run on.

use serde::{Deserialize, Serialize};

use super::{encoding::Encoding, lot::Lot};
use crate::mechanism::counts::Counts;
use crate::{
    Probabilities,
    cpu::{
        kernels::{distance::Cdf, noise::Family},
        models::Examples,
    },
    data::{Dataset, Shift},
};

/// What a lot had beside its sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Vectors that were not finite.
    pub non_finite: u64,
    /// Of the others; answers and digits where examples are alone.
    pub counts: Counts,
}

impl Seen {
    pub fn merge(&mut self, other: Self) {
        self.non_finite += other.non_finite;
        self.counts.merge(other.counts);
    }
}

/// The passes of a step and of an evaluation, compiled for one instruction set.
pub trait Kernels: Send {
    /// Name of the instruction set and number of threads, with so many helpers.
    fn describe(&self, helpers: usize) -> String;

    /// sum ← the encoded gradients of `lot`, added, exactly where they stand on a grid.
    fn sum_encoded(
        &mut self,
        encoding: &Encoding,
        parameters: &[f32],
        examples: Examples<'_>,
        lot: Lot<'_>,
        shifts: &[Shift],
        sum: &mut [f64],
    ) -> Seen;

    /// Where the pieces of a lot of so many begin, and its end: they follow from its length alone. On a grid (`exact`) a piece's examples have an exact sum in f32.
    fn edges(&self, lot: usize, exact: bool) -> Vec<usize>;

    /// Examples that are computed side by side.
    fn lanes(&self) -> usize;

    /// sums ← those of pieces of `lot`, which begin and end at `edges`: on a grid their sum; else each one's, one after the other. A sum is as long as
    /// [`padded`](crate::cpu::simd::padded) says.
    fn sum_pieces(
        &mut self,
        encoding: &Encoding,
        parameters: &[f32],
        examples: Examples<'_>,
        pieces: (Lot<'_>, &[usize]),
        shifts: &[Shift],
        sums: &mut [f64],
    ) -> Seen;

    /// sum += `vector` (P numbers, then zeros), encoded.
    fn add_vector(&mut self, encoding: &Encoding, vector: &[f32], sum: &mut [f64]);

    /// noisy ← sum + noise, added in f64 and rounded once.
    fn add_noise(&self, noise: &Family, key: &[u32; 8], sum: &[f64], noisy: &mut [f32]);

    /// out ← F(values).
    fn to_uniform(&self, cdf: &Cdf, values: &[f32], out: &mut [f32]);

    /// Writes the features of the examples of `data` from number `first` on; `out` is `[example][feature]`.
    fn features(&mut self, data: &Dataset, first: usize, out: &mut [u8]);

    /// Logits of all examples, a number for each class, example by example.
    fn scores(&mut self, parameters: &[f32], examples: Examples<'_>) -> Vec<f32>;

    fn predict(&mut self, parameters: &[f32], image: &[f32]) -> Probabilities;
}
