//! Waiting for the device, natively and in a browser's event loop.

use futures::channel::oneshot;
use hushgrad_message::{Message, word};

use super::device::Gpu;
use crate::EngineError;

/// Reads the first `bytes` bytes of `staging`, copied there by work already submitted.
///
/// # Errors
/// [`EngineError::DeviceLost`].
pub async fn read(gpu: &Gpu, staging: &wgpu::Buffer, bytes: u64) -> Result<Vec<u8>, EngineError> {
    gpu.check()?;
    let (sender, receiver) = oneshot::channel();
    let slice = staging.slice(..bytes);
    slice.map_async(wgpu::MapMode::Read, move |result| {
        // The receiver is dropped only if the caller gave up.
        let _ = sender.send(result);
    });
    poll(gpu, None)?;
    let lost = |what: Message| gpu.check().err().unwrap_or(EngineError::DeviceLost(what));
    match receiver.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(lost(Message::text(error))),
        Err(_) => return Err(lost(word!("a read was dropped").into())),
    }
    let data = slice.get_mapped_range().map_err(|e| lost(Message::text(e)))?.to_vec();
    staging.unmap();
    gpu.check()?;
    Ok(data)
}

/// A point in the queue that can be awaited.
#[derive(Debug)]
pub struct Fence {
    done: oneshot::Receiver<()>,
    submission: wgpu::SubmissionIndex,
}

impl Fence {
    /// Returns the fence after `submission`, which must be the latest.
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
        // An error means that the device dropped the callback, which only a lost device does.
        match self.done.await {
            Ok(()) => gpu.check(),
            Err(_) => {
                Err(gpu.check().err().unwrap_or_else(|| EngineError::DeviceLost(word!("its queue is gone").into())))
            }
        }
    }
}

/// Drives the device until this submission, or all, is done; a browser needs no driving.
fn poll(gpu: &Gpu, submission_index: Option<wgpu::SubmissionIndex>) -> Result<(), EngineError> {
    if cfg!(not(target_arch = "wasm32")) {
        gpu.device()
            .poll(wgpu::PollType::Wait { submission_index, timeout: None })
            .map_err(|e| gpu.check().err().unwrap_or_else(|| EngineError::DeviceLost(Message::text(e))))?;
    }
    Ok(())
}
