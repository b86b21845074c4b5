//! The graphics device: opened once, and watched for loss.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hushgrad_message::{Message, message, word};
use serde::{Deserialize, Serialize};

use super::{
    kernels::{Bindings, Kernel},
    kind::Kind,
};
use crate::{EngineError, Unsupported};

/// What an adapter is and supports, for display.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdapterReport {
    /// E.g. "SwiftShader Device".
    pub name: String,
    /// The graphics API below, e.g. "Vulkan" or "WebGPU".
    pub backend: String,
    /// Whether it runs on the CPU: correct, but slow.
    pub software: bool,
    /// Bytes of the largest storage buffer that a kernel may bind.
    pub max_storage_binding: u64,
    /// Bytes of the largest buffer.
    pub max_buffer: u64,
    /// Bytes of a workgroup's memory.
    pub workgroup_memory: u32,
    pub timestamp_query: bool,
    pub subgroups: bool,
}

impl core::fmt::Display for AdapterReport {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} ({}{})", self.name, self.backend, if self.software { ", software" } else { "" })
    }
}

impl AdapterReport {
    fn new(adapter: &wgpu::Adapter) -> Self {
        let info = adapter.get_info();
        let limits = adapter.limits();
        let features = adapter.features();
        let named: Vec<&str> = [info.name.as_str(), info.driver.as_str(), info.driver_info.as_str()]
            .into_iter()
            .filter(|s| !s.is_empty())
            .collect();
        let all = named.join(" ").to_lowercase();
        let software = info.device_type == wgpu::DeviceType::Cpu
            || ["swiftshader", "llvmpipe", "lavapipe", "softpipe", "basic render"].iter().any(|s| all.contains(s));
        Self {
            name: named.first().map_or_else(|| "unnamed adapter".to_owned(), |&s| s.to_owned()),
            backend: match info.backend {
                wgpu::Backend::BrowserWebGpu => "WebGPU".to_owned(),
                backend => format!("{backend:?}"),
            },
            software,
            max_storage_binding: limits.max_storage_buffer_binding_size,
            max_buffer: limits.max_buffer_size,
            workgroup_memory: limits.max_compute_workgroup_storage_size,
            timestamp_query: features.contains(wgpu::Features::TIMESTAMP_QUERY),
            subgroups: features.contains(wgpu::Features::SUBGROUP),
        }
    }
}

/// Checks limits that the kernels need and every WebGPU adapter has; less is refused by name.
fn check_limits(limits: &wgpu::Limits) -> Result<(), EngineError> {
    let needs = [
        (word!("storage buffers in a kernel"), limits.max_storage_buffers_per_shader_stage, 8),
        (word!("bytes of workgroup memory"), limits.max_compute_workgroup_storage_size, 16_384),
        (word!("invocations in a workgroup"), limits.max_compute_invocations_per_workgroup, 256),
    ];
    match needs.iter().find(|(_, found, needed)| found < needed) {
        Some((what, found, needed)) => {
            Err(EngineError::NoAdapter(message!("it allows {found} {what}, and {needed} are needed")))
        }
        None => Ok(()),
    }
}

fn instance() -> wgpu::Instance {
    static INSTANCE: Mutex<Option<wgpu::Instance>> = Mutex::new(None);
    lock(&INSTANCE)
        .get_or_insert_with(|| wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle()))
        .clone()
}

async fn request_adapter() -> Result<wgpu::Adapter, EngineError> {
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        ..wgpu::RequestAdapterOptions::default()
    };
    let adapter = instance()
        .request_adapter(&options)
        .await
        .map_err(|e| EngineError::NoAdapter(message!("this browser or system offers none ({e})")))?;
    check_limits(&adapter.limits())?;
    Ok(adapter)
}

/// Every adapter of this machine, including those that cannot run the kernels.
#[cfg(not(target_arch = "wasm32"))]
async fn every_adapter() -> Vec<wgpu::Adapter> {
    instance().enumerate_adapters(wgpu::Backends::all()).await
}

/// Adapters that [`Gpu::acquire_called`] selects from; an adapter's index is its number.
#[cfg(not(target_arch = "wasm32"))]
pub async fn adapters() -> Vec<AdapterReport> {
    every_adapter().await.iter().map(AdapterReport::new).collect()
}

