//! Every layer's rule against Burn's automatic differentiation of one example at a time.

use burn::{
    module::Module,
    nn::{
        EmbeddingConfig, GroupNormConfig, LayerNormConfig, LinearConfig, RmsNormConfig,
        attention::MultiHeadAttentionConfig,
        conv::{Conv1dConfig, Conv2dConfig},
        transformer::TransformerEncoderConfig,
    },
    tensor::{Device, Distribution},
};

use super::*;
use crate::{
    gradients::{PerExample, Reason, by_rules, of_one},
    layout::Layout,
    tape::Misfit,
};

fn device() -> Device {
    let device = Device::flex().autodiff();
    device.seed(7);
    device
}

fn random<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), &device())
}

/// A loss that weights every output differently, so that no gradient vanishes.
fn loss<const D: usize>(outputs: Tensor<D>) -> Tensor<1> {
    let examples = outputs.dims()[0];
    let outputs = rows(outputs);
    let [_, numbers] = outputs.dims();
    let weights = Tensor::<1, Int>::arange(0..numbers as i64, &device()).float().sin();
    ((outputs.clone() + outputs.powi_scalar(2)) * weights.unsqueeze()).sum_dim(1).reshape([examples])
}

/// Compares the rules on all `examples` with one at a time; `batch` makes the batch of a range.
fn agrees<M: Module, B>(
    model: M,
    examples: usize,
    batch: impl Fn(core::ops::Range<usize>) -> B,
    losses: impl Fn(&M, B) -> Tensor<1> + Copy,
) {
    let (model, device) = (model.train(), device());
    let layout = Layout::of(&model);
    let together = by_rules(&model, &layout, examples, batch(0..examples), losses, &device).unwrap().unwrap();
    let numbers = |parts: &PerExample, row: usize| -> Vec<f32> {
        let row = |part: &Tensor<2>| {
            part.clone().slice(burn::tensor::s![row..row + 1]).into_data().try_into_vec::<f32>().unwrap()
        };
        parts.iter().flat_map(row).collect()
    };
    for example in 0..examples {
        let alone = of_one(&model, &layout, batch(example..example + 1), losses, &device).unwrap();
        let (alone, together) = (numbers(&alone, 0), numbers(&together, example));
        assert_eq!(alone.len(), layout.parameters());
        let largest = alone.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        assert!(largest > 1e-3, "the test has gradients");
        for (at, (one, all)) in alone.iter().zip(&together).enumerate() {
            assert!((one - all).abs() <= 2e-5 * largest, "example {example}, number {at}: {one} and {all}");
        }
    }
}

#[test]
fn linear() {
    for bias in [true, false] {
        let inputs = random([5, 4]);
        let layer = LinearConfig::new(4, 3).with_bias(bias).init(&device());
        agrees(layer, 5, |range| inputs.clone().slice([range]), |layer, batch| loss(layer.traced(batch)));
    }
    let inputs = random([3, 2, 7, 4]);
    let layer = LinearConfig::new(4, 6).init(&device());
    agrees(layer, 3, |range| inputs.clone().slice([range]), |layer, batch| loss(layer.traced(batch)));
}

#[test]
fn convolutions() {
    let padded = [PaddingConfig2d::Valid, PaddingConfig2d::Same, PaddingConfig2d::Explicit(2, 0, 1, 3)];
    for (padding, stride, dilation, groups) in padded.into_iter().flat_map(|padding| {
        [([1, 1], [1, 1], 1), ([2, 3], [1, 1], 2), ([1, 1], [2, 1], 1)]
            .map(|(stride, dilation, groups)| (padding.clone(), stride, dilation, groups))
    }) {
        let inputs = random([3, 4, 9, 8]);
        let layer = Conv2dConfig::new([4, 6], [3, 2])
            .with_padding(padding)
            .with_stride(stride)
            .with_dilation(dilation)
            .with_groups(groups)
            .init(&device());
        agrees(layer, 3, |range| inputs.clone().slice([range]), |layer, batch| loss(layer.traced(batch)));
    }
    for padding in [PaddingConfig1d::Valid, PaddingConfig1d::Same, PaddingConfig1d::Explicit(2, 0)] {
        let inputs = random([3, 4, 11]);
        let layer = Conv1dConfig::new(4, 2, 3).with_padding(padding).with_stride(2).init(&device());
        agrees(layer, 3, |range| inputs.clone().slice([range]), |layer, batch| loss(layer.traced(batch)));
    }
}

