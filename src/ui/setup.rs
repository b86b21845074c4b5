//! SETUP: what is trained, on what, and how it is kept private.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{File, FileList, HtmlInputElement};

use super::{
    browser,
    controls::{choice, number},
    field::Number,
    format,
    settings::{Choice, Decay, Digits, Encoder, Family, Settings},
    state::{OPEN_EPOCHS, Page},
};
use crate::{
    data::{Source, TestSet},
    mechanism::{Denoiser, EnvelopeShape},
    model::Architecture,
};

/// The whole panel.
pub fn panel(page: Page) -> impl IntoView {
    let applies = move |which: Number| Memo::new(move |_| page.settings.with(|settings| settings.applies(which)));
    let number_if = move |which: Number, testid: Option<&'static str>| {
        let applies = applies(which);
        move || applies.get().then(|| number(page, which, testid))
    };
    let envelope = Memo::new(move |_| page.settings.with(|settings| settings.encoder == Encoder::Envelope));
    let no_noise = Memo::new(move |_| page.settings.with(|settings| settings.family == Family::None));
    let unprotected = Memo::new(move |_| page.settings.with(no_guarantee));
    // Families join as the privacy core learns to account for them.
    let families = Family::ALL
        .iter()
        .copied()
        .filter(|&family| Settings { family, ..Settings::default() }.noise().is_none_or(|noise| noise.build().is_ok()))
        .collect();
    view! {
        <h2>"Set-up"</h2>
        <fieldset>
            <legend>"Data and model"</legend>
            {choice(page, "dataset", "Digits", "What the model learns from; your own files are read in this page and never leave it.",
                Digits::ALL.to_vec(), |s| s.digits, Page::choose_digits)}
            {digits_line(page)}
            {choice(page, "model", "Model", "More parameters can learn more, and each of them gets its own noise.",
                <Architecture as Choice>::ALL.to_vec(), |s| s.model, |page, to| page.change(|s| s.model = to))}
        </fieldset>
        <fieldset>
            <legend>"Privacy"</legend>
            {choice(page, "encoder", "Bound each example by", "What one example may contribute must be bounded, or no noise could hide it.",
                Encoder::ALL.to_vec(), |s| s.encoder, |page, to| page.change(|s| s.encoder = to))}
            {number_if(Number::ClipNorm, None)}
            {move || envelope.get().then(|| choice(page, "envelope-shape", "Envelope shape",
                "The distribution that the envelope's public vectors are drawn from.",
                <EnvelopeShape as Choice>::ALL.to_vec(), |s| s.shape, |page, to| page.change(|s| s.shape = to)))}
            {number_if(Number::PreScale, None)}
            {number_if(Number::Vectors, None)}
            {choice(page, "noise-family", "Noise", "Any symmetric noise with a single peak can be accounted for; its tails decide what it costs.",
                families, |s| s.family, |page, to| page.change(|s| s.family = to))}
            {number_if(Number::Scale, Some("noise-scale"))}
            {number_if(Number::Nu, None)}
            {number_if(Number::Exponent, None)}
            {number_if(Number::Budget, Some("target-epsilon"))}
            <div class="quiet-when-off" class:off=move || no_noise.get()>
                {choice(page, "denoiser", "Denoiser", "It shrinks the noisy sum by how far it is from pure noise; working on what is already released costs no privacy.",
                    <Denoiser as Choice>::ALL.to_vec(), |s| s.denoiser, |page, to| page.change(|s| s.denoiser = to))}
            </div>
            {move || unprotected.get().map(|reason| view! { <p class="warning">{reason}</p> })}
            {move || unprotected.get().is_none().then(|| projection(page))}
        </fieldset>
        <fieldset>
            <legend>"Training"</legend>
            {number(page, Number::Lot, Some("lot"))}
            {number(page, Number::LearningRate, Some("learning-rate"))}
        </fieldset>
        <details class="advanced">
            <summary>"Advanced"</summary>
            {number(page, Number::Delta, Some("delta"))}
            {number(page, Number::Steps, None)}
            {choice(page, "schedule", "Learning rate", "A rate that falls towards the planned end averages out the noise; it needs a number of steps to fall over.",
                Decay::ALL.to_vec(), |s| s.decay, |page, to| page.change(|s| s.decay = to))}
            {number_if(Number::RateEnd, None)}
            {number(page, Number::Momentum, None)}
            {number(page, Number::InitSeed, None)}
            {number_if(Number::EnvelopeSeed, None)}
            {number(page, Number::Replay, None)}
        </details>
    }
    .into_any()
}

/// Why these settings promise nothing, where they do not.
fn no_guarantee(settings: &Settings) -> Option<&'static str> {
    if settings.family == Family::None {
        Some("Without noise there is no privacy guarantee, whatever else is set.")
    } else if settings.encoder == Encoder::None {
        Some("Unbounded gradients drown any noise: there is no privacy guarantee.")
    } else if settings.replay.is_some() {
        Some("Replayed noise can be subtracted by anybody who knows the seed: there is no privacy guarantee.")
    } else {
        None
    }
}

/// What these settings will cost, before Play.
fn projection(page: Page) -> impl IntoView {
    let text = move || {
        let Some(Ok(projection)) = page.projection.get() else { return String::new() };
        let about = if projection.about { "about " } else { "" };
        let (epsilon, steps) = (format::epsilon(projection.end.improved.epsilon), format::integer(projection.steps));
        match page.settings.with(|settings| settings.steps) {
            Some(_) => format!("The {steps} planned steps will cost {about}ε ≤ {epsilon}."),
            None => format!("{OPEN_EPOCHS} passes over the data ({steps} steps) would cost {about}ε ≤ {epsilon}."),
        }
    };
    view! { <p class="projection" data-testid="projection">{text}</p> }
}

/// What is loaded, how far a load is, and the way to one's own files.
fn digits_line(page: Page) -> impl IntoView {
    let input = NodeRef::<leptos::html::Input>::new();
    let in_use = move || {
        let loaded = page.digits.get();
        let running = page.run.with(|run| run.as_ref().map(|run| (run.data.clone(), run.train)));
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
                    line.push_str(&format!(" The run that stands uses {name}, {}; reset it to use these.", n(train)));
                }
                line.push_str(match loaded.test_set {
                    TestSet::Public => "",
                    TestSet::Visitor => " The test images are yours too: ε does not cover what the test accuracy tells of them.",
                    TestSet::HeldOut => {
                        " Every sixth image is kept for testing: ε does not cover what the test accuracy tells of those."
                    }
                });
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
        <p class="digits-line" data-testid="digits-in-use">{in_use}</p>
        {move || page.loading.get().map(|(done, total)| view! {
            <progress aria-label="Loading digits" max=total.max(1).to_string() value=(total > 0).then(|| done.to_string())></progress>
        })}
        <p class="own-files">
            <label class="file-button" for="own-files">"Load IDX files…"</label>
            <input type="file" id="own-files" data-testid="files" multiple node_ref=input on:change=pick />
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

/// Reads files and hands them to the training thread.
pub fn load_list(page: Page, list: &FileList) {
    let files: Vec<File> = (0..list.length()).filter_map(|i| list.get(i)).map(JsCast::unchecked_into).collect();
    if files.is_empty() {
        return;
    }
    leptos::task::spawn_local(async move {
        match browser::read_files(files).await {
            Ok(files) => page.load_files(files),
            Err(sentence) => page.put_problem(None, sentence),
        }
    });
}
