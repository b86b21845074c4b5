//! What every model's kernels compute: logits, norms of per-example gradients, and their sums.

use super::block::Block;
use crate::{
    cpu::simd::{MOST_LANES, Simd},
    mechanism::layers::MOST_LAYERS,
};

/// Squared norms of the gradients of a block's examples, and their logits.
pub struct Squares<'a, S: Simd> {
    /// Logits of the first block's examples.
    pub scores: &'a [S::F],
    /// Of the whole gradient; not finite if the gradient is not.
    pub whole: S::F,
    /// Of each layer; 0 after the last.
    pub layers: [S::F; MOST_LAYERS],
}

/// A model's forward and backward pass over a [`Block`], with all its buffers.
pub trait Network<S: Simd>: Send {
    /// Logits of the block's examples.
    fn logits(&mut self, parameters: &[f32], block: &Block<S>) -> &mut [S::F];

    /// Computes what the gradients consist of, and returns their squared norms.
    ///
    /// `blocks` are copies of the same examples, one per lane, over which the gradient is averaged;
    /// or each lane has its own examples in them, weighted by [`Block::share`].
    fn gradients(&mut self, parameters: &[f32], blocks: &[Block<S>]) -> Squares<'_, S>;

    /// sum += Σ over lanes of scale·gradient, with a scale per layer. A lane of scale 0 adds
    /// nothing, whatever it holds. If `base` is not 0, `sum` starts at it, and each lane's
    /// coordinates are rounded to its grid. Overwrites the gradients.
    fn add_scaled(
        &mut self,
        blocks: &[Block<S>],
        scales: &[[f32; MOST_LANES]; MOST_LAYERS],
        base: f32,
        sum: &mut [f32],
    );

    /// Prepares for [`Network::row`].
    fn prepare_rows(&mut self);

    /// Writes one lane's gradient, times `factor`, to `out` in flat order.
    fn row(&self, blocks: &[Block<S>], lane: usize, factor: f32, out: &mut [f32]);
}
