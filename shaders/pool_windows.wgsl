// model::reference::{windows, argmax} of any size: the largest value of each window, or the mean,
// then the activation. One invocation per window.

// Whether to take the largest value; the place of the first such value is kept.
override LARGEST: bool;
override WINNERS: u32 = 0;

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
    let i = at % EACH;
    let place = i % PLACE_AREA;
    let corner = (i / PLACE_AREA) * AREA + (place / PLACES) * STEP * SIDE + (place % PLACES) * STEP;
    let base = e * STRIDE;
    let source = base + SOURCE + corner;
    var best = work[source];
    var winner = 0u;
    var sum = 0.0;
    for (var y = 0u; y < KERNEL; y++) {
        for (var x = 0u; x < KERNEL; x++) {
            let v = work[source + y * SIDE + x];
            sum += v;
            // NaN is propagated.
            if (v > best || magnitude(v) > 0x7f800000u) {
                best = v;
                winner = y * KERNEL + x;
            }
        }
    }
    if (LARGEST) {
        work[base + WINNERS + i] = f32(winner);
        put(base + TARGET + i, best);
    } else {
        put(base + TARGET + i, sum / f32(WINDOW));
    }
}
