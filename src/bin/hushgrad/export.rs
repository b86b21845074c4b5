//! `hushgrad export`: a run or a ledger in the words of another library.

use std::{error::Error, path::PathBuf};

use hushgrad::{
    accounting::{
        books::account,
        foreign::{self, Layer, Script, Training},
    },
    mechanism::EncoderSpec,
    model::{
        Activation, Architecture,
        layers::{LayerList, LayerSpec, Pooling},
    },
    train::{config::RunConfig, run_file::RunCard},
};
use serde_json::Value;

use super::{given, out::say};

#[derive(clap::Args)]
pub struct Arguments {
    /// Run file, ledger, or another library's record, as `hushgrad account` reads them
    file: PathBuf,
    #[arg(long = "as", value_enum, value_name = "FORMAT")]
    form: Form,
    /// δ of a ledger; a run file has its own [default: 1e-5]
    #[arg(long)]
    delta: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Form {
    /// An event of dp_accounting, as TensorFlow Privacy and JAX Privacy use
    DpEvent,
    /// A script for Opacus: trains the same, and prints ε (of a ledger alone: prints ε)
    Opacus,
    /// The same for JAX Privacy
    JaxPrivacy,
    /// A ledger of hushgrad
    Ledger,
}

/// Why a run cannot be written as a script.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error(
        "a script cannot say {what} of this run; export its ledger (--as ledger) and then that, for a script that computes ε alone"
    )]
    Setting { what: String },
}

/// Writes the file in the chosen form to standard output.
///
/// # Errors
/// If the file cannot be read, or the form cannot say it.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let given = given::run_or_ledger(&arguments.file)?;
    let delta = given::delta(&given, arguments.delta)?;
    let card = given.card.clone();
    let ledger = given.into_ledger(&arguments.file.display().to_string())?;
    let text = match arguments.form {
        Form::DpEvent => foreign::to_dp_event(&ledger)?,
        Form::Ledger => ledger.to_json(),
        Form::Opacus | Form::JaxPrivacy => {
            let cost = account(&ledger, delta)?;
            let epsilon = cost.tight.map_or(cost.improved.epsilon, |tight| tight.value);
            let training = card.as_ref().map(training).transpose()?;
            let script = Script { ledger: &ledger, delta, epsilon, training };
            if arguments.form == Form::Opacus {
                foreign::opacus_script(&script)?
            } else {
                foreign::jax_privacy_script(&script)?
            }
        }
    };
    say(text.trim_end())
}

/// What a run trains, if it is plain DP-SGD.
fn training(card: &RunCard) -> Result<Training, ExportError> {
    let config = &card.config;
    let refused = |what: String| ExportError::Setting { what };
    if let Some(field) = peculiar(config).first() {
        return Err(refused(format!("its setting {field}")));
    }
    let EncoderSpec::Clip { norm: clip } = config.encoder else { return Err(refused("its encoder".to_owned())) };
    let list = match config.model {
        Architecture::Built(list) => list,
        named => named.written().parse::<LayerList>().map_err(|error| refused(error.to_string()))?,
    };
    let mut layers = Vec::new();
    for placed in list.placed() {
        let padding = placed.geometry.map_or(0, |geometry| geometry.padding);
        layers.push(match placed.spec {
            LayerSpec::Convolution { filters, kernel, stride, .. } => {
                Layer::Convolution { filters: filters.into(), kernel: kernel.into(), stride: stride.into(), padding }
            }
            LayerSpec::Pool { kind, window, stride } => {
                let (window, stride) = (window.into(), stride.into());
                match kind {
                    Pooling::Max => Layer::MaxPool { window, stride },
                    Pooling::Average => Layer::AveragePool { window, stride },
                }
            }
            LayerSpec::Dense { outputs } => Layer::Dense { outputs: outputs.into() },
            LayerSpec::Flatten => Layer::Flatten,
            LayerSpec::Activation(Activation::Tanh) => Layer::Tanh,
            LayerSpec::Activation(Activation::Relu) => Layer::Relu,
            LayerSpec::Activation(Activation::Elu) => Layer::Elu,
            LayerSpec::Activation(other) => {
                let [s, t, o] = other.logistic().unwrap_or([1.0, 1.0, 0.0]);
                Layer::Logistic(s, t, o)
            }
            LayerSpec::Features(_) | LayerSpec::GroupNorm { .. } | LayerSpec::BatchNorm => {
                return Err(refused(format!("the features or normalisation in its network ({list})")));
            }
        });
    }
    let picture = list.picture();
    Ok(Training {
        examples: card.train.into(),
        channels: picture.channels.into(),
        side: picture.side.into(),
        clip,
        learning_rate: config.learning_rate,
        momentum: config.momentum,
        layers,
    })
}

/// The settings beyond plain DP-SGD, by name. Noise and sampling are the ledger's.
fn peculiar(config: &RunConfig) -> Vec<String> {
    let plain = RunConfig {
        model: config.model,
        encoder: config.encoder.clone(),
        noise: config.noise.clone(),
        lot: config.lot,
        sampling: config.sampling,
        learning_rate: config.learning_rate,
        momentum: config.momentum,
        steps: config.steps,
        delta: config.delta,
        init_seed: config.init_seed,
        ..RunConfig::default()
    };
    match (serde_json::to_value(config), serde_json::to_value(plain)) {
        (Ok(Value::Object(own)), Ok(plain)) => {
            own.into_iter().filter(|(field, value)| plain.get(field) != Some(value)).map(|(field, _)| field).collect()
        }
        _ => vec!["of an unknown kind".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushgrad::train::config::{Averaging, Schedule};

    #[test]
    fn settings_that_a_script_cannot_say_are_named() {
        assert!(peculiar(&RunConfig { momentum: 0.9, learning_rate: 3.0, ..RunConfig::default() }).is_empty());
        let run = RunConfig {
            averaging: Averaging::Exponential,
            schedule: Schedule::Linear { to: 0.1 },
            grid_bits: Some(9),
            ..RunConfig::default()
        };
        let mut named = peculiar(&run);
        named.sort();
        assert_eq!(named, ["averaging", "grid-bits", "schedule"]);
    }
}
