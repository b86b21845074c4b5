//! Which kernels a model runs over a chunk, with which constants, on which grid: built once, replayed every step.

use super::{
    device::Gpu,
    features::FEATURE_WORDS,
    kernels::{self, Kernel},
};
use crate::{
    mechanism::exact_sum::SLOT,
    model::{Activation, Architecture, CLASSES, Layer, MLP_HIDDEN, PIXELS},
};

/// Words of one example's image: 196 of pixels, one of label.
pub const EXAMPLE_WORDS: usize = PIXELS / 4 + 1;
/// `HISTOGRAMS` of common.wgsl: counters before the first histogram.
pub const COUNTERS: usize = 64;
/// Bytes of an example's logits, of which a chunk's follow the counters when they are read.
pub const SCORE_BYTES: u64 = 4 * CLASSES as u64;
/// `BUCKETS` of common.wgsl.
pub const BUCKETS: usize = crate::mechanism::encode::BUCKETS;

type Constants = Vec<(&'static str, f64)>;

/// How many workgroups a kernel takes for `count` examples.
#[derive(Clone, Copy, Debug)]
pub enum Grid {
    /// One row of this many workgroups for each example.
    Rows(u32),
    /// `per_example` invocations an example, `workgroup` at a time, across examples.
    Flat { per_example: u32, workgroup: u32 },
    /// One invocation for every 4 examples and 4 of `outputs`, 32 at a time.
    Tiles { outputs: u32 },
    /// The same for any number of examples.
    Fixed(u32),
}

impl Grid {
    fn size(self, count: u32) -> (u32, u32) {
        match self {
            Self::Rows(groups) => (groups, count),
            Self::Flat { per_example, workgroup } => ((per_example * count).div_ceil(workgroup), 1),
            Self::Tiles { outputs } => ((outputs.div_ceil(4) * count.div_ceil(4)).div_ceil(32), 1),
            Self::Fixed(groups) => (groups, 1),
        }
    }
}

/// A kernel, compiled, and its grid.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// The kernel's.
    pub name: &'static str,
    pipeline: wgpu::ComputePipeline,
    grid: Grid,
}

impl Dispatch {
    pub fn new(gpu: &Gpu, kernel: &Kernel, constants: &[(&'static str, f64)], grid: Grid) -> Self {
        Self { name: kernel.name, pipeline: gpu.pipeline(kernel, constants), grid }
    }

    /// Records itself for `count` examples.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>, count: u32) {
        let (x, y) = self.grid.size(count);
        pass.set_pipeline(&self.pipeline);
        pass.dispatch_workgroups(x, y, 1);
    }
}

/// Where in `work` an example keeps what. Unused slices have length 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slices {
    padded: usize,
    act1: usize,
    pool1: usize,
    codes1: usize,
    act2: usize,
    pool2: usize,
    codes2: usize,
    pool2_delta: usize,
    hidden: usize,
    hidden_delta: usize,
    pub logits: usize,
    delta: usize,
    /// Dense layers' deltas times an example's factor, the first layer's and the second's.
    scaled: [usize; 2],
    status: usize,
    stored: usize,
    /// Gradients of the convolutions; they are the first `stored_length` coordinates.
    stored_length: usize,
    /// Floats of an example.
    pub stride: usize,
}

impl Slices {
    #[must_use]
    pub fn new(model: Architecture) -> Self {
        let mut next = 0;
        let mut take = |length: usize| {
            let start = next;
            next += length;
            start
        };
        let mut slices = Self::default();
        if model.is_convolutional() {
            slices.padded = take(34 * 34);
            slices.act1 = take(16 * 14 * 14);
            slices.pool1 = take(16 * 13 * 13);
            slices.codes1 = take(16 * 13 * 2);
            slices.act2 = take(32 * 5 * 5);
            slices.pool2 = take(512);
            slices.codes2 = take(32 * 4);
            slices.pool2_delta = take(512);
            slices.stored_length = model.layers()[..2].iter().map(|l| l.outputs * (l.fan_in + 1)).sum();
            slices.stored = take(slices.stored_length);
        }
        if !model.is_linear() {
            let hidden = if model == Architecture::Mlp { MLP_HIDDEN } else { 32 };
            slices.hidden = take(hidden);
            slices.hidden_delta = take(hidden);
        }
        slices.logits = take(CLASSES);
        slices.delta = take(CLASSES);
        for (scaled, layer) in slices.scaled.iter_mut().zip(model.dense_layers()) {
            *scaled = take(layer.outputs);
        }
        slices.status = take(2);
        slices.stride = next.next_multiple_of(4);
        slices
    }
}

