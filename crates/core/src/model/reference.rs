//! Reference implementation of the models: one example at a time, in f64, with plain loops. It is
//! checked against automatic differentiation, and all fast paths (Rust, WGSL) against it.

pub use super::cnn::Geometry;
use super::{
    Activation, Architecture, Layer, cnn,
    layers::{LayerSpec, MOMENT_FLOOR, MOMENT_SHARE, NORM_FLOOR, Placed, Pooling},
};

/// Writes one example's gradient to `out` (flat, length P); returns softmax cross-entropy in nats.
///
/// # Panics
/// When lengths do not match P or the model's inputs, or the label is not one of its classes.
pub fn gradient(architecture: Architecture, parameters: &[f32], image: &[f32], label: u8, out: &mut [f32]) -> f64 {
    assert_eq!(out.len(), architecture.parameters(), "the gradient has one entry for each parameter");
    backward(&Forward::new(architecture, parameters, image), parameters, label, out)
}

/// Like [`gradient`], for stages, such as an MLP of another width, that end in a value per class.
///
/// # Panics
/// When `parameters` and `out` differ in length, stages read beyond them, or the label is no class.
pub fn gradient_through(stages: Vec<Stage>, parameters: &[f32], image: &[f32], label: u8, out: &mut [f32]) -> f64 {
    assert_eq!(out.len(), parameters.len(), "the gradient has one entry for each parameter");
    backward(&Forward::through(stages, parameters, image), parameters, label, out)
}

fn backward(forward: &Forward, parameters: &[f32], label: u8, out: &mut [f32]) -> f64 {
    let mut delta = loss_gradient(softmax(&forward.logits), label);
    for (stage, input) in forward.stages.iter().zip(&forward.inputs).rev() {
        delta = stage.backward(parameters, input, &delta, out);
    }
    cross_entropy(&forward.logits, usize::from(label))
}

/// ∂ℓ/∂logits = softmax − one-hot.
fn loss_gradient(mut probabilities: Vec<f64>, label: u8) -> Vec<f64> {
    probabilities[usize::from(label)] -= 1.0;
    probabilities
}

/// Returns the logits of an image.
///
/// # Panics
/// As [`gradient`].
#[must_use]
pub fn logits(architecture: Architecture, parameters: &[f32], image: &[f32]) -> Vec<f64> {
    Forward::new(architecture, parameters, image).logits
}

/// Returns the class probabilities of an image.
///
/// # Panics
/// As [`gradient`].
#[must_use]
pub fn probabilities(architecture: Architecture, parameters: &[f32], image: &[f32]) -> Vec<f64> {
    softmax(&logits(architecture, parameters, image))
}

/// Intermediate values of an image's forward and backward pass, stage by stage.
#[derive(Clone, Debug)]
pub struct ForwardTrace {
    /// Output of each stage; the last are the logits.
    pub outputs: Vec<Vec<f64>>,
    /// Gradient of the loss with respect to each output.
    pub deltas: Vec<Vec<f64>>,
    /// Probability of each class.
    pub probabilities: Vec<f64>,
}

/// Runs an image forward through a model's [`stages`], and its loss gradient backward.
///
/// # Panics
/// As [`gradient`].
#[must_use]
pub fn follow(architecture: Architecture, parameters: &[f32], image: &[f32], label: u8) -> ForwardTrace {
    let mut forward = Forward::new(architecture, parameters, image);
    let mut unused = vec![0.0; parameters.len()];
    let probabilities = softmax(&forward.logits);
    let mut deltas = vec![loss_gradient(probabilities.clone(), label)];
    for (stage, input) in forward.stages.iter().zip(&forward.inputs).skip(1).rev() {
        let behind = &deltas[deltas.len() - 1];
        let before = stage.backward(parameters, input, behind, &mut unused);
        deltas.push(before);
    }
    deltas.reverse();
    let mut outputs = forward.inputs.split_off(1.min(forward.inputs.len()));
    outputs.push(forward.logits);
    ForwardTrace { outputs, deltas, probabilities }
}

