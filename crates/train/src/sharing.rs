//! Examples sharing bounded vectors: what is sampled, what is protected, what can be combined.

use super::{
    config::{Protects, RunConfig, SamplingPolicy},
    error::ConfigError,
    number::quoted,
};
use crate::{
    accounting::{ledger::PrivacyUnit, sampling::Sampling},
    data::{Dataset, idx::MAX_EXAMPLES, sharing::Sharing},
    engine::LocalSteps,
};
use hushgrad_message::{Message, message, word};

/// Most local steps of a user in a round.
const MOST_LOCAL: u32 = 100;

impl RunConfig {
    /// Returns the configuration on `train`: as many users as it names, if the number was left to it.
    ///
    /// # Errors
    /// [`ConfigError::Sharing`] if it names no users, or more.
    pub fn on(self, train: &Dataset) -> Result<Self, ConfigError> {
        let sharing = self.sharing.on(train);
        sharing.check(train)?;
        Ok(Self { sharing, ..self })
    }

    /// Returns the number of units sampled from: examples, micro-batches or users, then canaries.
    #[must_use]
    pub fn units(&self, examples: u32) -> u32 {
        self.sharing.units(examples).saturating_add(self.canaries)
    }

    /// Returns the expected number of steps in which every unit takes part once.
    #[must_use]
    pub fn steps_per_epoch(&self, examples: u32) -> f64 {
        let units = self.units(examples);
        let steps = self.drawn_of_units(examples).batches().map(|batches| batches as f64);
        steps.unwrap_or_else(|| f64::from(units) / self.sharing.lot(self.lot))
    }

    /// Returns the sampling of units by the policy, disregarding correlated noise.
    pub(super) fn drawn_of_units(&self, examples: u32) -> Sampling {
        let units = self.units(examples);
        match (self.sampling, self.sharing) {
            // A lot has as many examples as without micro-batches.
            (SamplingPolicy::Poisson, Sharing::MicroBatches { .. }) => {
                Sampling::Poisson { rate: (self.sharing.lot(self.lot) / f64::from(units)).min(1.0) }
            }
            (sampling, Sharing::MicroBatches { .. }) => sampling.over(examples, self.lot),
            (sampling, Sharing::Alone | Sharing::Users { .. } | Sharing::UsersOfData { .. }) => {
                sampling.over(units, self.lot)
            }
        }
    }

    /// Returns the unit that a release of this run protects.
    pub(super) fn unit(&self) -> PrivacyUnit {
        match (self.sharing, self.protects) {
            (Sharing::Alone, _) => PrivacyUnit::Example,
            (Sharing::MicroBatches { .. }, Protects::Example) => PrivacyUnit::ExampleInMicroBatch,
            (Sharing::MicroBatches { .. }, Protects::MicroBatch) => PrivacyUnit::MicroBatch,
            (Sharing::Users { .. } | Sharing::UsersOfData { .. }, _) => PrivacyUnit::User,
        }
    }
}

