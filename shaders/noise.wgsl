// mechanism::noise::add_noise and, without a denoiser, the update; with one, the first pass of
// mechanism::denoise::kolmogorov_smirnov: u = F(noisy) in fixed point, counted into bins.
// An invocation makes a block of ChaCha20: four coordinates.

override DENOISE: bool;

const NONCE: vec3<u32> = vec3<u32>(0x6e6f6973u, 0u, 0u);
const TAIL_CELLS: u32 = 16384;

// F(x) in units of 2^-32, through the tabulated tail F(−|x|).
fn distribution(x: f32) -> u32 {
    let magnitude = abs(x);
    let place = min(magnitude / (magnitude + release.half_point), 0.99999994) * f32(TAIL_CELLS);
    let cell = min(u32(place), TAIL_CELLS - 1u);
    let tail = mix(tails[cell], tails[cell + 1u], place - f32(cell));
    let fixed = u32(clamp(tail, 0.0, 0.5) * 4294967296.0);
    return select(fixed, 0xffffffffu - fixed, x > 0.0);
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
        let value = sums[i] + noise(release.family, words[k]);
        noisy[i] = value;
        if (DENOISE) {
            let u = distribution(value);
            values[i] = u;
            values[release.dimension + i] = atomicAdd(&bins[COUNTS + u / (0xffffffffu / BINS + 1u)], 1u);
        } else {
            update(i, value);
        }
    }
}
