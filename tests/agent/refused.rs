//! Impossible runs from links: each is refused with a sentence, before a step.

use hushgrad::{
    ui::link,
    worker::protocol::{BackendChoice, DataRequest, Event, Request},
};

use super::Thread;

/// Settings of a run of a hundred steps on 25,000 synthetic digits, and part of the sentence.
const REFUSED: [(&str, &str); 24] = [
    ("model=linear&lot=512&sigma=1&canaries=9000", "each needs its own model parameter (7850)"),
    ("model=linear&lot=512&sigma=1&canaries=100&replay=1", "so an audit proves nothing"),
    ("model=linear&lot=512&sigma=1&canaries=100&micro-batch=4", "a canary is a record by itself"),
    ("model=linear&lot=512&sigma=1&canaries=100&bands=4", "cannot score noise that is correlated"),
    ("model=linear&lot=512&sigma=1&canaries=100&metrics=0.05", "a canary has no digit to be counted"),
    ("model=linear&lot=512&sigma=1&canaries=20&encoder=envelope&break=double-clip", "one clip for the whole gradient"),
    ("model=linear&lot=512&sigma=1&canaries=20&break=count-unpaid", "choose a clip that follows the norms"),
    ("model=linear&lot=512&sigma=1&canaries=20&clip-quantile=0.5&break=drawn-lot", "needs a fixed clip"),
    ("lot=400&bands=8&denoiser=james-stein", "spreads differently at each"),
    ("lot=400&bands=8&grid-bits=8", "a grid rounds noise as it is drawn"),
    ("lot=10&bands=101", "at most the number of steps, 100"),
    ("lot=2000&bands=90", "or a lot would be larger than a group"),
    (
        "lot=8&sigma=2&clip-quantile=0.5&clip-count-noise=0.1",
        "counts with less noise cost more than the noise scale allows",
    ),
    ("lot=8&sigma=2&metrics=0.2", "counts with less noise cost more than the noise scale allows"),
    ("lot=64&clip-quantile=0.5&grid-bits=10", "cannot be rounded to a grid"),
    ("lot=64&metrics=0.1&bands=2&steps=10", "choose 1 band"),
    ("lot=30&micro-batch=31", "between 2 and the lot size, 30"),
    ("lot=400&micro-batch=8&sampling=fixed-size", "may belong to another micro-batch"),
    ("lot=60&users=50", "between 1 and the 50 users"),
    ("lot=60&users=999999", "training examples"),
    ("lot=60&users=600&sampling=fixed-size", "another micro-batch or user"),
    ("model=mlp&lot=400&sigma=2&encoder=layers&layer-norms=0.5%200", "at least 1e-9"),
    ("model=mlp&lot=400&sigma=2&encoder=layers&layer-norms=0.5%20nought", "at least 1e-9"),
    ("model=mlp&lot=400&sigma=2&encoder=layers&layer-norms=0.5%201%202", "or 2, one for each layer of the model"),
];

#[test]
fn impossible_runs_are_refused_before_a_step() {
    let mut thread = Thread::new(Vec::new());
    thread.ask(Request::Open { backend: BackendChoice::Cpu, cores: None, keep: true, lots: true });
    thread.load(DataRequest::Synthetic { seed: 1, train: 25_000, test: 100 });
    for (query, says) in REFUSED {
        let (link, problems) = link::read(&format!("?dataset=synthetic&steps=100&{query}"));
        assert_eq!(problems, Vec::<String>::new(), "{query}");
        let (config, broken) = link.settings.what_runs();
        thread.ask(Request::Start { config: Box::new(config), broken });
        let events = thread.ask_and_settle(Request::StepOnce);
        let [problem, ..] = Thread::problems(&events)[..] else { panic!("{query}: {events:?}") };
        assert!(problem.sentence.contains(says), "{query}: {}", problem.sentence);
        assert!(!events.iter().any(|e| matches!(e, Event::Started(_) | Event::Report(..))), "{query}: {events:?}");
    }
}
