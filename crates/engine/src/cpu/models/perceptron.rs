//! Models of dense layers only: linear, and one hidden layer.
//!
//! Clipping needs only norms, which are products of norms; the clipped sum is then one weighted
//! product. A per-example gradient is formed only for an envelope, one example at a time.

use super::{
    block::Block,
    network::{Network, Squares},
};
use crate::{
    cpu::{
        kernels::{
            dense::{DenseBackward, DenseDot, DenseForward, DenseRow, LossDelta, NormOfSum, ToRows},
            pooling::ThroughActivation,
            product::{DenseProduct, Part, ScaleDelta},
        },
        simd::{MOST_LANES, Simd},
    },
    mechanism::layers::MOST_LAYERS,
    model::{Activation, Architecture, CLASSES, MLP_HIDDEN, PIXELS},
};

const DENSE1: usize = MLP_HIDDEN * (PIXELS + 1);

pub struct Perceptron<S: Simd> {
    simd: S,
    activation: Activation,
    inputs: usize,
    /// 0 for the linear models.
    width: usize,
    /// At least one.
    copies: Vec<Copy<S>>,
    /// Logits of the first copy of each example.
    scores: [S::F; CLASSES],
}

/// Factors of the gradient of one copy of each example.
struct Copy<S: Simd> {
    hidden: Vec<S::F>,
    hidden_delta: Vec<S::F>,
    hidden_rows: Vec<f32>,
    /// Logits, then their gradient.
    logits: [S::F; CLASSES],
}

impl<S: Simd> Copy<S> {
    fn new(simd: S, width: usize) -> Self {
        let zero = simd.splat(0.0);
        Self {
            hidden: vec![zero; width],
            hidden_delta: vec![zero; width],
            hidden_rows: vec![0.0; S::LANES * width],
            logits: [zero; CLASSES],
        }
    }
}

impl<S: Simd> Perceptron<S> {
    pub fn new(simd: S, model: Architecture) -> Self {
        let width = if model == Architecture::Mlp { MLP_HIDDEN } else { 0 };
        Self {
            simd,
            activation: model.activation(),
            inputs: model.inputs(),
            width,
            copies: vec![Copy::new(simd, width)],
            scores: [simd.splat(0.0); CLASSES],
        }
    }

    fn forward(&mut self, parameters: &[f32], block: &Block<S>, copy: usize) -> &mut Copy<S> {
        let s = self.simd;
        let copy = &mut self.copies[copy];
        let (input, logits) = (&block.lanes, &mut copy.logits);
        if self.width == 0 {
            let weights = &parameters[..CLASSES * (self.inputs + 1)];
            s.run(DenseForward::<S, 10> { activation: None, weights, input, out: logits });
        } else {
            let (w1, w2) = parameters.split_at(DENSE1);
            let (activation, hidden) = (Some(self.activation), &mut copy.hidden);
            s.run(DenseForward::<S, 8> { activation, weights: w1, input, out: hidden });
            s.run(DenseForward::<S, 10> { activation: None, weights: w2, input: &copy.hidden, out: logits });
        }
        copy
    }
}

impl<S: Simd> Network<S> for Perceptron<S> {
    fn logits(&mut self, parameters: &[f32], block: &Block<S>) -> &mut [S::F] {
        &mut self.forward(parameters, block, 0).logits
    }

