//! The drawing pad.

use leptos::{html, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, PointerEvent};

use super::{
    answer::answer,
    digit::{Stroke, rasterise, sample},
};
use crate::{
    data::Picture,
    ui::{
        browser,
        size::closures::{bool_fn, effect, on_click},
        state::Page,
        text::t,
    },
};

/// Side of the drawing surface in pixels.
const SIDE: f64 = 224.0;

const PEN: f64 = 15.0;

/// The pad, the model's input, and its answer.
pub fn pad(page: Page) -> impl IntoView {
    let canvas = NodeRef::<html::Canvas>::new();
    let strokes = StoredValue::new(Vec::<Stroke>::new());
    let drawing = StoredValue::new(false);
    let empty = RwSignal::new(true);
    let show = move || {
        let pixels = strokes.with_value(|strokes| rasterise(strokes));
        empty.set(pixels.is_none());
        page.pad.draw(pixels);
    };
    let repaint = move || {
        let dark = browser::is_dark(page.appearance.theme.get_untracked());
        if let Some(canvas) = canvas.get_untracked() {
            strokes.with_value(|strokes| paint(&canvas, strokes, dark));
        }
    };
    effect(move || {
        page.appearance.theme.track();
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
        // Fails if the pointer is gone; the stroke then ends at the edge.
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
        .map(|digit| view! { <button type="button" aria-label=t!("Draw an example {digit}", digit = digit) on:click=on_click(move |_| put(sample(digit)))>{digit}</button> })
        .collect_view();
    view! {
        <section class="pad" data-testid="digit-pad" aria-label=t!("Draw a digit") hidden=bool_fn(move || page.digits.images().0 != Picture::DIGIT)>
            <h3>{t!("Draw a digit, and the model answers")}</h3>
            <div class="pad-row">
                <div class="paper">
                    <canvas node_ref=canvas width="224" height="224" role="img" aria-label=t!("Drawing surface; the buttons below draw examples")
                        on:pointerdown=down on:pointermove=moved on:pointerup=up on:pointercancel=up></canvas>
                    <p class="pad-empty" hidden=bool_fn(move || !empty.get()) aria-hidden="true">{t!("draw here")}</p>
                </div>
                {answer(page)}
            </div>
            <p class="examples"><span>{t!("or take")}</span>{examples}
                <button type="button" class="clear" on:click=on_click(move |_| put(vec![]))>{t!("Clear")}</button></p>
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
