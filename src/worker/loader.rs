//! Loads digits for the training thread: from the site's shards, or drawn here.

use super::{
    host::Host,
    load_error::LoadError,
    protocol::{DRAWN, DataRequest},
};
use crate::data::{
    self, Digits,
    shards::{Assembler, Manifest, ShardError},
};
use hushgrad_message::word;

/// A part of a load.
pub enum Arrival {
    /// Bytes received or pictures decoded, and their total.
    Progress { done: u64, total: u64 },
    /// Digits to train on from the next run; not `complete` while more are coming.
    Digits { digits: Digits, complete: bool },
    /// A notice about the digits; the load continues.
    Notice(&'static str),
    /// Why a part failed; the load continues without it.
    Gap(LoadError),
    /// Why the load failed; nothing more comes.
    End(LoadError),
}

/// Loads digits and passes them to `deliver`, once for the first part and once for the whole.
pub async fn load<H: Host>(host: &H, request: DataRequest, deliver: impl Fn(Arrival)) {
    match request {
        DataRequest::Synthetic { seed, train, test } => {
            deliver(whole(data::synthetic::digits(seed, train as usize, test as usize)));
        }
        DataRequest::Colour { seed, train, test } => {
            deliver(whole(data::synthetic::colour::images(seed, train as usize, test as usize)));
        }
        // The agent has the visitor's files read in pieces.
        DataRequest::Files { .. } => {}
        DataRequest::Site { manifest } => {
            if let Err(error) = site(host, &manifest, &deliver).await {
                deliver(Arrival::End(error));
            }
        }
    }
}

async fn site<H: Host>(host: &H, address: &str, deliver: &impl Fn(Arrival)) -> Result<(), LoadError> {
    let manifest = match checked(host, address, async |bytes| Manifest::parse(bytes)).await {
        Ok(Ok(manifest)) => manifest,
        // Some hosts answer every address with a page of their own.
        Ok(Err(error)) => {
            deliver(Arrival::Gap(error.into()));
            deliver(whole(drawn_here()));
            return Ok(());
        }
        Err(error) => {
            deliver(match error {
                LoadError::Fetch { absent: true, .. } => Arrival::Notice(word!(
                    "This site does not include MNIST, so digits drawn by the program are used. Drop MNIST's files here to train on them."
                )),
                error => Arrival::Gap(error),
            });
            deliver(whole(drawn_here()));
            return Ok(());
        }
    };
    let folder = address.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut assembler = Assembler::new(manifest);
    let total = assembler.manifest().bytes();
    let (mut done, mut announced) = (0, false);
    while let Some((file, bytes)) = assembler.next().map(|shard| (shard.file().to_owned(), shard.bytes())) {
        // A missing or damaged shard is reported, and the others are used without it.
        let take = async |bytes: &[u8]| {
            let unpacked = assembler.unpack(&file, bytes)?;
            let sha256 = host.sha256(&unpacked).await;
            assembler.accept(&file, &unpacked, sha256)
        };
        let taken = match checked(host, &format!("{folder}/{file}"), take).await {
            Ok(taken) => taken,
            Err(LoadError::Fetch { reason, .. }) => Err(assembler.missing(&file, reason)),
            Err(other) => return Err(other),
        };
        if let Err(error) = taken {
            deliver(Arrival::Gap(LoadError::Part(error)));
        }
        done += bytes;
        deliver(Arrival::Progress { done, total });
        // `digits` copies all data received, so it is called once, and not for the last shard.
        if !announced
            && assembler.next().is_some()
            && let Some(digits) = assembler.digits()
        {
            announced = true;
            deliver(Arrival::Digits { digits, complete: false });
        }
    }
    deliver(whole(assembler.into_digits().unwrap_or_else(|| {
        deliver(Arrival::Notice(word!(
            "Too little of the site's dataset arrived to train on it, so digits drawn by the program are used."
        )));
        drawn_here()
    })));
    Ok(())
}

/// Applies `check` to the bytes at a URL. Bytes that fail are fetched once more, past a damaged
/// copy in a cache; bytes that pass are kept for offline visits.
async fn checked<H: Host, T>(
    host: &H,
    url: &str,
    mut check: impl AsyncFnMut(&[u8]) -> Result<T, ShardError>,
) -> Result<Result<T, ShardError>, LoadError> {
    let mut bytes = host.fetch(url).await?;
    let mut found = check(&bytes).await;
    if found.is_err()
        && let Ok(again) = host.fetch_anew(url).await
    {
        found = check(&again).await;
        bytes = again;
    }
    if found.is_ok() {
        host.keep(url, &bytes);
    }
    Ok(found)
}

/// Returns the arrival of a load that brings all its digits at once.
pub(super) fn whole(digits: Digits) -> Arrival {
    Arrival::Digits { digits, complete: true }
}

/// Returns the digits used if the site's cannot be loaded.
fn drawn_here() -> Digits {
    data::synthetic::digits(0, DRAWN.0 as usize, DRAWN.1 as usize)
}
