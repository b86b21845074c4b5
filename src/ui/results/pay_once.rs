//! The functional mechanism: one release, then free training, beside a run that pays every step.

use leptos::{html, prelude::*};

use super::fold::fold;
use crate::{
    data::TestSet,
    model::PIXELS,
    plot::{
        axis,
        drawing::{Drawing, Line, Range, Shape, Write},
        format,
    },
    train::functional::{features::Features, hidden::STEPS as HIDDEN_STEPS, price::Mechanism},
    ui::{
        browser,
        settings::Number,
        size::closures::{bool_fn, bool_memo, effect, on_click, on_event, text_fn, text_memo, view_fn},
        state::{
            Origin, Page,
            pay_once::{ONCE_NEEDS, Paid},
        },
        text::{Text, heard, t, text},
        widgets::colours::put,
        widgets::{
            chart::{Frame, chart},
            hint::labelled,
            teaching::teaching,
        },
    },
    worker::functional::STEPS,
};

/// Steps on the charts' axes before training.
const FIRST: f64 = 300.0;

const NAMES: [Text; 4] = [
    text!("14 × 14 pixels"),
    text!("28 × 28 pixels"),
    text!("1,000 random cosines of the pixels"),
    text!("scattering features"),
];

const NOISES: [Text; 4] =
    [text!("Gaussian"), text!("Gaussian, by relevance"), text!("Laplace, δ = 0"), text!("Hidden steps")];

/// The fold; `None` in an embedded page, which stores no books.
pub fn panel(page: Page) -> Option<AnyView> {
    if browser::is_embedded() {
        return None;
    }
    let once = page.pay_once;
    Some(fold(page, ["pay-once", t!("Pay once, train for ever")], once.open, once.linked, inside))
}

fn inside(page: Page) -> AnyView {
    let once = page.pay_once;
    let busy = move || matches!(once.paid.get(), Paid::Summing(_)) || once.trains.get();
    let others = bool_memo(move || !page.can_pay_once());
    let waits = move || {
        busy()
            || others.get()
            || !page.digits.loaded.with(|digits| digits.as_ref().is_some_and(|digits| digits.complete))
    };
    let released = move || matches!(once.paid.get(), Paid::Released(_));
    // A model that was trained in secret cannot go on: its next steps would cost again.
    let ended = move || match once.paid.get() {
        Paid::Released(made) => made.mechanism == Mechanism::Hidden,
        _ => once.mechanism.get() == Mechanism::Hidden,
    };
    let about = move || match once.mechanism.get() {
        Mechanism::Hidden => t!(
            "A simple classifier is trained on all digits, with noise in every step, and nobody sees a model but the last. So ε levels off, however many steps there are. With DP-SGD, every model is seen."
        ),
        _ => t!(
            "The sums that a simple classifier needs are released once, with noise. Training on them then costs nothing, however long it takes: no step is in a ledger. With DP-SGD, every step is."
        ),
    };
    let release = move || if released() { t!("Release again, and pay again") } else { t!("Release once") };
    let save = move |_| {
        once.ledger.with_value(|json| browser::download("hushgrad-ledger.json", "application/json", json.as_bytes()));
    };
    view! {
        <p>{text_fn(about)}</p>
        <p class="field-error" hidden=bool_fn(move || !others.get())>{ONCE_NEEDS.get()}</p>
        <div class="once">{features(page)}{noise(page)}{epsilon(page)}</div>
        <div class="once-buttons">
            <button type="button" class="primary" data-testid="pay" disabled=bool_fn(waits) on:click=on_click(move |_| page.pay_once())>{text_fn(release)}</button>
            <button type="button" data-testid="train-on" hidden=bool_fn(ended) disabled=bool_fn(move || !released() || busy()) on:click=on_click(move |_| once.train_on())>{t!("{n} more steps, free", n = STEPS)}</button>
            <button type="button" data-testid="once-ledger" disabled=bool_fn(move || !released()) on:click=on_click(save)>{t!("Save its ledger")}</button>
        </div>
        {view_fn(move || standing(page))}
        {chart(page, Frame { title: t!("Test accuracy, paid once"), file: "paid-once-accuracy", height: 150.0, full: true }, move || accuracy(page))}
        <div data-testid="once-spent">{chart(page, Frame { title: t!("ε spent: once, and step by step"), file: "paid-once-epsilon", height: 130.0, full: true }, move || spent(page))}</div>
        {adlm(page)}
    }
    .into_any()
}

