//! Who pays for privacy: accuracy by digit and of the minority, beside a non-private baseline;
//! misread digits; digits of a lot with the longest and shortest gradients.

use std::sync::Arc;

use leptos::{html, prelude::*};

use super::confusion;
use crate::{
    data::{Picture, TestSet},
    plot::format,
    train::report::Privacy,
    ui::{
        browser,
        size::closures::{bool_fn, bool_memo, effect, on_click, on_event, text_fn, view_fn},
        state::Page,
        text::{t, text},
        widgets::colours::paint_image,
        widgets::teaching::teaching,
    },
    worker::{
        counting::{ClassReport, Counts, accuracy},
        look::GradientNorm,
    },
};

/// Digits shown at either end of the list of gradients.
const PULLS: usize = 6;

/// The panel, counted while it is open.
pub fn panel(page: Page) -> impl IntoView {
    let toggled = move |event: leptos::ev::Event| {
        page.show_who_pays(event_target::<web_sys::HtmlDetailsElement>(&event).open());
    };
    let part = move |of: fn(Page, &ClassReport) -> Option<AnyView>| {
        view_fn(move || page.who_pays.counted.get().and_then(|counted| of(page, &counted)))
    };
    let waiting = bool_memo(move || page.who_pays.counted.with(Option::is_none));
    view! {
        <details class="meaning" data-testid="who-pays" on:toggle=on_event(toggled)>
            <summary>{t!("Who pays for privacy")}</summary>
            <p hidden=bool_fn(move || !waiting.get())>{t!("Counted as soon as there is a model.")}</p>
            {part(sentences)}
            {offer(page)}
            <div data-testid="groups">{part(groups)}</div>
            <section data-testid="by-digit">{part(digits)}</section>
            {part(misread)}
            <section data-testid="pulls">{part(pulls)}</section>
            <details class="confusion-panel" data-testid="confusion" hidden=bool_fn(move || waiting.get())>
                <summary>{t!("Which digits it takes for which")}</summary>{part(confusion::matrix)}
            </details>
        </details>
    }
    .into_any()
}

/// What was counted, and the digit that lost most.
fn sentences(page: Page, counted: &ClassReport) -> Option<AnyView> {
    let mut says = match (counted.pays_most(), &counted.open) {
        (Some((digit, run, open)), _) => t!(
            "In these counts the {digit} pays most: {run} are read right, against {open} without privacy.",
            digit = page.digits.class(digit),
            run = format::percent(run),
            open = format::percent(open)
        ),
        (None, Some(_)) => t!("In these counts no digit is read worse than without privacy.").to_owned(),
        (None, None) => String::new(),
    };
    let steps = |counts: &Counts| [("step", format::integer(counts.step))];
    let when = match page.who_pays.test_set.get_value() {
        TestSet::Public => text!("After step {step}, on public test digits."),
        TestSet::Visitor => {
            text!("After step {step}, on your own test digits: ε does not cover what this reveals about them.")
        }
        TestSet::HeldOut => text!(
            "After step {step}, on one in six of your digits, kept for testing: ε does not cover what this reveals about them."
        ),
    };
    let open = text!("The same without bound or noise: {step} steps at a suitable rate.");
    let told = [Some(when.with(&steps(&counted.run))), counted.open.as_ref().map(|counts| open.with(&steps(counts)))];
    for sentence in told.into_iter().flatten() {
        says = if says.is_empty() { sentence } else { says + " " + &sentence };
    }
    Some(view! { <p data-testid="pays-most">{says}</p> }.into_any())
}

/// A button that trains the baseline, if a private run has none.
fn offer(page: Page) -> AnyView {
    let offered = bool_memo(move || {
        let private = page.run.report.with(|report| {
            report.as_ref().is_some_and(|report| report.step > 0 && matches!(report.privacy, Privacy::Bounded(_)))
        });
        private && page.who_pays.counted.with(|counted| counted.as_ref().is_some_and(|counted| counted.open.is_none()))
    });
    let trains = page.pad.training_baseline;
    let says =
        move || if trains.get() { t!("Training it without privacy…") } else { t!("Train it without privacy, too") };
    view_fn(move || {
        offered.get().then(|| {
            view! {
                <button type="button" class="baseline" data-testid="baseline-beside" disabled=bool_fn(move || trains.get())
                    on:click=on_click(move |_| page.pad.train_baseline())>{text_fn(says)}</button>
            }
            .into_any()
        })
    })
    .into_any()
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), format::percent)
}

/// Accuracy on upright and on turned test digits.
fn groups(_: Page, counted: &ClassReport) -> Option<AnyView> {
    counted.run.turned.as_ref()?;
    let row = |name: &'static str, of: fn(&Counts) -> Option<f64>| {
        let (run, open) = (of(&counted.run), counted.open.as_ref().and_then(of));
        let lost =
            run.zip(open).map_or_else(|| "–".to_owned(), |(run, open)| format::decimals_of((open - run) * 100.0, 1));
        let [run, open] = [run, open].map(share);
        view! { <tr><th scope="row">{name}</th><td>{run}</td><td>{open}</td><td>{lost}</td></tr> }.into_any()
    };
    Some(
        view! {
            <table class="groups"><caption>{t!("Test digits read right. About one training image in fifty is turned.")}</caption>
                <thead><tr><td></td><th scope="col">{t!("This run")}</th><th scope="col">{t!("Without privacy")}" "{teaching()}</th><th scope="col">{t!("Points lost")}</th></tr></thead>
                <tbody>
                    {row(t!("Upright"), |counts| accuracy(&counts.usual, None))}
                    {row(t!("Turned"), |counts| accuracy(counts.turned.as_ref()?, None))}
                </tbody></table>
        }
        .into_any(),
    )
}

