use proptest::prelude::*;

use super::{strategies::any_layer, *};
use crate::model::Architecture;

fn list(text: &str) -> LayerList {
    text.parse().unwrap()
}

#[test]
fn first_list_is_valid() {
    assert_eq!(LayerList::new(LayerList::FIRST.specs()).unwrap(), LayerList::FIRST);
    assert_eq!(LayerList::FIRST.to_string(), "conv 8 5x5/2 same, tanh, maxpool 2, dense 10");
}

/// The named models, written as lists, have the same layers and offsets.
#[test]
fn named_models_are_lists() {
    for architecture in Architecture::ALL {
        let placed = list(&architecture.written()).placed();
        let layers: Vec<Layer> = placed.iter().filter_map(|placed| placed.layer).collect();
        let shapes = |layer: &Layer| (layer.offset, layer.outputs, layer.fan_in, layer.fan_out, layer.scales);
        assert_eq!(
            layers.iter().map(shapes).collect::<Vec<_>>(),
            architecture.layers().iter().map(shapes).collect::<Vec<_>>()
        );
    }
}

#[test]
fn shapes_follow_from_the_layers_before() {
    let placed = list("conv 3 5x5/3 pad 1, maxpool 3/2, relu, groupnorm 3, avgpool 2, flatten, dense 10").placed();
    let shapes: Vec<String> = placed.iter().map(|placed| placed.output.to_string()).collect();
    // (28 + 2 − 5)/3 + 1 = 9; (9 − 3)/2 + 1 = 4; 4/2.
    assert_eq!(shapes, ["3×9×9", "3×4×4", "3×4×4", "3×4×4", "3×2×2", "12", "10"]);
    let layers: Vec<(&str, usize)> =
        placed.iter().filter_map(|placed| placed.layer).map(|layer| (layer.name, layer.biases().end)).collect();
    assert_eq!(layers, [("conv1", 78), ("norm1", 84), ("dense1", 214)]);
    let work: Vec<u64> = placed.iter().map(Placed::work).collect();
    assert_eq!(work, [81 * 75, 48 * 9, 48, 48, 12 * 4, 12, 120]);
    for (text, side) in [("3x3/2", 14), ("5x5/2", 14), ("8x8/2", 14), ("3x3", 28), ("7x7/3", 10)] {
        let shape = list(&format!("conv 1 {text} same, dense 10")).placed()[0].output;
        assert_eq!(shape, Shape::Image { channels: 1, side });
    }
}

#[test]
fn invalid_lists_are_refused_with_the_layer() {
    for (text, says) in [
        ("", "ends in nothing"),
        ("dense 1", "ends in dense 1; its last layer must be dense"),
        ("dense 101", "ends in dense 101; its last layer must be dense"),
        ("dense 10, tanh", "ends in tanh"),
        ("dense 10, conv 3 3x3, dense 10", "layer 2 needs an image"),
        ("flatten, maxpool 2, dense 10", "layer 2 needs an image"),
        ("conv 3 8x8/4, conv 3 4x4/2, conv 4 5x5, dense 10", "layer 3: a 5×5 window does not fit a 2×2 image"),
        ("conv 2 4x4 same, dense 10", "layer 1: no equal padding on all sides turns a 28×28 image into 28×28 values"),
        ("conv 6 3x3, groupnorm 4, dense 10", "layer 2: 6 channels do not split into 4 equal groups"),
        ("softmax, dense 10", "layer 1 is “softmax”; a layer is conv, "),
        ("tanh, conv 3 3, dense 10", "layer 2 is “conv 3 3”; it is written as conv 16 8x8/2 same"),
        ("conv 3 3x4, dense 10", "it is written as conv"),
        ("conv 3 3x3 pad, dense 10", "it is written as conv"),
        ("dense ten", "layer 1 is “dense ten”; it is written as dense 32"),
        ("dense -10", "it is written as dense"),
        ("dense 0, dense 10", "layer 1: the number of outputs must be from 1 to 4096"),
        ("conv 99999999999 3x3, dense 10", "the number of filters must be from 1 to 1024"),
        ("maxpool 0, dense 10", "its window must be from 1 to 64"),
        ("maxpool 2/0, dense 10", "its stride must be from 1 to 64"),
        ("relu 3, dense 10", "it is written as relu"),
        ("tempered 1.581 3 0.7, dense 10", "it is written as tempered 1.58 3 0.71"),
        ("tempered 0 3 0.7, dense 10", "its scale must be from 0 to 100"),
        ("tempered 1. 3 0.7, dense 10", "it is written as tempered"),
        ("dense 2000, dense 10", "1590010 parameters; the limit is 1000000"),
        ("conv 200 9x9 same, conv 40 9x9 same, dense 10", "multiplications and additions per image"),
        ("conv 1024 1x1 pad 63, dense 10", "layer 1 makes more than 1048576 values"),
    ] {
        let refused = text.parse::<LayerList>().unwrap_err().to_string();
        assert!(refused.contains(says), "{text}: {refused}");
    }
    let many = "tanh, ".repeat(20) + "dense 10";
    assert_eq!(many.parse::<LayerList>(), Err(LayersError::TooLong { found: 21 }));
    let many = "dense 4, ".repeat(8) + "dense 10";
    assert_eq!(many.parse::<LayerList>(), Err(LayersError::TooManyWithParameters { found: 9 }));
    let long = "x".repeat(100_000);
    assert!(long.parse::<LayerList>().unwrap_err().to_string().len() < 300);
}

