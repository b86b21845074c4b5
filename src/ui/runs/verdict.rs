//! The last sweep's result: accuracy and ε by the swept number, and a sentence.

use leptos::{html, prelude::*};

use crate::{
    accounting::selection::Draw,
    plot::{
        axis,
        drawing::{Drawing, Line, Range, Shape, Write},
        format,
    },
    train::projection::SweepPrice,
    ui::{
        settings::{
            Number,
            slider::Spacing,
            verdict::{Outcome, verdict},
        },
        size::closures::{bool_fn, bool_memo, effect, text_fn, text_memo},
        state::Page,
        text::t,
        widgets::chart::{Frame, chart},
    },
};

/// The verdict, once two of the runs have ended; it is scrolled into view when it first appears.
pub fn sweep_verdict(page: Page) -> AnyView {
    let said = text_memo(move || {
        let verdict = |(number, outcomes): &(_, Vec<_>)| verdict(*number, outcomes);
        page.sweeps.outcomes.with(|known| known.as_ref().and_then(verdict)).unwrap_or_default()
    });
    let accuracy = Frame { title: t!("Accuracy by swept value"), file: "sweep-accuracy", height: 150.0, full: true };
    let epsilon = Frame { title: t!("ε by swept value"), file: "sweep-epsilon", height: 150.0, full: true };
    let node = NodeRef::<html::Div>::new();
    let there = bool_memo(move || !said.with(String::is_empty));
    effect(move || {
        if let (true, Some(shown)) = (there.get(), node.get_untracked()) {
            // After its charts have been laid out.
            request_animation_frame(move || shown.scroll_into_view_with_bool(false));
        }
    });
    view! {
        <div class="sweep-verdict" node_ref=node hidden=bool_fn(move || !there.get())>
            <p class="verdict-line" data-testid="sweep-verdict">{text_fn(move || said.get())}</p>
            <p class="small-label" data-testid="sweep-price">{text_fn(move || price(page))}</p>
            <div class="lab-charts">
                {chart(page, accuracy, move || over(page, true))}
                {chart(page, epsilon, move || over(page, false))}
            </div>
        </div>
    }
    .into_any()
}

/// Returns the cost of all runs together, and that of selecting the best.
fn price(page: Page) -> String {
    let Some(SweepPrice { all, best }) = page.sweeps.price.get() else { return String::new() };
    t!(
        "Seeing all of these runs costs ε ≤ {all}. Had you drawn their number ({draw} distribution, {n} on average) and each one's value at random, and shown only the best, it would be ε ≤ {best} (Papernot and Steinke 2022). Nothing was drawn here, so the first bound applies.",
        all = format::epsilon(all),
        draw = match best.draw {
            Draw::Logarithmic => t!("logarithmic"),
            Draw::Geometric => t!("geometric"),
            Draw::Poisson => t!("Poisson"),
        },
        n = best.mean,
        best = format::epsilon(best.epsilon)
    )
}

/// Returns the chart of accuracy, or of ε, by the swept number.
fn over(page: Page, accuracy: bool) -> Drawing {
    let (number, outcomes) = page.sweeps.outcomes.get().unwrap_or((Number::Lot, vec![]));
    let read = |outcome: &Outcome| Some((outcome.value, if accuracy { outcome.accuracy } else { outcome.epsilon? }));
    let points: Vec<_> = outcomes.iter().filter_map(read).collect();
    let (low, high) =
        points.iter().fold((f64::INFINITY, 0f64), |(low, high), point| (low.min(point.0), high.max(point.0)));
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let even = number.spec().slider.is_some_and(|slider| slider.spacing == Spacing::Even);
    let label = number.spec().label.get();
    let x = if low < high && !even && low > 0.0 {
        Range { low, high, logarithmic: true, label, write: Write::Number }
    } else {
        Range { low: 0.0, high: high.max(1.0), logarithmic: false, label, write: Write::Number }
    };
    let y = if accuracy {
        Range { low: 0.0, high: 1.0, logarithmic: false, label: t!("accuracy"), write: Write::Percent }
    } else {
        let high = if most > 0.0 { axis::nice_end(most * 1.05, 4) } else { 1.0 };
        Range { low: 0.0, high, logarithmic: false, label: "ε", write: Write::Epsilon }
    };
    let (class, name) = if accuracy { ("line-accuracy", t!("accuracy")) } else { ("line-epsilon", "ε") };
    let summary = if accuracy {
        t!("accuracy at {n} values of {label}.", n = points.len(), label = label)
    } else {
        t!("ε at {n} values of {label}.", n = points.len(), label = label)
    };
    Drawing { lines: vec![Line { class, name: name.to_owned(), points }], x, y, shape: Shape::Lines, summary }
}
