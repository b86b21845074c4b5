//! Who was trained on: membership inference by the loss, on a small set of synthetic digits.

use leptos::prelude::*;

use super::digit::bytes;
use crate::{
    attack::membership::{Own, OwnFound},
    plot::{
        drawing::{Drawing, FORBIDDEN, GHOST, Line, Range, Shape, Write},
        format,
        series::Point,
    },
    ui::{
        settings::Settings,
        size::closures::{bool_fn, on_click, on_event, text_fn, view_fn},
        state::{
            Page,
            attacks::{Hidden, MembershipExperiment},
        },
        text::{Text, t, text},
        widgets::chart::{Frame, chart},
    },
    worker::{accounts::LEAST_RATE, attacking::Seen},
};

const NAMES: [Text; 4] =
    [text!("no noise"), text!("a little noise, σ = 0.5"), text!("noise, σ = 1.1"), text!("settings as above")];

/// CSS classes of the curves, in the order of [`Hidden::ALL`].
const CLASSES: [&str; 4] = ["line-attack", "line-n3", "line-accuracy", "line-noise"];

/// Smallest rate on either axis.
const LEAST: f64 = LEAST_RATE;

pub fn town(page: Page) -> AnyView {
    let attacks = page.attacks;
    let busy = move || attacks.progress.with(Option::is_some);
    let begin = move |_| {
        if untrack(busy) {
            return attacks.stop();
        }
        let drawn = page.pad.drawing.get_untracked();
        let own = attacks.label.get_untracked().zip(drawn);
        let own = own.map(|(label, drawn)| Own { pixels: bytes(&drawn), label });
        attacks.begin(page.settings.with_untracked(Settings::config), own);
    };
    let name = move || if busy() { t!("Stop") } else { t!("Train and attack") };
    let done = move || {
        attacks.progress.get().map(|progress| {
            let share = format::exact(progress.done as f64 / progress.of as f64);
            view! { <progress max="1" value=share aria-label=t!("Training progress")></progress> }.into_any()
        })
    };
    view! {
        <section data-testid="town">
            <h3>{t!("Who was trained on?")}</h3>
            <p>{t!("A small network trains on 2,000 digits that this program draws. A thousand candidates have a wrong label: a coin toss decided for each if it is in. The attacker sees how strongly the trained model believes the wrong label.")}</p>
            <div class="once">{hidden(page)}{own_digit(page)}</div>
            <div class="once-buttons"><button type="button" class="primary" data-testid="town-begin" on:click=on_click(begin)>{text_fn(name)}</button></div>
            {view_fn(done)}
            {chart(page, Frame { title: t!("Who the model gives away"), file: "membership", height: 200.0, full: true }, move || drawing(page))}
            {view_fn(move || attacks.seen.with(|seen| seen.last().map(says)))}
        </section>
    }
    .into_any()
}

fn hidden(page: Page) -> AnyView {
    let attacks = page.attacks;
    let options = Hidden::ALL.iter().zip(NAMES).map(|(hidden, name)| {
        view! { <option value=hidden.key() selected=attacks.hidden.get_untracked() == *hidden>{name.get()}</option> }
            .into_any()
    });
    let choose = move |event: leptos::ev::Event| {
        let key = event_target_value(&event);
        attacks.hidden.set(Hidden::ALL.into_iter().find(|hidden| hidden.key() == key).unwrap_or(Hidden::No));
    };
    view! {
        <label class="control"><span class="label">{t!("What hides them")}</span>
            <select data-testid="town-noise" on:change=on_event(choose)>{options.collect::<Vec<_>>()}</select></label>
    }
    .into_any()
}

/// The visitor's drawing as a candidate with a wrong label.
fn own_digit(page: Page) -> AnyView {
    let attacks = page.attacks;
    let none = move || page.pad.drawing.with(Option::is_none);
    let choose = move |event: leptos::ev::Event| attacks.label.set(event_target_value(&event).parse().ok());
    let digits = (0..10u8).map(|digit| {
        let name = t!("is a candidate, labelled {digit}", digit = digit);
        let chosen = attacks.label.get_untracked() == Some(digit);
        view! { <option value=digit.to_string() selected=chosen>{name}</option> }.into_any()
    });
    let digits = digits.collect::<Vec<_>>();
    view! {
        <label class="control"><span class="label">{t!("The digit you draw below")}</span>
            <select data-testid="town-own" disabled=bool_fn(none) on:change=on_event(choose)><option value="">{t!("is not a candidate")}</option>{digits}</select></label>
    }
    .into_any()
}

