//! What one reader makes of a visitor's files: labelled images to train on and, if there are some, to test with.

use super::{
    Classes, Dataset, Picture,
    idx::{self, Kind},
    mnist_files::FILES,
};

/// Labelled images of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// `labels.len() × picture.pixels()` bytes, as a data set has them.
    pub images: Vec<u8>,
    /// Each below the number of classes.
    pub labels: Vec<u8>,
}

/// A training set and, if there is one, a test set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sets {
    /// The name of a published set, if it is one to the last byte, images and labels, training and test.
    pub published: Option<&'static str>,
    pub picture: Picture,
    /// `None`: nobody says.
    pub classes: Option<Classes>,
    pub train: Part,
    pub test: Option<Part>,
}

impl Sets {
    /// Bytes of all images and labels.
    pub fn bytes(&self) -> u64 {
        [Some(&self.train), self.test.as_ref()]
            .into_iter()
            .flatten()
            .map(|part| (part.images.len() + part.labels.len()) as u64)
            .sum()
    }

    /// Whether these are MNIST to the last byte, in whatever file they came.
    pub fn is_mnist(&self) -> bool {
        let Some(test) = &self.test else { return false };
        let lengths = [60_000, 10_000];
        if self.picture != Picture::DIGIT || [self.train.labels.len(), test.labels.len()] != lengths {
            return false;
        }
        let found = |part: &Part| {
            let digest = |kind, elements: &[u8]| idx::digest(kind, part.labels.len(), elements);
            [digest(Kind::Images, &part.images), digest(Kind::Labels, &part.labels)]
        };
        [&self.train, test].into_iter().flat_map(found).eq(FILES.iter().map(|file| file.sha256))
    }

    /// Data sets of this name: training, test.
    pub fn named(self, name: &str) -> (Dataset, Option<Dataset>) {
        let labels = [Some(&self.train), self.test.as_ref()].into_iter().flatten().flat_map(|part| &part.labels);
        let highest = labels.max().copied().unwrap_or_default();
        let (picture, classes) = (self.picture, self.classes);
        let classes = classes.unwrap_or_else(|| Classes::up_to(picture, highest));
        let set = |part: Part| Dataset::of(name, picture, classes.clone(), part.images, part.labels);
        (set(self.train), self.test.map(set))
    }
}
