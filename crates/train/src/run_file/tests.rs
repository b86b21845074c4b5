use super::{
    super::{
        config::RunConfig,
        report::Report,
        run_card::{LONGEST_TEXT, MOST_POINTS},
    },
    *,
};
use crate::{
    accounting::{ledger::Ledger, rdp, sampling::Sampling},
    config::{Averaging, SamplingPolicy, Start},
    data::TestSet,
    engine::Backend,
    plan::Plan,
    report::{Privacy, PrivacyBound},
};
use crate::{engine::EngineInfo, projection::Point};
use hushgrad_message::Message;

fn run() -> RunFile {
    run_of(RunConfig::default())
}

fn run_of(config: RunConfig) -> RunFile {
    let plan = Plan::new(config.clone(), 60_000).unwrap();
    let delta = config.delta;
    let taken = |steps| Ledger::of([(ledger_release(&plan), steps)]).unwrap();
    let after = |steps| rdp::epsilon_of(&taken(steps), delta).unwrap();
    let epsilon = after(12);
    let report = Report {
        step: 12,
        epoch: 12.0 / plan.steps_per_epoch(),
        training_seconds: 0.1,
        learning_rate: 0.5,
        test_accuracy: None,
        test_set: Some(TestSet::HeldOut),
        denoise_factor: 1.0,
        privacy: Privacy::Bounded(PrivacyBound::new(config.delta, &epsilon, &taken(12))),
        complete: false,
        counted: Default::default(),
    };
    let parameters: Vec<f32> = (0..config.model.parameters()).map(|i| (i as f32).sin() * 1e-3).collect();
    let card = RunCard {
        name: "a run".into(),
        note: String::new(),
        config,
        engine: EngineInfo { backend: Backend::Cpu, device: "test".into() },
        data: "MNIST".into(),
        train: 60_000,
        test: 10_000,
        report,
        accuracy: Some(0.8),
        accuracy_curve: vec![(0.0, 0.1), (12.0, 0.8)],
        improved_curve: [0, 4, 12].map(|step| (step as f64, after(step).improved.epsilon)).to_vec(),
        classic_curve: [4, 12].map(|step| (step as f64, after(step).classic.epsilon)).to_vec(),
    };
    RunFile::new(card, Some(taken(12)), State::start(parameters, false))
}

fn ledger_release(plan: &Plan) -> crate::accounting::ledger::Release {
    plan.priced.clone().unwrap().0
}

fn read(text: &str) -> Result<RunFile, String> {
    RunFile::from_json("a.json", text.as_bytes()).map_err(|error| error.to_string())
}

/// Earlier versions also wrote whether the ledger held the plan's steps alone.
#[test]
fn a_file_of_before_with_a_word_more_is_read() {
    let json = run().to_json();
    let older = json.replacen("\"complete\":", "\"by-plan\":true,\"complete\":", 1);
    assert!(older.contains("by-plan"));
    assert_eq!(read(&older), read(&json));
}

#[test]
fn a_run_survives_its_file_to_the_last_bit() {
    let file = run();
    let back = read(&file.to_json()).unwrap();
    assert_eq!(back.run, file.run);
    assert_eq!((&back.parameters, &back.ledger), (&file.parameters, &file.ledger));
    assert_eq!(back.momentum, vec![0.0; file.parameters.len()]);
    let averaged = RunFile { average: Some(vec![0.1; file.parameters.len()]), ..file.clone() };
    assert_eq!(read(&averaged.to_json()).unwrap().average, averaged.average);
    assert_eq!(RunCard::from_json("a card", file.run.to_json().as_bytes()), Ok(file.run));
}

#[test]
fn a_file_from_before_there_were_sampling_policies_is_read() {
    let file = run();
    let json = file.to_json().replacen("\"version\":3", "\"version\":1", 1);
    let old = json.replacen("\"sampling\":\"poisson\",", "", 1).replacen("\"averaging\":\"none\",", "", 1);
    let old = old.replacen(",\"average\":null", "", 1);
    assert!(!old.contains("averag"));
    assert!(old.len() < json.len());
    assert_eq!(read(&old).unwrap().run, file.run);
    let other = json.replacen("\"sampling\":\"poisson\",", "\"sampling\":\"shuffled\",", 1);
    assert!(read(&other).unwrap_err().contains("another mechanism"));
}