/// Returns the indices of the adapters that `wanted` may mean, at least one: by number, or by part
/// of a name in any case.
#[cfg(not(target_arch = "wasm32"))]
fn called(wanted: &str, there: &[AdapterReport]) -> Result<Vec<usize>, EngineError> {
    if let Some(number) = wanted.parse::<usize>().ok().filter(|number| *number < there.len()) {
        return Ok(vec![number]);
    }
    let names: Vec<String> = there.iter().map(ToString::to_string).collect();
    let part = wanted.to_lowercase();
    let found: Vec<usize> = (0..names.len()).filter(|&place| names[place].to_lowercase().contains(&part)).collect();
    if found.is_empty() {
        return Err(EngineError::UnknownAdapter { wanted: wanted.to_owned(), there: names });
    }
    Ok(found)
}

/// Returns the first adapter that `wanted` may mean and that can run the kernels: a device often
/// appears once per graphics API, and not all of them allow enough.
#[cfg(not(target_arch = "wasm32"))]
async fn adapter_called(wanted: &str) -> Result<wgpu::Adapter, EngineError> {
    let mut adapters = every_adapter().await;
    let reports: Vec<AdapterReport> = adapters.iter().map(AdapterReport::new).collect();
    let found = called(wanted, &reports)?;
    let allows = |place: usize| check_limits(&adapters[place].limits());
    let chosen = found.iter().copied().find(|&place| allows(place).is_ok()).unwrap_or(found[0]);
    allows(chosen)?;
    Ok(adapters.swap_remove(chosen))
}

/// A device that works until [`Gpu::check`] fails. Cheap to clone.
#[derive(Clone)]
pub struct Gpu {
    shared: Arc<Shared>,
}

/// Most compiled kernels kept for later runs: each built network has some of its own.
const MOST_PIPELINES: usize = 512;

/// A kernel's name and the bits of its constants.
type Specialisation = (&'static str, Vec<(&'static str, u64)>);

struct Shared {
    report: AdapterReport,
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// Why the device no longer works.
    fault: Arc<Mutex<Option<String>>>,
    layouts: [(Bindings, wgpu::BindGroupLayout); 3],
    pipelines: Mutex<HashMap<Specialisation, wgpu::ComputePipeline>>,
    /// Kinds of runs whose check it has passed.
    checked: Mutex<Vec<Kind>>,
    /// Edits a kernel's text before it is compiled, for tests of a device that computes wrongly.
    edit: Option<Edit>,
}

/// See [`Gpu::open_edited`].
type Edit = Box<dyn Fn(&Kernel, String) -> String + Send + Sync>;

impl core::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Gpu").field("report", &self.shared.report).finish_non_exhaustive()
    }
}

/// The device of this process (or worker), which later runs reuse.
static CURRENT: Mutex<Option<Gpu>> = Mutex::new(None);

impl Gpu {
    /// Returns the existing device, or opens one if there is none or it was lost.
    ///
    /// # Errors
    /// [`EngineError::NoAdapter`].
    #[cfg(target_arch = "wasm32")]
    pub async fn acquire() -> Result<Self, EngineError> {
        if let Some(gpu) = lock(&CURRENT).clone().filter(|gpu| gpu.check().is_ok()) {
            return Ok(gpu);
        }
        let gpu = Self::open().await?;
        Ok(lock(&CURRENT).insert(gpu).clone())
    }

    /// Returns the existing device, or opens one if there is none or it was lost.
    ///
    /// # Errors
    /// [`EngineError::NoAdapter`].
    #[cfg(not(target_arch = "wasm32"))]
    #[expect(clippy::unused_async, reason = "one signature for both targets")]
    pub async fn acquire() -> Result<Self, EngineError> {
        // Other threads wait here: graphics loaders do not tolerate concurrent starts.
        let mut current = lock(&CURRENT);
        if let Some(gpu) = current.clone().filter(|gpu| gpu.check().is_ok()) {
            return Ok(gpu);
        }
        let gpu = pollster::block_on(Self::open())?;
        Ok(current.insert(gpu).clone())
    }

