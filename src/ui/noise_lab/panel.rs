//! THE NOISE LAB: families at equal privacy, and noise of one's own.

use leptos::prelude::*;

use crate::{
    accounting::noise::NoiseSpec,
    mechanism::EnvelopeShape,
    plot::{axis, format, series::Point},
    train::projection::round_up,
    ui::{
        link::noise_query::{Asked, EXPONENT, FORMULA as FORMULA_AT, PSIS},
        settings::{Encoder, FORMULA, Family},
        size::closures::{fact, follow, on_click, on_event, piece, whether, wording},
        state::{Origin, Page, as_sentence, study::COLOURS},
        widgets::{
            chart::{Drawing, Frame, Line, Range, Write, chart},
            controls::{hint, labelled},
        },
    },
    worker::{
        accounts::{Answer, Question},
        lab::{Candidate, Judged, Psi, Trial},
    },
};

/// What can be compared, in words.
const NAMES: [&str; 9] = [
    "Gaussian",
    "Student-t, ν = 9",
    "Student-t, ν = 3",
    "Laplace",
    "Cauchy",
    "variance gamma",
    "hyperbolic secant",
    "generalised Gaussian",
    "your formula",
];
/// A field for a density.
const DENSITY: &str = "A density, in x";
const DENSITY_HINT: &str = "Any formula that is symmetric about 0, has a single peak and falls off fast enough; it need not be normalised. Noise is drawn from exactly the table that is accounted for.";
/// Steps of a run without an end, in passes over the data.
const EPOCHS: u64 = 5;

/// What the lab shows.
#[derive(Clone, Copy)]
struct Lab {
    page: Page,
    /// Where the slider is, also while it is dragged.
    exponent: RwSignal<f64>,
    judged: RwSignal<Vec<Verdict>>,
    busy: RwSignal<bool>,
}

/// Which noise, what was asked of it, and the answer.
type Verdict = (usize, Trial, Result<Judged, String>);