/// Checks the sharing of a configuration on `examples` training examples.
///
/// # Errors
/// The field that is out of range, or what contradicts it.
pub(super) fn check(config: &RunConfig, examples: u32) -> Result<(), ConfigError> {
    let range = |field, value: Message, range: Message| Err(ConfigError::OutOfRange { field, value, range });
    let contradiction = |field, sentence| Err(ConfigError::Contradiction { field, sentence });
    let LocalSteps { steps, rate } = config.local;
    match config.sharing {
        Sharing::Alone => return Ok(()),
        Sharing::MicroBatches { size } => {
            if size < 2 || size > config.lot {
                return range(
                    "sharing.size",
                    Message::text(size),
                    message!("between 2 and the lot size, {}: a micro-batch is part of a lot", config.lot),
                );
            }
            if config.local != LocalSteps::MEAN {
                return contradiction(
                    "local",
                    word!("a micro-batch adds its mean gradient; only users take local steps"),
                );
            }
        }
        Sharing::Users { users, skew, .. } => {
            if users == 0 || users > examples {
                return range(
                    "sharing.users",
                    Message::text(users),
                    message!("between 1 and the {examples} training examples"),
                );
            }
            if !(0.01..=1000.0).contains(&skew) {
                return range(
                    "sharing.skew",
                    Message::text(quoted(skew)),
                    word!("at least 0.01 and at most 1000").into(),
                );
            }
        }
        Sharing::UsersOfData { users } => {
            // Users without a training example count, too.
            if !(1..=MAX_EXAMPLES).contains(&users) {
                return range(
                    "sharing.users",
                    Message::text(users),
                    message!("between 1 and {MAX_EXAMPLES}, and at least as many as the images name"),
                );
            }
        }
    }
    if config.sharing.is_of_users() {
        let users = config.sharing.units(examples);
        if config.lot > users {
            return range("lot", Message::text(config.lot), message!("between 1 and the {users} users"));
        }
        if !(1..=MOST_LOCAL).contains(&steps) {
            return range("local.steps", Message::text(steps), message!("between 1 and {MOST_LOCAL}"));
        }
        if !(1e-6..=1e3).contains(&rate) {
            return range("local.rate", Message::text(quoted(rate)), word!("at least 1e-6 and at most 1000").into());
        }
    }
    if config.sampling == SamplingPolicy::FixedSize {
        return contradiction(
            "sampling",
            word!(
                "with fixed-size lots, one example is replaced by another, which may belong to another micro-batch or user; choose Poisson sampling"
            ),
        );
    }
    if config.bands > 1 {
        return contradiction(
            "bands",
            word!(
                "noise over several steps works only with individually sampled examples; choose 1 band, or no micro-batches and no users"
            ),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;

    use super::*;
    use crate::{
        accounting::{ledger::Ledger, noise::NoiseSpec},
        config::Augmentation,
        data::{Users, sharing::Units, synthetic},
        engine::{Engine, Performance, StepInput, StepTrace, cpu::CpuEngine, reference::ReferenceEngine},
        mechanism::{Denoiser, EncoderSpec, EnvelopeShape},
        model::Architecture,
        plan::Plan,
        price,
        projection::{cost, project},
        session::Session,
    };

    const TRAIN: u32 = 300;

    fn digits() -> Dataset {
        synthetic::digits(1, TRAIN as usize, 1).train
    }

    /// Of 37 users, some of whom hold nothing.
    fn named_digits() -> Dataset {
        digits().with_users(Some(Users::new((0..TRAIN).map(|i| i * i % 37).collect::<Vec<_>>(), 37)))
    }

    fn users_of_data(users: u32) -> RunConfig {
        RunConfig { sharing: Sharing::UsersOfData { users }, ..self::users(1) }
    }

    fn micro_batches(size: u32) -> RunConfig {
        RunConfig { sharing: Sharing::MicroBatches { size }, lot: 60, ..RunConfig::default() }
    }

    fn users(steps: u32) -> RunConfig {
        let sharing = Sharing::Users { users: 40, skew: 0.3, seed: 1 };
        RunConfig { sharing, local: LocalSteps { steps, rate: 0.3 }, lot: 10, ..RunConfig::default() }
    }

    fn engine(plan: &Plan) -> CpuEngine {
        CpuEngine::new(plan.task.clone(), named_digits(), &plan.initial_parameters(), Performance::default()).unwrap()
    }

    fn apart(a: &[f32], b: &[f32]) -> f64 {
        let square = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
        let difference = square(&mut a.iter().zip(b).map(|(a, b)| f64::from(a - b)));
        (difference / square(&mut b.iter().map(|&b| f64::from(b))).max(1e-30)).sqrt()
    }

    /// Two steps of the CPU engine and of the reference, from the same lots and noise.
    fn assert_same(config: &RunConfig, name: &str) {
        let plan = Plan::new(config.clone(), TRAIN).unwrap();
        let (mut ours, mut theirs) =
            (engine(&plan), ReferenceEngine::new(&plan.task, named_digits(), plan.config.init_seed).unwrap());
        let units = plan.units();
        let shifts = match plan.config.augmentation {
            Some(_) => vec![crate::data::Shift::NONE, crate::data::Shift { right: 1, down: -1 }],
            None => crate::data::Shift::ALONE.to_vec(),
        };
        for (step, lot) in [(0..units).step_by(3).collect::<Vec<_>>(), vec![]].into_iter().enumerate() {
            let input = StepInput { shifts: &shifts, ..StepInput::alone(&lot, [step as u32 + 3; 8], 0.5) };
            let (a, b) = (block_on(ours.traced_step(input.clone())).unwrap(), theirs.step_now(&input).unwrap());
            let parts: [fn(&StepTrace) -> &[f32]; 3] = [|t| &t.raw, |t| &t.encoded, |t| &t.noisy];
            for part in parts {
                let difference = apart(part(&a), part(&b));
                assert!(difference < 2e-4, "{name}, step {step}: {difference:e}");
            }
            let (a, b) = (block_on(ours.state()).unwrap(), block_on(theirs.state()).unwrap());
            assert!(apart(&a.parameters, &b.parameters) < 1e-4, "{name}, step {step}");
        }
    }

    #[test]
    fn the_cpu_engine_makes_the_vectors_of_the_reference() {
        let envelope = EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors: 3, pre_scale: 1.0, seed: 2 };
        let student = Some(NoiseSpec::StudentT { nu: 9.0, scale: 0.2 });
        for (name, config) in [
            ("micro-batches", micro_batches(4)),
            ("FedSGD", users(1)),
            ("FedAvg", users(3)),
            ("users of the data", users_of_data(37)),
        ] {
            for model in [Architecture::Linear, Architecture::Mlp, Architecture::CnnTanh] {
                assert_same(&RunConfig { model, ..config.clone() }, &format!("{name} {model:?}"));
            }
            let envelope = RunConfig { encoder: envelope.clone(), noise: student.clone(), ..config.clone() };
            assert_same(&envelope, &format!("{name}, envelope"));
            assert_same(&RunConfig { encoder: EncoderSpec::None, ..config.clone() }, &format!("{name}, no bound"));
            assert_same(&RunConfig { grid_bits: Some(8), ..config.clone() }, &format!("{name}, grid"));
            let moved = RunConfig { augmentation: Some(Augmentation { copies: 2, reach: 1 }), ..config.clone() };
            assert_same(&moved, &format!("{name}, moved copies"));
        }
        // More examples of a user than the kernels take at once.
        let sharing = Sharing::Users { users: 3, skew: 100.0, seed: 1 };
        assert_same(&RunConfig { sharing, lot: 2, ..users(1) }, "three users");
    }

    /// With broken parameters, every drawn unit that has an example is counted and adds nothing.
    #[test]
    fn broken_vectors_are_left_out() {
        for config in [micro_batches(4), users(1), users(2)] {
            let plan = Plan::new(config, TRAIN).unwrap();
            let mut engine = engine(&plan);
            let mut state = block_on(engine.state()).unwrap();
            state.parameters.fill(f32::NAN);
            block_on(engine.set_state(&state)).unwrap();
            let lot: Vec<u32> = (0..plan.units()).collect();
            let trace = block_on(engine.traced_step(StepInput::alone(&lot, [1; 8], 0.1))).unwrap();
            assert!(trace.encoded.iter().all(|&v| v == 0.0));
            let units = Units::of(plan.task.sharing, &digits()).unwrap();
            let some = lot.iter().filter(|unit| !units.members(**unit).is_empty()).count();
            assert_eq!(block_on(engine.metrics()).unwrap().non_finite, some as u64);
        }
    }

    /// Lots are of units, and the sum is divided by their expected number.
    #[test]
    fn units_are_drawn_and_divided_by() {
        for (config, population, expected) in
            [(micro_batches(4), 75, 15.0), (micro_batches(7), 43, 60.0 / 7.0), (users(1), 40, 10.0)]
        {
            for sampling in [SamplingPolicy::Poisson, SamplingPolicy::Shuffled, SamplingPolicy::RandomAllocation] {
                let config = RunConfig { sampling, replay: Some(3), ..config.clone() };
                let plan = Plan::new(config.clone(), TRAIN).unwrap();
                assert_eq!(plan.units(), population);
                let engine = engine(&plan);
                let mut session = Session::new(plan, engine).unwrap();
                let (mut drawn, steps) = (0, 200);
                for _ in 0..steps {
                    block_on(session.step()).unwrap();
                    let (lot, _) = session.drawn();
                    assert!(lot.iter().all(|&unit| unit < population));
                    drawn += lot.len();
                }
                let (mean, divided) = (drawn as f64 / f64::from(steps), f64::from(session.plan().task.expected_lot));
                assert!((mean - divided).abs() < 0.1 * divided, "{config:?}: {mean} {divided}");
                if sampling == SamplingPolicy::Poisson {
                    assert!((divided - expected).abs() < 1e-4, "{divided}");
                }
                let epochs = session.plan().config.epochs(TRAIN, steps as u64);
                assert!((epochs - f64::from(steps) * divided / f64::from(population)).abs() < 1e-3 * epochs);
            }
        }
    }

    /// A run's books have its unit and the projected ε, one of the two shared numbers.
    #[test]
    fn a_run_pays_for_its_unit() {
        let whole = RunConfig { protects: Protects::MicroBatch, ..micro_batches(4) };
        for (config, unit) in [
            (micro_batches(4), PrivacyUnit::ExampleInMicroBatch),
            (whole.clone(), PrivacyUnit::MicroBatch),
            (users(2), PrivacyUnit::User),
            (users_of_data(40), PrivacyUnit::User),
        ] {
            let plan = Plan::new(config.clone(), TRAIN).unwrap();
            let engine = engine(&plan);
            let mut session = Session::new(plan, engine).unwrap();
            (0..5).for_each(|_| block_on(session.step()).unwrap());
            let ledger = session.ledger().unwrap();
            assert!(ledger.releases().iter().all(|release| release.unit == unit));
            let said = project(&config, TRAIN, 5).unwrap();
            let spent = session.privacy().unwrap();
            let crate::report::Privacy::Bounded(spent) = spent else { panic!("{spent:?}") };
            assert_eq!(spent.improved.epsilon, said.end.improved.epsilon);
            let [one, all] = said.shared.unwrap();
            assert!(all < one && [one, all].contains(&spent.improved.epsilon), "{one} {all}");
            assert!(spent.assumptions.iter().any(|said| said.contains(&unit.to_string())));
            // Continued, it has the same units and goes on with its books.
            let (progress, config) = (session.progress(), session.plan().config.clone());
            let plan = Plan::new(config, TRAIN).unwrap();
            let engine = self::engine(&plan);
            let mut again = Session::resume(plan, engine, progress).unwrap();
            block_on(again.step()).unwrap();
            assert_eq!(again.ledger().map(Ledger::steps), Some(6));
            assert_eq!(again.ledger().unwrap().releases().len(), 1);
        }
        // At equal examples per step a protected micro-batch costs what a lone example does.
        let alone = RunConfig { lot: 60, ..RunConfig::default() };
        let epsilon = |config: &RunConfig| cost(config, TRAIN, 10).unwrap().improved.epsilon;
        assert!((epsilon(&whole) - epsilon(&alone)).abs() < 1e-9);
        assert!(epsilon(&micro_batches(4)) > 1.05 * epsilon(&alone));
        assert_eq!(project(&alone, TRAIN, 10).unwrap().shared, None);
    }

    /// The number of users is public, and ε follows from it; the images must name them, and no more.
    #[test]
    fn users_of_the_data_cost_what_as_many_made_up_ones_do() {
        let data = named_digits();
        let left = users_of_data(0).on(&data).unwrap();
        assert_eq!(left.sharing, Sharing::UsersOfData { users: 37 });
        let plan = Plan::new(users_of_data(40).on(&data).unwrap(), TRAIN).unwrap();
        assert_eq!((plan.units(), plan.sampling), (40, Sampling::Poisson { rate: 0.25 }));
        let epsilon = |config: &RunConfig| cost(config, TRAIN, 10).unwrap().improved.epsilon;
        assert_eq!(epsilon(&users_of_data(40)), epsilon(&users(1)));
        for (config, data, says) in [
            (users_of_data(0), digits(), "the images do not tell whose each is"),
            (users_of_data(40), digits(), "the images do not tell whose each is"),
            (users_of_data(36), named_digits(), "the training images are of 37 users, more than the 36 said"),
        ] {
            let error = config.clone().on(&data).unwrap_err();
            assert!(error.to_string().starts_with(says) && error.field() == "sharing.users", "{error}");
            // An engine refuses what was not asked for on these images.
            let plan = Plan::new(RunConfig { lot: 1, ..config }, TRAIN);
            let made = plan.map(|plan| {
                CpuEngine::new(plan.task.clone(), data, &plan.initial_parameters(), Performance::default()).err()
            });
            let said = made.map_or_else(|error| error.to_string(), |error| error.unwrap().to_string());
            assert!(said.starts_with(says) || said.starts_with("sharing.users is 0"), "{said}");
        }
        assert_eq!(Plan::new(users_of_data(9), TRAIN).unwrap_err().field(), "lot");
        assert_eq!(Plan::new(users_of_data(MAX_EXAMPLES + 1), TRAIN).unwrap_err().field(), "sharing.users");
        let text = serde_json::to_string(&users_of_data(40)).unwrap();
        assert!(text.contains(r#""sharing":{"users-of-data":{"users":40}}"#), "{text}");
        assert_eq!(serde_json::from_str::<RunConfig>(&text).unwrap(), users_of_data(40));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let refused = |config: RunConfig| {
            let error = Plan::new(config.clone(), TRAIN).unwrap_err();
            assert_eq!(error.to_string(), price::of(&config, TRAIN).unwrap_err().to_string());
            error.field()
        };
        assert_eq!(refused(micro_batches(61)), "sharing.size");
        assert_eq!(refused(micro_batches(1)), "sharing.size");
        assert!(Plan::new(micro_batches(60), TRAIN).is_ok());
        assert_eq!(refused(RunConfig { local: LocalSteps { steps: 2, rate: 1.0 }, ..micro_batches(4) }), "local");
        let of = |users| Sharing::Users { users, skew: 1.0, seed: 0 };
        assert_eq!(refused(RunConfig { sharing: of(TRAIN + 1), ..users(1) }), "sharing.users");
        assert_eq!(refused(RunConfig { sharing: of(0), ..users(1) }), "sharing.users");
        assert_eq!(refused(RunConfig { lot: 41, ..users(1) }), "lot");
        assert!(Plan::new(RunConfig { sharing: of(TRAIN), ..users(1) }, TRAIN).is_ok());
        for skew in [0.0, f64::NAN, 1e9] {
            let sharing = Sharing::Users { users: 40, skew, seed: 0 };
            assert_eq!(refused(RunConfig { sharing, ..users(1) }), "sharing.skew");
        }
        assert_eq!(refused(users(0)), "local.steps");
        assert_eq!(refused(users(101)), "local.steps");
        assert_eq!(refused(RunConfig { local: LocalSteps { steps: 1, rate: 0.0 }, ..users(1) }), "local.rate");
        for config in [micro_batches(4), users(1)] {
            assert_eq!(refused(RunConfig { sampling: SamplingPolicy::FixedSize, ..config.clone() }), "sampling");
            assert_eq!(refused(RunConfig { bands: 2, ..config.clone() }), "bands");
            assert!(Plan::new(RunConfig { denoiser: Denoiser::JamesStein, ..config }, TRAIN).is_ok());
        }
    }

    #[test]
    fn files_from_before_share_nothing_and_names_are_kept() {
        let read = |text: &str| serde_json::from_str::<RunConfig>(text).unwrap();
        assert_eq!(read("{}").sharing, Sharing::Alone);
        for config in [micro_batches(4), RunConfig { protects: Protects::MicroBatch, ..micro_batches(4) }, users(3)] {
            assert_eq!(read(&serde_json::to_string(&config).unwrap()), config);
            assert_eq!(postcard::from_bytes::<RunConfig>(&postcard::to_stdvec(&config).unwrap()).unwrap(), config);
        }
        assert_eq!(read(r#"{"sharing":{"micro-batches":{"size":4}},"lot":60}"#), micro_batches(4));
    }
}
