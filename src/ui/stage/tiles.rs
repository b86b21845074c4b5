//! ONE STEP: raw → encoded → + noise → denoised, each as a picture, a plot and a norm.

use std::sync::Arc;

use leptos::{html, prelude::*};
use wasm_bindgen::{Clamped, JsCast};
use web_sys::{CanvasRenderingContext2d, ImageData};

use crate::{
    mechanism::{Denoiser, EncoderSpec},
    plot::format,
    ui::{
        browser,
        results::teaching,
        settings::Speed,
        size::closures::{follow, on_click, piece, whether, wording},
        state::Page,
        widgets::chart::{Drawing, Frame, Line, Range, Write, chart, enlarge},
    },
    worker::pictures::Pictures,
};

/// What a reader compares.
const DIGITS: i32 = 3;
/// What each tile is called, and says while slow motion lights it.
const NAMES: [&str; 4] = ["1 Raw gradient", "2 Encoded", "3 + noise", "4 Denoised"];

/// The whole panel.
pub fn panel(page: Page) -> impl IntoView {
    let at = move || page.pictures.with(|pictures| pictures.as_ref().map(|(step, _)| *step));
    let head = move || match at() {
        Some(step) => format!("Step {}, taken apart: the sum over its lot.", format::integer(step)),
        None => "What one training step does to the gradients of its examples.".to_owned(),
    };
    // Each step that is shown at leisure lights its tiles anew, which a class of the same name would not.
    let lit = Memo::new(move |_| {
        let leisure = !page.playing.get_untracked() || page.speed.get_untracked() == Speed::Slow;
        at().filter(|_| leisure).map(|step| step % 2)
    });
    let class = move || match lit.get() {
        Some(0) => "tiles lit-0",
        Some(_) => "tiles lit-1",
        None => "tiles",
    };
    view! {
        <h2>"One step"</h2>
        <p class="lead">{wording(head)}" "
            <button type="button" data-testid="look" hidden=whether(move || page.pictures.with(Option::is_some)) on:click=on_click(move |_| page.step_once())>"Take one apart"</button></p>
        <ol class=wording(class)>
            {tile(page, 0)}{tile(page, 1)}{tile(page, 2)}{tile(page, 3)}
        </ol>
        {scale(page)}
    }
    .into_any()
}

/// What the tile says of this run's configuration.
fn sentence(page: Page, which: usize) -> String {
    page.run.with(|run| {
        let config = run.as_ref().map(|run| &run.config);
        match which {
            0 => "Every example in the lot pulls the model its own way; this is the sum of all pulls.".to_owned(),
            1 => match config.map(|config| &config.encoder) {
                Some(EncoderSpec::None) => "Nothing bounds an example here, so nothing can hide it.".to_owned(),
                Some(EncoderSpec::Envelope { .. }) => {
                    "Each example's gradient is clamped, rank by rank, under a public envelope of length 1; dashed, the envelope times the lot.".to_owned()
                }
                Some(EncoderSpec::Clip { norm }) => {
                    format!("Each example's gradient is shortened to length {} where it is longer.", format::number(*norm))
                }
                None => "Each example's gradient is bounded before it is added.".to_owned(),
            },
            2 => match config.map(|config| &config.noise) {
                Some(None) => "No noise is added: what is released is the sum itself.".to_owned(),
                _ => "Noise as large as one example could matter is added to every coordinate. From here on it is private.".to_owned(),
            },
            _ => match config.map(|config| config.denoiser) {
                Some(Denoiser::KolmogorovSmirnov) => {
                    "The sum is multiplied by how far its values are from pure noise. That costs no privacy.".to_owned()
                }
                _ => "No denoiser: the noisy sum itself moves the model.".to_owned(),
            },
        }
    })
}