/// What a vector of parameters shows of one example's image: the gradient of the loss with respect
/// to the image, with the vector in place of the first trained layer's parameters. Linear in the
/// vector. Of the example's own gradient under a linear model, it is a multiple of the image.
#[derive(Clone, Debug)]
pub struct InputView {
    /// The stages up to the first trained one, with their inputs.
    stages: Vec<(Stage, Vec<f64>)>,
    /// Gradient of the loss with respect to their output, of norm 1; zero for a loss of 0.
    delta: Vec<f64>,
}

impl InputView {
    /// The view of the example `image` with this label, in a model with these parameters.
    ///
    /// # Panics
    /// As [`gradient`].
    #[must_use]
    pub fn new(architecture: Architecture, parameters: &[f32], image: &[f32], label: u8) -> Self {
        let mut forward = Forward::new(architecture, parameters, image);
        let first = forward.stages.iter().position(Stage::is_trained).unwrap_or_default();
        let mut unused = vec![0.0; parameters.len()];
        let mut delta = loss_gradient(softmax(&forward.logits), label);
        for (stage, input) in forward.stages.iter().zip(&forward.inputs).skip(first + 1).rev() {
            delta = stage.backward(parameters, input, &delta, &mut unused);
        }
        let norm = delta.iter().map(|d| d * d).sum::<f64>().sqrt();
        if norm > 0.0 {
            delta.iter_mut().for_each(|d| *d /= norm);
        }
        forward.stages.truncate(first + 1);
        Self { stages: forward.stages.into_iter().zip(forward.inputs).collect(), delta }
    }

    /// Returns the image that `vector` shows, one value per input of the model.
    ///
    /// # Panics
    /// When `vector` does not have one entry per parameter.
    #[must_use]
    pub fn of(&self, vector: &[f32]) -> Vec<f32> {
        let mut unused = vec![0.0; vector.len()];
        let stages = self.stages.iter().rev();
        let image =
            stages.fold(self.delta.clone(), |delta, (stage, input)| stage.backward(vector, input, &delta, &mut unused));
        image.into_iter().map(|value| value as f32).collect()
    }
}

/// Returns the smallest gap between the maximum of a max-pooling window and its next value. If it
/// is below another engine's rounding error, that engine may route the gradient elsewhere.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn smallest_gap(architecture: Architecture, parameters: &[f32], image: &[f32]) -> f64 {
    let forward = Forward::new(architecture, parameters, image);
    let mut smallest = f64::INFINITY;
    for (stage, input) in forward.stages.iter().zip(&forward.inputs) {
        let Stage::Pool { kind: Pooling::Max, channels, geometry } = stage else { continue };
        for window in windows(*channels, *geometry) {
            let most = input[argmax(input, &window)];
            let gaps = window.iter().map(|&at| most - input[at]).filter(|gap| *gap > 0.0);
            smallest = gaps.fold(smallest, f64::min);
        }
    }
    smallest
}

/// Returns the class with the largest logit, the lowest on ties.
///
/// # Panics
/// As [`gradient`].
#[must_use]
pub fn classify(architecture: Architecture, parameters: &[f32], image: &[f32]) -> u8 {
    let logits = logits(architecture, parameters, image);
    (1..logits.len()).fold(0, |best, class| if logits[class] > logits[best] { class } else { best }) as u8
}

fn log_sum_exp(logits: &[f64]) -> f64 {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + logits.iter().map(|z| (z - largest).exp()).sum::<f64>().ln()
}

/// −ln softmax(logits)[label].
fn cross_entropy(logits: &[f64], label: usize) -> f64 {
    log_sum_exp(logits) - logits[label]
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let normaliser = log_sum_exp(logits);
    logits.iter().map(|z| (z - normaliser).exp()).collect()
}

/// One operation between pixels and logits.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    /// Wx + b.
    Dense(Layer),
    /// A convolution and its biases.
    Convolution(Layer, Geometry),
    /// An activation on each value.
    Activation(Activation),
    /// Pooling of each channel.
    Pool {
        /// Operation on each window.
        kind: Pooling,
        /// Number of channels.
        channels: usize,
        /// Geometry of the windows.
        geometry: Geometry,
    },
    /// Groups of channels normalised to mean 0 and variance 1, then scaled and shifted per channel.
    GroupNorm {
        /// A scale and a shift per channel.
        layer: Layer,
        /// Number of groups.
        groups: usize,
        /// Values per channel.
        area: usize,
    },
    /// Channels minus released means, over released deviations.
    BatchNorm {
        /// A variance and a mean per channel.
        layer: Layer,
        /// Values per channel.
        area: usize,
    },
}

