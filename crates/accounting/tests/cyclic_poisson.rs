//! Cyclic Poisson sampling, for correlated noise: its draws, and that a cycle costs as one release.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use hushgrad_accounting::{
    PrivacyError,
    books::account,
    calibrate::{Method, Target, noise_scale, steps},
    composition::total,
    ledger::{Ledger, Release, Sensitivity},
    noise::NoiseSpec,
    rdp::{Orders, epsilon_of},
    rounding::Grid,
    sampling::{NeighbouringRelation, Sampling},
};
use proptest::prelude::*;
use rand::rand_core::SeedableRng;
use rand_chacha::ChaCha20Rng;

const DELTA: f64 = 1e-5;

fn gaussian(sampling: Sampling, sigma: f64) -> Release {
    Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma }))
}

fn ledger(events: &[(Release, u64)]) -> Ledger {
    Ledger::of(events.iter().cloned()).unwrap()
}

/// Each example is drawn in the steps of one residue only, at its rate; groups stay.
#[test]
fn groups_take_turns_and_stay() {
    const POPULATION: u32 = 400;
    const CYCLES: u32 = 300;
    let (groups, rate) = (6_u64, 0.3);
    let mut sampler = Sampling::CyclicPoisson { rate, groups }.sampler(POPULATION.into()).unwrap();
    let (mut rng, mut lot) = (ChaCha20Rng::seed_from_u64(7), Vec::new());
    // How often each example was drawn in steps of each residue.
    let mut drawn = vec![0_u32; POPULATION as usize * groups as usize];
    for _ in 0..CYCLES {
        for residue in 0..groups as usize {
            sampler.draw(&mut rng, &mut lot);
            assert!(lot.is_sorted_by(|a, b| a < b));
            lot.iter().for_each(|&i| drawn[i as usize * groups as usize + residue] += 1);
        }
    }
    let mut sizes = vec![0; groups as usize];
    for (example, counts) in drawn.chunks(groups as usize).enumerate() {
        let own: Vec<(usize, u32)> = counts.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect();
        let [(group, count)] = own[..] else { panic!("{example}: {own:?}") };
        sizes[group] += 1;
        // 90, with a standard deviation of 8.
        assert!((45..135).contains(&count), "{count}");
    }
    // 67 each, with a standard deviation of 7.5.
    assert!(
        sizes.iter().all(|size| (30..105).contains(size)) && sizes.iter().any(|size| *size != sizes[0]),
        "{sizes:?}"
    );

    let first = |sampler: &mut hushgrad_accounting::sampling::Sampler, rng: &mut ChaCha20Rng| {
        let mut all: Vec<u32> = Vec::new();
        for _ in 0..100 {
            let mut lot = Vec::new();
            (0..groups).for_each(|step| {
                sampler.draw(rng, &mut lot);
                if step == 0 {
                    all.extend(lot.iter().copied());
                }
            });
        }
        all.sort_unstable();
        all.dedup();
        all
    };
    let before = first(&mut sampler, &mut rng);
    assert_eq!(before.len(), sizes[0], "a sampler goes on with its groups");
    sampler.draw(&mut rng, &mut lot);
    sampler.begin_again();
    assert_ne!(first(&mut sampler, &mut rng), before);
}

proptest! {
    /// ε is always that of ⌈T/b⌉ Poisson releases, and each run begins with a cycle of its own.
    #[test]
    fn a_cycle_is_one_release_from_its_first_step_on(
        rate in 0.001_f64..1.0, sigma in 0.8_f64..4.0, groups in 1_u64..12, steps in 1_u64..60, more in 1_u64..60,
    ) {
        let cyclic = gaussian(Sampling::CyclicPoisson { rate, groups }, sigma);
        let poisson = gaussian(Sampling::Poisson { rate }, sigma);
        let run = ledger(&[(cyclic.clone(), steps)]);
        let same = |ours: &Ledger, releases: u64| {
            let theirs = ledger(&[(poisson.clone(), releases)]);
            assert_eq!(epsilon_of(ours, DELTA).unwrap(), epsilon_of(&theirs, DELTA).unwrap());
        };
        same(&run, steps.div_ceil(groups));
        let after = steps.div_ceil(groups) + more.div_ceil(groups);
        same(&run.compose(&ledger(&[(cyclic.clone(), more)])).unwrap(), after);
        let mut resumed = run.clone();
        resumed.charge_open_epoch(cyclic.sampling);
        same(&resumed, steps.div_ceil(groups));
        let id = resumed.register(cyclic).unwrap();
        resumed.record_many(id, more);
        same(&resumed, after);
    }
}