impl Architecture {
    const fn is_linear(self) -> bool {
        matches!(self, Self::Linear | Self::Scattering)
    }

    /// Words of an example, of which the last is its label.
    pub(super) const fn example_words(self) -> usize {
        if matches!(self, Self::Scattering) { FEATURE_WORDS } else { EXAMPLE_WORDS }
    }

    /// Layers whose gradients are products of two slices, at most two.
    fn dense_layers(self) -> impl Iterator<Item = Layer> {
        self.layers().into_iter().skip(if self.is_convolutional() { 2 } else { 0 })
    }

    const fn is_convolutional(self) -> bool {
        matches!(self, Self::CnnTanh | Self::CnnRelu)
    }
}

const fn kind(activation: Activation) -> f64 {
    match activation {
        Activation::Tanh => 1.0,
        Activation::Relu => 2.0,
    }
}

/// A dense layer with the slices that its gradient is the product of.
#[derive(Clone, Copy, Debug)]
struct Dense {
    layer: Layer,
    /// `None`: the example's bytes.
    source: Option<usize>,
    delta: usize,
    scaled: usize,
}

impl Dense {
    fn source_constants(&self) -> [(&'static str, f64); 2] {
        [("BYTES", f64::from(u8::from(self.source.is_none()))), ("SOURCE", self.source.unwrap_or(0) as f64)]
    }
}

/// Builds the passes of one model.
#[derive(Debug)]
pub struct Passes<'a> {
    gpu: &'a Gpu,
    model: Architecture,
    encoding: Encoding,
    /// Whether encoded coordinates are whole steps of a grid.
    exact: bool,
    pub slices: Slices,
}

/// How gradients become a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Plain,
    Clip,
    Envelope,
}

impl<'a> Passes<'a> {
    #[must_use]
    pub fn new(gpu: &'a Gpu, model: Architecture, encoding: Encoding, exact: bool) -> Self {
        Self { gpu, model, encoding, exact, slices: Slices::new(model) }
    }

