//! The state of the page in its address.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`encoding`] | keys and values, as an address may hold them |
//! | [`error`] | what can be wrong with one key |
//! | [`noise_query`] | what is asked of the noise lab |
//! | [`lock`] | what a task leaves free |
//! | [`handed_in`] | what a run that was handed in is said to have reached |
//! | [`address`] | what an address says of all else: reading and writing |

pub mod address;
pub mod encoding;
pub mod error;
pub mod handed_in;
pub mod lock;
pub mod noise_query;

pub use self::{
    address::{CORES, Link, read, read_onto},
    handed_in::HandedIn,
    lock::Lock,
    noise_query::NoiseQuery,
};

/// All that a query opens a page with.
pub struct Opening {
    pub link: Link,
    /// What a task leaves free.
    pub task: Option<Lock>,
    pub handed_in: Option<HandedIn>,
    /// What was wrong with the query, in a sentence each.
    pub problems: Vec<String>,
}

impl Opening {
    /// Reads a query. In an `embedded` page there is no place for what was handed in, and the key of a task names what readers may set.
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
