//! DP-SGD (Abadi et al. 2016): clipped gradients of a Poisson-sampled batch, summed with Gaussian
//! noise. Neighbours differ by one example, added or removed.

use super::{
    Accountant,
    calibrate::{Method, Target, noise_scale},
    error::PrivacyError,
    ledger::{Release, Sensitivity},
    noise::NoiseSpec,
    rdp::Orders,
    sampling::Sampling,
};

/// One step: `noise_multiplier` is the noise's standard deviation over the clipping norm (1e-100 to
/// 1e100), `sampling_rate` the probability q in [0, 1] with which each example joins the batch.
/// Neither is checked here; [`Accountant::compose`] checks both.
#[must_use]
pub fn step(noise_multiplier: f64, sampling_rate: f64) -> Release {
    Release::new(
        Sampling::Poisson { rate: sampling_rate },
        Sensitivity::L2 { norm: 1.0 },
        Some(NoiseSpec::Gaussian { sigma: noise_multiplier }),
    )
}

/// Upper bound on ε, in nats, of `steps` steps at `delta`, by tight accounting; rounded up.
///
/// ```
/// let epsilon = hushgrad_accounting::dp_sgd::epsilon(1.1, 256.0 / 60_000.0, 3515, 1e-5)?;
/// assert_eq!(format!("{epsilon:.3}"), "1.134");
/// # Ok::<(), hushgrad_accounting::PrivacyError>(())
/// ```
///
/// # Errors
/// As [`Accountant::compose`] and [`Accountant::epsilon`].
pub fn epsilon(noise_multiplier: f64, sampling_rate: f64, steps: u64, delta: f64) -> Result<f64, PrivacyError> {
    let run = Accountant::new().compose(step(noise_multiplier, sampling_rate), steps)?;
    Ok(run.epsilon(delta)?.epsilon)
}

/// The smallest noise multiplier for which `steps` steps cost at most `epsilon` at `delta`, by
/// tight accounting; rounded up.
///
/// ```
/// use hushgrad_accounting::dp_sgd;
///
/// let (rate, steps) = (256.0 / 60_000.0, 3515);
/// let noise_multiplier = dp_sgd::noise_multiplier(1.0, rate, steps, 1e-5)?;
/// assert_eq!(format!("{noise_multiplier:.2}"), "1.19");
/// assert!(dp_sgd::epsilon(noise_multiplier, rate, steps, 1e-5)? <= 1.0);
/// # Ok::<(), hushgrad_accounting::PrivacyError>(())
/// ```
///
/// # Errors
/// As [`noise_scale`].
pub fn noise_multiplier(epsilon: f64, sampling_rate: f64, steps: u64, delta: f64) -> Result<f64, PrivacyError> {
    let target = Target { epsilon, delta, method: Method::Tight, orders: Orders::All };
    Ok(noise_scale(&step(1.0, sampling_rate), steps, &target)?.value)
}
