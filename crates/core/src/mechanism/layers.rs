//! A clip for each layer: groups of vectors, as in McMahan, Andrew, Erlingsson, Chien, Mironov, Papernot & Kairouz 2018, "A general approach to adding
//! differential privacy to iterative training procedures", §2–4.
//!
//! Layer g has a norm C_g and gets noise of standard deviation σ_g = z·s_g, where [`Groups`] shares out the noise multiplier z. All is done in units of
//! s_g: a layer's part of an encoded gradient is divided by s_g, and then
//!
//! - its L2 norm is at most 1 over all layers together (√(ΣC_g²/s_g²) = 1 for separate clips, max C_g/s_g = 1 for a joint one): what a ledger is told,
//! - every coordinate of the sum gets the same noise, of scale z: sums on a grid, correlated noise and denoisers are what they are with one clip.
//!
//! The noisy sum is multiplied by s_g before it moves the model ([`Layers::restore`]); that is post-processing. Where the noise is not Gaussian the price is
//! that of any vector in the unit ball, in which these are: it is an upper bound there, and exact for Gaussian noise.

use serde::{Deserialize, Serialize};

use super::{
    MechanismError,
    exact_sum::{SumGrid, clip_target},
};
use crate::accounting::groups::{Clipping, Group, Groups, NoiseStrategy};

/// Most layers of a model.
pub const MOST_LAYERS: usize = 8;

/// What bounds each layer's part of a gradient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LayerClip {
    /// C_g, one for each layer in order, 1e-9 to 1e6. Or one number C for all layers: then each is clipped to C/√G, and a joint clip is to C, so that the whole
    /// is no longer than C.
    pub norms: Vec<f64>,
    /// Whether each layer is scaled by itself.
    #[serde(default)]
    pub clipping: Clipping,
    /// How the noise is shared out.
    #[serde(default)]
    pub strategy: NoiseStrategy,
}

/// A [`LayerClip`] for the layers of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    parts: Vec<Part>,
    clipping: Clipping,
}

/// A layer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    /// d_g.
    length: usize,
    /// C_g.
    norm: f64,
    /// s_g.
    unit: f64,
}

/// What an engine takes of each layer. With n_g the norm of a layer's part (or of all, each in units of its C_g, for a joint clip) the part is multiplied by
/// min(1, `target`/(n_g·`weight`))·`unit`⁻¹.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerFactors {
    /// 1/C_g; 0 after the last layer.
    pub weight: [f64; MOST_LAYERS],
    /// What a norm in units of C_g aims at, with room for what is rounded.
    pub target: [f64; MOST_LAYERS],
    /// 1/s_g.
    pub scale: [f64; MOST_LAYERS],
    /// Whether the norms are taken together.
    pub joint: bool,
}

impl LayerClip {
    /// C shared out over the layers, each by itself, with the same privacy for each.
    #[must_use]
    pub fn even(norm: f64) -> Self {
        Self { norms: vec![norm], clipping: Clipping::Separate, strategy: NoiseStrategy::Proportional }
    }

    /// The most that a gradient of so many layers is long, were it not in units of its noise.
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

    /// Checks the norms by themselves.
    ///
    /// # Errors
    /// None; one that is out of range, NaN too.
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
    /// `clip` for layers of these numbers of parameters, in flat order.
    ///
    /// # Errors
    /// As [`LayerClip::validate`]; another number of norms than of layers.
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
        // Norms are in range, and no layer is empty.
        let groups = Groups::with_multiplier(groups.collect(), 1.0, clip.strategy, clip.clipping)
            .map_err(|_| MechanismError::LayerNorms { layers: count, found: norms.len() })?;
        let part = |(&length, noisy): (&usize, &crate::accounting::groups::NoisyGroup)| Part {
            length,
            norm: noisy.group.clip,
            unit: noisy.noise,
        };
        Ok(Self { parts: lengths.iter().zip(groups.groups()).map(part).collect(), clipping: clip.clipping })
    }

    /// The grid of encoded coordinates, in units of s_g.
    #[must_use]
    pub fn sum_grid() -> SumGrid {
        SumGrid::of(1.0)
    }

    /// P.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.parts.iter().map(|part| part.length).sum()
    }

    /// Numbers of parameters, s_g and C_g, layer by layer.
    pub fn each(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        self.parts.iter().map(|part| (part.length, part.unit, part.norm))
    }

    /// What the clip multiplies by, where coordinates are rounded to `grid`.
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
            // A joint clip's rounding is that of all coordinates, none of which is stretched.
            factors.target[g] = if factors.joint { aim(1.0, self.dimension()) } else { aim(most, part.length) / most };
        }
        factors
    }

    /// The layers' parts of a gradient, or of a sum of them.
    fn split<'a>(&self, mut values: &'a mut [f32]) -> Vec<&'a mut [f32]> {
        let take = |part: &Part| {
            let (own, rest) = std::mem::take(&mut values).split_at_mut(part.length);
            values = rest;
            own
        };
        self.parts.iter().map(take).collect()
    }

    /// Clips a finite gradient in place, in units of s_g.
    ///
    /// # Panics
    /// When it is shorter than the layers.
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

    /// Whether an encoded gradient keeps to its bounds.
    #[must_use]
    pub fn inside(&self, encoded: &[f64]) -> bool {
        let mut rest = encoded;
        let mut squares = Vec::new();
        for part in &self.parts {
            let (own, after) = rest.split_at(part.length.min(rest.len()));
            rest = after;
            squares.push(own.iter().map(|v| v * v).sum::<f64>() * (part.unit / part.norm).powi(2));
        }
        // Squares of numbers on a grid are exact; the bounds themselves are rounded.
        let most = 1.0 + 1e-12;
        match self.clipping {
            Clipping::Separate => squares.iter().all(|&square| square <= most),
            Clipping::Joint => squares.iter().sum::<f64>() <= most,
        }
    }

    /// From units of s_g to those of gradients.
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
    /// Factors of the layers of a gradient whose parts have these squared norms.
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
