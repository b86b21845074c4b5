//! NumPy's `.npz`: a ZIP of arrays, whose names tell images from labels and training from test.

use super::{
    file_fault::{FileError, FileFault, MOST_OF_ALL, MOST_OF_ONE, shown},
    npy::{Array, Images, Scale},
    sets::{Part, Sets},
    zipped::Zipped,
};

/// Accepted names of images and labels: training sets, then test sets.
const TRAINING: [[&str; 2]; 5] =
    [["x", "y"], ["images", "labels"], ["x_train", "y_train"], ["train_images", "train_labels"], ["arr_0", "arr_1"]];
const TEST: [[&str; 2]; 2] = [["x_test", "y_test"], ["test_images", "test_labels"]];

/// True if a ZIP with these entries is an `.npz`.
pub(super) fn is_npz(names: &[String]) -> bool {
    names.iter().any(|name| name.ends_with(".npy"))
}

/// Indices of images and labels: training, test.
type Pairs = ([usize; 2], Option<[usize; 2]>);

/// Finds the arrays of images and labels by name.
fn pairs(names: &[String]) -> Result<Pairs, FileFault> {
    let found = || {
        const MOST: usize = 12;
        let first: Vec<String> = names.iter().take(MOST).map(|name| shown(arrays_name(name))).collect();
        let more = if names.len() > MOST { ", …" } else { "" };
        FileFault::NpyNames { found: first.join(", ") + more }
    };
    let place = |wanted: &str| names.iter().position(|name| arrays_name(name).to_lowercase() == wanted);
    let pair = |[images, labels]: [&str; 2]| Some([place(images)?, place(labels)?]);
    let training = TRAINING.into_iter().find_map(pair).ok_or_else(found)?;
    let test = TEST.into_iter().find_map(pair);
    let used = if test.is_some() { 4 } else { 2 };
    if names.len() == used { Ok((training, test)) } else { Err(found()) }
}

fn arrays_name(entry: &str) -> &str {
    entry.strip_suffix(".npy").unwrap_or(entry)
}

/// Reads images and labels; `file` is the archive's name.
///
/// # Errors
/// Arrays of unsupported names, types or shapes, and values out of range.
pub(super) fn read(file: &str, zip: Zipped) -> Result<Sets, FileError> {
    sets(zip, MOST_OF_ALL).map_err(|fault| fault.of(file))
}

