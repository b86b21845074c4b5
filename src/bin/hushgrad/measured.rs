//! What commands that measure have in common: a run to its end, and what several came to.

use hushgrad::{
    data::Dataset,
    engine::{AnyEngine, Engine as _, EngineError, EngineFactory, cross_entropy},
    train::{error::SessionError, plan::Plan, session::Session},
};

/// Trains to the end of the plan.
///
/// # Errors
/// When the run cannot be made, or fails.
pub async fn trained(factory: &EngineFactory, plan: Plan, train: &Dataset) -> Result<Session<AnyEngine>, SessionError> {
    let engine = factory.build(&plan.task, train, &plan.initial_parameters()).await?;
    let mut session = Session::new(plan, engine)?;
    while !session.complete() {
        session.step().await?;
    }
    Ok(session)
}

/// Mean cross-entropy over `data`, in nats.
///
/// # Errors
/// When the device is lost.
pub async fn loss(engine: &mut AnyEngine, data: &Dataset) -> Result<f64, EngineError> {
    Ok(cross_entropy(&engine.scores(data).await?, &data.labels))
}

/// Mean and standard deviation (n − 1; 0 where there is but one).
pub fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}
