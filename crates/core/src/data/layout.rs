//! Brings a file's images into a dataset's order: square, channel by channel, each row by row.

use super::Picture;

/// Order of the values of an image in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Channel by channel.
    Planar,
    /// Pixel by pixel, with all channels of each.
    Interleaved,
}

/// Size and order of the images in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// 1 to 64.
    pub rows: usize,
    /// 1 to 64.
    pub columns: usize,
    /// 1 or 3.
    pub channels: usize,
    pub order: Order,
}

impl Layout {
    /// Values of one image in the file.
    pub const fn values(self) -> usize {
        self.rows * self.columns * self.channels
    }

    /// Size as squares of the longer side; `None` if no model takes it.
    pub fn picture(self) -> Option<Picture> {
        Picture::new(self.channels, self.rows.max(self.columns))
    }

    /// Converts each image on its own to a dataset's order, padding its shorter side with zeros on
    /// both sides; an odd row or column goes below or to the right.
    ///
    /// `None` if no model takes such images, or memory is short.
    pub fn squares(self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        let picture = self.picture()?;
        if self.rows == self.columns && (self.channels == 1 || self.order == Order::Planar) {
            return Some(bytes);
        }
        let (side, values) = (usize::from(picture.side), self.values());
        let (top, left) = ((side - self.rows) / 2, (side - self.columns) / 2);
        let mut out = Vec::new();
        let needed = (bytes.len() / values).checked_mul(picture.pixels())?;
        out.try_reserve_exact(needed).ok()?;
        out.resize(needed, 0);
        for (image, square) in bytes.chunks_exact(values).zip(out.chunks_exact_mut(picture.pixels())) {
            for channel in 0..self.channels {
                for row in 0..self.rows {
                    let to = &mut square[channel * side * side + (top + row) * side + left..][..self.columns];
                    for (column, to) in to.iter_mut().enumerate() {
                        *to = image[match self.order {
                            Order::Planar => (channel * self.rows + row) * self.columns + column,
                            Order::Interleaved => (row * self.columns + column) * self.channels + channel,
                        }];
                    }
                }
            }
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_separated_and_the_shorter_side_is_padded() {
        let layout = Layout { rows: 1, columns: 2, channels: 3, order: Order::Interleaved };
        assert_eq!(layout.picture(), Picture::new(3, 2));
        assert_eq!(layout.squares(vec![1, 2, 3, 4, 5, 6]).unwrap(), [1, 4, 0, 0, 2, 5, 0, 0, 3, 6, 0, 0]);
        let high = Layout { rows: 4, columns: 1, channels: 1, order: Order::Planar };
        let squares = high.squares(vec![1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        assert_eq!(squares[..16], [0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0]);
        assert_eq!(squares[16..], [0, 5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0]);
        let planar = Layout { rows: 2, columns: 2, channels: 3, order: Order::Planar };
        assert_eq!(planar.squares((0..12).collect()).unwrap(), (0..12).collect::<Vec<u8>>());
        assert_eq!(Layout { rows: 65, ..planar }.squares(vec![]), None);
    }
}
