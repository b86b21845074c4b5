//! Builds a training and a test set from the files that a visitor drops or picks.
//!
//! Contents tell formats apart, and images from labels; names (or, failing that, the larger count)
//! tell training from test. No file of a drop is ignored but CIFAR's page and coarse label names; what
//! else a ZIP holds is left aside, and named.

use super::{
    Classes, Digits, Remark, Source, TestSet, cifar,
    content::{Content, ContentError},
    file_fault::FileError,
    idx::{Idx, IdxError, Kind},
    idx_files::{self, MAX_IDX},
    known, npz,
    pictures::Undecoded,
    scaled::Scaled,
    sets::{Part, Sets},
};
use hushgrad_message::{Message, ToMessage, message, word};

/// One training example in about this many is held out when no test files are given.
pub const HOLD_OUT: u64 = 6;

/// Most files in a drop: CIFAR-10's batches and the names of its classes.
pub(super) const MAX_FILES: usize = 7;

/// Why a drop of files was refused as a whole.
#[derive(Clone, Debug, PartialEq, Eq, hushgrad_message::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum VisitorError {
    #[error(transparent)]
    Idx(#[from] IdxError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("no file was given; choose an images file and its labels file, or one file that holds both")]
    Nothing,
    #[error(
        "{given} files were given; expected at most {MAX_FILES}: IDX images and labels, CIFAR's batches, or one file that holds all"
    )]
    TooManyFiles { given: usize },
    #[error(
        "{given} IDX files were given; expected at most {MAX_IDX}: training images and labels, and if you like test images and labels"
    )]
    TooManyIdx { given: usize },
    #[error("{first} already holds images and labels; choose it alone, without {second}")]
    NotAlone { first: String, second: String },
    #[error("{first} and {second} have different formats; choose files of one set")]
    Mixed { first: String, second: String },
    #[error("{first} and {second} hold images of different sizes; choose files of one set")]
    SizesDiffer { first: String, second: String },
    #[error("{file} has {}, and no file of images is larger than {}; nothing was loaded", size(*.bytes), size(*.most))]
    TooLarge { file: String, bytes: u64, most: u64 },
    #[error(
        "{file}: with it the files come to {}; expected at most {} in all, unpacked, so that they fit in memory: give fewer examples",
        size(*.bytes), size(*.most)
    )]
    TooMuch { file: String, bytes: u64, most: u64 },
    #[error(
        "“{file}” cannot be read; is it a folder, or was it moved? Choose files: IDX, CIFAR's, an .npz, or a ZIP of pictures"
    )]
    Unreadable { file: String },
    #[error("{file} changed while it was read; choose it again")]
    Changed { file: String },
    #[error("{file}: the browser has no memory left for its {}; close other pages, or give fewer examples", size(*.bytes))]
    NoMemory { file: String, bytes: u64 },
    #[error("{file}: {found} without {missing}; choose the {missing} file that belongs to it as well")]
    Unpaired { file: String, found: Kind, missing: Kind },
    #[error("{first} and {second} are both {role} {kind}; choose one of them")]
    Duplicate { first: String, second: String, role: Role, kind: Kind },
    #[error(
        "{images_file} and {labels_file} must go together, but one is named training and the other test; choose files of one set"
    )]
    RolesDiffer { images_file: String, labels_file: String },
    #[error(
        "{first} and {second} hold as many {kind} each, and neither name says which is for training; rename them to contain “train” and “test”"
    )]
    Ambiguous { first: String, second: String, kind: Kind },
    #[error(
        "{file}: {count} examples are too few to hold out one in six for testing; give at least {HOLD_OUT}, or test files"
    )]
    TooFew { file: String, count: usize },
    #[error(
        "{file}: about one example in six is held out for testing, by its content alone, and of these {count} none is left {missing}; give more that differ, or test files"
    )]
    OneSided { file: String, count: usize, missing: Missing },
}

/// Formats bytes rounded up to one decimal: `1.2 GB`, `392.1 MB`.
#[must_use]
pub fn size(bytes: u64) -> Message {
    let of = |unit: u64| {
        let tenths = bytes.div_ceil(unit / 10);
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    if bytes < 1_000_000_000 { message!("{} MB", of(1_000_000)) } else { message!("{} GB", of(1_000_000_000)) }
}

/// The part of a file that has no examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No example is left to train on.
    Training,
    /// No example is held out to test with.
    Test,
}

hushgrad_message::display!(Missing);

