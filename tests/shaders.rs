//! The WGSL kernels: each is valid, small enough for every WebGPU device, and computes on a device
//! what its plain function does.
//!
//! Without an adapter these tests fail, unless `HUSHGRAD_NO_GPU=1` declares its absence.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeSet, path::Path};

use hushgrad::{
    accounting::noise::{CustomDensity, NoiseSpec},
    data::Dataset,
    engine::{
        Engine, Performance, StepInput, StepTrace, Task, cpu,
        gpu::{
            Gpu, GpuEngine, Scattering,
            kernels::{self, Bindings, Kernel},
        },
        reference::pixels,
    },
    mechanism::{
        Denoiser,
        denoise::Distance,
        encode::{bucket, first_bucket},
        noise::{chacha20_block, noise_at},
    },
    model::{Architecture, PIXELS, initial_parameters, reference},
};
use pollster::block_on;

#[path = "common/adapter.rs"]
mod adapter;
use adapter::device as gpu;

#[test]
fn every_file_belongs_to_a_kernel() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let mut found = BTreeSet::new();
    for below in ["", "shared/"] {
        for entry in std::fs::read_dir(folder.join(below)).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if entry.path().is_dir() {
                assert_eq!((below, name.as_str()), ("", "shared"));
            } else {
                found.insert(format!("{below}{name}"));
            }
        }
    }
    let listed: BTreeSet<String> =
        kernels::ALL.iter().flat_map(|kernel| kernel.parts).map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(found, listed);
    for kernel in kernels::ALL {
        let (file, _) = kernel.parts.last().unwrap();
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let comment: String = text.lines().take_while(|line| line.starts_with("//")).collect();
        assert!(!named(&comment).is_empty(), "{file} names no plain function");
    }
}

/// First and last names of the library paths in a comment: `model::reference::dense` or
/// `mechanism::encode::{clip, choose}`.
fn named(comment: &str) -> Vec<(&'static str, &str)> {
    let mut found = vec![];
    for module in ["engine", "mechanism", "model", "accounting"] {
        for (at, _) in comment.match_indices(&format!("{module}::")) {
            let rest = &comment[at..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && !"_:".contains(c)).unwrap_or(rest.len());
            let (path, after) = rest.split_at(end);
            match after.strip_prefix('{').and_then(|group| group.split_once('}')) {
                Some((group, _)) => found.extend(group.split(',').map(|name| (module, name.trim()))),
                None => found.extend(path.trim_end_matches(':').rsplit("::").next().map(|name| (module, name))),
            }
        }
    }
    found
}

/// Appends all source of a file or folder.
fn source(path: &Path, text: &mut String) {
    if path.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| source(&entry.unwrap().path(), text));
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        text.push_str(&std::fs::read_to_string(path).unwrap());
    }
}

/// True if there is an item or an enum variant of this name.
fn defines(source: &str, name: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    source.lines().map(str::trim_start).any(|line| {
        let item = ["fn", "struct", "enum", "trait", "mod", "const"].iter().any(|kind| {
            let item = format!("{kind} {name}");
            line.split_once(item.as_str()).is_some_and(|(before, after)| !before.contains("//") && ends(after))
        });
        let variant = name.starts_with(char::is_uppercase)
            && line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['(', ',']) || rest.starts_with(" {"));
        item || variant
    })
}

