//! A sweep: four runs that differ in one number.

use super::{choice::UserSource, numbers::Number, slider::Spacing, values::Settings};
use crate::{accounting::noise::NoiseSpec, plot::format, train::config::RunConfig};

/// Number of runs in a sweep.
pub const RUNS: usize = 4;
/// Factors below and above the current value that a sweep spans; δ spans orders of magnitude.
const REACH: (f64, f64) = (4.0, 4.0);
const REACH_OF_DELTA: (f64, f64) = (100.0, 10.0);
/// Values of a number in [0, 1].
const SHARES: [f64; RUNS] = [0.0, 0.3, 0.6, 0.9];
/// Middle of a sweep over budgets if none is set.
const BUDGET: f64 = 1.0;
/// Middle of a sweep over users if none are set.
const USERS: u32 = 1000;
/// Steps of a run if none are planned, and the most taken from a plan.
const STEPS: u64 = 120;
const MOST_STEPS: u64 = 400;

/// A sweep in progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    pub number: Number,
    pub values: Vec<f64>,
    /// Index of the current run in `values`; `values.len()` once all are done.
    pub at: usize,
    /// The training thread's number for that run, once it has started.
    pub run: Option<u32>,
    /// Settings before the sweep.
    pub before: Settings,
}

impl Sweep {
    /// Returns a sweep around the current value, on `train` examples; `None` if fewer than two
    /// values fit or the number has no slider.
    #[must_use]
    pub fn new(number: Number, settings: &Settings, train: u32) -> Option<Self> {
        let values = values(number, settings, train);
        (values.len() > 1).then(|| Self { number, values, at: 0, run: None, before: settings.clone() })
    }

    /// Returns the settings of the current run; `None` once all are done.
    #[must_use]
    pub fn settings(&self) -> Option<Settings> {
        let mut settings = self.before.clone();
        // With a budget, the noise scale would change along with the swept number.
        settings.budget = None;
        settings.steps = Some(self.before.steps.unwrap_or(STEPS).min(MOST_STEPS));
        settings.set_number(self.number, Some(*self.values.get(self.at)?));
        Some(settings)
    }

    /// True if `config` is the current run's. In a sweep over budgets any noise scale matches.
    #[must_use]
    pub fn wants(&self, config: &RunConfig) -> bool {
        self.settings().is_some_and(|mut settings| {
            if self.number == Number::Budget {
                settings.scale = config.noise.as_ref().map_or(settings.scale, NoiseSpec::scale);
            }
            settings.config() == *config
        })
    }

    #[must_use]
    pub fn name(&self) -> String {
        let value = self.values.get(self.at).copied().map_or_else(String::new, format::number);
        self.number.spec().named.with(&[("value", value)])
    }
}

