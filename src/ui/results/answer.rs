//! A drawing as the model sees it, and its answer.

use leptos::{html, prelude::*};
use wasm_bindgen::{Clamped, JsCast};
use web_sys::{CanvasRenderingContext2d, ImageData};

use crate::{
    data::Picture,
    model::reference,
    plot::format,
    train::report::Privacy,
    ui::{
        size::{
            closures::{bool_fn, bool_memo, effect, on_click, text_fn, view_fn},
            sort::sort,
        },
        state::{OtherModel, Page},
        text::t,
        widgets::teaching::teaching,
    },
};

/// Most classes shown.
const SHOWN: usize = 10;

/// The model's input and answer.
pub fn answer(page: Page) -> impl IntoView {
    let best = move || {
        page.pad
            .prediction
            .with(|classes| classes.as_ref()?.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1)))
    };
    // Of many classes, the most likely, in their usual order.
    let shown = Memo::new(move |_| {
        let count = page.digits.loaded.with(|loaded| loaded.as_ref().map_or(10, |loaded| loaded.classes.len()));
        let mut shown: Vec<usize> = (0..count).collect();
        if count > SHOWN {
            page.pad.prediction.with(|classes| {
                let of = |class: usize| classes.as_ref().and_then(|it| it.get(class).copied()).unwrap_or_default();
                sort(&mut shown, |a, b| of(*b).total_cmp(&of(*a)).then(a.cmp(b)).is_lt());
            });
            shown.truncate(SHOWN);
            sort(&mut shown, |a, b| a < b);
        }
        shown
    });
    let text = move || match best() {
        Some((digit, sure)) => {
            t!("{digit}, {share} sure", digit = page.digits.class(digit), share = format::percent(sure.into()))
        }
        None => String::new(),
    };
    let bar = move |digit: usize| {
        let share = move || {
            page.pad
                .prediction
                .with(|classes| classes.as_ref().and_then(|it| it.get(digit).copied()).map_or(0.0, f64::from))
        };
        view! {
                <div class="class" class:best=bool_fn(move || best().is_some_and(|(best, _)| best == digit))>
                    <span class="digit">{page.digits.class(digit)}</span>
                    <svg class="track" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                        <rect x="0" y="0" height="10" width=text_fn(move || format::fixed(share() * 100.0, 1))></rect></svg>
                    <span class="share">{text_fn(move || if page.pad.prediction.with(Option::is_some) { format::decimals_of(share() * 100.0, 0) + "%" } else { String::new() })}</span>
                </div>
            }
            .into_any()
    };
    let bars = move || shown.get().into_iter().map(bar).collect::<Vec<_>>();
    view! {
        <div class="answer">
            <div class="verdict">
                {seen(page)}
                <p data-testid="prediction" data-value=text_fn(move || best().map_or_else(String::new, |(digit, _)| digit.to_string()))>{text_fn(text)}</p>
            </div>
            <div class="bars" class:away=bool_fn(move || best().is_none())>{move || bars()}</div>
            {other(page)}
        </div>
    }
    .into_any()
}

/// Answer of the other model to the same drawing: private and non-private side by side.
fn other(page: Page) -> impl IntoView {
    let private = move || {
        page.run.report.with(|report| {
            report.as_ref().filter(|r| r.step > 0).map(|report| matches!(report.privacy, Privacy::Bounded(_)))
        })
    };
    // The page's program computes no features.
    let features =
        bool_memo(move || page.run.info.with(|run| run.as_ref().is_some_and(|r| r.config.model.features().is_some())));
    let fits = move || {
        let other = |k: &OtherModel, now| {
            k.private != now && k.model.features().is_none() && k.model.picture() == Picture::DIGIT
        };
        private().is_some_and(|now| page.pad.other.with(|k| k.as_ref().is_some_and(|k| other(k, now))))
    };
    let answer = Memo::new(move |_| {
        let other = page.pad.other.get().filter(|_| fits())?;
        let classes = reference::probabilities(other.model, &other.parameters, &page.pad.drawing.get()?);
        let (digit, sure) = classes.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let name = page.digits.class(digit);
        let share = format::percent(sure);
        let says = match other.private {
            true => t!("The previous private model says {digit}, {share} sure.", digit = name, share = share),
            false => t!("The model trained without privacy says {digit}, {share} sure.", digit = name, share = share),
        };
        Some((digit, says))
    });
    let bare = move || {
        answer.with(Option::is_some) && page.pad.other.with(|other| other.as_ref().is_some_and(|other| !other.private))
    };
    // A baseline is offered only for a private run.
    let offered = move || private() == Some(true) && !fits() && !features.get();
    let beside = move || private() != Some(false) && !features.get() || fits();
    view! {
        <div class:beside=bool_fn(beside)>
        {view_fn(move || offered().then(|| view! {
            <button type="button" class="baseline" data-testid="baseline" disabled=bool_fn(move || page.pad.training_baseline.get()) on:click=on_click(move |_| page.pad.train_baseline())>
                {text_fn(move || if page.pad.training_baseline.get() { t!("Training the non-private baseline…") } else { t!("Ask a non-private baseline, too") })}</button>
        }.into_any()))}
        <p class="other" data-testid="prediction-other" data-value=text_fn(move || answer.get().map_or_else(String::new, |(digit, _)| digit.to_string()))>
            {text_fn(move || answer.get().map(|(_, text)| text).unwrap_or_default())}
            {view_fn(move || bare().then(|| view! { " " {teaching()} }.into_any()))}</p>
        </div>
    }
}

/// The 28 × 28 pixels of the model's input.
fn seen(page: Page) -> impl IntoView {
    let canvas = NodeRef::<html::Canvas>::new();
    effect(move || {
        let Some(canvas) = canvas.get() else { return };
        page.pad.drawing.with(|pixels| {
            let bytes: Vec<u8> = match pixels {
                Some(pixels) => pixels
                    .iter()
                    .flat_map(|ink| {
                        let grey = (ink * 255.0) as u8;
                        [grey, grey, grey, 255]
                    })
                    .collect(),
                None => [0, 0, 0, 255].repeat(crate::model::PIXELS),
            };
            let context =
                canvas.get_context("2d").ok().flatten().and_then(|c| c.dyn_into::<CanvasRenderingContext2d>().ok());
            if let (Some(context), Ok(image)) =
                (context, ImageData::new_with_u8_clamped_array_and_sh(Clamped(&bytes), 28, 28))
            {
                drop(context.put_image_data(&image, 0.0, 0.0));
            }
        });
    });
    view! { <canvas class="seen" node_ref=canvas width="28" height="28" role="img" aria-label=t!("The drawing as the model sees it, 28 by 28 pixels")></canvas> }
}
