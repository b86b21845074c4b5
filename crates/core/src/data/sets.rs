//! Labelled images parsed from a visitor's files: a training set and possibly a test set.

use super::{
    Classes, Dataset, Picture, Remark,
    idx::{self, Kind},
    mnist_files::FILES,
    users::Column,
};

/// Labelled images of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// `labels.len() × picture.pixels()` bytes, in a dataset's order.
    pub images: Vec<u8>,
    /// Each below the number of classes.
    pub labels: Vec<u8>,
    /// Whose each is, if the files tell; as many as labels.
    pub users: Option<Column>,
}

/// A training set and possibly a test set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sets {
    /// Name of a published set, if all images and labels are its own to the last byte.
    pub published: Option<&'static str>,
    pub picture: Picture,
    /// `None` if the files do not name them.
    pub classes: Option<Classes>,
    pub train: Part,
    pub test: Option<Part>,
    /// What became of the files.
    pub notes: Vec<Remark>,
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

    /// True if the sets are MNIST to the last byte, whatever their file format.
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

    /// Converts to datasets of this name: training, test.
    pub fn named(self, name: &str) -> (Dataset, Option<Dataset>) {
        let labels = [Some(&self.train), self.test.as_ref()].into_iter().flatten().flat_map(|part| &part.labels);
        let highest = labels.max().copied().unwrap_or_default();
        let (picture, classes) = (self.picture, self.classes);
        let classes = classes.unwrap_or_else(|| Classes::up_to(picture, highest));
        let set = |part: Part| {
            let set = Dataset::of(name, picture, classes.clone(), part.images, part.labels);
            (set, part.users)
        };
        let ((train, users), test) = (set(self.train), self.test.map(set));
        let (test, tests_users) = test.unzip();
        // Users of the test set alone are of no use.
        let (users, tests_users) = match users {
            Some(users) => {
                let (users, tests_users) = Column::joined(users, tests_users.flatten());
                (Some(users), tests_users)
            }
            None => (None, None),
        };
        (train.with_users(users), test.map(|test| test.with_users(tests_users)))
    }
}
