//! Networks built from a [`LayerList`]: where an example's values lie in the buffer `work`, and the
//! kernels of the forward and backward passes.
//!
//! Each stage's output has a *slot* in `work`. In the backward pass, its delta ∂ℓ/∂output
//! overwrites it once the next stage's gradient is computed. A slot may have an activation, which
//! the kernel that writes the slot applies (backward: its slope). An activation has a slot of its
//! own if its slope does not follow from its output, or if it follows another activation.
//!
//! Gradients are *written out*, and then processed like those of the named CNNs' convolutions. Only
//! those of up to two dense layers are not ([`Product`]): norm.wgsl takes two products of slots.

use super::{
    dispatch::{Constants, Dispatch, Workgroups},
    kernels::{self, Kernel},
    layout::{Slices, status_words},
};
use crate::model::{
    Activation, Architecture, Layer,
    cnn::Geometry,
    layers::{LayerList, MOMENT_FLOOR, MOMENT_SHARE, NORM_FLOOR, Pooling},
    reference::Stage,
};

/// Most dense layers whose gradients norm.wgsl takes as products.
const MOST_PRODUCTS: usize = 2;
/// Filters or channels per invocation of a convolution.
const TOGETHER: usize = 8;
/// Largest stride by which a convolution's backward pass groups places of equal remainder.
const MOST_PHASES: usize = 4;

/// A layer list with its layout.
#[derive(Clone, Debug)]
pub struct Built {
    stages: Vec<Placement>,
    /// The first stage with parameters: no stage before it needs a delta.
    first: usize,
    /// The pixels, as floats; unused while the first layer reads bytes.
    image: Slot,
    pub slices: Slices,
}

/// A dense layer with the slots whose product is its gradient.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    pub layer: Layer,
    /// Place of its input; `None`: the example's bytes.
    pub source: Option<usize>,
    /// Place of its output's delta.
    pub delta: usize,
}

/// Values between two stages. Places are in floats, from the start of an example's part of `work`.
#[derive(Clone, Copy, Debug)]
struct Slot {
    at: usize,
    /// Number of values.
    values: usize,
    /// Code for `activate` of common.wgsl; 0: none.
    activation: u32,
    /// Place of ∂ℓ/∂values: `at`, unless the values are still needed.
    delta: usize,
}

/// A stage with its slots.
#[derive(Clone, Copy, Debug)]
struct Placement {
    stage: Stage,
    input: Slot,
    output: Slot,
    /// Whether its gradient, if it has one, is written out.
    stored: bool,
    /// Places of what its backward pass needs. Maximum pool: which cells won. Normalisation: values
    /// before factors and summands or the activation, and each group's inverse deviation.
    beside: [usize; 2],
}

/// Builds a dispatch of a kernel with constants.
type Make<'a> = &'a dyn Fn(&Kernel, Constants, Workgroups) -> Dispatch;

/// Code of an activation whose slope follows from its output; `None` for others.
const fn in_place(activation: Activation) -> Option<u32> {
    match activation {
        Activation::Tanh => Some(1),
        Activation::Elu => Some(3),
        Activation::Relu => Some(4),
        Activation::Sigmoid | Activation::Tempered { .. } => None,
    }
}

