//! The noise of a run's phases as a chart, beside the best noise by calculation.

use leptos::prelude::*;

use super::annealing::annealing;
use crate::{
    plot::{
        drawing::{Drawing, GHOST, Line, Range, Shape, Write},
        series::Point,
    },
    ui::{
        settings::PhaseKind,
        size::closures::{bool_fn, bool_memo, effect, view_fn},
        state::{NoiseSearch, Page},
        text::t,
        threads::accountant::Topic,
        widgets::chart::{Frame, chart},
    },
    worker::accounts::{Answer, Question},
};

/// The chart, while there are phases.
pub fn noise_over_run(page: Page) -> AnyView {
    let stairs = RwSignal::new([vec![], vec![], vec![]]);
    effect(move || {
        let Some(config) = page.settings.with(|s| (s.phases != PhaseKind::None).then(|| s.config())) else {
            return stairs.set([vec![], vec![], vec![]]);
        };
        page.accountant.ask_latest(Topic::NoiseOverRun, Question::NoiseOverRun(config), move |answer| {
            if let Answer::NoiseOverRun(found) = answer {
                stairs.set(found);
            }
        });
    });
    let phased = bool_memo(move || page.settings.with(|s| s.phases != PhaseKind::None));
    let there = bool_memo(move || phased.get() && stairs.with(|[own, ..]| !own.is_empty()));
    view_fn(move || {
        there.get().then(|| {
            let frame = Frame { title: "", file: "", height: 110.0, full: false };
            view! {
                <div class="noise-over-run" data-testid="noise-over-run">
                    {chart(page, frame, move || with_annealed(page, stairs.with(drawing)))}
                    <p class="small-label"><span class="key line-noisy">{t!("noise of each phase")}</span>" "
                        <span class="key line-noise">{t!("best by a simple calculation, if every step lasts")}</span>" "
                        <span class="key ghost">{t!("if early steps wear off")}</span>" "
                        <span class="key line-n3" hidden=bool_fn(move || NoiseSearch(page).annealed().is_none())>{t!("annealed")}</span></p>
                </div>
                {annealing(page)}
            }
            .into_any()
        })
    })
    .into_any()
}

/// Adds the result of the annealing to the chart.
fn with_annealed(page: Page, mut drawing: Drawing) -> Drawing {
    if let (Some(found), Some(own)) =
        (NoiseSearch(page).annealed(), drawing.lines.last().map(|line| line.points.clone()))
    {
        // Each phase has two points.
        let sigma = |place: usize| found.factors.get(place / 2).map_or(0.0, |factor| found.scale * factor);
        let points = own.iter().enumerate().map(|(place, (step, _))| (*step, sigma(place).min(drawing.y.high)));
        drawing.lines.push(Line { class: "line-n3", name: String::new(), points: points.collect() });
    }
    drawing
}

fn drawing([wears_off, stays, own]: &[Vec<Point>; 3]) -> Drawing {
    let high = 2.0 * own.iter().fold(f64::MIN_POSITIVE, |most, (_, sigma)| most.max(*sigma));
    let end = own.last().map_or(1.0, |(step, _)| step.max(1.0));
    // Noise that may be arbitrarily large is cut at the top of the chart.
    let line = |class, points: &[Point]| {
        let points = points.iter().map(|(step, sigma)| (*step, sigma.min(high)));
        Line { class, name: String::new(), points: points.collect() }
    };
    Drawing {
        lines: vec![line(GHOST, wears_off), line("line-noise", stays), line("line-noisy", own)],
        x: Range { low: 0.0, high: end, logarithmic: false, label: t!("step"), write: Write::Whole },
        y: Range { low: 0.0, high, logarithmic: false, label: "σ", write: Write::Number },
        shape: Shape::Lines,
        summary: t!("Noise of each phase, and what would be best at the same cost.").to_owned(),
    }
}