#[test]
fn names_in_comments_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let of_module = |module: &str| {
        let mut text = String::new();
        let folder = match module {
            "mechanism" | "model" => Path::new("crates/core/src").join(module),
            crates => Path::new("crates").join(crates).join("src"),
        };
        source(&root.join(folder), &mut text);
        text
    };
    let sources = ["engine", "mechanism", "model", "accounting"].map(|module| (module, of_module(module)));
    let files: BTreeSet<_> = kernels::ALL.iter().flat_map(|kernel| kernel.parts).map(|(file, _)| *file).collect();
    let mut names = 0;
    for file in files {
        // The files are read, as kernels are shipped without their comments.
        let text = std::fs::read_to_string(root.join("shaders").join(file)).unwrap();
        for comment in text.lines().filter(|line| line.trim_start().starts_with("//")) {
            for (module, name) in named(comment) {
                let (_, source) = sources.iter().find(|(known, _)| *known == module).unwrap();
                assert!(defines(source, name), "{file}: there is no {name} in {module}");
                names += 1;
            }
            for (at, _) in comment.match_indices("crates/") {
                let path = comment[at..].split_once(".rs").map_or(&comment[at..], |(stem, _)| stem);
                assert!(root.join(format!("{path}.rs")).is_file(), "{file}: there is no {path}.rs");
            }
        }
    }
    assert!(names >= 30, "only {names} names were found");
    assert!(!defines(&sources[1].1, "from_words") && !defines(&sources[1].1, "reference_step"));
}

#[test]
fn every_kernel_is_valid_within_default_limits() {
    for kernel in kernels::ALL {
        let source = kernel.source();
        let module = naga::front::wgsl::parse_str(&source)
            .unwrap_or_else(|error| panic!("{}: {}", kernel.name, error.emit_to_string(&source)));
        let flags = naga::valid::ValidationFlags::all();
        naga::valid::Validator::new(flags, naga::valid::Capabilities::empty())
            .validate(&module)
            .unwrap_or_else(|error| panic!("{}: {}", kernel.name, error.emit_to_string(&source)));

        // Two names of one binding are one buffer; an entry point uses one of them.
        let buffers = module.global_variables.iter().map(|(_, variable)| variable);
        let buffers = buffers.filter(|variable| matches!(variable.space, naga::AddressSpace::Storage { .. }));
        let storage = buffers.filter_map(|buffer| buffer.binding).collect::<std::collections::HashSet<_>>().len();
        assert!(storage <= 8, "{}: {storage} storage buffers", kernel.name);
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).unwrap();
        let workgroup: u32 = module
            .global_variables
            .iter()
            .filter(|(_, variable)| variable.space == naga::AddressSpace::WorkGroup)
            .map(|(_, variable)| layouter[variable.ty].size)
            .sum();
        assert!(workgroup <= 16_384, "{}: {workgroup} bytes of workgroup memory", kernel.name);
        let [entry] = module.entry_points.as_slice() else { panic!("{}: one entry point", kernel.name) };
        assert!(entry.name == "main" && entry.workgroup_size.iter().product::<u32>() <= 256);
    }
}

/// Runs a kernel with its own bindings on `inputs` (binding `input`), and reads `outputs` bytes
/// (binding `output`).
fn run(
    gpu: &Gpu,
    kernel: &Kernel,
    groups: u32,
    (input, inputs): (u32, &[u8]),
    (output, outputs): (u32, u64),
) -> Vec<u8> {
    let device = gpu.device();
    let buffer = |size, usage| {
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    };
    let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    let source = buffer(inputs.len() as u64, storage);
    let target = buffer(outputs, storage);
    let staging = buffer(outputs, wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ);
    gpu.queue().write_buffer(&source, 0, inputs);
    let pipeline = gpu.pipeline(kernel, &[]);
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[
            wgpu::BindGroupEntry { binding: input, resource: source.as_entire_binding() },
            wgpu::BindGroupEntry { binding: output, resource: target.as_entire_binding() },
        ],
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(groups, 1, 1);
    drop(pass);
    encoder.copy_buffer_to_buffer(&target, 0, &staging, 0, outputs);
    gpu.queue().submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |result| result.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let data = staging.get_mapped_range(..).unwrap().to_vec();
    gpu.check().unwrap();
    data
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|&b| u32::from_le_bytes(b)).collect()
}

