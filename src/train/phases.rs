//! Another noise in every phase: what Algorithm 1 calls Z_t (Nasr, Shokri & Houmansadr 2020, line 11), and what Theorem 1 adds up.
//!
//! A run of T steps has K phases, each with a noise, a clipping norm, a lot and a learning rate of its own. All of it is set before the first step and looks
//! at no example, so that a run costs the composition of its phases, phase by phase, and nothing besides. A schedule that follows private data cannot be
//! written down here.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{config::RunConfig, error::ConfigError};
use crate::{
    accounting::{decimal::quoted, noise::NoiseSpec, pld::MOST_KINDS},
    mechanism::EncoderSpec,
};

/// Phases of a run at most: as many kinds of release as tight accounting takes.
pub const MOST_PHASES: usize = MOST_KINDS;
/// Largest factor on a scale, a norm or a rate; the least is one over it.
const MOST_FACTOR: f64 = 1e3;

/// How a run's steps fall into phases, and what changes between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phases {
    /// All steps are alike.
    #[default]
    None,
    /// `phases` of equal lengths, whose noise scale goes from the run's to `to` times it.
    Schedule(NoiseSchedule),
    /// As written, each phase by itself.
    List(PhaseList),
}

/// A rule for the noise scale: phase k of K, counted from 0, has s_k times the run's scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NoiseSchedule {
    pub rule: Rule,
    /// K, from 2 to [`MOST_PHASES`].
    pub phases: u32,
    /// The last phase's factor; above 1 the noise grows.
    pub to: f64,
}

/// How s_k goes from 1 to r (the rules are those of Yu, Liu, Pu, Gursoy & Truex 2019, with κ taken from r, so that all of them end there).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// 1/(1 + κk), κ = (1/r − 1)/(K − 1).
    Time,
    /// e^{−κk}, κ = −ln r/(K − 1).
    Exponential,
    /// r in the second half of the phases: one step, half way.
    Step,
    /// (1 − r)(1 − k/(K − 1))² + r.
    Polynomial,
}

/// Phases as text: `STEPS`, then what is otherwise than in the run, by blanks; phases are parted by semicolons. `noise 0.5` and `clip 2` and `rate 0.1` are
/// factors, `lot 512` is a lot, and `laplace`, `gaussian`, `cauchy`, `variance-gamma` or `hyperbolic-secant` is another family at the phase's scale.
///
/// `200; 200 noise 0.7 rate 0.5; 100 laplace lot 512`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PhaseList(pub String);

/// What one phase has that the run has not.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    pub steps: u64,
    /// Factor on the noise scale.
    pub noise: f64,
    /// Another family; its own scale is 1.
    pub family: Option<NoiseSpec>,
    /// Factor on the clipping norm.
    pub clip: f64,
    pub lot: Option<u32>,
    /// Factor on the learning rate.
    pub rate: f64,
}

impl Phase {
    /// So many steps as the run has them.
    #[must_use]
    pub const fn plain(steps: u64) -> Self {
        Self { steps, noise: 1.0, family: None, clip: 1.0, lot: None, rate: 1.0 }
    }

    /// A run's configuration as it is in this phase.
    fn of(&self, config: &RunConfig) -> RunConfig {
        let mut own = RunConfig { phases: Phases::None, ..config.clone() };
        if let Some(noise) = &mut own.noise {
            let scale = noise.scale() * self.noise;
            *noise = self.family.as_ref().unwrap_or(noise).with_scale(scale);
        }
        if let EncoderSpec::Clip { norm } = &mut own.encoder {
            *norm *= self.clip;
        }
        own.lot = self.lot.unwrap_or(own.lot);
        own.learning_rate *= self.rate;
        own
    }
}

impl NoiseSchedule {
    /// s_k for k = 0, …, K − 1.
    #[must_use]
    pub fn factors(self) -> Vec<f64> {
        let (count, to) = (self.phases.max(1), self.to);
        let last = f64::from(count - 1).max(1.0);
        let factor = |k: u32| {
            let place = f64::from(k) / last;
            match self.rule {
                Rule::Time => 1.0 / (1.0 + (1.0 / to - 1.0) * place),
                Rule::Exponential => to.powf(place),
                Rule::Step if 2 * k < count => 1.0,
                Rule::Step => to,
                Rule::Polynomial => (1.0 - to) * (1.0 - place).powi(2) + to,
            }
        };
        (0..count).map(factor).collect()
    }

