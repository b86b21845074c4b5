//! The page's state in its address.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`encoding`] | percent-encoded keys and values |
//! | [`error`] | errors in one key |
//! | [`noise_query`] | the query of the noise lab |
//! | [`own_training`] | the numbers of a training elsewhere |
//! | [`lock`] | what a task leaves free |
//! | [`handed_in`] | what a link claims of a submitted run |
//! | [`address`] | everything else: reading and writing |

pub mod address;
pub mod encoding;
pub mod error;
pub mod handed_in;
pub mod lock;
pub mod noise_query;
pub mod own_training;

pub use self::{
    address::{CORES, Link, read, read_onto},
    handed_in::HandedIn,
    lock::Lock,
    noise_query::NoiseQuery,
    own_training::OwnTraining,
};

/// What a query opens the page with.
pub struct Opening {
    pub link: Link,
    /// What a task leaves free.
    pub task: Option<Lock>,
    pub handed_in: Option<HandedIn>,
    /// A sentence for each problem with the query.
    pub problems: Vec<String>,
}

impl Opening {
    /// Reads a query. An `embedded` page shows no submission; there `controls` is no task.
    #[must_use]
    pub fn read(query: &str, embedded: bool) -> Self {
        let (link, mut problems) = read(query);
        if embedded {
            return Self { link, task: None, handed_in: None, problems };
        }
        let ((task, wrong), (handed_in, malformed)) = (lock::read(query), handed_in::read(query));
        problems.extend(wrong.into_iter().chain(malformed));
        Self { link, task, handed_in, problems }
    }
}
