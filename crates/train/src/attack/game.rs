//! The candidate game: N people, one of whom was in the data. Who was it?
//!
//! The attacker is the strongest possible: one who sees every noisy step and knows all other
//! examples. Each candidate adds a vector of the largest allowed length along a direction of its
//! own, or is out. The log-likelihood ratio of the release along that direction
//! ([`audit::scores`](crate::accounting::audit::scores)), summed over the steps, is the candidate's
//! score, and the attacker names the largest. This simulates what the run's own release gives away:
//! no model is trained, and the figure is that of a worst-case example, not of a digit.
//!
//! The bound: random naming is right one time in N, so an attacker who names the right one with
//! probability p has a test of false-positive rate 1/N, on average over candidates, and
//! true-positive rate p. As the best trade-off is concave, p is at most its true-positive rate at
//! 1/N (reconstruction robustness: Hayes, Mahloujifar & Balle 2023).

use hushgrad_message::word;
use rand::rand_core::Rng as _;
use serde::{Deserialize, Serialize};

use super::{error::AttackError, estimate::Estimate, increments::Increments, progress::Progress, roc::Roc};
use crate::{
    accounting::{
        audit::scores::{Score, Scorer},
        books::Books,
        ledger::{Ledger, PrivacyUnit, Release, Sensitivity},
        noise::Noise,
        risk::{AttackBound as _, EpsilonDelta, PrivacyCurve},
        sampling::Sampling,
    },
    config::RunConfig,
    projection::planned,
    rng::NotPrivateReplay,
};

/// The most candidates: a round simulates four times as many.
pub const MOST_CANDIDATES: u32 = 4096;
/// Steps of the longest run.
const MOST_STEPS: u64 = 4_000_000;
/// Scores simulated by default, in at least [`FEWEST`] rounds: the standard error is then one or
/// two hundredths of the success.
const SCORES: usize = 50_000;
/// The fewest rounds that show their spread.
const FEWEST: u32 = 20;
/// Least number of candidates in, and of candidates out, in a round.
const LEAST: usize = 64;
/// Most scores of each kind that are kept for a ROC.
const KEPT: usize = 20_000;

/// A game in progress: scores are simulated, round by round.
pub struct Game {
    stretches: Vec<Stretch>,
    /// N: the candidates that the right one is among.
    candidates: u32,
    population: u64,
    rounds: u32,
    rng: NotPrivateReplay,
    /// Scores of the current round, with random tie-breakers.
    ins: Vec<(f64, u32)>,
    outs: Vec<(f64, u32)>,
    /// By k: the share of choices of N − 1 others that are all among k beaten ones of a round.
    wins: Vec<f64>,
    /// Of each finished round: how often the right one is named.
    named: Vec<f64>,
    kept: [Vec<f64>; 2],
    cost: Cost,
}

/// The run's cost, and what it leaves to an attacker.
#[derive(Clone, Debug)]
struct Cost {
    epsilon: f64,
    delta: f64,
    curve: PrivacyCurve,
}

/// Steps with the same sampling and release.
struct Stretch {
    noise: Box<dyn Noise>,
    sampling: Sampling,
    steps: u64,
    increments: Increments,
}

/// The result of a game.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Outcome {
    /// N.
    pub candidates: u32,
    /// How often the attack names the right one.
    pub attack: Estimate,
    /// The success that no attack exceeds, by the run's whole privacy curve.
    pub bound: f64,
    /// The same, by ε and δ alone.
    pub bound_of_epsilon: f64,
    /// The success of random naming: 1/N.
    pub chance: f64,
    /// The run's cost, from above: the tight ε.
    pub epsilon: f64,
    /// At this δ.
    pub delta: f64,
    /// Simulated scores of candidates in, and of candidates out.
    pub simulated: (u64, u64),
}

impl Game {
    /// Creates the game about a run of `config` to its end on `examples` training examples.
    ///
    /// # Errors
    /// A run without an end or without a price, and as [`Game::of`].
    pub fn new(config: &RunConfig, examples: u32, candidates: u32, seed: u64) -> Result<Self, AttackError> {
        let steps = config.steps.ok_or(AttackError::NoEnd)?;
        let books = planned(config, examples, steps)?;
        Self::of(books.ledger(), config.delta, config.units(examples).into(), candidates, seed)
    }

