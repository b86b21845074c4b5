//! Tests of the shipped lessons.

use super::{
    super::lesson_text::{fill, names},
    *,
};
use crate::{
    data::sharing::Sharing,
    train::config::SamplingPolicy,
    ui::{
        link,
        settings::{Choice as _, DenoiserKind, Encoder, Family, Settings},
    },
};

const TEXT: &str = include_str!("../../../www/lessons.txt");
/// Names for which the page gives [`fill`] a value.
const NAMES: [&str; 56] = [
    "lot",
    "train",
    "sigma",
    "clip",
    "noise",
    "noise-length",
    "rate",
    "q",
    "steps",
    "planned",
    "delta",
    "epsilon",
    "epsilon-1",
    "classic",
    "improved",
    "found",
    "found-1",
    "mu",
    "mu-1",
    "order",
    "exp-epsilon",
    "parameters",
    "factor",
    "floor",
    "accuracy",
    "accuracy-1",
    "accuracy-2",
    "accuracy-3",
    "accuracy-open",
    "turned",
    "turned-open",
    "pays-most",
    "tight",
    "projected",
    "projected-classic",
    "of-one",
    "of-all",
    "nu",
    "exponent",
    "density",
    "pre-scale",
    "momentum",
    "smoothing",
    "memory",
    "bands",
    "micro-batch",
    "users",
    "local-steps",
    "local-rate",
    "p",
    "norm-0",
    "norm-1",
    "norm-2",
    "if-shown",
    "hidden",
    "hidden-accuracy",
];

/// Names whose values belong to a run.
const OF_RUNS: [&str; 17] = [
    "steps",
    "mu",
    "epsilon",
    "classic",
    "improved",
    "found",
    "order",
    "exp-epsilon",
    "factor",
    "accuracy",
    "accuracy-open",
    "turned",
    "turned-open",
    "pays-most",
    "norm-0",
    "norm-1",
    "norm-2",
];

fn is_of_run(name: &str) -> bool {
    let run = name.rsplit_once('-').filter(|(_, place)| place.parse::<usize>().is_ok()).map_or(name, |(what, _)| what);
    OF_RUNS.contains(&name) || OF_RUNS.contains(&run)
}

#[test]
fn every_lesson_is_whole() {
    let set = LessonSet::read(TEXT).unwrap();
    // Numbers are positions and addresses (`?lesson=7.2`): an inserted lesson changes old links.
    let keys: Vec<&str> = set.lessons.iter().map(|lesson| lesson.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "why-noise",
            "one-step",
            "composition",
            "denoising",
            "shape-of-noise",
            "bigger",
            "claims",
            "fairness",
            "same-epsilon",
            "what-helps",
            "who-is-one",
            "pay-once",
            "attacked",
            "mistakes"
        ]
    );
    for lesson in &set.lessons {
        assert!((5..=8).contains(&lesson.steps.len()), "{}", lesson.key);
        assert!(lesson.steps[0].set.is_some(), "{} would take what the lesson before has left", lesson.key);
        for (at, step) in lesson.steps.iter().enumerate() {
            let name = format!("{}: {}", lesson.key, step.title);
            assert!(!step.parts.is_empty() || step.question.is_some(), "{name} says nothing");
            assert!(["results", "step", "setup", "lab", ""].contains(&step.show.as_str()), "{}", step.show);
            let scene = lesson.scene(at);
            for query in std::iter::once(scene.set).chain(scene.also.iter().map(String::as_str)) {
                assert_eq!(link::read(query).1, Vec::<String>::new(), "{name}");
            }
            for query in scene.also {
                assert!(link::read(query).0.settings.steps.is_some(), "{name} compares with a run without an end");
            }
            let texts =
                step.parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None });
            let named: Vec<&str> = texts.flat_map(|text| names(text)).collect();
            let of_secret = named.iter().any(|name| ["if-shown", "hidden", "hidden-accuracy"].contains(name));
            assert!(!of_secret || scene.until == Until::Once, "{name}");
            for name_of in named.into_iter().filter(|name| is_of_run(name)) {
                let place =
                    name_of.rsplit_once('-').filter(|(what, _)| ["accuracy", "epsilon", "found", "mu"].contains(what));
                match place.and_then(|(_, place)| place.parse::<usize>().ok()) {
                    Some(place) => assert!(place <= scene.also.len(), "{name}: {name_of}"),
                    None => assert!(
                        matches!(scene.until, Until::Step | Until::End),
                        "{name}: {name_of} of a run that is not begun"
                    ),
                }
            }
            for part in &step.parts {
                if let Part::Formula(key) = part {
                    assert!(set.formula(key).is_some(), "{key}");
                }
            }
            // Questions are shown at once, so they may not state numbers of a run.
            if let Some(asked) = &step.question {
                let all = asked.choices.iter().flat_map(|choice| [&choice.text, &choice.why]);
                for text in all.chain([&asked.ask, &asked.answer]) {
                    assert!(!text.is_empty() && names(text).all(|name| !is_of_run(name)), "{name}: {text}");
                }
                assert!((2..=4).contains(&asked.choices.len()), "{name}");
                assert_eq!(asked.choices.iter().filter(|choice| choice.right).count(), 1, "{name}");
            }
        }
        let last = &lesson.steps[lesson.steps.len() - 1];
        assert!(last.question.is_some(), "{}", lesson.key);
    }
}

