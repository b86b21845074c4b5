//! Every family's density agrees with its distribution function, quantiles, sampler and moments.

use super::*;
use rand::rand_core::SeedableRng;
use rand_chacha::ChaCha20Rng;

fn all() -> Vec<NoiseSpec> {
    let table: Vec<(f64, f64)> =
        (0..40).map(|i| f64::from(i) * 0.2).map(|x| (x, (-0.5 * x * x / (1.0 + 0.3 * x)).exp())).collect();
    vec![
        NoiseSpec::Gaussian { sigma: 1.3 },
        NoiseSpec::StudentT { nu: 9.0, scale: 0.8 },
        NoiseSpec::StudentT { nu: 2.3, scale: 1.1 },
        NoiseSpec::Laplace { scale: 0.7 },
        NoiseSpec::Cauchy { scale: 0.6 },
        NoiseSpec::VarianceGamma { scale: 0.5 },
        NoiseSpec::HyperbolicSecant { scale: 1.2 },
        NoiseSpec::GeneralizedGaussian { exponent: 1.4, scale: 1.1 },
        NoiseSpec::GeneralizedGaussian { exponent: 4.0, scale: 0.9 },
        NoiseSpec::Custom { density: CustomDensity::from_points("test", &table).unwrap(), scale: 0.9 },
    ]
}

/// ∫ f over [a, b] by Simpson's rule on a fine grid.
fn simpson(a: f64, b: f64, panels: usize, f: impl Fn(f64) -> f64) -> f64 {
    let h = (b - a) / panels as f64;
    let inner = |j: usize| a + j as f64 * h;
    (0..panels).map(|j| h / 6.0 * (f(inner(j)) + 4.0 * f(inner(j) + 0.5 * h) + f(inner(j + 1)))).sum()
}

#[test]
fn distribution_functions_are_the_integrals_of_densities() {
    for spec in all() {
        let noise = spec.build().unwrap();
        for (a, b) in [(0.0, 0.3), (0.3, 1.5), (1.5, 6.0)] {
            let mass = simpson(a, b, 20_000, |x| noise.density(x));
            let difference = noise.survival(a) - noise.survival(b);
            assert!((mass - difference).abs() < 2e-8, "{spec:?} on [{a}, {b}]: {mass} {difference}");
        }
        assert!((noise.cdf(0.0) - 0.5).abs() < 1e-12 && noise.cdf(1e9) > 1.0 - 1e-8, "{spec:?}");
        assert!((noise.cdf(-0.7) + noise.cdf(0.7) - 1.0).abs() < 1e-14, "{spec:?}");
        assert!(noise.cdf(f64::NAN).is_nan() && noise.quantile(f64::NAN).is_nan(), "{spec:?}");
    }
}

