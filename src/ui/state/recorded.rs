//! Recorded runs, so that no chart is empty before the visitor's first run: one on MNIST and one on
//! synthetic digits. Each is named, and shown under its own settings only.

use std::sync::OnceLock;

use crate::{
    plot::series::Point,
    train::number::parse,
    ui::text::{Text, text},
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

/// The cost of a plan under noise of this scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    pub scale: f64,
    /// Most members of a hundred that an attacker finds.
    pub found: u32,
    pub epsilon: f64,
}

impl Price {
    /// Returns the smallest bound among `prices` under noise of this scale: that of any smaller scale
    /// holds.
    #[must_use]
    pub fn under(prices: &[Self], scale: f64) -> Option<Self> {
        prices.iter().filter(|price| price.scale <= scale).max_by(|a, b| a.scale.total_cmp(&b.scale)).copied()
    }
}

impl Recorded {
    /// Returns prices of the recorded run's plan under other noise, by scale.
    #[must_use]
    pub fn prices(self) -> &'static [Price] {
        static READ: [OnceLock<Vec<Price>>; 2] = [const { OnceLock::new() }; 2];
        READ[self as usize].get_or_init(|| self.read_prices())
    }

    fn read_prices(self) -> Vec<Price> {
        let first = if self == Self::Mnist { 1 } else { 3 };
        let row = |line: &str| {
            let fields: Vec<f64> = line.split(',').map_while(parse).collect();
            Some(Price { scale: *fields.first()?, found: *fields.get(first)? as u32, epsilon: *fields.get(first + 1)? })
        };
        include_str!("../../../www/knob.csv").lines().skip(1).filter_map(row).collect()
    }

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
            let step = parse(fields.next()?)?;
            Some((step, parse(fields.nth(column as usize - 1)?)?))
        };
        self.table().lines().skip(1).filter_map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accounting::{decimal::upper, noise::NoiseSpec},
        train::{config::RunConfig, label, presets, projection::planned},
        worker::protocol::DRAWN,
    };

    /// Noise scales of the knob's table.
    const SCALES: [f64; 15] = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.5, 3.0, 10.0];

    #[test]
    fn prices_under_other_noise_are_the_accountant_s() {
        let first = presets::Preset::by_key(presets::FIRST).unwrap().config();
        let priced = |train, scale| {
            let config = RunConfig { noise: Some(NoiseSpec::Gaussian { sigma: scale }), ..first.clone() };
            label::odds(&planned(&config, train, first.steps.unwrap()).unwrap(), first.delta).unwrap()
        };
        let set = first.noise.as_ref().map(NoiseSpec::scale).unwrap();
        let mut scales = [SCALES.as_slice(), &[set]].concat();
        scales.sort_unstable_by(f64::total_cmp);
        scales.dedup();
        let line = |scale: &f64| {
            let [(found, epsilon), (found_drawn, epsilon_drawn)] = [60_000, DRAWN.0].map(|train| priced(train, *scale));
            let [epsilon, epsilon_drawn] = [epsilon, epsilon_drawn].map(|epsilon| upper(epsilon, 3));
            format!("{scale},{found},{epsilon},{found_drawn},{epsilon_drawn}\n")
        };
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/www/knob.csv");
        if std::env::var_os("HUSHGRAD_WRITE").is_some() {
            let lines: String = scales.iter().map(line).collect();
            std::fs::write(file, format!("scale,found,epsilon,found-drawn,epsilon-drawn\n{lines}")).unwrap();
        }
        let table = std::fs::read_to_string(file).unwrap();
        assert_eq!(table.lines().count(), scales.len() + 1, "HUSHGRAD_WRITE=1 cargo test prices_under writes it");
        // Every third: a price takes a quarter of a second.
        for scale in scales.iter().step_by(3) {
            assert!(table.contains(&format!("\n{}", line(scale))), "HUSHGRAD_WRITE=1 cargo test prices_under: {scale}");
        }
        for run in [Recorded::Mnist, Recorded::Drawn] {
            let prices = run.prices();
            assert!(prices.len() > 15 && prices.windows(2).all(|pair| pair[0].found >= pair[1].found), "{prices:?}");
            assert_eq!(f64::from(Price::under(prices, set).unwrap().found), run.curve(Column::Odds)[0].1);
            assert_eq!(Price::under(prices, set + 0.01), Price::under(prices, set), "a bound holds under more noise");
            assert_eq!(Price::under(prices, 0.0), None);
        }
    }

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
            let odds = label::odds(&planned(&config, train, end).unwrap(), config.delta).unwrap().0;
            assert_eq!(run.curve(Column::Odds), [(end as f64, f64::from(odds))]);
        }
    }
}
