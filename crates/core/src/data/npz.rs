//! NumPy's `.npz`, a ZIP of arrays, and single arrays: which hold images, labels, users, training and
//! test.
//!
//! Names tell, by the words in them (`x_train`, `test_labels`, `kmnist-train-imgs`); what they leave
//! open, shapes do. Only names tell users (`train_users`, `writer_id`). Whatever else there is, is
//! left aside, and named.

use std::collections::BTreeSet;

use super::{
    Classes, Left,
    file_fault::{FileError, FileFault, MOST_OF_ALL, shown},
    npy::{Array, Images, Labels},
    scaled::Scaled,
    sets::{Part, Sets},
    users::{self, Column},
    words::{Split, testing, words},
    zipped::Zipped,
};

/// True if a ZIP with these entries is an `.npz`.
pub(super) fn is_npz(names: &[String]) -> bool {
    names.iter().any(|name| name.ends_with(".npy"))
}

/// An array, or why it cannot be read, which matters only if its name asks for it.
#[derive(Debug)]
pub(super) struct Named {
    /// Name of the file and the array.
    pub name: String,
    pub array: Result<Array, FileFault>,
}

/// What an array holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Images,
    Labels,
    /// Whose each image is.
    Users,
}

/// Words for images and for labels; of arrays that fit, the one with the earlier word.
const IMAGES: [&str; 10] = ["x", "images", "image", "imgs", "img", "digits", "pixels", "data", "samples", "inputs"];
const LABELS: [&str; 9] = ["y", "labels", "label", "targets", "target", "classes", "class", "lbls", "outputs"];

/// What an array's name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    /// What it holds, and the place of the word that says so.
    held: Option<(Held, usize)>,
    split: Option<Split>,
}

/// True for the name of a column of labels.
pub(super) fn is_label_word(name: &str) -> bool {
    words(name).iter().any(|word| LABELS.contains(&word.as_str()))
}

impl Told {
    fn by(name: &str) -> Self {
        let words = words(name);
        let first = |known: &[&str]| known.iter().position(|known| words.iter().any(|word| word == known));
        // `target_names` are no labels.
        let about = words.iter().any(|word| matches!(word.as_str(), "name" | "names" | "descr"));
        let held = match (first(&IMAGES), first(&LABELS)) {
            _ if about => None,
            // `image_labels` are labels.
            (_, Some(place)) => Some((Held::Labels, place)),
            (Some(place), None) => Some((Held::Images, place)),
            (None, None) => {
                // An array in a file of its own is called after both.
                let told = words.iter().filter(|word| Split::by(std::slice::from_ref(word)).is_none());
                let told: Vec<String> = told.filter(|word| !is_of_file(word)).cloned().collect();
                users::are_told_by(&told).then_some((Held::Users, 0))
            }
        };
        Self { held, split: Split::by(&words) }
    }
}

/// True for a word that tells nothing of what a file of one array, such as `users.npy`, holds.
fn is_of_file(word: &str) -> bool {
    matches!(word, "npy" | "npz" | "csv" | "arr" | "0")
}

/// Arrays of images, labels and users, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    images: usize,
    labels: usize,
    users: Option<usize>,
}

