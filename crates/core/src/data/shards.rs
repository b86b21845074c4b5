//! The dataset that the site provides: a manifest and shards, read one after the other.
//!
//! The caller asks [`Assembler::next`] for a file's name, fetches it from the page's own origin and
//! hands in the bytes. Ten thousand training examples and the test set are enough to start a run;
//! more join later. [`Assembler::digits`] takes a snapshot, so a run's training set never changes.

use hushgrad_message::{Message, ToMessage};
use serde::{Deserialize, Serialize};

pub use super::shard_writer::{FORMAT, MANIFEST};
use super::{
    Dataset, Digits, Source, TestSet,
    idx::{self, Fault, Kind, PIXELS},
    shard_writer::SHARD_EXAMPLES,
};

/// Most bytes of a manifest, a hundred times the size of MNIST's.
const MAX_MANIFEST_BYTES: usize = 256 << 10;

/// SHA-256 of MNIST's unpacked shards: training, then test.
const MNIST_SHARDS: [&str; 7] = [
    "0f10eb18222f5cce3ff95589fb0d455684af123955877a30110606eefe8c6026",
    "dd0337ae2f129348ca304a00a6c648638eb9d25ff11569364793f106e6f44e20",
    "31450511f885a684918056c1256c760220ac9b5000152bfe53e71f35bdc89f6e",
    "dcebefde43d6ed3625376afbc269257a262280db9ef19c70ed3323c2ed37a046",
    "ee1c4e5851a48d330f7e7caccffa72906173f0d682a7b47faa6c915f588e99f5",
    "f3df4de4e95379073062f8ab2487c2d9801aec631969847e349bfb27542bf19c",
    "18489308deedfe2f7bd3a11e599a597126f161d991b1ffcffb71642aa76f7f62",
];

/// Why the site's dataset is not available, in whole or in part.
#[derive(Clone, Debug, PartialEq, Eq, hushgrad_message::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum ShardError {
    #[error("{MANIFEST}: {fault}")]
    Manifest { fault: ManifestFault },
    #[error(
        "shard {file} is missing on the server ({reason}); train on the examples that did arrive, or load the page again"
    )]
    Missing { file: String, reason: Message },
    #[error("shard {file} is not in the manifest")]
    Unknown { file: String },
    #[error("shard {file} is damaged: {fault}; load the page again")]
    Damaged { file: String, fault: Fault },
    #[error(
        "shard {file} is damaged: SHA-256 of the unpacked bytes is {found}; expected {expected}; load the page again"
    )]
    Digest { file: String, found: String, expected: String },
}

/// What is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq, hushgrad_message::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum ManifestFault {
    #[error("{bytes} bytes; expected at most {MAX_MANIFEST_BYTES}")]
    TooLarge { bytes: usize },
    #[error("it is not a manifest ({0})")]
    Json(String),
    #[error("format {found}; expected {FORMAT}")]
    Format { found: u32 },
    #[error("file name {0:?}; expected letters, digits, `-` and `.`, beginning with a letter or digit")]
    FileName(String),
    #[error("file name {0:?} occurs twice")]
    Repeated(String),
    #[error("shard {file}: sha256 {found:?}; expected 64 lower-case hexadecimal digits")]
    Sha256 { file: String, found: String },
    #[error("shard {file}: count {found}; expected 1 to {SHARD_EXAMPLES}")]
    Count { file: String, found: u32 },
    #[error("shard {file}: first {found}; expected {expected}, where the shard before it ends")]
    First { file: String, found: u32, expected: u32 },
    #[error("{set} {found} examples in all; the shards hold {expected}")]
    Total { set: Part, found: u32, expected: u32 },
    #[error("{set} has no shard")]
    NoShard { set: Part },
    #[error("{set} has {found} examples; expected at most {}", idx::MAX_EXAMPLES)]
    TooMany { set: Part, found: u32 },
}

/// Training or test set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The training set.
    Train,
    /// The test set.
    Test,
}

hushgrad_message::display!(Part);

impl ToMessage for Part {
    fn to_message(&self) -> Message {
        match self {
            Self::Train => "train",
            Self::Test => "test",
        }
        .into()
    }
}

/// The site's manifest, checked by [`Manifest::parse`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    format: u32,
    name: String,
    train: u32,
    test: u32,
    shards: Vec<Shard>,
}

/// A file of consecutive examples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    set: Part,
    file: String,
    first: u32,
    count: u32,
    bytes: u64,
    sha256: String,
}

