//! A model as a list of stages, with kernels for all sizes.
//!
//! A value, delta (∂ℓ/∂value) or gradient coordinate is a vector `S::F`: one example per lane.
//! Gradients of dense layers are products of inputs and deltas, and are never formed. Those of
//! convolutions and group normalisations are *kept*: computed for every example.

use super::{
    block::Block,
    network::{Network, Squares},
};
use crate::{
    cpu::{
        kernels::{
            dense::{AddGradient, DenseBackward, DenseDot, DenseForward, DenseRow, LossDelta, NormOfSum, ToRows},
            pointwise::{Activate, BatchNorm, BatchNormBackward, GroupNorm, GroupNormBackward, ThroughValues},
            product::{AddScaled, DenseProduct, Part, ScaleDelta},
            window::{
                ConvolutionBackward, ConvolutionForward, ConvolutionGradient, Pad, PoolWindows, PoolWindowsBackward,
                Unpad,
            },
        },
        simd::{MOST_LANES, Simd},
    },
    mechanism::layers::MOST_LAYERS,
    model::{self, Activation, Architecture, Layer, cnn::Geometry, reference::Stage},
};

/// The stages between pixels and logits, with their buffers.
pub struct Stages<S: Simd> {
    simd: S,
    stages: Vec<Placement>,
    /// The first stage with parameters: no stage before it needs a delta.
    first: usize,
    /// One for each block of [`Network::gradients`], at least one.
    copies: Vec<Copy<S>>,
    /// Logits of the first copy of each example.
    scores: Vec<S::F>,
    /// The padded input of each convolution that has padding.
    padded: Vec<Vec<S::F>>,
    /// Deltas of a stage's output and input, which swap roles from stage to stage.
    deltas: [Vec<S::F>; 2],
    /// The delta of a convolution's padded input.
    padded_delta: Vec<S::F>,
    /// Kept gradients, summed over copies.
    gradient: Vec<S::F>,
    /// Those of one copy; empty until there are several.
    addend: Vec<S::F>,
    /// `gradient` as `[example][coordinate]`; empty until needed.
    gradient_rows: Vec<f32>,
}

/// A stage, with its sizes and parameters.
#[derive(Clone, Copy)]
struct Placement {
    stage: Stage,
    /// The activation that a dense stage applies to its output.
    activation: Option<Activation>,
    inputs: usize,
    outputs: usize,
    /// The layer, its number, and where its gradient begins in `Stages::gradient` (unused by dense
    /// layers).
    parameters: Option<(Layer, usize, usize)>,
}

/// Results of one block: one copy, or one example of a unit, per lane.
struct Copy<S: Simd> {
    /// The output of each stage.
    values: Vec<Vec<S::F>>,
    /// By stage. Maximum pool: which cell won each window. Group normalisation: normalised values,
    /// and each group's inverse deviation.
    beside: Vec<[Vec<S::F>; 2]>,
    /// Set for dense stages.
    dense: Vec<Option<Dense<S>>>,
    /// Logits, then their gradient.
    logits: Vec<S::F>,
}

/// The factors of a dense stage's gradients.
struct Dense<S: Simd> {
    /// ∂ℓ/∂(Wx + b), before its activation.
    delta: Vec<S::F>,
    /// Its input, `[example][value]`; empty if that is the image.
    rows: Vec<f32>,
}

impl<S: Simd> Copy<S> {
    fn new(simd: S, stages: &[Placement]) -> Self {
        let lanes = |n| vec![simd.splat(0.0); n];
        let beside = |place: &Placement| match place.stage {
            Stage::Pool { .. } => [lanes(place.outputs), vec![]],
            Stage::GroupNorm { groups, .. } => [lanes(place.outputs), lanes(groups)],
            _ => [vec![], vec![]],
        };
        let dense = |(at, place): (usize, &Placement)| {
            matches!(place.stage, Stage::Dense(_)).then(|| Dense {
                delta: lanes(place.outputs),
                // The block already has the image in rows.
                rows: if at == 0 { vec![] } else { vec![0.0; S::LANES * place.inputs] },
            })
        };
        Self {
            values: stages.iter().map(|place| lanes(place.outputs)).collect(),
            beside: stages.iter().map(beside).collect(),
            dense: stages.iter().enumerate().map(dense).collect(),
            logits: lanes(stages.last().map_or(0, |place| place.outputs)),
        }
    }

