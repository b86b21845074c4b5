//! What an engine computes, and settings of its speed and memory.

use std::sync::Arc;

use hushgrad_message::word;
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
        layers::{LayerClip, Layers},
    },
    model::Architecture,
};

/// Algorithm 1 as an engine runs it: the part of the plan that concerns tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub model: Architecture,
    pub encoder: EncoderSpec,
    /// Ψ, if the encoder is an envelope: the vectors that are accounted for.
    pub envelope: Option<Arc<Envelope>>,
    pub noise: Option<NoiseSpec>,
    /// Grid of exact sums and rounded noise ([`crate::mechanism::grid`]); needs 64 bits, so CPU
    /// only.
    pub grid: Option<GridRounding>,
    /// Steps over which noise is correlated, b ≥ 1 ([`crate::mechanism::correlated`]); 1:
    /// independent.
    pub bands: u32,
    pub denoiser: Denoiser,
    /// Divisor of the sum: the *expected* lot, as the drawn size is private.
    pub expected_lot: f32,
    pub momentum: f32,
    /// Whether images are read with a mean of the parameter iterates; not combined with a denoiser
    /// that looks ahead.
    pub averaging: bool,
    /// Copies of each example over which its gradient is averaged, at least one.
    pub copies: u32,
    /// Which examples share one bounded vector. A lot then consists of units.
    pub sharing: Sharing,
    /// How a unit computes its vector.
    pub local: LocalSteps,
    /// What a step releases besides the noisy sum.
    pub counting: Counting,
    /// Canaries of an audit, which a step may draw besides its lot.
    pub canaries: Option<Arc<Canaries>>,
}

