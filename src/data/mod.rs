//! Images and labels: IDX files, the digits that the program draws itself, datasets in memory.

use std::sync::Arc;

/// Labelled 28×28 grey images, one byte a pixel (0 is paper, 255 is ink), row by row. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// What the page calls it, e.g. "MNIST" or "synthetic digits".
    pub name: String,
    /// `len × 784` bytes.
    pub images: Arc<[u8]>,
    /// `len` bytes, each below 10.
    pub labels: Arc<[u8]>,
}

impl Dataset {
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Pixels of example `i`.
    #[must_use]
    pub fn image(&self, i: usize) -> &[u8] {
        &self.images[i * 784..(i + 1) * 784]
    }
}

/// A training set (private) and a test set (public).
#[derive(Clone, Debug)]
pub struct Digits {
    pub train: Dataset,
    pub test: Dataset,
    pub source: Source,
}

/// Where the digits came from; the page says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// MNIST, checked against its known digests.
    Mnist,
    /// Drawn by the program from a seed: public by construction.
    Synthetic,
    /// The visitor's own files, which stay on the machine.
    Visitor,
}
