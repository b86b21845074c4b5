//! Brings digits to the training thread: from the site's shards, from the visitor's files, or drawn here.

use super::{
    agent::{Host, Loaded},
    protocol::{DataRequest, Event},
};
use crate::data::{
    self, Digits,
    shards::{Assembler, Manifest, ShardError},
    visitor::{self, VisitorError},
};

/// Digits that could not be brought. What was loaded before stays.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{url} could not be fetched: {reason}")]
    Fetch { url: String, reason: String },
    #[error(transparent)]
    Manifest(#[from] ShardError),
    #[error("{error}; the rest of the site's dataset is used without it")]
    Part { file: String, error: ShardError },
    #[error(transparent)]
    Visitor(#[from] VisitorError),
}

impl LoadError {
    /// The file that is wrong.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Fetch { url, .. } => url.rsplit('/').next(),
            Self::Part { file, .. } => Some(file),
            Self::Manifest(_) => Some("manifest.json"),
            Self::Visitor(_) => None,
        }
    }
}

/// Examples that the program draws where nothing else was asked for.
pub const SYNTHETIC_TRAIN: usize = 10_000;
/// And for its test set.
pub const SYNTHETIC_TEST: usize = 2_000;

/// Brings what was asked for and hands it to `deliver`, once for the first part and once for the whole.
pub async fn load<H: Host>(
    host: &H,
    request: DataRequest,
    generation: u32,
    deliver: impl Fn(Result<Loaded, LoadError>),
) {
    let whole = |digits| Loaded { digits, complete: true, generation };
    match request {
        DataRequest::Synthetic { seed, train, test } => {
            deliver(Ok(whole(data::synthetic::digits(seed, train as usize, test as usize))));
        }
        DataRequest::Files(files) => deliver(visitor::assemble(&files).map(whole).map_err(Into::into)),
        DataRequest::Site { manifest } => {
            if let Err(error) = site(host, &manifest, generation, &deliver).await {
                deliver(Err(error));
            }
        }
    }
}

async fn site<H: Host>(
    host: &H,
    address: &str,
    generation: u32,
    deliver: &impl Fn(Result<Loaded, LoadError>),
) -> Result<(), LoadError> {
    let Ok(manifest) = host.fetch(address).await else {
        host.send(Event::Notice(
            "This site carries no MNIST, so digits drawn by the program are used. Drop MNIST's IDX files here to train on them."
                .to_owned(),
        ));
        let digits = synthetic(0);
        deliver(Ok(Loaded { digits, complete: true, generation }));
        return Ok(());
    };
    let folder = address.rsplit_once('/').map_or("", |(folder, _)| folder);
    let manifest = match Manifest::parse(&manifest) {
        Ok(manifest) => manifest,
        Err(error) => {
            // Some hosts answer every address with a page of their own.
            deliver(Err(error.into()));
            deliver(Ok(Loaded { digits: synthetic(0), complete: true, generation }));
            return Ok(());
        }
    };
    let mut assembler = Assembler::new(manifest);
    let total = assembler.manifest().bytes();
    let (mut done, mut announced) = (0, 0);
    while let Some((file, bytes)) = assembler.next().map(|shard| (shard.file().to_owned(), shard.bytes())) {
        // A shard that is missing or damaged is named, and the others serve without it.
        let taken = match host.fetch(&format!("{folder}/{file}")).await {
            Ok(bytes) => assembler.take(&file, &bytes),
            Err(LoadError::Fetch { reason, .. }) => Err(assembler.missing(&file, &reason)),
            Err(other) => return Err(other),
        };
        if let Err(error) = taken {
            deliver(Err(LoadError::Part { file: file.clone(), error }));
        }
        done += bytes;
        host.send(Event::Loading { done, total });
        let last = assembler.next().is_none();
        if let Some(digits) = assembler.digits().filter(|digits| last || announced == 0 && !digits.train.is_empty()) {
            announced += 1;
            deliver(Ok(Loaded { digits, complete: last, generation }));
        }
    }
    if announced == 0 {
        host.send(Event::Notice(
            "Too little of the site's dataset arrived to train on it, so digits drawn by the program are used."
                .to_owned(),
        ));
        deliver(Ok(Loaded { digits: synthetic(0), complete: true, generation }));
    }
    Ok(())
}

fn synthetic(seed: u64) -> Digits {
    data::synthetic::digits(seed, SYNTHETIC_TRAIN, SYNTHETIC_TEST)
}
