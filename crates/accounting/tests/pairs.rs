//! Pairs of one's own, and neighbours beside the sampler.

use hushgrad_accounting::{
    Accountant, PrivacyError,
    books::account,
    composition::Accounting,
    dp_sgd,
    foreign::{dp_event, opacus_script, to_dp_event},
    ledger::{Ledger, PrivacyUnit, Release, Sensitivity},
    noise::NoiseSpec,
    pair::Pair,
    pld::{Pld, TOLERANCE},
    rdp::RdpCurve,
    sampling::{NeighbouringRelation, Sampling},
};
use proptest::prelude::*;

const ALL: Sampling = Sampling::Poisson { rate: 1.0 };
const REPLACED: NeighbouringRelation = NeighbouringRelation::ReplaceOne;

fn all(pair: Pair) -> Release {
    Release::of_pair(ALL, pair)
}

fn pld(release: &Release, count: u64) -> Pld {
    Pld::for_release(release).expect("a price").compose(count)
}

fn tight(ledger: &Ledger, delta: f64) -> f64 {
    account(ledger, delta).expect("a price").tight.expect("a tight price").value
}

#[derive(serde::Deserialize)]
struct Golden {
    event: String,
    delta: f64,
    epsilon: f64,
}

#[test]
fn events_cost_what_dp_accounting_says() {
    let cases: Vec<Golden> = serde_json::from_str(include_str!("golden/pairs.json")).unwrap();
    assert_eq!(cases.len(), 8);
    for Golden { event, delta, epsilon } in cases {
        let own = tight(&dp_event(&event).unwrap(), delta);
        assert!((own / epsilon - 1.0).abs() < 1e-3, "{event}: {own}, dp_accounting {epsilon}");
    }
}

/// Kairouz, Oh & Viswanath 2015, Theorem 3.3: δ of `k` mechanisms at (k − 2i)·ε.
fn optimal(epsilon: f64, delta: f64, k: u32, i: u32) -> f64 {
    let choose = |l: u32| (0..l).map(|j| f64::from(k - j) / f64::from(j + 1)).product::<f64>();
    let all = f64::from(k) * (1.0 + epsilon.exp()).ln();
    let at = |m: f64| (m * epsilon - all).exp();
    let part: f64 = (0..i).map(|l| choose(l) * (at(f64::from(k - l)) - at(f64::from(k) - f64::from(2 * i - l)))).sum();
    1.0 - (1.0 - delta).powi(k as i32) * (1.0 - part)
}

#[test]
fn guarantees_compose_optimally() {
    for (epsilon, delta, k) in [(0.1, 0.0, 30), (0.5, 1e-6, 10), (1.0, 1e-9, 4), (0.05, 1e-7, 100), (2.0, 0.0, 1)] {
        let composed = pld(&all(Pair::guarantee(epsilon, delta).unwrap()), k.into());
        for i in 0..=(k / 2).min(12) {
            let at = f64::from(k - 2 * i) * epsilon;
            let (exact, bound) = (optimal(epsilon, delta, k, i), composed.delta(at).unwrap().value);
            assert!(bound >= exact * (1.0 - 1e-9) - 1e-15, "{epsilon} {delta} {k} {i}: {bound:e} {exact:e}");
            assert!(bound <= exact * 1.02 + 1e-9, "{epsilon} {delta} {k} {i}: {bound:e} {exact:e}");
        }
    }
}