/// How many examples were drawn, and how many of them had no gradient, is private.
#[test]
fn files_do_not_tell_what_was_drawn() {
    let file = run();
    let json = file.to_json();
    for secret in ["lot-size", "examples-per-second", "non-finite"] {
        assert!(!json.contains(secret), "{secret}");
    }
    // Files of earlier versions reveal it; they are read, but not written so again.
    let old = json.replacen(
        "\"training-seconds\":0.1,",
        "\"lot-size\":250,\"training-seconds\":0.098765,\"examples-per-second\":31103.1,\"non-finite\":3,",
        1,
    );
    let old = old.replacen("\"test-set\":\"held-out\",", "", 1);
    assert!(old.len() > json.len());
    let read = read(&old).unwrap();
    assert_eq!((read.run.report.training_seconds, read.run.report.test_set), (0.099, None));
    let again = read.to_json();
    assert!(!again.contains("31103") && !again.contains("non-finite") && !again.contains("0.098765"), "{again}");
    assert!(file.run.report.tests_private_images() && !read.run.report.tests_private_images());
}

#[test]
fn a_grid_is_kept_and_accounted_for() {
    let config = RunConfig { grid_bits: Some(10), ..RunConfig::default() };
    let file = run_of(config.clone());
    let back = read(&file.to_json()).unwrap();
    assert_eq!(back.run, file.run);
    let epsilon = |run: &RunFile| match &run.run.report.privacy {
        Privacy::Bounded(bound) => bound.improved.epsilon,
        Privacy::NoGuarantee { reason } => panic!("{reason}"),
    };
    let (with, without) = (epsilon(&back), epsilon(&run()));
    assert!(with > without && with < 1.01 * without, "{with} {without}");
    for grid_bits in [None, Some(9)] {
        let other = RunFile {
            run: RunCard { config: RunConfig { grid_bits, ..config.clone() }, ..file.run.clone() },
            ..file.clone()
        };
        assert!(read(&other.to_json()).unwrap_err().contains("another mechanism"));
    }
}

#[test]
fn bad_files_are_named() {
    let json = run().to_json();
    let refused = |from: &str, to: &str| {
        assert!(json.contains(from), "{from}");
        read(&json.replacen(from, to, 1)).unwrap_err()
    };
    assert!(read("PK").unwrap_err().starts_with("a.json is not a run file of this page: "));
    assert!(refused("hushgrad-run", "other").contains("its format is “other”"));
    assert!(refused("\"version\":3", "\"version\":7").contains("later version of this page (7; this one reads 3)"));
    assert!(refused("\"accuracy\":0.8", "\"accuracy\":1.8").contains("accuracy is 1.8, which no run can have"));
    assert!(refused("\"lot\":256", "\"lot\":0").contains("lot is 0"));
    assert!(refused("\"parameters\":[0.0,", "\"parameters\":[").contains("parameters is 7849 numbers long"));
    assert!(refused("\"average\":null", "\"average\":[0.5]").contains("average is 1 numbers long"));
    assert!(read(&json[..json.len() / 2]).unwrap_err().contains("is not a run file of this page"));
    let large = vec![b' '; LARGEST + 1];
    assert!(RunFile::from_json("big", &large).unwrap_err().to_string().contains("it is too large"));
}

#[test]
fn a_smaller_epsilon_than_the_ledger_costs_is_refused() {
    let mut file = run();
    let Privacy::Bounded(bound) = &mut file.run.report.privacy else { unreachable!() };
    bound.improved.epsilon *= 0.9;
    assert!(read(&file.to_json()).unwrap_err().contains("its ledger costs"));

    let unaccounted = RunFile { ledger: None, ..run() };
    assert!(read(&unaccounted.to_json()).unwrap_err().contains("no ledger to support it"));

    // Fewer steps in the ledger than the run took.
    let mut longer = run();
    longer.run.report.step = 13;
    assert!(read(&longer.to_json()).unwrap_err().contains("12 steps, while the run took 13"));

    // A ledger of a mechanism with more noise than the run had.
    let mut quieter = run();
    quieter.run.config.noise = Some(crate::accounting::noise::NoiseSpec::Gaussian { sigma: 0.5 });
    assert!(read(&quieter.to_json()).unwrap_err().contains("another mechanism"));
    let mut replayed = run();
    replayed.run.config.replay = Some(1);
    assert!(read(&replayed.to_json()).unwrap_err().contains("another mechanism"));
}

