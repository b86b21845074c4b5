//! Images of no digit, for timing engines, and for checks of models whose image size the program
//! draws no digits in. Kernels take as long for any image, and nothing private is involved.

use crate::{data::Dataset, model::Architecture};

/// Makes `count` images, with features if the model takes some.
pub fn made_up(model: Architecture, count: usize) -> Dataset {
    // Without a pattern: equal coordinates of a gradient would hardly test kernels that rank them.
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

    /// Training and test images for `model`: digits if it reads those.
    pub(crate) fn images(model: Architecture) -> (Dataset, Dataset) {
        if model.fits(Picture::DIGIT, 10) {
            let digits = synthetic::digits(3, 21, 2);
            return (digits.train, digits.test);
        }
        let all = made_up(model, 23);
        (all.slice(0..21), all.slice(21..23))
    }
}
