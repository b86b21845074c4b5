//! Accuracy by ε: each run is a point.

use leptos::prelude::*;

use crate::{
    plot::{
        axis,
        drawing::{Drawing, GHOST, Line, Range, Shape, Write},
    },
    ui::{
        state::{Page, Past, pin_class},
        text::t,
    },
};

/// Largest ratio of two ε that are readable on one linear axis.
const TOGETHER: f64 = 30.0;

/// Returns the chart of accuracy by ε, with a point for each run.
pub fn trade_off(page: Page) -> Drawing {
    page.charts.tick.track();
    // A run without a bound has no point.
    let point = |past: &Past| Some((past.epsilon()?.0, past.accuracy?)).filter(|(epsilon, _)| epsilon.is_finite());
    let mut lines: Vec<Line> = page.runs.past.with(|past| {
        past.iter()
            .filter_map(|each| {
                let class = pin_class(past, each.run).unwrap_or(GHOST);
                Some(Line { class, name: each.name.clone(), points: vec![point(each)?] })
            })
            .collect()
    });
    // Before its first step a run has spent nothing.
    let spent = untrack(|| page.guarantee.epsilon()).filter(|epsilon| *epsilon > 0.0 && epsilon.is_finite());
    let now = spent.zip(page.run.accuracy.get_untracked());
    if let Some(now) = now {
        lines.push(Line { class: "line-accuracy", name: t!("this run").to_owned(), points: vec![now] });
    }
    let spent = || lines.iter().flat_map(|line| &line.points).map(|p| p.0);
    let (least, most) = (spent().fold(f64::INFINITY, f64::min), spent().fold(0.0, f64::max));
    let logarithmic = most > TOGETHER * least && least > 0.0;
    let (low, high) = match logarithmic {
        true => (10f64.powf(least.log10().floor()), 10f64.powf(most.log10().ceil())),
        false if most > 0.0 => (0.0, axis::nice_end(most * 1.1, 4)),
        false => (0.0, 1.0),
    };
    Drawing {
        summary: t!("Test accuracy against epsilon, a point for each of {n} runs.", n = lines.len()),
        lines,
        shape: Shape::Scatter,
        x: Range { low, high, logarithmic, label: "ε", write: Write::Epsilon },
        y: Range { low: 0.0, high: 1.0, logarithmic: false, label: t!("accuracy"), write: Write::Percent },
    }
}
