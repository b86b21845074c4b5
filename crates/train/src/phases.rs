//! Noise by phase: Algorithm 1's Z_t (line 11 in Nasr, Shokri & Houmansadr 2020) under Theorem 1.
//!
//! A run of T steps has K phases, each with its own noise, clipping norm, lot and learning rate.
//! All are fixed before the first step and depend on no example, so a run costs the composition of
//! its phases and no more. A schedule that follows private data cannot be expressed here.

use std::{fmt, str::FromStr};

use hushgrad_message::{Message, message, word};
use serde::{Deserialize, Serialize};

use super::{
    error::ConfigError,
    number::{parse, quoted},
};
use crate::accounting::{noise::NoiseSpec, pld::MOST_KINDS};

/// Most phases of a run: as many kinds of release as tight accounting takes.
pub const MOST_PHASES: usize = MOST_KINDS;
/// Largest factor on a scale, a norm or a rate; the smallest is its inverse.
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
    /// As written, each phase on its own.
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

/// How s_k goes from 1 to r: the rules of Yu, Liu, Pu, Gursoy & Truex 2019, with κ derived from r.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// 1/(1 + κk), κ = (1/r − 1)/(K − 1).
    Time,
    /// e^{−κk}, κ = −ln r/(K − 1).
    Exponential,
    /// 1 in the first half of the phases, r in the second.
    Step,
    /// (1 − r)(1 − k/(K − 1))² + r.
    Polynomial,
}

/// Phases as text, separated by semicolons: each is `STEPS` and its changes, separated by blanks.
/// `noise 0.5`, `clip 2` and `rate 0.1` are factors, `lot 512` is a lot, and `laplace`, `gaussian`,
/// `cauchy`, `variance-gamma` or `hyperbolic-secant` is another family at the phase's scale.
///
/// `200; 200 noise 0.7 rate 0.5; 100 laplace lot 512`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PhaseList(pub String);

/// The changes of one phase from the run.
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
    /// Creates a phase that changes nothing.
    #[must_use]
    pub const fn plain(steps: u64) -> Self {
        Self { steps, noise: 1.0, family: None, clip: 1.0, lot: None, rate: 1.0 }
    }
}

impl NoiseSchedule {
    /// Returns s_k for k = 0, …, K − 1.
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

    /// Returns the phases of `steps`; their lengths differ by at most one step.
    fn phases(self, steps: u64) -> Vec<Phase> {
        let phases = lengths(steps, self.phases).zip(self.factors());
        phases.map(|(steps, noise)| Phase { noise, ..Phase::plain(steps) }).collect()
    }
}

impl Phases {
    /// True if all steps are alike.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Returns the sum of all listed phases' steps; `None` without a valid list.
    #[must_use]
    pub fn steps(&self) -> Option<u64> {
        let Self::List(list) = self else { return None };
        Some(list.read().ok()?.iter().fold(0, |sum, phase| sum.saturating_add(phase.steps)))
    }

    /// Returns the phases of a run of `steps`; without phases, one that changes nothing.
    ///
    /// # Errors
    /// [`ConfigError`] on `phases`, naming the phase and what is wrong.
    pub(super) fn over(&self, steps: Option<u64>) -> Result<Vec<Phase>, ConfigError> {
        let contradiction = |sentence| Err(ConfigError::Contradiction { field: "phases", sentence });
        let steps = match (self, steps) {
            (Self::None, steps) => return Ok(vec![Phase::plain(steps.unwrap_or(u64::MAX))]),
            (_, None) => {
                return contradiction(word!("phases need a run that has an end; plan a number of steps"));
            }
            (_, Some(steps)) => steps,
        };
        let phases = match self {
            Self::None => vec![],
            Self::Schedule(schedule) => {
                let range = |field, value: f64, fine: bool, range: Message| match fine {
                    true => Ok(()),
                    false => Err(ConfigError::OutOfRange { field, value: Message::text(quoted(value)), range }),
                };
                let most = steps.min(MOST_PHASES as u64);
                let count = schedule.phases.into();
                range(
                    "phases.phases",
                    schedule.phases.into(),
                    (2..=most).contains(&count),
                    message!("from 2 to {most}"),
                )?;
                let fine = factor(schedule.to).is_some();
                range("phases.to", schedule.to, fine, word!("at least 0.001 and at most 1000").into())?;
                schedule.phases(steps)
            }
            Self::List(list) => list.read()?,
        };
        let sum = phases.iter().fold(0u64, |sum, phase| sum.saturating_add(phase.steps));
        if sum != steps {
            return Err(ConfigError::OutOfRange {
                field: "phases",
                value: message!("{} phases of {sum} steps in all", phases.len()),
                range: message!("as many steps as the run has, {steps}"),
            });
        }
        Ok(phases)
    }
}

