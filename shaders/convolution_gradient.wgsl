// model::reference::convolution_backward, ∂ℓ/∂w and ∂ℓ/∂b of one example: SOURCE is the input,
// DELTA the output's delta. An invocation computes one tap of eight filters; the last is the bias.
// One row of workgroups per example.

override DELTA: u32;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    const BLOCK = 64u;
    let blocks = (TAPS + BLOCK) / BLOCK;
    let k = (group.x % blocks) * BLOCK + t;
    if (k > TAPS) {
        return;
    }
    let base = group.y * STRIDE;
    let first = 8u * (group.x / blocks);
    let delta = base + DELTA;
    let low = delta + PLACE_AREA * min(first + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(FILTERS - 1u));
    let high = delta + PLACE_AREA * min(first + vec4<u32>(4u, 5u, 6u, 7u), vec4<u32>(FILTERS - 1u));
    let is_bias = k == TAPS;
    let channel = min(k / WINDOW, CHANNELS - 1u);
    let y = (k % WINDOW) / KERNEL;
    let x = k % KERNEL;
    var a = vec4<f32>();
    var b = a;
    for (var row = 0u; row < PLACES; row++) {
        for (var column = 0u; column < PLACES; column++) {
            var v = 1.0;
            if (!is_bias) {
                v = pixel(base + SOURCE, channel, row * STEP + y, column * STEP + x);
            }
            let place = row * PLACES + column;
            let l = low + place;
            let h = high + place;
            a += v * vec4<f32>(work[l.x], work[l.y], work[l.z], work[l.w]);
            b += v * vec4<f32>(work[h.x], work[h.y], work[h.z], work[h.w]);
        }
    }
    for (var f = 0u; f < min(8u, FILTERS - first); f++) {
        let own = first + f;
        let to = select(own * TAPS + k, FILTERS * TAPS + own, is_bias);
        work[base + TARGET + to] = select(a[f % 4u], b[f % 4u], f >= 4u);
    }
}
