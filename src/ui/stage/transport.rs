//! The transport: play, pause, step, reset, speed, and where the run stands.

use leptos::prelude::*;

use super::webgpu_advice;
use crate::{
    engine::Backend,
    plot::format,
    train::report::{Privacy, Report},
    ui::{
        browser, embed, results,
        settings::{Choice, Speed},
        size::closures::{fact, on_click, on_event, piece, whether, wording},
        state::Page,
        widgets::controls::hint,
    },
    worker::protocol::{BackendChoice, Instead},
};

/// The bar.
pub fn bar(page: Page) -> impl IntoView {
    view! {
        <section class="transport" aria-label="Transport">
            <div class="buttons">
                <button type="button" class="quiet" data-testid="reset" title="Start again from step 0 (r)" on:click=on_click(move |_| page.reset())>
                    {icon("M12 5V2L7 6.5 12 11V8a5 5 0 1 1-5 5H5a7 7 0 1 0 7-8z")}<span>"Reset"</span>
                </button>
                <button type="button" class="play" class:primary=whether(move || !page.playing.get()) data-testid="play" title="Train (space)"
                    on:click=on_click(move |_| if !page.playing.get_untracked() { page.play() })>
                    {icon("M7 4v16l13-8z")}<span>"Play"</span>
                </button>
                <button type="button" class="play" class:primary=whether(move || page.playing.get()) data-testid="pause" title="Pause (space)"
                    on:click=on_click(move |_| page.pause())>
                    {icon("M6 4h4v16H6zM14 4h4v16h-4z")}<span>"Pause"</span>
                </button>
                <button type="button" class="quiet" data-testid="step-once" title="One step, taken apart (s)" on:click=on_click(move |_| page.step_once())>
                    {icon("M5 4v16l10-8zM16 4h3v16h-3z")}<span>"Step"</span>
                </button>
                {speed(page)}
            </div>
            {readouts(page)}
        </section>
    }
    .into_any()
}

/// A picture of 24 × 24 units.
pub fn icon(path: &'static str) -> impl IntoView {
    view! { <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=path></path></svg> }
}

fn speed(page: Page) -> impl IntoView {
    let options = Speed::ALL
        .iter()
        .map(|&speed| {
            let id = format!("speed-{}", speed.key());
            view! {
                <input type="radio" name="speed" id=id.clone() value=speed.key() prop:checked=whether(move || page.speed.get() == speed)
                    on:change=on_event(move |_| page.set_speed(speed)) />
                <label for=id>{speed.label()}</label>
            }
        })
        .collect_view();
    let (button, sentence) = hint(
        "speed",
        "Speed",
        "Slow and normal take each step apart, and wait two seconds or a tenth of one after it; max does not wait. What is computed is the same.",
    );
    view! { <fieldset class="speed" data-testid="speed"><legend class="visually-hidden">"Speed"</legend>{options}{button}{sentence}</fieldset> }.into_any()
}

