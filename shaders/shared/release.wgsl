// Declarations for the kernels after the sum: noise, denoiser, momentum, update. Prepended to each.

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
    // The distribution function is tabulated over |x| / (|x| + half_point).
    half_point: f32,
    // Offset of the parameters that images are read with from those that gradients are taken at; 0:
    // they are the same. Weight of the old mean of iterates.
    average_at: u32,
    average_keeps: f32,
    // g and 1/g, powers of two: mechanism::exact_sum::SumGrid.
    step: f32,
    inverse_step: f32,
    // mechanism::denoise::Filter: the weight of the sum, and γ.
    takes: f32,
    ahead: f32,
    // The denoiser's number: a threshold, the noise's part in ‖noisy‖², or smoothing's strength.
    denoise: f32,
    // For noise correlated over c + 1 steps: steps so far; from c on, c + their number modulo c.
    position: u32,
    // First coordinate after each layer, and the unit of its coordinates.
    ends: array<vec4<u32>, 2>,
    units: array<vec4<f32>, 2>,
}

@group(0) @binding(0) var<storage, read_write> parameters: array<f32>;
@group(0) @binding(1) var<storage, read_write> momentum: array<f32>;
// As in common.wgsl.
@group(0) @binding(2) var<storage, read_write> sums: array<i32>;
// If noise is correlated, that of the last c steps follows.
@group(0) @binding(3) var<storage, read_write> noisy: array<f32>;
// The distance, then BINS counts, BINS first places, and a list of full bins.
@group(0) @binding(4) var<storage, read_write> bins: array<atomic<u32>>;
// P values of the distribution function, P places in their bins, P values sorted by bin; or P
// smoothed numbers.
@group(0) @binding(5) var<storage, read_write> values: array<u32>;
// Tail probabilities at TAIL_CELLS + 1 nodes; or the tables of smooth.wgsl.
@group(0) @binding(6) var<storage, read> tails: array<f32>;
// The table of by_quantile; or the c coefficients of correlated noise.
@group(0) @binding(7) var<storage, read> quantiles: array<f32>;
@group(0) @binding(8) var<uniform> release: Release;

// The unit of fixed-point probabilities, 2^-32.
const UNIT: f32 = 2.3283064365386963e-10;
const DISTANCE: u32 = 0;
const COUNTS: u32 = 64;
const BINS: u32 = 1024;
const STARTS: u32 = COUNTS + BINS;
// Bins with more than FEW values: their number, and a list of them.
const FULL_COUNT: u32 = 1;
const FULL: u32 = STARTS + BINS;
const FEW: u32 = 512;

// mechanism::layers::Layers::restore: 1 if all layers have one bound.
fn unit_of(i: u32) -> f32 {
    for (var layer = 0u; layer < 7u; layer++) {
        if (i < release.ends[layer / 4u][layer % 4u]) {
            return release.units[layer / 4u][layer % 4u];
        }
    }
    return release.units[1].w;
}

// m ← μ m + takes·ĝ / lot; θ ← θ − η m; then the mean follows θ, or gradients' θ leads it.
fn update(i: u32, denoised: f32) {
    let m = release.momentum * momentum[i] + release.takes * (unit_of(i) * denoised / release.expected_lot);
    momentum[i] = m;
    let step = release.learning_rate * m;
    let place = release.average_at + i;
    if (release.ahead > 0.0) {
        let theta = parameters[place] - step;
        parameters[place] = theta;
        parameters[i] = theta - release.ahead * step;
        return;
    }
    let theta = parameters[i] - step;
    parameters[i] = theta;
    if (release.average_at > 0u) {
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
