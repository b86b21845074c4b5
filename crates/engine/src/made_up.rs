//! Images of no digit, by which engines are timed, and checked where the program draws none of a model's size: kernels take as long for any image, and nothing private has a part in it.

use crate::{data::Dataset, model::Architecture};

/// So many images, with features where the model takes some.
pub fn made_up(model: Architecture, count: usize) -> Dataset {
    // Of no pattern: coordinates of a gradient that are alike say little of kernels that rank them.
    let byte = |i: usize| ((i as u32).wrapping_mul(2_654_435_761) >> 24) as u8;
    let bytes = |count: usize| (0..count).map(byte).collect::<Vec<_>>();
    let labels: Vec<u8> = (0..count).map(|i| (i % model.classes()) as u8).collect();
    let data = model.dataset(bytes(count * model.picture().pixels()), labels);
    if let Some(map) = model.features() {
        data.features_mut(map.kind).bytes = bytes(count * map.len());
    }
    data
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::{Picture, synthetic};

    /// Training and test images of the model's kind: digits where it reads those.
    pub(crate) fn images(model: Architecture) -> (Dataset, Dataset) {
        if model.fits(Picture::DIGIT, 10) {
            let digits = synthetic::digits(3, 21, 2);
            return (digits.train, digits.test);
        }
        let all = made_up(model, 23);
        (all.slice(0..21), all.slice(21..23))
    }
}
