//! Images turned by 90° or mirrored: all of a set, or a minority of the training images.

use super::{Dataset, Digits, coin::fnv_1a, picture::Picture};

/// About one training image in this many is turned.
pub const ONE_IN: u64 = 50;

/// Turns an image 90° clockwise.
fn turned((side, x, y): (usize, usize, usize)) -> usize {
    (side - 1 - x) * side + y
}

/// Exchanges left and right.
fn mirrored((side, x, y): (usize, usize, usize)) -> usize {
    y * side + side - 1 - x
}

/// An image whose pixel at (side, x, y) is the one at place `from` of the image.
fn moved(picture: Picture, image: &[u8], from: fn((usize, usize, usize)) -> usize) -> impl Iterator<Item = u8> {
    let (side, area) = (usize::from(picture.side), picture.area());
    (0..picture.pixels()).map(move |at| {
        let (plane, at) = (at / area * area, at % area);
        image[plane + from((side, at % side, at / side))]
    })
}

/// An image's coin: FNV-1a of its pixels. It must never change: resumed runs rely on it.
fn coin(image: &[u8]) -> u64 {
    fnv_1a(image.iter().copied())
}

impl Dataset {
    /// All images turned 90° clockwise, with their labels and users.
    #[must_use]
    pub fn turned(&self) -> Self {
        self.moved_where(turned, |_| true)
    }

    /// All images with left and right exchanged, with their labels and users.
    #[must_use]
    pub fn mirrored(&self) -> Self {
        self.moved_where(mirrored, |_| true)
    }

    /// About one image in [`ONE_IN`] turned 90° clockwise, the others unchanged.
    ///
    /// Each image is turned by a coin of its own, decided by its pixels: one example more or less
    /// changes no other. So a guarantee for training on the result also holds for the originals.
    /// Equal images are turned together.
    #[must_use]
    pub fn turned_by_coin(&self) -> Self {
        self.moved_where(turned, |image| coin(image).is_multiple_of(ONE_IN))
    }

    fn moved_where(&self, from: fn((usize, usize, usize)) -> usize, chosen: impl Fn(&[u8]) -> bool) -> Self {
        let mut images = self.images.to_vec();
        let pixels = self.pixels();
        for (to, image) in images.chunks_exact_mut(pixels).zip(self.images.chunks_exact(pixels)) {
            if chosen(image) {
                to.iter_mut().zip(moved(self.picture, image, from)).for_each(|(to, pixel)| *to = pixel);
            }
        }
        self.like(images, self.labels.clone()).with_users(self.users.clone())
    }
}

impl Digits {
    /// Both sets turned 90° clockwise or, with `mirror`, mirrored. The same people's images: this
    /// looks at no image, so it costs no privacy.
    #[must_use]
    pub fn oriented(self, mirror: bool) -> Self {
        let of = |set: &Dataset| if mirror { set.mirrored() } else { set.turned() };
        Self { train: of(&self.train), test: of(&self.test), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{idx::PIXELS, synthetic};

    const SIDE: usize = 28;

    #[test]
    fn a_turn_moves_every_pixel_and_loses_none() {
        let corner = |at: usize| {
            let mut image = vec![0; PIXELS];
            image[at] = 1;
            moved(Picture::DIGIT, &image, turned).position(|pixel| pixel == 1).unwrap()
        };
        // Clockwise: the upper left corner moves to the upper right, and so on.
        let corners = [0, SIDE - 1, PIXELS - 1, PIXELS - SIDE];
        assert_eq!(corners.map(corner), [SIDE - 1, PIXELS - 1, PIXELS - SIDE, 0]);
        let mut places: Vec<usize> = (0..PIXELS).map(corner).collect();
        places.sort_unstable();
        assert_eq!(places, (0..PIXELS).collect::<Vec<_>>());
        let set = synthetic::digits(1, 9, 1).train;
        let four_times = set.turned().turned().turned().turned();
        assert_eq!(four_times, set);
        assert!(set.turned() != set && set.turned().labels == set.labels);
        // A transpose, as EMNIST is stored, is a turn and a mirror.
        let (as_stored, upright) = (set.turned().mirrored(), set.image(0));
        let transposed = (0..PIXELS).map(|at| upright[at % SIDE * SIDE + at / SIDE]);
        assert!(as_stored.image(0).iter().copied().eq(transposed));
        assert_eq!((set.mirrored().mirrored(), as_stored.turned().mirrored()), (set.clone(), set.clone()));
    }

    /// Indices at which two sets of equal length differ.
    fn differ(a: &Dataset, b: &Dataset) -> Vec<usize> {
        (0..a.len()).filter(|&i| a.image(i) != b.image(i)).collect()
    }

    #[test]
    fn about_one_in_fifty_is_turned_and_always_the_same() {
        let set = synthetic::digits(1, 10_000, 1).train;
        let with = set.turned_by_coin();
        let places = differ(&set, &with);
        // 200 are expected, with a standard deviation of 14.
        assert!((145..255).contains(&places.len()), "{}", places.len());
        let whole = set.turned();
        assert!(places.iter().all(|&i| with.image(i) == whole.image(i)));
        assert_eq!((set.turned_by_coin(), &with.labels, &with.name), (with.clone(), &set.labels, &set.name));
        // Every digit is among them.
        assert!((0..10).all(|digit| places.iter().any(|&i| set.labels[i] == digit)));
    }

    /// Without one example, all others are turned as before, so ε is the same.
    #[test]
    fn one_example_more_or_less_changes_no_other() {
        let set = synthetic::digits(2, 400, 1).train;
        let places = differ(&set, &set.turned_by_coin());
        let without = set.slice(1..400);
        let expected: Vec<usize> = places.iter().filter(|&&i| i > 0).map(|i| i - 1).collect();
        assert_eq!(differ(&without, &without.turned_by_coin()), expected);
    }

    #[test]
    fn coins_are_stable() {
        assert_eq!(
            [coin(&[]), coin(b"a"), coin(b"foobar")],
            [0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c, 0x8594_4171_f739_67e8]
        );
    }
}
