// model::reference::dense_backward, ∂ℓ/∂w and ∂ℓ/∂b of one example, written out: SOURCE is the
// input, DELTA the output's delta. One invocation per parameter.

override INPUTS: u32;
override OUTPUTS: u32;
override DELTA: u32;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= OUTPUTS * (INPUTS + 1u)) {
        return;
    }
    let base = id.y * STRIDE;
    let weights = OUTPUTS * INPUTS;
    if (i >= weights) {
        work[base + TARGET + i] = work[base + DELTA + i - weights];
    } else {
        work[base + TARGET + i] = work[base + DELTA + i / INPUTS] * work[base + SOURCE + i % INPUTS];
    }
}