    /// The phases of `steps`: as long as one another, or a step longer.
    fn phases(self, steps: u64) -> Vec<Phase> {
        let count = u64::from(self.phases);
        let factors = self.factors();
        (0..)
            .zip(factors)
            .map(|(k, noise)| Phase { noise, ..Phase::plain(steps * (k + 1) / count - steps * k / count) })
            .collect()
    }
}

impl Phases {
    /// Whether all steps are alike.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The steps of all listed phases.
    #[must_use]
    pub fn steps(&self) -> Option<u64> {
        let Self::List(list) = self else { return None };
        Some(list.read().ok()?.iter().fold(0, |sum, phase| sum.saturating_add(phase.steps)))
    }

    /// What the phases of a run of `steps` change; of one without phases, one that changes nothing.
    ///
    /// # Errors
    /// [`ConfigError`] on `phases`, with what is wrong of which phase.
    fn over(&self, steps: Option<u64>) -> Result<Vec<Phase>, ConfigError> {
        let contradiction = |sentence| Err(ConfigError::Contradiction { field: "phases", sentence });
        let steps = match (self, steps) {
            (Self::None, steps) => return Ok(vec![Phase::plain(steps.unwrap_or(u64::MAX))]),
            (_, None) => return contradiction("phases are parts of a run that has an end; plan a number of steps"),
            (_, Some(steps)) => steps,
        };
        let phases = match self {
            Self::None => vec![],
            Self::Schedule(schedule) => {
                let range = |field, value: f64, fine: bool, range: String| match fine {
                    true => Ok(()),
                    false => Err(ConfigError::OutOfRange { field, value: quoted(value), range }),
                };
                let most = steps.min(MOST_PHASES as u64);
                let count = schedule.phases.into();
                range(
                    "phases.phases",
                    schedule.phases.into(),
                    (2..=most).contains(&count),
                    format!("from 2 to {most}"),
                )?;
                let fine = factor(schedule.to).is_some();
                range("phases.to", schedule.to, fine, "at least 0.001 and at most 1000".to_owned())?;
                schedule.phases(steps)
            }
            Self::List(list) => list.read()?,
        };
        let sum = phases.iter().fold(0u64, |sum, phase| sum.saturating_add(phase.steps));
        if sum != steps {
            return Err(ConfigError::OutOfRange {
                field: "phases",
                value: format!("{} phases of {sum} steps in all", phases.len()),
                range: format!("as many steps as the run has, {steps}"),
            });
        }
        Ok(phases)
    }
}

/// A factor in its range.
fn factor(value: f64) -> Option<f64> {
    (1.0 / MOST_FACTOR..=MOST_FACTOR).contains(&value).then_some(value)
}

/// As [`Phases::from_str`] reads it.
impl fmt::Display for Phases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::List(PhaseList(list)) => f.write_str(list),
            Self::Schedule(NoiseSchedule { rule, phases, to }) => write!(f, "{} {phases} {to}", rule.name()),
        }
    }
}

impl Rule {
    const ALL: [Self; 4] = [Self::Time, Self::Exponential, Self::Step, Self::Polynomial];

    const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Exponential => "exponential",
            Self::Step => "step",
            Self::Polynomial => "polynomial",
        }
    }
}

impl FromStr for Phases {
    type Err = ConfigError;

