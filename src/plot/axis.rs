//! Axes of charts: placement of ticks and conversion of data to pixels.

/// An axis that maps data from `low` to `high` to pixels from `start` to `end`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// The value at `start`.
    pub low: f64,
    /// The value at `end`.
    pub high: f64,
    /// The pixel where the axis begins.
    pub start: f64,
    /// The pixel where the axis ends; below `start` if values grow upwards.
    pub end: f64,
    /// True for a logarithmic scale; `low` must then be positive.
    pub logarithmic: bool,
}

impl Axis {
    /// Creates an axis with a linear scale.
    #[must_use]
    pub const fn linear(low: f64, high: f64, start: f64, end: f64) -> Self {
        Self { low, high, start, end, logarithmic: false }
    }

    /// Creates an axis with a logarithmic scale; `low` must be positive.
    #[must_use]
    pub const fn logarithmic(low: f64, high: f64, start: f64, end: f64) -> Self {
        Self { low, high, start, end, logarithmic: true }
    }

    /// Returns the pixel of `value`, clamped to the axis.
    #[must_use]
    pub fn pixel(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.start + share * (self.end - self.start)
    }

    /// Returns the value at `pixel`, clamped to the axis.
    #[must_use]
    pub fn value(&self, pixel: f64) -> f64 {
        let share = ((pixel - self.start) / (self.end - self.start)).clamp(0.0, 1.0);
        if self.logarithmic {
            self.low * (self.high / self.low).powf(share)
        } else {
            self.low + share * (self.high - self.low)
        }
    }

    /// Returns about `wanted` round values inside the axis.
    #[must_use]
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        if self.logarithmic { log_ticks(self.low, self.high, wanted) } else { ticks(self.low, self.high, wanted) }
    }
}

/// Returns a step of 1, 2 or 5 times a power of ten that cuts `span` into about `wanted` parts.
#[must_use]
pub fn nice_step(span: f64, wanted: usize) -> f64 {
    let rough = span / wanted.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let factor = match rough / power {
        f if f < 1.5 => 1.0,
        f if f < 3.5 => 2.0,
        f if f < 7.5 => 5.0,
        _ => 10.0,
    };
    factor * power
}

/// Rounds `value` up to a multiple of [`nice_step`]; 1 if it is not positive and finite.
#[must_use]
pub fn nice_end(value: f64, wanted: usize) -> f64 {
    if value.is_nan() || value <= 0.0 || value.is_infinite() {
        return 1.0;
    }
    let step = nice_step(value, wanted);
    (value / step - 1e-9).ceil() * step
}

fn ticks(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let span = high - low;
    if span.is_nan() || span <= 0.0 || span.is_infinite() {
        return vec![];
    }
    let step = nice_step(span, wanted);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

fn log_ticks(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    if !(low > 0.0 && high > low && high.is_finite()) {
        return vec![];
    }
    let (first, last) = ((low.log10() - 1e-9).ceil() as i32, (high.log10() + 1e-9).floor() as i32);
    let every = ((last - first + 1) as usize).div_ceil(wanted.max(1)).max(1);
    (first..=last).step_by(every).map(|power| 10f64.powi(power)).collect()
}

/// Formats a tick of a logarithmic axis: `10⁻³`.
#[must_use]
pub fn power_label(value: f64) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let power = value.log10().round() as i32;
    match power {
        0 => "1".to_owned(),
        1 => "10".to_owned(),
        _ => {
            let digits: String =
                power.unsigned_abs().to_string().bytes().map(|digit| RAISED[usize::from(digit - b'0')]).collect();
            format!("10{}{digits}", if power < 0 { "⁻" } else { "" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 1.0, 5), vec![0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(0.0, 937.0, 4), vec![0.0, 200.0, 400.0, 600.0, 800.0]);
        assert_eq!(ticks(1.0, 1.0, 4), Vec::<f64>::new());
        assert_eq!(ticks(0.0, f64::NAN, 4), Vec::<f64>::new());
        assert_eq!(log_ticks(0.5, 2000.0, 10), vec![1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(power_label(1e-3), "10⁻³");
        assert_eq!(power_label(1e12), "10¹²");
    }

    proptest! {
        #[test]
        fn any_axis_has_a_readable_number_of_ticks(low in -1e6..1e6f64, span in 1e-6..1e9f64, wanted in 2usize..9) {
            let got = ticks(low, low + span, wanted);
            prop_assert!(got.len() <= 2 * wanted + 1);
            prop_assert!(got.iter().all(|t| *t >= low - span * 1e-6 && *t <= low + span * (1.0 + 1e-6)));
        }

        #[test]
        fn pixel_and_value_are_inverse(share in 0.0..1.0f64, low in 1e-6..1e3f64, factor in 1.1..1e6f64) {
            for axis in [Axis::linear(low, low * factor, 300.0, 20.0), Axis::logarithmic(low, low * factor, 20.0, 300.0)] {
                let pixel = axis.start + share * (axis.end - axis.start);
                prop_assert!((axis.pixel(axis.value(pixel)) - pixel).abs() < 1e-6);
            }
        }

        #[test]
        fn an_axis_end_covers_its_value(value in 1e-9..1e12f64) {
            let end = nice_end(value, 4);
            prop_assert!(end >= value * (1.0 - 1e-8) && end <= value * 2.01);
        }
    }
}
