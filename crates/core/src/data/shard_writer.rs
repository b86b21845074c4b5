//! Writes the site's dataset: a manifest and shards of 10,000 examples. [`super::shards`] reads it.
//!
//! Uses only the standard library, `flate2`, `sha2` and `serde_json`, because the build tool
//! includes this file by `#[path]`.
//!
//! A shard is an IDX images file followed by an IDX labels file, gzipped together. Its name does
//! not end in `.gz`, because some servers then declare a content encoding and the browser unpacks
//! it; the reader takes either form. The manifest's SHA-256 is of the unpacked bytes. The name
//! contains the digest's first digits, so that a shard may be cached for ever.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

/// The manifest's name in the folder of shards.
pub const MANIFEST: &str = "manifest.json";
/// Version of the manifest.
pub const FORMAT: u32 = 1;
/// Examples per shard, except the last of a set.
pub const SHARD_EXAMPLES: usize = 10_000;

/// Bytes of an image: 28 rows of 28 bytes.
pub const PIXELS: usize = 28 * 28;

/// A training or test set.
#[derive(Clone, Copy, Debug)]
pub struct Set<'a> {
    /// 784 bytes per image, row by row.
    pub pixels: &'a [u8],
    /// One byte per image, 0 to 9.
    pub labels: &'a [u8],
}

/// Writes the shards into `folder`, created if absent, then the manifest, whose presence marks a
/// complete folder. Returns paths and sizes in that order. The same data give the same bytes.
///
/// # Errors
/// A file cannot be written, or a set is empty or does not have 784 pixels per label.
pub fn write(folder: &Path, name: &str, train: Set<'_>, test: Set<'_>) -> io::Result<Vec<(PathBuf, u64)>> {
    std::fs::create_dir_all(folder)?;
    let (mut files, mut shards) = (Vec::new(), Vec::new());
    for (set_name, set) in [("train", train), ("test", test)] {
        if set.labels.is_empty() || set.pixels.len() != set.labels.len() * PIXELS {
            let what = format!("{set_name}: {} pixels for {} labels", set.pixels.len(), set.labels.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let parts = set.pixels.chunks(SHARD_EXAMPLES * PIXELS).zip(set.labels.chunks(SHARD_EXAMPLES));
        for (part, (pixels, labels)) in parts.enumerate() {
            let unpacked = unpacked(pixels, labels);
            let sha256 = Sha256::digest(&unpacked).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            let mut gzip = flate2::GzBuilder::new().mtime(0).write(Vec::new(), flate2::Compression::best());
            gzip.write_all(&unpacked)?;
            let packed = gzip.finish()?;
            let file = format!("{set_name}-{part:02}.{}.shard", &sha256[..12]);
            std::fs::write(folder.join(&file), &packed)?;
            files.push((folder.join(&file), packed.len() as u64));
            shards.push(serde_json::json!({
                "set": set_name,
                "file": file,
                "first": part * SHARD_EXAMPLES,
                "count": labels.len(),
                "bytes": packed.len(),
                "sha256": sha256,
            }));
        }
    }
    let manifest = serde_json::json!({
        "format": FORMAT,
        "name": name,
        "train": train.labels.len(),
        "test": test.labels.len(),
        "shards": shards,
    });
    let text = serde_json::to_string_pretty(&manifest)? + "\n";
    std::fs::write(folder.join(MANIFEST), &text)?;
    files.push((folder.join(MANIFEST), text.len() as u64));
    Ok(files)
}

/// Bytes of a shard before packing.
fn unpacked(pixels: &[u8], labels: &[u8]) -> Vec<u8> {
    // A shard has at most 10,000 examples, so this fits.
    let count = (labels.len() as u32).to_be_bytes();
    let side = 28u32.to_be_bytes();
    [&[0, 0, 8, 3], &count[..], &side, &side, pixels, &[0, 0, 8, 1], &count, labels].concat()
}
