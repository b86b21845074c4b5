// Memory throughput: a copy.

@group(0) @binding(0) var<storage, read> values: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> copies: array<vec4f>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let length = arrayLength(&copies);
    for (var i = id.x; i < length; i += 256u * groups.x) {
        copies[i] = values[i];
    }
}
