//! The page: header, transport and three panels; what concerns all of it (keys, dropped files, theme, link).

use leptos::{ev, html, prelude::*};
use wasm_bindgen::JsCast;

use super::requests;
use crate::ui::{
    browser, embed, lessons,
    link::query::{self, Link},
    noise_lab, results, runs,
    settings::{
        Choice, Theme,
        presets::{self, Preset},
    },
    setup,
    size::closures::{follow, on_click, on_event, piece, whether, wording},
    stage::{tiles, transport},
    state::{
        Page,
        study::{self, Panel},
    },
    widgets::controls::hint,
};

/// Builds the page into `root`, whose first content is only what shows before this runs.
pub fn start(root: web_sys::HtmlElement) {
    let query = browser::query();
    let (link, mut problems) = query::read(&query);
    let embedded = embed::is_embedded().then(|| embed::options::read(&query)).map(|(options, wrong)| {
        problems.extend(wrong);
        options
    });
    root.set_inner_html("");
    mount_to(root, move || {
        let page = Page::new(link, problems);
        // The training thread is fetched after the first paint.
        let connect = move || {
            page.connect();
            if !embed::is_embedded() {
                page.restore();
            }
        };
        request_animation_frame(move || set_timeout(connect, std::time::Duration::ZERO));
        // Shown and not kept: a link's theme is not the visitor's choice.
        browser::show_theme(page.theme.get_untracked());
        match embedded {
            Some(options) => embed::view(page, options).into_any(),
            None => view(page).into_any(),
        }
    })
    .forget();
}

fn view(page: Page) -> impl IntoView {
    let help = NodeRef::<html::Dialog>::new();
    keys(page, help);
    let dropping = drops(page);
    address(page);
    let shown = page.study.panel;
    let tab = move |panel: Panel, name: &'static str| {
        view! {
            <button type="button" aria-pressed=wording(move || (shown.get() == panel).to_string()) on:click=on_click(move |_| shown.set(panel))>{name}</button>
        }
    };
    let class = move |panel: Panel, name: &'static str| {
        wording(move || format!("panel {name}{}", if shown.get() == panel { " shown" } else { "" }))
    };
    view! {
        <a class="skip" href="#results">"To the results"</a>
        {header(page, help)}
        <section class="top" aria-label="Run and messages">{transport::bar(page)}{messages(page)}{study::sweep_bar(page)}</section>
        <nav class="tabs" aria-label="Panels">{tab(Panel::Setup, "Set-up")}{tab(Panel::Step, "One step")}{tab(Panel::Results, "Results")}</nav>
        <main class="panels" class:with-lesson=whether(move || page.study.lesson.with(Option::is_some)) class:with-lab=whether(move || page.study.lab.get())>
            <div class="left">{lessons::panel(page)}
            <section class=class(Panel::Setup, "setup") aria-label="Set-up">{setup::panel(page)}</section></div>
            {noise_lab::panel(page)}
            <section class=class(Panel::Step, "step") aria-label="One step">{tiles::panel(page)}</section>
            <section class=class(Panel::Results, "results") id="results" tabindex="-1" aria-label="Results">{results::panel(page)}</section>
            {runs::panel(page)}
        </main>
        <footer><p>"Everything runs in this page: the digits, the training, the accounting. Nothing is sent anywhere."</p>{requests::panel(page)}</footer>
        <p class="visually-hidden" role="status" aria-live="polite">{wording(move || page.spoken.get())}</p>
        <div class="drop-here" hidden=whether(move || !dropping.get()) aria-hidden="true"><p>"Drop IDX files: images and labels"</p></div>
        {help_dialog(help)}
    }
    .into_any()
}

