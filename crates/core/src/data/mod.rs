//! Labelled images: file readers, synthetic images and datasets in memory.

#![warn(missing_docs)]

mod archive;
pub mod card;
mod cifar;
mod coin;
mod content;
#[cfg(not(target_arch = "wasm32"))]
pub mod decode;
pub mod decoded_here;
mod digest;
pub mod file_fault;
pub mod idx;
mod idx_files;
mod images;
pub mod incoming;
mod known;
mod layout;
#[cfg(not(target_arch = "wasm32"))]
pub mod mnist;
#[cfg(not(target_arch = "wasm32"))]
mod mnist_error;
pub mod mnist_files;
pub mod name;
mod npy;
mod npz;
#[cfg(not(target_arch = "wasm32"))]
pub mod own_files;
pub mod picture;
pub mod pictures;
pub mod raster;
mod scaled;
mod sets;
pub mod shard_writer;
pub mod shards;
pub mod sharing;
mod shift;
mod split;
pub mod synthetic;
mod table;
#[cfg(test)]
mod tests;
mod turned;
pub mod users;
pub mod visitor;
mod words;
mod zipped;

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use hushgrad_message::word;
use idx::{Idx, IdxError, Kind};
pub use images::Images;
pub use picture::{Classes, Picture};
pub use scaled::Scaled;
pub use shift::Shift;
pub use turned::ONE_IN;
pub use users::Users;

/// Labelled images of one size, row by row, one byte per value (for digits, 0 is paper, 255 ink).
/// Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// Name shown on the page, e.g. "MNIST" or "synthetic digits".
    pub name: String,
    /// Size and channels of each image.
    pub picture: Picture,
    /// Classes that the labels name.
    pub classes: Classes,
    /// `len × picture.pixels()` bytes.
    pub images: Images,
    /// `len` bytes, each below the number of classes.
    pub labels: Arc<[u8]>,
    /// Whose each example is, if the data tell.
    pub users: Option<Users>,
    features: Shared,
}

/// The features computed so far, shared by a set's clones. They follow from the images, so all
/// values compare equal.
#[derive(Clone, Debug, Default)]
struct Shared(Arc<RwLock<Features>>);

/// Kinds of fixed image features; see `model::features`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FeatureKind {
    /// Coefficients of the scattering transform.
    Scattering,
    /// Activations of a small network trained on synthetic images.
    Learned,
}

impl FeatureKind {
    /// Name of the kind in a list of layers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scattering => "scattering",
            Self::Learned => "extractor",
        }
    }
}

/// Fixed features of the first images of a set, as many as have been requested so far.
#[derive(Debug, Default)]
pub struct Features {
    of: Option<(Images, FeatureKind)>,
    /// One byte per value, example by example.
    pub bytes: Vec<u8>,
}

impl Features {
    /// The features of `data`'s first images; empty if those held are of another set or kind.
    #[must_use]
    pub fn of(&self, data: &Dataset, kind: FeatureKind) -> &[u8] {
        if self.belong_to(data, kind) { &self.bytes } else { &[] }
    }

    fn belong_to(&self, data: &Dataset, kind: FeatureKind) -> bool {
        self.of.as_ref().is_some_and(|(images, of)| images.same(&data.images) && *of == kind)
    }
}

impl PartialEq for Shared {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Shared {}

impl Dataset {
    /// Digits: `images` are 28×28 grey values each, `labels` one byte below 10.
    #[must_use]
    pub fn new(name: &str, images: impl Into<Images>, labels: impl Into<Arc<[u8]>>) -> Self {
        Self::of(name, Picture::DIGIT, Classes::digits(), images, labels)
    }

    /// Images of any size and classes: `images` are `picture.pixels()` bytes each, `labels` a byte.
    #[must_use]
    pub fn of(
        name: &str,
        picture: Picture,
        classes: Classes,
        images: impl Into<Images>,
        labels: impl Into<Arc<[u8]>>,
    ) -> Self {
        let (images, labels) = (images.into(), labels.into());
        Self { name: name.to_owned(), picture, classes, images, labels, users: None, features: Shared::default() }
    }

    /// Other images of the same name, size and classes, and of unknown users.
    #[must_use]
    pub fn like(&self, images: impl Into<Images>, labels: impl Into<Arc<[u8]>>) -> Self {
        Self::of(&self.name, self.picture, self.classes.clone(), images, labels)
    }

    /// Bytes of an image.
    #[must_use]
    pub const fn pixels(&self) -> usize {
        self.picture.pixels()
    }

    /// Reads an images file and a labels file, given as (name, contents); names are for errors.
    ///
    /// # Errors
    /// The first fault of either file, or [`IdxError::CountsDiffer`].
    pub fn from_idx(name: &str, images: (&str, &[u8]), labels: (&str, &[u8])) -> Result<Self, IdxError> {
        let pixels = idx::read_kind(images.0, images.1, Kind::Images)?;
        let digits = idx::read_kind(labels.0, labels.1, Kind::Labels)?;
        Self::pair(name, (images.0, pixels), (labels.0, digits))
    }

