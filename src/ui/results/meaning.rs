//! What ε says.

use leptos::prelude::*;

use super::{
    attacker::{allowed, attacker},
    sentence::sentence,
};
use crate::{
    accounting::{gdp::GaussianFit, rdp::Concentrated},
    plot::format,
    train::report::{OrderedEpsilon, Privacy},
    ui::{
        size::closures::{bool_fn, text_fn, view_fn},
        state::{Guarantee, Page},
        text::{heard, t},
        widgets::{
            chart::{Frame, chart},
            word::word,
        },
    },
    worker::accounts::PldEpsilon,
};

/// The meaning of the run's ε: bounds on attackers, both conversions, assumptions.
pub fn meaning(page: Page) -> impl IntoView {
    let Guarantee { bound: privacy, attack, .. } = page.guarantee;
    let without = move || {
        Some(match privacy.get() {
            None => view! { <p>{t!("Nothing has been released yet.")}</p> }.into_any(),
            Some(Privacy::NoGuarantee { reason }) => {
                view! { <p><strong>{t!("No guarantee:")}" "</strong>{heard(&reason)}". "{t!("No number would be honest here.")}</p> }.into_any()
            }
            // Shown by `details`, below.
            Some(Privacy::Bounded(_)) => return None,
        })
    };
    let steps = move || page.run.report.with(|report| format::integer(report.as_ref().map_or(0, |report| report.step)));
    let details = move || {
        let Some(Privacy::Bounded(bound)) = privacy.get() else { return None };
        let steps = vec![("steps", text_fn(steps).into_any())];
        let holds = sentence(t!("Steps run: {steps}. For them, ε holds under these assumptions:"), steps);
        let details = view! {
            {conversions(Box::new(move || tight(page)), bound.improved, bound.classic)}
            {view_fn(move || gaussian(page))}
            {view_fn(move || concentrated(page))}
            <p data-testid="promise">{text_fn(move || promise(page))}</p>
            <p>{holds}</p>
            <ul>{bound.assumptions.iter().map(|phrase| view! { <li>{heard(phrase)}</li> }).collect_view()}{view_fn(move || of_one(page))}</ul>
        };
        Some(details.into_any())
    };
    let frame = Frame { title: t!("What an attacker can do at most"), file: "attacker", height: 190.0, full: true };
    let curve = chart(page, frame, move || allowed(attack.get()));
    view! {
        <details class="meaning" data-testid="epsilon-meaning">
            <summary>{t!("What this ε says")}</summary>
            {view_fn(without)}
            <div hidden=bool_fn(move || attack.get().is_none())>{attacker(page)}{curve}</div>
            {view_fn(details)}
        </details>
    }
    .into_any()
}

/// Returns what holds if the visitor stops early.
fn promise(page: Page) -> String {
    // The settings may be for other data than the current run's.
    let known = match page.run.info.with(Option::is_some) {
        true => page.cost.is_of_run(page.run),
        false => page.cost.of_now().is_some(),
    };
    match (page.settings.with(|settings| settings.steps), page.cost.end().filter(|_| known)) {
        (Some(n), Some(epsilon)) => t!(
            "The guarantee covers the {n} planned step: ε ≤ {epsilon} holds whenever you stop. | The guarantee covers all {n} planned steps: ε ≤ {epsilon} holds whenever you stop.",
            n = format::integer(n),
            epsilon = format::epsilon(epsilon)
        ),
        (Some(_), None) => {
            t!("The cost of all planned steps is not known yet. If you stop because of what you have seen, this ε promises too much.")
                .to_owned()
        }
        (None, _) => {
            t!("No number of steps is planned: if you stop because of what you have seen, this ε promises too much.")
                .to_owned()
        }
    }
}

/// The tight bound, with its source: exact for a run at rest, or of a few releases more while it plays.
fn tight(page: Page) -> Option<(f64, String)> {
    match page.spending.exact() {
        Some(exact) => Some((exact.epsilon, source(&exact))),
        None => Some((
            page.spending.tight()?,
            t!("privacy loss distributions, a few releases ahead while the run plays").to_owned(),
        )),
    }
}