#[test]
fn one_release_costs_what_it_says() {
    for (pair, delta, epsilon) in [
        (Pair::guarantee(0.3, 0.0), 1e-6, 0.3),
        (Pair::guarantee(0.3, 1e-6), 1e-5, 0.3),
        (Pair::guarantee(0.0, 0.0), 1e-6, 0.0),
        (Pair::guarantee(0.0, 1e-6), 1e-5, 0.0),
        (Pair::guarantee(700.0, 0.0), 1e-6, 700.0),
        (Pair::randomized_response(0.5, 2), 1e-9, 3.0_f64.ln()),
        (Pair::randomized_response(1.0, 7), 1e-9, 0.0),
        (Pair::discrete_laplace(0.25, 3), 1e-9, 0.75),
        (Pair::masses(&[1.0], &[1.0]), 1e-9, 0.0),
        (Pair::masses(&[0.75, 0.25], &[0.25, 0.75]), 1e-9, 3.0_f64.ln()),
        (Pair::mixture(1.0, &[0.0], &[1.0]), 1e-9, 0.0),
    ] {
        let pair = pair.unwrap();
        let found = pld(&all(pair.clone()), 1).epsilon(delta).unwrap().value;
        assert!(found >= epsilon - 4.0 * delta, "{pair:?}: {found}, {epsilon}");
        // At a δ above 0 a little less than the largest loss suffices.
        assert!(found <= epsilon * (1.0 + TOLERANCE) + 1e-6, "{pair:?}: {found}, {epsilon}");
    }
    for pair in [Pair::guarantee(0.3, 0.1), Pair::guarantee(1.0, 1.0), Pair::randomized_response(0.0, 3)] {
        let ledger = Ledger::of([(all(pair.unwrap()), 1)]).unwrap();
        assert_eq!(account(&ledger, 1e-5), Err(PrivacyError::Infinite));
    }
}

/// δ(ε) of `count` equal releases, by listing all outcomes.
fn listed(p: &[f64], q: &[f64], count: u32, epsilon: f64) -> f64 {
    let mut outcomes = vec![(1.0, 1.0)];
    for _ in 0..count {
        outcomes = outcomes.iter().flat_map(|(a, b)| p.iter().zip(q).map(move |(p, q)| (a * p, b * q))).collect();
    }
    outcomes.iter().map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
}

fn distribution(weights: &[f64]) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// Both directions, sampled or not; Rényi's bound is above.
    #[test]
    fn masses_compose_as_their_outcomes_do(
        p in prop::collection::vec(0.05..1.0f64, 3),
        q in prop::collection::vec(0.05..1.0f64, 3),
        rate in prop::sample::select(vec![0.1, 0.5, 1.0]),
        count in 1u32..6,
        epsilon in 0.0..1.5f64,
    ) {
        let (p, q) = (distribution(&p), distribution(&q));
        let release = Release::of_pair(Sampling::Poisson { rate }, Pair::masses(&p, &q).unwrap());
        let mixed: Vec<f64> = p.iter().zip(&q).map(|(p, q)| rate * p + (1.0 - rate) * q).collect();
        let exact = listed(&mixed, &q, count, epsilon).max(listed(&q, &mixed, count, epsilon));
        let bound = pld(&release, count.into()).delta(epsilon).unwrap().value;
        prop_assert!(bound >= exact * (1.0 - 1e-9) - 1e-15, "{bound:e} {exact:e}");
        prop_assert!(bound <= exact * 1.01 + 1e-6, "{bound:e} {exact:e}");
        let curve = RdpCurve::of(&release).unwrap();
        for order in [2.0, 5.0, 30.0] {
            let divergence = |p: &[f64], q: &[f64]| {
                p.iter().zip(q).map(|(p, q)| q * (p / q).powf(order)).sum::<f64>().ln() / (order - 1.0)
            };
            let exact = divergence(&mixed, &q).max(divergence(&q, &mixed));
            let bound = curve.at(order).unwrap();
            prop_assert!(bound >= exact - 1e-14 && bound <= exact + 1e-9, "{order}: {bound:e} {exact:e}");
        }
    }

    /// A fixed-size sample of a randomised response, against its amplification by hand.
    #[test]
    fn a_fixed_size_sample_of_a_pair_is_amplified(noise in 0.1..0.9f64, size in 1u64..100, epsilon in 0.0..2.0f64) {
        let sampling = Sampling::FixedSize { population: 100, size };
        let pair = Pair::randomized_response(noise, 2).unwrap();
        let release = Release::of_pair(sampling, pair);
        let (rate, truth) = (size as f64 / 100.0, 1.0 - 0.5 * noise);
        let (p, q) = ([truth, 1.0 - truth], [1.0 - truth, truth]);
        let mixed = [0, 1].map(|i| rate * p[i] + (1.0 - rate) * q[i]);
        let exact = listed(&mixed, &q, 1, epsilon);
        let bound = pld(&release, 1).delta(epsilon).unwrap().value;
        prop_assert!(bound >= exact - 1e-12 && bound <= exact * 1.01 + 1e-5, "{bound:e} {exact:e}");
    }

    /// Never below a test between the two mixtures at a random threshold.
    #[test]
    fn a_mixture_costs_no_less_than_any_test_shows(
        weights in prop::collection::vec(0.01..1.0f64, 3),
        shifts in prop::collection::vec(0.0..3.0f64, 3),
        threshold in -3.0..5.0f64,
    ) {
        let probabilities = distribution(&weights);
        let pair = Pair::mixture(1.0, &shifts, &probabilities).unwrap();
        let above = |x: f64| 0.5 * libm::erfc(x / std::f64::consts::SQRT_2);
        let p: f64 = shifts.iter().zip(&probabilities).map(|(shift, p)| p * above(threshold - shift)).sum();
        let q = above(threshold);
        let losses = pld(&all(pair), 1);
        for (p, q) in [(p, q), (1.0 - q, 1.0 - p)] {
            for epsilon in [0.0, 0.1, 1.0_f64] {
                let bound = losses.delta(epsilon).unwrap().value;
                prop_assert!(bound >= p - epsilon.exp() * q - 1e-12, "{epsilon}: {bound:e}");
            }
        }
    }
}

