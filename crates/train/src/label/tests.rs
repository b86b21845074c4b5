use super::{
    facts::{ACCUSED, PrivacyLabel, StepsCounted, Subject, of_a_hundred},
    *,
};
use crate::{
    accounting::{
        books::Books,
        ledger::{Ledger, Release, Sensitivity},
        noise::NoiseSpec,
        risk::{AttackBound, EpsilonDelta, GaussianPrivacy, PrivacyCurve},
        sampling::Sampling,
    },
    config::RunConfig,
    engine::{Backend, EngineInfo},
    projection,
    report::{Privacy, PrivacyBound, Report},
    run_file::RunCard,
};

const DELTA: f64 = 1e-5;

fn gaussian(sampling: Sampling, sigma: f64, steps: u64) -> Books {
    let noise = Some(NoiseSpec::Gaussian { sigma });
    let ledger = Ledger::of([(Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, noise), steps)]).unwrap();
    Books::of(ledger).unwrap()
}

fn of(books: &Books, subject: Subject) -> PrivacyLabel {
    PrivacyLabel::new(Some(books), DELTA, subject).unwrap()
}

#[test]
fn numbers_are_the_accountant_s() {
    let books = projection::planned(&RunConfig::default(), 60_000, 300).unwrap();
    let label = of(&books, Subject::default());
    let account = books.account(DELTA).unwrap();
    let bounds = label.bounds.as_ref().unwrap();
    assert_eq!((bounds.improved, bounds.classic), (account.improved, account.classic));
    assert_eq!(bounds.tight, Some((account.tight.unwrap().value, account.tight.unwrap().in_words())));
    assert_eq!(bounds.epsilon(), account.tight.unwrap().value);
    assert_eq!(
        (label.releases, label.unit.as_str(), label.neighbours.as_str()),
        (300, "one example", "add or remove one")
    );
    assert!(label.sampling.starts_with("Poisson, rate 0.00426"), "{}", label.sampling);
    // Sampled noise is not a Gaussian shift; the fit's regret says by how much.
    let fit = bounds.gaussian.unwrap();
    assert!(fit.mu > 0.05 && fit.mu < 0.5 && fit.regret > 1e-4, "{fit:?}");
    assert!(GaussianPrivacy::new(fit.mu).unwrap().epsilon(DELTA) >= bounds.epsilon());
    let written = write(&label, Format::Markdown);
    assert!(written.contains("μ ≤") && written.contains("1e-10 or more of false alarms"), "{written}");
    // Compared with a finer choice of points on the curve; and no more than (ε, δ) alone allows.
    let points = books.curve_about(bounds.epsilon(), DELTA).unwrap();
    let finer = 100.0 * PrivacyCurve::new(points).unwrap().best_true_positive_rate(0.05);
    let alone = EpsilonDelta::new(bounds.epsilon(), DELTA).unwrap().best_true_positive_rate(0.05);
    let found = f64::from(bounds.found);
    assert!((-0.1..1.1).contains(&(found - finer)) && found <= (100.0 * alone).ceil(), "{found} {finer} {alone}");
    assert!(bounds.found > ACCUSED);
}

fn card(config: &RunConfig, books: &Books) -> RunCard {
    let report = Report {
        step: books.ledger().steps(),
        epoch: 0.0,
        training_seconds: 0.1,
        learning_rate: 0.5,
        test_accuracy: None,
        test_set: None,
        denoise_factor: 1.0,
        privacy: Privacy::Bounded(PrivacyBound::new(DELTA, &books.renyi(DELTA).unwrap(), books.ledger())),
        complete: false,
        counted: Default::default(),
    };
    RunCard {
        name: "a run".to_owned(),
        note: String::new(),
        config: config.clone(),
        engine: EngineInfo { backend: Backend::Cpu, device: "test".into() },
        data: "MNIST".to_owned(),
        train: 60_000,
        test: 10_000,
        report,
        accuracy: None,
        accuracy_curve: vec![],
        improved_curve: vec![],
        classic_curve: vec![],
    }
}

