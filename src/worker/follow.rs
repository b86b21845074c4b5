//! One image of a lot on its way through the network, and its gradient on the way back.
//!
//! All of it is private, and stays on the trainer's own screen.

use serde::{Deserialize, Serialize};

use super::{look::StepInspection, snapshot::PictureLayout};
use crate::{
    data::Picture,
    engine::reference::inputs,
    mechanism::EncoderSpec,
    model::{
        Architecture,
        layers::{LayerList, Shape},
        reference::{self, ForwardTrace, Stage},
    },
};

/// Most channels of a layer drawn, and most values of a layer without channels.
const MOST_CHANNELS: usize = 16;
const MOST_VALUES: usize = 128;

/// Values as small pictures side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sheet {
    /// Number of pictures.
    pub images: u32,
    /// Side of a picture, in values.
    pub side: u32,
    /// Pictures in a row.
    pub columns: u32,
    /// Picture by picture, row by row.
    pub values: Vec<f32>,
    /// Magnitude at which colours are full: the largest.
    pub full: f32,
}

/// A layer that the image passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passed {
    /// As written in the list of layers.
    pub layer: String,
    /// The shape of its output.
    pub shape: String,
    /// Number of its channels or values, of which some are drawn.
    pub of: u32,
    pub values: Sheet,
    /// The gradient of the loss with respect to its output.
    pub gradient: Sheet,
}

/// One image on its way through the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Followed {
    pub step: u64,
    /// Its place among the images shown.
    pub place: u32,
    pub label: u8,
    pub picture: Picture,
    pub pixels: Vec<u8>,
    pub layers: Vec<Passed>,
    /// Class probabilities.
    pub probabilities: Vec<f32>,
    /// Norm of its gradient, and of its contribution to the sum.
    pub norm: f64,
    pub bounded: f64,
    /// True if each layer is in units of its own noise, as are `bounded` and `noise`, but not `norm`.
    pub by_layers: bool,
    /// Norm of the noise on the sum: √P standard deviations. `None` without noise or variance.
    pub noise: Option<f64>,
}

impl StepInspection {
    /// Follows the image at `place`; `None` if there is none, or if it has no vector of its own.
    #[must_use]
    pub fn followed(&self, place: usize) -> Option<Followed> {
        if self.task.sharing.is_shared() {
            return None;
        }
        let person = self.person(Some(place))?;
        let example = *self.examples.get(place)? as usize;
        let model = self.task.model;
        // The first of several copies.
        let image = self.shifts.first()?.of(self.train.picture, self.train.image(example));
        let label = self.train.labels[example];
        let input = inputs(model, &image);
        let passage = reference::follow(model, &self.before, &input, label);
        let noise = self.task.noise.as_ref().and_then(|noise| noise.build().ok());
        let length = |deviation: f64| deviation * (self.before.len() as f64).sqrt();
        Some(Followed {
            step: self.step,
            place: place as u32,
            label,
            picture: self.train.picture,
            pixels: image,
            layers: layers(model, &input, &passage)?,
            probabilities: passage.probabilities.iter().map(|&p| p as f32).collect(),
            norm: person.norm,
            bounded: person.bounded,
            by_layers: matches!(self.task.encoder, EncoderSpec::Layers(_)),
            noise: noise
                .map(|noise| length(noise.standard_deviation()))
                .filter(|length| length.is_finite() && *length > 0.0),
        })
    }
}

/// Returns the layers of a model with their outputs for an image.
fn layers(model: Architecture, input: &[f32], passage: &ForwardTrace) -> Option<Vec<Passed>> {
    let list: LayerList = model.written().parse().ok()?;
    let placed: Vec<_> = list.placed().into_iter().filter(|placed| Stage::of(placed).is_some()).collect();
    let mut passed = Vec::with_capacity(placed.len() + 1);
    if let Some(map) = model.features() {
        let (channels, side) = map.shape();
        let values: Vec<f64> = input.iter().map(|&v| f64::from(v)).collect();
        let shape = Shape::Image { channels, side };
        passed.push(Passed {
            layer: map.kind.name().to_owned(),
            shape: shape.to_string(),
            of: channels as u32,
            values: sheet(shape, &values),
            // Features are fixed: no gradient passes through them.
            gradient: Sheet { images: 0, side: 1, columns: 1, values: vec![], full: 1.0 },
        });
    }
    for (placed, (values, delta)) in placed.iter().zip(passage.outputs.iter().zip(&passage.deltas)) {
        passed.push(Passed {
            layer: placed.spec.to_string(),
            shape: placed.output.to_string(),
            of: placed.output.channels().0 as u32,
            values: sheet(placed.output, values),
            gradient: sheet(placed.output, delta),
        });
    }
    Some(passed)
}

/// Returns the first channels of an image, or the first values of a vector.
fn sheet(shape: Shape, values: &[f64]) -> Sheet {
    let (images, side) = match shape {
        Shape::Image { channels, side } => (channels.min(MOST_CHANNELS), side),
        Shape::Vector(values) => (values.min(MOST_VALUES), 1),
    };
    let values: Vec<f32> = values.iter().take(images * side * side).map(|&v| v as f32).collect();
    let full = values.iter().fold(f32::MIN_POSITIVE, |most, v| if v.is_finite() { most.max(v.abs()) } else { most });
    let columns = PictureLayout::nearly_square(images);
    Sheet { images: images as u32, side: side as u32, columns: columns as u32, values, full }
}

