// Declarations for the kernels that work on a chunk of the lot; prepended to each.
//
// `work` holds STRIDE floats for each example of the chunk: activations, deltas and the
// convolutions' gradients, at offsets that the host lays out once
// (crates/engine/src/gpu/layout.rs). Dense layers' gradients are products of two slices and need
// not be stored.

struct Run {
    // Examples in the lot; most examples of a chunk.
    count: u32,
    chunk: u32,
    // Vectors in the envelope.
    vectors: u32,
    // Length of the flat parameter vector.
    dimension: u32,
    // Clipping norm less its margins for rounding; factor on gradients before the envelope.
    clip: f32,
    pre_scale: f32,
    // 1/g, a power of two (mechanism::exact_sum::SumGrid); 1 if sums are not exact.
    steps: f32,
    // Subtracted from the leading bits of a magnitude, in steps, to get its bucket.
    first_bucket: i32,
    // mechanism::layers::LayerFactors, layer by layer.
    weight: array<vec4<f32>, 2>,
    layer_target: array<vec4<f32>, 2>,
    layer_scale: array<vec4<f32>, 2>,
    // Each layer's group, in four bits.
    groups: u32,
    // engine::task::LocalSteps: η of units that share a vector.
    rate: f32,
    // engine::task::Task::is_within: the largest squared norm that is within the clip.
    within: f32,
}

struct Chunk {
    // Its first example, as an index into the lot.
    first: u32,
    // If examples share vectors: the first unit of its block.
    unit: u32,
    // Number of examples; 0: as many as remain, or a chunk can hold.
    length: u32,
}

@group(0) @binding(0) var<storage, read> examples: array<u32>;
@group(0) @binding(1) var<storage, read> lot: array<u32>;
@group(0) @binding(2) var<storage, read> parameters: array<f32>;
@group(0) @binding(3) var<storage, read_write> work: array<f32>;
// If sums are exact: for each coordinate a lower word and, P words later, an upper one, which
// counts 2^16 steps g; else the bits of an f32. 2P words later, the bits of the raw sum.
@group(0) @binding(4) var<storage, read_write> sums: array<atomic<i32>>;
@group(0) @binding(5) var<storage, read_write> tallies: array<atomic<u32>>;
// The same words for kernels in which no two invocations write to one: plain loads cost far less.
@group(0) @binding(5) var<storage, read_write> table: array<u32>;
@group(0) @binding(6) var<storage, read> envelope: array<f32>;
@group(0) @binding(7) var<uniform> run: Run;
@group(0) @binding(8) var<uniform> chunk: Chunk;

override STRIDE: u32 = 0;
// Where an example keeps whether its logits are finite (1 or 0), then each layer's factor.
override STATUS: u32 = 0;

// Whether encoded coordinates are whole numbers of steps g, whose sums are exact
// (mechanism::exact_sum::SumGrid).
override EXACT: bool = false;

// Words of an example: its bytes, then one of label. 28·28 pixels take 197.
override EXAMPLE_WORDS: u32 = 197;
// Outputs of the last layer.
override CLASSES: u32 = 10;
// Whether the bytes are features (model::scattering), not pixels.
override FEATURES: bool = false;

// Counters at the head of `tallies`: one since the start, then those of this step
// (mechanism::counts). Histograms follow, or the scores of an evaluation.
const NON_FINITE: u32 = 0;
const WITHIN: u32 = 1;
const RIGHT: u32 = 2;
const DIGITS: u32 = 3;
const HISTOGRAMS: u32 = 128;
const BUCKETS: u32 = 16384;

fn chunk_count() -> u32 {
    return select(min(run.count - chunk.first, run.chunk), chunk.length, chunk.length > 0u);
}

// First word of example `e` of the chunk.
fn example(e: u32) -> u32 {
    return lot[chunk.first + e] * EXAMPLE_WORDS;
}

// Converts bytes to four inputs: pixels in [0, 1], or model::scattering::value.
fn values(word: u32) -> vec4<f32> {
    let parts = unpack4x8unorm(word);
    if (FEATURES) {
        return (round(255.0 * parts) - 128.0) / 384.0;
    }
    return parts;
}

