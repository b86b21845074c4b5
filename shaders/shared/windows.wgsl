// Windows of squares (model::cnn::Geometry): convolutions and pools of built networks.

override CHANNELS: u32 = 1;
// Side of an input square, of a window, and of what comes out; pixels from one window to the next, and zeros around the input.
override SIDE: u32;
override KERNEL: u32;
override PLACES: u32;
override STEP: u32;
override PADDING: u32 = 0;

override AREA: u32 = SIDE * SIDE;
override PLACE_AREA: u32 = PLACES * PLACES;
override WINDOW: u32 = KERNEL * KERNEL;
