//! Files that a visitor drops or picks become a training and a test set, by their contents and names.
//!
//! Contents decide between images and labels; names (or, without a telling name, the larger count) between training
//! and test. Everything is used or refused: no file is dropped silently.

use super::{
    Dataset, Digits, Source, TestSet,
    idx::{self, Idx, IdxError, Kind},
    mnist_files,
};

/// Of the training examples, about one in so many is held out when no test files were given.
pub const HOLD_OUT: u64 = 6;

/// Most files that one drop may have.
pub(super) const MAX_FILES: usize = 4;

/// Why a drop was refused; nothing of it was taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum VisitorError {
    #[error(transparent)]
    Idx(#[from] IdxError),
    #[error("no file was given; choose an images file and its labels file")]
    Nothing,
    #[error(
        "{given} files were given; expected at most 4: training images and labels, and if you like test images and labels"
    )]
    TooManyFiles { given: usize },
    #[error("{file} has {}, and no file of digits is larger than {}; nothing was loaded", size(*.bytes), size(*.most))]
    TooLarge { file: String, bytes: u64, most: u64 },
    #[error(
        "{file}: with it the files come to {}; expected at most {} in all, unpacked, so that they fit in memory: give fewer examples",
        size(*.bytes), size(*.most)
    )]
    TooMuch { file: String, bytes: u64, most: u64 },
    #[error("“{file}” cannot be read; is it a folder, or was it moved? Choose IDX files, plain or gzip")]
    Unreadable { file: String },
    #[error("{file} changed while it was read; choose it again")]
    Changed { file: String },
    #[error("{file}: the browser has no memory left for its {}; close other pages, or give fewer examples", size(*.bytes))]
    NoMemory { file: String, bytes: u64 },
    #[error("other files were chosen, so the ones before were not read to their end")]
    Superseded,
    #[error("{file}: {found} without {missing}; choose the {missing} file that belongs to it as well")]
    Unpaired { file: String, found: Kind, missing: Kind },
    #[error("{first} and {second} are both {role} {kind}; choose one of them")]
    Duplicate { first: String, second: String, role: Role, kind: Kind },
    #[error(
        "{images_file} and {labels_file} are called training and test, yet would have to go together; choose files of one set"
    )]
    RolesDiffer { images_file: String, labels_file: String },
    #[error(
        "{first} and {second} hold equally many {kind} and neither name says which is for training; rename them to contain “train” and “test”"
    )]
    Ambiguous { first: String, second: String, kind: Kind },
    #[error(
        "{file}: {count} examples are too few to hold one in six out for testing; give at least {HOLD_OUT}, or test files"
    )]
    TooFew { file: String, count: usize },
    #[error(
        "{file}: one example in six is held out for testing, whichever others there are, and of these {count} none is left {missing}; give more \
         that differ, or test files"
    )]
    OneSided { file: String, count: usize, missing: Missing },
}

/// Rounded up, with a decimal: `1.2 GB`, `392.1 MB`.
fn size(bytes: u64) -> String {
    let (unit, name) = if bytes < 1_000_000_000 { (1_000_000, "MB") } else { (1_000_000_000, "GB") };
    let tenths = bytes.div_ceil(unit / 10);
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

/// Which part of a file has no example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No example is left to train on.
    Training,
    /// No example is held out to test with.
    Test,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Training => "to train on",
            Self::Test => "to test with",
        })
    }
}

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Examples to train on.
    Training,
    /// Examples to test with.
    Test,
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Training => "training",
            Self::Test => "test",
        })
    }
}

/// One file, read, with the role that its name tells.
struct Read {
    name: String,
    role: Option<Role>,
    idx: Idx,
}

/// Makes a training and a test set of one or two pairs of files, given as names and contents in any order.
///
/// With one pair, about one example in [`HOLD_OUT`] becomes the test set. Files that are MNIST to the last byte are
/// called so, and their test set is public; else all of it is the visitor's own.
///
/// # Errors
/// [`VisitorError`]: the first file that is not what it says, or a set of files that does not fit together.
pub fn assemble<N: AsRef<str>, B: AsRef<[u8]>>(files: &[(N, B)]) -> Result<Digits, VisitorError> {
    check_count(files.len())?;
    let read = files.iter().map(|(name, bytes)| {
        let name = name.as_ref();
        Ok((name.to_owned(), idx::read(name, bytes.as_ref())?))
    });
    assemble_read(read.collect::<Result<_, VisitorError>>()?)
}

pub(super) const fn check_count(files: usize) -> Result<(), VisitorError> {
    match files {
        0 => Err(VisitorError::Nothing),
        1..=MAX_FILES => Ok(()),
        given => Err(VisitorError::TooManyFiles { given }),
    }
}

