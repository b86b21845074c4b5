// Third pass of mechanism::denoise::Distance: the largest |rank / P − u|, exactly. An
// invocation takes a value and counts its bin. Bins too full for this are left to ks_full.wgsl.

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let p = release.dimension;
    if (id.x >= p) {
        return;
    }
    let u = values[2u * p + id.x];
    let bin = u / (0xffffffffu / BINS + 1u);
    let m = atomicLoad(&bins[COUNTS + bin]);
    let start = atomicLoad(&bins[STARTS + bin]);
    if (m > FEW) {
        if (id.x == start) {
            atomicStore(&bins[FULL + atomicAdd(&bins[FULL_COUNT], 1u)], bin);
        }
        return;
    }
    var below = start;
    var up_to = start;
    for (var j = 0u; j < m; j++) {
        let other = values[2u * p + start + j];
        below += u32(other < u);
        up_to += u32(other <= u);
    }
    let d = max(distance(share(below), u), distance(share(up_to), u));
    if (d > atomicLoad(&bins[DISTANCE])) {
        atomicMax(&bins[DISTANCE], d);
    }
}