/// RFC 8439, 2.3.2 and A.1 (vectors 1 to 5) by first and last words, then random inputs against the
/// plain function.
#[test]
fn chacha20_on_the_device() {
    let Some(gpu) = gpu() else { return };
    let counting = core::array::from_fn(|i| u32::from_le_bytes(core::array::from_fn(|b| (4 * i + b) as u8)));
    let zero = [0; 8];
    let (mut one, mut ff) = (zero, zero);
    one[7] = 0x0100_0000;
    ff[0] = 0x0000_ff00;
    let vectors = [
        (counting, 1, [0x0900_0000, 0x4a00_0000, 0], 0xe4e7_f110, 0x4e3c_50a2),
        (zero, 0, [0; 3], 0xade0_b876, 0x8665_eeb2),
        (zero, 1, [0; 3], 0xbee7_079f, 0x6f4d_794b),
        (one, 1, [0; 3], 0x2452_eb3a, 0xa013_6c00),
        (ff, 2, [0; 3], 0xfb4d_d572, 0x96f0_992e),
        (zero, 0, [0, 0, 0x0200_0000], 0x374d_c6c2, 0x6ded_1b53_u32),
    ];
    let mut inputs: Vec<([u32; 8], u32, [u32; 3])> = vectors.iter().map(|&(k, c, n, ..)| (k, c, n)).collect();
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state ^ (state >> 16)
    };
    inputs.extend((0..250).map(|_| (core::array::from_fn(|_| next()), next(), core::array::from_fn(|_| next()))));
    let packed: Vec<u32> =
        inputs.iter().flat_map(|(k, c, n)| k.iter().chain([c]).chain(n).copied().collect::<Vec<_>>()).collect();
    let bytes = bytemuck::cast_slice(&packed);
    let out = words(&run(&gpu, &kernels::CHACHA20_BLOCKS, 4, (0, bytes), (1, 64 * inputs.len() as u64)));
    for ((key, counter, nonce), block) in inputs.iter().zip(out.chunks(16)) {
        assert_eq!(block, chacha20_block(key, *counter, nonce));
    }
    for (&(.., first, last), block) in vectors.iter().zip(out.chunks(16)) {
        assert_eq!((block[0], block[15]), (first, last));
    }
}

/// The buckets of many magnitudes: all edges with their neighbours, and a scan of all bit patterns.
#[test]
fn buckets_on_the_device() {
    // 52,736 is the first bucket for a pre-scale of 1.
    const ENTRY: &str = "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (id.x < arrayLength(&examples)) { atomicStore(&tallies[id.x], bucket(bitcast<f32>(examples[id.x]), 52736)); }
    }";
    let Some(gpu) = gpu() else { return };
    let common = kernels::UNPACK.parts[0];
    let parts: &'static [_] = vec![common, ("entry", ENTRY)].leak();
    let kernel = Kernel { name: "bucket test", bindings: Bindings::Own, parts };
    let edges =
        (0..16_384_u32).map(|b| (b + first_bucket(1.0) as u32) << 14).flat_map(|edge| [edge - 1, edge, edge + 1]);
    let patterns: Vec<u32> = edges.chain((0..0x7f80_0000).step_by(50_021)).collect();
    let groups = patterns.len().div_ceil(64) as u32;
    let bytes = bytemuck::cast_slice(&patterns);
    let buckets = words(&run(&gpu, &kernel, groups, (0, bytes), (5, 4 * patterns.len() as u64)));
    for (&pattern, &found) in patterns.iter().zip(&buckets) {
        assert_eq!(found as usize, bucket(f32::from_bits(pattern), first_bucket(1.0)), "{pattern:#x}");
    }
}

