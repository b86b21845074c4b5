//! The WGSL kernels: one per file in `shaders/`, after the `shaders/shared/` files that it uses.

/// The bindings that a kernel sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bindings {
    /// `common.wgsl`: a chunk of the lot.
    Examples,
    /// `release.wgsl`: the sum and what follows it.
    Release,
    /// `scattering.wgsl`: images and their features.
    Scattering,
    /// The kernel's own.
    Own,
}

/// A compute kernel with the entry point `main`.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    pub name: &'static str,
    pub bindings: Bindings,
    /// Files of `shaders/` and their text, in order of concatenation.
    pub parts: &'static [(&'static str, &'static str)],
}

impl Kernel {
    /// Returns the whole WGSL module.
    #[must_use]
    pub fn source(&self) -> String {
        self.parts.iter().flat_map(|(_, text)| [text, "\n"]).collect()
    }
}

/// Length of `text` without comments, indents and empty lines.
const fn bare_length(text: &str) -> usize {
    let (bytes, mut at, mut length) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        (at, length) = next(bytes, at, length, None);
    }
    length
}

/// Removes comments, indents and empty lines: a third of the kernels, which the program ships.
const fn bare<const LENGTH: usize>(text: &str) -> [u8; LENGTH] {
    let (bytes, mut at, mut length, mut out) = (text.as_bytes(), 0, 0, [0; LENGTH]);
    while at < bytes.len() {
        (at, length) = next(bytes, at, length, Some(&mut out));
    }
    out
}

/// Processes the line at `at`. Returns the start of the next line and the new output length.
const fn next(bytes: &[u8], mut at: usize, mut length: usize, out: Option<&mut [u8]>) -> (usize, usize) {
    while at < bytes.len() && bytes[at] == b' ' {
        at += 1;
    }
    let (start, mut end) = (at, at);
    while at < bytes.len() && bytes[at] != b'\n' {
        if bytes[at] == b'/' && at + 1 < bytes.len() && bytes[at + 1] == b'/' {
            while at < bytes.len() && bytes[at] != b'\n' {
                at += 1;
            }
            break;
        }
        at += 1;
        if bytes[at - 1] != b' ' {
            end = at;
        }
    }
    if end > start {
        if let Some(out) = out {
            let mut from = start;
            while from < end {
                out[length + from - start] = bytes[from];
                from += 1;
            }
            out[length + end - start] = b'\n';
        }
        length += end - start + 1;
    }
    (at + 1, length)
}

macro_rules! part {
    ($file:literal) => {
        ($file, {
            const TEXT: &str = include_str!(concat!("../../../../shaders/", $file));
            const BARE: [u8; bare_length(TEXT)] = bare(TEXT);
            match core::str::from_utf8(&BARE) {
                Ok(text) => text,
                Err(_) => panic!("WGSL is UTF-8, cut between lines"),
            }
        })
    };
}

macro_rules! kernels {
    ($($name:ident: $bindings:ident [$($file:literal),+];)+) => {
        $(pub const $name: Kernel = Kernel {
            name: stringify!($name),
            bindings: Bindings::$bindings,
            parts: &[$(part!($file)),+],
        };)+
        /// All kernels.
        pub const ALL: &[Kernel] = &[$($name),+];
    };
}