impl Stage {
    /// Returns the stage of a layer, or `None` if it only reshapes.
    #[must_use]
    pub fn of(placed: &Placed) -> Option<Self> {
        let (channels, area) = placed.input.channels();
        Some(match (placed.spec, placed.layer, placed.geometry) {
            (LayerSpec::Convolution { .. }, Some(layer), Some(geometry)) => Self::Convolution(layer, geometry),
            (LayerSpec::Pool { kind, .. }, _, Some(geometry)) => Self::Pool { kind, channels, geometry },
            (LayerSpec::Dense { .. }, Some(layer), _) => Self::Dense(layer),
            (LayerSpec::GroupNorm { groups }, Some(layer), _) => {
                Self::GroupNorm { layer, groups: usize::from(groups), area }
            }
            (LayerSpec::BatchNorm, Some(layer), _) => Self::BatchNorm { layer, area },
            (LayerSpec::Activation(activation), ..) => Self::Activation(activation),
            _ => return None,
        })
    }

    /// True if it has parameters.
    const fn is_trained(&self) -> bool {
        matches!(self, Self::Dense(_) | Self::Convolution(..) | Self::GroupNorm { .. } | Self::BatchNorm { .. })
    }

    /// Returns the number of outputs of `inputs` values.
    #[must_use]
    pub const fn outputs(&self, inputs: usize) -> usize {
        match self {
            Self::Dense(layer) => layer.outputs,
            Self::Convolution(layer, geometry) => layer.outputs * geometry.output_side().pow(2),
            Self::Pool { channels, geometry, .. } => *channels * geometry.output_side().pow(2),
            Self::Activation(_) | Self::GroupNorm { .. } | Self::BatchNorm { .. } => inputs,
        }
    }
}

impl Geometry {
    /// Returns the input index of kernel cell [channel][row][column] at an output, if not padding.
    fn input_index(self, row: usize, column: usize, cell: usize) -> Option<usize> {
        let area = self.kernel * self.kernel;
        let (channel, ky, kx) = (cell / area, cell % area / self.kernel, cell % self.kernel);
        let y = (row * self.stride + ky).checked_sub(self.padding).filter(|&y| y < self.side)?;
        let x = (column * self.stride + kx).checked_sub(self.padding).filter(|&x| x < self.side)?;
        Some((channel * self.side + y) * self.side + x)
    }
}

/// Returns the operations between pixels and logits, in order.
#[must_use]
pub fn stages(architecture: Architecture) -> Vec<Stage> {
    let layers = architecture.layers();
    let activation = Stage::Activation(architecture.activation());
    let pool = |channels, side| Stage::Pool {
        kind: Pooling::Max,
        channels,
        geometry: Geometry { side, kernel: 2, stride: 1, padding: 0 },
    };
    match architecture {
        Architecture::Built(list) => list.placed().iter().filter_map(Stage::of).collect(),
        Architecture::Linear | Architecture::Scattering => vec![Stage::Dense(layers[0])],
        Architecture::Mlp => vec![Stage::Dense(layers[0]), activation, Stage::Dense(layers[1])],
        Architecture::CnnTanh | Architecture::CnnRelu => vec![
            Stage::Convolution(layers[0], cnn::CONV1),
            activation,
            pool(cnn::CHANNELS1, cnn::CONV1.output_side()),
            Stage::Convolution(layers[1], cnn::CONV2),
            activation,
            pool(cnn::CHANNELS2, cnn::CONV2.output_side()),
            Stage::Dense(layers[2]),
            activation,
            Stage::Dense(layers[3]),
        ],
    }
}

struct Forward {
    stages: Vec<Stage>,
    inputs: Vec<Vec<f64>>,
    logits: Vec<f64>,
}

impl Forward {
    fn new(architecture: Architecture, parameters: &[f32], image: &[f32]) -> Self {
        assert_eq!(parameters.len(), architecture.parameters(), "parameters of this architecture");
        assert_eq!(image.len(), architecture.inputs(), "the model's inputs");
        Self::through(stages(architecture), parameters, image)
    }

