//! Training in secret: noisy gradient descent of which only the last model is released (Chourasia,
//! Ye & Shokri 2021; [`dynamics`](crate::accounting::dynamics)).
//!
//! The loss is that of softmax regression on features φ, ‖φ‖ ≤ 1, with a public regulariser:
//!
//! ```text
//! L(w) = 1/n Σ −ln softmax(wᵀφ)_t + ½λ‖w‖²
//! ```
//!
//! A softmax's curvature is at most ½ in its scores, so each example's loss is λ-strongly convex and
//! (½ + λ)-smooth. Its gradient is (p − t)φᵀ + λw with ‖p − t‖ ≤ √2, so that replacing an example
//! moves the sum of gradients by at most 2√2, without any clip. The minimum is inside the ball of
//! radius √(2 ln 10 / λ), as L(0) = ln 10, and each step is projected onto it.

use rand::rand_core::Rng as _;

use super::{
    error::FunctionalError,
    features::{Map, Scratch, UNIT},
    head::Weights,
    price::{check_delta, check_epsilon},
};
use crate::{
    accounting::{
        dynamics::{NoisyGradientDescent, Setting},
        ledger::Release,
        noise::{Noise, NoiseSpec},
        rdp::{Concentrated, RdpAccountant, RdpCurve},
    },
    data::Dataset,
    mechanism::noise::noise_at,
    model::CLASSES,
    rng::SystemRng,
};

/// Bound on ‖p − t‖ of two examples together: how far one moves the sum of gradients.
const SENSITIVITY: f64 = 2.0 * std::f64::consts::SQRT_2 * (1.0 + 1e-9);
/// λ: a smaller one reads more digits, but needs more steps to pay (`docs/methods.md`).
pub const STRONG_CONVEXITY: f64 = 0.004;
/// K: twice the crossover, so that hiding the models pays.
pub const STEPS: u64 = 800;
/// Most steps of a training.
const MOST_STEPS: u64 = 100_000;
/// Examples whose gradients are summed before they are added to the rest.
const BLOCK: usize = 512;

/// What a training may cost, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HiddenBudget {
    /// ε of the last model.
    pub epsilon: f64,
    /// δ.
    pub delta: f64,
    /// λ, 1e-6 to 1.
    pub strong_convexity: f64,
    /// K, 1 to 100,000.
    pub steps: u64,
}

/// The noise that costs the budget.
#[derive(Clone, Debug, PartialEq)]
pub struct HiddenPrice {
    descent: NoisyGradientDescent,
    steps: u64,
    /// The ledger's entry.
    pub release: Release,
}

impl HiddenBudget {
    /// Returns the least noise with which the last model of a training on `examples` examples costs
    /// at most ε, for replace-one neighbours. The step size is the largest that the theorem allows.
    ///
    /// # Errors
    /// A number out of range; no examples.
    pub fn price(self, examples: u64) -> Result<HiddenPrice, FunctionalError> {
        let Self { epsilon, delta, strong_convexity, steps } = self;
        check_epsilon(epsilon)?;
        check_delta(delta)?;
        if !(1e-6..=1.0).contains(&strong_convexity) {
            return Err(FunctionalError::StrongConvexity(strong_convexity));
        }
        if !(1..=MOST_STEPS).contains(&steps) {
            return Err(FunctionalError::Steps(steps));
        }
        let smoothness = 0.5 + strong_convexity;
        let with = |noise: f64| {
            let setting = Setting {
                // The theorem asks for less than 1/β.
                step_size: (1.0 - 1e-9) / smoothness,
                noise,
                sensitivity: SENSITIVITY,
                strong_convexity,
                smoothness,
                examples,
            };
            let descent = setting.checked().map_err(|_| FunctionalError::Empty)?;
            Ok::<_, FunctionalError>(HiddenPrice { descent, steps, release: descent.release(steps) })
        };
        let keeps = |price: &HiddenPrice| -> Result<bool, FunctionalError> {
            let curve = RdpCurve::of(&price.release)?;
            Ok(RdpAccountant::of_steps(&curve, 1).epsilon(delta).is_ok_and(|found| found.improved.epsilon <= epsilon))
        };
        let (mut low, mut high) = (1e-9_f64, 1e9_f64);
        // ε falls as the noise grows.
        while high / low > 1.0 + 1e-6 {
            let middle = (low * high).sqrt();
            if keeps(&with(middle)?)? { high = middle } else { low = middle }
        }
        with(high)
    }
}

impl HiddenPrice {
    /// The descent with its noise.
    #[must_use]
    pub const fn descent(&self) -> &NoisyGradientDescent {
        &self.descent
    }

