//! Recovers an image from one gradient of a perceptron: exactly without noise, less well with it.
//!
//! Each row of the first layer's gradient is the image times a number, which is the bias's
//! gradient. So without noise the image is a quotient, whether the gradient was clipped or not
//! (Geiping, Bauermeister, Dröge & Moeller 2020, proposition 3.1, from Phong et al. 2018). Under
//! noise all rows are combined: the direction that they most share is the first singular vector of
//! the layer's gradient. It is lost about where the noise's own largest singular value reaches the
//! gradient's: σ·(784·units)^¼ = 1, in multiples of the clipping norm.
//!
//! That is long before anything is private. At σ = 0.1 there is no picture, yet a step costs ε =
//! 92: an attacker with a few candidate images still knows which it was ([`game`](super::game)).

use hushgrad_message::word;
use serde::{Deserialize, Serialize};

use super::{error::AttackError, perceptron::Perceptron, singular::first_right};
use crate::{
    accounting::{
        PrivacyError,
        books::Books,
        ledger::{Ledger, Release, Sensitivity},
        noise::NoiseSpec,
        sampling::Sampling,
    },
    mechanism::{Encoder, EncoderSpec, noise::add_noise},
    model::{CLASSES, PIXELS},
};

/// Units of the most revealing perceptron: few, but enough for the loss to reach them all.
pub const UNITS: u32 = 32;
/// The most units: those of the perceptron that is trained here.
pub const MOST_UNITS: u32 = 128;

/// One image's gradient, not yet clipped to norm 1 or released.
#[derive(Clone, Debug)]
pub struct OneGradient {
    units: u32,
    image: Vec<f64>,
    /// Flat, before it is clipped.
    gradient: Vec<f32>,
}

/// What a step with this image alone released, as an attacker reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    units: usize,
    /// The first layer's noisy sum over the clipping norm: weights by unit, then biases.
    layer: Vec<f64>,
}

/// An image recovered from a gradient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Recovered {
    /// 784 numbers along the image, as far as it was found; the norm depends on the method.
    pub direction: Vec<f64>,
    /// Cosine between it and the true image, in [−1, 1].
    pub cosine: f64,
}

/// What one noisy step reveals of one image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Inverted {
    /// By the quotient of the unit with the largest bias.
    pub by_quotient: Recovered,
    /// By the first singular vector.
    pub by_singular_vector: Recovered,
    /// The second's cosine expected from random matrices; `None` for non-Gaussian noise.
    pub expected: Option<f64>,
    /// ε of this one step at `delta`, by tight accounting, from above; infinite without noise, and
    /// for noise without a price under a clipping norm.
    pub epsilon: f64,
    /// The δ of `epsilon`.
    pub delta: f64,
}

/// Returns the noise at which the singular vector of `units` is lost: on each coordinate, in
/// multiples of the clipping norm. Takes the norm of the clipped layer's gradient as 1.
#[must_use]
pub fn collapse(units: u32) -> f64 {
    (PIXELS as f64 * f64::from(units)).powf(-0.25)
}

impl OneGradient {
    /// Computes the gradient of an `image` of 784 pixels in [0, 1] with its `label`, for a
    /// perceptron of `units` that starts from the public `seed`.
    ///
    /// # Errors
    /// [`AttackError::Pixels`], [`AttackError::Blank`], [`AttackError::Label`], and
    /// [`AttackError::OutOfRange`] for fewer than 2 units or more than [`MOST_UNITS`].
    pub fn new(image: &[f32], label: u8, units: u32, seed: u64) -> Result<Self, AttackError> {
        let usable = image.iter().filter(|pixel| (0.0..=1.0).contains(*pixel)).count();
        if usable != PIXELS || image.len() != PIXELS {
            return Err(AttackError::Pixels { found: usable, expected: PIXELS });
        }
        if image.iter().all(|pixel| *pixel == 0.0) {
            return Err(AttackError::Blank);
        }
        if usize::from(label) >= CLASSES {
            return Err(AttackError::Label(label));
        }
        if !(2..=MOST_UNITS).contains(&units) {
            return Err(AttackError::OutOfRange {
                field: word!("the number of units"),
                value: units.into(),
                range: word!("from 2 to 128"),
            });
        }
        let perceptron = Perceptron::new(units as usize);
        let gradient = perceptron.gradient(&perceptron.initial(seed), image, label);
        Ok(Self { units, image: image.iter().map(|&pixel| pixel.into()).collect(), gradient })
    }

