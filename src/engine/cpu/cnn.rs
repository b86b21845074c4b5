//! The 26,010-parameter CNN.

use super::{
    conv::{C1, C2, Conv1Forward, Conv1Gradient, Conv2Backward, Conv2Forward, Conv2Gradient, K1, K2, Q1, Q2, S1, S2},
    dense::{
        AddScaled, DenseBackward, DenseForward, DenseNorm, DenseProduct, DenseRow, LossDelta, ScaleDelta, ToRows, Total,
    },
    network::{Block, Network},
    pool::{PoolBackward, PoolForward, ThroughActivation},
    simd::{MOST_LANES, Simd},
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
        s.run(Conv1Forward::<S, 2> { image: &block.pixels, weights: w1, out: &mut self.conv1 });
        s.run(PoolForward {
            side: S1,
            activation: f,
            x: &self.conv1,
            pooled: &mut self.pool1,
            winner: &mut self.winner1,
        });
        s.run(Conv2Forward::<S, 4> { input: &self.pool1, weights: w2, out: &mut self.conv2 });
        s.run(PoolForward {
            side: S2,
            activation: f,
            x: &self.conv2,
            pooled: &mut self.pool2,
            winner: &mut self.winner2,
        });
        s.run(DenseForward::<S, 8> { activation: Some(f), weights: w3, input: &self.pool2, out: &mut self.hidden });
        s.run(DenseForward::<S, 10> { activation: None, weights: w4, input: &self.hidden, out: &mut self.logits });
        &mut self.logits
    }

    fn gradients(&mut self, parameters: &[f32], block: &Block<S>) -> S::F {
        self.logits(parameters, block);
        let s = self.simd;
        let f = self.activation;
        let [_, w2, w3, w4] = layers(parameters);
        s.run(LossDelta { labels: block.labels, logits: &mut self.logits });
        s.run(DenseBackward { weights: &w4[..HIDDEN * CLASSES], delta: &self.logits, out: &mut self.hidden_delta });
        s.run(ThroughActivation { activation: f, values: &self.hidden, delta: &mut self.hidden_delta });
        s.run(DenseBackward { weights: &w3[..HIDDEN * FLAT], delta: &self.hidden_delta, out: &mut self.pool2_delta });
        let (pooled, delta) = (&self.pool2[..], &self.pool2_delta[..]);
        s.run(PoolBackward {
            side: S2,
            activation: f,
            pooled,
            winner: &self.winner2,
            pooled_delta: delta,
            delta: &mut self.conv2,
        });
        s.run(Conv2Backward::<S, 2> { weights: w2, delta: &self.conv2, out: &mut self.pool1_delta });
        let (pooled, delta) = (&self.pool1[..], &self.pool1_delta[..]);
        s.run(PoolBackward {
            side: S1,
            activation: f,
            pooled,
            winner: &self.winner1,
            pooled_delta: delta,
            delta: &mut self.conv1,
        });

        let (gradient1, gradient2) = self.gradient.split_at_mut(CONV1);
        let norm1 = if S::REGISTERS >= 32 {
            s.run(Conv1Gradient::<S, 2> { image: &block.pixels, delta: &self.conv1, gradient: gradient1 })
        } else {
            s.run(Conv1Gradient::<S, 1> { image: &block.pixels, delta: &self.conv1, gradient: gradient1 })
        };
        let norm2 = if S::REGISTERS >= 32 {
            s.run(Conv2Gradient::<S, 4> { input: &self.pool1, delta: &self.conv2, gradient: gradient2 })
        } else {
            s.run(Conv2Gradient::<S, 2> { input: &self.pool1, delta: &self.conv2, gradient: gradient2 })
        };
        let norm3 = s.run(DenseNorm { input: &self.pool2, delta: &self.hidden_delta });
        let norm4 = s.run(DenseNorm { input: &self.hidden, delta: &self.logits });
        s.run(Total([norm1, norm2, norm3, norm4]))
    }

    fn add_scaled(&mut self, _: &Block<S>, scale: &[f32; MOST_LANES], sum: &mut [f32]) {
        let s = self.simd;
        let (conv, rest) = sum.split_at_mut(CONV);
        let (dense1, dense2) = rest.split_at_mut(DENSE1);
        s.run(AddScaled { scale, values: &self.gradient, sum: conv });
        s.run(ToRows { lanes: &self.pool2, rows: &mut self.pool2_rows });
        s.run(ToRows { lanes: &self.hidden, rows: &mut self.hidden_rows });
        s.run(ScaleDelta { scale, delta: &mut self.hidden_delta, rows: &mut self.pool2_rows });
        s.run(ScaleDelta { scale, delta: &mut self.logits, rows: &mut self.hidden_rows });
        s.run(DenseProduct::<S, 8, 2> { delta: &self.hidden_delta, rows: &self.pool2_rows, sum: dense1 });
        let dense2 = &mut dense2[..CLASSES * (HIDDEN + 1)];
        s.run(DenseProduct::<S, 2, 2> { delta: &self.logits, rows: &self.hidden_rows, sum: dense2 });
    }

    fn prepare_rows(&mut self) {
        let s = self.simd;
        self.gradient_rows.resize(S::LANES * CONV, 0.0);
        s.run(ToRows { lanes: &self.gradient, rows: &mut self.gradient_rows });
        s.run(ToRows { lanes: &self.pool2, rows: &mut self.pool2_rows });
        s.run(ToRows { lanes: &self.hidden, rows: &mut self.hidden_rows });
    }

    fn row(&self, _: &Block<S>, lane: usize, factor: f32, out: &mut [f32]) {
        let s = self.simd;
        let (conv, rest) = out.split_at_mut(CONV);
        let (dense1, dense2) = rest.split_at_mut(DENSE1);
        for (to, from) in conv.iter_mut().zip(&self.gradient_rows[lane * CONV..][..CONV]) {
            *to = from * factor;
        }
        let input = &self.pool2_rows[lane * FLAT..][..FLAT];
        s.run(DenseRow { lane, factor, delta: &self.hidden_delta, input, out: dense1 });
        let input = &self.hidden_rows[lane * HIDDEN..][..HIDDEN];
        s.run(DenseRow { lane, factor, delta: &self.logits, input, out: dense2 });
    }
}
