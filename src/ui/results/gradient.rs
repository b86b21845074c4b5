//! Reconstructing an image from one gradient, without and with noise.

use std::sync::Arc;

use hushgrad_message::Message;
use leptos::{html, prelude::*};

use super::digit::bytes;
use crate::{
    data,
    model::pixel,
    plot::format,
    ui::{
        browser,
        settings::Settings,
        size::closures::{bool_fn, effect, on_click, on_event, text_fn, view_fn},
        stage::colours::paint_image,
        state::{Page, as_sentence},
        text::t,
    },
    worker::accounts::Picture,
};

/// Powers of ten at the ends of the noise slider; its leftmost position is no noise.
const POWERS: [f64; 2] = [-3.0, 0.5];
/// Positions of the slider.
const PLACES: f64 = 200.0;

fn sigma_at(place: f64) -> f64 {
    if place <= 0.0 { 0.0 } else { 10f64.powf(POWERS[0] + (POWERS[1] - POWERS[0]) * place / PLACES) }
}

pub fn gradient(page: Page) -> AnyView {
    let attacks = page.attacks;
    // The visitor's drawing or, before there is one, a synthetic digit.
    let image = Memo::new(move |_| {
        let drawn = page.pad.drawing.get();
        drawn.or_else(|| {
            let recorded = page.snapshots.recorded.get()?;
            (!recorded.lot.labels.is_empty()).then(|| recorded.lot.digit(0).iter().map(|&byte| pixel(byte)).collect())
        })
    });
    effect(move || {
        if let Some(image) = image.get() {
            attacks.invert(image, page.settings.with(|settings: &Settings| settings.delta));
        }
    });
    let [truth, read] = [NodeRef::<html::Canvas>::new(), NodeRef::<html::Canvas>::new()];
    effect(move || {
        let dark = browser::is_dark(page.appearance.theme.get());
        if let (Some(canvas), Some(image)) = (truth.get(), image.get()) {
            paint_image(&canvas, data::Picture::DIGIT, &bytes(&image), dark);
        }
        if let (Some(canvas), Some(Ok(picture))) = (read.get(), attacks.picture.get()) {
            paint_image(&canvas, data::Picture::DIGIT, &bytes(&picture.pixels), dark);
        }
    });
    let place = RwSignal::new(0.0);
    let slide = move |event: leptos::ev::Event| {
        let now = event_target::<web_sys::HtmlInputElement>(&event).value_as_number();
        place.set(now);
        attacks.sigma.set(sigma_at(now));
    };
    let strength = move || match attacks.sigma.get() {
        0.0 => t!("no noise").to_owned(),
        sigma => t!("σ = {sigma} × clip norm", sigma = format::decimals_of(sigma, if sigma < 0.1 { 4 } else { 2 })),
    };
    let empty = move || image.with(Option::is_none);
    view! {
        <section data-testid="gradient">
            <h3>{t!("An image from one gradient")}</h3>
            <p>{t!("On a simple network, the gradient of one image reveals the image: a row of it is the image times a number. Clipping does not hide it. Enough noise does; move the slider.")}</p>
            <p hidden=bool_fn(move || !empty())>{t!("Draw a digit below to reconstruct it from its gradient.")}</p>
            <div hidden=bool_fn(empty)>
                <ul class="pictures shared-noise two">
                    <li><canvas node_ref=truth width="28" height="28" role="img" aria-label=t!("The image")></canvas><span aria-hidden="true">{t!("The image")}</span></li>
                    <li><canvas node_ref=read width="28" height="28" role="img" aria-label=t!("What its gradient gives away")></canvas><span aria-hidden="true">{t!("What its gradient gives away")}</span></li>
                </ul>
                <label class="control"><span class="label">{t!("Noise on the gradient")}<output class="small-label">{text_fn(strength)}</output></span>
                    <input type="range" class="slider" data-testid="gradient-noise" min="0" max=format::exact(PLACES) step="1" aria-valuetext=text_fn(strength) prop:value=text_fn(move || format::exact(place.get())) on:input=on_event(slide) /></label>
                <div class="once-buttons"><button type="button" data-testid="gradient-draw" on:click=on_click(move |_| attacks.draw.update(|draw| *draw = draw.wrapping_add(1)))>{t!("Other noise")}</button></div>
                {view_fn(move || attacks.picture.get().map(|picture| says(picture, attacks.sigma.get())))}
            </div>
        </section>
    }
    .into_any()
}

fn says(picture: Result<Arc<Picture>, Message>, sigma: f64) -> AnyView {
    let picture = match picture {
        Ok(picture) => picture,
        Err(refusal) => return view! { <p class="verdict-line">{as_sentence(&refusal)}</p> }.into_any(),
    };
    let likeness = t!(
        "Similarity (cosine): {cosine}; expected: {expected}.",
        cosine = format::decimals_of(picture.cosine, 2),
        expected = format::decimals_of(picture.expected, 2)
    );
    let cost = match sigma > 0.0 {
        false => t!("Without noise nothing is private.").to_owned(),
        true if picture.cosine < 0.3 && picture.epsilon > 8.0 => t!(
            "An unreadable image is not yet private: this one step costs ε = {epsilon}, and with a few candidates one can often still tell which it was.",
            epsilon = format::epsilon(picture.epsilon)
        ),
        true => t!("This one step costs ε = {epsilon}.", epsilon = format::epsilon(picture.epsilon)),
    };
    view! { <p class="verdict-line" data-testid="gradient-found">{likeness}" "{cost}</p> }.into_any()
}
