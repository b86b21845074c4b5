//! Why there is no attack.

use crate::{
    accounting::{PrivacyError, audit::AuditError, noise::NoiseError},
    engine::EngineError,
    error::{ConfigError, PriceError, SessionError},
    mechanism::MechanismError,
};

/// What an attack cannot be made of.
#[derive(Debug, thiserror::Error)]
pub enum AttackError {
    /// A ROC needs both.
    #[error(
        "there is no score of {missing}; an attack is judged by candidates that were in and candidates that were out, so take more of them"
    )]
    NoScores {
        /// Which are missing.
        missing: &'static str,
    },
    /// A score that is no number, of a model that diverged, say.
    #[error("score {place} of {of} is {value}; scores must be finite, so train with a smaller learning rate")]
    NotFinite {
        /// Of whom.
        of: &'static str,
        /// The first is 0.
        place: usize,
        /// What it is.
        value: f64,
    },
    /// Nobody to tell.
    #[error("there is no candidate to tell about; take one mislabelled image at least")]
    NoCandidates,
    /// A game needs a choice, and its price is in proportion.
    #[error("a game among {candidates}; it is played among 2 to {most} candidates")]
    Candidates {
        /// N.
        candidates: u32,
        /// The largest.
        most: u32,
    },
    /// More candidates than there are people.
    #[error("a game among {candidates} candidates of a population of {population}; take fewer candidates")]
    Population {
        /// N.
        candidates: u32,
        /// Of how many.
        population: u64,
    },
    /// Fewer images than the attack asks for.
    #[error("the attack needs {needed} training images, and there are {found}; take fewer records or candidates")]
    TooFew {
        /// Records and candidates together.
        needed: u64,
        /// Images at hand.
        found: usize,
    },
    /// Half of the candidates are records.
    #[error(
        "about {included} candidates would be in, among {records} records in all; take more records or fewer candidates"
    )]
    TooManyCandidates {
        /// Half of the candidates.
        included: u32,
        /// Records that are trained on.
        records: u32,
    },
    /// A label that is wrong is known by the others.
    #[error("all images have the label {0}; a wrong label shows only among images of several digits")]
    OneClass(u8),
    /// The models, the images or the steps of something are too many or too few.
    #[error("{field} is {value}; it must be {range}")]
    OutOfRange {
        /// What it is.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What it must be.
        range: &'static str,
    },
    /// A run is attacked at its end.
    #[error("the run has no end; set its steps, as the attack is on the model after the last one")]
    NoEnd,
    /// Candidates are examples.
    #[error("micro-batches and users share what an example adds; attack a run in which each example stands alone")]
    Shared,
    /// Every step tells everything.
    #[error(
        "the game is won in every step that draws the candidate where no noise is added or nothing is bounded; choose a noise and a clip"
    )]
    NoGuarantee,
    /// Nothing happened.
    #[error("nothing was released; a game needs a step at least")]
    NoSteps,
    /// Where a direction of norm 1 cannot be reached.
    #[error("no game under an envelope: a gradient along one direction of its own is clamped there; choose a clip")]
    Envelope,
    /// One vector that becomes another is not scored.
    #[error("no game about one example of a micro-batch; play it about the micro-batch, or without one")]
    MicroBatch,
    /// More than a simulation can walk through.
    #[error("a run of {steps} steps is too long to be simulated many times; {most} steps are the most")]
    TooLong {
        /// T.
        steps: u64,
        /// The most.
        most: u64,
    },
    /// Nothing to look for.
    #[error("the image is blank; draw something that the gradient could tell of")]
    Blank,
    /// Not an image.
    #[error("{found} pixels; an image has {expected}, each a number from 0 to 1")]
    Pixels {
        /// How many there are that can be used.
        found: usize,
        /// 784.
        expected: usize,
    },
    /// Not a digit.
    #[error("the label {0}; labels are digits from 0 to 9")]
    Label(u8),
    /// Nothing can be read off it.
    #[error("the gradient of {what} is not finite or is zero everywhere, so no image can be read off it")]
    Gradient {
        /// The part.
        what: &'static str,
    },
    /// A bound that is none.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// A noise that is none, such as one of scale 0.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A configuration that cannot be run on so few records.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A run that has no price.
    #[error(transparent)]
    Price(#[from] PriceError),
    /// A run that failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// An engine that failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The accountant refuses the run.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// Counts without a bound, or a sampling that is not scored.
    #[error(transparent)]
    Audit(#[from] AuditError),
}
