//! MNIST's files: names, digests, mirrors, and where this machine may hold them.
//!
//! Depends on the standard library alone, so that the build tool includes this very file by `#[path]`.
//! MNIST: LeCun, Cortes & Burges, <http://yann.lecun.com/exdb/mnist/> (that server no longer hands the files out).

use std::path::{Path, PathBuf};

/// One of the four files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MnistFile {
    /// Name without `.gz`, as published.
    pub name: &'static str,
    /// Bytes once unpacked.
    pub bytes: u64,
    /// SHA-256 of the unpacked bytes, lower-case hexadecimal. Gzip wrappers differ from mirror to mirror; what is in them does not.
    pub sha256: &'static str,
}

impl MnistFile {
    /// Name as the mirrors serve it.
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

/// Folders on public mirrors; a file is at `{mirror}/{gz_name}`. Tried in this order.
pub const MIRRORS: [&str; 2] =
    ["https://storage.googleapis.com/cvdf-datasets/mnist", "https://ossci-datasets.s3.amazonaws.com/mnist"];

/// Where MNIST may lie on this machine, and who said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Why it is looked into.
    pub why: Why,
    /// The folder with the four files.
    pub folder: PathBuf,
}

/// Why MNIST may lie in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The environment variable `MNIST_DIR`. Somebody asked for it: when it does not hold MNIST, that is an error, not a reason to look elsewhere.
    MnistDir,
    /// `../shared/mnist` beside the checkout.
    BesideCheckout,
    /// The user's cache, which downloads fill.
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

/// Folders to look in, in order: `MNIST_DIR`; `../shared/mnist` beside `checkout`; the cache.
///
/// `env` reads an environment variable (`|k| std::env::var_os(k)`). Empty variables count as unset.
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

/// The folder into which downloads of MNIST go: `mnist` in `HUSHGRAD_CACHE`, else in `hushgrad` in the user's cache
/// folder (`XDG_CACHE_HOME`, `~/Library/Caches`, `%LOCALAPPDATA%`, `~/.cache`). `None`: there is no home.
pub fn cache_folder(env: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let folder = |key: &str| env(key).filter(|v| !v.is_empty()).map(PathBuf::from);
    let own = folder("HUSHGRAD_CACHE").or_else(|| {
        let user = match folder("XDG_CACHE_HOME") {
            // The XDG specification: a relative path is to be ignored.
            Some(xdg) if xdg.is_absolute() => xdg,
            _ if cfg!(windows) => folder("LOCALAPPDATA")?,
            _ if cfg!(target_os = "macos") => folder("HOME")?.join("Library").join("Caches"),
            _ => folder("HOME")?.join(".cache"),
        };
        Some(user.join("hushgrad"))
    })?;
    Some(own.join("mnist"))
}

/// `curl`, set up to fetch a packed file from a mirror. One that does not answer, or crawls, must not hold anybody up.
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

/// The file in `folder`, plain or with `.gz`; `None` if neither is there.
#[must_use]
pub fn find(folder: &Path, file: &MnistFile) -> Option<PathBuf> {
    [file.name.to_owned(), file.gz_name()].into_iter().map(|name| folder.join(name)).find(|path| path.is_file())
}