    /// Pairs the images and the labels of two parsed files.
    fn pair(name: &str, images: (&str, Idx), labels: (&str, Idx)) -> Result<Self, IdxError> {
        if images.1.count() != labels.1.count() {
            return Err(IdxError::CountsDiffer {
                images_file: images.0.to_owned(),
                images: images.1.count(),
                labels_file: labels.0.to_owned(),
                labels: labels.1.count(),
            });
        }
        let (picture, highest) = (images.1.picture, labels.1.elements.iter().max().copied().unwrap_or_default());
        Ok(Self::of(name, picture, Classes::up_to(picture, highest), images.1.elements, labels.1.elements))
    }

    /// Locks the features for reading. Any number of runs may read at a time.
    pub fn features(&self) -> RwLockReadGuard<'_, Features> {
        self.features.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the features for writing, exclusively, and clears those of another set or kind.
    pub fn features_mut(&self, kind: FeatureKind) -> RwLockWriteGuard<'_, Features> {
        let mut features = self.features.0.write().unwrap_or_else(PoisonError::into_inner);
        if !features.belong_to(self, kind) {
            *features = Features { of: Some((self.images.clone(), kind)), bytes: Vec::new() };
        }
        features
    }

    /// Number of examples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// True if there are no examples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Returns copies of `images`, each moved by every one of `shifts`, with their labels.
    ///
    /// # Panics
    /// When one of `images` is not below [`Self::len`].
    #[must_use]
    pub fn moved(&self, images: &[usize], shifts: &[Shift]) -> Self {
        let pixels: Vec<u8> = images
            .iter()
            .flat_map(|&i| shifts.iter().flat_map(move |shift| shift.of(self.picture, self.image(i))))
            .collect();
        let labels: Vec<u8> = images.iter().flat_map(|&i| std::iter::repeat_n(self.labels[i], shifts.len())).collect();
        self.like(pixels, labels)
    }

    /// Pixels of example `i`.
    ///
    /// # Panics
    /// When `i` is not below [`Self::len`].
    #[must_use]
    pub fn image(&self, i: usize) -> &[u8] {
        self.images.one(i, self.pixels())
    }

    /// Number of examples that `other` holds as well, with the same label.
    #[must_use]
    pub fn shared_with(&self, other: &Self) -> usize {
        // By label and pixels, with the number of examples that are alike.
        let mut own: HashMap<(u8, &[u8]), usize> = HashMap::new();
        (0..self.len()).for_each(|i| *own.entry((self.labels[i], self.image(i))).or_default() += 1);
        (0..other.len()).filter_map(|i| own.remove(&(other.labels[i], other.image(i)))).sum()
    }

    /// The examples of `range`, cut off at the end of the set.
    #[must_use]
    pub fn slice(&self, range: std::ops::Range<usize>) -> Self {
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        let users = self.users.as_ref().map(|users| users.part(start..end));
        self.like(self.images.part(start..end, self.pixels()), &self.labels[start..end]).with_users(users)
    }
}

/// A training set (private) and a test set.
#[derive(Clone, Debug)]
pub struct Digits {
    /// Training examples.
    pub train: Dataset,
    /// Test examples, on which accuracy is measured.
    pub test: Dataset,
    /// Source of both sets.
    pub source: Source,
    /// Source of the test set.
    pub test_set: TestSet,
    /// What became of a visitor's files.
    pub notes: Vec<Remark>,
}

/// Where the digits came from, as shown on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// MNIST, checked against its known digests.
    Mnist,
    /// Digits drawn by the program from a seed: public by construction.
    Synthetic,
    /// Colour images drawn by the program; public as well.
    Colour,
    /// The visitor's own files, which stay on their machine.
    Visitor,
    /// A set other than MNIST that the site provides.
    Site,
    /// The visitor's files of a published set other than MNIST, checked against its known digests.
    Known,
}

impl Source {
    /// True for the visitor's own files, whether or not they are of a published set.
    #[must_use]
    pub const fn is_own(self) -> bool {
        matches!(self, Self::Visitor | Self::Known)
    }
}

/// Where the test set came from, which decides what a test accuracy reveals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestSet {
    /// Public examples, about which a test accuracy reveals nothing private.
    Public,
    /// The visitor's own test files, never trained on; ε does not cover them.
    Visitor,
    /// About one in six of the visitor's training examples, each held out by its own coin
    /// ([`Dataset::hold_out_by_coin`]) and never trained on; ε does not cover them.
    HeldOut,
}

impl Digits {
    /// Remarks to show when a visitor's own set is loaded; empty for other sets.
    #[must_use]
    pub fn remarks(&self) -> Vec<Remark> {
        if self.source != Source::Visitor {
            return vec![];
        }
        let all = || (0..self.train.len()).map(|i| self.train.image(i));
        let brightest = all().flatten().copied().max().unwrap_or(u8::MAX);
        let labelled = |label: &usize| self.train.labels.iter().any(|other| usize::from(*other) == *label);
        let mut empty = Left::default();
        let classes = (0..self.train.classes.count()).filter(|label| !labelled(label));
        classes.for_each(|label| empty.add(self.train.classes.name(label)));
        let dark = (brightest < DARK).then_some(Remark::Dark { brightest });
        let mut remarks = vec![Remark::Presumed];
        remarks.extend(self.notes.iter().cloned());
        remarks.extend(dark);
        remarks.extend(empty.classes());
        remarks.extend(self.same_users());
        remarks
    }
}

