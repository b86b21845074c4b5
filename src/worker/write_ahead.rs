//! How far a run's books, its stored ledger, are written ahead. Releases are reserved in blocks
//! before they happen, so that after a crash the books never count too few, and in excess at most
//! about two blocks. The block size follows the run's speed.

use std::time::Duration;

/// Time in which a run uses up a block, unless its store is slow.
const BLOCK: Duration = Duration::from_millis(500);
/// A block grows to at least one in this many of the releases that happened.
const SHARE: u64 = 20;
/// Longest time in which a block is used up, for a run that waits for its store.
const LARGEST: Duration = Duration::from_secs(2);
/// Releases of the first block, while the run's speed is unknown.
const FIRST: u64 = 4;
/// Largest ratio of a block to the one before, as a speed measured over a short time may be wrong.
const GROWTH: u64 = 8;

/// A request to write releases up to `upto` as spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub upto: u64,
    /// Counts requests, so that no answer is taken for that to a later request.
    number: u64,
}

/// How far a run's releases are written. All counts start at the opening of its books.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteAhead {
    /// Releases written as spent.
    written: u64,
    /// The block being written.
    asked: Option<Block>,
    /// Requests so far.
    requests: u64,
    /// Releases per block.
    block: u64,
    /// Time in which the run is to use up a block.
    time: Duration,
    /// True if a step has waited for the block being written.
    waits: bool,
    /// The run's training time and releases when a block was last requested, to measure its speed.
    looked: Option<(Duration, u64)>,
}

impl WriteAhead {
    /// Creates the state of books with `written` releases.
    #[must_use]
    pub const fn new(written: u64) -> Self {
        Self { written, asked: None, requests: 0, block: FIRST, time: BLOCK, waits: false, looked: None }
    }

    /// Returns how many written releases are still unused after `released` of them.
    #[must_use]
    pub const fn left(&self, released: u64) -> u64 {
        self.written.saturating_sub(released)
    }

    /// True if a block is being written.
    #[must_use]
    pub const fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Returns the number of releases written as spent, whether they happened or not.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Requests the next block early enough that no step waits; `None` if none is due. `released`: releases so far; `most`: releases of the whole run, if it has an end;
    /// `ran`: time of its steps, without waits and other jobs.
    pub fn due(&mut self, released: u64, most: Option<u64>, ran: Duration) -> Option<Block> {
        self.waits |= self.asked.is_some() && self.looked.is_some() && self.left(released) == 0;
        // The store may take most of a block's time, so it is asked when a quarter is used.
        if self.asked.is_some()
            || self.left(released).saturating_mul(4) > self.block.saturating_mul(3).saturating_add(3)
        {
            return None;
        }
        if let Some((then, before)) = self.looked {
            let seconds = ran.saturating_sub(then).as_secs_f64().max(1e-3);
            let speed = released.saturating_sub(before) as f64 / seconds;
            // A block smaller than the speed calls for is waited for with any store.
            if std::mem::take(&mut self.waits) && self.block as f64 >= speed * self.time.as_secs_f64() {
                self.time = LARGEST.min(2 * self.time);
            }
            let wanted = (speed * self.time.as_secs_f64()) as u64;
            self.block = wanted.max(released / SHARE).clamp(1, self.block.saturating_mul(GROWTH));
        }
        let upto = self.written.max(released).saturating_add(self.block).min(most.unwrap_or(u64::MAX));
        if upto <= self.written {
            return None;
        }
        self.looked = Some((ran, released));
        self.requests += 1;
        self.asked = Some(Block { upto, number: self.requests });
        self.asked
    }

    /// Records that a requested block was written. Other answers are ignored: those to requests from
    /// before the books were closed.
    pub fn wrote(&mut self, block: Block) {
        if self.asked.take_if(|asked| *asked == block).is_some() {
            self.written = self.written.max(block.upto);
        }
    }

    /// Records that the requested block was not written, and forgets the measured speed.
    pub const fn refused(&mut self) {
        (self.asked, self.looked) = (None, None);
    }

