// Sizes of the CNNs (model::cnn), which the host gives. Kernels unroll channels by four and eight, and taps by rows of eight and four: what
// is fixed in them is how they cut the work, not how large it is.

// Sides of the image, of its field with zeros around it, and of the zeros.
override IMAGE: u32;
override FIELD: u32;
override PADDING: u32;
// Channels of a convolution, the side of its kernel, and of what it makes; of the first after its pool, too. Both move by 2.
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
