//! Differential privacy accounting for noisy sums over sampled examples, in plain f64: DP-SGD, and
//! noise of *any* symmetric unimodal density. No tensors, clock or network; compiles for wasm32.
//!
//! For those who train privately, for researchers who compare noise, and for programs that show ε
//! during training. Every ε (in nats) and δ is an upper bound, rounded up, except the lower bounds
//! of [`audit`].
//!
//! # What does a training run cost?
//!
//! DP-SGD on MNIST: noise multiplier 1.1, batches of about 256 of 60,000 examples, 15 epochs.
//!
//! ```
//! use hushgrad_accounting::dp_sgd;
//!
//! let epsilon = dp_sgd::epsilon(1.1, 256.0 / 60_000.0, 3515, 1e-5)?;
//! assert_eq!(format!("{epsilon:.3}"), "1.134");
//! # Ok::<(), hushgrad_accounting::PrivacyError>(())
//! ```
//!
//! [`Accountant`] composes releases of any kind, of one run or of several on the same examples, and
//! says which accounting gave the bound.
//!
//! ```
//! use hushgrad_accounting::{Accountant, composition::Accounting, dp_sgd, pld::Rigor};
//!
//! let (first, second) = (dp_sgd::step(1.1, 256.0 / 60_000.0), dp_sgd::step(2.0, 0.01));
//! let both = Accountant::new().compose(first, 3515)?.compose(second, 1000)?.epsilon(1e-5)?;
//! assert_eq!(format!("{:.3}", both.epsilon), "1.316");
//! assert_eq!(both.accounting, Accounting::Tight(Rigor::Proven));
//! # Ok::<(), hushgrad_accounting::PrivacyError>(())
//! ```
//!
//! For a run in progress, a [`Ledger`](ledger::Ledger) records what is released.
//! [`Books`](books::Books) add its price, and state every assumption in words:
//!
//! ```
//! use hushgrad_accounting::{books::Books, dp_sgd, ledger::Ledger};
//!
//! let ledger = Ledger::of([(dp_sgd::step(1.1, 256.0 / 60_000.0), 3515)])?;
//! let account = Books::of(ledger)?.account(1e-5)?;
//! // The conversions of Mironov 2017 and of Canonne, Kamath & Steinke 2020.
//! assert_eq!(format!("{:.3}", account.classic.epsilon), "1.593");
//! assert_eq!(format!("{:.3}", account.improved.epsilon), "1.281");
//! println!("{account}");
//! # Ok::<(), hushgrad_accounting::PrivacyError>(())
//! ```
//!
//! # What does other noise cost?
//!
//! A clip bounds a gradient's L2 norm. An *envelope* Ψ, a finite set of vectors ψ, bounds all its
//! order statistics: for one ψ, the gradient's i-th largest magnitude is at most ψ's, for each i.
//! This makes any symmetric unimodal noise accountable (Nasr, Shokri & Houmansadr 2020). An
//! [`EnvelopeProfile`](envelope::EnvelopeProfile) holds the sums over Ψ that the price depends on.
//! The noise is one of the [families](noise::NoiseSpec), or a density of your own.
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
//!     Ok::<f64, hushgrad_accounting::PrivacyError>(account(&Ledger::of([(step, 1000)])?, 1e-5)?.improved.epsilon)
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
//! # How tight can the bound be?
//!
//! Converting a Rényi bound to (ε, δ) overestimates ε. [`Pld`](pld::Pld) instead composes privacy
//! loss distributions, by FFT and rounded up, for Gaussian noise and for any noise under an
//! envelope. Use it directly or through [`Books::tight`](books::Books::tight). The answer names its
//! method and says whether it is proven: see [`Rigor`](pld::Rigor).
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
//! # How much noise does a budget need?
//!
//! [`calibrate`] finds the smallest noise scale, the most steps or the largest rate within a target
//! ε; [`dp_sgd::noise_multiplier`] is the short form.
//!
//! ```
//! use hushgrad_accounting::dp_sgd;
//!
//! let noise_multiplier = dp_sgd::noise_multiplier(1.0, 256.0 / 60_000.0, 3515, 1e-5)?;
//! assert_eq!(format!("{noise_multiplier:.2}"), "1.19");
//! # Ok::<(), hushgrad_accounting::PrivacyError>(())
//! ```
//!
//! # What does an attack show?
//!
//! [`audit`] turns an attack's results into lower bounds on ε. Of 1000 canaries, each included by a
//! fair coin, the attack guessed the 100 it was surest of, 85 of them correctly. The ε that this
//! refutes with 95 % confidence, at δ = 1e-5:
//!
//! ```
//! use hushgrad_accounting::audit::Guesses;
//!
//! let at_least = Guesses::new(1000, 100, 85)?.epsilon(0.05, 1e-5)?;
//! assert_eq!(format!("{at_least:.2}"), "1.25");
//! # Ok::<(), hushgrad_accounting::audit::AuditError>(())
//! ```
//!
//! # Modules
//!
//! | module | contents |
//! | --- | --- |
//! | [`Accountant`], [`dp_sgd`] | the short way to ε |
//! | [`noise`] | noise families: density, distribution function, sampler, log moments ln I_k |
//! | [`envelope`] | the sums over Ψ that the accountants need |
//! | [`sampling`] | sampling policies: one value gives both the sampler and the price |
//! | [`ledger`] | what a run released; JSON |
//! | [`pair`] | releases that are no noisy sums: mass functions, (ε, δ), mixtures |
//! | [`books`] | a ledger with its prices, kept up to date |
//! | [`composition`] | several runs on the same examples, priced as one |
//! | [`filter`] | a budget that holds whatever is chosen on the way |
//! | [`selection`] | the best of several runs, if only that one is released |
//! | [`rdp`] | Rényi accounting: Lemma 4, Lemma 5, Theorem 1 of Nasr et al., the conversions, zCDP |
//! | [`pld`] | tight accounting: privacy loss distributions by FFT |
//! | [`gdp`] | μ of Gaussian differential privacy: the whole curve in one number, and its error |
//! | [`calibrate`] | target ε → noise scale, steps or rate |
//! | [`search`] | the noise family with the smallest error at a target ε |
//! | [`report`] | a ledger's cost in words, with its assumptions |
//! | [`risk`] | what (ε, δ) leaves to an attacker |
//! | [`audit`] | lower bounds on ε, from canaries |
//! | [`groups`] | clips and noise by layer, and metrics, as one equivalent Gaussian query |
//! | [`rounding`] | releases on a power-of-two grid, and the cost of inexact noise |
//! | [`dynamics`] | noisy gradient descent of which only the last model is released |
//! | [`decimal`] | bounds in decimals, rounded to the safe side |
//! | [`normal`] | the normal distribution |
//!
//! # What is assumed
//!
//! - The attacker sees every release, and knows the settings and all examples but one. The number
//!   of examples is public if neighbours differ by adding or removing one.
//! - Sampling and noise come from an unpredictable source. This crate has no generator of its own;
//!   [`sampling::Sampler`] and [`noise::Noise::sample`] take one.
//! - The ledger is true: its bounds on each example's contribution hold for the sums that ran.
//! - Noise is treated as real-valued, unless the release names a [`rounding::Grid`].
//! - Elementary and distribution functions are as accurate as their libraries claim; truncation and
//!   discretisation errors are bounded and added. In Rényi accounting, the added error of
//!   quadrature and series is only *estimated* for Student-t, variance gamma and generalised
//!   Gaussian noise, for envelopes of more than 96 distinct magnitudes, and under a clip (except
//!   with Gaussian noise or a density of your own).
//!
//! # What is refused
//!
//! A question without a safe answer is a [`PrivacyError`], never a smaller number: a release
//! without noise or bound, noise that is not symmetric and unimodal, ledgers that mix neighbouring
//! relations or privacy units, a case that the accountant has no theorem for
//! ([`PrivacyError::Unpriced`]), and work that would take too long. A shuffled partition is priced
//! without amplification; [`RandomAllocation`](sampling::Sampling::RandomAllocation) with it.

#![warn(missing_docs)]

mod accountant;
pub mod audit;
pub mod books;
pub mod calibrate;
pub mod composition;
pub mod decimal;
pub mod dp_sgd;
pub mod dynamics;
pub mod envelope;
pub mod error;
pub mod filter;
pub mod foreign;
pub mod gdp;
pub mod groups;
pub mod ledger;
pub mod noise;
pub mod normal;
mod numeric;
pub mod pair;
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

pub use accountant::Accountant;
pub use error::PrivacyError;