    /// `none`; a rule with the number of phases and the last one's factor (`exponential 6 0.5`); or a [`PhaseList`].
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        if text.trim() == "none" {
            return Ok(Self::None);
        }
        if let Some(rule) = Rule::ALL.into_iter().find(|rule| rule.name() == first) {
            let (phases, to) =
                (words.next().and_then(|word| word.parse().ok()), words.next().and_then(|word| word.parse().ok()));
            return match (phases, to, words.next()) {
                (Some(phases), Some(to), None) => Ok(Self::Schedule(NoiseSchedule { rule, phases, to })),
                _ => Err(ConfigError::OutOfRange {
                    field: "phases",
                    value: format!("“{}”", text.trim()),
                    range: format!(
                        "{first}, the number of phases and the last one's noise as a multiple of the first one's, as in “{first} 6 0.5”"
                    ),
                }),
            };
        }
        let list = PhaseList(text.to_owned());
        list.read().map(|_| Self::List(list))
    }
}

impl PhaseList {
    /// # Errors
    /// Which phase is wrong, and what is.
    fn read(&self) -> Result<Vec<Phase>, ConfigError> {
        let parts: Vec<&str> = self.0.trim().trim_end_matches(';').split(';').collect();
        if parts.len() > MOST_PHASES {
            return Err(ConfigError::OutOfRange {
                field: "phases",
                value: format!("a list of {} phases", parts.len()),
                range: format!("one of at most {MOST_PHASES}"),
            });
        }
        parts.into_iter().enumerate().map(|(place, part)| phase(place + 1, part)).collect()
    }
}

fn phase(place: usize, text: &str) -> Result<Phase, ConfigError> {
    const WORDS: &str = "a number of steps, and then noise, clip or rate with a factor from 0.001 to 1000, lot with a number, or another family of noise";
    let shown: String = text.trim().chars().take(40).collect();
    let wrong = || ConfigError::OutOfRange {
        field: "phases",
        value: format!("“{shown}” in phase {place}"),
        range: WORDS.to_owned(),
    };
    let mut words = text.split_whitespace();
    let steps = words.next().and_then(|word| word.parse().ok()).filter(|steps| *steps > 0).ok_or_else(wrong)?;
    let mut phase = Phase::plain(steps);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|word| word.parse::<f64>().ok()).and_then(factor).ok_or_else(wrong);
        match word {
            "noise" => phase.noise = number()?,
            "clip" => phase.clip = number()?,
            "rate" => phase.rate = number()?,
            "lot" => phase.lot = Some(words.next().and_then(|word| word.parse().ok()).ok_or_else(wrong)?),
            "gaussian" => phase.family = Some(NoiseSpec::Gaussian { sigma: 1.0 }),
            "laplace" => phase.family = Some(NoiseSpec::Laplace { scale: 1.0 }),
            "cauchy" => phase.family = Some(NoiseSpec::Cauchy { scale: 1.0 }),
            "variance-gamma" => phase.family = Some(NoiseSpec::VarianceGamma { scale: 1.0 }),
            "hyperbolic-secant" => phase.family = Some(NoiseSpec::HyperbolicSecant { scale: 1.0 }),
            _ => return Err(wrong()),
        }
    }
    Ok(phase)
}

/// The phases of a run, in order: how many steps each has, and the configuration that holds in it. What they are together is checked, each by itself is not.
///
/// # Errors
/// [`ConfigError`] on `phases`.
pub(super) fn configurations(config: &RunConfig) -> Result<Vec<(u64, RunConfig)>, ConfigError> {
    if config.phases.is_none() {
        return Ok(vec![(config.steps.unwrap_or(u64::MAX), config.clone())]);
    }
    let contradiction = |sentence| Err(ConfigError::Contradiction { field: "phases", sentence });
    let phases = config.phases.over(config.steps)?;
    let any = |is: fn(&Phase) -> bool| phases.iter().any(is);
    if config.noise.is_none() && any(|phase| phase.noise != 1.0 || phase.family.is_some()) {
        return contradiction("they change the noise, and there is none; choose a noise or no phases");
    }
    if !matches!(config.encoder, EncoderSpec::Clip { .. }) && any(|phase| phase.clip != 1.0) {
        return contradiction(
            "they change the clipping norm, and gradients are not clipped to one; choose to clip, or leave the factor out",
        );
    }
    let epochs = config.sampling.over(config.lot.max(1), config.lot).batches().is_some();
    if epochs && phases.iter().any(|phase| phase.lot.is_some_and(|lot| lot != config.lot)) {
        return contradiction(
            "an epoch has as many batches from its first to its last; choose Poisson sampling or a fixed size, or one lot for all phases",
        );
    }
    Ok(phases.iter().map(|phase| (phase.steps, phase.of(config))).collect())
}

