//! Waiting for the device, in a browser's event loop and natively alike.

use futures::channel::oneshot;

use super::device::Gpu;
use crate::EngineError;

/// Reads whole buffers that were copied to `staging` by work already submitted.
///
/// # Errors
/// [`EngineError::DeviceLost`].
pub async fn read(gpu: &Gpu, staging: &wgpu::Buffer, bytes: u64) -> Result<Vec<u8>, EngineError> {
    gpu.check()?;
    let (sender, receiver) = oneshot::channel();
    let slice = staging.slice(..bytes);
    slice.map_async(wgpu::MapMode::Read, move |result| {
        // The receiver is gone only if the caller gave up.
        let _ = sender.send(result);
    });
    poll(gpu, None)?;
    let lost = |what: String| gpu.check().err().unwrap_or(EngineError::DeviceLost(what));
    match receiver.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(lost(error.to_string())),
        Err(_) => return Err(lost("a read was dropped".to_owned())),
    }
    let data = slice.get_mapped_range().map_err(|e| lost(e.to_string()))?.to_vec();
    staging.unmap();
    gpu.check()?;
    Ok(data)
}

/// A mark in the queue that can be waited for.
#[derive(Debug)]
pub struct Fence {
    done: oneshot::Receiver<()>,
    submission: wgpu::SubmissionIndex,
}

impl Fence {
    /// Behind `submission`, which is the last so far.
    #[must_use]
    pub fn new(gpu: &Gpu, submission: wgpu::SubmissionIndex) -> Self {
        let (sender, done) = oneshot::channel();
        gpu.queue().on_submitted_work_done(move || {
            let _ = sender.send(());
        });
        Self { done, submission }
    }

    /// # Errors
    /// [`EngineError::DeviceLost`].
    pub async fn wait(self, gpu: &Gpu) -> Result<(), EngineError> {
        poll(gpu, Some(self.submission))?;
        // An error means that the device dropped the callback, which only a lost one does.
        match self.done.await {
            Ok(()) => gpu.check(),
            Err(_) => Err(gpu.check().err().unwrap_or_else(|| EngineError::DeviceLost("its queue is gone".to_owned()))),
        }
    }
}

/// Natively somebody has to turn the crank, until this submission is done, or all of them; a browser does it by itself.
fn poll(gpu: &Gpu, submission_index: Option<wgpu::SubmissionIndex>) -> Result<(), EngineError> {
    if cfg!(not(target_arch = "wasm32")) {
        gpu.device()
            .poll(wgpu::PollType::Wait { submission_index, timeout: None })
            .map_err(|e| gpu.check().err().unwrap_or_else(|| EngineError::DeviceLost(e.to_string())))?;
    }
    Ok(())
}
