//! The panel: fields, price, and other ways to it.

use leptos::prelude::*;

use super::fields::{choice, field, of_file};
use crate::{
    plot::format,
    train::{config::SamplingPolicy, projection::round_up},
    ui::{
        browser,
        link::{
            OwnTraining,
            own_training::{FIELDS, NOISES},
        },
        results::{
            meaning::{conversions, source, whole_curve},
            odds::grids,
        },
        settings::{Choice, Select},
        size::closures::{bool_fn, bool_memo, effect, on_click, on_event, text_fn, view_fn},
        state::{Page, as_sentence},
        text::{heard, t},
    },
    worker::elsewhere::Price,
};

/// The panel, while it is open.
pub fn panel(page: Page) -> impl IntoView {
    let open = bool_memo(move || page.own_training.open.get());
    view_fn(move || open.get().then(|| untrack(|| inside(page))))
}

fn inside(page: Page) -> AnyView {
    let own = page.own_training;
    effect(move || own.ask());
    let problem = RwSignal::new(String::new());
    let fields = FIELDS.iter().map(|spec| field(page, spec, problem)).collect_view();
    view! {
        <section class="panel noise-lab" data-testid="own" aria-label=t!("My own training")>
            <div class="lesson-head"><h2>{t!("My own training")}</h2>
                <button type="button" class="quiet" aria-label=t!("Close this panel") on:click=on_click(move |_| own.open.set(false))>"×"</button></div>
            <p class="lead">{t!("Did you train with Opacus, TensorFlow Privacy, JAX Privacy or code of your own? Enter its numbers, or open its accountant's file, and see what an attacker can learn from it. Nothing leaves this page.")}</p>
            <div class="own-training">
                <div><div class="lab-questions">{fields}
                    {choice(page, Select::Sampling, SamplingPolicy::ALL, |own| own.sampling, |own, sampling| own.sampling = sampling)}
                    {choice(page, Select::Noise, &NOISES, |own| own.noise, |own, noise| own.noise = noise)}</div>
                    <p class="field-error" role="alert" data-testid="own-problem">{text_fn(move || problem.get())}</p>{files(page)}</div>
                <div data-testid="own-price" aria-live="polite">{view_fn(move || Some(answer(page)))}</div>
            </div>
        </section>
    }
    .into_any()
}

fn answer(page: Page) -> AnyView {
    match page.own_training.price.get() {
        None => view! { <p class="verdict-line">{t!("Computing…")}</p> }.into_any(),
        Some(Err(phrase)) => view! { <p class="verdict-line">{as_sentence(&phrase)}</p> }.into_any(),
        Some(Ok(price)) => priced(page, price),
    }
}

fn priced(page: Page, Price { delta, spent, found, gaussian, assumptions, multiplier }: Price) -> AnyView {
    let own = page.own_training;
    let tight = spent.tight.map(|tight| (tight.epsilon, source(&tight)));
    let epsilon = tight.as_ref().map_or(spent.improved.epsilon, |(epsilon, _)| *epsilon);
    let line = t!(
        "ε ≤ {epsilon} at δ = {delta}, after {n} step | ε ≤ {epsilon} at δ = {delta}, after {n} steps",
        epsilon = format::epsilon(epsilon),
        delta = format::number(delta),
        n = format::integer(spent.releases)
    );
    let enough = multiplier.map(|sought| match sought {
        Err(phrase) => view! { <p data-testid="own-multiplier">{as_sentence(&phrase)}</p> }.into_any(),
        Ok(least) => {
            let least = round_up(least);
            let said = t!("For that ε, a noise multiplier of {least} is enough.", least = format::exact(least));
            view! {
                <p data-testid="own-multiplier">{said}" "<button type="button" class="quiet" on:click=on_click(move |_| own.numbers.update(|own| own.noise_multiplier = least))>{t!("Use it")}</button></p>
            }
            .into_any()
        }
    });
    let strong = view! { <strong>{found.to_string()}</strong> };
    view! {
        <p class="verdict-line"><strong data-testid="own-epsilon-found">{line}</strong></p>
        {enough}
        <section class="odds">{grids(Box::new(move || Some(found)), strong.into_any())}</section>
        <details class="meaning"><summary>{t!("What this ε says")}</summary>
            {conversions(Box::new(move || tight.clone()), spent.improved, spent.classic)}
            {gaussian.map(|fit| whole_curve(&fit))}
            <p>{t!("ε holds under these assumptions:")}</p>
            <ul>{assumptions.iter().map(|phrase| view! { <li>{heard(phrase)}</li> }).collect_view()}</ul></details>
    }
    .into_any()
}

/// The other ways to the same price: a file, and the command line.
fn files(page: Page) -> AnyView {
    let own = page.own_training;
    let problem = RwSignal::new(String::new());
    let pick = move |event: leptos::ev::Event| {
        let input: web_sys::HtmlInputElement = event_target(&event);
        if let Some(file) = input.files().and_then(|files| files.get(0)) {
            leptos::task::spawn_local(async move {
                match browser::read_run_file(file).await {
                    Ok(file) => own.file.set(Some(file)),
                    Err(sentence) => problem.set(sentence),
                }
            });
        }
        // So that picking the same file again counts as a change.
        input.set_value("");
    };
    let from = move || own.file.with(|file| file.as_ref().map(|(name, _)| t!("Priced from {name}.", name = name)));
    view! {
        <p class="own-files"><label class="file-button" for="own-record">{t!("Open an accountant's file…")}</label>
            <input type="file" id="own-record" class="visually-hidden" data-testid="own-record" on:change=on_event(pick) />
            <span hidden=bool_fn(move || of_file(page))>{t!("Opacus' accountant state or history, an event of dp_accounting, or a ledger or run file of this page.")}</span>
            <span hidden=bool_fn(move || !of_file(page))>{text_fn(move || from().unwrap_or_default())}" "
                <button type="button" class="quiet" on:click=on_click(move |_| own.file.set(None))>{t!("Back to the numbers")}</button></span></p>
        <p class="field-error" role="alert">{text_fn(move || problem.get())}</p>
        <p class="lead" hidden=bool_fn(move || of_file(page))>{t!("The same in a terminal:")}" "<code>{text_fn(move || own.numbers.with(OwnTraining::command))}</code></p>
    }
    .into_any()
}
