//! JAX Privacy: scripts. Its records are events of dp_accounting.

use super::{
    python::float,
    script::{Layer, Script, Wired},
    to_dp_event,
};
use crate::error::PrivacyError;

const LANGUAGE: &str = "JAX Privacy";

/// Writes a run as a script in Python for JAX Privacy 2.0, Flax and dp_accounting 0.6, which trains
/// the same network by the same mechanism, and prints ε by dp_accounting's PLD accountant.
///
/// # Errors
/// [`PrivacyError::Unsayable`]: a ledger other than of DP-SGD with Poisson sampling and Gaussian noise.
pub fn jax_privacy_script(script: &Script<'_>) -> Result<String, PrivacyError> {
    let phases = script.phases(LANGUAGE)?;
    let values = [("{PHASES}", phases), ("{EVENT}", to_dp_event(script.ledger)?)];
    script.whole(LANGUAGE, include_str!("jax_privacy.py"), include_str!("jax_privacy_train.py"), &values, line)
}

fn line((layer, _): &Wired) -> String {
    match *layer {
        Layer::Convolution { filters, kernel, stride, padding } => {
            format!("nn.Conv({filters}, ({kernel}, {kernel}), {stride}, {padding}, kernel_init=glorot)")
        }
        Layer::MaxPool { window, stride } => pool("max", window, stride),
        Layer::AveragePool { window, stride } => pool("avg", window, stride),
        Layer::Dense { outputs } => format!("nn.Dense({outputs}, kernel_init=glorot)"),
        Layer::Flatten => "lambda x: x.reshape(len(x), -1)".to_owned(),
        Layer::Tanh => "nn.tanh".to_owned(),
        Layer::Relu => "nn.relu".to_owned(),
        Layer::Elu => "nn.elu".to_owned(),
        Layer::Logistic(s, t, o) => format!("lambda x: {} * nn.sigmoid({} * x) - {}", float(s), float(t), float(o)),
    }
}

fn pool(kind: &str, window: usize, stride: usize) -> String {
    format!("lambda x: nn.{kind}_pool(x, ({window}, {window}), ({stride}, {stride}))")
}
