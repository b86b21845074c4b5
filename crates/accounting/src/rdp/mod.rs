//! Rényi accounting: Lemmas 4 and 5, Theorem 1 (Nasr, Shokri & Houmansadr 2020) and conversions.
//!
//! An [`RdpCurve`] is ε(α) of one release; an [`RdpAccountant`] adds them up (Theorem 1) and converts.

mod accountant;
mod allocation;
mod concentrated;
mod conversion;
mod curve;
mod fixed_size;
mod orders;
mod poisson;

pub(crate) use accountant::check_kind_count;
pub use accountant::{CurveId, RdpAccountant, epsilon_of};
pub use concentrated::Concentrated;
pub use conversion::{Bound, Epsilon, classic, improved};
pub use curve::RdpCurve;
pub use orders::{FIRST_ORDER, LAST_ORDER, Orders};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        PrivacyError,
        envelope::EnvelopeProfile,
        ledger::{Ledger, PrivacyUnit, Release, Sensitivity},
        noise::NoiseSpec,
        sampling::Sampling,
    };

    const RATE: f64 = 256.0 / 60_000.0;

    fn ledger(sensitivity: Sensitivity, noise: Option<NoiseSpec>, steps: u64) -> Ledger {
        Ledger::of([(Release::new(Sampling::Poisson { rate: RATE }, sensitivity, noise), steps)]).unwrap()
    }

    #[test]
    fn tutorial_case() {
        // 60 epochs of MNIST at σ = 1.1; dp_accounting 0.6.0: 3.009 (classic), 2.597 (improved).
        let noise = NoiseSpec::Gaussian { sigma: 1.1 };
        let ledger = ledger(Sensitivity::L2 { norm: 1.0 }, Some(noise), 14_062);
        let integers = RdpAccountant::of(&ledger).unwrap().epsilon_at(1e-5, Orders::Integers).unwrap();
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
        // ψ_i = 1/√P, so Σ ln I_k = P·ln I_k(1/√P): for P = 26,010 like the Gaussian of equal
        // Fisher information, to 1e-3.
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

    /// The best order is found wherever the search begins.
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
                let accountant = RdpAccountant::of(&ledger).unwrap();
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
        for unit in [PrivacyUnit::Example, PrivacyUnit::ExampleInMicroBatch] {
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

    /// Large k·|ln q| with a small sum: (q, σ, α, ε(α) rounded down), 60-digit arithmetic.
    #[test]
    fn rounding_of_large_exponents_is_covered() {
        #[rustfmt::skip]
        let known = [
            (1e-150, 0.03890209811343066, 2, 9.35762296884055e-14),
            (1e-150, 0.03813086352308478, 2, 0.048587351573736504),
            (1e-150, 0.30220156491955125, 64, 1.485336979179062e-15),
            (1e-150, 0.30201692092064003, 64, 0.000771227802756536),
            (1e-150, 0.6076805098763765, 256, 3.669656066173702e-16),
            (1e-150, 0.6075877179784388, 256, 0.0001905386336246895),
            (3e-217, 0.03215575870842949, 2, 9.357622968838078e-14),
            (3e-217, 0.03171608452045177, 2, 0.04858735157374527),
            (3e-217, 0.251477882521007, 64, 1.4853369791902054e-15),
            (3e-217, 0.2513714518369372, 64, 0.0007712278027562602),
            (3e-217, 0.5057622358414823, 256, 3.669656066253414e-16),
            (3e-217, 0.5057087358270431, 256, 0.00019053863361848396),
            (7e-290, 0.02771787763638947, 2, 9.357622968837105e-14),
            (7e-290, 0.027434790279002173, 2, 0.04858735157374912),
            (7e-290, 0.2175880731641665, 64, 1.4853369791857462e-15),
            (7e-290, 0.21751912193271888, 64, 0.0007712278027587132),
            (7e-290, 0.437643206861668, 256, 3.6696560661277157e-16),
            (7e-290, 0.43760854175097547, 256, 0.00019053863362325618),
            (1e-09, 0.2955718315903346, 2, 9.357522968839731e-14),
            (1e-09, 0.161276621207704, 2, 0.04858735157374227),
            (1e-09, 1.247080084569395, 64, 1.5142069783009172e-15),
            (1e-09, 1.234291989550211, 64, 0.0007712278556715645),
            (1e-09, 2.4874675225718645, 256, 3.894180977753267e-16),
            (1e-09, 2.4811260133762136, 256, 0.00019053868236344385),
            (0.01, 1.0, 2, 0.00017181342207454794),
            (0.01, 0.4012751800963195, 2, 0.04849208962378425),
            (0.01, 2.7595797695142914, 64, 0.0004953967874849328),
            (0.01, 2.6287788623373567, 64, 0.002070353512314032),
            (0.01, 5.330028190113586, 256, 0.000506366165413171),
            (0.01, 5.268482329857734, 256, 0.002504072417566555),
        ];
        for (rate, sigma, order, want) in known {
            let got = RdpCurve::sampled_gaussian(sigma, rate).unwrap().at(f64::from(order)).unwrap();
            assert!(got >= want && got <= want * (1.0 + 1e-9), "q {rate:e}, σ {sigma}, α {order}: {got:e} {want:e}");
        }
    }

    /// A loss below the smallest f64 is positive; only a rate of 0 gives ε = 0, at any δ.
    #[test]
    fn only_a_zero_rate_costs_nothing() {
        for sampling in [Sampling::Poisson { rate: 1e-200 }, Sampling::Poisson { rate: 1e-300 }] {
            let release =
                Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma: 1.0 }));
            let curve = RdpCurve::of(&release).unwrap();
            assert!(curve.integer_orders().iter().all(|bound| *bound > 0.0));
            assert!([1.5, 7.25, 300.0].into_iter().all(|order| curve.at(order).is_none_or(|bound| bound > 0.0)));
            let mut accountant = RdpAccountant::new();
            let id = accountant.add_curve(curve.clone()).unwrap();
            accountant.compose(id, 1);
            let found = accountant.epsilon(1e-310).unwrap();
            assert!(found.classic.epsilon > 0.0 && found.improved.epsilon > 0.0, "{sampling:?}: {found:?}");
            let mut nothing = RdpAccountant::new();
            let id = nothing.add_curve(curve.at_rate(0.0).unwrap()).unwrap();
            nothing.compose(id, 1000);
            assert_eq!(nothing.epsilon(1e-310).unwrap().classic.epsilon, 0.0);
        }
    }

    /// Too many kinds of release are refused before any is priced.
    #[test]
    fn too_many_kinds_are_refused_before_they_are_priced() {
        let kinds = |count: u32, noise: fn(f64) -> NoiseSpec| {
            let release = |i: u32| {
                let scale = 1.0 + 1e-4 * f64::from(i);
                format!(
                    r#"{{"sampling":{{"poisson":{{"rate":0.01}}}},"sensitivity":{{"l2":{{"norm":1}}}},"noise":{},"unit":"example"}}"#,
                    serde_json::to_string(&noise(scale)).unwrap()
                )
            };
            let events: Vec<String> = (0..count).map(|i| format!(r#"{{"release":{i},"count":1}}"#)).collect();
            let releases: Vec<String> = (0..count).map(release).collect();
            let text = format!(
                r#"{{"format":"hushgrad-ledger","version":1,"releases":[{}],"events":[{}]}}"#,
                releases.join(","),
                events.join(",")
            );
            Ledger::from_json(&text).unwrap()
        };
        let account = |ledger: &Ledger| crate::books::account(ledger, 1e-5);
        let refused = |kinds, most| match kinds {
            Err(PrivacyError::TooManyKinds { kinds, most: limit, .. }) => (kinds, limit) == most,
            _ => false,
        };
        let gaussian = |sigma| NoiseSpec::Gaussian { sigma };
        let laplace = |scale| NoiseSpec::Laplace { scale };
        assert!(refused(account(&kinds(20_000, gaussian)), (20_000, 1024)));
        assert!(refused(account(&kinds(65, laplace)), (65, 64)));
        let most = account(&kinds(1024, gaussian)).unwrap();
        assert!(most.tight.is_none() && most.improved.epsilon > 0.0, "{most:?}");
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
