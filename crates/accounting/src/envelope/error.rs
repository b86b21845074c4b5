//! Errors of an envelope's vectors, or of a stored profile of them.

/// Why vectors are not an envelope, or a stored profile fits no vectors. Vectors and entries are
/// counted from 0. Draw the envelope again, or use the profile as the program wrote it.
#[derive(Clone, Debug, PartialEq, hushgrad_message::Error)]
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
        /// The vector.
        vector: usize,
        /// Its length.
        coordinates: usize,
        /// The length of the first.
        expected: usize,
    },
    /// An entry that is infinite, not a number, or too large to be squared.
    #[error("entry {entry} of vector {vector} is not a finite number below 1e100")]
    NotFinite {
        /// The vector.
        vector: usize,
        /// The entry.
        entry: usize,
    },
    /// An envelope that encodes every gradient as zero.
    #[error("every entry is zero (or below 1e-100): nothing would ever be learned")]
    Zero,
    /// Too many vectors.
    #[error("it has {vectors} vectors; the limit is {most}")]
    TooManyVectors {
        /// Their number.
        vectors: usize,
        /// The limit.
        most: usize,
    },
    /// A stored profile without vectors or coordinates.
    #[error("it has no vector or no coordinate")]
    Empty,
    /// A stored profile whose largest entry is not a positive finite number.
    #[error("its largest entry is {0}; it must be finite and above 0")]
    Largest(f64),
    /// A stored profile that lists more entries than the program, which then stores sums.
    #[error("it lists {entries} entries; the limit is {most}, for all its vectors together")]
    TooManyEntries {
        /// Their number.
        entries: usize,
        /// The limit.
        most: usize,
    },
    /// A stored vector whose entries are out of range, out of order or too many.
    #[error("vector {vector} has entries that do not fit {dimension} coordinates of at most {largest}")]
    Entries {
        /// The vector.
        vector: usize,
        /// The profile's dimension.
        dimension: u64,
        /// The profile's largest entry.
        largest: f64,
    },
    /// A stored profile whose squared norm does not match its entries.
    #[error("its squared norm is {stated}, but its entries give {found}")]
    SquaredNorm {
        /// The stated value.
        stated: f64,
        /// The value from the entries.
        found: f64,
    },
    /// A stored profile of more octaves than f32 spans.
    #[error("it has {octaves} octaves; the limit is {most}")]
    TooManyOctaves {
        /// Their number.
        octaves: usize,
        /// The limit.
        most: usize,
    },
    /// More dominating vectors than tight accounting takes.
    #[error("it has {vectors} covers; the limit is {most}")]
    TooManyDominating {
        /// Their number.
        vectors: usize,
        /// The limit.
        most: usize,
    },
    /// A stored dominating vector whose entries are out of range, out of order or too many.
    #[error("its cover {vector} has impossible entries, or more than {most}")]
    Dominating {
        /// The dominating vector.
        vector: usize,
        /// The limit of distinct entries.
        most: usize,
    },
    /// A stored vector with too many or too few sums.
    #[error("vector {vector} has {sums} sums; its panels need {expected}")]
    Sums {
        /// The vector.
        vector: usize,
        /// Their number.
        sums: usize,
        /// The required number.
        expected: usize,
    },
    /// Sums that no positive measure has.
    #[error("vector {vector} has sums that no entries can have")]
    Impossible {
        /// The vector.
        vector: usize,
    },
    /// Sums that need more coordinates than there are.
    #[error("vector {vector} has sums that need {entries:.0} entries, more than its {dimension} coordinates")]
    TooLong {
        /// The vector.
        vector: usize,
        /// The fewest entries with these sums.
        entries: f64,
        /// The profile's dimension.
        dimension: u64,
    },
    /// A stored vector that no dominating vector dominates.
    #[error("vector {vector} is not dominated by any of its covers")]
    NotDominated {
        /// The vector.
        vector: usize,
    },
}
