//! Places and sizes in the buffers of a run, in words.

use crate::{
    mechanism::layers::MOST_LAYERS,
    model::{
        Architecture, CLASSES, Layer, MLP_HIDDEN, PIXELS,
        cnn::{self, CHANNELS1, CHANNELS2, CONV1, CONV2, FLAT, POOLED1, POOLED2},
        scattering::FEATURES,
    },
};

/// Words of an example's image: 196 of pixels, one of label.
pub const EXAMPLE_WORDS: usize = PIXELS / 4 + 1;
/// `HISTOGRAMS` of common.wgsl: counters before the first histogram.
pub const COUNTERS: usize = 128;
/// First of a step's counts among the counters (`WITHIN` of common.wgsl), and their number.
pub const COUNTS_AT: usize = 1;
pub const COUNTS: usize = 2 + CLASSES;
/// Sizes of `Run` in common.wgsl and `Release` in release.wgsl.
pub const RUN_BYTES: u64 = 144;
pub const RELEASE_BYTES: u64 = 160;
/// `BUCKETS` of common.wgsl.
pub const BUCKETS: usize = crate::mechanism::encode::BUCKETS;

/// Most layers with parameters.
pub(super) const LAYERS: usize = MOST_LAYERS;
/// Layers for which kernels need no further words; named models have no more.
pub(super) const FEW_LAYERS: usize = 4;

/// Floats of [`Slices::status`].
#[must_use]
pub fn status_words(model: Architecture) -> usize {
    1 + if model.layers().len() > FEW_LAYERS { LAYERS } else { FEW_LAYERS }
}

/// Bytes of an example's logits; those of a chunk follow the counters when they are read.
#[must_use]
pub fn score_bytes(model: Architecture) -> u64 {
    4 * model.classes() as u64
}

/// Codes of pool.wgsl per float.
const CODES: usize = 7;
/// Words of an example of features, one byte each, and its label.
pub const FEATURE_WORDS: usize = FEATURES.div_ceil(4) + 1;

/// How gradients are bounded before they are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Plain,
    Clip,
    Envelope,
    /// A clip for each layer.
    Layers,
}

/// Places of an example's slices in `work`. Unused slices have length 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slices {
    pub padded: usize,
    pub act1: usize,
    pub pool1: usize,
    pub codes1: usize,
    pub act2: usize,
    pub pool2: usize,
    pub codes2: usize,
    pub pool2_delta: usize,
    pub hidden: usize,
    pub hidden_delta: usize,
    pub logits: usize,
    pub delta: usize,
    /// Deltas of the first and second dense layer, times the example's factor.
    pub scaled: [usize; 2],
    /// Whether an example is finite, and a factor for each possible layer.
    pub status: usize,
    pub stored: usize,
    /// Gradients that are written out: one range of coordinates, from `stored_from` on. The
    /// convolutions' are first.
    pub stored_from: usize,
    pub stored_length: usize,
    /// Floats per example.
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
            slices.padded = take(CONV1.padded_side().pow(2));
            slices.act1 = take(CHANNELS1 * CONV1.output_side().pow(2));
            slices.pool1 = take(CHANNELS1 * POOLED1 * POOLED1);
            slices.codes1 = take(CHANNELS1 * POOLED1 * POOLED1.div_ceil(CODES));
            slices.act2 = take(CHANNELS2 * CONV2.output_side().pow(2));
            slices.pool2 = take(FLAT);
            slices.codes2 = take(CHANNELS2 * POOLED2 * POOLED2.div_ceil(CODES));
            slices.pool2_delta = take(FLAT);
            slices.stored_length = model.layers()[..2].iter().map(|l| l.outputs * (l.fan_in + 1)).sum();
            slices.stored = take(slices.stored_length);
        }
        if !model.is_linear() {
            let hidden = if model == Architecture::Mlp { MLP_HIDDEN } else { cnn::HIDDEN };
            slices.hidden = take(hidden);
            slices.hidden_delta = take(hidden);
        }
        slices.logits = take(CLASSES);
        slices.delta = take(CLASSES);
        for (scaled, layer) in slices.scaled.iter_mut().zip(model.dense_layers()) {
            *scaled = take(layer.outputs);
        }
        slices.status = take(status_words(model));
        slices.stride = next.next_multiple_of(4);
        slices
    }
}

impl Slices {
    /// Layout of a vector of P coordinates: of a unit of several examples, or of a canary.
    #[must_use]
    pub fn of_vectors(model: Architecture) -> Self {
        let parameters = model.parameters();
        Self {
            stored_length: parameters,
            status: parameters,
            stride: (parameters + status_words(model)).next_multiple_of(4),
            ..Self::default()
        }
    }
}

/// Properties of a model that the device needs.
pub(super) trait OnDevice: Copy {
    fn is_linear(self) -> bool;
    /// Words of an example; the last is its label.
    fn example_words(self) -> usize;
    /// Layers whose gradients are products of two slices, at most two.
    fn dense_layers(self) -> impl Iterator<Item = Layer>;
    fn is_convolutional(self) -> bool;
}

impl OnDevice for Architecture {
    fn is_linear(self) -> bool {
        matches!(self, Self::Linear | Self::Scattering)
    }

    fn example_words(self) -> usize {
        match self {
            Self::Scattering => FEATURE_WORDS,
            Self::Built(_) => self.inputs().div_ceil(4) + 1,
            _ => EXAMPLE_WORDS,
        }
    }

    fn dense_layers(self) -> impl Iterator<Item = Layer> {
        self.layers().into_iter().skip(if self.is_convolutional() { 2 } else { 0 })
    }

    fn is_convolutional(self) -> bool {
        matches!(self, Self::CnnTanh | Self::CnnRelu)
    }
}
