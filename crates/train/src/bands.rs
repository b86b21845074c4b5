//! Correlated noise in a configuration: what it combines with, and how lots are drawn for it.

use super::{
    config::{RunConfig, SamplingPolicy},
    error::ConfigError,
};
use crate::{
    accounting::{noise::NoiseSpec, sampling::Sampling},
    mechanism::{
        MechanismError,
        correlated::{Correlation, most_bands},
    },
};
use hushgrad_message::{Message, message, word};

impl RunConfig {
    /// Returns how this run draws lots from `examples` training examples: by its policy or, if
    /// noise is correlated over steps, from groups in turn. A lot is as large as without groups: a
    /// group has one `bands`-th of the examples and is sampled at `bands` times the rate.
    #[must_use]
    pub fn drawn_from(&self, examples: u32) -> Sampling {
        match self.drawn_of_units(examples) {
            Sampling::Poisson { .. } if self.bands > 1 => Sampling::CyclicPoisson {
                rate: f64::from(self.bands) * f64::from(self.lot) / f64::from(examples),
                groups: self.bands.into(),
            },
            other => other,
        }
    }
}

/// Returns how much larger than fresh noise a step's noise can be.
pub(super) fn gain(config: &RunConfig) -> Result<f64, MechanismError> {
    Ok(Correlation::new(config.bands, config.model.parameters())?.map_or(1.0, |correlation| correlation.gain()))
}

