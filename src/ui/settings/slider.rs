//! Sliders: from values to positions and back.

use crate::{plot::format::significant, ui::text::Text};

/// A slider, and labels for its two ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slider {
    pub low: f64,
    pub high: f64,
    pub spacing: Spacing,
    pub low_end: Text,
    pub high_end: Text,
}

/// Spacing and rounding of a slider's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Logarithmic; two significant digits.
    Factors,
    /// Logarithmic; powers of two and the values half-way between, as usual for lots.
    Powers,
    /// Linear; hundredths.
    Even,
}

/// Returns a slider from `low` to `high` with labels for its ends.
#[must_use]
pub const fn slider(low: f64, high: f64, spacing: Spacing, [low_end, high_end]: [Text; 2]) -> Option<Slider> {
    Some(Slider { low, high, spacing, low_end, high_end })
}

impl Slider {
    /// Returns the position of `value`, from 0 to 1.
    #[must_use]
    pub fn share(&self, value: f64) -> f64 {
        let Self { low, high, spacing, .. } = *self;
        match spacing {
            Spacing::Even => ((value - low) / (high - low)).clamp(0.0, 1.0),
            _ if value > 0.0 => ((value / low).ln() / (high / low).ln()).clamp(0.0, 1.0),
            _ => 0.0,
        }
    }

    /// Returns the rounded value at position `share`, from 0 to 1.
    #[must_use]
    pub fn value(&self, share: f64) -> f64 {
        let Self { low, high, spacing, .. } = *self;
        let share = share.clamp(0.0, 1.0);
        let value = if spacing == Spacing::Even { low + (high - low) * share } else { low * (high / low).powf(share) };
        let rounded = match spacing {
            Spacing::Even => (value * 100.0).round() / 100.0,
            Spacing::Factors => significant(value, 2),
            Spacing::Powers if value < 8.0 => value.round(),
            Spacing::Powers => {
                let power = 2f64.powf((value.log2() * 2.0).round() / 2.0);
                let unit = if power >= 64.0 { 16.0 } else { 4.0 };
                (power / unit).round() * unit
            }
        };
        // `clamp` would bring in the code that formats its panic message.
        rounded.max(low).min(high)
    }
}