    /// K.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// ε after each number of steps at `delta` in (0, 1), if all models were shown, and if only the last is:
    /// the smaller bound of [`NoisyGradientDescent::rho`].
    #[must_use]
    pub fn curves(&self, delta: f64, points: u64) -> [Vec<(f64, f64)>; 2] {
        let epsilon = |rho: f64| Concentrated { rho, order: None }.epsilon(delta).epsilon;
        let curve = |rho: fn(&NoisyGradientDescent, u64) -> f64| {
            let steps = (1..=points).map(|point| (self.steps * point).div_ceil(points));
            steps.map(|steps| (steps as f64, epsilon(rho(&self.descent, steps)))).collect()
        };
        [curve(NoisyGradientDescent::composed_rho), curve(NoisyGradientDescent::rho)]
    }
}

/// A training in secret. Its models are not readable before the end.
pub struct HiddenTraining {
    price: HiddenPrice,
    dimension: usize,
    /// Features of all examples, in grid steps, and their labels.
    phi: Vec<i16>,
    labels: Vec<u8>,
    scratch: Scratch,
    /// Features of the example that is read.
    row: Vec<i16>,
    weights: Weights,
    /// Σ (p − t)φᵀ of the examples of this step so far.
    sum: Weights,
    summed: usize,
    steps: u64,
    rng: SystemRng,
    normal: Box<dyn Noise>,
}

impl HiddenTraining {
    /// Starts a training; noise is keyed by the system.
    ///
    /// # Errors
    /// No entropy; not enough memory for the features.
    pub fn new(price: HiddenPrice, dimension: usize) -> Result<Self, FunctionalError> {
        let normal = NoiseSpec::Gaussian { sigma: 1.0 }.build().map_err(crate::accounting::PrivacyError::from)?;
        let zero = vec![[0.0; CLASSES]; dimension];
        let examples = price.descent.setting().examples as usize;
        let mut phi = Vec::new();
        phi.try_reserve_exact(examples.saturating_mul(dimension)).map_err(|_| FunctionalError::Memory)?;
        let mut training = Self {
            price,
            dimension,
            phi,
            labels: Vec::with_capacity(examples),
            scratch: Scratch::default(),
            row: vec![0; dimension],
            weights: zero.clone(),
            sum: zero,
            summed: 0,
            steps: 0,
            rng: SystemRng::new()?,
            normal,
        };
        // The start of the theorem: N(0, 2σ²/λ), projected.
        let setting = *training.price.descent.setting();
        training.add_noise(setting.noise * (2.0 / setting.strong_convexity).sqrt());
        training.project();
        Ok(training)
    }

    /// Computes the features of further images, up to `upto` in all.
    ///
    /// # Errors
    /// An invalid image or label.
    pub fn read(&mut self, map: &Map, data: &Dataset, upto: usize) -> Result<(), FunctionalError> {
        for image in self.labels.len()..upto.min(data.len()) {
            map.write_image(data, image, &mut self.scratch, &mut self.row)?;
            let label = data.labels[image];
            if usize::from(label) >= CLASSES {
                return Err(FunctionalError::Label(label));
            }
            self.phi.extend_from_slice(&self.row);
            self.labels.push(label);
        }
        Ok(())
    }

    /// Number of examples read.
    #[must_use]
    pub fn examples(&self) -> usize {
        self.labels.len()
    }

