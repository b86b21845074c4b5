//! An adapter that computes any of a run's kernels wrongly is refused before the run, by a sentence
//! that names the kernel.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use hushgrad::{
    accounting::{
        groups::{Clipping, NoiseStrategy},
        noise::NoiseSpec,
    },
    data::{sharing::Sharing, synthetic},
    engine::{
        AnyEngine, EngineError, EngineFactory, Task,
        gpu::{Gpu, Scattering, kernels},
    },
    mechanism::{
        Denoiser, EncoderSpec, EnvelopeShape, LayerClip, canaries::Canaries, counts::Counting, envelope::Envelope,
    },
    model::{Architecture, initial_parameters},
};
use pollster::block_on;

#[path = "common/adapter.rs"]
mod adapter;

fn clip(model: Architecture) -> Task {
    Task {
        encoder: EncoderSpec::Clip { norm: 3.0 },
        noise: Some(NoiseSpec::Gaussian { sigma: 2.0 }),
        ..Task::without_privacy(model)
    }
}

fn envelope(model: Architecture, vectors: u32) -> Task {
    let shape = EnvelopeShape::Mixed;
    Task {
        encoder: EncoderSpec::Envelope { shape, vectors, pre_scale: 1.0, seed: 3 },
        envelope: Some(Arc::new(Envelope::draw(shape, vectors, model.parameters(), 3).unwrap())),
        noise: Some(NoiseSpec::StudentT { nu: 9.0, scale: 0.5 }),
        denoiser: Denoiser::KolmogorovSmirnov,
        averaging: true,
        ..Task::without_privacy(model)
    }
}

fn build(factory: &EngineFactory, task: &Task) -> Result<AnyEngine, EngineError> {
    let start = initial_parameters(task.model, 1);
    block_on(factory.build(task, &synthetic::dataset(2, 0, 30), &start))
}

/// A kernel's text with one change, and a run that uses it.
struct Sabotage {
    kernel: &'static str,
    from: &'static str,
    to: &'static str,
    task: fn() -> Task,
}

const fn sabotage(kernel: &'static str, from: &'static str, to: &'static str, task: fn() -> Task) -> Sabotage {
    Sabotage { kernel, from, to, task }
}

