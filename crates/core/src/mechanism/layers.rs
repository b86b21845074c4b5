//! Per-layer clipping with vector groups: McMahan, Andrew, Erlingsson, Chien, Mironov, Papernot &
//! Kairouz 2018, "A general approach to adding differential privacy to iterative training
//! procedures", §2–4.
//!
//! Layer g has norm C_g and noise of standard deviation σ_g = z·s_g, where [`Groups`] distributes
//! the noise multiplier z. Each layer's part of an encoded gradient is divided by s_g, so that
//!
//! - its L2 norm over all layers is at most 1 (√(ΣC_g²/s_g²) for separate clips, max C_g/s_g for a
//!   joint one), as the ledger records;
//! - all coordinates of the sum have noise of scale z, as grids, correlation and denoisers expect.
//!
//! As post-processing, the noisy sum is multiplied by s_g before it moves the model
//! ([`Layers::restore`]). Non-Gaussian noise is priced for any vector in the unit ball, an upper
//! bound; for Gaussian noise the price is exact.

use serde::{Deserialize, Serialize};

use super::{
    MechanismError,
    exact_sum::{SumGrid, clip_target},
};
use crate::accounting::groups::{Clipping, Group, Groups, NoiseStrategy};

/// Largest number of layers of a model.
pub const MOST_LAYERS: usize = 8;

/// Bounds on each layer's part of a gradient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LayerClip {
    /// C_g for each layer in order, 1e-9 to 1e6; or one number C, for which separate clips are to
    /// C/√G and a joint clip is to C, so that the whole is no longer than C.
    pub norms: Vec<f64>,
    /// Whether layers are scaled separately or jointly.
    #[serde(default)]
    pub clipping: Clipping,
    /// How noise is distributed over the layers.
    #[serde(default)]
    pub strategy: NoiseStrategy,
}

/// A [`LayerClip`] applied to the layers of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    parts: Vec<Part>,
    clipping: Clipping,
}

/// The length d_g, norm C_g and unit s_g of one layer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    length: usize,
    norm: f64,
    unit: f64,
}

/// Factors of a clip: a part of norm n is multiplied by min(1, `target`/m)·`scale`, m = n·`weight`;
/// for a joint clip, m is the root of the sum of these squares over all layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerFactors {
    /// 1/C_g; 0 after the last layer.
    pub weight: [f64; MOST_LAYERS],
    /// Norm to clip to in units of C_g, below the bound to leave room for rounding.
    pub target: [f64; MOST_LAYERS],
    /// 1/s_g.
    pub scale: [f64; MOST_LAYERS],
    /// True for a joint clip.
    pub joint: bool,
}

impl LayerClip {
    /// Splits C over the layers, clipped separately with the same privacy for each.
    #[must_use]
    pub fn even(norm: f64) -> Self {
        Self { norms: vec![norm], clipping: Clipping::Separate, strategy: NoiseStrategy::Proportional }
    }

    /// Returns the L2 bound of the whole gradient for `layers` layers, in gradient units.
    #[must_use]
    pub fn length(&self, layers: usize) -> f64 {
        let each = |count: usize| self.norms.iter().take(count).map(|norm| norm * norm).sum::<f64>().sqrt();
        match (self.norms.len(), self.clipping) {
            (0, _) => 1.0,
            (1, _) => self.norms[0],
            (_, Clipping::Separate) => each(layers),
            (_, Clipping::Joint) => self.norms.iter().copied().fold(0.0, f64::max),
        }
    }

    /// Checks that the norms are in range.
    ///
    /// # Errors
    /// When there is no norm, or one is NaN or out of range.
    pub fn validate(&self) -> Result<(), MechanismError> {
        let usable = |norm: &f64| (1e-9..=1e6).contains(norm);
        match self.norms.iter().find(|norm| !usable(norm)) {
            Some(norm) => Err(MechanismError::LayerNorm(*norm)),
            None if self.norms.is_empty() => Err(MechanismError::LayerNorms { layers: MOST_LAYERS, found: 0 }),
            None => Ok(()),
        }
    }
}

impl Layers {
    /// Applies `clip` to layers with these numbers of parameters, in flat order.
    ///
    /// # Errors
    /// As [`LayerClip::validate`]; a wrong number of norms, or more than [`MOST_LAYERS`] layers.
    pub fn new(clip: &LayerClip, lengths: &[usize]) -> Result<Self, MechanismError> {
        clip.validate()?;
        let count = lengths.len();
        let norms = match (&clip.norms[..], clip.clipping) {
            (&[norm], Clipping::Separate) => vec![norm / (count as f64).sqrt(); count],
            (&[norm], Clipping::Joint) => vec![norm; count],
            (norms, _) => norms.to_vec(),
        };
        if norms.len() != count || count > MOST_LAYERS {
            return Err(MechanismError::LayerNorms { layers: count, found: clip.norms.len() });
        }
        let groups = norms.iter().zip(lengths).map(|(&norm, &length)| Group::new("layer", length as u64, norm));
        // Cannot fail: norms are in range, and no layer is empty.
        let groups = Groups::with_multiplier(groups.collect(), 1.0, clip.strategy, clip.clipping)
            .map_err(|_| MechanismError::LayerNorms { layers: count, found: norms.len() })?;
        let part = |(&length, noisy): (&usize, &crate::accounting::groups::NoisyGroup)| Part {
            length,
            norm: noisy.group.clip,
            unit: noisy.noise,
        };
        Ok(Self { parts: lengths.iter().zip(groups.groups()).map(part).collect(), clipping: clip.clipping })
    }

