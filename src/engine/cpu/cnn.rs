//! The 26,010-parameter CNN.

use super::{
    conv::{
        C1, C2, K1, K2, Q1, Q2, S1, S2, conv1_forward, conv1_gradient, conv2_backward, conv2_forward, conv2_gradient,
    },
    dense::{add_scaled, dense_backward, dense_forward, dense_norm, dense_product, loss_delta, to_rows},
    network::{Block, Network},
    perceptron::{dense_row, scale_delta},
    pool::{pool_backward, pool_forward, through_activation},
    simd::Simd,
};
use crate::model::{Activation, Architecture, CLASSES};

const CONV1: usize = C1 * (K1 * K1 + 1);
const CONV2: usize = C2 * (C1 * K2 * K2 + 1);
/// Parameters of both convolutions, whose gradients are kept for every example.
const CONV: usize = CONV1 + CONV2;
const FLAT: usize = C2 * Q2 * Q2;
const HIDDEN: usize = 32;
const DENSE1: usize = HIDDEN * (FLAT + 1);

pub struct Cnn<S: Simd> {
    simd: S,
    activation: Activation,
    /// Output of a convolution, then its gradient.
    conv1: Vec<S::F>,
    conv2: Vec<S::F>,
    /// After activation and pooling, which cell won, and the gradient there.
    pool1: Vec<S::F>,
    winner1: Vec<S::F>,
    pool1_delta: Vec<S::F>,
    pool2: Vec<S::F>,
    winner2: Vec<S::F>,
    pool2_delta: Vec<S::F>,
    hidden: Vec<S::F>,
    hidden_delta: Vec<S::F>,
    /// Logits, then their gradient.
    logits: [S::F; CLASSES],
    /// Gradients of the convolutions' parameters, one a lane.
    gradient: Vec<S::F>,
    /// The same, one a row; empty until rows are asked for.
    gradient_rows: Vec<f32>,
    /// Inputs of the dense layers, one example a row.
    pool2_rows: Vec<f32>,
    hidden_rows: Vec<f32>,
}

impl<S: Simd> Cnn<S> {
    pub fn new(simd: S, model: Architecture) -> Self {
        let lanes = |n| vec![simd.splat(0.0); n];
        Self {
            simd,
            activation: model.activation(),
            conv1: lanes(C1 * S1 * S1),
            conv2: lanes(C2 * S2 * S2),
            pool1: lanes(C1 * Q1 * Q1),
            winner1: lanes(C1 * Q1 * Q1),
            pool1_delta: lanes(C1 * Q1 * Q1),
            pool2: lanes(FLAT),
            winner2: lanes(FLAT),
            pool2_delta: lanes(FLAT),
            hidden: lanes(HIDDEN),
            hidden_delta: lanes(HIDDEN),
            logits: [simd.splat(0.0); CLASSES],
            gradient: lanes(CONV),
            gradient_rows: Vec::new(),
            pool2_rows: vec![0.0; S::LANES * FLAT],
            hidden_rows: vec![0.0; S::LANES * HIDDEN],
        }
    }
}

/// Weights and biases of the four layers.
fn layers(parameters: &[f32]) -> [&[f32]; 4] {
    let (conv1, rest) = parameters.split_at(CONV1);
    let (conv2, rest) = rest.split_at(CONV2);
    let (dense1, dense2) = rest.split_at(DENSE1);
    [conv1, conv2, dense1, dense2]
}

impl<S: Simd> Network<S> for Cnn<S> {
    fn logits(&mut self, parameters: &[f32], block: &Block<S>) -> &mut [S::F; CLASSES] {
        let s = self.simd;
        let f = self.activation;
        let [w1, w2, w3, w4] = layers(parameters);
        s.run(conv1_forward::<S, 2>, (&block.pixels[..], w1, &mut self.conv1[..]));
        s.run(pool_forward, (S1, f, &self.conv1[..], &mut self.pool1[..], &mut self.winner1[..]));
        if S::REGISTERS >= 32 {
            s.run(conv2_forward::<S, 4>, (&self.pool1[..], w2, &mut self.conv2[..]));
        } else {
            s.run(conv2_forward::<S, 2>, (&self.pool1[..], w2, &mut self.conv2[..]));
        }
        s.run(pool_forward, (S2, f, &self.conv2[..], &mut self.pool2[..], &mut self.winner2[..]));
        s.run(dense_forward::<S, 8>, (Some(f), w3, &self.pool2[..], &mut self.hidden[..]));
        s.run(dense_forward::<S, 10>, (None, w4, &self.hidden[..], &mut self.logits[..]));
        &mut self.logits
    }

