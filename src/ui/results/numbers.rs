//! The current run in numbers.

use leptos::prelude::*;

use super::sentence::sentence;
use crate::{
    accounting::sampling::Sampling,
    plot::format,
    train::report::{Report, Teaching},
    ui::{
        size::closures::{text_fn, view_fn},
        state::Page,
        text::t,
        widgets::{teaching::teaching, word::word},
    },
    worker::protocol::RunInfo,
};

pub fn numbers(page: Page) -> impl IntoView {
    let of = move |read: fn(&Report, Teaching) -> String| {
        text_fn(move || {
            page.run.report.with(|report| {
                report.as_ref().map_or_else(|| "–".to_owned(), |report| read(report, page.run.teaching.get_untracked()))
            })
        })
    };
    // The sampling rate or, for a partition, the number of its batches.
    let drawn = move |word: bool| {
        text_fn(move || {
            page.run.info.with(|run| {
                let Some(RunInfo { config, train, .. }) = run else {
                    return if word { t!("Sampling rate") } else { "–" }.to_owned();
                };
                match (config.drawn_from(*train), word) {
                    (Sampling::Shuffled { .. }, true) => t!("Batches, one release per epoch").to_owned(),
                    (Sampling::RandomAllocation { .. }, true) => t!("Batches per epoch").to_owned(),
                    (Sampling::Shuffled { batches } | Sampling::RandomAllocation { batches }, false) => {
                        format::integer(batches)
                    }
                    (_, true) => t!("Sampling rate").to_owned(),
                    (_, false) => {
                        format::decimals_of(config.sharing.lot(config.lot) / f64::from(config.units(*train)) * 100.0, 3)
                            + "%"
                    }
                }
            })
        })
    };
    // By expected lots: the drawn sizes are secret.
    let speed = move || {
        let seconds = page.run.teaching.get().training_seconds;
        let steps = page.run.report.with(|report| report.as_ref().map_or(0, |report| report.step)) as f64;
        let examples = page
            .run
            .info
            .with(|run| run.as_ref().map(|run| f64::from(run.train) / run.config.steps_per_epoch(run.train)));
        match examples {
            Some(examples) if seconds > 0.0 => format::integer((examples * steps / seconds).round() as u64),
            _ => "–".to_owned(),
        }
    };
    let non_finite = move || {
        let count = page.run.teaching.get().non_finite;
        (count > 0).then(|| {
            view! { <div><dt>{t!("Non-finite, left out")}" " {teaching()}</dt><dd>{format::integer(count)}</dd></div> }
                .into_any()
        })
    };
    view! {
        <dl class="numbers" aria-label=t!("This run")>
            <div><dt>{word("epoch", t!("Epoch"))}</dt><dd data-testid="epoch">{of(|report, _| format::decimals_of(report.epoch, 2))}</dd></div>
            <div><dt>{drawn(true)}</dt><dd data-testid="drawn">{drawn(false)}</dd></div>
            <div><dt>{sentence(t!("Last {lot}"), vec![("lot", word("lot", t!("lot")))])}" " {teaching()}</dt><dd>{of(|_, teaching| format::integer(teaching.lot_size.into()))}</dd></div>
            <div><dt>{t!("Training time")}" " {teaching()}</dt><dd data-testid="training-time">{of(|_, teaching| format::duration(teaching.training_seconds))}</dd></div>
            <div><dt>{t!("Examples per second")}" " {teaching()}</dt><dd data-testid="examples-per-second">{text_fn(speed)}</dd></div>
            <div><dt>{t!("Learning rate")}</dt><dd>{of(|report, _| format::number(report.learning_rate))}</dd></div>
            {view_fn(non_finite)}
        </dl>
    }
    .into_any()
}
