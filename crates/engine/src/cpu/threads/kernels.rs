//! The engine's interface to its kernels, whatever instruction set and threads they run on.

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

/// What is counted over a lot beside its sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Number of vectors that were not finite.
    pub non_finite: u64,
    /// Counts over the others; answers and digits only for [`Lot::Alone`].
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
    /// Describes the instruction set and the number of threads, `helpers` included.
    fn describe(&self, helpers: usize) -> String;

    /// sum ← the sum of the encoded gradients of `lot`, exact on a grid.
    fn sum_encoded(
        &mut self,
        encoding: &Encoding,
        parameters: &[f32],
        examples: Examples<'_>,
        lot: Lot<'_>,
        shifts: &[Shift],
        sum: &mut [f64],
    ) -> Seen;

    /// Edges of a lot's pieces, from its length. On a grid (`exact`) a piece's f32 sum is exact.
    fn edges(&self, lot: usize, exact: bool) -> Vec<usize>;

    /// Number of examples computed side by side.
    fn lanes(&self) -> usize;

    /// sums ← the sums of pieces of `lot`, which begin and end at `edges`: one total on a grid,
    /// else one sum after the other. A sum has [`padded`](crate::cpu::simd::padded) length.
    fn sum_pieces(
        &mut self,
        encoding: &Encoding,
        parameters: &[f32],
        examples: Examples<'_>,
        pieces: (Lot<'_>, &[usize]),
        shifts: &[Shift],
        sums: &mut [f64],
    ) -> Seen;

    /// sum += the encoded `vector` (P numbers, then zeros).
    fn add_vector(&mut self, encoding: &Encoding, vector: &[f32], sum: &mut [f64]);

    /// noisy ← sum + noise, added in f64 and rounded once.
    fn add_noise(&self, noise: &Family, key: &[u32; 8], sum: &[f64], noisy: &mut [f32]);

    /// out ← F(values).
    fn to_uniform(&self, cdf: &Cdf, values: &[f32], out: &mut [f32]);

    /// Writes features of the examples of `data` from `first` on to `out`, `[example][feature]`.
    fn features(&mut self, data: &Dataset, first: usize, out: &mut [u8]);

    /// Logits of all examples, one per class, example by example.
    fn scores(&mut self, parameters: &[f32], examples: Examples<'_>) -> Vec<f32>;

    fn predict(&mut self, parameters: &[f32], image: &[f32]) -> Probabilities;
}