    fn input<'a>(&'a self, block: &'a Block<S>, at: usize) -> &'a [S::F] {
        at.checked_sub(1).map_or(&block.lanes[..], |before| &self.values[before])
    }

    fn fill_rows(&mut self, s: S) {
        for at in 1..self.dense.len() {
            if let Some(dense) = &mut self.dense[at] {
                to_rows(s, &self.values[at - 1], &mut dense.rows);
            }
        }
    }
}

/// As [`ToRows`], for any length.
fn to_rows<S: Simd>(s: S, lanes: &[S::F], rows: &mut [f32]) {
    let n = lanes.len();
    s.run(ToRows { lanes, rows });
    for k in n - n % S::LANES..n {
        for (lane, &v) in S::flat(&lanes[k..=k]).iter().enumerate() {
            rows[lane * n + k] = v;
        }
    }
}

/// As [`AddScaled`], for any length.
fn add_scaled<S: Simd>(s: S, scale: &[f32; MOST_LANES], values: &[S::F], base: f32, sum: &mut [f32]) {
    let whole = values.len() - values.len() % S::LANES;
    s.run(AddScaled { scale, values: &values[..whole], base, sum: &mut sum[..whole] });
    if whole < values.len() {
        let mut tail = vec![s.splat(0.0); S::LANES];
        tail[..values.len() - whole].copy_from_slice(&values[whole..]);
        let mut last = [0.0; MOST_LANES];
        last[..sum.len() - whole].copy_from_slice(&sum[whole..]);
        s.run(AddScaled { scale, values: &tail, base, sum: &mut last[..S::LANES] });
        sum[whole..].copy_from_slice(&last[..values.len() - whole]);
    }
}

impl<S: Simd> Stages<S> {
    pub fn new(simd: S, model: Architecture) -> Self {
        let lanes = |n| vec![simd.splat(0.0); n];
        let (mut kept, mut layers, mut inputs) = (0, 0, model.inputs());
        let mut stages: Vec<Placement> = vec![];
        for stage in model::reference::stages(model) {
            let layer = match stage {
                Stage::Dense(layer)
                | Stage::Convolution(layer, _)
                | Stage::GroupNorm { layer, .. }
                | Stage::BatchNorm { layer, .. } => Some(layer),
                // Dense kernels apply these themselves; others stay stages.
                Stage::Activation(activation @ (Activation::Tanh | Activation::Relu)) => match stages.last_mut() {
                    Some(Placement { stage: Stage::Dense(_), activation: of_dense @ None, .. }) => {
                        *of_dense = Some(activation);
                        continue;
                    }
                    _ => None,
                },
                Stage::Activation(_) | Stage::Pool { .. } => None,
            };
            let parameters = layer.map(|layer| {
                let own = (layer, layers, kept);
                layers += 1;
                if !matches!(stage, Stage::Dense(_)) {
                    kept += layer.outputs * (layer.fan_in + 1);
                }
                own
            });
            let outputs = stage.outputs(inputs);
            stages.push(Placement { stage, activation: None, inputs, outputs, parameters });
            inputs = outputs;
        }
        let most = stages.iter().map(|place| place.inputs.max(place.outputs)).max().unwrap_or_default();
        let padded = |place: &Placement| match place.stage {
            Stage::Convolution(_, geometry) if geometry.padding > 0 => {
                lanes(place.inputs / (geometry.side * geometry.side) * geometry.padded_side().pow(2))
            }
            _ => vec![],
        };
        let padded: Vec<Vec<S::F>> = stages.iter().map(padded).collect();
        Self {
            simd,
            first: stages.iter().position(|place| place.parameters.is_some()).unwrap_or_default(),
            copies: vec![Copy::new(simd, &stages)],
            scores: lanes(inputs),
            deltas: [lanes(most), lanes(most)],
            padded_delta: lanes(padded.iter().map(Vec::len).max().unwrap_or_default()),
            padded,
            gradient: lanes(kept),
            addend: Vec::new(),
            gradient_rows: Vec::new(),
            stages,
        }
    }