    /// Releases it in a step of its own and recovers the image. The noise's scale is in multiples
    /// of the clipping norm; engines draw it by a ChaCha20 `key` used once. `None`: no noise.
    ///
    /// # Errors
    /// An invalid noise; [`AttackError::Gradient`] if noise leaves no finite number.
    pub fn invert(&self, noise: Option<&NoiseSpec>, key: &[u32; 8], delta: f64) -> Result<Inverted, AttackError> {
        let released = self.release(noise, key)?;
        let expected = match noise {
            None => Some(1.0),
            Some(NoiseSpec::Gaussian { sigma }) => Some(self.expected(*sigma)?),
            Some(_) => None,
        };
        let recovered = |direction: Vec<f64>| Recovered { cosine: cosine(&direction, &self.image), direction };
        Ok(Inverted {
            by_quotient: recovered(released.by_quotient()?),
            by_singular_vector: recovered(released.by_singular_vector()?),
            expected,
            epsilon: noise.map_or(Ok(f64::INFINITY), |noise| epsilon(noise, delta))?,
            delta,
        })
    }

    /// Returns what a step with it alone releases, clipped to norm 1.
    ///
    /// # Errors
    /// As [`OneGradient::invert`].
    pub fn release(&self, noise: Option<&NoiseSpec>, key: &[u32; 8]) -> Result<Released, AttackError> {
        let noise = noise.map(NoiseSpec::build).transpose()?;
        let encoded = self.encoded(noise.is_some())?;
        let first = Perceptron::new(self.units as usize).first().biases().end;
        let layer = match noise {
            None => encoded,
            Some(noise) => {
                let mut noisy = vec![0.0_f32; encoded.len()];
                add_noise(key, &*noise, &encoded, &mut noisy);
                noisy.into_iter().map(f64::from).collect()
            }
        };
        Ok(Released { units: self.units as usize, layer: layer[..first].to_vec() })
    }

    /// Clips to norm 1 and, before noise, rounds to the grid on which engines sum.
    fn encoded(&self, on_grid: bool) -> Result<Vec<f64>, AttackError> {
        let encoder = Encoder::new(&EncoderSpec::Clip { norm: 1.0 }, self.gradient.len())?;
        let mut encoded = self.gradient.clone();
        if !encoder.encode_on(encoder.sum_grid().filter(|_| on_grid), &mut encoded) {
            return Err(AttackError::Gradient { what: word!("this image") });
        }
        Ok(encoded.into_iter().map(f64::from).collect())
    }

    /// Returns the expected cosine of the singular vector at Gaussian noise `sigma`, in multiples
    /// of the clipping norm: for a large p × n matrix s·uvᵀ + σZ, cos² = (θ⁴ − pn)/(θ²(θ² + p))
    /// with θ = s/σ where θ⁴ > pn, else 0 (Benaych-Georges & Nadakuditi 2012, section 3.1).
    ///
    /// # Errors
    /// [`AttackError::Gradient`].
    pub fn expected(&self, sigma: f64) -> Result<f64, AttackError> {
        let weights = Perceptron::new(self.units as usize).first().weights();
        let square = self.encoded(false)?[weights].iter().map(|x| x * x).sum::<f64>();
        let (p, n, strength) = (PIXELS as f64, f64::from(self.units), square / (sigma * sigma));
        let above = strength * strength - p * n;
        if above.is_nan() || above <= 0.0 {
            return Ok(0.0);
        }
        // One minus what is missing, which is nothing for infinite θ.
        Ok((1.0 - (p * strength + p * n) / (strength * (strength + p))).max(0.0).sqrt())
    }
}

impl Released {
    fn weights(&self, unit: usize) -> &[f64] {
        &self.layer[unit * PIXELS..(unit + 1) * PIXELS]
    }

    /// Returns x = G_k/g_k of the unit k with the largest bias gradient g_k: exact without noise.
    ///
    /// # Errors
    /// [`AttackError::Gradient`] if all biases are zero, or the quotient is not finite.
    pub fn by_quotient(&self) -> Result<Vec<f64>, AttackError> {
        let biases = &self.layer[self.units * PIXELS..];
        let best = (0..self.units).max_by(|&a, &b| biases[a].abs().total_cmp(&biases[b].abs()));
        let quotient: Option<Vec<f64>> =
            best.map(|unit| self.weights(unit).iter().map(|weight| weight / biases[unit]).collect());
        let finite = |pixels: &Vec<f64>| pixels.iter().all(|pixel| pixel.is_finite());
        quotient.filter(finite).ok_or(AttackError::Gradient { what: word!("the first layer's biases") })
    }

