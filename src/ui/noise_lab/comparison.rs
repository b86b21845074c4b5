//! Noise comparisons: questions to the accountant, and its answers.

use hushgrad_message::Message;
use leptos::prelude::*;

use crate::{
    accounting::noise::NoiseSpec,
    mechanism::EnvelopeShape,
    plot::{drawing::Line, format, series::Point},
    train::projection::round_up,
    ui::{
        link::{NoiseQuery, noise_query::FORMULA},
        settings::{Encoder, Family},
        state::{COLOURS, Origin, Page, TaskLock},
        text::{Text, t, text},
    },
    worker::{
        accounts::{Answer, Question},
        lab::{Candidate, ComparisonQuery, NoiseComparison, Psi},
    },
};

/// Names of the noises that can be compared.
pub const NAMES: [Text; 9] = [
    text!("Gaussian"),
    text!("Student-t, ν = 9"),
    text!("Student-t, ν = 3"),
    text!("Laplace"),
    text!("Cauchy"),
    text!("variance gamma"),
    text!("hyperbolic secant"),
    text!("generalised Gaussian"),
    text!("your formula"),
];

/// Passes over the data of a run without an end.
const EPOCHS: u64 = 5;

/// State of the lab.
#[derive(Clone, Copy)]
pub struct Lab {
    pub page: Page,
    /// Position of the slider, also while it is dragged.
    pub exponent: RwSignal<f64>,
    pub compared: RwSignal<Vec<Compared>>,
    pub busy: RwSignal<bool>,
}

/// Index of a noise, the question about it, and the numbers, or why there are none.
pub type Compared = (usize, ComparisonQuery, Result<NoiseComparison, Message>);

/// Keeps the lab busy until dropped. A failed thread drops it with its question.
struct Busy(RwSignal<bool>);

impl Drop for Busy {
    fn drop(&mut self) {
        // The lab may have been closed in the meantime.
        self.0.try_set(false);
    }
}

fn noise(which: usize, exponent: f64) -> NoiseSpec {
    let scale = 1.0;
    match which {
        0 => NoiseSpec::Gaussian { sigma: scale },
        1 => NoiseSpec::StudentT { nu: 9.0, scale },
        2 => NoiseSpec::StudentT { nu: 3.0, scale },
        3 => NoiseSpec::Laplace { scale },
        4 => NoiseSpec::Cauchy { scale },
        5 => NoiseSpec::VarianceGamma { scale },
        6 => NoiseSpec::HyperbolicSecant { scale },
        _ => NoiseSpec::GeneralizedGaussian { exponent, scale },
    }
}

impl Lab {
    /// Changes the question.
    pub fn ask(self, edit: impl FnOnce(&mut NoiseQuery)) {
        self.page.messages.clear(Origin::Lab);
        self.page.lab.query.update(edit);
    }

    fn wants(self, which: usize, trial: &ComparisonQuery) -> bool {
        self.page.lab.query.with_untracked(|query| query.chosen[which]) && self.trial(which) == *trial
    }

    /// Compares what has no answer yet; drops answers to other questions.
    pub fn compare(self) {
        self.compared.update(|compared| compared.retain(|(which, trial, _)| self.wants(*which, trial)));
        // A comparison in progress continues with the rest.
        if !self.busy.get_untracked() {
            self.busy.set(true);
            self.next(Busy(self.busy));
        }
    }

    /// Compares the first unanswered noise, then the others.
    #[expect(clippy::only_used_in_recursion, reason = "dropped where the questions end")]
    fn next(self, busy: Busy) {
        let chosen = self.page.lab.query.with_untracked(|query| query.chosen);
        let answered =
            |which| self.compared.with_untracked(|compared| compared.iter().any(|(known, ..)| *known == which));
        let Some(which) = (0..NAMES.len()).find(|&which| chosen[which] && !answered(which)) else { return };
        let trial = self.trial(which);
        self.page.accountant.ask(Question::Compare(trial.clone()), move |answer| {
            // The lab may have been closed in the meantime.
            let (Answer::Compare(compared), Some(_)) = (answer, self.busy.try_get_untracked()) else { return };
            // If the question changed in the meantime, the answer is dropped, and `next` asks
            // again.
            if self.wants(which, &trial) {
                self.compared.update(|all| {
                    let place = all.partition_point(|(other, ..)| *other < which);
                    all.insert(place, (which, trial, *compared));
                });
            }
            self.next(busy);
        });
    }

