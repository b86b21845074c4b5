//! The WGSL kernels: one a file in `shaders/`, with the shared declarations that stand before it.

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
    UNPACK: Examples ["common.wgsl", "unpack.wgsl"];
    CONV1: Examples ["common.wgsl", "conv1.wgsl"];
    POOL: Examples ["common.wgsl", "pool.wgsl"];
    CONV2: Examples ["common.wgsl", "conv2.wgsl"];
    DENSE: Examples ["common.wgsl", "dense.wgsl"];
    HEAD: Examples ["common.wgsl", "head.wgsl"];
    DENSE_INPUT_GRADIENT: Examples ["common.wgsl", "dense_input_gradient.wgsl"];
    UNPOOL: Examples ["common.wgsl", "unpool.wgsl"];
    CONV2_GRADIENT: Examples ["common.wgsl", "conv2_gradient.wgsl"];
    CONV2_INPUT_GRADIENT: Examples ["common.wgsl", "conv2_input_gradient.wgsl"];
    CONV1_GRADIENT: Examples ["common.wgsl", "conv1_gradient.wgsl"];
    NORM: Examples ["common.wgsl", "norm.wgsl"];
    HISTOGRAM_STORED: Examples ["common.wgsl", "histogram_stored.wgsl"];
    HISTOGRAM_DENSE: Examples ["common.wgsl", "histogram_dense.wgsl"];
    BOUNDS: Examples ["common.wgsl", "bounds.wgsl"];
    ACCUMULATE_STORED: Examples ["common.wgsl", "accumulate_stored.wgsl"];
    ACCUMULATE_DENSE: Examples ["common.wgsl", "accumulate_dense.wgsl"];
    SCORES: Examples ["common.wgsl", "scores.wgsl"];
    NOISE: Release ["release.wgsl", "chacha20.wgsl", "families.wgsl", "noise.wgsl"];
    KS_SCATTER: Release ["release.wgsl", "ks_scatter.wgsl"];
    KS_DISTANCE: Release ["release.wgsl", "ks_distance.wgsl"];
    KS_FULL: Release ["release.wgsl", "ks_full.wgsl"];
    UPDATE: Release ["release.wgsl", "update.wgsl"];
    SCATTER: Scattering ["scattering.wgsl", "scatter.wgsl"];
    STANDARDISE: Scattering ["scattering.wgsl", "standardise.wgsl"];
    CHACHA20_BLOCKS: Own ["chacha20.wgsl", "chacha20_blocks.wgsl"];
}
