//! Files of trained weights. The native program embeds them; in a browser, the training thread
//! fetches the file that a run needs and passes it to [`KeptFile::bring`].

use sha2::{Digest, Sha256};

/// An embedded or fetched file.
pub struct KeptFile {
    /// Name in the site's folder.
    pub(super) name: &'static str,
    /// SHA-256 of its bytes in hexadecimal.
    pub(super) digest: &'static str,
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) bytes: &'static [u8],
    #[cfg(target_arch = "wasm32")]
    pub(super) bytes: std::sync::OnceLock<Vec<u8>>,
}

/// A file next to the source, with its digest.
macro_rules! kept_file {
    ($name:literal, $digest:literal) => {
        $crate::model::kept::KeptFile {
            name: $name,
            digest: $digest,
            #[cfg(not(target_arch = "wasm32"))]
            bytes: include_bytes!($name),
            #[cfg(target_arch = "wasm32")]
            bytes: std::sync::OnceLock::new(),
        }
    };
}
pub(super) use kept_file;

impl KeptFile {
    /// Returns the content, or `None` if not fetched yet.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn bytes(&self) -> Option<&[u8]> {
        Some(self.bytes)
    }

    /// Returns the content, or `None` if not fetched yet.
    #[cfg(target_arch = "wasm32")]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.get().map(Vec::as_slice)
    }

    /// Returns the URL relative to the training thread's, or `None` if the content is present.
    #[must_use]
    pub fn address(&self) -> Option<String> {
        self.bytes().is_none().then(|| format!("./{}?is={}", self.name, &self.digest[..16]))
    }

    /// Stores the fetched bytes if their digest matches, and returns whether it does.
    pub fn bring(&self, bytes: Vec<u8>) -> bool {
        if hex(&bytes) != self.digest {
            return false;
        }
        // Already set if it was fetched twice at once; the native program has it.
        #[cfg(target_arch = "wasm32")]
        let _ = self.bytes.set(bytes);
        true
    }
}

/// Returns the SHA-256 in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