impl Shard {
    /// Name of the file, in the manifest's folder.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Bytes to fetch, for a progress bar.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Manifest {
    /// Reads and checks a manifest. File names cannot leave the manifest's folder.
    ///
    /// # Errors
    /// [`ShardError::Manifest`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ShardError> {
        Self::check(bytes).map_err(|fault| ShardError::Manifest { fault })
    }

    fn check(bytes: &[u8]) -> Result<Self, ManifestFault> {
        if bytes.len() > MAX_MANIFEST_BYTES {
            return Err(ManifestFault::TooLarge { bytes: bytes.len() });
        }
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| ManifestFault::Json(error.to_string()))?;
        if manifest.format != FORMAT {
            return Err(ManifestFault::Format { found: manifest.format });
        }
        for (i, shard) in manifest.shards.iter().enumerate() {
            let file = || shard.file.clone();
            let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
            if !shard.file.starts_with(|c: char| c.is_ascii_alphanumeric()) || !shard.file.chars().all(letters) {
                return Err(ManifestFault::FileName(file()));
            }
            if manifest.shards[..i].iter().any(|other| other.file == shard.file) {
                return Err(ManifestFault::Repeated(file()));
            }
            let hexadecimal = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            if shard.sha256.len() != 64 || !shard.sha256.bytes().all(hexadecimal) {
                return Err(ManifestFault::Sha256 { file: file(), found: shard.sha256.clone() });
            }
            if shard.count == 0 || shard.count as usize > SHARD_EXAMPLES {
                return Err(ManifestFault::Count { file: file(), found: shard.count });
            }
        }
        for (set, found) in [(Part::Train, manifest.train), (Part::Test, manifest.test)] {
            if found > idx::MAX_EXAMPLES {
                return Err(ManifestFault::TooMany { set, found });
            }
            // This cannot overflow: a manifest of this size has few shards of at most 10,000 each.
            let mut expected = 0;
            for shard in manifest.shards.iter().filter(|shard| shard.set == set) {
                if shard.first != expected {
                    return Err(ManifestFault::First { file: shard.file.clone(), found: shard.first, expected });
                }
                expected += shard.count;
            }
            if expected == 0 {
                return Err(ManifestFault::NoShard { set });
            }
            if found != expected {
                return Err(ManifestFault::Total { set, found, expected });
            }
        }
        Ok(manifest)
    }

    /// True if these are MNIST's shards, by their digests.
    #[must_use]
    pub fn is_mnist(&self) -> bool {
        self.order().map(|i| self.shards[i].sha256.as_str()).eq(self.mnist_order())
    }

    /// Bytes to fetch in all.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shards.iter().fold(0, |sum, shard| sum.saturating_add(shard.bytes))
    }

    /// Number of training examples.
    #[must_use]
    pub const fn train(&self) -> u32 {
        self.train
    }

    /// Shards in the order of fetching: the first of training, the test set, the rest of training.
    fn order(&self) -> impl Iterator<Item = usize> + '_ {
        let of = |set| (0..self.shards.len()).filter(move |&i| self.shards[i].set == set);
        of(Part::Train).take(1).chain(of(Part::Test)).chain(of(Part::Train).skip(1))
    }

    /// MNIST's digests in that order.
    fn mnist_order(&self) -> impl Iterator<Item = &'static str> {
        [0, 6, 1, 2, 3, 4, 5].into_iter().map(|i| MNIST_SHARDS[i])
    }
}

/// Collects shards as they arrive. Each joins its set at once, so that no image is held twice.
#[derive(Clone, Debug)]
pub struct Assembler {
    manifest: Manifest,
    train: Examples,
    /// Empty once it is whole.
    test: Examples,
    whole_test: Option<Dataset>,
    /// Shards that arrived, by index in the manifest.
    arrived: Vec<bool>,
    /// Shards reported missing or damaged, which are not requested again.
    failed: Vec<bool>,
}

/// Pixels and labels, in the manifest's order.
#[derive(Clone, Debug, Default)]
struct Examples {
    pixels: Vec<u8>,
    labels: Vec<u8>,
}

impl Examples {
    /// Inserts a shard's pixels and labels before example `at`; there will be `all` examples.
    fn insert(&mut self, at: usize, (pixels, labels): (&[u8], &[u8]), all: usize) {
        // Without room for all of a manifest's claim, the vectors grow with what comes.
        let _ = self.pixels.try_reserve_exact(all * PIXELS - self.pixels.len());
        let _ = self.labels.try_reserve_exact(all - self.labels.len());
        self.pixels.splice(at * PIXELS..at * PIXELS, pixels.iter().copied());
        self.labels.splice(at..at, labels.iter().copied());
    }

    fn named(self, name: &str) -> Dataset {
        Dataset::new(name, self.pixels, self.labels)
    }
}

impl Assembler {
    /// Starts with no shard.
    #[must_use]
    pub fn new(manifest: Manifest) -> Self {
        let none = vec![false; manifest.shards.len()];
        let (train, test, failed) = (Examples::default(), Examples::default(), none.clone());
        Self { manifest, train, test, whole_test: None, arrived: none, failed }
    }

    /// The manifest of the shards being collected.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The shard to fetch next; `None` when all have arrived or failed.
    #[must_use]
    pub fn next(&self) -> Option<&Shard> {
        let wanted = |&i: &usize| !self.arrived[i] && !self.failed[i];
        self.manifest.order().find(wanted).map(|i| &self.manifest.shards[i])
    }