/// Returns the panel that contains a hook's element; empty if it is above all panels.
fn panel_of(hook: &str) -> &'static str {
    match hook {
        "projection" | "projection-shared" | "denoiser" | "noise-over-run" | "lot" => "setup",
        "knob" | "norm-0" | "norm-1" | "norm-2" | "norm-3" => "step",
        "digit-pad" | "epsilon-meaning" | "odds" | "runs" | "counted" | "groups" | "by-digit" | "pulls" | "pay"
        | "once-spent" | "adlm" | "attack" | "town" => "results",
        "lab" | "lab-verdict" | "lab-psi" | "lab-formula" => "lab",
        "accuracy" | "epsilon" => "",
        _ => panic!("{hook} is in no known panel"),
    }
}

#[test]
fn steps_point_into_the_panel_they_show() {
    for lesson in LessonSet::read(TEXT).unwrap().lessons {
        for step in lesson.steps {
            let panel = step.point.as_deref().map_or("", panel_of);
            let shown = if step.show.is_empty() { "results" } else { step.show.as_str() };
            assert!(panel.is_empty() || panel == shown, "{}: {} shows {shown}", lesson.key, step.title);
        }
    }
}

/// All kinds of settings that conditions distinguish.
fn kinds() -> impl Iterator<Item = Settings> {
    let all = Encoder::ALL.iter().flat_map(|&encoder| Family::ALL.iter().map(move |&family| (encoder, family)));
    all.flat_map(|(encoder, family)| {
        let kind = move |&denoiser: &DenoiserKind| {
            let (poisson, fixed, shuffled) =
                (SamplingPolicy::Poisson, SamplingPolicy::FixedSize, SamplingPolicy::Shuffled);
            let others = [
                (None, 0.0, poisson),
                (Some(1), 0.0, fixed),
                (None, 0.9, fixed),
                (None, 0.0, shuffled),
                (None, 0.0, SamplingPolicy::RandomAllocation),
            ];
            let banded = Settings { encoder, family, denoiser, bands: 4, ..Settings::default() };
            let others = others.map(|(replay, momentum, sampling)| Settings {
                encoder,
                family,
                denoiser,
                replay,
                momentum,
                sampling,
                ..Settings::default()
            });
            let bounds = [Some(600), None].map(|users| Settings { users, micro_batch: 4, bands: 1, ..banded.clone() });
            others.into_iter().chain([banded]).chain(bounds)
        };
        DenoiserKind::ALL.iter().flat_map(kind)
    })
}