/// The same for files that have been parsed, with their names.
pub(super) fn assemble_read(files: Vec<(String, Idx)>) -> Result<Digits, VisitorError> {
    check_count(files.len())?;
    let (mut images, mut labels) = (Vec::new(), Vec::new());
    for (name, idx) in files {
        let of_kind = if idx.kind == Kind::Images { &mut images } else { &mut labels };
        of_kind.push(Read { role: role_by_name(&name), name, idx });
    }
    match (images.len(), labels.len()) {
        (1, 1) => one_pair(images.remove(0), labels.remove(0)),
        (2, 2) => {
            let [train_images, test_images] = by_role(images)?;
            let [train_labels, test_labels] = by_role(labels)?;
            two_pairs((train_images, train_labels), (test_images, test_labels))
        }
        _ => Err(unpaired(&images, &labels)),
    }
}

/// Holds out about one example in six of the pair, each by its own coin. A refusal reveals only how many examples either part has. That is public: ε
/// takes the number of training examples for known, and does not cover those held out.
fn one_pair(images: Read, labels: Read) -> Result<Digits, VisitorError> {
    if let (Some(a), Some(b)) = (images.role, labels.role)
        && a != b
    {
        let (images_file, labels_file) = (images.name, labels.name);
        return Err(VisitorError::RolesDiffer { images_file, labels_file });
    }
    let file = images.name;
    let all = Dataset::pair(&title(&file), (&file, images.idx), (&labels.name, labels.idx))?;
    let count = all.len();
    if (count as u64) < HOLD_OUT {
        return Err(VisitorError::TooFew { file, count });
    }
    let (train, test) = all.hold_out_by_coin(HOLD_OUT);
    for (part, missing) in [(&train, Missing::Training), (&test, Missing::Test)] {
        if part.is_empty() {
            return Err(VisitorError::OneSided { file, count, missing });
        }
    }
    Ok(Digits { train, test, source: Source::Visitor, test_set: TestSet::HeldOut })
}

fn two_pairs(train: (Read, Read), test: (Read, Read)) -> Result<Digits, VisitorError> {
    let files = [&train.0.idx, &train.1.idx, &test.0.idx, &test.1.idx];
    let is_mnist = files.into_iter().zip(mnist_files::FILES).all(|(idx, file)| idx.sha256() == file.sha256);
    let (name, source, test_set) = if is_mnist {
        ("MNIST (your files)".to_owned(), Source::Mnist, TestSet::Public)
    } else {
        (title(&train.0.name), Source::Visitor, TestSet::Visitor)
    };
    let pair =
        |(images, labels): (Read, Read)| Dataset::pair(&name, (&images.name, images.idx), (&labels.name, labels.idx));
    Ok(Digits { train: pair(train)?, test: pair(test)?, source, test_set })
}

/// What a file's name says about its role, by the words that MNIST and its relatives use.
fn role_by_name(name: &str) -> Option<Role> {
    let name = name.to_lowercase();
    match (name.contains("train"), name.contains("t10k") || name.contains("test")) {
        (true, false) => Some(Role::Training),
        (false, true) => Some(Role::Test),
        _ => None,
    }
}

/// Puts two files of a kind in the order training, test.
fn by_role(files: Vec<Read>) -> Result<[Read; 2], VisitorError> {
    let Ok([first, second]) = <[Read; 2]>::try_from(files) else { return Err(VisitorError::Nothing) };
    let names = || (first.name.clone(), second.name.clone());
    let kind = first.idx.kind;
    let swap = match (first.role, second.role) {
        (Some(role), Some(other)) if role == other => {
            let (first, second) = names();
            return Err(VisitorError::Duplicate { first, second, role, kind });
        }
        (Some(role), _) => role == Role::Test,
        (None, Some(role)) => role == Role::Training,
        // Where neither name tells, the larger file is for training.
        (None, None) => match first.idx.count().cmp(&second.idx.count()) {
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => {
                let (first, second) = names();
                return Err(VisitorError::Ambiguous { first, second, kind });
            }
        },
    };
    Ok(if swap { [second, first] } else { [first, second] })
}

/// The refusal of a file without a partner, where there are more images files than labels files or the reverse.
fn unpaired(images: &[Read], labels: &[Read]) -> VisitorError {
    let (more, fewer) = if images.len() > labels.len() { (images, labels) } else { (labels, images) };
    let fits = |a: &Read, b: &Read| {
        if a.role.is_some() && b.role.is_some() { a.role == b.role } else { a.idx.count() == b.idx.count() }
    };
    match more.iter().find(|a| !fewer.iter().any(|b| fits(a, b))).or(more.last()) {
        Some(left) => {
            let missing = if left.idx.kind == Kind::Images { Kind::Labels } else { Kind::Images };
            VisitorError::Unpaired { file: left.name.clone(), found: left.idx.kind, missing }
        }
        None => VisitorError::Nothing,
    }
}

/// A dataset's name: what the visitor knows it by.
fn title(images_file: &str) -> String {
    format!("your files ({images_file})")
}
