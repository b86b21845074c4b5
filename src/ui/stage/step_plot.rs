//! The plots of a step: magnitudes by rank, and the distributions that the denoiser compares.

use leptos::prelude::*;

use crate::{
    plot::{
        drawing::{Drawing, Line, Range, Shape, Write},
        format,
    },
    ui::{
        state::Page,
        text::{Text, t, text},
    },
    worker::snapshot::StepSnapshot,
};

/// Significant digits of a number that readers compare.
pub const DIGITS: i32 = 3;

/// Names of the tiles.
pub const NAMES: [Text; 4] = [text!("1 Raw gradient"), text!("2 Encoded"), text!("3 + noise"), text!("4 Denoised")];

/// Returns magnitude by rank for the first three tiles; the denoiser's comparison for the fourth.
pub fn plot(page: Page, which: usize) -> Drawing {
    page.snapshots.shown.with(|pictures| {
        let Some((_, pictures)) = pictures else { return empty(which) };
        if which == 3 { distributions(pictures) } else { ranks(pictures, which) }
    })
}

const RANKS: Text = text!("rank");
const SIZE: Text = text!("size");

fn empty(which: usize) -> Drawing {
    Drawing {
        lines: vec![],
        x: Range { low: 1.0, high: 1e4, logarithmic: true, label: RANKS.get(), write: Write::Number },
        y: Range { low: 1e-3, high: 10.0, logarithmic: true, label: SIZE.get(), write: Write::Number },
        shape: Shape::Lines,
        summary: t!("{tile}: nothing to show before the first step.", tile = NAMES[which].get()),
    }
}

fn ranks(pictures: &StepSnapshot, which: usize) -> Drawing {
    let (most, low, high) = pictures.rank_range();
    let mut lines = vec![];
    // The previous tile's curve, to show the change.
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
        x: Range { low: 1.0, high: most, logarithmic: true, label: RANKS.get(), write: Write::Number },
        y: Range { low, high, logarithmic: true, label: SIZE.get(), write: Write::Number },
        shape: Shape::Lines,
        summary: t!(
            "{tile}: size of the coordinates from the largest to the smallest, both on logarithmic scales.",
            tile = NAMES[which].get()
        ),
    }
}

fn distributions(pictures: &StepSnapshot) -> Drawing {
    let ends = pictures.empirical.first().zip(pictures.empirical.last());
    let reach = ends.map_or(1.0, |(a, b)| a.0.abs().max(b.0.abs())).max(f64::MIN_POSITIVE);
    let mut lines = vec![
        Line { class: "line-noise", name: String::new(), points: pictures.noise.clone() },
        Line { class: "line-noisy", name: String::new(), points: pictures.empirical.clone() },
    ];
    let summary = match pictures.gap {
        Some((x, a, b)) => {
            lines.push(Line { class: "line-gap", name: String::new(), points: vec![(x, a), (x, b)] });
            t!(
                "Share of coordinates up to each value, compared with noise alone; largest gap {gap}.",
                gap = format::number(format::significant((a - b).abs(), DIGITS))
            )
        }
        None => t!("Share of coordinates up to each value.").to_owned(),
    };
    Drawing {
        lines,
        x: Range { low: -reach, high: reach, logarithmic: false, label: t!("value"), write: Write::Number },
        y: Range { low: 0.0, high: 1.0, logarithmic: false, label: t!("share"), write: Write::Number },
        shape: Shape::Lines,
        summary,
    }
}
