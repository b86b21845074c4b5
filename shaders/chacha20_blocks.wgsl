// mechanism::noise::chacha20_block for many inputs at once, to test RFC 8439's vectors.

struct Input {
    key_low: vec4<u32>,
    key_high: vec4<u32>,
    counter_and_nonce: vec4<u32>,
}

@group(0) @binding(0) var<storage, read> inputs: array<Input>;
@group(0) @binding(1) var<storage, read_write> blocks: array<vec4<u32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&inputs)) {
        return;
    }
    let input = inputs[id.x];
    var rows = chacha20_block(input.key_low, input.key_high, input.counter_and_nonce.x, input.counter_and_nonce.yzw);
    for (var r = 0u; r < 4u; r++) {
        blocks[4u * id.x + r] = rows[r];
    }
}
