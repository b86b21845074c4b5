//! Which digits the model takes for which, and the mistakes that it makes most.

use leptos::prelude::*;

use crate::{
    data::TestSet,
    engine::Confusion,
    plot::format,
    ui::{
        size::closures::{on_event, view_fn},
        state::Page,
        text::t,
    },
};

/// The classes of a cell, from none to all.
const HEAT: [&str; 6] = ["heat-0", "heat-1", "heat-2", "heat-3", "heat-4", "heat-5"];

/// The table, counted while it is open.
pub fn panel(page: Page) -> impl IntoView {
    let toggled = move |event: leptos::ev::Event| {
        page.confusion.toggle(event_target::<web_sys::HtmlDetailsElement>(&event).open());
    };
    let body = move || {
        Some(match page.confusion.counts.get() {
            None => view! { <p>{t!("Counted as soon as there is a model.")}</p> }.into_any(),
            Some((step, counts)) => {
                let step = format::integer(step);
                let counted = match page.confusion.test_set.get_value() {
                    TestSet::Public => t!("After step {step}, on public test digits.", step = step),
                    TestSet::Visitor => {
                        t!(
                            "After step {step}, on your own test digits: ε does not cover what this tells of them.",
                            step = step
                        )
                    }
                    TestSet::HeldOut => {
                        t!(
                            "After step {step}, on one in six of your digits, kept for testing: ε does not cover what this tells of those.",
                            step = step
                        )
                    }
                };
                view! { <p>{worst(&counts)}" "{counted}</p>{table(&counts)} }.into_any()
            }
        })
    };
    view! {
        <details class="meaning" data-testid="confusion" on:toggle=on_event(toggled)>
            <summary>{t!("Which digits it takes for which")}</summary>{view_fn(body)}
        </details>
    }
    .into_any()
}

fn worst(counts: &Confusion) -> String {
    let mistakes =
        (0..10).flat_map(|drawn| (0..10).map(move |read| (drawn, read))).filter(|(drawn, read)| drawn != read);
    match mistakes.max_by_key(|&(drawn, read)| counts[drawn][read]).filter(|&(drawn, read)| counts[drawn][read] > 0) {
        Some((drawn, read)) => t!(
            "Most often a {drawn} is read as a {read}: {n} times.",
            drawn = drawn,
            read = read,
            n = counts[drawn][read]
        ),
        None => t!("No mistake.").to_owned(),
    }
}

fn table(counts: &Confusion) -> impl IntoView {
    let head = (0..10).map(|read| view! { <th scope="col">{read.to_string()}</th> }).collect_view();
    let rows = counts
        .iter()
        .enumerate()
        .map(|(drawn, row)| {
            let total = row.iter().sum::<u32>().max(1);
            let cells = row
                .iter()
                .enumerate()
                .map(|(read, &count)| {
                    let share = f64::from(count) / f64::from(total);
                    let heat = if count == 0 { 0 } else { 1 + ((share.sqrt() * 5.0) as usize).min(4) };
                    view! { <td class=HEAT[heat] class:right=drawn == read>{count.to_string()}</td> }
                })
                .collect_view();
            view! { <tr><th scope="row">{drawn.to_string()}</th>{cells}</tr> }
        })
        .collect_view();
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label=t!("Confusion matrix")>
            <table class="confusion"><caption>{t!("Row: the digit that was drawn. Column: the digit that was read.")}</caption>
                <thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table>
        </div>
    }
    .into_any()
}
