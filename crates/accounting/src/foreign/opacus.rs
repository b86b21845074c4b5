//! Opacus: the state of its accountants.

use hushgrad_message::{Message, ToMessage as _, message};
use serde::Deserialize;

use super::{
    python::float,
    script::{Layer, Script, Wired},
};
use crate::{
    dp_sgd,
    error::{PrivacyError, json_fault},
    ledger::Ledger,
    rdp::check_kind_count,
};

/// Noise multiplier, sampling rate and number of steps, by phase.
type History = Vec<(f64, f64, u64)>;

/// The state of an accountant of Opacus 1.0 to 1.6.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    history: History,
    #[serde(alias = "accountant")]
    mechanism: Option<String>,
}

/// Reads the JSON of an Opacus accountant: its `history` alone, or its `state_dict()` with the
/// mechanism's name as text. The steps are taken to be Poisson-sampled, as in Opacus' default
/// (`poisson_sampling=True`).
///
/// ```
/// use hushgrad_accounting::{books::account, foreign::opacus};
///
/// let ledger = opacus(r#"{"history": [[1.1, 0.0042, 3515]], "mechanism": "prv"}"#)?;
/// let epsilon = account(&ledger, 1e-5)?.tight.expect("a tight bound").value;
/// assert_eq!(format!("{epsilon:.3}"), "1.114");
/// # Ok::<(), hushgrad_accounting::PrivacyError>(())
/// ```
///
/// # Errors
/// Not such a state, an accountant that is not one of Opacus' three (`rdp`, `gdp`, `prv`), or a
/// phase that cannot have happened, with its place; [`PrivacyError::TooManyKinds`].
pub fn opacus(text: &str) -> Result<Ledger, PrivacyError> {
    let fail = |place: Message, problem: Message| PrivacyError::Ledger { place, problem };
    let json = |error: serde_json::Error| {
        fail(message!("line {}, column {}", error.line(), error.column()), json_fault(&error))
    };
    let history: History = if text.trim_start().starts_with('[') {
        serde_json::from_slice(text.as_bytes()).map_err(json)?
    } else {
        let State { history, mechanism } = serde_json::from_slice(text.as_bytes()).map_err(json)?;
        if let Some(other) = mechanism.filter(|name| !["rdp", "gdp", "prv"].contains(&name.as_str())) {
            return Err(fail(
                "mechanism".into(),
                message!("is {other:?}; the accountants of Opacus are rdp, gdp and prv"),
            ));
        }
        history
    };
    let mut ledger = Ledger::new();
    for (place, (noise_multiplier, rate, steps)) in history.into_iter().enumerate() {
        let step = dp_sgd::step(noise_multiplier, rate);
        let there = |error: PrivacyError| fail(Message::text(format!("history[{place}]")), error.to_message());
        ledger.append([(step, steps)]).map_err(there)?;
        check_kind_count(ledger.releases().len(), 0)?;
    }
    ledger.validate()?;
    Ok(ledger)
}

const LANGUAGE: &str = "Opacus";

/// Writes a run as a script in Python for Opacus 1.6, which trains the same network by the same
/// mechanism, and prints ε by Opacus' PRV accountant.
///
/// # Errors
/// [`PrivacyError::Unsayable`]: a ledger other than of DP-SGD with Poisson sampling and Gaussian noise.
pub fn opacus_script(script: &Script<'_>) -> Result<String, PrivacyError> {
    let values = [("{PHASES}", script.phases(LANGUAGE)?)];
    script.whole(LANGUAGE, include_str!("opacus.py"), include_str!("opacus_train.py"), &values, line)
}

fn line((layer, input): &Wired) -> String {
    match *layer {
        Layer::Convolution { filters, kernel, stride, padding } => {
            format!("nn.Conv2d({input}, {filters}, {kernel}, {stride}, {padding})")
        }
        Layer::MaxPool { window, stride } => format!("nn.MaxPool2d({window}, {stride})"),
        Layer::AveragePool { window, stride } => format!("nn.AvgPool2d({window}, {stride})"),
        Layer::Dense { outputs } => format!("nn.Linear({input}, {outputs})"),
        Layer::Flatten => "nn.Flatten()".to_owned(),
        Layer::Tanh => "nn.Tanh()".to_owned(),
        Layer::Relu => "nn.ReLU()".to_owned(),
        Layer::Elu => "nn.ELU()".to_owned(),
        Layer::Logistic(s, t, o) => format!("Logistic({}, {}, {})", float(s), float(t), float(o)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_its_steps() {
        let phases = [(1.1, 0.0042, 3515), (0.8, 0.01, 20)].map(|(z, q, steps)| (dp_sgd::step(z, q), steps));
        let expected = Ledger::of(phases).unwrap();
        let history = "[[1.1, 0.0042, 3515], [0.8, 0.01, 20]]";
        for text in [
            history.to_owned(),
            format!(r#"{{"history": {history}, "mechanism": "prv"}}"#),
            format!(r#"{{"accountant": "rdp", "history": {history}}}"#),
            format!(r#"{{"history": {history}}}"#),
        ] {
            assert_eq!(opacus(&text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_history_is_refused_with_its_place() {
        for (text, place) in [
            ("", "line 1"),
            ("{}", "line"),
            (r#"{"history": [[1.1, 0.0042]]}"#, "line"),
            (r#"{"history": [[1.1, 0.0042, -1]]}"#, "line"),
            (r#"{"history": [[1.1, 0.0042, 3.5]]}"#, "line"),
            (r#"{"history": [[1.1, 0.0042, 10]], "sampler": "shuffled"}"#, "line"),
            (r#"{"history": [[1.1, 0.0042, 10]], "mechanism": "mine"}"#, "mechanism"),
            (r#"[[1.1, 0.0042, 10], [0, 0.0042, 10]]"#, "history[1]"),
            (r#"[[1.1, 1.5, 10]]"#, "history[0]"),
            (r#"[[1.1, 0.5, 9007199254740993]]"#, "events[0].count"),
        ] {
            let error = opacus(text).unwrap_err().to_string();
            assert!(error.contains(place), "{text}: {error}");
        }
        let phases: Vec<_> = (0..100_000).map(|i| (1.0 + 1e-6 * f64::from(i), 0.01, 1)).collect();
        let error = opacus(&serde_json::to_string(&phases).unwrap()).unwrap_err();
        assert!(matches!(error, PrivacyError::TooManyKinds { .. }), "{error}");
    }
}
