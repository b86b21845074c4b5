//! Fixed features of images, one byte each: what a model may take in place of pixels. No training example has a part in how they are made, so they cost
//! no privacy.

use super::{extractor, scattering};
use crate::data::{FeatureKind, Picture};

/// Features of a kind, of images of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FeatureMap {
    /// What they are.
    pub kind: FeatureKind,
    /// Of what images.
    pub picture: Picture,
}

impl FeatureMap {
    /// Scattering coefficients of MNIST's images.
    pub const DIGITS: Self = Self { kind: FeatureKind::Scattering, picture: Picture::DIGIT };

    /// Maps, and cells in a row of one: features are `[map][row][column]`.
    #[must_use]
    pub const fn shape(self) -> (usize, usize) {
        match self.kind {
            FeatureKind::Scattering => {
                (scattering::CHANNELS * self.picture.channels as usize, scattering::cells(self.picture))
            }
            FeatureKind::Learned => (extractor::MAPS, extractor::CELLS),
        }
    }

    /// Features of an image.
    #[must_use]
    pub const fn len(self) -> usize {
        let (maps, side) = self.shape();
        maps * side * side
    }

    /// Whether there are none: never so.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether they can be computed: those that a file is needed for wait for it.
    #[must_use]
    pub fn are_there(self) -> bool {
        match self.kind {
            FeatureKind::Scattering => true,
            FeatureKind::Learned => extractor::FILE.bytes().is_some(),
        }
    }
}
