//! Denoisers transform the noisy sum before it moves the model. They use only releases and public
//! information, so they are post-processing and cost no privacy. Most use one sum ([`Denoise`]);
//! two use the sums of all steps so far ([`Filter`]) as part of the update.

use serde::{Deserialize, Serialize};

use super::error::MechanismError;
use crate::accounting::noise::{Noise, NoiseSpec};

mod distance;
mod filter;
mod shrink;
mod smoothing;

pub use distance::Distance;
pub use filter::Filter;
pub use shrink::{james_stein, linear, soft, threshold};
pub use smoothing::{Hartley, Planes, smooth};

/// Largest strength of [`Denoiser::LaplacianSmoothing`], at which a plane is nearly constant.
pub const MOST_SMOOTHING: f64 = 1000.0;

/// Transformation of the noisy sum y, of d coordinates and noise standard deviation σ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Denoiser {
    /// The noisy sum is used as it is.
    None,
    /// Scales y by the Kolmogorov–Smirnov distance between its values and the noise's distribution
    /// (Nasr, Shokri & Houmansadr 2020).
    KolmogorovSmirnov,
    /// Scales y by the [Cramér–von Mises distance](Distance::CramerVonMises) instead.
    CramerVonMises,
    /// Scales y by the [Wasserstein distance](Distance::Wasserstein) instead.
    Wasserstein,
    /// (I − sL)⁻¹y, L the Laplacian on a torus over each first-layer unit's pixels ([`smooth`];
    /// Wang et al. 2019, DP-LSSGD, which smooths the flat vector). Other layers are unchanged.
    LaplacianSmoothing {
        /// s, above 0 and at most [`MOST_SMOOTHING`].
        strength: f64,
    },
    /// (1 − (d − 2)σ²/‖y‖²)₊·y ([`james_stein`]; James & Stein 1961; Balle & Wang 2018, §4.2).
    JamesStein,
    /// ŵ²/(ŵ² + σ²)·y with ŵ² = (‖y‖²/d − σ²)₊, the best multiple of y for coordinates of mean
    /// square ŵ² ([`linear`]; Balle & Wang 2018).
    Linear,
    /// Moves each coordinate towards 0 by at most σ√(2 ln d) ([`soft`]; Donoho & Johnstone 1994;
    /// Balle & Wang 2018, §4.2).
    SoftThreshold,
    /// A first-order low-pass filter over the steps ([`Filter`]; Zhang et al. 2024, DOPPLER).
    LowPass {
        /// Weight of the filter's last value, in [0, 1).
        keeps: f64,
    },
    /// A simplified Kalman filter over the steps, with gradients taken ahead of the parameters
    /// ([`Filter`]; Zhang et al. 2025, DiSK with γ = (1 − κ)/κ and one gradient per example).
    Kalman {
        /// κ, the weight of the new sum, in (0, 1].
        gain: f64,
    },
}

impl Denoiser {
    /// Checks that the denoiser works with this noise, model planes, momentum and averaging.
    ///
    /// # Errors
    /// [`MechanismError`]'s `DenoiserWithoutNoise`, `DenoiserWithoutVariance`,
    /// `DenoiserWithoutPlanes`, `Smoothing`, `FilterMemory`, `TwoMemories` or `AverageAhead`.
    pub fn check(
        self,
        noise: Option<&dyn Noise>,
        planes: Option<Planes>,
        momentum: f32,
        averaging: bool,
    ) -> Result<(), MechanismError> {
        if averaging && self.filter(momentum).looks_ahead() {
            return Err(MechanismError::AverageAhead);
        }
        let kept = match self {
            Self::LowPass { keeps } => keeps,
            Self::Kalman { gain } => 1.0 - gain,
            _ => 0.0,
        };
        match self {
            Self::LaplacianSmoothing { strength } if !(strength > 0.0 && strength <= MOST_SMOOTHING) => {
                return Err(MechanismError::Smoothing(strength));
            }
            Self::LaplacianSmoothing { .. } if planes.is_none() => return Err(MechanismError::DenoiserWithoutPlanes),
            Self::LowPass { .. } | Self::Kalman { .. } if !(0.0..1.0).contains(&kept) => {
                return Err(MechanismError::FilterMemory(kept));
            }
            Self::LowPass { .. } | Self::Kalman { .. } if momentum != 0.0 => return Err(MechanismError::TwoMemories),
            // The others do not use the noise, and work without it.
            _ if !self.needs_noise() => return Ok(()),
            _ => {}
        }
        let Some(noise) = noise else { return Err(MechanismError::DenoiserWithoutNoise) };
        if self.distance().is_some() || noise.standard_deviation().is_finite() {
            Ok(())
        } else {
            Err(MechanismError::DenoiserWithoutVariance)
        }
    }

