//! One step of Algorithm 1, as in the paper; `tests/engines.rs` compares engines with it.

use super::{
    Denoiser, Encoder, MechanismError,
    correlated::CorrelatedNoise,
    denoise::{self, Denoise, Filter, Planes},
    exact_sum::SumGrid,
    grid::GridSum,
    noise::add_noise,
};
use crate::accounting::{
    noise::{Noise, NoiseSpec},
    rounding::GridRounding,
};

/// Settings that stay the same from step to step.
#[derive(Debug)]
pub struct Algorithm {
    encoder: Encoder,
    noise: Option<Box<dyn Noise>>,
    denoise: Option<Box<dyn Denoise>>,
    filter: Filter,
    /// Divisor of the noisy sum.
    expected_lot: f32,
    /// Grid on which sums are exact and to which noise is rounded.
    grid: Option<GridRounding>,
}

/// The state that a step updates; each vector has length P.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Where gradients are taken, in flat order: θ, or ahead of it ([`Filter::ahead`]).
    pub parameters: Vec<f32>,
    /// Momentum of each parameter, or the memory of a filter over the steps.
    pub momentum: Vec<f32>,
    /// Parameters for inference if different: the average of iterates, or θ behind a look-ahead.
    pub average: Option<Vec<f32>>,
}

impl State {
    /// Returns the initial state, with zero momentum. `apart` keeps separate inference parameters.
    #[must_use]
    pub fn start(parameters: Vec<f32>, apart: bool) -> Self {
        let average = apart.then(|| parameters.clone());
        Self { momentum: vec![0.0; parameters.len()], average, parameters }
    }

    /// Continues from `other`; keeps an average only if `self` has one, from θ of `other` if new.
    pub fn go_on_from(&mut self, other: &Self) {
        let average = self.average.is_some().then(|| other.read_with().to_vec());
        *self = Self { average, ..other.clone() };
    }

    /// Returns the parameters for inference.
    #[must_use]
    pub fn read_with(&self) -> &[f32] {
        self.average.as_ref().unwrap_or(&self.parameters)
    }
}

/// Sums over the lot before division. `raw`, `encoded` and `non_finite` are private data.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Sum of the finite gradients.
    pub raw: Vec<f32>,
    /// Sum of the encoded gradients.
    pub encoded: Vec<f32>,
    /// Sum of the encoded gradients plus noise: the release.
    pub noisy: Vec<f32>,
    /// Denoised noisy sum.
    pub denoised: Vec<f32>,
    /// Number of examples with a non-finite gradient; each contributed zero.
    pub non_finite: u64,
    /// Ratio of `denoised` to `noisy` if the denoiser only scales, else 1.
    pub denoise_factor: f64,
}

/// A running sum over a lot's gradients; each vector has length P. Private data.
#[derive(Clone, Debug)]
pub struct LotSum {
    /// Sum of the unencoded gradients.
    raw: Vec<f64>,
    encoded: Vec<f64>,
    /// Replaces `encoded` if the task has a grid.
    on_grid: Option<GridSum>,
    non_finite: u64,
    /// Buffer for the example being encoded.
    example: Vec<f32>,
}

impl LotSum {
    /// Returns the sum of the encoded gradients at these coordinates.
    ///
    /// # Panics
    /// When a coordinate is not below P.
    #[must_use]
    pub fn encoded_at(&self, coordinates: &[u32]) -> Vec<f64> {
        let value = self.on_grid.as_ref().map(GridSum::value);
        let at = |&coordinate: &u32| match &value {
            Some(value) => f64::from(value[coordinate as usize]),
            None => self.encoded[coordinate as usize],
        };
        coordinates.iter().map(at).collect()
    }
}

impl Algorithm {
    /// Builds Algorithm 1. The noisy sum is divided by `expected_lot` > 0; `momentum` is in [0, 1).
    /// A denoiser that smooths planes needs [`Algorithm::of_pictures`].
    ///
    /// # Errors
    /// As [`Denoiser::check`], and when noise parameters are out of range.
    pub fn new(
        encoder: Encoder,
        noise: Option<&NoiseSpec>,
        denoiser: Denoiser,
        expected_lot: f32,
        momentum: f32,
    ) -> Result<Self, MechanismError> {
        Self::of_pictures(encoder, noise, denoiser, None, expected_lot, momentum)
    }

    /// Like [`Algorithm::new`], for a model whose coordinates in `planes` correspond to pixels.
    ///
    /// # Errors
    /// As [`Algorithm::new`].
    pub fn of_pictures(
        encoder: Encoder,
        noise: Option<&NoiseSpec>,
        denoiser: Denoiser,
        planes: Option<Planes>,
        expected_lot: f32,
        momentum: f32,
    ) -> Result<Self, MechanismError> {
        let denoise = denoise::prepared(denoiser, noise, planes, momentum)?;
        let noise = noise.map(NoiseSpec::build).transpose()?;
        Ok(Self { encoder, noise, denoise, filter: denoiser.filter(momentum), expected_lot, grid: None })
    }

    /// Uses `grid` for sums and noise, if given.
    #[must_use]
    pub fn on_grid(self, grid: Option<GridRounding>) -> Self {
        Self { grid, ..self }
    }

    /// Returns the grid of encoded coordinates, only with noise and without a [`GridSum`].
    fn sum_grid(&self) -> Option<SumGrid> {
        self.encoder.sum_grid().filter(|_| self.noise.is_some() && self.grid.is_none())
    }