/// Checks the correlated noise of a configuration on `examples` training examples.
///
/// # Errors
/// `bands` out of range, or what contradicts it.
pub(super) fn check(config: &RunConfig, examples: u32) -> Result<(), ConfigError> {
    let RunConfig { bands, lot, steps, .. } = *config;
    if bands == 1 {
        return Ok(());
    }
    let range = |range: Message| Err(ConfigError::OutOfRange { field: "bands", value: Message::text(bands), range });
    let most = most_bands(config.model.parameters());
    if bands == 0 || bands > most {
        return range(message!("between 1 and {most}: the noise of that many steps is kept in memory"));
    }
    let contradiction = |sentence| Err(ConfigError::Contradiction { field: "bands", sentence });
    if config.sampling != SamplingPolicy::Poisson {
        return contradiction(word!(
            "noise over several steps has a price only with Poisson sampling from groups in turn; choose Poisson sampling or 1 band"
        ));
    }
    if !config.phases.is_none() {
        return contradiction(word!(
            "noise over several steps has one scale for all of them, but phases change it; choose no phases or 1 band"
        ));
    }
    if !matches!(config.noise, Some(NoiseSpec::Gaussian { .. })) {
        return contradiction(word!(
            "noise over several steps is proven private only if Gaussian; choose Gaussian noise or 1 band"
        ));
    }
    if !config.encoder.clips() {
        return contradiction(word!("noise over several steps needs clipped gradients; choose a clip or 1 band"));
    }
    if config.grid_bits.is_some() {
        return contradiction(word!(
            "a grid rounds noise as it is drawn, not as it is combined over several steps; choose no grid or 1 band"
        ));
    }
    if config.denoiser.needs_noise() {
        return contradiction(word!(
            "noise over several steps spreads differently at each, but the denoiser expects one spread; choose another denoiser or 1 band"
        ));
    }
    if let Some(steps) = steps.filter(|steps| u64::from(bands) > *steps) {
        return range(message!("at most the number of steps, {steps}"));
    }
    if u64::from(bands) * u64::from(lot) > examples.into() {
        return range(message!("at most {}, or a lot would be larger than a group", examples / lot.max(1)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;

    use super::*;
    use crate::rng::NotPrivateReplay;
    use crate::{
        accounting::rdp::epsilon_of,
        data::synthetic,
        engine::{Engine, Performance, StepInput, cpu::CpuEngine, reference::ReferenceEngine},
        mechanism::{Denoiser, EncoderSpec, EnvelopeShape},
        model::Architecture,
        plan::Plan,
        projection::{planned, scale_for},
        session::Session,
    };
    use rand::rand_core::Rng as _;

    fn banded(bands: u32) -> RunConfig {
        RunConfig { bands, ..RunConfig::default() }
    }

    #[test]
    fn a_file_without_bands_has_one_and_their_number_is_kept() {
        let read = |text: &str| serde_json::from_str::<RunConfig>(text).unwrap();
        assert_eq!(read("{}").bands, 1);
        assert_eq!(read(r#"{"bands":8}"#), banded(8));
        assert_eq!(read(&serde_json::to_string(&banded(8)).unwrap()), banded(8));
    }

    #[test]
    fn one_band_is_poisson_sampling() {
        assert_eq!(banded(1).drawn_from(60_000), Sampling::Poisson { rate: 256.0 / 60_000.0 });
        assert_eq!(banded(8).drawn_from(60_000), Sampling::CyclicPoisson { rate: 2048.0 / 60_000.0, groups: 8 });
        let plans = [1, 8].map(|bands| Plan::new(banded(bands), 60_000).unwrap());
        assert_eq!(plans[0].task, crate::engine::Task { bands: 1, ..plans[1].task.clone() });
        assert_eq!((plans[1].task.bands, plans[1].task.expected_lot), (8, 256.0));
        assert_eq!(plans[0].steps_per_epoch(), plans[1].steps_per_epoch());
    }

    #[test]
    fn what_correlated_noise_does_not_go_with_is_refused() {
        let refused = |config: RunConfig, examples: u32| {
            let error = Plan::new(config, examples).unwrap_err();
            assert_eq!(error.field(), "bands", "{error}");
            error.to_string()
        };
        let envelope = EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors: 1, pre_scale: 1.0, seed: 0 };
        for (config, word) in [
            (RunConfig { noise: Some(NoiseSpec::Laplace { scale: 1.0 }), ..banded(2) }, "Gaussian"),
            (RunConfig { noise: Some(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }), ..banded(2) }, "Gaussian"),
            (RunConfig { noise: None, ..banded(2) }, "Gaussian"),
            (RunConfig { encoder: envelope, ..banded(2) }, "clipped"),
            (RunConfig { encoder: EncoderSpec::None, ..banded(2) }, "clipped"),
            (RunConfig { sampling: SamplingPolicy::FixedSize, ..banded(2) }, "Poisson"),
            (RunConfig { sampling: SamplingPolicy::Shuffled, ..banded(2) }, "Poisson"),
            (RunConfig { sampling: SamplingPolicy::RandomAllocation, ..banded(2) }, "Poisson"),
            (RunConfig { grid_bits: Some(8), ..banded(2) }, "grid"),
            (RunConfig { denoiser: Denoiser::KolmogorovSmirnov, ..banded(2) }, "denoiser"),
            (RunConfig { denoiser: Denoiser::JamesStein, ..banded(2) }, "denoiser"),
            (RunConfig { denoiser: Denoiser::Linear, ..banded(2) }, "denoiser"),
            (RunConfig { denoiser: Denoiser::SoftThreshold, ..banded(2) }, "denoiser"),
            (RunConfig { steps: Some(7), ..banded(8) }, "number of steps, 7"),
            (banded(235), "at most 234"),
            (banded(0), "between 1 and"),
            (banded(u32::MAX), "between 1 and"),
            (RunConfig { lot: 1, model: Architecture::CnnTanh, ..banded(10_000) }, "kept in memory"),
        ] {
            let sentence = refused(config, 60_000);
            assert!(sentence.contains(word), "{sentence}");
        }
        assert!(refused(RunConfig { lot: 50, ..banded(2) }, 99).contains("at most 1,"));
        for config in [
            RunConfig { lot: 50, ..banded(2) },
            RunConfig { denoiser: Denoiser::LowPass { keeps: 0.5 }, steps: Some(2), lot: 1, ..banded(2) },
            RunConfig { denoiser: Denoiser::LaplacianSmoothing { strength: 1.0 }, lot: 1, ..banded(2) },
        ] {
            assert!(Plan::new(config.clone(), 100).is_ok(), "{config:?}");
        }
    }

    /// The training set's size in the sessions below.
    const EXAMPLES: u32 = 60;

    fn on_cpu(plan: &Plan) -> CpuEngine {
        let train = synthetic::digits(1, EXAMPLES as usize, 1).train;
        CpuEngine::new(plan.task.clone(), train, &plan.initial_parameters(), Performance::default()).unwrap()
    }

    fn plan(bands: u32, replay: Option<u64>) -> Plan {
        Plan::new(RunConfig { lot: 10, replay, ..banded(bands) }, EXAMPLES).unwrap()
    }

    /// A run of one band is plain DP-SGD, bit for bit: its lots, its keys and its parameters.
    fn assert_is_dp_sgd<E: Engine>(make: impl Fn(&Plan) -> E) {
        let plan = plan(1, Some(3));
        let mut session = Session::new(plan.clone(), make(&plan)).unwrap();
        let mut engine = make(&plan);
        let mut rng = NotPrivateReplay::new(3);
        let mut sampler = Sampling::Poisson { rate: 10.0 / f64::from(EXAMPLES) }.sampler(EXAMPLES.into()).unwrap();
        let mut lot = Vec::new();
        for _ in 0..7 {
            block_on(session.step()).unwrap();
            sampler.draw(&mut rng, &mut lot);
            assert_eq!(session.drawn().0, lot);
            let noise_key = std::array::from_fn(|_| rng.next_u32());
            block_on(engine.step(StepInput::alone(&lot, noise_key, 0.5))).unwrap();
            assert_eq!(block_on(session.engine().state()).unwrap(), block_on(engine.state()).unwrap());
        }
    }

    #[test]
    fn one_band_is_dp_sgd_bit_for_bit() {
        assert_is_dp_sgd(on_cpu);
        assert_is_dp_sgd(|plan| {
            ReferenceEngine::new(&plan.task, synthetic::digits(1, EXAMPLES as usize, 1).train, 0).unwrap()
        });
    }

    /// A session tells its engine the position in the noise sequence; both engines agree.
    #[test]
    fn a_run_has_correlated_noise_and_groups_in_turns() {
        let plan = plan(3, Some(5));
        let reference = ReferenceEngine::new(&plan.task, synthetic::digits(1, EXAMPLES as usize, 1).train, 0).unwrap();
        let mut ours = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
        let mut theirs = Session::new(plan, reference).unwrap();
        let mut groups: [std::collections::BTreeSet<u32>; 3] = Default::default();
        for step in 0..60 {
            let (a, b) = if step % 2 == 0 {
                (block_on(ours.traced_step()).unwrap(), block_on(theirs.traced_step()).unwrap())
            } else {
                block_on(ours.step()).unwrap();
                block_on(theirs.step()).unwrap();
                Default::default()
            };
            let apart: f64 = a.noisy.iter().zip(&b.noisy).map(|(a, b)| f64::from(a - b).powi(2)).sum();
            let length: f64 = b.noisy.iter().map(|b| f64::from(*b).powi(2)).sum();
            assert!(apart <= 1e-8 * length, "step {step}: {apart} of {length}");
            assert_eq!(ours.drawn(), theirs.drawn());
            groups[step % 3].extend(ours.drawn().0);
        }
        assert_eq!(groups.iter().map(|group| group.len()).sum::<usize>(), EXAMPLES as usize, "one group each");
        assert_eq!(groups.iter().flatten().collect::<std::collections::BTreeSet<_>>().len(), EXAMPLES as usize);
    }

    /// The engine holds the noise memory: another one begins a new sequence, priced on its own.
    #[test]
    fn another_engine_begins_another_sequence() {
        let plan = plan(4, None);
        let mut session = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
        let cycles = |cycles: u64| {
            let release = plan.priced.as_ref().unwrap().0.clone();
            let ledger = crate::accounting::ledger::Ledger::of([(release, 4 * cycles)]).unwrap();
            epsilon_of(&ledger, 1e-5).unwrap()
        };
        let steps = |session: &mut Session<CpuEngine>, steps| {
            (0..steps).for_each(|_| block_on(session.step()).unwrap());
            epsilon_of(session.ledger().unwrap(), 1e-5).unwrap()
        };
        session.replace_engine(on_cpu(&plan));
        assert_eq!(steps(&mut session, 5), cycles(2));
        session.replace_engine(on_cpu(&plan));
        assert_eq!((session.step_count(), session.ledger().unwrap().steps()), (5, 8));
        assert_eq!(steps(&mut session, 1), cycles(3));
        assert_eq!(steps(&mut session, 3), cycles(3));
        session.replace_engine(on_cpu(&plan));
        assert_eq!(steps(&mut session, 1), cycles(4));
        assert_eq!(session.step_count(), 10);
        // An engine without that memory refuses: the run stops, and ε stays true.
        *session.engine() = on_cpu(&plan);
        assert!(block_on(session.step()).unwrap_err().to_string().contains("begin a new one"));
    }

    #[test]
    fn a_replayed_run_is_not_continued_without_its_noise() {
        let plan = plan(2, Some(1));
        let mut session = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
        assert!(Session::resume(plan.clone(), on_cpu(&plan), session.progress()).is_ok());
        block_on(session.step()).unwrap();
        let refused = Session::resume(plan.clone(), on_cpu(&plan), session.progress()).map(drop).unwrap_err();
        assert!(refused.to_string().starts_with("replay: a replayed run whose noise is correlated"), "{refused}");
    }

    /// `methods.md`: 20 epochs, lot 1024 of 60,000, ε 3 at δ 1e-5.
    #[test]
    fn noise_multipliers_of_a_budget_match_known_values() {
        let steps = (20.0_f64 * 60_000.0 / 1024.0).round() as u64;
        for (bands, sigma) in [(1, 1.092), (2, 1.395), (4, 1.846), (8, 2.508)] {
            let at = |sigma: f64| RunConfig {
                lot: 1024,
                steps: Some(steps),
                noise: Some(NoiseSpec::Gaussian { sigma }),
                ..banded(bands)
            };
            let tight = |sigma: f64| planned(&at(sigma), 60_000, steps).unwrap().tight(1e-5).unwrap().value;
            let (below, above) = (tight(sigma - 0.01), tight(sigma + 0.01));
            assert!(above < 3.0 && 3.0 < below, "{bands} bands: {below} to {above}");
            // Rényi accounting asks for a little more.
            let renyi = scale_for(&at(1.0), 60_000, steps, 3.0).unwrap();
            assert!(renyi > sigma - 0.01 && renyi < 1.1 * sigma, "{bands} bands: {renyi}");
        }
    }

    /// A cycle is paid for when it begins: ε is that of ⌈T/b⌉ Poisson releases at b times the rate.
    #[test]
    fn a_cycle_costs_one_step_at_b_times_the_rate() {
        let cyclic = RunConfig { lot: 300, noise: Some(NoiseSpec::Gaussian { sigma: 2.0 }), ..banded(4) };
        let plain = RunConfig { lot: 1200, ..RunConfig { bands: 1, ..cyclic.clone() } };
        for steps in [1, 3, 4, 5, 8, 9, 100] {
            let ours = planned(&cyclic, 60_000, steps).unwrap();
            let theirs = planned(&plain, 60_000, steps.div_ceil(4)).unwrap();
            assert_eq!(ours.ledger().steps(), steps);
            assert_eq!(ours.renyi(1e-5).unwrap(), theirs.renyi(1e-5).unwrap(), "{steps}");
            assert_eq!(ours.tight(1e-5).unwrap(), theirs.tight(1e-5).unwrap(), "{steps}");
        }
    }
}
