//! A network on a device: its forward pass, the same for training and for reading, in f32 or f64.

use core::marker::PhantomData;

use burn::tensor::{
    Device, Element, Tensor, TensorData,
    activation::tanh,
    module::{conv2d, max_pool2d},
    ops::{ConvOptions, MaxPoolOptions},
};
use hushgrad::model::{Activation, CLASSES};

use crate::{
    error::{BurnError, check_length},
    network::{Convolution, Network, Placed},
    patches::Patches,
};

/// The numbers that a model computes in.
pub trait Real: Element + From<f32> {}

impl Real for f32 {}
impl Real for f64 {}

/// A network on a device, without parameters.
#[derive(Clone, Debug)]
pub struct Model<E> {
    network: Network,
    /// Without automatic differentiation.
    device: Device,
    /// Of each stage that is a convolution.
    pub(crate) patches: Vec<Option<Patches>>,
    numbers: PhantomData<E>,
}

/// A network's parameters on a device.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Of each stage that has parameters.
    stages: Vec<Option<Affine>>,
}

/// W, `[outputs, fan-in]`, and b, `[outputs]`.
#[derive(Clone, Debug)]
pub(crate) struct Affine {
    weights: Tensor<2>,
    biases: Tensor<1>,
}

impl Parameters {
    /// Known to automatic differentiation, as constants.
    pub(crate) fn as_constants(&self) -> Self {
        let constant = |Affine { weights, biases }: &Affine| Affine {
            weights: Tensor::from_inner(weights.clone()),
            biases: Tensor::from_inner(biases.clone()),
        };
        Self { stages: self.stages.iter().map(|affine| affine.as_ref().map(constant)).collect() }
    }
}

impl<E: Real> Model<E> {
    /// `network` on `device`; whether the device differentiates already makes no difference.
    ///
    /// # Errors
    /// [`BurnError::Precision`] when the device does not compute in `E`.
    pub fn new(network: Network, device: &Device) -> Result<Self, BurnError> {
        let device = device.clone().without_autodiff();
        if !device.supports_dtype(E::dtype()) {
            return Err(BurnError::Precision(E::dtype()));
        }
        let patches = network.stages().iter().map(|stage| match stage {
            Placed::Convolution(_, convolution) => Some(Patches::new(convolution, &device)),
            _ => None,
        });
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
    /// [`BurnError::Length`] when it has not P entries.
    pub fn load(&self, parameters: &[f32]) -> Result<Parameters, BurnError> {
        check_length("parameters", parameters.len(), self.network.parameters())?;
        let stages = self.network.stages().iter().map(|stage| match stage {
            Placed::Dense(layer) | Placed::Convolution(layer, _) => Some(Affine {
                weights: self.tensor(&parameters[layer.weights()], [layer.outputs, layer.fan_in], &self.device),
                biases: self.tensor(&parameters[layer.biases()], [layer.outputs], &self.device),
            }),
            Placed::Activation(_) | Placed::MaxPool { .. } => None,
        });
        Ok(Parameters { stages: stages.collect() })
    }

    /// What the last layer says about each image, before softmax: as many times [`CLASSES`] numbers as `inputs` holds images.
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
        check_length("logits", logits.len(), images * CLASSES)?;
        Ok(logits)
    }

    /// In this model's numbers.
    pub(crate) fn tensor<const D: usize>(&self, values: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
        let values: Vec<E> = values.iter().map(|&value| E::from(value)).collect();
        Tensor::from_data(TensorData::new(values, shape), (device, E::dtype()))
    }

    /// `[rows, inputs]` → `[rows, CLASSES]`. `at_layer` is given the number of each stage with parameters, its inputs and its outputs, one
    /// row an image, and answers the outputs that go on.
    pub(crate) fn forward(
        &self,
        parameters: &Parameters,
        inputs: Tensor<2>,
        mut at_layer: impl FnMut(usize, Tensor<2>, Tensor<2>) -> Tensor<2>,
    ) -> Tensor<2> {
        let [rows, _] = inputs.dims();
        let mut values = inputs;
        for (number, (stage, affine)) in self.network.stages().iter().zip(&parameters.stages).enumerate() {
            values = match (stage, affine) {
                (Placed::Dense(_), Some(affine)) => {
                    let outputs = affine.dense(values.clone());
                    at_layer(number, values, outputs)
                }
                (Placed::Convolution(_, convolution), Some(affine)) => {
                    let outputs = affine.convolution(convolution, values.clone());
                    at_layer(number, values, outputs)
                }
                (Placed::Activation(activation), _) => activate(*activation, values),
                (&Placed::MaxPool { channels, side, window, stride }, _) => {
                    let options = MaxPoolOptions::new([window; 2]).with_stride([stride; 2]);
                    flat(max_pool2d(values.reshape([rows, channels, side, side]), options))
                }
                // `load` gives every such stage its parameters.
                (Placed::Dense(_) | Placed::Convolution(..), None) => values,
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

fn activate(activation: Activation, values: Tensor<2>) -> Tensor<2> {
    match activation {
        Activation::Tanh => tanh(values),
        // Not Burn's own, which makes 0 of NaN.
        Activation::Relu => {
            let off = values.clone().lower_equal_elem(0.0);
            values.mask_fill(off, 0.0)
        }
    }
}

/// One row an image.
fn flat(images: Tensor<4>) -> Tensor<2> {
    let [rows, channels, height, width] = images.dims();
    images.reshape([rows, channels * height * width])
}
