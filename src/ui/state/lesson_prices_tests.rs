//! Checks what lessons say of costs, on MNIST's 60,000 images, by the accountant alone.

use super::LessonSet;
use crate::{
    accounting::risk::{AttackBound as _, PrivacyCurve},
    plot::format,
    train::{
        config::RunConfig,
        label::ACCUSED,
        projection::{self, Projection},
    },
    ui::link,
    worker::accounts::{Accounts, Answer, Curve, Question},
};

pub(super) const TRAIN: u32 = 60_000;

/// Returns the run that a step's text (`why-noise.5`) describes, and those it compares with.
fn runs(step: &str) -> Vec<RunConfig> {
    let set = LessonSet::read(include_str!("../../../www/lessons.txt")).unwrap();
    let (lesson, step) = set.find(step).unwrap();
    let scene = set.lessons[lesson].scene(step);
    let queries = std::iter::once(scene.set).chain(scene.also.iter().map(String::as_str));
    queries.map(|query| link::read(query).0.settings.config()).collect()
}

fn projected(run: &RunConfig) -> Projection {
    projection::project(run, TRAIN, run.steps.unwrap()).unwrap()
}

/// ε that the page shows large after these steps; not all noise has a tight one.
fn after(run: &RunConfig, steps: u64) -> f64 {
    let improved = projection::cost(run, TRAIN, steps).unwrap().improved.epsilon;
    projection::tight(run, TRAIN, &[steps]).map_or(improved, |tight| tight[0].1.min(improved))
}

pub(super) fn epsilon(run: &RunConfig) -> f64 {
    after(run, run.steps.unwrap())
}

/// ε of a step's runs, its own first.
fn epsilons<const N: usize>(step: &str) -> [f64; N] {
    std::array::from_fn(|at| epsilon(&runs(step)[at]))
}

/// Bounds the true positive rate at `ACCUSED` % false positives, by points of a privacy curve.
pub(super) fn found(points: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    PrivacyCurve::new(points).unwrap().best_true_positive_rate(f64::from(ACCUSED) / 100.0)
}

/// Returns the curve of a run at its end, and what an attacker finds at most.
pub(super) fn curve(run: &RunConfig) -> (Curve, f64) {
    let (books, delta) = (projection::planned(run, TRAIN, run.steps.unwrap()).unwrap(), run.delta);
    let (ledger, epsilon) = (books.ledger(), epsilon(run));
    let mut accounts = Accounts::default();
    let _told = accounts.answer(Question::Ledger { run: 1, ledger: ledger.to_json() });
    let question = Question::Curve { run: 1, events: ledger.events().to_vec(), delta, epsilon };
    let Answer::Curve(Ok(curve)) = accounts.answer(question) else { panic!("no curve") };
    let found = found(curve.points.iter().copied().chain([(format::shown(epsilon), delta)]));
    (curve, found)
}

#[test]
fn runs_of_equal_cost_have_equal_epsilon() {
    for step in [
        "why-noise.6",
        "one-step.6",
        "composition.5",
        "denoising.2",
        "bigger.3",
        "bigger.5",
        "same-epsilon.2",
        "what-helps.4",
        "what-helps.6",
        "who-is-one.4",
        "who-is-one.5",
    ] {
        // A sentence is about the first two runs; others may have no noise, and thus no cost.
        let shown = runs(step)[..2].iter().map(|run| format::epsilon(epsilon(run))).collect::<Vec<_>>();
        assert_eq!(shown[0], shown[1], "{step}");
    }
    let [bound, tenth] = ["one-step.1", "one-step.5"].map(|step| after(&runs(step)[0], 1));
    assert_eq!(format::epsilon(bound), format::epsilon(tenth));
}

#[test]
fn prices_that_lessons_compare_are_as_far_apart_as_they_say() {
    let [all, quarter] = epsilons("composition.4");
    assert!((all / quarter - 2.0).abs() < 0.1, "the square root: {all}, {quarter}");
    let [gaussian, student] = epsilons("claims.4");
    assert!(format::epsilon(gaussian) != format::epsilon(student), "not quite one price: {gaussian}");
    assert!((student / gaussian - 1.0).abs() < 0.15, "nearly one price: {gaussian}, {student}");
    let algorithm = &runs("claims.5")[0];
    let (end, tight) = (projected(algorithm).end, epsilon(algorithm));
    let [classic, improved] = [end.classic, end.improved].map(|bound| bound.epsilon);
    assert!(classic > improved && improved > tight && (classic - 3.2).abs() < 0.3, "{classic}, {improved}, {tight}");
    let [many, few] = epsilons("same-epsilon.4");
    assert!(few - many > 0.5, "{many}, {few}");
    let [allocated, coins] = epsilons("what-helps.5");
    assert!(coins > 1.08 * allocated, "{coins}, {allocated}");
    let [banded, own] = epsilons("what-helps.7");
    assert!((banded / own - 1.0).abs() < 0.01, "{banded}, {own}");
    let [one, all] = projected(&runs("who-is-one.2")[0]).shared.unwrap();
    assert!(one > 1.05 * all, "an image and its micro-batch: {one}, {all}");
    let [image, user] = projected(&runs("who-is-one.3")[0]).shared.unwrap();
    assert!(image > 1.05 * user, "{image}, {user}");
    let [long, short] = epsilons("pay-once.2");
    assert!((long / short - 2.0).abs() < 0.2, "{long}, {short}");
    let [above] = epsilons("pay-once.4");
    assert!(above < 0.5, "{above}");
}

#[test]
fn beyond_guessing_an_attacker_finds_four_times_as_many_after_the_many_steps() {
    let [(many, found), (few, found_of_few)] = [0, 1].map(|at| curve(&runs("same-epsilon.2")[at]));
    let beyond_guessing = |found: f64| found - 0.05;
    let ratio = beyond_guessing(found) / beyond_guessing(found_of_few);
    assert!((ratio - 4.0).abs() < 0.3 && found < 0.1, "{found}, {found_of_few}");
    let [many, few] = [many, few].map(|curve| curve.gaussian.unwrap().mu);
    assert!(few > many && many > 0.5 && few < 1.0, "{many}, {few}");
}
