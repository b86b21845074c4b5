//! Binary files of CIFAR-10 and CIFAR-100: records of the label (one byte; for CIFAR-100 two,
//! coarse and fine) and 3072 pixels: 32×32 red, then green, then blue, row by row. They have no
//! header and are recognised by a length that is a multiple of a record's.
//! Source: Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009,
//! <https://www.cs.toronto.edu/~kriz/cifar.html>.

use super::{
    Classes, Picture,
    file_fault::{CifarField, FileError, FileFault, MOST_EXAMPLES},
    sets::{Part, Sets},
};

const PICTURE: Picture = Picture { channels: 3, side: 32 };

const TEN: [&str; 10] = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];
/// Fine labels, in alphabetical order.
const HUNDRED: [&str; 100] = [
    "apple",
    "aquarium_fish",
    "baby",
    "bear",
    "beaver",
    "bed",
    "bee",
    "beetle",
    "bicycle",
    "bottle",
    "bowl",
    "boy",
    "bridge",
    "bus",
    "butterfly",
    "camel",
    "can",
    "castle",
    "caterpillar",
    "cattle",
    "chair",
    "chimpanzee",
    "clock",
    "cloud",
    "cockroach",
    "couch",
    "crab",
    "crocodile",
    "cup",
    "dinosaur",
    "dolphin",
    "elephant",
    "flatfish",
    "forest",
    "fox",
    "girl",
    "hamster",
    "house",
    "kangaroo",
    "keyboard",
    "lamp",
    "lawn_mower",
    "leopard",
    "lion",
    "lizard",
    "lobster",
    "man",
    "maple_tree",
    "motorcycle",
    "mountain",
    "mouse",
    "mushroom",
    "oak_tree",
    "orange",
    "orchid",
    "otter",
    "palm_tree",
    "pear",
    "pickup_truck",
    "pine_tree",
    "plain",
    "plate",
    "poppy",
    "porcupine",
    "possum",
    "rabbit",
    "raccoon",
    "ray",
    "road",
    "rocket",
    "rose",
    "sea",
    "seal",
    "shark",
    "shrew",
    "skunk",
    "skyscraper",
    "snail",
    "snake",
    "spider",
    "squirrel",
    "streetcar",
    "sunflower",
    "sweet_pepper",
    "table",
    "tank",
    "telephone",
    "television",
    "tiger",
    "tractor",
    "train",
    "trout",
    "tulip",
    "turtle",
    "wardrobe",
    "whale",
    "willow_tree",
    "wolf",
    "woman",
    "worm",
];

/// CIFAR-10 or CIFAR-100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CifarVersion {
    Ten,
    Hundred,
}

impl CifarVersion {
    /// Bytes of a record.
    pub const fn record(self) -> usize {
        self.labels() + PICTURE.pixels()
    }

    /// Label bytes of a record; the last is the label used.
    const fn labels(self) -> usize {
        match self {
            Self::Ten => 1,
            Self::Hundred => 2,
        }
    }

    const fn classes(self) -> u8 {
        match self {
            Self::Ten => 10,
            Self::Hundred => 100,
        }
    }

    fn names(self) -> Vec<String> {
        match self {
            Self::Ten => TEN.map(str::to_owned).to_vec(),
            Self::Hundred => HUNDRED.map(str::to_owned).to_vec(),
        }
    }

    /// Files of records in its archive: training, test.
    pub const fn batches(self) -> (&'static [&'static str], &'static str) {
        match self {
            Self::Ten => (
                &["data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"],
                "test_batch.bin",
            ),
            Self::Hundred => (&["train.bin"], "test.bin"),
        }
    }
}

/// The records of one file, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub variety: CifarVersion,
    records: Vec<u8>,
}

/// True if a file of `bytes` bytes may consist of records.
pub(super) const fn is_length(bytes: u64) -> bool {
    bytes > 0
        && (bytes.is_multiple_of(CifarVersion::Ten.record() as u64)
            || bytes.is_multiple_of(CifarVersion::Hundred.record() as u64))
}

