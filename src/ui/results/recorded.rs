//! A run that was made before, so that no chart is empty while there is none of the visitor's own.

use crate::{
    plot::series::Point,
    ui::{
        size::decimal::decimal,
        text::{Text, text},
    },
};

/// `step,accuracy,tight` by line, after one of column names; made by `cargo run --example record`.
const TABLE: &str = include_str!("../../../www/recorded.csv");
/// What the page calls it.
pub const NAME: Text = text!("recorded run");

/// Which column of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Accuracy = 1,
    /// ε by tight accounting.
    Tight = 2,
}

/// A curve of the recorded run by step.
#[must_use]
pub fn curve(column: Column) -> Vec<Point> {
    let row = |line: &str| {
        let mut fields = line.split(',');
        let step = decimal(fields.next()?)?;
        Some((step, decimal(fields.nth(column as usize - 1)?)?))
    };
    TABLE.lines().skip(1).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{presets, projection::planned};

    #[test]
    fn the_recording_is_a_run_of_the_first_settings() {
        let accuracy = curve(Column::Accuracy);
        assert!(accuracy.len() > 20 && accuracy.last().unwrap().1 > 0.89, "{accuracy:?}");
        assert!(TABLE.len() < 4000);
        let (tight, first) = (curve(Column::Tight), presets::Preset::by_key(presets::FIRST).unwrap());
        let config = first.config();
        assert_eq!((tight.len(), tight.last().unwrap().0 as u64), (accuracy.len(), config.steps.unwrap()));
        for (step, shown) in tight.iter().filter(|point| point.0 > 0.0) {
            let bound = planned(&config, 60_000, *step as u64).unwrap().tight(config.delta).unwrap().value;
            // Rounded up.
            assert!(*shown >= bound && *shown <= bound * 1.001 + 1e-5, "step {step}: {shown} for {bound}");
        }
    }
}
