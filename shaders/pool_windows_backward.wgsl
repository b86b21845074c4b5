// model::reference::windows backward: the output's delta (SOURCE) over all windows that contain a
// value, or in which it won. One invocation per value.

override LARGEST: bool;
override WINNERS: u32 = 0;

// The first window, along a side, that contains `place`.
fn first_window(place: u32) -> u32 {
    return (max(place + 1u, KERNEL) - KERNEL + STEP - 1u) / STEP;
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
    let i = at % EACH;
    let channel = i / AREA;
    let y = (i % AREA) / SIDE;
    let x = i % SIDE;
    let base = e * STRIDE;
    var delta = 0.0;
    for (var row = first_window(y); row < min(PLACES, y / STEP + 1u); row++) {
        for (var column = first_window(x); column < min(PLACES, x / STEP + 1u); column++) {
            let window = channel * PLACE_AREA + row * PLACES + column;
            let own = (y - row * STEP) * KERNEL + x - column * STEP;
            if (!LARGEST || work[base + WINNERS + window] == f32(own)) {
                delta += work[base + SOURCE + window];
            }
        }
    }
    if (!LARGEST) {
        delta /= f32(WINDOW);
    }
    put_delta(base + TARGET + i, delta);
}
