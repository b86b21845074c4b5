//! How long privacy takes. `cargo bench --bench accounting`.

use criterion::{Criterion, criterion_group, criterion_main};
use hushgrad::{
    privacy::{
        calibrate::{Method, Target, noise_scale},
        envelope::EnvelopeProfile,
        ledger::{Release, Sensitivity},
        noise::NoiseSpec,
        normal,
        rdp::{Accountant, Orders, RdpCurve},
        sampling::Sampling,
    },
    rng::NotPrivateReplay,
};
use rand::rand_core::Rng;
use std::hint::black_box;

const RATE: f64 = 256.0 / 60_000.0;
const STEPS: u64 = 14_062;

fn epsilon(curve: &RdpCurve, orders: Orders<'_>) -> f64 {
    let mut accountant = Accountant::new();
    let id = accountant.add_curve(curve.clone()).expect("one curve");
    accountant.compose(id, STEPS);
    accountant.epsilon_at(1e-5, orders).expect("finite").improved.epsilon
}

/// n sorted |N(0,1)| vectors of norm 1.
fn envelope(n: usize, size: usize) -> Vec<Vec<f32>> {
    let mut rng = NotPrivateReplay::new(1);
    let base: Vec<f64> = (0..size).map(|i| normal::survival_quantile((i as f64 + 0.5) / (2.0 * size as f64))).collect();
    (0..n)
        .map(|_| {
            let mut row: Vec<f64> =
                base.iter().map(|b| b * (1.0 + 0.02 * (f64::from(rng.next_u32()) / 4_294_967_296.0 - 0.5))).collect();
            let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            row.iter_mut().for_each(|x| *x /= norm);
            row.into_iter().map(|x| x as f32).collect()
        })
        .collect()
}

fn tutorial(c: &mut Criterion) {
    let mut group = c.benchmark_group("tutorial case (σ 1.1, q 256/60000, 14,062 steps)");
    group.bench_function("RDP ε, orders 2..=256", |b| {
        b.iter(|| {
            let curve = RdpCurve::sampled_gaussian(black_box(1.1), RATE).expect("valid");
            epsilon(&curve, Orders::Integers)
        });
    });
    group.bench_function("RDP ε, all orders", |b| {
        b.iter(|| {
            let curve = RdpCurve::sampled_gaussian(black_box(1.1), RATE).expect("valid");
            epsilon(&curve, Orders::All)
        });
    });
    group.bench_function("compose one more step", |b| {
        let mut accountant = Accountant::new();
        let id = accountant.add_curve(RdpCurve::sampled_gaussian(1.1, RATE).expect("valid")).expect("one curve");
        b.iter(|| accountant.compose(black_box(id), 1));
    });
    group.bench_function("σ for ε = 1, orders 2..=256", |b| {
        let release = Release::new(
            Sampling::Poisson { rate: RATE },
            Sensitivity::L2 { norm: 1.0 },
            Some(NoiseSpec::Gaussian { sigma: 1.0 }),
        );
        let target = Target { epsilon: 1.0, delta: 1e-5, method: Method::Improved, orders: Orders::Integers };
        b.iter(|| noise_scale(&release, STEPS, black_box(&target)).expect("reachable").value);
    });
    group.finish();
}

fn envelopes(c: &mut Criterion) {
    let mut group = c.benchmark_group("envelope of 1000 × 26,010");
    let psi = envelope(1000, 26_010);
    group.sample_size(10);
    group.bench_function("prepare Ψ", |b| {
        b.iter(|| EnvelopeProfile::from_vectors(black_box(&psi).iter().map(Vec::as_slice)).expect("valid"));
    });
    let profile = EnvelopeProfile::from_vectors(psi.iter().map(Vec::as_slice)).expect("valid");
    for noise in [
        NoiseSpec::Gaussian { sigma: 1.1 },
        NoiseSpec::StudentT { nu: 9.0, scale: 1.0 },
        NoiseSpec::Laplace { scale: 1.1 },
        NoiseSpec::Cauchy { scale: 0.8 },
        NoiseSpec::VarianceGamma { scale: 0.6 },
        NoiseSpec::HyperbolicSecant { scale: 1.2 },
        NoiseSpec::GeneralizedGaussian { exponent: 1.5, scale: 1.2 },
    ] {
        let release = Release::new(
            Sampling::Poisson { rate: RATE },
            Sensitivity::Envelope { profile: profile.clone() },
            Some(noise.clone()),
        );
        group.bench_function(format!("ε, {}", noise.family()), |b| {
            b.iter(|| epsilon(&RdpCurve::of(black_box(&release)).expect("valid"), Orders::Integers));
        });
    }
    group.finish();
}

fn sampling(c: &mut Criterion) {
    let mut sampler = Sampling::Poisson { rate: RATE }.sampler(60_000).expect("valid");
    let (mut rng, mut lot) = (NotPrivateReplay::new(3), Vec::new());
    c.bench_function("Poisson lot of 60,000", |b| b.iter(|| sampler.draw(&mut rng, &mut lot)));
}

criterion_group!(benches, tutorial, envelopes, sampling);
criterion_main!(benches);