impl RunConfig {
    /// How often each of `train` examples has been looked at after `steps` steps, on average.
    #[must_use]
    pub fn epochs(&self, train: u32, steps: u64) -> f64 {
        let (mut left, mut epochs) = (steps, 0.0);
        let phases = configurations(self).unwrap_or_default();
        let last = phases.len().saturating_sub(1);
        for (place, (count, phase)) in phases.iter().enumerate() {
            let count = if place == last { left } else { left.min(*count) };
            epochs += count as f64 / phase.sampling.steps_per_epoch(train, phase.lot);
            left -= count;
        }
        epochs
    }

    /// The configuration that holds in step `step` (the first is 0): the run's own where it has no phases, or where they are refused.
    #[must_use]
    pub fn in_step(&self, step: u64) -> Self {
        let mut first = 0u64;
        let phases = configurations(self).unwrap_or_default();
        let last = phases.len().saturating_sub(1);
        for (place, (steps, config)) in phases.into_iter().enumerate() {
            first = first.saturating_add(steps);
            if step < first || place == last {
                return config;
            }
        }
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        accounting::{ledger::Ledger, rdp::epsilon_of},
        train::{config::SamplingPolicy, plan::Plan, projection},
    };

    fn schedule(rule: Rule, phases: u32, to: f64) -> Phases {
        Phases::Schedule(NoiseSchedule { rule, phases, to })
    }

    fn list(text: &str) -> Phases {
        Phases::List(PhaseList(text.to_owned()))
    }

    fn config(phases: Phases, steps: u64) -> RunConfig {
        RunConfig { phases, steps: Some(steps), ..RunConfig::default() }
    }

    fn refusal(config: RunConfig) -> String {
        let refused = Plan::new(config.clone(), 60_000).unwrap_err();
        assert_eq!(projection::cost(&config, 60_000, 1).unwrap_err().to_string(), refused.to_string());
        refused.to_string()
    }