    fn through(stages: Vec<Stage>, parameters: &[f32], image: &[f32]) -> Self {
        let mut inputs = Vec::with_capacity(stages.len());
        let mut values: Vec<f64> = image.iter().map(|&x| f64::from(x)).collect();
        for stage in &stages {
            let outputs = stage.forward(parameters, &values);
            inputs.push(values);
            values = outputs;
        }
        Self { stages, inputs, logits: values }
    }
}

impl Stage {
    fn forward(&self, parameters: &[f32], input: &[f64]) -> Vec<f64> {
        match self {
            Self::Dense(layer) => dense(layer, parameters, input),
            Self::Convolution(layer, geometry) => convolution(layer, *geometry, parameters, input),
            Self::Activation(activation) => input.iter().map(|&x| activated(*activation, x)).collect(),
            Self::Pool { kind: Pooling::Max, channels, geometry } => {
                windows(*channels, *geometry).map(|window| input[argmax(input, &window)]).collect()
            }
            Self::Pool { kind: Pooling::Average, channels, geometry } => windows(*channels, *geometry)
                .map(|window| window.iter().map(|&i| input[i]).sum::<f64>() / window.len() as f64)
                .collect(),
            Self::GroupNorm { layer, groups, area } => {
                let mut output = normalised(*groups, input).0;
                for (channel, values) in output.chunks_mut(*area).enumerate() {
                    let (factor, summand) = affine(layer, parameters, channel);
                    values.iter_mut().for_each(|x| *x = factor * *x + summand);
                }
                output
            }
            Self::BatchNorm { layer, area } => {
                let parts = input.chunks(*area).enumerate();
                let unit = |(channel, values): (usize, &[f64])| {
                    let (inverse, mean) = released(layer, parameters, channel);
                    values.iter().map(move |x| (x - mean) * inverse).collect::<Vec<_>>()
                };
                parts.flat_map(unit).collect()
            }
        }
    }

    /// Given δ = ∂ℓ/∂output, writes ∂ℓ/∂weights and ∂ℓ/∂biases to `gradient` and returns ∂ℓ/∂input.
    fn backward(&self, parameters: &[f32], input: &[f64], delta: &[f64], gradient: &mut [f32]) -> Vec<f64> {
        match self {
            Self::Dense(layer) => dense_backward(layer, parameters, input, delta, gradient),
            Self::Convolution(layer, geometry) => {
                convolution_backward(layer, *geometry, parameters, input, delta, gradient)
            }
            Self::Activation(activation) => input.iter().zip(delta).map(|(&x, &d)| d * slope(*activation, x)).collect(),
            Self::Pool { kind, channels, geometry } => {
                let mut input_delta = vec![0.0; input.len()];
                for (window, d) in windows(*channels, *geometry).zip(delta) {
                    match kind {
                        Pooling::Max => input_delta[argmax(input, &window)] += d,
                        Pooling::Average => window.iter().for_each(|&i| input_delta[i] += d / window.len() as f64),
                    }
                }
                input_delta
            }
            Self::GroupNorm { layer, groups, area } => {
                group_norm_backward(layer, (*groups, *area), parameters, input, delta, gradient)
            }
            Self::BatchNorm { layer, area } => batch_norm_backward(layer, *area, parameters, input, delta, gradient),
        }
    }
}

fn activated(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Tanh => x.tanh(),
        // Not `max`, which would turn NaN into 0.
        Activation::Relu => {
            if x < 0.0 {
                0.0
            } else {
                x
            }
        }
        Activation::Elu => {
            if x < 0.0 {
                x.exp_m1()
            } else {
                x
            }
        }
        Activation::Sigmoid | Activation::Tempered { .. } => {
            let [s, t, o] = activation.logistic().unwrap_or([1.0, 1.0, 0.0]);
            s / (1.0 + (-t * x).exp()) - o
        }
    }
}

