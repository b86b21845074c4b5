//! The stations: a lot with one digit ringed; the sum with and without it, before and after noise.

use leptos::{html, prelude::*};

use super::{
    bells::bells,
    lot::{lot, ringed},
    preset_cards,
    unit::Unit,
};
use crate::ui::widgets::colours::paint;
use crate::{
    data::Picture,
    plot::format,
    train::label::ACCUSED,
    ui::{
        browser,
        settings::{Encoder, Family},
        setup::{control::controls, layout::NOISE},
        size::closures::{bool_fn, effect, on_event, text_fn},
        state::{Figures, InspectedStep, Page, StepOf},
        text::{t, text},
        widgets::teaching::teaching,
    },
    worker::look::{Contribution, Held},
};

/// Significant digits of a length.
const DIGITS: i32 = 3;

/// Returns a picture and its magnitude of full colour. Arguments: step, without, noise setting.
type Read = fn(&Contribution, bool, f64) -> (Vec<f32>, f64);

/// The step on the stage, and the noise that it is drawn with.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    page: Page,
    pub people: Memo<Option<InspectedStep>>,
    pub scale: Memo<f64>,
}

impl Shown {
    fn new(page: Page) -> Self {
        let people = Memo::new(move |_| page.inspected());
        let scale = Memo::new(move |_| {
            let knob = page.knob.scale();
            // Under the run's own setting, a step of a run with phases had the noise of its phase.
            let of_run = page.run.info.with(|run| Some(run.as_ref()?.config.noise.as_ref()?.scale()));
            let own = people.with(|people| {
                let people = people.as_ref().filter(|people| people.of == StepOf::Run && of_run == Some(knob))?;
                Some(people.person.as_ref()?.scale)
            });
            own.unwrap_or(knob) * page.snapshots.fallen.get()
        });
        Self { page, people, scale }
    }

    /// Reads the contribution of the ringed one, if there is one.
    pub fn person<T>(self, read: impl FnOnce(&Contribution) -> T) -> Option<T> {
        self.people.with(|people| people.as_ref()?.person.as_deref().map(read))
    }

    /// True if the step was taken, and is shown with its own noise and all of its lot.
    fn was_released(self) -> bool {
        let taken = self.people.with(|people| people.as_ref().is_some_and(|people| people.step > 0));
        // The recorded step is in single precision.
        taken
            && !self.page.snapshots.without.get()
            && self.person(|person| (person.scale - self.scale.get()).abs() <= 1e-6 * person.scale) == Some(true)
    }

    fn unit(self) -> Unit {
        self.people
            .with(|people| people.as_ref().map(|people| people.sharing.into()))
            .unwrap_or_else(|| Unit::of(self.page))
    }

    fn title(self) -> String {
        let unit = self.unit();
        let digits = self.page.digits.images().0 == Picture::DIGIT;
        let this = match unit {
            Unit::Image if digits => t!("this person's digit"),
            Unit::Image => t!("this person's image"),
            unit => unit.this(),
        };
        let which = self.people.with(|people| match people.as_ref().map(|people| (people.of, people.step)) {
            Some((StepOf::Recorded, _)) => t!("A recorded step on synthetic digits.").to_owned(),
            Some((StepOf::EarlierRun, _)) => t!("A step of an earlier run, with the noise that is set now.").to_owned(),
            Some((StepOf::Run, 0)) => t!("What a first step would look like.").to_owned(),
            Some((StepOf::Run, step)) => t!("Step {step}.", step = format::integer(step)),
            None => t!("Press Play or Step.").to_owned(),
        });
        which + " " + &t!("Is {this} in it?", this = this)
    }
}

