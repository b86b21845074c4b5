//! Covering arrays: few rows that cover every pair of values of two parameters.
//!
//! Greedy, as in Cohen, Dalal, Fredman & Patton 1997, "The AETG system", but deterministic.

use std::collections::BTreeSet;

/// True if tests are to be exhaustive (`HUSHGRAD_FULL=1`), as in `cargo xtask test --shipped`.
pub fn full() -> bool {
    std::env::var_os("HUSHGRAD_FULL").is_some_and(|value| value == "1")
}

/// Rows of one value of `0..sizes[k]` for each parameter `k`; every row if [`full`].
pub fn rows<const N: usize>(sizes: [usize; N]) -> Vec<[usize; N]> {
    if full() {
        return product(sizes);
    }
    let mut open: BTreeSet<[usize; 4]> = BTreeSet::new();
    for (i, j) in (0..N).flat_map(|i| (i + 1..N).map(move |j| (i, j))) {
        open.extend((0..sizes[i]).flat_map(|a| (0..sizes[j]).map(move |b| [i, a, j, b])));
    }
    let pair = |i: usize, a: usize, j: usize, b: usize| if i < j { [i, a, j, b] } else { [j, b, i, a] };
    let mut rows = Vec::new();
    while let Some(&[i, a, j, b]) = open.first() {
        let mut row = [None; N];
        (row[i], row[j]) = (Some(a), Some(b));
        for k in 0..N {
            if row[k].is_some() {
                continue;
            }
            let covers = |&value: &usize| {
                let met = |(l, other): (usize, &Option<usize>)| {
                    other.is_some_and(|other| open.contains(&pair(k, value, l, other)))
                };
                row.iter().enumerate().filter(|&(l, other)| l != k && met((l, other))).count()
            };
            // Rotates among ties.
            let shift = rows.len();
            row[k] = (0..sizes[k]).map(|value| (value + shift) % sizes[k]).max_by_key(covers);
        }
        let row = row.map(Option::unwrap_or_default);
        open.retain(|&[i, a, j, b]| row[i] != a || row[j] != b);
        rows.push(row);
    }
    rows
}

fn product<const N: usize>(sizes: [usize; N]) -> Vec<[usize; N]> {
    let count = sizes.iter().product();
    let row = |mut number: usize| {
        sizes.map(|size| {
            let value = number % size;
            number /= size;
            value
        })
    };
    (0..count).map(row).collect()
}

#[test]
fn every_pair_of_values_is_covered_in_few_rows() {
    let sizes = [5, 8, 9, 2, 5];
    let found = rows(sizes);
    for (i, j) in (0..5).flat_map(|i| (i + 1..5).map(move |j| (i, j))) {
        for (a, b) in (0..sizes[i]).flat_map(|a| (0..sizes[j]).map(move |b| (a, b))) {
            assert!(found.iter().any(|row| row[i] == a && row[j] == b), "{i} {a} {j} {b}");
        }
    }
    assert_eq!(product(sizes).len(), 3600);
    // The minimum is 72.
    assert!(found.len() < 100 || found.len() == 3600, "{}", found.len());
}
