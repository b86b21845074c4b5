//! Bars above the panels for a class: what a task leaves free, and a submitted run.

use leptos::prelude::*;

use crate::{
    plot::format,
    ui::{
        browser,
        runs::share,
        settings::keys,
        setup::layout::NOISE,
        size::closures::{effect, on_click, text_fn, view_fn},
        state::{HandedInRun, Page, Panel, TaskLock},
        text::t,
    },
};

/// Milliseconds until the panel of a field is shown.
const SHOWN_MS: u64 = 60;

/// Shows and focuses the field with this id, in whichever panel it is.
fn go_to(page: Page, id: String) {
    if is_on_stage(&id) {
        page.appearance.show_panel(Panel::Step)
    } else {
        page.appearance.open_sheet()
    }
    if id == "preset" {
        page.appearance.more.set(true);
    }
    set_timeout(move || browser::go_to(&id), std::time::Duration::from_millis(SHOWN_MS));
}

/// True if the field with this id is on the stage.
fn is_on_stage(id: &str) -> bool {
    NOISE.iter().any(|control| control.id() == id)
}

/// Says how far one is with the task: ε of the planned steps against its limit and, once the run has
/// ended, the accuracy against its goal.
fn progress(page: Page) -> String {
    let Some((limit, goal)) = page.task.with(|task| task.as_ref().map(|task| (task.limit, task.goal))) else {
        return String::new();
    };
    let epsilon = if page.run.is_complete() { page.guarantee.epsilon() } else { page.planned_epsilon() };
    let mut said = vec![];
    if let (Some(limit), Some(epsilon)) = (limit, epsilon) {
        let (above, epsilon, limit) = (epsilon > limit, format::epsilon(epsilon), format::exact(limit));
        said.push(match above {
            true => t!(
                "The planned steps cost ε ≤ {epsilon}, above the limit of {limit}.",
                epsilon = epsilon,
                limit = limit
            ),
            false => t!(
                "The planned steps cost ε ≤ {epsilon}, within the limit of {limit}.",
                epsilon = epsilon,
                limit = limit
            ),
        });
    }
    match page.run.accuracy.get().filter(|_| page.run.is_complete()) {
        Some(accuracy) => {
            let read = format::percent(accuracy);
            said.push(match goal {
                Some(goal) if 100.0 * accuracy >= goal => t!(
                    "The run has ended at {accuracy}: the goal of {goal}% is reached.",
                    accuracy = read,
                    goal = format::exact(goal)
                ),
                Some(goal) => t!(
                    "The run has ended at {accuracy}, short of the goal of {goal}%.",
                    accuracy = read,
                    goal = format::exact(goal)
                ),
                None => t!("The run has ended at {accuracy}.", accuracy = read),
            });
            said.push(t!("Write it down, or hand it in.").to_owned());
        }
        None => said.push(t!("Press Play, and wait until the run has ended.").to_owned()),
    }
    said.join(" ")
}

/// Returns the bars of the open task and of the submitted run, if any.
pub fn bars(page: Page) -> AnyView {
    // What a task leaves free is in view.
    effect(move || {
        let in_settings = |(_, id): (&str, String)| id != keys::PRESET && !is_on_stage(&id);
        if page.task.with(|task| task.as_ref().is_some_and(|task| task.free().any(in_settings))) {
            page.appearance.show_settings();
        }
    });
    let task = move || {
        let (free, asks): (Vec<_>, _) =
            page.task.with(|task| task.as_ref().map(|task| (task.free().collect(), task.asks())))?;
        let name = |(at, (label, id)): (usize, (&'static str, String))| {
            let before = if at == 0 { " " } else { ", " };
            view! { {before}<button type="button" class="word" on:click=on_click(move |_| go_to(page, id.clone()))>{label}</button> }
        };
        let nothing = free.is_empty();
        let names = free.into_iter().enumerate().map(name).collect_view();
        Some(view! {
            <section class="class-bar" data-testid="task" aria-label=t!("Task")>
                <div>
                    {asks.map(|asks| view! { <p><strong>{asks}</strong></p> })}
                    <p data-testid="task-free">{if nothing { t!("This task fixes every setting.") } else { t!("This task lets you change:") }}{names}{(!nothing).then(|| [". ", t!("All else is fixed.")].concat())}</p>
                    <p class="claim" data-testid="task-progress">{text_fn(move || progress(page))}</p>
                </div>
                <button type="button" data-testid="task-hand-in" on:click=on_click(move |_| share::hand_in(page))>{t!("Hand in…")}</button>
                <button type="button" class="quiet" data-testid="unlock" on:click=on_click(move |_| TaskLock(page).unlock())>{t!("Unlock all")}</button>
            </section>
        }.into_any())
    };
    let handed_in = move || {
        let said = page.submission.said.get()?;
        let claim = said.claim();
        // Not the text “by” before an accounting method: other languages translate it differently.
        let what = if said.name.is_empty() { t!("Handed in") } else { t!("Handed in by") };
        let name = (!said.name.is_empty()).then(|| view! { " "<bdi>{said.name}</bdi> });
        Some(view! {
            <section class="class-bar" data-testid="handed-in" aria-label=t!("Handed in")>
                <div>
                    <p><strong>{what}{name}": "</strong><span data-testid="handed-in-says">{claim}</span>". "<span class="claim">{t!("Claimed by the link; anyone can write one.")}</span></p>
                    <p data-testid="handed-in-epsilon">{text_fn(move || HandedInRun(page).verdict_on_epsilon())}</p>
                    <p data-testid="handed-in-accuracy">{text_fn(move || HandedInRun(page).verdict_on_accuracy())}</p>
                </div>
                <button type="button" data-testid="train-again" on:click=on_click(move |_| HandedInRun(page).train_again())>{t!("Train it again")}</button>
                <button type="button" class="quiet close" aria-label=t!("Close the submission") on:click=on_click(move |_| HandedInRun(page).put_away())>"×"</button>
            </section>
        }.into_any())
    };
    view! { {view_fn(task)}{view_fn(handed_in)} }.into_any()
}