fn read_file(file: &RunFile) -> Result<RunFile, String> {
    read(&file.to_json())
}

const WITHOUT: &str = "sampling and noise are replayed";

fn stating_nothing() -> RunFile {
    let mut file = run();
    file.run.report.privacy = Privacy::NoGuarantee { reason: WITHOUT.into() };
    file
}

/// Whatever its ledger would give: dropping a part of a ledger lowers ε.
#[test]
fn where_no_guarantee_was_stated_none_is_found() {
    let mut file = stating_nothing();
    file.run.report.step = 3;
    file.run.accuracy_curve.clear();
    for curve in [&mut file.run.improved_curve, &mut file.run.classic_curve] {
        curve.retain(|point| point.0 <= 3.0);
    }
    let ledger = Ledger::of([(ledger_release(&Plan::new(file.run.config.clone(), 60_000).unwrap()), 3)]).unwrap();
    file.ledger = Some(ledger);
    for ledger in [file.ledger.clone(), None] {
        let back = read_file(&RunFile { ledger, ..file.clone() }).unwrap();
        assert_eq!(back.run.report.privacy, Privacy::NoGuarantee { reason: WITHOUT.into() });
        assert_eq!(back.ledger, None);
        assert!(back.run.improved_curve.is_empty() && back.run.classic_curve.is_empty());
    }
    // The reason is a text like any other.
    file.run.report.privacy = Privacy::NoGuarantee { reason: Message::text("x".repeat(1 << 18)) };
    let Privacy::NoGuarantee { reason } = read_file(&file).unwrap().run.report.privacy else { panic!("a guarantee") };
    assert_eq!(reason.to_string().len(), 200);
}

#[test]
fn no_curve_goes_on_beyond_the_run() {
    type Curve = for<'a> fn(&'a mut RunFile) -> &'a mut Vec<Point>;
    let curves: [Curve; 3] =
        [|file| &mut file.run.accuracy_curve, |file| &mut file.run.improved_curve, |file| &mut file.run.classic_curve];
    for curve in curves {
        let mut file = run();
        curve(&mut file).push((13.0, 0.9));
        assert!(read_file(&file).unwrap_err().contains("beyond the 12 steps"));
        let mut long = run();
        *curve(&mut long) = (0..=MOST_POINTS).map(|i| (i as f64 * 1e-4, 0.5)).collect();
        assert!(read_file(&long).unwrap_err().contains("10001 points long"));
    }
}

