// What kernels of built networks see (model::layers): sizes of one layer, and slots of `work` that hold the values of each image, which its ∂ℓ/∂values take the
// place of on the way back.

// First value of the slot that is read, and of the one that is written.
override SOURCE: u32 = 0;
override TARGET: u32 = 0;
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

// The value that went through is read where its delta goes.
fn put_delta(at: u32, delta: f32) {
    if (ACTIVATION == 0u) {
        work[at] = delta;
    } else {
        work[at] = delta * slope(ACTIVATION, work[at]);
    }
}
