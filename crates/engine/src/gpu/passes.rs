//! The kernels that a model runs over a chunk, with their constants and workgroups: built once,
//! replayed every step.

use super::{
    buffers::LARGEST_CHUNK,
    built::{Built, Product},
    device::Gpu,
    dispatch::{Constants, Dispatch, Workgroups},
    kernels::{self, Kernel},
    layout::{Encoding, FEW_LAYERS, LAYERS, OnDevice as _, Slices},
};
use crate::{
    Task,
    mechanism::{canaries::Canaries, counts::Counting, exact_sum::SLOT},
    model::{
        Activation, Architecture, Layer,
        cnn::{CHANNELS1, CHANNELS2, CONV1, CONV2, FLAT, HIDDEN, POOLED1},
    },
};

/// Examples that an invocation of a graphics card sums.
const SLICE: u32 = 8;

/// Squares that norm.wgsl sums at a time if there may be a million: 2^7 + 2^7 roundings of 2^-24
/// are below a quarter of the clip's margin.
const BLOCK: f64 = 128.0;

const fn kind(activation: Activation) -> f64 {
    match activation {
        Activation::Relu => 2.0,
        // Named models have no others.
        _ => 1.0,
    }
}

/// A dense layer with the slices whose product is its gradient.
#[derive(Clone, Copy, Debug)]
struct Dense {
    layer: Layer,
    /// `None`: the example's bytes.
    source: Option<usize>,
    delta: usize,
    scaled: usize,
}

/// Constants of kernels on stored gradients: the ends of their layers.
fn stored_ends(ends: [usize; LAYERS - 1]) -> impl Iterator<Item = (&'static str, f64)> {
    const NAMES: [&str; LAYERS - 1] = [
        "FIRST_STORED",
        "SECOND_STORED",
        "THIRD_STORED",
        "FOURTH_STORED",
        "FIFTH_STORED",
        "SIXTH_STORED",
        "SEVENTH_STORED",
    ];
    NAMES.into_iter().zip(ends.map(|end| end as f64))
}

impl Dense {
    fn source_constants(&self) -> [(&'static str, f64); 2] {
        [("BYTES", f64::from(u8::from(self.source.is_none()))), ("SOURCE", self.source.unwrap_or(0) as f64)]
    }
}

/// Builds the passes of one model.
#[derive(Clone, Debug)]
pub struct Passes<'a> {
    gpu: &'a Gpu,
    model: Architecture,
    encoding: Encoding,
    /// Whether encoded coordinates are whole steps of a grid.
    exact: bool,
    counting: Counting,
    /// Set for a built network.
    built: Option<Built>,
    pub slices: Slices,
    /// Layout of vectors of P coordinates, if these are bounded instead of examples' gradients:
    /// vectors of units of several examples, or canaries.
    pub vectors: Option<Slices>,
}

/// What is bounded and summed: gradients of examples, or vectors of units.
#[derive(Debug)]
struct Bounded {
    slices: Slices,
    dense: Vec<Dense>,
    /// Ends of the first stored layers, and whether there are more than a few.
    ends: [usize; LAYERS - 1],
    many: bool,
}

impl<'a> Passes<'a> {
    #[must_use]
    pub fn new(gpu: &'a Gpu, task: &Task, encoding: Encoding, exact: bool) -> Self {
        let (model, counting) = (task.model, task.counting);
        let vectors = task.sharing.is_shared().then(|| Slices::of_vectors(model));
        let built = if let Architecture::Built(list) = model {
            Some(Built::new(list, encoding == Encoding::Layers))
        } else {
            None
        };
        let slices = built.as_ref().map_or_else(|| Slices::new(model), |built| built.slices);
        Self { gpu, model, encoding, exact, counting, built, slices, vectors }
    }

    /// The same passes over canaries' gradients.
    #[must_use]
    pub fn of_canaries(&self) -> Self {
        Self { vectors: Some(Slices::of_vectors(self.model)), ..self.clone() }
    }

