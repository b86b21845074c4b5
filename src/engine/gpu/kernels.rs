//! The WGSL kernels: one a file in `shaders/`, after the declarations of `shaders/shared/` that it shares with others.

/// Which bindings a kernel sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bindings {
    /// `common.wgsl`: a chunk of the lot.
    Examples,
    /// `release.wgsl`: what is done with the sum.
    Release,
    /// `scattering.wgsl`: images, and their features.
    Scattering,
    /// Its own.
    Own,
}

/// One compute kernel. Its entry point is `main`.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    pub name: &'static str,
    pub bindings: Bindings,
    /// Files of `shaders/` and their text, in the order in which they are joined.
    pub parts: &'static [(&'static str, &'static str)],
}

impl Kernel {
    /// The whole WGSL module.
    #[must_use]
    pub fn source(&self) -> String {
        self.parts.iter().flat_map(|(_, text)| [text, "\n"]).collect()
    }
}

macro_rules! part {
    ($file:literal) => {
        ($file, include_str!(concat!("../../../shaders/", $file)))
    };
}

macro_rules! kernels {
    ($($name:ident: $bindings:ident [$($file:literal),+];)+) => {
        $(pub const $name: Kernel = Kernel {
            name: stringify!($name),
            bindings: Bindings::$bindings,
            parts: &[$(part!($file)),+],
        };)+
        /// Every kernel there is.
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