#[test]
fn quantiles_invert_distribution_functions() {
    for spec in all() {
        let noise = spec.build().unwrap();
        for p in [1e-9, 1e-4, 0.01, 0.2, 0.5, 0.77, 0.999] {
            let x = noise.quantile(p);
            assert!((noise.cdf(x) / p - 1.0).abs() < 1e-9, "{spec:?} at {p}: {x} {}", noise.cdf(x));
        }
        assert_eq!((noise.quantile(0.0), noise.quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    }
}

/// In a flat density's middle, (x/scale)^p underflows long before x is small.
#[test]
fn flat_densities_are_accurate_near_zero() {
    for exponent in [20.0, 60.0, 100.0] {
        let noise = NoiseSpec::GeneralizedGaussian { exponent, scale: 1.3 }.build().unwrap();
        for x in [1e-12, 1e-6, 1e-3, 0.01, 0.2] {
            // z falls by less than a rounding error up to x.
            let (want, got) = (x * noise.density(0.0), 0.5 - noise.survival(x));
            assert!((got - want).abs() < 1e-14 + 1e-10 * want, "p = {exponent}, x = {x}: {got} {want}");
            let back = noise.survival_quantile(0.5 - want);
            assert!((back - x).abs() < 1e-14 + 1e-9 * x, "p = {exponent}, x = {x}: {back}");
        }
    }
}

#[test]
fn summary_statistics_agree_with_the_density() {
    for spec in all() {
        let noise = spec.build().unwrap();
        // Fisher information by central differences of ln z, away from the kink.
        let slope = |x: f64| (noise.log_density(x + 1e-5) - noise.log_density(x - 1e-5)) / 2e-5;
        let fisher = 2.0 * simpson(1.1e-5, 60.0, 100_000, |x| noise.density(x) * slope(x).powi(2));
        assert!((fisher / noise.fisher_information() - 1.0).abs() < 2e-3, "{spec:?}: {fisher}");
        let mean = 2.0 * simpson(0.0, 2000.0, 200_000, |x| x * noise.density(x));
        if noise.mean_absolute().is_finite() {
            assert!((mean / noise.mean_absolute() - 1.0).abs() < 2e-3, "{spec:?}: {mean}");
        } else {
            assert!(mean > 1.0, "{spec:?}");
        }
    }
}

/// The Kolmogorov–Smirnov distance of 20,000 draws, at a false-alarm rate of 1e-7 per family.
#[test]
fn samplers_follow_their_distributions() {
    for (seed, spec) in all().into_iter().enumerate() {
        let noise = spec.build().unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(seed as u64);
        let mut draws: Vec<f64> = (0..20_000).map(|_| noise.sample(&mut rng)).collect();
        draws.sort_by(f64::total_cmp);
        let n = draws.len() as f64;
        let distance = draws
            .iter()
            .enumerate()
            .map(|(i, &x)| (noise.cdf(x) - i as f64 / n).abs().max(((i + 1) as f64 / n - noise.cdf(x)).abs()))
            .fold(0.0, f64::max);
        // P(√n·D > 2.9) < 2e^{−2·2.9²} = 1e-7 (Massart 1990).
        assert!(distance * n.sqrt() < 2.9, "{spec:?}: {distance}");
    }
}

/// Never below a brute-force quadrature of the definition, and above it only by the grid's error.
#[test]
fn log_moments_bound_the_definition() {
    for spec in all() {
        let noise = spec.build().unwrap();
        for tau in [0.02, 0.4, 1.5] {
            let mut fast = vec![0.0; 9];
            noise.log_moments(tau, &mut fast);
            for k in [2u32, 3, 10].into_iter().filter(|&k| k < 10 || tau < 1.0) {
                let reach = if matches!(spec, NoiseSpec::GeneralizedGaussian { exponent, .. } if exponent > 2.0) {
                    60.0
                } else {
                    400.0
                };
                let ln_term = |x: f64| f64::from(k) * noise.log_ratio(x, tau) + noise.log_density(x);
                // Cut at both kinks, so that Simpson's rule converges.
                let f = |x: f64| ln_term(x).exp();
                let brute = simpson(-reach, 0.0, 100_000, f)
                    + simpson(0.0, tau, 20_000, f)
                    + simpson(tau, tau + reach, 100_000, f);
                let bound = fast[k as usize - 2];
                if bound > 600.0 {
                    assert!(brute.ln() > 300.0, "{spec:?} k={k} τ={tau}");
                    continue;
                }
                let slack =
                    if matches!(spec, NoiseSpec::Cauchy { .. } | NoiseSpec::StudentT { .. }) { 2e-3 } else { 1e-6 };
                assert!(brute.ln() <= bound + 1e-7, "{spec:?} k={k} τ={tau}: {} above {bound}", brute.ln());
                assert!(brute.ln() >= bound - slack, "{spec:?} k={k} τ={tau}: {} {bound}", brute.ln());
                assert!((noise.log_moment(k, tau) / bound - 1.0).abs() <= 2e-6, "{spec:?} k={k} τ={tau}");
                assert_eq!(noise.log_moment(k, -tau), noise.log_moment(k, tau), "{spec:?}");
            }
        }
        assert_eq!((noise.log_moment(0, 1.0), noise.log_moment(1, 1.0), noise.log_moment(5, 0.0)), (0.0, 0.0, 0.0));
    }
}

/// The premises of Lemma 5: I_k grows with |τ|, and ln I_k is convex in k.
#[test]
fn log_moments_grow_with_the_shift_and_are_convex_in_the_order() {
    for spec in all() {
        let noise = spec.build().unwrap();
        let mut before = vec![0.0; 63];
        let mut now = vec![0.0; 63];
        for step in 1..60 {
            let tau = 1e-4 * 1.18f64.powi(step);
            noise.log_moments(tau, &mut now);
            for (j, (b, n)) in before.iter().zip(&now).enumerate() {
                assert!(n >= b || b.is_infinite(), "{spec:?}: order {} falls at τ = {tau}", j + 2);
            }
            for (j, w) in now.windows(3).enumerate().filter(|(_, w)| w[2].is_finite()) {
                assert!(w[0] + w[2] >= 2.0 * w[1] * (1.0 - 1e-9), "{spec:?}: not convex at order {}, τ = {tau}", j + 3);
            }
            before.copy_from_slice(&now);
        }
        // A small shift shows the Fisher information: ln I_k ≈ k(k−1)Jτ²/2.
        let tiny = 1e-6 * noise.scale();
        let ratio = noise.log_moment(3, tiny) / (3.0 * noise.fisher_information() * tiny * tiny);
        assert!((ratio - 1.0).abs() < 1e-4, "{spec:?}: {ratio}");
    }
}

#[test]
fn bad_parameters_are_named() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-200] {
        for spec in all() {
            let error = spec.with_scale(bad).build().unwrap_err().to_string();
            assert!(error.contains("scale") || error.contains("sigma"), "{error}");
            assert!(error.contains("must be"), "{error}");
        }
    }
    for nu in [2.0, 0.0, -3.0, f64::NAN, f64::INFINITY] {
        let error = NoiseSpec::StudentT { nu, scale: 1.0 }.build().unwrap_err().to_string();
        assert!(error.contains("nu is"), "{error}");
    }
    assert!(NoiseSpec::GeneralizedGaussian { exponent: 0.99, scale: 1.0 }.build().is_err());
}

