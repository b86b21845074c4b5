//! EXPORT: files of the current run.

use leptos::prelude::*;

use super::{
    chart_files::{NOTHING_YET, charts, png},
    export, label,
};
use crate::{
    train::label::Format,
    ui::{
        browser,
        size::closures::{on_click, on_event},
        state::{Curves, Origin, Page, Past},
        text::t,
    },
    worker::protocol::Request,
};

/// The menu EXPORT.
pub fn export_menu(page: Page) -> impl IntoView {
    let item = move |name: &'static str, act: fn(Page)| {
        view! { <button type="button" on:click=on_click(move |_| act(page))>{name}</button> }
    };
    view! {
        <details class="menu seldom" data-testid="export">
            <summary>{t!("Export")}</summary>
            <div class="menu-items">
                {item(t!("Run (JSON)"), |page| with_current(page, |_| page.run.export()))}
                {item(t!("Curves (CSV)"), |page| with_current(page, |past| {
                    let Curves { accuracy, improved, classic, tight, baseline: _ } = &*past.curves;
                    // The column's name says that ε does not cover it.
                    let tested = if past.last.tests_private_images() { "accuracy-not-covered-by-epsilon" } else { "accuracy" };
                    let text = export::csv([(tested, accuracy.points()), ("improved", improved.points()), ("classic", classic.points()), ("tight", tight.points())]);
                    browser::download("hushgrad-curves.csv", "text/csv", text.as_bytes());
                }))}
                {item(t!("Privacy ledger (JSON)"), |page| page.trainer.send(Request::ExportLedger))}
                {item(t!("Privacy label (HTML)"), |page| label::save(page, Format::Html))}
                {item(t!("Privacy label (Markdown)"), |page| label::save(page, Format::Markdown))}
                {item(t!("Privacy label (YAML)"), |page| label::save(page, Format::Registry))}
                {item(t!("Weights (safetensors)"), Page::export_weights)}
                {item(t!("Charts (SVG)"), |page| charts(page, |name, svg, _| browser::download(&(name + ".svg"), "image/svg+xml", svg.as_bytes())))}
                {item(t!("Charts (PNG)"), |page| charts(page, |name, svg, size| png(name + ".png", svg, size)))}
                <label class="file-button" for="import-run">{t!("Open a run file…")}</label>
                <input type="file" id="import-run" class="visually-hidden" data-testid="import" accept=".json,application/json"
                    on:change=on_event(move |event| {
                        let input: web_sys::HtmlInputElement = event_target(&event);
                        if let Some(file) = input.files().and_then(|files| files.get(0)) {
                            open_file(page, file);
                        }
                        input.set_value("");
                    }) />
            </div>
        </details>
    }
    .into_any()
}

fn with_current(page: Page, act: impl FnOnce(&Past)) {
    match page.current() {
        Some(past) => act(&past),
        None => page.messages.notify(NOTHING_YET.get().to_owned()),
    }
}

/// Adds a run from a file to the list, with its settings; its ε is computed anew.
fn open_file(page: Page, file: web_sys::File) {
    leptos::task::spawn_local(async move {
        match browser::read_run_file(file).await {
            Ok((name, bytes)) => page.open_run(name, bytes),
            Err(sentence) => page.messages.put(Origin::RunFile, sentence),
        }
    });
}
