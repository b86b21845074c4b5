//! An attack on the current run: lower bounds that rise towards ε, the canaries' scores, and the
//! ROC.

use hushgrad_message::ToMessage;
use leptos::prelude::*;

use super::{
    attacker::allowed,
    gauge::{Bar, gauge_row},
    odds::dots,
    sentence::sentence,
};
use crate::{
    accounting::audit::LowerBounds,
    plot::{
        drawing::{Drawing, GHOST, Line, Range, Shape, Write},
        format,
        series::Point,
    },
    train::{audit::InjectedBug, label::ACCUSED, report::Privacy},
    ui::{
        browser,
        setup::{control::controls, layout::ATTACK},
        size::{
            closures::{bool_fn, bool_memo, effect, on_click, text_fn, view_fn},
            sort::sort,
        },
        state::{ATTACK_VERDICT, Page},
        text::{heard, t},
        widgets::{
            chart::{Frame, chart},
            teaching::teaching,
        },
    },
    worker::protocol::Audited,
};

/// Bins of the histogram of scores.
const BINS: usize = 24;

/// Opens the fold when an attack begins, which the visitor may close; marks the page while the stated ε
/// is refuted.
pub(super) fn watch(page: Page) {
    let attacked = bool_memo(move || is_attacked(page));
    effect(move || {
        if attacked.get() {
            page.attacks.open.set(true);
        }
    });
    let refuted = bool_memo(move || refuted(page));
    effect(move || browser::show_refuted(refuted.get()));
}

/// True if the settings ask for canaries.
fn is_attacked(page: Page) -> bool {
    page.settings.with(|settings| settings.canaries > 0)
}

pub(super) fn attack(page: Page) -> AnyView {
    let attacked = bool_memo(move || is_attacked(page));
    let broken = move || page.run.info.with(|info| info.as_ref().and_then(|info| info.broken));
    let name = move || if attacked.get() { t!("End the attack") } else { t!("Attack this run") };
    let class = text_fn(move || if refuted(page) { "attack refuted" } else { "attack" }.to_owned());
    view! {
        <section class=class data-testid="attack">
            <h3>{t!("Attack your own run")}</h3>
            <p>{t!("An attacker mixes records of their own, canaries, into your digits; a coin flip decides whether each is in. They see every step, know all other digits, and guess the flips. Correct guesses prove a lower bound on ε. It may climb towards ε, and exceeds a correct ε only by bad luck.")}</p>
            <div class="once-buttons"><button type="button" data-testid="attack-begin" on:click=on_click(move |_| page.turn_attack())>{text_fn(name)}</button></div>
            <div hidden=bool_fn(move || !attacked.get())>{controls(page, ATTACK)}</div>
            <p class="attack-verdict" id=ATTACK_VERDICT data-testid=ATTACK_VERDICT tabindex="-1" role="status">{text_fn(move || verdict(page, broken()))}</p>
            {view_fn(move || page.attack.found.with(Option::is_some).then(|| found(page)))}
        </section>
    }
    .into_any()
}

/// Returns ε as claimed by the books.
fn claim(page: Page) -> Option<f64> {
    page.guarantee.epsilon()
}

/// True if it is proved wrong.
fn refuted(page: Page) -> bool {
    is_so(page, LowerBounds::refute)
}

/// True if there are bounds, and this is true of them and the claim.
fn is_so(page: Page, test: fn(LowerBounds, f64) -> bool) -> bool {
    let bounds = page.attack.bounds.get();
    claim(page).zip(bounds).is_some_and(|(claim, (_, _, bounds))| test(bounds, claim))
}