    /// The distance to the noise's distribution that it scales the sum by, if any.
    #[must_use]
    pub const fn distance(self) -> Option<Distance> {
        match self {
            Self::KolmogorovSmirnov => Some(Distance::KolmogorovSmirnov),
            Self::CramerVonMises => Some(Distance::CramerVonMises),
            Self::Wasserstein => Some(Distance::Wasserstein),
            _ => None,
        }
    }

    /// True if it scales the sum by a computed factor.
    #[must_use]
    pub const fn is_factor(self) -> bool {
        matches!(self, Self::JamesStein | Self::Linear) || self.distance().is_some()
    }

    /// True if it uses the noise's distribution or standard deviation.
    #[must_use]
    pub const fn needs_noise(self) -> bool {
        matches!(self, Self::SoftThreshold) || self.is_factor()
    }

    /// Returns the update filter of a run with this momentum.
    #[must_use]
    pub fn filter(self, momentum: f32) -> Filter {
        match self {
            Self::LowPass { keeps } => Filter::low_pass(keeps),
            Self::Kalman { gain } => Filter::kalman(gain),
            _ => Filter::momentum(momentum),
        }
    }
}

/// A single-sum denoiser prepared for a run.
pub trait Denoise: core::fmt::Debug + Send + Sync {
    /// Denoises `sum` in place. Returns the factor if it only scales the sum, else 1.
    fn denoise(&self, sum: &mut [f32]) -> f64;
}

/// Prepares `denoiser`; `None` if it leaves the sum unchanged.
///
/// # Errors
/// As [`Denoiser::check`], and when noise parameters are out of range.
pub fn prepared(
    denoiser: Denoiser,
    noise: Option<&NoiseSpec>,
    planes: Option<Planes>,
    momentum: f32,
) -> Result<Option<Box<dyn Denoise>>, MechanismError> {
    let noise = noise.map(NoiseSpec::build).transpose()?;
    denoiser.check(noise.as_deref(), planes, momentum, false)?;
    Ok(match (denoiser, noise, planes) {
        (_, Some(noise), _) if let Some(distance) = denoiser.distance() => {
            Some(Box::new(Scaled::Distance(distance, noise)))
        }
        (Denoiser::JamesStein, Some(noise), _) => Some(Box::new(Scaled::JamesStein(noise.standard_deviation()))),
        (Denoiser::Linear, Some(noise), _) => Some(Box::new(Scaled::Linear(noise.standard_deviation()))),
        (Denoiser::SoftThreshold, Some(noise), _) => Some(Box::new(Thresholded(noise.standard_deviation()))),
        (Denoiser::LaplacianSmoothing { strength }, _, Some(planes)) => {
            Some(Box::new(Smoothed { strength, planes, hartley: Hartley::new(planes.side) }))
        }
        _ => None,
    })
}

/// Scaling by a factor computed from the sum and the noise or its standard deviation.
#[derive(Debug)]
enum Scaled {
    Distance(Distance, Box<dyn Noise>),
    JamesStein(f64),
    Linear(f64),
}

impl Denoise for Scaled {
    fn denoise(&self, sum: &mut [f32]) -> f64 {
        let factor = match self {
            Self::Distance(distance, noise) => distance.of(sum, |x| noise.cdf(x)),
            Self::JamesStein(sigma) => james_stein(sum, *sigma),
            Self::Linear(sigma) => linear(sum, *sigma),
        };
        // A factor of 0 gives zeros even for a non-finite sum.
        let scaled = |value: f32| if factor == 0.0 { 0.0 } else { (factor * f64::from(value)) as f32 };
        sum.iter_mut().for_each(|value| *value = scaled(*value));
        factor
    }
}

/// Soft thresholding, with the noise's standard deviation.
#[derive(Debug)]
struct Thresholded(f64);

impl Denoise for Thresholded {
    fn denoise(&self, sum: &mut [f32]) -> f64 {
        let most = threshold(sum.len(), self.0);
        sum.iter_mut().for_each(|value| *value = soft(*value, most));
        1.0
    }
}

#[derive(Debug)]
struct Smoothed {
    strength: f64,
    planes: Planes,
    hartley: Hartley,
}

impl Denoise for Smoothed {
    fn denoise(&self, sum: &mut [f32]) -> f64 {
        for plane in sum[self.planes.range()].chunks_exact_mut(self.planes.area()) {
            smooth(&self.hartley, self.strength, plane);
        }
        1.0
    }
}
