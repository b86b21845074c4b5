//! Reads a visitor's files from this machine, a single file or a folder, in the page's formats.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use super::{
    Digits, Source, cifar, content,
    file_fault::{FileFault, MOST_EXAMPLES},
    idx_files, mnist,
    mnist_error::FolderError,
    pictures::{Files, Undecoded},
    visitor::{self, VisitorError},
};

/// Reads labelled images from a file or a folder, as `--data PATH` names it.
///
/// In a folder, the first of these that exists is read: IDX files (names with idx1, idx3 or ubyte);
/// CIFAR's batches (.bin) and class names; a single archive (.npz, .zip, .tar.gz, .tgz) or several
/// .npz; folders of pictures, one per class; arrays (.npy); tables (.csv).
///
/// # Errors
/// [`FolderError`]; files must satisfy [`visitor::assemble`].
pub fn load(path: &Path) -> Result<Digits, FolderError> {
    load_telling(path, &mut |_, _| {})
}

/// As [`load`]; calls `seen(decoded, total)` after each picture.
///
/// # Errors
/// As [`load`].
pub fn load_telling(path: &Path, seen: &mut dyn FnMut(u64, u64)) -> Result<Digits, FolderError> {
    let digits = if path.is_file() {
        visitor::assemble_telling(&[named(path)?], seen)?
    } else {
        mnist::is_folder(path)?;
        of_folder(path, seen)?
    };
    let shown = path.display().to_string();
    Ok(titled(digits, &shown))
}

/// Names the sets by their published name, otherwise by their path.
fn titled(mut digits: Digits, place: &str) -> Digits {
    for set in [&mut digits.train, &mut digits.test] {
        set.name = match digits.source {
            Source::Mnist | Source::Known => set.name.trim_end_matches(" (your files)").to_owned(),
            _ => place.to_owned(),
        };
    }
    digits
}

