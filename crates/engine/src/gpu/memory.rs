//! Buffers on the device and their bindings.

use std::ops::Deref;

use super::device::Gpu;
use crate::EngineError;

/// Distance in bytes between uniforms bound at an offset: WebGPU's default alignment of dynamic
/// offsets, which every device allows.
pub const OFFSET_ALIGNMENT: u64 = 256;

/// A buffer that is destroyed with its owner; work submitted before still completes. Otherwise a
/// browser frees it at the next garbage collection, which does not know its size.
#[derive(Debug)]
pub struct Owned(wgpu::Buffer);

impl Deref for Owned {
    type Target = wgpu::Buffer;

    fn deref(&self) -> &wgpu::Buffer {
        &self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.destroy();
    }
}

/// Checks that a buffer fits into one binding.
pub fn fits(gpu: &Gpu, what: &'static str, needed: u64) -> Result<(), EngineError> {
    let limits = gpu.device().limits();
    let limit = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    if needed > limit { Err(EngineError::TooLarge { what, needed, limit }) } else { Ok(()) }
}

pub fn storage(gpu: &Gpu, label: &'static str, size: u64) -> Owned {
    buffer(gpu, label, size, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC)
}

pub fn uniform(gpu: &Gpu, label: &'static str, size: u64) -> Owned {
    buffer(gpu, label, size, wgpu::BufferUsages::UNIFORM)
}

pub fn buffer(gpu: &Gpu, label: &'static str, size: u64, usage: wgpu::BufferUsages) -> Owned {
    let usage = usage | wgpu::BufferUsages::COPY_DST;
    let (label, mapped_at_creation) = (Some(label), false);
    Owned(gpu.device().create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation }))
}

/// Binds whole buffers, from binding 0 on.
pub fn entries<'a>(buffers: &[&'a Owned]) -> Vec<wgpu::BindGroupEntry<'a>> {
    let entry =
        |(binding, buffer): (u32, &&'a Owned)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() };
    (0..).zip(buffers).map(entry).collect()
}
