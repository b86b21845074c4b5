//! Errors of attacks.

use crate::{
    accounting::{PrivacyError, audit::AuditError, noise::NoiseError},
    engine::EngineError,
    error::{ConfigError, PriceError, SessionError},
    mechanism::MechanismError,
};

/// Why an attack is refused or has failed.
#[derive(Debug, hushgrad_message::Error)]
pub enum AttackError {
    /// A ROC needs scores of both kinds.
    #[error("there are no scores of {missing}; the attack is judged by candidates of both kinds, so take more")]
    NoScores {
        /// Which are missing.
        missing: &'static str,
    },
    /// A score that is not finite, of a model that diverged, say.
    #[error("score {place} of {of} is {value}; scores must be finite, so train with a smaller learning rate")]
    NotFinite {
        /// Whose score.
        of: &'static str,
        /// Its index, from 0.
        place: usize,
        /// Its value.
        value: f64,
    },
    /// There is no candidate.
    #[error("there is no candidate; take at least one mislabelled image")]
    NoCandidates,
    /// Too few or too many candidates in a game.
    #[error("a game among {candidates} candidates; it needs 2 to {most}")]
    Candidates {
        /// N.
        candidates: u32,
        /// The largest N.
        most: u32,
    },
    /// More candidates than the population has.
    #[error("{candidates} candidates, but a population of {population}; take fewer candidates")]
    Population {
        /// N.
        candidates: u32,
        /// The population's size.
        population: u64,
    },
    /// Fewer images than the attack needs.
    #[error("the attack needs {needed} training images, and there are {found}; take fewer records or candidates")]
    TooFew {
        /// Records and candidates together.
        needed: u64,
        /// Images available.
        found: usize,
    },
    /// Half of the candidates exceed the records.
    #[error(
        "about {included} candidates would be in, but there are only {records} records; take more records or fewer candidates"
    )]
    TooManyCandidates {
        /// Half of the candidates.
        included: u32,
        /// Records that are trained on.
        records: u32,
    },
    /// All labels are equal, so a wrong one cannot show.
    #[error("all images have the label {0}; a wrong label shows only among several digits")]
    OneClass(u8),
    /// A number of models, images or steps that is out of range.
    #[error("{field} is {value}; it must be {range}")]
    OutOfRange {
        /// What it counts.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What it must be.
        range: &'static str,
    },
    /// The run has no last step to attack after.
    #[error("the run has no end; set its number of steps, as the attack is on the final model")]
    NoEnd,
    /// Examples share vectors, but candidates are examples.
    #[error("examples of a micro-batch or user add one vector together; attack a run without these")]
    Shared,
    /// Every step reveals everything.
    #[error(
        "without noise or without a bound, every step that draws the candidate wins the game; choose a noise and a clip"
    )]
    NoGuarantee,
    /// Nothing was released.
    #[error("nothing was released; a game needs at least one step")]
    NoSteps,
    /// A game under an envelope, where a direction of norm 1 cannot be reached.
    #[error("no game under an envelope: it clamps a gradient along a single direction; choose a clip")]
    Envelope,
    /// A game about an answer that is no noisy sum.
    #[error("no game about an answer that is no noisy sum of gradients; play it about a training")]
    Pair,
    /// A game about one example of a micro-batch, which is not scored.
    #[error("no game about one example of a micro-batch; play it about the micro-batch, or without one")]
    MicroBatch,
    /// More steps than a simulation can handle.
    #[error("a run of {steps} steps is too long to be simulated many times; the limit is {most}")]
    TooLong {
        /// T.
        steps: u64,
        /// The largest T.
        most: u64,
    },
    /// The image is blank.
    #[error("the image is blank; draw something that the gradient could reveal")]
    Blank,
    /// Pixels that are not an image.
    #[error("{found} pixels; an image has {expected}, each a number from 0 to 1")]
    Pixels {
        /// Number of valid pixels.
        found: usize,
        /// 784.
        expected: usize,
    },
    /// A label that is not a digit.
    #[error("the label {0}; labels are digits from 0 to 9")]
    Label(u8),
    /// A gradient from which nothing can be read.
    #[error("the gradient of {what} is not finite or is zero everywhere, so no image can be read from it")]
    Gradient {
        /// The part of the model.
        what: &'static str,
    },
    /// An invalid bound.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// An invalid noise, such as one of scale 0.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A configuration that cannot be run on so few records.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A run without a price.
    #[error(transparent)]
    Price(#[from] PriceError),
    /// A failed run.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A failed engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The accountant refuses the run.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// Counts without a bound, or a sampling that is not scored.
    #[error(transparent)]
    Audit(#[from] AuditError),
}
