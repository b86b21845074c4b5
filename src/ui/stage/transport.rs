//! The transport: play, pause, step, reset, speed, and the run's state.

use hushgrad_message::Message;
use leptos::prelude::*;

use super::badge::badge;
use crate::{
    plot::format,
    train::report::{Privacy, Report},
    ui::{
        settings::{Choice, Speed},
        size::closures::{bool_fn, bool_memo, on_click, on_event, text_fn, view_fn},
        state::{Page, pay_once::Paid},
        text::t,
        widgets::{hint::hint, teaching::teaching},
    },
};

pub fn bar(page: Page) -> impl IntoView {
    view! {
        <section class="transport" aria-label=t!("Run controls")>
            <div class="buttons">
                <button type="button" class="quiet seldom" data-testid="reset" title=t!("Start again from step 0 (r)") on:click=on_click(move |_| page.run.reset())>
                    {icon("M12 5V2L7 6.5 12 11V8a5 5 0 1 1-5 5H5a7 7 0 1 0 7-8z")}<span>{t!("Reset")}</span>
                </button>
                <button type="button" class="play" class:primary=bool_fn(move || !page.run.playing.get()) class:starting=bool_fn(move || page.run.starting.get()) data-testid="play" title=t!("Train (space)")
                    on:click=on_click(move |_| if !page.run.playing.get_untracked() { page.play() })>
                    {icon("M7 4v16l13-8z")}<span>{text_fn(move || if page.run.starting.get() { t!("Starting…") } else { t!("Play") })}</span>
                </button>
                <button type="button" class="play" class:primary=bool_fn(move || page.run.playing.get()) data-testid="pause" title=t!("Pause (space)")
                    on:click=on_click(move |_| page.run.pause())>
                    {icon("M6 4h4v16H6zM14 4h4v16h-4z")}<span>{t!("Pause")}</span>
                </button>
                <button type="button" class="quiet" data-testid="step-once" title=t!("One step, taken apart (s)") on:click=on_click(move |_| page.run.step_once())>
                    {icon("M5 4v16l10-8zM16 4h3v16h-3z")}<span>{t!("Step")}</span>
                </button>
                {speed(page)}
            </div>
            {readouts(page)}
            {view_fn(move || page.run.features.get().map(|(done, total)| view! {
                <progress class="features" data-testid="features" title=t!("Features of {done} of {total} training images", done = format::integer(done.into()), total = format::integer(total.into())) aria-label=t!("Features needed for the first step") max=total.to_string() value=done.to_string()></progress>
            }.into_any()))}
        </section>
    }
    .into_any()
}

/// An icon of 24 × 24 units.
pub fn icon(path: &'static str) -> impl IntoView {
    view! { <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=path></path></svg> }
}

fn speed(page: Page) -> impl IntoView {
    let options = Speed::ALL
        .iter()
        .map(|&speed| {
            let id = format!("speed-{}", speed.key());
            view! {
                <input type="radio" name="speed" id=id.clone() value=speed.key() prop:checked=bool_fn(move || page.run.speed.get() == speed)
                    on:change=on_event(move |_| page.snapshots.set_speed(speed)) />
                <label for=id>{speed.label()}</label>
            }
        })
        .collect_view();
    let (button, sentence) = hint(
        "speed",
        t!("Speed"),
        t!(
            "Slow and normal show each step in detail, then wait three seconds or a tenth of one; max does not wait. The computation is the same."
        ),
    );
    view! { <fieldset class="speed" data-testid="speed"><legend class="visually-hidden">{t!("Speed")}</legend>{options}{button}{sentence}</fieldset> }.into_any()
}

