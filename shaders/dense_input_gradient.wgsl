// model::reference::dense_backward, ∂ℓ/∂x: the delta of a dense layer's inputs, Wᵀ δ.

override INPUTS: u32;
override OUTPUTS: u32;
override WEIGHTS: u32;
override DELTA: u32;
override TARGET: u32;
// Activation of the inputs, and their place; 0: its slope is left to the next kernel.
override ACTIVATION: u32 = 0;
override VALUES: u32 = TARGET;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= INPUTS) {
        return;
    }
    let base = id.y * STRIDE;
    var delta = 0.0;
    for (var o = 0u; o < OUTPUTS; o++) {
        delta += parameters[WEIGHTS + o * INPUTS + i] * work[base + DELTA + o];
    }
    if (ACTIVATION != 0u) {
        delta *= slope(ACTIVATION, work[base + VALUES + i]);
    }
    work[base + TARGET + i] = delta;
}
