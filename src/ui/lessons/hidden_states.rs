//! A figure: the leak of steps whose models are visible or hidden.

use leptos::prelude::*;

use crate::{
    plot::{
        drawing::{AT_LEAST, Drawing, Line, Range, Shape, Write},
        series::Point,
    },
    ui::{
        state::Page,
        text::t,
        widgets::chart::{Frame, chart},
    },
    worker::accounts::{Answer, Question},
};

/// Charts the leak of K steps: every model visible, only the last visible, and a lower bound.
pub fn hidden_states(page: Page) -> impl IntoView {
    let curves = RwSignal::new(<[Vec<Point>; 3]>::default());
    page.accountant.ask(Question::HiddenStates, move |answer| {
        if let Answer::HiddenStates(found) = answer {
            curves.set(found);
        }
    });
    chart(
        page,
        Frame { title: t!("Leakage of K steps"), file: "hidden-states", height: 130.0, full: true },
        move || {
            let names = [
                ("line-n1", t!("every model seen")),
                ("line-n2", t!("only the last seen")),
                (AT_LEAST, t!("at least")),
            ];
            let lines: Vec<Line> = curves.with(|curves| {
                let line = |((class, name), points): (&(&'static str, &str), &Vec<Point>)| Line {
                    class,
                    name: (*name).to_owned(),
                    points: points.clone(),
                };
                names.iter().zip(curves).map(line).collect()
            });
            let high = lines.iter().flat_map(|line| &line.points).fold(0.01, |high: f64, point| high.max(point.1));
            Drawing {
            lines,
            x: Range { low: 0.0, high: 800.0, logarithmic: false, label: t!("steps K"), write: Write::Whole },
            y: Range { low: 0.0, high, logarithmic: false, label: "ε(α)", write: Write::Epsilon },
            shape: Shape::Lines,
            summary: t!(
                "Rényi divergence by number of steps: composition rises linearly, the hidden-state bound levels off."
            )
            .to_owned(),
        }
        },
    )
}
