//! What the loaded images decide about a run, and how they are called.

use super::{choice::UserSource, values::Settings};
use crate::{data::Source, plot::format, ui::text::t};

/// Returns the page's heading, for images of this source and number; `None`: before any arrive.
#[must_use]
pub fn tagline(loaded: Option<(Source, u32)>, settings: &Settings) -> String {
    let users = settings.users.filter(|_| settings.user_source == UserSource::Data);
    match (loaded, users) {
        (None | Some((Source::Mnist, _)), _) => {
            t!("Learn from 60,000 people’s handwriting without giving any one of them away").to_owned()
        }
        (Some((source, _)), Some(users)) if source.is_own() => t!(
            "Learn from the images of {n} person without giving them away | Learn from the images of {n} people without giving any one of them away",
            n = format::integer(users.into())
        ),
        (Some((_, train)), _) => t!(
            "Learn from {n} image without giving it away | Learn from {n} images without giving any one of them away",
            n = format::integer(train.into())
        ),
    }
}

impl Settings {
    /// Returns a lot in place of one of more than an eighth of `train` images, whose every step costs much.
    #[must_use]
    pub fn modest_lot(&self, train: u32) -> Option<u32> {
        Some((train / 8).max(1)).filter(|&modest| !self.has_users() && self.lot > modest)
    }

    /// Returns the lot in place of one that is larger than `train` images.
    #[must_use]
    pub fn fitting_lot(&self, train: u32) -> Option<u32> {
        self.modest_lot(train).filter(|_| self.lot > train)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heading_tells_how_many_images_or_people_there_are() {
        let plain = Settings::default();
        for loaded in [None, Some((Source::Mnist, 60_000)), Some((Source::Mnist, 900))] {
            assert!(tagline(loaded, &plain).contains("60,000 people’s handwriting"));
        }
        let of = |source, train, settings: &Settings| tagline(Some((source, train)), settings);
        assert_eq!(of(Source::Visitor, 1234, &plain), "Learn from 1,234 images without giving any one of them away");
        assert_eq!(of(Source::Colour, 1, &plain), "Learn from 1 image without giving it away");
        let mut users = plain.clone();
        users.take_users(3579);
        assert!(of(Source::Known, 60_000, &users).contains("the images of 3,579 people without"));
        // Made-up users are no people, and drawn images are nobody's.
        assert!(of(Source::Synthetic, 20_000, &users).contains("20,000 images"));
        users.user_source = UserSource::Drawn;
        assert!(of(Source::Visitor, 1234, &users).contains("1,234 images"));
    }

    #[test]
    fn a_lot_larger_than_the_images_becomes_an_eighth_of_them() {
        let mut settings = Settings { lot: 256, ..Settings::default() };
        assert_eq!([255, 256, 5].map(|train| settings.fitting_lot(train)), [Some(31), None, Some(1)]);
        assert_eq!([2048, 2047, 256].map(|train| settings.modest_lot(train)), [None, Some(255), Some(32)]);
        settings.take_users(40);
        assert_eq!((settings.lot, settings.fitting_lot(8)), (5, None));
        settings.forget_users();
        assert!(!settings.has_users());
    }
}
