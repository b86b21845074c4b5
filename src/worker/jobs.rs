//! Jobs beside the run, done in pieces between checks of the inbox, at most one of each kind.
//!
//! A job is written in a file of its own and in the lists here; the page's part is in `ui::state`.

use std::time::Duration;

use hushgrad_message::{Message, ToMessage};
use serde::{Deserialize, Serialize};

use super::{
    annealing::{AnnealProgress, Search},
    attacking::{Attack, AttackProgress, AttackRequest},
};
use crate::train::config::RunConfig;

/// A job to start, in place of any other of its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum JobRequest {
    /// Anneal the run's noise on drawn digits, at its ε on `examples` examples.
    Anneal { config: Box<RunConfig>, examples: u32 },
    /// Train a model of drawn digits and infer its members.
    Attack(Box<AttackRequest>),
}

impl JobRequest {
    #[must_use]
    pub const fn kind(&self) -> JobKind {
        match self {
            Self::Anneal { .. } => JobKind::Anneal,
            Self::Attack(_) => JobKind::Attack,
        }
    }
}

/// Kinds of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobKind {
    Anneal,
    Attack,
}

/// Progress of a job, or its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum JobProgress {
    Anneal(Box<AnnealProgress>),
    Attack(AttackProgress),
}

/// A job under way.
pub enum Job {
    Anneal(Box<Search>),
    Attack(Box<Attack>),
}

impl Job {
    /// Starts a job.
    ///
    /// # Errors
    /// A sentence if it is refused.
    pub fn start(request: JobRequest) -> Result<Self, Message> {
        Ok(match request {
            JobRequest::Anneal { config, examples } => Self::Anneal(Box::new(Search::new(*config, examples)?)),
            JobRequest::Attack(request) => Self::Attack(Box::new(Attack::new(*request))),
        })
    }

    #[must_use]
    pub const fn kind(&self) -> JobKind {
        match self {
            Self::Anneal(_) => JobKind::Anneal,
            Self::Attack(_) => JobKind::Attack,
        }
    }

    /// Works for about `time`; returns what there is to report, and whether the job is done.
    ///
    /// # Errors
    /// A sentence if something is refused or fails; the job is over.
    pub async fn piece(&mut self, time: Duration) -> Result<(Option<JobProgress>, bool), Message> {
        Ok(match self {
            Self::Anneal(search) => {
                let progress = search.piece(time).await?;
                (progress.map(|progress| JobProgress::Anneal(Box::new(progress))), search.done())
            }
            Self::Attack(attack) => {
                let progress = attack.piece(time).await.map_err(|error| error.to_message())?;
                let done = matches!(progress, Some(AttackProgress::Found(_)));
                (progress.map(JobProgress::Attack), done)
            }
        })
    }
}