fn numbers(constants: &[(&'static str, usize)]) -> Constants {
    constants.iter().map(|&(name, value)| (name, value as f64)).collect()
}

fn windows(geometry: Geometry, channels: usize) -> [(&'static str, usize); 6] {
    let Geometry { side, kernel, stride, padding } = geometry;
    [
        ("CHANNELS", channels),
        ("SIDE", side),
        ("KERNEL", kernel),
        ("PLACES", geometry.output_side()),
        ("STEP", stride),
        ("PADDING", padding),
    ]
}

const fn spread(each: usize, parts: usize) -> Workgroups {
    Workgroups::Spread { each: each as u32, parts: parts as u32 }
}

const fn rows(invocations: usize) -> Workgroups {
    Workgroups::Rows(invocations.div_ceil(64) as u32)
}

/// Parameters of a stage, if any, and whether it is dense.
const fn parameters(stage: Stage) -> Option<(Layer, bool)> {
    match stage {
        Stage::Dense(layer) => Some((layer, true)),
        Stage::Convolution(layer, _) | Stage::GroupNorm { layer, .. } | Stage::BatchNorm { layer, .. } => {
            Some((layer, false))
        }
        Stage::Activation(_) | Stage::Pool { .. } => None,
    }
}

/// Range `from..to` of the layers with parameters whose gradients are written out: all but at most
/// two dense layers, at the beginning or end, chosen to write as few parameters as possible.
fn written_out(layers: &[(Layer, bool)]) -> (usize, usize) {
    let n = layers.len();
    let length =
        |layers: &[(Layer, bool)]| layers.iter().map(|(layer, _)| layer.biases().end - layer.offset).sum::<usize>();
    let ways = (0..=MOST_PRODUCTS).flat_map(|before| (0..=MOST_PRODUCTS - before).map(move |after| (before, after)));
    let fits = |&(before, after): &(usize, usize)| {
        before + after <= n && layers[..before].iter().chain(&layers[n - after..]).all(|(_, dense)| *dense)
    };
    let least = ways.filter(fits).min_by_key(|&(before, after)| length(&layers[before..n - after]));
    least.map_or((0, n), |(before, after)| (before, n - after))
}

impl Built {
    /// Lays out `list`. `all_written_out`: without products, as clips by layer require.
    #[must_use]
    pub fn new(list: LayerList, all_written_out: bool) -> Self {
        let model = Architecture::Built(list);
        let mut next = 0;
        // Kernels read four values at a time, so zeros that none overwrites fill up each slot.
        let mut take = |length: usize| {
            let start = next;
            next += length.next_multiple_of(4);
            start
        };
        let slot = |at: usize, values: usize| Slot { at, values, activation: 0, delta: at };
        let image = slot(take(model.inputs()), model.inputs());
        let (mut last, mut stages): (Slot, Vec<Placement>) = (image, Vec::new());
        for placed in list.placed() {
            let Some(stage) = Stage::of(&placed) else { continue };
            if let (Stage::Activation(activation), Some(before)) = (stage, stages.last_mut())
                && let (Some(code), 0) = (in_place(activation), last.activation)
            {
                last.activation = code;
                before.output = last;
                continue;
            }
            let values = placed.output.values();
            let output = slot(take(values), values);
            let beside = match stage {
                Stage::Pool { kind: Pooling::Max, .. } => [take(values), 0],
                Stage::GroupNorm { groups, .. } => [take(values), take(groups)],
                Stage::BatchNorm { .. } => [take(values), 0],
                _ => [0; 2],
            };
            stages.push(Placement { stage, input: last, output, stored: true, beside });
            last = output;
        }
        let with: Vec<(Layer, bool)> = stages.iter().filter_map(|placement| parameters(placement.stage)).collect();
        let (from, to) = if all_written_out { (0, with.len()) } else { written_out(&with) };
        let first = stages.iter().position(|placement| parameters(placement.stage).is_some()).unwrap_or_default();
        let mut number = 0;
        for at in 0..stages.len() {
            if parameters(stages[at].stage).is_none() {
                continue;
            }
            stages[at].stored = (from..to).contains(&number);
            number += 1;
            if !stages[at].stored && at > first {
                // Products are computed after the backward pass: no delta may overwrite the input.
                let delta = take(stages[at].input.values);
                stages[at].input.delta = delta;
                stages[at - 1].output.delta = delta;
            }
        }
        let delta = take(model.classes());
        if let Some(placement) = stages.last_mut() {
            // Logits are also read after the backward pass, so their delta has a place of its own.
            placement.output.delta = delta;
        }
        let written = &with[from..to];
        let stored_from = written.first().map_or(0, |(layer, _)| layer.offset);
        let stored_length = written.last().map_or(0, |(layer, _)| layer.biases().end) - stored_from;
        let stored = take(stored_length);
        let scaled = std::array::from_fn(|product| {
            let products: Vec<&(Layer, bool)> = with[..from].iter().chain(&with[to..]).collect();
            products.get(product).map_or(0, |(layer, _)| take(layer.outputs))
        });
        let status = take(status_words(model));
        let slices = Slices {
            logits: last.at,
            delta,
            scaled,
            status,
            stored,
            stored_from,
            stored_length,
            stride: next,
            ..Slices::default()
        };
        Self { stages, first, image, slices }
    }

    /// Dense layers whose gradients are not written out, in order.
    pub fn products(&self) -> impl Iterator<Item = Product> + '_ {
        let product = |(at, placement): (usize, &Placement)| match placement.stage {
            Stage::Dense(layer) if !placement.stored => {
                let source = (at > 0).then_some(placement.input.at);
                Some(Product { layer, source, delta: placement.output.delta })
            }
            _ => None,
        };
        self.stages.iter().enumerate().filter_map(product)
    }

    /// True if the first stage is a dense layer that can read the image as bytes.
    fn reads_bytes(&self) -> bool {
        self.products().next().is_some_and(|product| product.source.is_none())
    }

    /// Where an example's pixels lie in its part of `work`, in floats.
    #[must_use]
    pub const fn image(&self) -> usize {
        self.image.at
    }

    /// The passes from bytes, or from pixels already in place, to logits.
    #[must_use]
    pub fn forward(&self, make: Make<'_>, pixels_are_there: bool) -> Vec<Dispatch> {
        let mut passes = Vec::new();
        let bytes = self.reads_bytes() && !pixels_are_there;
        if !bytes && !pixels_are_there {
            let Slot { at, values, .. } = self.image;
            let each = values.div_ceil(4);
            let constants = numbers(&[("TARGET", at), ("INPUTS", values), ("EACH", each)]);
            passes.push(make(&kernels::PIXELS, constants, spread(each, 1)));
        }
        let reads = |at: usize| bytes && at == 0;
        passes.extend(self.stages.iter().enumerate().map(|(at, placement)| placement.forward(make, reads(at))));
        passes
    }

    /// The pass from logits to their deltas and to whether they are finite.
    #[must_use]
    pub fn head(&self, make: Make<'_>) -> Dispatch {
        let constants = numbers(&[("SOURCE", self.slices.logits), ("TARGET", self.slices.delta)]);
        make(&kernels::LOSS, constants, Workgroups::Rows(1))
    }

    /// The passes from the logits' deltas to the stored gradient.
    #[must_use]
    pub fn backward(&self, make: Make<'_>) -> Vec<Dispatch> {
        let mut passes = Vec::new();
        for (at, placement) in self.stages.iter().enumerate().skip(self.first).rev() {
            passes.extend(placement.gradient(make, &self.slices));
            if at > self.first {
                passes.push(placement.backward(make, &self.slices));
            }
        }
        passes
    }
}

impl Placement {
    fn forward(&self, make: Make<'_>, bytes: bool) -> Dispatch {
        let Self { stage, input, output, beside, .. } = *self;
        let ends = [("SOURCE", input.at), ("TARGET", output.at), ("ACTIVATION", output.activation as usize)];
        let with = |constants: &[(&'static str, usize)]| numbers(&[&ends, constants].concat());
        match stage {
            Stage::Dense(Layer { fan_in, outputs, offset, .. }) => {
                let constants =
                    [("INPUTS", fan_in), ("OUTPUTS", outputs), ("WEIGHTS", offset), ("BYTES", bytes.into())];
                make(&kernels::DENSE, with(&constants), Workgroups::Tiles { outputs: outputs as u32 })
            }
            Stage::Convolution(layer, geometry) => {
                let each = geometry.output_side().pow(2);
                let mut constants = with(&windows(geometry, layer.fan_in / geometry.taps()));
                constants.extend(numbers(&[("FILTERS", layer.outputs), ("WEIGHTS", layer.offset), ("EACH", each)]));
                make(&kernels::CONVOLUTION, constants, spread(each, layer.outputs.div_ceil(TOGETHER)))
            }
            Stage::Activation(activation) => make(
                &kernels::CURVE,
                curve(activation, with(&[("EACH", output.values), ("BACK", 0)])),
                spread(output.values, 1),
            ),
            Stage::Pool { kind, channels, geometry } => {
                let mut constants = with(&windows(geometry, channels));
                constants.extend(winners(kind, beside, output.values));
                make(&kernels::POOL_WINDOWS, constants, spread(output.values, 1))
            }
            Stage::GroupNorm { layer, groups, area } => {
                let mut constants = with(&normalised(&layer, groups, area, beside));
                constants.push(("FLOOR", NORM_FLOOR));
                make(&kernels::GROUP_NORM, constants, Workgroups::Rows(groups as u32))
            }
            Stage::BatchNorm { layer, area } => {
                let constants = moments(with(&[("BACK", 0), ("EACH", output.values)]), &layer, area, beside);
                make(&kernels::BATCH_NORM, constants, spread(output.values, 1))
            }
        }
    }

    /// The pass that computes the gradient of its parameters; `None` if it is not written out.
    fn gradient(&self, make: Make<'_>, slices: &Slices) -> Option<Dispatch> {
        let Self { stage, input, output, stored, beside } = *self;
        let place = |layer: Layer| slices.stored + layer.offset - slices.stored_from;
        Some(match stage {
            Stage::Dense(_) if !stored => return None,
            Stage::Dense(layer @ Layer { fan_in, outputs, .. }) => {
                let constants = numbers(&[
                    ("SOURCE", input.at),
                    ("DELTA", output.delta),
                    ("TARGET", place(layer)),
                    ("INPUTS", fan_in),
                    ("OUTPUTS", outputs),
                ]);
                make(&kernels::DENSE_GRADIENT, constants, rows(outputs * (fan_in + 1)))
            }
            Stage::Convolution(layer, geometry) => {
                let mut constants = numbers(&windows(geometry, layer.fan_in / geometry.taps()));
                constants.extend(numbers(&[
                    ("SOURCE", input.at),
                    ("DELTA", output.delta),
                    ("TARGET", place(layer)),
                    ("FILTERS", layer.outputs),
                ]));
                let blocks = (layer.fan_in + 1).div_ceil(64) * layer.outputs.div_ceil(TOGETHER);
                make(&kernels::CONVOLUTION_GRADIENT, constants, Workgroups::Rows(blocks as u32))
            }
            Stage::GroupNorm { layer, area, .. } => {
                let constants = numbers(&[
                    ("SOURCE", output.delta),
                    ("TARGET", place(layer)),
                    ("AREA", area),
                    ("UNIT_SLOT", beside[0]),
                    ("EACH", layer.outputs),
                ]);
                make(&kernels::GROUP_NORM_GRADIENT, constants, spread(layer.outputs, 1))
            }
            Stage::BatchNorm { layer, area } => {
                let mut constants = moments(numbers(&[("EACH", layer.outputs)]), &layer, area, beside);
                constants.push(("TARGET", place(layer) as f64));
                constants.push(("SHARE", MOMENT_SHARE));
                make(&kernels::BATCH_NORM_GRADIENT, constants, spread(layer.outputs, 1))
            }
            Stage::Activation(_) | Stage::Pool { .. } => return None,
        })
    }

    /// The pass that computes the delta of its input.
    fn backward(&self, make: Make<'_>, slices: &Slices) -> Dispatch {
        let Self { stage, input, output, beside, .. } = *self;
        let to = [("TARGET", input.delta), ("VALUES", input.at), ("ACTIVATION", input.activation as usize)];
        let ends = [&[("SOURCE", output.delta)], &to[..]].concat();
        let with = |constants: &[(&'static str, usize)]| numbers(&[&ends, constants].concat());
        match stage {
            Stage::Dense(Layer { fan_in, outputs, offset, .. }) => {
                let mut constants =
                    numbers(&[("INPUTS", fan_in), ("OUTPUTS", outputs), ("WEIGHTS", offset), ("DELTA", output.delta)]);
                constants.extend(numbers(&to));
                make(&kernels::DENSE_INPUT_GRADIENT, constants, rows(fan_in))
            }
            Stage::Convolution(layer, geometry) => {
                let channels = layer.fan_in / geometry.taps();
                let phases = if geometry.stride <= MOST_PHASES { geometry.stride } else { 1 };
                let each = geometry.side.div_ceil(phases).pow(2);
                let mut constants = with(&windows(geometry, channels));
                constants.extend(numbers(&[
                    ("FILTERS", layer.outputs),
                    ("WEIGHTS", layer.offset),
                    ("PHASES", phases),
                    ("EACH", each),
                ]));
                let parts = phases * phases * channels.div_ceil(TOGETHER);
                make(&kernels::CONVOLUTION_INPUT_GRADIENT, constants, spread(each, parts))
            }
            Stage::Activation(activation) => make(
                &kernels::CURVE,
                curve(activation, with(&[("EACH", input.values), ("BACK", 1)])),
                spread(input.values, 1),
            ),
            Stage::Pool { kind, channels, geometry } => {
                let mut constants = with(&windows(geometry, channels));
                constants.extend(winners(kind, beside, input.values));
                make(&kernels::POOL_WINDOWS_BACKWARD, constants, spread(input.values, 1))
            }
            Stage::GroupNorm { layer, groups, area } => {
                let mut constants = with(&normalised(&layer, groups, area, beside));
                constants.push(("SUMS", (slices.stored + layer.offset - slices.stored_from) as f64));
                make(&kernels::GROUP_NORM_BACKWARD, constants, Workgroups::Rows(groups as u32))
            }
            Stage::BatchNorm { layer, area } => {
                let constants = moments(with(&[("BACK", 1), ("EACH", input.values)]), &layer, area, beside);
                make(&kernels::BATCH_NORM, constants, spread(input.values, 1))
            }
        }
    }
}

/// Adds the constants that curve.wgsl needs for an activation.
fn curve(activation: Activation, mut constants: Constants) -> Constants {
    const LOGISTIC: u32 = 5;
    constants.push(("CURVE", in_place(activation).unwrap_or(LOGISTIC).into()));
    if let Some(numbers) = activation.logistic() {
        constants.extend(["HEIGHT", "STEEPNESS", "OFFSET"].into_iter().zip(numbers));
    }
    constants
}

fn winners(kind: Pooling, beside: [usize; 2], each: usize) -> Constants {
    let largest = usize::from(kind == Pooling::Max);
    numbers(&[("LARGEST", largest), ("WINNERS", beside[0]), ("EACH", each)])
}

/// Adds the constants of the batch_norm shaders.
fn moments(mut constants: Constants, layer: &Layer, area: usize, beside: [usize; 2]) -> Constants {
    let own = [("CHANNELS", layer.outputs), ("AREA", area), ("WEIGHTS", layer.offset), ("UNIT_SLOT", beside[0])];
    constants.extend(numbers(&own));
    constants.push(("FLOOR", MOMENT_FLOOR));
    constants
}

fn normalised(layer: &Layer, groups: usize, area: usize, beside: [usize; 2]) -> [(&'static str, usize); 6] {
    [
        ("CHANNELS", layer.outputs),
        ("GROUPS", groups),
        ("AREA", area),
        ("WEIGHTS", layer.offset),
        ("UNIT_SLOT", beside[0]),
        ("INVERSE", beside[1]),
    ]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_executor::block_on;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Engine, Performance, Scores, StepInput, StepTrace, Task,
        accounting::noise::NoiseSpec,
        data::{Dataset, sharing::Sharing, synthetic},
        gpu::{Gpu, GpuEngine},
        made_up::tests::images,
        mechanism::{Denoiser, EncoderSpec, EnvelopeShape, LayerClip, envelope::Envelope},
        model::{initial_parameters, layers::strategies::any_list},
        reference::ReferenceEngine,
    };

    /// Learning rate of a step.
    const RATE: f32 = 0.1;

    /// This process's device. Its absence must be declared (`HUSHGRAD_NO_GPU=1`), and is reported.
    fn device() -> Option<Gpu> {
        match block_on(Gpu::acquire()) {
            Ok(gpu) => Some(gpu),
            Err(error) if std::env::var_os("HUSHGRAD_NO_GPU").is_some_and(|v| v == "1") => {
                eprintln!("**** NOT RUN: {error}. HUSHGRAD_NO_GPU=1 allows it; nothing on the GPU was tested. ****");
                None
            }
            Err(error) => panic!("{error}; install a software adapter (mesa-vulkan-drivers) or set HUSHGRAD_NO_GPU=1"),
        }
    }

    fn tasks(model: Architecture) -> Vec<Task> {
        let p = model.parameters();
        let noise = Some(NoiseSpec::Gaussian { sigma: 1e-4 });
        let plain = Task::without_privacy(model);
        let clipped = Task { encoder: EncoderSpec::Clip { norm: 0.3 }, noise: noise.clone(), ..plain.clone() };
        let layers = LayerClip { norms: vec![0.4; model.layers().len()], ..LayerClip::even(1.0) };
        let shape = EnvelopeShape::Mixed;
        let envelope = Task {
            encoder: EncoderSpec::Envelope { shape, vectors: 3, pre_scale: 1.0, seed: 3 },
            envelope: Some(Arc::new(Envelope::draw(shape, 3, p, 3).unwrap())),
            noise: noise.clone(),
            ..plain.clone()
        };
        vec![
            plain,
            Task { sharing: Sharing::MicroBatches { size: 4 }, ..clipped.clone() },
            clipped,
            Task { encoder: EncoderSpec::Layers(layers), noise, ..Task::without_privacy(model) },
            envelope,
        ]
    }

    /// Traces a step on the device and in the reference, with the parameters after it. Both score
    /// the device's parameters, as the sums may differ slightly.
    fn traced(task: &Task, gpu: &Gpu, train: &Dataset, lot: &[u32]) -> [(StepTrace, Vec<f32>, Scores); 2] {
        let parameters = initial_parameters(task.model, 5);
        // 19 examples take three chunks, none a multiple of the tiles' four examples.
        let performance = Performance { chunk: Some(7), ..Performance::default() };
        let mut engine = block_on(GpuEngine::new(gpu, task, train, &parameters, performance)).unwrap();
        let mut plain = ReferenceEngine::new(task, train.clone(), 5).unwrap();
        let input = || StepInput::alone(lot, [3; 8], RATE);
        let ours = block_on(engine.traced_step(input())).unwrap();
        let theirs = block_on(plain.traced_step(input())).unwrap();
        let (few, state) = (train.slice(0..9), block_on(engine.state()).unwrap());
        let stepped = block_on(plain.state()).unwrap().parameters;
        block_on(plain.set_state(&state)).unwrap();
        let our_scores = block_on(engine.scores(&few)).unwrap();
        let their_scores = block_on(plain.scores(&few)).unwrap();
        [(ours, state.parameters, our_scores), (theirs, stepped, their_scores)]
    }

    /// Compares the device with the reference: sums of gradients, raw and with each encoder, of
    /// single examples and of shared vectors, and scores.
    fn agrees(gpu: &Gpu, list: LayerList) {
        let model = Architecture::Built(list);
        let (train, _) = images(model);
        for task in tasks(model) {
            let shared = task.sharing.is_shared();
            let lot: Vec<u32> = (0..if shared { 5 } else { 19 }).collect();
            let [(ours, our_parameters, our_scores), (theirs, their_parameters, their_scores)] =
                traced(&task, gpu, &train, &lot);
            // A coordinate between two grid points may be rounded to either; in an envelope, one at
            // a bucket's edge may have either bound.
            let ranked = matches!(task.encoder, EncoderSpec::Envelope { .. });
            let step = task.sum_grid().map_or(0.0, |grid| f64::from(grid.step()));
            let apart = |ours: &[f32], theirs: &[f32]| {
                ours.iter().zip(theirs).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum::<f64>().sqrt()
            };
            let length = |values: &[f32]| apart(values, &vec![0.0; values.len()]);
            for (name, ours, theirs) in [
                ("raw", &ours.raw, &theirs.raw),
                ("encoded", &ours.encoded, &theirs.encoded),
                ("noisy", &ours.noisy, &theirs.noisy),
            ] {
                let allowed = if ranked && name != "raw" { 1e-3 } else { 1e-4 };
                // Some grid steps: one coordinate in 400 may be rounded to the next; of vectors
                // that sum several gradients, one in 25.
                let share: f64 = if shared { 0.04 } else { 0.0025 };
                let rounding = if name == "raw" { 0.0 } else { step * (3.0 + (share * ours.len() as f64).sqrt()) };
                let (difference, length) = (apart(ours, theirs), length(theirs));
                assert!(
                    difference <= allowed * length.max(1e-3) + rounding,
                    "{model}, {:?}, {name}: {difference:.2e} of {length:.2e}",
                    task.encoder
                );
            }
            // The rate times the difference of the sums, plus rounding.
            let allowed = f64::from(RATE) * apart(&ours.noisy, &theirs.noisy) + 1e-6 * length(&their_parameters);
            let difference = apart(&our_parameters, &their_parameters);
            assert!(difference <= allowed, "{model}, {:?}: {difference:.2e} of {allowed:.2e}", task.encoder);
            for (a, b) in our_scores.iter().flatten().zip(their_scores.iter().flatten()) {
                assert!((a - b).abs() < 1e-4 * (1.0 + b.abs()), "{model}: {a} {b}");
            }
        }
    }

    #[test]
    fn as_few_parameters_as_possible_are_written_out() {
        for (list, range) in [
            ("dense 10", 0..0),
            ("dense 20, relu, dense 10", 0..0),
            ("dense 64, relu, dense 63, relu, dense 10", 54_335..54_975),
            ("dense 9, relu, dense 99, relu, dense 98, relu, dense 97, relu, dense 10", 0..17_855),
            ("conv 4 5x5/3 same, groupnorm 2, relu, dense 10", 0..112),
            ("dense 5, groupnorm 1, dense 10", 3_925..3_935),
        ] {
            let list = list.parse().unwrap();
            let slices = Built::new(list, false).slices;
            assert_eq!(slices.stored_from..slices.stored_from + slices.stored_length, range, "{list}");
            let slices = Built::new(list, true).slices;
            assert_eq!((slices.stored_from, slices.stored_length), (0, Architecture::Built(list).parameters()));
        }
    }

    #[test]
    fn named_models_as_lists_are_what_they_are() {
        let Some(gpu) = device() else { return };
        for model in [Architecture::Mlp, Architecture::CnnTanh, Architecture::CnnRelu, Architecture::Linear] {
            agrees(&gpu, model.written().parse().unwrap());
        }
    }

    #[test]
    fn edge_case_lists_match_the_reference() {
        let Some(gpu) = device() else { return };
        for list in [
            // A coordinate at an envelope's bucket edge may change its bound, and all later scores.
            "conv 12 1x1 same, maxpool 4, tempered 0.96 1.23 1.32, dense 95",
            // As many layers with parameters as possible.
            "groupnorm 1, conv 9 3x3/2 same, groupnorm 3, tanh, conv 4 2x2, groupnorm 2, relu, dense 7, elu, dense 9, sigmoid, dense 10",
            // Windows of zeros, strides beyond the window and beyond the phases, one filter, one
            // place.
            "conv 3 2x2/5 pad 4, elu, conv 1 3x3/6 pad 5, avgpool 3/2, dense 10",
            "maxpool 5/2, conv 17 12x12, relu, dense 10",
            // Activations in sequence, on the image, and after a pool or flattening.
            "tanh, relu, sigmoid, dense 5, relu, tanh, tempered 2 1.5 1, flatten, sigmoid, dense 10",
            "conv 4 5x5/3, maxpool 3/1, tempered 0.2 3 2, avgpool 2/1, tanh, conv 9 3x3 same, sigmoid, dense 10",
            "dense 33, groupnorm 11, relu, dense 33, groupnorm 1, dense 10",
            // Moments of the image, of channels, and of values with an activation before and after.
            "batchnorm, conv 5 3x3/2, batchnorm, relu, batchnorm, dense 12, tanh, batchnorm, sigmoid, dense 10",
        ] {
            agrees(&gpu, list.parse().unwrap());
        }
    }

    /// The largest number of parameters: norms of a million squares keep to the clip's margin;
    /// noise and denoiser reach the last coordinate.
    #[test]
    fn a_million_parameters_are_bounded_and_denoised() {
        let Some(gpu) = device() else { return };
        let model =
            Architecture::Built("conv 1024 28x28, groupnorm 4, relu, conv 180 1x1, tanh, dense 10".parse().unwrap());
        let p = model.parameters();
        assert!((990_000..=1_000_000).contains(&p));
        let train = synthetic::digits(3, 5, 2).train;
        let norm = 0.3;
        let noise = Some(NoiseSpec::Gaussian { sigma: 1e-3 });
        let clipped = Task { encoder: EncoderSpec::Clip { norm }, noise, ..Task::without_privacy(model) };
        let denoised = Task { denoiser: Denoiser::KolmogorovSmirnov, ..clipped.clone() };
        let parameters = initial_parameters(model, 5);
        let mut engine =
            block_on(GpuEngine::new(&gpu, &denoised, &train, &parameters, Performance::default())).unwrap();
        let mut plain = ReferenceEngine::new(&denoised, train.clone(), 5).unwrap();
        for lot in [&[2][..], &[0, 1, 3]] {
            let ours = block_on(engine.traced_step(StepInput::alone(lot, [3; 8], 0.0))).unwrap();
            let theirs = block_on(plain.traced_step(StepInput::alone(lot, [3; 8], 0.0))).unwrap();
            let length = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
            if lot.len() == 1 {
                let reached = length(&mut ours.encoded.iter().map(|&v| v.into()));
                assert!(reached <= norm && reached > 0.98 * norm, "{reached}");
            }
            for (ours, theirs) in
                [(&ours.raw, &theirs.raw), (&ours.encoded, &theirs.encoded), (&ours.noisy, &theirs.noisy)]
            {
                let apart = length(&mut ours.iter().zip(theirs).map(|(&a, &b)| f64::from(a - b)));
                // Coordinates are a few grid steps: some are rounded to the next.
                assert!(apart < 1e-3 * length(&mut theirs.iter().map(|&v| v.into())), "{apart:e}");
            }
            let factors =
                [block_on(engine.metrics()), block_on(plain.metrics())].map(|found| found.unwrap().denoise_factor);
            // The noise in f32 has slightly different ranks.
            assert!((factors[0] - factors[1]).abs() < 5e-6, "{factors:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: if hushgrad_testkit::full() { 48 } else { 16 }, ..ProptestConfig::default() })]

        #[test]
        fn any_list_is_as_the_reference_has_it(list in any_list()) {
            if let Some(gpu) = device() {
                agrees(&gpu, list);
            }
        }
    }
}
