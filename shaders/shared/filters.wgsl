// Convolutions of built networks. An invocation has eight filters, or eight channels: each load
// serves eight products.

override FILTERS: u32;
// First weight.
override WEIGHTS: u32 = 0;
// Weights of a filter.
override TAPS: u32 = CHANNELS * WINDOW;

// The value at a place of the field with zeros around the image.
fn pixel(base: u32, channel: u32, row: u32, column: u32) -> f32 {
    if (PADDING == 0u) {
        return work[base + (channel * SIDE + row) * SIDE + column];
    }
    // Left of or above the image, the difference wraps around to more than its side.
    let y = row - PADDING;
    let x = column - PADDING;
    if (y >= SIDE || x >= SIDE) {
        return 0.0;
    }
    return work[base + (channel * SIDE + y) * SIDE + x];
}
