// model::reference::Stage::Pool, forward: 2×2 windows at stride 1; the first (row-major) maximum
// wins. An invocation computes a row. Which of the four won is kept for unpool.wgsl, 2 bits per
// cell, 7 cells per float.

override CHANNELS: u32;
override WIDTH: u32;
override SOURCE: u32;
override TARGET: u32;
override CODES: u32;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let rows = CHANNELS * (WIDTH - 1u);
    let e = id.x / rows;
    if (e >= chunk_count()) {
        return;
    }
    let row = id.x % rows;
    let channel = row / (WIDTH - 1u);
    let y = row % (WIDTH - 1u);
    let above = e * STRIDE + SOURCE + (channel * WIDTH + y) * WIDTH;
    let target_row = e * STRIDE + TARGET + row * (WIDTH - 1u);
    let words = (WIDTH + 5u) / 7u;
    var codes = 0u;
    var left_above = work[above];
    var left_below = work[above + WIDTH];
    for (var x = 0u; x < WIDTH - 1u; x++) {
        let right_above = work[above + x + 1u];
        let right_below = work[above + WIDTH + x + 1u];
        var best = left_above;
        var code = 0u;
        if (right_above > best) {
            best = right_above;
            code = 1u;
        }
        if (left_below > best) {
            best = left_below;
            code = 2u;
        }
        if (right_below > best) {
            best = right_below;
            code = 3u;
        }
        work[target_row + x] = best;
        codes |= code << (2u * (x % 7u));
        if (x % 7u == 6u || x == WIDTH - 2u) {
            work[e * STRIDE + CODES + row * words + x / 7u] = f32(codes);
            codes = 0u;
        }
        left_above = right_above;
        left_below = right_below;
    }
}
