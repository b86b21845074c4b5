//! Canaries: records with known gradients that an audit adds to the training set. Each gradient
//! lies along its canary's own coordinates and is longer than the bound, so the encoder determines
//! its contribution: the bound along one coordinate for a clip, the largest entries along a few for
//! an envelope. Coordinates and signs are public: they follow from a seed.

use super::{Encoder, EncoderSpec, MechanismError, envelope::Envelope, exact_sum::SumGrid};
use crate::rng::NotPrivateReplay;

/// Length of a canary's gradient, in bounds.
const LENGTHS: f64 = 3.0;

/// m canaries for gradients of length P.
#[derive(Clone, Debug, PartialEq)]
pub struct Canaries {
    dimension: usize,
    /// Magnitudes of a gradient along its canary's coordinates, largest first.
    magnitudes: Vec<f32>,
    /// The coordinates of each canary in turn, then silent ones; all different.
    coordinates: Vec<u32>,
    /// True where the gradient is negative.
    negative: Vec<bool>,
}

/// Number of coordinates without a canary, where an auditor sees the noise alone.
const LISTENING: usize = 1024;

/// An auditor's view of a step, at [`Canaries::coordinates`] in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Witness {
    /// The noisy sum.
    pub released: Vec<f32>,
    /// Contribution of the lot's examples. Known to whoever knows them all; private data.
    pub examples: Vec<f64>,
    /// Their contribution to the count of norms within the clip, Σ ±½; 0 if none is released.
    pub within: f64,
}

/// A canary drawn in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawnCanary {
    /// Its index, below [`Canaries::len`].
    pub canary: u32,
    /// True if its gradient is negated: under replace-one, it stands for another record.
    pub turned: bool,
}

impl Canaries {
    /// Draws `count` canaries for `encoder` and gradients of length `p`, with Ψ for an envelope.
    ///
    /// # Errors
    /// [`MechanismError::Canaries`] if `count` is 0 or above `p`.
    pub fn draw(
        count: u32,
        encoder: &EncoderSpec,
        envelope: Option<&Envelope>,
        p: usize,
        seed: u64,
    ) -> Result<Self, MechanismError> {
        let most = u32::try_from(p).unwrap_or(u32::MAX);
        if count == 0 || count > most {
            return Err(MechanismError::Canaries { count, most });
        }
        let magnitudes = match (encoder, envelope) {
            (EncoderSpec::Envelope { pre_scale, .. }, Some(envelope)) => {
                steep(envelope, p / count as usize, *pre_scale)
            }
            (EncoderSpec::Clip { norm }, _) => vec![(LENGTHS * norm) as f32],
            (EncoderSpec::Layers(clip), _) => {
                vec![(LENGTHS * clip.norms.iter().copied().fold(0.0, f64::max)) as f32]
            }
            _ => vec![LENGTHS as f32],
        };
        let mut rng = NotPrivateReplay::new(seed);
        let mut all: Vec<u32> = (0..most).collect();
        let used = magnitudes.len() * count as usize;
        let seen = p.min(used + LISTENING);
        // The first steps of a Fisher–Yates shuffle.
        for place in 0..seen {
            let other = place + rng.below(most - place as u32) as usize;
            all.swap(place, other);
        }
        all.truncate(seen);
        // Sorting is harmless, as the canaries are exchangeable, and speeds up access.
        let (own, silent) = all.split_at_mut(used);
        if magnitudes.len() == 1 {
            own.sort_unstable();
        }
        silent.sort_unstable();
        let negative = (0..used).map(|_| rng.below(2) == 1).collect();
        Ok(Self { dimension: p, magnitudes, coordinates: all, negative })
    }

    /// Returns m.
    #[must_use]
    pub fn len(&self) -> usize {
        self.negative.len() / self.magnitudes.len()
    }

    /// True if there are no canaries, which does not occur.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.negative.is_empty()
    }

    /// Returns the number of coordinates per canary.
    #[must_use]
    pub fn each(&self) -> usize {
        self.magnitudes.len()
    }

    /// Returns how many more canaries would fit in the silent coordinates.
    #[must_use]
    pub fn silent(&self) -> usize {
        (self.coordinates.len() - self.negative.len()) / self.each()
    }

    /// Returns the coordinates of all canaries in turn, then the silent ones.
    #[must_use]
    pub fn coordinates(&self) -> &[u32] {
        &self.coordinates
    }

    /// Iterates over the unturned canaries' gradients, in the order of [`Canaries::coordinates`].
    pub fn values(&self) -> impl Iterator<Item = f32> {
        let each = self.magnitudes.iter().cycle();
        each.zip(&self.negative).map(|(&magnitude, &negative)| if negative { -magnitude } else { magnitude })
    }

    /// Writes a canary's gradient over `out` (length P).
    ///
    /// # Panics
    /// When there is no such canary, or `out` is shorter than P.
    pub fn gradient(&self, drawn: DrawnCanary, out: &mut [f32]) {
        out.fill(0.0);
        let first = drawn.canary as usize * self.each();
        for (at, value) in self.coordinates.iter().zip(self.values()).skip(first).take(self.each()) {
            out[*at as usize] = if drawn.turned { -value } else { value };
        }
    }

    /// Returns each canary's encoded values at its coordinates, in order, rounded to `grid` if
    /// given. Per-layer bounds may differ between `layers`, given by length.
    ///
    /// # Panics
    /// When Ψ's length is not P.
    #[must_use]
    pub fn encoded(&self, encoder: &Encoder, grid: Option<SumGrid>, layers: &[usize]) -> Vec<f32> {
        let layers = if matches!(encoder, Encoder::Layers(_)) { layers } else { &[] };
        self.encoded_by(layers, |gradient| {
            encoder.encode_on(grid, gradient);
        })
    }

    /// Like [`Self::encoded`], with `encode` turning a gradient of length P into its contribution.
    /// It is called once per layer of `layers`, within which canaries encode alike up to sign.
    ///
    /// # Panics
    /// When `encode` panics.
    pub fn encoded_by(&self, layers: &[usize], mut encode: impl FnMut(&mut [f32])) -> Vec<f32> {
        let layer_of = |coordinate: u32| {
            let ends = layers.iter().scan(0, |end, length| {
                *end += length;
                Some(*end)
            });
            ends.take_while(|end| *end <= coordinate as usize).count()
        };
        let mut known: Vec<Option<Vec<f32>>> = vec![None; layers.len() + 1];
        let mut gradient = vec![0.0; self.dimension];
        let mut encoded = Vec::with_capacity(self.negative.len());
        for (canary, own) in self.coordinates.chunks(self.each()).take(self.len()).enumerate() {
            let magnitudes = known[layer_of(own[0])].get_or_insert_with(|| {
                self.gradient(DrawnCanary { canary: canary as u32, turned: false }, &mut gradient);
                encode(&mut gradient);
                own.iter().map(|&coordinate| gradient[coordinate as usize].abs()).collect()
            });
            let first = canary * self.each();
            let signs = &self.negative[first..first + self.each()];
            encoded.extend(magnitudes.iter().zip(signs).map(|(&size, &negative)| if negative { -size } else { size }));
        }
        encoded
    }
}

