//! Rényi accounting: Lemma 4, Lemma 5, Theorem 1 (Nasr, Shokri & Houmansadr 2020) and the conversions to (ε, δ).
//!
//! A [`RdpCurve`] is ε(α) of one release; an [`Accountant`] adds curves (Theorem 1) and converts; [`epsilon_of`] does both for a ledger.

mod accountant;
mod conversion;
mod curve;
mod fixed_size;
mod poisson;

pub use accountant::{Accountant, CurveId, epsilon_of};
pub use conversion::{Bound, Epsilon, classic, improved};
pub use curve::{FIRST_ORDER, LAST_ORDER, RdpCurve};

/// Which orders a conversion may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Orders<'a> {
    /// Integers 2..=256, then fractional ones beside the best (Gaussian), or larger ones if 256 is the best.
    #[default]
    All,
    /// Integers 2..=256 only.
    Integers,
    /// These, where the curves are defined there.
    Listed(&'a [f64]),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::{
        PrivacyError,
        envelope::EnvelopeProfile,
        ledger::{Ledger, Release, Sensitivity, Unit},
        noise::NoiseSpec,
        sampling::Sampling,
    };

    const RATE: f64 = 256.0 / 60_000.0;

    fn ledger(sensitivity: Sensitivity, noise: Option<NoiseSpec>, steps: u64) -> Ledger {
        let mut ledger = Ledger::new();
        let id = ledger.register(Release::new(Sampling::Poisson { rate: RATE }, sensitivity, noise)).unwrap();
        ledger.record_many(id, steps);
        ledger
    }

    #[test]
    fn tutorial_case() {
        // 60 epochs of MNIST at σ = 1.1: 3.009 (classic) and 2.597 (improved) at integer orders, as dp_accounting 0.6.0.
        let noise = NoiseSpec::Gaussian { sigma: 1.1 };
        let ledger = ledger(Sensitivity::L2 { norm: 1.0 }, Some(noise), 14_062);
        let integers = Accountant::of(&ledger).unwrap().epsilon_at(1e-5, Orders::Integers).unwrap();
        assert!((integers.classic.epsilon / 3.009_099_525_732_417 - 1.0).abs() < 1e-8, "{integers:?}");
        assert!((integers.improved.epsilon / 2.596_981_178_594_853 - 1.0).abs() < 1e-8, "{integers:?}");
        assert_eq!((integers.classic.order, integers.improved.order), (9.0, 8.0));
        let all = epsilon_of(&ledger, 1e-5).unwrap();
        // With orders in steps of 0.1, dp_accounting finds 2.59655587 at 8.1.
        assert!(all.improved.epsilon <= 2.596_555_869_794_4 && all.improved.epsilon > 2.5965, "{all:?}");
        assert_eq!(Ledger::from_json(&ledger.to_json()).unwrap(), ledger);
        assert!(ledger.to_json().len() < 600);
    }

    #[test]
    fn student_t_envelope() {
        // ψ_i = 1/√P: known from Σ ln I_k = P·ln I_k(1/√P); for P = 26,010 it is the Gaussian of equal Fisher information to 1e-3.
        let psi = vec![(26_010f32).sqrt().recip(); 26_010];
        let profile = EnvelopeProfile::from_vectors([psi.as_slice()]).unwrap();
        let noise = NoiseSpec::StudentT { nu: 9.0, scale: 1.0 };
        let t = epsilon_of(&ledger(Sensitivity::Envelope { profile }, Some(noise), 14_062), 1e-5).unwrap();
        let sigma = (12.0f64 / 10.0).sqrt();
        let gaussian =
            epsilon_of(&ledger(Sensitivity::L2 { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma }), 14_062), 1e-5)
                .unwrap();
        assert!((t.classic.epsilon / gaussian.classic.epsilon - 1.0).abs() < 1e-3, "{t:?} {gaussian:?}");
    }

    /// Where to begin is a guess: the best of all orders is found wherever it is.
    #[test]
    fn the_best_order_is_found_from_either_end() {
        let entries: Vec<f64> = (1..200).map(|i| 1.0 / f64::from(i)).collect();
        let profile = EnvelopeProfile::from_vectors_f64([entries.as_slice()]).unwrap();
        let orders: Vec<f64> = (2..=256).map(f64::from).collect();
        let mut best = Vec::new();
        for scale in [1.0, 8.0, 25.0, 300.0] {
            for steps in [1, 1000, 100_000] {
                let noise = NoiseSpec::StudentT { nu: 9.0, scale };
                let ledger = ledger(Sensitivity::Envelope { profile: profile.clone() }, Some(noise), steps);
                let accountant = Accountant::of(&ledger).unwrap();
                let found = accountant.epsilon_at(1e-5, Orders::Integers).unwrap();
                let listed = accountant.epsilon_at(1e-5, Orders::Listed(&orders)).unwrap();
                let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
                assert!(near(found.classic.epsilon, listed.classic.epsilon), "{scale}, {steps}: {found:?} {listed:?}");
                assert!(
                    near(found.improved.epsilon, listed.improved.epsilon),
                    "{scale}, {steps}: {found:?} {listed:?}"
                );
                best.push(found.classic.order);
            }
        }
        assert!(best.iter().any(|order| *order < 20.0) && best.iter().any(|order| *order > 100.0), "{best:?}");
    }

    #[test]
    fn curves_of_several_rates_share_their_moments() {
        let profile = EnvelopeProfile::from_vectors_f64([[0.5, 0.3].as_slice(), &[0.4, 0.45]]).unwrap();
        for unit in [Unit::Example, Unit::ExampleInMicroBatch] {
            let at = |rate| {
                let (sampling, sensitivity) =
                    (Sampling::Poisson { rate }, Sensitivity::Envelope { profile: profile.clone() });
                let noise = Some(NoiseSpec::StudentT { nu: 5.0, scale: 1.0 });
                RdpCurve::of(&Release { unit, ..Release::new(sampling, sensitivity, noise) }).unwrap()
            };
            let whole = at(1.0);
            for rate in [0.0, 1e-3, 0.3, 1.0] {
                assert_eq!(whole.at_rate(rate).unwrap().integer_orders(), at(rate).integer_orders(), "{rate}");
            }
            assert!(whole.at_rate(1.5).is_none() && whole.at_rate(f64::NAN).is_none());
        }
    }

    #[test]
    fn without_noise_or_bound_there_is_no_number() {
        let bare = ledger(Sensitivity::L2 { norm: 1.0 }, None, 1);
        assert_eq!(epsilon_of(&bare, 1e-5), Err(PrivacyError::NoNoise));
        let open = ledger(Sensitivity::Unbounded, Some(NoiseSpec::Gaussian { sigma: 1.0 }), 1);
        assert_eq!(epsilon_of(&open, 1e-5), Err(PrivacyError::NoBound));
        let nothing = ledger(Sensitivity::L2 { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma: 1.0 }), 0);
        assert_eq!(epsilon_of(&nothing, 1e-5).unwrap().improved.epsilon, 0.0);
    }
}