/// Splits `steps` into `phases` lengths that differ by at most one.
pub fn lengths(steps: u64, phases: u32) -> impl Iterator<Item = u64> {
    let count = u64::from(phases);
    (0..count).map(move |k| steps * (k + 1) / count - steps * k / count)
}

/// Returns how many of `steps` fall into each phase of these lengths, any surplus into the last.
pub fn shares(lengths: impl IntoIterator<Item = u64>, steps: u64) -> impl Iterator<Item = u64> {
    let mut lengths = lengths.into_iter().peekable();
    let mut left = steps;
    std::iter::from_fn(move || {
        let length = lengths.next()?;
        let share = if lengths.peek().is_none() { left } else { left.min(length) };
        left -= share;
        Some(share)
    })
}

fn factor(value: f64) -> Option<f64> {
    (1.0 / MOST_FACTOR..=MOST_FACTOR).contains(&value).then_some(value)
}

/// Writes what [`Phases::from_str`] reads.
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
    pub(super) const ALL: [Self; 4] = [Self::Time, Self::Exponential, Self::Step, Self::Polynomial];

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

    /// Reads `none`, a rule with phases and last factor (`exponential 6 0.5`), or a [`PhaseList`].
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        if text.trim() == "none" {
            return Ok(Self::None);
        }
        if let Some(rule) = Rule::ALL.into_iter().find(|rule| rule.name() == first) {
            let (phases, to) = (words.next().and_then(|word| word.parse().ok()), words.next().and_then(parse));
            return match (phases, to, words.next()) {
                (Some(phases), Some(to), None) => Ok(Self::Schedule(NoiseSchedule { rule, phases, to })),
                _ => Err(ConfigError::OutOfRange {
                    field: "phases",
                    value: Message::text(format!("“{}”", text.trim())),
                    range: message!(
                        "{first}, the number of phases and the last one's noise as a multiple of the first one's, as in “{first} 6 0.5”",
                        first = rule.name().to_owned()
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
    /// The phase that is wrong, and what is wrong.
    fn read(&self) -> Result<Vec<Phase>, ConfigError> {
        let parts: Vec<&str> = self.0.trim().trim_end_matches(';').split(';').collect();
        if parts.len() > MOST_PHASES {
            return Err(ConfigError::OutOfRange {
                field: "phases",
                value: message!("a list of {} phases", parts.len()),
                range: message!("one of at most {MOST_PHASES}"),
            });
        }
        parts.into_iter().enumerate().map(|(place, part)| phase(place + 1, part)).collect()
    }
}

fn phase(place: usize, text: &str) -> Result<Phase, ConfigError> {
    const WORDS: &str = word!(
        "a number of steps, and then noise, clip or rate with a factor from 0.001 to 1000, lot with a number, or another family of noise"
    );
    let shown: String = text.trim().chars().take(40).collect();
    let wrong = || ConfigError::OutOfRange {
        field: "phases",
        value: message!("“{shown}” in phase {place}"),
        range: WORDS.into(),
    };
    let mut words = text.split_whitespace();
    let steps = words.next().and_then(|word| word.parse().ok()).filter(|steps| *steps > 0).ok_or_else(wrong)?;
    let mut phase = Phase::plain(steps);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(parse).and_then(factor).ok_or_else(wrong);
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