    fn bounded(&self) -> Bounded {
        let dense = if self.vectors.is_some() { Vec::new() } else { self.dense() };
        let slices = self.vectors.unwrap_or(self.slices);
        let by_layers = self.encoding == Encoding::Layers;
        let many = by_layers && self.model.layers().len() > FEW_LAYERS;
        // One bound for a vector, or a built network's gradient, makes the stored part one layer.
        let one = !by_layers && (self.vectors.is_some() || self.built.is_some());
        let ends = if one { [slices.stored_length; _] } else { self.ends(&slices) };
        Bounded { slices, dense, ends, many }
    }

    /// Ends of the model's first layers in the stored part, limited to its end.
    fn ends(&self, slices: &Slices) -> [usize; LAYERS - 1] {
        let lengths = self.model.lengths();
        std::array::from_fn(|layer| lengths.iter().take(layer + 1).sum::<usize>().min(slices.stored_length))
    }

    fn dispatch(&self, kernel: &Kernel, constants: &[(&'static str, usize)], workgroups: Workgroups) -> Dispatch {
        let constants: Constants = constants.iter().map(|&(name, value)| (name, value as f64)).collect();
        self.dispatch_with(kernel, constants, workgroups)
    }

    fn dispatch_with(&self, kernel: &Kernel, constants: Constants, workgroups: Workgroups) -> Dispatch {
        self.dispatch_on(&self.slices, kernel, constants, workgroups)
    }

    /// Builds a dispatch with `work` divided into `slices`.
    fn dispatch_on(
        &self,
        slices: &Slices,
        kernel: &Kernel,
        mut constants: Constants,
        workgroups: Workgroups,
    ) -> Dispatch {
        constants.push(("STRIDE", slices.stride as f64));
        constants.push(("STATUS", slices.status as f64));
        constants.push(("EXAMPLE_WORDS", self.model.example_words() as f64));
        constants.push(("CLASSES", self.model.classes() as f64));
        constants.push(("FEATURES", f64::from(u8::from(self.model == Architecture::Scattering))));
        Dispatch::new(self.gpu, kernel, &constants, workgroups)
    }

    /// Builds a kernel that takes the sizes of the CNNs, declared in shared/cnn.wgsl.
    fn convolve(&self, kernel: &Kernel, constants: &[(&'static str, usize)], workgroups: Workgroups) -> Dispatch {
        const SIZES: [(&str, usize); 10] = [
            ("IMAGE", CONV1.side),
            ("FIELD", CONV1.padded_side()),
            ("PADDING", CONV1.padding),
            ("CHANNELS_1", CHANNELS1),
            ("KERNEL_1", CONV1.kernel),
            ("SIDE_1", CONV1.output_side()),
            ("POOLED_1", POOLED1),
            ("CHANNELS_2", CHANNELS2),
            ("KERNEL_2", CONV2.kernel),
            ("SIDE_2", CONV2.output_side()),
        ];
        self.dispatch(kernel, &[constants, &SIZES].concat(), workgroups)
    }

    fn dense(&self) -> Vec<Dense> {
        let s = &self.slices;
        if let Some(built) = &self.built {
            let place = |(Product { layer, source, delta }, scaled)| Dense { layer, source, delta, scaled };
            return built.products().zip(s.scaled).map(place).collect();
        }
        // Sources and deltas.
        let slices = match self.model {
            Architecture::Linear | Architecture::Scattering => vec![(None, s.delta)],
            Architecture::Mlp => vec![(None, s.hidden_delta), (Some(s.hidden), s.delta)],
            // Returned above.
            Architecture::Built(_) => vec![],
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
        self.dispatch_with(&kernels::DENSE, constants, Workgroups::Tiles { outputs: dense.layer.outputs as u32 })
    }

    /// From pixels to what the last layer needs. With `floats_at` the inputs are floats in `work`:
    /// for dense models 28×28 pixels or the features at that place; for convolutions on the padded
    /// field, already in place; for built networks in their own place.
    #[must_use]
    pub fn forward(&self, floats_at: Option<usize>) -> Vec<Dispatch> {
        if let Some(built) = &self.built {
            return built
                .forward(&|kernel, constants, size| self.dispatch_with(kernel, constants, size), floats_at.is_some());
        }
        let s = &self.slices;
        let act = kind(self.model.activation());
        let Some(mut first) = self.dense().first().copied() else { return vec![] };
        match self.model {
            Architecture::Built(_) => vec![],
            Architecture::Linear | Architecture::Scattering | Architecture::Mlp => {
                first.source = floats_at;
                let (target, activation) = if self.model.is_linear() { (s.logits, 0.0) } else { (s.hidden, act) };
                vec![self.dense_forward(&first, target, activation)]
            }
            Architecture::CnnTanh | Architecture::CnnRelu => {
                let act_u = act as usize;
                let cells = CONV1.padded_side().pow(2) as u32;
                let (side1, side2) = (CONV1.output_side(), CONV2.output_side());
                let area1 = side1 * side1;
                let unpack =
                    self.convolve(&kernels::UNPACK, &[("PADDED", s.padded)], Workgroups::Rows(cells.div_ceil(64)));
                let mut passes = if floats_at.is_none() { vec![unpack] } else { vec![] };
                passes.extend([
                    self.convolve(
                        &kernels::CONV1,
                        &[("PADDED", s.padded), ("TARGET", s.act1), ("ACTIVATION", act_u)],
                        Workgroups::Flat { per_example: (area1 / 4) as u32, workgroup: 64 },
                    ),
                    self.pool(CHANNELS1, side1, s.act1, s.pool1, s.codes1),
                    self.convolve(
                        &kernels::CONV2,
                        &[
                            ("SOURCE", s.pool1),
                            ("TARGET", s.act2),
                            ("WEIGHTS", self.model.layers()[1].offset),
                            ("ACTIVATION", act_u),
                        ],
                        Workgroups::Flat { per_example: (CHANNELS2 / 8 * side2) as u32, workgroup: 64 },
                    ),
                    self.pool(CHANNELS2, side2, s.act2, s.pool2, s.codes2),
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
            Workgroups::Flat { per_example: (channels * (width - 1)) as u32, workgroup: 64 },
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
            Workgroups::Flat { per_example: (channels * width * width) as u32, workgroup: 64 },
        )
    }

    /// Logits (if there is a hidden layer), softmax and the last deltas.
    #[must_use]
    pub fn head(&self) -> Dispatch {
        if let Some(built) = &self.built {
            return built.head(&|kernel, constants, size| self.dispatch_with(kernel, constants, size));
        }
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
            Workgroups::Rows(1),
        )
    }

    /// From the last deltas to all others and the stored gradients.
    #[must_use]
    pub fn backward(&self) -> Vec<Dispatch> {
        if let Some(built) = &self.built {
            return built.backward(&|kernel, constants, size| self.dispatch_with(kernel, constants, size));
        }
        if !self.model.is_convolutional() {
            return vec![];
        }
        let s = &self.slices;
        let layers = self.model.layers();
        let (side1, side2) = (CONV1.output_side(), CONV2.output_side());
        vec![
            self.dispatch(
                &kernels::DENSE_INPUT_GRADIENT,
                &[
                    ("INPUTS", FLAT),
                    ("OUTPUTS", HIDDEN),
                    ("WEIGHTS", layers[2].offset),
                    ("DELTA", s.hidden_delta),
                    ("TARGET", s.pool2_delta),
                ],
                Workgroups::Rows(FLAT.div_ceil(64) as u32),
            ),
            self.unpool(CHANNELS2, side2, s.act2, s.pool2_delta, s.codes2),
            self.convolve(
                &kernels::CONV2_GRADIENT,
                &[("SOURCE", s.pool1), ("DELTA", s.act2), ("TARGET", s.stored + layers[1].offset)],
                // Rows of taps by eight channels, then biases.
                Workgroups::Rows((CHANNELS1 * CONV2.kernel * CHANNELS2 / 8 + CHANNELS2).div_ceil(64) as u32),
            ),
            // Overwrites pool1 with its delta; the next pass does so with act1.
            self.convolve(
                &kernels::CONV2_INPUT_GRADIENT,
                &[("DELTA", s.act2), ("TARGET", s.pool1), ("WEIGHTS", layers[1].offset)],
                Workgroups::Flat { per_example: (CHANNELS1 * POOLED1.div_ceil(2)) as u32, workgroup: 64 },
            ),
            self.unpool(CHANNELS1, side1, s.act1, s.pool1, s.codes1),
            self.convolve(
                &kernels::CONV1_GRADIENT,
                &[("PADDED", s.padded), ("DELTA", s.act1), ("TARGET", s.stored)],
                Workgroups::Flat { per_example: (CONV1.kernel * CHANNELS1 / 4 + CHANNELS1) as u32, workgroup: 64 },
            ),
        ]
    }

    /// From a chunk's gradients to the vectors of a block of units, if examples share vectors.
    #[must_use]
    pub fn gather(&self) -> Vec<Dispatch> {
        let Some(vectors) = self.vectors else { return vec![] };
        let s = &self.slices;
        let part = |target: usize, length: usize, more: &[(&'static str, f64)]| {
            let mut constants: Constants = vec![
                ("LENGTH", length as f64),
                ("TARGET", target as f64),
                ("VECTOR_STRIDE", vectors.stride as f64),
                ("VECTOR_STATUS", vectors.status as f64),
            ];
            constants.extend(more);
            self.dispatch_with(&kernels::GATHER, constants, Workgroups::Rows(length.div_ceil(64) as u32))
        };
        let mut passes = vec![];
        if s.stored_length > 0 {
            passes.push(part(s.stored_from, s.stored_length, &[("DENSE", 0.0), ("STORED", s.stored as f64)]));
        }
        for dense in self.dense() {
            let Layer { fan_in, outputs, offset, .. } = dense.layer;
            let mut constants = vec![
                ("DENSE", 1.0),
                ("INPUTS", fan_in as f64),
                ("OUTPUTS", outputs as f64),
                ("DELTA", dense.delta as f64),
            ];
            constants.extend(dense.source_constants());
            passes.push(part(offset, outputs * (fan_in + 1), &constants));
        }
        passes
    }

    /// Canaries' gradients, if these are what is bounded.
    #[must_use]
    pub fn plant(&self, canaries: &Canaries) -> Option<Dispatch> {
        let vectors = self.vectors.as_ref()?;
        let (each, values) = (canaries.each(), canaries.len() * canaries.each());
        let constants = vec![("EACH", each as f64), ("VALUES", values as f64)];
        Some(self.dispatch_on(vectors, &kernels::PLANT, constants, Workgroups::Rows(each.div_ceil(64) as u32)))
    }

    /// Norm, finiteness and factor of each example, and its contribution to the counts; vectors
    /// count norms only.
    #[must_use]
    pub fn norm(&self) -> Dispatch {
        let Bounded { slices: s, dense, ends, many } = self.bounded();
        let code = match self.encoding {
            Encoding::Plain => 0.0,
            Encoding::Clip => 1.0,
            Encoding::Envelope => 2.0,
            Encoding::Layers => 3.0,
        };
        let mut constants: Constants = vec![
            ("ENCODER", code),
            ("STORED", s.stored as f64),
            ("STORED_LENGTH", s.stored_length as f64),
            ("BYTES", f64::from(u8::from(dense.first().is_some_and(|dense| dense.source.is_none())))),
            ("COUNTED", f64::from(u8::from(!self.counting.is_none()))),
            ("ANSWERS", f64::from(u8::from(self.counting.answers.is_some() && self.vectors.is_none()))),
            ("LOGITS", s.logits as f64),
        ];
        constants.extend(stored_ends(ends));
        constants.push(("MANY", f64::from(u8::from(many))));
        if self.built.is_some() {
            constants.push(("BLOCK", BLOCK));
        }
        const NAMES: [[&str; 5]; 2] = [
            ["SOURCE_1", "INPUTS_1", "DELTA_1", "OUTPUTS_1", "SCALED_1"],
            ["SOURCE_2", "INPUTS_2", "DELTA_2", "OUTPUTS_2", "SCALED_2"],
        ];
        for (dense, names) in dense.iter().zip(NAMES) {
            let values =
                [dense.source.unwrap_or(0), dense.layer.fan_in, dense.delta, dense.layer.outputs, dense.scaled];
            constants.extend(names.into_iter().zip(values.map(|v| v as f64)));
        }
        self.dispatch_on(&s, &kernels::NORM, constants, Workgroups::Rows(1))
    }

    /// For an envelope: buckets of each example's coordinates, and their bounds. Scales what is
    /// stored.
    #[must_use]
    pub fn rank(&self) -> Vec<Dispatch> {
        let mut passes = vec![];
        if self.encoding != Encoding::Envelope {
            return passes;
        }
        let Bounded { slices: s, dense, .. } = self.bounded();
        if s.stored_length > 0 {
            let constants = vec![("STORED", s.stored as f64), ("STORED_LENGTH", s.stored_length as f64)];
            passes.push(self.dispatch_on(&s, &kernels::HISTOGRAM_STORED, constants, Workgroups::Rows(8)));
        }
        for dense in dense {
            let mut constants = vec![
                ("INPUTS", dense.layer.fan_in as f64),
                ("OUTPUTS", dense.layer.outputs as f64),
                ("SCALED", dense.scaled as f64),
            ];
            constants.extend(dense.source_constants());
            let groups = (dense.layer.fan_in as u32 + 1).div_ceil(64);
            passes.push(self.dispatch_on(&s, &kernels::HISTOGRAM_DENSE, constants, Workgroups::Rows(groups)));
        }
        passes.push(self.dispatch_on(&s, &kernels::BOUNDS, vec![], Workgroups::Rows(1)));
        passes
    }

    /// Sums the chunk; `raw` after the encoded sum in `sums`, and to be run before [`Self::rank`].
    #[must_use]
    pub fn accumulate(&self, raw: bool) -> Vec<Dispatch> {
        let Bounded { slices: s, dense, ends, many } = self.bounded();
        let offset = if raw { 2 * self.model.parameters() } else { 0 };
        let exact = self.exact && !raw;
        // Whole steps may be summed in any order. A graphics card has thousands of threads; a
        // processor has few, for which slices only cost.
        let slice = match (exact, self.gpu.report().software) {
            (true, false) => SLICE,
            (true, true) => 4 * SLOT as u32,
            (false, _) => LARGEST_CHUNK,
        };
        let workgroups = |groups| Workgroups::Slices { groups, examples: slice };
        let how = [
            ("SLICE", slice.into()),
            ("ENVELOPE", f64::from(u8::from(self.encoding == Encoding::Envelope && !raw))),
            ("EXACT", f64::from(u8::from(exact))),
            ("RAW", f64::from(u8::from(raw))),
            ("SLOT", 4.0 * SLOT as f64),
        ];
        let mut passes = vec![];
        if s.stored_length > 0 {
            let mut constants: Constants = vec![
                ("STORED", s.stored as f64),
                ("STORED_LENGTH", s.stored_length as f64),
                ("TARGET", (offset + s.stored_from) as f64),
            ];
            constants.extend(stored_ends(ends));
            constants.push(("MANY", f64::from(u8::from(many))));
            constants.extend(how);
            let groups = (s.stored_length as u32).div_ceil(64);
            passes.push(self.dispatch_on(&s, &kernels::ACCUMULATE_STORED, constants, workgroups(groups)));
        }
        for dense in dense {
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
            passes.push(self.dispatch_on(&s, &kernels::ACCUMULATE_DENSE, constants, workgroups(tiles.div_ceil(32))));
        }
        passes
    }

    /// Copies the logits of a chunk to consecutive places.
    #[must_use]
    pub fn scores(&self) -> Dispatch {
        let workgroups = Workgroups::Flat { per_example: 1, workgroup: 64 };
        self.dispatch(&kernels::SCORES, &[("LOGITS", self.slices.logits)], workgroups)
    }

    /// Where an example's image is kept, padded or not, if the model keeps one.
    #[must_use]
    pub fn inputs_at(&self) -> Option<usize> {
        let built = self.built.as_ref().map(Built::image);
        built.or_else(|| self.model.is_convolutional().then_some(self.slices.padded))
    }
}