/// Student-t of many degrees of freedom, shifted far: z·r^k peaks at k·τ, as for a Gaussian.
#[test]
fn far_peaks_are_not_missed() {
    for (nu, tau, order) in [(1e6, 10.0, 40u32), (1e6, 10.0, 64), (1e9, 3.0, 64), (1e9, 30.0, 20), (100.0, 30.0, 256)] {
        let noise = NoiseSpec::StudentT { nu, scale: 1.0 }.build().unwrap();
        let mut bounds = vec![0.0; order as usize - 1];
        noise.log_moments(tau, &mut bounds);
        let k = f64::from(order);
        let reach = 60.0 + 1.3 * (k * tau).min(2.0 * tau + 2.0 * f64::sqrt(nu));
        let log_term = |x: f64| noise.log_density(x) + k * noise.log_ratio(x, tau);
        let step = reach / 50_000.0;
        let logs: Vec<f64> = (-50_000..=50_000).map(|i| log_term(f64::from(i) * step)).collect();
        let brute = super::super::numeric::log_sum_exp(&logs) + step.ln();
        let bound = bounds[order as usize - 2];
        assert!(bound >= brute * (1.0 - 1e-12), "ν {nu}, τ {tau}, order {order}: {bound} below {brute}");
    }
}

/// Exponents above 2 against the definition, also where z·r^k peaks far out or overflows.
#[test]
fn flat_density_moments_match_the_definition() {
    for exponent in [2.5, 3.0, 3.3, 5.0, 8.0, 15.0, 30.0, 60.0, 100.0] {
        let noise = NoiseSpec::GeneralizedGaussian { exponent, scale: 1.0 }.build().unwrap();
        for tau in [1e-4, 1e-3, 0.01, 0.05, 0.2, 0.7, 2.0, 6.0] {
            let mut bounds = vec![0.0; 255];
            noise.log_moments(tau, &mut bounds);
            for order in [2u32, 3, 5, 9, 20, 64, 256] {
                let bound = bounds[order as usize - 2];
                let k = f64::from(order);
                // Where z·r^k has decayed: with z below 0, beyond its peak above 0.
                let fold = (((k - 1.0).recip()).ln_1p() / (exponent - 1.0)).exp_m1();
                let (low, high) = (-(800f64.powf(exponent.recip())), 1.5 * tau / fold + 3.0);
                let step = (high - low) / 200_000.0;
                let log_term = |x: f64| noise.log_density(x) + k * noise.log_ratio(x, tau);
                let logs: Vec<f64> = (0..=200_000).map(|i| log_term(low + f64::from(i) * step)).collect();
                let brute = super::super::numeric::log_sum_exp(&logs) + step.ln();
                let slack = 1e-9 * brute.abs().clamp(1.0, 1e300);
                assert!(bound >= brute - slack, "p {exponent}, τ {tau}, order {order}: {bound} below {brute}");
                let above = if bound.is_infinite() { brute < 60.0 } else { bound > brute + 1e3 * slack };
                assert!(!above, "p {exponent}, τ {tau}, order {order}: {bound} above {brute}");
            }
        }
    }
}

