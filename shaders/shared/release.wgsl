// What the kernels after the sum see: noise, Kolmogorov–Smirnov distance, momentum, update. Prepended to each.

struct Release {
    // Key of this step's ChaCha20 stream.
    key_low: vec4<u32>,
    key_high: vec4<u32>,
    dimension: u32,
    family: u32,
    // Scale of the noise and its second parameter (Student-t: ν).
    scale: f32,
    shape: f32,
    learning_rate: f32,
    momentum: f32,
    expected_lot: f32,
    // The distribution function is tabulated over |x| / (|x| + this).
    half_point: f32,
    // Where the mean of the iterates lies behind the parameters; 0: there is none. What it keeps of itself.
    average_at: u32,
    average_keeps: f32,
    // g and 1/g, powers of two: mechanism::exact_sum::SumGrid.
    step: f32,
    inverse_step: f32,
}

@group(0) @binding(0) var<storage, read_write> parameters: array<f32>;
@group(0) @binding(1) var<storage, read_write> momentum: array<f32>;
// As in common.wgsl.
@group(0) @binding(2) var<storage, read_write> sums: array<i32>;
@group(0) @binding(3) var<storage, read_write> noisy: array<f32>;
// The distance, then BINS counts, BINS first places, and a list of full bins.
@group(0) @binding(4) var<storage, read_write> bins: array<atomic<u32>>;
// P values of the distribution function, P places in their bins, P values ordered by bin.
@group(0) @binding(5) var<storage, read_write> values: array<u32>;
// Tail probabilities at TAIL_CELLS + 1 nodes.
@group(0) @binding(6) var<storage, read> tails: array<f32>;
@group(0) @binding(7) var<storage, read> quantiles: array<f32>;
@group(0) @binding(8) var<uniform> release: Release;

// Times a fixed-point probability: 2^-32 is one unit.
const UNIT: f32 = 2.3283064365386963e-10;
const DISTANCE: u32 = 0;
const COUNTS: u32 = 64;
const BINS: u32 = 1024;
const STARTS: u32 = COUNTS + BINS;
// Bins with more than FEW values: their number, and which.
const FULL_COUNT: u32 = 1;
const FULL: u32 = STARTS + BINS;
const FEW: u32 = 512;

// m ← μ m + ĝ / lot; θ ← θ − η m; and the mean follows θ.
fn update(i: u32, denoised: f32) {
    let m = release.momentum * momentum[i] + denoised / release.expected_lot;
    momentum[i] = m;
    let theta = parameters[i] - release.learning_rate * m;
    parameters[i] = theta;
    if (release.average_at > 0u) {
        let place = release.average_at + i;
        parameters[place] = theta + release.average_keeps * (parameters[place] - theta);
    }
}

// rank / P in units of 2^-32, saturated at 1.
fn share(rank: u32) -> u32 {
    let p = release.dimension;
    if (rank >= p) {
        return 0xffffffffu;
    }
    let whole = 0xffffffffu / p;
    let rest = 0xffffffffu - whole * p + 1u;
    return rank * whole + u32(f32(rank) * f32(rest) / f32(p));
}

fn distance(a: u32, b: u32) -> u32 {
    return max(a, b) - min(a, b);
}
