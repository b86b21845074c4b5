//! RUNS: the list of earlier runs, with what changed between them; runs are pinned, named, deleted.

use hushgrad_message::Message;
use leptos::prelude::*;

use super::trade_off::trade_off;
use crate::{
    plot::{drawing::GHOST, format},
    ui::{
        settings::Settings,
        size::closures::{bool_fn, on_click, on_event, text_fn, view_fn},
        state::{Page, Past, pin_class},
        text::{heard, t},
        widgets::{
            chart::{Frame, chart},
            teaching::teaching,
            word::word,
        },
    },
    worker::protocol::Request,
};

pub fn panel(page: Page) -> impl IntoView {
    let rows = move || {
        let past = page.runs.past.get();
        Some(past.iter().rev().map(|each| row(page, each, pin_class(&past, each.run))).collect_view().into_any())
    };
    let empty = move || page.runs.past.with(Vec::is_empty);
    view! {
        <section class="panel runs" data-testid="runs" aria-label=t!("Runs")>
            <h2>{t!("Runs")}</h2>
            <p class="lead" hidden=bool_fn(move || !empty())>{t!("When you change a setting, the run so far is kept here, to compare with the next.")}</p>
            <div class="runs-row" hidden=bool_fn(empty)>
                <div class="scroll" tabindex="0" role="region" aria-label=t!("Earlier runs")>
                    <table>
                        <thead><tr><th scope="col">{t!("Run")}</th><th scope="col">{t!("What changed")}</th><th scope="col">{t!("Steps")}</th>
                            <th scope="col">{t!("Accuracy")}</th><th scope="col" title=t!("By tight accounting, where it was computed on this page; else by Rényi accounting")>"ε ≤ ("{word("tight", t!("tight"))}", "{word("renyi", "Rényi")}")"</th><th scope="col"><span class="visually-hidden">{t!("Actions")}</span></th></tr></thead>
                        <tbody>{view_fn(rows)}</tbody>
                    </table>
                </div>
                {chart(page, Frame { title: t!("Accuracy against ε"), file: "trade-off", height: 170.0, full: true }, move || trade_off(page))}
            </div>
            <p class="small-label" hidden=bool_fn(empty)>{t!("Each ε is for one run: whoever sees several on the same digits may learn as much as they add up to.")}</p>
            // While a run plays, it has cost more than was added up.
            <p class="small-label" data-testid="together" hidden=bool_fn(move || page.run.playing.get() || page.runs.together.with(Message::is_empty))>
                {text_fn(move || page.runs.together.with(heard))}" "
                <button type="button" title=t!("For public digits: earlier runs no longer count") on:click=on_click(move |_| {
                    page.runs.end_undo();
                    page.trainer.send(Request::Forget);
                })>{t!("Forget them")}</button></p>
        </section>
    }
    .into_any()
}

fn row(page: Page, past: &Past, class: Option<&'static str>) -> AnyView {
    let run = past.run;
    let again = {
        let settings = past.settings.clone();
        move |_| {
            let digits = page.settings.with_untracked(|now| now.digits);
            page.change(|now| *now = Settings { digits, ..settings.clone() });
        }
    };
    let epsilon = match past.epsilon() {
        Some((epsilon, true)) => format::epsilon(epsilon),
        Some((epsilon, false)) => t!("{epsilon} (Rényi)", epsilon = format::epsilon(epsilon)),
        None => t!("none").to_owned(),
    };
    let accuracy = past.accuracy.map_or_else(|| "–".to_owned(), format::percent);
    let (key, file) = (past.info.key.clone(), past.info.key.clone());
    let steps = match past.info.beyond {
        0 => format::integer(past.last.step),
        beyond => t!(
            "{steps} ({counted} charged)",
            steps = format::integer(past.last.step),
            counted = format::integer(past.last.step + beyond)
        ),
    };
    let (pinned, name) = (past.pinned, past.name.clone());
    let label = past.name.clone();
    let letters = label.chars().count().clamp(10, 40).to_string();
    let rename = move |name: String| page.runs.label(run, |past| past.name = name.trim().chars().take(60).collect());
    let arriving = move || page.digits.loaded.with(|digits| digits.as_ref().is_none_or(|digits| !digits.complete));
    view! {
        <tr>
            <th scope="row"><span class=format!("key swatch {}", class.unwrap_or(GHOST))></span>
                <input type="text" class="name" size=letters aria-label=t!("Name of {label}", label = label) prop:value=name
                    on:change=on_event(move |event| rename(event_target_value(&event))) /></th>
            <td>{past.note.clone()}</td>
            <td>{steps}</td><td>{accuracy}{past.last.tests_private_images().then(|| view! { " " {teaching()} })}</td><td>{epsilon}</td>
            <td class="actions">
                <button type="button" aria-pressed=pinned.to_string() aria-label=t!("Pin {label}", label = label) on:click=on_click(move |_| page.runs.label(run, |past| past.pinned = !past.pinned))>{t!("Pin")}</button>
                <button type="button" disabled=bool_fn(arriving) title=t!("Go on where it stopped") aria-label=t!("Continue {label}", label = label) on:click=on_click(move |_| page.trainer.send(Request::Continue { key: key.clone() }))>{t!("Continue")}</button>
                <button type="button" aria-label=t!("Again: use the settings of {label}", label = label) on:click=on_click(again)>{t!("Again")}</button>
                <button type="button" aria-label=t!("Save {label} as a file", label = label) on:click=on_click(move |_| page.trainer.send(Request::ExportRun { key: file.clone() }))>{t!("Save")}</button>
                <button type="button" aria-label=t!("Delete {label}", label = label) on:click=on_click(move |_| page.runs.delete(run))>{t!("Delete")}</button>
            </td>
        </tr>
    }
    .into_any()
}
