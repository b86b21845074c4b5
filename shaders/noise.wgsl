// mechanism::noise::add_noise and, without a denoiser, the update; for
// mechanism::denoise::Distance the first pass: u = F(noisy) in fixed point, counted into
// bins. An invocation computes a block of ChaCha20: four coordinates.

// Whether values are counted for the distance; whether the update follows at once.
override COUNT: bool;
override UPDATE: bool;
// Whether sums are exact, in whole steps g.
override EXACT: bool;
// Whether noise is correlated over the steps.
override CORRELATED: bool;

const NONCE: vec3<u32> = vec3<u32>(0x6e6f6973u, 0u, 0u);
const TAIL_CELLS: u32 = 16384;
// Limit of released values, in units of 2^16 g.
const FARTHEST: i32 = 1 << 29u;

// F(x) in units of 2^-32, from the tabulated tail F(−|x|).
fn distribution(x: f32) -> u32 {
    let magnitude = abs(x);
    let place = min(magnitude / (magnitude + release.half_point), 0.99999994) * f32(TAIL_CELLS);
    let cell = min(u32(place), TAIL_CELLS - 1u);
    let tail = mix(tails[cell], tails[cell + 1u], place - f32(cell));
    let fixed = u32(clamp(tail, 0.0, 0.5) * 4294967296.0);
    return select(fixed, 0xffffffffu - fixed, x > 0.0);
}

// The noisy sum of a coordinate.
//
// If the sum S is exact, the released value is a function of S + z alone: S + z rounded to g/256,
// limited to ±FARTHEST, then rounded to f32. For S is a whole number of steps, so that S + round(z)
// = round(S + z). In f32, z/g splits exactly into a multiple of 2^16 and a rest; all additions are
// of integers, and each S + z has a unique pair of words.
fn released(i: u32, z: f32) -> f32 {
    if (!EXACT) {
        return bitcast<f32>(sums[i]) + z;
    }
    let q = clamp(z * release.inverse_step, -70368744177664.0, 70368744177664.0);
    let upper = round(q / 65536.0);
    // Slices leave the lower word of S unnormalised.
    let own = (sums[i] + 32768) >> 16u;
    // 1/256 steps: the rest of the lower word is within 2^15 steps, and so is that of z.
    let fine = 256 * (sums[i] - (own << 16u)) + i32(round(256.0 * (q - 65536.0 * upper)));
    let carry = (fine + (1 << 23u)) >> 24u;
    // S is below 2^24 units, and z at its clamp is 2^30: then only FARTHEST is left.
    let high = sums[release.dimension + i] + own + i32(upper) + carry;
    if (abs(high) >= FARTHEST) {
        return f32(select(FARTHEST, -FARTHEST, high < 0)) * (65536.0 * release.step);
    }
    return f32(high) * (65536.0 * release.step) + f32(fine - (carry << 24u)) * (release.step / 256.0);
}

// mechanism::correlated::CorrelatedNoise::correlate: fresh noise less parts of earlier steps'
// noise. It replaces the oldest.
fn correlated(i: u32, fresh: f32) -> f32 {
    let rows = arrayLength(&quantiles);
    var z = fresh;
    for (var j = 1u; j <= min(release.position, rows); j++) {
        z -= quantiles[j - 1u] * noisy[(1u + (release.position - j) % rows) * release.dimension + i];
    }
    noisy[(1u + release.position % rows) * release.dimension + i] = z;
    return z;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let block = id.x;
    if (4u * block >= release.dimension) {
        return;
    }
    var words = chacha20_block(release.key_low, release.key_high, block, NONCE);
    for (var k = 0u; k < min(4u, release.dimension - 4u * block); k++) {
        let i = 4u * block + k;
        var z = noise(release.family, words[k]);
        if (CORRELATED) {
            z = correlated(i, z);
        }
        let value = released(i, z);
        noisy[i] = value;
        if (COUNT) {
            let u = distribution(value);
            values[i] = u;
            values[release.dimension + i] = atomicAdd(&bins[COUNTS + u / (0xffffffffu / BINS + 1u)], 1u);
        }
        if (UPDATE) {
            update(i, value);
        }
    }
}