fn readouts(page: Page) -> impl IntoView {
    let step = move || page.run.report.with(|report| report.as_ref().map_or(0, |report| report.step));
    let planned = move || page.run.info.with(|run| run.as_ref().and_then(|run| run.config.steps));
    let step_text = move || format::integer(step());
    let planned_text = move || planned().map_or_else(String::new, |steps| format!(" / {}", format::integer(steps)));
    let accuracy_value = move || page.run.accuracy.get().map_or_else(String::new, format::exact);
    // The accuracy of random parameters says nothing.
    let accuracy_text =
        move || page.run.accuracy.get().filter(|_| step() > 0).map_or_else(|| "–".to_owned(), format::percent);
    let tests_private =
        bool_memo(move || page.run.report.with(|report| report.as_ref().is_some_and(Report::tests_private_images)));
    let epsilon = move || {
        page.run.report.with(|report| match report.as_ref().map(|report| &report.privacy) {
            Some(Privacy::Bounded(bound)) => Some(Ok(bound.improved.epsilon)),
            Some(Privacy::NoGuarantee { .. }) => Some(Err(())),
            None => None,
        })
    };
    let epsilon_value = move || epsilon().and_then(Result::ok).map_or_else(String::new, format::exact);
    let shown = move || page.guarantee.epsilon();
    // For tests that wait for tight accounting.
    let tight_value = move || page.spending.tight().and(shown()).map_or_else(String::new, format::exact);
    let epsilon_text = move || match epsilon() {
        Some(Ok(_)) if page.guarantee.is_provisional() => "…".to_owned(),
        Some(Ok(improved)) => format!("≤ {}", format::epsilon(shown().unwrap_or(improved))),
        Some(Err(())) => t!("no guarantee").to_owned(),
        None => "–".to_owned(),
    };
    // The budget, or the projected cost of all planned steps.
    let end = move || {
        epsilon()?.ok()?;
        let (budget, planned) = page.settings.with(|settings| (settings.budget, settings.steps.is_some()));
        let projected = page.cost.end();
        let projected = projected.filter(|_| planned && (page.run.is_at_start() || page.cost.is_of_run(page.run)));
        // The budget is not a bound, so it is not rounded up.
        let end = budget.map(format::budget).or(projected.map(format::epsilon))?;
        Some(format!(" / {end}"))
    };
    let broken = bool_memo(move || page.run.is_broken());
    let canaries =
        bool_memo(move || page.run.info.with(|info| info.as_ref().is_some_and(|info| info.config.canaries > 0)));
    // Other releases on these images cost more.
    let epsilon_name = move || {
        let alone = page.runs.together.with(Message::is_empty) && page.pay_once.paid.get() == Paid::Nothing;
        if alone { t!("ε spent") } else { t!("ε spent by this run") }.to_owned()
    };
    let renyi_text = move || match epsilon() {
        _ if broken.get() => t!("claimed, but not true").to_owned(),
        Some(Ok(improved)) if shown().is_some_and(|shown| shown < improved) => {
            t!("tight; Rényi {epsilon}", epsilon = format::epsilon(improved))
        }
        _ => String::new(),
    };
    view! {
        <div class="standing"><dl class="readouts">
            <div><dt>{t!("Step")}</dt><dd data-testid="step" data-value=text_fn(move || step().to_string())>{text_fn(step_text)}<span class="planned">{text_fn(planned_text)}</span></dd></div>
            <div class="accuracy"><dt>{t!("Test accuracy")}" "<span class="small" data-testid="with-canaries">{text_fn(move || if canaries.get() { t!("with canaries") } else { "" }.to_owned())}</span>{view_fn(move || tests_private.get().then(|| teaching().into_any()))}</dt><dd data-testid="accuracy" data-value=text_fn(accuracy_value)>{text_fn(accuracy_text)}</dd></div>
            <div class="epsilon" class:none=bool_fn(move || broken.get() || matches!(epsilon(), Some(Err(()))))>
                <dt>{text_fn(epsilon_name)}" "<span class="small">{text_fn(renyi_text)}</span></dt>
                <dd><span data-testid="epsilon" data-value=text_fn(epsilon_value) data-tight=text_fn(tight_value)>{text_fn(epsilon_text)}</span>
                    <span class="end" data-testid="epsilon-end" title=t!("The budget, or what the planned steps will cost")>{text_fn(move || end().unwrap_or_default())}</span></dd>
            </div>
        </dl>{badge(page)}</div>
    }
    .into_any()
}
