//! Orders α at which curves are known, and those of which a conversion takes the best.

/// Every curve is known at the integer orders α from this …
pub const FIRST_ORDER: u32 = 2;
/// … to this.
pub const LAST_ORDER: u32 = 256;

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
