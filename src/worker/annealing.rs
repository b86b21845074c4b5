//! Simulated annealing of a run's noise over its phases, one run at a time, on drawn public digits.

use std::time::Duration;

use hushgrad_message::{Message, ToMessage, word};
use serde::{Deserialize, Serialize};
use web_time::Instant;

use crate::{
    data::{Digits, synthetic},
    engine::{AnyEngine, Engine as _, EngineFactory, cross_entropy},
    rng::NotPrivateReplay,
    train::{
        anneal::Annealing,
        config::RunConfig,
        phases::{PhaseList, Phases, lengths},
        plan::Plan,
        projection::{cost, scale_or_least},
        session::Session,
    },
};

/// Schedules tried after the one of equal noise.
pub const PROPOSALS: u32 = 100;
/// Digits drawn: for training, and held out to measure the loss.
const DRAWN: (usize, usize) = (10_000, 1000);
/// Seed of digits, runs and proposals, all of which are public.
const SEED: u64 = 1;
/// At first, a rise of the loss by this share of the first loss is accepted with probability 1/e.
const HOT: f64 = 0.01;

/// Progress of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnnealProgress {
    /// Schedules tried so far; 0: equal noise alone.
    pub proposal: u32,
    pub temperature: f64,
    /// Mean cross-entropy on held-out digits, in nats: equal noise, accepted last, and least.
    pub first: f64,
    pub loss: f64,
    pub least: f64,
    /// The schedule accepted last, and the one with the least loss.
    pub now: Scheduled,
    pub best: Scheduled,
}

/// Noise over the phases of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scheduled {
    /// The noise scale, which the phases multiply.
    pub scale: f64,
    /// The factor of each phase, to three digits.
    pub factors: Vec<f64>,
    /// As a list of phases.
    pub list: String,
}

pub struct Search {
    config: RunConfig,
    /// Steps of each phase.
    lengths: Vec<u64>,
    /// The number of examples, and the ε that every schedule costs on them.
    examples: u32,
    epsilon: f64,
    digits: Digits,
    rng: NotPrivateReplay,
    annealing: Option<Annealing>,
    /// The schedule on trial, the factors proposed, and the run.
    trial: Option<(Scheduled, Vec<f64>, Session<AnyEngine>)>,
    proposal: u32,
    first: f64,
    now: Scheduled,
    best: Scheduled,
}

impl Search {
    /// Starts a search at the ε of the run on `examples` examples.
    ///
    /// # Errors
    /// A sentence if the run has no price, schedule or end, or no such digits can be drawn.
    pub fn new(config: RunConfig, examples: u32) -> Result<Self, Message> {
        let (Some(steps), Phases::Schedule(schedule)) = (config.steps, &config.phases) else {
            return Err(word!(
                "annealing needs a planned number of steps, and noise that changes over phases by a rule"
            )
            .into());
        };
        let (picture, classes) = (config.model.picture(), config.model.classes());
        let digits = synthetic::like(picture, classes, SEED, DRAWN.0, DRAWN.1).ok_or(word!(
            "the noise is annealed on public images, and the program draws none of this size with this many classes"
        ))?;
        let lengths = lengths(steps, schedule.phases).collect();
        let epsilon = cost(&config, examples, steps).map_err(|error| error.to_message())?.improved.epsilon;
        Ok(Self {
            config,
            lengths,
            examples,
            epsilon,
            digits,
            rng: NotPrivateReplay::new(SEED),
            annealing: None,
            trial: None,
            proposal: 0,
            first: 0.0,
            now: Scheduled::default(),
            best: Scheduled::default(),
        })
    }

    /// True if all schedules were tried.
    #[must_use]
    pub fn done(&self) -> bool {
        self.annealing.is_some() && self.proposal >= PROPOSALS
    }

    /// Works for about `time`; `Some` when a schedule was tried.
    ///
    /// # Errors
    /// A sentence if a run is refused or fails.
    pub async fn piece(&mut self, time: Duration) -> Result<Option<AnnealProgress>, Message> {
        let start = Instant::now();
        if self.trial.is_none() {
            self.propose().await?;
        }
        let Some((_, _, session)) = &mut self.trial else { return Ok(None) };
        while !session.complete() {
            if start.elapsed() >= time {
                return Ok(None);
            }
            session.step().await.map_err(|error| error.to_message())?;
        }
        let scores = session.engine().scores(&self.digits.test).await.map_err(|error| error.to_message())?;
        let loss = cross_entropy(&scores, &self.digits.test.labels);
        Ok(self.trial.take().map(|(tried, factors, _)| self.judge(tried, &factors, loss)))
    }

