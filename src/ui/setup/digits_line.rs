//! What is loaded, how far a load is, and the way to one's own files.

use leptos::prelude::*;
use web_sys::{File, FileList, HtmlInputElement};

use crate::{
    data::Source,
    plot::format,
    ui::{
        size::closures::{bool_fn, on_event, text_fn, view_fn},
        state::Page,
    },
};

/// What is loaded, how far a load is, and the way to one's own files.
pub fn digits_line(page: Page) -> impl IntoView {
    let input = NodeRef::<leptos::html::Input>::new();
    let in_use = move || {
        let loaded = page.digits.loaded.get();
        let running = page.run.info.with(|run| run.as_ref().map(|run| (run.data.clone(), run.train)));
        match (loaded, running) {
            (None, _) => "Waiting for the digits…".to_owned(),
            (Some(loaded), running) => {
                let kind = match loaded.source {
                    Source::Mnist => "checked against the original",
                    Source::Synthetic => "drawn by this page",
                    Source::Site => "carried by this site",
                    Source::Visitor => "yours, and they stay on this machine",
                };
                let n = |n: u32| format::integer(n.into());
                let mut line =
                    format!("{}: {} to train on, {} to test, {kind}.", loaded.name, n(loaded.train), n(loaded.test));
                if let Some((name, train)) = running
                    && (name != loaded.name || train != loaded.train)
                {
                    // Until then it stays what it is, whatever is pressed.
                    let how = if page.settings.with(|settings| settings.lot > loaded.train) {
                        "choose a smaller lot"
                    } else {
                        "reset it"
                    };
                    line.push_str(&format!(" The run that stands uses {name}, {}; {how} to use these.", n(train)));
                }
                if let Some(caution) = loaded.test_set.caution() {
                    line.push(' ');
                    line.push_str(caution);
                }
                line
            }
        }
    };
    let pick = move |_| {
        if let Some(input) = input.get_untracked() {
            load_picked(page, &input);
        }
    };
    view! {
        <p class="digits-line" data-testid="digits-in-use">{text_fn(in_use)}</p>
        {view_fn(move || page.digits.loading.get().map(|(done, total)| view! {
            <progress aria-label="Loading digits" max=total.max(1).to_string() value=(total > 0).then(|| done.to_string())></progress>
        }.into_any()))}
        <p class="own-files" hidden=bool_fn(move || page.is_fixed("dataset"))>
            <label class="file-button" for="own-files">"Load IDX files…"</label>
            <input type="file" id="own-files" data-testid="files" multiple node_ref=input on:change=on_event(pick) />
            <span>"or drop them anywhere; plain or gzip."</span>
        </p>
    }
    .into_any()
}

fn load_picked(page: Page, input: &HtmlInputElement) {
    if let Some(list) = input.files() {
        load_list(page, &list);
    }
    // So that picking the same file again counts as a change.
    input.set_value("");
}

/// Files that were picked or dropped together.
pub fn load_list(page: Page, list: &FileList) {
    let files: Vec<File> = (0..list.length()).filter_map(|i| list.get(i)).collect();
    if !files.is_empty() {
        page.load_files(files);
    }
}