impl ToMessage for Missing {
    fn to_message(&self) -> Message {
        match self {
            Self::Training => word!("to train on"),
            Self::Test => word!("to test with"),
        }
        .into()
    }
}

/// Use of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// For training.
    Training,
    /// For testing.
    Test,
}

hushgrad_message::display!(Role);

impl ToMessage for Role {
    fn to_message(&self) -> Message {
        match self {
            Self::Training => "training",
            Self::Test => "test",
        }
        .into()
    }
}

/// A parsed IDX file, with the role that its name tells.
struct Read {
    name: String,
    role: Option<Role>,
    idx: Idx,
}

impl Read {
    fn of(name: String, idx: Idx) -> Self {
        let base = name.rsplit('/').next().unwrap_or_default();
        Self { role: role_by_name(base), name, idx }
    }

    /// True for the same contents in the same role.
    fn is_same(&self, other: &Self) -> bool {
        let of = |read: &Self| (read.role, read.idx.kind, read.idx.picture);
        of(self) == of(other)
            && self.idx.elements == other.idx.elements
            && self.idx.users == other.idx.users
            && self.idx.wide == other.idx.wide
    }
}

impl From<ContentError> for VisitorError {
    fn from(error: ContentError) -> Self {
        match error {
            ContentError::Idx(error) => error.into(),
            ContentError::File(error) => error.into(),
        }
    }
}

/// The contents of a drop of files.
#[derive(Debug)]
pub enum Assembled {
    /// Complete digits or other images.
    Digits(Digits),
    /// Pictures that must be decoded, then passed to [`pictured`].
    Pictures(Undecoded),
}

/// Builds a training and a test set from files, given as names and contents in any order: one or
/// two pairs of IDX files, CIFAR's batches, or one file that holds everything.
///
/// Without test files, about one example in [`HOLD_OUT`] becomes the test set. A set that matches a
/// published one to the last byte is named so, and its test set is public; otherwise all of it is
/// the visitor's own. Pictures are decoded by the native decoder.
///
/// # Errors
/// [`VisitorError`]: the first invalid file, or files that do not fit together.
#[cfg(not(target_arch = "wasm32"))]
pub fn assemble<N: AsRef<str>, B: AsRef<[u8]>>(files: &[(N, B)]) -> Result<Digits, VisitorError> {
    assemble_telling(files, &mut |_, _| {})
}

/// As [`assemble`]; calls `seen(decoded, total)` after each picture.
///
/// # Errors
/// As [`assemble`].
#[cfg(not(target_arch = "wasm32"))]
pub fn assemble_telling<N: AsRef<str>, B: AsRef<[u8]>>(
    files: &[(N, B)],
    seen: &mut dyn FnMut(u64, u64),
) -> Result<Digits, VisitorError> {
    check_count(files.len())?;
    let read = files.iter().map(|(name, bytes)| {
        let name = name.as_ref();
        Ok((name.to_owned(), super::content::read(name, bytes.as_ref().to_vec())?))
    });
    match assemble_read(read.collect::<Result<_, VisitorError>>()?)? {
        Assembled::Digits(digits) => Ok(digits),
        Assembled::Pictures(pictures) => decoded(pictures, seen),
    }
}

/// Decodes pictures natively; calls `seen(decoded, total)` after each.
///
/// # Errors
/// The first picture that cannot be decoded, or too few to hold some out.
#[cfg(not(target_arch = "wasm32"))]
pub fn decoded(mut pictures: Undecoded, seen: &mut dyn FnMut(u64, u64)) -> Result<Digits, VisitorError> {
    while let Some(coded) = pictures.wanted()? {
        pictures.take(super::decode::decode(&coded))?;
        let (taken, all) = pictures.progress();
        seen(taken, all);
    }
    pictured(pictures)
}

/// Builds the sets once all pictures have been taken.
///
/// # Errors
/// Too few pictures to hold some out.
pub fn pictured(pictures: Undecoded) -> Result<Digits, VisitorError> {
    let file = pictures.file().to_owned();
    digits(file, pictures.sets()?)
}

pub(super) const fn check_count(files: usize) -> Result<(), VisitorError> {
    match files {
        0 => Err(VisitorError::Nothing),
        1..=MAX_FILES => Ok(()),
        given => Err(VisitorError::TooManyFiles { given }),
    }
}

