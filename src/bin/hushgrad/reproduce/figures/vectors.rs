//! Measurements of gradients for figures 1 and 6, on training images; MNIST's are public.

use std::sync::Arc;

use hushgrad::{
    accounting::{
        envelope::EnvelopeProfile,
        ledger::{Release, Sensitivity},
        noise::NoiseSpec,
        rdp::RdpCurve,
        sampling::Sampling,
    },
    engine::{Engine, Performance, StepInput, Task, cpu::CpuEngine, reference::inputs},
    mechanism::{EncoderSpec, EnvelopeShape, envelope::Envelope},
    model::{Architecture, reference},
    rng::NotPrivateReplay,
    train::plan::Plan,
};
use indicatif::ProgressBar;
use rand::rand_core::Rng as _;
use serde::{Deserialize, Serialize};

use super::trial::{Data, Fault, Training, Trial};

/// Number of training images whose gradients are measured.
const EXAMPLES: usize = 200;
/// Bins of magnitudes from 10^−8 to 10, each a quarter of a power of ten wide.
pub const LOWEST: f64 = -8.0;
pub const WIDTH: f64 = 0.25;
const BINS: usize = 36;
/// Rényi divergences of order 2 of one unsampled release, at which noises are compared.
pub const DIVERGENCES: [f64; 8] = [0.1, 0.2, 0.3, 0.4, 0.5, 1.0, 2.0, 4.0];

/// Coordinates of per-example gradients at a point in training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Spectrum {
    pub step: u64,
    /// Share of coordinates in each bin of magnitudes.
    pub shares: Vec<f64>,
    /// Share of coordinates below all bins; most are exactly zero.
    pub zeros: f64,
    /// Mean cosine of a gradient's sorted magnitudes with a sorted vector of |N(0, 1)|.
    pub cosine: f64,
    /// Mean L2 norm.
    pub norm: f64,
}

/// Measures gradients at the start, after an epoch, and after a quarter, half and all of a run.
///
/// # Errors
/// If the run fails.
pub fn gradients(trial: &Trial, data: &Data, bar: &ProgressBar) -> Result<Vec<Spectrum>, Fault> {
    let model = trial.config.model;
    // From the start, because measurements before an interruption are not saved.
    let mut training = Training::open(trial, data, None)?;
    let epochs = training.stops().len() - 1;
    let chosen = [0, 1, epochs / 4, epochs / 2, epochs];
    let mut found = vec![];
    for epoch in 0..=epochs {
        let Some(point) = training.advance(bar)? else { break };
        if chosen.contains(&epoch) {
            found.push(spectrum(model, &training.parameters()?, data, point.step)?);
        }
    }
    Ok(found)
}

fn spectrum(model: Architecture, parameters: &[f32], data: &Data, step: u64) -> Result<Spectrum, Fault> {
    let train = data.whole.train.slice(0..EXAMPLES);
    let psi = Envelope::draw(EnvelopeShape::Gaussian, 1, parameters.len(), 0)?;
    let mut gradient = vec![0.0f32; parameters.len()];
    let (mut counts, mut zeros, mut cosine, mut norm) = (vec![0u64; BINS], 0u64, 0.0, 0.0);
    for i in 0..train.len() {
        reference::gradient(model, parameters, &inputs(model, train.image(i)), train.labels[i], &mut gradient);
        let mut magnitudes: Vec<f32> = gradient.iter().map(|g| g.abs()).collect();
        magnitudes.sort_unstable_by(|a, b| b.total_cmp(a));
        for &magnitude in &magnitudes {
            let bin = (f64::from(magnitude).log10() - LOWEST) / WIDTH;
            // False for the logarithm of 0.
            if bin >= 0.0 { counts[(bin as usize).min(BINS - 1)] += 1 } else { zeros += 1 }
        }
        let length = magnitudes.iter().map(|&g| f64::from(g).powi(2)).sum::<f64>().sqrt();
        let product: f64 = magnitudes.iter().zip(psi.vector(0)).map(|(&g, &p)| f64::from(g) * f64::from(p)).sum();
        norm += length / train.len() as f64;
        cosine += product / length.max(f64::MIN_POSITIVE) / train.len() as f64;
    }
    let all = (train.len() * parameters.len()) as f64;
    let shares = counts.iter().map(|&count| count as f64 / all).collect();
    Ok(Spectrum { step, shares, zeros: zeros as f64 / all, cosine, norm })
}

/// Distance of noisy sums from exact ones, for one noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Distance {
    pub noise: NoiseSpec,
    /// Rényi divergence of order 2 of one unsampled release, by which the scale was chosen.
    pub divergence: f64,
    /// Mean over coordinates of |noisy − raw| of sums over a lot, one per draw of lot and noise.
    pub from_raw: Vec<f64>,
    /// The same from the sum of encoded gradients: the effect of noise alone.
    pub from_encoded: Vec<f64>,
}

