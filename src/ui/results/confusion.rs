//! Which digits the model takes for which, and the mistakes that it makes most.

use leptos::prelude::*;

use crate::{engine::Confusion, ui::state::Page, worker::counting::Counted};

/// The classes of a cell, from none to all.
const HEAT: [&str; 6] = ["heat-0", "heat-1", "heat-2", "heat-3", "heat-4", "heat-5"];

/// The matrix, and the mistake that is made most.
pub fn matrix(_: Page, counted: &Counted) -> Option<AnyView> {
    let counts = &counted.run.usual;
    Some(view! { <p>{worst(counts)}</p>{table(counts)} }.into_any())
}

fn worst(counts: &Confusion) -> String {
    let mistakes =
        (0..10).flat_map(|drawn| (0..10).map(move |read| (drawn, read))).filter(|(drawn, read)| drawn != read);
    match mistakes.max_by_key(|&(drawn, read)| counts[drawn][read]).filter(|&(drawn, read)| counts[drawn][read] > 0) {
        Some((drawn, read)) => format!("Most often a {drawn} is read as a {read}: {} times.", counts[drawn][read]),
        None => "No mistake.".to_owned(),
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
        <div class="scroll" tabindex="0" role="region" aria-label="Confusion matrix">
            <table class="confusion"><caption>"Row: the digit that was drawn. Column: the digit that was read."</caption>
                <thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table>
        </div>
    }
    .into_any()
}