    /// Opens a device on the adapter that `wanted` names, by number in [`adapters`] or by part of
    /// its name. It becomes the process's device; earlier runs keep theirs.
    ///
    /// # Errors
    /// [`EngineError::UnknownAdapter`]; [`EngineError::NoAdapter`] if the adapter allows too
    /// little.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn acquire_called(wanted: &str) -> Result<Self, EngineError> {
        let mut current = lock(&CURRENT);
        let gpu = pollster::block_on(async { Self::open_on(adapter_called(wanted).await?, None).await })?;
        Ok(current.insert(gpu).clone())
    }

    async fn open() -> Result<Self, EngineError> {
        Self::open_on(request_adapter().await?, None).await
    }

    /// Opens a separate device whose kernels' texts pass through `edit`: for tests of what is
    /// reported about a device that computes wrongly.
    ///
    /// # Errors
    /// As [`Self::acquire`].
    #[doc(hidden)]
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_edited(edit: impl Fn(&Kernel, String) -> String + Send + Sync + 'static) -> Result<Self, EngineError> {
        // Serialised, as the other openings are.
        let _current = lock(&CURRENT);
        pollster::block_on(async { Self::open_on(request_adapter().await?, Some(Box::new(edit))).await })
    }

    /// Opens a device on `adapter`, with all its limits.
    async fn open_on(adapter: wgpu::Adapter, edit: Option<Edit>) -> Result<Self, EngineError> {
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("hushgrad"),
            required_features: adapter.features() & wgpu::Features::TIMESTAMP_QUERY,
            required_limits: adapter.limits(),
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = adapter
            .request_device(&descriptor)
            .await
            .map_err(|e| EngineError::NoAdapter(message!("it refused to open a device ({e})")))?;
        Ok(Self::new(AdapterReport::new(&adapter), device, queue, edit))
    }

    fn new(report: AdapterReport, device: wgpu::Device, queue: wgpu::Queue, edit: Option<Edit>) -> Self {
        let fault = Arc::new(Mutex::new(None));
        let on_loss = Arc::clone(&fault);
        device.set_device_lost_callback(move |reason, message| {
            lock(&on_loss)
                .get_or_insert_with(|| if message.is_empty() { format!("{reason:?}").to_lowercase() } else { message });
        });
        let on_error = Arc::clone(&fault);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            lock(&on_error).get_or_insert_with(|| error.to_string());
        }));
        let layouts = [Bindings::Examples, Bindings::Release, Bindings::Scattering]
            .map(|bindings| (bindings, layout(&device, bindings)));
        let (pipelines, checked) = (Mutex::default(), Mutex::default());
        let shared = Shared { report, device, queue, fault, layouts, pipelines, checked, edit };
        Self { shared: Arc::new(shared) }
    }

    #[must_use]
    pub fn report(&self) -> &AdapterReport {
        &self.shared.report
    }

    #[must_use]
    pub fn device(&self) -> &wgpu::Device {
        &self.shared.device
    }

    #[must_use]
    pub fn queue(&self) -> &wgpu::Queue {
        &self.shared.queue
    }

    /// Checks that the device still works.
    ///
    /// # Errors
    /// [`EngineError::DeviceLost`] after the first loss or uncaught error.
    pub fn check(&self) -> Result<(), EngineError> {
        match &*lock(&self.shared.fault) {
            Some(fault) => Err(EngineError::DeviceLost(Message::text(fault))),
            None => Ok(()),
        }
    }

    /// Runs `make` and waits for the device's errors.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`] with `what`; [`EngineError::Unsupported`] if the device
    /// refuses; [`EngineError::DeviceLost`].
    pub async fn guarded<T>(&self, what: &'static str, make: impl FnOnce() -> T) -> Result<T, EngineError> {
        let memory = self.device().push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let validation = self.device().push_error_scope(wgpu::ErrorFilter::Validation);
        let internal = self.device().push_error_scope(wgpu::ErrorFilter::Internal);
        let made = make();
        // Scopes close in reverse order, all of them before the first wait.
        let (internal, validation, memory) = (internal.pop(), validation.pop(), memory.pop());
        let (internal, validation, memory) = (internal.await, validation.await, memory.await);
        self.check()?;
        if memory.is_some() {
            return Err(EngineError::OutOfMemory { what });
        }
        match internal.or(validation) {
            Some(error) => Err(Unsupported::Refused { what, reason: Message::text(error) }.into()),
            None => Ok(made),
        }
    }

    /// True if runs of this kind were checked on this device.
    pub(crate) fn is_checked(&self, kind: &Kind) -> bool {
        lock(&self.shared.checked).contains(kind)
    }

    pub(crate) fn set_checked(&self, kind: Kind) {
        lock(&self.shared.checked).push(kind);
    }

    /// Returns the bind group layout of `bindings`.
    ///
    /// # Panics
    /// For [`Bindings::Own`].
    #[must_use]
    pub fn layout(&self, bindings: Bindings) -> &wgpu::BindGroupLayout {
        let found = self.shared.layouts.iter().find(|(kind, _)| *kind == bindings);
        &found.expect("only shared layouts are asked for").1
    }

    /// Returns the pipeline of a kernel with these constants, compiled at first use.
    #[must_use]
    pub fn pipeline(&self, kernel: &Kernel, constants: &[(&'static str, f64)]) -> wgpu::ComputePipeline {
        let key = (kernel.name, constants.iter().map(|&(name, value)| (name, value.to_bits())).collect());
        let mut pipelines = lock(&self.shared.pipelines);
        if pipelines.len() >= MOST_PIPELINES {
            // Runs keep their own.
            pipelines.clear();
        }
        pipelines.entry(key).or_insert_with(|| self.compile(kernel, constants)).clone()
    }

    fn compile(&self, kernel: &Kernel, constants: &[(&'static str, f64)]) -> wgpu::ComputePipeline {
        let device = self.device();
        let source = kernel.source();
        let source = match &self.shared.edit {
            Some(edit) => edit(kernel, source),
            None => source,
        };
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(kernel.name),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let layout = (kernel.bindings != Bindings::Own).then(|| {
            device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some(kernel.name),
                bind_group_layouts: &[Some(self.layout(kernel.bindings))],
                immediate_size: 0,
            })
        });
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(kernel.name),
            layout: layout.as_ref(),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants,
                // No kernel reads workgroup memory that it has not written.
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        })
    }
}