    /// Number of steps taken.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// True if all steps are taken.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.steps >= self.price.steps
    }

    /// Sums the gradients of the next block of examples; after the last one, takes the step. All
    /// examples of the price must have been read.
    ///
    /// # Errors
    /// Another number of examples than the price is for.
    pub fn advance(&mut self) -> Result<(), FunctionalError> {
        let n = self.labels.len();
        let priced = self.price.descent.setting().examples;
        if n as u64 != priced {
            return Err(FunctionalError::Examples { found: n, priced });
        }
        if self.is_done() {
            return Ok(());
        }
        let end = (self.summed + blocks() * BLOCK).min(n);
        let parts = self.parts(self.summed..end);
        for part in parts {
            self.sum.iter_mut().zip(part).for_each(|(sum, part)| add(sum, &part));
        }
        self.summed = end;
        if end == n {
            self.step();
        }
        Ok(())
    }

    /// The sums of these examples' blocks, in order.
    fn parts(&self, examples: std::ops::Range<usize>) -> Vec<Weights> {
        let starts: Vec<usize> = examples.clone().step_by(BLOCK).collect();
        let part = |start: usize| self.block(start..(start + BLOCK).min(examples.end));
        #[cfg(not(target_arch = "wasm32"))]
        {
            use rayon::prelude::*;
            starts.into_par_iter().map(part).collect()
        }
        #[cfg(target_arch = "wasm32")]
        starts.into_iter().map(part).collect()
    }

    /// Σ (p − t)φᵀ of a block, in grid steps of φ.
    fn block(&self, examples: std::ops::Range<usize>) -> Weights {
        let mut sum = vec![[0.0; CLASSES]; self.dimension];
        for example in examples {
            let phi = &self.phi[example * self.dimension..][..self.dimension];
            let mut scores = [0.0; CLASSES];
            for (phi, weights) in phi.iter().zip(&self.weights).filter(|(phi, _)| **phi != 0) {
                let phi = f64::from(*phi);
                scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += phi * weight);
            }
            let wrong = residual(&scores.map(|score| score / f64::from(UNIT)), self.labels[example]);
            for (phi, sum) in phi.iter().zip(&mut sum).filter(|(phi, _)| **phi != 0) {
                let phi = f64::from(*phi);
                sum.iter_mut().zip(wrong).for_each(|(sum, wrong)| *sum += phi * wrong);
            }
        }
        sum
    }

    /// w ← Π(w − η(Σ (p − t)φᵀ/n + λw) + √(2ησ²)·N(0, I)).
    fn step(&mut self) {
        let Setting { step_size, noise, strong_convexity, examples, .. } = *self.price.descent.setting();
        let unit = 1.0 / (f64::from(UNIT) * examples as f64);
        for (weights, sum) in self.weights.iter_mut().zip(&mut self.sum) {
            for (weight, sum) in weights.iter_mut().zip(std::mem::replace(sum, [0.0; CLASSES])) {
                *weight -= step_size * (sum * unit + strong_convexity * *weight);
            }
        }
        self.add_noise((2.0 * step_size).sqrt() * noise);
        self.project();
        (self.summed, self.steps) = (0, self.steps + 1);
    }

    fn add_noise(&mut self, deviation: f64) {
        let mut key = [0; 8];
        key.fill_with(|| self.rng.next_u32());
        let places = self.weights.iter_mut().flatten().zip(0..);
        places.for_each(|(weight, place)| *weight += deviation * noise_at(&key, place, &*self.normal));
    }

    /// Scales w into the ball that holds the minimum.
    fn project(&mut self) {
        let radius = (2.0 * (CLASSES as f64).ln() / self.price.descent.setting().strong_convexity).sqrt();
        let length = self.weights.iter().flatten().map(|w| w * w).sum::<f64>().sqrt();
        if length > radius {
            self.weights.iter_mut().flatten().for_each(|w| *w *= radius / length);
        }
    }

    /// Releases the last model. Record the price in the books before.
    ///
    /// # Errors
    /// [`FunctionalError::Early`] before the last step: no other model may be seen.
    pub fn release(&self) -> Result<&Weights, FunctionalError> {
        if self.is_done() { Ok(&self.weights) } else { Err(FunctionalError::Early) }
    }
}

/// Blocks of one [`HiddenTraining::advance`]: as many as there are cores.
fn blocks() -> usize {
    #[cfg(not(target_arch = "wasm32"))]
    return 8 * rayon::current_num_threads();
    #[cfg(target_arch = "wasm32")]
    1
}

/// p − t: how far the softmax of `scores` is from the label.
fn residual(scores: &[f64; CLASSES], label: u8) -> [f64; CLASSES] {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers = scores.map(|score| (score - most).exp());
    let sum: f64 = powers.iter().sum();
    let mut wrong = powers.map(|power| power / sum);
    wrong[usize::from(label)] -= 1.0;
    wrong
}

