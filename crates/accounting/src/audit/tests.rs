use super::*;

#[test]
fn chance_gives_zero_and_invalid_counts_are_refused() {
    let half = Guesses::new(1000, 200, 110).unwrap();
    assert_eq!(half.epsilon(0.05, 1e-5).unwrap(), 0.0);
    assert_eq!(half.mu(0.05).unwrap(), 0.0);
    for [m, r, v] in [[0, 0, 0], [10, 0, 0], [1000, 1, 1], [1000, 50, 0]] {
        let few = Guesses::new(m, r, v).unwrap();
        assert_eq!((few.epsilon(0.05, 1e-5).unwrap(), few.mu(0.05).unwrap()), (0.0, 0.0), "{m} {r} {v}");
    }
    assert!(matches!(Guesses::new(10, 11, 3), Err(AuditError::Guesses { .. })));
    assert!(matches!(Guesses::new(10, 5, 6), Err(AuditError::Guesses { .. })));
    for significance in [0.0, 1.0, f64::NAN, -1.0] {
        assert!(matches!(half.epsilon(significance, 0.0), Err(AuditError::Significance(_))));
        assert!(matches!(half.mu(significance), Err(AuditError::Significance(_))));
    }
    assert!(matches!(half.epsilon(0.05, 1.0), Err(AuditError::Delta(_))));
    assert!(matches!(Errors::new((3, 2), (0, 1)), Err(AuditError::Errors { errors: 3, trials: 2 })));
    assert!(matches!(Errors::new((0, 0), (0, 1)), Err(AuditError::Errors { .. })));
    // An attack that is always wrong, and one that is never wrong.
    let blind = Errors::new((5, 5), (7, 7)).unwrap();
    assert_eq!((blind.epsilon(0.025, 1e-5).unwrap(), blind.mu(0.025).unwrap()), (0.0, 0.0));
    let sure = Errors::new((0, 100_000), (0, 100_000)).unwrap();
    assert!(sure.epsilon(0.025, 0.0).unwrap() > 10.0 && sure.mu(0.025).unwrap() > 7.0);
}

/// Randomised response about each canary: its ε is refuted as rarely as stated, 0.8 of it often.
#[test]
fn bounds_hold_with_the_stated_confidence() {
    let (m, r, epsilon) = (400, 400, 1.5_f64);
    let p = 1.0 / (1.0 + (-epsilon).exp());
    let mut state = 7_u64;
    let mut uniform = || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (mut above, mut useful) = (0, 0);
    let runs = 400;
    for _ in 0..runs {
        let right = (0..r).filter(|_| uniform() < p).count() as u32;
        let found = Guesses::new(m, r, right).unwrap().epsilon(0.05, 0.0).unwrap();
        above += u32::from(found > epsilon);
        useful += u32::from(found > 0.8 * epsilon);
    }
    // 20 are expected at most; 37 or more have a probability below 1e-4.
    assert!(above < 37 && useful > runs / 2, "{above} above, {useful} useful");
}
