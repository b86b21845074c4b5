//! Building blocks of networks: activations, and layers with their offsets in the flat vector.

use core::ops::Range;

use serde::{Deserialize, Serialize};

/// Number of classes of the named models: the digits.
pub const CLASSES: usize = 10;

/// An activation function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// tanh x.
    Tanh,
    /// max(0, x).
    Relu,
    /// x, or eˣ − 1 if x < 0.
    Elu,
    /// 1/(1 + e⁻ˣ).
    Sigmoid,
    /// s/(1 + e^(−T·x)) − o; each in hundredths.
    Tempered {
        /// s.
        scale: u16,
        /// T.
        inverse_temperature: u16,
        /// o.
        offset: u16,
    },
}

impl Activation {
    /// Returns s, T and o of an activation of the form s/(1 + e^(−T·x)) − o.
    #[must_use]
    pub fn logistic(self) -> Option<[f64; 3]> {
        match self {
            Self::Sigmoid => Some([1.0, 1.0, 0.0]),
            Self::Tempered { scale, inverse_temperature, offset } => {
                Some([scale, inverse_temperature, offset].map(|hundredths| f64::from(hundredths) / 100.0))
            }
            Self::Tanh | Self::Relu | Self::Elu => None,
        }
    }
}

/// One weight matrix (or convolution kernel) and its bias in the flat vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its name in files, such as `conv1`.
    pub name: &'static str,
    /// First weight in the flat vector; the biases follow the weights.
    pub offset: usize,
    /// Rows: output units or channels. Also the number of biases.
    pub outputs: usize,
    /// Columns: inputs of a unit (of a convolution: input channels × kernel height × width).
    pub fan_in: usize,
    /// Fan-out as Glorot counts it (for a convolution: output channels × kernel area).
    pub fan_out: usize,
    /// True if weights scale normalised values, and so start at 1.
    pub scales: bool,
}

impl Layer {
    /// Range of the weights in the flat vector: `outputs × fan_in`, row by row.
    #[must_use]
    pub const fn weights(&self) -> Range<usize> {
        self.offset..self.offset + self.outputs * self.fan_in
    }

    /// Range of the biases in the flat vector.
    #[must_use]
    pub const fn biases(&self) -> Range<usize> {
        let start = self.offset + self.outputs * self.fan_in;
        start..start + self.outputs
    }
}