/// The whole stage.
pub fn stage(page: Page) -> impl IntoView {
    let shown = Shown::new(page);
    let unit = move || shown.unit();
    let hidden = move || Hidden::of(page, shown);
    let there = move || shown.person(|_| ()).is_some();
    view! {
        <div class="stage-head">
            <h2 class="visually-hidden">{t!("One person, in or out")}</h2>
            <p class="stage-title" data-testid="stage-step">{text_fn(move || shown.title())}{ringed(page, move || shown.people.get())}</p>
            {switch(page)}
        </div>
        <ol class="stations">
            <li class=lit(page, 0)><h3>{t!("A lot of people")}</h3><p class="marks">{teaching()}</p>{lot(page, move || shown.people.get())}</li>
            <li class=lit(page, 1)><h3>{t!("What this one adds")}</h3><p class="marks">{teaching()}</p>
                {picture(shown, "alone", t!("What the ringed one adds to the sum"), |person, _, _| (person.alone.clone(), person.full_alone()))}
                <p class="caption" data-testid="stage-length" data-room=text_fn(move || longest(page))><span>{text_fn(move || if too_slow(page, there()) { String::new() } else { alone(shown) })}</span></p></li>
            <li class=lit(page, 2)><h3>{t!("The sum of all")}</h3><p class="marks">{teaching()}</p>
                {picture(shown, "sum", t!("The sum before the noise"), |person, without, scale| (person.sum(without, 0.0), person.full(scale)))}
                {difference(shown, "difference-before", t!("The sum with the ringed one minus the sum without it, before noise"), |person, _, _| (person.difference(0.0), person.full_alone()))}
                <p class="caption">{t!("Minus all others, which an attacker may know.")}</p></li>
            <li class=lit(page, 3)><h3>{text_fn(move || if noisy(page) { t!("The sum + noise") } else { t!("The sum, without noise") })}</h3><p class="marks"><span class="released">{text_fn(move || if shown.was_released() { t!("released") } else { t!("would be released") })}</span></p>
                {picture(shown, "released", t!("The sum after the noise"), |person, without, scale| (person.sum(without, scale), person.full(scale)))}
                {difference(shown, "difference-after", t!("The sum with the ringed one minus the sum without it, after noise"), |person, _, scale| (person.difference(scale), person.full_alone()))}
                <p class="caption" data-testid="stage-hidden" data-room=text_fn(move || Hidden::longest_caption(unit()))><span>{text_fn(move || if too_slow(page, there()) { String::new() } else { hidden().after(unit()) })}</span></p></li>
        </ol>
        <div class="knob" data-testid="knob">{controls(page, NOISE)}{bells(shown, page.snapshots.without)}</div>
        <div class="stage-says" data-testid="stage-says">
            <p data-room=text_fn(move || Hidden::longest(page, unit()))><span>{text_fn(move || says(page, shown, hidden()))}</span></p>
            <p class="of-odds" data-room=text_fn(move || found_of_a_hundred(page, 100))><span>{text_fn(move || hidden().odds(page).unwrap_or_default())}</span></p>
        </div>
        {preset_cards::next(page)}
    }
    .into_any()
}

/// Returns the class of a station, which is lit while the step is walked through.
fn lit(page: Page, station: usize) -> Box<dyn Fn() -> String + Send> {
    text_fn(move || {
        let name = if station == 0 { "station station-lot" } else { "station" };
        if page.snapshots.lit.get() == Some(station) { format!("{name} lit") } else { name.to_owned() }
    })
}

/// The switch: with or without the ringed one.
fn switch(page: Page) -> AnyView {
    let without = page.snapshots.without;
    let option = move |id: &'static str, label: &'static str, value: bool| {
        view! {
            <input type="radio" name="with-without" id=id data-testid=id prop:checked=bool_fn(move || without.get() == value) on:change=on_event(move |_| without.set(value)) />
            <label for=id>{label}</label>
        }
    };
    view! {
        <fieldset class="switch"><legend class="visually-hidden">{t!("The sums with or without the ringed one")}</legend>
            {option("with-it", t!("With it"), false)}{option("without-it", t!("Without it"), true)}</fieldset>
    }
    .into_any()
}

/// A picture of the step, repainted when step, noise, switch or theme changes.
fn picture(shown: Shown, hook: &'static str, label: &'static str, read: Read) -> AnyView {
    let Shown { page, scale, .. } = shown;
    let canvas = NodeRef::<html::Canvas>::new();
    effect(move || {
        let (theme, without) = (page.appearance.theme.get(), page.snapshots.without.get());
        let Some(canvas) = canvas.get() else { return };
        let painted = shown.person(|person| {
            let (values, full) = read(person, without, scale.get());
            paint(&canvas, person.layout, &values, full, browser::is_dark(theme));
        });
        if painted.is_none() {
            canvas.set_width(28);
        }
    });
    view! { <canvas class="one-picture" data-testid=format!("stage-{hook}") node_ref=canvas width="28" height="28" role="img" aria-label=label></canvas> }.into_any()
}

/// A picture of the sum with the ringed one minus the sum without it.
fn difference(shown: Shown, hook: &'static str, label: &'static str, read: Read) -> AnyView {
    view! { <div class="difference">{picture(shown, hook, label, read)}</div> }.into_any()
}

fn noisy(page: Page) -> bool {
    page.settings.with(|settings| settings.family != Family::None)
}

/// Describes the length before and after the bound.
fn bounded(held: Held, norm: &str, bounded: &str) -> String {
    let text = match held {
        Held::Nowhere => text!("How it would change the model. Nothing bounds its length, {norm}."),
        Held::Envelope => {
            text!("How it would change the model, clamped under the envelope from length {norm} to {bounded}.")
        }
        Held::Layers => text!(
            "How it would change the model, of length {norm}, bounded layer by layer; length in noise units: {bounded}."
        ),
        Held::Whole => text!("How it would change the model. Its length, {norm}, is short enough to stay whole."),
        Held::Cut => text!("How it would change the model, cut from length {norm} to {bounded}."),
    };
    text.with(&[("norm", norm.to_owned()), ("bounded", bounded.to_owned())])
}