    fn dispatch(&self, kernel: &Kernel, constants: &[(&'static str, usize)], grid: Grid) -> Dispatch {
        let constants: Constants = constants.iter().map(|&(name, value)| (name, value as f64)).collect();
        self.dispatch_with(kernel, constants, grid)
    }

    fn dispatch_with(&self, kernel: &Kernel, mut constants: Constants, grid: Grid) -> Dispatch {
        constants.push(("STRIDE", self.slices.stride as f64));
        constants.push(("STATUS", self.slices.status as f64));
        constants.push(("EXAMPLE_WORDS", self.model.example_words() as f64));
        constants.push(("FEATURES", f64::from(u8::from(self.model == Architecture::Scattering))));
        Dispatch::new(self.gpu, kernel, &constants, grid)
    }

    fn dense(&self) -> Vec<Dense> {
        let s = &self.slices;
        // Sources and deltas.
        let slices = match self.model {
            Architecture::Linear | Architecture::Scattering => vec![(None, s.delta)],
            Architecture::Mlp => vec![(None, s.hidden_delta), (Some(s.hidden), s.delta)],
            Architecture::CnnTanh | Architecture::CnnRelu => {
                vec![(Some(s.pool2), s.hidden_delta), (Some(s.hidden), s.delta)]
            }
        };
        let place = |((layer, (source, delta)), scaled)| Dense { layer, source, delta, scaled };
        self.model.dense_layers().zip(slices).zip(s.scaled).map(place).collect()
    }

    fn dense_forward(&self, dense: &Dense, target: usize, activation: f64) -> Dispatch {
        let mut constants = vec![
            ("INPUTS", dense.layer.fan_in as f64),
            ("OUTPUTS", dense.layer.outputs as f64),
            ("WEIGHTS", dense.layer.offset as f64),
            ("TARGET", target as f64),
            ("ACTIVATION", activation),
        ];
        constants.extend(dense.source_constants());
        self.dispatch_with(&kernels::DENSE, constants, Grid::Tiles { outputs: dense.layer.outputs as u32 })
    }

    /// From pixels to what the last layer needs. With `floats_at` the inputs are floats in `work` (28×28 pixels or the features there for dense
    /// models; on the padded field, already in its place, for convolutions).
    #[must_use]
    pub fn forward(&self, floats_at: Option<usize>) -> Vec<Dispatch> {
        let s = &self.slices;
        let act = kind(self.model.activation());
        let mut first = self.dense()[0];
        match self.model {
            Architecture::Linear | Architecture::Scattering | Architecture::Mlp => {
                first.source = floats_at;
                let (target, activation) = if self.model.is_linear() { (s.logits, 0.0) } else { (s.hidden, act) };
                vec![self.dense_forward(&first, target, activation)]
            }
            Architecture::CnnTanh | Architecture::CnnRelu => {
                let act_u = act as usize;
                let unpack = self.dispatch(&kernels::UNPACK, &[("PADDED", s.padded)], Grid::Rows(19));
                let mut passes = if floats_at.is_none() { vec![unpack] } else { vec![] };
                passes.extend([
                    self.dispatch(
                        &kernels::CONV1,
                        &[("PADDED", s.padded), ("TARGET", s.act1), ("ACTIVATION", act_u)],
                        Grid::Flat { per_example: 49, workgroup: 64 },
                    ),
                    self.pool(16, 14, s.act1, s.pool1, s.codes1),
                    self.dispatch(
                        &kernels::CONV2,
                        &[
                            ("SOURCE", s.pool1),
                            ("TARGET", s.act2),
                            ("WEIGHTS", self.model.layers()[1].offset),
                            ("ACTIVATION", act_u),
                        ],
                        Grid::Flat { per_example: 20, workgroup: 64 },
                    ),
                    self.pool(32, 5, s.act2, s.pool2, s.codes2),
                    self.dense_forward(&first, s.hidden, act),
                ]);
                passes
            }
        }
    }

    fn pool(&self, channels: usize, width: usize, source: usize, target: usize, codes: usize) -> Dispatch {
        self.dispatch(
            &kernels::POOL,
            &[("CHANNELS", channels), ("WIDTH", width), ("SOURCE", source), ("TARGET", target), ("CODES", codes)],
            Grid::Flat { per_example: (channels * (width - 1)) as u32, workgroup: 64 },
        )
    }

    fn unpool(&self, channels: usize, width: usize, source: usize, delta: usize, codes: usize) -> Dispatch {
        self.dispatch(
            &kernels::UNPOOL,
            &[
                ("CHANNELS", channels),
                ("WIDTH", width),
                ("SOURCE", source),
                ("DELTA", delta),
                ("CODES", codes),
                ("ACTIVATION", kind(self.model.activation()) as usize),
            ],
            Grid::Flat { per_example: (channels * width * width) as u32, workgroup: 64 },
        )
    }

    /// Logits (where a hidden layer makes them), softmax and the last deltas.
    #[must_use]
    pub fn head(&self) -> Dispatch {
        let s = &self.slices;
        let last = *self.dense().last().expect("every model ends in a dense layer");
        let hidden = if self.model.is_linear() { 0 } else { last.layer.fan_in };
        self.dispatch(
            &kernels::HEAD,
            &[
                ("HIDDEN", hidden),
                ("HIDDEN_SOURCE", s.hidden),
                ("HIDDEN_DELTA", s.hidden_delta),
                ("WEIGHTS", last.layer.offset),
                ("LOGITS", s.logits),
                ("DELTA", s.delta),
                ("ACTIVATION", kind(self.model.activation()) as usize),
            ],
            Grid::Rows(1),
        )
    }

    /// From the last deltas to all others and the stored gradients.
    #[must_use]
    pub fn backward(&self) -> Vec<Dispatch> {
        if !self.model.is_convolutional() {
            return vec![];
        }
        let s = &self.slices;
        let layers = self.model.layers();
        vec![
            self.dispatch(
                &kernels::DENSE_INPUT_GRADIENT,
                &[
                    ("INPUTS", 512),
                    ("OUTPUTS", 32),
                    ("WEIGHTS", layers[2].offset),
                    ("DELTA", s.hidden_delta),
                    ("TARGET", s.pool2_delta),
                ],
                Grid::Rows(8),
            ),
            self.unpool(32, 5, s.act2, s.pool2_delta, s.codes2),
            self.dispatch(
                &kernels::CONV2_GRADIENT,
                &[("SOURCE", s.pool1), ("DELTA", s.act2), ("TARGET", s.stored + layers[1].offset)],
                Grid::Rows(5),
            ),
            // From here on pool1 holds its own delta, and act1 after that.
            self.dispatch(
                &kernels::CONV2_INPUT_GRADIENT,
                &[("DELTA", s.act2), ("TARGET", s.pool1), ("WEIGHTS", layers[1].offset)],
                Grid::Flat { per_example: 112, workgroup: 64 },
            ),
            self.unpool(16, 14, s.act1, s.pool1, s.codes1),
            self.dispatch(
                &kernels::CONV1_GRADIENT,
                &[("PADDED", s.padded), ("DELTA", s.act1), ("TARGET", s.stored)],
                Grid::Flat { per_example: 48, workgroup: 64 },
            ),
        ]
    }

    /// Norm, finiteness and factor of each example.
    #[must_use]
    pub fn norm(&self) -> Dispatch {
        let s = &self.slices;
        let dense = self.dense();
        let code = match self.encoding {
            Encoding::Plain => 0.0,
            Encoding::Clip => 1.0,
            Encoding::Envelope => 2.0,
        };
        let mut constants: Constants = vec![
            ("ENCODER", code),
            ("STORED", s.stored as f64),
            ("STORED_LENGTH", s.stored_length as f64),
            ("BYTES", f64::from(u8::from(dense[0].source.is_none()))),
        ];
        const NAMES: [[&str; 5]; 2] = [
            ["SOURCE_1", "INPUTS_1", "DELTA_1", "OUTPUTS_1", "SCALED_1"],
            ["SOURCE_2", "INPUTS_2", "DELTA_2", "OUTPUTS_2", "SCALED_2"],
        ];
        for (dense, names) in dense.iter().zip(NAMES) {
            let values =
                [dense.source.unwrap_or(0), dense.layer.fan_in, dense.delta, dense.layer.outputs, dense.scaled];
            constants.extend(names.into_iter().zip(values.map(|v| v as f64)));
        }
        self.dispatch_with(&kernels::NORM, constants, Grid::Rows(1))
    }

    /// For an envelope: the buckets of each example's coordinates, and their bounds. Stored gradients are scaled after this.
    #[must_use]
    pub fn rank(&self) -> Vec<Dispatch> {
        let mut passes = vec![];
        if self.encoding != Encoding::Envelope {
            return passes;
        }
        let s = &self.slices;
        if s.stored_length > 0 {
            passes.push(self.dispatch(
                &kernels::HISTOGRAM_STORED,
                &[("STORED", s.stored), ("STORED_LENGTH", s.stored_length)],
                Grid::Rows(8),
            ));
        }
        for dense in self.dense() {
            let mut constants = vec![
                ("INPUTS", dense.layer.fan_in as f64),
                ("OUTPUTS", dense.layer.outputs as f64),
                ("SCALED", dense.scaled as f64),
            ];
            constants.extend(dense.source_constants());
            let groups = (dense.layer.fan_in as u32 + 1).div_ceil(64);
            passes.push(self.dispatch_with(&kernels::HISTOGRAM_DENSE, constants, Grid::Rows(groups)));
        }
        passes.push(self.dispatch(&kernels::BOUNDS, &[], Grid::Rows(1)));
        passes
    }

    /// Adds the chunk up; `raw` behind the encoded sum in `sums`, as the gradients are before [`Self::rank`].
    #[must_use]
    pub fn accumulate(&self, raw: bool) -> Vec<Dispatch> {
        let s = &self.slices;
        let offset = if raw { 2 * self.model.parameters() } else { 0 };
        let how = [
            ("ENVELOPE", f64::from(u8::from(self.encoding == Encoding::Envelope && !raw))),
            ("EXACT", f64::from(u8::from(self.exact && !raw))),
            ("RAW", f64::from(u8::from(raw))),
            ("SLOT", 4.0 * SLOT as f64),
        ];
        let mut passes = vec![];
        if s.stored_length > 0 {
            let mut constants: Constants =
                vec![("STORED", s.stored as f64), ("STORED_LENGTH", s.stored_length as f64), ("TARGET", offset as f64)];
            constants.extend(how);
            let groups = (s.stored_length as u32).div_ceil(64);
            passes.push(self.dispatch_with(&kernels::ACCUMULATE_STORED, constants, Grid::Fixed(groups)));
        }
        for dense in self.dense() {
            let mut constants: Constants = vec![
                ("INPUTS", dense.layer.fan_in as f64),
                ("OUTPUTS", dense.layer.outputs as f64),
                ("DELTA", dense.delta as f64),
                ("TARGET", (offset + dense.layer.offset) as f64),
                ("SCALED", dense.scaled as f64),
            ];
            constants.extend(dense.source_constants());
            constants.extend(how);
            let tiles = ((dense.layer.fan_in as u32).div_ceil(4) + 1) * (dense.layer.outputs as u32).div_ceil(4);
            passes.push(self.dispatch_with(&kernels::ACCUMULATE_DENSE, constants, Grid::Fixed(tiles.div_ceil(32))));
        }
        passes
    }

    /// Puts the logits of a chunk side by side.
    #[must_use]
    pub fn scores(&self) -> Dispatch {
        let grid = Grid::Flat { per_example: 1, workgroup: 64 };
        self.dispatch(&kernels::SCORES, &[("LOGITS", self.slices.logits)], grid)
    }

    /// Where an example keeps its padded image, if the model has one.
    #[must_use]
    pub fn padded(&self) -> Option<usize> {
        self.model.is_convolutional().then_some(self.slices.padded)
    }
}
