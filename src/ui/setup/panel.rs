//! SETUP: what is trained, on what, and how it is kept private.

use leptos::prelude::*;
use web_sys::{File, FileList, HtmlInputElement};

use crate::{
    data::Source,
    model::pretrained,
    plot::format,
    ui::{
        embed::options::Control,
        noise_lab,
        settings::{Encoder, Family, Number, Settings},
        size::closures::{fact, on_event, piece, whether, wording},
        state::Page,
        threads::accountant::OPEN_EPOCHS,
        widgets::controls::{choice, number},
    },
};

/// The whole panel.
pub fn panel(page: Page) -> impl IntoView {
    let number = move |which| control(page, Control::Number(which));
    let no_noise = fact(move || page.settings.with(|settings| settings.family == Family::None));
    let has_practised = fact(move || page.settings.with(|settings| pretrained::available(settings.model)));
    let unprotected = Memo::new(move |_| page.settings.with(Settings::no_guarantee));
    view! {
        <h2>"Set-up"</h2>
        <fieldset>
            <legend>"Data and model"</legend>
            {control(page, Control::Dataset)}
            {digits_line(page)}
            {control(page, Control::Model)}
        </fieldset>
        <fieldset>
            <legend>"Privacy"</legend>
            {control(page, Control::Encoder)}
            {number(Number::ClipNorm)}
            {control(page, Control::Shape)}
            {number(Number::PreScale)}
            {number(Number::Vectors)}
            {control(page, Control::Noise)}
            {noise_lab::density_field(page)}
            {number(Number::Scale)}
            {number(Number::Nu)}
            {number(Number::Exponent)}
            {number(Number::Budget)}
            {number(Number::Delta)}
            <div class="quiet-when-off" class:off=whether(move || no_noise.get())>
                {control(page, Control::Denoiser)}
            </div>
            {piece(move || unprotected.get().map(|reason| view! { <p class="warning">{reason}</p> }.into_any()))}
            {piece(move || unprotected.get().is_none().then(|| projection(page).into_any()))}
        </fieldset>
        <fieldset>
            <legend>"Training"</legend>
            {number(Number::Lot)}
            {number(Number::LearningRate)}
        </fieldset>
        <details class="advanced">
            <summary>"Advanced"</summary>
            {choice(page, "sampling", "Sampling", "Poisson: each digit joins a step by a coin of its own. Fixed size: exactly one lot; ε covers an exchange of one digit. Shuffled: each digit once an epoch, at full price.",
                |s| s.sampling, |page, to| page.change(|s| s.sampling = to))}
            {number(Number::Steps)}
            {choice(page, "schedule", "Learning rate", "A rate that falls towards the planned end averages out the noise; it needs a number of steps to fall over.",
                |s| s.decay, |page, to| page.change(|s| s.decay = to))}
            {number(Number::RateEnd)}
            {number(Number::Momentum)}
            {number(Number::Copies)}
            {number(Number::Reach)}
            {piece(move || has_practised.get().then(|| choice(page, "start", "Start from",
                "Digits that this page draws are public, so practice on them costs no privacy.",
                |s| s.start, |page, to| page.change(|s| s.start = to))))}
            {choice(page, "reading", "Read images", "Of an image that the model is less than 99 % sure of, the mean over five places of it, a pixel apart, decides. What reads costs no privacy.",
                |s| s.reading, |page, to| page.change(|s| s.reading = to))}
            {choice(page, "averaging", "Read with", "A mean of the parameters over the last ninth of the steps, 1000 at most, evens out what noise does to single ones. It is made of what was released, so it costs no privacy.",
                |s| s.averaging, |page, to| page.change(|s| s.averaging = to))}
            {number(Number::InitSeed)}
            {number(Number::EnvelopeSeed)}
            {number(Number::Replay)}
            {number(Number::GridBits)}
        </details>
    }
    .into_any()
}

/// One control; nothing while it plays no part. The noise scale is always there: other tools look for it.
pub fn control(page: Page, which: Control) -> AnyView {
    match which {
        Control::Preset => crate::ui::app::preset_choice(page).into_any(),
        Control::Dataset => choice(page, "dataset", "Digits", "What the model learns from; your own files are read in this page and never leave it.",
            |s| s.digits, Page::choose_digits).into_any(),
        Control::Model => choice(page, "model", "Model", "More parameters can learn more, and each of them gets its own noise.",
            |s| s.model, |page, to| page.change(|s| s.model = to)).into_any(),
        Control::Encoder => choice(page, "encoder", "Bound each example by", "What one example may contribute must be bounded, or no noise could hide it.",
            |s| s.encoder, |page, to| page.change(|s| s.encoder = to)).into_any(),
        Control::Shape => {
            let envelope = fact(move || page.settings.with(|settings| settings.encoder == Encoder::Envelope));
            piece(move || envelope.get().then(|| choice(page, "envelope-shape", "Envelope shape",
                "The distribution that the envelope's public vectors are drawn from.",
                |s| s.shape, |page, to| page.change(|s| s.shape = to)))).into_any()
        }
        Control::Noise => choice(page, "noise-family", "Noise", "Any symmetric noise with a single peak can be accounted for; its tails decide what it costs.",
            |s| s.family, |page, to| page.change(|s| s.family = to)).into_any(),
        Control::Denoiser => choice(page, "denoiser", "Denoiser", "It shrinks the noisy sum by how far it is from pure noise; working on what is already released costs no privacy.",
            |s| s.denoiser, |page, to| page.change(|s| s.denoiser = to)).into_any(),
        Control::Number(which) => {
            let stays = which == Number::Scale;
            let there = fact(move || stays || page.settings.with(|settings| settings.applies(which)));
            let hook = match which {
                Number::Scale => Some("noise-scale"),
                Number::Budget => Some("target-epsilon"),
                Number::Lot => Some("lot"),
                Number::LearningRate => Some("learning-rate"),
                Number::Delta => Some("delta"),
                _ => None,
            };
            piece(move || there.get().then(|| number(page, which, hook))).into_any()
        }
    }
}

/// What these settings will cost, before Play.
fn projection(page: Page) -> impl IntoView {
    let text = move || {
        let Some(Ok(projection)) = page.projection.get() else { return String::new() };
        let (epsilon, steps) = (format::epsilon(projection.end.improved.epsilon), format::integer(projection.steps));
        let text = match page.settings.with(|settings| settings.steps) {
            Some(_) => format!("The {steps} planned steps will cost ε ≤ {epsilon}"),
            None => format!("{OPEN_EPOCHS} passes over the data ({steps} steps) would cost ε ≤ {epsilon}"),
        };
        page.value_of("tight").map_or_else(
            || format!("{text}."),
            |tight| format!("{text} by Rényi accounting; tight accounting: ε ≤ {tight}."),
        )
    };
    view! { <p class="projection" data-testid="projection">{wording(text)}</p> }
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
        <p class="digits-line" data-testid="digits-in-use">{wording(in_use)}</p>
        {piece(move || page.loading.get().map(|(done, total)| view! {
            <progress aria-label="Loading digits" max=total.max(1).to_string() value=(total > 0).then(|| done.to_string())></progress>
        }.into_any()))}
        <p class="own-files">
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