/// The ROC on logarithmic axes, which show small false-positive rates.
fn drawing(page: Page) -> Drawing {
    let share = |label| Range { low: LEAST, high: 1.0, logarithmic: true, label, write: Write::Percent };
    let within = |points: &[Point]| {
        let shown = points.iter().filter(|(x, y)| *x >= LEAST && *y >= LEAST);
        shown.copied().collect::<Vec<Point>>()
    };
    let mut lines = vec![];
    page.attacks.seen.with(|seen| {
        if let Some(last) = seen.last().and_then(|town| town.allowed.as_ref()) {
            // The region above the curve.
            let edge = within(&last.forbidden);
            let corners = [(1.0, 1.0), (LEAST, 1.0)];
            let points = corners.into_iter().chain(edge.iter().copied()).collect();
            lines.push(Line { class: FORBIDDEN, name: String::new(), points });
            lines.push(Line { class: "line-epsilon", name: t!("limit set by ε").to_owned(), points: edge });
        }
        // A curve with another bound than the last one's is omitted; one without a bound is shown.
        let last = seen.last().map(|town| town.hidden);
        for town in seen.iter().filter(|town| Some(town.hidden) == last || town.allowed.is_none()) {
            let place = Hidden::ALL.iter().position(|known| *known == town.hidden).unwrap_or_default();
            let points = within(&town.seen.mislabelled.roc);
            lines.push(Line { class: CLASSES[place], name: NAMES[place].get().to_owned(), points });
        }
    });
    let diagonal = vec![(LEAST, LEAST), (1.0, 1.0)];
    lines.push(Line { class: GHOST, name: t!("guessing").to_owned(), points: diagonal });
    Drawing {
        lines,
        x: share(t!("false alarms")),
        y: share(t!("members found")),
        shape: Shape::Lines,
        summary: t!("Share of mislabelled members that the attacker finds, by share of false alarms.").to_owned(),
    }
}

/// The result of the last attack.
fn says(town: &MembershipExperiment) -> AnyView {
    let Seen { mislabelled, labelled, own } = &*town.seen;
    let share = |auc: f64| format::decimals_of(auc, 3);
    let (guesses, right) = (mislabelled.guesses, mislabelled.right);
    let found = match mislabelled.epsilon > 0.0 {
        true => t!(
            "Of the {guesses} that the model is surest of, {right} were in. So ε is at least {least}, with 95% confidence and no assumptions.",
            guesses = guesses,
            right = right,
            least = format::lower(mislabelled.epsilon, 3)
        ),
        false => t!(
            "Of the {guesses} that the model is surest of, {right} were in. That proves nothing: it could be luck.",
            guesses = guesses,
            right = right
        ),
    };
    let most = match &town.allowed {
        Some(allowed) => t!("The accountant says ε ≤ {epsilon}.", epsilon = format::epsilon(allowed.epsilon)),
        None if town.known => t!("There is no upper bound on ε.").to_owned(),
        None => String::new(),
    };
    let auc = t!("Area under the curve: {auc} (guessing: 0.5).", auc = share(mislabelled.auc.value));
    let right = labelled
        .as_ref()
        .map(|labelled| t!("For correctly labelled candidates: {auc}.", auc = share(labelled.auc.value)));
    view! {
        <p class="verdict-line" data-testid="town-found">{found}" "{most}</p>
        <p class="small-label">{auc}" "{right}</p>
        {own.map(own_found)}
    }
    .into_any()
}

fn own_found(own: OwnFound) -> AnyView {
    let says = match (own.guess(), own.is_in) {
        (true, true) => t!("the attacker says it was in, and is right"),
        (true, false) => t!("the attacker says it was in, and is wrong"),
        (false, true) => t!("the attacker says it was not in, and is wrong"),
        (false, false) => t!("the attacker says it was not in, and is right"),
    };
    let sentence = t!(
        "Your digit: the model is surer about {surer} of {n} candidates; {says}.",
        surer = own.surer,
        n = format::integer(own.of.into()),
        says = says
    );
    view! { <p data-testid="town-own-found">{sentence}</p> }.into_any()
}
