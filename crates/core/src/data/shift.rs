//! Shifted copies of an image, over which augmentation averages.

use serde::{Deserialize, Serialize};

use super::picture::Picture;

/// A shift in pixels. Pixels shifted out are lost; those shifted in are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shift {
    /// Pixels to the right; negative to the left.
    pub right: i8,
    /// Pixels downwards; negative upwards.
    pub down: i8,
}

impl Shift {
    /// No shift.
    pub const NONE: Self = Self { right: 0, down: 0 };
    /// The original image only, without augmentation.
    pub const ALONE: &'static [Self] = &[Self::NONE];

    /// Returns `image`, channel by channel and row by row, shifted.
    #[must_use]
    pub fn of<T: Copy + Default>(self, picture: Picture, image: &[T]) -> Vec<T> {
        let mut moved = vec![T::default(); picture.pixels()];
        self.write(picture, image, &mut moved);
        moved
    }

    /// As [`Shift::of`], written to `moved`.
    pub fn write<T: Copy + Default>(self, picture: Picture, image: &[T], moved: &mut [T]) {
        let (side, area) = (usize::from(picture.side), picture.area());
        let from = |to: usize, by: i8| to.checked_add_signed(-isize::from(by)).filter(|&from| from < side);
        moved.fill(T::default());
        for (image, moved) in image.chunks_exact(area).zip(moved.chunks_exact_mut(area)) {
            for y in 0..side {
                let Some(row) = from(y, self.down) else { continue };
                for x in 0..side {
                    if let Some(column) = from(x, self.right) {
                        moved[y * side + x] = image[row * side + column];
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_move_and_leave() {
        for (channels, side) in [(1, 28), (3, 32)] {
            let picture = Picture::new(channels, side).unwrap();
            let mut image = vec![0u8; picture.pixels()];
            let plane = (channels - 1) * side * side;
            (image[plane], image[plane + 5 * side + 7], image[plane + side * side - 1]) = (1, 2, 3);
            assert_eq!(Shift::NONE.of(picture, &image), image);
            let moved = Shift { right: 2, down: -1 }.of(picture, &image);
            assert_eq!(moved.iter().map(|&v| u32::from(v)).sum::<u32>(), 2);
            assert_eq!(moved[plane + 4 * side + 9], 2);
            assert_eq!(Shift { right: side as i8, down: -128 }.of(picture, &image), vec![0; picture.pixels()]);
        }
    }
}
