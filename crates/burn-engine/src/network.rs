//! The description of a network: a list of layers as a person writes it, checked, with every shape worked out.

use hushgrad::model::{
    Activation, Architecture, CLASSES, Layer, PIXELS,
    reference::{Geometry, Stage, stages},
    scattering::FEATURES,
};

/// Side of an image in pixels.
const SIDE: usize = 28;

/// What a network's first layer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// 28×28 grey values in [0, 1], row by row: an image of one channel.
    Pixels,
    /// [`FEATURES`] scattering features: a vector.
    Scattering,
}

/// One layer, without what follows from the layers before it. Images are square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerSpec {
    /// y = W·x + b; an image is taken as a vector, channel by channel and row by row.
    Dense { outputs: usize },
    /// `filters` kernels of `kernel`×`kernel` pixels over all channels, with a bias each; `padding` zeros on every side.
    Convolution { filters: usize, kernel: usize, stride: usize, padding: usize },
    /// Of each value by itself.
    Activation(Activation),
    /// The largest value of each window of `window`×`window` pixels, channel by channel.
    MaxPool { window: usize, stride: usize },
}

/// Layers that do not fit together; layers are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    #[error("layer {layer} has {what} zero")]
    Zero { layer: usize, what: &'static str },
    #[error("layer {layer} needs an image, and gets a vector")]
    NotAnImage { layer: usize },
    #[error("layer {layer} has a window of {window} pixels over an image of {side}")]
    Window { layer: usize, window: usize, side: usize },
    #[error("layer {layer} is too large to be counted")]
    TooLarge { layer: usize },
    #[error("the last layer answers {found} numbers; there are {CLASSES} digits")]
    Outputs { found: usize },
    #[error("no layer has parameters")]
    NoParameters,
}

/// A network that fits together.
///
/// Flat order of parameters, as [`Architecture`] has it: layer by layer, weights `[outputs][inputs…]` row-major, then biases.
#[derive(Clone, Debug)]
pub struct Network {
    input: Input,
    stages: Vec<Placed>,
    parameters: usize,
    activations: usize,
}

/// A layer with its shapes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Placed {
    Dense(Layer),
    Convolution(Layer, Convolution),
    Activation(Activation),
    MaxPool { channels: usize, side: usize, window: usize, stride: usize },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Convolution {
    pub(crate) channels: usize,
    pub(crate) geometry: Geometry,
    pub(crate) output_side: usize,
}

/// What is between two layers.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Vector(usize),
    Image { channels: usize, side: usize },
}

impl Shape {
    fn values(self) -> Option<usize> {
        match self {
            Self::Vector(values) => Some(values),
            Self::Image { channels, side } => channels.checked_mul(side)?.checked_mul(side),
        }
    }

    fn image(self, layer: usize) -> Result<(usize, usize), NetworkError> {
        match self {
            Self::Vector(_) => Err(NetworkError::NotAnImage { layer }),
            Self::Image { channels, side } => Ok((channels, side)),
        }
    }
}

impl Network {
    /// Works out every shape.
    ///
    /// # Errors
    /// When a layer cannot take what the one before answers, has a size of zero, or when the last one does not answer one number for
    /// each digit.
    pub fn new(input: Input, layers: &[LayerSpec]) -> Result<Self, NetworkError> {
        let mut shape = match input {
            Input::Pixels => Shape::Image { channels: 1, side: SIDE },
            Input::Scattering => Shape::Vector(FEATURES),
        };
        let mut network = Self { input, stages: Vec::with_capacity(layers.len()), parameters: 0, activations: 0 };
        for (number, spec) in (1..).zip(layers) {
            shape = network.append(number, *spec, shape)?;
        }
        match shape.values() {
            _ if network.parameters == 0 => Err(NetworkError::NoParameters),
            Some(CLASSES) => Ok(network),
            values => Err(NetworkError::Outputs { found: values.unwrap_or(usize::MAX) }),
        }
    }

