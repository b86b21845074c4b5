//! What becomes of each example's gradient before it is added to the lot's sum.

use crate::{
    cpu::kernels::envelope::Psi,
    mechanism::{
        exact_sum::{SumGrid, clip_target},
        layers::{LayerFactors, MOST_LAYERS},
    },
};

/// What becomes of each gradient; with a grid, its coordinates are rounded to that.
pub enum Encoding {
    None,
    /// Scaled to at most `target`, which leaves room for what is rounded.
    Clip {
        /// What counts as within the clip.
        norm: f64,
        target: f64,
        grid: Option<SumGrid>,
    },
    Envelope {
        psi: Psi,
        pre_scale: f32,
        grid: Option<SumGrid>,
    },
    /// Layer by layer.
    Layers {
        factors: LayerFactors,
        grid: Option<SumGrid>,
    },
}

impl Encoding {
    /// Gradients of `parameters` coordinates no longer than `norm`.
    pub fn clip(norm: f64, parameters: usize, grid: Option<SumGrid>) -> Self {
        Self::Clip {
            norm,
            target: grid.map_or_else(|| clip_target(norm), |grid| grid.clip_target(norm, parameters)),
            grid,
        }
    }

    /// What coordinates are rounded to.
    pub const fn grid(&self) -> Option<SumGrid> {
        match self {
            Self::None => None,
            Self::Clip { grid, .. } | Self::Envelope { grid, .. } | Self::Layers { grid, .. } => *grid,
        }
    }

    /// Whether sums are exact, in any order and in any parts.
    pub fn is_exact(&self) -> bool {
        self.grid().is_some()
    }

    /// Where sums in f32 stand; 0 without a grid.
    pub fn base(&self) -> f32 {
        self.grid().map_or(0.0, SumGrid::base)
    }

    /// Whether a gradient of squared norm `square` is within the clip.
    pub fn is_within(&self, square: f32) -> bool {
        matches!(self, Self::Clip { norm, .. } if f64::from(square).sqrt() <= *norm)
    }

    /// Factors by which the layers of a gradient of squared norm `square`, and of those layer by layer, are added; 0 where that is not finite.
    pub fn scales(&self, square: f32, layers: [f32; MOST_LAYERS]) -> [f32; MOST_LAYERS] {
        match self {
            _ if !square.is_finite() => [0.0; MOST_LAYERS],
            Self::Clip { target, .. } => [(target / f64::from(square).sqrt()).min(1.0) as f32; MOST_LAYERS],
            Self::Layers { factors, .. } => factors.of(layers.map(f64::from)).map(|factor| factor as f32),
            _ => [1.0; MOST_LAYERS],
        }
    }
}
