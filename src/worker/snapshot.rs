//! A step reduced for drawing: norms, magnitudes by rank, distribution functions, weight images.

use serde::{Deserialize, Serialize};

use crate::{
    accounting::noise::Noise,
    engine::{StepTrace, Task},
    model::Architecture,
    train::projection::Point,
};

/// Points of a drawn curve.
const POINTS: usize = 120;

/// One of the four vectors, ready to be drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tile {
    /// L2 norm.
    pub norm: f64,
    /// Rank from 1 (log-spaced) and magnitude, without zeros; empty for the denoised sum.
    pub ranks: Vec<Point>,
    /// First-layer weights as pictures, in the model's layout.
    pub picture: Vec<f32>,
}

/// The data of the panel ONE STEP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSnapshot {
    /// Raw, encoded, noisy, denoised.
    pub tiles: [Tile; 4],
    /// The envelope by rank, times the lot; empty without an envelope.
    pub envelope: Vec<Point>,
    /// Magnitudes of the noise alone by rank; empty without noise.
    pub noise_ranks: Vec<Point>,
    /// Empirical distribution function of the noisy values: value, share at most that.
    pub empirical: Vec<Point>,
    /// The noise's distribution function at the same values.
    pub noise: Vec<Point>,
    /// Largest gap between the two among the drawn points: value, share of either.
    pub gap: Option<(f64, f64, f64)>,
    /// Magnitude at which the shared colour scale is full.
    pub full_colour: f64,
    /// ‖denoised‖ / ‖noisy‖.
    pub factor: f64,
    pub model: Architecture,
}

/// How values are cut into pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureLayout {
    pub images: usize,
    /// Pixels of a side.
    pub side: usize,
    /// Images in a row.
    pub columns: usize,
}

impl PictureLayout {
    /// Returns the layout of a model's first layer.
    #[must_use]
    pub fn of(model: Architecture) -> Self {
        match model {
            // Some of the first layer's; if they form no pictures, the first weights in order.
            Architecture::Built(_) => match model.planes() {
                Some(planes) => {
                    // The colours of an image are three pictures side by side.
                    let colours = usize::from(model.picture().channels);
                    let (most, columns) = if planes.side > 8 { (10, 5) } else { (16, 8) };
                    let columns = if colours > 1 { 6 } else { columns };
                    let images = planes.count.min(most * colours);
                    Self { images, side: planes.side, columns: images.min(columns) }
                }
                None => {
                    match model.features().filter(|map| model.layers().first().is_some_and(|l| l.fan_in == map.len())) {
                        // The first output's weights on the maps of features.
                        Some(map) => {
                            let (maps, side) = map.shape();
                            let images = maps.min(81);
                            Self { images, side, columns: Self::nearly_square(images) }
                        }
                        None => Self { images: 1, side: 16, columns: 1 },
                    }
                }
            },
            Architecture::Linear => Self { images: 10, side: 28, columns: 5 },
            Architecture::Scattering => Self { images: 81, side: 7, columns: 18 },
            Architecture::Mlp => Self { images: 10, side: 28, columns: 5 },
            Architecture::CnnTanh | Architecture::CnnRelu => Self { images: 16, side: 8, columns: 8 },
        }
    }

    /// Returns the columns of a nearly square grid of images; 1 for none.
    #[must_use]
    pub fn nearly_square(images: usize) -> usize {
        (1..=images).find(|columns| columns * columns >= images).unwrap_or(1)
    }

    /// Returns width and height of the whole picture in pixels, one pixel between images.
    #[must_use]
    pub const fn size(self) -> (usize, usize) {
        (self.columns * (self.side + 1) - 1, self.images.div_ceil(self.columns) * (self.side + 1) - 1)
    }

    /// Returns the index of pixel (x, y) in the flat weights; `None` between images.
    #[must_use]
    pub const fn weight(self, x: usize, y: usize) -> Option<usize> {
        let (column, in_x) = (x / (self.side + 1), x % (self.side + 1));
        let (row, in_y) = (y / (self.side + 1), y % (self.side + 1));
        let image = row * self.columns + column;
        if in_x == self.side || in_y == self.side || image >= self.images {
            return None;
        }
        Some(image * self.side * self.side + in_y * self.side + in_x)
    }
}

