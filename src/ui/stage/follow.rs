//! One image on its way through the network: pixels, layers, answer and gradient; the gradient's
//! length before and after the bound, and that of the noise.

use std::sync::Arc;

use leptos::{html, prelude::*};

use super::unit::Unit;
use crate::ui::widgets::colours::{paint, paint_image};
use crate::{
    plot::format,
    ui::{
        browser,
        size::closures::{bool_fn, bool_memo, effect, on_click, on_event, text_fn, view_fn},
        state::{Page, Place, StepOf},
        text::t,
        widgets::teaching::teaching,
    },
    worker::follow::{Followed, Passed, Sheet},
};

/// Significant digits of a length.
const DIGITS: i32 = 3;

/// The fold, computed while it is open.
pub fn follow(page: Page) -> AnyView {
    let following = page.following;
    let toggled = move |event: leptos::ev::Event| {
        following.show(event_target::<web_sys::HtmlDetailsElement>(&event).open());
    };
    let ringed = Memo::new(move |_| {
        page.snapshots.people.with(|people| {
            let own = people.as_ref().filter(|it| it.of == StepOf::Run)?;
            Some((own.step, own.person.as_ref()?.place))
        })
    });
    effect(move || ringed.get().into_iter().for_each(|(_, place)| following.ring(place)));
    let there = bool_memo(move || following.followed.with(Option::is_some));
    view! {
        <details class="meaning follow" data-testid="follow" hidden=bool_fn(move || !Unit::of(page).is_image()) on:toggle=on_event(toggled)>
            <summary>{t!("Follow the ringed image through the network")}</summary>
            <p class="caption" hidden=bool_fn(move || there.get())>{t!("Take a step to follow the ringed image of its lot through every layer, and its gradient back.")}</p>
            {view_fn(move || there.get().then(|| way(page)))}
        </details>
    }
    .into_any()
}

fn layers(page: Page) -> usize {
    page.following.followed.with(|followed| followed.as_ref().map_or(0, |followed| followed.layers.len()))
}

/// True if the walk has reached this place.
fn reached(page: Page, place: Place) -> bool {
    let (at, layers) = (page.following.at.get(), layers(page));
    (0..=at).any(|at| Place::of(at, layers) == place)
}

fn here(page: Page) -> Place {
    Place::of(page.following.at.get(), layers(page))
}

fn way(page: Page) -> AnyView {
    let following = page.following;
    let names = Memo::new(move |_| {
        following.followed.with(|followed| {
            let name = |passed: &Passed| {
                (
                    passed.layer.clone(),
                    passed.shape.clone(),
                    passed.of,
                    passed.values.images,
                    passed.gradient.images > 0,
                )
            };
            followed.as_ref().map_or_else(Vec::new, |followed| followed.layers.iter().map(name).collect::<Vec<_>>())
        })
    });
    let all = move || {
        let layer = |(number, (name, shape, of, shown, back))| one_layer(page, number, name, shape, (of, shown, back));
        names.get().into_iter().enumerate().map(layer).collect::<Vec<_>>()
    };
    let image = canvas(page, |canvas, followed, dark| paint_image(canvas, followed.picture, &followed.pixels, dark));
    let moved = move |event: leptos::ev::Event| {
        following.go_to(event_target_value(&event).parse().unwrap_or_default());
    };
    view! {
        <p class="stage-says" role="status" data-testid="follow-says">{text_fn(move || says(page))}</p>
        <div class="follow-controls">
            <button type="button" data-testid="follow-play" on:click=on_click(move |_| following.walk())>{t!("In slow motion")}</button>
            <input type="range" min="0" max=text_fn(move || Place::last(layers(page)).to_string()) step="1" aria-label=t!("How far the image has come") data-testid="follow-at"
                aria-valuetext=text_fn(move || says(page)) prop:value=text_fn(move || following.at.get().to_string()) on:input=on_event(moved) />
            {teaching()}
        </div>
        <div class="scroll" tabindex="0" role="region" aria-label=t!("The image's path through the network")>
            <ol class="follow-way">
                <li class:here=bool_fn(move || here(page) == Place::Image)><strong>{t!("The image")}</strong><span class="follow-sheet lit">{image}</span></li>
                {move || all()}
                <li class:here=bool_fn(move || here(page) == Place::Answer)><strong>{t!("The answer")}</strong><span class="follow-words" class:lit=bool_fn(move || reached(page, Place::Answer))>{text_fn(move || answer(page))}</span></li>
            </ol>
        </div>
        {lengths(page)}
    }
    .into_any()
}