    fn forward(&mut self, parameters: &[f32], block: &Block<S>, copy: usize) {
        let s = self.simd;
        let copy = &mut self.copies[copy];
        let last = self.stages.len() - 1;
        for (at, place) in self.stages.iter().enumerate() {
            let (before, rest) = copy.values.split_at_mut(at);
            let (input, out) = (before.last().unwrap_or(&block.lanes), &mut rest[0]);
            let [beside, inverse] = &mut copy.beside[at];
            match place.stage {
                Stage::Dense(layer) => dense_forward(s, &layer, place.activation, parameters, input, out),
                Stage::Convolution(layer, geometry) => {
                    let input = with_zeros(s, geometry, input, &mut self.padded[at]);
                    let weights = &parameters[layer.offset..layer.biases().end];
                    s.run(ConvolutionForward { geometry, weights, input, out });
                }
                Stage::Activation(activation) => s.run(Activate { activation, input, out }),
                Stage::Pool { kind, geometry, .. } => {
                    s.run(PoolWindows { kind, geometry, input, out, winner: beside });
                }
                Stage::GroupNorm { layer, groups, .. } => {
                    let affine = &parameters[layer.offset..layer.biases().end];
                    s.run(GroupNorm { groups, affine, input, unit: beside, inverse, out });
                }
                Stage::BatchNorm { layer, .. } => {
                    let moments = &parameters[layer.offset..layer.biases().end];
                    s.run(BatchNorm { moments, input, out });
                }
            }
        }
        copy.logits.copy_from_slice(&copy.values[last]);
    }

    /// Computes the deltas of dense stages and the kept gradients of copy `number`: in `gradient`
    /// for the first copy, in `addend` for others.
    fn backward(&mut self, parameters: &[f32], block: &Block<S>, number: usize) {
        let s = self.simd;
        let gradient = if number == 0 { &mut self.gradient } else { &mut self.addend };
        let copy = &mut self.copies[number];
        s.run(LossDelta { labels: block.labels, share: block.share, logits: &mut copy.logits });
        let [mut behind, mut before] = self.deltas.each_mut();
        behind[..copy.logits.len()].copy_from_slice(&copy.logits);
        for (at, place) in self.stages.iter().enumerate().skip(self.first).rev() {
            let goes_on = at > self.first;
            let delta = &mut behind[..place.outputs];
            let out = &mut before[..place.inputs];
            match (place.stage, place.parameters) {
                (Stage::Dense(layer), _) => {
                    if let Some(activation) = place.activation {
                        s.run(ThroughValues { activation, values: &copy.values[at], delta: &mut *delta });
                    }
                    if let Some(dense) = &mut copy.dense[at] {
                        dense.delta.copy_from_slice(delta);
                    }
                    if goes_on {
                        s.run(DenseBackward { weights: &parameters[layer.weights()], delta, out });
                    }
                }
                (Stage::Convolution(layer, geometry), Some((_, _, kept))) => {
                    // With several copies, `padded` may hold another copy's input.
                    let input = with_zeros(s, geometry, copy.input(block, at), &mut self.padded[at]);
                    let own = &mut gradient[kept..][..layer.outputs * (layer.fan_in + 1)];
                    s.run(ConvolutionGradient { geometry, input, delta, gradient: own });
                    if goes_on && geometry.padding == 0 {
                        s.run(ConvolutionBackward { geometry, weights: &parameters[layer.weights()], delta, out });
                    } else if goes_on {
                        let wide = &mut self.padded_delta[..input.len()];
                        let weights = &parameters[layer.weights()];
                        s.run(ConvolutionBackward { geometry, weights, delta, out: &mut *wide });
                        s.run(Unpad { geometry, from: wide, to: out });
                    }
                }
                (Stage::Pool { kind, geometry, .. }, _) => {
                    s.run(PoolWindowsBackward { kind, geometry, winner: &copy.beside[at][0], delta, out });
                }
                (Stage::Activation(activation), _) => {
                    s.run(ThroughValues { activation, values: &copy.values[at], delta: &mut *delta });
                    out.copy_from_slice(delta);
                }
                (Stage::GroupNorm { layer, groups, .. }, Some((_, _, kept))) => {
                    let affine = &parameters[layer.offset..layer.biases().end];
                    let [unit, inverse] = &copy.beside[at];
                    let own = &mut gradient[kept..][..2 * layer.outputs];
                    s.run(GroupNormBackward { groups, affine, unit, inverse, delta: &mut *delta, gradient: own });
                    out.copy_from_slice(delta);
                }
                (Stage::BatchNorm { layer, .. }, Some((_, _, kept))) => {
                    let moments = &parameters[layer.offset..layer.biases().end];
                    let own = &mut gradient[kept..][..2 * layer.outputs];
                    let input = copy.input(block, at);
                    let share = block.share;
                    s.run(BatchNormBackward { moments, share, input, delta: &mut *delta, gradient: own });
                    out.copy_from_slice(delta);
                }
                // These stages always have parameters.
                (Stage::Convolution(..) | Stage::GroupNorm { .. } | Stage::BatchNorm { .. }, None) => {}
            }
            std::mem::swap(&mut behind, &mut before);
        }
    }