// Tests the bit pattern: WGSL promises nothing about comparisons with NaN or infinity.
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
    // ELU, and ReLU of built networks: NaN is propagated.
    if (kind == 3u || kind == 4u) {
        if (magnitude(x) > 0x7f800000u || x > 0.0) {
            return x;
        }
        if (kind == 4u) {
            return 0.0;
        }
        if (x > -0.25) {
            return x * (1.0 + x * (0.5 + x * (0.16666667 + x * (4.1666668e-2
                + x * (8.3333333e-3 + x * (1.3888889e-3 + x * 1.984127e-4))))));
        }
        return exp(max(x, -80.0)) - 1.0;
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
    if (kind == 3u) {
        return select(y + 1.0, 1.0, y > 0.0);
    }
    if (kind == 4u) {
        return select(0.0, 1.0, y > 0.0);
    }
    return 1.0;
}

// mechanism::encode::bucket: 512 buckets per octave, for 32 octaves.
fn bucket(magnitude: f32, first_bucket: i32) -> u32 {
    return u32(clamp(i32(bitcast<u32>(magnitude) >> 14u) - first_bucket, 0, 16383));
}

// The bits of |x|.
fn magnitude(x: f32) -> u32 {
    return bitcast<u32>(x) & 0x7fffffffu;
}

// The bucket of |x·y| from the bits of |x| and |y|, in integers. One kernel counts a dense layer's
// coordinates and another clamps them: of two f32 products one might be rounded to another bucket,
// with another rank's bound. For `bytes`, y is a whole number of 8 significant bits; else only the
// product of the significands' lower halves is left out.
fn bucket_of_product(x: u32, y: u32, bytes: bool, first_bucket: i32) -> u32 {
    let m = (x & 0x7fffffu) | 0x800000u;
    let n = (y & 0x7fffffu) | 0x800000u;
    // In [2^29, 2^31).
    var product = (m >> 1u) * (n >> 16u);
    if (!bytes) {
        let cross = (m >> 12u) * (n & 4095u) + (m & 4095u) * (n >> 12u);
        product = (((m >> 12u) * (n >> 12u)) << 7u) + (cross >> 5u);
    }
    // Its leading 24 bits are an f32 exactly.
    let leading = bitcast<i32>(f32(i32(product & 0xffffff80u))) >> 14u;
    let exponents = i32((x >> 23u) + (y >> 23u)) - (29 + 2 * 127);
    return u32(clamp(leading + (exponents << 9u) - first_bucket, 0, 16383));
}

// Converts bytes to four inputs as whole numbers within ±255: `values` times `one`.
fn whole(word: u32) -> vec4<f32> {
    let bytes = (vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u);
    return vec4<f32>(bytes) - select(0.0, 128.0, FEATURES);
}

// The input that stands for 1, as for the bias: for bytes a whole number. `unit` is its inverse,
// which multiplies deltas.
fn one(bytes: bool) -> f32 {
    return select(1.0, select(255.0, 384.0, FEATURES), bytes);
}

fn unit(bytes: bool) -> f32 {
    return select(1.0, select(1.0 / 255.0, 1.0 / 384.0, FEATURES), bytes);
}

// mechanism::encode::bucket_bounds of a bucket, stored by bounds.wgsl.
fn bound(e: u32, bucket: u32) -> f32 {
    return bitcast<f32>(table[HISTOGRAMS + e * BUCKETS + bucket]);
}

// Examples of whole steps whose sum from 0 is exact in f32, in any order:
// mechanism::exact_sum::SLOT of them stay within 2^22, four times as many within 2^24.
override SLOT: u32 = 256;

// Examples that an invocation sums: a slice of the chunk. Exact sums have several slices, which may
// be added in any order; others have one.
override SLICE: u32 = 4096;

// Adds a sum over at most SLOT examples to the lot's. In whole steps, a slice moves the lower word
// by at most 2^15, and the upper one by at most its number of examples: with 2^15 slices, more than
// a device has room for, both stay in range (noise.wgsl carries).
fn add(i: u32, sum: f32) {
    if (EXACT) {
        let whole = i32(sum);
        let upper = (whole + 32768) >> 16u;
        if (whole != 0) {
            atomicAdd(&sums[i], whole - (upper << 16u));
        }
        if (upper != 0) {
            atomicAdd(&sums[run.dimension + i], upper);
        }
    } else {
        // With one slice, no other invocation writes here.
        atomicStore(&sums[i], bitcast<i32>(bitcast<f32>(atomicLoad(&sums[i])) + sum));
    }
}