/// A canvas, repainted with each followed image and with the theme.
fn canvas(page: Page, draw: impl Fn(&web_sys::HtmlCanvasElement, &Followed, bool) + 'static) -> AnyView {
    let node = NodeRef::<html::Canvas>::new();
    effect(move || {
        let theme = page.appearance.theme.get();
        let Some(canvas) = node.get() else { return };
        page.following.followed.with(|followed| {
            if let Some(followed) = followed {
                draw(&canvas, followed, browser::is_dark(theme));
            }
        });
    });
    view! { <canvas node_ref=node width="28" height="28" aria-hidden="true"></canvas> }.into_any()
}

/// A layer's output for the image, above the gradient at it.
fn one_layer(page: Page, number: usize, name: String, shape: String, (of, shown, back): (u32, u32, bool)) -> AnyView {
    let sheet = |read: fn(&Passed) -> &Sheet| {
        canvas(page, move |canvas, followed, dark| {
            if let Some(sheet) = followed.layers.get(number).map(read).filter(|sheet| !sheet.values.is_empty()) {
                paint(canvas, sheet.layout(), &sheet.values, sheet.full.into(), dark);
            }
        })
    };
    let is_here = move || matches!(here(page), Place::Layer(layer) | Place::Gradient(layer) if layer == number);
    let part = (shown < of).then(|| t!("{shown} of {of} shown", shown = shown, of = of));
    view! {
        <li class:here=bool_fn(is_here)>
            <strong>{name}</strong>
            <span class="follow-sheet" class:lit=bool_fn(move || reached(page, Place::Layer(number)))>{sheet(|passed| &passed.values)}</span>
            <span class="small-label">{shape}</span>
            <span class="small-label">{part}</span>
            {back.then(|| view! { <span class="follow-sheet back" class:lit=bool_fn(move || reached(page, Place::Gradient(number)))>{sheet(|passed| &passed.gradient)}</span> }.into_any())}
        </li>
    }
    .into_any()
}

fn answer(page: Page) -> String {
    page.following.followed.with(|followed| {
        let Some(followed) = followed else { return String::new() };
        let best = followed.probabilities.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((class, sure)) = best else { return String::new() };
        let (class, truth) = (page.digits.class(class), page.digits.class(followed.label.into()));
        t!(
            "{class}, {share} sure; correct: {truth}",
            class = class,
            share = format::percent(f64::from(sure)),
            truth = truth
        )
    })
}

fn short(length: f64) -> String {
    format::number(format::significant(length, DIGITS))
}

/// The three lengths, as far as the walk has come.
fn lengths(page: Page) -> AnyView {
    let bar = |place: Place, name: &'static str, of: fn(&Followed) -> Option<f64>| {
        let width = move || {
            page.following.followed.with(|followed| {
                let Some(followed) = followed else { return 0.0 };
                let norm = (!followed.by_layers).then_some(followed.norm);
                let most = [norm, Some(followed.bounded), followed.noise].into_iter().flatten();
                let most = most.fold(f64::MIN_POSITIVE, f64::max);
                // The shortest bar is still visible.
                of(followed).map_or(0.0, |length| (length / most * 100.0).max(0.3))
            })
        };
        let length = move || {
            page.following
                .followed
                .with(|followed| followed.as_ref().and_then(|it| of(it)).map_or_else(|| "–".to_owned(), short))
        };
        view! {
            <div class="follow-length" class:lit=bool_fn(move || reached(page, place)) class:here=bool_fn(move || here(page) == place)>
                <span>{name}</span>
                <svg class="track" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect x="0" y="0" height="10" width=text_fn(move || format::fixed(width(), 2))></rect></svg>
                <span class="share">{text_fn(length)}</span>
            </div>
        }
        .into_any()
    };
    view! {
        <div class="follow-lengths" data-testid="follow-lengths">
            {bar(Place::Length, t!("Its gradient"), |followed| (!followed.by_layers).then_some(followed.norm))}
            {bar(Place::Bounded, t!("After the bound"), |followed| Some(followed.bounded))}
            {bar(Place::Noise, t!("The noise on the sum"), |followed| followed.noise)}
        </div>
    }
    .into_any()
}

