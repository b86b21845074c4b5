// mechanism::encode::finite_norm and clip's factor: ‖g‖² of each example, whether it is finite, and
// the factor on its gradient, in the sum's steps; and dense layers' deltas times this factor, whose
// product with an input's whole number (`whole`) is a coordinate.
//
// Dense layers by products of norms, ‖δ aᵀ‖² + ‖δ‖² = ‖δ‖²(‖a‖² + 1); convolutions' gradients by
// their entries. One workgroup per example; 64 partial sums and a tree keep rounding far below the
// clip's margin of 2^-14; the many squares of built networks are summed in parts of BLOCK.

override ENCODER: u32;
// Stored gradients (convolutions), then up to two dense layers: source, inputs, delta, outputs.
override STORED: u32 = 0;
override STORED_LENGTH: u32 = 0;
override BLOCK: u32 = 4096;
// Ends of the first stored layers, and whether there are more than four.
override FIRST_STORED: u32 = 0;
override SECOND_STORED: u32 = 0;
override THIRD_STORED: u32 = 0;
override MANY: bool = false;
override FOURTH_STORED: u32 = 0;
override FIFTH_STORED: u32 = 0;
override SIXTH_STORED: u32 = 0;
override SEVENTH_STORED: u32 = 0;
override BYTES: bool;
override SOURCE_1: u32 = 0;
override INPUTS_1: u32 = 0;
override DELTA_1: u32 = 0;
override OUTPUTS_1: u32 = 0;
override SOURCE_2: u32 = 0;
override INPUTS_2: u32 = 0;
override DELTA_2: u32 = 0;
override OUTPUTS_2: u32 = 0;
override SCALED_1: u32 = 0;
override SCALED_2: u32 = 0;
// Whether the step counts norms within the clip, and also right answers and digits.
override COUNTED: bool = false;
override ANSWERS: bool = false;
override LOGITS: u32 = 0;

const NONE: u32 = 0;
const CLIP: u32 = 1;
const ENVELOPE: u32 = 2;
const LAYERS: u32 = 3;
// `Run::groups` if each layer is clipped by itself.
const ALONE: u32 = 0x76543210u;

// Stored gradients by layer; `partial`: inputs and deltas of the first and second dense layer.
var<workgroup> partial_stored: array<vec4<f32>, 64>;
// Layers from the fifth on.
var<workgroup> partial_more: array<vec4<f32>, 64>;
var<workgroup> partial: array<vec4<f32>, 64>;
// Factors of the layers in order; with two layers, the last two are unused.
var<workgroup> chosen: vec4<f32>;

// The norm of the group of `layer`, from those of its layers.
fn of_group(norms: array<vec4<f32>, 2>, layer: u32) -> f32 {
    var own = norms;
    let group = (run.groups >> (4u * layer)) & 15u;
    var square = 0.0;
    for (var other = 0u; other < 8u; other++) {
        if (((run.groups >> (4u * other)) & 15u) == group) {
            let norm = own[other / 4u][other % 4u];
            square += norm * norm;
        }
    }
    return sqrt(square);
}

fn slice(start: u32, length: u32, t: u32) -> f32 {
    var sum = 0.0;
    for (var first = 0u; first < length; first += 64u * BLOCK) {
        var part = 0.0;
        for (var i = first + t; i < min(length, first + 64u * BLOCK); i += 64u) {
            let v = work[start + i];
            part += v * v;
        }
        sum += part;
    }
    return sum;
}

// Clamped to 1e30, which no guarantee lets a coordinate come near: an infinite delta times an input
// of 0 would be NaN.
fn scale(delta: u32, scaled: u32, length: u32, factor: f32, t: u32) {
    for (var i = t; i < length; i += 64u) {
        work[scaled + i] = clamp(factor * work[delta + i], -1e30, 1e30);
    }
}

// mechanism::layers::LayerFactors::of, for the first four layers or the next four.
fn factors(norms: vec4<f32>, behind: u32) -> vec4<f32> {
    var result = run.layer_scale[behind];
    for (var layer = 0u; layer < 4u; layer++) {
        if (norms[layer] > run.layer_target[behind][layer]) {
            result[layer] *= run.layer_target[behind][layer] / norms[layer];
        }
    }
    return result;
}

