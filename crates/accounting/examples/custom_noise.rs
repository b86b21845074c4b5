//! Noise by formula or table, priced under an envelope against Gaussian noise of equal variance.
//!
//! `cargo run -p hushgrad-accounting --example custom_noise [-- FORMULA]` (symmetric, unimodal)

use hushgrad_accounting::{
    PrivacyError,
    books::Books,
    decimal::upper,
    envelope::EnvelopeProfile,
    ledger::{Ledger, Release, Sensitivity},
    noise::{CustomDensity, NoiseSpec},
    pld::Rigor,
    sampling::Sampling,
};

const DELTA: f64 = 1e-5;
const STEPS: u64 = 300;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Thirty coordinates; the i-th largest is at most 0.8/i.
    let psi: Vec<f64> = (1..=30).map(|i| 0.8 / f64::from(i)).collect();
    let profile = EnvelopeProfile::from_vectors_f64([psi.as_slice()])?;
    println!("An envelope of norm {:.3}; {STEPS} steps at rate 0.02; δ = {DELTA:e}.\n", profile.norm());

    let formula = std::env::args().nth(1).unwrap_or_else(|| "exp(-x) / (1 + exp(-x))^2".to_owned());
    let table = [(0.0, 1.0), (0.5, 0.9), (1.0, 0.6), (2.0, 0.15), (4.0, 0.005), (6.0, 0.0002)];
    let densities =
        [CustomDensity::from_formula(&formula)?, CustomDensity::from_points("a table of six points", &table)?];

    for density in densities {
        let name = density.source().to_owned();
        let noise = NoiseSpec::Custom { density, scale: 1.0 };
        let sigma = noise.build()?.standard_deviation();
        print(&name, &profile, noise)?;
        print(&format!("Gaussian of its standard deviation, {sigma:.3}"), &profile, NoiseSpec::Gaussian { sigma })?;
    }
    Ok(())
}

fn print(name: &str, profile: &EnvelopeProfile, noise: NoiseSpec) -> Result<(), PrivacyError> {
    let sensitivity = Sensitivity::Envelope { profile: profile.clone() };
    let step = Release::new(Sampling::Poisson { rate: 0.02 }, sensitivity, Some(noise));
    let books = Books::of(Ledger::of([(step, STEPS)])?)?;
    let tight = books.tight(DELTA)?;
    let rigor = match tight.rigor {
        Rigor::Proven => "proven",
        Rigor::Numerical(step) => step,
    };
    println!("{name}");
    println!("  ε ≤ {} by tight accounting ({rigor})", upper(tight.value, 4));
    println!("  ε ≤ {} by Rényi accounting", upper(books.renyi(DELTA)?.improved.epsilon, 4));
    Ok(())
}