impl Batch {
    /// Checks the bytes of a file.
    ///
    /// # Errors
    /// The length fits neither variety, there are too many records, or a label is out of range.
    pub fn read(bytes: Vec<u8>) -> Result<Self, FileFault> {
        let found = bytes.len() as u64;
        let fits = |variety: &CifarVersion| bytes.len().is_multiple_of(variety.record());
        let mut varieties = [CifarVersion::Ten, CifarVersion::Hundred].into_iter().filter(fits);
        let first = varieties.next().filter(|_| found > 0).ok_or(FileFault::CifarLength { found })?;
        // If the length fits both, the labels decide.
        let variety = match (check(first, &bytes), varieties.next()) {
            (Ok(()), _) => first,
            (Err(_), Some(other)) if check(other, &bytes).is_ok() => other,
            (Err(fault), _) => return Err(fault),
        };
        Ok(Self { variety, records: bytes })
    }

    fn len(&self) -> usize {
        self.records.len() / self.variety.record()
    }

    pub const fn bytes(&self) -> u64 {
        self.records.len() as u64
    }
}

fn check(variety: CifarVersion, bytes: &[u8]) -> Result<(), FileFault> {
    let count = bytes.len() / variety.record();
    if count > MOST_EXAMPLES {
        return Err(FileFault::TooMany { found: count as u64 });
    }
    let fields: &[(CifarField, u8)] = match variety {
        CifarVersion::Ten => &[(CifarField::Label, 10)],
        CifarVersion::Hundred => &[(CifarField::Coarse, 20), (CifarField::Fine, 100)],
    };
    for (record, bytes) in bytes.chunks_exact(variety.record()).enumerate() {
        for (&(field, below), &found) in fields.iter().zip(bytes) {
            if found >= below {
                return Err(FileFault::CifarLabel { field, found, record, most: below - 1 });
            }
        }
    }
    Ok(())
}

/// A text file of CIFAR's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Text {
    Names(Vec<String>),
    /// The page about the set, or the names of the coarse classes.
    Unused,
}

pub(super) const LONGEST_TEXT: u64 = 100_000;

/// Reads a UTF-8 text file known by its name; `None` for other names.
pub(super) fn text(name: &str, bytes: &[u8]) -> Option<Result<Text, FileFault>> {
    match name {
        "batches.meta.txt" | "fine_label_names.txt" => Some(names(bytes).map(Text::Names)),
        "coarse_label_names.txt" | "readme.html" => Some(Ok(Text::Unused)),
        _ => None,
    }
}

/// True if CIFAR has a text file of this name.
pub(super) fn is_text(name: &str) -> bool {
    matches!(name, "batches.meta.txt" | "fine_label_names.txt" | "coarse_label_names.txt" | "readme.html")
}

