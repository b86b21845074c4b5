//! hushgrad's list of layers as a Burn network, starting from the first layer's inputs.

use hushgrad_core::data::Picture;
use hushgrad_core::model::{
    Architecture, Layer,
    cnn::Geometry,
    features::FeatureMap,
    layers::{LayerList, LayerSpec, LayersError, Placed, Shape, place},
};

/// Inputs of a network's first layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// An image's values in [0, 1], channel by channel and row by row.
    Pixels(Picture),
    /// The fixed features of such an image.
    Features(FeatureMap),
}

impl Input {
    const fn shape(self) -> Shape {
        match self {
            Self::Pixels(picture) => Shape::Image { channels: picture.channels as usize, side: picture.side as usize },
            Self::Features(map) => {
                let (channels, side) = map.shape();
                Shape::Image { channels, side }
            }
        }
    }
}

/// A valid network.
///
/// Parameters are flat as in [`Architecture`]: `[outputs][inputs…]` weights, biases, next layer.
#[derive(Clone, Debug)]
pub struct Network {
    input: Input,
    stages: Vec<Placed>,
    classes: usize,
    parameters: usize,
    activations: usize,
}

/// A convolution over `channels` squares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convolution {
    pub(crate) channels: usize,
    pub(crate) geometry: Geometry,
}

impl Convolution {
    /// Returns the layer's convolution, if it is one.
    pub(crate) fn of(placed: &Placed) -> Option<Self> {
        let LayerSpec::Convolution { .. } = placed.spec else { return None };
        Some(Self { channels: placed.input.channels().0, geometry: placed.geometry? })
    }
}

impl Network {
    /// Builds a network and derives all shapes.
    ///
    /// # Errors
    /// When a layer cannot take its input, no layer has parameters, or the last is not `dense`.
    pub fn new(input: Input, layers: &[LayerSpec]) -> Result<Self, LayersError> {
        let stages = place(input.shape(), layers)?;
        let last = stages.last().filter(|last| matches!(last.spec, LayerSpec::Dense { .. }));
        let parameters = stages.iter().filter_map(|stage| stage.layer).map(|layer| layer.biases().end).max();
        let (Some(last), Some(parameters)) = (last, parameters) else {
            let found = layers.last().map_or_else(|| "nothing".to_owned(), ToString::to_string);
            return Err(LayersError::Ends { found });
        };
        let classes = last.output.values();
        // Forward and backward values, and the patches of convolutions.
        let seen = |stage: &Placed| match (Convolution::of(stage), stage.layer) {
            (Some(Convolution { geometry, .. }), Some(layer)) => geometry.output_side().pow(2) * layer.fan_in,
            _ => 0,
        };
        let activations = stages.iter().map(|stage| 2 * stage.output.values() + seen(stage)).sum();
        Ok(Self { input, stages, classes, parameters, activations })
    }

    /// Builds the network of one of hushgrad's architectures.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of(architecture: Architecture) -> Result<Self, LayersError> {
        let list: LayerList = architecture.written().parse()?;
        match list.features() {
            Some(map) => Self::new(Input::Features(map), &list.specs()[1..]),
            None => Self::new(Input::Pixels(list.picture()), list.specs()),
        }
    }

    #[must_use]
    pub const fn input(&self) -> Input {
        self.input
    }

    /// Returns the number of inputs of the first layer.
    #[must_use]
    pub const fn inputs(&self) -> usize {
        self.input.shape().values()
    }

    #[must_use]
    pub const fn classes(&self) -> usize {
        self.classes
    }

    /// Returns P, the length of the flat parameter vector.
    #[must_use]
    pub const fn parameters(&self) -> usize {
        self.parameters
    }

    /// Iterates over the layers with parameters, in flat order.
    pub fn layers(&self) -> impl Iterator<Item = Layer> {
        self.stages.iter().filter_map(|stage| stage.layer)
    }

    pub(crate) fn stages(&self) -> &[Placed] {
        &self.stages
    }

    /// Estimates the values in memory per image in a backward pass, without the gradient.
    pub(crate) const fn activations(&self) -> usize {
        self.activations
    }
}

#[cfg(test)]
mod tests {
    use hushgrad_core::model::layers::read;

    use super::*;

    #[test]
    fn the_architectures_keep_their_layout() {
        for architecture in Architecture::ALL {
            let network = Network::of(architecture).unwrap();
            assert_eq!(network.parameters(), architecture.parameters());
            assert_eq!(network.inputs(), architecture.inputs());
            let shapes = |layer: Layer| (layer.offset, layer.outputs, layer.fan_in, layer.fan_out);
            let theirs: Vec<_> = architecture.layers().into_iter().map(shapes).collect();
            assert_eq!(network.layers().map(shapes).collect::<Vec<_>>(), theirs);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |input, text: &str| Network::new(input, &read(text).unwrap().1).unwrap_err();
        assert!(matches!(refused(Input::Pixels(Picture::DIGIT), ""), LayersError::Ends { .. }));
        assert!(matches!(refused(Input::Pixels(Picture::DIGIT), "tanh"), LayersError::Ends { .. }));
        assert!(matches!(refused(Input::Pixels(Picture::DIGIT), "tanh, relu"), LayersError::Ends { .. }));
        assert_eq!(
            refused(Input::Features(FeatureMap::DIGITS), "flatten, conv 2 3x3"),
            LayersError::NotAnImage { layer: 2 }
        );
    }
}
