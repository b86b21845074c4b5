//! Users and micro-batches as the privacy unit, and single examples of theirs.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use hushgrad_accounting::{
    PrivacyError,
    books::account,
    calibrate::{Method, Target, noise_scale},
    composition::total,
    ledger::{Ledger, PrivacyUnit, Release, Sensitivity},
    noise::NoiseSpec,
    pld::Pld,
    rdp::{Orders, epsilon_of},
    sampling::Sampling,
};

const UNITS: [PrivacyUnit; 4] =
    [PrivacyUnit::Example, PrivacyUnit::ExampleInMicroBatch, PrivacyUnit::MicroBatch, PrivacyUnit::User];

/// A round of federated averaging: Poisson-sampled users, clipped updates, Gaussian noise.
fn round(rate: f64, sigma: f64) -> Release {
    let bound = Sensitivity::L2 { norm: 1.0 };
    let release = Release::new(Sampling::Poisson { rate }, bound, Some(NoiseSpec::Gaussian { sigma }));
    Release { unit: PrivacyUnit::User, ..release }
}

fn ledger(release: &Release, steps: u64) -> Ledger {
    Ledger::of([(release.clone(), steps)]).unwrap()
}

/// Noise multipliers for 100 rounds, δ = N^−1.1, from another author's PLD accountant.
#[test]
fn user_level_noise_matches_another_accountant() {
    for (users, drawn, scales) in [
        (600.0_f64, 60.0, [0.783, 1.308, 2.791]),
        (1000.0, 100.0, [0.805, 1.358, 2.949]),
        (6000.0, 300.0, [0.652, 0.995, 1.905]),
    ] {
        for (epsilon, expected) in [8.0, 3.0, 1.0].into_iter().zip(scales) {
            let target = Target { epsilon, delta: users.powf(-1.1), method: Method::Tight, orders: Orders::All };
            let found = noise_scale(&round(drawn / users, 1.0), 100, &target).unwrap();
            // The values have three decimals.
            assert!((found.value - expected).abs() < 1.5e-3, "{users} {epsilon}: {} {expected}", found.value);
            assert!(found.epsilon <= epsilon);
        }
    }
}

/// An example turns one vector into another: ε of dp_accounting 0.6 (`PLDAccountant` with
/// `REPLACE_ONE`, grid 1e-4), which has the same pair for Poisson sampling. Rényi accounting of
/// that pair is above it, but below that of a removal and an addition.
#[test]
fn an_exchanged_vector_costs_what_another_accountant_says() {
    let (rounds, delta) = (100, 6000_f64.powf(-1.1));
    for (rate, sigma, steps, delta, expected) in [
        (0.05, 0.652, rounds, delta, 9.610_627),
        (0.05, 0.995, rounds, delta, 4.320_961),
        (0.05, 1.905, rounds, delta, 1.855_286),
        (256.0 / 60_000.0, 1.1, 300, 1e-5, 0.511_326),
        (256.0 / 10_000.0, 1.1, 300, 1e-5, 3.642_919),
    ] {
        let example = ledger(&round(rate, sigma), steps).per_example();
        let account = account(&example, delta).unwrap();
        let tight = account.tight.unwrap().value;
        assert!((tight - expected).abs() < 1e-3 * expected, "{rate} {sigma}: {tight} {expected}");
        let renyi = account.improved.epsilon;
        println!("{rate} {sigma}: Rényi {renyi}, tight {tight}");
        assert!(tight < renyi && renyi < 1.7 * tight, "{rate} {sigma}: {renyi} {tight}");
    }
}

/// A user's vector is present or absent, like a micro-batch's: the price is the same.
#[test]
fn a_users_vector_costs_what_a_micro_batchs_does() {
    for sampling in [
        Sampling::Poisson { rate: 0.01 },
        Sampling::Shuffled { batches: 10 },
        Sampling::RandomAllocation { batches: 10 },
    ] {
        for noise in [NoiseSpec::Gaussian { sigma: 1.1 }, NoiseSpec::Laplace { scale: 1.5 }] {
            let release = Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(noise));
            let [user, batch] = [PrivacyUnit::User, PrivacyUnit::MicroBatch]
                .map(|unit| ledger(&Release { unit, ..release.clone() }, 20));
            let rdp = |ledger: &Ledger| epsilon_of(ledger, 1e-5).unwrap().improved.epsilon;
            let tight = |ledger: &Ledger| Pld::of(ledger).map(|pld| pld.epsilon(1e-5).unwrap().value);
            assert_eq!((rdp(&user), tight(&user)), (rdp(&batch), tight(&batch)), "{sampling:?}");
        }
    }
}

/// An example turns its user's vector into another: ε is between that of the user and a doubled
/// bound.
#[test]
fn one_example_of_a_user_costs_more_than_the_user() {
    for (rate, sigma) in [(0.1, 1.3), (0.05, 1.0), (0.004, 1.1)] {
        let user = ledger(&round(rate, sigma), 100);
        let (example, doubled) = (user.per_example(), ledger(&round(rate, 0.5 * sigma), 100));
        assert_eq!(example.releases()[0].unit, PrivacyUnit::ExampleInMicroBatch);
        let at = |ledger: &Ledger| Pld::of(ledger).unwrap().epsilon(1e-3).unwrap().value;
        let rdp = |ledger: &Ledger| epsilon_of(ledger, 1e-3).unwrap().improved.epsilon;
        assert!(at(&example) > at(&user) && rdp(&example) > rdp(&user), "{rate} {sigma}");
        // Both mixtures share the part without the vector: less than twice as far apart.
        assert!(at(&example) < at(&doubled) && rdp(&example) >= at(&example), "{rate} {sigma}");
    }
}

#[test]
fn privacy_units_are_stored_and_not_mixed() {
    let of = |unit| Release { unit, ..round(0.01, 1.0) };
    for unit in UNITS {
        assert_eq!(unit.within().within(), unit.within());
        let one = ledger(&of(unit), 100);
        let json = Ledger::from_json(&one.to_json()).unwrap();
        assert_eq!(json, one);
        for other in UNITS {
            let mut both = one.clone();
            let id = both.register(of(other)).unwrap();
            both.record_many(id, 100);
            let alike = unit == other || (unit.within() == unit && other.within() == other);
            assert_eq!(epsilon_of(&both, 1e-5).is_ok(), alike, "{unit:?} {other:?}");
            if !alike {
                assert_eq!(epsilon_of(&both, 1e-5), Err(PrivacyError::MixedUnits));
                assert_eq!(Pld::of(&both).unwrap_err(), PrivacyError::MixedUnits);
                // For one example, they add up.
                let sum = account(&both.per_example(), 1e-5).unwrap();
                let sum = sum.tight.map_or(sum.improved.epsilon, |tight| tight.value);
                let runs = [&one, &ledger(&of(other), 100)].map(Ledger::clone);
                assert_eq!(total(&[&runs[0], &runs[1]], 1e-5).unwrap().epsilon, sum);
            }
        }
    }
    assert_eq!(PrivacyUnit::User.to_string(), "one user, with all their examples");
    assert!(ledger(&of(PrivacyUnit::User), 1).to_json().contains("\"unit\": \"user\""));
}