fn names(bytes: &[u8]) -> Result<Vec<String>, FileFault> {
    let mut names = Vec::new();
    for (line, bytes) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let name = std::str::from_utf8(bytes).map_err(|_| FileFault::CifarText { line: line + 1 })?.trim();
        if !name.is_empty() {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// True for a test file, false for a training file, by its name; `None` if the name does not tell.
fn tests(name: &str) -> Option<bool> {
    let name = name.to_lowercase();
    match (name.contains("test"), name.contains("train") || name.contains("data_batch")) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

/// Builds the sets from named files, in the order of their names; texts, if any, name the classes.
///
/// # Errors
/// Both varieties, a name given twice, no training batch, or class names that do not fit.
pub(super) fn assemble(batches: Vec<(String, Batch)>, texts: Vec<(String, Text)>) -> Result<Sets, FileError> {
    let Some((_, Batch { variety, .. })) = batches.first() else {
        let name = texts.first().map_or("", |(name, _)| name);
        return Err(FileFault::NamesAlone.of(name));
    };
    let (variety, alone) = (*variety, batches.len() == 1);
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for (name, batch) in batches {
        if batch.variety != variety {
            let found = batch.bytes();
            return Err(FileFault::CifarLength { found }.of(&name));
        }
        let part = match tests(&name) {
            Some(true) => &mut test,
            Some(false) => &mut train,
            None if alone => &mut train,
            None => return Err(FileFault::CifarNameless.of(&name)),
        };
        if part.iter().any(|(other, _)| *other == name) {
            return Err(FileFault::Twice { entry: name.clone() }.of(&name));
        }
        part.push((name, batch));
    }
    if train.is_empty() {
        return Err(FileFault::TestAlone.of(test.first().map_or("", |(name, _)| name)));
    }
    let mut classes = variety.names();
    for (name, text) in texts {
        if let Text::Names(names) = text {
            let (found, expected) = (names.len(), usize::from(variety.classes()));
            if found != expected {
                return Err(FileFault::CifarNames { found, expected }.of(&name));
            }
            Classes::named(&names).map_err(|error| FileFault::from(error).of(&name))?;
            classes = names;
        }
    }
    let file = train[0].0.clone();
    let classes = Classes::named(&classes).map_err(|error| FileFault::from(error).of(&file))?;
    let test = if test.is_empty() { None } else { Some(joined(test)?) };
    Ok(Sets { published: None, picture: PICTURE, classes: Some(classes), train: joined(train)?, test, notes: vec![] })
}

/// Joins batches in the order of their names, freeing each once copied.
fn joined(mut batches: Vec<(String, Batch)>) -> Result<Part, FileError> {
    batches.sort_by(|(a, _), (b, _)| a.cmp(b));
    let count: usize = batches.iter().map(|(_, batch)| batch.len()).sum();
    let (mut images, mut labels) = (Vec::new(), Vec::new());
    if let Some((name, _)) = batches.last() {
        if count > MOST_EXAMPLES {
            return Err(FileFault::TooMany { found: count as u64 }.of(name));
        }
        let bytes = count * PICTURE.pixels();
        let no_memory = |_| FileFault::NoMemory { entry: name.clone(), bytes: bytes as u64 }.of(name);
        images.try_reserve_exact(bytes).map_err(no_memory)?;
        labels.try_reserve_exact(count).map_err(no_memory)?;
    }
    for (_, Batch { variety, records }) in batches {
        for record in records.chunks_exact(variety.record()) {
            labels.push(record[variety.labels() - 1]);
            images.extend_from_slice(&record[variety.labels()..]);
        }
    }
    Ok(Part { images, labels, users: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tests::records;

    fn batch(name: &str, variety: CifarVersion, count: usize) -> (String, Batch) {
        (name.to_owned(), Batch::read(records(variety, count, name.len() as u8)).unwrap())
    }

    #[test]
    fn records_become_images_of_three_channels() {
        assert_eq!(CifarVersion::Hundred.names().len(), 100);
        assert!(CifarVersion::Hundred.names().is_sorted());
        let sets = assemble(
            vec![
                batch("data_batch_2.bin", CifarVersion::Ten, 3),
                batch("test_batch.bin", CifarVersion::Ten, 5),
                batch("data_batch_1.bin", CifarVersion::Ten, 12),
            ],
            vec![],
        )
        .unwrap();
        assert_eq!(sets.picture, PICTURE);
        assert_eq!(sets.train.labels, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 0, 1, 2], "by their names");
        assert_eq!(sets.train.images[..3072], records(CifarVersion::Ten, 1, 16)[1..]);
        assert_eq!(sets.test.unwrap().labels.len(), 5);
        assert_eq!(sets.classes.unwrap().name(9), "truck");
        let hundred = assemble(vec![batch("mine", CifarVersion::Hundred, 100)], vec![]).unwrap();
        assert_eq!(hundred.train.labels, (0..100).collect::<Vec<u8>>(), "the fine ones");
        assert_eq!((hundred.test, hundred.classes.unwrap().name(99)), (None, "worm".to_owned()));
    }

    #[test]
    fn ambiguous_length_is_resolved_by_labels() {
        let both = 3073 * 3074;
        let ten = records(CifarVersion::Ten, both / 3073, 0);
        assert_eq!(Batch::read(ten).unwrap().variety, CifarVersion::Ten);
        let hundred = records(CifarVersion::Hundred, both / 3074, 0);
        assert_eq!(Batch::read(hundred).unwrap().variety, CifarVersion::Hundred);
        assert!(is_length(both as u64) && is_length(3073) && is_length(6148) && !is_length(0) && !is_length(3072));
    }

    #[test]
    fn class_names_are_read_from_the_text_file() {
        let mut text_of = TEN.join("\n") + "\n\n";
        text_of = text_of.replace("cat", "Katze");
        let names = |text_of: &str| text("batches.meta.txt", text_of.as_bytes()).unwrap().unwrap();
        let ten = || vec![batch("data_batch_1.bin", CifarVersion::Ten, 9)];
        let sets = assemble(ten(), vec![("batches.meta.txt".to_owned(), names(&text_of))]).unwrap();
        assert_eq!(sets.classes.unwrap().name(3), "Katze");
        assert_eq!(text("readme.html", b"\xff").unwrap(), Ok(Text::Unused));
        assert!(text("notes.txt", b"cat").is_none() && is_text("readme.html") && !is_text("notes.txt"));
    }

    #[test]
    fn faulty_batches_are_reported() {
        let mut wrong = records(CifarVersion::Ten, 3, 0);
        wrong[3073] = 10;
        let mut fine = records(CifarVersion::Hundred, 2, 0);
        fine[3075] = 100;
        let mut coarse = records(CifarVersion::Hundred, 2, 0);
        coarse[3074] = 20;
        for (bytes, says) in [
            (vec![], "length 0: CIFAR's binary files are records of 3073 bytes"),
            (records(CifarVersion::Ten, 3, 0)[..9000].to_vec(), "length 9000: "),
            (wrong, "label 10 in record 1 (counted from 0); expected 0 to 9"),
            (fine, "fine label 100 in record 1 (counted from 0); expected 0 to 99"),
            (coarse, "coarse label 20 in record 1 (counted from 0); expected 0 to 19"),
        ] {
            let fault = Batch::read(bytes).unwrap_err().to_string();
            assert!(fault.starts_with(says), "{fault}");
        }
        let ten = |name| batch(name, CifarVersion::Ten, 7);
        let names = |names: &[&str]| {
            let names = Text::Names(names.iter().map(|name| (*name).to_owned()).collect());
            vec![("batches.meta.txt".to_owned(), names)]
        };
        let mut twice = TEN;
        twice[1] = TEN[0];
        for (batches, texts, says) in [
            (vec![ten("test_batch.bin")], vec![], "test_batch.bin: only a test batch; choose the training batches"),
            (vec![ten("train.bin"), ten("b")], vec![], "b: the name says neither training nor test"),
            (vec![ten("train.bin"), ten("train.bin")], vec![], "train.bin: “train.bin” is in it twice"),
            (
                vec![ten("train.bin"), batch("test.bin", CifarVersion::Hundred, 2)],
                vec![],
                "test.bin: length 6148: CIFAR's binary files",
            ),
            (vec![], names(&["a"]), "batches.meta.txt: only class names; choose the batches"),
            (vec![ten("train.bin")], names(&["a", "b"]), "batches.meta.txt: 2 class names; expected 10, one per line"),
            (vec![ten("train.bin")], names(&twice), "batches.meta.txt: its classes: classes 0 and 1 are both called"),
        ] {
            let error = assemble(batches, texts).unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
        }
        let text = text("batches.meta.txt", b"cat\n\xff\xff").unwrap().unwrap_err().to_string();
        assert_eq!(text, "line 2 is not text (UTF-8); expected a class name");
    }
}