/// The derivative f′(x).
fn slope(activation: Activation, x: f64) -> f64 {
    match activation {
        // tanh′ = 1 − tanh².
        Activation::Tanh => 1.0 - x.tanh().powi(2),
        Activation::Relu => {
            if x <= 0.0 {
                0.0
            } else {
                1.0
            }
        }
        Activation::Elu => {
            if x < 0.0 {
                x.exp()
            } else {
                1.0
            }
        }
        Activation::Sigmoid | Activation::Tempered { .. } => {
            let [s, t, _] = activation.logistic().unwrap_or([1.0, 1.0, 0.0]);
            let y = 1.0 / (1.0 + (-t * x).exp());
            s * t * y * (1.0 - y)
        }
    }
}

/// Returns (x − μ)/√(v + ε) for each of `groups` equal parts, and each part's 1/√(v + ε).
fn normalised(groups: usize, input: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut output, mut inverses) = (Vec::with_capacity(input.len()), Vec::with_capacity(groups));
    for group in input.chunks(input.len() / groups) {
        let n = group.len() as f64;
        // Exact for equal values: a ReLU after the norm would amplify rounding errors into steps.
        let mean = group[0] + group.iter().map(|x| x - group[0]).sum::<f64>() / n;
        let variance = group.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let inverse = 1.0 / (variance + NORM_FLOOR).sqrt();
        output.extend(group.iter().map(|x| (x - mean) * inverse));
        inverses.push(inverse);
    }
    (output, inverses)
}

/// Returns a channel's scale and shift.
fn affine(layer: &Layer, parameters: &[f32], channel: usize) -> (f64, f64) {
    (parameters[layer.weights()][channel].into(), parameters[layer.biases()][channel].into())
}

/// With y = γ·u + β and u = (x − μ)/√(v + ε): ∂ℓ/∂γ = Σ δ·u; ∂ℓ/∂β = Σ δ; ∂ℓ/∂x = (e − mean e −
/// u·mean(e·u))/√(v + ε) with e = γ·δ, means over the group (Ioffe & Szegedy 2015).
fn group_norm_backward(
    layer: &Layer,
    (groups, area): (usize, usize),
    parameters: &[f32],
    input: &[f64],
    delta: &[f64],
    gradient: &mut [f32],
) -> Vec<f64> {
    let (unit, inverses) = normalised(groups, input);
    let mut scaled = Vec::with_capacity(delta.len());
    for (channel, (delta, unit)) in delta.chunks(area).zip(unit.chunks(area)).enumerate() {
        let (factor, _) = affine(layer, parameters, channel);
        gradient[layer.weights().start + channel] = delta.iter().zip(unit).map(|(d, u)| d * u).sum::<f64>() as f32;
        gradient[layer.biases().start + channel] = delta.iter().sum::<f64>() as f32;
        scaled.extend(delta.iter().map(|d| factor * d));
    }
    let size = input.len() / groups;
    let parts = scaled.chunks(size).zip(unit.chunks(size)).zip(inverses);
    parts
        .flat_map(|((e, u), inverse)| {
            let mean = e.iter().sum::<f64>() / size as f64;
            let along = e.iter().zip(u).map(|(e, u)| e * u).sum::<f64>() / size as f64;
            e.iter().zip(u).map(move |(e, u)| (e - mean - u * along) * inverse)
        })
        .collect()
}

/// Returns 1/√(v + ε) and the mean of a channel as released, with v at least 0.
fn released(layer: &Layer, parameters: &[f32], channel: usize) -> (f64, f64) {
    let (variance, mean) = affine(layer, parameters, channel);
    // Not `max`, which would turn NaN into 0.
    let variance = if variance < 0.0 { 0.0 } else { variance };
    (1.0 / (variance + MOMENT_FLOOR).sqrt(), mean)
}

/// The released moments are constants of ∂ℓ/∂x; their own gradients lead them to the example's.
fn batch_norm_backward(
    layer: &Layer,
    area: usize,
    parameters: &[f32],
    input: &[f64],
    delta: &[f64],
    gradient: &mut [f32],
) -> Vec<f64> {
    let mut input_delta = Vec::with_capacity(delta.len());
    for (channel, (delta, values)) in delta.chunks(area).zip(input.chunks(area)).enumerate() {
        let (inverse, mean) = released(layer, parameters, channel);
        let (variance, _) = affine(layer, parameters, channel);
        let apart = values.iter().map(|x| x - mean).sum::<f64>() / area as f64;
        let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / area as f64;
        gradient[layer.weights().start + channel] = (MOMENT_SHARE * (variance - square)) as f32;
        gradient[layer.biases().start + channel] = (-MOMENT_SHARE * apart) as f32;
        input_delta.extend(delta.iter().map(|d| d * inverse));
    }
    input_delta
}

