//! What an engine is asked to compute, and how fast.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::Unsupported;
use crate::{
    accounting::{noise::NoiseSpec, rounding::GridRounding},
    data::sharing::Sharing,
    mechanism::{
        Algorithm, Denoiser, Encoder, EncoderSpec, MechanismError,
        canaries::Canaries,
        correlated::{CorrelatedNoise, Correlation},
        counts::Counting,
        denoise::Filter,
        envelope::Envelope,
        exact_sum::SumGrid,
        layers::Layers,
    },
    model::Architecture,
};

/// Algorithm 1 as an engine runs it: the part of the plan that tensors need.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub model: Architecture,
    pub encoder: EncoderSpec,
    /// Ψ, where the encoder is an envelope: the very vectors that are accounted for.
    pub envelope: Option<Arc<Envelope>>,
    pub noise: Option<NoiseSpec>,
    /// Sums are exact on this grid and noise is rounded to it, as [`crate::mechanism::grid`] does; the CPU alone has the numbers for it.
    pub grid: Option<GridRounding>,
    /// Steps over which noise is correlated, b, at least 1: [`crate::mechanism::correlated`]. At 1 each step's noise is its own.
    pub bands: u32,
    pub denoiser: Denoiser,
    /// The sum is divided by this (the *expected* lot: the drawn size is private).
    pub expected_lot: f32,
    pub momentum: f32,
    /// Whether a mean of the parameters' iterates is kept, and images are read with it; not beside a denoiser that looks ahead.
    pub averaging: bool,
    /// Copies of each example that its gradient is the mean of, at least one.
    pub copies: u32,
    /// Which examples share one bounded vector. A lot is then of their units.
    pub sharing: Sharing,
    /// How such a vector is made.
    pub local: LocalSteps,
    /// What a step releases beside the noisy sum.
    pub counting: Counting,
    /// Records of an audit, which a step may draw beside its lot.
    pub canaries: Option<Arc<Canaries>>,
}

/// What a unit of several examples ([`Sharing`]) makes of the parameters θ by itself before it is bounded: with θ₀ = θ and θₑ₊₁ = θₑ − η·ḡ(θₑ), ḡ the mean of its examples' gradients,
/// its vector is θ − θ_E, the sum of what its steps subtract. A unit without an example adds nothing. One step of rate 1 is the mean gradient (a micro-batch; FedSGD), more are
/// federated averaging (McMahan, Ramage, Talwar & Zhang 2018).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LocalSteps {
    /// E, at least 1.
    pub steps: u32,
    /// η.
    pub rate: f64,
}

impl Default for LocalSteps {
    fn default() -> Self {
        Self::MEAN
    }
}

impl LocalSteps {
    /// The mean gradient.
    pub const MEAN: Self = Self { steps: 1, rate: 1.0 };
}

impl Task {
    /// Nothing bounded, no noise, sums of gradients as they are: for public digits, and for reading alone.
    #[must_use]
    pub const fn without_privacy(model: Architecture) -> Self {
        Self {
            model,
            encoder: EncoderSpec::None,
            envelope: None,
            noise: None,
            grid: None,
            bands: 1,
            denoiser: Denoiser::None,
            expected_lot: 1.0,
            momentum: 0.0,
            averaging: false,
            copies: 1,
            sharing: Sharing::Alone,
            local: LocalSteps::MEAN,
            counting: Counting { within: None, answers: None },
            canaries: None,
        }
    }

