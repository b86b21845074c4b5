//! Buffers on the device, and bindings to them.

use std::ops::Deref;

use super::device::Gpu;
use crate::EngineError;

/// Uniforms that are bound at an offset lie this many bytes apart: WebGPU's default alignment of dynamic offsets, and what every device takes.
pub const OFFSET_ALIGNMENT: u64 = 256;

/// A buffer that is given up with its owner; what was submitted before is still done. In a browser one that nobody holds is freed at the next
/// garbage collection, which knows nothing of its size.
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

/// One buffer must fit into one binding.
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

/// The buffers, whole, at bindings from 0 on.
pub fn entries<'a>(buffers: &[&'a Owned]) -> Vec<wgpu::BindGroupEntry<'a>> {
    let entry =
        |(binding, buffer): (u32, &&'a Owned)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() };
    (0..).zip(buffers).map(entry).collect()
}
