//! Images of no digit, by which engines are timed: the kernels take as long for any image, so that nothing private has a part in it.

use crate::{
    data::Dataset,
    model::{Architecture, scattering::FEATURES},
};

/// So many images, with features where the model takes some.
pub fn made_up(model: Architecture, count: usize) -> Dataset {
    let bytes = |count: usize| (0..count).map(|i| (i * 37 % 251) as u8).collect::<Vec<_>>();
    let labels: Vec<u8> = (0..count).map(|i| (i % model.classes()) as u8).collect();
    let data = model.dataset(bytes(count * model.picture().pixels()), labels);
    if model == Architecture::Scattering {
        data.features_mut().bytes = bytes(count * FEATURES);
    }
    data
}
