use super::*;
use crate::accounting::groups::{Clipping, Groups, NoisyGroup};

fn key(number: u32) -> [u32; 8] {
    [number, 1, 2, 3, 4, 5, 6, 7]
}

/// Kolmogorov–Smirnov distance from N(0, 1), times √n. Exceeds 1.95 with probability 1e-3.
fn distance(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let noise = NoiseSpec::Gaussian { sigma: 1.0 }.build().unwrap();
    let n = values.len() as f64;
    let far = |(place, value): (usize, &f64)| {
        let expected = noise.cdf(*value);
        (expected - place as f64 / n).abs().max(((place + 1) as f64 / n - expected).abs())
    };
    n.sqrt() * values.iter().enumerate().map(far).fold(0.0, f64::max)
}

/// The release costs one query of noise multiplier z; gradient, norms and answers are its groups.
#[test]
fn groups_have_the_noise_multiplier_of_the_whole() {
    for z in [0.3, 1.1, 7.0] {
        for (within, answers) in [(Some(12.8), None), (None, Some(20.0)), (Some(30.0), Some(12.0)), (None, None)] {
            let counting = Counting { within, answers };
            let gradient = counting.of_gradient(z).unwrap();
            let mut groups = Groups::new(
                vec![NoisyGroup { group: Group::new("gradient", 26_010, 1.0), noise: gradient }],
                Clipping::Separate,
            )
            .unwrap();
            for (group, noise) in counting.groups() {
                groups = groups.and(group, noise).unwrap();
            }
            assert!((groups.noise_multiplier() / z - 1.0).abs() < 1e-12, "{z} {counting:?}");
            assert_eq!(gradient > z, !counting.is_none());
        }
    }
    // 2σ_b ≤ z: nothing is left for the gradient.
    let of = |within| Counting { within: Some(within), answers: None }.of_gradient(2.0);
    assert!(of(1.0).is_none() && of(0.2).is_none() && of(1.001).unwrap() > 40.0);
}

/// No example moves a group by more than its bound.
#[test]
fn an_example_adds_no_more_than_its_groups_allow() {
    let bounds: Vec<f64> =
        Counting { within: Some(1.0), answers: Some(1.0) }.groups().map(|(group, _)| group.clip).collect();
    for (within, right) in [(true, true), (true, false), (false, true), (false, false)] {
        for digit in 0..10 {
            let mut counts = Counts::default();
            counts.add(within, right, digit);
            let own = [0.25 * (counts.within as f64).powi(2), {
                let digits: f64 = counts.digits.iter().map(|&count| (count as f64).powi(2)).sum();
                0.25 * (counts.right as f64).powi(2) + digits
            }];
            for (square, bound) in own.into_iter().zip(&bounds) {
                assert!(square.sqrt() <= bound * (1.0 + 1e-15), "{square} {bound}");
            }
        }
    }
}

#[test]
fn merged_counts_equal_the_whole() {
    let example = |i: u32| (i.is_multiple_of(3), i.is_multiple_of(4), (i % 10) as u8);
    let mut whole = Counts::default();
    let mut parts = [Counts::default(); 3];
    for i in 0..100 {
        let (within, right, digit) = example(i);
        whole.add(within, right, digit);
        parts[i as usize % 3].add(within, right, digit);
    }
    let mut merged = Counts::default();
    parts.into_iter().for_each(|part| merged.merge(part));
    assert_eq!(merged, whole);
    assert_eq!((whole.within, whole.right, whole.digits), (34 - 66, 25 - 75, [10; 10]));
}

/// Each group's Gaussian noise has its own standard deviation and is independent of the others.
#[test]
fn each_group_has_its_own_gaussian_noise() {
    const STEPS: u32 = 4000;
    let counting = Counting { within: Some(3.0), answers: Some(0.7) };
    let mut counts = Counts::default();
    (0..30).for_each(|i| counts.add(i % 3 > 0, i % 5 == 0, (i % 10) as u8));
    let told: Vec<ReleasedCounts> = (0..STEPS).map(|step| counts.release(counting, &key(step)).unwrap()).collect();
    let exact = [5.0, -9.0, 3.0];
    let all: [Vec<f64>; 3] = [
        told.iter().map(|told| (told.within.unwrap() - exact[0]) / 3.0).collect(),
        told.iter().map(|told| (told.answers.unwrap().right - exact[1]) / 0.7).collect(),
        told.iter().flat_map(|told| told.answers.unwrap().digits.map(|count| (count - exact[2]) / 0.7)).collect(),
    ];
    // False alarms: 1e-3 each for the distance, 6e-5 each for the variance (4 standard deviations).
    for values in &all {
        let n = values.len() as f64;
        let square = values.iter().map(|value| value * value).sum::<f64>() / n;
        assert!((square - 1.0).abs() < 4.0 * (2.0 / n).sqrt(), "{square}");
        assert!(distance(values.clone()) < 1.95, "{}", distance(values.clone()));
    }
    // No two share a draw: correlations of 4000 pairs have a standard deviation of 0.016.
    let product = |a: &dyn Fn(u32) -> f64, b: &dyn Fn(u32) -> f64| {
        (0..STEPS).map(|i| a(i) * b(i)).sum::<f64>() / f64::from(STEPS)
    };
    let one = NoiseSpec::Gaussian { sigma: 1.0 }.build().unwrap();
    let of = |k: usize| {
        let all = &all;
        move |i: u32| all[k][i as usize]
    };
    let gradient = |place| {
        let one = &one;
        move |i: u32| crate::mechanism::noise::noise_at(&key(i), place, &**one)
    };
    for pair in [
        product(&of(0), &of(1)),
        product(&of(0), &gradient(0)),
        product(&of(1), &gradient(1)),
        product(&of(1), &gradient(0)),
    ] {
        assert!(pair.abs() < 0.065, "{pair}");
    }
    // Released values are whole multiples of the grain, so a floating-point sum drops no digits.
    for told in &told {
        assert!((told.within.unwrap() / super::grain(3.0)).fract() == 0.0);
        assert!((told.answers.unwrap().right / super::grain(0.7)).fract() == 0.0);
    }
    // Omitting a group does not change the others.
    let within = counts.release(Counting { answers: None, ..counting }, &key(1)).unwrap();
    assert_eq!((within.within, within.answers), (told[1].within, None));
    let answers = counts.release(Counting { within: None, ..counting }, &key(1)).unwrap();
    assert_eq!((answers.within, answers.answers), (None, told[1].answers));
}

#[test]
fn estimated_error_matches_the_observed_error() {
    const RUNS: u32 = 600;
    let counting = Counting { within: None, answers: Some(12.0) };
    let mut square = 0.0;
    for run in 0..RUNS {
        let mut estimate = Estimate::default();
        for step in 0..40 {
            // The lot is the whole population, so sampling adds no variance.
            let mut counts = Counts::default();
            (0..200).for_each(|i| counts.add(true, i % 4 > 0, (i % 10) as u8));
            let told = counts.release(counting, &[run, step, 9, 9, 9, 9, 9, 9]).unwrap();
            estimate.add(&told.answers.unwrap(), 12.0, 200.0, 200.0);
        }
        assert!(estimate.drawn == 0.0 && estimate.is_possible() && estimate.error() < 0.06);
        square += ((estimate.accuracy - 0.75) / estimate.error()).powi(2) / f64::from(RUNS);
    }
    // Five standard deviations of χ²: false-alarm rate 6e-7.
    assert!((square - 1.0).abs() < 5.0 * (2.0 / f64::from(RUNS)).sqrt(), "{square}");
}