/// Exchange of Poisson-sampled sums: as one image of a user (dp_accounting's exchange).
#[test]
fn exchange_can_be_asked_of_every_sampling() {
    let delta = 6000.0_f64.powf(-1.1);
    for (z, want) in [(0.652, 9.61), (0.995, 4.32), (1.905, 1.855)] {
        let step = dp_sgd::step(z, 0.05);
        let inside = Release { unit: PrivacyUnit::ExampleInMicroBatch, ..step.clone() };
        let replaced = tight(&Ledger::of([(step.between(REPLACED), 100)]).unwrap(), delta);
        assert!((replaced / want - 1.0).abs() < 2e-3, "{z}: {replaced}");
        assert_eq!(replaced, tight(&Ledger::of([(inside, 100)]).unwrap(), delta));
    }
    let sum =
        |sampling, sigma| Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma }));
    for sampling in [
        Sampling::Shuffled { batches: 5 },
        Sampling::RandomAllocation { batches: 5 },
        Sampling::CyclicPoisson { rate: 0.1, groups: 5 },
    ] {
        let cost = |release: &Release| tight(&Ledger::of([(release.clone(), 20)]).unwrap(), 1e-5);
        let (removed, replaced) = (cost(&sum(sampling, 4.0)), cost(&sum(sampling, 4.0).between(REPLACED)));
        assert!(replaced > removed, "{sampling}: {replaced} {removed}");
        // Distance 2 costs as much as half the noise.
        assert!(replaced <= cost(&sum(Sampling::Shuffled { batches: 5 }, 2.0)) * (1.0 + 1e-9));
    }
    let fixed = sum(Sampling::FixedSize { population: 100, size: 10 }, 1.0);
    assert_eq!(fixed.clone().between(REPLACED), fixed);
    let refused = fixed.between(NeighbouringRelation::AddOrRemoveOne).validate().unwrap_err().to_string();
    assert!(refused.contains("fixed-size lots"), "{refused}");
}

