//! The digits of a step's lot, one of which is ringed.

use leptos::{html, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, KeyboardEvent};

use super::unit::Unit;
use crate::ui::widgets::colours::{colour_of, put};
use crate::{
    data::Picture,
    plot::format,
    ui::{
        browser,
        size::closures::{bool_fn, bool_memo, effect, on_click, text_fn},
        state::{InspectedStep, Page, StepOf},
        text::t,
    },
    worker::look::SHOWN,
};

/// Digits in a row.
const COLUMNS: usize = 8;

/// The digits as one picture below a button each. Arrow keys move the ring.
pub fn lot(page: Page, people: impl Fn() -> Option<InspectedStep> + Copy + Send + Sync + 'static) -> AnyView {
    let canvas = NodeRef::<html::Canvas>::new();
    let lot = Memo::new(move |_| people().map(|people| people.lot));
    effect(move || {
        let theme = page.appearance.theme.get();
        let Some(canvas) = canvas.get() else { return };
        lot.with(|lot| {
            let picture = lot.as_ref().map_or(Picture::DIGIT, |lot| lot.picture);
            let digits: Vec<&[u8]> =
                (0..SHOWN).map(|place| lot.as_ref().map_or(&[][..], |lot| lot.digit(place))).collect();
            draw(&canvas, picture, COLUMNS, &digits, browser::is_dark(theme));
        });
    });
    let ringed = Memo::new(move |_| Some(people()?.person?.place));
    // A recorded or earlier step is a mere picture: its digits cannot be selected.
    let fixed = bool_memo(move || people().is_none_or(|people| people.of != StepOf::Run));
    // Built once: a lot arrives every second, and buttons are costly.
    let one = |place: usize| {
        let here = move || ringed.get() == Some(place as u32);
        let label = move || {
            lot.with(|lot| {
                let labels = lot.as_ref().map_or(&[][..], |lot| &lot.labels);
                match labels.get(place) {
                    Some(label) => t!(
                        "A {digit}, {place} of the {shown} shown",
                        digit = page.digits.class((*label).into()),
                        place = place + 1,
                        shown = labels.len()
                    ),
                    None => String::new(),
                }
            })
        };
        view! {
            <button type="button" aria-label=text_fn(label) hidden=bool_fn(move || lot.with(|lot| lot.as_ref().is_none_or(|lot| place >= lot.labels.len())))
                aria-pressed=text_fn(move || here().to_string()) class:ringed=bool_fn(here)
                tabindex=text_fn(move || if ringed.get().unwrap_or(0) as usize == place { "0" } else { "-1" }) disabled=bool_fn(move || fixed.get())
                on:click=on_click(move |_| page.snapshots.ring(place as u32))></button>
        }
        .into_any()
    };
    let buttons: Vec<AnyView> = (0..SHOWN).map(one).collect();
    let moved = move |event: KeyboardEvent| {
        let by = match event.key().as_str() {
            "ArrowRight" => 1,
            "ArrowLeft" => -1,
            "ArrowDown" => COLUMNS as i32,
            "ArrowUp" => -(COLUMNS as i32),
            _ => return,
        };
        event.prevent_default();
        let to = ringed.get_untracked().unwrap_or(0) as i32 + by;
        let parent = event
            .target()
            .and_then(|target| target.dyn_into::<HtmlElement>().ok())
            .and_then(|one| one.parent_element());
        let next = parent
            .and_then(|parent| parent.children().item(to as u32))
            .and_then(|next| next.dyn_into::<HtmlElement>().ok());
        if let (true, Some(next)) = (to >= 0, next) {
            drop(next.focus());
            next.click();
        }
    };
    let caption = move || {
        let unit = people().map_or_else(|| Unit::of(page), |people| people.sharing.into());
        lot.with(|lot| {
            lot.as_ref().map_or_else(
                || {
                    if unit.is_image() {
                        t!("Images are drawn at random, one per person.").to_owned()
                    } else {
                        t!("Each step draws some {many} at random.", many = unit.many())
                    }
                },
                |lot| {
                    let (drawn, shown) = (format::integer(lot.drawn.into()), lot.labels.len());
                    if !unit.is_image() {
                        t!("{shown} of {n} drawn at random, each by its first image.", n = drawn, shown = shown)
                    } else if lot.drawn as usize > shown {
                        t!("{shown} of {n} drawn at random, one image per person.", n = drawn, shown = shown)
                    } else {
                        t!("{n} drawn at random, one image per person.", n = drawn)
                    }
                },
            )
        })
    };
    view! {
        <div class="lot" on:keydown=moved>
            <canvas class="lot-digits" node_ref=canvas width=cells(COLUMNS, Picture::DIGIT).to_string() height=cells(SHOWN / COLUMNS, Picture::DIGIT).to_string() role="img" aria-label=t!("Digits of the lot")></canvas>
            <div class="lot-buttons" role="group" aria-label=t!("Ringed digit: arrow keys choose another")>{buttons}</div>
        </div>
        <p class="caption" data-testid="stage-lot">{text_fn(caption)}</p>
    }
    .into_any()
}

/// Returns the pixels along `count` images with gaps between them.
fn cells(count: usize, picture: Picture) -> usize {
    count * (usize::from(picture.side) + 1) - 1
}

/// The ringed digit alone, as tall as a line of text.
pub fn ringed(page: Page, people: impl Fn() -> Option<InspectedStep> + Copy + Send + Sync + 'static) -> AnyView {
    let canvas = NodeRef::<html::Canvas>::new();
    let is_there = bool_memo(move || people().is_some_and(|people| people.person.is_some()));
    effect(move || {
        let theme = page.appearance.theme.get();
        let (Some(canvas), Some(InspectedStep { lot, person: Some(person), .. })) = (canvas.get(), people()) else {
            return;
        };
        draw(&canvas, lot.picture, 1, &[lot.digit(person.place as usize)], browser::is_dark(theme));
    });
    view! { <canvas class="ringed-digit" data-testid="ringed" node_ref=canvas hidden=bool_fn(move || !is_there.get()) width="28" height="28" role="img" aria-label=t!("The ringed one")></canvas> }.into_any()
}

/// Draws `digits`, each empty or of `picture`, in rows of `columns`.
fn draw(canvas: &web_sys::HtmlCanvasElement, picture: Picture, columns: usize, digits: &[&[u8]], dark: bool) {
    let (side, width, height) =
        (usize::from(picture.side), cells(columns, picture), cells(digits.len() / columns, picture));
    let mut bytes = vec![0; width * height * 4];
    for (place, digit) in digits.iter().enumerate() {
        let (left, top) = (place % columns * (side + 1), place / columns * (side + 1));
        for at in 0..picture.area() {
            let pixel = ((top + at / side) * width + left + at % side) * 4;
            bytes[pixel..pixel + 4].copy_from_slice(&colour_of(picture, digit, at, dark));
        }
    }
    put(canvas, &bytes, width as u32, height as u32);
}