#[test]
fn parsing_accepts_variant_spellings() {
    let written = "CONV 16 8×8/2 Same ,tanh\nmaxpool 2/1;; maxpool 2/2, tempered 1.5 3 0.70, dense 10";
    assert_eq!(
        list(written).to_string(),
        "conv 16 8x8/2 same, tanh, maxpool 2/1, maxpool 2, tempered 1.5 3 0.7, dense 10"
    );
    let json = serde_json::to_string(&list(written)).unwrap();
    assert_eq!(serde_json::from_str::<LayerList>(&json).unwrap(), list(written));
    assert!(serde_json::from_str::<LayerList>("\"dense 1\"").is_err());
}

/// Features come first and depend on the image size.
#[test]
fn features_stand_first() {
    let grey = list("scattering, dense 10");
    assert_eq!((grey.features(), grey.work()), (Some(FeatureMap::DIGITS), 39_690));
    assert_eq!(Architecture::Built(grey).parameters(), Architecture::Scattering.parameters());
    assert_eq!(Architecture::Built(grey).planes(), None, "no pictures of an image");
    let colour = list("input 3x32x32, scattering, groupnorm 3, conv 4 3x3, tanh, dense 7");
    assert_eq!(colour.placed()[0].output, Shape::Image { channels: 243, side: 4 });
    assert_eq!(Architecture::Built(colour).inputs(), 3_888);
    let learned = list("input 3x64x64, extractor, dense 100");
    assert_eq!(learned.placed()[0].output, Shape::Image { channels: 64, side: 4 });
    assert_eq!(Architecture::Built(learned).parameters(), 102_500);
    assert_eq!(list("input 1x1x1, scattering, dense 2").placed()[0].output, Shape::Image { channels: 81, side: 7 });
    for text in ["tanh, scattering, dense 10", "scattering, extractor, dense 10", "conv 3 1x1, extractor, dense 10"] {
        assert!(matches!(text.parse::<LayerList>(), Err(LayersError::NotFirst { layer: 2, .. })), "{text}");
    }
    assert!(matches!("scattering 3, dense 10".parse::<LayerList>(), Err(LayersError::Written { layer: 1, .. })));
}

/// Fitting to other images and classes changes shapes, not layers, and can be reversed.
#[test]
fn lists_state_their_image_size() {
    let colour = list("Input 3×32×32; conv 8 5x5/2 same, tanh, maxpool 2, dense 100");
    assert_eq!(colour.to_string(), "input 3x32x32, conv 8 5x5/2 same, tanh, maxpool 2, dense 100");
    assert_eq!((colour.picture(), colour.classes()), (Picture { channels: 3, side: 32 }, 100));
    assert_eq!(colour.placed()[0].layer.unwrap().fan_in, 75);
    assert_eq!(colour.placed()[2].output, Shape::Image { channels: 8, side: 8 });
    assert_eq!(list("input 1x28x28, dense 10"), list("dense 10"));
    assert_eq!(colour.fitted(Picture::DIGIT, 10).unwrap(), LayerList::FIRST);
    assert_eq!(LayerList::FIRST.fitted(colour.picture(), 100).unwrap(), colour);
    for text in [
        "input, dense 10",
        "input 3x32, dense 10",
        "input 2x32x32, dense 10",
        "input 3x32x31, dense 10",
        "input 1x65x65, dense 10",
        "input 1x0x0, dense 10",
        "input 3x32x32x1, dense 10",
        "input 3x32x32 same, dense 10",
        "dense 10, input 3x32x32",
        "input 1x9x9, input 1x9x9, dense 10",
    ] {
        assert!(matches!(text.parse::<LayerList>(), Err(LayersError::Input { .. })), "{text}");
    }
    // Named models become lists for other images, and named again for digits.
    let other = Picture { channels: 3, side: 32 };
    for named in Architecture::ALL {
        assert_eq!(named.fitted(Picture::DIGIT, 10).unwrap(), named);
        let fitted = named.fitted(other, 7).unwrap();
        assert!(fitted.fits(other, 7) && !fitted.is_named(), "{named}");
        assert_eq!(fitted.fitted(Picture::DIGIT, 10).unwrap(), named);
    }
    assert!(Architecture::CnnTanh.fitted(Picture { channels: 1, side: 4 }, 10).is_err());
}

proptest! {
    /// Parsing inverts printing.
    #[test]
    fn parsing_inverts_printing(specs in proptest::collection::vec(any_layer(), 0..6), colour: bool, side in 1..=64_u8, classes in 2..=100_u16) {
        let text = specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        prop_assert_eq!(read(&text).unwrap(), (None, specs.clone()));
        let picture = Picture { channels: if colour { 3 } else { 1 }, side };
        let specs = [&specs[..], &[LayerSpec::Dense { outputs: classes }]].concat();
        if let Ok(list) = LayerList::on(picture, &specs) {
            prop_assert_eq!(list.to_string().parse::<LayerList>().unwrap(), list);
        }
    }

    #[test]
    fn parsing_never_panics(text in "[a-z0-9 x/.,;×-]{0,80}") {
        if let Ok(list) = text.parse::<LayerList>() {
            prop_assert_eq!(list.placed().len(), list.specs().len());
        }
    }
}
