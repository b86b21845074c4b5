//! Training on a release: ten linear scores of the features. It reads nothing else, so it is free.

use super::{
    error::FunctionalError,
    features::{Map, Scratch, UNIT},
    release::Released,
};
use crate::{data::Dataset, model::CLASSES};

/// λ without noise, so that there is a solution.
const LEAST: f64 = 1e-6;
/// Iterations of the power method.
const ROUNDS: usize = 30;

/// w: `[feature][class]`.
pub type Weights = Vec<[f64; CLASSES]>;

/// A head trained by descent with Nesterov's momentum on tr(wᵀ(A + λI)w)/2 − tr(wᵀB).
#[derive(Clone, Debug)]
pub struct Head {
    released: Released,
    lambda: f64,
    /// One over the largest eigenvalue of A + λI.
    rate: f64,
    steps: u64,
    weights: Weights,
    /// Where the next gradient is taken.
    ahead: Weights,
}

impl Head {
    /// Starts at w = 0.
    #[must_use]
    pub fn new(released: Released) -> Self {
        let d = released.dimension();
        let lambda = released.lambda().max(LEAST);
        let nothing = vec![[0.0; CLASSES]; d];
        let mut head = Self { released, lambda, rate: 0.0, steps: 0, weights: nothing.clone(), ahead: nothing };
        head.rate = 1.0 / (1.05 * head.largest());
        head
    }

    /// Returns λ.
    #[must_use]
    pub const fn lambda(&self) -> f64 {
        self.lambda
    }

    /// Returns the number of steps so far.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns w after them.
    #[must_use]
    pub fn weights(&self) -> &[[f64; CLASSES]] {
        &self.weights
    }

    /// Takes a step.
    pub fn step(&mut self) {
        let product = self.times(&self.ahead);
        self.steps += 1;
        let momentum = (self.steps - 1) as f64 / (self.steps + 2) as f64;
        let now = self.weights.iter_mut().zip(&mut self.ahead).zip(product.iter().zip(self.released.b()));
        for ((weights, ahead), (product, b)) in now {
            for k in 0..CLASSES {
                let next = ahead[k] - self.rate * (product[k] - b[k]);
                ahead[k] = next + momentum * (next - weights[k]);
                weights[k] = next;
            }
        }
    }

    /// Solves (A + λI)w = B, the steps' limit, by Cholesky; doubles λ until A + λI is positive.
    #[must_use]
    pub fn solved(&self) -> Weights {
        let mut lambda = self.lambda;
        loop {
            if let Some(weights) = solve(&self.released, lambda) {
                return weights;
            }
            lambda *= 2.0;
        }
    }

    /// (A + λI)w.
    fn times(&self, weights: &[[f64; CLASSES]]) -> Weights {
        let d = self.released.dimension();
        let row = |(row, own): (&[f64], &[f64; CLASSES])| {
            let mut sum = own.map(|w| self.lambda * w);
            for (a, w) in row.iter().zip(weights) {
                sum.iter_mut().zip(w).for_each(|(sum, w)| *sum += a * w);
            }
            sum
        };
        self.released.a().chunks_exact(d).zip(weights).map(row).collect()
    }

    /// Estimates A + λI's largest eigenvalue by power iteration from ten starts.
    fn largest(&self) -> f64 {
        let d = self.released.dimension();
        let start = |i: usize| std::array::from_fn(|k| 1.0 + ((i * (k + 1)) % 7) as f64);
        let mut powers: Weights = (0..d).map(start).collect();
        let mut largest = self.lambda;
        for _ in 0..ROUNDS {
            let next = self.times(&powers);
            let size = |of: &[[f64; CLASSES]], k: usize| of.iter().map(|w| w[k] * w[k]).sum::<f64>().sqrt();
            let sizes: [f64; CLASSES] = std::array::from_fn(|k| size(&next, k).max(f64::MIN_POSITIVE));
            largest = (0..CLASSES).map(|k| sizes[k] / size(&powers, k).max(f64::MIN_POSITIVE)).fold(largest, f64::max);
            powers = next;
            powers.iter_mut().for_each(|w| w.iter_mut().zip(sizes).for_each(|(w, size)| *w /= size));
        }
        largest
    }
}