fn header(page: Page, help: NodeRef<html::Dialog>) -> impl IntoView {
    let themes = Theme::ALL
        .iter()
        .map(|&theme| view! { <option value=theme.key() selected=whether(move || page.theme.get() == theme)>{theme.label()}</option> })
        .collect_view();
    view! {
        <header class="bar">
            <svg class="logo" width="28" height="28" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
                <path class="wave" d="M2 20c3 0 3-9 6-9s3 13 6 13 3-17 6-17 3 11 5 11 2-4 5-4"></path></svg>
            <h1>"hushgrad"</h1>
            <p class="tagline">"Train a model privately, in your browser, and watch what it costs."</p>
            {preset_choice(page)}
            <label class="theme"><span class="visually-hidden">"Theme"</span>
                <select data-testid="theme" prop:value=wording(move || page.theme.get().key()) on:change=on_event(move |event| {
                    if let Some(theme) = Theme::by_key(&event_target_value(&event)) {
                        browser::apply_theme(theme);
                        page.theme.set(theme);
                    }
                })>{themes}</select></label>
            {lessons::menu(page)}
            <button type="button" class="quiet" data-testid="noise-lab" aria-pressed=wording(move || page.study.lab.get().to_string()) on:click=on_click(move |_| page.study.lab.update(|lab| *lab = !*lab))>"Noise lab"</button>
            <button type="button" class="quiet" data-testid="share" title="Copy the link to this state" on:click=on_click(move |_| runs::share(page))>"Share"</button>
            <button type="button" class="quiet" data-testid="embed" title="Copy a frame with this state for a page of yours" on:click=on_click(move |_| runs::embed(page))>"Embed"</button>
            {runs::export_menu(page)}
            <button type="button" class="quiet help" aria-label="Help and keys" title="Help and keys (?)" on:click=on_click(move |_| open(help))>"?"</button>
        </header>
    }
    .into_any()
}

/// The list of presets.
pub fn preset_choice(page: Page) -> impl IntoView {
    let preset =
        Memo::new(move |_| page.settings.with(|settings| Preset::of(settings).map_or("", |preset| preset.key)));
    let custom =
        view! { <option value="" disabled selected=whether(move || preset.get().is_empty())>"Your own"</option> };
    let presets = presets::all()
        .map(|each| view! { <option value=each.key selected=whether(move || preset.get() == each.key)>{each.label}</option> })
        .collect_view();
    let (button, sentence) = hint(
        "preset",
        "Preset",
        "Ready-made runs: each sets everything but the digits, and says what there is to see.",
    );
    view! {
        <div class="preset"><label class="small-label" for="preset">"Preset"</label>{button}
            <select id="preset" data-testid="preset" aria-label="Preset" prop:value=wording(move || preset.get()) on:change=on_event(move |event| {
                if let Some(preset) = Preset::by_key(&event_target_value(&event)) {
                    page.choose_preset(preset);
                }
            })>{custom}{presets}</select>{sentence}</div>
    }
    .into_any()
}

/// The error, which is always there to be filled, and what is worth knowing.
pub fn messages(page: Page) -> impl IntoView {
    let error = Memo::new(move |_| page.problems.with(|problems| problems.last().cloned()));
    let dismiss = move |_| {
        if let Some((origin, _)) = error.get_untracked() {
            page.clear_problems_of(origin);
        }
    };
    view! {
        <div class="messages">
            <div class="error" class:shown=whether(move || error.with(Option::is_some))>
                <p role="alert" data-testid="error">{wording(move || error.get().map(|(_, sentence)| sentence).unwrap_or_default())}</p>
                <button type="button" class="quiet" aria-label="Dismiss the message" hidden=whether(move || error.with(Option::is_none)) on:click=on_click(dismiss)>"×"</button>
            </div>
            {piece(move || page.notice.get().map(|notice| view! {
                <div class="notice"><p role="status" data-testid="notice">{notice}</p>
                    <button type="button" class="quiet" aria-label="Dismiss the notice" on:click=on_click(move |_| page.notice.set(None))>"×"</button></div>
            }.into_any()))}
        </div>
    }
    .into_any()
}

fn open(dialog: NodeRef<html::Dialog>) {
    if let Some(dialog) = dialog.get_untracked()
        && !dialog.open()
    {
        // Refused only if the dialog has left the page.
        drop(dialog.show_modal());
    }
}

