//! Moved copies of an image, over which augmentation averages.

use serde::{Deserialize, Serialize};

use super::idx::PIXELS;

const SIDE: usize = 28;

/// By how many pixels an image is moved. Pixels that leave the field are lost, and those that enter are paper (0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shift {
    /// Pixels to the right; negative to the left.
    pub right: i8,
    /// Pixels downwards; negative upwards.
    pub down: i8,
}

impl Shift {
    /// Not moved.
    pub const NONE: Self = Self { right: 0, down: 0 };
    /// The image alone: no augmentation.
    pub const ALONE: &'static [Self] = &[Self::NONE];

    /// `image` (28×28, row by row), moved.
    #[must_use]
    pub fn of<T: Copy + Default>(self, image: &[T]) -> [T; PIXELS] {
        let mut moved = [T::default(); PIXELS];
        let from = |to: usize, by: i8| to.checked_add_signed(-isize::from(by)).filter(|&from| from < SIDE);
        for y in 0..SIDE {
            let Some(row) = from(y, self.down) else { continue };
            for x in 0..SIDE {
                if let Some(column) = from(x, self.right) {
                    moved[y * SIDE + x] = image[row * SIDE + column];
                }
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_move_and_leave() {
        let mut image = [0u8; PIXELS];
        (image[0], image[5 * SIDE + 7], image[PIXELS - 1]) = (1, 2, 3);
        assert_eq!(Shift::NONE.of(&image), image);
        let moved = Shift { right: 2, down: -1 }.of(&image);
        assert_eq!(moved.iter().map(|&v| u32::from(v)).sum::<u32>(), 2);
        assert_eq!(moved[4 * SIDE + 9], 2);
        assert_eq!(Shift { right: 28, down: -128 }.of(&image), [0; PIXELS]);
    }
}
