//! The adapter for tests of the WebGPU engine.

use hushgrad::engine::gpu::Gpu;

/// This process's device. Its absence must be declared (`HUSHGRAD_NO_GPU=1`), and is reported.
pub fn device() -> Option<Gpu> {
    match pollster::block_on(Gpu::acquire()) {
        Ok(gpu) => Some(gpu),
        Err(error) if std::env::var_os("HUSHGRAD_NO_GPU").is_some_and(|v| v == "1") => {
            eprintln!("**** NOT RUN: {error}. HUSHGRAD_NO_GPU=1 allows it; nothing on the GPU was tested. ****");
            None
        }
        Err(error) => panic!("{error}; install a software adapter (mesa-vulkan-drivers) or set HUSHGRAD_NO_GPU=1"),
    }
}