    /// Returns the direction that all units' gradients most share, of norm 1 and with more ink than
    /// its opposite: an image has no negative pixels.
    ///
    /// # Errors
    /// [`AttackError::Gradient`] if all is zero, or not finite.
    pub fn by_singular_vector(&self) -> Result<Vec<f64>, AttackError> {
        let rows: Vec<&[f64]> = (0..self.units).map(|unit| self.weights(unit)).collect();
        let mut found = first_right(&rows).ok_or(AttackError::Gradient { what: word!("the first layer's weights") })?;
        if found.iter().sum::<f64>() < 0.0 {
            found.iter_mut().for_each(|pixel| *pixel = -*pixel);
        }
        Ok(found)
    }
}

impl Recovered {
    /// Returns the picture: 784 pixels in [0, 1], the darkest 1, negative ones 0.
    #[must_use]
    pub fn picture(&self) -> Vec<f32> {
        let darkest = self.direction.iter().copied().fold(0.0, f64::max);
        // Without a positive number there is no ink at all.
        let scale = if darkest > 0.0 { darkest } else { 1.0 };
        self.direction.iter().map(|pixel| (pixel / scale).clamp(0.0, 1.0) as f32).collect()
    }
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let largest = |of: &[f64]| of.iter().fold(0.0_f64, |most, x| most.max(x.abs())).max(f64::MIN_POSITIVE);
    let (scale_a, scale_b) = (largest(a), largest(b));
    let dot = |x: &[f64], y: &[f64], by: f64, or: f64| x.iter().zip(y).map(|(x, y)| (x / by) * (y / or)).sum::<f64>();
    let norms = (dot(a, a, scale_a, scale_a) * dot(b, b, scale_b, scale_b)).sqrt();
    if norms > 0.0 { (dot(a, b, scale_a, scale_b) / norms).clamp(-1.0, 1.0) } else { 0.0 }
}