fn alone(shown: Shown) -> String {
    let short = |value: f64| format::number(format::significant(value, DIGITS));
    shown
        .person(|person| bounded(person.held, &short(person.norm), &short(person.bounded)))
        .unwrap_or_else(|| t!("How it would change the model.").to_owned())
}

/// Returns the longest caption under these settings; its space is reserved to avoid movement.
fn longest(page: Page) -> String {
    let of: &[Held] = page.settings.with(|settings| match settings.encoder {
        Encoder::None => [Held::Nowhere].as_slice(),
        Encoder::Envelope => &[Held::Envelope],
        Encoder::Layers => &[Held::Layers],
        Encoder::Clip => &[Held::Whole, Held::Cut],
    });
    let wide = format::number(0.0888);
    longest_of(of.iter().map(|held| bounded(*held, &wide, &wide)))
}

fn longest_of(texts: impl IntoIterator<Item = String>) -> String {
    texts.into_iter().max_by_key(|text| text.chars().count()).unwrap_or_default()
}

/// How well the noise hides the ringed image, by the guarantee, the odds and the picture. If one of
/// them is unknown, the weaker claim is made.
#[derive(Clone, Copy, PartialEq)]
enum Hidden {
    /// There is no noise.
    Bare,
    /// There is noise, but no guarantee.
    NoGuarantee,
    /// The run breaks its promise: the claimed ε does not hold.
    Broken,
    /// No step has been pictured yet.
    Unseen,
    /// Visible in the release, clearly or faintly ([`SEEN`]); with the most members of 100 found.
    Visible(Option<u32>),
    /// Not visible, but an attacker may find it.
    FromTheEye(Option<u32>),
    /// An attacker finds it hardly more often than by guessing.
    Well(u32),
}

/// Most members of 100 found for an image to be called hidden: twice as many as by guessing.
const HIDDEN: u32 = 2 * ACCUSED;
/// Largest ε of a hidden image: odds that sampling alone keeps low do not protect those drawn.
const LITTLE: f64 = 1.0;
/// Least [`Contribution::shows`] at which people see the image: it is about 0.18 at a fifth of the bound,
/// where a trained eye finds it; for 784 values of noise alone it exceeds 0.13 once in ten thousand
/// times.
const SEEN: f64 = 0.17;

impl Hidden {
    fn of(page: Page, shown: Shown) -> Self {
        if !noisy(page) {
            return Self::Bare;
        }
        if page.settings.with(|settings| settings.no_guarantee().is_some()) {
            return Self::NoGuarantee;
        }
        if page.run.is_broken() {
            return Self::Broken;
        }
        let Some(shows) = shown.person(|person| person.shows(shown.scale.get())) else { return Self::Unseen };
        let odds = Figures(page).odds().of_a_hundred();
        if shows >= SEEN {
            return Self::Visible(odds);
        }
        // While the knob is dragged, and before the visitor's own first step, ε of the plan.
        let released = || page.guarantee.epsilon().filter(|spent| *spent > 0.0);
        let spent = if page.knob.is_dragged() { None } else { released() }.or_else(|| page.planned_epsilon());
        match (odds, spent) {
            (Some(found), Some(spent)) if found <= HIDDEN && spent <= LITTLE => Self::Well(found),
            _ => Self::FromTheEye(odds),
        }
    }

    /// Returns the caption of what is left of a unit after subtracting all others.
    fn after(self, unit: Unit) -> String {
        let text = match self {
            Self::Bare => text!("Nothing hides it."),
            Self::NoGuarantee => text!("There is noise, but no guarantee that it hides {this}."),
            Self::Broken => text!("This run breaks its promise: the noise may fail to hide {this}."),
            Self::Unseen => text!("Minus all others: it and the noise."),
            Self::Visible(_) => {
                text!("Minus all others, it is visible, if faintly: the noise is too weak to hide it.")
            }
            Self::FromTheEye(_) => {
                text!("Minus all others: only static, to the eye. A computer may still find {this} in it.")
            }
            Self::Well(_) => text!("Minus all others: only static."),
        };
        text.with(&[("this", unit.this().to_owned())])
    }