    /// Whether an engine that was made for this task can go on with `next`: noise (of the counts, too), clipping norm, expected lot and the grid's step may be others, and nothing
    /// else. Where there is an envelope it must be the same one.
    ///
    /// # Errors
    /// [`Unsupported::OtherTask`].
    pub fn check_next(&self, next: &Self) -> Result<(), Unsupported> {
        let same_bound = match (&self.encoder, &next.encoder) {
            (EncoderSpec::Clip { .. }, EncoderSpec::Clip { .. }) => true,
            (EncoderSpec::Layers(own), EncoderSpec::Layers(other)) => {
                (own.clipping, own.strategy) == (other.clipping, other.strategy)
            }
            (own, other) => own == other,
        };
        let same_envelope = match (&self.envelope, &next.envelope) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other) || own == other,
            (own, other) => own.is_none() && other.is_none(),
        };
        let both = self.noise.is_some() == next.noise.is_some() && self.grid.is_some() == next.grid.is_some();
        let counted = |task: &Self| [task.counting.within, task.counting.answers].map(|noise| noise.is_some());
        // What may be another is compared above.
        let rest = |task: &Self| {
            let Self { encoder, noise, grid, expected_lot, counting, .. } = self.clone();
            Self { encoder, envelope: None, noise, grid, expected_lot, counting, ..task.clone() }
        };
        if same_bound && same_envelope && both && counted(self) == counted(next) && rest(self) == rest(next) {
            Ok(())
        } else {
            Err(Unsupported::OtherTask)
        }
    }

    /// The same with another clip, and its noise with it.
    #[must_use]
    pub fn with_clip(&self, clip: f64) -> Self {
        let mut task = self.clone();
        if let EncoderSpec::Clip { norm } = &mut task.encoder {
            let factor = clip / std::mem::replace(norm, clip);
            task.noise = task.noise.map(|noise| noise.with_scale(noise.scale() * factor));
        }
        task
    }

    /// Whether a gradient of this norm is within the clip.
    #[must_use]
    pub fn is_within(&self, norm: f64) -> bool {
        matches!(self.encoder, EncoderSpec::Clip { norm: clip } if norm <= clip)
    }

    /// Its encoder, for gradients of length `p`, with the task's own Ψ.
    ///
    /// # Errors
    /// When the encoder is refused, or Ψ's vectors are not of length `p`.
    pub fn prepared_encoder(&self, p: usize) -> Result<Encoder, MechanismError> {
        match &self.envelope {
            _ if matches!(self.encoder, EncoderSpec::Layers(_)) => {
                Ok(self.layers()?.map_or(Encoder::None, Encoder::Layers))
            }
            Some(envelope) => Encoder::with_envelope(&self.encoder, Arc::clone(envelope), p),
            None => Encoder::new(&self.encoder, p),
        }
    }

    /// How layers are clipped, where each is.
    ///
    /// # Errors
    /// As [`Layers::new`].
    pub fn layers(&self) -> Result<Option<Layers>, MechanismError> {
        let EncoderSpec::Layers(clip) = &self.encoder else { return Ok(None) };
        Layers::new(clip, &self.model.lengths()).map(Some)
    }

    /// Algorithm 1 of this task, over gradients of length `p`.
    ///
    /// # Errors
    /// When encoder, noise or denoiser is refused, or Ψ's vectors are not of length `p`.
    pub fn algorithm(&self, p: usize) -> Result<Algorithm, MechanismError> {
        self.check_denoiser()?;
        let encoder = self.prepared_encoder(p)?;
        let (noise, planes) = (self.noise.as_ref(), self.model.planes());
        let algorithm =
            Algorithm::of_pictures(encoder, noise, self.denoiser, planes, self.expected_lot, self.momentum)?;
        Ok(algorithm.on_grid(self.grid))
    }

    /// Whether denoiser, noise, model and the memories of the update go together.
    ///
    /// # Errors
    /// As [`Denoiser::check`]; also noise out of range.
    pub fn check_denoiser(&self) -> Result<(), MechanismError> {
        let noise = self.noise.as_ref().map(NoiseSpec::build).transpose()?;
        self.denoiser.check(noise.as_deref(), self.model.planes(), self.momentum, self.averaging)
    }

    /// How noise is correlated over gradients of length `p`; `None` where each step's is its own.
    ///
    /// # Errors
    /// [`MechanismError::Bands`]; [`MechanismError::Correlated`] for what correlated noise does not go with.
    pub fn correlation(&self, p: usize) -> Result<Option<Correlation>, MechanismError> {
        let correlation = Correlation::new(self.bands, p)?;
        let refuse = |sentence| Err(MechanismError::Correlated(sentence));
        match &self.noise {
            _ if correlation.is_none() => Ok(None),
            Some(NoiseSpec::Gaussian { .. }) if self.grid.is_some() => refuse("is not rounded to a grid"),
            Some(NoiseSpec::Gaussian { .. }) if self.denoiser.needs_noise() => {
                refuse("has another spread at each step, and the denoiser takes it for one")
            }
            Some(NoiseSpec::Gaussian { .. }) if self.encoder.clips() => Ok(correlation),
            Some(NoiseSpec::Gaussian { .. }) => refuse("is for gradients that are clipped"),
            _ => refuse("is Gaussian"),
        }
    }

    /// A sequence of correlated noise at its beginning.
    ///
    /// # Errors
    /// As [`Task::correlation`].
    pub fn correlated_noise(&self, p: usize) -> Result<Option<CorrelatedNoise>, MechanismError> {
        Ok(self.correlation(p)?.map(|correlation| CorrelatedNoise::new(correlation, p)))
    }

    /// The noise of a step that made this noisy sum of that encoded one: where it is correlated, it has another spread at each step, and the step's own is taken.
    #[must_use]
    pub fn noise_of(&self, noisy: &[f32], encoded: &[f32]) -> Option<NoiseSpec> {
        let noise = self.noise.clone()?;
        if self.bands <= 1 {
            return Some(noise);
        }
        let apart = noisy.iter().zip(encoded).map(|(noisy, sum)| f64::from(noisy - sum).powi(2));
        let spread = (apart.sum::<f64>() / noisy.len().max(1) as f64).sqrt();
        Some(if spread > 0.0 { noise.with_scale(spread) } else { noise })
    }

    /// What the update keeps of earlier steps.
    #[must_use]
    pub fn filter(&self) -> Filter {
        self.denoiser.filter(self.momentum)
    }

    /// Whether images are read with other parameters than gradients are taken at.
    #[must_use]
    pub fn reads_apart(&self) -> bool {
        self.averaging || self.filter().looks_ahead()
    }

    /// The grid that encoded coordinates are rounded to, so that their sums are exact: where noise and a bound make a guarantee, and no
    /// `grid` does.
    #[must_use]
    pub fn sum_grid(&self) -> Option<SumGrid> {
        if self.noise.is_none() || self.grid.is_some() {
            return None;
        }
        match (&self.encoder, &self.envelope) {
            (EncoderSpec::Clip { norm }, _) => Some(SumGrid::of(*norm)),
            (EncoderSpec::Layers(_), _) => Some(Layers::sum_grid()),
            (EncoderSpec::Envelope { .. }, Some(envelope)) => Some(SumGrid::of(envelope.largest().into())),
            _ => None,
        }
    }
}

/// Flags that change speed and memory, never the result's distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Performance {
    /// Examples whose gradients are in memory at a time; `None`: the engine's choice.
    pub chunk: Option<u32>,
    /// CPU threads (native only); `None`: all.
    pub threads: Option<u32>,
}
