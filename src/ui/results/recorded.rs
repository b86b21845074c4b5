//! A run that was made before, so that no chart is empty while there is none of the visitor's own.

use crate::{plot::series::Point, ui::size::decimal::decimal};

/// `step,accuracy,improved,classic` by line, after one of column names; made by `cargo run --example record`.
const TABLE: &str = include_str!("../../../www/recorded.csv");
/// What the page calls it.
pub const NAME: &str = "recorded run";

/// Which column of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Accuracy = 1,
    Improved = 2,
    Classic = 3,
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
    use crate::train::{config::RunConfig, projection::cost};

    #[test]
    fn the_recording_is_a_run_of_the_first_settings() {
        let accuracy = curve(Column::Accuracy);
        assert!(accuracy.len() > 20 && accuracy.last().unwrap().1 > 0.8, "{accuracy:?}");
        assert!(TABLE.len() < 4000);
        let (improved, classic) = (curve(Column::Improved), curve(Column::Classic));
        assert!(improved.len() == accuracy.len() && classic.len() == accuracy.len());
        for (improved, classic) in improved.iter().zip(&classic).filter(|(point, _)| point.0 > 0.0) {
            let price = cost(&RunConfig::default(), 60_000, improved.0 as u64).unwrap();
            // Rounded up.
            for (shown, bound) in [(improved.1, price.improved.epsilon), (classic.1, price.classic.epsilon)] {
                assert!(shown >= bound && shown <= bound * 1.001, "{improved:?} {classic:?} {price:?}");
            }
        }
    }
}
