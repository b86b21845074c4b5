//! Sorting. The library's sort is compiled for each type, at three kilobytes each.

/// Items that are compared and swapped by place.
trait Items {
    /// True if the item at `a` belongs before that at `b`.
    fn in_order(&self, a: usize, b: usize) -> bool;
    fn swap(&mut self, a: usize, b: usize);
}

struct Slice<'a, T, F>(&'a mut [T], F);

impl<T, F: Fn(&T, &T) -> bool> Items for Slice<'_, T, F> {
    fn in_order(&self, a: usize, b: usize) -> bool {
        (self.1)(&self.0[a], &self.0[b])
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.0.swap(a, b);
    }
}

/// Sorts `items` in place, not keeping the order of equal ones. `before`: a strict weak order.
pub fn sort<T>(items: &mut [T], before: impl Fn(&T, &T) -> bool) {
    let count = items.len();
    heapsort(&mut Slice(items, before), count);
}

/// Heapsort (Williams 1964).
fn heapsort(items: &mut dyn Items, count: usize) {
    for root in (0..count / 2).rev() {
        sift(items, root, count);
    }
    for end in (1..count).rev() {
        items.swap(0, end);
        sift(items, 0, end);
    }
}

/// Moves the item at `root` down the heap before `end` until none below it belongs after it.
fn sift(items: &mut dyn Items, mut root: usize, end: usize) {
    loop {
        let mut child = 2 * root + 1;
        if child >= end {
            return;
        }
        if child + 1 < end && items.in_order(child, child + 1) {
            child += 1;
        }
        if !items.in_order(root, child) {
            return;
        }
        items.swap(root, child);
        root = child;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::sort;

    proptest! {
        #[test]
        fn sorts_as_the_library_does(mut items: Vec<u8>) {
            let mut expected = items.clone();
            expected.sort_unstable();
            sort(&mut items, |a, b| a < b);
            prop_assert_eq!(items, expected);
        }
    }
}