fn sets(mut zip: Zipped, most: u64) -> Result<Sets, FileFault> {
    let names = zip.names();
    let (training, test) = pairs(&names)?;
    let mut left = most;
    let mut array = |place: usize| {
        let bytes = zip.unpacked(place, MOST_OF_ONE.min(left)).map_err(|fault| match fault {
            FileFault::EntryTooLarge { entry, bytes, .. } if bytes <= MOST_OF_ONE => FileFault::TooMuch { entry, most },
            other => other,
        })?;
        left -= bytes.len() as u64;
        Array::read(&shown(arrays_name(&names[place])), bytes)
    };
    let mut pair = |[images, labels]: [usize; 2]| -> Result<(Images, Vec<u8>), FileFault> {
        let (images, labels) = (array(images)?.images()?, array(labels)?);
        let (found, name) = (images.count() as u64, labels.name.clone());
        let labels = labels.labels()?;
        if found != labels.len() as u64 {
            let (images, other) = (images.name().to_owned(), labels.len() as u64);
            return Err(FileFault::NpyCounts { images, found, labels: name, other });
        }
        Ok((images, labels))
    };
    let training = pair(training)?;
    let test = test.map(pair).transpose()?;
    let picture = training.0.picture()?;
    if let Some((images, _)) = &test
        && images.picture()? != picture
    {
        let (first, second) = (training.0.name().to_owned(), images.name().to_owned());
        return Err(FileFault::NpySizes { first, second });
    }
    // One scale for the whole file, so that training and test images are scaled alike.
    let scales = [training.0.scale()?, test.as_ref().map(|(images, _)| images.scale()).transpose()?.flatten()];
    let scale = scales.into_iter().flatten().reduce(|a, b| if a == Scale::Bytes { a } else { b });
    let part = |(images, labels): (Images, Vec<u8>)| -> Result<Part, FileFault> {
        Ok(Part { images: images.squares(scale)?, labels })
    };
    let (train, test) = (part(training)?, test.map(part).transpose()?);
    Ok(Sets { published: None, picture, classes: None, train, test })
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
        read("mine.npz", zip)
    }

    fn images(count: usize) -> Vec<u8> {
        file("|u1", &format!("({count}, 2, 2)"), &vec![200; count * 4])
    }

    fn labels(count: usize) -> Vec<u8> {
        let labels: Vec<u8> = (0..count as u8).flat_map(|i| [i % 7, 0]).collect();
        file("<i2", &format!("({count},)"), &labels)
    }

    #[test]
    fn arrays_are_found_by_their_names() {
        for [x, y] in
            [["x", "y"], ["X", "Y"], ["images", "labels"], ["arr_0", "arr_1"], ["train_images", "train_labels"]]
        {
            let (x, y) = (format!("{x}.npy"), format!("{y}.npy"));
            let sets = read_of(&[(&y, labels(9)), (&x, images(9))]).unwrap();
            assert_eq!((sets.picture, sets.train.labels.len(), sets.test), (Picture::new(1, 2).unwrap(), 9, None));
        }
        let sets = read_of(&[
            ("X_train.npy", images(9)),
            ("y_train.npy", labels(9)),
            ("X_test.npy", images(4)),
            ("y_test.npy", labels(4)),
        ])
        .unwrap();
        assert_eq!((sets.train.labels.len(), sets.test.unwrap().labels), (9, vec![0, 1, 2, 3]));
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
    }

    #[test]
    fn faulty_files_are_reported() {
        let two = [("x.npy", images(9)), ("y.npy", labels(9))];
        let with = |name, bytes: Vec<u8>| {
            let mut entries = two.to_vec();
            entries.push((name, bytes));
            entries
        };
        let four = |test: Vec<u8>| {
            vec![
                ("x_train.npy", images(9)),
                ("y_train.npy", labels(9)),
                ("x_test.npy", test),
                ("y_test.npy", labels(9)),
            ]
        };
        for (entries, says) in [
            (vec![two[0].clone()], "the arrays are “x”; expected images and labels as x and y"),
            (with("val.npy", labels(9)), "the arrays are “x, y, val”; expected"),
            (with("notes.txt", vec![]), "the arrays are “x, y, notes.txt”; expected"),
            (vec![two[0].clone(), ("y.npy", labels(8))], "“x” has 9 images and “y” has 8 labels"),
            (vec![two[0].clone(), ("y.npy", vec![1, 2])], "“y” is not a NumPy array: it begins with bytes 01 02"),
            (vec![two[0].clone(), ("y.npy", images(9))], "“y” has shape “(9, 2, 2)”; expected (count,)"),
            (vec![two[1].clone(), ("x.npy", labels(9))], "“x” has elements of type “<i2”; expected unsigned bytes"),
            (vec![two[1].clone(), ("x.npy", file("|u1", "(9, 70, 1)", &[0; 630]))], "“x”: rows 70; expected 1 to 64"),
            (vec![two[1].clone(), ("x.npy", file("|u1", "(0, 2, 2)", &[]))], "it holds no example"),
            (four(file("|u1", "(9, 1, 1)", &[0; 9])), "“x_train” and “x_test” hold images of different sizes"),
        ] {
            let error = read_of(&entries).unwrap_err().to_string();
            assert!(error.starts_with(&format!("mine.npz: {says}")), "{error} / {says}");
        }
        // Kilobytes that unpack to more than the limit.
        let bomb = zipped(&[("x.npy", vec![0; 3_000_000]), ("y.npy", labels(9))], true);
        assert!(bomb.len() < 20_000);
        let fault = sets(Zipped::open(bomb).unwrap(), 1_000_000).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "unpacked, it exceeds 1000000 bytes at “x.npy”; give fewer examples, or smaller ones"
        );
    }
}
