//! A network on a device, in f32 or f64, with one forward pass for training and inference.

use core::marker::PhantomData;

use burn::tensor::{
    Device, Element, Tensor, TensorData,
    activation::tanh,
    module::{avg_pool2d, conv2d, max_pool2d},
    ops::{AvgPoolOptions, ConvOptions, MaxPoolOptions},
};
use hushgrad_core::model::{
    Activation,
    layers::{LayerSpec, NORM_FLOOR, Placed, Pooling},
};

use crate::{
    error::{BurnError, check_length},
    network::{Convolution, Network},
    patches::Patches,
};

/// Floating-point type of a model.
pub trait Real: Element + From<f32> {}

impl Real for f32 {}
impl Real for f64 {}

/// A network on a device, without parameters.
#[derive(Clone, Debug)]
pub struct Model<E> {
    network: Network,
    /// The device, without automatic differentiation.
    device: Device,
    /// For each stage, its patches if it is a convolution.
    pub(crate) patches: Vec<Option<Patches>>,
    numbers: PhantomData<E>,
}

/// A network's parameters on a device.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// For each stage, its parameters if it has any.
    stages: Vec<Option<Affine>>,
}

/// W, `[outputs, fan-in]`, and b, `[outputs]`.
#[derive(Clone, Debug)]
pub(crate) struct Affine {
    weights: Tensor<2>,
    biases: Tensor<1>,
}

impl Parameters {
    /// Returns the parameters as constants on the autodiff device.
    pub(crate) fn as_constants(&self) -> Self {
        let constant = |Affine { weights, biases }: &Affine| Affine {
            weights: Tensor::from_inner(weights.clone()),
            biases: Tensor::from_inner(biases.clone()),
        };
        Self { stages: self.stages.iter().map(|affine| affine.as_ref().map(constant)).collect() }
    }
}

impl<E: Real> Model<E> {
    /// Puts `network` on `device`; automatic differentiation of the device is ignored.
    ///
    /// # Errors
    /// [`BurnError::Precision`] when the device does not compute in `E`; [`BurnError::BatchNorm`].
    pub fn new(network: Network, device: &Device) -> Result<Self, BurnError> {
        let device = device.clone().without_autodiff();
        if !device.supports_dtype(E::dtype()) {
            return Err(BurnError::Precision(E::dtype()));
        }
        if network.stages().iter().any(|stage| stage.spec == LayerSpec::BatchNorm) {
            return Err(BurnError::BatchNorm);
        }
        let of = |stage: &Placed| Convolution::of(stage).map(|convolution| Patches::new(&convolution, &device));
        let patches = network.stages().iter().map(of);
        Ok(Self { patches: patches.collect(), network, device, numbers: PhantomData })
    }

    #[must_use]
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// The device, without automatic differentiation.
    #[must_use]
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Copies a flat vector of parameters to the device.
    ///
    /// # Errors
    /// [`BurnError::Length`] when `parameters` does not have length P.
    pub fn load(&self, parameters: &[f32]) -> Result<Parameters, BurnError> {
        check_length("parameters", parameters.len(), self.network.parameters())?;
        let stages = self.network.stages().iter().map(|stage| {
            stage.layer.map(|layer| Affine {
                weights: self.tensor(&parameters[layer.weights()], [layer.outputs, layer.fan_in], &self.device),
                biases: self.tensor(&parameters[layer.biases()], [layer.outputs], &self.device),
            })
        });
        Ok(Parameters { stages: stages.collect() })
    }

    /// Returns the logits of each image in `inputs`, one per class.
    ///
    /// # Errors
    /// When `inputs` is not a whole number of the network's inputs, or the device fails.
    pub async fn logits(&self, parameters: &Parameters, inputs: &[f32]) -> Result<Vec<E>, BurnError> {
        let images = inputs.len() / self.network.inputs();
        check_length("inputs", inputs.len(), images * self.network.inputs())?;
        if images == 0 {
            return Ok(Vec::new());
        }
        let inputs = self.tensor(inputs, [images, self.network.inputs()], &self.device);
        let logits = self.forward(parameters, inputs, |_, _, outputs| outputs);
        let logits = logits.into_data_async().await?.try_into_vec::<E>()?;
        check_length("logits", logits.len(), images * self.network.classes())?;
        Ok(logits)
    }

    /// Copies values to `device` in the model's precision.
    pub(crate) fn tensor<const D: usize>(&self, values: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
        let values: Vec<E> = values.iter().map(|&value| E::from(value)).collect();
        Tensor::from_data(TensorData::new(values, shape), (device, E::dtype()))
    }

