//! Architectures, and the layout of their parameters in one flat vector.

#![warn(missing_docs)]

use hushgrad_message::{Message, ToMessage, word};
use serde::{Deserialize, Serialize};

pub mod cnn;
pub mod extractor;
pub mod features;
mod init;
pub mod kept;
pub mod layers;
mod parts;
pub mod pretrained;
pub mod reference;
mod safetensors;
pub mod scattering;

use self::{
    features::FeatureMap,
    layers::{LayerList, LayersError},
};
use std::sync::Arc;

use crate::{
    data::{Classes, Dataset, Features, Images, Picture, idx::SIDE},
    mechanism::denoise::Planes,
};

pub use crate::data::idx::PIXELS;
pub use init::{glorot, initial_parameters};
pub use parts::{Activation, CLASSES, Layer};
pub use safetensors::safetensors;

/// Number of hidden units of the [`Architecture::Mlp`].
pub const MLP_HIDDEN: usize = 128;

/// Converts a pixel to [0, 1], bitwise equal on all engines, as a feature's byte may depend on it.
#[inline(always)]
#[must_use]
pub fn pixel(byte: u8) -> f32 {
    f32::from(byte) * (1.0 / 255.0)
}

/// A trainable model on pixels, or features of them, in f32, with softmax cross-entropy loss.
///
/// Flat parameter order: layer by layer, weights `[out][in…]` row-major, then biases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// 784 → 10: 7,850 parameters.
    Linear,
    /// [`scattering`] features → 10: 3,969 → 10, 39,700 parameters. Tramèr & Boneh 2021.
    Scattering,
    /// 784 → 128 → 10 with tanh: 101,770 parameters.
    Mlp,
    /// Conv 16@8×8/2 pad 3 → tanh → max-pool 2×2/1 → conv 32@4×4/2 → tanh → max-pool 2×2/1 →
    /// dense 32 → tanh → dense 10 (stride: /n), 26,010 parameters. Tempered: Papernot et al. 2021.
    CnnTanh,
    /// The same CNN with ReLU: the model of Nasr, Shokri & Houmansadr 2020.
    CnnRelu,
    /// A user-built list of layers.
    Built(LayerList),
}

hushgrad_message::display!(Architecture);

impl ToMessage for Architecture {
    fn to_message(&self) -> Message {
        match self {
            Self::Linear => word!("linear model"),
            Self::Scattering => word!("linear model on scattering features"),
            Self::Mlp => word!("multilayer perceptron (tanh)"),
            Self::CnnTanh => word!("CNN (tanh)"),
            Self::CnnRelu => word!("CNN (ReLU)"),
            Self::Built(list) => return Message::text(list),
        }
        .into()
    }
}

impl Architecture {
    /// All named architectures.
    pub const ALL: [Self; 5] = [Self::Linear, Self::Scattering, Self::Mlp, Self::CnnTanh, Self::CnnRelu];

    /// Returns the number of inputs: pixels in [0, 1], or feature values ([`scattering::value`]).
    #[must_use]
    pub const fn inputs(self) -> usize {
        match self.features() {
            Some(features) => features.len(),
            None => self.picture().pixels(),
        }
    }

    /// Returns the fixed features that replace pixels, if any.
    #[must_use]
    pub const fn features(self) -> Option<FeatureMap> {
        match self {
            Self::Scattering => Some(FeatureMap::DIGITS),
            Self::Built(list) => list.features(),
            _ => None,
        }
    }

    /// Returns the images that the model reads.
    #[must_use]
    pub const fn picture(self) -> Picture {
        match self {
            Self::Built(list) => list.picture(),
            _ => Picture::DIGIT,
        }
    }

    /// Returns the number of classes.
    #[must_use]
    pub fn classes(self) -> usize {
        match self {
            Self::Built(list) => list.classes(),
            _ => CLASSES,
        }
    }

    /// True if the model reads images of this size and has this number of classes.
    #[must_use]
    pub fn fits(self, picture: Picture, classes: usize) -> bool {
        self.picture() == picture && self.classes() == classes
    }

    /// Builds an unnamed data set of this model's images and classes.
    #[must_use]
    pub fn dataset(self, images: impl Into<Images>, labels: impl Into<Arc<[u8]>>) -> Dataset {
        // Cannot fail: every list has a valid number of classes.
        let classes = Classes::numbered(self.classes()).unwrap_or(const { Classes::digits() });
        Dataset::of("", self.picture(), classes, images, labels)
    }