    /// Returns the grid of encoded coordinates, in units of s_g.
    #[must_use]
    pub fn sum_grid() -> SumGrid {
        SumGrid::of(1.0)
    }

    /// Returns P, the total number of parameters.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.parts.iter().map(|part| part.length).sum()
    }

    /// Returns the number of parameters, s_g and C_g of each layer.
    pub fn each(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        self.parts.iter().map(|part| (part.length, part.unit, part.norm))
    }

    /// Returns the clip's factors if coordinates are rounded to `grid`.
    #[must_use]
    pub fn factors(&self, grid: Option<SumGrid>) -> LayerFactors {
        let mut factors = LayerFactors {
            weight: [0.0; MOST_LAYERS],
            target: [0.0; MOST_LAYERS],
            scale: [0.0; MOST_LAYERS],
            joint: self.clipping == Clipping::Joint,
        };
        let aim = |norm, length| grid.map_or_else(|| clip_target(norm), |grid| grid.clip_target(norm, length));
        for (g, part) in self.parts.iter().enumerate() {
            let most = part.norm / part.unit;
            factors.weight[g] = part.norm.recip();
            factors.scale[g] = part.unit.recip();
            // A joint clip allows for rounding of all coordinates, none of which is stretched.
            factors.target[g] = if factors.joint { aim(1.0, self.dimension()) } else { aim(most, part.length) / most };
        }
        factors
    }

    /// Splits a gradient, or a sum of them, into the layers' parts.
    fn split<'a>(&self, mut values: &'a mut [f32]) -> Vec<&'a mut [f32]> {
        let take = |part: &Part| {
            let (own, rest) = std::mem::take(&mut values).split_at_mut(part.length);
            values = rest;
            own
        };
        self.parts.iter().map(take).collect()
    }

    /// Clips a finite gradient in place and converts it to units of s_g.
    ///
    /// # Panics
    /// When `gradient` is shorter than the layers.
    pub fn clip(&self, gradient: &mut [f32], grid: Option<SumGrid>) {
        let factors = self.factors(grid);
        let mut parts = self.split(gradient);
        let mut squares = [0.0; MOST_LAYERS];
        for (square, part) in squares.iter_mut().zip(&parts) {
            *square = part.iter().map(|&g| f64::from(g).powi(2)).sum();
        }
        for (part, factor) in parts.iter_mut().zip(factors.of(squares)) {
            for g in part.iter_mut() {
                *g = (f64::from(*g) * factor) as f32;
                *g = grid.map_or(*g, |grid| grid.round(*g));
            }
        }
    }

    /// True if an encoded gradient is within its bounds.
    #[must_use]
    pub fn inside(&self, encoded: &[f64]) -> bool {
        let mut rest = encoded;
        let mut squares = Vec::new();
        for part in &self.parts {
            let (own, after) = rest.split_at(part.length.min(rest.len()));
            rest = after;
            squares.push(own.iter().map(|v| v * v).sum::<f64>() * (part.unit / part.norm).powi(2));
        }
        // Squares on a grid are exact, but the bounds are rounded.
        let most = 1.0 + 1e-12;
        match self.clipping {
            Clipping::Separate => squares.iter().all(|&square| square <= most),
            Clipping::Joint => squares.iter().sum::<f64>() <= most,
        }
    }

    /// Converts from units of s_g back to gradient units.
    ///
    /// # Panics
    /// When `values` is shorter than the layers.
    pub fn restore(&self, values: &mut [f32]) {
        for (values, part) in self.split(values).into_iter().zip(&self.parts) {
            let unit = part.unit as f32;
            values.iter_mut().for_each(|value| *value *= unit);
        }
    }
}

impl LayerFactors {
    /// Returns each layer's factor for a gradient with these squared norms per layer.
    #[must_use]
    pub fn of(&self, squares: [f64; MOST_LAYERS]) -> [f64; MOST_LAYERS] {
        let own: [f64; MOST_LAYERS] = std::array::from_fn(|g| squares[g].sqrt() * self.weight[g]);
        let all = own.iter().map(|norm| norm * norm).sum::<f64>().sqrt();
        std::array::from_fn(|g| {
            let norm = if self.joint { all } else { own[g] };
            (self.target[g] / norm).min(1.0) * self.scale[g]
        })
    }
}
