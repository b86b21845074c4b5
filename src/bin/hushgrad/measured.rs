//! Shared by commands that measure: running a plan to its end, and statistics over runs.

use std::fmt::Write as _;

use hushgrad::{
    data::Dataset,
    engine::{AnyEngine, Engine as _, EngineError, EngineFactory, cross_entropy},
    train::{error::SessionError, plan::Plan, session::Session},
};
use sha2::{Digest as _, Sha256};

/// Steps after which programs that compute differently have different parameters.
const FIRST_STEPS: u64 = 3;

/// Trains to the end of the plan.
///
/// # Errors
/// If the run cannot be created, or fails.
pub async fn trained(factory: &EngineFactory, plan: Plan, train: &Dataset) -> Result<Session<AnyEngine>, SessionError> {
    up_to(factory, plan, train, u64::MAX).await
}

/// Returns the SHA-256 of a replayed run's parameters after its first steps, in hexadecimal. Any
/// change of configuration, data or program that affects the run changes it.
///
/// # Errors
/// If the run cannot be created, or fails.
pub async fn fingerprint(factory: &EngineFactory, plan: Plan, train: &Dataset) -> Result<String, SessionError> {
    let mut session = up_to(factory, plan, train, FIRST_STEPS).await?;
    let mut digest = Sha256::new();
    for value in &session.engine().state().await?.parameters {
        digest.update(value.to_le_bytes());
    }
    Ok(hex(digest.finalize()))
}

async fn up_to(
    factory: &EngineFactory,
    plan: Plan,
    train: &Dataset,
    steps: u64,
) -> Result<Session<AnyEngine>, SessionError> {
    let engine = factory.build(&plan.task, train, &plan.initial_parameters()).await?;
    let mut session = Session::new(plan, engine)?;
    while !session.complete() && session.step_count() < steps {
        session.step().await?;
    }
    Ok(session)
}

/// Returns the commit of the checkout in the working directory, marked if files differ from it.
pub fn commit() -> Option<String> {
    let git =
        std::process::Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=10"]).output().ok()?;
    git.status.success().then(|| String::from_utf8_lossy(&git.stdout).trim().to_owned())
}

/// Formats a digest in hexadecimal.
pub fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the mean cross-entropy over `data`, in nats.
///
/// # Errors
/// The device is lost.
pub async fn loss(engine: &mut AnyEngine, data: &Dataset) -> Result<f64, EngineError> {
    Ok(cross_entropy(&engine.scores(data).await?, &data.labels))
}

/// Returns mean and standard deviation (n − 1; 0 for a single value).
pub fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}
