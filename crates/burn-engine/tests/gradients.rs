//! Compares batched per-example gradients of all architectures, in f64, with the reference (as for
//! the WGSL and CPU engines), and with Burn's backward pass through Burn's layers, one by one.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use burn::tensor::{
    DType, Device, Tensor, TensorData,
    activation::{log_softmax, relu, tanh},
    module::{conv2d, max_pool2d},
    ops::{ConvOptions, MaxPoolOptions},
};
use burn_engine::{Batch, BurnError, Input, Model, Network, PerExample};
use hushgrad::{
    data::Picture,
    engine::reference::inputs,
    model::{
        Activation, Architecture, Layer, initial_parameters,
        layers::{LayerList, LayerSpec, Padding, Pooling, read},
        reference,
    },
};

mod common;

use common::Example;
use pollster::block_on;
use proptest::prelude::*;

/// Largest relative L2 difference over a layer's weights or biases; the reference is f32 (6e-8).
const TOLERANCE: f64 = 1.2e-7;

/// Largest relative L2 difference over a layer between two f64 computations in Burn.
const ROUNDING: f64 = 1e-13;

/// The model in Burn, one example at a time; leaf tensors hold weights and biases in flat order.
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
            other => panic!("no model that has a name has {other:?}"),
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
            Architecture::Built(_) => panic!("a list is compared with the reference"),
        }
    }

    /// Returns the loss, and its gradient in flat order.
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

/// Initial parameters, and parameters as after training: larger, with biases.
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

fn relative_difference(ours: &[f64], oracle: &[f64]) -> f64 {
    let square = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
    let difference = square(&mut ours.iter().zip(oracle).map(|(a, b)| a - b));
    (difference / square(&mut oracle.iter().copied())).sqrt()
}

/// Returns the architecture's inputs for the examples, concatenated, and their labels.
fn batch(architecture: Architecture, examples: &[Example]) -> (Vec<f32>, Vec<u8>) {
    let input = |example: &Example| {
        inputs(architecture, &example.pixels.iter().map(|v| (v * 255.0).round() as u8).collect::<Vec<_>>())
    };
    (examples.iter().flat_map(input).collect(), examples.iter().map(|example| example.label).collect())
}

fn per_example(architecture: Architecture, parameters: &[f32], batch: Batch<'_>) -> PerExample<f64> {
    let model = Model::<f64>::new(Network::of(architecture).unwrap(), &Device::flex()).unwrap();
    block_on(model.gradients(&model.load(parameters).unwrap(), batch)).unwrap()
}

