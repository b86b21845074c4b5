//! Which of a few candidates was in: the strongest attacker beside the bound on any.

use hushgrad_message::Message;
use leptos::prelude::*;

use super::gauge::{Bar, gauge_row};
use crate::{
    attack::game::Outcome,
    plot::format,
    train::config::RunConfig,
    ui::{
        settings::Settings,
        size::closures::{effect, on_event, view_fn},
        state::{Page, as_sentence, planned_steps},
        text::t,
    },
    worker::games::Played,
};

/// Offered numbers of candidates.
const CHOICES: [u32; 4] = [2, 10, 100, 256];

/// Number of training images assumed until data is loaded.
const IMAGES: u32 = 60_000;

/// The section. It simulates the game for the current settings, without training.
pub fn candidates(page: Page) -> AnyView {
    let attacks = page.attacks;
    effect(move || {
        let train = page.digits.loaded.with(|loaded| loaded.as_ref().map_or(IMAGES, |loaded| loaded.train));
        let config = page.settings.with(|settings| {
            // A run without an end is simulated for as many passes as its cost is projected.
            let steps = Some(planned_steps(settings, train));
            RunConfig { steps, ..Settings::config(settings) }
        });
        attacks.play(config, train);
    });
    let chosen = attacks.candidates;
    let options = CHOICES.map(|count| {
        view! { <option value=count.to_string() selected=chosen.get_untracked() == count>{format::integer(count.into())}</option> }
            .into_any()
    });
    let choose = move |event: leptos::ev::Event| {
        event_target_value(&event).parse().into_iter().for_each(|count| chosen.set(count));
    };
    view! {
        <section data-testid="game">
            <h3>{t!("Which of them was in?")}</h3>
            <p>{t!("One of several people was in the data of a run with these settings. The strongest attacker sees every noisy step, knows all other images, and names one. This is simulated: no image is looked at.")}</p>
            <div class="once"><label class="control"><span class="label">{t!("Candidates")}</span>
                <select data-testid="game-candidates" on:change=on_event(choose)>{Vec::from(options)}</select></label></div>
            {view_fn(move || attacks.played.get().map(told))}
        </section>
    }
    .into_any()
}

fn told(played: Result<Played, Message>) -> AnyView {
    match played {
        Err(refusal) => {
            view! { <p class="verdict-line" data-testid="game-refused">{as_sentence(&refusal)}</p> }.into_any()
        }
        Ok(Played { outcome: None, .. }) => view! { <p>"…"</p> }.into_any(),
        Ok(Played { outcome: Some(outcome), .. }) => known(&outcome),
    }
}

fn known(outcome: &Outcome) -> AnyView {
    let most = outcome.bound.max(outcome.attack.value).max(1e-9);
    // Small shares, as with many candidates, need a second decimal.
    let share = |share: f64| format::decimals_of(100.0 * share, if share < 0.1 { 2 } else { 1 }) + "%";
    let row = |class, id, names, value: f64, says| {
        gauge_row(class, id, names, Bar { share: value / most, mark: Some(outcome.bound / most) }, says)
    };
    let sentence = t!(
        "A blind guess is right {chance} of the time; this attacker is right {attack} ± {spread}, and nobody is right more often than {bound}: ε ≤ {epsilon}.",
        chance = share(outcome.chance),
        attack = share(outcome.attack.value),
        spread = share(outcome.attack.standard_error),
        bound = format::percent_at_most(outcome.bound),
        epsilon = format::epsilon(outcome.epsilon)
    );
    view! {
        <dl class="gauge">
            {row("claim", "game-bound", [t!("At most"), t!("by the run’s whole privacy curve (Hayes et al. 2023)")], outcome.bound, format::percent_at_most(outcome.bound))}
            {row("lower", "game-attack", [t!("This attacker"), t!("by the likelihood ratio of every step")], outcome.attack.value, share(outcome.attack.value))}
            {row("lower", "game-chance", [t!("Guessing"), ""], outcome.chance, share(outcome.chance))}
        </dl>
        <p class="verdict-line" data-testid="game-found">{sentence}</p>
    }
    .into_any()
}