    /// Returns the features computed for the first images of `data`; empty for a model on pixels.
    #[must_use]
    pub fn known<'a>(self, features: &'a Features, data: &Dataset) -> &'a [u8] {
        self.features().map_or(&[], |map| features.of(data, map.kind))
    }

    /// Returns the same model for other images and classes, as a named model if it equals one.
    ///
    /// # Errors
    /// [`LayersError`] when the layers do not fit such images, or are too large.
    pub fn fitted(self, picture: Picture, classes: usize) -> Result<Self, LayersError> {
        if self.fits(picture, classes) {
            return Ok(self);
        }
        let list = match self {
            Self::Built(list) => list,
            named => named.written().parse()?,
        };
        let list = list.fitted(picture, classes)?;
        let named =
            Self::ALL.into_iter().find(|named| named.fits(picture, classes) && named.written() == list.to_string());
        Ok(named.unwrap_or(Self::Built(list)))
    }

    /// Returns the activation between layers; irrelevant for a single layer.
    #[must_use]
    pub const fn activation(self) -> Activation {
        match self {
            Self::CnnRelu => Activation::Relu,
            _ => Activation::Tanh,
        }
    }

    /// Returns the first layer's weights for pixels, per unit and channel; `None` on features.
    #[must_use]
    pub fn planes(self) -> Option<Planes> {
        let (count, side) = match self {
            Self::Linear => (CLASSES, SIDE as usize),
            Self::Mlp => (MLP_HIDDEN, SIDE as usize),
            Self::CnnTanh | Self::CnnRelu => (cnn::CHANNELS1, cnn::CONV1.kernel),
            Self::Scattering => return None,
            Self::Built(list) => return list.planes(),
        };
        Some(Planes { offset: 0, count, side })
    }

    /// Returns the layers in flat order.
    #[must_use]
    pub fn layers(self) -> Vec<Layer> {
        if let Self::Built(list) = self {
            return list.placed().into_iter().filter_map(|placed| placed.layer).collect();
        }
        let shapes: &[(&'static str, usize, usize, usize)] = match self {
            Self::Linear | Self::Scattering => &[("dense", CLASSES, self.inputs(), CLASSES)],
            Self::Mlp => &[("dense1", MLP_HIDDEN, PIXELS, MLP_HIDDEN), ("dense2", CLASSES, MLP_HIDDEN, CLASSES)],
            Self::CnnTanh | Self::CnnRelu => &[
                ("conv1", cnn::CHANNELS1, cnn::CONV1.taps(), cnn::CHANNELS1 * cnn::CONV1.taps()),
                ("conv2", cnn::CHANNELS2, cnn::CHANNELS1 * cnn::CONV2.taps(), cnn::CHANNELS2 * cnn::CONV2.taps()),
                ("dense1", cnn::HIDDEN, cnn::FLAT, cnn::HIDDEN),
                ("dense2", CLASSES, cnn::HIDDEN, CLASSES),
            ],
            Self::Built(_) => &[],
        };
        let mut offset = 0;
        shapes
            .iter()
            .map(|&(name, outputs, fan_in, fan_out)| {
                let layer = Layer { name, offset, outputs, fan_in, fan_out, scales: false };
                offset += outputs * (fan_in + 1);
                layer
            })
            .collect()
    }

    /// Returns the number of parameters of each layer.
    #[must_use]
    pub fn lengths(self) -> Vec<usize> {
        self.layers().iter().map(|layer| layer.outputs * (layer.fan_in + 1)).collect()
    }

    /// Returns the architecture as a list of layers.
    #[must_use]
    pub fn written(self) -> String {
        match self {
            Self::Linear => "dense 10".to_owned(),
            Self::Scattering => "scattering, dense 10".to_owned(),
            Self::Mlp => "dense 128, tanh, dense 10".to_owned(),
            Self::CnnTanh | Self::CnnRelu => {
                let f = if self == Self::CnnTanh { "tanh" } else { "relu" };
                format!(
                    "conv 16 8x8/2 same, {f}, maxpool 2/1, conv 32 4x4/2, {f}, maxpool 2/1, dense 32, {f}, dense 10"
                )
            }
            Self::Built(list) => list.to_string(),
        }
    }

    /// True for a model with a name, false for a list of layers.
    #[must_use]
    pub const fn is_named(self) -> bool {
        !matches!(self, Self::Built(_))
    }

    /// Returns P, the length of the flat parameter vector.
    #[must_use]
    pub fn parameters(self) -> usize {
        self.layers().iter().map(|l| l.outputs * (l.fan_in + 1)).sum()
    }
}
