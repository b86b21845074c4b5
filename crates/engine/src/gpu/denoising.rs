//! Denoising on the device.

use crate::{
    EngineError, Task, Unsupported,
    accounting::noise::NoiseSpec,
    mechanism::{
        Denoiser,
        denoise::{Planes, threshold},
    },
};

/// Largest side of a plane that smooth.wgsl has room for.
const LARGEST_SIDE: usize = 28;

/// What kernels do with a noisy sum before the update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Denoising {
    None,
    /// Multiplies by the distance to the noise's distribution.
    Distance,
    /// Multiplies by the share of the square that is not noise.
    Shrunk,
    /// Moves each coordinate towards 0.
    Soft,
    /// Smooths these planes along their pixels.
    Smoothed(Planes),
}

impl Denoising {
    /// Returns the denoising of `task` and the number that its kernels take.
    ///
    /// # Errors
    /// As [`Task::check_denoiser`]; noise out of range; [`Unsupported::SmoothingOnGpu`] and
    /// [`Unsupported::DistanceOnGpu`].
    pub fn of(task: &Task) -> Result<(Self, f64), EngineError> {
        task.check_denoiser()?;
        let d = task.model.parameters();
        let noise = task.noise.as_ref().map(NoiseSpec::build).transpose()?;
        let sigma = noise.map_or(0.0, |noise| noise.standard_deviation());
        Ok(match (task.denoiser, task.model.planes()) {
            (Denoiser::KolmogorovSmirnov, _) => (Self::Distance, 0.0),
            (Denoiser::CramerVonMises | Denoiser::Wasserstein, _) => return Err(Unsupported::DistanceOnGpu.into()),
            (Denoiser::JamesStein, _) => (Self::Shrunk, (d as f64 - 2.0).max(0.0) * sigma * sigma),
            (Denoiser::Linear, _) => (Self::Shrunk, d as f64 * sigma * sigma),
            (Denoiser::SoftThreshold, _) => (Self::Soft, threshold(d, sigma).into()),
            (Denoiser::LaplacianSmoothing { .. }, Some(Planes { side, .. })) if side > LARGEST_SIDE => {
                return Err(Unsupported::SmoothingOnGpu { side, most: LARGEST_SIDE }.into());
            }
            (Denoiser::LaplacianSmoothing { strength }, Some(planes)) => (Self::Smoothed(planes), strength),
            _ => (Self::None, 0.0),
        })
    }

    /// True if the update multiplies the sum by a factor that kernels compute.
    #[must_use]
    pub const fn is_scaled(self) -> bool {
        matches!(self, Self::Distance | Self::Shrunk)
    }
}
