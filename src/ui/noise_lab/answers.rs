//! The accountant's results: a sentence and a table.

use leptos::prelude::*;

use super::comparison::{Compared, Lab, NAMES};
use crate::{
    plot::format,
    train::projection::round_up,
    ui::{
        size::closures::{on_click, text_fn, view_fn},
        state::{COLOURS, as_sentence},
        text::t,
        widgets::hint::hint,
    },
    worker::lab::{NoiseComparison, Psi},
};

/// The sentence and the table.
pub fn answers(lab: Lab) -> impl IntoView {
    let gaussian = move |compared: &[Compared]| {
        compared
            .iter()
            .find(|(which, ..)| *which == 0)
            .and_then(|(.., compared)| compared.as_ref().ok().map(|j| (j.l1, j.l2)))
    };
    let rows = move || {
        lab.compared.with(|compared| {
            let base = gaussian(compared);
            Some(compared.iter().map(|compared| row(lab, compared, base)).collect_view().into_any())
        })
    };
    let (about, fisher) = hint(
        "lab-fisher",
        "1 ÷ √J",
        t!(
            "J is the Fisher information of the noise: a small shift is as visible in it as in a Gaussian of this width."
        ),
    );
    let conclusion = move || {
        lab.compared.with(|compared| gaussian(compared).map(|base| conclusion(lab, compared, base)).unwrap_or_default())
    };
    view! {
        <p class="verdict-line" role="status" data-testid="lab-verdict">{text_fn(move || if lab.busy.get() { t!("Looking for the scale at which each costs the same…").to_owned() } else { conclusion() })}</p>
        <div class="scroll" tabindex="0" role="region" aria-label=t!("Noise at equal privacy")>
            <table class="lab-table" data-testid="lab-table" aria-busy=text_fn(move || lab.busy.get().to_string())>
                <thead><tr><th scope="col">{t!("Noise")}</th><th scope="col">{t!("Scale")}</th><th scope="col">{t!("Mean error, L1")}</th><th scope="col">{t!("Root mean square, L2")}</th>
                    <th scope="col">"1 ÷ √J "{about}{fisher}</th><th scope="col">{t!("60 draws")}</th><th scope="col"><span class="visually-hidden">{t!("Actions")}</span></th></tr></thead>
                <tbody>{view_fn(rows)}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// Formats a value and its difference from the Gaussian's: `0.93 (−0.1%)`.
fn against(value: f64, base: Option<f64>) -> String {
    if !value.is_finite() {
        return t!("infinite").to_owned();
    }
    let shown = format::number((value * 1e4).round() / 1e4);
    match base {
        Some(base) if base != value => format!("{shown} ({})", signed(value / base - 1.0)),
        _ => shown,
    }
}

fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{}%", format::decimals_of(share.abs() * 100.0, 2))
}

fn row(lab: Lab, (which, trial, compared): &Compared, base: Option<(f64, f64)>) -> AnyView {
    let (which, steps) = (*which, trial.steps);
    let name =
        view! { <th scope="row"><span class=format!("key swatch {}", COLOURS[which])></span>{NAMES[which].get()}</th> };
    match compared {
        Err(phrase) => view! { <tr>{name}<td colspan="6">{as_sentence(phrase)}</td></tr> }.into_any(),
        Ok(compared) => {
            let reach = 4.0 * compared.effective_sigma;
            let dots = compared
                .samples
                .iter()
                .map(|x| view! { <circle cx=format::fixed(80.0 + 76.0 * (x / reach).clamp(-1.0, 1.0), 1) cy="8" r="2.2"></circle> })
                .collect_view();
            let chosen = compared.clone();
            view! {
                <tr>{name}<td>{format::number(round_up(compared.noise.scale()))}</td>
                    <td>{against(compared.l1, base.map(|base| base.0))}</td><td>{against(compared.l2, base.map(|base| base.1))}</td>
                    <td>{format::number((compared.effective_sigma * 1e4).round() / 1e4)}</td>
                    <td><svg class=format!("draws {}", COLOURS[which]) viewBox="0 0 160 16" aria-hidden="true">{dots}</svg></td>
                    <td class="actions"><button type="button" aria-label=t!("Train with it: {name}", name = NAMES[which].get()) on:click=on_click(move |_| lab.train_with(&chosen, steps))>{t!("Train with it")}</button></td></tr>
            }
            .into_any()
        }
    }
}

/// Returns the conclusion from the numbers.
fn conclusion(lab: Lab, compared: &[Compared], (l1, l2): (f64, f64)) -> String {
    let best = |of: fn(&NoiseComparison) -> f64| {
        let found = compared.iter().filter_map(|(which, _, compared)| Some((*which, of(compared.as_ref().ok()?))));
        found.min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let say = |best: Option<(usize, f64)>, base: f64| match best {
        Some((which, value)) if which != 0 => {
            t!("{name} ({share} against Gaussian)", name = NAMES[which].get(), share = signed(value / base - 1.0))
        }
        _ => t!("Gaussian").to_owned(),
    };
    let (spread, epsilon) = lab.page.lab.query.with(|query| (query.psi == Psi::Spread, query.epsilon));
    let least = t!(
        "At ε = {epsilon}, smallest mean error: {mean}; smallest root mean square: {square}.",
        epsilon = format::number(epsilon),
        mean = say(best(|j| j.l1), l1),
        square = say(best(|j| j.l2), l2)
    );
    let why = if spread {
        t!(
            "With an envelope spread over thousands of coordinates every noise acts like a Gaussian, and none beats it by even 1%."
        )
    } else {
        t!(
            "The fewer coordinates an example may differ in, the more the tails matter; real gradients differ in thousands."
        )
    };
    format!("{least} {why}")
}
