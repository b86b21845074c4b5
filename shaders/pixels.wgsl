// model::pixel of each byte: the inputs of a built network.

override INPUTS: u32;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    let at = invocation(group, groups, t);
    let e = at / EACH;
    if (e >= chunk_count()) {
        return;
    }
    let i = 4u * (at % EACH);
    let four = values(examples[example(e) + i / 4u]);
    for (var k = 0u; k < min(4u, INPUTS - i); k++) {
        work[e * STRIDE + TARGET + i + k] = four[k];
    }
}