/// Bindings as declared in `common.wgsl`, `release.wgsl` and `scattering.wgsl`.
fn layout(device: &wgpu::Device, bindings: Bindings) -> wgpu::BindGroupLayout {
    const READ: wgpu::BufferBindingType = wgpu::BufferBindingType::Storage { read_only: true };
    const WRITE: wgpu::BufferBindingType = wgpu::BufferBindingType::Storage { read_only: false };
    const UNIFORM: wgpu::BufferBindingType = wgpu::BufferBindingType::Uniform;
    let types: &[wgpu::BufferBindingType] = match bindings {
        Bindings::Examples => &[READ, READ, READ, WRITE, WRITE, WRITE, READ, UNIFORM, UNIFORM],
        Bindings::Scattering => &[READ, READ, WRITE, WRITE, UNIFORM],
        Bindings::Release | Bindings::Own => &[WRITE, WRITE, WRITE, WRITE, WRITE, WRITE, READ, READ, UNIFORM],
    };
    let entries: Vec<_> = (0..)
        .zip(types)
        .map(|(binding, &ty)| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty,
                // The current chunk.
                has_dynamic_offset: bindings == Bindings::Examples && binding == 8,
                min_binding_size: None,
            },
            count: None,
        })
        .collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries })
}

/// Locks `mutex`, even if poisoned: what these locks guard is consistent at all times.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapter_is_called_by_its_number_or_a_part_of_its_name() {
        let named = |name: &str, backend: &str| AdapterReport {
            name: name.into(),
            backend: backend.into(),
            software: false,
            max_storage_binding: 0,
            max_buffer: 0,
            workgroup_memory: 0,
            timestamp_query: false,
            subgroups: false,
        };
        let there = [named("Radeon 780M", "Vulkan"), named("GeForce 4090", "Vulkan"), named("Radeon 780M", "Gl")];
        assert_eq!(called("1", &there).expect("a number"), [1]);
        assert_eq!(called("radeon", &there).expect("a part"), [0, 2]);
        assert_eq!(called("780M (GL)", &there).expect("a part with its API"), [2]);
        // No adapter has this number, so it is part of a name.
        assert_eq!(called("4090", &there).expect("a name"), [1]);
        let said = |there: &[AdapterReport]| called("Arc", there).expect_err("there is none").to_string();
        assert!(said(&there).contains("`Arc`; available: 0: Radeon 780M (Vulkan); 1: GeForce"), "{}", said(&there));
        assert!(said(&[]).ends_with("there is none at all"), "{}", said(&[]));
    }

    #[test]
    fn an_adapter_that_allows_too_little_is_refused_by_name() {
        let enough = wgpu::Limits::default();
        assert!(check_limits(&enough).is_ok());
        for (limits, what) in [
            (
                wgpu::Limits { max_storage_buffers_per_shader_stage: 7, ..enough.clone() },
                "7 storage buffers in a kernel, and 8",
            ),
            (
                wgpu::Limits { max_compute_workgroup_storage_size: 8192, ..enough.clone() },
                "8192 bytes of workgroup memory",
            ),
            (wgpu::Limits { max_compute_invocations_per_workgroup: 128, ..enough.clone() }, "128 invocations"),
        ] {
            let error = check_limits(&limits).expect_err(what);
            assert!(matches!(&error, EngineError::NoAdapter(_)) && error.to_string().contains(what), "{error}");
        }
    }
}
