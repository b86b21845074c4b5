// Declarations for the kernels of scattering features (model::scattering): images of 28×28 bytes
// in, words of 4 features out.

// 197 words per image, as in common.wgsl.
@group(0) @binding(0) var<storage, read> images: array<u32>;
// Tables that do not depend on the image (crates/engine/src/gpu/features.rs).
@group(0) @binding(1) var<storage, read> bank: array<f32>;
// FEATURES per image, before normalisation.
@group(0) @binding(2) var<storage, read_write> coefficients: array<f32>;
// 994 words per image: its features and its label.
@group(0) @binding(3) var<storage, read_write> features: array<u32>;
@group(0) @binding(4) var<uniform> place: Place;

struct Place {
    // Index of the first image in `features`.
    first: u32,
}

const IMAGE_WORDS: u32 = 197;
const ANGLES: u32 = 8;
const GRID: u32 = 7;
const CELLS: u32 = 49;
const FEATURES: u32 = 81 * CELLS;

// Parts of the bank: e^(−2πik/32) for k < 16; the window's taps for full and for half maps; the
// features' middles; the wavelets' transforms, `[scale·8 + angle][row][column]`.
const TURNS: u32 = 0;
const TAPS: u32 = 32;
const HALF_TAPS: u32 = TAPS + 17;
const MIDDLES: u32 = HALF_TAPS + 9;
const WAVES: u32 = MIDDLES + FEATURES;