/// As [`assemble`], for parsed files with their names.
pub(super) fn assemble_read(files: Vec<(String, Content)>) -> Result<Assembled, VisitorError> {
    check_count(files.len())?;
    let whole = |content: &Content| match content {
        Content::Sets(_) | Content::Pictures(_) | Content::Zip(_) => true,
        Content::Arrays(arrays) => arrays.len() > 1,
        _ => false,
    };
    if files.len() > 1
        && let Some(place) = files.iter().position(|(_, content)| whole(content))
    {
        let second = files[usize::from(place == 0)].0.clone();
        return Err(VisitorError::NotAlone { first: files[place].0.clone(), second });
    }
    let (mut pairs, mut batches, mut texts, mut arrays) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (whole_file, mut zip) = (files.len() == 1, None);
    for (name, content) in files {
        match content {
            Content::Arrays(named) | Content::Table(named) if whole_file => {
                arrays.extend(named.into_iter().map(|array| (name.clone(), array)))
            }
            Content::Arrays(named) | Content::Table(named) => {
                arrays.extend(named.into_iter().map(|array| (name.clone(), array.of_file(&name))));
            }
            Content::Idx(idx) => pairs.push(Read::of(name, idx)),
            Content::Zip(idx_files::Zip { files, left }) => {
                pairs.extend(files.into_iter().map(|(name, idx)| Read::of(name, idx)));
                zip = Some((name, left));
            }
            Content::Batch(batch) => batches.push((name, batch)),
            Content::Text(text) => texts.push((name, text)),
            Content::Sets(sets) => return digits(name, sets).map(Assembled::Digits),
            Content::Pictures(pictures) => return Ok(Assembled::Pictures(pictures)),
        }
    }
    let of_cifar = batches.first().map(|(name, _)| name).or(texts.first().map(|(name, _)| name));
    if let Some((first, _)) = arrays.first() {
        let mut names: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
        names.dedup();
        let (first, all) = (first.clone(), several(&names));
        if let Some(second) = pairs.first().map(|read| &read.name).or(of_cifar) {
            return Err(VisitorError::Mixed { first, second: second.clone() });
        }
        let sets = npz::read(&all, arrays.into_iter().map(|(_, array)| array).collect())?;
        return digits(all, sets).map(Assembled::Digits);
    }
    let digits = match (pairs.first(), of_cifar) {
        (Some(first), Some(second)) => {
            return Err(VisitorError::Mixed { first: first.name.clone(), second: second.clone() });
        }
        (None, Some(name)) => {
            let name = name.clone();
            digits(name, cifar::assemble(batches, texts)?)?
        }
        (_, None) => {
            let (mut file, mut sets) = idx_sets(pairs)?;
            if let Some((name, left)) = zip {
                sets.notes.extend(left.aside());
                file = name;
            }
            digits(file, sets)?
        }
    };
    Ok(Assembled::Digits(digits))
}

/// Builds the sets of one or two pairs of IDX files; returns the training images' file name too.
fn idx_sets(mut files: Vec<Read>) -> Result<(String, Sets), VisitorError> {
    // Some archives hold each file twice.
    for place in (1..files.len()).rev() {
        if files[..place].iter().any(|other| other.is_same(&files[place])) {
            files.remove(place);
        }
    }
    if files.len() > MAX_IDX {
        return Err(VisitorError::TooManyIdx { given: files.len() });
    }
    let (mut images, mut labels): (Vec<_>, Vec<_>) = files.into_iter().partition(|read| read.idx.kind == Kind::Images);
    match (images.len(), labels.len()) {
        (1, 1) => {
            let (images, labels) = (images.remove(0), labels.remove(0));
            if let (Some(a), Some(b)) = (images.role, labels.role)
                && a != b
            {
                let (images_file, labels_file) = (images.name, labels.name);
                return Err(VisitorError::RolesDiffer { images_file, labels_file });
            }
            pairs((images, labels), None)
        }
        (2, 2) => {
            let [train_images, test_images] = by_role(images)?;
            let [train_labels, test_labels] = by_role(labels)?;
            pairs((train_images, train_labels), Some((test_images, test_labels)))
        }
        _ => Err(unpaired(&images, &labels)),
    }
}