    fn trial(self, which: usize) -> ComparisonQuery {
        let train = f64::from(self.train());
        let (lot, delta) = self.page.settings.with_untracked(|settings| (f64::from(settings.lot), settings.delta));
        let query = self.page.lab.query.get_untracked();
        ComparisonQuery {
            noise: if which == FORMULA {
                Candidate::Formula(untrack(|| self.formula()))
            } else {
                Candidate::Family(noise(which, query.exponent))
            },
            psi: query.psi,
            rate: (lot / train).min(1.0),
            steps: self.steps(),
            delta,
            epsilon: query.epsilon,
        }
    }

    /// Returns the custom density: the lab's or, if it has none, the run's.
    pub fn formula(self) -> String {
        let own = self.page.lab.query.with(|query| query.formula.clone());
        if own.is_empty() { self.page.settings.with(|settings| settings.formula.clone()) } else { own }
    }

    /// Returns the number of training examples; before loading, MNIST's.
    pub fn train(self) -> u32 {
        self.page.digits.loaded.with(|digits| digits.as_ref().map_or(60_000, |digits| digits.train))
    }

    /// Returns the planned steps of the run, or those of a few passes over the data.
    pub fn steps(self) -> u64 {
        self.page.settings.with(|settings| {
            settings.steps.unwrap_or_else(|| EPOCHS * u64::from(self.train()) / u64::from(settings.lot.max(1))).max(1)
        })
    }

    /// Returns a curve of each noise that could be compared.
    pub fn lines(self, of: fn(&NoiseComparison) -> &[Point]) -> Vec<Line> {
        self.compared.with(|compared| {
            let line = |(which, _, compared): &Compared| {
                let points = of(compared.as_ref().ok()?).to_vec();
                Some(Line { class: COLOURS[*which], name: NAMES[*which].get().to_owned(), points })
            };
            compared.iter().filter_map(line).collect()
        })
    }

    /// Sets the run's noise to this one, under an envelope, for the steps that it was compared at.
    /// The scale follows from the budget: many vectors cost more than the lab's single one.
    pub fn train_with(self, compared: &NoiseComparison, steps: u64) {
        if !["encoder", "shape", "noise", "epsilon", "steps", "sigma"]
            .iter()
            .all(|key| TaskLock(self.page).may_set(key))
        {
            return;
        }
        let noise = compared.noise.clone();
        let epsilon = self.page.lab.query.with_untracked(|query| query.epsilon);
        let shape = if self.page.lab.query.with_untracked(|query| query.psi) == Psi::HeavyTailed {
            EnvelopeShape::HeavyTailed
        } else {
            EnvelopeShape::Gaussian
        };
        // All noises but the Gaussian need an envelope.
        self.page.change(|settings| {
            (settings.encoder, settings.shape, settings.budget) = (Encoder::Envelope, shape, Some(epsilon));
            settings.steps = Some(steps);
            settings.scale = round_up(noise.scale());
            settings.family = match noise {
                NoiseSpec::Gaussian { .. } => Family::Gaussian,
                NoiseSpec::StudentT { nu, .. } => {
                    settings.nu = nu;
                    Family::StudentT
                }
                NoiseSpec::Laplace { .. } => Family::Laplace,
                NoiseSpec::Cauchy { .. } => Family::Cauchy,
                NoiseSpec::VarianceGamma { .. } => Family::VarianceGamma,
                NoiseSpec::HyperbolicSecant { .. } => Family::HyperbolicSecant,
                NoiseSpec::GeneralizedGaussian { exponent, .. } => {
                    settings.exponent = exponent;
                    Family::GeneralizedGaussian
                }
                NoiseSpec::Custom { density, .. } => {
                    settings.formula = density.source().to_owned();
                    settings.density = Some(density);
                    Family::Custom
                }
            };
        });
        self.page.lab.open.set(false);
        self.page.messages.notice.set(Some(t!("The noise now has an envelope, and the scale at which {n} steps stay within that budget. Press Play to train with it.", n = format::integer(steps))));
    }
}
