//! The 26,010-parameter CNN.

use super::{
    block::Block,
    network::{Network, Squares},
};
use crate::{
    cpu::{
        kernels::{
            conv::{
                C1, C2, Conv1Forward, Conv1Gradient, Conv2Backward, Conv2Forward, Conv2Gradient, K1, K2, Q1, S1, S2,
            },
            dense::{AddGradient, DenseBackward, DenseDot, DenseForward, DenseRow, LossDelta, NormOfSum, ToRows},
            pointwise::ThroughValues,
            pooling::{PoolBackward, PoolForward},
            product::{AddScaled, DenseProduct, Part, ScaleDelta},
        },
        simd::{MOST_LANES, Simd},
    },
    mechanism::layers::MOST_LAYERS,
    model::{
        Activation, Architecture, CLASSES,
        cnn::{FLAT, HIDDEN},
    },
};

const CONV1: usize = C1 * (K1 * K1 + 1);
const CONV2: usize = C2 * (C1 * K2 * K2 + 1);
/// Parameters of both convolutions, whose gradients are kept for every example.
const CONV: usize = CONV1 + CONV2;
const DENSE1: usize = HIDDEN * (FLAT + 1);

pub struct Cnn<S: Simd> {
    simd: S,
    activation: Activation,
    /// Output of a convolution, then its gradient.
    conv1: Vec<S::F>,
    conv2: Vec<S::F>,
    /// After activation and pooling: the values, which cell won, and the gradient.
    pool1: Vec<S::F>,
    winner1: Vec<S::F>,
    pool1_delta: Vec<S::F>,
    winner2: Vec<S::F>,
    pool2_delta: Vec<S::F>,
    /// At least one.
    copies: Vec<Copy<S>>,
    /// Logits of the first copy of each example.
    scores: [S::F; CLASSES],
    /// Gradients of the convolutions' parameters, one per lane, summed over the copies.
    gradient: Vec<S::F>,
    /// The same for one copy; empty until there is a second.
    addend: Vec<S::F>,
    /// The gradients, one per row; empty until needed.
    gradient_rows: Vec<f32>,
}

/// Factors of the dense layers' gradients, for one copy of each example.
struct Copy<S: Simd> {
    pool2: Vec<S::F>,
    hidden: Vec<S::F>,
    hidden_delta: Vec<S::F>,
    /// Logits, then their gradient.
    logits: [S::F; CLASSES],
    /// Inputs of the dense layers, one example per row.
    pool2_rows: Vec<f32>,
    hidden_rows: Vec<f32>,
}

impl<S: Simd> Copy<S> {
    fn new(simd: S) -> Self {
        let lanes = |n| vec![simd.splat(0.0); n];
        Self {
            pool2: lanes(FLAT),
            hidden: lanes(HIDDEN),
            hidden_delta: lanes(HIDDEN),
            logits: [simd.splat(0.0); CLASSES],
            pool2_rows: vec![0.0; S::LANES * FLAT],
            hidden_rows: vec![0.0; S::LANES * HIDDEN],
        }
    }

