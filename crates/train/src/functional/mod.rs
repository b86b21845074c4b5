//! The functional mechanism for a convex head (Zhang et al. 2012; Phan, Wu, Hu & Dou 2017): all
//! that training needs of the private digits is released once, with noise; training on it is free.
//!
//! Ten logistic losses, each of one digit against the others, depend to second order at w = 0 on
//!
//! ```text
//! A = ⅛ Σ φφᵀ    B = Σ φ(t − ½)ᵀ    loss(w) = const + tr(wᵀAw) − tr(wᵀB)
//! ```
//!
//! with φ the features of an image, a public map of norm at most 1, and t its one-hot label. The
//! minimum is where 2Aw = B; the head computes twice that w, which classifies alike. Adding or
//! removing any one image moves A by at most ⅛ and B by at most √10/2.
//!
//! | module | contents |
//! | --- | --- |
//! | [`features`] | public maps, in whole numbers inside their ball |
//! | [`sums`] | A and B, exactly |
//! | [`price`] | the noise for an ε, and its entry in a ledger |
//! | [`release`] | the one noisy release |
//! | [`head`] | training on the release, as long as wanted |
//! | [`hidden`] | instead: noisy descent of which only the last model is released |
//! | [`relevance`] | which features matter on drawn digits |
//! | [`error`] | what is refused |

#![warn(missing_docs)]

pub mod error;
pub mod features;
pub mod head;
pub mod hidden;
pub mod price;
pub mod release;
pub mod relevance;
pub mod sums;