    #[test]
    fn rules_end_where_they_are_told_to() {
        let factors = |rule, to| NoiseSchedule { rule, phases: 5, to }.factors();
        for rule in Rule::ALL {
            for to in [0.25, 1.0, 4.0] {
                let all = factors(rule, to);
                assert!((all[0] - 1.0).abs() < 1e-12 && (all[4] - to).abs() < 1e-12, "{rule:?} {all:?}");
                let falls = all.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12);
                let grows = all.windows(2).all(|pair| pair[1] >= pair[0] - 1e-12);
                assert!(if to <= 1.0 { falls } else { grows }, "{rule:?} {all:?}");
            }
        }
        let near = |found: Vec<f64>, expected: [f64; 5]| {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        };
        // κ = 3/4: 1/(1 + κk).
        near(factors(Rule::Time, 0.25), [1.0, 1.0 / 1.75, 1.0 / 2.5, 1.0 / 3.25, 0.25]);
        near(factors(Rule::Exponential, 1.0 / 16.0), [1.0, 0.5, 0.25, 0.125, 0.0625]);
        near(factors(Rule::Step, 0.3), [1.0, 1.0, 1.0, 0.3, 0.3]);
        near(factors(Rule::Polynomial, 0.2), [1.0, 0.65, 0.4, 0.25, 0.2]);
    }

    #[test]
    fn a_list_says_what_each_phase_changes() {
        let config = config(list("3; 4 noise 0.5 rate 2 ; 5 laplace clip 0.1 lot 17;"), 12);
        let phases = configurations(&config).unwrap();
        assert_eq!(phases.iter().map(|(steps, _)| *steps).collect::<Vec<_>>(), [3, 4, 5]);
        let plain = RunConfig { phases: Phases::None, ..config.clone() };
        assert_eq!(phases[0].1, plain);
        let noise = Some(NoiseSpec::Gaussian { sigma: 0.55 });
        assert_eq!(phases[1].1, RunConfig { noise, learning_rate: 1.0, ..plain.clone() });
        let (noise, encoder) = (Some(NoiseSpec::Laplace { scale: 1.1 }), EncoderSpec::Clip { norm: 0.1 });
        assert_eq!(phases[2].1, RunConfig { noise, encoder, lot: 17, ..plain });
        assert_eq!([0, 2, 3, 6, 7, 11, 500].map(|step| config.in_step(step).lot), [256, 256, 256, 256, 17, 17, 17]);
        let epochs = config.epochs(60_000, 12);
        assert!((epochs - (7.0 * 256.0 + 5.0 * 17.0) / 60_000.0).abs() < 1e-12, "{epochs}");
    }

    #[test]
    fn text_comes_back() {
        for text in
            ["none", "time 3 0.5", "exponential 6 0.5", "step 2 2", "polynomial 64 0.001", "1; 2 noise 0.5", "7"]
        {
            let phases: Phases = text.parse().unwrap();
            assert_eq!(phases.to_string(), text);
            let json = serde_json::to_string(&phases).unwrap();
            assert_eq!(serde_json::from_str::<Phases>(&json).unwrap(), phases);
            assert_eq!(postcard::from_bytes::<Phases>(&postcard::to_stdvec(&phases).unwrap()).unwrap(), phases);
        }
        for text in [
            "",
            "exponential",
            "exponential 6",
            "exponential 6 0.5 7",
            "time x 0.5",
            "1; noise 2",
            "1;;2",
            "0",
            "1 noise",
            "1 noise 0",
            "1 noise NaN",
            "1 clip 1e9",
            "1 lot 2.5",
            "1 loud",
            "-3",
        ] {
            let error = text.parse::<Phases>().unwrap_err();
            assert!(error.field() == "phases" && error.to_string().len() > 40, "{text}: {error}");
        }
        // A configuration of before has none.
        assert_eq!(serde_json::from_str::<RunConfig>("{}").unwrap().phases, Phases::None);
    }

    #[test]
    fn what_contradicts_is_refused() {
        let plain = RunConfig::default();
        for (config, words) in [
            (RunConfig { phases: schedule(Rule::Time, 3, 0.5), ..plain.clone() }, "plan a number of steps"),
            (config(list("3; 4"), 8), "2 phases of 7 steps in all; it must be as many steps as the run has, 8"),
            (config(list("99999999999999999999"), 8), "in phase 1"),
            (config(list("4; 4 quiet"), 8), "“4 quiet” in phase 2"),
            (config(schedule(Rule::Time, 1, 0.5), 8), "from 2 to 8"),
            (config(schedule(Rule::Time, 9, 0.5), 8), "from 2 to 8"),
            (config(schedule(Rule::Time, 65, 0.5), 800), "from 2 to 64"),
            (config(schedule(Rule::Step, 2, 0.0), 8), "phases.to is 0"),
            (config(schedule(Rule::Step, 2, f64::NAN), 8), "phases.to is NaN"),
            (config(list(&"1;".repeat(65)), 65), "a list of 65 phases"),
            (RunConfig { noise: None, ..config(schedule(Rule::Step, 2, 0.5), 8) }, "there is none"),
            (RunConfig { encoder: EncoderSpec::None, ..config(list("4; 4 clip 2"), 8) }, "not clipped"),
            (RunConfig { sampling: SamplingPolicy::Shuffled, ..config(list("4; 4 lot 2"), 8) }, "as many batches"),
            (
                RunConfig { sampling: SamplingPolicy::RandomAllocation, ..config(list("4; 4 lot 2"), 8) },
                "as many batches",
            ),
            (config(list("4; 4 lot 60001"), 8), "lot is 60001"),
            (config(list("4; 4 lot 0"), 8), "lot is 0"),
            (
                RunConfig { encoder: EncoderSpec::Clip { norm: 1e6 }, ..config(list("4; 4 clip 2"), 8) },
                "encoder.norm is 2000000",
            ),
            (RunConfig { learning_rate: 1e6, ..config(list("4; 4 rate 2"), 8) }, "learning-rate is 2000000"),
        ] {
            let sentence = refusal(config);
            assert!(sentence.contains(words), "{words}: {sentence}");
        }
        // One lot for all phases is no other lot; and phases that change nothing are those of any run.
        for config in [
            RunConfig { sampling: SamplingPolicy::Shuffled, ..config(list("4; 4 lot 256 noise 2"), 8) },
            RunConfig { noise: None, encoder: EncoderSpec::None, ..config(list("4; 4 rate 2"), 8) },
        ] {
            assert!(Plan::new(config, 60_000).is_ok());
        }
    }

    #[test]
    fn a_run_without_phases_is_what_it_was() {
        let config = RunConfig { steps: Some(20), ..RunConfig::default() };
        let plan = Plan::new(config.clone(), 60_000).unwrap();
        assert!(plan.later.is_empty() && plan.opening == config);
        // So does one whose phases change nothing, to the last bit.
        let same = Plan::new(RunConfig { phases: list("9; 11"), ..config.clone() }, 60_000).unwrap();
        assert_eq!((same.task.clone(), same.later[0].task.clone()), (plan.task.clone(), plan.task));
        let cost = |config: &RunConfig| projection::cost(config, 60_000, 20).unwrap();
        assert_eq!(cost(&same.config), cost(&config));
        assert_eq!(
            projection::planned(&same.config, 60_000, 20).unwrap().ledger(),
            projection::planned(&config, 60_000, 20).unwrap().ledger()
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
        /// What is said of a phased run before it is what a ledger of its phases costs, at every step; by both accountants.
        #[test]
        fn a_phased_run_costs_its_phases(
            parts in prop::collection::vec((1u64..40, 0.6f64..3.0, 0usize..3), 2..5), after in 0u64..160,
        ) {
            let words = ["", " lot 512", " laplace"];
            let text: Vec<String> = parts.iter().map(|(steps, noise, word)| format!("{steps} noise {noise}{}", words[*word])).collect();
            let steps = parts.iter().map(|part| part.0).sum();
            let encoder = EncoderSpec::Envelope { shape: crate::mechanism::EnvelopeShape::Mixed, vectors: 2, pre_scale: 1.0, seed: 1 };
            for encoder in [EncoderSpec::Clip { norm: 1.0 }, encoder] {
                // Laplace noise has a price under an envelope alone.
                if parts.iter().any(|part| part.2 == 2) && matches!(encoder, EncoderSpec::Clip { .. }) {
                    continue;
                }
                let config = RunConfig { encoder, ..config(list(&text.join(";")), steps) };
                let plan = Plan::new(config.clone(), 60_000).unwrap();
                let mut ledger = Ledger::new();
                let mut left = after.min(steps);
                for (release, count) in plan.releases_from(0).unwrap() {
                    let id = ledger.register(release.clone()).unwrap();
                    ledger.record_many(id, count.min(left));
                    left -= count.min(left);
                }
                let said = projection::cost(&config, 60_000, after.min(steps)).unwrap();
                prop_assert_eq!(said, epsilon_of(&ledger, config.delta).unwrap());
                let planned = projection::planned(&config, 60_000, after.min(steps)).unwrap();
                prop_assert_eq!(planned.ledger().events(), ledger.events());
                let counts: u64 = plan.releases_from(after.min(steps)).unwrap().iter().map(|(_, count)| count.saturating_sub(1)).fold(0, u64::saturating_add);
                prop_assert!(counts > 0);
            }
        }

        /// Every phase has a step, and all have as many as there are.
        #[test]
        fn phases_of_a_schedule_are_alike(steps in 2u64..100_000, phases in 2u32..65) {
            prop_assume!(u64::from(phases) <= steps);
            let all = schedule(Rule::Exponential, phases, 0.5).over(Some(steps)).unwrap();
            let (least, most) = all.iter().fold((u64::MAX, 0), |(least, most), phase| (least.min(phase.steps), most.max(phase.steps)));
            prop_assert!(least >= 1 && most <= least + 1);
            prop_assert_eq!(all.iter().map(|phase| phase.steps).sum::<u64>(), steps);
        }
    }
}