fn linear() -> Task {
    clip(Architecture::Linear)
}
fn linear_ranked() -> Task {
    envelope(Architecture::Linear, 7)
}
fn one_vector() -> Task {
    envelope(Architecture::Linear, 1)
}
fn cnn() -> Task {
    clip(Architecture::CnnTanh)
}
/// Every layer has its own factor and unit.
fn layered() -> Task {
    let layers = LayerClip { strategy: NoiseStrategy::DimensionAdjusted, ..LayerClip::even(1.0) };
    Task { encoder: EncoderSpec::Layers(layers), ..cnn() }
}
fn joint() -> Task {
    let layers =
        LayerClip { clipping: Clipping::Joint, strategy: NoiseStrategy::DimensionAdjusted, ..LayerClip::even(1.0) };
    Task { encoder: EncoderSpec::Layers(layers), ..cnn() }
}
fn cnn_ranked() -> Task {
    envelope(Architecture::CnnRelu, 2)
}
fn perceptron() -> Task {
    clip(Architecture::Mlp)
}
fn perceptron_ranked() -> Task {
    envelope(Architecture::Mlp, 3)
}
fn soft() -> Task {
    Task { denoiser: Denoiser::SoftThreshold, ..linear() }
}
fn shrinking() -> Task {
    Task { denoiser: Denoiser::JamesStein, ..linear() }
}
fn smoothing() -> Task {
    Task { denoiser: Denoiser::LaplacianSmoothing { strength: 3.0 }, ..linear() }
}
fn smoothing_kernels() -> Task {
    Task { denoiser: Denoiser::LaplacianSmoothing { strength: 1.0 }, ..cnn() }
}
fn low_pass() -> Task {
    Task { denoiser: Denoiser::LowPass { keeps: 0.9 }, ..linear() }
}
fn kalman() -> Task {
    Task { denoiser: Denoiser::Kalman { gain: 0.4 }, ..linear() }
}
fn banded() -> Task {
    Task { bands: 8, ..linear() }
}
/// Several examples share a vector.
fn shared() -> Task {
    Task { sharing: Sharing::MicroBatches { size: 4 }, ..linear() }
}
fn shared_perceptron() -> Task {
    Task { sharing: Sharing::Users { users: 5, skew: 1.0, seed: 0 }, ..perceptron() }
}
fn shared_cnn() -> Task {
    Task { sharing: Sharing::MicroBatches { size: 4 }, ..cnn() }
}
fn shared_ranked() -> Task {
    Task { sharing: Sharing::MicroBatches { size: 4 }, ..linear_ranked() }
}
fn counting() -> Task {
    Task { counting: Counting { within: Some(1.0), answers: Some(1.0) }, ..linear() }
}
fn counting_cnn() -> Task {
    Task { counting: counting().counting, ..cnn() }
}
fn counting_units() -> Task {
    Task { counting: Counting { within: Some(1.0), answers: None }, ..shared() }
}
/// Adds canaries of an audit.
fn with_canaries(task: Task) -> Task {
    let p = task.model.parameters();
    let canaries = Canaries::draw(10, &task.encoder, task.envelope.as_deref(), p, 9).unwrap();
    Task { canaries: Some(Arc::new(canaries)), ..task }
}
fn audited() -> Task {
    with_canaries(linear())
}
fn audited_layers() -> Task {
    with_canaries(layered())
}
fn audited_ranked() -> Task {
    with_canaries(linear_ranked())
}
fn audited_counting() -> Task {
    with_canaries(Task { counting: Counting { within: Some(1.0), answers: None }, ..linear() })
}
/// A built network.
fn built(list: &str) -> Task {
    clip(Architecture::Built(list.parse().unwrap()))
}
fn convolved() -> Task {
    built("conv 9 5x5/3 same, elu, conv 4 3x3/2 pad 1, tanh, maxpool 3/1, avgpool 2/1, dense 10")
}
/// A stride too large for phases, and a pool of the image.
fn strided() -> Task {
    built("avgpool 2, conv 3 2x2, conv 2 6x6/5 pad 2, dense 10")
}
fn grouped() -> Task {
    built("conv 4 5x5/3 same, groupnorm 2, relu, dense 10")
}
fn moments() -> Task {
    built("conv 4 5x5/3 same, batchnorm, relu, dense 10")
}
fn curved() -> Task {
    built("maxpool 2, dense 9, sigmoid, dense 12, sigmoid, dense 10")
}
fn narrow() -> Task {
    built("dense 20, elu, dense 10")
}
/// More stored squares than are summed at a time.
fn wide() -> Task {
    built("conv 24 20x20/2, relu, dense 10")
}
fn wide_ranked() -> Task {
    envelope(wide().model, 3)
}
/// As many layers with parameters as possible, each with its own factor and unit.
fn many_layers() -> Task {
    let list = "dense 9, tanh, dense 7, tanh, dense 9, elu, dense 6, tanh, dense 8, tanh, dense 9, tanh, dense 12, tanh, dense 10";
    Task { encoder: layered().encoder, ..built(list) }
}
fn many_layers_together() -> Task {
    Task { encoder: joint().encoder, ..many_layers() }
}
/// Layers of two groups take turns.
fn many_layers_in_groups() -> Task {
    let mut clip = LayerClip::even(1.0);
    clip.read("1+3+5+7:0.5@2 2+4+6+8:1@1").unwrap();
    Task { encoder: EncoderSpec::Layers(clip), ..many_layers() }
}
fn shared_built() -> Task {
    Task { sharing: Sharing::MicroBatches { size: 4 }, ..convolved() }
}
fn counting_built() -> Task {
    Task { counting: counting().counting, ..narrow() }
}
fn family(noise: NoiseSpec) -> Task {
    Task { noise: Some(noise), ..linear() }
}