/// Returns what happens at the current place.
fn says(page: Page) -> String {
    let Some(followed) = page.following.followed.get() else { return String::new() };
    let place = here(page);
    let layer = |number: usize| followed.layers.get(number).map(|passed| passed.layer.clone()).unwrap_or_default();
    match place {
        Place::Image => {
            t!("Pixels: {values} numbers from 0 to 1.", values = format::integer(followed.pixels.len() as u64))
        }
        Place::Layer(number) => said_of_layer(&followed, number),
        Place::Answer => {
            t!("The last layer gives each class a number; the largest is the answer. The loss says how wrong it is.")
                .to_owned()
        }
        Place::Gradient(number) => t!(
            "And back: how the loss would change with each number that “{layer}” made. It shows how its parameters should change.",
            layer = layer(number)
        ),
        Place::Length => t!(
            "The changes of all parameters form this image's gradient. Its length is {norm}: the longer, the more the image stands out.",
            norm = short(followed.norm)
        ),
        Place::Bounded if followed.by_layers => {
            t!("Bounded layer by layer; length in noise units: {bounded}.", bounded = short(followed.bounded))
        }
        Place::Bounded if followed.bounded < followed.norm * 0.999 => {
            t!("The bound leaves {bounded} of it.", bounded = short(followed.bounded))
        }
        Place::Bounded => t!("Nothing is cut off: it is added as it is.").to_owned(),
        Place::Noise => match followed.noise {
            Some(noise) => t!(
                "It is added to the sum, and the noise on that is {noise} long, {times} times as long as what this image added. The pictures above show whether that hides it.",
                noise = short(noise),
                times = format::number(format::significant(noise / followed.bounded.max(f64::MIN_POSITIVE), 2))
            ),
            None => t!("The sum gets no noise, or none of definite length.").to_owned(),
        },
    }
}

fn said_of_layer(followed: &Arc<Followed>, number: usize) -> String {
    let Some(passed) = followed.layers.get(number) else { return String::new() };
    let kind = passed.layer.split(' ').next().unwrap_or_default();
    let shape = passed.shape.clone();
    match kind {
        "conv" => t!(
            "Convolution: each kernel looks for one pattern everywhere, and makes a picture of where it is. {shape} numbers.",
            shape = shape
        ),
        "maxpool" => t!("Max-pooling: keeps the largest number of each window. {shape} are left.", shape = shape),
        "avgpool" => t!("Average pooling: keeps the mean of each window. {shape} are left.", shape = shape),
        "dense" => t!("Dense: {shape} sums of all numbers, each with its own weights.", shape = shape),
        "groupnorm" => {
            t!("Group normalisation: within this image, each group of channels is scaled to mean 0 and variance 1.")
                .to_owned()
        }
        "batchnorm" => t!(
            "Batch normalisation: each channel minus the mean that was released with noise before, over its deviation."
        )
        .to_owned(),
        "scattering" => t!("Scattering: {shape} fixed features; nothing in them is learned.", shape = shape),
        "extractor" => t!(
            "Extractor: {shape} features from a fixed network, trained only on computer-drawn images.",
            shape = shape
        ),
        _ => t!("“{layer}” changes each number separately.", layer = passed.layer),
    }
}