/// Another noise or rate begins a new sequence: none enters another's cycle.
#[test]
fn another_release_begins_another_cycle() {
    let sampling = |rate| Sampling::CyclicPoisson { rate, groups: 8 };
    let (loud, quiet) = (gaussian(sampling(0.1), 1.0), gaussian(sampling(0.1), 4.0));
    let other = gaussian(sampling(0.2), 4.0);
    let poisson = |rate, sigma| gaussian(Sampling::Poisson { rate }, sigma);
    let in_turns: Vec<_> = (0..6).map(|i| (if i % 2 == 0 { quiet.clone() } else { loud.clone() }, 3)).collect();
    for (ours, theirs) in [
        (vec![(quiet.clone(), 3), (loud.clone(), 3)], vec![(poisson(0.1, 4.0), 1), (poisson(0.1, 1.0), 1)]),
        (vec![(quiet.clone(), 8), (loud.clone(), 9)], vec![(poisson(0.1, 4.0), 1), (poisson(0.1, 1.0), 2)]),
        (vec![(quiet.clone(), 3), (other.clone(), 3)], vec![(poisson(0.1, 4.0), 1), (poisson(0.2, 4.0), 1)]),
        (in_turns, vec![(poisson(0.1, 4.0), 3), (poisson(0.1, 1.0), 3)]),
    ] {
        let [ours, theirs] = [ours, theirs].map(|events| account(&ledger(&events), DELTA).unwrap());
        assert_eq!((ours.improved, ours.classic), (theirs.improved, theirs.classic));
        assert_eq!(ours.tight, theirs.tight);
    }
    // Gives up the last release's cycle.
    let mut open = ledger(&[(quiet, 3), (loud.clone(), 3)]);
    open.charge_open_epoch(sampling(0.1));
    assert_eq!(open.steps(), 3 + 8);
    let id = open.register(loud).unwrap();
    open.record_many(id, 1);
    let theirs = ledger(&[(poisson(0.1, 4.0), 1), (poisson(0.1, 1.0), 2)]);
    assert_eq!(epsilon_of(&open, DELTA).unwrap(), epsilon_of(&theirs, DELTA).unwrap());
    assert_eq!(total(&[&open], DELTA).unwrap().epsilon, account(&theirs, DELTA).unwrap().tight.unwrap().value);
}

#[test]
fn only_gaussian_noise_that_is_not_rounded_is_priced() {
    let sampling = Sampling::CyclicPoisson { rate: 0.1, groups: 4 };
    let fine = gaussian(sampling, 1.0);
    assert!(fine.validate().is_ok());
    assert_eq!(sampling.neighbours(), NeighbouringRelation::AddOrRemoveOne);
    let grid = Some(Grid { exponent: -20, coordinates: 10 });
    for refused in [
        Release { noise: Some(NoiseSpec::Laplace { scale: 1.0 }), ..fine.clone() },
        Release { noise: Some(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }), ..fine.clone() },
        Release { grid, ..fine.clone() },
    ] {
        assert!(matches!(refused.validate(), Err(PrivacyError::Unpriced(_))), "{refused:?}");
        assert!(Ledger::new().register(refused).is_err());
    }
    for (rate, groups) in [(1.01, 4), (f64::NAN, 4), (-0.1, 4), (0.1, 0), (0.1, 1 << 32)] {
        assert!(Sampling::CyclicPoisson { rate, groups }.validate().is_err(), "{rate} {groups}");
    }
    assert!(sampling.sample(10, &mut ChaCha20Rng::seed_from_u64(1), &mut Vec::new()).is_err());
}

#[test]
fn a_budget_is_calibrated_by_cycles() {
    let target = Target { epsilon: 3.0, delta: DELTA, method: Method::Improved, orders: Orders::All };
    let cyclic = gaussian(Sampling::CyclicPoisson { rate: 0.1, groups: 8 }, 1.5);
    let poisson = gaussian(Sampling::Poisson { rate: 0.1 }, 1.5);
    for (taken, cycles) in [(1, 1), (8, 1), (9, 2), (400, 50)] {
        let found = noise_scale(&cyclic, taken, &target).unwrap().value;
        assert_eq!(found, noise_scale(&poisson, cycles, &target).unwrap().value, "{taken} steps");
    }
    let found = steps(&cyclic, &target).unwrap().value;
    assert_eq!(found, 8 * steps(&poisson, &target).unwrap().value);
}

#[test]
fn ledgers_store_cyclic_sampling_and_older_ones_still_read() {
    let text = ledger(&[(gaussian(Sampling::CyclicPoisson { rate: 0.125, groups: 8 }, 1.5), 20)]).to_json();
    assert!(text.contains(r#""cyclic-poisson""#) && text.contains(r#""groups": 8"#), "{text}");
    assert_eq!(Ledger::from_json(&text).unwrap().to_json(), text);
    let before = text.replace("cyclic-poisson", "poisson").replace(",\n          \"groups\": 8", "");
    let read = Ledger::from_json(&before).unwrap();
    assert_eq!(read.releases()[0].sampling, Sampling::Poisson { rate: 0.125 });
    assert!(Ledger::from_json(&text.replace("0.125", "1.125")).is_err());
    assert!(
        account(&Ledger::from_json(&text).unwrap(), DELTA)
            .unwrap()
            .assumptions
            .iter()
            .any(|a| a.to_string().contains("8 groups"))
    );
}
