//! The panel of the noise lab.

use leptos::prelude::*;

use super::{answers::answers, comparison::Lab, plots::drawing, questions::questions};
use crate::{
    plot::series::Point,
    ui::{
        size::closures::{bool_memo, effect, on_click, view_fn},
        state::Page,
        text::t,
        widgets::chart::{Frame, chart},
    },
    worker::lab::NoiseComparison,
};

/// The panel, while it is open.
pub fn panel(page: Page) -> impl IntoView {
    let open = bool_memo(move || page.lab.open.get());
    view_fn(move || open.get().then(|| lab(page)))
}

fn lab(page: Page) -> AnyView {
    let lab = Lab {
        page,
        exponent: RwSignal::new(page.lab.query.with_untracked(|query| query.exponent)),
        compared: RwSignal::new(vec![]),
        busy: RwSignal::new(false),
    };
    // Everything that a question depends on.
    effect(move || {
        page.lab.query.track();
        page.settings.track();
        page.digits.loaded.track();
        untrack(|| lab.compare());
    });
    effect(move || page.lab.looks.set(lab.busy.get()));
    on_cleanup(move || page.lab.looks.set(false));
    let charts = [
        (
            t!("Density"),
            "noise-density",
            (|compared: &NoiseComparison| compared.density.as_slice()) as fn(&NoiseComparison) -> &[Point],
        ),
        (t!("Chance of more than x"), "noise-tail", |compared| &compared.tail),
        (t!("Bound for one step, by order"), "noise-orders", |compared| &compared.orders),
    ];
    let charts = charts
        .into_iter()
        .enumerate()
        .map(|(kind, (title, file, of))| {
            chart(page, Frame { title, file, height: 190.0, full: true }, move || drawing(kind, lab.lines(of)))
        })
        .collect_view();
    view! {
        <section class="panel noise-lab" id="noise-lab" data-testid="lab" aria-label=t!("Noise lab")>
            <div class="lesson-head"><h2>{t!("Noise lab")}</h2>
                <button type="button" class="quiet" aria-label=t!("Close the noise lab") on:click=on_click(move |_| page.lab.open.set(false))>"×"</button></div>
            {questions(lab)}
            <div class="lab-charts">{charts}</div>
            {answers(lab)}
        </section>
    }
    .into_any()
}
