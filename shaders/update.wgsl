// The end of mechanism::Algorithm::step: ĝ = D·noisy, then momentum and parameters.

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i < release.dimension) {
        update(i, f32(atomicLoad(&bins[DISTANCE])) * UNIT * noisy[i]);
    }
}
