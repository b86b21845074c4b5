//! Draw a digit, and hear what the model says.

use leptos::{html, prelude::*};
use wasm_bindgen::{Clamped, JsCast};
use web_sys::{CanvasRenderingContext2d, ImageData, PointerEvent};

use super::{
    digit::{Stroke, rasterise, sample},
    panel::teaching,
};
use crate::{
    model::{Architecture, reference},
    plot::format,
    train::report::Privacy,
    ui::{
        browser,
        size::closures::{follow, on_click, piece, whether, wording},
        state::{Kept, Page},
    },
};

/// Pixels of the drawing surface.
const SIDE: f64 = 224.0;
const PEN: f64 = 15.0;

/// The pad, the picture that the model sees, and its answer.
pub fn pad(page: Page) -> impl IntoView {
    let canvas = NodeRef::<html::Canvas>::new();
    let strokes = StoredValue::new(Vec::<Stroke>::new());
    let drawing = StoredValue::new(false);
    let empty = RwSignal::new(true);
    let show = move || {
        let pixels = strokes.with_value(|strokes| rasterise(strokes));
        empty.set(pixels.is_none());
        page.draw(pixels);
    };
    let repaint = move || {
        let dark = browser::is_dark(page.theme.get_untracked());
        if let Some(canvas) = canvas.get_untracked() {
            strokes.with_value(|strokes| paint(&canvas, strokes, dark));
        }
    };
    follow(move || {
        page.theme.track();
        canvas.track();
        repaint();
    });
    let place = move |event: &PointerEvent| {
        let canvas = canvas.get_untracked()?;
        let rect = canvas.get_bounding_client_rect();
        let x = (f64::from(event.client_x()) - rect.left()) / rect.width() * SIDE;
        let y = (f64::from(event.client_y()) - rect.top()) / rect.height() * SIDE;
        Some((x as f32, y as f32))
    };
    let down = move |event: PointerEvent| {
        let (Some(point), Some(canvas)) = (place(&event), canvas.get_untracked()) else { return };
        event.prevent_default();
        // A pointer that is gone cannot be held; the stroke then ends at the edge.
        drop(canvas.set_pointer_capture(event.pointer_id()));
        drawing.set_value(true);
        strokes.update_value(|strokes| strokes.push(vec![point]));
        repaint();
    };
    let moved = move |event: PointerEvent| {
        if !drawing.get_value() {
            return;
        }
        let Some(point) = place(&event) else { return };
        strokes.update_value(|strokes| {
            if let Some(stroke) = strokes.last_mut() {
                stroke.push(point);
            }
        });
        repaint();
    };
    let up = move |_: PointerEvent| {
        if drawing.get_value() {
            drawing.set_value(false);
            show();
        }
    };
    let put = move |drawn: Vec<Stroke>| {
        let side = SIDE as f32;
        strokes.set_value(
            drawn.into_iter().map(|stroke| stroke.into_iter().map(|(x, y)| (x * side, y * side)).collect()).collect(),
        );
        repaint();
        show();
    };
    let examples = (0..10u8)
        .map(|digit| view! { <button type="button" aria-label=format!("Draw an example {digit}") on:click=on_click(move |_| put(sample(digit)))>{digit}</button> })
        .collect_view();
    view! {
        <section class="pad" data-testid="digit-pad" aria-label="Draw a digit">
            <h3>"Draw a digit"</h3>
            <div class="pad-row">
                <div class="paper">
                    <canvas node_ref=canvas width="224" height="224" role="img" aria-label="Drawing surface; the buttons below draw examples"
                        on:pointerdown=down on:pointermove=moved on:pointerup=up on:pointercancel=up></canvas>
                    <p class="pad-empty" hidden=whether(move || !empty.get()) aria-hidden="true">"draw here"</p>
                </div>
                {answer(page)}
            </div>
            <p class="examples"><span>"or take"</span>{examples}
                <button type="button" class="clear" on:click=on_click(move |_| put(vec![]))>"Clear"</button></p>
        </section>
    }
    .into_any()
}