/// Returns magnitudes that fill the first `each` ranks of every ψ, in distinct buckets if possible.
fn steep(envelope: &Envelope, each: usize, pre_scale: f64) -> Vec<f32> {
    let mut magnitudes = vec![0.0_f32; each.max(1)];
    for index in 0..envelope.vectors() {
        for (magnitude, &psi) in magnitudes.iter_mut().zip(envelope.vector(index)) {
            *magnitude = magnitude.max(psi);
        }
    }
    for magnitude in &mut magnitudes {
        *magnitude = (LENGTHS * f64::from(*magnitude) / pre_scale) as f32;
    }
    // A sparse vector fills fewer ranks.
    let filled = magnitudes.iter().take_while(|magnitude| **magnitude > 0.0).count();
    magnitudes.truncate(filled.max(1));
    magnitudes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::mechanism::{EnvelopeShape, LayerClip};

    #[test]
    fn no_two_canaries_share_a_coordinate_and_each_fills_its_bound() {
        let (p, count) = (7850, 500);
        let envelope = Arc::new(Envelope::draw(EnvelopeShape::HeavyTailed, 4, p, 1).unwrap());
        let spec = EncoderSpec::Envelope { shape: EnvelopeShape::HeavyTailed, vectors: 4, pre_scale: 2.0, seed: 1 };
        for (spec, psi, count) in [
            (EncoderSpec::Clip { norm: 0.3 }, None, count),
            (EncoderSpec::Layers(LayerClip::even(2.0)), None, count),
            (EncoderSpec::None, None, p as u32),
            (spec, Some(envelope), 10),
        ] {
            let canaries = Canaries::draw(count, &spec, psi.as_deref(), p, 9).unwrap();
            assert_eq!(canaries.len(), count as usize);
            let mut sorted = canaries.coordinates().to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), canaries.coordinates().len());
            let used = canaries.len() * canaries.each();
            assert_eq!(sorted.len(), p.min(used + LISTENING));
            let layers = [7000, 850];
            let encoder = match (&spec, psi) {
                (EncoderSpec::Layers(clip), _) => {
                    Encoder::Layers(crate::mechanism::layers::Layers::new(clip, &layers).unwrap())
                }
                (_, Some(psi)) => Encoder::with_envelope(&spec, psi, p).unwrap(),
                _ => Encoder::new(&spec, p).unwrap(),
            };
            let encoded = canaries.encoded(&encoder, None, &layers);
            // Compare with the encoder, for both signs.
            let mut gradient = vec![0.0; p];
            for (canary, own) in encoded.chunks(canaries.each()).enumerate().step_by(7) {
                for turned in [false, true] {
                    canaries.gradient(DrawnCanary { canary: canary as u32, turned }, &mut gradient);
                    assert!(encoder.encode(&mut gradient));
                    let first = canary * canaries.each();
                    for (k, &size) in own.iter().enumerate() {
                        let found = gradient[canaries.coordinates()[first + k] as usize];
                        assert_eq!(found, if turned { -size } else { size });
                    }
                }
                let norm = own.iter().map(|&size| f64::from(size).powi(2)).sum::<f64>().sqrt();
                let least = match spec {
                    EncoderSpec::Clip { norm } => 0.99 * norm,
                    EncoderSpec::None => 2.9,
                    // In units of a layer's noise; each of two equal layers has half of the budget.
                    EncoderSpec::Layers(_) => 0.7,
                    // The first tenth of a heavy-tailed vector holds most of the norm.
                    EncoderSpec::Envelope { .. } => 0.6,
                };
                assert!(norm > least, "{spec:?} {norm}");
            }
        }
        for count in [0, 7851, u32::MAX] {
            let refused = Canaries::draw(count, &EncoderSpec::None, None, p, 1);
            assert!(matches!(refused, Err(MechanismError::Canaries { .. })), "{count}");
        }
    }
}
