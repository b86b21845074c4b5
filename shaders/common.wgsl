// What every per-example kernel sees. Prepended to the kernels that work on a chunk of the lot.
//
// `work` holds STRIDE floats for each example of the chunk: activations, deltas and the convolutions' gradients, at
// offsets that the host lays out once (src/engine/gpu/passes.rs). Dense layers' gradients are products of two of its
// slices and are never stored.

struct Run {
    // Examples in the lot; examples a chunk can hold.
    count: u32,
    chunk: u32,
    // Vectors in the envelope.
    vectors: u32,
    // Length of the flat parameter vector.
    dimension: u32,
    // Clipping norm with its margin for rounding; factor on gradients before the envelope.
    clip: f32,
    pre_scale: f32,
}

struct Chunk {
    // Its first example, as an index into the lot.
    first: u32,
}

@group(0) @binding(0) var<storage, read> examples: array<u32>;
@group(0) @binding(1) var<storage, read> lot: array<u32>;
@group(0) @binding(2) var<storage, read> parameters: array<f32>;
@group(0) @binding(3) var<storage, read_write> work: array<f32>;
@group(0) @binding(4) var<storage, read_write> sums: array<f32>;
@group(0) @binding(5) var<storage, read_write> tallies: array<atomic<u32>>;
// The same words for kernels in which no two invocations write to one: plain loads cost far less.
@group(0) @binding(5) var<storage, read_write> table: array<u32>;
@group(0) @binding(6) var<storage, read> envelope: array<f32>;
@group(0) @binding(7) var<uniform> run: Run;
@group(0) @binding(8) var<uniform> chunk: Chunk;

override STRIDE: u32 = 0;
// Where an example keeps whether its logits were finite (1 or 0), and what its gradient is multiplied by.
override STATUS: u32 = 0;

// Words of an example: its bytes, and the label in the last one. 28·28 pixels take 197.
override EXAMPLE_WORDS: u32 = 197;
// The bytes are features (model::scattering), not pixels.
override FEATURES: bool = false;

// The counter at the head of `tallies`; histograms follow, or the scores of an evaluation.
const NON_FINITE: u32 = 0;
const HISTOGRAMS: u32 = 64;
const BUCKETS: u32 = 16384;

fn chunk_count() -> u32 {
    return min(run.count - chunk.first, run.chunk);
}

// First word of example `e` of the chunk.
fn example(e: u32) -> u32 {
    return lot[chunk.first + e] * EXAMPLE_WORDS;
}

// Four inputs from their bytes: a pixel in [0, 1], or model::scattering::value.
fn values(word: u32) -> vec4<f32> {
    let parts = unpack4x8unorm(word);
    if (FEATURES) {
        return (round(255.0 * parts) - 128.0) / 384.0;
    }
    return parts;
}

// By bit pattern: WGSL promises nothing about comparisons with NaN or infinity.
fn finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

// model::reference::Stage::Activation. tanh by exp of a negative number, so that nothing overflows.
fn activate(kind: u32, x: f32) -> f32 {
    if (kind == 1u) {
        if ((bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u) {
            return x;
        }
        let a = abs(x);
        if (a < 0.05) {
            let z = x * x;
            return x * (1.0 - z * (0.33333334 - z * (0.13333334 - z * 0.053968254)));
        }
        let t = exp(-2.0 * min(a, 20.0));
        return sign(x) * ((1.0 - t) / (1.0 + t));
    }
    if (kind == 2u) {
        return select(0.0, x, x > 0.0);
    }
    return x;
}

// Derivative of the activation, from its value.
fn slope(kind: u32, y: f32) -> f32 {
    if (kind == 1u) {
        return 1.0 - y * y;
    }
    if (kind == 2u) {
        return select(0.0, 1.0, y > 0.0);
    }
    return 1.0;
}

// mechanism::encode::bucket: 512 buckets an octave from 2^-30 to 2^2.
fn bucket(magnitude: f32) -> u32 {
    let b = i32(bitcast<u32>(magnitude) >> 14u) - ((127 - 30) << 9u);
    return u32(clamp(b, 0, 16383));
}