#[test]
fn the_formulas_of_a_run_are_those_of_its_mechanism() {
    const LAWS: [&str; 11] = [
        "gaussian",
        "correlated",
        "correlated-layers",
        "gaussian-unclipped",
        "student-t",
        "laplace",
        "variance-gamma",
        "hyperbolic-secant",
        "generalized-gaussian",
        "cauchy",
        "custom",
    ];
    let set = LessonSet::read(TEXT).unwrap();
    assert_eq!(TEXT.lines().filter(|line| line.starts_with("% ")).count(), set.formulas.len());
    assert!(set.formulas.len() <= 64, "the page keeps a bit for each");
    for settings in kinds() {
        let met: Vec<&Formula> = set.formulas.iter().filter(|each| settings.meet(&each.condition)).collect();
        let count = |of: &dyn Fn(&str) -> bool| met.iter().filter(|each| of(&each.key)).count();
        let says = |what: &str| met.iter().any(|each| each.formula.contains(what) || each.explanation.contains(what));
        let noisy = settings.family != Family::None;
        let clips = settings.encoder == Encoder::Clip;
        let does = if noisy { settings.denoiser.does() } else { "nothing" };
        let scales = does == "scale";
        assert_eq!(count(&|key| key.starts_with("step")), 1, "{settings:?}");
        assert_eq!(count(&|key| LAWS.contains(&key)), usize::from(noisy), "{settings:?}");
        assert_eq!(says("N(0"), settings.family == Family::Gaussian, "{settings:?}");
        assert_eq!((says("{clip}"), says("clip(")), (clips, clips), "{settings:?}");
        assert_eq!(says("lay("), settings.encoder == Encoder::Layers, "{settings:?}");
        assert_eq!(says("enc(") && says("{pre-scale}"), settings.encoder == Encoder::Envelope, "{settings:?}");
        assert_eq!((says("{factor}"), says("η·D·")), (scales, scales), "{settings:?}");
        assert_eq!(says("η·D("), does == "change", "{settings:?}");
        let own = DenoiserKind::ALL.iter().filter(|kind| **kind != DenoiserKind::None);
        let own = own.filter(|kind| met.iter().any(|each| each.condition == format!("denoiser={}", kind.key())));
        let expected = (noisy && settings.denoiser != DenoiserKind::None).then_some(&settings.denoiser);
        assert_eq!(own.collect::<Vec<_>>(), Vec::from_iter(expected), "{settings:?}");
        assert_eq!(says("{epsilon}"), settings.no_guarantee().is_none(), "{settings:?}");
        assert_eq!(says("{momentum}"), settings.config().momentum > 0.0, "{settings:?}");
        let bounded = settings.no_guarantee().is_none();
        for (sampling, own) in [
            (SamplingPolicy::Poisson, "Each image takes part with probability"),
            (SamplingPolicy::FixedSize, "exactly {lot} of {train} images"),
            (SamplingPolicy::Shuffled, "one batch of every epoch"),
            (SamplingPolicy::RandomAllocation, "by a draw that nobody sees"),
        ] {
            let alone = settings.config().bands == 1;
            let each = alone && !(settings.sharing().is_shared() && sampling == SamplingPolicy::Poisson);
            assert_eq!(says(own), bounded && each && settings.sampling == sampling, "{settings:?}");
            assert_eq!((says("{bands}"), says("{p}")), (!alone, !alone && bounded), "{settings:?}");
        }
        let shared = settings.sharing();
        assert_eq!(says("of a micro-batch B"), matches!(shared, Sharing::MicroBatches { .. }), "{settings:?}");
        assert_eq!(says("of one of {users} users"), settings.users.is_some(), "{settings:?}");
        assert_eq!(says("Each micro-batch or user takes part"), bounded && shared.is_shared(), "{settings:?}");
        assert_eq!(says("that differ in one user"), bounded && settings.users.is_some(), "{settings:?}");
        assert_eq!(says("exchanged"), bounded && settings.sampling == SamplingPolicy::FixedSize, "{settings:?}");
        assert!(noisy || !(says(" Z") || says("{noise}")), "{settings:?}");
    }
    let used = |key: &str| TEXT.lines().any(|line| line == format!("@formula {key}"));
    let shown = |formula: &Formula| used(&formula.key) || kinds().any(|settings| settings.meet(&formula.condition));
    assert!(set.formulas.iter().all(shown), "a formula that nothing shows");
    let mut keys: Vec<&str> = set.formulas.iter().map(|formula| formula.key.as_str()).collect();
    keys.sort_unstable();
    assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "a key of two formulas");
}