    /// Begins the next run, equal noise first. All runs use the same draws; only the noise differs.
    async fn propose(&mut self) -> Result<(), Message> {
        let factors = match &self.annealing {
            Some(annealing) => annealing.propose(&mut self.rng),
            None => vec![1.0; self.lengths.len()],
        };
        // Rounded before pricing, so that ε is that of the list.
        let rounded: Vec<f64> = factors.iter().map(|factor| (factor * 1e3).round().max(1.0) / 1e3).collect();
        let phase = |(steps, factor): (&u64, &f64)| [&steps.to_string(), "noise", &factor.to_string()].join(" ");
        let phases: Vec<String> = self.lengths.iter().zip(&rounded).map(phase).collect();
        let list = phases.join("; ");
        let mut config = RunConfig { phases: Phases::List(PhaseList(list.clone())), ..self.config.clone() };
        let steps = config.steps.unwrap_or_default();
        let scale = scale_or_least(&config, self.examples, steps, self.epsilon).map_err(|error| error.to_message())?;
        let scale = scale.map_err(|_| Message::from(word!("no noise scale keeps the run's ε with these phases")))?;
        config.noise = config.noise.map(|noise| noise.with_scale(scale));
        config.replay = Some(SEED);
        let plan = Plan::new(config, self.digits.train.len() as u32).map_err(|error| error.to_message())?;
        let built = EngineFactory::cpu().build(&plan.task, &self.digits.train, &plan.initial_parameters()).await;
        let session =
            Session::new(plan, built.map_err(|error| error.to_message())?).map_err(|error| error.to_message())?;
        self.trial = Some((Scheduled { scale, factors: rounded, list }, factors, session));
        Ok(())
    }

    /// Accepts or rejects the schedule on trial.
    fn judge(&mut self, tried: Scheduled, factors: &[f64], loss: f64) -> AnnealProgress {
        let annealing = match &mut self.annealing {
            Some(annealing) => {
                self.proposal += 1;
                let before = annealing.best().1;
                if annealing.judge(factors, loss, &mut self.rng) {
                    if loss < before {
                        self.best = tried.clone();
                    }
                    self.now = tried;
                }
                annealing
            }
            none => {
                (self.first, self.now, self.best) = (loss, tried.clone(), tried);
                none.insert(Annealing::new(self.lengths.len(), loss, HOT * loss))
            }
        };
        let (temperature, loss) = annealing.now();
        AnnealProgress {
            proposal: self.proposal,
            temperature,
            first: self.first,
            loss,
            least: annealing.best().1,
            now: self.now.clone(),
            best: self.best.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::phases::{NoiseSchedule, Rule};

    /// Every accepted schedule costs what the run costs, and no more; the least loss is kept.
    #[test]
    fn all_schedules_cost_the_same_and_the_least_is_kept() {
        let phases = Phases::Schedule(NoiseSchedule { rule: Rule::Exponential, phases: 3, to: 0.5 });
        let config = RunConfig { phases, steps: Some(12), lot: 100, ..RunConfig::default() };
        let epsilon = cost(&config, 60_000, 12).unwrap().improved.epsilon;
        let mut search = Search::new(config.clone(), 60_000).unwrap();
        let mut told: Vec<AnnealProgress> = vec![];
        while !search.done() && told.len() < 12 {
            let piece = pollster::block_on(search.piece(Duration::from_millis(5)));
            told.extend(piece.unwrap());
        }
        assert_eq!(told.iter().map(|cooled| cooled.proposal).collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
        assert_eq!(told[0].now.factors, [1.0; 3]);
        for pair in told.windows(2) {
            assert!(pair[1].temperature < pair[0].temperature && pair[1].least <= pair[0].least);
        }
        for cooled in &told {
            assert!(cooled.least <= cooled.loss && cooled.least <= cooled.first);
            for scheduled in [&cooled.now, &cooled.best] {
                let noise = config.noise.as_ref().map(|noise| noise.with_scale(scheduled.scale));
                let phases = Phases::List(PhaseList(scheduled.list.clone()));
                let costs = cost(&RunConfig { noise, phases, ..config.clone() }, 60_000, 12).unwrap().improved.epsilon;
                assert!(costs <= epsilon && costs > 0.99 * epsilon, "{costs} {epsilon}");
            }
        }
        assert!(Search::new(RunConfig { steps: None, ..config }, 60_000).is_err());
    }
}