    /// Returns the sentence on a step that is not being walked through.
    fn says(self, page: Page, unit: Unit) -> String {
        let text = match self {
            Self::Bare | Self::NoGuarantee => {
                return page.settings.with(|settings| settings.no_guarantee().unwrap_or_default().to_owned());
            }
            Self::Broken => {
                text!("The stated ε is not true: the run breaks its promise. An attacker may find every one.")
            }
            Self::Unseen => text!("The noise should hide what each one adds. Take a step and see whether it does."),
            Self::Visible(_) => text!(
                "The noise is too weak to hide {this}: a computer finds it in what is released, and your eye may, too."
            ),
            Self::FromTheEye(_) => {
                text!("Your eye does not find {this} in what is released. An attacker's computer may.")
            }
            Self::Well(_) => {
                text!("The noise hides each one well, if not perfectly. Together they still teach the model.")
            }
        };
        let said = text.with(&[("this", unit.this().to_owned())]);
        match self.rare(page) {
            true => said + " " + t!("Being found is unlikely only because few are drawn into a lot."),
            false => said,
        }
    }

    /// Returns the most members of 100 that an attacker finds, if known.
    fn found(self) -> Option<u32> {
        match self {
            Self::Visible(found) | Self::FromTheEye(found) => found,
            Self::Well(found) => Some(found),
            Self::Bare | Self::NoGuarantee | Self::Broken | Self::Unseen => None,
        }
    }

    /// True if the odds are low only because a unit takes part in few of the steps.
    fn rare(self, page: Page) -> bool {
        !matches!(self, Self::Well(_)) && self.found().is_some_and(|found| found <= HIDDEN) && drawn_rarely(page)
    }

    /// Returns the odds as a sentence, where the panel of the odds is out of view.
    fn odds(self, page: Page) -> Option<String> {
        self.found().filter(|_| !self.rare(page)).map(|found| found_of_a_hundred(page, found))
    }

    /// One of each kind, of the longest sentence.
    const ALL: [Self; 7] = [
        Self::Bare,
        Self::NoGuarantee,
        Self::Broken,
        Self::Unseen,
        Self::Visible(Some(0)),
        Self::FromTheEye(Some(0)),
        Self::Well(HIDDEN),
    ];

    /// Returns the longest caption; its space is reserved to avoid movement.
    fn longest_caption(unit: Unit) -> String {
        longest_of(Self::ALL.map(|hidden| hidden.after(unit)))
    }

    /// Returns the longest sentence of [`Hidden::says`].
    fn longest(page: Page, unit: Unit) -> String {
        longest_of(Self::ALL.map(|hidden| hidden.says(page, unit)))
    }
}

fn found_of_a_hundred(page: Page, found: u32) -> String {
    t!(
        "Of 100 {many} that were in, an attacker finds at most {found}; guessing finds 5.",
        many = Unit::protected(page).many(),
        found = found
    )
}

/// True if a unit takes part in fewer than half of the steps.
fn drawn_rarely(page: Page) -> bool {
    let (lot, sharing) = page.settings.with(|settings| (settings.lot, settings.sharing()));
    page.digits.train().is_some_and(|train| sharing.lot(lot) < f64::from(sharing.units(train)) / 2.0)
}

/// True if a lot was drawn whose units have no picture, since theirs would take too long.
fn too_slow(page: Page, there: bool) -> bool {
    let drawn = page.inspected().is_some_and(|it| !it.lot.labels.is_empty());
    !there && drawn && !Unit::of(page).is_image()
}

fn says(page: Page, shown: Shown, hidden: Hidden) -> String {
    let there = shown.person(|_| ()).is_some();
    if too_slow(page, there) {
        return t!("Each one here has so many images that its picture would take too long. Choose more users, or smaller micro-batches.").to_owned();
    }
    if !there {
        return t!("Press Play or Step: each step draws a lot, and one in it is ringed.").to_owned();
    }
    // One station at a time, while the step is walked through.
    let noisy = noisy(page);
    match page.snapshots.lit.get() {
        Some(0) => return t!("1. A lot is drawn at random. Who is in it stays secret.").to_owned(),
        Some(1) => {
            let bounded = page.settings.with(|settings| settings.encoder != Encoder::None);
            return match bounded {
                true => t!("2. Each says how it would change the model. A bound keeps every one from being too loud."),
                false => t!("2. Each says how it would change the model, as loud as it likes: nothing bounds it."),
            }
            .to_owned();
        }
        Some(2) => {
            return t!("3. All are added up. With and without the ringed one, the sum differs by just what it adds.")
                .to_owned();
        }
        Some(_) if noisy => return t!("4. Noise is added to every number of the sum; this is released.").to_owned(),
        Some(_) => return t!("4. No noise is added: the sum itself is released.").to_owned(),
        None => {}
    }
    if page.knob.invites.get() {
        return t!("Turn the noise back, and the digit returns.").to_owned();
    }
    let learned = page.run.accuracy.get().filter(|_| page.run.is_complete());
    let learned = learned.map_or_else(String::new, |accuracy| {
        t!("It now gets {n} of 100 test images right.", n = (100.0 * accuracy).floor() as u32) + " "
    });
    learned + &hidden.says(page, shown.unit())
}
