//! Bounds on a run's numbers, so that an engine's 32-bit floating-point numbers do not overflow.

use super::{
    bands,
    config::RunConfig,
    error::ConfigError,
    units::{MOST_STEPS, absolute_noise},
};
use crate::{
    accounting::{
        PrivacyError,
        decimal::{lower, upper_power},
        noise::NoiseSpec,
    },
    mechanism::{AdaptiveClip, EncoderSpec},
};
use hushgrad_message::{Message, message};

/// Largest magnitude of sums, momentum and parameters: a thirtieth of f32's, for differences.
const LARGEST: f64 = 1e37;
/// Smallest f32 of full precision.
const LEAST: f64 = f32::MIN_POSITIVE as f64;

/// Checks that rate and momentum are f32 numbers and that no noisy sum, momentum or parameter
/// overflows: with momentum m, lot L and rate η, no parameter moves by more than η·T·z/(L·(1 − m))
/// in T steps, where z is the largest noise that can be drawn.
///
/// # Errors
/// The number that is out of range, and the range.
pub(super) fn check(config: &RunConfig, expected_lot: f64) -> Result<(), ConfigError> {
    let refuse =
        |field, value: f64, range: Message| Err(ConfigError::OutOfRange { field, value: message!("{value:e}"), range });
    let RunConfig { learning_rate, momentum, .. } = *config;
    if learning_rate < LEAST {
        return refuse("learning-rate", learning_rate, message!("at least {}", upper_power(LEAST, 2)));
    }
    let momentum_left = 1.0 - f64::from(momentum as f32);
    if momentum_left <= 0.0 {
        let most = 1.0 - 2f64.powi(-24);
        return refuse("momentum", momentum, message!("at most {}, or it would never fade", lower(most, 9)));
    }
    let (Some(relative), Some(noise)) = (&config.noise, absolute_noise(config)) else { return Ok(()) };
    let (scale, field) =
        (relative.scale(), if matches!(noise, NoiseSpec::Gaussian { .. }) { "noise.sigma" } else { "noise.scale" });
    // An adaptive clipping norm may grow to its maximum.
    let growth = match (config.adaptive_clip, &config.encoder) {
        (Some(_), EncoderSpec::Clip { norm }) => AdaptiveClip::MOST / norm,
        _ => 1.0,
    };
    let norm = noise.scale() / scale;
    if noise.scale() < LEAST {
        return refuse(field, scale, message!("at least {}, or it is lost in rounding", upper_power(LEAST / norm, 2)));
    }
    // The words 0 draw the largest noise.
    let reach = noise.build().map_err(PrivacyError::from)?.draw([0; 4]).abs() * bands::gain(config)? * growth;
    let steps = config.steps.unwrap_or(MOST_STEPS) as f64;
    let worst = reach / momentum_left * (steps * learning_rate / expected_lot).max(1.0);
    // A NaN worst case is refused, too.
    if worst <= LARGEST {
        return Ok(());
    }
    let most = lower(scale * (LARGEST / worst), 2);
    refuse(
        field,
        scale,
        message!(
            "at most {most}, or noisy sums and the model's parameters could overflow; take less noise, a smaller learning rate or fewer steps"
        ),
    )
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        accounting::{noise::CustomDensity, search::families},
        data::synthetic,
        engine::{Engine as _, Performance, cpu::CpuEngine},
        mechanism::EncoderSpec,
        plan::Plan,
        session::Session,
    };

    fn all_families() -> Vec<NoiseSpec> {
        let density = CustomDensity::from_formula("1/(1+x^2)^2").unwrap();
        families().into_iter().chain([NoiseSpec::Custom { density, scale: 1.0 }]).collect()
    }

    proptest! {
        #[test]
        fn no_draw_is_larger_than_that_of_zeros(words: [u32; 4], small in 0u32..32) {
            for spec in all_families() {
                let noise = spec.build().unwrap();
                let most = noise.draw([0; 4]).abs();
                for words in [words, [0, words[1] >> small, words[2], words[3]], [0, 0, words[2], words[3]], [0, 0, 0, words[3] >> small]] {
                    prop_assert!(noise.draw(words).abs() <= most, "{spec:?} {words:?}");
                }
            }
        }
    }

    fn named(error: &ConfigError) -> f64 {
        let ConfigError::OutOfRange { range, .. } = error else { panic!("{error}") };
        let number = range.to_string().split([' ', ',']).find_map(|word| word.parse().ok());
        number.unwrap_or_else(|| panic!("{range}"))
    }

    #[test]
    fn a_scale_that_overflows_is_refused_with_the_largest_that_does_not() {
        for noise in all_families() {
            for (norm, learning_rate, momentum) in [(1.0, 0.5, 0.0), (1e6, 1e6, 0.99), (1e-9, 1e-3, 0.5)] {
                let config = |scale| RunConfig {
                    noise: Some(noise.with_scale(scale)),
                    encoder: EncoderSpec::Clip { norm },
                    learning_rate,
                    momentum,
                    lot: 10,
                    steps: Some(3),
                    ..RunConfig::default()
                };
                let error = check(&config(1e60), 10.0).unwrap_err();
                assert!(error.field().starts_with("noise."), "{error}");
                let largest = named(&error);
                assert!(
                    check(&config(largest), 10.0).is_ok() && check(&config(1.02 * largest), 10.0).is_err(),
                    "{error}"
                );
            }
        }
    }

    #[test]
    fn a_run_at_the_largest_scale_keeps_its_numbers() {
        let train = synthetic::digits(1, 40, 1).train;
        for noise in all_families() {
            let config = |scale| RunConfig {
                noise: Some(noise.with_scale(scale)),
                lot: 10,
                momentum: 0.9,
                steps: Some(5),
                ..RunConfig::default()
            };
            let scale = named(&Plan::new(config(1e39), 40).unwrap_err());
            let plan = Plan::new(config(scale), 40).unwrap();
            let engine =
                CpuEngine::new(plan.task.clone(), train.clone(), &plan.initial_parameters(), Performance::default())
                    .unwrap();
            let mut session = Session::new(plan, engine).unwrap();
            for _ in 0..5 {
                block_on(session.step()).unwrap();
            }
            let state = block_on(session.engine().state()).unwrap();
            assert!(state.parameters.iter().all(|theta| theta.is_finite()), "{noise:?} at {scale}");
        }
    }

    #[test]
    fn numbers_that_an_f32_does_not_hold_are_refused() {
        let field = |config: RunConfig| Plan::new(config, 1000).unwrap_err().field();
        let default = RunConfig::default;
        assert_eq!(field(RunConfig { learning_rate: 1e-50, ..default() }), "learning-rate");
        assert_eq!(field(RunConfig { momentum: 1.0 - 1e-12, ..default() }), "momentum");
        assert!(Plan::new(RunConfig { momentum: 0.999_999_9, ..default() }, 1000).is_ok());
        let quiet = RunConfig { noise: Some(NoiseSpec::Gaussian { sigma: 1e-46 }), ..default() };
        assert_eq!(field(quiet), "noise.sigma");
    }
}
