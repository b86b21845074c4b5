//! Events and commands, which `www/embed.js` carries between this page and its host page.

use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::CustomEvent;

use crate::{
    accounting::noise::CustomDensity,
    engine::Backend,
    train::report::{Privacy, Report},
    ui::{
        browser,
        link::{self, Link},
        settings::{Choice, Digits, Settings, Theme},
        size::closures::effect,
        state::{DigitChoice, Page, Threads, as_sentence},
    },
    worker::accounts::{Answer, Question},
};

/// Sends the host page an event with the settings and the run's state.
fn tell(page: Page, kind: &str, more: &[(&str, JsValue)]) {
    let query = untrack(move || page.link().write());
    let (report, run) = (page.run.report.get_untracked(), page.run.info.get_untracked());
    let tests_private = report.as_ref().is_some_and(Report::tests_private_images);
    let bound = report.as_ref().map(|report| &report.privacy);
    let (epsilon, guarantee) = match bound {
        Some(Privacy::Bounded(_)) => (untrack(|| page.guarantee.epsilon()), Some(true)),
        Some(Privacy::NoGuarantee { .. }) => (None, Some(false)),
        None => (None, None),
    };
    let backend = run.as_ref().map(|run| if run.engine.backend == Backend::Gpu { "gpu" } else { "cpu" });
    let number = |number: Option<u64>| number.map(|number| number as f64).into();
    let detail = js_sys::Object::new();
    let all = [
        ("type", kind.into()),
        ("query", query.into()),
        ("playing", page.run.playing.get_untracked().into()),
        ("step", number(Some(report.as_ref().map_or(0, |report| report.step)))),
        ("steps", number(run.as_ref().and_then(|run| run.config.steps))),
        ("complete", report.as_ref().is_some_and(|report| report.complete).into()),
        // An accuracy on a reader's own images is private.
        ("accuracy", page.run.accuracy.get_untracked().filter(|_| !tests_private).into()),
        ("epsilon", epsilon.into()),
        ("delta", run.as_ref().map(|run| run.config.delta).into()),
        ("guarantee", guarantee.into()),
        ("backend", backend.into()),
        ("data", run.as_ref().map(|run| run.data.clone()).into()),
        ("train", number(run.as_ref().map(|run| run.train.into()))),
    ];
    for (key, value) in all.iter().chain(more) {
        let value = if value.is_undefined() { &JsValue::NULL } else { value };
        // Setting a property of a plain object cannot fail.
        drop(js_sys::Reflect::set(&detail, &(*key).into(), value));
    }
    browser::tell("hushgrad", &detail);
}

/// Reports events to the host page and executes its commands.
pub fn talk(page: Page) {
    // Report a stop after its last evaluation, which tells whether the run is paused or complete.
    let stopped = StoredValue::new(false);
    let mut first = true;
    effect(move || {
        if page.run.info.with(Option::is_some) {
            tell(page, if std::mem::take(&mut first) { "ready" } else { "state" }, &[]);
        }
    });
    let mut was = None;
    effect(move || {
        let playing = page.run.playing.get();
        if was.replace(playing).is_some_and(|was| was != playing) {
            stopped.set_value(!playing);
            tell(page, "state", &[]);
        }
    });
    let mut was = None;
    effect(move || {
        let now =
            page.run.report.with(|report| report.as_ref().map_or((0, false), |report| (report.step, report.complete)));
        let was = was.replace(now);
        if was.is_some_and(|(step, _)| step != now.0) {
            tell(page, "step", &[]);
        }
        let ended = now.1 && was.is_some_and(|(_, complete)| !complete);
        if ended {
            tell(page, "complete", &[]);
        } else if stopped.get_value()
            && !now.1
            && page.run.report.with_untracked(|r| r.as_ref().is_some_and(|r| r.test_accuracy.is_some()))
        {
            tell(page, "paused", &[]);
        } else {
            return;
        }
        stopped.set_value(false);
    });
    let mut before = None;
    effect(move || {
        let now = page.link().write();
        if before.replace(now.clone()).is_some_and(|before| before != now) {
            tell(page, "state", &[]);
        }
    });
    effect(move || {
        if let Some((_, sentence)) = page.messages.problems.with(|problems| problems.last().cloned()) {
            tell(page, "error", &[("message", sentence.into())]);
        }
    });
    let listener = window_event_listener_untyped("hushgrad-command", move |event| {
        let detail = event.unchecked_ref::<CustomEvent>().detail();
        let get = |key: &str| js_sys::Reflect::get(&detail, &key.into()).unwrap_or_default();
        let id = ("id", get("id"));
        match get("type").as_string().as_deref() {
            Some("play") => page.play(),
            Some("pause") => page.run.pause(),
            Some("step") => page.run.step_once(),
            Some("reset") => page.run.reset(),
            Some("theme") => {
                if let Some(theme) = get("query").as_string().and_then(|key| Theme::by_key(&key)) {
                    page.appearance.follow(theme);
                }
            }
            Some("getState") => tell(page, "state", &[id]),
            Some("setState") => set(page, get("query").as_string().unwrap_or_default(), None, id.1),
            _ => {}
        }
    });
    on_cleanup(move || listener.remove());
    request_animation_frame(move || tell(page, "listening", &[]));
}

/// Applies all settings of a query or none, and answers message `id`. A formula is parsed first,
/// into `density`.
fn set(page: Page, query: String, density: Option<CustomDensity>, id: JsValue) {
    let answered = move |id: JsValue, done: Result<(), String>| match done {
        Ok(()) => tell(page, "state", &[("id", id)]),
        Err(sentence) => tell(page, "error", &[("id", id), ("message", sentence.into())]),
    };
    let now = Link { theme: None, ..untrack(move || page.link()) };
    let (backend, digits) = (now.backend, now.settings.digits);
    let (mut link, mut problems) = link::read_onto(now, &query);
    if link.backend != backend {
        problems.push("A frame computes with one backend as long as it stands; name it in its address.".to_owned());
    }
    if link.settings.digits != digits && link.settings.digits == Digits::Files {
        problems.push("In the link, dataset: a frame has no place to pick files.".to_owned());
    }
    let train = page.digits.train();
    if let Some(train) = train.filter(|_| link.settings.digits == digits) {
        problems.extend(link.settings.check_data(train).err().map(|problem| problem.to_string()));
    }
    if !problems.is_empty() {
        return answered(id, Err(problems.join(" ")));
    }
    if let Some(density) = density.filter(|density| density.source() == link.settings.formula) {
        link.settings.density = Some(density);
    }
    if link.settings.unread() {
        return page.accountant.ask(Question::Density(link.settings.formula), move |answer| match answer {
            Answer::Density(Ok(density)) => set(page, query, Some(density), id),
            Answer::Density(Err(phrase)) => answered(id, Err(as_sentence(&phrase))),
            _ => {}
        });
    }
    if let Some(theme) = link.theme {
        page.appearance.take_theme(theme);
    }
    Threads(page).set_cores(link.cores);
    if link.speed != page.run.speed.get_untracked() {
        page.snapshots.set_speed(link.speed);
    }
    let others = link.settings.digits;
    page.change(|settings| *settings = Settings { digits: settings.digits, ..link.settings });
    if others != digits {
        DigitChoice(page).choose_digits(others);
    }
    answered(id, Ok(()));
}
