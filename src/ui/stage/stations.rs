//! The stations: a lot with one digit ringed; the sum with and without it, before and after noise.

use std::sync::Arc;

use leptos::{html, prelude::*};

use super::{colours::paint, follow::follow, lot::lot, preset_cards, unit::Unit};
use crate::{
    data::Picture,
    mechanism::EncoderSpec,
    plot::format,
    train::label::ACCUSED,
    ui::{
        browser,
        settings::{Encoder, Family},
        setup::{
            control::controls,
            layout::{BOUND, LOT, NOISE},
        },
        size::closures::{bool_fn, effect, on_click, on_event, text_fn, view_fn},
        state::{Figures, Page},
        text::{t, text},
        widgets::teaching::teaching,
    },
    worker::look::Contribution,
};

/// Significant digits of a length.
const DIGITS: i32 = 3;

/// Returns a picture and its magnitude of full colour. Arguments: step, without, share of noise.
type Read = fn(&Contribution, bool, f64) -> (Vec<f32>, f64);

/// The whole stage.
pub fn stage(page: Page) -> impl IntoView {
    // The visitor's own step; before there is one, the recorded step, under its own settings only.
    let people = move || {
        let own = page.snapshots.people.get();
        own.or_else(|| page.snapshots.recorded.get().filter(|_| page.shows_recorded()))
    };
    let person = Memo::new(move |_| people()?.person);
    let hidden = move || person.with(|person| Hidden::of(page, person.as_deref()));
    let there = move || person.with(Option::is_some);
    let own = move || page.snapshots.people.with(Option::is_some);
    let digits = move || page.digits.images().0 == Picture::DIGIT;
    let shared = move || !Unit::of(page).is_image();
    let title = move || match people().map(|people| people.step) {
        Some(step) if own() && shared() => {
            t!("Step {step}. Is {this} in it?", step = format::integer(step), this = Unit::of(page).this())
        }
        None if shared() => t!("Is {this} in the lot?", this = Unit::of(page).this()),
        Some(step) if own() && digits() => {
            t!("Step {step}. Is this person's digit in it?", step = format::integer(step))
        }
        Some(step) if own() => t!("Step {step}. Is this person's image in it?", step = format::integer(step)),
        Some(_) => t!("A recorded step on digits that the program drew. Is this person's digit in it?").to_owned(),
        None if digits() => t!("Is this person's digit in the lot?").to_owned(),
        None => t!("Is this person's image in the lot?").to_owned(),
    };
    view! {
        <div class="stage-head">
            <h2>{t!("One person, in or out")}</h2>
            <p class="stage-title" data-testid="stage-step">{text_fn(title)}</p>
            {switch(page)}
        </div>
        <ol class="stations">
            <li class=lit(page, 0)><h3>{t!("A lot of people")}</h3><p class="marks">{teaching()}</p>{lot(page, people)}<div class="knobs">{controls(page, LOT)}</div></li>
            <li class=lit(page, 1)><h3>{t!("What this one adds")}</h3><p class="marks">{teaching()}</p>
                {picture(page, person, "alone", t!("What the ringed one adds to the sum"), |person, _, _| (person.alone.clone(), person.full_alone()))}
                <p class="caption" data-testid="stage-length" data-room=text_fn(move || longest(page))><span>{text_fn(move || if too_slow(page, there()) { String::new() } else { person.with(|person| alone(page, person.as_deref())) })}</span></p>
                <div class="knobs">{controls(page, BOUND)}</div></li>
            <li class=lit(page, 2)><h3>{t!("The sum of all")}</h3><p class="marks">{teaching()}</p>
                {picture(page, person, "sum", t!("The sum before the noise"), |person, without, _| (sum(person, without, 0), person.full))}
                {difference(page, person, "difference-before", t!("The sum with the ringed one minus the sum without it, before noise"), |person, _, _| (person.difference(0), person.full_alone()))}
                <p class="caption">{text_fn(move || before(page))}</p></li>
            <li class=lit(page, 3)><h3>{text_fn(move || if noisy(page) { t!("The sum + noise") } else { t!("The sum, without noise") })}</h3><p class="marks"><span class="released">{t!("released")}</span></p>
                {picture(page, person, "released", t!("The sum after the noise"), |person, without, fallen| (falling(person, without, fallen), person.full))}
                {difference(page, person, "difference-after", t!("The sum with the ringed one minus the sum without it, after noise"), |person, _, _| (person.difference(1), person.full_alone()))}
                <p class="caption" data-testid="stage-hidden" data-room=text_fn(move || Hidden::longest_caption(Unit::of(page)))><span>{text_fn(move || if too_slow(page, there()) { String::new() } else { hidden().after(Unit::of(page)) })}</span></p>
                <div class="knobs">{controls(page, NOISE)}</div></li>
        </ol>
        <p class="stage-says" data-testid="stage-says" data-room=text_fn(move || Hidden::longest(page))><span>{text_fn(move || says(page, there(), hidden()))}
            {view_fn(move || person.with(Option::is_none).then(|| view! {
                " "<button type="button" data-testid="stage-step-once" on:click=on_click(move |_| page.run.step_once())>{t!("Take a step apart")}</button>
            }.into_any()))}</span></p>
        {follow(page)}
        {preset_cards::next(page)}
    }
    .into_any()
}