/// Whoever stops early has seen the releases: the plan's bound holds, and comes first.
#[test]
fn a_run_that_stopped_early_is_told_by_its_plan() {
    let config = RunConfig { steps: Some(400), ..RunConfig::default() };
    let after = |steps| projection::planned(&config, 60_000, steps).unwrap();
    let card = card(&config, &after(100));
    let subject = Subject { card: Some(&card), ..Subject::default() };
    let (label, whole) = (of(&after(100), subject), of(&after(400), subject));
    assert_eq!((label.releases, &label.bounds), (400, &whole.bounds));
    let so_far = after(100).tight(DELTA).unwrap().value;
    assert_eq!(label.counted, StepsCounted::Planned { ran: 100, so_far });
    assert!(so_far < 0.8 * label.bounds.as_ref().unwrap().epsilon());
    for format in [Format::Html, Format::Markdown] {
        let says = |label: &PrivacyLabel, what: &str| write(label, format).contains(what);
        assert!(
            says(&label, "Planned steps, all 400: it holds whenever")
                && says(&label, "Steps that ran: 100. It holds if nobody")
        );
        assert!(!says(&whole, "so far"));
        // With releases that were not planned, or from a ledger alone, no plan is known.
        let other = gaussian(Sampling::Poisson { rate: 0.01 }, 1.1, 100);
        for subject in [subject, Subject::default()] {
            assert!(says(&of(&other, subject), "Steps that ran: 100. It holds if nobody"));
        }
    }
}

#[test]
fn unsampled_gaussian_noise_has_a_mu_and_its_odds() {
    let books = gaussian(Sampling::Shuffled { batches: 10 }, 4.0, 40);
    let label = of(&books, Subject::default());
    let bounds = label.bounds.unwrap();
    // Four epochs of noise 4: μ = √4 / 4.
    let fit = bounds.gaussian.unwrap();
    assert!((0.5..0.5 + 1e-9).contains(&fit.mu) && fit.regret == 0.0, "{fit:?}");
    let truth = GaussianPrivacy::new(0.5).unwrap().best_true_positive_rate(0.05);
    assert!((0..=1).contains(&(i64::from(bounds.found) - i64::from(of_a_hundred(truth)))), "{} {truth}", bounds.found);
}

#[test]
fn people_are_rounded_up() {
    assert_eq!([0.0, 0.05, 0.0501, 0.9999, 1.0, 1.2].map(of_a_hundred), [0, 5, 6, 100, 100, 100]);
}

#[test]
fn without_a_bound_there_is_no_number() {
    let label = PrivacyLabel::new(None, DELTA, Subject::default()).unwrap();
    assert!(label.bounds.is_err());
    let mut ledger = Ledger::new();
    let open = Release::new(Sampling::Poisson { rate: 0.1 }, Sensitivity::L2 { norm: 1.0 }, None);
    ledger.register(open).unwrap();
    // A release that did not happen needs no noise.
    let nothing = of(&Books::of(ledger).unwrap(), Subject::default());
    assert_eq!(nothing.bounds.as_ref().unwrap().epsilon(), 0.0);
    for format in [Format::Html, Format::Markdown, Format::Registry] {
        let text = write(&label, format);
        assert!(text.contains("No guarantee") && !text.contains("ε ≤"), "{text}");
        assert!(!text.contains("epsilon:"), "{text}");
    }
}

#[test]
fn every_form_says_the_same_and_takes_no_name_for_markup() {
    let books = gaussian(Sampling::Poisson { rate: 0.01 }, 1.1, 100);
    let label = PrivacyLabel {
        name: "<b>a|b \"c\"\n".to_owned(),
        ..of(&books, Subject { together: "All 2 runs together: ε ≤ 2.", ..Subject::default() })
    };
    let bounds = label.bounds.as_ref().unwrap();
    let epsilon = crate::accounting::decimal::upper(bounds.epsilon(), 3);
    let [html, markdown, yaml] = [Format::Html, Format::Markdown, Format::Registry].map(|format| write(&label, format));
    for text in [&html, &markdown, &yaml] {
        assert!(text.contains(&format!("ε ≤ {epsilon} at δ = 1e-5")), "{text}");
        assert!(text.contains(&format!("accuse 5; of 100 whose example was, at most {}", bounds.found)), "{text}");
        assert!(text.contains("All 2 runs together: ε ≤ 2.") && text.contains("one example"), "{text}");
    }
    assert!(html.contains("&lt;b&gt;a|b &quot;c&quot;") && !html.contains("<b>"));
    assert!(markdown.contains(r"\<b\>a\|b"));
    assert_eq!(html.matches("class=\"accused\"").count() as u32, ACCUSED + bounds.found);
    assert!(yaml.contains(r#"name: "<b>a|b \"c\"""#), "{yaml}");
    // As YAML readers recognise numbers.
    assert!(yaml.contains("delta: 1.0e-5\n"), "{yaml}");
    let line = yaml.lines().find(|line| line.trim_start().starts_with("epsilon:")).unwrap();
    let stated: f64 = line.split_once(": ").unwrap().1.parse().unwrap();
    assert!(stated >= bounds.epsilon() && stated < bounds.epsilon() + 1e-5, "{line}");
}