fn tile(page: Page, which: usize) -> impl IntoView {
    let pictures = move || page.pictures.with(|pictures| pictures.as_ref().map(|(_, pictures)| Arc::clone(pictures)));
    let norm = move || {
        pictures().map_or_else(
            || "–".to_owned(),
            |pictures| format::number(format::significant(pictures.tiles[which].norm, DIGITS)),
        )
    };
    let extra = move || {
        let pictures = pictures()?;
        match which {
            3 if pictures.factor < 0.999 => {
                Some(format!("× {}", format::number(format::significant(pictures.factor, DIGITS))))
            }
            _ => None,
        }
    };
    view! {
        <li class=format!("tile tile-{which}")>
            <h3>{NAMES[which]} " " {(which < 2).then(teaching)}</h3>{enlarge(NAMES[which])}
            {picture(page, which)}
            {chart(page, Frame { title: NAMES[which], file: "", height: 104.0, full: false }, move || plot(page, which))}
            <p class="norm"><span>"length ‖·‖₂"</span> <output data-testid=format!("norm-{which}")>{wording(norm)}</output>
                {piece(move || extra().map(|extra| view! { <span class="factor">{extra}</span> }.into_any()))}</p>
            <p class="says">{wording(move || sentence(page, which))}</p>
        </li>
    }
    .into_any()
}

fn picture(page: Page, which: usize) -> impl IntoView {
    let canvas = NodeRef::<html::Canvas>::new();
    follow(move || {
        let theme = page.theme.get();
        let Some(canvas) = canvas.get() else { return };
        let dark = browser::is_dark(theme);
        page.pictures.with(|pictures| match pictures {
            Some((_, pictures)) => paint(&canvas, pictures, which, dark),
            None => canvas.set_width(144),
        });
    });
    view! { <canvas class="weights" node_ref=canvas width="144" height="57" role="img" aria-label=format!("{}: first-layer picture of the sum", NAMES[which])></canvas> }
}

/// Blue is negative, orange positive, the paper is zero: apart for every kind of colour sight.
fn paint(canvas: &web_sys::HtmlCanvasElement, pictures: &Pictures, which: usize, dark: bool) {
    const BLUE: [f64; 3] = [0.0, 104.0, 190.0];
    const ORANGE: [f64; 3] = [222.0, 110.0, 0.0];
    let paper = if dark { [24.0, 27.0, 33.0] } else { [255.0, 255.0, 255.0] };
    let gap = if dark { [44.0, 48.0, 56.0] } else { [236.0, 237.0, 240.0] };
    let layout = pictures.layout();
    let (width, height) = layout.size();
    // The denoised sum is the noisy one made smaller; on the noisy one's scale it would be blank.
    let full = pictures.full_colour * if which == 3 { pictures.factor.max(f64::MIN_POSITIVE) } else { 1.0 };
    let mut bytes = Vec::with_capacity(width * height * 4);
    for y in 0..height {
        for x in 0..width {
            let colour = match layout.weight(x, y).and_then(|i| pictures.tiles[which].picture.get(i)) {
                Some(&value) => {
                    let share = (f64::from(value) / full).clamp(-1.0, 1.0);
                    let ink = if share < 0.0 { BLUE } else { ORANGE };
                    // Small values stay visible.
                    let weight = share.abs().sqrt();
                    [0, 1, 2].map(|i| paper[i] + (ink[i] - paper[i]) * weight)
                }
                None => gap,
            };
            bytes.extend(colour.map(|c: f64| c as u8));
            bytes.push(255);
        }
    }
    canvas.set_width(width as u32);
    canvas.set_height(height as u32);
    let context =
        canvas.get_context("2d").ok().flatten().and_then(|context| context.dyn_into::<CanvasRenderingContext2d>().ok());
    if let (Some(context), Ok(image)) =
        (context, ImageData::new_with_u8_clamped_array_and_sh(Clamped(&bytes), width as u32, height as u32))
    {
        drop(context.put_image_data(&image, 0.0, 0.0));
    }
}