    /// Layers whose gradients are kept, with number and place in `gradient`.
    fn kept(&self) -> impl Iterator<Item = (Layer, usize, usize)> + '_ {
        self.stages.iter().filter(|place| !matches!(place.stage, Stage::Dense(_))).filter_map(|place| place.parameters)
    }

    /// Dense stages: index, layer, and number of the layer.
    fn dense(&self) -> impl Iterator<Item = (usize, Layer, usize)> + '_ {
        let dense = |(at, place): (usize, &Placement)| match (place.stage, place.parameters) {
            (Stage::Dense(layer), Some((_, number, _))) => Some((at, layer, number)),
            _ => None,
        };
        self.stages.iter().enumerate().filter_map(dense)
    }
}

/// The input of a convolution with its zeros: a copy in `padded`, or `input` without padding.
fn with_zeros<'a, S: Simd>(s: S, geometry: Geometry, input: &'a [S::F], padded: &'a mut [S::F]) -> &'a [S::F] {
    if padded.is_empty() {
        return input;
    }
    s.run(Pad { geometry, from: input, to: &mut *padded });
    padded
}

fn dense_forward<S: Simd>(
    s: S,
    layer: &Layer,
    activation: Option<Activation>,
    parameters: &[f32],
    input: &[S::F],
    out: &mut [S::F],
) {
    let weights = &parameters[layer.offset..layer.biases().end];
    if out.len() % 8 == 0 {
        s.run(DenseForward::<S, 8> { activation, weights, input, out });
    } else if out.len() % 10 == 0 {
        s.run(DenseForward::<S, 10> { activation, weights, input, out });
    } else {
        s.run(DenseForward::<S, 1> { activation, weights, input, out });
    }
}

