//! RESULTS: curves of this run and ghosts of earlier ones, where the run stands in numbers, and what its ε says.

use leptos::prelude::*;

use super::{
    confusion, pad,
    recorded::{self, Column},
};
use crate::{
    accounting::{
        risk::{AttackBound, PrivacyCurve},
        sampling::Sampling,
    },
    plot::{
        axis,
        drawing::{BUDGET, GHOST},
        format,
        series::Point,
    },
    train::{
        projection::Spent,
        report::{OrderedEpsilon, Privacy, PrivacyBound, Report, Teaching},
    },
    ui::{
        lessons,
        runs::pin_class,
        size::closures::{on_event, piece, whether, wording},
        state::{Curves, Page},
        widgets::chart::{Drawing, Frame, Line, Range, Write, chart},
    },
    worker::protocol::RunInfo,
};

/// Ghosts in a chart; older ones would only be fog.
const GHOSTS: usize = 4;
/// Steps that an empty chart of an open run shows.
const FIRST_STEPS: u64 = 60;

/// The whole panel.
pub fn panel(page: Page) -> impl IntoView {
    view! {
        <h2>"Results"</h2>
        {accuracy_chart(page, 165.0)}
        {epsilon_chart(page, 150.0)}
        {piece(move || (!page.has_own_run()).then(|| recorded_note().into_any()))}
        {meaning(page)}
        {pad::pad(page)}
        {confusion::panel(page)}
        {lessons::formulas(page)}
        {numbers(page)}
    }
    .into_any()
}

/// Test accuracy by step; `height` in pixels.
pub fn accuracy_chart(page: Page, height: f64) -> impl IntoView {
    chart(page, Frame { title: "Test accuracy", file: "accuracy", height, full: true }, move || accuracy(page))
}

/// ε by step.
pub fn epsilon_chart(page: Page, height: f64) -> impl IntoView {
    chart(page, Frame { title: "ε spent", file: "epsilon", height, full: true }, move || epsilon(page))
}

fn recorded_note() -> impl IntoView {
    view! { <p class="recorded" data-testid="recorded">"Recorded: MNIST, the linear model, the first settings of this page. Press Play, and your own run takes its place."</p> }
}

/// The recorded run, while there is no other.
fn recorded_line(page: Page, column: Column) -> Option<Line> {
    let line = || Line { class: "line-recorded", name: recorded::NAME.to_owned(), points: recorded::curve(column) };
    (!page.has_own_run()).then(line)
}

/// Steps that the charts show: all that are planned, else all that were done. Where runs are pinned, shadows go no further than they do: those of a
/// long run would leave what is compared no room.
fn steps(page: Page, lines: &mut [Line]) -> Range {
    let pinned = page.past.with(|past| past.iter().any(|past| past.pinned));
    let counts = |line: &&Line| !pinned || line.class != GHOST;
    let last = lines.iter().filter(counts).filter_map(|line| line.points.last()).map(|p| p.0).fold(0.0, f64::max);
    let planned = page.settings.with(|settings| settings.steps).unwrap_or(FIRST_STEPS) as f64;
    let high = last.max(planned);
    for shadow in lines.iter_mut().filter(|line| line.class == GHOST) {
        shadow.points = up_to(&shadow.points, high, false);
    }
    Range { low: 0.0, high, logarithmic: false, label: "step", write: Write::Whole }
}

/// Earlier runs: the pinned ones in their colours, the last others as shadows.
fn ghosts(page: Page, of: fn(&Curves) -> &[Point]) -> Vec<Line> {
    page.past.with(|past| {
        let loose = past.iter().filter(|past| !past.pinned).count();
        let mut skip = loose.saturating_sub(GHOSTS);
        past.iter()
            .filter(|past| {
                past.pinned || {
                    let old = skip > 0;
                    skip = skip.saturating_sub(1);
                    !old
                }
            })
            .map(|each| {
                let class = pin_class(past, each.run);
                let name = if class.is_some() { each.name.clone() } else { String::new() };
                Line { class: class.unwrap_or(GHOST), name, points: of(&each.curves).to_vec() }
            })
            .collect()
    })
}

