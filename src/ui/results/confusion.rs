//! The confusion matrix, and the most frequent mistakes.

use leptos::prelude::*;

use crate::{
    engine::Confusion,
    plot::format,
    ui::{size::sort::sort, state::Page, text::t},
    worker::counting::ClassReport,
};

/// CSS classes of a cell, from none to all.
const HEAT: [&str; 6] = ["heat-0", "heat-1", "heat-2", "heat-3", "heat-4", "heat-5"];

/// Most rows of a table; for more classes, the number of mistakes listed instead.
const MOST_ROWS: usize = 30;
const LISTED: usize = 10;

/// The matrix, and the most frequent mistake.
pub fn matrix(page: Page, counted: &ClassReport) -> Option<AnyView> {
    let counts = &counted.run.usual;
    let mut mistakes = mistakes(counts);
    let Some(first) = mistakes.first() else { return Some(view! { <p>{t!("No mistakes.")}</p> }.into_any()) };
    let worst = said(page, first);
    // Of a hundred rows, only the largest numbers are readable.
    if counts.len() > MOST_ROWS {
        mistakes.truncate(LISTED);
        let other = |(drawn, read, count): &(usize, usize, u32)| {
            let (drawn, read) = (page.digits.class(*drawn), page.digits.class(*read));
            let n = format::integer((*count).into());
            view! { <li>{t!("a {drawn} as a {read}: {n}", drawn = drawn, read = read, n = n)}</li> }.into_any()
        };
        let others: Vec<AnyView> = mistakes[1..].iter().map(other).collect();
        return Some(view! { <p>{worst}</p><ol start="2">{others}</ol> }.into_any());
    }
    Some(view! { <p>{worst}</p>{table(page, counts)} }.into_any())
}

/// Returns true class, predicted class and count of each mistake, most frequent first.
fn mistakes(counts: &Confusion) -> Vec<(usize, usize, u32)> {
    let row = |(drawn, row): (usize, &Vec<u32>)| {
        row.iter().enumerate().map(|(read, &count)| (drawn, read, count)).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = counts.iter().enumerate().flat_map(row).collect();
    all.retain(|(drawn, read, count)| drawn != read && *count > 0);
    sort(&mut all, |a, b| (b.2, a.0, a.1) < (a.2, b.0, b.1));
    all
}

fn said(page: Page, &(drawn, read, count): &(usize, usize, u32)) -> String {
    let (drawn, read) = (page.digits.class(drawn), page.digits.class(read));
    let n = format::integer(count.into());
    t!("Most often a {drawn} is read as a {read}: {n} times.", drawn = drawn, read = read, n = n)
}

fn table(page: Page, counts: &Confusion) -> impl IntoView {
    let name = |class: usize| page.digits.class(class);
    let head = (0..counts.len()).map(|read| view! { <th scope="col">{name(read)}</th> }).collect_view();
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
            view! { <tr><th scope="row">{name(drawn)}</th>{cells}</tr> }
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
