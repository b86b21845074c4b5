//! Recorded runs, so that no chart is empty before the visitor's first run: one on MNIST and one on
//! synthetic digits. Each is named, and shown under its own settings only.

use crate::{
    plot::series::Point,
    ui::{
        size::decimal::decimal,
        text::{Text, text},
    },
};

/// The page's name for either.
pub const NAME: Text = text!("recorded run");

/// Which recorded run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    Mnist,
    /// On as many synthetic digits as the page trains on.
    Drawn,
}

/// A column of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Accuracy = 1,
    /// ε by tight accounting.
    Tight = 2,
    /// At the end only: how many of a hundred members any attacker finds at most.
    Odds = 3,
}

impl Recorded {
    /// A line of column names, then `step,accuracy,tight` by line, and the odds in the last;
    /// written by `examples/record.rs`.
    const fn table(self) -> &'static str {
        match self {
            Self::Mnist => include_str!("../../../www/recorded.csv"),
            Self::Drawn => include_str!("../../../www/recorded-drawn.csv"),
        }
    }

    /// Returns a column by step.
    #[must_use]
    pub fn curve(self, column: Column) -> Vec<Point> {
        let row = |line: &str| {
            let mut fields = line.split(',');
            let step = decimal(fields.next()?)?;
            Some((step, decimal(fields.nth(column as usize - 1)?)?))
        };
        self.table().lines().skip(1).filter_map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        train::{label, presets, projection::planned},
        worker::protocol::DRAWN,
    };

    #[test]
    fn the_recordings_are_runs_of_the_first_settings() {
        for (run, train, least) in [(Recorded::Mnist, 60_000, 0.89), (Recorded::Drawn, DRAWN.0, 0.78)] {
            let accuracy = run.curve(Column::Accuracy);
            assert!(accuracy.len() > 20 && accuracy.last().unwrap().1 > least, "{accuracy:?}");
            assert!(run.table().len() < 4000);
            let (tight, first) = (run.curve(Column::Tight), presets::Preset::by_key(presets::FIRST).unwrap());
            let config = first.config();
            assert_eq!((tight.len(), tight.last().unwrap().0 as u64), (accuracy.len(), config.steps.unwrap()));
            for (step, shown) in tight.iter().filter(|point| point.0 > 0.0) {
                let bound = planned(&config, train, *step as u64).unwrap().tight(config.delta).unwrap().value;
                // Rounded up.
                assert!(*shown >= bound && *shown <= bound * 1.001 + 1e-5, "{run:?}, step {step}: {shown} for {bound}");
            }
            let end = config.steps.unwrap();
            let odds = label::odds(&planned(&config, train, end).unwrap(), config.delta).unwrap();
            assert_eq!(run.curve(Column::Odds), [(end as f64, f64::from(odds))]);
        }
    }
}