fn accuracy(page: Page) -> Drawing {
    page.chart_tick.track();
    let mut lines = ghosts(page, |curves| curves.accuracy.points());
    page.curves.with_value(|curves| {
        lines.push(Line {
            class: "line-accuracy",
            name: "this run".to_owned(),
            points: curves.accuracy.points().to_vec(),
        });
    });
    let last = lines.last().and_then(|line| line.points.last().copied());
    lines.extend(recorded_line(page, Column::Accuracy));
    let summary = match last {
        Some((step, accuracy)) => {
            format!("Test accuracy by step: {} at step {}.", format::percent(accuracy), format::exact(step))
        }
        None => "Test accuracy by step: nothing trained yet.".to_owned(),
    };
    let y = Range { low: 0.0, high: 1.0, logarithmic: false, label: "accuracy", write: Write::Percent };
    Drawing { x: steps(page, &mut lines), y, lines, scatter: false, summary }
}

fn epsilon(page: Page) -> Drawing {
    page.chart_tick.track();
    let mut lines = ghosts(page, |curves| curves.improved.points());
    page.curves.with_value(|curves| {
        lines.push(Line {
            class: "line-classic",
            name: "classic".to_owned(),
            points: curves.classic.points().to_vec(),
        });
        lines.push(Line {
            class: "line-epsilon",
            name: "improved".to_owned(),
            points: curves.improved.points().to_vec(),
        });
    });
    lines.splice(0..0, recorded_line(page, Column::Improved));
    let shown = steps(page, &mut lines);
    let planned = page.settings.with(|settings| settings.steps.is_some());
    if let Some(Ok(projection)) = page.projection.get() {
        let points = up_to(&projection.curve, shown.high, true);
        // Where nothing is planned, the way ahead stays in the chart's frame.
        let name = if points.is_empty() { String::new() } else { "projected".to_owned() };
        lines.insert(0, Line { class: "line-projected", name, points });
    }
    let tight = up_to(&page.study.tight.get(), shown.high, true);
    if tight.len() > 1 {
        lines.insert(0, Line { class: "line-tight", name: "tight, projected".to_owned(), points: tight });
    }
    page.study.deltas.with(|deltas| {
        let inside = |line: &Line| Line { points: up_to(&line.points, shown.high, true), ..line.clone() };
        lines.splice(0..0, deltas.iter().map(inside));
    });
    let budget = page.settings.with(|settings| settings.budget).filter(|_| planned);
    if let Some(budget) = budget {
        lines.insert(
            0,
            Line { class: BUDGET, name: "budget".to_owned(), points: vec![(0.0, budget), (shown.high, budget)] },
        );
    }
    let highest = lines.iter().flat_map(|line| &line.points).map(|p| p.1).fold(0.0, f64::max);
    let summary = match lines.last().and_then(|line| line.points.last()) {
        Some((step, epsilon)) => {
            format!("Upper bound on epsilon by step: {} at step {}.", format::epsilon(*epsilon), format::exact(*step))
        }
        None => "Upper bound on epsilon by step: none to show.".to_owned(),
    };
    let high = if highest > 0.0 { axis::nice_end(highest * 1.02, 4) } else { 1.0 };
    let y = Range { low: 0.0, high, logarithmic: false, label: "ε", write: Write::Epsilon };
    Drawing { x: shown, y, lines, scatter: false, summary }
}

/// A curve as far as the chart goes; what is beyond its edge shows in where it leaves it. A `bound` is there what it is at its next point: between two
/// it may be above the line through them.
fn up_to(curve: &[Point], high: f64, bound: bool) -> Vec<Point> {
    let inside = curve.iter().take_while(|point| point.0 <= high).count();
    let mut points = curve[..inside].to_vec();
    if let (Some(&(x0, y0)), Some(&(x1, y1))) = (points.last(), curve.get(inside))
        && x0 < high
    {
        points.push((high, if bound { y1 } else { y0 + (y1 - y0) * (high - x0) / (x1 - x0) }));
    }
    points
}

