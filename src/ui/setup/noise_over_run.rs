//! The noise of a run's phases as a picture, beside what would be best.

use leptos::prelude::*;

use super::annealing::annealing;
use crate::{
    plot::drawing::{Drawing, GHOST, Line, Range, Shape, Write},
    train::anneal::Planned,
    ui::{
        settings::{PhaseKind, Settings},
        size::closures::{bool_fn, bool_memo, view_fn},
        state::Page,
        text::t,
        widgets::chart::{Frame, chart},
    },
};

/// Where later steps wear off what earlier ones brought: a curvature at which that takes some hundred steps at a rate of 1.
const CURVATURE: f64 = 0.01;

/// The picture, while there are phases.
pub fn noise_over_run(page: Page) -> AnyView {
    let there =
        bool_memo(move || page.settings.with(|s| s.phases != PhaseKind::None && Planned::of(&s.config()).is_some()));
    view_fn(move || {
        there.get().then(|| {
            let frame = Frame { title: "", file: "", height: 110.0, full: false };
            view! {
                <div class="noise-over-run" data-testid="noise-over-run">
                    {chart(page, frame, move || with_annealed(page, page.settings.with(drawing)))}
                    <p class="small-label"><span class="key line-noisy">{t!("noise of each phase")}</span>" "
                        <span class="key line-noise">{t!("best by a simple calculation, where each step stays")}</span>" "
                        <span class="key ghost">{t!("where early steps wear off")}</span>" "
                        <span class="key line-n3" hidden=bool_fn(move || page.annealed().is_none())>{t!("annealed")}</span></p>
                </div>
                {annealing(page)}
            }
            .into_any()
        })
    })
    .into_any()
}

/// The picture, with what a search for the noise has come to.
fn with_annealed(page: Page, mut drawing: Drawing) -> Drawing {
    if let (Some(found), Some(own)) = (page.annealed(), drawing.lines.last().map(|line| line.points.clone())) {
        // Two points of each phase.
        let sigma = |place: usize| found.factors.get(place / 2).map_or(0.0, |factor| found.scale * factor);
        let points = own.iter().enumerate().map(|(place, (step, _))| (*step, sigma(place).min(drawing.y.high)));
        drawing.lines.push(Line { class: "line-n3", name: String::new(), points: points.collect() });
    }
    drawing
}

fn drawing(settings: &Settings) -> Drawing {
    let planned = Planned::of(&settings.config());
    let phases = planned.as_ref().map(|planned| planned.phases.as_slice()).unwrap_or_default();
    let high = 2.0 * phases.iter().fold(f64::MIN_POSITIVE, |most, (_, sigma)| most.max(*sigma));
    let steps: u64 = phases.iter().map(|(steps, _)| *steps).sum();
    // What may be as large as one likes goes as far as the picture does.
    let stairs = |sigma: &mut dyn Iterator<Item = f64>| {
        let mut first = 0;
        let mut points = vec![];
        for ((steps, _), sigma) in phases.iter().zip(sigma) {
            points.extend([first, first + steps].map(|step| (step as f64, sigma.min(high))));
            first += steps;
        }
        points
    };
    let line = |class, points| Line { class, name: String::new(), points };
    let lines = planned.as_ref().map(|planned| {
        vec![
            line(GHOST, stairs(&mut planned.best(CURVATURE).into_iter())),
            line("line-noise", stairs(&mut planned.best(0.0).into_iter())),
            line("line-noisy", stairs(&mut phases.iter().map(|(_, sigma)| *sigma))),
        ]
    });
    Drawing {
        lines: lines.unwrap_or_default(),
        x: Range { low: 0.0, high: steps.max(1) as f64, logarithmic: false, label: t!("step"), write: Write::Whole },
        y: Range { low: 0.0, high, logarithmic: false, label: "σ", write: Write::Number },
        shape: Shape::Lines,
        summary: t!("Noise of each phase, beside what would be best at this price.").to_owned(),
    }
}