    fn fill_rows(&mut self, s: S) {
        s.run(ToRows { lanes: &self.pool2, rows: &mut self.pool2_rows });
        s.run(ToRows { lanes: &self.hidden, rows: &mut self.hidden_rows });
    }
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
            winner2: lanes(FLAT),
            pool2_delta: lanes(FLAT),
            copies: vec![Copy::new(simd)],
            scores: [simd.splat(0.0); CLASSES],
            gradient: lanes(CONV),
            addend: Vec::new(),
            gradient_rows: Vec::new(),
        }
    }

    fn forward(&mut self, parameters: &[f32], block: &Block<S>, copy: usize) {
        let s = self.simd;
        let f = self.activation;
        let [w1, w2, w3, w4] = layers(parameters);
        let Copy { pool2, hidden, logits, .. } = &mut self.copies[copy];
        let (image, out) = (&block.lanes, &mut self.conv1);
        if S::REGISTERS >= 16 {
            s.run(Conv1Forward::<S, 2, 7> { image, weights: w1, out });
        } else {
            s.run(Conv1Forward::<S, 2, 5> { image, weights: w1, out });
        }
        s.run(PoolForward {
            side: S1,
            activation: f,
            x: &self.conv1,
            pooled: &mut self.pool1,
            winner: &mut self.winner1,
        });
        s.run(Conv2Forward::<S, 4> { input: &self.pool1, weights: w2, out: &mut self.conv2 });
        s.run(PoolForward { side: S2, activation: f, x: &self.conv2, pooled: pool2, winner: &mut self.winner2 });
        s.run(DenseForward::<S, 8> { activation: Some(f), weights: w3, input: pool2, out: hidden });
        s.run(DenseForward::<S, 10> { activation: None, weights: w4, input: hidden, out: logits });
    }

    /// Writes deltas of the dense layers, and gradients of the convolutions to `gradient` or, for
    /// later copies, `addend`. Returns their squared norms.
    fn backward(&mut self, parameters: &[f32], block: &Block<S>, copy: usize) -> [S::F; 2] {
        let s = self.simd;
        let f = self.activation;
        let [_, w2, w3, w4] = layers(parameters);
        let gradient = if copy == 0 { &mut self.gradient } else { &mut self.addend };
        let Copy { pool2, hidden, hidden_delta, logits, .. } = &mut self.copies[copy];
        s.run(LossDelta { labels: block.labels, share: block.share, logits });
        s.run(DenseBackward { weights: &w4[..HIDDEN * CLASSES], delta: logits, out: hidden_delta });
        s.run(ThroughValues { activation: f, values: hidden, delta: hidden_delta });
        s.run(DenseBackward { weights: &w3[..HIDDEN * FLAT], delta: hidden_delta, out: &mut self.pool2_delta });
        s.run(PoolBackward {
            side: S2,
            activation: f,
            pooled: pool2,
            winner: &self.winner2,
            pooled_delta: &self.pool2_delta,
            delta: &mut self.conv2,
        });
        let (delta, out) = (&self.conv2, &mut self.pool1_delta);
        if S::REGISTERS >= 32 {
            s.run(Conv2Backward::<S, 2, 1> { weights: w2, delta, out });
        } else {
            s.run(Conv2Backward::<S, 4, 2> { weights: w2, delta, out });
        }
        s.run(PoolBackward {
            side: S1,
            activation: f,
            pooled: &self.pool1,
            winner: &self.winner1,
            pooled_delta: &self.pool1_delta,
            delta: &mut self.conv1,
        });
        let (gradient1, gradient2) = gradient.split_at_mut(CONV1);
        if S::REGISTERS >= 32 {
            [
                s.run(Conv1Gradient::<S, 2> { image: &block.lanes, delta: &self.conv1, gradient: gradient1 }),
                s.run(Conv2Gradient::<S, 4> { input: &self.pool1, delta: &self.conv2, gradient: gradient2 }),
            ]
        } else {
            [
                s.run(Conv1Gradient::<S, 1> { image: &block.lanes, delta: &self.conv1, gradient: gradient1 }),
                s.run(Conv2Gradient::<S, 2> { input: &self.pool1, delta: &self.conv2, gradient: gradient2 }),
            ]
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
    fn logits(&mut self, parameters: &[f32], block: &Block<S>) -> &mut [S::F] {
        self.forward(parameters, block, 0);
        &mut self.copies[0].logits
    }

    fn gradients(&mut self, parameters: &[f32], blocks: &[Block<S>]) -> Squares<'_, S> {
        let s = self.simd;
        self.copies.resize_with(self.copies.len().max(blocks.len()), || Copy::new(s));
        if blocks.len() > 1 {
            self.addend.resize(CONV, s.splat(0.0));
        }
        let mut squares = [s.splat(0.0); 2];
        for (k, block) in blocks.iter().enumerate() {
            self.forward(parameters, block, k);
            if k == 0 {
                self.scores = self.copies[0].logits;
            }
            let norms = self.backward(parameters, block, k);
            squares = match k {
                0 => norms,
                _ => {
                    let (sum1, sum2) = self.gradient.split_at_mut(CONV1);
                    let (values1, values2) = self.addend.split_at(CONV1);
                    [
                        s.run(AddGradient { values: values1, sum: sum1 }),
                        s.run(AddGradient { values: values2, sum: sum2 }),
                    ]
                }
            };
        }
        let (mut own, mut pairs) = (vec![], vec![]);
        let copies = &self.copies[..blocks.len()];
        for (k, a) in copies.iter().enumerate() {
            for b in &copies[..=k] {
                let to = if std::ptr::eq(a, b) { &mut own } else { &mut pairs };
                let deltas = [&a.hidden_delta[..], &b.hidden_delta];
                to.push(s.run(DenseDot { inputs: [&a.pool2, &b.pool2], deltas }));
                to.push(s.run(DenseDot { inputs: [&a.hidden, &b.hidden], deltas: [&a.logits, &b.logits] }));
            }
        }
        let (copies, terms) = (blocks.len(), blocks[0].terms);
        let of = |layer, all: &[S::F]| -> Vec<S::F> { all.iter().skip(layer).step_by(2).copied().collect() };
        let dense = |layer| {
            let (own, pairs) = (of(layer, &own), of(layer, &pairs));
            s.run(NormOfSum { squares: &[], own: &own, pairs: &pairs, copies, terms })
        };
        let mut layers = [s.splat(0.0); MOST_LAYERS];
        layers[..4].copy_from_slice(&[squares[0], squares[1], dense(0), dense(1)]);
        Squares {
            whole: s.run(NormOfSum { squares: &squares, own: &own, pairs: &pairs, copies, terms }),
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
        let s = self.simd;
        let (conv, rest) = sum.split_at_mut(CONV);
        let (dense1, dense2) = rest.split_at_mut(DENSE1);
        let dense2 = &mut dense2[..CLASSES * (HIDDEN + 1)];
        let [conv1, conv2, dense1_scale, dense2_scale, ..] = scales;
        let (sum1, sum2) = conv.split_at_mut(CONV1);
        let (values1, values2) = self.gradient.split_at(CONV1);
        s.run(AddScaled { scale: conv1, values: values1, base, sum: sum1 });
        s.run(AddScaled { scale: conv2, values: values2, base, sum: sum2 });
        let copies = &mut self.copies[..blocks.len()];
        for copy in &mut *copies {
            copy.fill_rows(s);
            let Copy { hidden_delta, logits, pool2_rows, hidden_rows, .. } = copy;
            s.run(ScaleDelta { scale: dense1_scale, delta: hidden_delta, rows: pool2_rows });
            s.run(ScaleDelta { scale: dense2_scale, delta: logits, rows: hidden_rows });
        }
        let parts: Vec<_> = copies.iter().map(|c| Part { delta: &c.hidden_delta[..], rows: &c.pool2_rows }).collect();
        s.run(DenseProduct::<S, 8, 2> { parts: &parts, base, sum: dense1 });
        let parts: Vec<_> = copies.iter().map(|c| Part { delta: &c.logits[..], rows: &c.hidden_rows }).collect();
        s.run(DenseProduct::<S, 2, 2> { parts: &parts, base, sum: dense2 });
    }

    fn prepare_rows(&mut self) {
        let s = self.simd;
        self.gradient_rows.resize(S::LANES * CONV, 0.0);
        s.run(ToRows { lanes: &self.gradient, rows: &mut self.gradient_rows });
        self.copies.iter_mut().for_each(|copy| copy.fill_rows(s));
    }

    fn row(&self, blocks: &[Block<S>], lane: usize, factor: f32, out: &mut [f32]) {
        let s = self.simd;
        let (conv, rest) = out.split_at_mut(CONV);
        let (dense1, dense2) = rest.split_at_mut(DENSE1);
        for (to, from) in conv.iter_mut().zip(&self.gradient_rows[lane * CONV..][..CONV]) {
            *to = from * factor;
        }
        for (k, copy) in self.copies[..blocks.len()].iter().enumerate() {
            let Copy { hidden_delta, logits, pool2_rows, hidden_rows, .. } = copy;
            let add = k > 0;
            let input = &pool2_rows[lane * FLAT..][..FLAT];
            s.run(DenseRow { lane, factor, add, delta: hidden_delta, input, out: &mut *dense1 });
            let input = &hidden_rows[lane * HIDDEN..][..HIDDEN];
            s.run(DenseRow { lane, factor, add, delta: logits, input, out: &mut *dense2 });
        }
    }
}
