//! Random allocation: ledgers, books, both accountants, calibration (references: `accounting.rs`).

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
use hushgrad_accounting::{
    PrivacyError,
    books::Books,
    calibrate::{self, Method as By, Target, noise_scale},
    envelope::EnvelopeProfile,
    ledger::{Ledger, PrivacyUnit, Release, Sensitivity},
    noise::NoiseSpec,
    normal,
    pld::{Method, Pld, Rigor},
    rdp::{Orders, RdpAccountant, RdpCurve},
    rounding::Grid,
    sampling::{NeighbouringRelation, Sampling},
};
use proptest::prelude::*;

const DELTA: f64 = 1e-5;

fn with_noise(sampling: Sampling, sigma: f64) -> Release {
    Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma }))
}

fn allocated(batches: u64, sigma: f64) -> Release {
    with_noise(Sampling::RandomAllocation { batches }, sigma)
}

fn shuffled(batches: u64, sigma: f64) -> Release {
    with_noise(Sampling::Shuffled { batches }, sigma)
}

fn laplace(sampling: Sampling, scale: f64) -> Release {
    let profile = EnvelopeProfile::from_vectors_f64([[1.0].as_slice()]).unwrap();
    Release::new(sampling, Sensitivity::Envelope { profile }, Some(NoiseSpec::Laplace { scale }))
}

fn ledger(events: &[(Release, u64)]) -> Ledger {
    Ledger::of(events.iter().cloned()).unwrap()
}

fn tight(events: &[(Release, u64)]) -> f64 {
    Books::of(ledger(events)).unwrap().tight(DELTA).unwrap().value
}

fn improved(events: &[(Release, u64)]) -> f64 {
    Books::of(ledger(events)).unwrap().renyi(DELTA).unwrap().improved.epsilon
}

/// Three trainings: close to the truth, and below Poisson sampling at the same rate.
#[test]
fn allocation_costs_less_than_poisson_sampling() {
    for (sigma, batches, epochs, truth) in
        [(1.1, 234, 15, 1.094_822_5), (1.395, 30, 20, 2.784_696_2), (0.637, 117, 1, 2.751_018_2)]
    {
        let pld = Pld::for_release(&allocated(batches, sigma)).unwrap().compose(batches * epochs);
        let found = pld.epsilon(DELTA).unwrap();
        assert!(found.value >= truth && found.value <= 1.005 * truth, "{found:?} {truth}");
        assert_eq!((found.method, found.rigor), (Method::Convolution, Rigor::Proven));
        let poisson = Pld::sampled_gaussian(sigma, 1.0 / batches as f64).unwrap().compose(batches * epochs);
        assert!(found.value < poisson.epsilon(DELTA).unwrap().value);
        // ε and δ are points of the same curve.
        let back = pld.delta(found.value).unwrap().value;
        assert!((back / DELTA - 1.0).abs() < 1e-2, "{back:e}");
        let renyi = improved(&[(allocated(batches, sigma), batches * epochs)]);
        assert!(renyi > truth && renyi < 1.3 * truth, "{renyi} {truth}");
        let curve = pld.curve_about(found.value, DELTA);
        assert!(curve.len() > 8 && curve.windows(2).skip(1).all(|pair| pair[1].1 <= pair[0].1), "{curve:?}");
    }
}

/// With many batches and epochs, the loss tends to a Gaussian mechanism's, μ² = epochs·Var X/t.
#[test]
fn many_epochs_of_many_batches_agree_with_their_limit() {
    for (sigma, batches, epochs) in [(2.0f64, 10_000u64, 10_000u64), (1.0, 1_000_000, 1000), (8.0, 4000, 100_000)] {
        let mu = ((epochs as f64 / batches as f64) * sigma.powi(-2).exp_m1()).sqrt();
        let limit = normal::epsilon_gaussian(mu, DELTA);
        let found = tight(&[(allocated(batches, sigma), batches * epochs)]);
        assert!(found > 0.99 * limit && found < 1.01 * limit, "{sigma} {batches} {epochs}: {found} {limit}");
    }
}