/// A `<select>` of options: key in links, name, and whether it is selected.
fn choice(
    [id, label, says]: [&'static str; 3],
    offered: Vec<(&'static str, &'static str, bool)>,
    choose: impl Fn(&str) + 'static,
) -> AnyView {
    let options = offered
        .into_iter()
        .map(|(key, name, chosen)| view! { <option value=key selected=chosen>{name}</option> }.into_any())
        .collect::<Vec<_>>();
    let choose = move |event: leptos::ev::Event| choose(&event_target_value(&event));
    labelled(
        id,
        "label".to_owned(),
        label.into_any(),
        [label, says],
        view! { <select id=id data-testid=id on:change=on_event(choose)>{options}</select> }.into_any(),
    )
}

fn features(page: Page) -> AnyView {
    let chosen = page.pay_once.features;
    let offer = |(features, name): (&Features, Text)| (features.key(), name.get(), chosen.get_untracked() == *features);
    choice(
        [
            "once-features",
            t!("Features"),
            t!(
                "How an image is described: by a fixed map, made without private images, as a vector of length at most 1. More features tell more, and share the same noise."
            ),
        ],
        Features::ALL.iter().zip(NAMES).map(offer).collect(),
        move |key| Features::by_key(key).into_iter().for_each(|features| chosen.set(features)),
    )
}

fn noise(page: Page) -> AnyView {
    let chosen = page.pay_once.mechanism;
    let offer =
        |(mechanism, name): (&Mechanism, Text)| (mechanism.key(), name.get(), chosen.get_untracked() == *mechanism);
    choice(
        [
            "once-noise",
            t!("Noise, paid once"),
            t!(
                "Gaussian noise meets ε at the δ in the settings; Laplace noise needs no δ, but is wider. By relevance: features that matter more on drawn digits get more of an image's length, so noise affects them less. Hidden steps: nothing is released but the last model of a training on all digits, so ε stops growing with its steps."
            ),
        ],
        Mechanism::ALL.iter().zip(NOISES).map(offer).collect(),
        move |key| Mechanism::by_key(key).into_iter().for_each(|mechanism| chosen.set(mechanism)),
    )
}

fn epsilon(page: Page) -> AnyView {
    let once = page.pay_once;
    let shown = text_memo(move || format::field(once.epsilon.get()));
    let set = move |event: leptos::ev::Event| match Number::Budget.parse(&format::neutral(&event_target_value(&event)))
    {
        // An empty field returns to its value.
        Ok(epsilon) => {
            page.messages.clear(Origin::PayOnce);
            once.epsilon.update(|now| *now = epsilon.unwrap_or(*now));
        }
        Err(error) => page.messages.put(Origin::PayOnce, error.to_string()),
    };
    labelled(
        "once-epsilon",
        "label".to_owned(),
        t!("ε, paid once").into_any(),
        [t!("ε, paid once"), t!("What the one release costs. The noise is calibrated to it; Gaussian noise by its exact curve at the δ in the settings.")],
        view! { <input type="text" inputmode="decimal" id="once-epsilon" data-testid="once-epsilon" prop:value=text_fn(move || shown.get()) on:change=on_event(set) /> }
            .into_any(),
    )
}

/// The paper behind the idea, and why its published version has no guarantee.
fn adlm(page: Page) -> AnyView {
    let reasons = [
        t!(
            "A network reads each image, not only their sum. The noise is calibrated for the sum of 1,800 images: for one image it costs ε ≈ 10.8 each time it is shown, but only 0.075 is charged."
        ),
        t!(
            "All images of a batch get the same noise. Subtract one from another, and it is gone: no finite ε covers that."
        ),
        t!("New noise is drawn in every step, but charged only once."),
        t!(
            "Relevance is averaged over 2,000 images, but its noise is calibrated for 60,000: 30 times too little. Its scaling has no noise at all, and the network it is read from has seen the private images."
        ),
        t!(
            "The noise on the label part is drawn once, but the labels are read in every step. Batch normalisation mixes the images of a batch."
        ),
    ];
    let reasons: Vec<AnyView> = reasons.into_iter().map(|reason| view! { <li>{reason}</li> }.into_any()).collect();
    view! {
        <details class="adlm" data-testid="adlm">
            <summary>{t!("AdLM as published: claimed ε = 0.30, no guarantee")}" "{teaching()}</summary>
            <p>{t!("Phan, Wu, Hu and Dou (2017) pay once for a whole neural network: noise on the relevance of each pixel, on the images and on the loss, charged once for 2,400 epochs. Their published code does not match what is charged:")}</p>
            <ol type="a">{reasons}</ol>
            {shared_noise(page)}
            <p>{t!("The panel above keeps the idea, for a classifier that reads the digits only through sums.")}</p>
        </details>
    }
    .into_any()
}

/// Two digits with the same noise, and their difference, which cancels it.
fn shared_noise(page: Page) -> AnyView {
    /// Scale of the noise, in ranges of a pixel.
    const WIDE: f64 = 2.0;
    let pictures = [
        t!("one image of a batch, with its noise"),
        t!("another, with the same noise"),
        t!("their difference, twice as strong: no noise is left"),
    ];
    let nodes: [NodeRef<html::Canvas>; 3] = std::array::from_fn(|_| NodeRef::new());
    let people = move || page.inspected();
    let noise: Vec<f64> = (0..PIXELS)
        .map(|_| {
            let size = -WIDE * js_sys::Math::log(1.0 - js_sys::Math::random());
            if js_sys::Math::random() < 0.5 { -size } else { size }
        })
        .collect();
    effect(move || {
        let Some(people) = people().filter(|people| people.lot.labels.len() > 1) else { return };
        let digit = |place: usize, at: usize| f64::from(people.lot.digit(place)[at]) / 255.0;
        let of: [&dyn Fn(usize) -> f64; 3] = [&|at| digit(0, at) + noise[at], &|at| digit(1, at) + noise[at], &|at| {
            WIDE * (digit(0, at) - digit(1, at))
        }];
        for (node, of) in nodes.iter().zip(of) {
            let grey = |at: usize| {
                let grey = (128.0 + 32.0 * of(at)).clamp(0.0, 255.0) as u8;
                [grey, grey, grey, 255]
            };
            if let Some(canvas) = node.get() {
                put(&canvas, &(0..PIXELS).flat_map(grey).collect::<Vec<u8>>(), 28, 28);
            }
        }
    });
    let picture = |(node, says): (NodeRef<html::Canvas>, &'static str)| {
        view! { <li><canvas node_ref=node width="28" height="28" role="img" aria-label=says></canvas><span aria-hidden="true">{says}</span></li> }.into_any()
    };
    let pictures: Vec<AnyView> = nodes.into_iter().zip(pictures).map(picture).collect();
    view! {
        <ul class="pictures shared-noise" hidden=bool_fn(move || people().is_none())>{pictures}</ul>
    }
    .into_any()
}

/// The state of the release and of the training.
fn standing(page: Page) -> Option<AnyView> {
    let once = page.pay_once;
    match once.paid.get() {
        Paid::Nothing => None,
        Paid::Summing(share) => {
            let done = format::fixed(share, 3);
            Some(view! { <progress aria-label=t!("Adding up the digits") max="1" value=done></progress> }.into_any())
        }
        Paid::Released(wanted) => {
            let last = once.curve.with(|curve| curve.last().copied());
            let hidden = wanted.mechanism == Mechanism::Hidden;
            let paid = if hidden {
                t!(
                    "Paid: ε ≤ {epsilon} at δ = {delta}, for replacing one digit by another, by the last model of {n} steps. The models before it were never shown.",
                    epsilon = format::budget(wanted.epsilon),
                    delta = format::number(wanted.delta),
                    n = format::integer(HIDDEN_STEPS)
                )
            } else {
                t!(
                    "Paid: ε ≤ {epsilon} at δ = {delta}, once, for {n} features and ten outputs.",
                    epsilon = format::budget(wanted.epsilon),
                    delta = format::number(if wanted.mechanism == Mechanism::Laplace { 0.0 } else { wanted.delta }),
                    n = format::integer(wanted.features.dimension() as u64)
                )
            };
            let so_far = last.map(|(step, accuracy)| match hidden {
                true => t!("It reads {accuracy} of the test digits right.", accuracy = format::percent(accuracy)),
                false => t!(
                    "{n} step so far, 0 in the ledger: {accuracy} of the test digits are read right. | {n} steps so far, 0 in the ledger: {accuracy} of the test digits are read right.",
                    n = format::integer(step as u64),
                    accuracy = format::percent(accuracy)
                ),
            });
            let of = page.digits.loaded.with_untracked(|digits| digits.as_ref().map(|digits| digits.test_set));
            let caution = of.filter(|of| *of != TestSet::Public).map(|_| {
                view! { <p>{t!("ε does not cover what this accuracy reveals about your own test digits.")}</p> }
                    .into_any()
            });
            let together = page.runs.together.with(heard);
            Some(
                view! { <p class="verdict-line" data-testid="paid">{paid}" "{so_far}" "{together}</p>{caution} }
                    .into_any(),
            )
        }
    }
}

fn steps(lines: &[Line]) -> Range {
    let high = lines.iter().filter_map(|line| line.points.last()).map(|point| point.0).fold(FIRST, f64::max);
    Range { low: 0.0, high, logarithmic: false, label: t!("step"), write: Write::Whole }
}

fn accuracy(page: Page) -> Drawing {
    page.charts.tick.track();
    let line = |class, name: &'static str, points| Line { class, name: name.to_owned(), points };
    let lines = vec![
        line("line-accuracy", t!("this run"), page.run.curves.with_value(|curves| curves.accuracy.points().to_vec())),
        line("line-n3", t!("paid once"), page.pay_once.curve.get()),
    ];
    let summary = match lines[1].points.last() {
        Some((step, accuracy)) => t!(
            "Test accuracy by step: {accuracy} at step {step}.",
            accuracy = format::percent(*accuracy),
            step = format::exact(*step)
        ),
        None => t!("Test accuracy by step: nothing trained yet.").to_owned(),
    };
    let y = Range { low: 0.0, high: 1.0, logarithmic: false, label: t!("accuracy"), write: Write::Percent };
    Drawing { x: steps(&lines), y, lines, shape: Shape::Lines, summary }
}

/// ε by step: constant if paid once; rising for the current run or, before it starts, the plan.
fn spent(page: Page) -> Drawing {
    page.charts.tick.track();
    let once = page.pay_once;
    let [shown, hidden] = once.epsilons.get();
    if !hidden.is_empty() {
        let line = |class, name: &'static str, points| Line { class, name: name.to_owned(), points };
        let lines = vec![
            line("line-epsilon", t!("if every model were shown"), shown),
            line("line-n3", t!("as only the last is shown"), hidden),
        ];
        return drawn(
            lines,
            0.0,
            t!("If every model were shown, ε would grow with each step; as only the last one is, it levels off.")
                .to_owned(),
        );
    }
    let own = page.run.curves.with_value(|curves| curves.tight.points().to_vec());
    let (name, rising) = if own.len() > 1 {
        (t!("DP-SGD, this run"), own)
    } else {
        (t!("DP-SGD, current settings"), page.cost.tight.get())
    };
    let mut lines = vec![Line { class: "line-epsilon", name: name.to_owned(), points: rising }];
    let epsilon = match once.paid.get() {
        Paid::Released(wanted) => wanted.epsilon,
        _ => once.epsilon.get(),
    };
    let after = once.curve.with(|curve| curve.last().map_or(0.0, |point| point.0));
    let high = steps(&lines).high.max(after);
    lines.push(Line {
        class: "line-n3",
        name: t!("paid once").to_owned(),
        points: vec![(0.0, epsilon), (high, epsilon)],
    });
    let summary = t!(
        "Paid once, the cost stays at ε = {epsilon}; with DP-SGD it grows with every step.",
        epsilon = format::budget(epsilon)
    );
    drawn(lines, after, summary)
}

/// A chart of ε by step, at least to step `after`.
fn drawn(lines: Vec<Line>, after: f64, summary: String) -> Drawing {
    let x = steps(&lines);
    let x = Range { high: x.high.max(after), ..x };
    let highest = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.0, f64::max);
    let y = Range {
        low: 0.0,
        high: axis::nice_end(highest * 1.02, 4),
        logarithmic: false,
        label: "ε",
        write: Write::Epsilon,
    };
    Drawing { x, y, lines, shape: Shape::Lines, summary }
}