/// Returns the compared noise families at scale 1, with their names.
pub fn families() -> [(&'static str, NoiseSpec); 5] {
    [
        ("Gaussian", NoiseSpec::Gaussian { sigma: 1.0 }),
        ("Student-t, ν = 9", NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }),
        ("Laplace", NoiseSpec::Laplace { scale: 1.0 }),
        ("hyperbolic secant", NoiseSpec::HyperbolicSecant { scale: 1.0 }),
        ("variance gamma", NoiseSpec::VarianceGamma { scale: 1.0 }),
    ]
}

/// Compares all families at each divergence after `trial`, under `encoder`, on the same lots.
///
/// # Errors
/// If the run or the accountant fails.
pub fn distances(
    trial: &Trial,
    encoder: &EncoderSpec,
    draws: u64,
    data: &Data,
    bar: &ProgressBar,
) -> Result<Vec<Distance>, Fault> {
    let mut training = Training::open(trial, data, None)?;
    while training.advance(bar)?.is_some() {}
    let parameters = training.parameters()?;
    let train = &data.whole.train;
    let plan = Plan::new(trial.config.clone(), train.len() as u32)?;
    let EncoderSpec::Envelope { shape, vectors, seed, .. } = *encoder else {
        return Err("distances are measured only with an envelope".into());
    };
    let envelope = Arc::new(Envelope::draw(shape, vectors, parameters.len(), seed)?);
    let profile = EnvelopeProfile::from_vectors((0..envelope.vectors()).map(|i| envelope.vector(i)))?;
    let mut found = vec![];
    for (_, family) in families() {
        for divergence in DIVERGENCES {
            let noise = noise_of(divergence, &family, &profile)?;
            let task = Task {
                encoder: encoder.clone(),
                envelope: Some(Arc::clone(&envelope)),
                noise: Some(noise.clone()),
                ..Task::without_privacy(trial.config.model)
            };
            let performance = Performance { chunk: None, threads: Some(1) };
            let mut engine = CpuEngine::new(task, train.clone(), &parameters, performance)?;
            let (mut from_raw, mut from_encoded) = (vec![], vec![]);
            for draw in 0..draws {
                let mut rng = NotPrivateReplay::new(draw);
                let mut lot = vec![];
                plan.sampling.sampler(train.len() as u64)?.draw(&mut rng, &mut lot);
                let noise_key = std::array::from_fn(|_| rng.next_u32());
                // At rate 0 the model does not change.
                let trace = pollster::block_on(engine.traced_step(StepInput::alone(&lot, noise_key, 0.0)))?;
                from_raw.push(mean_distance(&trace.noisy, &trace.raw));
                from_encoded.push(mean_distance(&trace.noisy, &trace.encoded));
            }
            found.push(Distance { noise, divergence, from_raw, from_encoded });
        }
    }
    Ok(found)
}

fn mean_distance(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(a - b).abs()).sum::<f64>() / a.len() as f64
}

/// Scales the family to this Rényi divergence of order 2, which is about ∝ 1/scale².
fn noise_of(divergence: f64, family: &NoiseSpec, profile: &EnvelopeProfile) -> Result<NoiseSpec, Fault> {
    let mut noise = family.clone();
    for _ in 0..12 {
        let sensitivity = Sensitivity::Envelope { profile: profile.clone() };
        let release = Release::new(Sampling::Poisson { rate: 1.0 }, sensitivity, Some(noise.clone()));
        let found = RdpCurve::of(&release)?.at(2.0).filter(|found| found.is_finite() && *found > 0.0);
        let excess = found.ok_or("no divergence of order 2 is known")? / divergence;
        if (excess - 1.0).abs() < 1e-6 {
            return Ok(noise);
        }
        noise = noise.with_scale(noise.scale() * excess.sqrt());
    }
    Err(format!("no scale of {} has divergence {divergence}", family.family()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noises_are_scaled_to_the_requested_divergence() {
        let psi = vec![1.0 / 100f32.sqrt(); 100];
        let profile = EnvelopeProfile::from_vectors([&psi[..]]).unwrap();
        // D₂ of a Gaussian release is ‖ψ‖²/σ².
        for divergence in DIVERGENCES {
            let noise = noise_of(divergence, &families()[0].1, &profile).unwrap();
            assert!((noise.scale() * divergence.sqrt() - 1.0).abs() < 1e-5, "{divergence}: {noise:?}");
            for (name, family) in families() {
                assert!(noise_of(divergence, &family, &profile).is_ok(), "{name} at {divergence}");
            }
        }
    }
}