impl StepSnapshot {
    /// Reduces a trace of `task`; `noise` is the distribution in units of the sum. `None` for an
    /// empty or mismatched trace.
    #[must_use]
    pub fn new(trace: &StepTrace, task: &Task, noise: Option<&dyn Noise>) -> Option<Self> {
        let p = trace.raw.len();
        if p == 0 || [&trace.encoded, &trace.noisy, &trace.denoised].iter().any(|v| v.len() != p) {
            return None;
        }
        let layout = PictureLayout::of(task.model);
        // The first stands for all: once sorted, vectors of one distribution are nearly equal.
        let envelope = task.envelope.as_ref().map_or_else(Vec::new, |envelope| by_rank(envelope.vector(0)));
        let lot = f64::from(task.expected_lot);
        let tile = |values: &[f32], ranks: Vec<Point>| Tile {
            norm: norm(values),
            ranks,
            picture: values.iter().take(layout.images * layout.side * layout.side).copied().collect(),
        };
        let magnitudes = |values: &[f32]| -> Vec<f32> {
            let mut sorted: Vec<f32> = values.iter().map(|v| v.abs()).collect();
            sorted.sort_unstable_by(|a, b| b.total_cmp(a));
            sorted
        };
        let raw = magnitudes(&trace.raw);
        let encoded = magnitudes(&trace.encoded);
        let mut noisy: Vec<f32> = trace.noisy.clone();
        noisy.sort_unstable_by(f32::total_cmp);
        let noisy_magnitudes = merged_magnitudes(&noisy);
        let (noisy_norm, denoised_norm) = (norm(&trace.noisy), norm(&trace.denoised));
        let factor = if noisy_norm > 0.0 { denoised_norm / noisy_norm } else { 1.0 };
        let noisy_ranks = by_rank(&noisy_magnitudes);
        let ranks = rank_grid(p);
        let noise_ranks = noise.map_or_else(Vec::new, |noise| {
            ranks
                .iter()
                .map(|&r| (r as f64 + 1.0, noise.survival_quantile((r as f64 + 0.5) / p as f64 / 2.0)))
                .collect()
        });
        let empirical: Vec<Point> = quantile_grid(p)
            .map(|i| (f64::from(noisy[i]), (i as f64 + 1.0) / p as f64))
            .filter(|point| point.0.is_finite())
            .collect();
        let noise: Vec<Point> =
            noise.map_or_else(Vec::new, |z| empirical.iter().map(|&(x, _)| (x, z.cdf(x))).collect());
        let gap = empirical
            .iter()
            .zip(&noise)
            .map(|(&(x, share), &(_, expected))| (x, share, expected))
            .max_by(|a, b| (a.1 - a.2).abs().total_cmp(&(b.1 - b.2).abs()));
        // Colours are full at the 99th percentile of noisy and encoded magnitudes, to ignore
        // outliers.
        let full_colour = f64::from(noisy_magnitudes[p / 100]).max(f64::from(encoded[p / 100])).max(f64::MIN_POSITIVE);
        Some(Self {
            tiles: [
                tile(&trace.raw, by_rank(&raw)),
                tile(&trace.encoded, by_rank(&encoded)),
                tile(&trace.noisy, noisy_ranks),
                tile(&trace.denoised, vec![]),
            ],
            envelope: envelope.into_iter().map(|(rank, size)| (rank, size * lot)).collect(),
            noise_ranks,
            empirical,
            noise,
            gap,
            full_colour,
            factor,
            model: task.model,
        })
    }

    /// Returns the layout of the tiles' pictures.
    #[must_use]
    pub fn layout(&self) -> PictureLayout {
        PictureLayout::of(self.model)
    }

    /// Returns the range of all rank–magnitude curves: (ranks, lowest, highest).
    #[must_use]
    pub fn rank_range(&self) -> (f64, f64, f64) {
        let beside = || self.envelope.iter().chain(&self.noise_ranks);
        let curves = || self.tiles.iter().take(3).flat_map(|tile| &tile.ranks).chain(beside());
        let high = curves().map(|p| p.1).fold(f64::MIN_POSITIVE, f64::max);
        let low = curves().map(|p| p.1).fold(high, f64::min);
        let ranks = curves().map(|p| p.0).fold(10.0, f64::max);
        // Four decades show the shape; smaller values vanish beside the noise.
        (ranks, low.max(high * 1e-4).min(high / 10.0), high * 1.2)
    }
}

fn norm(values: &[f32]) -> f64 {
    values.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt()
}

/// Returns magnitudes, largest first, by merging the two ends of ascending values.
fn merged_magnitudes(ascending: &[f32]) -> Vec<f32> {
    let (mut low, mut high) = (0, ascending.len());
    let mut merged = Vec::with_capacity(ascending.len());
    while low < high {
        let (negative, positive) = (ascending[low].abs(), ascending[high - 1].abs());
        if negative > positive {
            merged.push(negative);
            low += 1;
        } else {
            merged.push(positive);
            high -= 1;
        }
    }
    merged
}

/// Returns ranks from 0 to p − 1, dense at low ranks.
fn rank_grid(p: usize) -> Vec<usize> {
    let mut ranks: Vec<usize> = (0..POINTS)
        .map(|i| ((p as f64).powf(i as f64 / (POINTS - 1) as f64) - 1.0).round() as usize)
        .map(|rank| rank.min(p - 1))
        .collect();
    ranks.dedup();
    ranks
}

