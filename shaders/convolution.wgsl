// model::reference::convolution of any size, then the activation. An invocation computes one place
// of eight filters.

fn taps(filters: vec4<u32>, k: u32) -> vec4<f32> {
    let w = WEIGHTS + filters * TAPS + k;
    return vec4<f32>(parameters[w.x], parameters[w.y], parameters[w.z], parameters[w.w]);
}

fn biases(filters: vec4<u32>) -> vec4<f32> {
    let b = WEIGHTS + FILTERS * TAPS + filters;
    return vec4<f32>(parameters[b.x], parameters[b.y], parameters[b.z], parameters[b.w]);
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    let at = invocation(group, groups, t);
    let e = at / EACH;
    if (e >= chunk_count()) {
        return;
    }
    let place = at % EACH;
    let row = (place / PLACES) * STEP;
    let column = (place % PLACES) * STEP;
    let base = e * STRIDE;
    // Beyond the last filter, the last one is repeated.
    let first = 8u * group.z;
    let low = min(first + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(FILTERS - 1u));
    let high = min(first + vec4<u32>(4u, 5u, 6u, 7u), vec4<u32>(FILTERS - 1u));
    var a = biases(low);
    var b = biases(high);
    for (var channel = 0u; channel < CHANNELS; channel++) {
        for (var y = 0u; y < KERNEL; y++) {
            for (var x = 0u; x < KERNEL; x++) {
                let v = pixel(base + SOURCE, channel, row + y, column + x);
                let k = channel * WINDOW + y * KERNEL + x;
                a += v * taps(low, k);
                b += v * taps(high, k);
            }
        }
    }
    for (var f = 0u; f < min(8u, FILTERS - first); f++) {
        put(base + TARGET + (first + f) * PLACE_AREA + place, select(a[f % 4u], b[f % 4u], f >= 4u));
    }
}
