//! The loaded data, progress of loading, and the visitor's own files.

use leptos::prelude::*;
use web_sys::{File, FileList, HtmlInputElement};

use crate::{
    data::{Source, TestSet},
    plot::format,
    ui::{
        size::closures::{bool_fn, on_event, text_fn, view_fn},
        state::{DigitChoice, Page, TaskLock},
        text::{named, t, text},
    },
};

/// The loaded data, progress of loading, and a picker for the visitor's own files.
pub fn digits_line(page: Page) -> impl IntoView {
    let input = NodeRef::<leptos::html::Input>::new();
    let in_use = move || {
        let loaded = page.digits.loaded.get();
        let running = page.run.info.with(|run| run.as_ref().map(|run| (run.data.clone(), run.train)));
        match (loaded, running) {
            (None, _) => t!("Waiting for the digits…").to_owned(),
            (Some(loaded), running) => {
                let what = match loaded.source {
                    Source::Mnist | Source::Known => {
                        text!("{name}: {train} to train on, {test} to test, checked against the original.")
                    }
                    Source::Synthetic => text!("{name}: {train} to train on, {test} to test, drawn by this page."),
                    Source::Colour => {
                        text!("{name}: {train} to train on, {test} to test, drawn by this page, in colour.")
                    }
                    Source::Site => text!("{name}: {train} to train on, {test} to test, supplied by this site."),
                    Source::Visitor => {
                        text!("{name}: {train} to train on, {test} to test, yours, and they stay on this machine.")
                    }
                };
                let n = |n: u32| format::integer(n.into());
                let mut line =
                    what.with(&[("name", named(&loaded.name)), ("train", n(loaded.train)), ("test", n(loaded.test))]);
                if let Some((name, train)) = running
                    && (name != loaded.name || train != loaded.train)
                {
                    // Until the lot fits the data, nothing starts another run.
                    let what = if page.settings.with(|settings| settings.lot > loaded.train) {
                        text!("The current run uses {name}, {train}; choose a smaller lot to use these.")
                    } else {
                        text!("The current run uses {name}, {train}; reset it to use these.")
                    };
                    line = line + " " + &what.with(&[("name", named(&name)), ("train", n(train))]);
                }
                let caution = match loaded.test_set {
                    TestSet::Public => return line,
                    TestSet::Visitor => {
                        t!("The test images are yours too: ε does not cover what the test accuracy reveals about them.")
                    }
                    TestSet::HeldOut => t!(
                        "About one image in six, chosen independently, is kept for testing: ε does not cover what the test accuracy reveals about those."
                    ),
                };
                line + " " + caution
            }
        }
    };
    let pick = move |_| {
        if let Some(input) = input.get_untracked() {
            load_picked(page, &input);
        }
    };
    // The picker offers all files: IDX has no extension, and formats are detected by content.
    view! {
        <p class="digits-line" data-testid="digits-in-use">{text_fn(in_use)}</p>
        {view_fn(move || page.digits.loading.get().map(|(done, total)| view! {
            <progress aria-label=t!("Loading digits") max=total.max(1).to_string() value=(total > 0).then(|| done.to_string())></progress>
        }.into_any()))}
        <p class="own-files" hidden=bool_fn(move || TaskLock(page).is_fixed("dataset"))>
            <label class="file-button" for="own-files">{t!("Load images…")}</label>
            <input type="file" id="own-files" data-testid="files" multiple node_ref=input on:change=on_event(pick) />
            <span>{t!("or drop them anywhere: IDX (plain or gzip), CIFAR’s .bin or .tar.gz, NumPy’s .npz or .npy, CSV, or a ZIP with a folder of pictures for each class.")}</span>
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

/// Loads files that were picked or dropped together.
pub fn load_list(page: Page, list: &FileList) {
    let files: Vec<File> = (0..list.length()).filter_map(|i| list.get(i)).collect();
    if !files.is_empty() {
        DigitChoice(page).load_files(files);
    }
}