/// States how a tight bound was found.
pub fn source(bound: &PldEpsilon) -> String {
    match bound {
        PldEpsilon { loose: true, .. } => {
            t!("privacy loss distributions, by Chernoff's bound: not tight at so large an ε").to_owned()
        }
        PldEpsilon { epsilon, least, numerical: None, .. } if *least > 0.0 => t!(
            "privacy loss distributions, composed by FFT: at most {share} too large",
            share = format::percent_at_most((epsilon - least) / epsilon)
        ),
        PldEpsilon { numerical: None, .. } => {
            t!("privacy loss distributions, composed by FFT; by how much it is too large is not known").to_owned()
        }
        PldEpsilon { numerical: Some(what), .. } => {
            t!("privacy loss distributions; numerical: {what}", what = heard(what))
        }
    }
}

/// μ, once the whole privacy curve is known.
fn gaussian(page: Page) -> Option<AnyView> {
    Some(whole_curve(&page.spending.gaussian()?))
}

/// States what μ says.
pub fn whole_curve(GaussianFit { mu, cut_off, regret }: &GaussianFit) -> AnyView {
    let said = t!(
        "The whole curve in one number is μ ≤ {mu}: no test learns more than from one Gaussian release of sensitivity 1 and noise 1/μ (Dong, Roth and Su 2022). This holds for tests with a share of false alarms of {least} or more, and states error rates at most {regret} too low (regret).",
        mu = format::epsilon(*mu),
        least = format::number(*cut_off),
        regret = format::epsilon(*regret)
    );
    view! { <p data-testid="mu">{said}</p> }.into_any()
}

/// ρ, with the orders for which it holds.
fn concentrated(page: Page) -> Option<AnyView> {
    let Concentrated { rho, order } = page.spending.concentrated()?;
    let rho = format::epsilon(rho);
    let said = match order {
        None => t!(
            "In concentrated privacy (zCDP; Bun and Steinke 2016) this is ρ ≤ {rho}: at every order α, the Rényi divergence is at most ρ·α.",
            rho = rho
        ),
        Some(order) => t!(
            "In concentrated privacy (Bun and Steinke 2016) this is ρ ≤ {rho}: at every order α up to {order}, the Rényi divergence is at most ρ·α. Sampling helps at small orders only.",
            rho = rho,
            // Rounded down: beyond the last order nothing is stated.
            order = format::local(format::lower(order, 2))
        ),
    };
    Some(view! { <p data-testid="rho">{said}</p> }.into_any())
}

/// The cost of one digit of a user or a micro-batch, once the whole privacy curve is known.
fn of_one(page: Page) -> Option<AnyView> {
    let phrase = page.spending.of_one()?;
    Some(view! { <li data-testid="of-one">{heard(&phrase)}</li> }.into_any())
}

/// The bounds of every accounting.
pub fn conversions(
    tight: Box<dyn Fn() -> Option<(f64, String)> + Send + Sync>,
    improved: OrderedEpsilon,
    classic: OrderedEpsilon,
) -> AnyView {
    let tight = move || {
        let (epsilon, source) = tight()?;
        let row = view! {
            <tr><th scope="row">{word("tight", t!("tight"))}</th><td data-testid="epsilon-tight">{format::epsilon(epsilon)}</td><td>"–"</td><td>{source}</td></tr>
        };
        Some(row.into_any())
    };
    let row = |key: &'static str, name: &'static str, source: &'static str, value: OrderedEpsilon| {
        view! {
            <tr><th scope="row">{word(key, name)}</th><td>{format::epsilon(value.epsilon)}</td><td>{format::number(value.order)}</td><td>{source}</td></tr>
        }
    };
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label=t!("Both conversions")>
        <table>
            <thead><tr><th scope="col">{t!("Conversion")}</th><th scope="col">"ε ≤"</th><th scope="col">{word("order", t!("order α"))}</th><th scope="col">{t!("source")}</th></tr></thead>
            <tbody>
                {view_fn(tight)}
                {row("improved", t!("improved"), "Canonne, Kamath, Steinke 2020", improved)}
                {row("classic", t!("classic"), "Mironov 2017", classic)}
            </tbody>
        </table></div>
    }
    .into_any()
}
