// Sizes of the CNNs (model::cnn), set by the host. Kernels unroll channels by four and eight, and
// taps by rows of eight and four: this fixes how they divide the work, not its size.

// Sides of the image and of its field with zeros around it, and the width of the zeros.
override IMAGE: u32;
override FIELD: u32;
override PADDING: u32;
// Channels of a convolution, and the sides of its kernel and its output; for the first, also the
// side after its pool. Both have stride 2.
override CHANNELS_1: u32;
override KERNEL_1: u32;
override SIDE_1: u32;
override POOLED_1: u32;
override CHANNELS_2: u32;
override KERNEL_2: u32;
override SIDE_2: u32;

override AREA_1: u32 = SIDE_1 * SIDE_1;
override AREA_2: u32 = SIDE_2 * SIDE_2;
override POOLED_AREA_1: u32 = POOLED_1 * POOLED_1;
// Weights of an output channel.
override TAPS_1: u32 = KERNEL_1 * KERNEL_1;
override TAPS_2: u32 = CHANNELS_1 * KERNEL_2 * KERNEL_2;