/// The arrays to read: training, test, validation.
fn pairs(arrays: &[Named]) -> Result<[Option<Found>; 3], FileFault> {
    let told: Vec<Told> = arrays.iter().map(|named| Told::by(&named.name)).collect();
    let shape = |place: usize| arrays[place].array.as_ref().map(Array::shape).unwrap_or_default();
    let ambiguous = |first: usize, second: usize| FileFault::NpyAmbiguous {
        first: shown(&arrays[first].name),
        second: shown(&arrays[second].name),
    };
    let in_split = |place: usize, split| told[place].split.unwrap_or(Split::Training) == split;
    let by_name = |split: Split, held: Held, free: &[usize]| {
        // Images of three or more dimensions come before the same as rows of numbers.
        let rank = |place: usize| {
            let (found, word) = told[place].held?;
            let rows = held == Held::Images && shape(place).len() < 3;
            (found == held && in_split(place, split)).then_some((rows, word))
        };
        let best = free.iter().copied().filter(|&place| rank(place).is_some()).min_by_key(|&place| rank(place));
        let Some(best) = best else { return Ok(None) };
        match free.iter().find(|&&other| other != best && rank(other) == rank(best)) {
            Some(&other) => Err(ambiguous(best, other)),
            None => Ok(Some(best)),
        }
    };
    let by_shape = |split: Split, held: Held, free: &[usize], count: Option<u64>| {
        let fits = |place: usize| {
            let shape = shape(place);
            let is_held = match held {
                Held::Images => shape.len() >= 3 || shape.len() == 2 && shape[1] > 1,
                Held::Labels => matches!(shape, [_] | [_, 1]),
                Held::Users => false,
            };
            is_held
                && told[place].held.is_none()
                && in_split(place, split)
                && count.is_none_or(|count| shape[0] == count)
        };
        let mut fitting = free.iter().copied().filter(|&place| fits(place));
        let Some(first) = fitting.next() else { return Ok(None) };
        match fitting.find(|&other| shape(other)[0] == shape(first)[0]) {
            Some(other) => Err(ambiguous(first, other)),
            None => Ok(Some(first)),
        }
    };
    let mut free: Vec<usize> = (0..arrays.len()).collect();
    let mut pair = |split: Split| -> Result<Option<Found>, FileFault> {
        let of = |held, count| match by_name(split, held, &free)? {
            Some(place) => Ok(Some(place)),
            None => by_shape(split, held, &free, count),
        };
        let Some(images) = of(Held::Images, None)? else { return Ok(None) };
        let users = by_name(split, Held::Users, &free)?;
        // Without any labels, whose an image is may be what is to be learnt.
        let (labels, users) = match of(Held::Labels, shape(images).first().copied())? {
            Some(labels) => (Some(labels), users),
            None => (users, None),
        };
        let Some(labels) = labels else { return Ok(None) };
        free.retain(|place| ![Some(images), Some(labels), users].contains(&Some(*place)));
        Ok(Some(Found { images, labels, users }))
    };
    let (first, test, validation) = (pair(Split::Training)?, pair(Split::Test)?, pair(Split::Validation)?);
    let Some(first) = first else {
        const MOST: usize = 12;
        let named: Vec<String> = arrays.iter().take(MOST).map(|named| shown(&named.name)).collect();
        let more = if arrays.len() > MOST { ", …" } else { "" };
        return Err(FileFault::NpyNames { found: named.join(", ") + more });
    };
    // As `numpy.savez(x, y, x_test, y_test)` leaves them: a second pair without words, the smaller.
    let second = if test.is_none() && validation.is_none() { pair(Split::Training)? } else { None };
    let count = |found: Found| shape(found.images).first().copied();
    Ok(match second {
        Some(second) if count(second) > count(first) => [Some(second), Some(first), None],
        second => [Some(first), test.or(second), validation],
    })
}

fn arrays_name(entry: &str) -> &str {
    entry.strip_suffix(".npy").unwrap_or(entry)
}

/// Unpacks the arrays of an archive; its other entries are arrays that cannot be read.
///
/// # Errors
/// More bytes than fit.
pub(super) fn arrays(mut zip: Zipped) -> Result<Vec<Named>, FileFault> {
    unpacked(&mut zip, MOST_OF_ALL)
}

impl Named {
    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.array.as_ref().map_or(0, Array::bytes)
    }

    /// An array in a file of its own.
    pub fn alone(bytes: Vec<u8>) -> Self {
        Self { array: Array::read("array", bytes), name: String::new() }
    }

    /// Names the array by its file as well, which tells what it is if each has its own.
    pub fn of_file(self, file: &str) -> Self {
        Self { name: format!("{file} {}", self.name), ..self }
    }
}

fn unpacked(zip: &mut Zipped, most: u64) -> Result<Vec<Named>, FileFault> {
    let places = (0..zip.names().len()).collect();
    let array = |(entry, bytes): (String, Vec<u8>)| {
        let name = arrays_name(&entry).to_owned();
        Named { array: Array::read(&shown(&name), bytes), name }
    };
    zip.each(places, most).map(|entry| entry.map(array)).collect()
}

