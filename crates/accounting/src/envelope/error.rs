//! What can be wrong with the vectors of an envelope, or with a stored profile of them.

/// Why vectors are no envelope, or why a stored profile is one that no vectors have. Vectors and entries are counted from 0. Draw the envelope again, or
/// take the profile as the program has written it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EnvelopeError {
    /// No vector was given.
    #[error("there is no vector")]
    NoVector,
    /// Vectors of length 0.
    #[error("its vectors have no coordinates")]
    NoCoordinates,
    /// Vectors of different lengths.
    #[error("vector {vector} has {coordinates} coordinates, vector 0 has {expected}")]
    Uneven {
        /// Which vector.
        vector: usize,
        /// Its length.
        coordinates: usize,
        /// The length of the first.
        expected: usize,
    },
    /// An entry that is infinite, not a number, or too large to be squared.
    #[error("entry {entry} of vector {vector} is not a finite number below 1e100")]
    NotFinite {
        /// Which vector.
        vector: usize,
        /// Which of its entries.
        entry: usize,
    },
    /// An envelope that encodes every gradient to zero.
    #[error("every entry is zero (or below 1e-100): nothing would ever be learned")]
    Zero,
    /// More vectors than are accounted for.
    #[error("it has {vectors} vectors; {most} is the most")]
    TooManyVectors {
        /// How many there are.
        vectors: usize,
        /// The most that are taken.
        most: usize,
    },
    /// A stored profile of nothing.
    #[error("it has no vector or no coordinate")]
    Empty,
    /// A stored profile's largest entry that is none.
    #[error("its largest entry is {0}; it must be finite and above 0")]
    Largest(f64),
    /// A stored profile that lists more entries than the program does before it goes over to sums.
    #[error("it lists {entries} entries; {most} is the most, of all its vectors together")]
    TooManyEntries {
        /// How many it lists.
        entries: usize,
        /// The most that are taken.
        most: usize,
    },
    /// A stored vector whose entries are out of range, out of order or too many.
    #[error("vector {vector} has entries that none of {dimension} coordinates up to {largest} has")]
    Entries {
        /// Which vector.
        vector: usize,
        /// Coordinates that the profile says its vectors have.
        dimension: u64,
        /// The largest entry that the profile states.
        largest: f64,
    },
    /// A stored profile whose squared norm does not follow from its entries.
    #[error("its squared norm is {stated}, its entries give {found}")]
    SquaredNorm {
        /// What it states.
        stated: f64,
        /// What its entries come to.
        found: f64,
    },
    /// A stored profile of more octaves than an f32 spans.
    #[error("it has {octaves} octaves; {most} is the most")]
    TooManyOctaves {
        /// How many it has.
        octaves: usize,
        /// The most that are taken.
        most: usize,
    },
    /// More dominating vectors than tight accounting takes.
    #[error("it has {vectors} covers; {most} is the most")]
    TooManyDominating {
        /// How many it has.
        vectors: usize,
        /// The most that are taken.
        most: usize,
    },
    /// A stored dominating vector whose entries are out of range, out of order or too many.
    #[error("its cover {vector} has entries that no vector has, or more than {most}")]
    Dominating {
        /// Which dominating vector.
        vector: usize,
        /// The most distinct entries that one has.
        most: usize,
    },
    /// A stored vector with too many or too few sums.
    #[error("vector {vector} has {sums} sums; its panels need {expected}")]
    Sums {
        /// Which vector.
        vector: usize,
        /// How many sums it has.
        sums: usize,
        /// How many it must have.
        expected: usize,
    },
    /// Sums that are those of no positive measure.
    #[error("vector {vector} has sums that no entries give")]
    Impossible {
        /// Which vector.
        vector: usize,
    },
    /// Sums that only a longer vector has.
    #[error("vector {vector} has sums that take {entries:.0} entries, more than its {dimension} coordinates")]
    TooLong {
        /// Which vector.
        vector: usize,
        /// The fewest entries that have these sums.
        entries: f64,
        /// Coordinates that the profile says its vectors have.
        dimension: u64,
    },
    /// A stored vector that none of the dominating vectors dominates.
    #[error("vector {vector} has larger entries than each of its covers")]
    NotDominated {
        /// Which vector.
        vector: usize,
    },
}
