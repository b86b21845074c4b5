//! Tight accounting: the tutorial case, arbitrary noise, a very long training, and one more step.
//!
//! `cargo bench --no-default-features --bench pld`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use hushgrad::privacy::{
    envelope::EnvelopeProfile,
    ledger::{Release, Sensitivity},
    noise::NoiseSpec,
    normal,
    pld::Pld,
    sampling::Sampling,
};

const RATE: f64 = 256.0 / 60_000.0;
const STEPS: u64 = 14_062;
const DELTA: f64 = 1e-5;
const TRUTH: f64 = 2.381_597;

fn tutorial(criterion: &mut Criterion) {
    for tolerance in [1e-3, 1e-4, 1e-5] {
        let pld = Pld::sampled_gaussian(1.1, RATE).expect("in range").compose(STEPS).with_tolerance(tolerance);
        let found = pld.epsilon(DELTA).expect("in range").value;
        println!("tutorial, tolerance {tolerance}: ε {found}, {:.1e} above the truth", found / TRUTH - 1.0);
        criterion.bench_function(&format!("pld/tutorial/tolerance-{tolerance}"), |bencher| {
            bencher.iter(|| black_box(&pld).epsilon(DELTA));
        });
    }
    let step = Pld::sampled_gaussian(1.1, RATE).expect("in range");
    let run = step.compose(STEPS);
    criterion.bench_function("pld/one-more-step", |bencher| bencher.iter(|| black_box(&run).and(&step)));
    let long = Pld::sampled_gaussian(2.0, 1e-5).expect("in range").compose(1_000_000_000);
    criterion.bench_function("pld/a-billion-steps", |bencher| bencher.iter(|| black_box(&long).epsilon(DELTA)));
}

fn any_noise(criterion: &mut Criterion) {
    let coordinates = 26_010;
    let raw: Vec<f64> = (0..coordinates)
        .map(|i| normal::quantile(0.5 + (f64::from(i) + 0.5) / (2.0 * f64::from(coordinates))))
        .collect();
    let norm = raw.iter().map(|x| x * x).sum::<f64>().sqrt();
    let psi: Vec<f64> = raw.iter().map(|x| x / norm).collect();
    let profile = EnvelopeProfile::from_vectors_f64([psi.as_slice()]).expect("a vector");
    for noise in [NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }, NoiseSpec::Laplace { scale: 1.1 }] {
        let family = noise.family();
        let release = Release::new(
            Sampling::Poisson { rate: RATE },
            Sensitivity::Envelope { profile: profile.clone() },
            Some(noise),
        );
        criterion.bench_function(&format!("pld/any-noise/{family}"), |bencher| {
            bencher.iter(|| Pld::for_release(black_box(&release)).map(|step| step.compose(STEPS).epsilon(DELTA)));
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = tutorial, any_noise
}
criterion_main!(benches);