    /// `[rows, inputs]` → `[rows, classes]`. For each stage with parameters, `at_layer` gets its
    /// index, inputs and outputs (one row per image), and returns the outputs to pass on.
    pub(crate) fn forward(
        &self,
        parameters: &Parameters,
        inputs: Tensor<2>,
        mut at_layer: impl FnMut(usize, Tensor<2>, Tensor<2>) -> Tensor<2>,
    ) -> Tensor<2> {
        let [rows, _] = inputs.dims();
        let mut values = inputs;
        for (number, (stage, affine)) in self.network.stages().iter().zip(&parameters.stages).enumerate() {
            let (channels, area) = stage.input.channels();
            values = match (stage.spec, affine, stage.geometry) {
                (LayerSpec::Dense { .. }, Some(affine), _) => {
                    let outputs = affine.dense(values.clone());
                    at_layer(number, values, outputs)
                }
                (LayerSpec::Convolution { .. }, Some(affine), Some(geometry)) => {
                    let outputs = affine.convolution(&Convolution { channels, geometry }, values.clone());
                    at_layer(number, values, outputs)
                }
                (LayerSpec::GroupNorm { groups }, Some(affine), _) => {
                    let outputs = affine.scale(normalised(values.clone(), groups.into()), channels, area);
                    at_layer(number, values, outputs)
                }
                (LayerSpec::Activation(activation), ..) => activate(activation, values),
                (LayerSpec::Pool { kind, .. }, _, Some(geometry)) => {
                    let (window, stride) = ([geometry.kernel; 2], [geometry.stride; 2]);
                    let images = values.reshape([rows, channels, geometry.side, geometry.side]);
                    flat(match kind {
                        Pooling::Max => max_pool2d(images, MaxPoolOptions::new(window).with_stride(stride)),
                        Pooling::Average => avg_pool2d(images, AvgPoolOptions::new(window).with_stride(stride)),
                    })
                }
                // Flatten does nothing here, `new` refuses BatchNorm, and `load` gives all other stages their parameters.
                _ => values,
            };
        }
        values
    }
}

impl Affine {
    /// x·Wᵀ + b.
    fn dense(&self, inputs: Tensor<2>) -> Tensor<2> {
        inputs.matmul(self.weights.clone().transpose()) + self.biases.clone().unsqueeze()
    }

    /// γ·u + β, per channel.
    fn scale(&self, unit: Tensor<2>, channels: usize, area: usize) -> Tensor<2> {
        let [rows, values] = unit.dims();
        let by_channel = |values: Tensor<1>| values.reshape([1, channels, 1]);
        let factors = by_channel(self.weights.clone().reshape([channels]));
        let scaled = unit.reshape([rows, channels, area]) * factors + by_channel(self.biases.clone());
        scaled.reshape([rows, values])
    }

    fn convolution(&self, convolution: &Convolution, inputs: Tensor<2>) -> Tensor<2> {
        let &Convolution { channels, geometry, .. } = convolution;
        let [rows, _] = inputs.dims();
        let [filters, _] = self.weights.dims();
        let kernels = self.weights.clone().reshape([filters, channels, geometry.kernel, geometry.kernel]);
        let images = inputs.reshape([rows, channels, geometry.side, geometry.side]);
        let options = ConvOptions::new([geometry.stride; 2], [geometry.padding; 2], [1; 2], 1);
        flat(conv2d(images, kernels, Some(self.biases.clone()), options))
    }
}

/// Normalises each of `groups` equal parts of a row to mean 0 and variance 1.
pub(crate) fn normalised(values: Tensor<2>, groups: usize) -> Tensor<2> {
    let [rows, columns] = values.dims();
    let parts = values.reshape([rows, groups, columns / groups]);
    let centred = parts.clone() - parts.mean_dim(2);
    let variance = centred.clone().powi_scalar(2).mean_dim(2);
    (centred / (variance + NORM_FLOOR).sqrt()).reshape([rows, columns])
}

fn activate(activation: Activation, values: Tensor<2>) -> Tensor<2> {
    match activation {
        Activation::Tanh => tanh(values),
        // Not Burn's own, which turns NaN into 0.
        Activation::Relu => {
            let off = values.clone().lower_equal_elem(0.0);
            values.mask_fill(off, 0.0)
        }
        Activation::Elu => {
            let below = values.clone().lower_elem(0.0);
            // Mask values of at least 0, so that the exponential does not overflow.
            let raised = values.clone().mask_fill(below.clone().bool_not(), 0.0).exp() - 1.0;
            values.mask_where(below, raised)
        }
        Activation::Sigmoid | Activation::Tempered { .. } => {
            let [scale, inverse_temperature, offset] = activation.logistic().unwrap_or([1.0, 1.0, 0.0]);
            let raised = (values * -inverse_temperature).exp() + 1.0;
            raised.recip() * scale - offset
        }
    }
}

/// One row per image.
fn flat(images: Tensor<4>) -> Tensor<2> {
    let [rows, channels, height, width] = images.dims();
    images.reshape([rows, channels * height * width])
}