#[test]
fn curves_are_what_the_ledger_says() {
    let honest = run();
    let mut file = honest.clone();
    for curve in [&mut file.run.improved_curve, &mut file.run.classic_curve] {
        curve.iter_mut().for_each(|point| point.1 /= 10.0);
    }
    let Privacy::Bounded(bound) = &mut file.run.report.privacy else { panic!("no ε") };
    bound.classic.epsilon /= 10.0;
    bound.assumptions = vec!["none".into()];
    assert_eq!(read_file(&file).unwrap().run, honest.run);
    // As many points as the page writes at most, and no more are recomputed than a moment allows.
    file.run.improved_curve = (0..8192).map(|i| (12.0 * f64::from(i) / 8191.0, 1e-3)).collect();
    let back = read_file(&file).unwrap().run.improved_curve;
    assert!(back.len() > 256 && back.len() <= 513, "{}", back.len());
    let last = back.last().copied();
    assert_eq!(last, honest.run.improved_curve.last().copied());
    assert!(back.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
}

/// Surplus releases (of an abandoned epoch, say) may precede any point of the curve.
#[test]
fn more_releases_than_steps_are_never_cheaper() {
    let mut file = run();
    let plan = Plan::new(file.run.config.clone(), 60_000).unwrap();
    let ledger = Ledger::of([(ledger_release(&plan), 20)]).unwrap();
    let epsilon = rdp::epsilon_of(&ledger, plan.config.delta).unwrap();
    file.run.report.privacy = Privacy::Bounded(PrivacyBound::new(plan.config.delta, &epsilon, &ledger));
    file.ledger = Some(ledger.clone());
    let back = read_file(&file).unwrap();
    assert_eq!(back.ledger, Some(ledger));
    let curve = &back.run.improved_curve;
    assert_eq!(curve.last(), Some(&(12.0, epsilon.improved.epsilon)));
    assert!(curve.iter().zip(&run().run.improved_curve).all(|(now, before)| now.1 > before.1));
}

/// A run continued on other data releases the same of them; earlier releases had no more noise.
#[test]
fn earlier_releases_are_of_the_same_mechanism() {
    let with_earlier = |edit: &dyn Fn(&mut crate::accounting::ledger::Release)| {
        let mut file = run();
        let plan = Plan::new(file.run.config.clone(), 60_000).unwrap();
        let mut earlier = ledger_release(&plan);
        edit(&mut earlier);
        let ledger = Ledger::of([(earlier, 10), (ledger_release(&plan), 2)]).unwrap();
        let epsilon = rdp::epsilon_of(&ledger, plan.config.delta).unwrap();
        file.run.report.privacy = Privacy::Bounded(PrivacyBound::new(plan.config.delta, &epsilon, &ledger));
        file.ledger = Some(ledger);
        (read_file(&file), file)
    };
    let (read, file) = with_earlier(&|earlier| earlier.sampling = Sampling::Poisson { rate: 256.0 / 10_000.0 });
    let read = read.unwrap();
    assert_eq!(read.ledger, file.ledger);
    for edit in [
        |release: &mut crate::accounting::ledger::Release| {
            release.noise = Some(crate::accounting::noise::NoiseSpec::Gaussian { sigma: 1000.0 });
        },
        |release: &mut crate::accounting::ledger::Release| release.sampling = Sampling::Poisson { rate: 1e-9 },
        |release: &mut crate::accounting::ledger::Release| release.sampling = Sampling::Poisson { rate: 0.0 },
        |release: &mut crate::accounting::ledger::Release| release.sampling = Sampling::Shuffled { batches: 235 },
        |release: &mut crate::accounting::ledger::Release| {
            release.sensitivity = crate::accounting::ledger::Sensitivity::L2 { norm: 1e-3 };
        },
        |release: &mut crate::accounting::ledger::Release| {
            release.unit = crate::accounting::ledger::PrivacyUnit::MicroBatch;
        },
    ] {
        // Some do not even compose.
        let refused = std::panic::catch_unwind(|| with_earlier(&edit).0);
        assert!(refused.is_err() || refused.unwrap().unwrap_err().contains("another mechanism"));
    }
}

#[test]
fn every_policy_may_change_its_digits() {
    for sampling in
        [SamplingPolicy::Poisson, SamplingPolicy::FixedSize, SamplingPolicy::Shuffled, SamplingPolicy::RandomAllocation]
    {
        let mut file = run_of(RunConfig { sampling, ..RunConfig::default() });
        let other = Plan::new(file.run.config.clone(), 50_001).unwrap();
        let mut ledger = file.ledger.take().unwrap();
        let id = ledger.register(ledger_release(&other)).unwrap();
        // Continued, and saved before its first step there.
        for steps in [0, 1] {
            ledger.record_many(id, steps);
            let epsilon = rdp::epsilon_of(&ledger, 1e-5).unwrap();
            file.run.train = 50_001;
            file.run.report.step = 12 + steps;
            file.run.report.privacy = Privacy::Bounded(PrivacyBound::new(1e-5, &epsilon, &ledger));
            file.ledger = Some(ledger.clone());
            assert_eq!(read_file(&file).unwrap().ledger, file.ledger, "{sampling:?}");
        }
    }
}

/// The envelope drawn for the settings counts, whatever the file says of it.
#[test]
fn an_envelope_is_drawn_anew() {
    let under = |seed| RunConfig {
        encoder: crate::mechanism::EncoderSpec::Envelope {
            shape: crate::mechanism::EnvelopeShape::Mixed,
            vectors: 3,
            pre_scale: 1.0,
            seed,
        },
        noise: Some(crate::accounting::noise::NoiseSpec::Laplace { scale: 1.0 }),
        ..RunConfig::default()
    };
    let (file, other) = (run_of(under(1)), run_of(under(2)));
    assert_eq!(read_file(&file).unwrap().ledger, file.ledger);
    let mixed = RunFile { run: RunCard { config: under(2), ..file.run.clone() }, ..file };
    assert!(read_file(&mixed).unwrap_err().contains("its ledger costs"));
    assert!(read_file(&RunFile { ledger: other.ledger.clone(), ..mixed }).is_err());
    assert_eq!(read_file(&other).unwrap().ledger, other.ledger);
}

fn at_the_start(config: RunConfig) -> RunFile {
    let plan = Plan::new(config.clone(), 60_000).unwrap();
    let mut file = run_of(config);
    let mut ledger = Ledger::new();
    ledger.register(ledger_release(&plan)).unwrap();
    let epsilon = rdp::epsilon_of(&ledger, plan.config.delta).unwrap();
    file.run.report.privacy = Privacy::Bounded(PrivacyBound::new(plan.config.delta, &epsilon, &ledger));
    (file.run.report.step, file.ledger) = (0, Some(ledger));
    for curve in [&mut file.run.accuracy_curve, &mut file.run.improved_curve, &mut file.run.classic_curve] {
        curve.clear();
    }
    let State { parameters, average, .. } =
        State::start(plan.initial_parameters(), plan.config.averaging != Averaging::None);
    (file.parameters, file.average) = (parameters, average);
    file
}

/// Trained parameters with an empty ledger, or none, are not where a run starts.
#[test]
fn a_run_of_no_steps_must_have_initial_parameters() {
    let pretrained = RunConfig {
        model: crate::model::Architecture::CnnTanh,
        start: Start::Pretrained,
        averaging: Averaging::Exponential,
        ..RunConfig::default()
    };
    for config in [RunConfig::default(), pretrained] {
        let file = at_the_start(config);
        assert_eq!(read_file(&file).unwrap().parameters, file.parameters);
        let mut trained = file.clone();
        trained.parameters[77] += 0.5;
        assert!(read_file(&trained).unwrap_err().contains("has taken no step, but its parameters"));
        // It can be shown: what is shown claims only that there were no steps.
        assert!(RunFile::to_show("a.json", trained.to_json().as_bytes()).is_ok());
        let unclaimed = RunFile { ledger: None, ..trained };
        assert!(read_file(&unclaimed).unwrap_err().contains("no ledger to support it"));
        let mut stated = unclaimed;
        stated.run.report.privacy = Privacy::NoGuarantee { reason: WITHOUT.into() };
        assert!(read_file(&stated).unwrap_err().contains("its parameters"));
        let mut moving = file.clone();
        moving.momentum = vec![0.1; file.parameters.len()];
        assert!(read_file(&moving).unwrap_err().contains("its momentum"));
        let mut averaged = file.clone();
        averaged.average = Some(vec![0.1; file.parameters.len()]);
        assert!(read_file(&averaged).unwrap_err().contains("its average"));
        // An empty ledger of a run that took steps.
        let mut later = file;
        later.run.report.step = 5;
        assert!(read_file(&later).unwrap_err().contains("for 0 steps, while the run took 5"));
    }
}

#[test]
fn texts_have_lengths_that_can_be_shown() {
    let mut file = run();
    file.run.name = "n".repeat(200_000);
    (file.run.note, file.run.data) = ("o".repeat(200_000), format!("MN{}IST", "\n"));
    let back = read_file(&file).unwrap().run;
    assert_eq!((back.name.len(), back.note.len(), back.data.as_str()), (LONGEST_NAME, LONGEST_TEXT, "MNIST"));
    let card = RunCard::from_json("a card", file.run.to_json().as_bytes()).unwrap();
    assert_eq!(card.name.len(), LONGEST_NAME);
}

#[test]
fn settings_that_are_no_plan_are_refused() {
    let mut file = run();
    file.run.config.delta = 2.0;
    assert!(read_file(&file).unwrap_err().contains("a.json holds settings that no run can have: delta is 2"));
    let mut many = run();
    many.run.train = 4_000_000_000;
    assert!(read_file(&many).unwrap_err().contains("train is 4000000000"));
}
