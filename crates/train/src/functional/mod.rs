//! The functional mechanism for a convex head (Zhang et al. 2012; Phan, Wu, Hu & Dou 2017): what the training needs to know of the private digits is released
//! once, with noise, and training on it costs nothing more, however long it takes.
//!
//! Ten logistic losses, one for each digit against the others, are taken to second order about w = 0. Then all that they know of the data is
//!
//! ```text
//! A = ⅛ Σ φφᵀ    B = Σ φ(t − ½)ᵀ    loss(w) = const + tr(wᵀAw) − tr(wᵀB)
//! ```
//!
//! with φ the features of an image, a public map of norm 1 at most, and t its label, one of ten. The loss is least where 2Aw = B; twice that w, which reads digits alike, is what is looked for. One image more or less moves A by at most ⅛ and B by at most
//! √10/2, whatever it is.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`features`] | public maps, in whole numbers inside their ball |
//! | [`sums`] | A and B, exactly |
//! | [`price`] | the noise for an ε, and its entry in a ledger |
//! | [`release`] | the one noisy release |
//! | [`head`] | what is trained on it, for ever |
//! | [`relevance`] | which features matter on drawn digits |
//! | [`error`] | what is refused |

#![warn(missing_docs)]

pub mod error;
pub mod features;
pub mod head;
pub mod price;
pub mod release;
pub mod relevance;
pub mod sums;