/// Returns up to four round values: at equal ratios around the current one, or `SHARES` on a linear
/// slider. Lots and users are at most `train`.
#[must_use]
pub fn values(number: Number, settings: &Settings, train: u32) -> Vec<f64> {
    let spec = number.spec();
    let Some(slider) = spec.slider else { return vec![] };
    if slider.spacing == Spacing::Even {
        return SHARES.to_vec();
    }
    let now = match number {
        Number::Budget => settings.budget.unwrap_or(BUDGET),
        Number::Users => settings.users.unwrap_or(USERS).into(),
        Number::Steps => settings.steps.unwrap_or(STEPS).min(MOST_STEPS) as f64,
        _ => settings.number(number).unwrap_or_default(),
    };
    let (below, above) = if number == Number::Delta { REACH_OF_DELTA } else { REACH };
    let most = if matches!(number, Number::Lot | Number::Users) { train.into() } else { f64::INFINITY };
    // There cannot be fewer users than the files name.
    let of_files = number == Number::Users && settings.user_source == UserSource::Data;
    let low = if of_files { now } else { (now / below).max(slider.low) };
    let high = (now * above).min(slider.high).min(most).max(low);
    let mut values: Vec<f64> = (0..RUNS)
        .map(|i| low * (high / low).powf(i as f64 / (RUNS - 1) as f64))
        .map(|value| slider.value(slider.share(value)))
        // Rounding may exceed the limit.
        .filter(|value| spec.allows(*value) && *value <= most)
        .collect();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweep_values_surround_the_current_value() {
        let settings = Settings::default();
        for number in [Number::Scale, Number::LearningRate, Number::Lot, Number::ClipNorm] {
            let sweep = Sweep::new(number, &settings, 60_000).unwrap();
            let now = settings.number(number).unwrap();
            assert_eq!(sweep.values.len(), RUNS, "{number:?}");
            assert!(sweep.values[0] < now && sweep.values[RUNS - 1] > now, "{number:?} {:?}", sweep.values);
            assert!(sweep.values.windows(2).all(|w| w[0] < w[1]));
        }
        let planned = Settings { budget: Some(1.0), steps: Some(100), ..settings.clone() };
        let found = |number, settings| Sweep::new(number, settings, 60_000).map(|sweep| sweep.values);
        for number in [Number::EnvelopeSeed, Number::InitSeed, Number::Replay] {
            assert_eq!(found(number, &planned), None, "{number:?}");
        }
        assert_eq!(found(Number::Delta, &settings).unwrap(), [1e-7, 1e-6, 1e-5, 1e-4]);
        for number in [Number::Momentum, Number::RateEnd] {
            assert_eq!(found(number, &settings).unwrap(), SHARES);
        }
        // Numbers that may be empty are swept around a default.
        assert_eq!(found(Number::Budget, &settings), found(Number::Budget, &planned));
        assert_eq!(found(Number::Budget, &planned).unwrap(), [0.25, 0.63, 1.6, 4.0]);
        assert_eq!(found(Number::Steps, &planned).unwrap(), [25.0, 63.0, 160.0, 400.0]);
        assert_eq!(found(Number::Steps, &settings).unwrap().len(), RUNS);
        for number in Number::ALL {
            let values = found(number, &planned).unwrap_or_default();
            assert!(values.iter().all(|value| number.spec().allows(*value)), "{number:?} {values:?}");
            assert_eq!(values.is_empty(), number.spec().slider.is_none(), "{number:?}");
        }
        let far = Settings { scale: 1e4, ..settings };
        assert!(Sweep::new(Number::Scale, &far, 60_000).is_none_or(|sweep| sweep.values.len() <= RUNS));
    }

    #[test]
    fn no_lot_of_a_sweep_is_larger_than_the_data() {
        let settings = Settings::default();
        assert_eq!(Sweep::new(Number::Lot, &settings, 400).unwrap().values, [64.0, 128.0, 256.0, 368.0]);
        for train in 256..2000 {
            let mut sweep = Sweep::new(Number::Lot, &settings, train).unwrap();
            while let Some(settings) = sweep.settings() {
                assert!(settings.check_data(train).is_ok());
                sweep.at += 1;
            }
            assert!(sweep.values.contains(&64.0), "{train}");
        }
        let tiny = Settings { lot: 16, ..settings };
        assert_eq!(Sweep::new(Number::Lot, &tiny, 16), None);
    }

    #[test]
    fn runs_of_a_sweep_differ_in_one_number_and_end() {
        let settings = Settings { budget: Some(1.0), ..Settings::default() };
        let mut sweep = Sweep::new(Number::Scale, &settings, 60_000).unwrap();
        let first = sweep.settings().unwrap();
        assert_eq!((first.steps, first.budget, first.scale), (Some(STEPS), None, sweep.values[0]));
        assert_eq!(sweep.name(), format!("noise scale {}", format::number(sweep.values[0])));
        sweep.at = RUNS;
        assert_eq!(sweep.settings(), None);
        let budgets = Sweep::new(Number::Budget, &settings, 60_000).unwrap();
        let first = budgets.settings().unwrap();
        assert_eq!((first.steps, first.budget, first.scale), (Some(STEPS), Some(0.25), settings.scale));
        // The budget determines the noise; everything else must match.
        assert!(budgets.wants(&Settings { scale: 7.5, ..first.clone() }.config()));
        assert!(!budgets.wants(&Settings { lot: 7, ..first }.config()));
        let scales = Sweep::new(Number::Scale, &settings, 60_000).unwrap();
        assert!(!scales.wants(&Settings { scale: 7.5, ..scales.settings().unwrap() }.config()));
        let steps = Sweep::new(Number::Steps, &settings, 60_000).unwrap();
        assert_eq!(steps.settings().unwrap().steps, Some(steps.values[0] as u64));
        let long = Settings { steps: Some(14_063), ..Settings::default() };
        assert_eq!(Sweep::new(Number::Lot, &long, 60_000).unwrap().settings().unwrap().steps, Some(MOST_STEPS));
    }
}