/// Buckets of products in integers are those of the exact products, or of products too small by a
/// relative 2^-22 at most if one factor is a byte, else by 2^-20.
#[test]
fn buckets_of_products_on_the_device() {
    const ENTRY: &str = "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (4u * id.x < arrayLength(&examples)) {
            let at = 4u * id.x;
            let b = bucket_of_product(examples[at], examples[at + 1u], examples[at + 2u] == 1u, i32(examples[at + 3u]));
            atomicStore(&tallies[id.x], b);
        }
    }";
    let Some(gpu) = gpu() else { return };
    let parts: &'static [_] = vec![kernels::UNPACK.parts[0], ("entry", ENTRY)].leak();
    let kernel = Kernel { name: "product test", bindings: Bindings::Own, parts };
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    let mut cases: Vec<[u32; 4]> = vec![];
    for pre_scale in [1.0, 100.0, 3e-3] {
        let first = first_bucket(pre_scale);
        // Significands of all kinds, exponents from far below the first bucket to above the last.
        let float = |exponent: u32, significand: u32| ((100 + exponent % 32) << 23) | (significand & 0x7f_ffff);
        for _ in 0..20_000 {
            let (x, y) = (float(random(), random()), float(random(), random()));
            cases.push([x, y, 0, first as u32]);
            cases.push([x, ((random() % 255 + 1) as f32).to_bits(), 1, first as u32]);
        }
        // At edges: the exact product is an edge, or next to it.
        for b in (1..16_384_u32).step_by(37) {
            let edge = f32::from_bits((b + first as u32) << 14);
            for near in [edge, edge.next_down(), edge.next_up()] {
                cases.push([near.to_bits(), 1.0_f32.to_bits(), 0, first as u32]);
                cases.push([(near / 128.0).to_bits(), 128.0_f32.to_bits(), 1, first as u32]);
            }
        }
        // Zeros, with and without another factor.
        cases.extend([[0, 0, 0, first as u32], [0, 1.0_f32.to_bits(), 1, first as u32]]);
    }
    let groups = cases.len().div_ceil(64) as u32;
    let bytes = bytemuck::cast_slice(cases.as_flattened());
    let buckets = words(&run(&gpu, &kernel, groups, (0, bytes), (5, 4 * cases.len() as u64)));
    for (&[x, y, of_bytes, first], &found) in cases.iter().zip(&buckets) {
        // Exact, in 48 bits.
        let product = f64::from(f32::from_bits(x)) * f64::from(f32::from_bits(y));
        let down = |product: f64| {
            let nearest = product as f32;
            if f64::from(nearest) > product { nearest.next_down() } else { nearest }
        };
        let lack = if of_bytes == 1 { 2f64.powi(-22) } else { 2f64.powi(-20) };
        let first = first.cast_signed();
        let (least, most) = (bucket(down(product * (1.0 - lack)), first), bucket(down(product), first));
        assert!(
            (least..=most).contains(&(found as usize)),
            "{x:#x} {y:#x} {of_bytes} {first}: {found}, {least} to {most}"
        );
    }
}

/// Blots of different place and darkness.
fn examples(count: usize) -> Dataset {
    let images = (0..count).flat_map(|example| {
        let e = example as f32;
        let (cy, cx) = (13.0 + 4.0 * (e * 1.7).sin(), 14.0 + 4.0 * (e * 2.3).cos());
        (0..PIXELS).map(move |i| {
            let (y, x) = ((i / 28) as f32 - cy, (i % 28) as f32 - cx);
            let ink = (-(y * y / 20.0 + x * x / 30.0) / 2.0).exp() * (1.0 + 0.6 * (x * 0.9 + e).sin());
            if ink < 0.05 { 0 } else { (255.0 * ink.min(1.0)) as u8 }
        })
    });
    let labels = (0..count).map(|i| (i % 10) as u8);
    Dataset::new("blots", images.collect::<Vec<_>>(), labels.collect::<Vec<_>>())
}

fn engine(gpu: &Gpu, model: Architecture, noise: Option<NoiseSpec>, denoiser: Denoiser) -> GpuEngine {
    let task = Task { noise, denoiser, ..Task::without_privacy(model) };
    let start = initial_parameters(model, 5);
    block_on(GpuEngine::new(gpu, &task, &examples(20), &start, Performance::default())).unwrap()
}

