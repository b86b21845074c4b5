//! MNIST's files: names, digests, mirrors, and the places that may hold them on this machine.
//!
//! Uses only the standard library, because the build tool includes this file by `#[path]`.
//! MNIST: LeCun, Cortes & Burges, <http://yann.lecun.com/exdb/mnist/> (no longer serves the files).

use std::path::{Path, PathBuf};

/// One of the four files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MnistFile {
    /// Name without `.gz`, as published.
    pub name: &'static str,
    /// Unpacked size in bytes.
    pub bytes: u64,
    /// SHA-256 of the unpacked bytes, lower-case hexadecimal; gzip wrappers differ between mirrors.
    pub sha256: &'static str,
}

impl MnistFile {
    /// The name under which mirrors serve it.
    #[must_use]
    pub fn gz_name(&self) -> String {
        format!("{}.gz", self.name)
    }
}

/// 60,000 training images.
pub const TRAIN_IMAGES: MnistFile = MnistFile {
    name: "train-images-idx3-ubyte",
    bytes: 47_040_016,
    sha256: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
};
/// 60,000 training labels.
pub const TRAIN_LABELS: MnistFile = MnistFile {
    name: "train-labels-idx1-ubyte",
    bytes: 60_008,
    sha256: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
};
/// 10,000 test images.
pub const TEST_IMAGES: MnistFile = MnistFile {
    name: "t10k-images-idx3-ubyte",
    bytes: 7_840_016,
    sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
};
/// 10,000 test labels.
pub const TEST_LABELS: MnistFile = MnistFile {
    name: "t10k-labels-idx1-ubyte",
    bytes: 10_008,
    sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
};

/// Training images, training labels, test images, test labels.
pub const FILES: [MnistFile; 4] = [TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS];

/// Folders on public mirrors, tried in this order; a file is at `{mirror}/{gz_name}`.
pub const MIRRORS: [&str; 2] =
    ["https://storage.googleapis.com/cvdf-datasets/mnist", "https://ossci-datasets.s3.amazonaws.com/mnist"];

/// A place that may hold MNIST, and why it is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Why it is tried.
    pub why: Why,
    /// The folder or mirror with the four files.
    pub folder: PathBuf,
}

/// Why a place is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The environment variable `MNIST_DIR`; it is an error if that folder does not hold MNIST.
    MnistDir,
    /// `../shared/mnist` beside the checkout.
    BesideCheckout,
    /// The user's cache, filled by downloads.
    Cache,
    /// A public mirror.
    Mirror,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::MnistDir => "MNIST_DIR",
            Self::BesideCheckout => "beside the checkout",
            Self::Cache => "cache",
            Self::Mirror => "mirror",
        })
    }
}

/// Folders to try, in order: `MNIST_DIR`; `../shared/mnist` beside `checkout`; the cache.
///
/// `env` reads an environment variable (`|k| std::env::var_os(k)`); empty ones count as unset.
pub fn places(env: impl Fn(&str) -> Option<std::ffi::OsString>, checkout: Option<&Path>) -> Vec<Place> {
    let mut places = Vec::new();
    if let Some(folder) = env("MNIST_DIR").filter(|v| !v.is_empty()) {
        places.push(Place { why: Why::MnistDir, folder: folder.into() });
    }
    if let Some(parent) = checkout.and_then(Path::parent) {
        places.push(Place { why: Why::BesideCheckout, folder: parent.join("shared").join("mnist") });
    }
    if let Some(folder) = cache_folder(env) {
        places.push(Place { why: Why::Cache, folder });
    }
    places
}

/// The cache folder for downloads: `mnist` in `HUSHGRAD_CACHE`, else in `hushgrad` in the user's
/// cache (`XDG_CACHE_HOME`, `~/Library/Caches`, `%LOCALAPPDATA%`, `~/.cache`). `None` without home.
pub fn cache_folder(env: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let folder = |key: &str| env(key).filter(|v| !v.is_empty()).map(PathBuf::from);
    let own = folder("HUSHGRAD_CACHE").or_else(|| {
        let user = match folder("XDG_CACHE_HOME") {
            // The XDG specification says to ignore relative paths.
            Some(xdg) if xdg.is_absolute() => xdg,
            _ if cfg!(windows) => folder("LOCALAPPDATA")?,
            _ if cfg!(target_os = "macos") => folder("HOME")?.join("Library").join("Caches"),
            _ => folder("HOME")?.join(".cache"),
        };
        Some(user.join("hushgrad"))
    })?;
    Some(own.join("mnist"))
}

/// A `curl` command that fetches a gzipped file from a mirror and gives up on slow transfers.
#[must_use]
pub fn fetch(curl: impl AsRef<std::ffi::OsStr>, mirror: &str, file: &MnistFile, to: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(curl);
    command
        .args(["--fail", "--silent", "--show-error", "--location", "--proto", "=https"])
        .args(["--connect-timeout", "5", "--speed-limit", "20000", "--speed-time", "8", "--max-time", "120"])
        .args(["--max-filesize", "20000000", "--output"])
        .arg(to)
        .arg(format!("{mirror}/{}", file.gz_name()));
    command
}

/// The file in `folder`, plain or with `.gz`; `None` if absent.
#[must_use]
pub fn find(folder: &Path, file: &MnistFile) -> Option<PathBuf> {
    [file.name.to_owned(), file.gz_name()].into_iter().map(|name| folder.join(name)).find(|path| path.is_file())
}
