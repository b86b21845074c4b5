//! Accuracy and ε by step, of the current run and of earlier ones.

use leptos::prelude::*;

use crate::{
    plot::{
        axis,
        drawing::{BUDGET, Drawing, GHOST, Line, RECORDED, Range, Shape, Write},
        format,
        series::Point,
    },
    ui::{
        size::closures::{bool_fn, on_event},
        state::{
            Curves, Page, pin_class,
            recorded::{Column, NAME},
        },
        text::t,
        widgets::chart::{Frame, chart},
    },
};

/// Most unpinned earlier runs in a chart.
const GHOSTS: usize = 4;

/// Steps on the axis of an empty chart without a plan.
const FIRST_STEPS: u64 = 60;

/// Test accuracy by step; `height` in pixels.
pub fn accuracy_chart(page: Page, height: f64) -> impl IntoView {
    chart(page, Frame { title: t!("Test accuracy"), file: "accuracy", height, full: true }, move || accuracy(page))
}

/// ε by step.
pub fn epsilon_chart(page: Page, height: f64) -> impl IntoView {
    chart(page, Frame { title: t!("ε spent"), file: "epsilon", height, full: true }, move || epsilon(page))
}

/// Adds the other bounds to the chart of ε.
pub fn compare(page: Page) -> impl IntoView {
    let compare = page.charts.compare;
    view! { <label class="check"><input type="checkbox" data-testid="compare" prop:checked=bool_fn(move || compare.get()) on:change=on_event(move |event| compare.set(event_target_checked(&event))) />{t!("Compare with weaker bounds")}</label> }
}

/// The recorded run, if there is no other.
fn recorded_line(page: Page, column: Column) -> Option<Line> {
    page.recorded().map(|run| Line { class: RECORDED, name: NAME.get().to_owned(), points: run.curve(column) })
}

/// Returns the range of steps: planned or done, whichever is more. If runs are pinned, ghosts do
/// not extend it, but are cut. `bounds`: the curves are upper bounds.
fn steps(page: Page, lines: &mut [Line], bounds: bool) -> Range {
    let pinned = page.runs.past.with(|past| past.iter().any(|past| past.pinned));
    let counts = |line: &&Line| !pinned || line.class != GHOST;
    let last = lines.iter().filter(counts).filter_map(|line| line.points.last()).map(|p| p.0).fold(0.0, f64::max);
    let planned = page.settings.with(|settings| settings.steps).unwrap_or(FIRST_STEPS) as f64;
    let high = last.max(planned);
    for shadow in lines.iter_mut().filter(|line| line.class == GHOST) {
        shadow.points = up_to(&shadow.points, high, bounds);
    }
    Range { low: 0.0, high, logarithmic: false, label: t!("step"), write: Write::Whole }
}

/// Earlier runs: pinned ones in colour, the latest others as ghosts.
fn ghosts(page: Page, of: fn(&Curves) -> &[Point]) -> Vec<Line> {
    page.runs.past.with(|past| {
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
    page.charts.tick.track();
    let mut lines = ghosts(page, |curves| curves.accuracy.points());
    page.run.curves.with_value(|curves| {
        lines.push(Line {
            class: "line-accuracy",
            name: t!("this run").to_owned(),
            points: curves.accuracy.points().to_vec(),
        });
        let open = curves.baseline.points();
        if !open.is_empty() {
            let name = t!("without privacy").to_owned();
            lines.insert(0, Line { class: "line-open", name, points: open.to_vec() });
        }
    });
    let last = lines.last().and_then(|line| line.points.last().copied());
    lines.extend(recorded_line(page, Column::Accuracy));
    let summary = match last {
        Some((step, accuracy)) => {
            t!(
                "Test accuracy by step: {accuracy} at step {step}.",
                accuracy = format::percent(accuracy),
                step = format::exact(step)
            )
        }
        None => t!("Test accuracy by step: nothing trained yet.").to_owned(),
    };
    let y = Range { low: 0.0, high: 1.0, logarithmic: false, label: t!("accuracy"), write: Write::Percent };
    Drawing { x: steps(page, &mut lines, false), y, lines, shape: Shape::Lines, summary }
}

fn epsilon(page: Page) -> Drawing {
    page.charts.tick.track();
    let mut lines = ghosts(page, |curves| curves.improved.points());
    let compare = page.charts.compare.get();
    page.run.curves.with_value(|curves| {
        let tight = curves.tight.points();
        if compare {
            let points = curves.classic.points().to_vec();
            lines.push(Line { class: "line-classic", name: t!("classic").to_owned(), points });
        }
        if compare || tight.is_empty() {
            let class = if tight.is_empty() { "line-epsilon" } else { "line-improved" };
            lines.push(Line { class, name: t!("improved").to_owned(), points: curves.improved.points().to_vec() });
        }
        if !tight.is_empty() {
            lines.push(Line { class: "line-epsilon", name: t!("tight").to_owned(), points: tight.to_vec() });
        }
    });
    lines.splice(0..0, recorded_line(page, Column::Tight));
    let shown = steps(page, &mut lines, true);
    let planned = page.settings.with(|settings| settings.steps.is_some());
    let tight = up_to(&page.cost.tight.get(), shown.high, true);
    if (compare || tight.len() < 2)
        && let Some(Ok(projection)) = page.cost.projection.get()
    {
        let points = up_to(&projection.curve, shown.high, true);
        // The legend omits a projection without points.
        let name = if points.is_empty() { String::new() } else { t!("projected").to_owned() };
        lines.insert(0, Line { class: "line-projected", name, points });
    }
    if tight.len() > 1 {
        lines.insert(0, Line { class: "line-tight", name: t!("tight, planned").to_owned(), points: tight });
    }
    page.cost.deltas.with(|deltas| {
        let inside = |line: &Line| Line { points: up_to(&line.points, shown.high, true), ..line.clone() };
        lines.splice(0..0, deltas.iter().map(inside));
    });
    let budget = page.settings.with(|settings| settings.budget).filter(|_| planned);
    if let Some(budget) = budget {
        lines.insert(
            0,
            Line { class: BUDGET, name: t!("budget").to_owned(), points: vec![(0.0, budget), (shown.high, budget)] },
        );
    }
    let highest = lines.iter().flat_map(|line| &line.points).map(|p| p.1).fold(0.0, f64::max);
    let summary = match lines.last().and_then(|line| line.points.last()) {
        Some((step, epsilon)) => {
            t!(
                "Upper bound on epsilon by step: {epsilon} at step {step}.",
                epsilon = format::epsilon(*epsilon),
                step = format::exact(*step)
            )
        }
        None => t!("Upper bound on epsilon by step: none to show.").to_owned(),
    };
    let high = if highest > 0.0 { axis::nice_end(highest * 1.02, 4) } else { 1.0 };
    let y = Range { low: 0.0, high, logarithmic: false, label: "ε", write: Write::Epsilon };
    Drawing { x: shown, y, lines, shape: Shape::Stairs, summary }
}

/// Cuts a curve at `high`, where it is interpolated. A `bound` has the value of its next point
/// there, because between two points it may lie above the line through them.
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