/// Returns the result of the attack in a sentence.
fn verdict(page: Page, broken: Option<InjectedBug>) -> String {
    if page.attack.found.with(Option::is_none) {
        let (asked, runs) = (
            page.settings.with(|settings| settings.canaries > 0),
            page.run.report.with(|report| report.as_ref().is_some_and(|report| report.step > 0)),
        );
        let attacked = page.run.info.with(|info| info.as_ref().is_some_and(|info| info.config.canaries > 0));
        return match (asked, runs) {
            (false, _) => String::new(),
            (true, true) if !attacked => t!("The attack begins with a new run.").to_owned(),
            (true, false) => t!("Press Play, and watch the lower bounds climb.").to_owned(),
            (true, true) => {
                t!("The attack is over: coin flips are not saved, so nothing can be proved about a resumed run.")
                    .to_owned()
            }
        };
    }
    if page
        .run
        .report
        .with(|report| report.as_ref().is_some_and(|report| matches!(report.privacy, Privacy::NoGuarantee { .. })))
    {
        return t!("There is no ε to stay below: nothing hides a canary once it is drawn, and with more canaries the bounds grow without limit.").to_owned();
    }
    // The bounds hold for the first `steps` steps only.
    let Some((steps, ..)) = page.attack.bounds.get() else { return String::new() };
    let steps = format::integer(steps);
    match (refuted(page), broken) {
        (true, Some(mutation)) => t!(
            "The lower bound exceeds ε, so the stated ε is wrong. Broken promise: {promise}.",
            promise = heard(&mutation.promise().to_message())
        ),
        (true, None) => t!(
            "A lower bound is so far above ε that the stated ε is wrong. That is an error of this page: please report it."
        )
        .to_owned(),
        (false, Some(mutation)) => t!(
            "Secretly broken promise: {promise}. After {steps} steps the attacker has not proved it yet.",
            promise = heard(&mutation.promise().to_message()),
            steps = steps
        ),
        (false, None) if is_so(page, LowerBounds::exceed) => t!(
            "After {steps} steps a lower bound is slightly above ε. Chance does this to some correct runs, so it proves nothing.",
            steps = steps
        ),
        (false, None) => t!("After {steps} steps no lower bound is above ε.", steps = steps),
    }
}

/// All results.
fn found(page: Page) -> AnyView {
    let frame = |title, file, height| Frame { title, file, height, full: true };
    let histogram = chart(page, frame(t!("Scores of the canaries"), "scores", 150.0), move || {
        page.attack.found.with(|found| scores(found.as_deref()))
    });
    let roc = chart(page, frame(t!("What the attacker finds"), "attack", 190.0), move || {
        let mut drawing = allowed(page.guarantee.attack.get());
        if let Some(found) = page.attack.found.get() {
            drawing.lines.push(Line {
                class: "line-attack",
                name: t!("canaries found").to_owned(),
                points: roc(&found),
            });
        }
        drawing
    });
    let hundred = move || page.attack.found.with(|found| found.as_ref().map_or(ACCUSED, |found| of_a_hundred(found)));
    let number = view! { <strong data-testid="attack-hundred">{text_fn(move || hundred().to_string())}</strong> };
    view! {
        <p class="marks">{teaching()}</p>
        {gauge(page)}
        <div class="odds-grids">
            <div><svg class="people right" viewBox="0 0 100 100" aria-hidden="true" inner_html=text_fn(move || dots(hundred()))></svg></div>
            <p>{sentence(t!("Of 100 canaries that were in, this attacker finds {found} while accusing at most 5 of 100 that were not. Guessing finds 5."), vec![("found", number.into_any())])}</p>
        </div>
        {histogram}
        {roc}
        <p class="small-label">{t!("Each bound holds with 95% confidence: five numbers, five chances to be wrong. ε counts as wrong only at 99.9999% confidence. The canaries are public and count among the digits that ε covers. The accuracy shown is that of a run with canaries.")}</p>
    }
    .into_any()
}

