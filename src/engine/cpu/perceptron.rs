//! The models of dense layers alone: linear, and one hidden layer.
//!
//! Clipping needs only norms, and those are products of norms; the clipped sum is then one weighted product. No
//! per-example gradient exists unless the envelope asks for it, one example at a time.

use super::{
    dense::{DenseBackward, DenseForward, DenseNorm, DenseProduct, DenseRow, LossDelta, ScaleDelta, ToRows, Total},
    network::{Block, Network},
    pool::ThroughActivation,
    simd::{MOST_LANES, Simd},
};
use crate::model::{Activation, Architecture, CLASSES, MLP_HIDDEN, PIXELS};

const DENSE1: usize = MLP_HIDDEN * (PIXELS + 1);

pub struct Perceptron<S: Simd> {
    simd: S,
    activation: Activation,
    /// Empty for the linear model.
    hidden: Vec<S::F>,
    hidden_delta: Vec<S::F>,
    hidden_rows: Vec<f32>,
    /// Logits, then their gradient.
    logits: [S::F; CLASSES],
}

impl<S: Simd> Perceptron<S> {
    pub fn new(simd: S, model: Architecture) -> Self {
        let hidden = if model == Architecture::Mlp { MLP_HIDDEN } else { 0 };
        Self {
            simd,
            activation: model.activation(),
            hidden: vec![simd.splat(0.0); hidden],
            hidden_delta: vec![simd.splat(0.0); hidden],
            hidden_rows: vec![0.0; S::LANES * hidden],
            logits: [simd.splat(0.0); CLASSES],
        }
    }
}

impl<S: Simd> Network<S> for Perceptron<S> {
    fn logits(&mut self, parameters: &[f32], block: &Block<S>) -> &mut [S::F; CLASSES] {
        let s = self.simd;
        if self.hidden.is_empty() {
            let w = &parameters[..CLASSES * (PIXELS + 1)];
            s.run(DenseForward::<S, 10> { activation: None, weights: w, input: &block.pixels, out: &mut self.logits });
        } else {
            let (w1, w2) = parameters.split_at(DENSE1);
            s.run(DenseForward::<S, 8> {
                activation: Some(self.activation),
                weights: w1,
                input: &block.pixels,
                out: &mut self.hidden,
            });
            s.run(DenseForward::<S, 10> { activation: None, weights: w2, input: &self.hidden, out: &mut self.logits });
        }
        &mut self.logits
    }

    fn gradients(&mut self, parameters: &[f32], block: &Block<S>) -> S::F {
        self.logits(parameters, block);
        let s = self.simd;
        s.run(LossDelta { labels: block.labels, logits: &mut self.logits });
        if self.hidden.is_empty() {
            return s.run(DenseNorm { input: &block.pixels, delta: &self.logits });
        }
        let w2 = &parameters[DENSE1..][..CLASSES * MLP_HIDDEN];
        s.run(DenseBackward { weights: w2, delta: &self.logits, out: &mut self.hidden_delta });
        s.run(ThroughActivation { activation: self.activation, values: &self.hidden, delta: &mut self.hidden_delta });
        let norm1 = s.run(DenseNorm { input: &block.pixels, delta: &self.hidden_delta });
        let norm2 = s.run(DenseNorm { input: &self.hidden, delta: &self.logits });
        s.run(Total([norm1, norm2]))
    }

    fn add_scaled(&mut self, block: &Block<S>, scale: &[f32; MOST_LANES], sum: &mut [f32]) {
        let s = self.simd;
        // Pixels are finite: no row needs blanking.
        if self.hidden.is_empty() {
            s.run(ScaleDelta { scale, delta: &mut self.logits, rows: &mut [] });
            let sum = &mut sum[..CLASSES * (PIXELS + 1)];
            s.run(DenseProduct::<S, 10, 1> { delta: &self.logits, rows: &block.rows, sum });
            return;
        }
        let (sum1, sum2) = sum.split_at_mut(DENSE1);
        let sum2 = &mut sum2[..CLASSES * (MLP_HIDDEN + 1)];
        s.run(ToRows { lanes: &self.hidden, rows: &mut self.hidden_rows });
        s.run(ScaleDelta { scale, delta: &mut self.hidden_delta, rows: &mut [] });
        s.run(ScaleDelta { scale, delta: &mut self.logits, rows: &mut self.hidden_rows });
        s.run(DenseProduct::<S, 8, 1> { delta: &self.hidden_delta, rows: &block.rows, sum: sum1 });
        s.run(DenseProduct::<S, 10, 1> { delta: &self.logits, rows: &self.hidden_rows, sum: sum2 });
    }

    fn prepare_rows(&mut self) {
        if !self.hidden.is_empty() {
            self.simd.run(ToRows { lanes: &self.hidden, rows: &mut self.hidden_rows });
        }
    }

    fn row(&self, block: &Block<S>, lane: usize, factor: f32, out: &mut [f32]) {
        let s = self.simd;
        let pixels = &block.rows[lane * PIXELS..][..PIXELS];
        if self.hidden.is_empty() {
            s.run(DenseRow { lane, factor, delta: &self.logits, input: pixels, out });
        } else {
            let (out1, out2) = out.split_at_mut(DENSE1);
            s.run(DenseRow { lane, factor, delta: &self.hidden_delta, input: pixels, out: out1 });
            let input = &self.hidden_rows[lane * MLP_HIDDEN..][..MLP_HIDDEN];
            s.run(DenseRow { lane, factor, delta: &self.logits, input, out: out2 });
        }
    }
}