impl Sheet {
    /// Returns the layout of the pictures.
    #[must_use]
    pub const fn layout(&self) -> PictureLayout {
        let columns = if self.columns == 0 { 1 } else { self.columns as usize };
        PictureLayout { images: self.images as usize, side: self.side as usize, columns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accounting::noise::NoiseSpec,
        data::{Shift, synthetic::colour},
        engine::{StepTrace, Task},
        model::initial_parameters,
        rng::NotPrivateReplay,
        train::session::TracedStep,
    };

    fn looked_at(model: Architecture) -> StepInspection {
        let train = if model.picture() == Picture::DIGIT {
            crate::data::synthetic::digits(1, 9, 1).train
        } else {
            colour::dataset(1, 0, 9)
        };
        let task = Task {
            encoder: EncoderSpec::Clip { norm: 0.5 },
            noise: Some(NoiseSpec::Gaussian { sigma: 2.0 }),
            ..Task::without_privacy(model)
        };
        let zeros = vec![0.0; model.parameters()];
        let trace =
            StepTrace { raw: zeros.clone(), encoded: zeros.clone(), noisy: zeros.clone(), denoised: zeros.clone() };
        let step = TracedStep {
            parameters: initial_parameters(model, 2),
            lot: (0..9).collect(),
            shifts: Shift::ALONE.to_vec(),
            trace,
        };
        StepInspection::new(3, &task, (&train, None), step, &mut NotPrivateReplay::new(1))
    }

    #[test]
    fn every_model_is_followed_layer_by_layer() {
        let colours: LayerList =
            "input 3x32x32, conv 20 5x5/2 same, tanh, maxpool 2, flatten, groupnorm 8, dense 10".parse().unwrap();
        for model in Architecture::ALL.into_iter().chain([Architecture::Built(colours)]) {
            let followed = looked_at(model).followed(4).unwrap();
            assert_eq!((followed.step, followed.place), (3, 4));
            assert_eq!(followed.pixels.len(), model.picture().pixels());
            let sum: f32 = followed.probabilities.iter().sum();
            assert!((sum - 1.0).abs() < 1e-5, "{model}: {sum}");
            let last = followed.layers.last().unwrap();
            assert_eq!((last.layer.as_str(), last.of), ("dense 10", 10));
            // The gradient at the logits is the probability minus the label.
            for (class, (p, delta)) in followed.probabilities.iter().zip(&last.gradient.values).enumerate() {
                let expected = p - if class == usize::from(followed.label) { 1.0 } else { 0.0 };
                assert!((expected - delta).abs() < 1e-5, "{model} {class}");
            }
            assert!(
                followed
                    .layers
                    .iter()
                    .all(|it| it.values.values.len() == (it.values.images * it.values.side * it.values.side) as usize)
            );
            assert!(followed.bounded <= 0.5 * (1.0 + 1e-6) && followed.norm > 0.0);
            let noise = 2.0 * (model.parameters() as f64).sqrt();
            assert!((followed.noise.unwrap() / noise - 1.0).abs() < 1e-6);
        }
        let layers = looked_at(Architecture::Built(colours)).followed(0).unwrap().layers;
        let said: Vec<(&str, &str, u32)> =
            layers.iter().map(|it| (it.layer.as_str(), it.shape.as_str(), it.values.images)).collect();
        // Flattening is not shown as a layer.
        assert_eq!(
            said,
            [
                ("conv 20 5x5/2 same", "20×16×16", 16),
                ("tanh", "20×16×16", 16),
                ("maxpool 2", "20×8×8", 16),
                ("groupnorm 8", "1280", 128),
                ("dense 10", "10", 10)
            ]
        );
    }

    /// Perturbing a layer's input moves the loss by the gradient there.
    #[test]
    fn gradients_between_layers_match_differences_of_the_loss() {
        let model = Architecture::Built("conv 2 5x5/3, tanh, dense 10".parse().unwrap());
        let parameters = initial_parameters(model, 3);
        let image: Vec<f32> = (0..784).map(|k| (k % 11) as f32 / 11.0).collect();
        let passage = reference::follow(model, &parameters, &image, 3);
        // The last layer alone, on its input.
        let layer = model.layers()[1];
        let head = Stage::Dense(layer);
        let mut unused = vec![0.0; parameters.len()];
        let hidden: Vec<f32> = passage.outputs[1].iter().map(|&v| v as f32).collect();
        let mut loss = |hidden: &[f32]| reference::gradient_through(vec![head], &parameters, hidden, 3, &mut unused);
        for at in [0, 7, 100] {
            let (mut more, mut less) = (hidden.clone(), hidden.clone());
            more[at] += 1e-2;
            less[at] -= 1e-2;
            let slope = (loss(&more) - loss(&less)) / f64::from(more[at] - less[at]);
            assert!((slope - passage.deltas[1][at]).abs() < 1e-4 * (0.01 + slope.abs()), "{at}: {slope}");
        }
    }
}