/// How a unit of several examples ([`Sharing`]) computes its vector before clipping: with θ₀ = θ
/// and θₑ₊₁ = θₑ − η·ḡ(θₑ), ḡ the mean gradient of its examples, it is θ − θ_E, the sum of what its
/// steps subtract. A unit without examples adds nothing. One step of rate 1 gives the mean gradient
/// (a micro-batch; FedSGD), more give federated averaging (McMahan, Ramage, Talwar & Zhang 2018).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LocalSteps {
    /// Number of steps E, at least 1.
    pub steps: u32,
    /// Learning rate η.
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
    /// A task with plain gradient sums, no bound and no noise: for public digits and for
    /// evaluation.
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

    /// Checks that an engine made for this task can continue with `next`: only noise (also of the
    /// counts), clipping norm, expected lot and the grid's step may differ. Envelopes must be
    /// equal.
    ///
    /// # Errors
    /// [`Unsupported::OtherTask`].
    pub fn check_next(&self, next: &Self) -> Result<(), Unsupported> {
        let same_bound = match (&self.encoder, &next.encoder) {
            (EncoderSpec::Clip { .. }, EncoderSpec::Clip { .. }) => true,
            (EncoderSpec::Layers(own), EncoderSpec::Layers(other)) => {
                LayerClip { norms: vec![], ..own.clone() } == LayerClip { norms: vec![], ..other.clone() }
            }
            (own, other) => own == other,
        };
        let same_envelope = match (&self.envelope, &next.envelope) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other) || own == other,
            (own, other) => own.is_none() && other.is_none(),
        };
        let both = self.noise.is_some() == next.noise.is_some() && self.grid.is_some() == next.grid.is_some();
        let counted = |task: &Self| [task.counting.within, task.counting.answers].map(|noise| noise.is_some());
        // Fields that may differ are compared above.
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

    /// Returns the task with another clipping norm and proportionally scaled noise.
    #[must_use]
    pub fn with_clip(&self, clip: f64) -> Self {
        let mut task = self.clone();
        if let EncoderSpec::Clip { norm } = &mut task.encoder {
            let factor = clip / std::mem::replace(norm, clip);
            task.noise = task.noise.map(|noise| noise.with_scale(noise.scale() * factor));
        }
        task
    }

    /// True if `norm` is within the clipping norm.
    #[must_use]
    pub fn is_within(&self, norm: f64) -> bool {
        matches!(self.encoder, EncoderSpec::Clip { norm: clip } if norm <= clip)
    }

    /// Builds the encoder for gradients of length `p`, with the task's own Ψ.
    ///
    /// # Errors
    /// If the encoder is refused, or Ψ's vectors are not of length `p`.
    pub fn prepared_encoder(&self, p: usize) -> Result<Encoder, MechanismError> {
        match &self.envelope {
            _ if matches!(self.encoder, EncoderSpec::Layers(_)) => {
                Ok(self.layers()?.map_or(Encoder::None, Encoder::Layers))
            }
            Some(envelope) => Encoder::with_envelope(&self.encoder, Arc::clone(envelope), p),
            None => Encoder::new(&self.encoder, p),
        }
    }

    /// Returns how layers are clipped, if each has its own clip.
    ///
    /// # Errors
    /// As [`Layers::new`].
    pub fn layers(&self) -> Result<Option<Layers>, MechanismError> {
        let EncoderSpec::Layers(clip) = &self.encoder else { return Ok(None) };
        Layers::new(clip, &self.model.lengths()).map(Some)
    }

    /// Builds Algorithm 1 for gradients of length `p`.
    ///
    /// # Errors
    /// If encoder, noise or denoiser is refused, or Ψ's vectors are not of length `p`.
    pub fn algorithm(&self, p: usize) -> Result<Algorithm, MechanismError> {
        self.check_denoiser()?;
        let encoder = self.prepared_encoder(p)?;
        let (noise, planes) = (self.noise.as_ref(), self.model.planes());
        let algorithm =
            Algorithm::of_pictures(encoder, noise, self.denoiser, planes, self.expected_lot, self.momentum)?;
        Ok(algorithm.on_grid(self.grid))
    }

    /// Checks that denoiser, noise, model, momentum and averaging are compatible.
    ///
    /// # Errors
    /// As [`Denoiser::check`]; also noise out of range.
    pub fn check_denoiser(&self) -> Result<(), MechanismError> {
        let noise = self.noise.as_ref().map(NoiseSpec::build).transpose()?;
        self.denoiser.check(noise.as_deref(), self.model.planes(), self.momentum, self.averaging)
    }

    /// Returns the correlation of noise for gradients of length `p`; `None` if noise is
    /// independent.
    ///
    /// # Errors
    /// [`MechanismError::Bands`]; [`MechanismError::Correlated`] if other settings exclude it.
    pub fn correlation(&self, p: usize) -> Result<Option<Correlation>, MechanismError> {
        let correlation = Correlation::new(self.bands, p)?;
        let refuse = |sentence| Err(MechanismError::Correlated(sentence));
        match &self.noise {
            _ if correlation.is_none() => Ok(None),
            Some(NoiseSpec::Gaussian { .. }) if self.grid.is_some() => refuse(word!("cannot be rounded to a grid")),
            Some(NoiseSpec::Gaussian { .. }) if self.denoiser.needs_noise() => {
                refuse(word!("spreads differently at each step, but the denoiser expects one spread"))
            }
            Some(NoiseSpec::Gaussian { .. }) if self.encoder.clips() => Ok(correlation),
            Some(NoiseSpec::Gaussian { .. }) => refuse(word!("needs clipped gradients")),
            _ => refuse(word!("must be Gaussian")),
        }
    }

    /// Returns correlated noise at the start of a sequence.
    ///
    /// # Errors
    /// As [`Task::correlation`].
    pub fn correlated_noise(&self, p: usize) -> Result<Option<CorrelatedNoise>, MechanismError> {
        Ok(self.correlation(p)?.map(|correlation| CorrelatedNoise::new(correlation, p)))
    }

    /// Returns the noise of the step that turned `encoded` into `noisy`. Correlated noise has a
    /// different scale in each step, which is then estimated from the difference.
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

    /// Returns the filter that the update applies over the steps.
    #[must_use]
    pub fn filter(&self) -> Filter {
        self.denoiser.filter(self.momentum)
    }

    /// True if images are read with other parameters than gradients are taken at.
    #[must_use]
    pub fn reads_apart(&self) -> bool {
        self.averaging || self.filter().looks_ahead()
    }

    /// Returns the grid to which encoded coordinates are rounded for exact sums: for tasks with
    /// noise and a bound, unless `grid` is set.
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

/// Settings that change speed and memory, never the distribution of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Performance {
    /// Examples whose gradients are in memory at a time; `None`: the engine's choice.
    pub chunk: Option<u32>,
    /// CPU threads (native only); `None`: all.
    pub threads: Option<u32>,
}
