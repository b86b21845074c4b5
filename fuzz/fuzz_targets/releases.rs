//! Ledgers of one to several releases, over their whole range: both accountants answer soon or
//! refuse by name, never below an exact value, nor less for more steps or a smaller δ.
#![no_main]

use std::time::{Duration, Instant};

use hushgrad_accounting::{
    PrivacyError,
    books::Books,
    dynamics::Setting,
    envelope::EnvelopeProfile,
    ledger::{Ledger, Release, Sensitivity, PrivacyUnit},
    filter::PrivacyFilter,
    noise::{CustomDensity, NoiseSpec},
    normal,
    pld::{Method, Pld, Tight},
    rdp::{RdpAccountant, epsilon_of},
    sampling::{NeighbouringRelation, Sampling},
};
use libfuzzer_sys::{Corpus, arbitrary::Unstructured, fuzz_target};

/// CPU time allowed per question in this instrumented build; two seconds in a normal one.
const LIMIT: Duration = Duration::from_secs(8);
/// Allowed relative difference due to the grids' accuracy.
const ACCURACY: f64 = 2e-3;

/// Numbers from `low` to `high`, uniform in their logarithm; every 16th is one of `special`.
fn number(u: &mut Unstructured<'_>, low: f64, high: f64, special: &[f64]) -> Option<f64> {
    let byte: u8 = u.arbitrary().ok()?;
    if byte < 16 && !special.is_empty() {
        return Some(special[byte as usize % special.len()]);
    }
    let share = f64::from(u.arbitrary::<u16>().ok()?) / 65_535.0;
    Some((low.ln() + share * (high.ln() - low.ln())).exp().clamp(low, high))
}

fn sampling(u: &mut Unstructured<'_>) -> Option<Sampling> {
    Some(match u.int_in_range(0..=5u8).ok()? {
        0 => Sampling::Poisson { rate: number(u, 1e-300, 1.0, &[0.0, 1e-310, 0.5, 1.0 - 1e-16, 1.0])? },
        1 => Sampling::Poisson { rate: number(u, 1e-6, 1.0, &[])? },
        2 => {
            let population = number(u, 1.0, 1.8e19, &[1.0, 2.0, 100.0, 6e4])? as u64;
            let size = (population as f64 * number(u, 1e-19, 1.0, &[0.5, 1.0])?) as u64;
            Sampling::FixedSize { population, size: size.clamp(1, population) }
        }
        // Ledgers refuse this with noise that is not Gaussian.
        4 => Sampling::CyclicPoisson {
            rate: number(u, 1e-6, 1.0, &[0.0, 1.0])?,
            groups: number(u, 1.0, 4e9, &[1.0, 2.0, 3.0])? as u64,
        },
        3 => Sampling::RandomAllocation { batches: number(u, 1.0, 4e9, &[1.0, 2.0, 3.0])? as u64 },
        _ => Sampling::Shuffled { batches: number(u, 1.0, 4e9, &[1.0, 2.0, 3.0])? as u64 },
    })
}

/// A falling table, with steps and flat parts.
fn table(u: &mut Unstructured<'_>) -> Option<CustomDensity> {
    let (mut x, mut z) = (0.0, 1.0);
    let mut points = vec![(x, z)];
    for _ in 0..u.int_in_range(1..=24usize).ok()? {
        x += number(u, 1e-9, 10.0, &[1e-12, 1.0])?;
        z *= number(u, 1e-6, 1.0, &[1.0, 1.0 - 1e-12, 1e-100])?;
        points.push((x, z));
    }
    CustomDensity::from_points("fuzz", &points).ok()
}

fn noise(u: &mut Unstructured<'_>) -> Option<NoiseSpec> {
    let scale = number(u, 1e-12, 1e12, &[1.0, 1e-100, 1e100, 1e-6])?;
    Some(match u.int_in_range(0..=15u8).ok()? {
        0 => NoiseSpec::StudentT { nu: number(u, 2.000_001, 1e9, &[3.0, 9.0])?, scale },
        1 => NoiseSpec::Laplace { scale },
        2 => NoiseSpec::Cauchy { scale },
        3 => NoiseSpec::VarianceGamma { scale },
        4 => NoiseSpec::HyperbolicSecant { scale },
        5 => NoiseSpec::GeneralizedGaussian { exponent: number(u, 1.0, 100.0, &[1.0, 2.0])?, scale },
        6 => NoiseSpec::Custom { density: table(u)?, scale },
        _ => NoiseSpec::Gaussian { sigma: scale },
    })
}

fn sensitivity(u: &mut Unstructured<'_>, scale: f64) -> Option<Sensitivity> {
    // Relative to the noise, or anywhere.
    let unit = if u.ratio(3u8, 4u8).ok()? { scale } else { 1.0 };
    let size = |u: &mut Unstructured<'_>| Some((unit * number(u, 1e-12, 1e12, &[1.0])?).clamp(1e-99, 1e99));
    if u.ratio(1u8, 2u8).ok()? {
        return Some(Sensitivity::L2 { norm: size(u)? });
    }
    let coordinates = u.int_in_range(1..=12usize).ok()?;
    let vectors = (0..u.int_in_range(1..=3u8).ok()?)
        .map(|_| (0..coordinates).map(|_| size(u)).collect::<Option<Vec<f64>>>())
        .collect::<Option<Vec<_>>>()?;
    let profile = EnvelopeProfile::from_vectors_f64(vectors.iter().map(Vec::as_slice)).ok()?;
    Some(Sensitivity::Envelope { profile })
}

