//! How the values of images become bytes: a rule that looks at the range of all of them, which is
//! assumed to be public.

use serde::{Deserialize, Serialize};

use super::{Remark, file_fault::FileFault};

/// The least and the largest value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    /// The range of bytes; of none, that of black.
    pub fn of(bytes: &[u8]) -> Self {
        let ends = (bytes.iter().min(), bytes.iter().max());
        let end = |end: Option<&u8>| f64::from(end.copied().unwrap_or_default());
        Self { low: end(ends.0), high: end(ends.1) }
    }

    pub fn and(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// Which values became 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, hushgrad_message::Error)]
pub enum Scaled {
    /// None is below 0, and the largest is above 16 and at most 255.
    #[error("Values from 0 to 255 are used as they are.")]
    Bytes,
    /// None is below 0 or above 1.
    #[error("No value is above 1, so 0 to 1 became 0 to 255.")]
    Unit,
    /// None is below 0, and the largest is above 1 and at most 16, as in scikit-learn's digits.
    #[error("No value is above 16, so 0 to 16 became 0 to 255.")]
    Sixteen,
    /// None is below 0, and the largest is above 255 and at most 65,535.
    #[error("Some values are above 255, so 0 to 65,535 became 0 to 255.")]
    Words,
    /// Some are below 0, and all are from −1 to 1.
    #[error("The values are from −1 to 1, which became 0 to 255.")]
    Centred,
    /// Some are below −1 or above 1, and all are from −128 to 127.
    #[error("The values are from −128 to 127, which became 0 to 255.")]
    Signed,
}

impl Scaled {
    /// The rule for values in this range.
    ///
    /// # Errors
    /// A range that is not one of images.
    pub(super) fn of(Range { low, high }: Range) -> Result<Self, FileFault> {
        Ok(match (low, high) {
            (0.0.., ..=1.0) => Self::Unit,
            (0.0.., ..=16.0) => Self::Sixteen,
            (0.0.., ..=255.0) => Self::Bytes,
            (0.0.., ..=65535.0) => Self::Words,
            (-1.0.., ..=1.0) => Self::Centred,
            (-128.0.., ..=127.0) => Self::Signed,
            _ => return Err(FileFault::NpyRange { low: format!("{low}"), high: format!("{high}") }),
        })
    }

    /// The remark on values that do not stay as they are.
    pub(super) fn remark(self) -> Option<Remark> {
        (self != Self::Bytes).then_some(Remark::Scaled(self))
    }

    /// Converts values that are bytes.
    pub(super) fn bytes(self, values: &mut [u8]) {
        if self != Self::Bytes {
            values.iter_mut().for_each(|value| *value = self.byte((*value).into()));
        }
    }

    /// Converts a value, rounding to the nearest byte, halves away from 0.
    pub(super) fn byte(self, value: f64) -> u8 {
        let scaled = match self {
            Self::Bytes => value,
            Self::Unit => value * 255.0,
            Self::Sixteen => value * (255.0 / 16.0),
            Self::Words => value / 257.0,
            Self::Centred => (value + 1.0) * 127.5,
            Self::Signed => value + 128.0,
        };
        scaled.round() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_each_range_become_black_and_white() {
        for (low, high, rule) in [
            (0.0, 1.0, Scaled::Unit),
            (0.0, 16.0, Scaled::Sixteen),
            (0.0, 255.0, Scaled::Bytes),
            (0.0, 65535.0, Scaled::Words),
            (-1.0, 1.0, Scaled::Centred),
            (-128.0, 127.0, Scaled::Signed),
        ] {
            assert_eq!(Scaled::of(Range { low, high }), Ok(rule));
            assert_eq!((rule.byte(low), rule.byte(high)), (0, 255), "{rule:?}");
        }
        for (low, high) in [(-2.0, 300.0), (0.0, 65536.0), (-129.0, 0.0)] {
            assert!(Scaled::of(Range { low, high }).is_err());
        }
        assert_eq!(Scaled::of(Range { low: 0.0, high: 0.0 }), Ok(Scaled::Unit), "black");
    }
}
