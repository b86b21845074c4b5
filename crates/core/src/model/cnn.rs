//! Sizes of the two CNNs, used by layers, engines and shaders.

/// Geometry of a convolution or pool over squares of `side`, zero-padded by `padding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Side of an input square.
    pub side: usize,
    /// Side of the square kernel.
    pub kernel: usize,
    /// Positions between neighbouring outputs.
    pub stride: usize,
    /// Zeros on each side of the input.
    pub padding: usize,
}

impl Geometry {
    /// Returns the side of the output.
    #[must_use]
    pub const fn output_side(self) -> usize {
        (self.side + 2 * self.padding - self.kernel) / self.stride + 1
    }

    /// Returns the side of the padded input.
    #[must_use]
    pub const fn padded_side(self) -> usize {
        self.side + 2 * self.padding
    }

    /// Returns the number of kernel cells.
    #[must_use]
    pub const fn taps(self) -> usize {
        self.kernel * self.kernel
    }
}

/// The first convolution, on the image.
pub const CONV1: Geometry = Geometry { side: crate::data::idx::SIDE as usize, kernel: 8, stride: 2, padding: 3 };
/// Channels of the first convolution.
pub const CHANNELS1: usize = 16;
/// Side of its output after 2×2 max-pooling at stride 1.
pub const POOLED1: usize = CONV1.output_side() - 1;
/// The second convolution, on the first pool's output.
pub const CONV2: Geometry = Geometry { side: POOLED1, kernel: 4, stride: 2, padding: 0 };
/// Channels of the second convolution.
pub const CHANNELS2: usize = 32;
/// Side of its output after 2×2 max-pooling at stride 1.
pub const POOLED2: usize = CONV2.output_side() - 1;
/// Inputs of the hidden dense layer.
pub const FLAT: usize = CHANNELS2 * POOLED2 * POOLED2;
/// Units of the hidden dense layer.
pub const HIDDEN: usize = 32;