#[test]
fn normalisations() {
    let inputs = random([4, 3, 6]);
    let layer = LayerNormConfig::new(6).init(&device());
    agrees(layer, 4, |range| inputs.clone().slice([range]), |layer, batch| loss(layer.traced(batch)));
    let layer = RmsNormConfig::new(6).init(&device());
    agrees(layer, 4, |range| inputs.clone().slice([range]), |layer, batch| loss(layer.traced(batch)));
    let inputs = random([4, 6, 3, 5]);
    let layer = GroupNormConfig::new(2, 6).init(&device());
    agrees(layer, 4, |range| inputs.clone().slice([range]), |layer, batch| loss(layer.traced(batch)));
}

#[test]
fn embedding() {
    let words = Tensor::<2, Int>::from_data([[0, 2, 2], [1, 3, 0], [4, 4, 4]], &device());
    let layer = EmbeddingConfig::new(5, 3).init(&device());
    agrees(layer, 3, |range| words.clone().slice([range]), |layer, batch| loss(layer.traced(batch)));
}

#[test]
fn attention_and_transformers_compute_what_burn_computes() {
    let inputs = random([3, 5, 8]);
    let attention = MultiHeadAttentionConfig::new(8, 2).with_dropout(0.0).init(&device());
    let theirs = attention.forward(burn::nn::attention::MhaInput::self_attn(inputs.clone())).context;
    attention.traced(inputs.clone()).into_data().assert_eq(&theirs.into_data(), true);
    agrees(attention, 3, |range| inputs.clone().slice([range]), |layer, batch| loss(layer.traced(batch)));
    for norm_first in [true, false] {
        let encoder =
            TransformerEncoderConfig::new(8, 12, 2, 2).with_dropout(0.0).with_norm_first(norm_first).init(&device());
        let theirs = encoder.forward(burn::nn::transformer::TransformerEncoderInput::new(inputs.clone()));
        encoder.traced(inputs.clone()).into_data().assert_eq(&theirs.into_data(), true);
        agrees(encoder, 3, |range| inputs.clone().slice([range]), |layer, batch| loss(layer.traced(batch)));
    }
}

/// A layer that is used twice, frozen parameters, and a parameter of the model's own.
#[derive(Module, Debug)]
struct Mixed {
    first: Linear,
    frozen: Linear,
    own: Param<Tensor<2>>,
}

impl Mixed {
    fn new() -> Self {
        let linear = || LinearConfig::new(4, 4).init(&device());
        Self { first: linear(), frozen: linear().no_grad(), own: Param::from_tensor(random([3, 4])) }
    }

    fn losses(&self, batch: Tensor<3>) -> Tensor<1> {
        let examples = batch.dims()[0];
        let moved = batch + expanded::<2, 3>(&self.own, examples);
        loss(self.first.traced(self.frozen.traced(self.first.traced(moved)).tanh()))
    }
}

#[test]
fn shared_frozen_and_own_parameters() {
    let inputs = random([4, 3, 4]);
    agrees(Mixed::new(), 4, |range| inputs.clone().slice([range]), Mixed::losses);
}

#[test]
fn models_without_rules_are_recognised_by_their_structure() {
    let (device, model) = (device(), Mixed::new().train());
    let layout = Layout::of(&model);
    let reason = |losses: fn(&Mixed, Tensor<3>) -> Tensor<1>| {
        by_rules(&model, &layout, 4, random([4, 3, 4]), losses, &device).unwrap().unwrap_err()
    };
    let found = reason(|model, batch| loss(model.first.forward(batch)));
    assert_eq!(found, Reason::Untraced { path: "first.weight".to_owned() });
    let found = reason(|model, batch| {
        let flat: Tensor<2> = model.first.traced(batch.reshape([12, 4]));
        loss(flat.reshape([4, 12]))
    });
    assert_eq!(found, Reason::Misfit(Misfit { layer: "Linear", rows: 12, examples: 4 }));
}
