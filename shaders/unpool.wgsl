// model::reference::Stage::Pool, backward, then the activation's slope, over the activation.

override CHANNELS: u32;
override WIDTH: u32;
// Activations before the pool (overwritten with their deltas), deltas after it, pool.wgsl's codes.
override SOURCE: u32;
override DELTA: u32;
override CODES: u32;
override ACTIVATION: u32;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let cells = CHANNELS * WIDTH * WIDTH;
    let e = id.x / cells;
    if (e >= chunk_count()) {
        return;
    }
    let cell = id.x % cells;
    let channel = cell / (WIDTH * WIDTH);
    let y = (cell / WIDTH) % WIDTH;
    let x = cell % WIDTH;
    let words = (WIDTH + 5u) / 7u;
    let base = e * STRIDE;
    var delta = 0.0;
    // The windows that contain this cell, in row-major order; it is the last cell of the first.
    for (var k = 0u; k < 4u; k++) {
        let up = 1u - k / 2u;
        let left = 1u - k % 2u;
        if (y < up || x < left || y - up >= WIDTH - 1u || x - left >= WIDTH - 1u) {
            continue;
        }
        let row = channel * (WIDTH - 1u) + y - up;
        let column = x - left;
        let code = (u32(work[base + CODES + row * words + column / 7u]) >> (2u * (column % 7u))) & 3u;
        if (code == 3u - k) {
            delta += work[base + DELTA + row * (WIDTH - 1u) + column];
        }
    }
    let at = base + SOURCE + cell;
    work[at] = delta * slope(ACTIVATION, work[at]);
}