/// y_o = b_o + Σ_i w_oi x_i.
fn dense(layer: &Layer, parameters: &[f32], input: &[f64]) -> Vec<f64> {
    let rows = parameters[layer.weights()].chunks(layer.fan_in);
    let biases = &parameters[layer.biases()];
    rows.zip(biases)
        .map(|(row, &bias)| f64::from(bias) + row.iter().zip(input).map(|(&w, x)| f64::from(w) * x).sum::<f64>())
        .collect()
}

/// ∂ℓ/∂w_oi = δ_o x_i; ∂ℓ/∂b_o = δ_o; ∂ℓ/∂x_i = Σ_o δ_o w_oi.
fn dense_backward(layer: &Layer, parameters: &[f32], input: &[f64], delta: &[f64], gradient: &mut [f32]) -> Vec<f64> {
    let mut input_delta = vec![0.0; input.len()];
    let weights = &parameters[layer.weights()];
    for (o, d) in delta.iter().enumerate() {
        let row = layer.offset + o * layer.fan_in;
        for (i, x) in input.iter().enumerate() {
            gradient[row + i] = (d * x) as f32;
            input_delta[i] += d * f64::from(weights[o * layer.fan_in + i]);
        }
        gradient[layer.biases().start + o] = *d as f32;
    }
    input_delta
}

/// y_o(r, c) = b_o + Σ_k w_ok x(input of cell k at (r, c)).
fn convolution(layer: &Layer, geometry: Geometry, parameters: &[f32], input: &[f64]) -> Vec<f64> {
    let side = geometry.output_side();
    let weights = &parameters[layer.weights()];
    let biases = &parameters[layer.biases()];
    let mut output = Vec::with_capacity(layer.outputs * side * side);
    for o in 0..layer.outputs {
        let kernel = &weights[o * layer.fan_in..][..layer.fan_in];
        for position in 0..side * side {
            let mut sum = f64::from(biases[o]);
            for (cell, &w) in kernel.iter().enumerate() {
                if let Some(i) = geometry.input_index(position / side, position % side, cell) {
                    sum += f64::from(w) * input[i];
                }
            }
            output.push(sum);
        }
    }
    output
}

/// ∂ℓ/∂w_ok = Σ_(r,c) δ_o(r, c) x(input of k); ∂ℓ/∂b_o = Σ δ_o; ∂ℓ/∂x = Σ δ_o w_ok over uses of x.
fn convolution_backward(
    layer: &Layer,
    geometry: Geometry,
    parameters: &[f32],
    input: &[f64],
    delta: &[f64],
    gradient: &mut [f32],
) -> Vec<f64> {
    let side = geometry.output_side();
    let weights = &parameters[layer.weights()];
    let mut input_delta = vec![0.0; input.len()];
    for (o, deltas) in delta.chunks(side * side).enumerate() {
        for cell in 0..layer.fan_in {
            let w = f64::from(weights[o * layer.fan_in + cell]);
            let mut sum = 0.0;
            for (position, d) in deltas.iter().enumerate() {
                if let Some(i) = geometry.input_index(position / side, position % side, cell) {
                    sum += d * input[i];
                    input_delta[i] += d * w;
                }
            }
            gradient[layer.offset + o * layer.fan_in + cell] = sum as f32;
        }
        gradient[layer.biases().start + o] = deltas.iter().sum::<f64>() as f32;
    }
    input_delta
}

/// Indices of each window, row-major, in output order.
fn windows(channels: usize, geometry: Geometry) -> impl Iterator<Item = Vec<usize>> {
    let Geometry { side, kernel, stride, .. } = geometry;
    let places = geometry.output_side();
    (0..channels * places * places).map(move |place| {
        let (channel, row, column) = (place / (places * places), place / places % places, place % places);
        let first = (channel * side + row * stride) * side + column * stride;
        (0..kernel * kernel).map(|cell| first + cell / kernel * side + cell % kernel).collect()
    })
}