fn numbers(page: Page) -> impl IntoView {
    let of = move |read: fn(&Report, Teaching) -> String| {
        wording(move || {
            page.report.with(|report| {
                report.as_ref().map_or_else(|| "–".to_owned(), |report| read(report, page.teaching.get_untracked()))
            })
        })
    };
    // What is drawn from: a share of the images or, of a partition, its parts.
    let drawn = move |word: bool| {
        wording(move || {
            page.run.with(|run| {
                let Some(RunInfo { config, train, .. }) = run else {
                    return if word { "Sampling rate" } else { "–" }.to_owned();
                };
                match (config.sampling.over(*train, config.lot), word) {
                    (Sampling::Shuffled { .. }, true) => "Batches, one release an epoch".to_owned(),
                    (Sampling::Shuffled { batches }, false) => format::integer(batches),
                    (_, true) => "Sampling rate".to_owned(),
                    (_, false) => format::fixed(f64::from(config.lot) / f64::from(*train) * 100.0, 3) + "%",
                }
            })
        })
    };
    // Of the images that a step looks at on average: how many it drew is secret.
    let speed = move || {
        let seconds = page.teaching.get().training_seconds;
        let steps = page.report.with(|report| report.as_ref().map_or(0, |report| report.step)) as f64;
        let examples = page.run.with(|run| {
            run.as_ref()
                .map(|run| f64::from(run.train) / run.config.sampling.steps_per_epoch(run.train, run.config.lot))
        });
        match examples {
            Some(examples) if seconds > 0.0 => format::integer((examples * steps / seconds).round() as u64),
            _ => "–".to_owned(),
        }
    };
    let non_finite = move || {
        let count = page.teaching.get().non_finite;
        (count > 0).then(|| {
            view! { <div><dt>"Not finite, left out " {teaching()}</dt><dd>{format::integer(count)}</dd></div> }
                .into_any()
        })
    };
    view! {
        <dl class="numbers" aria-label="This run">
            <div><dt>"Epoch"</dt><dd data-testid="epoch">{of(|report, _| format::fixed(report.epoch, 2))}</dd></div>
            <div><dt>{drawn(true)}</dt><dd data-testid="drawn">{drawn(false)}</dd></div>
            <div><dt>"Last lot " {teaching()}</dt><dd>{of(|_, teaching| format::integer(teaching.lot_size.into()))}</dd></div>
            <div><dt>"Training time " {teaching()}</dt><dd data-testid="training-time">{of(|_, teaching| format::duration(teaching.training_seconds))}</dd></div>
            <div><dt>"Examples a second " {teaching()}</dt><dd data-testid="examples-per-second">{wording(speed)}</dd></div>
            <div><dt>"Learning rate"</dt><dd>{of(|report, _| format::number(report.learning_rate))}</dd></div>
            {piece(non_finite)}
        </dl>
    }
    .into_any()
}

/// The mark of what looks at private data outside the mechanism.
pub fn teaching() -> impl IntoView {
    view! { <abbr class="teaching" title="Teaching view: it looks at private data outside the mechanism, so ε does not cover publishing it.">"teaching view"</abbr> }
}

/// The bound as it is shown, once there is a step that it is about: it changes when the third digit of a conversion or an assumption does.
fn shown_bound(page: Page) -> Memo<Option<Privacy>> {
    Memo::new_with_compare(
        move |_| {
            page.report
                .with(|report| report.as_ref().filter(|report| report.step > 0).map(|report| report.privacy.clone()))
        },
        |old, new| {
            let shown = |privacy: Option<&Option<Privacy>>| match privacy {
                Some(Some(Privacy::Bounded(bound))) => {
                    let [improved, classic] = [bound.improved, bound.classic].map(|one| format::epsilon(one.epsilon));
                    Some(Ok((improved, classic, bound.assumptions.clone())))
                }
                Some(Some(Privacy::NoGuarantee { reason })) => Some(Err(reason.clone())),
                _ => None,
            };
            shown(old) != shown(new)
        },
    )
}