/// Solves (A + λI)w = B; `None` if A + λI is not positive definite.
fn solve(released: &Released, lambda: f64) -> Option<Weights> {
    let d = released.dimension();
    // Rows of L, with A + λI = LLᵀ.
    let mut lower = released.a().to_vec();
    for i in 0..d {
        let (above, rest) = lower.split_at_mut(i * d);
        let row = &mut rest[..=i];
        for (j, other) in above.chunks_exact(d).enumerate() {
            row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
        }
        let square = row[i] + lambda - dot(&row[..i], &row[..i]);
        if !(square > 0.0 && square.is_finite()) {
            return None;
        }
        row[i] = square.sqrt();
    }
    let mut weights = released.b().to_vec();
    for i in 0..d {
        let (known, rest) = weights.split_at_mut(i);
        take_off(&mut rest[0], known.iter().enumerate().map(|(j, w)| (lower[i * d + j], w)));
        rest[0].iter_mut().for_each(|w| *w /= lower[i * d + i]);
    }
    for i in (0..d).rev() {
        let (rest, known) = weights.split_at_mut(i + 1);
        take_off(&mut rest[i], known.iter().zip(i + 1..).map(|(w, j)| (lower[j * d + i], w)));
        rest[i].iter_mut().for_each(|w| *w /= lower[i * d + i]);
    }
    Some(weights)
}

/// Sums in four lanes, which a processor adds in parallel.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (fours, others) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (a, b) in fours.0.iter().zip(others.0) {
        (0..4).for_each(|k| sums[k] += a[k] * b[k]);
    }
    sums.iter().sum::<f64>() + fours.1.iter().zip(others.1).map(|(a, b)| a * b).sum::<f64>()
}

fn take_off<'a>(from: &mut [f64; CLASSES], terms: impl Iterator<Item = (f64, &'a [f64; CLASSES])>) {
    for (factor, weights) in terms {
        from.iter_mut().zip(weights).for_each(|(from, w)| *from -= factor * w);
    }
}

/// Features of test images, computed once.
#[derive(Clone, Debug)]
pub struct Trial {
    dimension: usize,
    phi: Vec<i16>,
    labels: Vec<u8>,
    scratch: Scratch,
}

impl Trial {
    /// Creates a trial without images.
    #[must_use]
    pub fn new(map: &Map) -> Self {
        Self { dimension: map.dimension(), phi: Vec::new(), labels: Vec::new(), scratch: Scratch::default() }
    }

    /// Creates a trial of all of `data`.
    ///
    /// # Errors
    /// As [`Map::write`].
    pub fn of(map: &Map, data: &Dataset) -> Result<Self, FunctionalError> {
        let mut trial = Self::new(map);
        (0..data.len()).try_for_each(|i| trial.add(map, data, i))?;
        Ok(trial)
    }

    /// Adds one image.
    ///
    /// # Errors
    /// As [`Map::write`]; nothing is added then.
    pub fn add(&mut self, map: &Map, data: &Dataset, image: usize) -> Result<(), FunctionalError> {
        let mut phi = vec![0; self.dimension];
        map.write_image(data, image, &mut self.scratch, &mut phi)?;
        self.phi.extend(phi);
        self.labels.push(data.labels[image]);
        Ok(())
    }

    /// Returns the number of images.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// True if there are no images.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Returns the share of images that `weights` classify correctly; 0 without images.
    #[must_use]
    pub fn accuracy(&self, weights: &[[f64; CLASSES]]) -> f64 {
        let weights: Vec<[f32; CLASSES]> = weights.iter().map(|w| w.map(|w| w as f32 / UNIT as f32)).collect();
        let right = |(phi, label): (&[i16], &u8)| {
            let mut scores = [0.0_f32; CLASSES];
            for (phi, weights) in phi.iter().zip(&weights).filter(|(phi, _)| **phi != 0) {
                scores.iter_mut().zip(weights).for_each(|(score, w)| *score += f32::from(*phi) * w);
            }
            let best = (1..CLASSES).fold(0, |best, k| if scores[k] > scores[best] { k } else { best });
            best == usize::from(*label)
        };
        let count = self.phi.chunks_exact(self.dimension).zip(&self.labels).filter(|one| right(*one)).count();
        count as f64 / self.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::synthetic,
        functional::{
            features::{Ball, Features},
            price::Budget,
            sums::Sums,
        },
    };

