//! Every parameter's per-example gradient in every architecture, against Burn's automatic differentiation of the same model
//! written in Burn's own layers, in f64 on both sides. (The WGSL and CPU engines are then held to the same reference.)

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use burn::tensor::{
    DType, Device, Tensor, TensorData,
    activation::{log_softmax, relu, tanh},
    module::{conv2d, max_pool2d},
    ops::{ConvOptions, MaxPoolOptions},
};
use hushgrad::{
    engine::reference::inputs,
    model::{Activation, Architecture, Layer, initial_parameters, reference},
};

mod common;

/// Largest relative L2 difference over a layer's weights or biases. The reference's gradients are rounded to f32 at the end (6e-8 each).
const TOLERANCE: f64 = 1.2e-7;

/// The model in Burn: leaf tensors for all weights and biases, in flat order.
struct Oracle {
    architecture: Architecture,
    device: Device,
    weights: Vec<Tensor<2>>,
    biases: Vec<Tensor<1>>,
}

impl Oracle {
    fn new(architecture: Architecture, parameters: &[f32]) -> Self {
        let device = Device::flex().autodiff();
        let double = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        let options = || (&device, DType::F64);
        let layers = architecture.layers();
        let weights = layers.iter().map(|layer| {
            let data = TensorData::new(double(&parameters[layer.weights()]), [layer.outputs, layer.fan_in]);
            Tensor::<2>::from_data(data, options()).require_grad()
        });
        let biases = layers.iter().map(|layer| {
            let data = TensorData::new(double(&parameters[layer.biases()]), [layer.outputs]);
            Tensor::<1>::from_data(data, options()).require_grad()
        });
        Self { architecture, weights: weights.collect(), biases: biases.collect(), device: device.clone() }
    }

    /// x·Wᵀ + b.
    fn dense(&self, index: usize, x: Tensor<2>) -> Tensor<2> {
        x.matmul(self.weights[index].clone().transpose()) + self.biases[index].clone().unsqueeze()
    }

    fn convolution(&self, index: usize, x: Tensor<4>, kernel: usize, padding: usize) -> Tensor<4> {
        let [outputs, fan_in] = self.weights[index].dims();
        let weight = self.weights[index].clone().reshape([outputs, fan_in / (kernel * kernel), kernel, kernel]);
        conv2d(x, weight, Some(self.biases[index].clone()), ConvOptions::new([2, 2], [padding; 2], [1, 1], 1))
    }

    fn activation<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        match self.architecture.activation() {
            Activation::Tanh => tanh(x),
            Activation::Relu => relu(x),
        }
    }

    fn logits(&self, image: &[f32]) -> Tensor<2> {
        let pixels: Vec<f64> = image.iter().map(|&v| f64::from(v)).collect();
        let x = Tensor::<2>::from_data(
            TensorData::new(pixels, [1, self.architecture.inputs()]),
            (&self.device, DType::F64),
        );
        let pool = |x: Tensor<4>| max_pool2d(x, MaxPoolOptions::new([2, 2]).with_stride([1, 1]));
        match self.architecture {
            Architecture::Linear | Architecture::Scattering => self.dense(0, x),
            Architecture::Mlp => self.dense(1, self.activation(self.dense(0, x))),
            Architecture::CnnTanh | Architecture::CnnRelu => {
                let x = pool(self.activation(self.convolution(0, x.reshape([1, 1, 28, 28]), 8, 3)));
                let x = pool(self.activation(self.convolution(1, x, 4, 0)));
                self.dense(3, self.activation(self.dense(2, x.reshape([1, 512]))))
            }
        }
    }

    /// Loss, and the gradient in flat order.
    fn gradient(&self, image: &[f32], label: u8) -> (f64, Vec<f64>) {
        let log_probabilities = log_softmax(self.logits(image), 1);
        let loss = -log_probabilities.narrow(1, label.into(), 1).sum();
        let gradients = loss.backward();
        let values = |data: TensorData| data.try_into_vec::<f64>().unwrap();
        let mut flat = Vec::new();
        for (weight, bias) in self.weights.iter().zip(&self.biases) {
            flat.extend(values(weight.grad(&gradients).unwrap().into_data()));
            flat.extend(values(bias.grad(&gradients).unwrap().into_data()));
        }
        (values(loss.into_data())[0], flat)
    }
}

/// Initial parameters, and parameters as training may leave them: larger, with biases.
fn parameter_sets(architecture: Architecture) -> [Vec<f32>; 2] {
    let initial = initial_parameters(architecture, 17);
    let other = initial_parameters(architecture, 18);
    let mut trained: Vec<f32> = initial.iter().zip(&other).map(|(a, b)| 1.5 * a + b).collect();
    for layer in architecture.layers() {
        for (i, bias) in trained[layer.biases()].iter_mut().enumerate() {
            *bias = 0.3 * (1.0 + i as f32).sin();
        }
    }
    [initial, trained]
}

fn relative_difference(ours: &[f32], oracle: &[f64]) -> f64 {
    let square = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
    let difference = square(&mut ours.iter().zip(oracle).map(|(&a, b)| f64::from(a) - b));
    (difference / square(&mut oracle.iter().copied())).sqrt()
}

fn check(architecture: Architecture) {
    let examples = common::examples(8);
    let mut worst = 0.0_f64;
    for (set, parameters) in parameter_sets(architecture).iter().enumerate() {
        let oracle = Oracle::new(architecture, parameters);
        for (n, example) in examples.iter().enumerate() {
            // Every entry must be written: one that is not stays NaN.
            let mut gradient = vec![f32::NAN; parameters.len()];
            let input =
                inputs(architecture, &example.pixels.iter().map(|v| (v * 255.0).round() as u8).collect::<Vec<_>>());
            let loss = reference::gradient(architecture, parameters, &input, example.label, &mut gradient);
            let (oracle_loss, oracle_gradient) = oracle.gradient(&input, example.label);
            assert!(
                (loss - oracle_loss).abs() < 1e-12 * (1.0 + loss),
                "{architecture:?}: loss {loss}, Burn {oracle_loss}"
            );
            assert_eq!(oracle_gradient.len(), gradient.len());
            for layer @ Layer { name, .. } in architecture.layers() {
                for (part, range) in [("weights", layer.weights()), ("biases", layer.biases())] {
                    let difference = relative_difference(&gradient[range.clone()], &oracle_gradient[range]);
                    // Not `>`: NaN must fail.
                    assert!(
                        difference < TOLERANCE,
                        "{architecture:?} parameters {set} example {n} {name} {part}: relative difference {difference:e}"
                    );
                    worst = worst.max(difference);
                }
            }
        }
    }
    println!("{architecture:?}: largest relative difference of a layer {worst:.1e}");
}

#[test]
fn linear() {
    check(Architecture::Linear);
}

#[test]
fn scattering() {
    check(Architecture::Scattering);
}

#[test]
fn mlp() {
    check(Architecture::Mlp);
}

#[test]
fn cnn_tanh() {
    check(Architecture::CnnTanh);
}

#[test]
fn cnn_relu() {
    check(Architecture::CnnRelu);
}
