//! The sizes of the two CNNs, from which layers, engines and shaders take theirs.

/// A convolution over squares of `side`, zero-padded by `padding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Values in a row of an input square.
    pub side: usize,
    /// Values in a row of the kernel, which is square.
    pub kernel: usize,
    /// Positions from one output to the next.
    pub stride: usize,
    /// Zeros around the input, on each side.
    pub padding: usize,
}

impl Geometry {
    /// Side of the squares that it makes.
    #[must_use]
    pub const fn output_side(self) -> usize {
        (self.side + 2 * self.padding - self.kernel) / self.stride + 1
    }

    /// Side of its input with the zeros around it.
    #[must_use]
    pub const fn padded_side(self) -> usize {
        self.side + 2 * self.padding
    }

    /// Cells of its kernel.
    #[must_use]
    pub const fn taps(self) -> usize {
        self.kernel * self.kernel
    }
}

/// The first convolution: of the image.
pub const CONV1: Geometry = Geometry { side: crate::data::idx::SIDE as usize, kernel: 8, stride: 2, padding: 3 };
/// Its channels.
pub const CHANNELS1: usize = 16;
/// Side of its output after 2×2 max-pooling at stride 1.
pub const POOLED1: usize = CONV1.output_side() - 1;
/// The second convolution: of what the first pool leaves.
pub const CONV2: Geometry = Geometry { side: POOLED1, kernel: 4, stride: 2, padding: 0 };
/// Its channels.
pub const CHANNELS2: usize = 32;
/// Side of its output after 2×2 max-pooling at stride 1.
pub const POOLED2: usize = CONV2.output_side() - 1;
/// Inputs of the hidden dense layer.
pub const FLAT: usize = CHANNELS2 * POOLED2 * POOLED2;
/// Its units.
pub const HIDDEN: usize = 32;
