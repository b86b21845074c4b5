//! Any formula, or any table as JSON: refused, or a density whose distribution function and moments are sound.
#![no_main]

use hushgrad::privacy::noise::{Custom, CustomDensity, Noise};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let tables = [CustomDensity::from_formula(text).ok(), serde_json::from_str(text).ok()];
    for density in tables.into_iter().flatten() {
        let noise = Custom::new(density, 1.0).expect("1 is a scale");
        assert!((noise.cdf(0.0) - 0.5).abs() < 1e-9);
        let x = noise.quantile(0.3);
        assert!(x <= 0.0 && (noise.cdf(x) - 0.3).abs() < 1e-6);
        let moment = noise.log_moment(3, 0.1);
        assert!(moment >= 0.0);
    }
});