/// Reads images and labels among arrays; `file` is the name of their file, or of the first.
///
/// # Errors
/// No images with labels, unsupported types or shapes, and values out of range.
pub(super) fn read(file: &str, arrays: Vec<Named>) -> Result<Sets, FileError> {
    sets(arrays).map_err(|fault| fault.of(file))
}

fn sets(arrays: Vec<Named>) -> Result<Sets, FileFault> {
    let [training, test, validation] = pairs(&arrays)?;
    let (test, _) = testing(test, validation);
    let used = |found: Found| [Some(found.images), Some(found.labels), found.users];
    let used: Vec<usize> = [training, test].into_iter().flatten().flat_map(used).flatten().collect();
    let mut left = Left::default();
    let mut arrays: Vec<Option<Result<Array, FileFault>>> = arrays
        .into_iter()
        .enumerate()
        .map(|(place, Named { name, array })| {
            if used.contains(&place) {
                return Some(array);
            }
            left.add(shown(&name));
            None
        })
        .collect();
    let mut array = |place: usize| arrays[place].take().unwrap_or(Err(FileFault::NoExamples));
    let mut pair = |Found { images, labels, users }: Found| -> Result<(Images, Labels, Option<Column>), FileFault> {
        let users = users.map(&mut array).transpose()?;
        let (images, labels) = (array(images)?.images()?, array(labels)?);
        let (found, name) = (images.count() as u64, labels.name.clone());
        let labels = labels.labels()?;
        if found != labels.len() as u64 {
            let (images, other) = (images.name().to_owned(), labels.len() as u64);
            return Err(FileFault::NpyCounts { images, found, labels: name, other });
        }
        let users_name = users.as_ref().map(|users| users.name.clone()).unwrap_or_default();
        let users = users.map(Array::users).transpose()?;
        if let Some(other) = users.as_ref().map(|users| users.len() as u64).filter(|other| *other != found) {
            return Err(FileFault::UserCounts { images: images.name().to_owned(), found, users: users_name, other });
        }
        Ok((images, labels, users))
    };
    let Some(training) = training.map(&mut pair).transpose()? else { return Err(FileFault::NoExamples) };
    let test = test.map(pair).transpose()?;
    let picture = training.0.picture()?;
    if let Some((images, ..)) = &test
        && images.picture()? != picture
    {
        let (first, second) = (training.0.name().to_owned(), images.name().to_owned());
        return Err(FileFault::NpySizes { first, second });
    }
    // One rule for all values, so that training and test images are scaled alike.
    let mut range = training.0.range()?;
    if let Some((images, ..)) = &test {
        range = range.and(images.range()?);
    }
    let rule = Scaled::of(range)?;
    let classes = class_names([Some(&training.1), test.as_ref().map(|(_, labels, _)| labels)])?;
    let part = |(images, labels, users): (Images, Labels, Option<Column>)| -> Result<Part, FileFault> {
        let labels = match labels {
            Labels::Numbers(labels) => labels,
            // Each is among the class names.
            Labels::Names(names) => {
                let place = |name: &String| classes.iter().position(|class| *class == *name.trim()).unwrap_or(0) as u8;
                names.iter().map(place).collect()
            }
        };
        Ok(Part { images: images.squares(rule)?, labels, users })
    };
    let (train, test) = (part(training)?, test.map(part).transpose()?);
    let classes = if classes.is_empty() { None } else { Some(Classes::named(&classes)?) };
    let notes = rule.remark().into_iter().chain(left.aside()).collect();
    Ok(Sets { published: None, picture, classes, train, test, notes })
}