/// ln I_k by a fine trapezoidal rule in x, for nearly normal densities, with one peak near kτ.
fn by_fine_steps(noise: &dyn Noise, k: f64, tau: f64, (low, high): (f64, f64)) -> f64 {
    let step = (high - low) / 30_000.0;
    let at = |j: i32| low + step * f64::from(j);
    let terms: Vec<f64> = (0..=30_000).map(at).map(|x| noise.log_density(x) + k * noise.log_ratio(x, tau)).collect();
    crate::numeric::log_sum_exp(&terms) + step.ln()
}

/// z·r^k can matter where z underflows: nodes there count at every order, even the first.
#[test]
fn peaks_where_the_density_underflows_are_counted() {
    let scale = 1.3;
    let near_normal = [1e3, 1e4, 1e5, 1e6, 1e9].map(|nu| NoiseSpec::StudentT { nu, scale });
    let flatter = [2.05, 2.1, 2.2, 2.3, 2.4, 2.5].map(|exponent| NoiseSpec::GeneralizedGaussian { exponent, scale });
    let mut finite = 0;
    for spec in near_normal.into_iter().chain(flatter) {
        let noise = spec.build().unwrap();
        for step in 0..48 {
            let t = 2.0 + 0.5 * f64::from(step);
            let mut moments = [0.0; 3];
            noise.log_moments(t * scale, &mut moments);
            for (k, found) in (2..).map(f64::from).zip(moments).filter(|(_, found)| found.is_finite()) {
                // Peaks of flatter and of heavier tails lie on opposite sides of kτ.
                let wanted = by_fine_steps(&*noise, k, t * scale, (-20.0 * scale, scale * (20.0 + 1.5 * k * t)));
                assert!(found >= wanted * (1.0 - 1e-10), "{spec:?}, order {k}, shift {t}: {found} below {wanted}");
                assert!(found <= wanted * (1.0 + 1e-6), "{spec:?}, order {k}, shift {t}: {found} above {wanted}");
                finite += 1;
            }
        }
    }
    // Most moments are finite.
    assert!(finite > 1000, "{finite}");
}

/// Quadrature refuses ∫z ≠ 1 and moments not convex in k; no family does so at ordinary shifts.
#[test]
fn quadrature_is_finite_at_ordinary_shifts() {
    for spec in all() {
        let noise = spec.build().unwrap();
        let flat = matches!(spec, NoiseSpec::GeneralizedGaussian { exponent, .. } if exponent > 2.0);
        for t in (0..72).map(|i| 1e-9 * 1.4f64.powi(i)).filter(|t| !flat || *t < 1.0) {
            let mut moments = [0.0; 15];
            noise.log_moments(t * noise.scale(), &mut moments);
            let answered = moments.partition_point(|moment| moment.is_finite());
            // Peaks of flat densities soon become too narrow, and useless.
            assert!(answered == 15 || flat && moments[answered - 1] > 300.0, "{spec:?}, shift {t}: {moments:?}");
        }
    }
}