/// As [`DenseProduct`], in tiles that are fast for these sizes. The tiling changes no result.
fn dense_product<S: Simd>(s: S, layer: &Layer, parts: &[Part<'_, S>], base: f32, sum: &mut [f32]) {
    let wide = layer.fan_in.is_multiple_of(2 * S::LANES);
    match layer.outputs {
        n if n % 8 == 0 && wide => s.run(DenseProduct::<S, 8, 2> { parts, base, sum }),
        n if n % 8 == 0 => s.run(DenseProduct::<S, 8, 1> { parts, base, sum }),
        n if n % 10 == 0 => s.run(DenseProduct::<S, 10, 1> { parts, base, sum }),
        n if n % 2 == 0 => s.run(DenseProduct::<S, 2, 2> { parts, base, sum }),
        _ => s.run(DenseProduct::<S, 1, 2> { parts, base, sum }),
    }
}

impl<S: Simd> Network<S> for Stages<S> {
    fn logits(&mut self, parameters: &[f32], block: &Block<S>) -> &mut [S::F] {
        self.forward(parameters, block, 0);
        &mut self.copies[0].logits
    }

    fn gradients(&mut self, parameters: &[f32], blocks: &[Block<S>]) -> Squares<'_, S> {
        let s = self.simd;
        let stages = &self.stages;
        self.copies.resize_with(self.copies.len().max(blocks.len()), || Copy::new(s, stages));
        if blocks.len() > 1 {
            self.addend.resize(self.gradient.len(), s.splat(0.0));
        }
        let zero = s.splat(0.0);
        for (number, block) in blocks.iter().enumerate() {
            self.forward(parameters, block, number);
            if number == 0 {
                self.scores.clone_from(&self.copies[0].logits);
            }
            self.backward(parameters, block, number);
            if number > 0 {
                s.run(AddGradient { values: &self.addend, sum: &mut self.gradient });
            }
        }
        let (mut layers, mut squares) = ([zero; MOST_LAYERS], vec![]);
        let kept: Vec<(Layer, usize, usize)> = self.kept().collect();
        for (layer, number, start) in kept {
            // Adds nothing; returns the squared norm of `sum`.
            let sum = &mut self.gradient[start..][..layer.outputs * (layer.fan_in + 1)];
            layers[number] = s.run(AddGradient { values: &[], sum });
            squares.push(layers[number]);
        }
        let (count, terms) = (blocks.len(), blocks[0].terms);
        let (mut all_own, mut all_pairs) = (vec![], vec![]);
        for (at, _, number) in self.dense() {
            let (mut own, mut pairs) = (vec![], vec![]);
            for (k, (a, block)) in self.copies.iter().zip(blocks).enumerate() {
                for (l, (b, other)) in self.copies.iter().zip(blocks).enumerate().take(k + 1) {
                    let (Some(first), Some(second)) = (&a.dense[at], &b.dense[at]) else { continue };
                    let to = if k == l { &mut own } else { &mut pairs };
                    let inputs = [a.input(block, at), b.input(other, at)];
                    to.push(s.run(DenseDot { inputs, deltas: [&first.delta, &second.delta] }));
                }
            }
            layers[number] = s.run(NormOfSum { squares: &[], own: &own, pairs: &pairs, copies: count, terms });
            all_own.append(&mut own);
            all_pairs.append(&mut pairs);
        }
        let whole = NormOfSum { squares: &squares, own: &all_own, pairs: &all_pairs, copies: count, terms };
        Squares { whole: s.run(whole), layers, scores: &self.scores }
    }

    fn add_scaled(
        &mut self,
        blocks: &[Block<S>],
        scales: &[[f32; MOST_LANES]; MOST_LAYERS],
        base: f32,
        sum: &mut [f32],
    ) {
        let s = self.simd;
        for (layer, number, start) in self.kept() {
            let length = layer.outputs * (layer.fan_in + 1);
            let to = &mut sum[layer.offset..][..length];
            add_scaled(s, &scales[number], &self.gradient[start..][..length], base, to);
        }
        let dense: Vec<(usize, Layer, usize)> = self.dense().collect();
        let copies = &mut self.copies[..blocks.len()];
        for copy in &mut *copies {
            copy.fill_rows(s);
            for &(at, _, number) in &dense {
                if let Some(Dense { delta, rows }) = &mut copy.dense[at] {
                    s.run(ScaleDelta { scale: &scales[number], delta, rows });
                }
            }
        }
        for (at, layer, _) in dense {
            let parts: Vec<Part<'_, S>> = copies
                .iter()
                .zip(blocks)
                .filter_map(|(copy, block)| {
                    let Dense { delta, rows } = copy.dense[at].as_ref()?;
                    Some(Part { delta, rows: if at == 0 { &block.rows } else { rows } })
                })
                .collect();
            dense_product(s, &layer, &parts, base, &mut sum[layer.offset..layer.biases().end]);
        }
    }

    fn prepare_rows(&mut self) {
        let s = self.simd;
        self.gradient_rows.resize(S::LANES * self.gradient.len(), 0.0);
        to_rows(s, &self.gradient, &mut self.gradient_rows);
        self.copies.iter_mut().for_each(|copy| copy.fill_rows(s));
    }

    fn row(&self, blocks: &[Block<S>], lane: usize, factor: f32, out: &mut [f32]) {
        let s = self.simd;
        let kept = self.gradient.len();
        for (layer, _, start) in self.kept() {
            let length = layer.outputs * (layer.fan_in + 1);
            let from = &self.gradient_rows[lane * kept + start..][..length];
            out[layer.offset..][..length].iter_mut().zip(from).for_each(|(to, from)| *to = from * factor);
        }
        for (number, (copy, block)) in self.copies.iter().zip(blocks).enumerate() {
            for (at, layer, _) in self.dense() {
                let Some(Dense { delta, rows }) = &copy.dense[at] else { continue };
                let rows = if at == 0 { &block.rows } else { rows };
                let input = &rows[lane * layer.fan_in..][..layer.fan_in];
                let out = &mut out[layer.offset..layer.biases().end];
                s.run(DenseRow { lane, factor, add: number > 0, delta, input, out });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;
    use proptest::prelude::*;

    use crate::{
        Engine as _, Performance, StepInput, Task,
        accounting::noise::NoiseSpec,
        cpu::CpuEngine,
        data::Shift,
        made_up::tests::images,
        mechanism::{EncoderSpec, layers::LayerClip},
        model::{
            Architecture, initial_parameters,
            layers::{LayerList, strategies::any_list},
            reference::smallest_gap,
        },
        reference::{ReferenceEngine, pixels},
    };

    fn encoders(layers: usize) -> Vec<EncoderSpec> {
        let clip = LayerClip { norms: vec![0.4; layers], ..LayerClip::even(1.0) };
        vec![EncoderSpec::None, EncoderSpec::Clip { norm: 0.3 }, EncoderSpec::Layers(clip)]
    }

    /// Compares with the reference: sums of gradients, raw, encoded and noisy, and scores.
    fn agrees(list: LayerList, copies: u32, noise: bool) {
        let model = Architecture::Built(list);
        let (train, test) = images(model);
        let parameters = initial_parameters(model, 5);
        for encoder in encoders(model.layers().len()) {
            let noise = noise.then_some(NoiseSpec::Gaussian { sigma: 1e-4 });
            let task = Task { encoder, noise, copies, ..Task::without_privacy(model) };
            // On a grid, a coordinate between two of its points may be rounded to either.
            let steps = task.sum_grid().map_or(0.0, |grid| 3.0 * grid.step());
            let mut cpu = CpuEngine::new(task.clone(), train.clone(), &parameters, Performance::default()).unwrap();
            let mut plain = ReferenceEngine::new(&task, train.clone(), 5).unwrap();
            block_on(plain.set_state(&block_on(cpu.state()).unwrap())).unwrap();
            let shifts: Vec<_> = (0..copies as i8).map(|right| Shift { right, down: 0 }).collect();
            // If two values of a pooling window differ only by rounding, either may win.
            let tied = |example: u32| {
                shifts.iter().any(|shift| {
                    let image = pixels(&shift.of(train.picture, train.image(example as usize)));
                    smallest_gap(model, &parameters, &image) < 1e-6
                })
            };
            let lot: Vec<u32> = (0..19).filter(|&example| !tied(example)).collect();
            assert!(!lot.is_empty(), "{model}: each image has a tie");
            let input = || StepInput { shifts: &shifts, ..StepInput::alone(&lot, [3; 8], 0.1) };
            let fast = block_on(cpu.traced_step(input())).unwrap();
            let slow = block_on(plain.traced_step(input())).unwrap();
            for (fast, slow) in [(&fast.raw, &slow.raw), (&fast.encoded, &slow.encoded), (&fast.noisy, &slow.noisy)] {
                let size = slow.iter().fold(1e-3_f32, |most, v| most.max(v.abs()));
                for (at, (a, b)) in fast.iter().zip(slow).enumerate() {
                    assert!((a - b).abs() < 1e-4 * size + steps, "{model}: coordinate {at}: {a} {b}");
                }
            }
            let [fast, slow] = [block_on(cpu.scores(&test)), block_on(plain.scores(&test))];
            for (a, b) in fast.unwrap().iter().flatten().zip(slow.unwrap().iter().flatten()) {
                assert!((a - b).abs() < 1e-3 * (1.0 + b.abs()), "{model}: {a} {b}");
            }
        }
    }

    /// Found by proptest: two values of a pooling window differ only in their last bits.
    #[test]
    fn a_tie_of_a_pooling_window_is_left_out() {
        let list = "input 1x14x14, tempered 0.9 0.62 1.87, conv 11 7x7 same, maxpool 3/2, dense 2";
        agrees(list.parse().unwrap(), 1, false);
    }

    #[test]
    fn named_models_as_lists_are_what_they_are() {
        for model in [Architecture::Mlp, Architecture::CnnTanh, Architecture::CnnRelu, Architecture::Linear] {
            let list: LayerList = model.written().parse().unwrap();
            assert_eq!(initial_parameters(Architecture::Built(list), 7), initial_parameters(model, 7));
            agrees(list, 1, true);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        #[test]
        fn any_list_is_as_the_reference_has_it(list in any_list(), copies in 1..4_u32, noise in any::<bool>()) {
            agrees(list, copies, noise);
        }
    }
}