    /// Creates the game about a ledger's releases on a `population` of protected units (examples,
    /// micro-batches or users). `seed` determines the simulation, and nothing else.
    ///
    /// # Errors
    /// [`AttackError::Candidates`], [`AttackError::Population`]; a ledger without steps, noise or
    /// bound, too long, or not scored: an envelope, cyclic sampling, an example of a micro-batch.
    pub fn of(ledger: &Ledger, delta: f64, population: u64, candidates: u32, seed: u64) -> Result<Self, AttackError> {
        check_candidates(candidates, population)?;
        let steps = ledger.steps();
        if steps == 0 {
            return Err(AttackError::NoSteps);
        }
        if steps > MOST_STEPS {
            return Err(AttackError::TooLong { steps, most: MOST_STEPS });
        }
        let stretches = ledger.events().iter().filter_map(|event| {
            let release = ledger.releases().get(event.release as usize)?;
            Some(Stretch::new(release, event.count))
        });
        let stretches: Vec<Stretch> = stretches.collect::<Result<_, _>>()?;
        let books = Books::of(ledger.clone())?;
        let epsilon = books.tight(delta)?.value;
        let curve = PrivacyCurve::new(books.curve_about(epsilon, delta)?);
        let curve = curve.map_err(|_| AttackError::NoGuarantee)?;
        let mut game = Self {
            stretches,
            candidates,
            population,
            rounds: FEWEST,
            rng: NotPrivateReplay::new(seed),
            ins: Vec::new(),
            outs: Vec::new(),
            wins: Vec::new(),
            named: Vec::new(),
            kept: [Vec::new(), Vec::new()],
            cost: Cost { epsilon, delta, curve },
        };
        game.wins = game.wins();
        let (ins, outs) = game.round();
        game.rounds = FEWEST.max((SCORES / (ins + outs)) as u32);
        Ok(game)
    }

    /// Sets the total number of rounds, at least 2; the standard error falls with its square root.
    pub fn set_rounds(&mut self, rounds: u32) {
        self.rounds = rounds.max(2);
    }

    /// Returns a round's numbers of scores: of candidates in, and of candidates out.
    fn round(&self) -> (usize, usize) {
        let outs = LEAST.max(4 * (self.candidates as usize - 1));
        (LEAST.max(outs / 2), outs)
    }

    /// Returns, by k, the share of choices of N − 1 of the round's n others within the k that rank
    /// below: C(k, N − 1)/C(n, N − 1). Its mean over rounds is the probability itself.
    fn wins(&self) -> Vec<f64> {
        let (n, others) = (self.round().1, self.candidates as usize - 1);
        (0..=n)
            .map(|k| if k < others { 0.0 } else { (0..others).map(|i| (k - i) as f64 / (n - i) as f64).product() })
            .collect()
    }

