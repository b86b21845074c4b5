//! Differential privacy accounting in plain f64. No tensor, no browser.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`noise`] | families of noise: density, distribution, sampler, ln I_k |
//! | [`envelope`] | Ψ as the sums that accountants need |
//! | [`sampling`] | Poisson, fixed size, shuffled partition: the sampler and its price |
//! | [`ledger`] | what a run released |
//! | [`books`] | a ledger with its prices: the one road to ε |
//! | [`composition`] | several runs on the same examples as one |
//! | [`rdp`] | Lemma 4, Lemma 5, Theorem 1, conversions, the accountant |
//! | [`pld`] | tight accounting: privacy loss distributions by FFT |
//! | [`calibrate`] | target ε → noise scale, steps or rate |
//! | [`report`] | a ledger's cost with its assumptions |
//! | [`search`] | which family errs least at a target ε |
//! | [`decimal`] | bounds in decimals, rounded to the safe side |
//! | [`dynamics`] | hidden-state bound of noisy gradient descent |
//! | [`groups`] | clips and noise by layer, metrics as groups, the one query they equal |
//! | [`rounding`] | releases on a power-of-two grid, and what inexact noise costs |
//! | [`risk`] | what (ε, δ) means to an attacker |
//! | [`normal`], [`numeric`] | the normal distribution; sums in log space, safe bisection |

pub mod books;
pub mod calibrate;
pub mod composition;
pub mod decimal;
pub mod dynamics;
pub mod envelope;
pub mod error;
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
mod sequence;

pub use error::PrivacyError;