/// Accuracy by digit.
fn digits(page: Page, counted: &ClassReport) -> Option<AnyView> {
    let most = counted.pays_most().map(|(digit, ..)| digit);
    let compares = counted.open.is_some();
    let cell = |counts: &Counts, digit: usize, class: &'static str| {
        let right = accuracy(&counts.usual, Some(digit));
        let width = format::fixed(right.unwrap_or(0.0) * 100.0, 1);
        view! {
            <td><div class="by-digit"><svg class=class viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect height="10" width=width></rect></svg>
                <span>{share(right)}</span></div></td>
        }
        .into_any()
    };
    let row = |digit: usize| {
        let open = counted.open.as_ref().map(|open| cell(open, digit, "track open"));
        view! { <tr class:most=Some(digit) == most><th scope="row">{page.digits.class(digit)}</th>{cell(&counted.run, digit, "track")}{open}</tr> }
            .into_any()
    };
    let rows: Vec<AnyView> = (0..counted.run.usual.len()).map(row).collect();
    let open = compares.then(|| view! { <th scope="col">{t!("Without privacy")}" "{teaching()}</th> }.into_any());
    Some(
        view! {
            <h3>{t!("Digit by digit")}</h3>
            <table class="digits-table"><caption>{t!("Share of test digits read right, by digit")}</caption>
                <thead><tr><th scope="col">{t!("Digit")}</th><th scope="col">{t!("This run")}</th>{open}</tr></thead><tbody>{rows}</tbody></table>
        }
        .into_any(),
    )
}

/// A digit above its two captions.
fn picture(page: Page, (shape, pixels): (Picture, &[u8]), says: String, then: String) -> AnyView {
    let (canvas, pixels) = (NodeRef::<html::Canvas>::new(), Arc::<[u8]>::from(pixels));
    effect(move || {
        let theme = page.appearance.theme.get();
        if let Some(canvas) = canvas.get() {
            paint_image(&canvas, shape, &pixels, browser::is_dark(theme));
        }
    });
    view! { <li><canvas node_ref=canvas width="28" height="28" aria-hidden="true"></canvas><span>{says}</span>" "<span>{then}</span></li> }.into_any()
}

/// The misread test digits.
fn misread(page: Page, counted: &ClassReport) -> Option<AnyView> {
    let one = |misread: &crate::worker::counting::Misread| {
        let class = |label: u8| page.digits.class(label.into());
        let says = t!("{digit} read as {read}", digit = class(misread.label), read = class(misread.read));
        let sure = t!("{share} sure", share = format::percent(f64::from(misread.sure)));
        picture(page, (counted.picture, &misread.pixels), says, sure)
    };
    let all: Vec<AnyView> = counted.misread.iter().map(one).collect();
    (!all.is_empty()).then(|| {
        view! { <h3>{t!("Misread, the surest first")}</h3><ul class="pictures" data-testid="misread">{all}</ul> }
            .into_any()
    })
}

/// The digits of a lot with the longest and with the shortest gradients.
fn pulls(page: Page, counted: &ClassReport) -> Option<AnyView> {
    let Some((step, pulls)) = counted.pulls.as_ref().filter(|(_, pulls)| !pulls.is_empty()) else {
        return Some(view! { <p class="caption">{t!("After a step, the digits of its lot appear here, longest gradients first.")}</p> }.into_any());
    };
    let list = |pulls: &[GradientNorm], name: &'static str| {
        let one = |pull: &GradientNorm| {
            let norm = format::number(format::significant(pull.norm, 3));
            picture(
                page,
                (counted.picture, &pull.pixels),
                page.digits.class(pull.label.into()),
                t!("length {norm}", norm = norm),
            )
        };
        let all: Vec<AnyView> = pulls.iter().map(one).collect();
        view! { <p class="caption">{name}</p><ul class="pictures">{all}</ul> }.into_any()
    };
    let half = PULLS.min(pulls.len().div_ceil(2));
    let says = t!(
        "Step {step}, {n} digits of its lot: the length of each one's gradient before it is bounded. The longer it is, the more the digit would move the model, and the more is cut off.",
        step = format::integer(*step),
        n = pulls.len()
    );
    Some(
        view! {
            <h3>{t!("Most and least sensitive")}" "{teaching()}</h3>
            <p class="caption">{says}</p>
            {list(&pulls[..half], t!("Most sensitive"))}
            {list(&pulls[pulls.len() - half.min(pulls.len() - half)..], t!("Least sensitive"))}
        }
        .into_any(),
    )
}