fn help_dialog(dialog: NodeRef<html::Dialog>) -> impl IntoView {
    let close = move |_| {
        if let Some(dialog) = dialog.get_untracked() {
            dialog.close();
        }
    };
    view! {
        <dialog class="help-dialog" node_ref=dialog aria-labelledby="help-title">
            <h2 id="help-title">"How this works"</h2>
            <p>"A model learns to read digits. In every step the gradients of a random lot of examples are bounded one by one, added up, and hidden under noise; only that noisy sum moves the model. ε says how much anybody could learn about one image from all of it, and it grows with every step."</p>
            <dl class="keys">
                <div><dt><kbd>"space"</kbd></dt><dd>"play, pause"</dd></div>
                <div><dt><kbd>"s"</kbd></dt><dd>"one step, taken apart"</dd></div>
                <div><dt><kbd>"r"</kbd></dt><dd>"start again"</dd></div>
                <div><dt><kbd>"?"</kbd></dt><dd>"this help"</dd></div>
                <div><dt><kbd>"↑"</kbd>" "<kbd>"↓"</kbd></dt><dd>"in a number: a little more, a little less"</dd></div>
                <div><dt><kbd>"Esc"</kbd></dt><dd>"in a number: what it was; a chart that is enlarged: small again"</dd></div>
            </dl>
            <button type="button" class="primary" on:click=on_click(close)>"Close"</button>
        </dialog>
    }
    .into_any()
}

/// Keys that work anywhere but where they mean something else.
fn keys(page: Page, help: NodeRef<html::Dialog>) {
    let listener = window_event_listener(ev::keydown, move |event| {
        if event.ctrl_key() || event.meta_key() || event.alt_key() || event.is_composing() || event.default_prevented()
        {
            return;
        }
        let target = event.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        let within =
            |selector: &str| target.as_ref().is_some_and(|element| element.closest(selector).ok().flatten().is_some());
        // Typing is typing, and a dialog has the keys for itself.
        if within("input[type=text], textarea, select, dialog, [contenteditable]") {
            return;
        }
        match event.key().as_str() {
            // On a button or a link, space is that button's or link's; on play and pause both mean the same.
            " " if !within("button, a, summary, input, [role=region]")
                || within("[data-testid=play], [data-testid=pause]") =>
            {
                event.prevent_default();
                if !event.repeat() {
                    page.toggle();
                }
            }
            "s" => page.step_once(),
            "r" if !event.repeat() => page.reset(),
            "?" => open(help),
            _ => {}
        }
    });
    on_cleanup(move || listener.remove());
}

/// Files dropped anywhere are loaded; true while files hover over the page.
fn drops(page: Page) -> RwSignal<bool> {
    let over = RwSignal::new(false);
    let carries_files =
        |event: &ev::DragEvent| event.data_transfer().is_some_and(|data| data.types().includes(&"Files".into(), 0));
    let dragged = window_event_listener(ev::dragover, move |event| {
        if carries_files(&event) {
            event.prevent_default();
            if !over.get_untracked() {
                over.set(true);
            }
        }
    });
    let left = window_event_listener(ev::dragleave, move |event| {
        if event.related_target().is_none() {
            over.set(false);
        }
    });
    let dropped = window_event_listener(ev::drop, move |event| {
        if carries_files(&event) {
            event.prevent_default();
            over.set(false);
            if let Some(list) = event.data_transfer().and_then(|data| data.files()) {
                setup::load_list(page, &list);
            }
        }
    });
    on_cleanup(move || {
        dragged.remove();
        left.remove();
        dropped.remove();
    });
    over
}

/// The address follows the settings, so that it can be shared at any moment.
fn address(page: Page) {
    let mut first = true;
    follow(move || {
        let lesson = page.study.lesson.get().and_then(|(at, step)| {
            let book = page.study.book.get_untracked()?;
            Some(format!("{}.{}", book.lessons[at].key, step + 1))
        });
        let (lab, asked) = (page.study.lab.get(), page.study.asked.get());
        let link = Link { lesson, lab, asked, ..page.link() };
        // A link stays as it came until something is changed.
        if std::mem::take(&mut first) {
            return;
        }
        browser::set_query(&link.write());
    });
}