/// Builds the sets from a training pair and a test pair of images and labels.
fn pairs(train: (Read, Read), test: Option<(Read, Read)>) -> Result<(String, Sets), VisitorError> {
    let (file, picture) = (train.0.name.clone(), train.0.idx.picture);
    if let Some((images, _)) = &test
        && images.idx.picture != picture
    {
        return Err(VisitorError::SizesDiffer { first: file, second: images.name.clone() });
    }
    let packed = |read: &Read| read.idx.packed.clone();
    let digests =
        |of: fn(&(Read, Read)) -> &Read| [packed(of(&train)), test.as_ref().and_then(|test| packed(of(test)))];
    let ([images, images_too], [labels, labels_too]) = (digests(|pair| &pair.0), digests(|pair| &pair.1));
    let (labels, labels_too) = (labels.as_deref(), labels_too.as_deref());
    // Test labels without a digest are not those of a known set.
    let known = if test.is_some() && labels_too.is_none() { None } else { known::by_labels(labels, labels_too) };
    // One rule for all values, so that training and test images are scaled alike.
    let range = test.as_ref().map(|(images, _)| images.idx.range()).transpose();
    let rule = train.0.idx.range().and_then(|all| Scaled::of(range?.map_or(all, |range| all.and(range))));
    let rule = rule.map_err(|fault| fault.of(&file))?;
    let mut train = part(train, rule)?;
    let mut test = test.map(|test| part(test, rule)).transpose()?;
    let mut parts: Vec<&mut Part> = [Some(&mut train), test.as_mut()].into_iter().flatten().collect();
    // Check the range of the labels: matching digests are no proof.
    let named = known.and_then(|set| {
        let classes = if set.classes.is_empty() { Some(Classes::digits()) } else { Classes::named(set.classes).ok() }?;
        let known = set.first..set.first + classes.count() as u8;
        parts.iter().all(|part| part.labels.iter().all(|label| known.contains(label))).then_some((set, classes))
    });
    if let Some((set, _)) = &named {
        parts.iter_mut().flat_map(|part| &mut part.labels).for_each(|label| *label -= set.first);
    }
    let whole = |set: &known::KnownIdx| set.has_images(images.as_deref(), images_too.as_deref());
    let published = named.as_ref().map(|(set, _)| *set).filter(|set| whole(set)).map(|set| set.name);
    let classes = named.map(|(_, classes)| classes);
    Ok((file, Sets { published, picture, classes, train, test, notes: rule.remark().into_iter().collect() }))
}

fn part((images, labels): (Read, Read), rule: Scaled) -> Result<Part, VisitorError> {
    if images.idx.count() != labels.idx.count() {
        return Err(IdxError::CountsDiffer {
            images: images.idx.count(),
            images_file: images.name,
            labels: labels.idx.count(),
            labels_file: labels.name,
        }
        .into());
    }
    let name = images.name;
    let images = images.idx.by(rule).map_err(|fault| fault.of(&name))?;
    Ok(Part { images: images.elements, labels: labels.idx.elements, users: labels.idx.users })
}

/// Builds digits from the sets of `file`. Without a test set, holds out about one example in six,
/// each by its own coin. A refusal reveals only how many examples each part has, which is public: ε
/// presumes the number of training examples known and does not cover those held out.
fn digits(file: String, sets: Sets) -> Result<Digits, VisitorError> {
    let published = if sets.is_mnist() { Some("MNIST") } else { sets.published };
    let name = published.map_or_else(|| title(&file), |name| format!("{name} (your files)"));
    let mut notes = sets.notes.clone();
    let (all, test) = sets.named(&name);
    if let Some(test) = test {
        let (source, test_set) = match published {
            Some("MNIST") => (Source::Mnist, TestSet::Public),
            Some(_) => (Source::Known, TestSet::Public),
            None => (Source::Visitor, TestSet::Visitor),
        };
        if source == Source::Visitor {
            let count = test.shared_with(&all);
            notes.extend((count > 0).then_some(Remark::Shared { count, all: test.len() }));
        }
        return Ok(Digits { train: all, test, source, test_set, notes });
    }
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
    Ok(Digits { train, test, source: Source::Visitor, test_set: TestSet::HeldOut, notes })
}

/// The role that a file's name tells, by the words that MNIST and its relatives use.
fn role_by_name(name: &str) -> Option<Role> {
    let name = name.to_lowercase();
    match (name.contains("train"), name.contains("t10k") || name.contains("test")) {
        (true, false) => Some(Role::Training),
        (false, true) => Some(Role::Test),
        _ => None,
    }
}

/// Orders two files of a kind: training, test.
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
        // If neither name tells, the larger file is for training.
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

/// The error for a file without a partner, if images and labels differ in number.
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

/// The names of files that hold a set together: two of them, and a mark for more.
fn several(names: &[&str]) -> String {
    names[..names.len().min(2)].join(", ") + if names.len() > 2 { ", …" } else { "" }
}

fn title(images_file: &str) -> String {
    format!("your files ({images_file})")
}
