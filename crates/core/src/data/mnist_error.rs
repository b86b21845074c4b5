//! Errors of finding and downloading MNIST.

use std::path::PathBuf;

use super::{
    idx::{self, IdxError},
    mnist_files::Place,
    visitor::VisitorError,
};

/// Largest file that is read, packed or not, in bytes: an IDX file of [`idx::MAX_EXAMPLES`] digits.
pub(super) const MAX_FILE_BYTES: u64 = 16 + idx::MAX_EXAMPLES as u64 * idx::PIXELS as u64;

/// A place that does not provide MNIST, and why.
#[derive(Debug)]
pub struct Tried {
    /// The folder or mirror that was tried.
    pub place: Place,
    /// Its fault.
    pub fault: PlaceError,
}

impl std::fmt::Display for Tried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}): {}", self.place.folder.display(), self.place.why, self.fault)
    }
}

/// Why MNIST was not found.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum MnistError {
    /// No place holds it.
    #[error("MNIST is not on this machine; looked in {}. Set MNIST_DIR to a folder with its four files", list(.tried))]
    Absent { tried: Vec<Tried> },
    /// `MNIST_DIR` is set, so no other place was tried.
    #[error("MNIST_DIR={}: {fault}", .folder.display())]
    MnistDir { folder: PathBuf, fault: FolderError },
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum FolderError {
    #[error("the folder does not exist")]
    NoFolder,
    #[error("that is a file; name the folder that holds it")]
    NoFolderButAFile,
    #[error("{0} (plain or .gz) is not there")]
    Missing(&'static str),
    #[error("{} cannot be read: {error}", .path.display())]
    Read { path: PathBuf, error: std::io::Error },
    #[error("{} has {bytes} bytes; expected at most {MAX_FILE_BYTES}", .path.display())]
    TooLarge { path: PathBuf, bytes: u64 },
    #[error(transparent)]
    Idx(#[from] IdxError),
    #[error("{file} is not MNIST's: SHA-256 of the unpacked bytes is {found}; expected {expected}")]
    Digest { file: String, found: String, expected: &'static str },
    #[error(
        "the folder holds no IDX files (names with idx1, idx3 or ubyte), none of CIFAR's (.bin), no .npz, .zip or .tar.gz, and no folders of pictures"
    )]
    NoFiles,
    #[error("the folder holds {first} and {second}, each a set by itself; name the one that is meant")]
    Several { first: String, second: String },
    #[error(transparent)]
    Files(#[from] VisitorError),
}

/// Why a download failed. The cache stays as it was, except after `Replace` or `Write`.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum DownloadError {
    #[error("cannot make {}: {error}", .folder.display())]
    Make { folder: PathBuf, error: std::io::Error },
    #[error("`curl` does not run ({0})")]
    Curl(std::io::Error),
    /// curl's own message, which names the file and the mirror.
    #[error("{0}")]
    Refused(String),
    /// The mirror's files are not MNIST.
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("cannot replace {}: {error}", .folder.display())]
    Replace { folder: PathBuf, error: std::io::Error },
    #[error("cannot write {}: {error}", .folder.display())]
    Write { folder: PathBuf, error: std::io::Error },
}

/// Why a place, a local folder or a mirror, does not provide MNIST.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum PlaceError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Download(#[from] DownloadError),
}

fn list(tried: &[Tried]) -> String {
    if tried.is_empty() {
        return "no place at all (no MNIST_DIR, no checkout, no home folder)".to_owned();
    }
    tried.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