/// Held while the lab is busy. A question that is never answered, because its thread has failed, drops it, too.
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
    /// What is asked is another.
    fn ask(self, edit: impl FnOnce(&mut Asked)) {
        self.page.study.asked.update(edit);
    }

    fn wants(self, which: usize, trial: &Trial) -> bool {
        self.page.study.asked.with_untracked(|asked| asked.chosen[which]) && self.trial(which) == *trial
    }

    /// Judges what is asked and has no answer; drops the other answers.
    fn compare(self) {
        self.judged.update(|judged| judged.retain(|(which, trial, _)| self.wants(*which, trial)));
        // Where one is being judged, the rest comes after it.
        if !self.busy.get_untracked() {
            self.busy.set(true);
            self.next(Busy(self.busy));
        }
    }

    /// Judges the first that waits, then the others.
    #[expect(clippy::only_used_in_recursion, reason = "dropped where the questions end")]
    fn next(self, busy: Busy) {
        let chosen = self.page.study.asked.with_untracked(|asked| asked.chosen);
        let answered = |which| self.judged.with_untracked(|judged| judged.iter().any(|(known, ..)| *known == which));
        let Some(which) = (0..NAMES.len()).find(|&which| chosen[which] && !answered(which)) else { return };
        let trial = self.trial(which);
        self.page.ask(Question::Judge(trial.clone()), move |answer| {
            // The lab may have been closed in the meantime.
            let (Answer::Judge(judged), Some(_)) = (answer, self.busy.try_get_untracked()) else { return };
            // Where something was changed in the meantime, the answer is dropped, and what is still wanted asked for anew.
            if self.wants(which, &trial) {
                self.judged.update(|all| {
                    let place = all.partition_point(|(other, ..)| *other < which);
                    all.insert(place, (which, trial, *judged));
                });
            }
            self.next(busy);
        });
    }

    fn trial(self, which: usize) -> Trial {
        let train = f64::from(self.train());
        let (lot, delta) = self.page.settings.with_untracked(|settings| (f64::from(settings.lot), settings.delta));
        let asked = self.page.study.asked.get_untracked();
        Trial {
            noise: if which == FORMULA_AT {
                Candidate::Formula(untrack(|| self.formula()))
            } else {
                Candidate::Family(noise(which, asked.exponent))
            },
            psi: asked.psi,
            rate: (lot / train).min(1.0),
            steps: self.steps(),
            delta,
            epsilon: asked.epsilon,
        }
    }

    fn formula(self) -> String {
        let own = self.page.study.asked.with(|asked| asked.formula.clone());
        if own.is_empty() { self.page.settings.with(|settings| settings.formula.clone()) } else { own }
    }

    fn train(self) -> u32 {
        self.page.digits.with(|digits| digits.as_ref().map_or(60_000, |digits| digits.train))
    }

    fn steps(self) -> u64 {
        self.page.settings.with(|settings| {
            settings.steps.unwrap_or_else(|| EPOCHS * u64::from(self.train()) / u64::from(settings.lot.max(1))).max(1)
        })
    }

    /// Curves of all that could be judged.
    fn lines(self, of: fn(&Judged) -> &[Point]) -> Vec<Line> {
        self.judged.with(|judged| {
            let line = |(which, _, judged): &Verdict| {
                let points = of(judged.as_ref().ok()?).to_vec();
                Some(Line { class: COLOURS[*which], name: NAMES[*which].to_owned(), points })
            };
            judged.iter().filter_map(line).collect()
        })
    }

    /// A run's noise becomes this one. It is to spend what was asked for here, too: many vectors of another length cost more than the lab's one, so the
    /// scale follows from the budget.
    fn train_with(self, judged: &Judged) {
        let noise = judged.noise.clone();
        let epsilon = self.page.study.asked.with_untracked(|asked| asked.epsilon);
        let shape = if self.page.study.asked.with_untracked(|asked| asked.psi) == Psi::HeavyTailed {
            EnvelopeShape::HeavyTailed
        } else {
            EnvelopeShape::Gaussian
        };
        // Any noise but the Gaussian wants an envelope.
        self.page.change(|settings| {
            (settings.encoder, settings.shape, settings.budget) = (Encoder::Envelope, shape, Some(epsilon));
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
        self.page.study.lab.set(false);
        self.page.notice.set(Some("The noise is set, under an envelope, at the scale with which the run keeps that budget. Press Play to train with it.".to_owned()));
    }
}

/// The whole panel, while it is open.
pub fn panel(page: Page) -> impl IntoView {
    let open = fact(move || page.study.lab.get());
    piece(move || open.get().then(|| lab(page)))
}

fn lab(page: Page) -> AnyView {
    let lab = Lab {
        page,
        exponent: RwSignal::new(page.study.asked.with_untracked(|asked| asked.exponent)),
        judged: RwSignal::new(vec![]),
        busy: RwSignal::new(false),
    };
    // Whatever a trial is made of.
    follow(move || {
        page.study.asked.track();
        page.settings.track();
        page.digits.track();
        untrack(|| lab.compare());
    });
    let charts = [
        ("Density", "noise-density", (|judged: &Judged| judged.density.as_slice()) as fn(&Judged) -> &[Point]),
        ("Chance of more than x", "noise-tail", |judged| &judged.tail),
        ("Bound of one step by order", "noise-orders", |judged| &judged.orders),
    ];
    let charts = charts
        .into_iter()
        .enumerate()
        .map(|(kind, (title, file, of))| {
            chart(page, Frame { title, file, height: 190.0, full: true }, move || drawing(kind, lab.lines(of)))
        })
        .collect_view();
    view! {
        <section class="panel noise-lab" id="noise-lab" data-testid="lab" aria-label="Noise lab">
            <div class="lesson-head"><h2>"Noise lab"</h2>
                <button type="button" class="quiet" aria-label="Close the noise lab" on:click=on_click(move |_| page.study.lab.set(false))>"×"</button></div>
            {questions(lab)}
            <div class="lab-charts">{charts}</div>
            {answers(lab)}
        </section>
    }
    .into_any()
}

fn questions(lab: Lab) -> impl IntoView {
    let page = lab.page;
    let families = (0..EXPONENT)
        .map(|which| {
            let id = format!("lab-{which}");
            view! {
                <span class=format!("check key {}", COLOURS[which])><input type="checkbox" id=id.clone() prop:checked=whether(move || page.study.asked.with(|asked| asked.chosen[which]))
                    on:change=on_event(move |event| lab.ask(|asked| asked.chosen[which] = event_target_checked(&event))) />
                <label for=id>{NAMES[which]}</label></span>
            }
        })
        .collect_view();
    let psis = PSIS
        .iter()
        .map(|(key, psi, name)| view! { <option value=*key selected=whether(move || page.study.asked.with(|asked| asked.psi == *psi))>{*name}</option> })
        .collect_view();
    let context = move || {
        format!(
            "For {} steps of lots of {} out of {}, at δ = {}.",
            format::integer(lab.steps()),
            format::integer(page.settings.with(|settings| settings.lot).into()),
            format::integer(lab.train().into()),
            format::number(page.settings.with(|settings| settings.delta))
        )
    };
    let set_exponent = move |event: leptos::ev::Event| {
        if let Some(exponent) = crate::ui::settings::decimal(&event_target_value(&event)) {
            lab.exponent.set(exponent);
        }
    };
    let judge_exponent = move |_| {
        lab.ask(|asked| (asked.exponent, asked.chosen[EXPONENT]) = (lab.exponent.get_untracked(), true));
    };
    let judge_formula = move |event: leptos::ev::Event| {
        lab.ask(|asked| (asked.formula, asked.chosen[FORMULA_AT]) = (event_target_value(&event), true));
    };
    let refusal = move || {
        lab.judged.with(|judged| {
            let found = judged.iter().find(|(which, ..)| *which == FORMULA_AT);
            found.and_then(|(.., judged)| judged.as_ref().err().map(|phrase| as_sentence(phrase))).unwrap_or_default()
        })
    };
    let set_epsilon =
        move |event: leptos::ev::Event| match crate::ui::settings::Number::Budget.parse(&event_target_value(&event)) {
            // Empty, it becomes what it was.
            Ok(epsilon) => lab.ask(|asked| asked.epsilon = epsilon.unwrap_or(asked.epsilon)),
            Err(sentence) => page.put_problem(Origin::Run, sentence),
        };
    let choose_psi = move |event: leptos::ev::Event| {
        let key = event_target_value(&event);
        if let Some((_, psi, _)) = PSIS.iter().find(|(each, ..)| *each == key) {
            lab.ask(|asked| asked.psi = *psi);
        }
    };
    let psi = labelled(
        "lab-psi",
        "label".to_owned(),
        "Envelope: where an example may differ".into_any(),
        [
            "Envelope",
            "What one example may change, length 1 in all: a little of every coordinate, or much of a few. The fewer, the more the noise's tails matter.",
        ],
        view! { <select id="lab-psi" data-testid="lab-psi" on:change=on_event(choose_psi)>{psis}</select> }.into_any(),
    );
    let epsilon = labelled(
        "lab-epsilon",
        "label".to_owned(),
        "All cost ε =".into_any(),
        ["All cost ε", "What all steps together may cost; each noise is made as wide as it must be for that, and no wider."],
        view! {
            <input type="text" inputmode="decimal" id="lab-epsilon" data-testid="lab-epsilon" prop:value=wording(move || format::exact(page.study.asked.with(|asked| asked.epsilon)))
                on:change=on_event(set_epsilon) />
        }
        .into_any(),
    );
    let exponent = labelled(
        "lab-exponent",
        format!("label key {}", COLOURS[EXPONENT]),
        view! { "Exponent: z ∝ exp(−|x|^"{wording(move || format::exact(lab.exponent.get()))}")" }.into_any(),
        ["Exponent", crate::ui::settings::Number::Exponent.spec().hint],
        view! {
            <input type="range" id="lab-exponent" data-testid="lab-exponent" class="slider" min="1" max="8" step="0.25" prop:value=wording(move || format::exact(lab.exponent.get()))
                on:input=on_event(set_exponent) on:change=on_event(judge_exponent) />
            <span class="ends" aria-hidden="true"><span>"1: Laplace"</span><span>"8: nearly a box"</span></span>
        }
        .into_any(),
    );
    let formula = labelled(
        "lab-formula",
        format!("label key {}", COLOURS[FORMULA_AT]),
        DENSITY.into_any(),
        [DENSITY, DENSITY_HINT],
        view! {
            <input type="text" id="lab-formula" data-testid="lab-formula" spellcheck="false" autocomplete="off" aria-describedby="lab-refusal" placeholder=FORMULA
                prop:value=wording(move || lab.formula()) on:change=on_event(judge_formula) />
        }
        .into_any(),
    );
    view! {
        <div class="lab-questions">
            <fieldset class="checks"><legend>"Noise"</legend>{families}</fieldset>
            <div>{psi}{epsilon}<p class="lead">{wording(context)}</p></div>
            <fieldset><legend>"Design your own"</legend>{exponent}{formula}
                <p class="field-error" id="lab-refusal" role="alert" data-testid="lab-refusal">{wording(refusal)}</p>
            </fieldset>
        </div>
    }
    .into_any()
}

/// The three charts: densities, tails, orders.
fn drawing(kind: usize, lines: Vec<Line>) -> Drawing {
    let most = |pick: fn(&Point) -> f64| lines.iter().flat_map(|line| &line.points).map(pick).fold(0.0, f64::max);
    let (right, top) = (most(|p| p.0).max(1e-9), most(|p| p.1).max(1e-9));
    let least = lines.iter().flat_map(|line| &line.points).map(|p| p.1).fold(top, f64::min);
    // From the decade below, so that curves fill the chart: six of them at most.
    let bottom = 10f64.powf(least.max(top * 1e-6).max(1e-9).log10().floor()).min(0.1 * top);
    let line = |low: f64, high: f64, label| Range { low, high, logarithmic: false, label, write: Write::Number };
    let logarithm = |low: f64, high: f64, label| Range { low, high, logarithmic: true, label, write: Write::Number };
    let names = lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>().join(", ");
    let (x, y, what) = match kind {
        0 => (line(-right, right, "x"), line(0.0, axis::nice_end(top, 4), "density"), "Density"),
        1 => (
            line(0.0, right, "x"),
            logarithm(1e-9, 1.0, "chance"),
            "Chance that the noise is larger than x in size, logarithmic,",
        ),
        _ => {
            let bound = Range { write: Write::Epsilon, ..logarithm(bottom, top, "ε(α)") };
            (line(2.0, 64.0, "order α"), bound, "Rényi bound of one step by order")
        }
    };
    Drawing { summary: format!("{what} of {names}."), lines, x, y, scatter: false }
}

fn answers(lab: Lab) -> impl IntoView {
    let gaussian = move |judged: &[Verdict]| {
        judged
            .iter()
            .find(|(which, ..)| *which == 0)
            .and_then(|(.., judged)| judged.as_ref().ok().map(|j| (j.l1, j.l2)))
    };
    let rows = move || {
        lab.judged.with(|judged| {
            let base = gaussian(judged);
            Some(judged.iter().map(|(which, _, judged)| row(lab, *which, judged, base)).collect_view().into_any())
        })
    };
    let (about, fisher) = hint(
        "lab-fisher",
        "1 ÷ √J",
        "J is the Fisher information of the noise: a small shift shows in it as much as in a Gaussian of this width.",
    );
    let verdict =
        move || lab.judged.with(|judged| gaussian(judged).map(|base| verdict(lab, judged, base)).unwrap_or_default());
    view! {
        <p class="verdict-line" role="status" data-testid="lab-verdict">{wording(move || if lab.busy.get() { "Looking for the scale at which each costs the same…".to_owned() } else { verdict() })}</p>
        <div class="scroll" tabindex="0" role="region" aria-label="Noise at equal privacy">
            <table class="lab-table" data-testid="lab-table" aria-busy=wording(move || lab.busy.get().to_string())>
                <thead><tr><th scope="col">"Noise"</th><th scope="col">"Scale"</th><th scope="col">"Mean error, L1"</th><th scope="col">"Root mean square, L2"</th>
                    <th scope="col">"1 ÷ √J "{about}{fisher}</th><th scope="col">"60 draws"</th><th scope="col"><span class="visually-hidden">"Actions"</span></th></tr></thead>
                <tbody>{piece(rows)}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// `0.93 (−0.1%)`: a value, and how far it is from the Gaussian's.
fn against(value: f64, base: Option<f64>) -> String {
    if !value.is_finite() {
        return "infinite".to_owned();
    }
    let shown = format::number((value * 1e4).round() / 1e4);
    match base {
        Some(base) if base != value => format!("{shown} ({})", signed(value / base - 1.0)),
        _ => shown,
    }
}

fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{}%", format::fixed(share.abs() * 100.0, 2))
}

fn row(lab: Lab, which: usize, judged: &Result<Judged, String>, base: Option<(f64, f64)>) -> AnyView {
    let name =
        view! { <th scope="row"><span class=format!("key swatch {}", COLOURS[which])></span>{NAMES[which]}</th> };
    match judged {
        Err(phrase) => view! { <tr>{name}<td colspan="6">{as_sentence(phrase)}</td></tr> }.into_any(),
        Ok(judged) => {
            let reach = 4.0 * judged.effective_sigma;
            let dots = judged
                .samples
                .iter()
                .map(|x| view! { <circle cx=format::fixed(80.0 + 76.0 * (x / reach).clamp(-1.0, 1.0), 1) cy="8" r="2.2"></circle> })
                .collect_view();
            let chosen = judged.clone();
            view! {
                <tr>{name}<td>{format::exact(round_up(judged.noise.scale()))}</td>
                    <td>{against(judged.l1, base.map(|base| base.0))}</td><td>{against(judged.l2, base.map(|base| base.1))}</td>
                    <td>{format::number((judged.effective_sigma * 1e4).round() / 1e4)}</td>
                    <td><svg class=format!("draws {}", COLOURS[which]) viewBox="0 0 160 16" aria-hidden="true">{dots}</svg></td>
                    <td class="actions"><button type="button" aria-label=format!("Train with it: {}", NAMES[which]) on:click=on_click(move |_| lab.train_with(&chosen))>"Train with it"</button></td></tr>
            }
            .into_any()
        }
    }
}

/// What the numbers say, and no more.
fn verdict(lab: Lab, judged: &[Verdict], (l1, l2): (f64, f64)) -> String {
    let best = |of: fn(&Judged) -> f64| {
        let found = judged.iter().filter_map(|(which, _, judged)| Some((*which, of(judged.as_ref().ok()?))));
        found.min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let say = |best: Option<(usize, f64)>, base: f64| match best {
        Some((which, value)) if which != 0 => {
            format!("{} ({} against Gaussian)", NAMES[which], signed(value / base - 1.0))
        }
        _ => "Gaussian".to_owned(),
    };
    let (spread, epsilon) = lab.page.study.asked.with(|asked| (asked.psi == Psi::Spread, asked.epsilon));
    format!(
        "At ε = {} the least mean error is that of {}, the least root mean square that of {}. {}",
        format::number(epsilon),
        say(best(|j| j.l1), l1),
        say(best(|j| j.l2), l2),
        if spread {
            "With an envelope spread over thousands of coordinates every noise acts like a Gaussian, and none beats it by as much as one part in a hundred."
        } else {
            "The fewer coordinates an example may differ in, the more the tails matter; real gradients differ in thousands."
        }
    )
}

/// Where the set-up's noise is a density of the visitor's own: its formula.
pub fn density_field(page: Page) -> impl IntoView {
    let shown = fact(move || page.settings.with(|settings| settings.family == Family::Custom));
    let problem = move || {
        page.problems.with(|problems| {
            let found = problems.iter().find(|(of, _)| *of == Origin::Density);
            found.map(|(_, sentence)| sentence.clone()).unwrap_or_default()
        })
    };
    let typed = move |event: leptos::ev::Event| {
        let typed = event_target_value(&event).trim().to_owned();
        page.change(|settings| settings.formula = typed);
    };
    piece(move || {
        shown.get().then(|| {
            let field = view! {
                <input type="text" id="density" data-testid="density" spellcheck="false" autocomplete="off" aria-describedby="density-error"
                    prop:value=wording(move || page.settings.with(|settings| settings.formula.clone())) on:change=on_event(typed) />
                <p class="field-error" id="density-error">{wording(problem)}</p>
            };
            labelled("density", "label".to_owned(), DENSITY.into_any(), [DENSITY, DENSITY_HINT], field.into_any())
        })
    })
}
