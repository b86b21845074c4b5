//! Any formula, or JSON table, is refused or has a sound CDF, sound moments and privacy losses.
#![no_main]

use hushgrad_accounting::{
    envelope::EnvelopeProfile,
    ledger::{Release, Sensitivity},
    noise::{Custom, CustomDensity, Noise, NoiseSpec},
    pld::Pld,
    sampling::Sampling,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let tables = [CustomDensity::from_formula(text).ok(), serde_json::from_str(text).ok()];
    for density in tables.into_iter().flatten() {
        let noise = Custom::new(density.clone(), 1.0).expect("1 is a scale");
        assert!((noise.cdf(0.0) - 0.5).abs() < 1e-9);
        let x = noise.quantile(0.3);
        assert!(x <= 0.0 && (noise.cdf(x) - 0.3).abs() < 1e-6);
        let moment = noise.log_moment(3, 0.1);
        assert!(moment >= 0.0);
        let profile = EnvelopeProfile::from_vectors_f64([[0.1, 0.05].as_slice()]).expect("an envelope");
        let spec = NoiseSpec::Custom { density, scale: 1.0 };
        let release = Release::new(Sampling::Poisson { rate: 0.1 }, Sensitivity::Envelope { profile }, Some(spec));
        if let Ok(step) = Pld::for_release(&release) {
            let one = step.epsilon(1e-5).expect("a possible δ").value;
            let hundred = step.compose(100).epsilon(1e-5).expect("a possible δ").value;
            // More steps cost more, up to the grid's accuracy.
            assert!(one >= 0.0 && hundred >= 0.99 * one);
        }
    }
});