const SABOTAGE: &[Sabotage] = &[
    sabotage("UNPACK", "/ 255.0", "/ 256.0", cnn),
    sabotage("CONV1", "TAPS_1 + channel", "TAPS_1 + channel + 1u", cnn),
    sabotage("POOL", "right_above > best", "right_above > best + 0.1", cnn),
    // Only the backward pass reads which one won.
    sabotage("POOL", "code = 2u", "code = 1u", cnn),
    sabotage("CONV2", "biases + 3u", "biases + 2u", cnn),
    sabotage("CONV2", "r < CHANNELS_1 * KERNEL_2", "r < CHANNELS_1 * KERNEL_2 - 1u", cnn),
    sabotage("DENSE", "u3 = weights(w3 + k)", "u3 = weights(w2 + k)", linear),
    // Tiles at a chunk's end.
    sabotage("DENSE", "start(min(e + 3u, count - 1u))", "start(e)", perceptron),
    sabotage("HEAD", "t == label", "t == (label + 1u) % 10u", linear),
    sabotage("HEAD", "slope(ACTIVATION,", "slope(0u,", perceptron),
    sabotage("HEAD", "select(0.0, 1.0, all_finite)", "0.0", linear),
    sabotage("DENSE_INPUT_GRADIENT", "o * INPUTS + i", "o * INPUTS + i + 1u", cnn),
    sabotage("UNPOOL", "code == 3u - k", "code == k", cnn),
    sabotage("CONV2_GRADIENT", "work[d + 7u * AREA_2]", "work[d + 6u * AREA_2]", cnn),
    sabotage("CONV2_INPUT_GRADIENT", "d4 * near", "d3 * near", cnn),
    sabotage("CONV1_GRADIENT", "p < AREA_1", "p < AREA_1 - 46u", cnn),
    // Members, shares, inputs and status of a unit's vector.
    sabotage("GATHER", "place < last", "place + 1u < last", shared),
    sabotage("GATHER", "run.rate / f32(end - first)", "run.rate / f32(last - here)", shared),
    sabotage("GATHER", "[k % 4u]", "[0]", shared),
    sabotage("GATHER", "sum = vectors[at]", "sum = 0.0", shared),
    sabotage("GATHER", "chunk.unit + group.y", "group.y", shared),
    sabotage("GATHER", "VECTOR_STATUS] = whole_unit", "VECTOR_STATUS] = 0.0", shared),
    sabotage("GATHER", "work[base + SOURCE + k]", "work[base + SOURCE]", shared_perceptron),
    sabotage("GATHER", "DELTA + i - weights", "DELTA", shared_perceptron),
    sabotage("GATHER", "work[base + STORED + i]", "work[base + STORED + i / 2u]", shared_cnn),
    sabotage("PLANT", "select(value, -value,", "select(value, value,", audited),
    // Shorter than the bound.
    sabotage("PLANT", "= select(value", "= 0.1 * select(value", audited),
    sabotage("PLANT", "chunk.first + group.y", "group.y", audited),
    sabotage("PLANT", "(canary >> 1u) * EACH + k", "(canary >> 1u) * EACH", audited_ranked),
    sabotage("PLANT", "STATUS] = 1.0", "STATUS] = 0.0", audited_layers),
    // The last stored layers, which only canaries' gradients have.
    sabotage(
        "NORM",
        "slice(base + STORED + SECOND_STORED",
        "2.0 * slice(base + STORED + SECOND_STORED",
        audited_layers,
    ),
    sabotage("NORM", "slice(base + STORED + THIRD_STORED", "0.0 * slice(base + STORED + THIRD_STORED", audited_layers),
    sabotage("NORM", "STATUS + 3u] = chosen.z", "STATUS + 3u] = chosen.y", audited_layers),
    sabotage("ACCUMULATE_STORED", "i >= THIRD_STORED", "i > STORED_LENGTH", audited_layers),
    sabotage("NORM", "run.clip / sqrt(square)", "2.0 * run.clip / sqrt(square)", linear),
    sabotage("NORM", "partial_stored[t] += partial_stored[t + half]", "partial_stored[t] += 0.0", cnn),
    sabotage("NORM", "(p.z + 1.0) * p.w", "p.z * p.w", perceptron),
    sabotage("NORM", "finite(square) && work[base + STATUS] == 1.0", "true", linear),
    sabotage("NORM", "atomicAdd(&tallies[NON_FINITE], 1u)", "atomicAdd(&tallies[NON_FINITE], 2u)", linear),
    sabotage("NORM", "factor * work[delta + i]", "factor * work[delta]", linear),
    sabotage("NORM", "SCALED_2, OUTPUTS_2, dense", "SCALED_2, OUTPUTS_2, 2.0 * dense", perceptron_ranked),
    sabotage("NORM", "result[layer] *= run", "result[layer] *= 2.0 * run", layered),
    sabotage("NORM", "dense_factors.y,", "dense_factors.x,", layered),
    sabotage("NORM", "square += norm * norm", "square = norm * norm", joint),
    sabotage("NORM", "square <= run.within", "square <= 2.0 * run.within", counting),
    sabotage("NORM", "select(0xffffffffu, 1u, square", "select(0u, 1u, square", counting_units),
    sabotage("NORM", "tallies[DIGITS + digit], 1u", "tallies[DIGITS + digit], 2u", counting),
    sabotage("NORM", "best == digit", "digit == 0u", counting_cnn),
    // A non-finite example is counted.
    sabotage(
        "NORM",
        "atomicAdd(&tallies[NON_FINITE], 1u)",
        "atomicAdd(&tallies[NON_FINITE], 1u); count(group.y, 0.0)",
        counting,
    ),
    sabotage("ACCUMULATE_STORED", "select(0u, 1u, i >= FIRST_STORED)", "0u", layered),
    sabotage("NOISE", "unit_of(i) * denoised", "denoised", layered),
    sabotage("HISTOGRAM_STORED", "work[at] = h", "work[at] = 0.9 * h", cnn_ranked),
    sabotage("HISTOGRAM_STORED", "i < STORED_LENGTH", "i < STORED_LENGTH / 2u", cnn_ranked),
    sabotage("HISTOGRAM_DENSE", "o < OUTPUTS", "o < OUTPUTS - 2u", linear_ranked),
    // Coordinates counted in another bucket than their own get another rank's bound.
    sabotage("HISTOGRAM_DENSE", "counts + b]", "counts + min(b + 1u, 16383u)]", linear_ranked),
    sabotage("HISTOGRAM_DENSE", "counts + b]", "counts + min(b + 512u, 16383u)]", cnn_ranked),
    sabotage("BOUNDS", "psi + rank - 1u", "psi + rank - min(rank, 40u)", one_vector),
    sabotage("BOUNDS", "psi + rank - 1u", "psi + rank - count", one_vector),
    sabotage("BOUNDS", "best * run.dimension", "0u", linear_ranked),
    sabotage("BOUNDS", "start += ranks[other]", "start += ranks[other] / 2u", linear_ranked),
    sabotage("ACCUMULATE_STORED", "e < min(slot", "e + 1u < min(slot", cnn),
    sabotage("ACCUMULATE_STORED", "clamp(g, -psi", "clamp(1.1 * g, -psi", cnn_ranked),
    sabotage("ACCUMULATE_DENSE", "o + min(2u, last)", "o", linear_ranked),
    sabotage("ACCUMULATE_DENSE", "h = clamp(h, -psi, psi)", "h = clamp(h, -2.0 * psi, psi)", linear_ranked),
    // A lost carry, as in an f32 sum.
    sabotage(
        "ACCUMULATE_DENSE",
        "atomicAdd(&sums[run.dimension + i], upper)",
        "atomicAdd(&sums[run.dimension + i], 0)",
        linear,
    ),
    sabotage("ACCUMULATE_DENSE", "round(h)", "round(h + 0.5)", linear),
    sabotage("ACCUMULATE_DENSE", "(unit(BYTES) * work", "(1.001 * unit(BYTES) * work", linear),
    sabotage("SCORES", "logits + k]", "logits + 9u - k]", linear),
    // Correlated noise, each family's own formula, and what all of them use.
    sabotage("NOISE", "quantiles[j - 1u] *", "quantiles[0u] *", banded),
    sabotage("NOISE", "min(release.position, rows)", "min(release.position, 1u)", banded),
    // The noise of the oldest step is not replaced.
    sabotage("NOISE", "(1u + release.position % rows)", "(1u + min(release.position, rows - 1u))", banded),
    sabotage("NOISE", "z = correlated(i, z)", "z = correlated(i, z) / 1.001", banded),
    sabotage("NOISE", "sqrt(2.0 * negative_log", "sqrt(1.999 * negative_log", linear),
    sabotage("NOISE", "return -sc.y", "return sc.y", linear),
    sabotage("NOISE", "rotate_left(d ^ a, 8u)", "rotate_left(d ^ a, 9u)", linear),
    sabotage("NOISE", "* (2.0 / nu)", "* (1.999 / nu)", linear_ranked),
    sabotage(
        "NOISE",
        "release.scale * negative_log(w.x, w.y), w.z)",
        "release.scale * negative_log(w.y, w.x), w.z)",
        || family(NoiseSpec::Laplace { scale: 1.0 }),
    ),
    sabotage("NOISE", "quotient = sc.x / sc.y", "quotient = sc.x", || family(NoiseSpec::Cauchy { scale: 1.0 })),
    sabotage("NOISE", "w.w << 1u", "w.w", || family(NoiseSpec::VarianceGamma { scale: 1.0 })),
    sabotage("NOISE", "+ 0.24156447", "+ 0.2416", || family(NoiseSpec::HyperbolicSecant { scale: 1.0 })),
    sabotage("NOISE", "+ t * (quantiles[at + 3u]", "- t * (quantiles[at + 3u]", || {
        family(NoiseSpec::GeneralizedGaussian { exponent: 1.5, scale: 1.0 })
    }),
    // Where the exact sum and the noise are added.
    sabotage("NOISE", "256 * (sums[i]", "256 * (sums[i] / 2", linear),
    sabotage("NOISE", "sums[release.dimension + i] + own + i32(upper)", "i32(upper)", linear),
    sabotage("NOISE", "bitcast<f32>(sums[i]) + z", "z", || Task { encoder: EncoderSpec::None, ..linear() }),
    sabotage("KS_SCATTER", "base += totals[other]", "base += totals[other] + 1u", linear_ranked),
    sabotage("KS_DISTANCE", "below += u32(other < u)", "below += u32(other <= u)", linear_ranked),
    sabotage("KS_FULL", "distance(share(below), u)", "distance(share(below + n), u)", linear_ranked),
    sabotage("UPDATE", "* UNIT;", "* UNIT * 1.0001;", linear_ranked),
    sabotage("UPDATE", "abs(g) - release.denoise", "abs(g) - 0.99 * release.denoise", soft),
    sabotage("UPDATE", "i < SMOOTHED", "i + 1u < SMOOTHED", smoothing),
    sabotage("SHRINK", "partial[t] += partial[t + half]", "partial[t] += 0.999 * partial[t + half]", shrinking),
    sabotage("SHRINK", "1.0 - release.denoise / all", "1.0", shrinking),
    sabotage("SMOOTH", "1.0 + release.denoise * curvature", "1.0 + 0.999 * release.denoise * curvature", smoothing),
    sabotage("SMOOTH", "row * SIDE + column", "row * SIDE", smoothing_kernels),
    // Filters over the steps are part of the update.
    sabotage("NOISE", "release.takes * (", "(", low_pass),
    sabotage("NOISE", "release.ahead * step", "step", kalman),
    sabotage("NOISE", "parameters[place] - step", "parameters[i] - 0.5 * step", kalman),
    sabotage(
        "UPDATE",
        "release.average_keeps * (parameters[place] - theta)",
        "0.5 * (parameters[place] - theta)",
        linear_ranked,
    ),
    sabotage("NOISE", "release.momentum * momentum[i]", "release.momentum", linear),
    // Built networks.
    sabotage("PIXELS", "four[k]", "four[0]", convolved),
    sabotage("PIXELS", "min(4u, INPUTS - i)", "min(3u, INPUTS - i)", curved),
    sabotage("CONVOLUTION", "row + y, column + x", "row + y, column + y", convolved),
    sabotage("CONVOLUTION", "vec4<u32>(4u, 5u, 6u, 7u)", "vec4<u32>(4u, 5u, 6u, 6u)", convolved),
    sabotage("CONVOLUTION", "y >= SIDE || x >= SIDE", "y >= SIDE", convolved),
    sabotage("CONVOLUTION", "exp(max(x, -80.0)) - 1.0", "exp(max(x, -80.0)) - 0.99", convolved),
    sabotage("CONVOLUTION_GRADIENT", "var v = 1.0", "var v = 0.99", convolved),
    sabotage("CONVOLUTION_GRADIENT", "column * STEP + x", "column * STEP", convolved),
    sabotage("CONVOLUTION_GRADIENT", "vec4<u32>(0u, 1u, 2u, 3u)", "vec4<u32>(0u, 1u, 2u, 2u)", grouped),
    sabotage("CONVOLUTION_INPUT_GRADIENT", "phase % PHASES + PADDING", "phase % PHASES", convolved),
    sabotage("CONVOLUTION_INPUT_GRADIENT", "f < FILTERS", "f + 1u < FILTERS", convolved),
    sabotage("CONVOLUTION_INPUT_GRADIENT", "slope(ACTIVATION, value(at))", "1.0", convolved),
    sabotage("CONVOLUTION_INPUT_GRADIENT", "right % STEP != 0u ||", "", strided),
    sabotage("POOL_WINDOWS", "v > best", "v > best + 0.1", convolved),
    // Only the backward pass reads which one won.
    sabotage("POOL_WINDOWS", "winner = y * KERNEL + x", "winner = y * KERNEL", convolved),
    sabotage("POOL_WINDOWS", "sum / f32(WINDOW)", "sum / f32(KERNEL)", strided),
    sabotage("POOL_WINDOWS_BACKWARD", "== f32(own)", ">= f32(own)", convolved),
    sabotage("POOL_WINDOWS_BACKWARD", "min(PLACES, y / STEP + 1u)", "min(PLACES, y / STEP)", convolved),
    sabotage("POOL_WINDOWS_BACKWARD", "delta /= f32(WINDOW)", "delta /= f32(KERNEL)", convolved),
    sabotage("CURVE", "select(1.0, z, x < 0.0)", "1.0", curved),
    sabotage("CURVE", "(z / (1.0 + z)) / (1.0 + z)", "(z / (1.0 + z))", curved),
    sabotage("GROUP_NORM", "partial[t] += partial[t + half]", "partial[t] += 0.0", grouped),
    sabotage("GROUP_NORM", "WEIGHTS + CHANNELS + channel", "WEIGHTS + CHANNELS", grouped),
    sabotage("GROUP_NORM", "INVERSE + group.x] = inverse", "INVERSE + group.x] = 1.0", grouped),
    sabotage("GROUP_NORM_GRADIENT", "summand += delta", "summand += 0.9 * delta", grouped),
    sabotage("GROUP_NORM_BACKWARD", "e - means.x", "e", grouped),
    sabotage("BATCH_NORM", "parameters[place + CHANNELS]", "parameters[place]", moments),
    sabotage("BATCH_NORM", "work[base + SOURCE + i] * inverse", "work[base + SOURCE + i]", moments),
    sabotage("BATCH_NORM_GRADIENT", "square += apart * apart", "square += apart", moments),
    sabotage("BATCH_NORM_GRADIENT", "variance - square", "-square", moments),
    sabotage("DENSE_GRADIENT", "DELTA + i / INPUTS", "DELTA", curved),
    sabotage("DENSE_GRADIENT", "DELTA + i - weights", "DELTA", curved),
    sabotage("DENSE_INPUT_GRADIENT", "delta *= slope(ACTIVATION", "delta *= 1.0 + slope(ACTIVATION", narrow),
    sabotage("LOSS", "k == label", "k == (label + 1u) % CLASSES", narrow),
    sabotage("LOSS", "select(0.0, 1.0, all_finite)", "0.0", narrow),
    // Beyond the first block of squares.
    sabotage("NORM", "i < min(length, first + 64u * BLOCK)", "i < min(length, 64u * BLOCK)", wide),
    sabotage("NORM", "slice(base + STORED + SIXTH_STORED", "2.0 * slice(base + STORED + SIXTH_STORED", many_layers),
    sabotage("NORM", "STATUS + 6u] = behind.y", "STATUS + 6u] = behind.x", many_layers),
    sabotage("NORM", "sqrt(more) * run.weight[1]", "sqrt(more)", many_layers),
    sabotage("NORM", "norms_more[layer] = of_group", "norms_more[layer] += of_group", many_layers_together),
    sabotage("NORM", "run.groups >> (4u * other)", "run.groups >> (4u * layer)", many_layers_in_groups),
    sabotage("ACCUMULATE_STORED", "select(0u, 1u, i >= SIXTH_STORED)", "0u", many_layers),
    sabotage("NOISE", "layer < 7u", "layer < 3u", many_layers),
    sabotage("HISTOGRAM_STORED", "i < STORED_LENGTH", "i < STORED_LENGTH / 2u", wide_ranked),
    sabotage("GATHER", "work[base + STORED + i]", "work[base + STORED]", shared_built),
];