fn meaning(page: Page) -> impl IntoView {
    let privacy = shown_bound(page);
    // Where the run stands still, tight accounting knows the whole curve; until then there is one point of it.
    let whole = Memo::new(move |_| now(page, page.study.curve.get()));
    let attack = Memo::new(move |_| {
        let Some(Privacy::Bounded(bound)) = privacy.get() else { return None };
        // What is shown is rounded up, and holds until something else is shown.
        let epsilon = format::shown(bound.improved.epsilon);
        PrivacyCurve::new(whole.get().unwrap_or_default().into_iter().chain([(epsilon, bound.delta)])).ok()
    });
    let sentence = move || {
        Some(match privacy.get() {
            None => view! { <p>"Nothing has been released yet."</p> }.into_any(),
            Some(Privacy::NoGuarantee { reason }) => {
                view! { <p><strong>"No guarantee: "</strong>{reason}". No number would be honest here."</p> }.into_any()
            }
            // That stays as it is while its numbers change.
            Some(Privacy::Bounded(_)) => return None,
        })
    };
    let steps = move || page.report.with(|report| format::integer(report.as_ref().map_or(0, |report| report.step)));
    let details = move || match privacy.get() {
        Some(Privacy::Bounded(bound)) => Some(
            view! {
                {conversions(page, &bound)}
                <p>"It holds for the "{wording(steps)}" steps that ran, under these assumptions:"</p>
                <ul>{bound.assumptions.iter().map(|phrase| view! { <li>{phrase.clone()}</li> }).collect_view()}</ul>
            }
            .into_any(),
        ),
        _ => None,
    };
    let frame = Frame { title: "What an attacker can do at most", file: "attacker", height: 190.0, full: true };
    let curve = chart(page, frame, move || allowed(attack.get()));
    let opened = move |event: leptos::ev::Event| {
        let details: web_sys::HtmlDetailsElement = event_target(&event);
        page.study.risk_open.set(details.open());
        page.account_for_attacks();
    };
    view! {
        <details class="meaning" data-testid="epsilon-meaning" on:toggle=on_event(opened)>
            <summary>"What this ε says"</summary>
            {piece(sentence)}
            <div hidden=whether(move || attack.get().is_none())>{attacker(attack, whole)}{curve}</div>
            {piece(details)}
        </details>
    }
    .into_any()
}

/// Shares to choose from: of false alarms, and of what somebody believed before.
const ALARMS: [(&str, f64); 4] = [("0.1%", 0.001), ("1%", 0.01), ("5%", 0.05), ("10%", 0.1)];
const PRIORS: [(&str, f64); 4] = [("1%", 0.01), ("10%", 0.1), ("50%", 0.5), ("90%", 0.9)];