fn check(architecture: Architecture) {
    let (inputs, labels) = batch(architecture, &common::examples(8));
    let mut worst = [0.0_f64; 2];
    for (set, parameters) in parameter_sets(architecture).iter().enumerate() {
        let oracle = Oracle::new(architecture, parameters);
        let PerExample { losses, gradients } =
            per_example(architecture, parameters, Batch { inputs: &inputs, labels: &labels, copies: 1 });
        assert_eq!((losses.len(), gradients.len()), (8, 8 * parameters.len()));
        let ours = losses.iter().zip(gradients.chunks(parameters.len()));
        let examples = inputs.chunks(architecture.inputs()).zip(&labels);
        for (n, ((our_loss, ours), (input, &label))) in ours.zip(examples).enumerate() {
            // Entries that are not written stay NaN.
            let mut gradient = vec![f32::NAN; parameters.len()];
            let loss = reference::gradient(architecture, parameters, input, label, &mut gradient);
            let gradient: Vec<f64> = gradient.into_iter().map(f64::from).collect();
            let (oracle_loss, oracle_gradient) = oracle.gradient(input, label);
            for loss_of_burn in [*our_loss, oracle_loss] {
                assert!(
                    (loss - loss_of_burn).abs() < 1e-12 * (1.0 + loss),
                    "{architecture:?}: loss {loss}, Burn {loss_of_burn}"
                );
            }
            assert_eq!(oracle_gradient.len(), gradient.len());
            for layer @ Layer { name, .. } in architecture.layers() {
                for (part, range) in [("weights", layer.weights()), ("biases", layer.biases())] {
                    let of = |a: &[f64], b: &[f64]| relative_difference(&a[range.clone()], &b[range.clone()]);
                    let what = format!("{architecture:?} parameters {set} example {n} {name} {part}");
                    // Not `>`, so that NaN fails.
                    for difference in [of(&gradient, &oracle_gradient), of(&gradient, ours)] {
                        assert!(difference < TOLERANCE, "{what}: relative difference {difference:e}");
                        worst[0] = worst[0].max(difference);
                    }
                    let difference = of(ours, &oracle_gradient);
                    assert!(difference < ROUNDING, "{what}: {difference:e} between a batch and one example");
                    worst[1] = worst[1].max(difference);
                }
            }
        }
    }
    println!("{architecture:?}: largest relative differences of a layer {:.1e}, {:.1e}", worst[0], worst[1]);
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

/// An example's gradient and loss are the means over its copies.
#[test]
fn copies_are_averaged() {
    for architecture in Architecture::ALL {
        let [_, parameters] = parameter_sets(architecture);
        let (inputs, mut labels) = batch(architecture, &common::examples(6));
        labels = vec![labels[0], labels[0], labels[0], labels[3], labels[3], labels[3]];
        let alone = per_example(architecture, &parameters, Batch { inputs: &inputs, labels: &labels, copies: 1 });
        let labels = [labels[0], labels[3]];
        let together = per_example(architecture, &parameters, Batch { inputs: &inputs, labels: &labels, copies: 3 });
        let mean = |values: &[f64], p: usize| -> Vec<f64> {
            values.chunks(3 * p).flat_map(|v| (0..p).map(|i| (v[i] + v[p + i] + v[2 * p + i]) / 3.0)).collect()
        };
        assert!(relative_difference(&together.losses, &mean(&alone.losses, 1)) < ROUNDING);
        let expected = mean(&alone.gradients, parameters.len());
        assert_eq!(together.gradients.len(), expected.len());
        assert!(relative_difference(&together.gradients, &expected) < ROUNDING, "{architecture:?}");
    }
}

/// Non-finite values must reach the gradient, where they are caught: no layer may hide them.
#[test]
fn a_broken_parameter_shows_in_the_gradient() {
    for architecture in Architecture::ALL {
        let (inputs, labels) = batch(architecture, &common::examples(2));
        for layer in architecture.layers() {
            let mut parameters = initial_parameters(architecture, 3);
            parameters[layer.biases()].fill(f32::NAN);
            let broken = per_example(architecture, &parameters, Batch { inputs: &inputs, labels: &labels, copies: 1 });
            for gradient in broken.gradients.chunks(parameters.len()) {
                assert!(gradient.iter().any(|g| g.is_nan()), "{architecture:?}, {}", layer.name);
            }
        }
    }
}

/// The gradient of a custom network matches central differences of its loss.
#[test]
fn custom_network_matches_central_differences() {
    let layers = "conv 3 5x5/3 pad 2, tanh, groupnorm 3, maxpool 3/2, conv 4 3x3 pad 1, elu, avgpool 2/1, dense 12, \
                  tempered 1.58 3 0.71, groupnorm 4, dense 11, sigmoid, dense 10";
    let (_, layers) = read(layers).unwrap();
    let network = Network::new(Input::Pixels(Picture::DIGIT), &layers).unwrap();
    let p = network.parameters();
    let model = Model::<f64>::new(network, &Device::flex()).unwrap();
    let (inputs, labels) = batch(Architecture::CnnTanh, &common::examples(3));
    let batch = Batch { inputs: &inputs, labels: &labels, copies: 1 };
    let compute = |parameters: &[f32]| block_on(model.gradients(&model.load(parameters).unwrap(), batch)).unwrap();
    let parameters: Vec<f32> = (0..p).map(|i| 0.4 * (1.0 + 1.7 * i as f32).sin()).collect();
    let ours = compute(&parameters);
    let mut checked = 0;
    for i in (0..p).step_by(17) {
        let mut shifted = parameters.clone();
        let (low, high) = (parameters[i] - 1e-5, parameters[i] + 1e-5);
        let [below, above] = [low, high].map(|value| {
            shifted[i] = value;
            compute(&shifted).losses
        });
        for example in 0..labels.len() {
            let slope = (above[example] - below[example]) / (f64::from(high) - f64::from(low));
            let gradient = ours.gradients[example * p + i];
            assert!((slope - gradient).abs() < 1e-7 * (1.0 + slope.abs()), "{i}: {slope} against {gradient}");
            checked += usize::from(slope != 0.0);
        }
    }
    assert!(checked > 50, "only {checked} slopes were not zero");
}

fn any_layer() -> impl Strategy<Value = LayerSpec> {
    let padding = prop_oneof![Just(Padding::Same), (0..4u8).prop_map(Padding::Pixels)];
    let kind = prop_oneof![Just(Pooling::Max), Just(Pooling::Average)];
    let tempered = Activation::Tempered { scale: 158, inverse_temperature: 300, offset: 71 };
    let activations = [Activation::Tanh, Activation::Relu, Activation::Elu, Activation::Sigmoid, tempered];
    prop_oneof![
        (1..6u16, 1..7u8, 1..4u8, padding).prop_map(|(filters, kernel, stride, padding)| LayerSpec::Convolution {
            filters,
            kernel,
            stride,
            padding
        }),
        (kind, 1..4u8, 1..4u8).prop_map(|(kind, window, stride)| LayerSpec::Pool { kind, window, stride }),
        (1..20u16).prop_map(|outputs| LayerSpec::Dense { outputs }),
        proptest::sample::select(activations.to_vec()).prop_map(LayerSpec::Activation),
        (1..5u16).prop_map(|groups| LayerSpec::GroupNorm { groups }),
        Just(LayerSpec::Flatten),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// For lists of up to five layers, the reference's gradients match automatic differentiation.
    #[test]
    fn any_list_has_the_gradients_of_automatic_differentiation(specs in proptest::collection::vec(any_layer(), 0..5), size in (proptest::bool::ANY, 1..=40_u8), digits: bool, classes in 2..=30_u16) {
        let mut specs = specs;
        specs.push(LayerSpec::Dense { outputs: if digits { 10 } else { classes } });
        let picture = if digits { Picture::DIGIT } else { Picture { channels: if size.0 { 3 } else { 1 }, side: size.1 } };
        let list = LayerList::on(picture, &specs);
        prop_assume!(list.is_ok());
        let Ok(list) = list else { return Ok(()) };
        let architecture = Architecture::Built(list);
        prop_assume!(architecture.parameters() < 20_000);
        // Non-zero biases avoid pooling windows of equal values, whose maximum is ambiguous.
        let parameters: Vec<f32> = initial_parameters(architecture, 4)
            .into_iter()
            .enumerate()
            .map(|(i, w)| w + 0.05 * (1.7 * i as f32).sin())
            .collect();
        let (inputs, labels) = if digits {
            batch(architecture, &common::examples(2))
        } else {
            let values = (0..2 * picture.pixels()).map(|i| 0.5 + 0.5 * (0.37 * i as f32).sin());
            (values.collect(), vec![0, (classes - 1) as u8])
        };
        let ours = per_example(architecture, &parameters, Batch { inputs: &inputs, labels: &labels, copies: 1 });
        let (p, pixels) = (parameters.len(), picture.pixels());
        for (k, &label) in labels.iter().enumerate() {
            let mut plain = vec![0.0; p];
            let image = &inputs[k * pixels..(k + 1) * pixels];
            let loss = reference::gradient(architecture, &parameters, image, label, &mut plain);
            prop_assert!((loss - ours.losses[k]).abs() < 1e-9 * (1.0 + loss.abs()), "{list}: {loss} {}", ours.losses[k]);
            let size = plain.iter().fold(1e-9_f64, |most, &g| most.max(f64::from(g).abs()));
            for (i, (plain, burn)) in plain.iter().zip(&ours.gradients[k * p..(k + 1) * p]).enumerate() {
                prop_assert!((f64::from(*plain) - burn).abs() < 3e-7 * size, "{list} {i}: {plain} {burn}");
            }
        }
    }
}

#[test]
fn batches_that_do_not_fit_are_refused() {
    let model = Model::<f64>::new(Network::of(Architecture::Linear).unwrap(), &Device::flex()).unwrap();
    assert!(matches!(model.load(&[0.0; 3]), Err(BurnError::Length { found: 3, expected: 7850, .. })));
    let parameters = model.load(&[0.0; 7850]).unwrap();
    let gradients = |inputs: &[f32], labels: &[u8], copies| {
        block_on(model.gradients(&parameters, Batch { inputs, labels, copies }))
    };
    assert!(matches!(gradients(&[0.0; 784], &[3, 4], 1), Err(BurnError::Length { expected: 1568, .. })));
    assert!(matches!(gradients(&[0.0; 784], &[3], 2), Err(BurnError::Length { expected: 1568, .. })));
    assert!(matches!(gradients(&[0.0; 784], &[10], 1), Err(BurnError::Label { label: 10, classes: 10 })));
    assert_eq!(gradients(&[], &[], 1).unwrap(), PerExample { losses: vec![], gradients: vec![] });
    assert!(matches!(block_on(model.logits(&parameters, &[0.0; 785])), Err(BurnError::Length { .. })));
    assert_eq!(block_on(model.logits(&parameters, &[])).unwrap(), Vec::<f64>::new());
}