    /// Runs one step: gradients → encode → sum → + noise → denoise → momentum → parameters.
    ///
    /// `gradient` writes the loss gradient of an example at the given parameters to a slice of
    /// length P. `noise_key` is a fresh 256-bit key; `average_keeps` (0 to 1) weights the old mean.
    ///
    /// # Panics
    /// When parameters, momentum and Ψ have different lengths.
    pub fn step(
        &self,
        state: &mut State,
        lot: &[u32],
        gradient: impl FnMut(u32, &[f32], &mut [f32]),
        noise_key: &[u32; 8],
        learning_rate: f32,
        average_keeps: f32,
    ) -> Trace {
        let sum = self.sum(&state.parameters, lot, gradient);
        self.release(&sum, state, None, noise_key, learning_rate, average_keeps)
    }

    /// Returns the sum over a lot, as in [`Algorithm::step`].
    ///
    /// # Panics
    /// When Ψ and the parameters have different lengths.
    pub fn sum(&self, parameters: &[f32], lot: &[u32], mut gradient: impl FnMut(u32, &[f32], &mut [f32])) -> LotSum {
        let mut sum = self.empty_sum(parameters.len());
        let mut example_gradient = vec![0.0_f32; parameters.len()];
        for &example in lot {
            gradient(example, parameters, &mut example_gradient);
            self.add(&mut sum, &example_gradient);
        }
        sum
    }

    /// Returns the sum over an empty lot, for gradients of length `p`.
    #[must_use]
    pub fn empty_sum(&self, p: usize) -> LotSum {
        LotSum {
            raw: vec![0.0; p],
            encoded: vec![0.0; p],
            on_grid: self.grid.map(|grid| GridSum::new(grid, p)),
            non_finite: 0,
            example: vec![0.0; p],
        }
    }

    /// Encodes and adds one example's gradient. A non-finite one is counted and adds nothing.
    ///
    /// # Panics
    /// When the length is not the sum's or Ψ's.
    pub fn add(&self, sum: &mut LotSum, gradient: &[f32]) {
        let LotSum { raw, encoded, on_grid, non_finite, example } = sum;
        example.copy_from_slice(gradient);
        if !self.encoder.encode_on(self.sum_grid(), example) {
            *non_finite += 1;
            return;
        }
        // In f64, multiples of the grid's step have exact sums.
        let add = |sum: &mut [f64], terms: &[f32]| sum.iter_mut().zip(terms).for_each(|(s, &t)| *s += f64::from(t));
        add(raw, gradient);
        match on_grid {
            Some(sum) => sum.add(example),
            None => add(encoded, example),
        }
    }

    /// Runs the rest of [`Algorithm::step`]: + noise → denoise → momentum → parameters, and
    /// averaging. `correlated` noise takes its sequence's next step; it is unused on a grid.
    ///
    /// # Panics
    /// When parameters, momentum and sum have different lengths.
    pub fn release(
        &self,
        sum: &LotSum,
        state: &mut State,
        correlated: Option<&mut CorrelatedNoise>,
        noise_key: &[u32; 8],
        learning_rate: f32,
        average_keeps: f32,
    ) -> Trace {
        let LotSum { raw, encoded, on_grid, non_finite, .. } = sum;
        assert_eq!(state.parameters.len(), raw.len(), "one term of the sum for each parameter");
        assert_eq!(state.momentum.len(), raw.len(), "one momentum for each parameter");
        let encoded_sum = on_grid.as_ref().map_or_else(|| to_f32(encoded), GridSum::value);
        let mut noisy = encoded_sum.clone();
        if let Some(noise) = &self.noise {
            match (on_grid, correlated) {
                (Some(sum), _) => sum.release(noise_key, &**noise, &mut noisy),
                (None, None) => add_noise(noise_key, &**noise, encoded, &mut noisy),
                (None, Some(correlated)) => {
                    let mut drawn = vec![0.0; encoded.len()];
                    add_noise(noise_key, &**noise, &vec![0.0; encoded.len()], &mut drawn);
                    correlated.correlate(&mut drawn);
                    add_to(encoded, &drawn, &mut noisy);
                }
            }
        }
        let mut denoised = noisy.clone();
        let denoise_factor = self.denoise.as_ref().map_or(1.0, |denoise| denoise.denoise(&mut denoised));

        let Filter { keeps, takes, ahead, .. } = self.filter;
        let mut moves = denoised.clone();
        self.encoder.restore(&mut moves);
        for (m, g) in state.momentum.iter_mut().zip(&moves) {
            *m = keeps * *m + takes * (g / self.expected_lot);
        }
        match &mut state.average {
            Some(read) if ahead > 0.0 => {
                for ((place, theta), m) in state.parameters.iter_mut().zip(read).zip(&state.momentum) {
                    *theta -= learning_rate * m;
                    *place = *theta - ahead * (learning_rate * m);
                }
            }
            average => {
                for (theta, m) in state.parameters.iter_mut().zip(&state.momentum) {
                    *theta -= learning_rate * m;
                }
                for (mean, theta) in average.iter_mut().flatten().zip(&state.parameters) {
                    *mean = theta + average_keeps * (*mean - theta);
                }
            }
        }
        Trace { raw: to_f32(raw), encoded: encoded_sum, noisy, denoised, non_finite: *non_finite, denoise_factor }
    }
}

/// noisy ← sum + noise, rounded once, so the release depends only on an exact sum and its noise.
pub fn add_to(sum: &[f64], noise: &[f32], noisy: &mut [f32]) {
    for ((noisy, &sum), &noise) in noisy.iter_mut().zip(sum).zip(noise) {
        *noisy = (sum + f64::from(noise)) as f32;
    }
}

fn to_f32(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&v| v as f32).collect()
}
