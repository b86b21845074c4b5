//! `hushgrad attack invert`: reconstructs an image from one gradient, with increasing noise.

use std::error::Error;

use hushgrad::{
    accounting::{
        decimal::upper,
        noise::{NoiseError, NoiseSpec},
    },
    attack::{
        Estimate,
        inversion::{Inverted, OneGradient, UNITS, collapse},
    },
    model::pixel,
    rng::NotPrivateReplay,
};
use rand::rand_core::Rng as _;
use serde_json::json;

use super::{bar, setup::Data};
use crate::out::say;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    data: Data,
    /// Number of the first training image to reconstruct, counted from 0
    #[arg(long, default_value_t = 0)]
    image: usize,
    /// How many consecutive images
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    images: u32,
    /// Noise on each coordinate, in multiples of the clip; 0: none
    #[arg(long, value_name = "SIGMA,…", value_delimiter = ',', default_values_t = [0.0, 0.003, 0.01, 0.03, 0.05, 0.1, 1.1])]
    sigma: Vec<f64>,
    /// Hidden units of the perceptron, 2 to 128; `--model mlp` of `train` has 128
    #[arg(long, default_value_t = UNITS)]
    units: u32,
    #[arg(long, default_value_t = 1e-5)]
    delta: f64,
    /// Noise draws per image
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    draws: u32,
    /// Seed of the initial parameters and the noise
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one line of JSON per noise level, with the reconstructions of the first image
    #[arg(long)]
    json: bool,
}

/// Inverts the gradients.
///
/// # Errors
/// A sentence that says what to change.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let Arguments { image: first, images, units, delta, draws, seed, json, .. } = *arguments;
    let train = arguments.data.train()?;
    let gradients = (first..first.saturating_add(images as usize))
        .map(|place| {
            if place >= train.len() {
                return Err(format!(
                    "--image: there is no image {place}; the {} training images are counted from 0",
                    train.len()
                )
                .into());
            }
            let image: Vec<f32> = train.image(place).iter().map(|&byte| pixel(byte)).collect();
            Ok(OneGradient::new(&image, train.labels[place], units, seed)?)
        })
        .collect::<Result<Vec<OneGradient>, Box<dyn Error>>>()?;
    // Invalid noise is refused before any output.
    let noises = arguments.sigma.iter().map(|&sigma| {
        let noise = (sigma != 0.0).then_some(NoiseSpec::Gaussian { sigma });
        noise.as_ref().map(NoiseSpec::build).transpose()?;
        Ok((sigma, noise))
    });
    let noises = noises.collect::<Result<Vec<_>, NoiseError>>()?;
    if !json {
        say(&format!(
            "{images} images of {}, one clipped gradient each of a perceptron of {units} units; the image is lost at about σ = {:.3}\n\
             σ          cosine with the image    expected    by the quotient    ε of this one step at δ = {delta:e}",
            train.name,
            collapse(units)
        ))?;
    }
    let mut rng = NotPrivateReplay::new(seed);
    let bar = bar(json, "noise levels")?;
    bar.set_length(noises.len() as u64);
    for (sigma, noise) in noises {
        let mut all: Vec<Inverted> = Vec::new();
        for gradient in &gradients {
            for _ in 0..draws {
                let key = std::array::from_fn(|_| rng.next_u32());
                all.push(gradient.invert(noise.as_ref(), &key, delta)?);
            }
        }
        bar.inc(1);
        let mean = |of: fn(&Inverted) -> f64| Estimate::mean(&all.iter().map(of).collect::<Vec<_>>());
        let cosine = mean(|inverted| inverted.by_singular_vector.cosine);
        let quotient = mean(|inverted| inverted.by_quotient.cosine);
        let expected = mean(|inverted| inverted.expected.unwrap_or(f64::NAN));
        let Some(example) = all.first() else { continue };
        if json {
            let line = json!({
                "sigma": sigma, "cosine": cosine, "by-quotient": quotient, "expected": expected.value, "epsilon-at-most": example.epsilon, "delta": delta,
                "picture": example.by_singular_vector.picture(), "picture-by-quotient": example.by_quotient.picture(),
            });
            say(&line.to_string())?;
            continue;
        }
        let epsilon = if example.epsilon.is_finite() { upper(example.epsilon, 4) } else { "∞".to_owned() };
        bar.suspend(|| {
            say(&format!(
                "{sigma:<9}  {:.3} ± {:.3}            {:.3}       {:.3}              {epsilon}",
                cosine.value, cosine.standard_error, expected.value, quotient.value
            ))
        })?;
    }
    bar.finish_and_clear();
    Ok(())
}