    fn head(budget: Option<Budget>, digits: usize) -> (Map, Head) {
        let map = Map::new(Features::Pixels14, budget.map_or(Ball::L2, Budget::ball));
        let mut sums = Sums::of(&map, &synthetic::dataset(8, 0, digits)).unwrap();
        let released = match budget {
            Some(budget) => Released::not_private(&mut sums, &budget.price(map.dimension()).unwrap(), 1).unwrap(),
            None => Released::exactly(&mut sums).unwrap(),
        };
        (map, Head::new(released))
    }

    /// Straight loops: Gaussian elimination.
    fn eliminated(head: &Head) -> Weights {
        let d = head.released.dimension();
        let mut a: Vec<Vec<f64>> = head.released.a().chunks(d).map(<[f64]>::to_vec).collect();
        let mut b = head.released.b().to_vec();
        for (i, row) in a.iter_mut().enumerate() {
            row[i] += head.lambda;
        }
        for i in 0..d {
            let (pivot, own) = (a[i].clone(), b[i]);
            for j in i + 1..d {
                let factor = a[j][i] / pivot[i];
                (i..d).for_each(|k| a[j][k] -= factor * pivot[k]);
                (0..CLASSES).for_each(|k| b[j][k] -= factor * own[k]);
            }
        }
        for i in (0..d).rev() {
            for j in i + 1..d {
                let known = b[j];
                (0..CLASSES).for_each(|k| b[i][k] -= a[i][j] * known[k]);
            }
            (0..CLASSES).for_each(|k| b[i][k] /= a[i][i]);
        }
        b
    }

    #[test]
    fn cholesky_solves_what_elimination_does_and_steps_lead_there() {
        let (_, mut head) = head(Some(Budget::Approximate { epsilon: 3.0, delta: 1e-5 }), 4000);
        let (solved, plain) = (head.solved(), eliminated(&head));
        let largest = plain.iter().flatten().fold(0.0_f64, |most, w| most.max(w.abs()));
        let apart = |w: &[[f64; CLASSES]]| {
            w.iter().flatten().zip(plain.iter().flatten()).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()))
        };
        assert!(apart(&solved) < 1e-7 * largest, "{} {largest}", apart(&solved));
        (0..4000).for_each(|_| head.step());
        assert!(apart(head.weights()) < 1e-2 * largest, "{} {largest}", apart(head.weights()));
    }

    #[test]
    fn a_head_reads_digits_that_it_has_not_seen() {
        let (map, mut head) = head(None, 4000);
        let trial = Trial::of(&map, &synthetic::dataset(9, 50_000, 1000)).unwrap();
        let before = trial.accuracy(head.weights());
        (0..300).for_each(|_| head.step());
        let (after, solved) = (trial.accuracy(head.weights()), trial.accuracy(&head.solved()));
        assert!(before < 0.2 && after > 0.7 && solved > 0.7, "{before} {after} {solved}");
        assert_eq!(trial.len(), 1000);
    }

    /// Noise that drowns everything still leaves finite weights.
    #[test]
    fn pure_noise_gives_finite_weights() {
        for budget in [Budget::Approximate { epsilon: 1e-3, delta: 1e-5 }, Budget::Pure { epsilon: 1e-3 }] {
            let (_, mut head) = head(Some(budget), 10);
            (0..50).for_each(|_| head.step());
            assert!(head.weights().iter().chain(&head.solved()).flatten().all(|w| w.is_finite()));
        }
    }
}