/// Returns the error of a device that computes this kernel wrongly.
fn refused(name: &'static str, from: &'static str, to: &'static str, task: &Task) -> Option<EngineError> {
    let hits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&hits);
    let gpu = Gpu::open_edited(move |kernel, text| {
        if kernel.name != name {
            return text;
        }
        counted.fetch_add(usize::from(text.contains(from)), Ordering::Relaxed);
        text.replace(from, to)
    })
    .unwrap();
    let error = build(&EngineFactory::on(gpu), task).err();
    assert!(hits.load(Ordering::Relaxed) > 0, "{name} has no `{from}`");
    error
}

/// Two changes of each kernel; every change under `HUSHGRAD_FULL=1`.
#[test]
fn every_kernel_that_computes_wrongly_is_found_and_named() {
    if adapter::device().is_none() {
        return;
    }
    let (mut missed, mut times) = (Vec::new(), BTreeMap::<&str, usize>::new());
    for &Sabotage { kernel, from, to, task } in SABOTAGE {
        let time = times.entry(kernel).or_default();
        *time += 1;
        if *time > 2 && !hushgrad_testkit::full() {
            continue;
        }
        let error = refused(kernel, from, to, &task());
        let sentence = error.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string);
        println!("{kernel}, `{to}`: {sentence}");
        let mut words = sentence.split(|c: char| !c.is_alphanumeric() && c != '_');
        let named = words.any(|word| word == kernel.to_lowercase());
        if !named || !matches!(error, Some(EngineError::WrongResult { .. })) {
            missed.push((kernel, to, sentence));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Scattering features have their own kernels, checked by each run that uses them; all others are
/// in the list.
#[test]
fn the_list_has_every_kernel() {
    for kernel in kernels::ALL {
        let elsewhere = ["SCATTER", "STANDARDISE", "CHACHA20_BLOCKS"].contains(&kernel.name);
        assert_ne!(SABOTAGE.iter().any(|sabotage| sabotage.kernel == kernel.name), elsewhere, "{}", kernel.name);
    }
    if adapter::device().is_none() {
        return;
    }
    for (name, from, to) in [("SCATTER", "direction * bank", "bank"), ("STANDARDISE", "sum / f32(GROUP)", "0.0")] {
        let edit = move |kernel: &kernels::Kernel, text: String| {
            if kernel.name == name { text.replace(from, to) } else { text }
        };
        let gpu = Gpu::open_edited(edit).unwrap();
        let sentence = block_on(Scattering::new(&gpu)).map(drop).unwrap_err().to_string();
        assert!(sentence.contains(&name.to_lowercase()), "{sentence}");
    }
}

/// A correct device passes for every kind of run.
#[test]
fn a_right_adapter_passes_for_each_kind_of_run() {
    if adapter::device().is_none() {
        return;
    }
    let factory = EngineFactory::on(Gpu::open_edited(|_, text| text).unwrap());
    let models = [Architecture::Linear, Architecture::CnnTanh, Architecture::CnnRelu, Architecture::Mlp];
    let mut tasks: Vec<Task> = models.into_iter().flat_map(|model| [clip(model), envelope(model, 70)]).collect();
    tasks.extend([family(NoiseSpec::Cauchy { scale: 1.0 }), one_vector()]);
    tasks.push(Task { noise: None, ..linear() });
    tasks.push(Task { noise: None, denoiser: Denoiser::None, ..linear_ranked() });
    tasks.push(Task { encoder: EncoderSpec::None, ..linear() });
    tasks.push(Task { denoiser: Denoiser::Linear, ..linear() });
    tasks.extend([soft(), shrinking(), smoothing(), smoothing_kernels(), kalman(), banded()]);
    tasks.extend([shared(), shared_perceptron(), shared_cnn(), shared_ranked()]);
    tasks.extend([counting(), counting_cnn(), counting_units()]);
    tasks.extend([audited(), audited_layers(), audited_ranked(), audited_counting()]);
    tasks.extend([convolved(), strided(), grouped(), moments(), curved(), wide_ranked()]);
    tasks.extend([shared_built(), counting_built()]);
    tasks.extend([
        many_layers(),
        many_layers_together(),
        many_layers_in_groups(),
        with_canaries(many_layers()),
        with_canaries(convolved()),
    ]);
    tasks.extend([shared(), shared_ranked(), cnn_ranked(), perceptron()].map(with_canaries));
    for task in tasks {
        if let Err(error) = build(&factory, &task) {
            panic!("{:?}, {:?}: {error}", task.model, task.encoder);
        }
    }
}