/// Returns ε of one step in which the image takes part for certain.
fn epsilon(noise: &NoiseSpec, delta: f64) -> Result<f64, AttackError> {
    let sampling = Sampling::Poisson { rate: 1.0 };
    let ledger = Ledger::of([(Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(noise.clone())), 1)])?;
    match Books::of(ledger).and_then(|books| books.tight(delta)) {
        Err(PrivacyError::Unpriced(_)) => Ok(f64::INFINITY),
        priced => Ok(priced?.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{attack::Estimate, data::synthetic};

    /// Returns ten digits: MNIST's if installed, else drawn ones.
    fn digits() -> Vec<(Vec<f32>, u8)> {
        let data = crate::data::mnist::locate()
            .map_or_else(|_| synthetic::digits(1, 10, 0).train, |found| found.digits.train.slice(0..10));
        println!("on {}", data.name);
        let pixels = |k: usize| data.image(k).iter().map(|&byte| crate::model::pixel(byte)).collect();
        (0..10).map(|k| (pixels(k), data.labels[k])).collect()
    }

    fn key(k: u32) -> [u32; 8] {
        [k, 1, 2, 3, 4, 5, 6, 7]
    }

    #[test]
    fn without_noise_the_image_is_a_quotient() {
        for (image, label) in digits() {
            for units in [2, UNITS, MOST_UNITS] {
                let inverted = OneGradient::new(&image, label, units, 1).unwrap().invert(None, &key(0), 1e-5).unwrap();
                assert!(inverted.by_quotient.cosine > 1.0 - 1e-9 && inverted.by_singular_vector.cosine > 1.0 - 1e-9);
                assert_eq!(inverted.epsilon, f64::INFINITY);
                for (found, pixel) in inverted.by_quotient.direction.iter().zip(&image) {
                    assert!((found - f64::from(*pixel)).abs() < 1e-6);
                }
            }
        }
    }

    /// The figures of `docs/attacks.md`, over ten digits and four keys.
    #[test]
    fn the_image_is_lost_at_the_expected_noise() {
        let gradients: Vec<OneGradient> =
            digits().iter().map(|(image, label)| OneGradient::new(image, *label, UNITS, 1).unwrap()).collect();
        for (sigma, expected, spread) in [
            (0.003, 0.996, 0.004),
            (0.01, 0.96, 0.02),
            (0.03, 0.74, 0.06),
            (0.05, 0.52, 0.09),
            (0.1, 0.09, 0.08),
            (1.1, 0.05, 0.08),
        ] {
            let noise = NoiseSpec::Gaussian { sigma };
            let (mut cosines, mut quotients, mut limits, mut cost) = (vec![], vec![], vec![], 0.0);
            for (k, gradient) in (0..).zip(gradients.iter().cycle().take(40)) {
                let inverted = gradient.invert(Some(&noise), &key(k), 1e-5).unwrap();
                cosines.push(inverted.by_singular_vector.cosine);
                quotients.push(inverted.by_quotient.cosine);
                limits.push(inverted.expected.unwrap());
                cost = inverted.epsilon;
                let picture = inverted.by_singular_vector.picture();
                assert!(picture.iter().all(|pixel| (0.0..=1.0).contains(pixel)) && picture.contains(&1.0));
            }
            let [cosine, quotient, limit] = [&cosines, &quotients, &limits].map(|all| Estimate::mean(all).value);
            println!("σ {sigma}: {cosine:.3}, quotient {quotient:.3}, limit {limit:.3}, ε {cost:.2}");
            assert!((cosine - expected).abs() < spread, "σ {sigma}: {cosine}");
            assert!(quotient <= cosine + 0.05, "σ {sigma}: {quotient} {cosine}");
            if sigma < 0.04 {
                assert!((cosine - limit).abs() < 0.03, "σ {sigma}: {cosine} {limit}");
            }
            if sigma == 0.1 {
                // No picture, and no privacy.
                assert!((91.0..93.0).contains(&cost), "{cost}");
            }
        }
        assert!((collapse(UNITS) - 0.0795).abs() < 1e-4);
    }

    #[test]
    fn any_noise_family_is_inverted_and_invalid_noise_is_refused() {
        let (image, label) = digits().swap_remove(0);
        let gradient = OneGradient::new(&image, label, UNITS, 1).unwrap();
        let laplace = gradient.invert(Some(&NoiseSpec::Laplace { scale: 0.005 }), &key(1), 1e-5).unwrap();
        assert!(
            laplace.by_singular_vector.cosine > 0.9 && laplace.expected.is_none() && laplace.epsilon == f64::INFINITY
        );
        for sigma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                gradient.invert(Some(&NoiseSpec::Gaussian { sigma }), &key(1), 1e-5),
                Err(AttackError::Noise(_))
            ));
        }
        // Beyond f32 there is no gradient; just below, there is only noise.
        let huge = |sigma| gradient.invert(Some(&NoiseSpec::Gaussian { sigma }), &key(1), 1e-5);
        assert!(matches!(huge(1e60), Err(AttackError::Gradient { .. })));
        let nothing = huge(1e30).unwrap();
        assert!(
            nothing.by_singular_vector.cosine.abs() < 0.3 && nothing.expected == Some(0.0) && nothing.epsilon < 1e-9
        );
        assert_eq!(huge(1e-90).unwrap().expected, Some(1.0));
        assert!(matches!(
            huge(1.0)
                .map(|_| ())
                .and(gradient.invert(Some(&NoiseSpec::Gaussian { sigma: 1.0 }), &key(1), 2.0).map(|_| ())),
            Err(AttackError::Privacy(_))
        ));
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let (image, label) = digits().swap_remove(0);
        let of = |image: &[f32], label, units| OneGradient::new(image, label, units, 1).map(|_| ()).unwrap_err();
        assert!(matches!(of(&[0.0; PIXELS], label, UNITS), AttackError::Blank));
        assert!(matches!(of(&image[1..], label, UNITS), AttackError::Pixels { found: 783, .. }));
        let mut broken = image.clone();
        broken[5] = f32::NAN;
        assert!(matches!(of(&broken, label, UNITS), AttackError::Pixels { found: 783, .. }));
        assert!(matches!(of(&[image.clone(), image.clone()].concat(), label, UNITS), AttackError::Pixels { .. }));
        assert!(matches!(of(&image, 10, UNITS), AttackError::Label(10)));
        for units in [0, 1, 129, u32::MAX] {
            assert!(matches!(of(&image, label, units), AttackError::OutOfRange { .. }));
        }
        // A gradient that is not finite, as a broken step would leave it.
        for value in [0.0, f64::NAN, f64::INFINITY] {
            let broken = Released { units: 2, layer: vec![value; 2 * (PIXELS + 1)] };
            assert!(matches!(broken.by_quotient(), Err(AttackError::Gradient { .. })));
            assert!(matches!(broken.by_singular_vector(), Err(AttackError::Gradient { .. })));
        }
    }
}
