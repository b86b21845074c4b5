//! Results of the presets, each trained once on MNIST by `cargo run --example record_presets` and
//! timed in a browser by `cargo xtask bench cards`.

use super::presets::Preset;
use crate::{
    plot::format,
    train::number::parse,
    ui::text::t,
    worker::{look::text::read_picture, snapshot::PictureLayout},
};

/// The result of one preset.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    pub preset: Preset,
    pub steps: u64,
    /// Accuracy on the test digits.
    pub accuracy: f64,
    /// ε by tight accounting; `None`: no guarantee.
    pub epsilon: Option<f64>,
    /// Training time in a browser, on the CPU; `None` if not measured.
    pub seconds: Option<f64>,
    /// Weights of one digit, or filters of the first layer.
    pub picture: Vec<f32>,
}

impl Card {
    #[must_use]
    pub fn duration(&self) -> Option<String> {
        let seconds = self.seconds?;
        let whole = |count: f64| format::integer(count.round().max(1.0) as u64);
        Some(match seconds < 99.5 {
            true => t!("about {n} s on our test machine", n = whole(seconds)),
            false => t!("about {n} minutes on our test machine", n = whole(seconds / 60.0)),
        })
    }

    /// Returns how the picture is divided.
    #[must_use]
    pub fn layout(&self) -> PictureLayout {
        let (images, side, columns) = if self.picture.len() == 28 * 28 { (1, 28, 1) } else { (16, 8, 4) };
        PictureLayout { images, side, columns }
    }

    /// Returns the magnitude of full colour.
    #[must_use]
    pub fn full(&self) -> f64 {
        self.picture.iter().map(|value| f64::from(value.abs())).fold(f64::MIN_POSITIVE, f64::max)
    }
}

/// Parses the table: a header, then `key steps accuracy tight seconds picture` per line. Malformed
/// lines are skipped.
#[must_use]
pub fn read(table: &str) -> Vec<Card> {
    let card = |line: &str| {
        let mut words = line.splitn(6, ' ');
        let preset = Preset::by_key(words.next()?)?;
        let steps = words.next()?.parse().ok()?;
        let accuracy = parse(words.next()?)?;
        let epsilon = match words.next()? {
            "none" => None,
            epsilon => Some(parse(epsilon)?),
        };
        let seconds = match words.next()? {
            "-" => None,
            seconds => Some(parse(seconds)?),
        };
        Some(Card { preset, steps, accuracy, epsilon, seconds, picture: read_picture(words.next()?)? })
    };
    table.lines().skip(1).filter_map(card).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{presets, projection::planned};

    #[test]
    fn cards_say_what_their_runs_cost() {
        let cards = read(include_str!("../../../www/presets.txt"));
        assert!(cards.len() >= 5, "{}", cards.len());
        for card in cards {
            let key = card.preset.key;
            let config = presets::Preset::by_key(key).unwrap().config();
            let layout = card.layout();
            assert_eq!(card.picture.len(), layout.images * layout.side * layout.side, "{key}");
            assert!(card.accuracy > 0.85 && card.accuracy < 1.0 && card.full() > 0.0, "{key}");
            assert_eq!(card.epsilon.is_none(), config.noise.is_none(), "{key}");
            assert!(card.seconds.is_some_and(|seconds| seconds > 0.1 && seconds < 3600.0), "{key}: {:?}", card.seconds);
            let Some(shown) = card.epsilon else { continue };
            let bound = planned(&config, 60_000, card.steps).unwrap().tight(config.delta).unwrap().value;
            assert!(shown >= bound && shown < bound * 1.01, "{key}: {shown} for {bound}");
        }
    }

    #[test]
    fn durations_are_rounded() {
        let card = |seconds| {
            let preset = Preset::by_key("quick-linear").unwrap();
            Card { preset, steps: 1, accuracy: 0.9, epsilon: None, seconds, picture: vec![] }.duration()
        };
        assert_eq!(card(None), None);
        for (seconds, text) in
            [(0.2, "about 1 s"), (4.4, "about 4 s"), (99.0, "about 99 s"), (150.0, "about 3 minutes")]
        {
            assert_eq!(card(Some(seconds)).unwrap(), format!("{text} on our test machine"));
        }
    }

    #[test]
    fn malformed_cards_are_skipped() {
        for line in [
            "",
            "x",
            "quick-linear",
            "quick-linear 1 0.5",
            "quick-linear 1 0.5 none",
            "quick-linear 1 0.5 none soon 1 00",
            "nobody 1 0.5 none 1 1 00",
        ] {
            assert_eq!(read(&format!("head\n{line}")), [], "{line}");
        }
    }
}
