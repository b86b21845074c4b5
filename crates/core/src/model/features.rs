//! Fixed image features of one byte each, which can replace pixels. They do not depend on training
//! examples, so they cost no privacy.

use super::{extractor, scattering};
use crate::data::{FeatureKind, Picture};

/// The features of one kind for images of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FeatureMap {
    /// Kind of features.
    pub kind: FeatureKind,
    /// Size of the images.
    pub picture: Picture,
}

impl FeatureMap {
    /// Scattering coefficients of MNIST images.
    pub const DIGITS: Self = Self { kind: FeatureKind::Scattering, picture: Picture::DIGIT };

    /// Returns the number of maps and the side of each; features are `[map][row][column]`.
    #[must_use]
    pub const fn shape(self) -> (usize, usize) {
        match self.kind {
            FeatureKind::Scattering => {
                (scattering::CHANNELS * self.picture.channels as usize, scattering::cells(self.picture))
            }
            FeatureKind::Learned => (extractor::MAPS, extractor::CELLS),
        }
    }

    /// Returns the number of features of an image.
    #[must_use]
    pub const fn len(self) -> usize {
        let (maps, side) = self.shape();
        maps * side * side
    }

    /// True if there are no features, which does not occur.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// True if they can be computed: some need a file that may not have been fetched.
    #[must_use]
    pub fn are_there(self) -> bool {
        match self.kind {
            FeatureKind::Scattering => true,
            FeatureKind::Learned => extractor::FILE.bytes().is_some(),
        }
    }
}