    /// The network of one of hushgrad's own architectures.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of(architecture: Architecture) -> Result<Self, NetworkError> {
        let input = if architecture == Architecture::Scattering { Input::Scattering } else { Input::Pixels };
        let layers: Vec<LayerSpec> = stages(architecture)
            .into_iter()
            .map(|stage| match stage {
                Stage::Dense(layer) => LayerSpec::Dense { outputs: layer.outputs },
                Stage::Convolution(layer, Geometry { kernel, stride, padding, .. }) => {
                    LayerSpec::Convolution { filters: layer.outputs, kernel, stride, padding }
                }
                Stage::Activation(activation) => LayerSpec::Activation(activation),
                Stage::MaxPool { .. } => LayerSpec::MaxPool { window: 2, stride: 1 },
            })
            .collect();
        Self::new(input, &layers)
    }

    #[must_use]
    pub const fn input(&self) -> Input {
        self.input
    }

    /// Numbers that the first layer takes.
    #[must_use]
    pub const fn inputs(&self) -> usize {
        match self.input {
            Input::Pixels => PIXELS,
            Input::Scattering => FEATURES,
        }
    }

    /// P, the length of the flat parameter vector.
    #[must_use]
    pub const fn parameters(&self) -> usize {
        self.parameters
    }

    /// Layers with parameters, in flat order.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.stages.iter().filter_map(|stage| match stage {
            Placed::Dense(layer) | Placed::Convolution(layer, _) => Some(layer),
            _ => None,
        })
    }

    pub(crate) fn stages(&self) -> &[Placed] {
        &self.stages
    }

    /// About how many numbers are in memory for one image while its gradient is computed, without the gradient.
    pub(crate) const fn activations(&self) -> usize {
        self.activations
    }

    /// Appends a layer after what has `shape`, and answers the shape that it makes.
    fn append(&mut self, number: usize, spec: LayerSpec, shape: Shape) -> Result<Shape, NetworkError> {
        let too_large = NetworkError::TooLarge { layer: number };
        let values = shape.values().ok_or(too_large)?;
        let (placed, made, patches) = match spec {
            LayerSpec::Dense { outputs } => {
                let layer = self.layer(number, "dense", outputs, values, outputs)?;
                (Placed::Dense(layer), Shape::Vector(outputs), 0)
            }
            LayerSpec::Convolution { filters, kernel, stride, padding } => {
                let (channels, side) = shape.image(number)?;
                let padded = padding.checked_mul(2).and_then(|both| both.checked_add(side)).ok_or(too_large)?;
                let output_side = positions(number, padded, kernel, stride)?;
                let area = kernel.checked_mul(kernel).ok_or(too_large)?;
                let fan_in = channels.checked_mul(area).ok_or(too_large)?;
                let fan_out = filters.checked_mul(area).ok_or(too_large)?;
                let layer = self.layer(number, "convolution", filters, fan_in, fan_out)?;
                let geometry = Geometry { side, kernel, stride, padding };
                let made = Shape::Image { channels: filters, side: output_side };
                let patches =
                    output_side.checked_mul(output_side).and_then(|n| n.checked_mul(fan_in)).ok_or(too_large)?;
                (Placed::Convolution(layer, Convolution { channels, geometry, output_side }), made, patches)
            }
            LayerSpec::Activation(activation) => (Placed::Activation(activation), shape, 0),
            LayerSpec::MaxPool { window, stride } => {
                let (channels, side) = shape.image(number)?;
                let output_side = positions(number, side, window, stride)?;
                let made = Shape::Image { channels, side: output_side };
                (Placed::MaxPool { channels, side, window, stride }, made, 0)
            }
        };
        self.stages.push(placed);
        // Forward and backward.
        let own = made.values().and_then(|made| made.checked_mul(2)?.checked_add(patches)).ok_or(too_large)?;
        self.activations = self.activations.checked_add(own).ok_or(too_large)?;
        Ok(made)
    }

    /// Gives a layer its place in the flat vector.
    fn layer(
        &mut self,
        number: usize,
        name: &'static str,
        outputs: usize,
        fan_in: usize,
        fan_out: usize,
    ) -> Result<Layer, NetworkError> {
        if outputs == 0 {
            return Err(NetworkError::Zero { layer: number, what: "a number of outputs of" });
        }
        let offset = self.parameters;
        let own = fan_in.checked_add(1).and_then(|columns| columns.checked_mul(outputs));
        self.parameters =
            own.and_then(|own| own.checked_add(offset)).ok_or(NetworkError::TooLarge { layer: number })?;
        Ok(Layer { name, offset, outputs, fan_in, fan_out })
    }
}

