// Windows in squares (model::cnn::Geometry): convolutions and pools of built networks.

override CHANNELS: u32 = 1;
// Sides of the input square, a window and the output; pixels from one window to the next; zeros
// around the input.
override SIDE: u32;
override KERNEL: u32;
override PLACES: u32;
override STEP: u32;
override PADDING: u32 = 0;

override AREA: u32 = SIDE * SIDE;
override PLACE_AREA: u32 = PLACES * PLACES;
override WINDOW: u32 = KERNEL * KERNEL;