fn of_folder(folder: &Path, seen: &mut dyn FnMut(u64, u64)) -> Result<Digits, FolderError> {
    let [mut idx, mut batches, mut texts, mut archives, mut arrays, mut tables] = [const { vec![] }; 6];
    let (mut paths, mut has_folders) = (entries(folder)?, false);
    paths.sort();
    for path in idx_files::without_twins(paths, |path| name(path)) {
        let name = name(&path);
        let ends = |ending: &str| name.to_lowercase().ends_with(ending);
        if !path.is_file() {
            has_folders |= path.is_dir();
        } else if idx_files::is_named(&name) {
            idx.push(path);
        } else if ends(".bin") {
            batches.push(path);
        } else if cifar::is_text(&name) {
            texts.push(path);
        } else if [".npz", ".zip", ".tar.gz", ".tgz"].into_iter().any(ends) {
            archives.push(path);
        } else if ends(".npy") {
            arrays.push(path);
        } else if ends(".csv") {
            tables.push(path);
        }
    }
    let named_idx: Vec<String> = idx.iter().map(|path| name(path)).collect();
    idx_files::check_sets(&named_idx).map_err(|fault| VisitorError::from(fault.of(&name(folder))))?;
    let chosen = match (idx.is_empty(), batches.is_empty(), &archives[..]) {
        (false, ..) => idx,
        (true, false, _) => [batches, texts].concat(),
        (true, true, [_]) => archives,
        // An array a file, as KMNIST's.
        (true, true, [_, _, ..]) if archives.iter().all(|path| name(path).to_lowercase().ends_with(".npz")) => archives,
        (true, true, [first, second, ..]) => {
            return Err(FolderError::Several { first: name(first), second: name(second) });
        }
        (true, true, []) if has_folders => return pictures(folder, seen),
        // Beside others, arrays and tables may be about them.
        (true, true, []) if !arrays.is_empty() => arrays,
        (true, true, []) if !tables.is_empty() => tables,
        (true, true, []) => return Err(FolderError::NoFiles),
    };
    let files = chosen.iter().map(|path| named(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(visitor::assemble_telling(&files, seen)?)
}

fn named(path: &Path) -> Result<(String, Vec<u8>), FolderError> {
    let name = name(path);
    // The first kilobyte is checked before the whole is parsed.
    let bytes = mnist::read(path)?;
    content::check_start(&name, &bytes[..bytes.len().min(1024)], bytes.len() as u64).map_err(VisitorError::from)?;
    Ok((name, bytes))
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let unreadable = |error| FolderError::Read { path: folder.to_owned(), error };
    std::fs::read_dir(folder).map_err(unreadable)?.map(|entry| Ok(entry.map_err(unreadable)?.path())).collect()
}

/// Reads the pictures in the folders of `root`.
fn pictures(root: &Path, seen: &mut dyn FnMut(u64, u64)) -> Result<Digits, FolderError> {
    let mut found = Vec::new();
    collect(root, String::new(), &mut found, &mut HashSet::new())?;
    let (names, paths): (Vec<String>, Vec<PathBuf>) = found.into_iter().unzip();
    let opened = Undecoded::open(&name(root), &names, Box::new(Folder { paths }));
    Ok(visitor::decoded(opened.map_err(VisitorError::from)?, seen)?)
}

/// Collects the files below `folder`, named by path below the root; visits each folder only once.
fn collect(
    folder: &Path,
    before: String,
    found: &mut Vec<(String, PathBuf)>,
    walked: &mut HashSet<PathBuf>,
) -> Result<(), FolderError> {
    let unreadable = |error| FolderError::Read { path: folder.to_owned(), error };
    if !walked.insert(folder.canonicalize().map_err(unreadable)?) {
        return Ok(());
    }
    for path in entries(folder)? {
        let name = before.clone() + &name(&path);
        if path.is_dir() {
            collect(&path, name + "/", found, walked)?;
        } else {
            if found.len() > 2 * MOST_EXAMPLES {
                let fault = FileFault::TooMany { found: found.len() as u64 };
                return Err(FolderError::Files(fault.of(&name).into()));
            }
            found.push((name, path));
        }
    }
    Ok(())
}

struct Folder {
    paths: Vec<PathBuf>,
}

impl Files for Folder {
    fn read(&mut self, place: usize, most: u64) -> Result<Vec<u8>, FileFault> {
        let path = &self.paths[place];
        let entry = || path.display().to_string();
        let unreadable = |error: std::io::Error| FileFault::Unreadable { entry: entry(), detail: error.to_string() };
        let bytes = path.metadata().map_err(unreadable)?.len();
        if bytes > most {
            return Err(FileFault::EntryTooLarge { entry: entry(), bytes, most });
        }
        std::fs::read(path).map_err(unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{
        Picture, Remark, TestSet,
        cifar::CifarVersion,
        tests::{array, png, records, zipped},
    };

    fn folder(name: &str, files: &[(&str, Vec<u8>)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("hushgrad-own-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root).unwrap();
        for (name, bytes) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        root
    }

    /// Twenty links from a folder to itself would make 20⁶ folders.
    #[cfg(unix)]
    #[test]
    fn linked_folders_are_visited_once() {
        let root = folder("links", &[]);
        for class in ["a", "b"] {
            std::fs::create_dir_all(root.join(class)).unwrap();
            (0..9).for_each(|i| std::fs::write(root.join(format!("{class}/{i}.png")), png(4, 4, [i; 3])).unwrap());
            (0..20).for_each(|i| std::os::unix::fs::symlink(&root, root.join(format!("{class}/{i}"))).unwrap());
        }
        let mut seen = vec![];
        let found = load_telling(&root, &mut |taken, all| seen.push((taken, all))).unwrap();
        assert_eq!(found.train.len() + found.test.len(), 18);
        assert_eq!(seen.last(), Some(&(18, 18)));
    }

    fn npz(count: u8) -> Vec<u8> {
        let images: Vec<u8> = (0..count).flat_map(|i| [i; 9]).collect();
        let labels: Vec<u8> = (0..count).map(|i| i % 3).collect();
        let entries = [
            ("x.npy", array("|u1", &format!("({count}, 3, 3)"), &images)),
            ("y.npy", array("|u1", &format!("({count},)"), &labels)),
        ];
        zipped(&entries, true)
    }

    fn kinds(digits: &Digits) -> (Picture, usize, usize, TestSet) {
        (digits.train.picture, digits.train.classes.count(), digits.train.len() + digits.test.len(), digits.test_set)
    }

    #[test]
    fn files_and_folders_of_all_kinds_are_read() {
        let held = TestSet::HeldOut;
        let root = folder("npz", &[("mine.npz", npz(60)), ("notes.txt", vec![1])]);
        let small = (Picture::new(1, 3).unwrap(), 3, 60, held);
        assert_eq!(kinds(&load(&root).unwrap()), small);
        let digits = load(&root.join("mine.npz")).unwrap();
        assert_eq!(kinds(&digits), small);
        assert!(digits.train.name.ends_with("mine.npz") && digits.remarks().contains(&Remark::Presumed));
        std::fs::remove_dir_all(root).unwrap();
        // Not MNIST despite the size; dark; labels from 1, of which two are held out.
        let labels: Vec<u8> = (0..60).map(|i| 1 + i % 9).collect();
        let entries =
            [("x.npy", array("|u1", "(60, 28, 28)", &vec![17; 60 * 784])), ("y.npy", array("|u1", "(60,)", &labels))];
        let root = folder("npz-dark", &[("mine.npz", zipped(&entries, true))]);
        let remarks =
            [Remark::Presumed, Remark::Dark { brightest: 17 }, Remark::Empty { names: "0, 4, 6".to_owned(), count: 3 }];
        assert_eq!(load(&root).unwrap().remarks(), remarks);
        std::fs::remove_dir_all(root).unwrap();

        let batches = [
            ("data_batch_1.bin", records(CifarVersion::Ten, 30, 1)),
            ("test_batch.bin", records(CifarVersion::Ten, 9, 2)),
            ("readme.html", b"<p>".to_vec()),
        ];
        let root = folder("bin", &batches);
        let colour = Picture { channels: 3, side: 32 };
        assert_eq!(kinds(&load(&root).unwrap()), (colour, 10, 39, TestSet::Visitor));
        assert_eq!(kinds(&load(&root.join("data_batch_1.bin")).unwrap()), (colour, 10, 30, held));
        std::fs::remove_dir_all(root).unwrap();

        let pictures: Vec<(String, Vec<u8>)> =
            (0..40).map(|i| (format!("{}/{i}.png", ["cat", "dog"][i % 2]), png(5, 5, [i as u8; 3]))).collect();
        let pictures: Vec<(&str, Vec<u8>)> =
            pictures.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
        let root = folder("pictures", &pictures);
        let loaded = load(&root).unwrap();
        assert_eq!(kinds(&loaded), (Picture::new(1, 5).unwrap(), 2, 40, held));
        // However deep the folders are.
        std::fs::create_dir_all(root.join("1/2/3/4/5/6/7")).unwrap();
        for class in ["cat", "dog"] {
            std::fs::rename(root.join(class), root.join("1/2/3/4/5/6/7").join(class)).unwrap();
        }
        assert_eq!(load(&root).unwrap().train.images, loaded.train.images);
        // The same pictures in a ZIP.
        std::fs::write(root.join("all.zip"), zipped(&pictures, true)).unwrap();
        let zip = load(&root.join("all.zip")).unwrap();
        assert_eq!((zip.train.images, zip.test.labels), (loaded.train.images, loaded.test.labels));
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn unreadable_paths_are_reported() {
        let several = folder("several", &[("a.npz", npz(9)), ("b.zip", npz(9))]);
        let none = folder("none", &[("notes.txt", vec![1])]);
        let odd = folder("odd", &[("a/1.png", png(2, 2, [0; 3])), ("b/1.txt", vec![])]);
        // A table beside pictures is about them, and no set by itself.
        let described =
            folder("described", &[("a/1.png", png(2, 2, [0; 3])), ("labels.csv", b"7,0,9,9,9\n".repeat(9))]);
        let deep = folder("deep", &[("a/1.png", png(2, 2, [0; 3])), ("b/c/d/1.png", png(2, 2, [0; 3]))]);
        let huge = folder("huge", &[("a/1.png", png(5000, 1, [0; 3])), ("b/1.png", vec![])]);
        let cut = folder("cut", &[("data_batch_1.bin", vec![1; 5000])]);
        let sets: Vec<(String, Vec<u8>)> =
            (0..5).map(|i| (format!("emnist-{i}-train-images-idx3-ubyte"), vec![])).collect();
        let sets: Vec<(&str, Vec<u8>)> = sets.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
        let sets = folder("sets", &sets);
        let text = folder("text", &[("notes.txt", b"hello".to_vec())]);
        for (path, says) in [
            (several.clone(), "the folder holds a.npz and b.zip, each a set by itself; name the one that is meant"),
            (none.clone(), "the folder holds no IDX files (names with idx1, idx3 or ubyte), none of CIFAR's"),
            (odd.clone(), "its classes: 1 classes"),
            (described.clone(), "its classes: 1 classes"),
            (deep.clone(), "“b/c/d/1.png” is nested too deep"),
            (huge.clone(), "“a/1.png” has 5000×1 pixels"),
            (sets.clone(), "IDX files of several sets: emnist-0, emnist-1, emnist-2, emnist-3, emnist-4; give"),
            (cut.clone(), "data_batch_1.bin: length 5000: "),
            (text.join("notes.txt"), "notes.txt: bytes 68 65 6c 6c: not a supported format"),
            (text.join("nowhere"), "the folder does not exist"),
        ] {
            let error = load(&path).unwrap_err().to_string();
            assert!(error.contains(says), "{error} / {says}");
        }
        for root in [several, none, odd, described, deep, huge, sets, cut, text] {
            std::fs::remove_dir_all(root).unwrap();
        }
    }
}
