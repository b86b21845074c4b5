//! What every model's kernels answer: logits, norms of per-example gradients, and sums of them.

use super::block::Block;
use crate::{
    cpu::simd::{MOST_LANES, Simd},
    mechanism::layers::MOST_LAYERS,
};

/// Squared norms of the gradients of a block's examples, and how they are read.
pub struct Squares<'a, S: Simd> {
    /// Logits of the first block's.
    pub scores: &'a [S::F],
    /// Not finite where a gradient is not.
    pub whole: S::F,
    /// Layer by layer; 0 after the last.
    pub layers: [S::F; MOST_LAYERS],
}

/// A model's forward and backward pass over a [`Block`], with all its buffers.
pub trait Network<S: Simd>: Send {
    /// Logits of the block's examples.
    fn logits(&mut self, parameters: &[f32], block: &Block<S>) -> &mut [S::F];

    /// Computes what the gradients are made of, and answers their squared norms.
    ///
    /// `blocks` are copies of the same examples, one example a lane: its gradient is the mean over them. Or each lane has examples of its own in them, weighted by
    /// [`Block::share`].
    fn gradients(&mut self, parameters: &[f32], blocks: &[Block<S>]) -> Squares<'_, S>;

    /// sum += Σ over lanes of scale·gradient, with a scale for each layer. A lane of scale 0 adds nothing, whatever it holds. Where `base` is not 0, `sum` stands on it,
    /// and each lane's coordinates are rounded to its grid. Spoils the gradients.
    fn add_scaled(
        &mut self,
        blocks: &[Block<S>],
        scales: &[[f32; MOST_LANES]; MOST_LAYERS],
        base: f32,
        sum: &mut [f32],
    );

    /// Makes [`Network::row`] possible.
    fn prepare_rows(&mut self);

    /// One lane's gradient times `factor`, in flat order.
    fn row(&self, blocks: &[Block<S>], lane: usize, factor: f32, out: &mut [f32]);
}