fn add(sum: &mut [f64; CLASSES], part: &[f64; CLASSES]) {
    sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accounting::{books::account, ledger::Ledger},
        data::synthetic,
        functional::{
            features::{Ball, Features},
            head::Trial,
        },
    };

    fn trained(budget: HiddenBudget, digits: &Dataset, map: &Map) -> HiddenTraining {
        let price = budget.price(digits.len() as u64).unwrap();
        let mut training = HiddenTraining::new(price, map.dimension()).unwrap();
        training.read(map, digits, usize::MAX).unwrap();
        while !training.is_done() {
            assert!(matches!(training.release(), Err(FunctionalError::Early)));
            training.advance().unwrap();
        }
        training
    }

    const BUDGET: HiddenBudget = HiddenBudget { epsilon: 2.0, delta: 1e-5, strong_convexity: 0.01, steps: 60 };

    #[test]
    fn a_training_reads_digits_at_its_price() {
        let map = Map::new(Features::Pixels14, Ball::L2);
        let digits = synthetic::dataset(3, 0, 4000);
        let training = trained(BUDGET, &digits, &map);
        let trial = Trial::of(&map, &synthetic::dataset(9, 50_000, 1000)).unwrap();
        let accuracy = trial.accuracy(training.release().unwrap());
        // 0.62 ± 0.02 over runs, whose noise nobody can choose; a tenth by chance.
        assert!(accuracy > 0.45, "{accuracy}");
        let ledger = Ledger::of([(training.price.release.clone(), 1)]).unwrap();
        let epsilon = account(&ledger, BUDGET.delta).unwrap().improved.epsilon;
        assert!(epsilon <= BUDGET.epsilon && epsilon > 0.999 * BUDGET.epsilon, "{epsilon}");
    }

    /// With next to no noise the descent finds the minimum, where the gradient is 0.
    #[test]
    fn the_descent_finds_the_minimum() {
        let map = Map::new(Features::Pixels14, Ball::L2);
        let digits = synthetic::dataset(3, 0, 600);
        let budget = HiddenBudget { epsilon: 100.0, strong_convexity: 0.05, steps: 600, ..BUDGET };
        let mut price = budget.price(600).unwrap();
        price.descent = Setting { noise: 1e-12, ..*price.descent.setting() }.checked().unwrap();
        let mut training = HiddenTraining::new(price, map.dimension()).unwrap();
        training.read(&map, &digits, usize::MAX).unwrap();
        while !training.is_done() {
            training.advance().unwrap();
        }
        let sums = training.block(0..600);
        let n = 600.0 * f64::from(UNIT);
        for (sum, weights) in sums.iter().zip(&training.weights) {
            for (sum, weight) in sum.iter().zip(weights) {
                assert!((sum / n + 0.05 * weight).abs() < 1e-9, "{sum} {weight}");
            }
        }
    }

    /// The constants of the theorem hold for any scores and features.
    #[test]
    fn gradients_are_bounded_and_as_smooth_as_claimed() {
        let mut rng = crate::rng::NotPrivateReplay::new(5);
        let mut uniform = || f64::from(rng.next_u32()) / 4_294_967_296.0;
        for _ in 0..2000 {
            let scores: [f64; CLASSES] = std::array::from_fn(|_| 40.0 * (uniform() - 0.5));
            let label = (10.0 * uniform()) as u8;
            let length = |v: &[f64; CLASSES]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
            let here = residual(&scores, label);
            assert!(length(&here) <= 0.5 * SENSITIVITY);
            // p − t changes by at most half of the change of scores.
            let moved: [f64; CLASSES] = std::array::from_fn(|k| scores[k] + 2.0 * (uniform() - 0.5));
            let there = residual(&moved, label);
            let apart = |a: &[f64; CLASSES], b: &[f64; CLASSES]| length(&std::array::from_fn(|k| a[k] - b[k]));
            assert!(apart(&here, &there) <= 0.5 * apart(&scores, &moved) * (1.0 + 1e-9));
        }
    }

    #[test]
    fn the_hidden_bound_levels_off_and_composition_does_not() {
        let price = HiddenBudget { strong_convexity: 0.02, steps: 1000, ..BUDGET }.price(60_000).unwrap();
        let [shown, hidden] = price.curves(1e-5, 100);
        assert!(hidden.iter().zip(&shown).all(|(hidden, shown)| hidden.1 <= shown.1 * (1.0 + 1e-12)));
        assert!(hidden[99].1 < 1.02 * hidden[49].1 && shown[99].1 > 1.35 * shown[49].1);
        assert!((hidden[99].1 / BUDGET.epsilon - 1.0).abs() < 1e-3, "{:?}", hidden[99]);
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        for (budget, fine) in [
            (BUDGET, true),
            (HiddenBudget { epsilon: 0.0, ..BUDGET }, false),
            (HiddenBudget { delta: 0.2, ..BUDGET }, false),
            (HiddenBudget { strong_convexity: 0.0, ..BUDGET }, false),
            (HiddenBudget { strong_convexity: f64::NAN, ..BUDGET }, false),
            (HiddenBudget { steps: 0, ..BUDGET }, false),
            (HiddenBudget { steps: u64::MAX, ..BUDGET }, false),
        ] {
            assert_eq!(budget.price(100).is_ok(), fine, "{budget:?}");
        }
        assert!(matches!(BUDGET.price(0), Err(FunctionalError::Empty)));
        let mut training = HiddenTraining::new(BUDGET.price(10).unwrap(), 197).unwrap();
        training.read(&Map::new(Features::Pixels14, Ball::L2), &synthetic::dataset(1, 0, 9), usize::MAX).unwrap();
        assert!(matches!(training.advance(), Err(FunctionalError::Examples { found: 9, priced: 10 })));
    }
}