    /// Closes the books of a run that stands still: exactly `released` releases are written.
    pub const fn close(&mut self, released: u64) {
        self.written = released;
        self.refused();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// A hundred steps a second, half a second to write: waits do not count in the run's speed.
    #[test]
    fn waiting_for_a_block_is_no_part_of_the_speed() {
        let (mut blocks, mut released, mut asked) = (WriteAhead::new(0), 0, None::<(Block, u64)>);
        let mut ran = 0;
        for now in 0..10_000 {
            if let Some((block, since)) = asked
                && now >= since + 500
            {
                blocks.wrote(block);
                asked = None;
            }
            if let Some(block) = blocks.due(released, None, ms(ran)) {
                asked = Some((block, now));
            }
            if blocks.left(released) > 0 {
                ran += 1;
                released += u64::from(ran % 10 == 0);
            }
        }
        assert!((160..=240).contains(&blocks.block), "{blocks:?}");
    }

    /// After a kill the books exceed the steps taken by at most a second of steps plus a tenth of
    /// those taken, at any speed.
    #[test]
    fn no_more_than_a_second_and_a_tenth_is_ahead() {
        for per_second in [1, 20, 300, 5_000] {
            let (mut blocks, mut released) = (WriteAhead::new(0), 0);
            for now in 1..=20_000_u64 {
                if let Some(block) = blocks.due(released, None, ms(now)) {
                    blocks.wrote(block);
                }
                released = (now * per_second / 1000).min(blocks.written());
                let ahead = blocks.left(released);
                assert!(
                    ahead <= 4.max(per_second + released / 10 + 1),
                    "{blocks:?} at {released}, {per_second} a second"
                );
            }
        }
    }

    /// A thousand steps a second: steps hardly ever wait.
    #[test]
    fn blocks_follow_the_speed_of_the_run() {
        let (mut blocks, mut released, mut asked) = (WriteAhead::new(0), 0, None::<(Block, u64)>);
        let (mut waited, mut writes) = (0, 0);
        for now in 0..20_000 {
            // Writing takes 20 ms.
            if let Some((block, since)) = asked
                && now >= since + 20
            {
                blocks.wrote(block);
                asked = None;
            }
            if let Some(block) = blocks.due(released, None, ms(now)) {
                asked = Some((block, now));
                writes += 1;
            }
            if blocks.left(released) > 0 {
                released += 1;
            } else {
                waited += 1;
            }
            assert!(blocks.left(released) <= 5000, "{blocks:?} at {released}");
        }
        assert!(waited < 200 && writes < 80, "{waited} {writes}");
        assert!(blocks.left(released) > 100, "{blocks:?}");
        // Half a step a second: blocks shrink to a share of the releases.
        let mut now = 20_000;
        for _ in 0..4000 {
            now += 2000;
            if let Some(block) = blocks.due(released, None, ms(now)) {
                blocks.wrote(block);
            }
            assert!(blocks.left(released) > 0);
            released += 1;
        }
        assert!(blocks.left(released) <= 4 + released / 10, "{blocks:?} at {released}");
    }

    #[test]
    fn no_more_is_reserved_than_the_run_will_take_and_closing_is_exact() {
        let now = Duration::ZERO;
        let mut blocks = WriteAhead::new(0);
        let first = blocks.due(0, Some(3), now).unwrap();
        assert_eq!(first.upto, 3);
        assert_eq!(blocks.due(0, Some(3), now), None, "it is being written");
        assert_eq!(blocks.left(0), 0, "what is not written may not happen");
        blocks.wrote(first);
        assert_eq!((blocks.left(0), blocks.left(3), blocks.left(9)), (3, 0, 0));
        assert_eq!(blocks.due(3, Some(3), now), None);
        blocks.close(3);
        let earlier = blocks.due(3, None, now).unwrap();
        blocks.close(3);
        // Earlier requests are void, also if a later one has the same end.
        assert_eq!(blocks.due(3, None, now).unwrap().upto, earlier.upto);
        blocks.wrote(earlier);
        assert_eq!((blocks.written(), blocks.left(3)), (3, 0));
    }
}
