//! The Rényi orders α that conversions choose from.

/// Smallest order at which every curve is known.
pub const FIRST_ORDER: u32 = 2;
/// Largest order up to which every curve is known.
pub const LAST_ORDER: u32 = 256;

/// The orders that a conversion may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Orders<'a> {
    /// Integers 2..=256, then fractions near the best (Gaussian), or larger ones if that is 256.
    #[default]
    All,
    /// Integers 2..=256 only.
    Integers,
    /// These orders, where the curves are known.
    Listed(&'a [f64]),
}
