// Declarations for kernels of built networks (model::layers): sizes of one layer, and slots of
// `work` with the values of each image, mostly overwritten by ∂ℓ/∂values on the way back.

// First value of the slot that is read, and of the slot that is written.
override SOURCE: u32 = 0;
override TARGET: u32 = 0;
// Backward: the values whose delta goes to TARGET, kept if a dense layer's gradient needs them.
override VALUES: u32 = TARGET;
// Activation of what is written: model::reference::activated, backward model::reference::slope.
override ACTIVATION: u32 = 0;
// Invocations per example.
override EACH: u32 = 1;

// Number of the invocation among those of all examples, in rows of workgroups.
fn invocation(group: vec3<u32>, groups: vec3<u32>, t: u32) -> u32 {
    return (group.y * groups.x + group.x) * 64u + t;
}

// model::reference::released: 1/sqrt of a variance, at least 0, and a floor.
fn inverse_deviation(variance: f32, smallest: f32) -> f32 {
    return 1.0 / sqrt(select(variance, 0.0, variance < 0.0) + smallest);
}

fn put(at: u32, value: f32) {
    work[at] = activate(ACTIVATION, value);
}

// The value whose delta is at this place of TARGET.
fn value(at: u32) -> f32 {
    return work[at - TARGET + VALUES];
}

fn put_delta(at: u32, delta: f32) {
    if (ACTIVATION == 0u) {
        work[at] = delta;
    } else {
        work[at] = delta * slope(ACTIVATION, value(at));
    }
}
