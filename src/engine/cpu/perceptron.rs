//! The models of dense layers alone: linear, and one hidden layer.
//!
//! Clipping needs only norms, and those are products of norms; the clipped sum is then one weighted product. No
//! per-example gradient exists unless the envelope asks for it, one example at a time.

use super::{
    dense::{dense_backward, dense_forward, dense_norm, dense_product, loss_delta, to_rows},
    network::{Block, Network},
    pool::through_activation,
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
            s.run(dense_forward::<S, 10>, (None, w, &block.pixels[..], &mut self.logits[..]));
        } else {
            let (w1, w2) = parameters.split_at(DENSE1);
            s.run(dense_forward::<S, 8>, (Some(self.activation), w1, &block.pixels[..], &mut self.hidden[..]));
            s.run(dense_forward::<S, 10>, (None, w2, &self.hidden[..], &mut self.logits[..]));
        }
        &mut self.logits
    }

    fn gradients(&mut self, parameters: &[f32], block: &Block<S>) -> S::F {
        self.logits(parameters, block);
        let s = self.simd;
        s.run(loss_delta, (block.labels, &mut self.logits));
        if self.hidden.is_empty() {
            return s.run(dense_norm, (&block.pixels[..], &self.logits[..]));
        }
        let w2 = &parameters[DENSE1..][..CLASSES * MLP_HIDDEN];
        s.run(dense_backward, (w2, &self.logits[..], &mut self.hidden_delta[..]));
        s.run(through, (self.activation, &self.hidden[..], &mut self.hidden_delta[..]));
        let norm1 = s.run(dense_norm, (&block.pixels[..], &self.hidden_delta[..]));
        let norm2 = s.run(dense_norm, (&self.hidden[..], &self.logits[..]));
        s.run(|s, (a, b)| s.add(a, b), (norm1, norm2))
    }

    fn add_scaled(&mut self, block: &Block<S>, scale: S::F, sum: &mut [f32]) {
        let s = self.simd;
        // Pixels are finite: no row needs blanking.
        if self.hidden.is_empty() {
            s.run(scale_delta, (scale, &mut self.logits[..], &mut []));
            let sum = &mut sum[..CLASSES * (PIXELS + 1)];
            s.run(dense_product::<S, 2, 7>, (&self.logits[..], &block.rows[..], sum));
            return;
        }
        let (sum1, sum2) = sum.split_at_mut(DENSE1);
        let sum2 = &mut sum2[..CLASSES * (MLP_HIDDEN + 1)];
        s.run(to_rows, (&self.hidden[..], &mut self.hidden_rows[..]));
        s.run(scale_delta, (scale, &mut self.hidden_delta[..], &mut []));
        s.run(scale_delta, (scale, &mut self.logits[..], &mut self.hidden_rows[..]));
        s.run(dense_product::<S, 2, 7>, (&self.hidden_delta[..], &block.rows[..], sum1));
        s.run(dense_product::<S, 2, 4>, (&self.logits[..], &self.hidden_rows[..], sum2));
    }

    fn prepare_rows(&mut self) {
        if !self.hidden.is_empty() {
            self.simd.run(to_rows, (&self.hidden[..], &mut self.hidden_rows[..]));
        }
    }

    fn row(&self, block: &Block<S>, lane: usize, factor: f32, out: &mut [f32]) {
        let s = self.simd;
        let pixels = &block.rows[lane * PIXELS..][..PIXELS];
        if self.hidden.is_empty() {
            s.run(dense_row, (lane, factor, &self.logits[..], pixels, out));
        } else {
            let (out1, out2) = out.split_at_mut(DENSE1);
            s.run(dense_row, (lane, factor, &self.hidden_delta[..], pixels, out1));
            let input = &self.hidden_rows[lane * MLP_HIDDEN..][..MLP_HIDDEN];
            s.run(dense_row, (lane, factor, &self.logits[..], input, out2));
        }
    }
}

#[inline(always)]
fn through<S: Simd>(s: S, (f, values, delta): (Activation, &[S::F], &mut [S::F])) {
    for (d, &a) in delta.iter_mut().zip(values) {
        *d = through_activation(s, f, a, *d);
    }
}

/// delta ← scale·delta; where the scale is 0, delta and the example's row become 0, so that no NaN gets past.
#[inline(always)]
pub fn scale_delta<S: Simd>(s: S, (scale, delta, rows): (S::F, &mut [S::F], &mut [f32])) {
    let zero = s.splat(0.0);
    let live = s.greater(scale, zero);
    for d in delta.iter_mut() {
        *d = s.select(live, s.mul(*d, scale), zero);
    }
    let mut scales = [0.0; MOST_LANES];
    s.store(scale, &mut scales);
    let width = rows.len() / S::LANES;
    for e in 0..S::LANES {
        if scales[e] == 0.0 {
            rows[e * width..(e + 1) * width].fill(0.0);
        }
    }
}

/// One example's gradient of a dense layer, times `factor`: δ ⊗ input, then δ.
#[inline(always)]
pub fn dense_row<S: Simd>(_: S, (lane, factor, delta, input, out): (usize, f32, &[S::F], &[f32], &mut [f32])) {
    let delta = S::flat(delta);
    let outputs = delta.len() / S::LANES;
    let (weights, biases) = out.split_at_mut(outputs * input.len());
    for (o, row) in weights.chunks_exact_mut(input.len()).enumerate() {
        let d = delta[o * S::LANES + lane] * factor;
        for (to, &x) in row.iter_mut().zip(input) {
            *to = d * x;
        }
        biases[o] = d;
    }
}