    /// Returns the numbers of scores simulated, and in all.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let (ins, outs) = self.round();
        let round = (ins + outs) as u64;
        let (rounds, part) = (self.named.len() as u64, (self.ins.len() + self.outs.len()) as u64);
        Progress { done: rounds * round + part, of: u64::from(self.rounds) * round }
    }

    /// Simulates up to `scores` more scores, each over all steps. Dropping it cancels the game.
    ///
    /// # Errors
    /// [`AttackError::NotFinite`] if a candidate's steps contradict one another; they never do.
    pub fn advance(&mut self, scores: u32) -> Result<Progress, AttackError> {
        let (ins, outs) = self.round();
        for _ in 0..scores {
            if self.named.len() >= self.rounds as usize {
                break;
            }
            let is_in = self.ins.len() < ins;
            // What a single step rules out is clamped to a finite score.
            let score = self.score(is_in).clamp(f64::MIN, f64::MAX);
            let of = if is_in { word!("candidates that were in") } else { word!("candidates that were out") };
            let kind = if is_in { &mut self.ins } else { &mut self.outs };
            if !score.is_finite() {
                return Err(AttackError::NotFinite { of, place: kind.len(), value: score });
            }
            kind.push((score, self.rng.next_u32()));
            if self.outs.len() == outs {
                self.end_round();
            }
        }
        Ok(self.progress())
    }

    fn end_round(&mut self) {
        let order = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        self.outs.sort_by(order);
        let beaten = |one: &(f64, u32)| self.outs.partition_point(|other| order(other, one).is_lt());
        let named: f64 = self.ins.iter().map(|one| self.wins[beaten(one)]).sum();
        self.named.push(named / self.ins.len() as f64);
        for (kept, new) in self.kept.iter_mut().zip([&mut self.ins, &mut self.outs]) {
            let room = KEPT - kept.len().min(KEPT);
            kept.extend(new.iter().take(room).map(|(score, _)| score));
            new.clear();
        }
    }

    /// Returns the result of the finished rounds; `None` before the second.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        if self.named.len() < 2 {
            return None;
        }
        let (chance, rounds) = (1.0 / f64::from(self.candidates), self.named.len() as u64);
        let Cost { epsilon, delta, curve } = &self.cost;
        let point = EpsilonDelta::new(*epsilon, *delta).map_or(1.0, |point| point.best_true_positive_rate(chance));
        let (ins, outs) = self.round();
        Some(Outcome {
            candidates: self.candidates,
            attack: Estimate::mean(&self.named),
            bound: curve.best_true_positive_rate(chance),
            bound_of_epsilon: point,
            chance,
            epsilon: *epsilon,
            delta: *delta,
            simulated: (rounds * ins as u64, rounds * outs as u64),
        })
    }

    /// Returns the attacker's ROC for one candidate, from at most 20,000 scores of each kind.
    ///
    /// # Errors
    /// [`AttackError::NoScores`] before the first round is done.
    pub fn roc(&self) -> Result<Roc, AttackError> {
        Roc::new(&self.kept[0], &self.kept[1])
    }

    /// Returns the run's whole privacy curve.
    #[must_use]
    pub const fn curve(&self) -> &PrivacyCurve {
        &self.cost.curve
    }

    /// Returns the size of the population.
    #[must_use]
    pub const fn population(&self) -> u64 {
        self.population
    }

    /// Simulates a candidate's score: the log-likelihood ratio of all releases with it and without.
    fn score(&mut self, is_in: bool) -> f64 {
        let mut walk = Walk { score: 0.0, epoch: None };
        for stretch in &self.stretches {
            stretch.walk(&mut walk, is_in, &mut self.rng);
        }
        walk.end()
    }
}

fn check_candidates(candidates: u32, population: u64) -> Result<(), AttackError> {
    if !(2..=MOST_CANDIDATES).contains(&candidates) {
        return Err(AttackError::Candidates { candidates, most: MOST_CANDIDATES });
    }
    if u64::from(candidates) > population {
        return Err(AttackError::Population { candidates, population });
    }
    Ok(())
}

/// A candidate's state through the steps.
struct Walk {
    /// The score of closed epochs.
    score: f64,
    epoch: Option<Epoch>,
}

struct Epoch {
    batches: u64,
    /// Number of batches so far, and the sum of their likelihood ratios.
    done: u64,
    ratios: f64,
    /// The batch that has the candidate.
    own: u64,
}

impl Walk {
    /// Adds ln of an epoch's mean ratio; a batch that never came has the ratio 1.
    fn close(&mut self) {
        if let Some(Epoch { batches, done, ratios, .. }) = self.epoch.take() {
            self.score += ((ratios + (batches - done) as f64) / batches as f64).ln();
        }
    }

    fn end(mut self) -> f64 {
        self.close();
        self.score
    }
}

impl Stretch {
    fn new(release: &Release, steps: u64) -> Result<Self, AttackError> {
        let norm = match (&release.sensitivity, release.unit) {
            (_, PrivacyUnit::ExampleInMicroBatch) => return Err(AttackError::MicroBatch),
            (Sensitivity::Envelope { .. }, _) => return Err(AttackError::Envelope),
            (Sensitivity::Unbounded, _) => return Err(AttackError::NoGuarantee),
            (Sensitivity::Pair(_), _) => return Err(AttackError::Pair),
            (Sensitivity::L2 { norm }, _) => *norm,
        };
        let noise = release.noise.as_ref().ok_or(AttackError::NoGuarantee)?;
        // In multiples of what a candidate adds.
        let noise = noise.with_scale(noise.scale() / norm).build()?;
        // The place of the candidate is drawn with this probability, independently each step.
        let sampling = match release.sampling {
            Sampling::FixedSize { population, size } => Sampling::Poisson { rate: size as f64 / population as f64 },
            other => other,
        };
        // Refuses a sampling that is not scored.
        Scorer::new(sampling)?;
        let increments = Increments::new(&*noise, |x| increment(&*noise, sampling, x));
        Ok(Self { noise, sampling, steps, increments })
    }