/// ε, and the lower bounds below it.
fn gauge(page: Page) -> AnyView {
    let rows = move || {
        let claim = claim(page);
        let (_, whole, bounds) = page.attack.bounds.get().unwrap_or_default();
        // ε is marked on each bar.
        let most = 1.01 * bounds.each().into_iter().flatten().chain(claim).fold(0.0, f64::max).max(1e-3);
        let row = |class: &'static str, id, name, value: Option<f64>, says, assumes| {
            let bar = Bar { share: value.unwrap_or(0.0) / most, mark: claim.map(|claim| claim / most) };
            gauge_row(class, id, [name, assumes], bar, says)
        };
        let at_most = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), format::epsilon);
        // Rounded down, because it is shown as a bound.
        let at_least = |value: Option<f64>| match value {
            Some(value) if value >= 45.0 => "> 45".to_owned(),
            Some(value) => format::decimals_of((1000.0 * value).floor() / 1000.0, 3),
            None if whole => "–".to_owned(),
            None => "…".to_owned(),
        };
        let lower = |id, name, value: Option<f64>, assumes| {
            let class =
                if value.zip(claim).is_some_and(|(value, claim)| value > claim) { "lower crossed" } else { "lower" };
            row(class, id, name, value, at_least(value), assumes)
        };
        let LowerBounds { guesses, gaussian, curve, rates, steps, .. } = bounds;
        vec![
            row("claim", "gauge-claim", t!("Stated ε"), claim, at_most(claim), t!("the smallest known bound")),
            lower(
                "gauge-steps",
                t!("Single steps"),
                steps,
                t!("assumes sampling and composition are as stated (Nasr et al. 2023)"),
            ),
            lower("gauge-rates", t!("Thresholds"), rates, t!("assumes independent canaries (Clopper and Pearson)")),
            lower(
                "gauge-curve",
                t!("Guesses, by the run's own curve"),
                curve,
                t!("assumes noise is wrong in scale only (Mahloujifar et al. 2024)"),
            ),
            lower(
                "gauge-gaussian",
                t!("Guesses, by a Gaussian curve"),
                Some(gaussian),
                t!("assumes it acts like one Gaussian release"),
            ),
            lower("gauge-guesses", t!("Guesses alone"), Some(guesses), t!("assumes nothing (Steinke et al. 2023)")),
        ]
    };
    view! { <dl class="gauge" data-testid="gauge">{move || rows()}</dl> }.into_any()
}

/// Returns the histogram of scores. Infinite scores are in the outermost bins.
fn scores(found: Option<&Audited>) -> Drawing {
    let scores = found.map_or(&[][..], |found| &found.evidence.scores);
    let finite = || scores.iter().map(|(score, _)| *score).filter(|score| score.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let (low, high) = if low < high { (low, high) } else { (0.0, 1.0) };
    let size = (high - low) / BINS as f64;
    let mut counts = [[0.0_f64; BINS]; 2];
    for &(score, is_in) in scores {
        let bin = ((score - low) / size).clamp(0.0, (BINS - 1) as f64) as usize;
        counts[usize::from(is_in)][bin] += 1.0;
    }
    let line =
        |counts: [f64; BINS]| (0..).map(|bin| low + (f64::from(bin) + 0.5) * size).zip(counts).collect::<Vec<Point>>();
    let most = counts.iter().flatten().fold(1.0, |most: f64, count| most.max(*count));
    Drawing {
        lines: vec![
            Line { class: GHOST, name: t!("out").to_owned(), points: line(counts[0]) },
            Line { class: "line-attack", name: t!("in").to_owned(), points: line(counts[1]) },
        ],
        x: Range { low, high, logarithmic: false, label: t!("score"), write: Write::Number },
        y: Range { low: 0.0, high: most, logarithmic: false, label: t!("canaries"), write: Write::Whole },
        shape: Shape::Lines,
        summary: t!("Number of canaries by score: those in, and those out.").to_owned(),
    }
}

/// Returns the ROC: shares of the canaries out and of those in whose scores exceed a threshold.
fn roc(found: &Audited) -> Vec<Point> {
    let mut scores = found.evidence.scores.clone();
    sort(&mut scores, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).is_lt());
    let is_in = scores.iter().filter(|(_, is_in)| *is_in).count();
    let all = [scores.len() - is_in, is_in].map(|count| count.max(1) as f64);
    let mut counts = [0.0_f64; 2];
    let mut points = vec![(0.0, 0.0)];
    // As many points as a chart has room for.
    let stride = scores.len().div_ceil(200).max(1);
    for (place, (_, is_in)) in scores.iter().enumerate() {
        counts[usize::from(*is_in)] += 1.0;
        if place % stride == 0 || place + 1 == scores.len() {
            points.push((counts[0] / all[0], counts[1] / all[1]));
        }
    }
    points
}

/// Returns how many canaries of 100 in are found if at most [`ACCUSED`] of 100 out are accused.
fn of_a_hundred(found: &Audited) -> u32 {
    let most = f64::from(ACCUSED) / 100.0;
    let best = roc(found).into_iter().filter(|(wrong, _)| *wrong <= most).map(|(_, right)| right).fold(0.0, f64::max);
    (100.0 * best).round() as u32
}
