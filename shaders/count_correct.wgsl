// model::reference::classify: how many examples of the chunk have their largest logit (the first, on a tie) at
// their label.

override LOGITS: u32;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let e = id.x;
    if (e >= chunk_count()) {
        return;
    }
    let logits = e * STRIDE + LOGITS;
    var best = 0u;
    for (var k = 1u; k < 10u; k++) {
        if (work[logits + k] > work[logits + best]) {
            best = k;
        }
    }
    if (best == examples[example(e) + PIXEL_WORDS]) {
        atomicAdd(&tallies[CORRECT], 1u);
    }
}