    fn of(&self, x: f64) -> f64 {
        increment(&*self.noise, self.sampling, x)
    }

    /// Returns the increment of `count` steps that do not draw the candidate.
    fn undrawn(&self, count: u64, rng: &mut NotPrivateReplay) -> f64 {
        self.increments.sum(count, &*self.noise, |x| self.of(x), rng)
    }

    fn drawn(&self, rng: &mut NotPrivateReplay) -> f64 {
        self.of(1.0 + self.noise.sample(rng))
    }

    fn walk(&self, walk: &mut Walk, is_in: bool, rng: &mut NotPrivateReplay) {
        let (Sampling::Shuffled { batches } | Sampling::RandomAllocation { batches }) = self.sampling else {
            walk.close();
            // Any other sampling was refused.
            let rate = if let Sampling::Poisson { rate } = self.sampling { rate } else { 0.0 };
            let drawn = if is_in { draws(self.steps, rate, rng) } else { 0 };
            walk.score += self.undrawn(self.steps - drawn, rng);
            (0..drawn).for_each(|_| walk.score += self.drawn(rng));
            return;
        };
        let mut left = self.steps;
        while left > 0 {
            if walk.epoch.as_ref().is_some_and(|epoch| epoch.batches != batches) {
                walk.close();
            }
            let epoch = walk.epoch.get_or_insert_with(|| {
                let own = (u128::from(rng.next_u64()) * u128::from(batches)) >> 64;
                Epoch { batches, done: 0, ratios: 0.0, own: own as u64 }
            });
            let now = left.min(batches - epoch.done);
            let has_own = is_in && (epoch.done..epoch.done + now).contains(&epoch.own);
            epoch.ratios += self.undrawn(now - u64::from(has_own), rng);
            if has_own {
                epoch.ratios += self.drawn(rng);
            }
            epoch.done += now;
            left -= now;
            if epoch.done == batches {
                walk.close();
            }
        }
    }
}

/// Returns the score increment of a release x, or its likelihood ratio for epoch-wise scores.
fn increment(noise: &dyn Noise, sampling: Sampling, x: f64) -> f64 {
    match sampling {
        Sampling::Shuffled { .. } | Sampling::RandomAllocation { .. } => noise.log_ratio(x, 1.0).exp(),
        _ => {
            let mut score = Score::default();
            Scorer::new(sampling).map_or(f64::NAN, |scorer| {
                scorer.take(&mut score, |side| noise.log_ratio(x, side));
                scorer.value(&score)
            })
        }
    }
}