/// The class names of text labels, in alphabetical order; empty if labels are numbers.
fn class_names(labels: [Option<&Labels>; 2]) -> Result<Vec<String>, FileFault> {
    let mut classes = BTreeSet::new();
    let mut numbers = false;
    for labels in labels.into_iter().flatten() {
        match labels {
            Labels::Numbers(_) => numbers = true,
            Labels::Names(names) => classes.extend(names.iter().map(|name| name.trim().to_owned())),
        }
    }
    if numbers && !classes.is_empty() {
        return Err(FileFault::NpyMixedLabels);
    }
    Ok(classes.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{
        Picture,
        tests::{array as file, zipped},
    };

    fn read_of(entries: &[(&str, Vec<u8>)]) -> Result<Sets, FileError> {
        let zip = Zipped::open(zipped(entries, true)).unwrap();
        assert!(is_npz(&zip.names()));
        read("mine.npz", arrays(zip).map_err(|fault| fault.of("mine.npz"))?)
    }

    fn images(count: usize) -> Vec<u8> {
        file("|u1", &format!("({count}, 2, 2)"), &vec![200; count * 4])
    }

    fn labels(count: usize) -> Vec<u8> {
        let labels: Vec<u8> = (0..count as u8).flat_map(|i| [i % 7, 0]).collect();
        file("<i2", &format!("({count},)"), &labels)
    }

    #[test]
    fn arrays_are_found_by_their_names_or_shapes() {
        for [x, y] in [
            ["x", "y"],
            ["X", "Y"],
            ["images", "labels"],
            ["arr_0", "arr_1"],
            ["arr_1", "arr_0"],
            ["train_images", "train_labels"],
            ["data", "target"],
            ["trainImages", "trainClasses"],
            ["faces", "who"],
        ] {
            let (x, y) = (format!("{x}.npy"), format!("{y}.npy"));
            let sets = read_of(&[(&y, labels(9)), (&x, images(9))]).unwrap();
            assert_eq!((sets.picture, sets.train.labels.len(), sets.test), (Picture::new(1, 2).unwrap(), 9, None));
            assert_eq!(sets.notes, []);
        }
        for [x, y, x_test, y_test] in [
            ["X_train", "y_train", "X_test", "y_test"],
            ["x", "y", "test_images", "test_labels"],
            ["arr_0", "arr_1", "arr_2", "arr_3"],
            ["arr_2", "arr_3", "arr_0", "arr_1"],
            ["tr_x", "tr_y", "val_x", "val_y"],
        ] {
            let named = [x, y, x_test, y_test].map(|name| format!("{name}.npy"));
            let mut entries: Vec<_> =
                named.iter().map(String::as_str).zip([images(9), labels(9), images(4), labels(4)]).collect();
            entries.sort_by_key(|(name, _)| *name);
            let sets = read_of(&entries).unwrap();
            assert_eq!((sets.train.labels.len(), sets.test.unwrap().labels), (9, vec![0, 1, 2, 3]), "{x}");
        }
        // As scikit-learn's and MedMNIST's; what else there is, is left aside.
        let sets = read_of(&[
            ("data.npy", file("|u1", "(9, 4)", &[200; 36])),
            ("images.npy", file("|u1", "(9, 2, 2)", &[100; 36])),
            ("target.npy", labels(9)),
            ("target_names.npy", file("|O", "(9,)", b"pickle")),
            ("val_images.npy", images(3)),
            ("val_labels.npy", labels(3)),
            ("test_images.npy", images(4)),
            ("test_labels.npy", labels(4)),
            ("README.txt", b"hello".to_vec()),
        ])
        .unwrap();
        assert_eq!((sets.train.images[0], sets.test.unwrap().labels.len()), (100, 4));
        let said = sets.notes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert!(said.contains("Not used: data, target_names, val_images, … (5 in all)."), "{said}");
    }

    #[test]
    fn users_are_found_by_their_names_alone() {
        let users = |kind: &str, values: &[i32]| {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            file(kind, &format!("({},)", values.len()), &bytes)
        };
        let three = || users("<i4", &[70_000, -4, 70_000]);
        for [x, y, who] in [
            ["x", "y", "users"],
            ["images", "labels", "writer"],
            ["train_images", "train_labels", "train_users"],
            ["images_train", "labels_train", "subject_id_train"],
            ["x_train", "y_train", "userIDs"],
        ] {
            let named = [x, y, who].map(|name| format!("{name}.npy"));
            let sets = read_of(&[(&named[2], three()), (&named[0], images(3)), (&named[1], labels(3))]).unwrap();
            assert!(sets.notes.is_empty());
            let users = sets.named("").0.users.unwrap();
            assert_eq!((users.of(), users.count()), (&[0, 1, 0][..], 2), "{who}");
        }
        // Texts and numbers of both parts are compared; an array in a file of its own is called after it.
        let alone = |name: &str, bytes: Vec<u8>| Named::alone(bytes).of_file(name);
        let texts = || file("|S2", "(2, 1)", b"9 -4");
        let arrays = [
            ("x_train.npy", images(3)),
            ("y_train.npy", labels(3)),
            ("users_train.npy", users("<f4", &[7.0_f32, -4.0, 7.0].map(|value| value.to_bits() as i32))),
            ("x_test.npy", images(2)),
            ("y_test.npy", labels(2)),
            ("test_writers.npy", texts()),
        ];
        let sets = read("x_train.npy", arrays.into_iter().map(|(name, bytes)| alone(name, bytes)).collect()).unwrap();
        let (train, test) = sets.named("");
        let (train, test) = (train.users.unwrap(), test.unwrap().users.unwrap());
        assert_eq!((train.of(), test.of(), test.shared_with(&train)), (&[0, 1, 0][..], &[2, 1][..], (1, 2)));
        // Without labels, whose an image is may be what is to be learnt.
        let sets = read_of(&[("x.npy", images(3)), ("subject.npy", labels(3))]).unwrap();
        assert_eq!((sets.train.labels, sets.train.users), (vec![0, 1, 2], None));
        let other = |who: Vec<u8>| {
            let error = read_of(&[("x.npy", images(3)), ("y.npy", labels(3)), ("users.npy", who)]).unwrap_err();
            error.to_string()
        };
        for (who, says) in [
            (users("<i4", &[1, 2]), "“x” has 3 images and “users” tells the users of 2; the counts must be equal, or"),
            (file("|u1", "(3, 2)", &[0; 6]), "“users” has shape “(3, 2)”; expected (count,) or (count, 1), a user"),
            (file("|b1", "(3,)", &[0; 3]), "“users” has elements of type “|b1”; expected whole numbers, or text"),
            (file("|S1", "(3,)", b"a b"), "“users”: no user at example 1 (counted from 0)"),
            (users("<f4", &[0, 0.5_f32.to_bits() as i32, 0]), "“users”: no user at example 1"),
            (file("|O", "(3,)", b"pickle"), "“users” holds Python objects"),
        ] {
            let says_so = other(who);
            assert!(says_so.starts_with(&format!("mine.npz: {says}")), "{says_so} / {says}");
        }
    }

    #[test]
    fn labels_may_be_names_or_rows_with_a_single_one() {
        let texts: Vec<u8> = "dog cat dog 9   ".chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
        let names = file(">U4", "(4,)", &texts);
        let sets = read_of(&[("x.npy", images(4)), ("y.npy", names)]).unwrap();
        assert_eq!(
            (sets.classes.unwrap().names(), sets.train.labels),
            (["9", "cat", "dog"].map(str::to_owned).to_vec(), vec![2, 1, 2, 0])
        );
        let numbers = file("|S2", "(3, 1)", b"103\x00 0");
        let sets = read_of(&[("x.npy", images(3)), ("y.npy", numbers)]).unwrap();
        assert_eq!((sets.classes, sets.train.labels), (None, vec![10, 3, 0]));
        let hot = file("|b1", "(3, 4)", &[0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(read_of(&[("x.npy", images(3)), ("y.npy", hot)]).unwrap().train.labels, [2, 0, 3]);
        for (y, says) in [
            (file("|u1", "(3, 2)", &[0, 1, 1, 1, 0, 1]), "“y”: row 1 (counted from 0) has not exactly one 1"),
            (file("|O", "(3,)", b"pickle"), "“y” holds Python objects (a pickle)"),
            (file("<f4", "(3,)", &[0; 11]), "“y”: 12 bytes of elements were declared and there are 11"),
        ] {
            let error = read_of(&[("x.npy", images(3)), ("y.npy", y)]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("mine.npz: {says}")), "{error} / {says}");
        }
        let mixed = [
            ("x.npy", images(3)),
            ("y.npy", file("|S3", "(3,)", b"catdogcat")),
            ("x_test.npy", images(2)),
            ("y_test.npy", labels(2)),
        ];
        assert!(read_of(&mixed).unwrap_err().to_string().contains("some labels are names"));
    }

    #[test]
    fn training_and_test_share_one_scale() {
        let floats = |values: [f32; 2]| {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            file("<f4", "(2, 1, 1)", &bytes)
        };
        let of = |train, test| {
            let entries =
                [("x_train.npy", train), ("y_train.npy", labels(2)), ("x_test.npy", test), ("y_test.npy", labels(2))];
            let sets = read_of(&entries).unwrap();
            (sets.train.images, sets.test.unwrap().images)
        };
        assert_eq!(of(floats([0.0, 1.0]), floats([0.0, 200.0])), (vec![0, 1], vec![0, 200]));
        assert_eq!(of(floats([0.0, 1.0]), floats([0.0, 0.2])), (vec![0, 255], vec![0, 51]));
        assert_eq!(of(floats([0.0, 16.0]), floats([8.0, 1.0])), (vec![0, 255], vec![128, 16]));
        assert_eq!(of(floats([0.0, 1.0]), floats([-1.0, 0.2])), (vec![128, 255], vec![0, 153]));
        assert_eq!(of(floats([0.0, 1.0]), floats([257.0, 65535.0])), (vec![0, 0], vec![1, 255]));
    }

    #[test]
    fn faulty_files_are_reported() {
        let two = [("x.npy", images(9)), ("y.npy", labels(9))];
        let four = |test: Vec<u8>| {
            vec![
                ("x_train.npy", images(9)),
                ("y_train.npy", labels(9)),
                ("x_test.npy", test),
                ("y_test.npy", labels(9)),
            ]
        };
        for (entries, says) in [
            (
                vec![two[1].clone(), ("x_a.npy", images(9)), ("x_b.npy", images(9))],
                "“x_a” and “x_b” could both be meant",
            ),
            (vec![("a.npy", images(9)), ("b.npy", labels(9)), ("c.npy", labels(9))], "“b” and “c” could both be meant"),
            (vec![two[0].clone()], "no images with labels were found among the arrays “x”"),
            (
                vec![("a.npy", labels(9)), ("b.npy", labels(9))],
                "no images with labels were found among the arrays “a, b”",
            ),
            (vec![two[0].clone(), ("y.npy", labels(8))], "“x” has 9 images and “y” has 8 labels"),
            (vec![two[0].clone(), ("y.npy", vec![1, 2])], "“y” is not a NumPy array: it begins with bytes 01 02"),
            (vec![two[0].clone(), ("y.npy", images(9))], "“y” has shape “(9, 2, 2)”; expected (count,)"),
            (vec![two[1].clone(), ("x.npy", labels(9))], "“x” has shape “(9)”; expected (count, rows, columns)"),
            (vec![two[1].clone(), ("x.npy", file("|u1", "(9, 70, 1)", &[0; 630]))], "“x”: rows 70; expected 1 to 64"),
            (vec![two[1].clone(), ("x.npy", file("|u1", "(0, 2, 2)", &[]))], "it holds no example"),
            (
                vec![two[1].clone(), ("x.npy", file("<i2", "(9, 1, 1)", &[0, 128].repeat(9)))],
                "the values of the images are from -32768 to -32768",
            ),
            (four(file("|u1", "(9, 1, 1)", &[0; 9])), "“x_train” and “x_test” hold images of different sizes"),
        ] {
            let error = read_of(&entries).unwrap_err().to_string();
            assert!(error.starts_with(&format!("mine.npz: {says}")), "{error} / {says}");
        }
        // Kilobytes that unpack to more than the limit.
        let bomb = zipped(&[("x.npy", vec![0; 3_000_000]), ("y.npy", labels(9))], true);
        assert!(bomb.len() < 20_000);
        let fault = unpacked(&mut Zipped::open(bomb).unwrap(), 1_000_000).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "unpacked, it exceeds 1000000 bytes at “x.npy”; give fewer examples, or smaller ones"
        );
    }
}