    fn gradients(&mut self, parameters: &[f32], block: &Block<S>) -> S::F {
        self.logits(parameters, block);
        let s = self.simd;
        let f = self.activation;
        let [_, w2, w3, w4] = layers(parameters);
        s.run(loss_delta, (block.labels, &mut self.logits));
        s.run(dense_backward, (&w4[..HIDDEN * CLASSES], &self.logits[..], &mut self.hidden_delta[..]));
        s.run(through, (f, &self.hidden[..], &mut self.hidden_delta[..]));
        s.run(dense_backward, (&w3[..HIDDEN * FLAT], &self.hidden_delta[..], &mut self.pool2_delta[..]));
        let (pooled, delta) = (&self.pool2[..], &self.pool2_delta[..]);
        s.run(pool_backward, (S2, f, pooled, &self.winner2[..], delta, &mut self.conv2[..]));
        if S::REGISTERS >= 32 {
            s.run(conv2_backward::<S, 4>, (w2, &self.conv2[..], &mut self.pool1_delta[..]));
        } else {
            s.run(conv2_backward::<S, 2>, (w2, &self.conv2[..], &mut self.pool1_delta[..]));
        }
        let (pooled, delta) = (&self.pool1[..], &self.pool1_delta[..]);
        s.run(pool_backward, (S1, f, pooled, &self.winner1[..], delta, &mut self.conv1[..]));

        let (gradient1, gradient2) = self.gradient.split_at_mut(CONV1);
        let norm1 = if S::REGISTERS >= 32 {
            s.run(conv1_gradient::<S, 2>, (&block.pixels[..], &self.conv1[..], gradient1))
        } else {
            s.run(conv1_gradient::<S, 1>, (&block.pixels[..], &self.conv1[..], gradient1))
        };
        let norm2 = if S::REGISTERS >= 32 {
            s.run(conv2_gradient::<S, 4>, (&self.pool1[..], &self.conv2[..], gradient2))
        } else {
            s.run(conv2_gradient::<S, 2>, (&self.pool1[..], &self.conv2[..], gradient2))
        };
        let norm3 = s.run(dense_norm, (&self.pool2[..], &self.hidden_delta[..]));
        let norm4 = s.run(dense_norm, (&self.hidden[..], &self.logits[..]));
        s.run(|s, [a, b, c, d]: [S::F; 4]| s.add(s.add(a, b), s.add(c, d)), [norm1, norm2, norm3, norm4])
    }

    fn add_scaled(&mut self, _: &Block<S>, scale: S::F, sum: &mut [f32]) {
        let s = self.simd;
        let (conv, rest) = sum.split_at_mut(CONV);
        let (dense1, dense2) = rest.split_at_mut(DENSE1);
        s.run(add_scaled, (scale, &self.gradient[..], conv));
        s.run(to_rows, (&self.pool2[..], &mut self.pool2_rows[..]));
        s.run(to_rows, (&self.hidden[..], &mut self.hidden_rows[..]));
        s.run(scale_delta, (scale, &mut self.hidden_delta[..], &mut self.pool2_rows[..]));
        s.run(scale_delta, (scale, &mut self.logits[..], &mut self.hidden_rows[..]));
        s.run(dense_product::<S, 4, 4>, (&self.hidden_delta[..], &self.pool2_rows[..], dense1));
        let dense2 = &mut dense2[..CLASSES * (HIDDEN + 1)];
        s.run(dense_product::<S, 2, 2>, (&self.logits[..], &self.hidden_rows[..], dense2));
    }

    fn prepare_rows(&mut self) {
        let s = self.simd;
        self.gradient_rows.resize(S::LANES * CONV, 0.0);
        s.run(to_rows, (&self.gradient[..], &mut self.gradient_rows[..]));
        s.run(to_rows, (&self.pool2[..], &mut self.pool2_rows[..]));
        s.run(to_rows, (&self.hidden[..], &mut self.hidden_rows[..]));
    }

    fn row(&self, _: &Block<S>, lane: usize, factor: f32, out: &mut [f32]) {
        let s = self.simd;
        let (conv, rest) = out.split_at_mut(CONV);
        let (dense1, dense2) = rest.split_at_mut(DENSE1);
        for (to, from) in conv.iter_mut().zip(&self.gradient_rows[lane * CONV..][..CONV]) {
            *to = from * factor;
        }
        let input = &self.pool2_rows[lane * FLAT..][..FLAT];
        s.run(dense_row, (lane, factor, &self.hidden_delta[..], input, dense1));
        let input = &self.hidden_rows[lane * HIDDEN..][..HIDDEN];
        s.run(dense_row, (lane, factor, &self.logits[..], input, dense2));
    }
}

#[inline(always)]
fn through<S: Simd>(s: S, (f, values, delta): (Activation, &[S::F], &mut [S::F])) {
    for (d, &a) in delta.iter_mut().zip(values) {
        *d = through_activation(s, f, a, *d);
    }
}
