//! Finds MNIST on this machine and checks that it is MNIST to the last byte.

use std::path::{Path, PathBuf};

pub use super::mnist_error::{DownloadError, FolderError, MnistError, PlaceError, Tried};
use super::{
    Dataset, Digits, Source, TestSet,
    idx::{self, Idx, Kind},
    mnist_error::MAX_FILE_BYTES,
    mnist_files::{self, FILES, MIRRORS, MnistFile, Place, Why},
};

/// MNIST, and where it was found.
#[derive(Debug)]
pub struct LocatedDigits {
    /// 60,000 training and 10,000 test images, checked against their digests.
    pub digits: Digits,
    /// The folder or mirror that it came from.
    pub place: Place,
    /// Places that were tried before, with their faults.
    pub tried: Vec<Tried>,
}

/// Loads MNIST from the first of `MNIST_DIR`, beside the checkout and the user's cache that has it.
/// If `MNIST_DIR` is set, no other place is tried. Takes about 0.3 s, mostly unpacking.
///
/// # Errors
/// [`MnistError`], with every place that was tried and its fault.
pub fn locate() -> Result<LocatedDigits, MnistError> {
    locate_in(mnist_files::places(|key| std::env::var_os(key), checkout().as_deref()))
}

/// As [`locate`]; if MNIST is absent, fills the user's cache from the first mirror that works.
///
/// # Errors
/// As [`locate`], with the mirrors among the places tried.
pub fn locate_or_download() -> Result<LocatedDigits, MnistError> {
    let mut tried = match locate() {
        Err(MnistError::Absent { tried }) => tried,
        other => return other,
    };
    if let Some(cache) = mnist_files::cache_folder(|key| std::env::var_os(key)) {
        for mirror in MIRRORS {
            let place = Place { why: Why::Mirror, folder: mirror.into() };
            match download(mirror, &cache) {
                Ok(digits) => return Ok(LocatedDigits { digits, place, tried }),
                Err(fault) => tried.push(Tried { place, fault: fault.into() }),
            }
        }
    }
    Err(MnistError::Absent { tried })
}

/// Fills `cache` from a mirror with all four files, checked, or leaves none of them there.
fn download(mirror: &str, cache: &Path) -> Result<Digits, DownloadError> {
    let unfinished = cache.with_file_name(format!(".unfinished-mnist-{}", std::process::id()));
    let fill = || -> Result<Digits, DownloadError> {
        std::fs::create_dir_all(&unfinished)
            .map_err(|error| DownloadError::Make { folder: unfinished.clone(), error })?;
        for file in &FILES {
            let mut curl = mnist_files::fetch("curl", mirror, file, &unfinished.join(file.gz_name()));
            let said = curl.output().map_err(DownloadError::Curl)?;
            if !said.status.success() {
                return Err(DownloadError::Refused(String::from_utf8_lossy(&said.stderr).trim().to_owned()));
            }
        }
        let digits = load(&unfinished)?;
        if cache.exists() {
            std::fs::remove_dir_all(cache)
                .map_err(|error| DownloadError::Replace { folder: cache.to_owned(), error })?;
        }
        std::fs::rename(&unfinished, cache)
            .map_err(|error| DownloadError::Write { folder: cache.to_owned(), error })?;
        Ok(digits)
    };
    let filled = fill();
    if filled.is_err() {
        let _ = std::fs::remove_dir_all(&unfinished);
    }
    filled
}

/// [`locate`] in the given places.
///
/// # Errors
/// As [`locate`].
pub fn locate_in(places: Vec<Place>) -> Result<LocatedDigits, MnistError> {
    let mut tried = Vec::new();
    for place in places {
        match load(&place.folder) {
            Ok(digits) => return Ok(LocatedDigits { digits, place, tried }),
            Err(fault) if place.why == Why::MnistDir => {
                return Err(MnistError::MnistDir { folder: place.folder, fault });
            }
            Err(fault) => tried.push(Tried { place, fault: fault.into() }),
        }
    }
    Err(MnistError::Absent { tried })
}

/// The repository around the current folder; otherwise the package that cargo runs.
fn checkout() -> Option<PathBuf> {
    let here = std::env::current_dir().ok();
    let repository = here.as_deref().and_then(|here| here.ancestors().find(|folder| folder.join(".git").exists()));
    repository.map(Path::to_owned).or_else(|| std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from))
}

/// Loads MNIST's four files from `folder`, plain or gzipped, and checks each against its digest.
///
/// # Errors
/// [`FolderError`] with the first file at fault.
pub fn load(folder: &Path) -> Result<Digits, FolderError> {
    is_folder(folder)?;
    // Check that all four exist before reading any.
    for file in &FILES {
        mnist_files::find(folder, file).ok_or(FolderError::Missing(file.name))?;
    }
    let [train_images, train_labels, test_images, test_labels] = &FILES;
    let pair = |images: &'static MnistFile, labels: &'static MnistFile| -> Result<Dataset, FolderError> {
        let images_idx = load_file(folder, images, Kind::Images)?;
        let labels_idx = load_file(folder, labels, Kind::Labels)?;
        Ok(Dataset::pair("MNIST", (images.name, images_idx), (labels.name, labels_idx))?)
    };
    Ok(Digits {
        train: pair(train_images, train_labels)?,
        test: pair(test_images, test_labels)?,
        source: Source::Mnist,
        test_set: TestSet::Public,
        notes: vec![],
    })
}

pub(super) fn is_folder(path: &Path) -> Result<(), FolderError> {
    match path.metadata() {
        Ok(there) if there.is_dir() => Ok(()),
        Ok(_) => Err(FolderError::NoFolderButAFile),
        // Any error but a missing path, e.g. missing permission, is reported as it is.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(FolderError::NoFolder),
        Err(error) => Err(FolderError::Read { path: path.to_owned(), error }),
    }
}

fn load_file(folder: &Path, file: &'static MnistFile, kind: Kind) -> Result<Idx, FolderError> {
    let path = mnist_files::find(folder, file).ok_or(FolderError::Missing(file.name))?;
    let idx = idx::read_kind(&path.display().to_string(), &read(&path)?, kind)?;
    let found = idx.sha256();
    if found != file.sha256 {
        return Err(FolderError::Digest { file: path.display().to_string(), found, expected: file.sha256 });
    }
    Ok(idx)
}

/// Reads a file of at most `MAX_FILE_BYTES` bytes.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, FolderError> {
    let unreadable = |error| FolderError::Read { path: path.to_owned(), error };
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    if bytes > MAX_FILE_BYTES {
        return Err(FolderError::TooLarge { path: path.to_owned(), bytes });
    }
    std::fs::read(path).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses no network: `curl` is restricted to https.
    #[test]
    fn a_download_that_fails_says_why_and_leaves_the_cache_as_it_was() {
        let folder = std::env::temp_dir().join(format!("hushgrad-mnist-{}", std::process::id()));
        let cache = folder.join("mnist");
        std::fs::create_dir_all(&cache).unwrap();
        std::fs::write(cache.join("kept"), "x").unwrap();
        let error = download("file:///nowhere", &cache).unwrap_err();
        assert!(matches!(error, DownloadError::Refused(_) | DownloadError::Curl(_)), "{error:?}");
        assert!(error.to_string().contains("curl"), "{error}");
        let error = download("file:///nowhere", &cache.join("kept").join("mnist")).unwrap_err();
        assert!(matches!(error, DownloadError::Make { .. }), "{error:?}");
        let names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["mnist"], "nothing unfinished is left");
        assert_eq!(std::fs::read(cache.join("kept")).unwrap(), b"x");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
