//! From a privacy budget to noise: each family's least scale that keeps ε, and the least error.
//!
//! `cargo run -p hushgrad-accounting --example calibrate [-- EPSILON]`

use hushgrad_accounting::{
    calibrate::{self, Method, Target},
    envelope::EnvelopeProfile,
    ledger::{Release, Sensitivity},
    noise::NoiseSpec,
    rdp::Orders,
    report::describe,
    sampling::Sampling,
    search::{Criterion, search},
};

const STEPS: u64 = 1000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let epsilon = std::env::args().nth(1).map_or(Ok(2.0), |text| text.parse())?;
    let target = |method| Target { epsilon, delta: 1e-5, method, orders: Orders::All };
    let sampling = Sampling::Poisson { rate: 0.01 };
    println!("ε ≤ {epsilon} at δ = 1e-5, {STEPS} steps at rate 0.01.\n");

    let gaussian = NoiseSpec::Gaussian { sigma: 1.0 };
    let step = Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(gaussian.clone()));
    println!("Clipped to norm 1, the least σ of Gaussian noise:");
    for (name, method) in [("classic", Method::Classic), ("improved", Method::Improved), ("tight", Method::Tight)] {
        let found = calibrate::noise_scale(&step, STEPS, &target(method))?;
        println!("  {name:<8}  σ = {:.4}, which costs {:.5}", found.value, found.epsilon);
    }
    let doubled = Release { noise: Some(gaussian.with_scale(2.0)), ..step };
    println!("At σ = 2: {} steps at most,", calibrate::steps(&doubled, &target(Method::Tight))?.value);
    println!("or the rate {:.5} at most.\n", calibrate::rate(&doubled, STEPS, &target(Method::Tight))?.value);

    // If one coordinate dominates, the noise's shape matters.
    let psi: Vec<f64> = (1..=20).map(|i| 0.9 / f64::from(i * i)).collect();
    let profile = EnvelopeProfile::from_vectors_f64([psi.as_slice()])?;
    let step = Release::new(sampling, Sensitivity::Envelope { profile }, None);
    let families = [
        gaussian,
        NoiseSpec::Laplace { scale: 1.0 },
        NoiseSpec::StudentT { nu: 9.0, scale: 1.0 },
        NoiseSpec::HyperbolicSecant { scale: 1.0 },
    ];
    let ranking = search(&step, STEPS, &target(Method::Improved), Criterion::MeanAbsolute, &families)?;
    println!("Inside an envelope, by mean absolute error:");
    for candidate in ranking.found {
        println!("  {:.4}  {}", candidate.error, describe(&candidate.noise));
    }
    for (noise, reason) in ranking.refused {
        println!("  none for {}: {reason}", noise.family());
    }
    Ok(())
}