/// Counts hits of `steps` independent draws of probability `rate`, by geometric gaps.
fn draws(steps: u64, rate: f64, rng: &mut NotPrivateReplay) -> u64 {
    if rate >= 1.0 {
        return steps;
    }
    let ln_miss = (-rate).ln_1p();
    let (mut at, mut hits) = (0.0, 0);
    loop {
        // Misses before the next hit; infinitely many at rate 0.
        let uniform = (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0;
        at += (uniform.ln() / ln_miss).floor() + 1.0;
        if at > steps as f64 || at.is_nan() {
            return hits;
        }
        hits += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accounting::noise::NoiseSpec,
        config::SamplingPolicy,
        mechanism::{EncoderSpec, EnvelopeShape},
    };

    fn config(lot: u32, steps: u64, sigma: f64) -> RunConfig {
        RunConfig { lot, steps: Some(steps), noise: Some(NoiseSpec::Gaussian { sigma }), ..RunConfig::default() }
    }

    fn played(config: &RunConfig, examples: u32, candidates: u32, rounds: u32) -> Outcome {
        let mut game = Game::new(config, examples, candidates, 1).unwrap();
        game.set_rounds(rounds);
        while !game.advance(100).unwrap().complete() {}
        let roc = game.roc().unwrap();
        assert_eq!(roc.refutes(game.curve(), 0.01).unwrap(), None);
        game.outcome().unwrap()
    }

    /// The figures of `docs/attacks.md`: the attack's success, and its bound.
    #[test]
    fn the_attack_comes_near_its_bound_and_not_beyond() {
        for (name, config, candidates, rounds, attack, bound) in [
            ("15 epochs", config(256, 3515, 1.1), 10, 600, 0.146, 0.161),
            ("60 epochs", config(256, 14_062, 1.1), 10, 300, 0.207, 0.242),
            ("best-3", config(2048, 586, 1.395), 10, 1000, 0.250, 0.272),
            ("best-3", config(2048, 586, 1.395), 256, 60, 0.02, 0.025),
        ] {
            let found = played(&config, 60_000, candidates, rounds);
            println!("{name}, N {candidates}: {found:?}");
            let Estimate { value, standard_error } = found.attack;
            assert!((value - attack).abs() < 4.0 * standard_error + 0.02 * attack + 5e-4, "{name}: {found:?}");
            assert!((found.bound - bound).abs() < 0.03 * bound, "{name}: {found:?}");
            assert!(value < found.bound && value - 3.0 * standard_error > found.chance, "{name}: {found:?}");
            assert!(found.bound <= found.bound_of_epsilon && standard_error < 0.06 * value, "{name}: {found:?}");
        }
    }

    /// Table and skipped steps agree with the accountant's scorer in mean and spread.
    #[test]
    fn simulated_scores_are_those_of_the_scorer() {
        for (policy, phases) in [
            (SamplingPolicy::Poisson, ""),
            (SamplingPolicy::Poisson, "20; 45 noise 0.8"),
            (SamplingPolicy::RandomAllocation, ""),
            (SamplingPolicy::Shuffled, "20; 45 noise 1.3"),
        ] {
            let phases = if phases.is_empty() { Default::default() } else { phases.parse().unwrap() };
            let config = RunConfig { sampling: policy, phases, ..config(50, 65, 0.9) };
            let mut game = Game::new(&config, 500, 2, 3).unwrap();
            let specs: Vec<(NoiseSpec, u64)> = game
                .stretches
                .iter()
                .map(|stretch| (NoiseSpec::Gaussian { sigma: stretch.noise.scale() }, stretch.steps))
                .collect();
            for is_in in [false, true] {
                let fast: Vec<f64> = (0..6000).map(|_| game.score(is_in)).collect();
                let mut rng = NotPrivateReplay::new(4);
                let plain: Vec<f64> = (0..6000).map(|_| plain(policy, &specs, is_in, &mut rng)).collect();
                for power in [1, 2] {
                    let [fast, plain] = [&fast, &plain]
                        .map(|all| Estimate::mean(&all.iter().map(|x| x.powi(power)).collect::<Vec<_>>()));
                    let off = (fast.value - plain.value) / fast.standard_error.hypot(plain.standard_error);
                    assert!(off.abs() < 4.0, "{policy:?} {is_in} {power}: {fast:?} {plain:?}");
                }
            }
        }
    }

    fn plain(policy: SamplingPolicy, specs: &[(NoiseSpec, u64)], is_in: bool, rng: &mut NotPrivateReplay) -> f64 {
        let sampling = policy.over(500, 50);
        let noises: Vec<Box<dyn Noise>> = specs.iter().map(|(spec, _)| spec.build().unwrap()).collect();
        let (mut total, mut step, mut own) = (0.0, 0, 0);
        let (mut ratios, batches) = (vec![], sampling.batches().unwrap_or(1));
        for ((_, steps), noise) in specs.iter().zip(&noises) {
            let scorer = Scorer::new(sampling).unwrap();
            let mut score = Score::default();
            for _ in 0..*steps {
                if step % batches == 0 {
                    own = rng.next_u64() % batches;
                }
                let drawn = match sampling {
                    Sampling::Poisson { rate } => f64::from(rng.next_u32()) / 4_294_967_296.0 < rate,
                    _ => step % batches == own,
                };
                let x = noise.sample(rng) + f64::from(u8::from(is_in && drawn));
                match sampling {
                    Sampling::Poisson { .. } => scorer.take(&mut score, |side| noise.log_ratio(x, side)),
                    _ => ratios.push(noise.log_ratio(x, 1.0).exp()),
                }
                step += 1;
            }
            total += scorer.value(&score);
        }
        let mean =
            |epoch: &[f64]| (epoch.iter().sum::<f64>() + (batches as usize - epoch.len()) as f64) / batches as f64;
        total + ratios.chunks(batches as usize).map(|epoch| mean(epoch).ln()).sum::<f64>()
    }

    /// With one unsampled release the attack is optimal; for two candidates its success is known.
    #[test]
    fn two_candidates_and_one_release_match_the_known_success() {
        let config = RunConfig { noise: Some(NoiseSpec::Gaussian { sigma: 0.8 }), ..config(100, 1, 0.8) };
        let found = played(&config, 100, 2, 400);
        // P[N(1, σ²) > N(0, σ²)].
        let truth = crate::accounting::normal::cdf(1.0 / (0.8 * 2.0_f64.sqrt()));
        assert!((found.attack.value - truth).abs() < 4.0 * found.attack.standard_error, "{found:?} {truth}");
        assert!(found.attack.value <= found.bound && found.chance == 0.5);
    }

    #[test]
    fn noise_that_hides_all_leaves_chance_and_noise_that_hides_nothing_certainty() {
        let nothing = played(&config(100, 5, 1e30), 100, 4, 100);
        assert!((nothing.attack.value - 0.25).abs() < 4.0 * nothing.attack.standard_error, "{nothing:?}");
        assert!(nothing.bound < 0.2501 && nothing.epsilon < 1e-6);
        let all = played(&config(100, 5, 1e-3), 100, 4, 20);
        assert_eq!((all.attack.value, all.bound), (1.0, 1.0));
        // A given place is drawn as often in fixed-size lots.
        let fixed = RunConfig { sampling: SamplingPolicy::FixedSize, ..config(20, 50, 1.0) };
        let (fixed, poisson) = (played(&fixed, 200, 5, 200), played(&config(20, 50, 1.0), 200, 5, 200));
        let spread = fixed.attack.standard_error.hypot(poisson.attack.standard_error);
        assert!((fixed.attack.value - poisson.attack.value).abs() < 4.0 * spread && fixed.bound > poisson.bound);
    }

    #[test]
    fn advancing_in_pieces_gives_the_same_result() {
        let config = config(100, 50, 1.0);
        let of = |pieces: &[u32]| {
            let mut game = Game::new(&config, 1000, 3, 7).unwrap();
            game.set_rounds(3);
            assert!(game.outcome().is_none() && game.roc().is_err());
            for &piece in pieces {
                game.advance(piece).unwrap();
            }
            assert_eq!(game.progress(), Progress { done: 384, of: 384 });
            game.outcome()
        };
        assert_eq!(of(&[384]), of(&[1, 100, 0, 63, 150, 1000]));
    }

    #[test]
    fn what_cannot_be_played_is_refused() {
        let run = config(100, 50, 1.0);
        let of = |config: &RunConfig, candidates| Game::new(config, 1000, candidates, 1).map(|_| ()).unwrap_err();
        for candidates in [0, 1, 4097, u32::MAX] {
            assert!(matches!(of(&run, candidates), AttackError::Candidates { .. }));
        }
        assert!(matches!(of(&run, 1001), AttackError::Population { candidates: 1001, population: 1000 }));
        assert!(matches!(of(&RunConfig { steps: None, ..run.clone() }, 10), AttackError::NoEnd));
        assert!(matches!(of(&RunConfig { noise: None, ..run.clone() }, 10), AttackError::Price(_)));
        assert!(matches!(of(&config(100, 50, 0.0), 10), AttackError::Price(_)));
        let long = RunConfig { steps: Some(MOST_STEPS + 1), ..run.clone() };
        assert!(matches!(of(&long, 10), AttackError::TooLong { .. }));
        let envelope = EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors: 2, pre_scale: 1.0, seed: 0 };
        assert!(matches!(of(&RunConfig { encoder: envelope, ..run.clone() }, 10), AttackError::Envelope));
        assert!(matches!(of(&RunConfig { bands: 4, ..run.clone() }, 10), AttackError::Audit(_)));
        assert!(matches!(Game::of(&Ledger::new(), 1e-5, 100, 10, 1).map(|_| ()), Err(AttackError::NoSteps)));
    }
}
