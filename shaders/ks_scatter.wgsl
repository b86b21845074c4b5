// Second pass of mechanism::denoise::Distance: a counting sort into the bins. Each
// workgroup sums the bins' counts itself, which costs less than another dispatch.

var<workgroup> starts: array<u32, 1024>;
var<workgroup> totals: array<u32, 64>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    var own = 0u;
    for (var k = 0u; k < 16u; k++) {
        starts[16u * t + k] = own;
        own += atomicLoad(&bins[COUNTS + 16u * t + k]);
    }
    totals[t] = own;
    workgroupBarrier();
    // 64 reads per invocation cost less than the barriers of a tree.
    var base = 0u;
    for (var other = 0u; other < t; other++) {
        base += totals[other];
    }
    for (var k = 0u; k < 16u; k++) {
        starts[16u * t + k] += base;
        if (group.x == 0u) {
            atomicStore(&bins[STARTS + 16u * t + k], starts[16u * t + k]);
        }
    }
    workgroupBarrier();
    let p = release.dimension;
    for (var i = group.x * 64u + t; i < p; i += groups.x * 64u) {
        let u = values[i];
        values[2u * p + starts[u / (0xffffffffu / BINS + 1u)] + values[p + i]] = u;
    }
}
