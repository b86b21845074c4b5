//! Noise families as `families.wgsl` and `noise.wgsl` take them: a code, parameters and two tables.

use super::quantile;
use crate::{
    EngineError, Unsupported,
    accounting::noise::{Noise, NoiseSpec},
};

/// `TAIL_CELLS` of noise.wgsl.
const TAIL_CELLS: usize = 16_384;

/// The part of the noise that does not change from step to step.
#[derive(Clone, Debug)]
pub struct Family {
    /// The family's constant in families.wgsl.
    pub code: u32,
    pub scale: f32,
    pub shape: f32,
    /// The magnitude in the middle of the tail table.
    pub half_point: f32,
    /// Pr[Z > x] at x = half_point·s/(1 − s) for s = 0, 1/16384, …, 1. A single zero if unused;
    /// [`super::lowered`] may put a smoothing's waves here.
    pub tails: Vec<f32>,
    /// [`quantile::table`], a single zero if the family has a formula; [`super::lowered`] may put
    /// the coefficients of correlated noise here.
    pub quantiles: Vec<f32>,
}

impl Family {
    /// # Errors
    /// [`EngineError::Unsupported`] if the noise is refused, or f32 cannot follow its density.
    pub fn new(noise: Option<&NoiseSpec>, with_tails: bool) -> Result<Self, EngineError> {
        let none = Self { code: 0, scale: 0.0, shape: 0.0, half_point: 1.0, tails: vec![0.0], quantiles: vec![0.0] };
        let Some(noise) = noise else { return Ok(none) };
        let (code, scale, shape) = match *noise {
            NoiseSpec::Gaussian { sigma } => (1, sigma, 0.0),
            NoiseSpec::StudentT { nu, scale } => (2, scale, nu),
            NoiseSpec::Laplace { scale } => (3, scale, 0.0),
            NoiseSpec::Cauchy { scale } => (4, scale, 0.0),
            NoiseSpec::VarianceGamma { scale } => (5, scale, 0.0),
            NoiseSpec::HyperbolicSecant { scale } => (6, scale, 0.0),
            NoiseSpec::GeneralizedGaussian { scale, .. } | NoiseSpec::Custom { scale, .. } => (7, scale, 0.0),
        };
        let distribution = noise.build()?;
        let quantiles = match code {
            7 => quantile::table(&*distribution).ok_or(Unsupported::SteepNoise)?,
            _ => vec![0.0],
        };
        // The scale of a custom density multiplies its own width: its quartile is the half point.
        let custom = matches!(noise, NoiseSpec::Custom { .. });
        let half_point = if custom { distribution.survival_quantile(0.25) } else { scale };
        let tails = if with_tails { tails(&*distribution, half_point) } else { vec![0.0] };
        Ok(Self { code, scale: scale as f32, shape: shape as f32, half_point: half_point as f32, tails, quantiles })
    }
}

fn tails(noise: &dyn Noise, half_point: f64) -> Vec<f32> {
    let node = |i: usize| {
        let s = i as f64 / TAIL_CELLS as f64;
        if i == TAIL_CELLS { 0.0 } else { noise.survival(half_point * s / (1.0 - s)) as f32 }
    };
    (0..=TAIL_CELLS).map(node).collect()
}