impl Digits {
    /// The remark on users whose images are in both sets.
    fn same_users(&self) -> Option<Remark> {
        let (count, all) = self.test.users.as_ref()?.shared_with(self.train.users.as_ref()?);
        (count > 0).then_some(Remark::SameUsers { count, all })
    }
}

/// A set whose brightest value is below this is reported as dark.
const DARK: u8 = 128;

/// A remark on a visitor's own images, shown to the visitor alone when they are loaded.
///
/// ε covers one example more or less. Size, scale and colour of the images and the number of
/// classes may depend on a single example; they are presumed public.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, hushgrad_message::Error)]
pub enum Remark {
    /// Applies to every unpublished set.
    #[error(
        "Image size, colour, the scale of the values and the number of classes are read from the files and assumed to be public: ε does not cover what these reveal about an image."
    )]
    Presumed,
    /// All training images are dark.
    #[error(
        "The brightest value of all training images is {brightest} of 255. Training uses them this dark: multiply the values if {brightest} was meant to be white."
    )]
    Dark {
        /// The largest value.
        brightest: u8,
    },
    /// The values of the files were scaled.
    #[error(transparent)]
    Scaled(Scaled),
    /// Arrays or files that are neither trained on nor tested with.
    #[error("Not used: {names} ({count} in all).")]
    Left {
        /// The first three names.
        names: String,
        /// How many there are.
        count: usize,
    },
    /// Test pictures in no class folder.
    #[error(
        "Test pictures without a class: {names} ({count} in all). They are not used, as nothing tells their labels."
    )]
    Unlabelled {
        /// The first three names.
        names: String,
        /// How many there are.
        count: usize,
    },
    /// Files beside the pictures, and pictures that are damaged or of another format.
    #[error(
        "Left out: {names} ({count} of {all} files). Only whole pictures in PNG, JPEG, GIF, BMP, WebP, TIFF, PGM or PPM can be read."
    )]
    Unread {
        /// The first three names.
        names: String,
        /// How many there are.
        count: usize,
        /// Number of all files.
        all: usize,
    },
    /// Classes without a training image.
    #[error("No training image is of these classes: {names} ({count} in all). Labels count from 0.")]
    Empty {
        /// The first three names.
        names: String,
        /// How many there are.
        count: usize,
    },
    /// Users whose images are in both sets.
    #[error(
        "Users with images in both the training and the test set: {count} of the {all} who have test images. On images of other people, the model may do worse than the test accuracy says."
    )]
    SameUsers {
        /// How many there are.
        count: usize,
        /// Number of users with test images.
        all: usize,
    },
    /// Test images that are trained on.
    #[error(
        "Test images that are training images, too, with the same label: {count} of {all}. They make the test accuracy look better."
    )]
    Shared {
        /// How many there are.
        count: usize,
        /// Number of test images.
        all: usize,
    },
}

/// What is left aside of a visitor's files, or missing: the first names, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Left {
    names: Vec<String>,
    count: usize,
}

impl Left {
    const SHOWN: usize = 3;

    /// Adds a name that can be shown.
    fn add(&mut self, name: String) {
        if self.count < Self::SHOWN {
            self.names.push(name);
        }
        self.count += 1;
    }

    fn names(&self) -> String {
        self.names.join(", ") + if self.count > Self::SHOWN { ", …" } else { "" }
    }

    /// The remark on arrays, files or images of no use.
    fn aside(&self) -> Option<Remark> {
        (self.count > 0).then(|| Remark::Left { names: self.names(), count: self.count })
    }

    /// The remark on test pictures without a class.
    fn unlabelled(&self) -> Option<Remark> {
        (self.count > 0).then(|| Remark::Unlabelled { names: self.names(), count: self.count })
    }

    /// The remark on classes without images.
    fn classes(&self) -> Option<Remark> {
        (self.count > 0).then(|| Remark::Empty { names: self.names(), count: self.count })
    }

    /// The remark on files, of `all`, that are not pictures.
    fn unread(&self, all: usize) -> Option<Remark> {
        (self.count > 0).then(|| Remark::Unread { names: self.names(), count: self.count, all })
    }
}

impl TestSet {
    /// Caution to show beside the accuracy; `None` if there is nothing to say.
    #[must_use]
    pub const fn caution(self) -> Option<&'static str> {
        match self {
            Self::Public => None,
            Self::Visitor => Some(word!(
                "The test images are yours too: ε does not cover what the test accuracy reveals about them."
            )),
            Self::HeldOut => Some(word!(
                "About one image in six, chosen independently, is kept for testing: ε does not cover what the test accuracy reveals about those."
            )),
        }
    }
}
