//! Files of the program that hold trained numbers. The native program carries them; a browser's training thread fetches the one that a run needs, and hands
//! it to [`KeptFile::bring`].

use sha2::{Digest, Sha256};

/// One of them.
pub struct KeptFile {
    /// In the site's folder.
    pub(super) name: &'static str,
    /// SHA-256 of its bytes, hexadecimal.
    pub(super) digest: &'static str,
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) bytes: &'static [u8],
    #[cfg(target_arch = "wasm32")]
    pub(super) bytes: std::sync::OnceLock<Vec<u8>>,
}

/// The file of this name beside the source, with this digest.
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
    /// What it holds; `None`: it was not fetched yet.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn bytes(&self) -> Option<&[u8]> {
        Some(self.bytes)
    }

    /// What it holds; `None`: it was not fetched yet.
    #[cfg(target_arch = "wasm32")]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.get().map(Vec::as_slice)
    }

    /// Where it is, from the training thread's own address; `None`: it is there.
    #[must_use]
    pub fn address(&self) -> Option<String> {
        self.bytes().is_none().then(|| format!("./{}?is={}", self.name, &self.digest[..16]))
    }

    /// Takes what was fetched, if it is the very file.
    pub fn bring(&self, bytes: Vec<u8>) -> bool {
        if hex(&bytes) != self.digest {
            return false;
        }
        // The same bytes, as their digest says, if two were asked for at once; and the native program has them.
        #[cfg(target_arch = "wasm32")]
        let _ = self.bytes.set(bytes);
        true
    }
}

/// SHA-256, hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
