//! IDX files by their names, in a drop, a folder or a ZIP: packed twins, and several sets together.

use std::collections::{BTreeSet, HashSet};

use super::{
    Left,
    content::ContentError,
    file_fault::{FileFault, MOST_OF_ALL, shown},
    idx::{self, Idx},
    pictures,
    words::{Split, words},
    zipped::Zipped,
};

/// Most IDX files of a set.
pub(super) const MAX_IDX: usize = 4;

/// Most IDX files in a ZIP, some of which may be there twice.
const MOST_IN_ZIP: usize = 64;

fn base(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// True for a name that IDX files have.
pub(super) fn is_named(name: &str) -> bool {
    let name = base(name).to_lowercase();
    ["idx1", "idx2", "idx3", "ubyte"].iter().any(|word| name.contains(word))
        && !pictures::is_named(&name)
        && !pictures::is_skipped(&name)
}

/// Removes `X.gz` wherever `X` is given as well.
pub(super) fn without_twins<T>(files: Vec<T>, name: impl Fn(&T) -> String) -> Vec<T> {
    let names: HashSet<String> = files.iter().map(&name).collect();
    let is_twin = |file: &T| name(file).strip_suffix(".gz").is_some_and(|plain| names.contains(plain));
    let mut files = files;
    files.retain(|file| !is_twin(file));
    files
}

/// Name of the set of a file: `emnist-letters` of `emnist-letters-train-images-idx3-ubyte.gz`.
fn set_of(name: &str) -> String {
    let mut words = words(base(name));
    words.retain(|word| {
        let is_split = Split::by(std::slice::from_ref(word)).is_some();
        !is_split && !matches!(word.as_str(), "images" | "labels" | "ubyte" | "int" | "gz") && !word.starts_with("idx")
    });
    words.join("-")
}

/// Refuses more files than one set has if their names tell of several sets.
///
/// # Errors
/// [`FileFault::IdxSets`], which lists them.
pub(super) fn check_sets<N: AsRef<str>>(names: &[N]) -> Result<(), FileFault> {
    const SHOWN: usize = 12;
    let sets: BTreeSet<String> = names.iter().map(|name| set_of(name.as_ref())).collect();
    if names.len() <= MAX_IDX || sets.len() < 2 {
        return Ok(());
    }
    let more = if sets.len() > SHOWN { ", …" } else { "" };
    let found = sets.iter().filter(|set| !set.is_empty()).take(SHOWN).map(|set| shown(set)).collect::<Vec<_>>();
    Err(FileFault::IdxSets { found: found.join(", ") + more })
}

/// IDX files of a ZIP, and its other files.
#[derive(Debug)]
pub(super) struct Zip {
    pub files: Vec<(String, Idx)>,
    pub left: Left,
}

impl Zip {
    /// Reads the IDX files, plain or gzipped, of the ZIP `file`.
    ///
    /// # Errors
    /// The first faulty one, several sets, or more bytes than fit.
    pub fn read(file: &str, zip: &mut Zipped) -> Result<Self, ContentError> {
        Self::within(MOST_OF_ALL, file, zip)
    }

    fn within(most: u64, file: &str, zip: &mut Zipped) -> Result<Self, ContentError> {
        let names = zip.names();
        let places = (0..names.len()).filter(|&place| !pictures::is_skipped(&names[place]));
        let (places, others): (Vec<usize>, Vec<usize>) = places.partition(|&place| is_named(&names[place]));
        let places = without_twins(places, |&place| names[place].clone());
        let named = |fault: FileFault| fault.of(file);
        if places.len() > MOST_IN_ZIP {
            return Err(named(FileFault::ZipEntries { found: places.len(), most: MOST_IN_ZIP }).into());
        }
        check_sets(&places.iter().map(|&place| &names[place]).collect::<Vec<_>>()).map_err(named)?;
        let mut left = Left::default();
        others.iter().for_each(|&place| left.add(shown(&names[place])));
        let (mut files, mut held) = (vec![], 0);
        for entry in zip.each(places, most) {
            let (entry, bytes) = entry.map_err(named)?;
            let name = format!("{file}/{}", shown(&entry));
            let idx = idx::read_owned(&name, bytes)?;
            held += idx.bytes();
            if held > most {
                return Err(named(FileFault::TooMuch { entry: shown(&entry), most }).into());
            }
            files.push((name, idx));
        }
        Ok(Self { files, left })
    }

    /// Bytes held unpacked.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, idx)| idx.bytes()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{
        Digits, Remark,
        tests::{gzip, zipped},
        visitor,
    };

    fn images(count: u32) -> Vec<u8> {
        [idx::header_of(&[count, 2, 2]), (0..4 * count).map(|value| value as u8 ^ 0xc0).collect()].concat()
    }

    fn labels(count: u32) -> Vec<u8> {
        [idx::header_of(&[count]), (0..count).map(|i| (i % 3) as u8).collect()].concat()
    }

    fn read(entries: &[(&str, Vec<u8>)]) -> Result<Digits, String> {
        visitor::assemble(&[("mine.zip", zipped(entries, true))]).map_err(|error| error.to_string())
    }

    #[test]
    fn files_in_a_zip_are_read_once_packed_or_not() {
        let twice = [
            ("train-images-idx3-ubyte/train-images-idx3-ubyte", images(9)),
            ("train-images.idx3-ubyte", images(9)),
            ("train-labels-idx1-ubyte/train-labels-idx1-ubyte", labels(9)),
            ("train-labels.idx1-ubyte", labels(9)),
            ("t10k-images-idx3-ubyte/t10k-images-idx3-ubyte", images(7)),
            ("t10k-images.idx3-ubyte", images(7)),
            ("t10k-labels-idx1-ubyte/t10k-labels-idx1-ubyte", labels(7)),
            ("t10k-labels.idx1-ubyte", labels(7)),
        ];
        let digits = read(&twice).unwrap();
        assert_eq!((digits.train.len(), digits.test.len()), (9, 7));
        assert_eq!(digits.train.name, "your files (mine.zip)");
        assert_eq!(digits.notes.iter().filter(|note| matches!(note, Remark::Left { .. })).count(), 0);
        let packed = read(&[
            ("gzip/emnist-letters-train-images-idx3-ubyte.gz", gzip(&images(90))),
            ("gzip/emnist-letters-train-labels-idx1-ubyte.gz", gzip(&labels(90))),
            ("gzip/emnist-letters-mapping.txt", b"1 65".to_vec()),
            ("__MACOSX/gzip/._emnist-letters-train-images-idx3-ubyte.gz", vec![0]),
            ("gzip/", vec![]),
        ]);
        let packed = packed.unwrap();
        assert_eq!(packed.train.len() + packed.test.len(), 90);
        assert_eq!(packed.notes[0].to_string(), "Not used: gzip/emnist-letters-mapping.txt (1 in all).");
        // Of a file packed and unpacked, only the latter is read.
        let twins = [
            ("train-images-idx3-ubyte", images(90)),
            ("train-images-idx3-ubyte.gz", vec![0x1f, 0x8b, 1]),
            ("train-labels-idx1-ubyte", labels(90)),
        ];
        assert!(read(&twins).is_ok());
    }

    fn typed(element: u8, dimensions: &[u32], elements: Vec<u8>) -> Vec<u8> {
        let mut file = idx::header_of(dimensions);
        file[2] = element;
        [file, elements].concat()
    }

    /// QMNIST's: class, series, writer, and five more.
    #[test]
    fn the_writers_of_qmnist_are_its_users() {
        let rows = |writers: &[i32]| {
            let row =
                |(i, &writer): (usize, &i32)| [i as i32 % 3, 4, writer, 1, 2, 3, 0, 0].map(i32::to_be_bytes).concat();
            typed(0x0c, &[writers.len() as u32, 8], writers.iter().enumerate().flat_map(row).collect())
        };
        let of = |train: Vec<u8>, test: Option<Vec<u8>>| {
            let mut files = vec![
                ("qmnist-train-images-idx3-ubyte.gz", gzip(&images(24))),
                ("qmnist-train-labels-idx2-int.gz", gzip(&train)),
            ];
            files.extend(test.into_iter().flat_map(|test| {
                [("qmnist-test-images-idx3-ubyte", images(3)), ("qmnist-test-labels-idx2-int", test)]
            }));
            visitor::assemble(&files).unwrap()
        };
        let writers: Vec<i32> = (0..24).map(|i| 2000 + i / 5).collect();
        let digits = of(rows(&writers), Some(rows(&[2001, 9, 9])));
        let users = digits.train.users.as_ref().unwrap();
        assert_eq!((users.of().to_vec(), users.count()), ((0..24).map(|i| i / 5).collect(), 5));
        assert_eq!(digits.train.labels[..4], [0, 1, 2, 0]);
        let says = |digits: &Digits| {
            let said = |remark: &Remark| matches!(remark, Remark::SameUsers { .. }).then(|| remark.to_string());
            digits.remarks().iter().find_map(said).unwrap_or_default()
        };
        assert!(says(&digits).starts_with("Users with images in both the training and the test set: 1 of the 2 who"));
        assert_eq!(says(&of(rows(&writers), Some(rows(&[7, 8, 9])))), "");
        // Held out by coins, each part keeps whose its images are; turning moves no one.
        let digits = of(rows(&writers), None).oriented(true);
        for set in [&digits.train, &digits.test] {
            let users = set.users.as_ref().unwrap();
            assert_eq!((users.of().len(), users.count()), (set.len(), 5));
            for i in 0..set.len() {
                let (image, user) = (set.image(i), users.of()[i]);
                // The first of an image's four values, which mirroring moved, counts up by four.
                assert_eq!((image[1] ^ 0xc0) / 4 / 5, user as u8);
            }
        }
        assert!(says(&digits).contains("of the "), "{}", says(&digits));
        // Rows of another kind tell no users.
        let pairs = typed(0x0c, &[24, 2], (0..48).flat_map(|i: i32| (i % 3).to_be_bytes()).collect());
        assert_eq!(of(pairs, None).train.users, None);
    }

    /// One rule for training and test images, as for NumPy's arrays.
    #[test]
    fn images_of_every_type_are_scaled_by_the_range_of_all() {
        let floats = |values: [f32; 2]| typed(0x0d, &[2, 1, 1], values.map(f32::to_be_bytes).concat());
        let of = |train: Vec<u8>, test: Vec<u8>| {
            let labels = labels(2);
            let files = [("train-i", train), ("train-l", labels.clone()), ("test-i", gzip(&test)), ("test-l", labels)];
            let digits = visitor::assemble(&files).map_err(|error| error.to_string())?;
            let notes: Vec<String> =
                digits.notes.iter().filter(|note| matches!(note, Remark::Scaled(_))).map(ToString::to_string).collect();
            Ok::<_, String>(([digits.train.images.to_vec(), digits.test.images.to_vec()].concat(), notes.concat()))
        };
        let bytes = |values: [u8; 2]| typed(0x08, &[2, 1, 1], values.to_vec());
        let (signed, short) = (typed(0x09, &[2, 1, 1], vec![0x80, 127]), typed(0x0b, &[2, 1, 1], vec![255, 128, 0, 0]));
        let (long, double) = (
            typed(0x0c, &[2, 1, 1], [257_i32, 65_535].map(i32::to_be_bytes).concat()),
            typed(0x0e, &[2, 1, 1], [0.5_f64, 16.0].map(f64::to_be_bytes).concat()),
        );
        for (train, test, images, says) in [
            (floats([0.0, 1.0]), floats([0.2, 0.5]), [0, 255, 51, 128], "No value is above 1,"),
            (floats([0.0, 1.0]), bytes([0, 200]), [0, 1, 0, 200], ""),
            (bytes([0, 16]), bytes([8, 1]), [0, 255, 128, 16], "No value is above 16,"),
            (bytes([0, 1]), double, [0, 16, 8, 255], "No value is above 16,"),
            (bytes([0, 1]), long, [0, 0, 1, 255], "Some values are above 255,"),
            (signed, short, [0, 255, 0, 128], "The values are from −128 to 127"),
        ] {
            let (found, said) = of(train, test).unwrap();
            assert_eq!(found, images, "{says}");
            assert!(said.starts_with(says) && said.is_empty() == says.is_empty(), "{said}");
        }
        for (train, says) in [
            (floats([0.0, f32::NAN]), "train-i: “images”: the value NaN in image 1 (counted from 0) at place 0"),
            (floats([-5.0, 900.0]), "train-i: the values of the images are from -5 to 900"),
            (typed(0x0d, &[2, 1, 1], vec![0; 7]), "train-i: length: 24 bytes were declared and the file has 23"),
            (typed(0x0a, &[2, 1, 1], vec![0; 2]), "train-i: element type 0x0a; expected 0x08"),
            (typed(0x0e, &[500_000, 28, 28], vec![]), "train-i: count × rows × columns: 3136000000 bytes"),
        ] {
            let error = of(train, bytes([0, 200])).unwrap_err();
            assert!(error.starts_with(says), "{error} / {says}");
        }
    }

    #[test]
    fn empty_classes_and_images_in_both_parts_are_said() {
        let image = |value: u8| [value, 200, 200, 200];
        let files = |test: [u8; 4]| {
            let images = |values: [u8; 4]| [idx::header_of(&[4, 2, 2]), values.map(image).concat()].concat();
            let labels = |labels: [u8; 4]| [idx::header_of(&[4]), labels.to_vec()].concat();
            visitor::assemble(&[
                ("train-i", images([1, 2, 3, 3])),
                ("train-l", labels([1, 2, 9, 9])),
                ("test-i", images(test)),
                ("test-l", labels([1, 1, 9, 9])),
            ])
        };
        let says = |test| files(test).unwrap().remarks().iter().skip(1).map(ToString::to_string).collect::<Vec<_>>();
        let empty = "No training image is of these classes: 0, 3, 4, … (7 in all). Labels count from 0.";
        assert_eq!(says([7, 8, 9, 10]), [empty]);
        // The second has another label; the last two are alike.
        let both = "Test images that are training images, too, with the same label: 3 of 4.";
        let said = says([1, 2, 3, 3]);
        assert!(said.len() == 2 && said[0].starts_with(both) && said[1] == empty, "{said:?}");
    }

    #[test]
    fn several_sets_and_faulty_files_in_a_zip_are_reported() {
        let kinds = ["train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "test-images-idx3-ubyte.gz"];
        let emnist: Vec<String> = ["letters", "digits"]
            .iter()
            .flat_map(|set| kinds.map(|kind| format!("gzip/emnist-{set}-{kind}")))
            .collect();
        let emnist: Vec<(&str, Vec<u8>)> = emnist.iter().map(|name| (name.as_str(), vec![])).collect();
        assert_eq!(
            read(&emnist).unwrap_err(),
            "mine.zip: IDX files of several sets: emnist-digits, emnist-letters; give the files of one of them"
        );
        for (entries, says) in [
            (vec![("a-idx3-ubyte", images(9))], "mine.zip/a-idx3-ubyte: images without labels"),
            (vec![("a-idx3-ubyte", vec![])], "mine.zip/a-idx3-ubyte: the file is empty"),
            (vec![("a-idx3-ubyte", images(9)), ("a-idx1-ubyte", labels(8))], "mine.zip/a-idx3-ubyte has 9 images and"),
        ] {
            let error = read(&entries).unwrap_err();
            assert!(error.starts_with(says), "{error} / {says}");
        }
        let five = ["a", "b", "c", "d", "e"].map(|name| format!("{name}/train-images-idx3-ubyte"));
        let five: Vec<(&str, Vec<u8>)> = five.iter().map(String::as_str).zip((9..).map(images)).collect();
        assert!(read(&five).unwrap_err().starts_with("5 IDX files were given; expected at most 4"));
        let many: Vec<String> = (0..65).map(|i| format!("{i}/train-images-idx3-ubyte")).collect();
        let many: Vec<(&str, Vec<u8>)> = many.iter().map(|name| (name.as_str(), vec![])).collect();
        assert_eq!(read(&many).unwrap_err(), "mine.zip: ZIP: 65 entries; expected at most 64");
        // Kilobytes that would unpack to fill the memory.
        let bomb = [("a-idx3-ubyte.gz", gzip(&images(50_000))), ("b-idx3-ubyte.gz", gzip(&images(50_000)))];
        let error = Zip::within(300_000, "mine.zip", &mut Zipped::open(zipped(&bomb, true)).unwrap()).unwrap_err();
        assert!(
            error.to_string().starts_with("mine.zip: unpacked, it exceeds 300000 bytes at “b-idx3-ubyte.gz”"),
            "{error}"
        );
    }
}
