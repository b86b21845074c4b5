//! What was read of the visitor's own images: classes, counts and pictures, to check before a run.

use std::sync::Arc;

use hushgrad_message::ToMessage;
use leptos::{html, prelude::*};

use crate::{
    data::card::Card,
    plot::format,
    ui::{
        browser,
        settings::{Choice as _, UserSource},
        size::closures::{bool_fn, effect, on_click, text_fn, view_fn},
        state::{LoadedDigits, Page},
        text::{heard, t},
        widgets::colours::paint_strip,
    },
};

/// The card, if the visitor loaded files.
pub fn read_card(page: Page) -> AnyView {
    view_fn(move || {
        page.digits.loaded.with(|loaded| {
            let loaded = loaded.as_ref()?;
            Some(card(page, loaded, loaded.card.clone()?))
        })
    })
    .into_any()
}

fn card(page: Page, loaded: &LoadedDigits, card: Arc<Card>) -> AnyView {
    let classes = loaded.classes.len();
    let size = t!(
        "Images: {picture}, {n} classes.",
        picture = heard(&loaded.picture.to_message()),
        n = format::integer(classes as u64)
    );
    let whose = card.users.map(|users| whose(page, users));
    // They change with the visitor's own choices.
    let follows = move || {
        page.settings.with(|settings| {
            t!(
                "For the run this means: model “{model}”; lot size {lot}.",
                model = settings.model.label(),
                lot = format::integer(settings.lot.into())
            )
        })
    };
    let train = loaded.train;
    let smaller = move || page.settings.with(|settings| settings.modest_lot(train)).map(|modest| smaller(page, modest));
    let remarks = loaded.remarks.iter().map(|remark| view! { <li>{heard(remark)}</li> }).collect_view();
    let rows = (0..classes).map(|label| row(page, loaded, &card, label)).collect_view();
    // The images of a run that has released something stay as they are.
    let begun = move || page.run.report.with(|report| report.as_ref().is_some_and(|report| report.step > 0));
    let turn = |mirror| on_click(move |_| page.digits.orient(mirror));
    view! {
        <details class="read-card" data-testid="read-card" open>
            <summary>{t!("This is what I read")}</summary>
            <p>{size}" "{whose}</p>
            <p data-testid="follows">{text_fn(follows)}</p>
            {view_fn(smaller)}
            <ul>{remarks}</ul>
            <table tabindex="0" aria-label=t!("Classes of the images")>
                <thead><tr><th scope="col">{t!("Class")}</th><th scope="col">{t!("Training")}</th><th scope="col">{t!("Test")}</th><th scope="col">{t!("The first")}</th></tr></thead>
                <tbody>{rows}</tbody>
            </table>
            <p class="once-buttons">
                <button type="button" data-testid="turn-images" disabled=bool_fn(begun) on:click=turn(false)>{t!("Turn by 90°")}</button>
                <button type="button" data-testid="mirror-images" disabled=bool_fn(begun) on:click=turn(true)>{t!("Mirror")}</button>
                <span>{t!("Are they upright? All images turn alike, so this costs no privacy.")}</span>
            </p>
        </details>
    }
    .into_any()
}

/// Offers a smaller lot, where the images are few.
fn smaller(page: Page, modest: u32) -> AnyView {
    let take = on_click(move |_| page.change(|settings| settings.lot = modest));
    let lot = format::integer(modest.into());
    view! {
        <p>
            {t!("Each step would draw more than an eighth of your images, and so cost much privacy.")}" "
            <button type="button" data-testid="smaller-lot" on:click=take>{t!("Take a lot of {lot}", lot = lot)}</button>
        </p>
    }
    .into_any()
}

/// Whose the images are, and a button that makes these people the unit of ε.
fn whose(page: Page, users: u32) -> AnyView {
    let are_told = t!(
        "The files tell whose each image is: {n} user. If ε is for whole users, this number counts as public. | The files tell whose each image is: {n} users. If ε is for whole users, this number counts as public.",
        n = format::integer(users.into())
    );
    let chosen = move || page.settings.with(|settings| settings.user_source == UserSource::Data);
    let protect = on_click(move |_| page.protect_users());
    view! {
        {are_told}" "
        <button type="button" data-testid="protect-users" disabled=bool_fn(chosen) on:click=protect>{t!("Protect whole users")}</button>
    }
    .into_any()
}

/// A class: its name, its numbers of images, and the first of them.
fn row(page: Page, loaded: &LoadedDigits, card: &Card, label: usize) -> AnyView {
    let (name, picture) = (loaded.classes[label].clone(), loaded.picture);
    let [train, test] = card.counts.get(label).copied().unwrap_or_default().map(|n| format::integer(n.into()));
    let (canvas, pixels) = (NodeRef::<html::Canvas>::new(), Arc::<[u8]>::from(card.pictures[label].as_slice()));
    effect(move || {
        let theme = page.appearance.theme.get();
        if let Some(canvas) = canvas.get() {
            paint_strip(&canvas, picture, &pixels, browser::is_dark(theme));
        }
    });
    view! {
        <tr><th scope="row">{name}</th><td>{train}</td><td>{test}</td>
            <td><canvas node_ref=canvas aria-hidden="true"></canvas></td></tr>
    }
    .into_any()
}
