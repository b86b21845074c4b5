//! A noise family as `families.wgsl` and `noise.wgsl` take it: a number, two parameters and two tables.

use crate::{
    engine::EngineError,
    privacy::noise::{Noise, NoiseSpec},
};

/// `TAIL_CELLS` of noise.wgsl.
const TAIL_CELLS: usize = 16_384;
/// Nodes of the quantile table, `QUANTILE_STEP` apart in −ln u.
const QUANTILE_NODES: usize = 4097;
const QUANTILE_STEP: f64 = 46.0 / 4096.0;

/// Everything about the noise that does not change from step to step.
#[derive(Clone, Debug)]
pub struct Family {
    /// The constant of families.wgsl.
    pub code: u32,
    pub scale: f32,
    pub shape: f32,
    /// Half of [0, 1) of the tail table is the noise below this magnitude.
    pub half_point: f32,
    /// Pr[Z > x] at x = half_point·s/(1 − s) for s = 0, 1/16384, …, 1. One zero where it is not needed.
    pub tails: Vec<f32>,
    /// Quantiles of |Z| by −ln of the tail probability. One zero where the family has its own formula.
    pub quantiles: Vec<f32>,
}

impl Family {
    /// # Errors
    /// [`EngineError::Unsupported`] when the noise's parameters are refused.
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
        let distribution = noise.build().map_err(|e| EngineError::Unsupported(format!("this noise: {e}")))?;
        let quantiles = if code == 7 { quantiles(&*distribution) } else { vec![0.0] };
        // A custom density has its own width, which its scale multiplies: its quartile.
        let custom = matches!(noise, NoiseSpec::Custom { .. });
        let half_point = if custom { distribution.tail_quantile(0.25) } else { scale };
        if custom && !follows(&quantiles, &*distribution, half_point) {
            let what = "noise whose density changes this steeply: its table on the graphics device would not follow it";
            return Err(EngineError::Unsupported(what.to_owned()));
        }
        let tails = if with_tails { tails(&*distribution, half_point) } else { vec![0.0] };
        Ok(Self { code, scale: scale as f32, shape: shape as f32, half_point: half_point as f32, tails, quantiles })
    }
}

/// Whether `by_quantile` of families.wgsl, between the nodes, draws what is accounted for, to a few units of f32.
fn follows(quantiles: &[f32], noise: &dyn Noise, half_point: f64) -> bool {
    let node = |i: usize| f64::from(quantiles[i]);
    (0..QUANTILE_NODES - 2).all(|cell| {
        let (b, c, d) = (node(cell), node(cell + 1), node(cell + 2));
        let a = if cell == 0 { 3.0 * (b - c) + d } else { node(cell - 1) };
        [0.25, 0.5, 0.75].into_iter().all(|t| {
            let slopes = c - a + t * (2.0 * a - 5.0 * b + 4.0 * c - d + t * (3.0 * (b - c) + d - a));
            let exact = noise.tail_quantile(0.5 * (-(cell as f64 + t) * QUANTILE_STEP).exp());
            (b + 0.5 * t * slopes - exact).abs() <= 2e-6 * (exact.abs() + half_point)
        })
    })
}

fn tails(noise: &dyn Noise, half_point: f64) -> Vec<f32> {
    let node = |i: usize| {
        let s = i as f64 / TAIL_CELLS as f64;
        if i == TAIL_CELLS { 0.0 } else { noise.tail(half_point * s / (1.0 - s)) as f32 }
    };
    (0..=TAIL_CELLS).map(node).collect()
}

/// Node i: the magnitude that |Z| exceeds with probability e^(−i·step).
fn quantiles(noise: &dyn Noise) -> Vec<f32> {
    let node =
        |i: usize| if i == 0 { 0.0 } else { noise.tail_quantile(0.5 * (-(i as f64) * QUANTILE_STEP).exp()) as f32 };
    (0..QUANTILE_NODES).map(node).collect()
}
