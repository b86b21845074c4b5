//! Random layers and networks for property tests.

use proptest::prelude::*;

use super::{Activation, LayerList, LayerSpec, Padding, Pooling};
use crate::{data::Picture, model::Architecture};

/// A random layer, without fixed features.
pub fn any_layer() -> impl Strategy<Value = LayerSpec> {
    let padding = prop_oneof![Just(Padding::Same), (0..4u8).prop_map(Padding::Pixels)];
    let kind = prop_oneof![Just(Pooling::Max), Just(Pooling::Average)];
    let tempered = (20..=300u16, 20..=300u16, 0..=200u16)
        .prop_map(|(scale, inverse_temperature, offset)| Activation::Tempered { scale, inverse_temperature, offset });
    let plain = [Activation::Tanh, Activation::Relu, Activation::Elu, Activation::Sigmoid];
    prop_oneof![
        (1..20u16, 1..9u8, 1..4u8, padding).prop_map(|(filters, kernel, stride, padding)| LayerSpec::Convolution {
            filters,
            kernel,
            stride,
            padding
        }),
        (kind, 1..5u8, 1..5u8).prop_map(|(kind, window, stride)| LayerSpec::Pool { kind, window, stride }),
        (1..40u16).prop_map(|outputs| LayerSpec::Dense { outputs }),
        prop_oneof![proptest::sample::select(plain.to_vec()), tempered].prop_map(LayerSpec::Activation),
        (1..9u16).prop_map(|groups| LayerSpec::GroupNorm { groups }),
        Just(LayerSpec::BatchNorm),
        Just(LayerSpec::Flatten),
    ]
}

/// A random network of up to five layers, for digits or other images.
pub fn any_list() -> impl Strategy<Value = LayerList> {
    let picture = prop_oneof![
        2 => Just(Picture::DIGIT),
        2 => (prop_oneof![Just(1_u8), Just(3)], 1..=64_u8).prop_map(|(channels, side)| Picture { channels, side }),
    ];
    let layers = proptest::collection::vec(any_layer(), 0..5);
    (picture, layers, 2..=100_u16).prop_filter_map("layers that fit together", |(picture, mut specs, classes)| {
        specs.push(LayerSpec::Dense { outputs: classes });
        let list = LayerList::on(picture, &specs).ok()?;
        (Architecture::Built(list).parameters() < 60_000 && list.work() < 2_000_000).then_some(list)
    })
}