kernels! {
    UNPACK: Examples ["shared/common.wgsl", "shared/cnn.wgsl", "unpack.wgsl"];
    CONV1: Examples ["shared/common.wgsl", "shared/cnn.wgsl", "conv1.wgsl"];
    POOL: Examples ["shared/common.wgsl", "pool.wgsl"];
    CONV2: Examples ["shared/common.wgsl", "shared/cnn.wgsl", "conv2.wgsl"];
    DENSE: Examples ["shared/common.wgsl", "dense.wgsl"];
    HEAD: Examples ["shared/common.wgsl", "head.wgsl"];
    DENSE_INPUT_GRADIENT: Examples ["shared/common.wgsl", "dense_input_gradient.wgsl"];
    UNPOOL: Examples ["shared/common.wgsl", "unpool.wgsl"];
    CONV2_GRADIENT: Examples ["shared/common.wgsl", "shared/cnn.wgsl", "conv2_gradient.wgsl"];
    CONV2_INPUT_GRADIENT: Examples ["shared/common.wgsl", "shared/cnn.wgsl", "conv2_input_gradient.wgsl"];
    CONV1_GRADIENT: Examples ["shared/common.wgsl", "shared/cnn.wgsl", "conv1_gradient.wgsl"];
    PIXELS: Examples ["shared/common.wgsl", "shared/layers.wgsl", "pixels.wgsl"];
    CONVOLUTION: Examples
        ["shared/common.wgsl", "shared/layers.wgsl", "shared/windows.wgsl", "shared/filters.wgsl", "convolution.wgsl"];
    CONVOLUTION_GRADIENT: Examples
        ["shared/common.wgsl", "shared/layers.wgsl", "shared/windows.wgsl", "shared/filters.wgsl", "convolution_gradient.wgsl"];
    CONVOLUTION_INPUT_GRADIENT: Examples
        ["shared/common.wgsl", "shared/layers.wgsl", "shared/windows.wgsl", "shared/filters.wgsl", "convolution_input_gradient.wgsl"];
    POOL_WINDOWS: Examples ["shared/common.wgsl", "shared/layers.wgsl", "shared/windows.wgsl", "pool_windows.wgsl"];
    POOL_WINDOWS_BACKWARD: Examples
        ["shared/common.wgsl", "shared/layers.wgsl", "shared/windows.wgsl", "pool_windows_backward.wgsl"];
    CURVE: Examples ["shared/common.wgsl", "shared/layers.wgsl", "curve.wgsl"];
    GROUP_NORM: Examples ["shared/common.wgsl", "shared/layers.wgsl", "group_norm.wgsl"];
    GROUP_NORM_GRADIENT: Examples ["shared/common.wgsl", "shared/layers.wgsl", "group_norm_gradient.wgsl"];
    GROUP_NORM_BACKWARD: Examples ["shared/common.wgsl", "shared/layers.wgsl", "group_norm_backward.wgsl"];
    BATCH_NORM: Examples ["shared/common.wgsl", "shared/layers.wgsl", "batch_norm.wgsl"];
    BATCH_NORM_GRADIENT: Examples ["shared/common.wgsl", "shared/layers.wgsl", "batch_norm_gradient.wgsl"];
    DENSE_GRADIENT: Examples ["shared/common.wgsl", "shared/layers.wgsl", "dense_gradient.wgsl"];
    LOSS: Examples ["shared/common.wgsl", "shared/layers.wgsl", "loss.wgsl"];
    GATHER: Examples ["shared/common.wgsl", "gather.wgsl"];
    PLANT: Examples ["shared/common.wgsl", "plant.wgsl"];
    NORM: Examples ["shared/common.wgsl", "norm.wgsl"];
    HISTOGRAM_STORED: Examples ["shared/common.wgsl", "histogram_stored.wgsl"];
    HISTOGRAM_DENSE: Examples ["shared/common.wgsl", "histogram_dense.wgsl"];
    BOUNDS: Examples ["shared/common.wgsl", "bounds.wgsl"];
    ACCUMULATE_STORED: Examples ["shared/common.wgsl", "accumulate_stored.wgsl"];
    ACCUMULATE_DENSE: Examples ["shared/common.wgsl", "accumulate_dense.wgsl"];
    SCORES: Examples ["shared/common.wgsl", "scores.wgsl"];
    NOISE: Release ["shared/release.wgsl", "shared/chacha20.wgsl", "shared/families.wgsl", "noise.wgsl"];
    KS_SCATTER: Release ["shared/release.wgsl", "ks_scatter.wgsl"];
    KS_DISTANCE: Release ["shared/release.wgsl", "ks_distance.wgsl"];
    KS_FULL: Release ["shared/release.wgsl", "ks_full.wgsl"];
    SHRINK: Release ["shared/release.wgsl", "shrink.wgsl"];
    SMOOTH: Release ["shared/release.wgsl", "smooth.wgsl"];
    UPDATE: Release ["shared/release.wgsl", "update.wgsl"];
    SCATTER: Scattering ["shared/scattering.wgsl", "scatter.wgsl"];
    STANDARDISE: Scattering ["shared/scattering.wgsl", "standardise.wgsl"];
    CHACHA20_BLOCKS: Own ["shared/chacha20.wgsl", "chacha20_blocks.wgsl"];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_keep_their_code_and_nothing_else() {
        for (file, bare) in ALL.iter().flat_map(|kernel| kernel.parts) {
            let path = format!("{}/../../shaders/{file}", env!("CARGO_MANIFEST_DIR"));
            let whole = std::fs::read_to_string(path).unwrap();
            let code = |line: &str| line.split("//").next().unwrap_or_default().trim_matches(' ').to_owned();
            let expected: String =
                whole.lines().map(code).filter(|line| !line.is_empty()).map(|line| line + "\n").collect();
            assert_eq!(*bare, expected, "{file}");
        }
    }
}
