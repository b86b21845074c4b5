//! The embedded page: a run, its two curves and a few controls, in a frame of another page; and the events and commands
//! that `www/embed.js` carries between the two.

use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CustomEvent, CustomEventInit};

use super::options::Options;
use crate::{
    accounting::noise::CustomDensity,
    engine::Backend,
    train::report::{Privacy, Report},
    ui::{
        app, browser,
        link::query::{self, Link},
        results,
        settings::Digits,
        setup,
        size::closures::{follow, wording},
        stage::transport,
        state::{Page, as_sentence},
    },
    worker::accounts::{Answer, Question},
};

/// Whether this page stands in a frame that another page has made for it.
#[must_use]
pub fn is_embedded() -> bool {
    root_has("data-start")
}

/// Whether another embed of the page around this one has the GPU.
#[must_use]
pub fn gpu_is_taken() -> bool {
    root_has("data-gpu")
}

fn root_has(attribute: &str) -> bool {
    document().document_element().is_some_and(|root| root.has_attribute(attribute))
}

/// The whole page.
pub fn view(page: Page, options: Options) -> impl IntoView {
    talk(page);
    let controls = options.controls.into_iter().map(|control| setup::control(page, control)).collect_view();
    let whole = move || format!("./?{}", page.link().write());
    view! {
        <main class="embed" data-hide=options.hide>
            <div class="top">{transport::bar(page)}{app::messages(page)}</div>
            <div class="embed-charts">
                <div class="embed-accuracy">{results::accuracy_chart(page, 140.0)}</div>
                <div class="embed-epsilon">{results::epsilon_chart(page, 140.0)}</div>
            </div>
            <div class="embed-controls">{controls}</div>
            <p class="embed-foot"><span>"Trains in this page; nothing leaves your machine."</span>
                <a href=wording(whole) target="_blank" rel="noopener">"Open the whole playground"</a></p>
            <p class="visually-hidden" role="status" aria-live="polite">{wording(move || page.spoken.get())}</p>
        </main>
    }
    .into_any()
}

/// Says `kind` to the page around this one, with what is set and where the run stands.
fn tell(page: Page, kind: &str, more: &[(&str, JsValue)]) {
    let query = untrack(move || page.link().write());
    let (report, run) = (page.report.get_untracked(), page.run.get_untracked());
    let tests_private = report.as_ref().is_some_and(Report::tests_private_images);
    let bound = report.as_ref().map(|report| &report.privacy);
    let (epsilon, guarantee) = match bound {
        Some(Privacy::Bounded(bound)) => (Some(bound.improved.epsilon), Some(true)),
        Some(Privacy::NoGuarantee { .. }) => (None, Some(false)),
        None => (None, None),
    };
    let backend = run.as_ref().map(|run| if run.engine.backend == Backend::Gpu { "gpu" } else { "cpu" });
    let number = |number: Option<u64>| number.map(|number| number as f64).into();
    let detail = js_sys::Object::new();
    let all = [
        ("type", kind.into()),
        ("query", query.into()),
        ("playing", page.playing.get_untracked().into()),
        ("step", number(Some(report.as_ref().map_or(0, |report| report.step)))),
        ("steps", number(run.as_ref().and_then(|run| run.config.steps))),
        ("complete", report.as_ref().is_some_and(|report| report.complete).into()),
        // What is measured on a reader's own images is theirs.
        ("accuracy", page.accuracy.get_untracked().filter(|_| !tests_private).into()),
        ("epsilon", epsilon.into()),
        ("delta", run.as_ref().map(|run| run.config.delta).into()),
        ("guarantee", guarantee.into()),
        ("backend", backend.into()),
        ("data", run.as_ref().map(|run| run.data.clone()).into()),
        ("train", number(run.as_ref().map(|run| run.train.into()))),
    ];
    for (key, value) in all.iter().chain(more) {
        let value = if value.is_undefined() { &JsValue::NULL } else { value };
        // A fresh plain object takes any property.
        drop(js_sys::Reflect::set(&detail, &(*key).into(), value));
    }
    let init = CustomEventInit::new();
    init.set_detail(&detail);
    if let Ok(event) = CustomEvent::new_with_event_init_dict("hushgrad", &init) {
        drop(window().dispatch_event(&event));
    }
}

