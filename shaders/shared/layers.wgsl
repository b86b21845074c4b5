// What kernels of built networks see (model::layers): sizes of one layer, and slots of `work` that hold the values of each image, which ∂ℓ/∂values
// mostly take the place of on the way back.

// First value of the slot that is read, and of the one that is written.
override SOURCE: u32 = 0;
override TARGET: u32 = 0;
// On the way back, where the values are that TARGET is the delta of: they are kept where a dense layer's gradient is a product of them.
override VALUES: u32 = TARGET;
// Which activation what is written went through: model::reference::activated on the way forward, model::reference::slope on the way back.
override ACTIVATION: u32 = 0;
// Invocations an example.
override EACH: u32 = 1;

// Invocations of all examples, one after the other, in rows of workgroups.
fn invocation(group: vec3<u32>, groups: vec3<u32>, t: u32) -> u32 {
    return (group.y * groups.x + group.x) * 64u + t;
}

fn put(at: u32, value: f32) {
    work[at] = activate(ACTIVATION, value);
}

// What the delta of a place of TARGET is of.
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