fn readouts(page: Page) -> impl IntoView {
    let step = Memo::new(move |_| page.report.with(|report| report.as_ref().map_or(0, |report| report.step)));
    let planned = move || page.run.with(|run| run.as_ref().and_then(|run| run.config.steps));
    let step_text = move || match planned() {
        Some(steps) => format!("{} / {}", format::integer(step.get()), format::integer(steps)),
        None => format::integer(step.get()),
    };
    let accuracy_value = move || page.accuracy.get().map_or_else(String::new, format::exact);
    let accuracy_text = move || page.accuracy.get().map_or_else(|| "–".to_owned(), format::percent);
    let tests_private =
        fact(move || page.report.with(|report| report.as_ref().is_some_and(Report::tests_private_images)));
    let epsilon = Memo::new(move |_| {
        page.report.with(|report| match report.as_ref().map(|report| &report.privacy) {
            Some(Privacy::Bounded(bound)) => Some(Ok((bound.improved.epsilon, bound.classic.epsilon))),
            Some(Privacy::NoGuarantee { .. }) => Some(Err(())),
            None => None,
        })
    });
    let epsilon_value =
        move || epsilon.get().and_then(Result::ok).map_or_else(String::new, |(improved, _)| format::exact(improved));
    let epsilon_text = move || match epsilon.get() {
        Some(Ok((improved, _))) => format!("≤ {}", format::epsilon(improved)),
        Some(Err(())) => "no guarantee".to_owned(),
        None => "–".to_owned(),
    };
    // What all of it may cost, or will.
    let end = move || {
        epsilon.get()?.ok()?;
        let (budget, planned) = page.settings.with(|settings| (settings.budget, settings.steps.is_some()));
        let projected = page.projection.with(|known| Some(known.as_ref()?.as_ref().ok()?.end.improved.epsilon));
        // What was set is no bound.
        let end = budget.map(format::budget).or(projected.filter(|_| planned).map(format::epsilon))?;
        Some(format!(" / {end}"))
    };
    let classic_text = move || match epsilon.get() {
        Some(Ok((_, classic))) => format!("classic {}", format::epsilon(classic)),
        _ => String::new(),
    };
    view! {
        <dl class="readouts">
            <div><dt>"Step"</dt><dd data-testid="step" data-value=wording(move || step.get().to_string())>{wording(step_text)}</dd></div>
            <div class="accuracy"><dt>"Test accuracy " {piece(move || tests_private.get().then(|| results::teaching().into_any()))}</dt><dd data-testid="accuracy" data-value=wording(accuracy_value)>{wording(accuracy_text)}</dd></div>
            <div class="epsilon" class:none=whether(move || matches!(epsilon.get(), Some(Err(()))))>
                <dt>"ε spent" <span class="small">{wording(classic_text)}</span></dt>
                <dd><span data-testid="epsilon" data-value=wording(epsilon_value)>{wording(epsilon_text)}</span>
                    <span class="end" data-testid="epsilon-end" title="The budget, or what the planned steps will cost">{wording(move || end().unwrap_or_default())}</span></dd>
            </div>
        </dl>
        {badge(page)}
    }
    .into_any()
}

/// Which backend runs; where it is not the one that was wanted, why, and what helps.
fn badge(page: Page) -> impl IntoView {
    let kind = move || {
        page.engine.with(|engine| match engine {
            Some((info, _)) if info.backend == Backend::Gpu => ("gpu", "WebGPU"),
            Some(_) => ("cpu", "CPU"),
            None => ("", "Starting…"),
        })
    };
    let device =
        move || page.engine.with(|engine| engine.as_ref().map(|(info, _)| info.device.clone()).unwrap_or_default());
    let reason = move || {
        page.engine.with(|engine| match engine {
            Some((_, Some(Instead { reason, webgpu }))) => {
                let help = if *webgpu { "" } else { webgpu_advice::how_to_get_webgpu(&browser::user_agent()) };
                Some(format!("The CPU trains here, because of this: {reason}. {help}"))
            }
            Some((info, None)) if info.backend == Backend::Cpu && embed::gpu_is_taken() => {
                Some("The CPU trains here, because another frame on this page has the graphics card.".to_owned())
            }
            Some((info, None)) if info.backend == Backend::Cpu && page.backend == BackendChoice::Cpu => {
                Some("The CPU trains here because the address says backend=cpu.".to_owned())
            }
            Some((info, None)) if info.backend == Backend::Gpu => {
                Some("WebGPU was checked: known steps gave the CPU's numbers.".to_owned())
            }
            _ => None,
        })
    };
    view! {
        <details class="badge">
            <summary><span class="dot" class:gpu=whether(move || kind().0 == "gpu")></span>
                <span data-testid="backend" data-value=wording(move || kind().0)>{wording(move || kind().1)}</span></summary>
            <div class="badge-text"><p>{wording(device)}</p><p data-testid="backend-reason">{wording(move || reason().unwrap_or_default())}</p></div>
        </details>
    }
    .into_any()
}
