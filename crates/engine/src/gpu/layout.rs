//! What lies where in the buffers of a run, in words.

use crate::{
    mechanism::layers::MOST_LAYERS,
    model::{
        Architecture, CLASSES, Layer, MLP_HIDDEN, PIXELS,
        cnn::{self, CHANNELS1, CHANNELS2, CONV1, CONV2, FLAT, POOLED1, POOLED2},
        scattering::FEATURES,
    },
};

/// Words of one example's image: 196 of pixels, one of label.
pub const EXAMPLE_WORDS: usize = PIXELS / 4 + 1;
/// `HISTOGRAMS` of common.wgsl: counters before the first histogram.
pub const COUNTERS: usize = 128;
/// `WITHIN` of common.wgsl and those after it: where the counts of a step begin among the counters, and how many they are.
pub const COUNTS_AT: usize = 1;
pub const COUNTS: usize = 2 + CLASSES;
/// Of `Run` in common.wgsl, and of `Release` in release.wgsl.
pub const RUN_BYTES: u64 = 144;
pub const RELEASE_BYTES: u64 = 160;
/// `BUCKETS` of common.wgsl.
pub const BUCKETS: usize = crate::mechanism::encode::BUCKETS;

/// Layers with parameters, at most.
pub(super) const LAYERS: usize = MOST_LAYERS;
/// As many as kernels take without more words: named models have no more.
pub(super) const FEW_LAYERS: usize = 4;

/// Floats of [`Slices::status`].
#[must_use]
pub fn status_words(model: Architecture) -> usize {
    1 + if model.layers().len() > FEW_LAYERS { LAYERS } else { FEW_LAYERS }
}

/// Bytes of an example's logits, of which a chunk's follow the counters when they are read.
#[must_use]
pub fn score_bytes(model: Architecture) -> u64 {
    4 * model.classes() as u64
}

/// Codes of pool.wgsl in a float.
const CODES: usize = 7;
/// Words of an example of features, a byte each, and its label.
pub const FEATURE_WORDS: usize = FEATURES.div_ceil(4) + 1;

/// How gradients become a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Plain,
    Clip,
    Envelope,
    /// A clip for each layer.
    Layers,
}

/// Where in `work` an example keeps what. Unused slices have length 0.
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
    /// Dense layers' deltas times an example's factor, the first layer's and the second's.
    pub scaled: [usize; 2],
    /// Whether an example is finite, and the factors of as many layers as there may be.
    pub status: usize,
    pub stored: usize,
    /// Gradients that are written out: coordinates of one range, which begins at `stored_from`. The convolutions' are the first.
    pub stored_from: usize,
    pub stored_length: usize,
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
    /// Of a vector of P coordinates: a unit's, where several examples share one, or a canary's gradient.
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

/// What the device needs to know of a model.
pub(super) trait OnDevice: Copy {
    fn is_linear(self) -> bool;
    /// Words of an example, of which the last is its label.
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