/// With one batch there is no allocation: the closed curve, to the last digit.
#[test]
fn one_batch_is_an_unsampled_release() {
    for sigma in [0.3, 1.0, 40.0] {
        for epochs in [1, 7] {
            let (one, whole) = (allocated(1, sigma), shuffled(1, sigma));
            assert_eq!(tight(&[(one.clone(), epochs)]), tight(&[(whole.clone(), epochs)]));
            assert_eq!(improved(&[(one, epochs)]), improved(&[(whole, epochs)]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// More noise or batches, or fewer epochs, cost less (to the grid's accuracy); shuffling most.
    #[test]
    fn costs_are_monotone(
        sigma in 0.3f64..6.0, batches in 2u64..400, epochs in 1u64..40, log_delta in -12.0f64..-1.0, more in 1.05f64..3.0,
    ) {
        let delta = 10f64.powf(log_delta);
        let of = |release: Release, epochs: u64, batches: u64| {
            Pld::for_release(&release).unwrap().compose(epochs * batches).epsilon(delta).unwrap().value
        };
        let here = of(allocated(batches, sigma), epochs, batches);
        let slack = here * (1.0 + 3e-3) + 1e-6;
        prop_assert!(of(allocated(batches, sigma * more), epochs, batches) <= slack);
        let wider = (batches as f64 * more).ceil() as u64;
        prop_assert!(of(allocated(wider, sigma), epochs, wider) <= slack);
        prop_assert!(of(allocated(batches, sigma), epochs + 1, batches) * (1.0 + 3e-3) + 1e-6 >= here);
        prop_assert!(here <= of(shuffled(batches, sigma), epochs, batches) * (1.0 + 1e-9) + 1e-9);
        let renyi = |release: &Release| {
            let curve = RdpCurve::of(release).unwrap();
            RdpAccountant::of_steps(&curve, epochs * batches).epsilon_at(delta, Orders::Integers).unwrap().improved.epsilon
        };
        prop_assert!(here <= renyi(&allocated(batches, sigma)));
        prop_assert!(renyi(&allocated(batches, sigma)) <= renyi(&shuffled(batches, sigma)) * (1.0 + 1e-9));
    }
}

/// An open epoch counts in full, and giving up its sampler costs no more.
#[test]
fn open_epochs_count_in_full() {
    let kind = allocated(20, 1.0);
    for cost in [tight as fn(&[(Release, u64)]) -> f64, improved] {
        let whole = cost(&[(kind.clone(), 60)]);
        for steps in [41, 50, 59] {
            assert_eq!(cost(&[(kind.clone(), steps)]), whole);
        }
        assert!(cost(&[(kind.clone(), 61)]) > whole && cost(&[(kind.clone(), 40)]) < whole);
    }
    let mut open = ledger(&[(kind.clone(), 50)]);
    open.charge_open_epoch(kind.sampling);
    assert_eq!(
        (open.steps(), Books::of(open).unwrap().tight(DELTA).unwrap().value),
        (60, tight(&[(kind.clone(), 60)]))
    );
    // Releases of other policies, even with as many batches, do not close it.
    let apart = [(kind.clone(), 10), (shuffled(20, 5.0), 20), (kind.clone(), 10)];
    let together = [(kind, 20), (shuffled(20, 5.0), 20)];
    assert_eq!(tight(&apart), tight(&together));
}

/// Of Gaussian noises in one epoch, the least counts; other mixtures, and a vector that becomes
/// another within its batch, cost as a shuffled epoch does.
#[test]
fn mixed_noises_in_an_epoch_cost_the_worst_case() {
    let mixed = [(allocated(20, 1.5), 10), (allocated(20, 1.0), 10)];
    for cost in [tight as fn(&[(Release, u64)]) -> f64, improved] {
        assert_eq!(cost(&mixed), cost(&[(allocated(20, 1.0), 20)]));
        assert!(cost(&mixed) < 0.7 * cost(&[(shuffled(20, 1.0), 20)]));
    }
    let sampling = Sampling::RandomAllocation { batches: 20 };
    let (narrow, wide) = (laplace(sampling, 1.0), laplace(sampling, 2.0));
    let whole = Sampling::Shuffled { batches: 20 };
    let mixed = [(narrow.clone(), 10), (wide, 10)];
    for cost in [tight as fn(&[(Release, u64)]) -> f64, improved] {
        let (found, least) = (cost(&mixed), cost(&[(laplace(whole, 1.0), 10), (laplace(whole, 2.0), 10)]));
        // Rényi accounting has more orders for shuffled epochs.
        assert!(found >= least && found <= 1.02 * least, "{found} {least}");
    }
    // Alone, it is amplified by both accountants.
    for cost in [tight as fn(&[(Release, u64)]) -> f64, improved] {
        assert!(cost(&[(narrow.clone(), 80)]) < 0.8 * cost(&[(laplace(whole, 1.0), 80)]));
    }
    let inside = |release: Release| Release { unit: PrivacyUnit::ExampleInMicroBatch, ..release };
    for cost in [tight as fn(&[(Release, u64)]) -> f64, improved] {
        assert_eq!(cost(&[(inside(allocated(20, 1.0)), 40)]), cost(&[(inside(shuffled(20, 1.0)), 40)]));
    }
    assert_eq!(
        tight(&[(Release { unit: PrivacyUnit::MicroBatch, ..allocated(20, 1.0) }, 20)]),
        tight(&[(allocated(20, 1.0), 20)])
    );
}

/// Epochs with other sampling cost more than either alone and less than the sum.
#[test]
fn epochs_and_other_policies_add_up() {
    let epochs = (allocated(30, 1.4), 600);
    let poisson = (with_noise(Sampling::Poisson { rate: 0.02 }, 1.2), 300);
    for cost in [tight as fn(&[(Release, u64)]) -> f64, improved] {
        let both = cost(&[epochs.clone(), poisson.clone()]);
        let (one, other) = (cost(std::slice::from_ref(&epochs)), cost(std::slice::from_ref(&poisson)));
        assert!(both > one && both > other && both < one + other, "{both} {one} {other}");
    }
}

#[test]
fn noise_on_a_grid_and_heavy_tails_have_a_price() {
    let grid = Some(Grid { exponent: -10, coordinates: 1000 });
    let on_grid = Release { grid, ..allocated(50, 1.2) };
    let (exact, found) = (improved(&[(allocated(50, 1.2), 500)]), improved(&[(on_grid, 500)]));
    assert!(found >= exact && found < 1.1 * exact, "{found} {exact}");
    let psi: Vec<f64> = (1..=100).map(|i| 0.7 / f64::from(i)).collect();
    let other: Vec<f64> = (0..100).map(|i| if i < 2 { 0.6 } else { 0.0 }).collect();
    let profile = EnvelopeProfile::from_vectors_f64([psi.as_slice(), &other]).unwrap();
    let release = |sampling| {
        let noise = NoiseSpec::StudentT { nu: 5.0, scale: 1.0 };
        Release::new(sampling, Sensitivity::Envelope { profile: profile.clone() }, Some(noise))
    };
    let at = |sampling| tight(&[(release(sampling), 400)]);
    let (hidden, whole) = (at(Sampling::RandomAllocation { batches: 40 }), at(Sampling::Shuffled { batches: 40 }));
    let poisson = at(Sampling::Poisson { rate: 1.0 / 40.0 });
    assert!(hidden > 0.3 * poisson && hidden < 1.3 * poisson && hidden < 0.4 * whole, "{hidden} {poisson} {whole}");
}

#[test]
fn calibration_supports_random_allocation() {
    let target = |method| Target { epsilon: 2.0, delta: DELTA, method, orders: Orders::All };
    for method in [By::Tight, By::Improved, By::Classic] {
        let found = noise_scale(&allocated(60, 1.0), 600, &target(method)).unwrap();
        let whole = noise_scale(&shuffled(60, 1.0), 600, &target(method)).unwrap();
        assert!(
            found.epsilon <= 2.0 && found.epsilon > 1.999 && found.value < 0.3 * whole.value,
            "{found:?} {whole:?}"
        );
        let steps = calibrate::steps(&allocated(60, found.value), &target(method)).unwrap();
        assert_eq!((steps.value, steps.epsilon <= 2.0), (600, true));
    }
    assert!(calibrate::rate(&allocated(60, 1.0), 600, &target(By::Tight)).is_err());
}

/// Draws are those of a shuffled partition; the policy names its assumptions and round-trips.
#[test]
fn policy_draws_and_round_trips() {
    let policy = Sampling::RandomAllocation { batches: 7 };
    let draw = |policy: Sampling| {
        let mut rng = <rand_chacha::ChaCha20Rng as rand_chacha::rand_core::SeedableRng>::seed_from_u64(3);
        let mut sampler = policy.sampler(500).unwrap();
        let mut lot = Vec::new();
        (0..21)
            .map(|_| {
                sampler.draw(&mut rng, &mut lot);
                lot.clone()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(draw(policy), draw(Sampling::Shuffled { batches: 7 }));
    assert_eq!(policy.neighbours(), NeighbouringRelation::AddOrRemoveOne);
    assert_eq!(serde_json::to_string(&policy).unwrap(), r#"{"random-allocation":{"batches":7}}"#);
    let ledger = ledger(&[(allocated(7, 1.0), 14)]);
    assert_eq!(Ledger::from_json(&ledger.to_json()).unwrap(), ledger);
    let account = Books::of(ledger).unwrap().account(DELTA).unwrap().to_string();
    for part in [
        "random allocation",
        "7 batches",
        "secretly and independently drawn",
        "sizes differ",
        "unfinished epoch",
        "add or remove one",
    ] {
        assert!(account.contains(part), "{part:?} is not in\n{account}");
    }
}

/// Extreme settings are refused by name or answered, never below what is known.
#[test]
fn hostile_settings_are_answered() {
    for batches in [0, 1 << 32] {
        assert!(matches!(
            Pld::for_release(&allocated(batches, 1.0)),
            Err(PrivacyError::Parameter { field: "sampling.batches", .. })
        ));
    }
    for sigma in [1e-6, 0.02, 0.1, 0.3, 1.0, 30.0, 1e6] {
        for batches in [2, 1_000_000_000] {
            for epochs in [1, 1_000_000] {
                let (kind, steps) = (allocated(batches, sigma), batches * epochs);
                let found = tight(&[(kind.clone(), steps)]);
                let whole = tight(&[(shuffled(batches, sigma), steps)]);
                assert!(found <= whole * (1.0 + 1e-9), "{sigma} {batches} {epochs}: {found} {whole}");
                // Where the example is surely found, one epoch costs its release minus ln t.
                let least = if epochs == 1 { whole - (batches as f64).ln() - 1e-3 * whole } else { 0.0 };
                assert!(
                    found >= least * f64::from(u8::from(sigma <= 0.1)) && found >= 0.0,
                    "{sigma} {batches} {epochs}: {found} {least}"
                );
                let renyi = improved(&[(kind, steps)]);
                assert!(renyi >= found * (1.0 - 1e-9), "{sigma} {batches} {epochs}: {found} {renyi}");
            }
        }
    }
    // δ below what an epoch's ends omit: the price of a whole release, or Rényi accounting's.
    for delta in [1e-26, 1e-40, 1e-300] {
        let of = |release| Pld::for_release(&release).unwrap().compose(468).epsilon(delta).unwrap().value;
        let (found, whole) = (of(allocated(234, 1.1)), of(shuffled(234, 1.1)));
        assert!(found <= whole * (1.0 + 1e-9) && found > 1.0, "{delta:e}: {found} {whole}");
    }
    // The most kinds that tight accounting takes.
    let kinds: Vec<(Release, u64)> = (0..64).map(|i| (allocated(234, 1.0 + 0.01 * f64::from(i)), 234)).collect();
    let all = tight(&kinds);
    assert!(all < tight(&[(allocated(234, 1.0), 64 * 234)]) && all > tight(&[(allocated(234, 1.63), 64 * 234)]));
}
