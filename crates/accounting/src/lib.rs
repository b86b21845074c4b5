//! Differential privacy accounting of noisy sums over sampled examples, in plain f64: DP-SGD, and its generalisation to noise of *any*
//! symmetric unimodal shape. No tensor, no clock, no network; it compiles for wasm32.
//!
//! It is for whoever trains privately and wants to say what that costs, for researchers who compare noise, and for programs that show an ε
//! while a model learns. It answers four kinds of question; every answer is an upper bound, rounded up.
//!
//! # What does a training cost?
//!
//! A [`Ledger`](ledger::Ledger) records what was released; [`Books`](books::Books) are a ledger with its prices. DP-SGD on MNIST: noise
//! multiplier 1.1, lots of about 256 of 60,000 examples, 15 epochs.
//!
//! ```
//! use hushgrad_accounting::{
//!     books::Books,
//!     ledger::{Ledger, Release, Sensitivity},
//!     noise::NoiseSpec,
//!     sampling::Sampling,
//! };
//!
//! let step = Release::new(
//!     Sampling::Poisson { rate: 256.0 / 60_000.0 },
//!     Sensitivity::L2 { norm: 1.0 },
//!     Some(NoiseSpec::Gaussian { sigma: 1.1 }),
//! );
//! let mut ledger = Ledger::new();
//! let step = ledger.register(step)?;
//! ledger.record_many(step, 3515);
//!
//! let account = Books::of(ledger)?.account(1e-5)?;
//! // The conversions of Mironov 2017 and of Canonne, Kamath & Steinke 2020.
//! assert_eq!(format!("{:.3}", account.classic.epsilon), "1.593");
//! assert_eq!(format!("{:.3}", account.improved.epsilon), "1.281");
//! println!("{account}"); // with every assumption, a line each
//! # Ok::<(), hushgrad_accounting::PrivacyError>(())
//! ```
//!
//! # What does another noise cost?
//!
//! A clip bounds a gradient's length; an *envelope* Ψ bounds, rank by rank, its coordinates, which makes any symmetric unimodal noise
//! accountable (Nasr, Shokri & Houmansadr 2020). An [`EnvelopeProfile`](envelope::EnvelopeProfile) is what of Ψ the price depends on. The noise
//! may be one of the [families](noise::NoiseSpec), or a density of your own.
//!
//! ```
//! use hushgrad_accounting::{
//!     books::account,
//!     envelope::EnvelopeProfile,
//!     ledger::{Ledger, Release, Sensitivity},
//!     noise::{CustomDensity, NoiseSpec},
//!     sampling::Sampling,
//! };
//!
//! // A hundred coordinates, of which the i-th largest is at most 0.7/i.
//! let psi: Vec<f64> = (1..=100).map(|i| 0.7 / f64::from(i)).collect();
//! let profile = EnvelopeProfile::from_vectors_f64([psi.as_slice()])?;
//! let epsilon = |noise: NoiseSpec| {
//!     let sensitivity = Sensitivity::Envelope { profile: profile.clone() };
//!     let step = Release::new(Sampling::Poisson { rate: 0.01 }, sensitivity, Some(noise));
//!     let mut ledger = Ledger::new();
//!     let step = ledger.register(step)?;
//!     ledger.record_many(step, 1000);
//!     Ok::<f64, hushgrad_accounting::PrivacyError>(account(&ledger, 1e-5)?.improved.epsilon)
//! };
//!
//! let student = epsilon(NoiseSpec::StudentT { nu: 9.0, scale: 1.25 })?;
//! assert_eq!(format!("{student:.2}"), "0.95");
//!
//! let logistic = CustomDensity::from_formula("exp(-x) / (1 + exp(-x))^2")?;
//! let logistic = epsilon(NoiseSpec::Custom { density: logistic, scale: 0.8 })?;
//! assert_eq!(format!("{logistic:.2}"), "0.93");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How tight can it be said?
//!
//! Rényi accounting loses some of ε in its conversion. [`Pld`](pld::Pld) composes the privacy losses themselves, by FFT and from above, for
//! Gaussian noise and for any noise under an envelope; it is asked by itself or by [`Books::tight`](books::Books::tight). The answer says how
//! it was found and whether it is proven: see [`Rigor`](pld::Rigor).
//!
//! ```
//! use hushgrad_accounting::pld::{Method, Pld, Rigor};
//!
//! let tight = Pld::sampled_gaussian(1.1, 256.0 / 60_000.0)?.compose(3515).epsilon(1e-5)?;
//! assert_eq!(format!("{:.3}", tight.value), "1.134");
//! assert_eq!(tight.method, Method::Convolution);
//! assert_eq!(tight.rigor, Rigor::Proven);
//! # Ok::<(), hushgrad_accounting::PrivacyError>(())
//! ```
//!
//! # How much noise does a budget ask for?
//!
//! [`calibrate`] finds the least noise scale, the most steps or the largest rate that keeps a target, at the safe end of its search.
//!
//! ```
//! use hushgrad_accounting::{
//!     calibrate::{Method, Target, noise_scale},
//!     ledger::{Release, Sensitivity},
//!     noise::NoiseSpec,
//!     rdp::Orders,
//!     sampling::Sampling,
//! };
//!
//! let family = NoiseSpec::Gaussian { sigma: 1.0 }; // the scale is what is sought
//! let sampling = Sampling::Poisson { rate: 256.0 / 60_000.0 };
//! let step = Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(family));
//! let target = Target { epsilon: 1.0, delta: 1e-5, method: Method::Tight, orders: Orders::All };
//! let found = noise_scale(&step, 3515, &target)?;
//! assert!(found.epsilon <= 1.0);
//! assert_eq!(format!("{:.2}", found.value), "1.19");
//! # Ok::<(), hushgrad_accounting::PrivacyError>(())
//! ```
//!
//! # Modules
//!
//! | module | what it is |
//! | --- | --- |
//! | [`noise`] | families of noise, one a file: density, distribution, sampler, ln I_k |
//! | [`envelope`] | Ψ as the sums that accountants need |
//! | [`sampling`] | Poisson, fixed size, shuffled partition, random allocation: the sampler and its price from one value |
//! | [`ledger`] | what a run released; JSON |
//! | [`books`] | a ledger with its prices: the one road to ε |
//! | [`composition`] | several runs on the same examples as one |
//! | [`selection`] | the best of several runs, where it alone is released |
//! | [`rdp`] | Rényi accounting: Lemma 4, Lemma 5, Theorem 1 of Nasr et al., and the conversions |
//! | [`pld`] | tight accounting: privacy loss distributions by FFT |
//! | [`gdp`] | μ of Gaussian differential privacy: the whole curve in one number, and what that leaves out |
//! | [`calibrate`] | target ε → noise scale, steps or rate |
//! | [`search`] | which family errs least at a target ε |
//! | [`report`] | a ledger's cost in words, with its assumptions |
//! | [`risk`] | what (ε, δ) means to an attacker |
//! | [`groups`] | clips and noise by layer, metrics as groups: the one Gaussian query that they equal |
//! | [`rounding`] | releases on a power-of-two grid, and what inexact noise costs |
//! | [`dynamics`] | hidden-state bound of noisy gradient descent |
//! | [`decimal`] | bounds in decimals, rounded to the safe side |
//! | [`normal`], [`numeric`] | the normal distribution; sums in log space, safe bisection |
//!
//! # What is assumed
//!
//! - Whoever is guarded against sees every release, knows the settings, and knows all examples but one. The number of examples is public where
//!   neighbours differ by adding or removing one.
//! - Sampling and noise come from an unpredictable source. Nothing here makes randomness; [`sampling::Sampler`] and [`noise::Noise::sample`]
//!   take a generator.
//! - The bound on each example's contribution really holds for the sums that ran. A ledger is its author's word.
//! - Noise is as of real numbers, unless the release names a [`rounding::Grid`].
//! - Elementary and distribution functions are as accurate as their libraries say; truncation and discretisation are bounded and added. Rényi
//!   accounting of Student-t, variance gamma and generalised Gaussian noise, of envelopes of more than 96 entries, and of other noise than Gaussian under a
//!   clip (but of a table) adds an *estimate* of what quadrature and series leave out.
//!
//! # What is refused
//!
//! A question without a safe answer is a [`PrivacyError`], never a smaller number: a release without noise or without a bound, noise that is
//! not symmetric and unimodal, ledgers that mix neighbouring relations or privacy units, a pair that no theorem here covers with that
//! accountant ([`PrivacyError::Unpriced`]), and work that would take too long. A shuffled partition is priced without amplification; the same
//! draw with it is [`RandomAllocation`](sampling::Sampling::RandomAllocation).

#![warn(missing_docs)]

pub mod audit;
pub mod books;
pub mod calibrate;
pub mod composition;
pub mod decimal;
pub mod dynamics;
pub mod envelope;
pub mod error;
pub mod gdp;
pub mod groups;
pub mod ledger;
pub mod noise;
pub mod normal;
pub mod numeric;
mod parallel;
pub mod pld;
pub mod rdp;
pub mod report;
pub mod risk;
pub mod rounding;
pub mod sampling;
pub mod search;
pub mod selection;
mod sequence;

pub use error::PrivacyError;