fn sum(person: &Contribution, without: bool, after: usize) -> Vec<f32> {
    if without { person.without[after].clone() } else { person.with[after].clone() }
}

/// Returns the sum with noise on a share `fallen` of its coordinates, in pseudo-random order.
fn falling(person: &Contribution, without: bool, fallen: f64) -> Vec<f32> {
    let (before, after) = (sum(person, without, 0), sum(person, without, 1));
    // A multiplicative hash of the place, between 0 and 1.
    let when = |place: usize| f64::from((place as u32).wrapping_mul(0x9e37_79b9) >> 8) / f64::from(1 << 24);
    before
        .iter()
        .zip(&after)
        .enumerate()
        .map(|(place, (before, after))| if when(place) < fallen { *after } else { *before })
        .collect()
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

/// A picture of the step, repainted when step, switch or theme changes.
fn picture(
    page: Page,
    person: Memo<Option<Arc<Contribution>>>,
    hook: &'static str,
    label: &'static str,
    read: Read,
) -> AnyView {
    let canvas = NodeRef::<html::Canvas>::new();
    effect(move || {
        let (theme, without) = (page.appearance.theme.get(), page.snapshots.without.get());
        // Only the released sum is repainted while the noise falls.
        let fallen = if hook == "released" { page.snapshots.fallen.get() } else { 1.0 };
        let Some(canvas) = canvas.get() else { return };
        person.with(|person| match person {
            Some(person) => {
                let (values, full) = read(person, without, fallen);
                paint(&canvas, person.layout(), &values, full, browser::is_dark(theme));
            }
            None => canvas.set_width(28),
        });
    });
    view! { <canvas class="one-picture" data-testid=format!("stage-{hook}") node_ref=canvas width="28" height="28" role="img" aria-label=label></canvas> }.into_any()
}

/// A picture of the sum with the ringed one minus the sum without it.
fn difference(
    page: Page,
    person: Memo<Option<Arc<Contribution>>>,
    hook: &'static str,
    label: &'static str,
    read: Read,
) -> AnyView {
    view! { <div class="difference"><span>{t!("With minus without:")}" "</span>{picture(page, person, hook, label, read)}</div> }.into_any()
}

fn noisy(page: Page) -> bool {
    page.settings.with(|settings| settings.family != Family::None)
}

/// How a gradient was bounded.
#[derive(Clone, Copy)]
enum Held {
    Nowhere,
    Envelope,
    Layers,
    Whole,
    Cut,
}

impl Held {
    /// By the run's encoder; without a run, as for a recorded step, `Cut`.
    fn of(page: Page, person: &Contribution) -> Self {
        // An adaptive clip changes at each step: a gradient that kept its length was within it.
        let own = |most: f64, adaptive: bool| {
            if adaptive { person.norm <= 1.001 * person.bounded } else { person.norm <= most }
        };
        page.run.info.with(|run| {
            match run.as_ref().map(|run| (&run.config.encoder, run.config.adaptive_clip.is_some())) {
                Some((EncoderSpec::None, _)) => Self::Nowhere,
                Some((EncoderSpec::Envelope { .. }, _)) => Self::Envelope,
                Some((EncoderSpec::Layers(_), _)) => Self::Layers,
                // Within the bound only the coordinates are rounded, to the grid of exact sums.
                Some((EncoderSpec::Clip { norm: most }, adaptive)) if own(*most, adaptive) => Self::Whole,
                Some((EncoderSpec::Clip { .. }, _)) | None => Self::Cut,
            }
        })
    }

    /// Describes the length before and after the bound.
    fn says(self, unit: Unit, norm: &str, bounded: &str) -> String {
        let its = if unit.is_image() { t!("Its gradient") } else { t!("Its vector") };
        let text = match self {
            Self::Nowhere => text!("{its}, of length {norm}. Nothing bounds it."),
            Self::Envelope => text!("{its}, of length {norm}, clamped under the envelope to {bounded}."),
            Self::Layers => {
                text!("{its}, of length {norm}, bounded layer by layer; length in noise units: {bounded}.")
            }
            Self::Whole => text!("{its}, of length {norm}: short enough to stay whole."),
            Self::Cut => text!("{its}, of length {norm}, cut to {bounded}."),
        };
        text.with(&[("its", its.to_owned()), ("norm", norm.to_owned()), ("bounded", bounded.to_owned())])
    }
}

fn alone(page: Page, person: Option<&Contribution>) -> String {
    let Some(person) = person else { return t!("Its gradient: how it would change the model.").to_owned() };
    let short = |value: f64| format::number(format::significant(value, DIGITS));
    Held::of(page, person).says(Unit::of(page), &short(person.norm), &short(person.bounded))
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
    longest_of(of.iter().map(|held| held.says(Unit::of(page), &wide, &wide)).chain([alone(page, None)]))
}

fn longest_of(texts: impl IntoIterator<Item = String>) -> String {
    texts.into_iter().max_by_key(|text| text.chars().count()).unwrap_or_default()
}

fn before(page: Page) -> String {
    let text = if noisy(page) {
        text!("Anyone who knows all the others could subtract them and be left with what {this} adds.")
    } else {
        text!("Anyone who knows all the others can subtract them and is left with what {this} adds.")
    };
    text.with(&[("this", Unit::of(page).this().to_owned())])
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
    fn of(page: Page, person: Option<&Contribution>) -> Self {
        if !noisy(page) {
            return Self::Bare;
        }
        if page.settings.with(|settings| settings.no_guarantee().is_some()) {
            return Self::NoGuarantee;
        }
        if page.run.is_broken() {
            return Self::Broken;
        }
        let Some(person) = person else { return Self::Unseen };
        let odds = Figures(page).odds().of_a_hundred();
        if person.shows() >= SEEN {
            return Self::Visible(odds);
        }
        // Before the visitor's own first step, ε of the plan.
        let spent = page.guarantee.epsilon().filter(|spent| *spent > 0.0).or_else(|| page.cost.end());
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
            Self::Unseen => text!("The same subtraction leaves it plus noise."),
            Self::Visible(_) => {
                text!("The same subtraction leaves it visible, if faintly: the noise is too weak to hide it.")
            }
            Self::FromTheEye(_) => {
                text!("To the eye, the same subtraction leaves only static. A computer may still find {this} in it.")
            }
            Self::Well(_) => text!("The same subtraction leaves static: nothing that gives {this} away."),
        };
        text.with(&[("this", unit.this().to_owned())])
    }

    /// Returns the sentence on a step that is not being walked through.
    fn says(self, page: Page) -> String {
        let (text, found) = match self {
            Self::Bare | Self::NoGuarantee => {
                return page.settings.with(|settings| settings.no_guarantee().unwrap_or_default().to_owned());
            }
            Self::Broken => {
                (text!("The stated ε is not true: the run breaks its promise. An attacker may find every one."), None)
            }
            Self::Unseen => {
                (text!("The noise should hide what each one adds. Take a step and see whether it does."), None)
            }
            Self::Visible(found) => (
                text!(
                    "The noise is too weak to hide {this}: a computer finds it in what is released, and your eye may, too."
                ),
                found,
            ),
            Self::FromTheEye(found) => {
                (text!("Your eye does not find {this} in what is released. An attacker's computer may."), found)
            }
            Self::Well(found) => (
                text!(
                    "The noise hides what each one adds. Together they still point the same way, and the model learns that."
                ),
                Some(found),
            ),
        };
        let said = text.with(&[("this", Unit::of(page).this().to_owned())]);
        let Some(found) = found else { return said };
        let odds = if matches!(self, Self::Well(_)) || found > HIDDEN || !drawn_rarely(page) {
            t!(
                "Of 100 {many} that were in, an attacker finds at most {found}; guessing finds 5.",
                many = Unit::protected(page).many(),
                found = found
            )
        } else {
            t!("Being found is unlikely only because few are drawn into a lot.").to_owned()
        };
        said + " " + &odds
    }

    /// One of each kind.
    const ALL: [Self; 7] = [
        Self::Bare,
        Self::NoGuarantee,
        Self::Broken,
        Self::Unseen,
        Self::Visible(Some(100)),
        Self::FromTheEye(Some(100)),
        Self::Well(HIDDEN),
    ];

    /// Returns the longest caption; its space is reserved to avoid movement.
    fn longest_caption(unit: Unit) -> String {
        longest_of(Self::ALL.map(|hidden| hidden.after(unit)))
    }

    /// Returns the longest sentence of [`Hidden::says`].
    fn longest(page: Page) -> String {
        longest_of(Self::ALL.map(|hidden| hidden.says(page)))
    }
}

/// True if a unit takes part in fewer than half of the steps.
fn drawn_rarely(page: Page) -> bool {
    let (lot, sharing) = page.settings.with(|settings| (settings.lot, settings.sharing()));
    page.digits.train().is_some_and(|train| sharing.lot(lot) < f64::from(sharing.units(train)) / 2.0)
}

/// True if a lot was drawn whose units have no picture, since theirs would take too long.
fn too_slow(page: Page, there: bool) -> bool {
    let drawn = page.snapshots.people.with(|people| people.as_ref().is_some_and(|it| !it.lot.labels.is_empty()));
    !there && drawn && !Unit::of(page).is_image()
}

fn says(page: Page, there: bool, hidden: Hidden) -> String {
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
    hidden.says(page)
}