/// Noisy gradient descent of which only the last model is released.
fn hidden(u: &mut Unstructured<'_>) -> Option<Release> {
    let smoothness = number(u, 1e-3, 1e3, &[1.0])?;
    let setting = Setting {
        step_size: number(u, 1e-6, 1.0, &[1.0])? / smoothness,
        noise: number(u, 1e-9, 1e3, &[])?,
        sensitivity: number(u, 1e-6, 1e6, &[1.0])?,
        strong_convexity: smoothness * number(u, 1e-9, 1.0, &[1.0])?,
        smoothness,
        examples: number(u, 1.0, 1e9, &[1.0, 6e4])? as u64,
    };
    Some(setting.checked().ok()?.release(number(u, 1.0, 1e9, &[1.0, 2.0])? as u64))
}

fn release(u: &mut Unstructured<'_>, unit: PrivacyUnit) -> Option<Release> {
    if unit == PrivacyUnit::Example && u.ratio(1u8, 16u8).ok()? {
        return hidden(u);
    }
    let noise = noise(u)?;
    let sensitivity = sensitivity(u, noise.scale())?;
    let release = Release { unit, ..Release::new(sampling(u)?, sensitivity, Some(noise)) };
    Some(if u.ratio(1, 8u8).ok()? { release.between(NeighbouringRelation::ReplaceOne) } else { release })
}

/// The ledger of `releases`, each with `more` extra steps.
fn ledger(releases: &[(Release, u64)], more: u64) -> Option<Ledger> {
    Ledger::of(releases.iter().map(|(release, steps)| (release.clone(), steps.saturating_add(more)))).ok()
}

/// CPU time of this process, in hundredths of a second; wall time since `start` if not on Linux.
fn spent(start: Instant) -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Fields 14 and 15; the second field, a name in brackets, may contain spaces.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<u64> = fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    if let [user, system] = ticks[..] { Duration::from_millis(10 * (user + system)) } else { start.elapsed() }
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let before = spent(start);
    let answer = work();
    let took = spent(start).saturating_sub(before);
    assert!(took < LIMIT, "{what} took {took:?}");
    answer
}

/// ε by Rényi accounting: infinite without a finite bound, `None` if refused.
fn renyi(ledger: &Ledger, delta: f64) -> Option<f64> {
    match timed("Rényi accounting", || epsilon_of(ledger, delta)) {
        Ok(epsilon) => {
            let (classic, improved) = (epsilon.classic.epsilon, epsilon.improved.epsilon);
            assert!(improved >= 0.0 && improved <= classic * (1.0 + 1e-9), "{epsilon:?}");
            Some(improved)
        }
        Err(PrivacyError::Infinite) => Some(f64::INFINITY),
        Err(PrivacyError::MixedNeighbours | PrivacyError::MixedUnits) => None,
        Err(error) => panic!("{error}"),
    }
}

fn tight(pld: &Pld, delta: f64) -> Tight {
    let found = timed("tight accounting", || pld.epsilon(delta)).expect("a possible δ");
    assert!(found.value >= 0.0, "{found:?}");
    found
}

/// ε of one Gaussian release, unsampled or Poisson-sampled once (H_α′((1−q)Q + qP ‖ Q) =
/// q·H_α(P‖Q), α′ = 1 + q(α − 1)), and its rounding where ε is small relative to the loss.
fn exact(releases: &[(Release, u64)], delta: f64) -> Option<(f64, f64)> {
    let [(release, steps)] = releases else { return None };
    let (Some(NoiseSpec::Gaussian { sigma }), Sensitivity::L2 { norm }) = (&release.noise, &release.sensitivity) else {
        return None;
    };
    let mu = norm * release.sensitivity_factor() / sigma;
    match release.sampling {
        Sampling::Poisson { rate } if rate == 1.0 => {
            let mu = mu * (*steps as f64).sqrt();
            Some((normal::epsilon_gaussian(mu, delta), 1e-10 * mu))
        }
        // Where a vector becomes another, Rényi accounting may be tighter than the pair.
        Sampling::Poisson { rate } if *steps == 1 && release.unit != PrivacyUnit::ExampleInMicroBatch => {
            if delta >= rate {
                return Some((0.0, 0.0));
            }
            let unsampled = normal::epsilon_gaussian(mu, delta / rate);
            let known = if unsampled > 600.0 { unsampled + rate.ln() } else { (rate * unsampled.exp_m1()).ln_1p() };
            Some((known, 1e-10 * mu))
        }
        _ => None,
    }
}

