//! What Python scripts of the other libraries say in common.

use hushgrad_message::{Message, message, word};

use super::{dp_event::multiplier, python::float};
use crate::{decimal::upper, error::PrivacyError, ledger::Ledger, sampling::Sampling};

/// A run, to be written as a script.
#[derive(Clone, Debug)]
pub struct Script<'a> {
    /// The run's releases.
    pub ledger: &'a Ledger,
    /// δ of the ε that the script prints.
    pub delta: f64,
    /// ε by this crate, which the script prints beside its own.
    pub epsilon: f64,
    /// What it trains; `None`: it only computes ε.
    pub training: Option<Training>,
}

/// What a run trains: plain SGD with clipped gradients, softmax cross-entropy, and an update by the
/// noisy sum over the expected lot.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// Number of training images.
    pub examples: u64,
    /// Channels of an image.
    pub channels: usize,
    /// Height and width of an image.
    pub side: usize,
    /// Largest L2 norm of an example's gradient.
    pub clip: f64,
    /// Learning rate, the same in all steps.
    pub learning_rate: f64,
    /// μ: the velocity is μ times the last one, plus the gradient.
    pub momentum: f64,
    /// The network.
    pub layers: Vec<Layer>,
}

/// A layer of a network. Weights begin by Glorot's uniform distribution, biases at 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Layer {
    /// A convolution, with a bias per filter.
    Convolution {
        /// Output channels.
        filters: usize,
        /// Side of a kernel.
        kernel: usize,
        /// Distance of neighbouring windows.
        stride: usize,
        /// Zeros on each side.
        padding: usize,
    },
    /// The largest value of each window.
    MaxPool {
        /// Side of a window.
        window: usize,
        /// Distance of neighbouring windows.
        stride: usize,
    },
    /// The mean of each window.
    AveragePool {
        /// Side of a window.
        window: usize,
        /// Distance of neighbouring windows.
        stride: usize,
    },
    /// Weighted sums of all values, with biases.
    Dense {
        /// Number of outputs.
        outputs: usize,
    },
    /// An image as a vector.
    Flatten,
    /// tanh x.
    Tanh,
    /// max(0, x).
    Relu,
    /// x, or eˣ − 1 below 0.
    Elu,
    /// s/(1 + e^(−T·x)) − o, for these s, T and o.
    Logistic(f64, f64, f64),
}

/// Values between two layers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Image { channels: usize, side: usize },
    Vector(usize),
}

/// A layer and the number of its input channels or values; images are flattened before dense layers.
pub(super) type Wired = (Layer, usize);

impl Training {
    /// The layers with the sizes of their inputs.
    /// `None`: a window that does not fit, or an image layer behind a dense one.
    fn wired(&self) -> Option<Vec<Wired>> {
        let mut shape = Shape::Image { channels: self.channels, side: self.side };
        let mut all = Vec::new();
        for &layer in &self.layers {
            let moved = |window: usize, stride: usize, padding: usize| {
                let Shape::Image { channels, side } = shape else { return None };
                let places = (side + 2 * padding).checked_sub(window)?.checked_div(stride)? + 1;
                Some((channels, places))
            };
            let (input, next) = match layer {
                Layer::Convolution { filters, kernel, stride, padding } => {
                    let (channels, side) = moved(kernel, stride, padding)?;
                    (channels, Shape::Image { channels: filters, side })
                }
                Layer::MaxPool { window, stride } | Layer::AveragePool { window, stride } => {
                    let (channels, side) = moved(window, stride, 0)?;
                    (channels, Shape::Image { channels, side })
                }
                Layer::Dense { .. } | Layer::Flatten => {
                    let values = match shape {
                        Shape::Image { channels, side } => {
                            if matches!(layer, Layer::Dense { .. }) {
                                all.push((Layer::Flatten, channels));
                            }
                            channels * side * side
                        }
                        Shape::Vector(values) => values,
                    };
                    let outputs = if let Layer::Dense { outputs } = layer { outputs } else { values };
                    (values, Shape::Vector(outputs))
                }
                Layer::Tanh | Layer::Relu | Layer::Elu | Layer::Logistic(..) => (0, shape),
            };
            all.push((layer, input));
            shape = next;
        }
        Some(all)
    }
}

impl Script<'_> {
    /// Noise multiplier, sampling rate and steps of each phase, as a list in Python.
    ///
    /// # Errors
    /// [`PrivacyError::Unsayable`]: anything but DP-SGD with Poisson sampling and Gaussian noise.
    pub(super) fn phases(&self, language: &'static str) -> Result<String, PrivacyError> {
        let mut phases = Vec::new();
        for event in self.ledger.events() {
            let place = event.release as usize;
            let unsayable = |problem| PrivacyError::Unsayable { language, place, problem };
            let Some(release) = self.ledger.releases().get(place) else { continue };
            let noise = multiplier(release).and_then(|noise| {
                noise
                    .filter(|noise| *noise > 0.0)
                    .ok_or_else(|| word!("it has no noise, so there is no finite ε").into())
            });
            let noise = noise.map_err(unsayable)?;
            let Sampling::Poisson { rate } = release.sampling else {
                return Err(unsayable(message!("its lots are drawn by {}", release.sampling)));
            };
            phases.push(format!("({}, {}, {})", float(noise), float(rate), event.count));
        }
        Ok(format!("[{}]", phases.join(", ")))
    }

    /// The whole script: `computes` and, if it trains, `trains`, with the network's layers by `line`.
    ///
    /// # Errors
    /// A network whose layers do not fit.
    pub(super) fn whole(
        &self,
        language: &'static str,
        computes: &str,
        trains: &str,
        values: &[(&str, String)],
        line: impl Fn(&Wired) -> String,
    ) -> Result<String, PrivacyError> {
        let mut text = computes.to_owned();
        let mut values = values.to_vec();
        values.push(("{DELTA}", float(self.delta)));
        if let Some(training) = &self.training {
            let problem: Message = word!("the layers of its network do not fit").into();
            let wired = training.wired().ok_or(PrivacyError::Unsayable { language, place: 0, problem })?;
            text += trains;
            values.extend([
                ("{EXAMPLES}", training.examples.to_string()),
                ("{CHANNELS}", training.channels.to_string()),
                ("{SIDE}", training.side.to_string()),
                ("{CLIP}", float(training.clip)),
                ("{LEARNING_RATE}", float(training.learning_rate)),
                ("{MOMENTUM}", float(training.momentum)),
                ("{NETWORK}", wired.iter().map(|layer| format!("        {},\n", line(layer))).collect()),
            ]);
        }
        let text = values.iter().fold(text, |text, (name, value)| text.replace(name, value));
        let bound = upper(self.epsilon, 6);
        Ok(text + &format!("\nprint(f\"ε = {{epsilon():.6g}} at δ = {{DELTA}}; by hushgrad ε ≤ {bound}\")\n"))
    }
}