fn paint(canvas: &web_sys::HtmlCanvasElement, strokes: &[Stroke], dark: bool) {
    let context =
        canvas.get_context("2d").ok().flatten().and_then(|context| context.dyn_into::<CanvasRenderingContext2d>().ok());
    let Some(context) = context else { return };
    context.clear_rect(0.0, 0.0, SIDE, SIDE);
    context.set_stroke_style_str(if dark { "#f1efe9" } else { "#1d2127" });
    context.set_line_width(PEN);
    context.set_line_cap("round");
    context.set_line_join("round");
    for stroke in strokes {
        let Some(&(x, y)) = stroke.first() else { continue };
        context.begin_path();
        context.move_to(x.into(), y.into());
        context.line_to(f64::from(x) + 0.01, y.into());
        for &(x, y) in &stroke[1..] {
            context.line_to(x.into(), y.into());
        }
        context.stroke();
    }
}

/// What the model sees and says.
fn answer(page: Page) -> impl IntoView {
    let best = Memo::new(move |_| {
        page.prediction.get().and_then(|classes| classes.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1)))
    });
    let text = move || match best.get() {
        Some((digit, sure)) => format!("{digit}, {} sure", format::percent(sure.into())),
        None => "Draw a digit, and the model answers.".to_owned(),
    };
    let bars = (0..10usize)
        .map(|digit| {
            let share = move || page.prediction.get().map_or(0.0, |classes| f64::from(classes[digit]));
            view! {
                <div class="class" class:best=whether(move || best.get().is_some_and(|(best, _)| best == digit))>
                    <span class="digit">{digit.to_string()}</span>
                    <svg class="track" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                        <rect x="0" y="0" height="10" width=wording(move || format::fixed(share() * 100.0, 1))></rect></svg>
                    <span class="share">{wording(move || if page.prediction.get().is_some() { format::fixed(share() * 100.0, 0) + "%" } else { String::new() })}</span>
                </div>
            }
        })
        .collect_view();
    view! {
        <div class="answer">
            <div class="verdict">
                {seen(page)}
                <p data-testid="prediction" data-value=wording(move || best.get().map_or_else(String::new, |(digit, _)| digit.to_string()))>{wording(text)}</p>
            </div>
            <div class="bars">{bars}</div>
            {other(page)}
        </div>
    }
    .into_any()
}

/// What the model of the other kind says of the same drawing: private and not, side by side.
fn other(page: Page) -> impl IntoView {
    let private = Memo::new(move |_| {
        page.report.with(|report| {
            report.as_ref().filter(|r| r.step > 0).map(|report| matches!(report.privacy, Privacy::Bounded(_)))
        })
    });
    // This program holds no features.
    let features = Memo::new(move |_| {
        page.run.with(|run| run.as_ref().is_some_and(|r| r.config.model == Architecture::Scattering))
    });
    let fits = move || {
        let other = |k: &Kept, now| k.private != now && k.model != Architecture::Scattering;
        private.get().is_some_and(|now| page.kept.with(|k| k.as_ref().is_some_and(|k| other(k, now))))
    };
    let answer = Memo::new(move |_| {
        let kept = page.kept.get().filter(|_| fits())?;
        let classes = reference::probabilities(kept.model, &kept.parameters, &page.drawing.get()?);
        let (digit, sure) = classes.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let who = if kept.private { "The private model before it" } else { "The model trained without privacy" };
        Some((digit, format!("{who} says {digit}, {} sure.", format::percent(sure))))
    });
    let bare = move || answer.with(Option::is_some) && page.kept.with(|kept| kept.as_ref().is_some_and(|k| !k.private));
    // Only a private run has a twin worth asking.
    let offered = move || private.get() == Some(true) && !fits() && !features.get();
    view! {
        {piece(move || offered().then(|| view! {
            <button type="button" class="twin" data-testid="twin" disabled=whether(move || page.study.twin.get()) on:click=on_click(move |_| page.train_twin())>
                {wording(move || if page.study.twin.get() { "Training a twin without privacy…" } else { "Ask a twin without privacy, too" })}</button>
        }.into_any()))}
        <p class="other" data-testid="prediction-other" data-value=wording(move || answer.get().map_or_else(String::new, |(digit, _)| digit.to_string()))>
            {wording(move || answer.get().map(|(_, text)| text).unwrap_or_default())}
            {piece(move || bare().then(|| view! { " " {teaching()} }.into_any()))}</p>
    }
}

/// The 28 × 28 pixels that the model gets.
fn seen(page: Page) -> impl IntoView {
    let canvas = NodeRef::<html::Canvas>::new();
    follow(move || {
        let Some(canvas) = canvas.get() else { return };
        page.drawing.with(|pixels| {
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
    view! { <canvas class="seen" node_ref=canvas width="28" height="28" role="img" aria-label="The drawing as the model sees it, 28 by 28 pixels"></canvas> }
}
