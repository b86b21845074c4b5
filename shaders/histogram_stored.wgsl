// mechanism::encode::histogram for gradients in `work`: counts the coordinates of each bucket of
// magnitude. The scaled values replace the gradient, and are clamped later.

override STORED: u32;
override STORED_LENGTH: u32;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    let e = group.y;
    let factor = work[e * STRIDE + STATUS + 1u];
    if (factor == 0.0) {
        return;
    }
    let counts = HISTOGRAMS + e * BUCKETS;
    // The smallest bucket, by far the fullest, is counted separately.
    var smallest = 0u;
    for (var i = group.x * 64u + t; i < STORED_LENGTH; i += groups.x * 64u) {
        let at = e * STRIDE + STORED + i;
        let h = factor * work[at];
        work[at] = h;
        let b = bucket(abs(h), run.first_bucket);
        if (b == 0u) {
            smallest++;
        } else {
            atomicAdd(&tallies[counts + b], 1u);
        }
    }
    if (smallest > 0u) {
        atomicAdd(&tallies[counts], smallest);
    }
}