fn trace(engine: &mut GpuEngine, lot: &[u32], key: u32) -> StepTrace {
    let noise_key = core::array::from_fn(|i| key.wrapping_mul(0x9e37_79b9).wrapping_add(i as u32));
    block_on(engine.traced_step(StepInput::alone(lot, noise_key, 0.0))).unwrap()
}

fn families() -> Vec<NoiseSpec> {
    vec![
        NoiseSpec::Gaussian { sigma: 1.1 },
        NoiseSpec::StudentT { nu: 9.0, scale: 1.2 },
        NoiseSpec::StudentT { nu: 2.5, scale: 0.7 },
        NoiseSpec::Laplace { scale: 0.8 },
        NoiseSpec::Cauchy { scale: 0.3 },
        NoiseSpec::VarianceGamma { scale: 0.5 },
        NoiseSpec::HyperbolicSecant { scale: 0.9 },
        NoiseSpec::GeneralizedGaussian { exponent: 1.0, scale: 0.6 },
        NoiseSpec::GeneralizedGaussian { exponent: 4.0, scale: 2.0 },
        NoiseSpec::GeneralizedGaussian { exponent: 20.0, scale: 1.5 },
        NoiseSpec::Custom { density: CustomDensity::from_formula("1 / (1 + x^4)").unwrap(), scale: 0.5 },
    ]
}

/// The device interpolates its table of quantiles: a density that it cannot follow is refused, and
/// so runs on the CPU.
#[test]
fn a_density_that_the_table_does_not_follow_is_refused() {
    let Some(gpu) = gpu() else { return };
    let density = CustomDensity::from_points("steep", &[(0.0, 1.0), (1.0, 0.8), (1.05, 0.1), (3.0, 0.02)]).unwrap();
    let noise = Some(NoiseSpec::Custom { density, scale: 1.5 });
    let model = Architecture::Linear;
    let task = Task { noise, ..Task::without_privacy(model) };
    let made =
        block_on(GpuEngine::new(&gpu, &task, &examples(20), &initial_parameters(model, 5), Performance::default()));
    let error = made.map(drop).unwrap_err().to_string();
    assert!(error.contains("steep"), "{error}");
}

/// Each coordinate is what the plain function draws, and together they follow the distribution: a
/// KS test of 101,770 draws with a false-alarm rate of 1e-6 per family (√(ln(2·10⁶)/2)/√P, Massart
/// 1990). Keys are fixed, so that the test is deterministic.
#[test]
fn noise_on_the_device() {
    let Some(gpu) = gpu() else { return };
    for (number, spec) in (1..).zip(families()) {
        let mut engine = engine(&gpu, Architecture::Mlp, Some(spec.clone()), Denoiser::None);
        let noise = trace(&mut engine, &[], number).noisy;
        let key = core::array::from_fn(|i| number.wrapping_mul(0x9e37_79b9).wrapping_add(i as u32));
        let distribution = spec.build().unwrap();
        let scale = f64::from(noise.iter().map(|z| z.abs()).sum::<f32>()) / noise.len() as f64;
        for (i, &z) in (0..).zip(&noise) {
            let plain = noise_at(&key, i, &*distribution);
            let error = (f64::from(z) - plain).abs();
            // Where two large terms cancel (cos near 0), the rest keeps the terms' error.
            assert!(error < 2e-6 * (plain.abs() + scale), "{spec:?}, coordinate {i}: {z} against {plain}");
        }
        let distance = Distance::KolmogorovSmirnov.of(&noise, |x| distribution.cdf(x));
        let alarm = ((2e6_f64).ln() / 2.0).sqrt() / (noise.len() as f64).sqrt();
        assert!(distance < alarm, "{spec:?}: {distance} is not below {alarm}");
        let symmetric = noise.iter().filter(|z| **z < 0.0).count() as f64 / noise.len() as f64;
        assert!((symmetric - 0.5).abs() < alarm);
    }
}