/// What a filter admits costs at most its ε, and one more would cost more at its order.
fn check_filter(u: &mut Unstructured<'_>, releases: &[(Release, u64)], delta: f64, bound: f64) -> Option<()> {
    let budget = bound * number(u, 1e-3, 10.0, &[1.0])?;
    let Ok(filter) = PrivacyFilter::new(budget, delta) else { return Some(()) };
    let mut books = Books::default();
    for (release, steps) in releases {
        let id = books.register_priced(release.clone()).ok()?;
        let Ok(admitted) = timed("a filter", || filter.admits(&books, id, *steps)) else { return Some(()) };
        assert!(admitted <= *steps);
        books.record(id, admitted);
        assert!(admitted == 0 || filter.covers(&books) == Ok(true), "{filter:?} admits {admitted} too many");
        if admitted < *steps {
            let mut more = books.clone();
            more.record(id, 1);
            assert_eq!(filter.covers(&more), Ok(false), "{filter:?} admits {admitted}, one fewer than it may");
        }
    }
    if let Ok(spent) = books.renyi(delta) {
        assert!(spent.improved.epsilon <= budget * (1.0 + 1e-12), "{filter:?}: {}", spent.improved.epsilon);
    }
    Some(())
}

fn check(bytes: &[u8]) -> Option<()> {
    let u = &mut Unstructured::new(bytes);
    let delta = number(u, 1e-300, 0.999, &[1e-5, 0.999, 1e-300])?;
    let smaller = (delta * number(u, 1e-6, 1.0, &[])?).max(1e-300);
    let unit = *u.choose(&[PrivacyUnit::Example, PrivacyUnit::ExampleInMicroBatch, PrivacyUnit::MicroBatch, PrivacyUnit::User]).ok()?;
    let mut releases = Vec::new();
    let kinds = u.int_in_range(0..=7u8).ok()?.saturating_sub(4) + 1;
    for _ in 0..kinds {
        let steps = number(u, 1.0, 1e9, &[1.0, 2.0])? as u64;
        releases.push((release(u, unit)?, steps));
    }
    let ledger_now = ledger(&releases, 0)?;
    let ledger_more = ledger(&releases, number(u, 1.0, 1e9, &[1.0])? as u64)?;
    // Prints a found input, for `hushgrad account` and for a test.
    if std::env::var_os("SHOW").is_some() {
        println!("delta {delta:e}, or {smaller:e}; for more steps the second:\n{}\n{}", ledger_now.to_json(), ledger_more.to_json());
    }
    assert_eq!(Ledger::from_json(&ledger_now.to_json()).as_ref(), Ok(&ledger_now));
    let bound = renyi(&ledger_now, delta)?;
    let (less, more) = (renyi(&ledger_now, smaller)?, renyi(&ledger_more, delta)?);
    // Quadrature at fractional orders is accurate to 1e-9.
    let kept = |later: f64, accuracy: f64| later >= bound * (1.0 - accuracy) - 1e-12;
    assert!(kept(less, 1e-7) && kept(more, 1e-7), "Rényi: {bound:e}, smaller δ {less:e}, more steps {more:e}");
    let known = exact(&releases, delta);
    let near = |value: f64| known.is_none_or(|(known, slack)| value >= known * (1.0 - 1e-9) - slack);
    assert!(near(bound), "Rényi: {bound:e} below {known:?}");
    if let Ok(Some(found)) = timed("ρ", || RdpAccountant::of(&ledger_now).and_then(|all| all.concentrated(delta))) {
        let epsilon = found.epsilon(delta).epsilon;
        assert!(near(epsilon), "{found:?}: {epsilon:e} below {known:?}");
    }
    check_filter(u, &releases, delta, bound)?;
    let pld = match timed("to put releases on a grid", || Pld::of(&ledger_now)) {
        Ok(pld) => pld,
        Err(PrivacyError::Unpriced(_) | PrivacyError::TooMuchWork { .. }) => return Some(()),
        Err(error) => panic!("{error}"),
    };
    let found = tight(&pld, delta);
    assert!(found.value <= bound * (1.0 + 1e-12), "{found:?} above Rényi's {bound:e}");
    assert!(near(found.value), "{found:?} below {known:?}");
    // A fallback is only a bound; the next question may have a better one.
    if found.method != Method::Renyi {
        let least = found.value * (1.0 - ACCURACY) - 1e-9;
        let less = tight(&pld, smaller);
        assert!(less.value >= least, "{found:?}, and for a smaller δ {less:?}");
        if let Ok(pld) = Pld::of(&ledger_more) {
            let more = tight(&pld, delta);
            assert!(more.value >= least, "{found:?}, and for more steps {more:?}");
        }
    }
    if found.value.is_finite() {
        let curve = timed("a curve", || pld.curve_about(found.value, delta));
        assert!(curve.iter().all(|(epsilon, delta)| *epsilon >= 0.0 && (0.0..=1.0).contains(delta)), "{curve:?}");
    }
    assert!(RdpAccountant::of(&ledger_now).is_ok());
    Some(())
}

fuzz_target!(|bytes: &[u8]| -> Corpus { if check(bytes).is_some() { Corpus::Keep } else { Corpus::Reject } });