    fn gradients(&mut self, parameters: &[f32], blocks: &[Block<S>]) -> Squares<'_, S> {
        let (s, activation, width) = (self.simd, self.activation, self.width);
        self.copies.resize_with(self.copies.len().max(blocks.len()), || Copy::new(s, width));
        let mut scores = [s.splat(0.0); CLASSES];
        for (k, block) in blocks.iter().enumerate() {
            let copy = self.forward(parameters, block, k);
            if k == 0 {
                scores = copy.logits;
            }
            s.run(LossDelta { labels: block.labels, share: block.share, logits: &mut copy.logits });
            if width > 0 {
                let weights = &parameters[DENSE1..][..CLASSES * MLP_HIDDEN];
                s.run(DenseBackward { weights, delta: &copy.logits, out: &mut copy.hidden_delta });
                s.run(ThroughActivation { activation, values: &copy.hidden, delta: &mut copy.hidden_delta });
            }
        }
        self.scores = scores;
        let (mut own, mut pairs) = (vec![], vec![]);
        for (k, (a, copy)) in blocks.iter().zip(&self.copies).enumerate() {
            for (l, (b, other)) in blocks.iter().zip(&self.copies).enumerate().take(k + 1) {
                let to = if k == l { &mut own } else { &mut pairs };
                let inputs = [&a.lanes[..], &b.lanes];
                if width == 0 {
                    to.push(s.run(DenseDot { inputs, deltas: [&copy.logits, &other.logits] }));
                } else {
                    to.push(s.run(DenseDot { inputs, deltas: [&copy.hidden_delta, &other.hidden_delta] }));
                    let inputs = [&copy.hidden[..], &other.hidden];
                    to.push(s.run(DenseDot { inputs, deltas: [&copy.logits, &other.logits] }));
                }
            }
        }
        let (copies, terms) = (blocks.len(), blocks[0].terms);
        let count = if width == 0 { 1 } else { 2 };
        let of = |layer, all: &[S::F]| -> Vec<S::F> { all.iter().skip(layer).step_by(count).copied().collect() };
        let mut layers = [s.splat(0.0); MOST_LAYERS];
        for (layer, square) in layers.iter_mut().enumerate().take(count) {
            let (own, pairs) = (of(layer, &own), of(layer, &pairs));
            *square = s.run(NormOfSum { squares: &[], own: &own, pairs: &pairs, copies, terms });
        }
        Squares {
            whole: s.run(NormOfSum { squares: &[], own: &own, pairs: &pairs, copies, terms }),
            layers,
            scores: &self.scores,
        }
    }

    fn add_scaled(
        &mut self,
        blocks: &[Block<S>],
        scales: &[[f32; MOST_LANES]; MOST_LAYERS],
        base: f32,
        sum: &mut [f32],
    ) {
        let (s, width) = (self.simd, self.width);
        let [first, second, ..] = scales;
        let copies = &mut self.copies[..blocks.len()];
        for Copy { hidden, hidden_delta, hidden_rows, logits } in &mut *copies {
            // Inputs are finite: no row needs blanking.
            if width == 0 {
                s.run(ScaleDelta { scale: first, delta: logits, rows: &mut [] });
            } else {
                s.run(ToRows { lanes: hidden, rows: hidden_rows });
                s.run(ScaleDelta { scale: first, delta: hidden_delta, rows: &mut [] });
                s.run(ScaleDelta { scale: second, delta: logits, rows: hidden_rows });
            }
        }
        let copies = || blocks.iter().zip(&*copies);
        if width == 0 {
            let parts: Vec<_> = copies().map(|(b, c)| Part { delta: &c.logits[..], rows: &b.rows }).collect();
            let sum = &mut sum[..CLASSES * (self.inputs + 1)];
            s.run(DenseProduct::<S, 10, 1> { parts: &parts, base, sum });
        } else {
            let (sum1, sum2) = sum.split_at_mut(DENSE1);
            let sum2 = &mut sum2[..CLASSES * (MLP_HIDDEN + 1)];
            let parts: Vec<_> = copies().map(|(b, c)| Part { delta: &c.hidden_delta[..], rows: &b.rows }).collect();
            s.run(DenseProduct::<S, 8, 1> { parts: &parts, base, sum: sum1 });
            let parts: Vec<_> = copies().map(|(_, c)| Part { delta: &c.logits[..], rows: &c.hidden_rows }).collect();
            s.run(DenseProduct::<S, 10, 1> { parts: &parts, base, sum: sum2 });
        }
    }

    fn prepare_rows(&mut self) {
        if self.width > 0 {
            for copy in &mut self.copies {
                self.simd.run(ToRows { lanes: &copy.hidden, rows: &mut copy.hidden_rows });
            }
        }
    }

    fn row(&self, blocks: &[Block<S>], lane: usize, factor: f32, out: &mut [f32]) {
        let s = self.simd;
        for (k, (block, copy)) in blocks.iter().zip(&self.copies).enumerate() {
            let add = k > 0;
            let input = &block.rows[lane * self.inputs..][..self.inputs];
            if self.width == 0 {
                s.run(DenseRow { lane, factor, add, delta: &copy.logits, input, out: &mut *out });
            } else {
                let (out1, out2) = out.split_at_mut(DENSE1);
                s.run(DenseRow { lane, factor, add, delta: &copy.hidden_delta, input, out: out1 });
                let input = &copy.hidden_rows[lane * MLP_HIDDEN..][..MLP_HIDDEN];
                s.run(DenseRow { lane, factor, add, delta: &copy.logits, input, out: out2 });
            }
        }
    }
}
