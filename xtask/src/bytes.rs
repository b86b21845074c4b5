//! Digests and sizes of bytes.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of the concatenated parts, in hexadecimal.
pub fn digest(parts: &[&[u8]]) -> String {
    format!("{:x}", parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part)).finalize())
}

/// Formats a size: `812 B`, `14.2 kB`, `1.48 MB`.
pub fn in_words(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        _ => format!("{:.2} MB", n as f64 / 1e6),
    }
}