    /// Takes a shard's bytes, packed or already unpacked by the browser.
    ///
    /// # Errors
    /// [`ShardError::Unknown`], [`ShardError::Damaged`] or [`ShardError::Digest`]; what arrived
    /// before stays, and this shard is not requested again.
    pub fn take(&mut self, file: &str, bytes: &[u8]) -> Result<(), ShardError> {
        let unpacked = self.unpack(file, bytes)?;
        self.accept(file, &unpacked, idx::sha256(&[&unpacked]))
    }

    /// First half of [`take`](Self::take): unpacks a shard; the caller passes its digest to
    /// [`accept`](Self::accept).
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn unpack(&mut self, file: &str, bytes: &[u8]) -> Result<Vec<u8>, ShardError> {
        let i = self.index(file)?;
        let shard = &self.manifest.shards[i];
        let expected = 16 + shard.count as usize * PIXELS + 8 + shard.count as usize;
        let unpacked = idx::unpack_exactly(bytes, expected);
        self.noted(i, unpacked.map_err(|fault| ShardError::Damaged { file: file.to_owned(), fault }))
    }

    /// Second half of [`take`](Self::take); `sha256` is that of `unpacked`, lower-case hexadecimal.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn accept(&mut self, file: &str, unpacked: &[u8], sha256: String) -> Result<(), ShardError> {
        let i = self.index(file)?;
        let read = read(&self.manifest.shards[i], unpacked, sha256);
        let examples = self.noted(i, read)?;
        if self.arrived[i] {
            return Ok(());
        }
        let shards = &self.manifest.shards;
        let same = |other: &usize| shards[*other].set == shards[i].set;
        let at =
            (0..i).filter(|other| self.arrived[*other] && same(other)).map(|other| shards[other].count as usize).sum();
        (self.arrived[i], self.failed[i]) = (true, false);
        match shards[i].set {
            Part::Train => self.train.insert(at, examples, self.manifest.train as usize),
            Part::Test => {
                self.test.insert(at, examples, self.manifest.test as usize);
                if (0..shards.len()).filter(same).all(|other| self.arrived[other]) {
                    self.whole_test = Some(std::mem::take(&mut self.test).named(self.name()));
                }
            }
        }
        Ok(())
    }

    /// Marks a refused shard as failed, unless it had arrived before.
    fn noted<T>(&mut self, i: usize, result: Result<T, ShardError>) -> Result<T, ShardError> {
        if result.is_err() {
            self.failed[i] = !self.arrived[i];
        }
        result
    }

    /// Records that a shard was not fetched (`reason`, e.g. "404 Not Found"); returns the error.
    pub fn missing(&mut self, file: &str, reason: Message) -> ShardError {
        match self.index(file) {
            Ok(i) => {
                self.failed[i] = !self.arrived[i];
                ShardError::Missing { file: file.to_owned(), reason }
            }
            Err(error) => error,
        }
    }

    /// True if every shard has arrived.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.arrived.iter().all(|&arrived| arrived)
    }

    /// A snapshot for training: the training shards that arrived, in the manifest's order, and the
    /// test set. `None` without at least one training shard and the whole test set.
    #[must_use]
    pub fn digits(&self) -> Option<Digits> {
        self.with(self.whole_test.clone()?, self.train.clone())
    }

    /// Like [`digits`](Self::digits), without a copy.
    #[must_use]
    pub fn into_digits(mut self) -> Option<Digits> {
        let (train, test) = (std::mem::take(&mut self.train), self.whole_test.take()?);
        self.with(test, train)
    }

    fn with(&self, test: Dataset, train: Examples) -> Option<Digits> {
        let source = if self.manifest.is_mnist() { Source::Mnist } else { Source::Site };
        let train = train.named(self.name());
        (!train.is_empty()).then_some(Digits { train, test, source, test_set: TestSet::Public, notes: vec![] })
    }

    fn name(&self) -> &str {
        if self.manifest.is_mnist() { "MNIST" } else { &self.manifest.name }
    }

    fn index(&self, file: &str) -> Result<usize, ShardError> {
        let found = self.manifest.shards.iter().position(|shard| shard.file == file);
        found.ok_or_else(|| ShardError::Unknown { file: file.to_owned() })
    }
}

/// Splits a shard of digest `found` into pixels and labels, checked.
fn read<'a>(shard: &Shard, unpacked: &'a [u8], found: String) -> Result<(&'a [u8], &'a [u8]), ShardError> {
    if found != shard.sha256 {
        return Err(ShardError::Digest { file: shard.file.clone(), found, expected: shard.sha256.clone() });
    }
    // The digest matches, so this fails only if the manifest was made from other data.
    let (images, labels) = unpacked.split_at(16 + shard.count as usize * PIXELS);
    let other = || ShardError::Unknown { file: shard.file.clone() };
    let part = |bytes: &'a [u8], kind| bytes.strip_prefix(&*idx::header(kind, shard.count)).ok_or_else(other);
    let (pixels, labels) = (part(images, Kind::Images)?, part(labels, Kind::Labels)?);
    if let Some((index, &found)) = labels.iter().enumerate().find(|(_, label)| **label > 9) {
        return Err(ShardError::Damaged {
            file: shard.file.clone(),
            fault: Fault::Label { index, found: found.to_string() },
        });
    }
    Ok((pixels, labels))
}