/// A choice in the midst of a sentence.
fn chosen(label: &'static str, shares: &'static [(&'static str, f64); 4], now: RwSignal<usize>) -> AnyView {
    let options = shares
        .iter()
        .enumerate()
        .map(|(at, (share, _))| view! { <option selected=whether(move || now.get() == at)>{*share}</option> })
        .collect_view();
    let choose = move |event| {
        let share = event_target_value(&event);
        now.set(shares.iter().position(|(each, _)| *each == share).unwrap_or_default());
    };
    view! { <select aria-label=label on:change=on_event(choose)>{options}</select> }.into_any()
}

/// What somebody who sees all that was released can find out at most, in sentences.
fn attacker(attack: Memo<Option<PrivacyCurve>>, whole: Memo<Option<Vec<Point>>>) -> AnyView {
    let (alarms, prior) = (RwSignal::new(2), RwSignal::new(2));
    let share = move |of: fn(&PrivacyCurve, f64, f64) -> f64| {
        // Rounded up: what is shown is a bound, too.
        wording(move || match attack.get() {
            Some(attack) => format::percent_at_most(of(&attack, PRIORS[prior.get()].1, ALARMS[alarms.get()].1)),
            None => String::new(),
        })
    };
    let source = move || match whole.with(Option::is_some) {
        true => "By the whole privacy curve, from tight accounting. ",
        false => "By ε and δ alone; while the run stands still, tight accounting knows the whole curve. ",
    };
    view! {
        <p>"Suppose somebody sees everything that this training released, and guesses whether a certain image was in the data. \
            If they accept being wrong about "{chosen("False alarms", &ALARMS, alarms)}" of the images that were not, they find at most "
            <strong data-testid="attack-found">{share(|attack, _, alarms| attack.best_true_positive_rate(alarms))}</strong>
            " of those that were; blind guessing finds "{wording(move || ALARMS[alarms.get()].0)}"."</p>
        <p>"Told by such a test that it was in, somebody who thought that "{chosen("Believed before", &PRIORS, prior)}" likely may then be "
            <strong data-testid="attack-sure">{share(|attack, prior, alarms| attack.posterior_if_flagged(prior, alarms))}</strong>
            " sure of it. Their advantage, which is what they find beyond their false alarms, is nowhere more than "
            <strong data-testid="attack-advantage">{share(|attack, _, _| attack.advantage())}</strong>"."</p>
        <p class="small-label" data-testid="attack-source">{wording(source)}"All of it is an upper bound: the truth may be less."</p>
    }
    .into_any()
}

/// True-positive against false-positive rate: the curve that no attack lies above.
fn allowed(attack: Option<PrivacyCurve>) -> Drawing {
    let share = |label, write| Range { low: 0.0, high: 1.0, logarithmic: false, label, write };
    let lines = attack.map(|attack| {
        let points =
            |of: &dyn Fn(f64) -> f64| (0..=100).map(|i| f64::from(i) / 100.0).map(|f| (f, of(f))).collect::<Vec<_>>();
        let found = points(&|f| attack.best_true_positive_rate(f));
        vec![
            Line { class: "line-epsilon", name: "members found, at most".to_owned(), points: found },
            Line { class: GHOST, name: "guessing".to_owned(), points: points(&|f| f) },
        ]
    });
    Drawing {
        lines: lines.unwrap_or_default(),
        x: share("false alarms", Write::Percent),
        y: share("members found", Write::PercentAtMost),
        scatter: false,
        summary: "Largest share of members that any attack finds, by its share of false alarms.".to_owned(),
    }
}

/// What is known of the run as it stands.
fn now<T>(page: Page, known: Option<(u64, T)>) -> Option<T> {
    let step = page.report.with(|report| report.as_ref().map(|report| report.step));
    known.filter(|(at, _)| Some(*at) == step).map(|(_, known)| known)
}

/// The row of the tight bound, where the run stands still and it is known.
fn tight(page: Page) -> Option<AnyView> {
    let Spent { epsilon, numerical } = now(page, page.study.spent.get())?;
    let source = match numerical {
        None => "privacy loss distributions, composed by FFT".to_owned(),
        Some(what) => format!("privacy loss distributions; numerical: {what}"),
    };
    let row = view! {
        <tr><th scope="row">"tight"</th><td data-testid="epsilon-tight">{format::epsilon(epsilon)}</td><td>"–"</td><td>{source}</td></tr>
    };
    Some(row.into_any())
}

fn conversions(page: Page, bound: &PrivacyBound) -> AnyView {
    let row = |name: &'static str, source: &'static str, value: OrderedEpsilon| {
        view! {
            <tr><th scope="row">{name}</th><td>{format::epsilon(value.epsilon)}</td><td>{format::number(value.order)}</td><td>{source}</td></tr>
        }
    };
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label="Both conversions">
        <table>
            <thead><tr><th scope="col">"Conversion"</th><th scope="col">"ε ≤"</th><th scope="col">"order α"</th><th scope="col">"source"</th></tr></thead>
            <tbody>
                {piece(move || tight(page))}
                {row("improved", "Canonne, Kamath, Steinke 2020", bound.improved)}
                {row("classic", "Mironov 2017", bound.classic)}
            </tbody>
        </table></div>
    }
    .into_any()
}
