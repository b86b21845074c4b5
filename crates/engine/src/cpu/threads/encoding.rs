//! How each example's gradient is encoded before it is added to the lot's sum.

use crate::{
    cpu::kernels::envelope::Psi,
    mechanism::{
        exact_sum::{SumGrid, clip_target},
        layers::{LayerFactors, MOST_LAYERS},
    },
};

/// How gradients are encoded; with a grid, their coordinates are rounded to it.
pub enum Encoding {
    None,
    /// Scaled to a norm of at most `target`, which leaves room for rounding.
    Clip {
        /// Largest norm that counts as within the clip.
        norm: f64,
        target: f64,
        grid: Option<SumGrid>,
    },
    Envelope {
        psi: Psi,
        pre_scale: f32,
        grid: Option<SumGrid>,
    },
    /// Clipped layer by layer.
    Layers {
        factors: LayerFactors,
        grid: Option<SumGrid>,
    },
}

impl Encoding {
    /// Clips gradients of `parameters` coordinates to `norm`.
    pub fn clip(norm: f64, parameters: usize, grid: Option<SumGrid>) -> Self {
        Self::Clip {
            norm,
            target: grid.map_or_else(|| clip_target(norm), |grid| grid.clip_target(norm, parameters)),
            grid,
        }
    }

    /// The grid to which coordinates are rounded.
    pub const fn grid(&self) -> Option<SumGrid> {
        match self {
            Self::None => None,
            Self::Clip { grid, .. } | Self::Envelope { grid, .. } | Self::Layers { grid, .. } => *grid,
        }
    }

    /// True if sums are exact, in any order and in any parts.
    pub fn is_exact(&self) -> bool {
        self.grid().is_some()
    }

    /// Start value of sums in f32; 0 without a grid.
    pub fn base(&self) -> f32 {
        self.grid().map_or(0.0, SumGrid::base)
    }

    /// True if a gradient of squared norm `square` is within the clip.
    pub fn is_within(&self, square: f32) -> bool {
        matches!(self, Self::Clip { norm, .. } if f64::from(square).sqrt() <= *norm)
    }

    /// Factors for layers of squared norms `layers`, in total `square`; 0 if that is not finite.
    pub fn scales(&self, square: f32, layers: [f32; MOST_LAYERS]) -> [f32; MOST_LAYERS] {
        match self {
            _ if !square.is_finite() => [0.0; MOST_LAYERS],
            Self::Clip { target, .. } => [(target / f64::from(square).sqrt()).min(1.0) as f32; MOST_LAYERS],
            Self::Layers { factors, .. } => factors.of(layers.map(f64::from)).map(|factor| factor as f32),
            _ => [1.0; MOST_LAYERS],
        }
    }
}
