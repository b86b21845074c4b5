// model::reference::convolution_backward, ∂ℓ/∂x: the output's delta (SOURCE) over all windows that
// contain a place. An invocation computes one place of eight channels. Places with the same row and
// column modulo PHASES are together, so that no tap is tried that never reaches them.

override PHASES: u32;
// Places of a phase in a row.
override REACH: u32 = (SIDE + PHASES - 1u) / PHASES;

fn taps(channels: vec4<u32>, k: u32) -> vec4<f32> {
    let w = WEIGHTS + channels * WINDOW + k;
    return vec4<f32>(parameters[w.x], parameters[w.y], parameters[w.z], parameters[w.w]);
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    let at = invocation(group, groups, t);
    let e = at / EACH;
    let phase = group.z % (PHASES * PHASES);
    let i = at % EACH;
    let y = PHASES * (i / REACH) + phase / PHASES;
    let x = PHASES * (i % REACH) + phase % PHASES;
    if (e >= chunk_count() || y >= SIDE || x >= SIDE) {
        return;
    }
    let base = e * STRIDE;
    let first = 8u * (group.z / (PHASES * PHASES));
    let low = min(first + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(CHANNELS - 1u));
    let high = min(first + vec4<u32>(4u, 5u, 6u, 7u), vec4<u32>(CHANNELS - 1u));
    var a = vec4<f32>();
    var b = a;
    for (var ky = (phase / PHASES + PADDING) % PHASES; ky < KERNEL; ky += PHASES) {
        // Above the first place, the difference wraps around to more than there are.
        let down = y + PADDING - ky;
        if (down % STEP != 0u || down / STEP >= PLACES) {
            continue;
        }
        for (var kx = (phase % PHASES + PADDING) % PHASES; kx < KERNEL; kx += PHASES) {
            let right = x + PADDING - kx;
            if (right % STEP != 0u || right / STEP >= PLACES) {
                continue;
            }
            let source = base + SOURCE + (down / STEP) * PLACES + right / STEP;
            for (var f = 0u; f < FILTERS; f++) {
                let delta = work[source + f * PLACE_AREA];
                let k = f * TAPS + ky * KERNEL + kx;
                a += delta * taps(low, k);
                b += delta * taps(high, k);
            }
        }
    }
    for (var c = 0u; c < min(8u, CHANNELS - first); c++) {
        put_delta(base + TARGET + ((first + c) * SIDE + y) * SIDE + x, select(a[c % 4u], b[c % 4u], c >= 4u));
    }
}
