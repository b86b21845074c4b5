//! Other libraries' records of a training, read as a [`Ledger`] and written.
//!
//! | library | read | written |
//! | --- | --- | --- |
//! | dp_accounting (TensorFlow Privacy, JAX Privacy) | [`dp_event`] | [`to_dp_event`] |
//! | Opacus | [`opacus`] | [`opacus_script`] |
//! | JAX Privacy | [`dp_event`] | [`jax_privacy_script`] |
//!
//! What a ledger cannot say exactly is refused with its place, and so is what the other library
//! cannot say.

mod dp_event;
mod jax_privacy;
mod opacus;
mod python;
mod script;

use crate::{error::PrivacyError, ledger::Ledger};

pub use self::{
    dp_event::{dp_event, to_dp_event},
    jax_privacy::jax_privacy_script,
    opacus::{opacus, opacus_script},
    script::{Layer, Script, Training},
};

/// Reads a ledger, or another library's record, recognised by its content: a JSON ledger, the JSON of
/// an Opacus accountant ([`opacus`]), or an event of dp_accounting ([`dp_event`]).
///
/// # Errors
/// As [`Ledger::from_json`], [`opacus`] or [`dp_event`].
pub fn read(text: &str) -> Result<Ledger, PrivacyError> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: Option<serde::de::IgnoredAny>,
        history: Option<serde::de::IgnoredAny>,
    }
    if dp_event::is_event(text) {
        return dp_event(text);
    }
    let is_opacus = text.trim_start().starts_with('[')
        || serde_json::from_slice::<Head>(text.as_bytes())
            .is_ok_and(|head| head.format.is_none() && head.history.is_some());
    if is_opacus { opacus(text) } else { Ledger::from_json(text) }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::{books::account, dp_sgd};

    /// ε of tutorials' settings, by dp_accounting (`tests/golden/tutorials.py`).
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct Tutorial {
        source: String,
        noise_multiplier: f64,
        lot: f64,
        examples: f64,
        steps: u64,
        delta: f64,
        rdp: f64,
        pld_pessimistic: f64,
        pld_optimistic: f64,
        event: String,
    }

    #[test]
    fn tutorials_cost_what_dp_accounting_says() {
        let all: Vec<Tutorial> = serde_json::from_str(include_str!("../../tests/golden/tutorials.json")).unwrap();
        assert_eq!(all.len(), 20);
        for tutorial in all {
            let step = dp_sgd::step(tutorial.noise_multiplier, tutorial.lot / tutorial.examples);
            let ledger = Ledger::of([(step, tutorial.steps)]).unwrap();
            assert_eq!(read(&tutorial.event).unwrap(), ledger, "{}", tutorial.source);
            let cost = account(&ledger, tutorial.delta).unwrap();
            let (tight, renyi) = (cost.tight.unwrap().value, cost.improved.epsilon);
            let said = format!("{}: tight {tight}, Rényi {renyi}", tutorial.source);
            assert!(tight >= tutorial.pld_optimistic, "{said}");
            assert!((tight / tutorial.pld_pessimistic - 1.0).abs() < 0.005, "{said}");
            // Of more orders, so not above.
            assert!(renyi >= tutorial.pld_optimistic && renyi < tutorial.rdp * (1.0 + 1e-9), "{said}");
        }
    }

    fn script(ledger: &Ledger) -> Script<'_> {
        let pool = Layer::MaxPool { window: 2, stride: 1 };
        let layers = vec![
            Layer::Convolution { filters: 4, kernel: 3, stride: 2, padding: 1 },
            Layer::Tanh,
            pool,
            Layer::Logistic(2.0, 2.0, 1.0),
            Layer::AveragePool { window: 2, stride: 2 },
            Layer::Elu,
            Layer::Dense { outputs: 8 },
            Layer::Relu,
            Layer::Dense { outputs: 3 },
        ];
        let training =
            Training { examples: 64, channels: 1, side: 9, clip: 0.5, learning_rate: 0.25, momentum: 0.5, layers };
        let epsilon = account(ledger, 1e-5).unwrap().tight.unwrap().value;
        Script { ledger, delta: 1e-5, epsilon, training: Some(training) }
    }

    /// Runs a script with the Python of `HUSHGRAD_OPACUS_PYTHON`, if it has the module.
    fn ran(module: &str, text: &str, epsilon: f64) {
        let python = std::env::var("HUSHGRAD_OPACUS_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let run = |words: &[&str]| Command::new(&python).args(words).output();
        if !run(&["-c", &format!("import {module}")]).is_ok_and(|out| out.status.success()) {
            println!("skipped: {python} has no {module}");
            return;
        }
        let folder = std::env::temp_dir().join(format!("hushgrad-{module}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        std::fs::write(path("run.py"), text).unwrap();
        let arrays = "import sys, numpy as np; r = np.random.default_rng(0); x = r.integers(0, 256, (64, 9, 9)).astype(np.uint8); y = r.integers(0, 3, 64).astype(np.uint8); np.savez(sys.argv[1], x_train=x, y_train=y, x_test=x, y_test=y)";
        assert!(run(&["-c", arrays, &path("images.npz")]).unwrap().status.success());
        let out = run(&[&path("run.py"), &path("images.npz")]).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let (said, problem) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success() && said.contains("test accuracy"), "{said}{problem}");
        let own = said.split("ε = ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        let own: f64 = own.parse().unwrap();
        println!("{module}: {said}");
        assert!((own / epsilon - 1.0).abs() < 0.01, "{own} {epsilon}");
    }

    #[test]
    fn scripts_train_and_print_the_same_epsilon() {
        let ledger = Ledger::of([(dp_sgd::step(1.1, 0.125), 7), (dp_sgd::step(1.5, 0.01), 5)]).unwrap();
        let script = script(&ledger);
        ran("opacus", &opacus_script(&script).unwrap(), script.epsilon);
        ran("jax_privacy", &jax_privacy_script(&script).unwrap(), script.epsilon);
    }

    #[test]
    fn what_a_script_cannot_say_is_refused() {
        use crate::{
            ledger::{Release, Sensitivity},
            noise::NoiseSpec,
            sampling::Sampling,
        };
        let step = |sampling, noise| Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, noise);
        let poisson = Sampling::Poisson { rate: 0.1 };
        let fixed = Sampling::FixedSize { population: 10, size: 5 };
        for (release, says) in [
            (step(poisson, None), "no noise"),
            (step(poisson, Some(NoiseSpec::Laplace { scale: 1.0 })), "Laplace"),
            (step(fixed, Some(NoiseSpec::Gaussian { sigma: 1.0 })), "fixed size"),
        ] {
            let ledger = Ledger::of([(release, 3)]).unwrap();
            let script = Script { ledger: &ledger, delta: 1e-5, epsilon: 1.0, training: None };
            for refused in [opacus_script(&script), jax_privacy_script(&script)] {
                let error = refused.unwrap_err().to_string();
                assert!(error.contains("cannot say releases[0]") && error.contains(says), "{error}");
            }
        }
        let ledger = Ledger::of([(dp_sgd::step(1.0, 0.1), 3)]).unwrap();
        let whole = script(&ledger);
        let layers = vec![Layer::Dense { outputs: 3 }, Layer::MaxPool { window: 2, stride: 2 }];
        let training = whole.training.clone().map(|training| Training { layers, ..training });
        let error = opacus_script(&Script { training, ..whole }).unwrap_err().to_string();
        assert!(error.contains("do not fit"), "{error}");
    }

    #[test]
    fn a_record_is_recognised_by_its_content() {
        let expected = Ledger::of([(dp_sgd::step(1.1, 0.0042), 3515)]).unwrap();
        for text in [
            expected.to_json(),
            "[[1.1, 0.0042, 3515]]".to_owned(),
            r#"{"mechanism": "rdp", "history": [[1.1, 0.0042, 3515]]}"#.to_owned(),
            to_dp_event(&expected).unwrap(),
        ] {
            assert_eq!(read(&text).unwrap(), expected, "{text}");
        }
        for (text, says) in [("", "not valid JSON"), ("{}", "format"), ("hello", "not valid JSON"), ("[1]", "line 1")] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