#[test]
fn every_name_in_braces_is_known() {
    let unknown = std::cell::RefCell::new(vec![]);
    let _filled = fill(TEXT, |name| {
        if !NAMES.contains(&name) {
            unknown.borrow_mut().push(name.to_owned());
        }
        None
    });
    assert_eq!(unknown.into_inner(), Vec::<String>::new());
}

#[test]
fn links_are_found_and_scenes_go_on() {
    let set = LessonSet::read(TEXT).unwrap();
    for (at, lesson) in set.lessons.iter().enumerate() {
        for name in [lesson.key.clone(), (at + 1).to_string()] {
            assert_eq!((set.find(&name), set.find(&format!("{name}.2"))), (Some((at, 0)), Some((at, 1))), "{name}");
        }
    }
    assert_eq!(set.find("denoising.99"), Some((3, set.lessons[3].steps.len() - 1)));
    assert_eq!((set.find("nothing"), set.find("0"), set.find("99")), (None, None, None));
    let set = LessonSet::read(
        "# a | A\n## 1\n@set x=1\n@also y=1\n@run 1\n## 2\n@run all\n## 3\n@set x=2\n@ask Q?\n@choice + Yes | So.\n@choice - No | Not.\n@answer A.",
    ).unwrap();
    let lesson = &set.lessons[0];
    let also = ["y=1".to_owned()];
    assert_eq!(lesson.scene(0), Scene { set: "x=1", also: &also, until: Until::Step });
    assert_eq!(lesson.scene(1), Scene { set: "x=1", also: &also, until: Until::End });
    assert_eq!(lesson.scene(2), Scene { set: "x=2", also: &[], until: Until::Set });
    let asked = lesson.steps[2].question.as_ref().unwrap();
    let read: Vec<_> = asked.choices.iter().map(|choice| (choice.right, &*choice.text, &*choice.why)).collect();
    assert_eq!(read, [(true, "Yes", "So."), (false, "No", "Not.")]);
    assert_eq!((&*asked.ask, &*asked.answer), ("Q?", "A."));
    for (text, line) in [("junk", 1), ("\n# a | A\n## 1\n@do x", 4), ("# a", 1), ("# a | A\nText.", 2), ("% b | c", 1)]
    {
        assert_eq!(LessonSet::read(text), Err(LessonError { line }), "{text}");
    }
}

/// Returns the kind of a line with its untranslated parts, and the names in it.
fn bones(line: &str) -> (String, Vec<&str>) {
    let mut asked: Vec<&str> = names(line).collect();
    asked.sort_unstable();
    let kind = match line.split_once(' ') {
        Some((mark @ ("@ask" | "@answer" | "##"), _)) => mark.to_owned(),
        Some(("@choice", rest)) => format!("@choice {}", &rest[..1]),
        Some(("#", rest)) => rest.split(" | ").next().unwrap_or_default().to_owned(),
        Some((mark, _)) if mark.starts_with('@') => line.to_owned(),
        _ => String::new(),
    };
    (kind, asked)
}

#[test]
fn lessons_are_the_same_in_every_language() {
    for other in [include_str!("../../../www/lessons.de.txt")] {
        for (at, (english, own)) in TEXT.lines().zip(other.lines()).enumerate() {
            assert_eq!(bones(english), bones(own), "line {}", at + 1);
            assert_eq!(english.is_empty(), own.is_empty(), "line {}", at + 1);
            assert_eq!(english.matches(" | ").count(), own.matches(" | ").count(), "line {}", at + 1);
            assert!(names(english).next().is_none() || english != own, "line {} has no translation", at + 1);
        }
        assert_eq!(TEXT.lines().count(), other.lines().count());
        let [english, own] = [TEXT, other].map(|text| LessonSet::read(text).unwrap());
        assert_eq!((english.lessons.len(), english.formulas.len()), (own.lessons.len(), own.formulas.len()));
        for (english, own) in english.lessons.iter().zip(&own.lessons) {
            assert_eq!((&english.key, english.steps.len()), (&own.key, own.steps.len()));
        }
    }
}