/// Tells what happens, and does what is asked.
fn talk(page: Page) {
    // Told of as over once its last evaluation is there: only then is it known whether the run is paused or complete.
    let stopped = StoredValue::new(false);
    let mut first = true;
    follow(move || {
        if page.run.with(Option::is_some) {
            tell(page, if std::mem::take(&mut first) { "ready" } else { "state" }, &[]);
        }
    });
    let mut was = None;
    follow(move || {
        let playing = page.playing.get();
        if was.replace(playing).is_some_and(|was| was != playing) {
            stopped.set_value(!playing);
            tell(page, "state", &[]);
        }
    });
    let mut was = None;
    follow(move || {
        let now =
            page.report.with(|report| report.as_ref().map_or((0, false), |report| (report.step, report.complete)));
        let was = was.replace(now);
        if was.is_some_and(|(step, _)| step != now.0) {
            tell(page, "step", &[]);
        }
        let ended = now.1 && was.is_some_and(|(_, complete)| !complete);
        if ended {
            tell(page, "complete", &[]);
        } else if stopped.get_value()
            && !now.1
            && page.report.with_untracked(|r| r.as_ref().is_some_and(|r| r.test_accuracy.is_some()))
        {
            tell(page, "paused", &[]);
        } else {
            return;
        }
        stopped.set_value(false);
    });
    let mut before = None;
    follow(move || {
        let now = page.link().write();
        if before.replace(now.clone()).is_some_and(|before| before != now) {
            tell(page, "state", &[]);
        }
    });
    follow(move || {
        if let Some((_, sentence)) = page.problems.with(|problems| problems.last().cloned()) {
            tell(page, "error", &[("message", sentence.into())]);
        }
    });
    let listener = window_event_listener_untyped("hushgrad-command", move |event| {
        let detail = event.unchecked_ref::<CustomEvent>().detail();
        let get = |key: &str| js_sys::Reflect::get(&detail, &key.into()).unwrap_or_default();
        let id = ("id", get("id"));
        match get("type").as_string().as_deref() {
            Some("play") => page.play(),
            Some("pause") => page.pause(),
            Some("step") => page.step_once(),
            Some("reset") => page.reset(),
            Some("getState") => tell(page, "state", &[id]),
            Some("setState") => set(page, get("query").as_string().unwrap_or_default(), None, id.1),
            _ => {}
        }
    });
    on_cleanup(move || listener.remove());
    request_animation_frame(move || tell(page, "listening", &[]));
}

/// Sets what a query names, or nothing, and answers the message of this `id`. A formula is read first: `density` is what it was read as.
fn set(page: Page, query: String, density: Option<CustomDensity>, id: JsValue) {
    let answered = move |id: JsValue, done: Result<(), String>| match done {
        Ok(()) => tell(page, "state", &[("id", id)]),
        Err(sentence) => tell(page, "error", &[("id", id), ("message", sentence.into())]),
    };
    let now = Link { theme: None, ..untrack(move || page.link()) };
    let (backend, digits) = (now.backend, now.settings.digits);
    let (mut link, mut problems) = query::read_onto(now, &query);
    if link.backend != backend {
        problems.push("A frame computes with one backend as long as it stands; name it in its address.".to_owned());
    }
    if link.settings.digits != digits && link.settings.digits == Digits::Files {
        problems.push("In the link, dataset: a frame has no place to pick files.".to_owned());
    }
    let train = page.digits.with_untracked(|loaded| loaded.as_ref().map(|loaded| loaded.train));
    if let Some(train) = train.filter(|_| link.settings.digits == digits) {
        problems.extend(link.settings.check_data(train).err().map(|(_, sentence)| sentence));
    }
    if !problems.is_empty() {
        return answered(id, Err(problems.join(" ")));
    }
    if let Some(density) = density.filter(|density| density.source() == link.settings.formula) {
        link.settings.density = Some(density);
    }
    if link.settings.unread() {
        return page.ask(Question::Density(link.settings.formula), move |answer| match answer {
            Answer::Density(Ok(density)) => set(page, query, Some(density), id),
            Answer::Density(Err(phrase)) => answered(id, Err(as_sentence(&phrase))),
            _ => {}
        });
    }
    if let Some(theme) = link.theme {
        browser::show_theme(theme);
        page.theme.set(theme);
        page.theme_in_link.set(true);
    }
    if link.speed != page.speed.get_untracked() {
        page.set_speed(link.speed);
    }
    let others = link.settings.digits;
    page.change(|settings| *settings = crate::ui::settings::Settings { digits: settings.digits, ..link.settings });
    if others != digits {
        page.choose_digits(others);
    }
    answered(id, Ok(()));
}
