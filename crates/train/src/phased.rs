//! A run's configuration, phase by phase.

use super::{
    config::RunConfig,
    error::ConfigError,
    phases::{Phase, Phases, shares},
};
use crate::mechanism::EncoderSpec;
use hushgrad_message::word;

fn in_phase(phase: &Phase, config: &RunConfig) -> RunConfig {
    let mut own = RunConfig { phases: Phases::None, ..config.clone() };
    if let Some(noise) = &mut own.noise {
        let scale = noise.scale() * phase.noise;
        *noise = phase.family.as_ref().unwrap_or(noise).with_scale(scale);
    }
    match &mut own.encoder {
        EncoderSpec::Clip { norm } => *norm *= phase.clip,
        EncoderSpec::Layers(clip) => clip.norms.iter_mut().for_each(|norm| *norm *= phase.clip),
        EncoderSpec::None | EncoderSpec::Envelope { .. } => {}
    }
    own.lot = phase.lot.unwrap_or(own.lot);
    own.learning_rate *= phase.rate;
    own
}

/// Returns each phase's steps and configuration, in order. Only checks the phases together.
///
/// # Errors
/// [`ConfigError`] on `phases`.
pub fn configurations(config: &RunConfig) -> Result<Vec<(u64, RunConfig)>, ConfigError> {
    if config.phases.is_none() {
        return Ok(vec![(config.steps.unwrap_or(u64::MAX), config.clone())]);
    }
    let contradiction = |sentence| Err(ConfigError::Contradiction { field: "phases", sentence });
    let phases = config.phases.over(config.steps)?;
    let any = |is: fn(&Phase) -> bool| phases.iter().any(is);
    if config.noise.is_none() && any(|phase| phase.noise != 1.0 || phase.family.is_some()) {
        return contradiction(word!("they change the noise, and there is none; choose a noise or no phases"));
    }
    if !config.encoder.clips() && any(|phase| phase.clip != 1.0) {
        return contradiction(word!(
            "they change the clipping norm, but gradients are not clipped; choose to clip, or leave the factor out"
        ));
    }
    if config.adaptive_clip.is_some() && any(|phase| phase.clip != 1.0) {
        return contradiction(word!(
            "they change the clipping norm, which follows the gradients' norms; leave the factor out, or choose a fixed clip"
        ));
    }
    let epochs = config.sampling.over(config.lot.max(1), config.lot).batches().is_some();
    if epochs && phases.iter().any(|phase| phase.lot.is_some_and(|lot| lot != config.lot)) {
        return contradiction(word!(
            "epochs have a fixed number of batches; choose Poisson sampling or a fixed size, or one lot for all phases"
        ));
    }
    Ok(phases.iter().map(|phase| (phase.steps, in_phase(phase, config))).collect())
}

impl RunConfig {
    /// Returns how often each of `train` examples was used in `steps` steps, on average.
    #[must_use]
    pub fn epochs(&self, train: u32, steps: u64) -> f64 {
        let phases = configurations(self).unwrap_or_default();
        let shares = shares(phases.iter().map(|(steps, _)| *steps), steps);
        let epochs = |(share, (_, phase)): (u64, &(u64, Self))| share as f64 / phase.steps_per_epoch(train);
        shares.zip(&phases).map(epochs).sum()
    }

    /// Returns the configuration of step `step` (from 0), or the run's own without valid phases.
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
        accounting::{ledger::Ledger, noise::NoiseSpec, rdp::epsilon_of},
        config::SamplingPolicy,
        phases::{NoiseSchedule, PhaseList, Rule},
        plan::Plan,
        projection,
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
    fn phases_survive_text_and_json() {
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
        // A configuration without the field has none.
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
            (
                RunConfig { sampling: SamplingPolicy::Shuffled, ..config(list("4; 4 lot 2"), 8) },
                "a fixed number of batches",
            ),
            (
                RunConfig { sampling: SamplingPolicy::RandomAllocation, ..config(list("4; 4 lot 2"), 8) },
                "a fixed number of batches",
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
        // The run's own lot is no change, and a rate may change without noise.
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
        // The same for phases that change nothing, to the last bit.
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
        /// At every step a phased run's projected cost is that of its ledger, by both accountants.
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
                let mut left = after.min(steps);
                let happened = plan.releases_from(0).unwrap().into_iter().map(|(release, count)| {
                    let count = count.min(left);
                    left -= count;
                    (release.clone(), count)
                });
                let ledger = Ledger::of(happened).unwrap();
                let said = projection::cost(&config, 60_000, after.min(steps)).unwrap();
                prop_assert_eq!(said, epsilon_of(&ledger, config.delta).unwrap());
                let planned = projection::planned(&config, 60_000, after.min(steps)).unwrap();
                prop_assert_eq!(planned.ledger().events(), ledger.events());
                let counts: u64 = plan.releases_from(after.min(steps)).unwrap().iter().map(|(_, count)| count.saturating_sub(1)).fold(0, u64::saturating_add);
                prop_assert!(counts > 0);
            }
        }

        /// Every phase has a step, lengths differ by at most one, and they sum to the run's steps.
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
