//! The patches of a convolution, laid out for one matrix product.

use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::network::Convolution;

/// Indices of all patch values in an image's vector, on the device.
#[derive(Clone, Debug)]
pub(crate) struct Patches {
    /// Positions × fan-in, row by row: each position's kernel cells as [channel][row][column].
    indices: Tensor<1, Int>,
    positions: usize,
    fan_in: usize,
    padded: bool,
}

impl Patches {
    pub(crate) fn new(convolution: &Convolution, device: &Device) -> Self {
        let &Convolution { channels, geometry } = convolution;
        let output_side = geometry.output_side();
        let (side, kernel) = (geometry.side, geometry.kernel);
        // All padding refers to one zero appended to the image.
        let zero = channels * side * side;
        let along = |position: usize, cell: usize| {
            (position * geometry.stride + cell).checked_sub(geometry.padding).filter(|&place| place < side)
        };
        let mut indices = Vec::with_capacity(output_side * output_side * channels * kernel * kernel);
        for position in 0..output_side * output_side {
            let (row, column) = (position / output_side, position % output_side);
            for cell in 0..channels * kernel * kernel {
                let (channel, ky, kx) = (cell / (kernel * kernel), cell / kernel % kernel, cell % kernel);
                let seen = along(row, ky).zip(along(column, kx));
                indices.push(seen.map_or(zero, |(y, x)| (channel * side + y) * side + x) as i32);
            }
        }
        let count = indices.len();
        Self {
            indices: Tensor::from_data(TensorData::new(indices, [count]), device),
            positions: output_side * output_side,
            fan_in: channels * kernel * kernel,
            padded: geometry.padding > 0,
        }
    }

    /// `[rows, channels·side·side]` → `[rows, positions, fan-in]`.
    pub(crate) fn of(&self, images: Tensor<2>) -> Tensor<3> {
        let [rows, _] = images.dims();
        let images = if self.padded {
            let zero = Tensor::zeros([rows, 1], (&images.device(), images.dtype()));
            Tensor::cat(vec![images, zero], 1)
        } else {
            images
        };
        images.select(1, self.indices.clone()).reshape([rows, self.positions, self.fan_in])
    }
}