// mechanism::counts::Counts::add, in integers, so that the order of examples does not matter.
// Negative counts wrap, as the host expects.
fn count(e: u32, square: f32) {
    atomicAdd(&tallies[WITHIN], select(0xffffffffu, 1u, square <= run.within));
    if (!ANSWERS) {
        return;
    }
    let logits = e * STRIDE + LOGITS;
    var best = 0u;
    for (var k = 1u; k < CLASSES; k++) {
        if (work[logits + k] > work[logits + best]) {
            best = k;
        }
    }
    let digit = examples[example(e) + EXAMPLE_WORDS - 1u];
    atomicAdd(&tallies[RIGHT], select(0xffffffffu, 1u, best == digit));
    atomicAdd(&tallies[DIGITS + digit], 1u);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let base = group.y * STRIDE;
    partial_stored[t] = vec4<f32>(
        slice(base + STORED, FIRST_STORED, t),
        slice(base + STORED + FIRST_STORED, SECOND_STORED - FIRST_STORED, t),
        slice(base + STORED + SECOND_STORED, THIRD_STORED - SECOND_STORED, t),
        slice(base + STORED + THIRD_STORED, select(STORED_LENGTH, FOURTH_STORED, MANY) - THIRD_STORED, t),
    );
    if (MANY) {
        partial_more[t] = vec4<f32>(
            slice(base + STORED + FOURTH_STORED, FIFTH_STORED - FOURTH_STORED, t),
            slice(base + STORED + FIFTH_STORED, SIXTH_STORED - FIFTH_STORED, t),
            slice(base + STORED + SIXTH_STORED, SEVENTH_STORED - SIXTH_STORED, t),
            slice(base + STORED + SEVENTH_STORED, STORED_LENGTH - SEVENTH_STORED, t),
        );
    }
    var a = 0.0;
    if (BYTES) {
        let bytes = example(group.y);
        for (var w = t; w < EXAMPLE_WORDS - 1u; w += 64u) {
            let inputs = values(examples[bytes + w]);
            a += dot(inputs, inputs);
        }
    } else {
        a = slice(base + SOURCE_1, INPUTS_1, t);
    }
    partial[t] = vec4<f32>(
        a,
        slice(base + DELTA_1, OUTPUTS_1, t),
        slice(base + SOURCE_2, INPUTS_2, t),
        slice(base + DELTA_2, OUTPUTS_2, t),
    );
    for (var half = 32u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (t < half) {
            partial[t] += partial[t + half];
            partial_stored[t] += partial_stored[t + half];
            if (MANY) {
                partial_more[t] += partial_more[t + half];
            }
        }
    }
    if (t == 0u) {
        let p = partial[0];
        let stored = partial_stored[0];
        let dense = vec2<f32>((p.x + 1.0) * p.y, (p.z + 1.0) * p.w);
        var square = stored.x + stored.y + stored.z + stored.w + dense.x + dense.y;
        var more = vec4<f32>();
        if (MANY) {
            more = partial_more[0];
            square += more.x + more.y + more.z + more.w;
        }
        var factor = 0.0;
        var layers = vec4<f32>(1.0);
        var layers_more = layers;
        if (finite(square) && work[base + STATUS] == 1.0) {
            factor = 1.0;
            if (ENCODER == CLIP && square > run.clip * run.clip) {
                factor = run.clip / sqrt(square);
            }
            if (ENCODER == ENVELOPE) {
                factor = run.pre_scale;
            }
            if (ENCODER == LAYERS) {
                // Stored gradients are those of the first layers, or of all.
                let rest = stored + vec4<f32>(0.0, 0.0, dense);
                var norms = sqrt(select(vec4<f32>(dense, 0.0, 0.0), rest, STORED_LENGTH > 0u)) * run.weight[0];
                var norms_more = vec4<f32>();
                if (MANY) {
                    norms_more = sqrt(more) * run.weight[1];
                }
                if (run.groups != ALONE) {
                    let own = array<vec4<f32>, 2>(norms, norms_more);
                    for (var layer = 0u; layer < 4u; layer++) {
                        norms[layer] = of_group(own, layer);
                        norms_more[layer] = of_group(own, layer + 4u);
                    }
                }
                layers = factors(norms, 0u);
                if (MANY) {
                    layers_more = factors(norms_more, 1u);
                }
            }
            if (COUNTED) {
                count(group.y, square);
            }
        } else {
            atomicAdd(&tallies[NON_FINITE], 1u);
        }
        chosen = factor * layers * run.steps;
        work[base + STATUS + 1u] = chosen.x;
        work[base + STATUS + 2u] = chosen.y;
        work[base + STATUS + 3u] = chosen.z;
        work[base + STATUS + 4u] = chosen.w;
        if (MANY) {
            let behind = factor * layers_more * run.steps;
            work[base + STATUS + 5u] = behind.x;
            work[base + STATUS + 6u] = behind.y;
            work[base + STATUS + 7u] = behind.z;
            work[base + STATUS + 8u] = behind.w;
        }
    }
    workgroupBarrier();
    // Non-finite examples are left out of the sum, whatever is written here.
    let dense_factors = select(chosen.xy, chosen.zw, STORED_LENGTH > 0u);
    scale(base + DELTA_1, base + SCALED_1, OUTPUTS_1, dense_factors.x * unit(BYTES), t);
    scale(base + DELTA_2, base + SCALED_2, OUTPUTS_2, dense_factors.y, t);
}