/// Returns the index of the window's maximum, the first on ties.
fn argmax(input: &[f64], window: &[usize]) -> usize {
    window.iter().copied().reduce(|best, i| if input[i] > input[best] { i } else { best }).unwrap_or(window[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{PIXELS, initial_parameters};

    /// An off-grid blob, repeated to the model's number of inputs.
    fn input(architecture: Architecture, example: usize) -> Vec<f32> {
        image(example).into_iter().cycle().take(architecture.inputs()).collect()
    }

    fn image(example: usize) -> Vec<f32> {
        let phase = example as f32;
        (0..PIXELS)
            .map(|i| {
                let (y, x) = ((i / 28) as f32 - 13.0 - phase, (i % 28) as f32 - 14.5 + 2.0 * phase);
                let ink = (-(x * x / 30.0 + y * y / 50.0) / 2.0).exp() * (1.0 + 0.5 * (x * 0.9 + phase).sin());
                if ink < 0.05 { 0.0 } else { ink.min(1.0) }
            })
            .collect()
    }

    /// Central differences in f64, with f32 perturbations so that the step is known exactly.
    #[test]
    fn gradients_match_central_differences() {
        for architecture in Architecture::ALL {
            let parameters = initial_parameters(architecture, 11);
            let image = input(architecture, 1);
            let mut gradient = vec![0.0; parameters.len()];
            let loss = super::gradient(architecture, &parameters, &image, 3, &mut gradient);
            let mut checked = 0;
            for i in (0..parameters.len()).step_by(211) {
                let mut shifted = parameters.clone();
                let mut loss_at = |value: f32| {
                    shifted[i] = value;
                    cross_entropy(&logits(architecture, &shifted, &image), 3)
                };
                let (low, high) = (parameters[i] - 1e-6, parameters[i] + 1e-6);
                let slope = (loss_at(high) - loss_at(low)) / (f64::from(high) - f64::from(low));
                let difference = (slope - f64::from(gradient[i])).abs();
                // The image has no kink (ReLU, pooling) in this interval.
                assert!(
                    difference < 2e-6 * (1.0 + slope.abs()),
                    "{architecture:?} {i}: {slope} against {}",
                    gradient[i]
                );
                checked += usize::from(slope != 0.0);
            }
            assert!(checked > 10, "{architecture:?}: only {checked} slopes were not zero");
            assert!(loss > 0.0 && loss.is_finite());
        }
    }

    /// An example's own moments need no change; others are led to them by κ, also from a variance that
    /// noise has made negative.
    #[test]
    fn released_moments_are_led_to_the_examples() {
        let model = Architecture::Built("conv 3 5x5/3, batchnorm, tanh, dense 10".parse().unwrap());
        let [before, layer, _] = model.layers()[..] else { panic!() };
        let (mut parameters, image) = (initial_parameters(model, 11), input(model, 1));
        assert_eq!((&parameters[layer.weights()], &parameters[layer.biases()]), (&[1.0; 3][..], &[0.0; 3][..]));
        let pixels: Vec<f64> = image.iter().map(|&x| x.into()).collect();
        let geometry = Geometry { side: 28, kernel: 5, stride: 3, padding: 0 };
        let values = convolution(&before, geometry, &parameters, &pixels);
        let mut gradient = vec![0.0; parameters.len()];
        for (apart, excess) in [(0.0, 0.0), (0.25, 0.0), (-0.5, 2.0), (0.0, -3.0)] {
            let mut expected = vec![];
            for (channel, values) in values.chunks(values.len() / 3).enumerate() {
                let n = values.len() as f64;
                let mean = values.iter().sum::<f64>() / n + apart;
                let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n + excess;
                parameters[layer.weights().start + channel] = variance as f32;
                parameters[layer.biases().start + channel] = mean as f32;
                expected.push((MOMENT_SHARE * excess, MOMENT_SHARE * apart));
            }
            let loss = super::gradient(model, &parameters, &image, 3, &mut gradient);
            assert!(loss.is_finite());
            for (channel, (of_variance, of_mean)) in expected.into_iter().enumerate() {
                let found = affine(&layer, &gradient, channel);
                assert!((found.0 - of_variance).abs() < 1e-6 && (found.1 - of_mean).abs() < 1e-6, "{found:?}");
            }
        }
    }

    /// A view is linear, and that of a linear model's own gradient is a multiple of the image.
    #[test]
    fn a_view_is_linear_and_shows_the_image_in_its_gradient() {
        let built = ["avgpool 2, conv 4 3x3, relu, dense 10", "conv 4 3x3, batchnorm, relu, dense 10"]
            .map(|list| Architecture::Built(list.parse().unwrap()));
        for architecture in Architecture::ALL.into_iter().chain(built) {
            let parameters = initial_parameters(architecture, 11);
            let image = input(architecture, 1);
            let mut gradient = vec![0.0; parameters.len()];
            super::gradient(architecture, &parameters, &image, 3, &mut gradient);
            let view = InputView::new(architecture, &parameters, &image, 3);
            let (a, b) = (view.of(&gradient), view.of(&parameters));
            assert_eq!(a.len(), architecture.inputs());
            let both: Vec<f32> = gradient.iter().zip(&parameters).map(|(a, b)| a + 2.0 * b).collect();
            let size = a.iter().chain(&b).fold(0f32, |most, value| most.max(value.abs()));
            assert!(size > 0.0, "{architecture}");
            for ((both, a), b) in view.of(&both).iter().zip(&a).zip(&b) {
                assert!((both - (a + 2.0 * b)).abs() < 1e-4 * size, "{architecture}: {both} for {a} + 2 × {b}");
            }
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
            let likeness = dot(&a, &image) / (dot(&a, &a) * dot(&image, &image)).sqrt();
            if matches!(architecture, Architecture::Linear | Architecture::Mlp) {
                assert!(likeness > 0.9999, "{architecture}: {likeness}");
            } else {
                assert!(likeness > 0.2, "{architecture}: {likeness}");
            }
        }
    }

    #[test]
    fn zero_parameters_give_uniform_probabilities() {
        for architecture in Architecture::ALL {
            let zeros = vec![0.0; architecture.parameters()];
            let mut gradient = vec![f32::NAN; zeros.len()];
            let loss = super::gradient(architecture, &zeros, &input(architecture, 0), 7, &mut gradient);
            assert!((loss - 10f64.ln()).abs() < 1e-12);
            assert!(
                probabilities(architecture, &zeros, &input(architecture, 0)).iter().all(|p| (p - 0.1).abs() < 1e-15)
            );
            let last = architecture.layers().pop().unwrap();
            let expected: Vec<f32> = (0..10).map(|c| if c == 7 { -0.9 } else { 0.1 }).collect();
            for (g, e) in gradient[last.biases()].iter().zip(expected) {
                assert!((g - e).abs() < 1e-7);
            }
            assert_eq!(classify(architecture, &zeros, &input(architecture, 0)), 0);
            assert!(gradient.iter().all(|g| g.is_finite()), "every entry is written");
        }
    }

    /// Non-finite values must reach the gradient, where they are caught: no layer may hide them.
    #[test]
    fn a_broken_parameter_shows_in_the_gradient() {
        for architecture in Architecture::ALL {
            for layer in architecture.layers() {
                let mut parameters = initial_parameters(architecture, 3);
                parameters[layer.biases()].fill(f32::NAN);
                let mut gradient = vec![0.0; parameters.len()];
                super::gradient(architecture, &parameters, &input(architecture, 0), 5, &mut gradient);
                assert!(gradient.iter().any(|g| g.is_nan()), "{architecture:?}, {}", layer.name);
            }
        }
    }

    #[test]
    fn huge_logits_stay_finite() {
        let mut parameters = vec![0.0; Architecture::Linear.parameters()];
        let biases = Architecture::Linear.layers()[0].biases();
        parameters[biases.start] = 1e30;
        let mut gradient = vec![0.0; parameters.len()];
        let loss = super::gradient(Architecture::Linear, &parameters, &image(0), 1, &mut gradient);
        assert!((loss / 1e30 - 1.0).abs() < 1e-6);
        assert!(gradient.iter().all(|g| g.is_finite()));
    }
}