/// Magnitude by rank for the first three; for the fourth, what the denoiser compares.
fn plot(page: Page, which: usize) -> Drawing {
    page.pictures.with(|pictures| {
        let Some((_, pictures)) = pictures else { return empty(which) };
        if which == 3 { distributions(pictures) } else { ranks(pictures, which) }
    })
}

const RANKS: &str = "rank";

fn empty(which: usize) -> Drawing {
    Drawing {
        lines: vec![],
        x: Range { low: 1.0, high: 1e4, logarithmic: true, label: RANKS, write: Write::Number },
        y: Range { low: 1e-3, high: 10.0, logarithmic: true, label: "size", write: Write::Number },
        scatter: false,
        summary: format!("{}: nothing to show before the first step.", NAMES[which]),
    }
}

fn ranks(pictures: &Pictures, which: usize) -> Drawing {
    let (most, low, high) = pictures.rank_range();
    let mut lines = vec![];
    // The tile before it stays as a shadow, so that the change shows.
    if let Some(before) = which.checked_sub(1) {
        lines.push(Line { class: "ghost", name: String::new(), points: pictures.tiles[before].ranks.clone() });
    }
    let beside = [("", None), ("line-envelope", Some(&pictures.envelope)), ("line-noise", Some(&pictures.noise_ranks))];
    if let (class, Some(points)) = beside[which]
        && !points.is_empty()
    {
        lines.push(Line { class, name: String::new(), points: points.clone() });
    }
    lines.push(Line {
        class: ["line-raw", "line-encoded", "line-noisy"][which],
        name: String::new(),
        points: pictures.tiles[which].ranks.clone(),
    });
    Drawing {
        lines,
        x: Range { low: 1.0, high: most, logarithmic: true, label: RANKS, write: Write::Number },
        y: Range { low, high, logarithmic: true, label: "size", write: Write::Number },
        scatter: false,
        summary: format!(
            "{}: size of the coordinates from the largest to the smallest, both on logarithmic scales.",
            NAMES[which]
        ),
    }
}

fn distributions(pictures: &Pictures) -> Drawing {
    let ends = pictures.empirical.first().zip(pictures.empirical.last());
    let reach = ends.map_or(1.0, |(a, b)| a.0.abs().max(b.0.abs())).max(f64::MIN_POSITIVE);
    let mut lines = vec![
        Line { class: "line-noise", name: String::new(), points: pictures.noise.clone() },
        Line { class: "line-noisy", name: String::new(), points: pictures.empirical.clone() },
    ];
    let summary = match pictures.gap {
        Some((x, a, b)) => {
            lines.push(Line { class: "line-gap", name: String::new(), points: vec![(x, a), (x, b)] });
            format!(
                "Share of coordinates up to each size, against the noise alone; furthest apart by {}.",
                format::number(format::significant((a - b).abs(), DIGITS))
            )
        }
        None => "Share of coordinates up to each size.".to_owned(),
    };
    Drawing {
        lines,
        x: Range { low: -reach, high: reach, logarithmic: false, label: "value", write: Write::Number },
        y: Range { low: 0.0, high: 1.0, logarithmic: false, label: "share", write: Write::Number },
        scatter: false,
        summary,
    }
}

fn scale(page: Page) -> impl IntoView {
    let text = move || {
        page.pictures.with(|pictures| {
            pictures.as_ref().map(|(_, pictures)| {
                let full = format::number(format::significant(pictures.full_colour, DIGITS));
                (full, pictures.layout().caption, pictures.factor < 0.999)
            })
        })
    };
    view! {
        <div class="scale">{piece(move || text().map(|(full, caption, shrunk)| view! {
            <span class="bar-of-colours" aria-hidden="true"></span>
            <span>"Colours: −"{full.clone()}" to +"{full}{shrunk.then_some(" (tile 4 times its factor)")}". Pictures: "{caption}". Plots: size of coordinates by rank; in tile 4, their distribution (solid) against the noise's (dashed)."</span>
        }.into_any()))}</div>
    }
    .into_any()
}