fn by_rank(descending: &[f32]) -> Vec<Point> {
    rank_grid(descending.len())
        .into_iter()
        .map(|rank| (rank as f64 + 1.0, f64::from(descending[rank])))
        .filter(|point| point.1 > 0.0 && point.1.is_finite())
        .collect()
}

/// Returns evenly spaced indices of p values, both ends included.
fn quantile_grid(p: usize) -> impl Iterator<Item = usize> {
    let points = POINTS.min(p);
    (0..points).map(move |i| if points == 1 { 0 } else { i * (p - 1) / (points - 1) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accounting::noise::NoiseSpec,
        mechanism::{EnvelopeShape, envelope::Envelope},
        rng::NotPrivateReplay,
    };

    const LINEAR: Task = Task::without_privacy(Architecture::Linear);

    fn trace(p: usize, factor: f32) -> StepTrace {
        let noise = NoiseSpec::Gaussian { sigma: 2.0 }.build().unwrap();
        let mut rng = NotPrivateReplay::new(1);
        let raw: Vec<f32> = (0..p).map(|i| (i as f32).sin() * 0.3).collect();
        let encoded: Vec<f32> = raw.iter().map(|v| v.clamp(-0.1, 0.1)).collect();
        let noisy: Vec<f32> = encoded.iter().map(|v| v + noise.sample(&mut rng) as f32).collect();
        let denoised = noisy.iter().map(|v| v * factor).collect();
        StepTrace { raw, encoded, noisy, denoised }
    }

    #[test]
    fn a_step_becomes_norms_ranks_and_distributions() {
        let trace = trace(7850, 0.01);
        let noise = NoiseSpec::Gaussian { sigma: 2.0 }.build().unwrap();
        let snapshot = StepSnapshot::new(&trace, &LINEAR, Some(noise.as_ref())).unwrap();
        assert!((snapshot.factor - 0.01).abs() < 1e-6);
        assert!(snapshot.tiles[0].norm > snapshot.tiles[1].norm);
        for tile in &snapshot.tiles {
            assert!(tile.ranks.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 >= w[1].1));
            assert_eq!(tile.picture.len(), 7840);
        }
        // Sorting by magnitude agrees with merging the two ends.
        let mut sorted: Vec<f32> = trace.noisy.iter().map(|v| v.abs()).collect();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        assert_eq!(snapshot.tiles[2].ranks, by_rank(&sorted));
        assert!(snapshot.empirical.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 < w[1].1));
        let (_, share, expected) = snapshot.gap.unwrap();
        assert!((share - expected).abs() < 0.03, "noise drowns the sum, so the curves nearly agree");
        let (ranks, low, high) = snapshot.rank_range();
        assert!(ranks >= 7850.0 && low > 0.0 && high > low);
    }

    #[test]
    fn the_envelope_is_scaled_by_the_expected_lot() {
        let envelope = Envelope::draw(EnvelopeShape::Gaussian, 3, 7850, 1).unwrap();
        let first = f64::from(envelope.vector(0)[0]);
        let task = Task { envelope: Some(envelope.into()), expected_lot: 256.0, ..LINEAR };
        let snapshot = StepSnapshot::new(&trace(7850, 1.0), &task, None).unwrap();
        assert_eq!(snapshot.envelope[0], (1.0, 256.0 * first));
        assert!(snapshot.envelope.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 >= w[1].1));
        assert!(snapshot.rank_range().2 > 256.0 * first);
        let without = StepSnapshot::new(&trace(7850, 1.0), &LINEAR, None).unwrap();
        assert!(without.envelope.is_empty());
    }

    #[test]
    fn empty_uneven_and_tiny_traces_are_handled() {
        assert_eq!(StepSnapshot::new(&StepTrace::default(), &LINEAR, None), None);
        let mut uneven = trace(100, 1.0);
        uneven.noisy.pop();
        assert_eq!(StepSnapshot::new(&uneven, &LINEAR, None), None);
        let one = |x: f32| StepTrace { raw: vec![x], encoded: vec![x], noisy: vec![x], denoised: vec![x] };
        for x in [0.0, f32::NAN, f32::INFINITY, 1.0] {
            let snapshot = StepSnapshot::new(&one(x), &LINEAR, None).unwrap();
            let (ranks, low, high) = snapshot.rank_range();
            assert!(ranks > 1.0 && low < high, "{x}");
        }
    }

    #[test]
    fn pictures_cover_every_weight_once() {
        for model in Architecture::ALL {
            let layout = PictureLayout::of(model);
            let (width, height) = layout.size();
            let mut seen = vec![0; layout.images * layout.side * layout.side];
            for y in 0..height {
                for x in 0..width {
                    if let Some(weight) = layout.weight(x, y) {
                        seen[weight] += 1;
                    }
                }
            }
            assert!(seen.iter().all(|n| *n == 1), "{model:?}");
            let first = &model.layers()[0];
            assert!(seen.len() <= first.outputs * first.fan_in);
        }
    }
}
