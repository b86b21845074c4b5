//! Why a user-supplied density is refused.

use hushgrad_message::Message;

/// Most knots of a table.
pub(super) const MOST_KNOTS: usize = 4096;

/// Where and why a density is refused.
#[derive(Clone, Debug, PartialEq, hushgrad_message::Error)]
pub enum DensityError {
    /// Too few or too many points. Give 2 to 4096 at x ≥ 0.
    #[error("the density needs at least two points with x ≥ 0 (and at most {MOST_KNOTS}); there are {0}")]
    Points(usize),
    /// A density that is 0, negative or not finite somewhere. A zero would give a shift away.
    #[error(
        "the density at x = {x} is {value}; it must be a finite number above 0 everywhere, or it could not hide a shift"
    )]
    NotPositive {
        /// The position.
        x: f64,
        /// The density there.
        value: f64,
    },
    /// A position that is not finite, beyond 1e100, or given twice.
    #[error("x = {0} is not a finite number, or occurs twice")]
    Position(f64),
    /// z(x) ≠ z(−x); every theorem needs symmetry. Give points at x ≥ 0 only, or symmetric ones.
    #[error("the density is not symmetric: at x = {x} it is {right}, at −x it is {left}")]
    NotSymmetric {
        /// The position, x > 0.
        x: f64,
        /// z(−x).
        left: f64,
        /// z(x).
        right: f64,
    },
    /// The density rises away from 0; every theorem needs a single mode.
    #[error("the density is not unimodal: it rises from {before} to {after} at x = {x}")]
    NotUnimodal {
        /// The position, x > 0.
        x: f64,
        /// The density at the previous knot.
        before: f64,
        /// The density at x.
        after: f64,
    },
    /// The tail does not fall faster than 1/x. Extend it to larger x, or take a lighter tail.
    #[error("the density is not integrable: at x = {x} it still does not fall fast enough")]
    NotIntegrable {
        /// The last position examined.
        x: f64,
    },
    /// A formula that is not an expression in x; the text says where.
    #[error("the formula cannot be read: {0}")]
    Formula(Message),
}

impl DensityError {
    /// Returns the error with its numbers to three significant digits, or to as many as tell the two
    /// densities apart.
    pub(super) fn short(self) -> Self {
        let round = |x: f64| rounded(x, DIGITS);
        match self {
            Self::NotPositive { x, value } => Self::NotPositive { x: round(x), value: round(value) },
            Self::Position(x) => Self::Position(round(x)),
            Self::NotSymmetric { x, left, right } => {
                let [left, right] = told_apart(left, right);
                Self::NotSymmetric { x: round(x), left, right }
            }
            Self::NotUnimodal { x, before, after } => {
                let [before, after] = told_apart(before, after);
                Self::NotUnimodal { x: round(x), before, after }
            }
            Self::NotIntegrable { x } => Self::NotIntegrable { x: round(x) },
            Self::Points(_) | Self::Formula(_) => self,
        }
    }
}

/// Significant digits of a number in a message.
const DIGITS: usize = 3;

fn rounded(x: f64, digits: usize) -> f64 {
    format!("{x:.*e}", digits - 1).parse().unwrap_or(x)
}

/// Returns two numbers to at least [`DIGITS`] significant digits, and to as many as differ.
fn told_apart(a: f64, b: f64) -> [f64; 2] {
    let mut rounds = (DIGITS..17).map(|digits| [a, b].map(|x| rounded(x, digits)));
    rounds.find(|[a, b]| a != b).unwrap_or([a, b])
}