/// Places of a window along a side.
fn positions(layer: usize, side: usize, window: usize, stride: usize) -> Result<usize, NetworkError> {
    match () {
        () if window == 0 => Err(NetworkError::Zero { layer, what: "a window of" }),
        () if stride == 0 => Err(NetworkError::Zero { layer, what: "a stride of" }),
        () if window > side => Err(NetworkError::Window { layer, window, side }),
        () => Ok((side - window) / stride + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_architectures_keep_their_layout() {
        for architecture in Architecture::ALL {
            let network = Network::of(architecture).unwrap();
            assert_eq!(network.parameters(), architecture.parameters());
            assert_eq!(network.inputs(), architecture.inputs());
            let shapes = |layer: &Layer| (layer.offset, layer.outputs, layer.fan_in, layer.fan_out);
            let theirs: Vec<_> = architecture.layers().iter().map(shapes).collect();
            assert_eq!(network.layers().map(shapes).collect::<Vec<_>>(), theirs);
        }
    }

    /// The last dense layer's fan-in follows from all sizes before it.
    #[test]
    fn shapes_follow_from_the_layers_before() {
        let layers = [
            LayerSpec::Convolution { filters: 3, kernel: 5, stride: 3, padding: 1 },
            LayerSpec::MaxPool { window: 3, stride: 2 },
            LayerSpec::Activation(Activation::Relu),
            LayerSpec::Dense { outputs: CLASSES },
        ];
        let network = Network::new(Input::Pixels, &layers).unwrap();
        // (28 + 2 − 5)/3 + 1 = 9; (9 − 3)/2 + 1 = 4.
        assert_eq!(network.parameters(), 3 * 26 + 10 * (3 * 4 * 4 + 1));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |input, layers: &[LayerSpec]| Network::new(input, layers).unwrap_err();
        let convolution = |kernel, stride| LayerSpec::Convolution { filters: 2, kernel, stride, padding: 0 };
        let dense = |outputs| LayerSpec::Dense { outputs };
        assert_eq!(refused(Input::Pixels, &[]), NetworkError::NoParameters);
        assert_eq!(refused(Input::Pixels, &[dense(9)]), NetworkError::Outputs { found: 9 });
        assert_eq!(
            refused(Input::Pixels, &[dense(0)]),
            NetworkError::Zero { layer: 1, what: "a number of outputs of" }
        );
        assert_eq!(refused(Input::Scattering, &[convolution(3, 1)]), NetworkError::NotAnImage { layer: 1 });
        assert_eq!(
            refused(Input::Pixels, &[dense(16), LayerSpec::MaxPool { window: 2, stride: 1 }]),
            NetworkError::NotAnImage { layer: 2 }
        );
        assert_eq!(
            refused(Input::Pixels, &[convolution(29, 1)]),
            NetworkError::Window { layer: 1, window: 29, side: 28 }
        );
        assert_eq!(refused(Input::Pixels, &[convolution(3, 0)]), NetworkError::Zero { layer: 1, what: "a stride of" });
        assert_eq!(refused(Input::Pixels, &[dense(usize::MAX)]), NetworkError::TooLarge { layer: 1 });
    }
}
