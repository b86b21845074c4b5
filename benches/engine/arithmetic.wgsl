// Arithmetic throughput: independent f32 multiply-adds, 16 values per invocation.

@group(0) @binding(0) var<storage, read> values: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> copies: array<vec4f>;

override ROUNDS: u32;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u) {
    // Zeros, unknown to the compiler; the products stay normal numbers.
    let factor = values[0] + vec4f(0.75);
    let summand = values[1] + vec4f(0.5);
    var a = vec4f(f32(id.x & 255u));
    var b = a + 1.0;
    var c = a + 2.0;
    var d = a + 3.0;
    for (var round = 0u; round < ROUNDS; round++) {
        a = fma(a, factor, summand);
        b = fma(b, factor, summand);
        c = fma(c, factor, summand);
        d = fma(d, factor, summand);
        a = fma(a, factor, summand);
        b = fma(b, factor, summand);
        c = fma(c, factor, summand);
        d = fma(d, factor, summand);
    }
    let sum = a + b + c + d;
    // Never true, but the compiler cannot know.
    if (sum.x < 0.0) {
        copies[id.x & 255u] = sum;
    }
}
