//! Which places of a lot each thread computes.

use std::ops::Range;

/// A share of a lot: its places, and the edges of its pieces, relative to its first place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    pub places: Range<usize>,
    pub edges: Vec<usize>,
    /// Index of its first piece in the lot; unused on a grid.
    pub piece: usize,
}

impl Share {
    /// Index of the piece after its last.
    pub fn end(&self) -> usize {
        self.piece + self.edges.len().saturating_sub(1)
    }

    /// Where the sums of its pieces lie among those of the lot, each of `length` numbers.
    pub fn slots(&self, length: usize) -> Range<usize> {
        self.piece * length..self.end() * length
    }
}

/// Cuts a lot into shares for `threads` threads; the first is for the thread with most other work.
/// `edges` returns the pieces of a lot ([`Kernels::edges`](crate::cpu::threads::Kernels::edges)).
/// On a grid (`exact`) sums do not depend on the cut, which is even, at multiples of `lanes`; else
/// shares are whole pieces. A lot with fewer pieces than `threads` has fewer shares.
pub fn shares(
    lot: usize,
    threads: usize,
    lanes: usize,
    exact: bool,
    edges: impl Fn(usize, bool) -> Vec<usize>,
) -> Vec<Share> {
    // An empty lot is one share.
    let threads = if lot == 0 { 1 } else { threads.max(1) };
    let all: Vec<usize> = if exact {
        let blocks = lot.div_ceil(lanes.max(1));
        (0..=blocks).map(|block| lot.min(block * lanes)).collect()
    } else {
        edges(lot, false)
    };
    let units = all.len().saturating_sub(1);
    let cut = |thread: usize| thread * units / threads;
    let own = |thread: usize| {
        let (from, to) = (cut(thread), cut(thread + 1));
        let places = all[from]..all[to];
        let edges = if exact {
            edges(places.len(), true)
        } else {
            all[from..=to].iter().map(|edge| edge - places.start).collect()
        };
        Share { places, edges, piece: from }
    };
    // Rounding down makes the first share no larger than any other.
    (0..threads).filter(|&thread| thread == 0 || cut(thread) < cut(thread + 1)).map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cuts a lot as a pool of four lanes does.
    fn pieces(lot: usize, exact: bool) -> Vec<usize> {
        let blocks = lot.div_ceil(4);
        let pieces = (blocks / 2).clamp(1, 16);
        let pieces = if exact { pieces.max((blocks * 4).div_ceil(64)) } else { pieces };
        (0..=pieces).map(|piece| lot.min(piece * blocks / pieces * 4)).collect()
    }

    #[test]
    fn every_place_is_in_one_share_and_pieces_stay_whole() {
        for lot in [0, 1, 3, 4, 5, 17, 64, 100, 256, 1000, 5000] {
            for threads in 1..=9 {
                for exact in [false, true] {
                    let shares = shares(lot, threads, 4, exact, pieces);
                    let mut at = 0;
                    for share in &shares {
                        assert_eq!(share.places.start, at, "{lot} {threads}");
                        at = share.places.end;
                        assert_eq!((share.edges[0], share.edges.last()), (0, Some(&share.places.len())));
                        assert!(!exact || share.edges.windows(2).all(|pair| pair[1] - pair[0] <= 64));
                        let mut whole = share.edges.iter().map(|edge| edge + share.places.start);
                        assert!(exact || whole.all(|edge| pieces(lot, false).contains(&edge)));
                    }
                    assert_eq!(at, lot);
                    assert!(shares.len() <= threads && shares[1..].iter().all(|share| !share.places.is_empty()));
                    let longest = shares.iter().map(|share| share.places.len()).max();
                    assert!(!exact || longest <= Some(lot.div_ceil(threads) + 4), "{lot} {threads}");
                    assert!(shares[0].places.len() <= longest.unwrap_or(0));
                }
            }
        }
    }
}