#[test]
fn what_has_no_theorem_is_refused() {
    let answer = Pair::randomized_response(0.5, 3).unwrap();
    let skewed = Pair::masses(&[0.9, 0.1], &[0.5, 0.5]).unwrap();
    let of = |sampling, pair: &Pair| Release::of_pair(sampling, pair.clone());
    for (release, says) in [
        (of(Sampling::Poisson { rate: 0.5 }, &answer).between(REPLACED), "nothing is known without either"),
        (of(ALL, &skewed).between(REPLACED), "alike in either order"),
        (of(Sampling::FixedSize { population: 9, size: 3 }, &skewed), "alike in either order"),
        (of(Sampling::Shuffled { batches: 5 }, &answer), "an epoch or a cycle"),
        (Release { noise: Some(NoiseSpec::Gaussian { sigma: 1.0 }), ..of(ALL, &answer) }, "beside it"),
        (Release { unit: PrivacyUnit::ExampleInMicroBatch, ..of(ALL, &answer) }, "protects more"),
    ] {
        let error = Ledger::of([(release, 1)]).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    for (pair, says) in [
        (Pair::masses(&[0.5, 0.4], &[0.5, 0.5]), "pair.p is 0.9"),
        (Pair::masses(&[0.5, 0.5], &[1.0]), "pair.p is 2"),
        (Pair::masses(&[], &[]), "pair.p is 0"),
        (Pair::masses(&[f64::NAN], &[1.0]), "pair.p is NaN"),
        (Pair::masses(&[1.5, -0.5], &[0.5, 0.5]), "pair.p is 1.5"),
        (Pair::guarantee(-1.0, 0.0), "pair.epsilon is -1"),
        (Pair::guarantee(f64::INFINITY, 0.0), "pair.epsilon is"),
        (Pair::guarantee(1.0, 1.5), "pair.delta is 1.5"),
        (Pair::randomized_response(0.5, 1), "pair.answers is 1"),
        (Pair::discrete_laplace(0.0, 1), "pair.parameter is 0"),
        (Pair::mixture(1.0, &[-1.0], &[1.0]), "pair.shifts is -1"),
        (Pair::mixture(0.0, &[1.0], &[1.0]), "pair.sigma is 0"),
        (Pair::mixture(1.0, &[50.0], &[1.0]), "pair.shifts is 50"),
        (Pair::mixture(1.0, &[1.0, 2.0], &[1.0]), "pair.shifts is 2"),
    ] {
        let error = pair.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    // One relation for all; a pair known for one relation is not turned into the other.
    let (added, replaced) = (all(Pair::discrete_laplace(0.1, 1).unwrap()), all(answer.clone()).between(REPLACED));
    let both = Accountant::new().compose(added, 1).unwrap().compose(replaced.clone(), 1).unwrap();
    assert_eq!(both.epsilon(1e-5), Err(PrivacyError::MixedNeighbours));
    let sum = Accountant::new().compose(dp_sgd::step(1.1, 0.01), 100).unwrap().compose(replaced.clone(), 1).unwrap();
    let sum = sum.epsilon(1e-5).unwrap();
    assert!(sum.neighbours == REPLACED && matches!(sum.accounting, Accounting::Tight(_)), "{sum:?}");
    // Other libraries' words do not say it.
    let ledger = Ledger::of([(replaced, 1)]).unwrap();
    assert!(to_dp_event(&ledger).unwrap_err().to_string().contains("neighbours"));
    let script = hushgrad_accounting::foreign::Script { ledger: &ledger, delta: 1e-5, epsilon: 1.0, training: None };
    assert!(opacus_script(&script).is_err());
}

#[test]
fn a_ledger_holds_pairs() {
    let releases = [
        (all(Pair::randomized_response(0.5, 3).unwrap()).between(REPLACED), 3),
        (dp_sgd::step(1.1, 0.01).between(REPLACED), 100),
    ];
    let ledger = Ledger::of(releases).unwrap();
    let text = ledger.to_json();
    assert_eq!(Ledger::from_json(&text).unwrap(), ledger, "{text}");
    assert!(ledger.with_noise_times(2.0, |_| true).unwrap_err().to_string().contains("no noisy sum"));
    assert_eq!(ledger.with_noise_times(2.0, |kind| kind == 1).unwrap().releases()[0], ledger.releases()[0]);
    let words = account(&ledger, 1e-5).unwrap().to_string();
    assert!(words.contains("an answer with 3 outcomes") && words.contains("replace one"), "{words}");
    for wrong in [
        text.replace("0.6666666666666666", "0.5"),
        text.replace("replace-one", "swap-two"),
        text.replace("masses", "mass"),
    ] {
        assert!(wrong != text && Ledger::from_json(&wrong).is_err(), "{wrong}");
    }
    let mixture = Ledger::of([(all(Pair::mixture(1.0, &[0.0, 1.0], &[0.5, 0.5]).unwrap()), 2)]).unwrap();
    assert_eq!(Ledger::from_json(&mixture.to_json()).unwrap(), mixture);
    // An (ε, δ) has no Rényi bound; the tight one counts alone.
    let guarantee = Ledger::of([(all(Pair::guarantee(0.1, 1e-7).unwrap()), 5)]).unwrap();
    let account = account(&guarantee, 1e-5).unwrap();
    assert!(account.improved.epsilon == f64::INFINITY && account.tight.unwrap().value <= 0.5 + 1e-9);
}