/// The distance is exact for values that follow the noise, for values far from it (nearly all in
/// one bin), and between.
#[test]
fn kolmogorov_smirnov_on_the_device() {
    let Some(gpu) = gpu() else { return };
    for model in [Architecture::Linear, Architecture::CnnTanh, Architecture::Mlp] {
        for spec in families() {
            let lots: [&[u32]; 2] = [&[], &[0, 3, 4, 5, 6, 7]];
            for lot in lots {
                for factor in [1.0, 1e-6] {
                    let spec = spec.with_scale(spec.scale() * factor);
                    let mut engine = engine(&gpu, model, Some(spec.clone()), Denoiser::KolmogorovSmirnov);
                    let trace = trace(&mut engine, lot, 77);
                    let found = f64::from(block_on(engine.metrics()).unwrap().denoise_factor);
                    let distribution = spec.build().unwrap();
                    let exact = Distance::KolmogorovSmirnov.of(&trace.noisy, |x| distribution.cdf(x));
                    assert!((found - exact).abs() < 3e-7, "{model:?}, {spec:?}, {lot:?}: {found} against {exact}");
                }
            }
        }
    }
}

/// Each layer's gradient of one example, against the plain reference.
#[test]
fn gradients_on_the_device() {
    let Some(gpu) = gpu() else { return };
    let data = examples(20);
    for model in Architecture::ALL.into_iter().filter(|&model| model != Architecture::Scattering) {
        let mut engine = engine(&gpu, model, None, Denoiser::None);
        let parameters = initial_parameters(model, 5);
        for example in [0, 7, 13] {
            let mut plain = vec![0.0; parameters.len()];
            reference::gradient(model, &parameters, &pixels(data.image(example)), data.labels[example], &mut plain);
            let found = trace(&mut engine, &[example as u32], 1);
            assert_eq!(found.raw, found.encoded);
            for layer in model.layers() {
                let range = layer.weights().start..layer.biases().end;
                let (found, plain) = (&found.raw[range.clone()], &plain[range]);
                let square = |values: &mut dyn Iterator<Item = f32>| values.map(|v| f64::from(v).powi(2)).sum::<f64>();
                let error =
                    square(&mut found.iter().zip(plain).map(|(a, b)| a - b)) / square(&mut plain.iter().copied());
                assert!(error.sqrt() < 1e-5, "{model:?}, {}: {:.2e}", layer.name, error.sqrt());
            }
        }
    }
}

/// Scattering features of digits, blank paper, ink alone and noise: within a byte of the CPU's, and
/// nearly always equal.
#[test]
fn features_on_the_device() {
    let Some(gpu) = gpu() else { return };
    let mut data = examples(17);
    let mut images = data.images.to_vec();
    images[..PIXELS].fill(0);
    images[PIXELS..2 * PIXELS].fill(255);
    images[2 * PIXELS..3 * PIXELS].iter_mut().zip(0u32..).for_each(|(v, i)| *v = (i * 7919 % 256) as u8);
    data.images = images.into();
    let scattering = block_on(Scattering::new(&gpu)).unwrap();
    let found = block_on(scattering.features(&gpu, &data)).unwrap();
    let expected = cpu::features(hushgrad::model::features::FeatureMap::DIGITS, &pixels(&data.images));
    assert_eq!(found.len(), expected.len());
    let apart = || found.iter().zip(&expected).map(|(a, b)| a.abs_diff(*b));
    assert!(apart().all(|steps| steps <= 1), "{:?}", apart().enumerate().find(|(_, steps)| *steps > 1));
    let differing = apart().filter(|&steps| steps > 0).count();
    assert!(differing < expected.len() / 500, "{differing} of {} bytes differ", expected.len());
}
