//! ONE STEP: raw → encoded → + noise → denoised, each as a picture, a plot and a norm.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    step_picture::picture,
    step_plot::{DIGITS, NAMES, plot},
};
use crate::{
    mechanism::{Denoiser, EncoderSpec},
    model::Architecture,
    plot::format,
    ui::{
        settings::Speed,
        size::closures::{bool_fn, on_click, text_fn, text_memo, view_fn},
        state::Page,
        text::t,
        widgets::{
            chart::{Frame, chart, enlarge},
            teaching::teaching,
        },
    },
};

pub fn panel(page: Page) -> impl IntoView {
    let at = move || page.snapshots.shown.with(|pictures| pictures.as_ref().map(|(step, _)| *step));
    let head = move || match at() {
        Some(step) => t!("Step {step}, taken apart: the sum over its lot.", step = format::integer(step)),
        None => t!("What one training step does to the gradients of its examples.").to_owned(),
    };
    // Alternates classes, because setting the same class does not restart the animation.
    let class = text_memo(move || {
        let leisure = !page.run.playing.get_untracked() || page.run.speed.get_untracked() == Speed::Slow;
        match at().filter(|_| leisure).map(|step| step % 2) {
            Some(0) => "tiles lit-0",
            Some(_) => "tiles lit-1",
            None => "tiles",
        }
    });
    view! {
        <h2>{t!("One step")}</h2>
        <p class="lead">{text_fn(head)}" "
            <button type="button" data-testid="look" hidden=bool_fn(move || page.snapshots.shown.with(Option::is_some)) on:click=on_click(move |_| page.run.step_once())>{t!("Take one apart")}</button></p>
        <ol class=text_fn(move || class.get())>
            {tile(page, 0)}{tile(page, 1)}{tile(page, 2)}{tile(page, 3)}
        </ol>
        {scale(page)}
    }
    .into_any()
}

/// Returns the tile's sentence for the run's configuration.
fn sentence(page: Page, which: usize) -> String {
    page.run.info.with(|run| {
        let config = run.as_ref().map(|run| &run.config);
        let says = match which {
            0 => t!("Every example in the lot pulls the model its own way; this is the sum of all pulls."),
            1 => match config.map(|config| &config.encoder) {
                Some(EncoderSpec::None) => t!("Nothing bounds an example here, so nothing can hide it."),
                Some(EncoderSpec::Envelope { .. }) => {
                    t!("Each example's gradient is clamped, rank by rank, under a public envelope of length 1; dashed, the envelope times the lot.")
                }
                Some(EncoderSpec::Clip { .. }) if config.is_some_and(|config| config.adaptive_clip.is_some()) => {
                    t!("Each example's gradient is shortened if it exceeds the clipping norm, which follows the gradients from step to step.")
                }
                Some(EncoderSpec::Clip { norm }) => {
                    return t!(
                        "Each example's gradient is shortened to length {length} if it is longer.",
                        length = format::number(*norm)
                    );
                }
                Some(EncoderSpec::Layers(_)) => {
                    t!("Each layer's part of an example's gradient is bounded by the layer's norm and measured in units of its noise.")
                }
                None => t!("Each example's gradient is bounded before it is added."),
            },
            2 => match config.map(|config| &config.noise) {
                Some(None) => t!("No noise is added: the sum itself is released."),
                _ => t!("Noise is added to every number of the sum. Only the sum with its noise is released."),
            },
            _ => match config.map(|config| config.denoiser) {
                Some(Denoiser::KolmogorovSmirnov | Denoiser::CramerVonMises | Denoiser::Wasserstein) => {
                    t!("The sum is multiplied by how much its values differ from pure noise. That costs no privacy.")
                }
                Some(Denoiser::JamesStein | Denoiser::Linear) => {
                    t!("The sum is multiplied by the share of its squared length beyond that of noise alone. That costs no privacy.")
                }
                Some(Denoiser::LaplacianSmoothing { .. }) => {
                    t!("The sum is smoothed across each first-layer unit's pixels; noise that neighbours do not share fades. That costs no privacy.")
                }
                Some(Denoiser::SoftThreshold) => {
                    t!("Coordinates that noise alone would reach become 0, and the others move towards 0. That costs no privacy.")
                }
                Some(Denoiser::LowPass { .. }) => {
                    t!("A running average of the noisy sums moves the model. That costs no privacy.")
                }
                Some(Denoiser::Kalman { .. }) => {
                    t!("A running average of the noisy sums moves the model; their gradients are taken at a point ahead of it. That costs no privacy.")
                }
                Some(Denoiser::None) | None => t!("No denoiser: the noisy sum itself moves the model."),
            },
        };
        says.to_owned()
    })
}

fn tile(page: Page, which: usize) -> impl IntoView {
    let name = NAMES[which].get();
    let pictures =
        move || page.snapshots.shown.with(|pictures| pictures.as_ref().map(|(_, pictures)| Arc::clone(pictures)));
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
            <h3>{name} " " {(which < 2).then(teaching)}</h3>{enlarge(name)}
            {picture(page, which)}
            {chart(page, Frame { title: name, file: "", height: 104.0, full: false }, move || plot(page, which))}
            <p class="norm"><span>{t!("length ‖·‖₂")}</span> <output data-testid=format!("norm-{which}")>{text_fn(norm)}</output>
                {view_fn(move || extra().map(|extra| view! { <span class="factor">{extra}</span> }.into_any()))}</p>
            <p class="says">{text_fn(move || sentence(page, which))}</p>
        </li>
    }
    .into_any()
}

/// Returns what the pictures of a model's first layer show.
fn caption(model: Architecture) -> &'static str {
    match model {
        Architecture::Linear => t!("Pictures: the ten digits' weights, 0 to 9."),
        Architecture::Scattering => t!("Pictures: the digit 0's weights for the 81 feature maps."),
        Architecture::Mlp => t!("Pictures: weights into the first ten hidden units."),
        Architecture::CnnTanh | Architecture::CnnRelu => t!("Pictures: the sixteen filters of the first layer."),
        Architecture::Built(_) => t!("Pictures: weights of the first layer."),
    }
}

fn scale(page: Page) -> impl IntoView {
    let text = move || {
        page.snapshots.shown.with(|pictures| {
            pictures.as_ref().map(|(_, pictures)| {
                let full = format::number(format::significant(pictures.full_colour, DIGITS));
                let colours = match pictures.factor < 0.999 {
                    true => t!("Colours: −{full} to +{full} (in tile 4, times its factor).", full = full),
                    false => t!("Colours: −{full} to +{full}.", full = full),
                };
                (colours, caption(pictures.model))
            })
        })
    };
    view! {
        <div class="scale">{view_fn(move || text().map(|(colours, caption)| view! {
            <span class="bar-of-colours" aria-hidden="true"></span>
            <span>{colours}" "{caption}" "{t!("Plots: size of coordinates by rank; in tile 4, their distribution (solid) against the noise's (dashed).")}</span>
        }.into_any()))}</div>
    }
    .into_any()
}
