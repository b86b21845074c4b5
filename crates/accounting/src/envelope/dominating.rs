//! Few vectors of few distinct entries that dominate many: tight accounting needs every entry.
//!
//! At each rank, a group's dominating vector has an entry that no vector of the group exceeds.
//! Every divergence grows with each |entry| (`pld::coordinates`), so what holds for it holds for
//! all: proven, at the price of a slightly larger norm.

use super::bins::{SMALLEST, counting_edge};
use crate::parallel;

/// Approximate number of distinct entries of all dominating vectors together.
const ENTRIES: usize = 256;
/// Fewest entries of one of several.
const FEWEST_ENTRIES: usize = 64;
/// Most entries of one: a bin ends once full, so there may be a few more than [`ENTRIES`].
pub(super) const MOST_ENTRIES: usize = 2 * ENTRIES;
/// Most dominating vectors; tight accounting takes the pointwise maximum of their curves.
pub(super) const MOST_VECTORS: usize = 8;
/// Vectors that would enlarge Σψ² by less than this share are not separated.
const ALIKE: f64 = 0.03;

/// (entry, count), from the largest entry.
pub(super) type DominatingVector = Vec<(f64, u64)>;

/// One dominating vector for each group of similar vectors. `counts`: [`super::bins::Tally`]'s.
pub(super) fn of_groups<T: Copy + Into<f64> + Sync>(
    vectors: &[&[T]],
    mut counts: Vec<Vec<u32>>,
    largest: f64,
) -> Vec<DominatingVector> {
    let length = counts.iter().map(Vec::len).max().unwrap_or(0);
    for row in &mut counts {
        let all = row.last().copied().unwrap_or(0);
        row.resize(length, all);
    }
    let groups = groups(&counts);
    let entries = (ENTRIES / groups.len().max(1)).max(FEWEST_ENTRIES);
    groups
        .into_iter()
        .map(|(joint, members)| {
            let members: Vec<&[T]> = members.into_iter().map(|v| vectors[v]).collect();
            let top = parallel::map(&members, |v| v.iter().map(|&e| e.into().abs()).fold(0.0, f64::max));
            let top = top.into_iter().fold(0.0, f64::max);
            let mut edges = edges(&joint, entries, largest);
            edges.iter_mut().for_each(|edge| *edge = edge.min(top).max(SMALLEST * largest));
            dominating_one(&members, &edges)
        })
        .filter(|vector| !vector.is_empty())
        .collect()
}

/// Merges dominating vectors, those whose union enlarges Σψ² least first, until at most
/// [`MOST_VECTORS`] are left and none dominates another.
pub(super) fn reduced(mut dominating: Vec<DominatingVector>) -> Vec<DominatingVector> {
    dominating.retain(|vector| !vector.is_empty());
    loop {
        let mut best: Option<(f64, usize, usize, DominatingVector)> = None;
        for (i, a) in dominating.iter().enumerate() {
            for (j, b) in dominating.iter().enumerate().skip(i + 1) {
                let joint = union(a, b);
                let growth = squares(&joint) - squares(a).max(squares(b));
                if best.as_ref().is_none_or(|(least, ..)| growth < *least) {
                    best = Some((growth, i, j, joint));
                }
            }
        }
        match best {
            Some((growth, i, j, joint)) if dominating.len() > MOST_VECTORS || growth <= 0.0 => {
                dominating.swap_remove(j);
                dominating[i] = joint;
            }
            _ => return dominating,
        }
    }
}

pub(super) fn squares(vector: &DominatingVector) -> f64 {
    vector.iter().map(|(entry, count)| entry * entry * *count as f64).sum()
}

/// The larger of two at each rank.
fn union(a: &DominatingVector, b: &DominatingVector) -> DominatingVector {
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    let (mut left_a, mut left_b) = (0, 0);
    let mut joint: DominatingVector = Vec::new();
    loop {
        let next = |vector: &mut std::iter::Peekable<_>, left: &mut u64| -> Option<f64> {
            let (entry, count): (f64, u64) = *vector.peek()?;
            *left = if *left == 0 { count } else { *left };
            Some(entry)
        };
        let (entry, count) = match (next(&mut a, &mut left_a), next(&mut b, &mut left_b)) {
            (None, None) => return joint,
            (Some(x), None) => (x, left_a),
            (None, Some(y)) => (y, left_b),
            (Some(x), Some(y)) => (x.max(y), left_a.min(left_b)),
        };
        for (vector, left) in [(&mut a, &mut left_a), (&mut b, &mut left_b)] {
            if vector.peek().is_some() {
                *left -= count;
                if *left == 0 {
                    vector.next();
                }
            }
        }
        match joint.last_mut() {
            Some((last, total)) if *last == entry => *total += count,
            _ => joint.push((entry, count)),
        }
    }
}

/// Σψ² of counts, each entry rounded up to the next edge.
fn square_sum(counts: impl Iterator<Item = u32>) -> f64 {
    let (mut above, mut sum, mut before) = (1.0, 0.0, 0);
    for (i, count) in counts.enumerate() {
        sum += f64::from(count - before) * above * above;
        before = count;
        above = counting_edge(i);
    }
    sum
}

fn joined<'a>(a: &'a [u32], b: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    a.iter().zip(b).map(|(a, b)| *a.max(b))
}

/// Each group's joint counts and members. Centres are repeatedly the farthest vector (Gonzalez
/// 1985); then each vector joins the group that it enlarges least.
fn groups(counts: &[Vec<u32>]) -> Vec<(Vec<u32>, Vec<usize>)> {
    let sizes: Vec<f64> = counts.iter().map(|row| square_sum(row.iter().copied())).collect();
    let most = sizes.iter().copied().fold(0.0, f64::max);
    let apart = |a: usize, b: usize| square_sum(joined(&counts[a], &counts[b])) - sizes[a].max(sizes[b]);
    // Starts with the largest vector: those that it dominates need no group of their own.
    let first = (0..counts.len()).max_by(|a, b| sizes[*a].total_cmp(&sizes[*b])).unwrap_or(0);
    let mut centres = vec![first];
    let mut nearest: Vec<f64> = (0..counts.len()).map(|v| apart(v, first)).collect();
    while centres.len() < MOST_VECTORS {
        let Some(farthest) = (0..counts.len()).max_by(|a, b| nearest[*a].total_cmp(&nearest[*b])) else { break };
        if nearest[farthest] <= ALIKE * most {
            break;
        }
        centres.push(farthest);
        for (v, distance) in nearest.iter_mut().enumerate() {
            *distance = distance.min(apart(v, farthest));
        }
    }
    let mut groups: Vec<(Vec<u32>, Vec<usize>)> = centres.iter().map(|c| (counts[*c].clone(), Vec::new())).collect();
    let mut totals: Vec<f64> = centres.iter().map(|c| sizes[*c]).collect();
    for (v, row) in counts.iter().enumerate() {
        let grown: Vec<f64> = groups.iter().map(|(joint, _)| square_sum(joined(joint, row))).collect();
        let group =
            (0..groups.len()).min_by(|a, b| (grown[*a] - totals[*a]).total_cmp(&(grown[*b] - totals[*b]))).unwrap_or(0);
        totals[group] = grown[group];
        let (joint, members) = &mut groups[group];
        for (j, c) in joint.iter_mut().zip(row) {
            *j = (*j).max(*c);
        }
        members.push(v);
    }
    groups
}

/// About `entries` bin edges, from above. Widths that go as one over the root of the mass there
/// make rounding up within bins add least to Σψ².
fn edges(joint: &[u32], entries: usize, largest: f64) -> Vec<f64> {
    let (mut above, mut before) = (1.0, 0);
    let mut roots = Vec::with_capacity(joint.len());
    for (i, count) in joint.iter().enumerate() {
        let below = counting_edge(i);
        let mass = f64::from(count - before) * above * above;
        roots.push((above, below, (mass * f64::ln(above / below)).sqrt()));
        (above, before) = (below, *count);
    }
    let total: f64 = roots.iter().map(|r| r.2).sum();
    let quantum = total / entries as f64;
    let mut edges = vec![largest];
    let mut passed = 0.0;
    for (above, below, root) in roots {
        let pieces = (root / quantum + passed).floor();
        for piece in 1..=pieces as usize {
            let part = (piece as f64 - passed) / (root / quantum);
            edges.push(largest * above * (below / above).powf(part.clamp(0.0, 1.0)));
        }
        passed += root / quantum - pieces;
    }
    edges
}

fn dominating_one<T: Copy + Into<f64> + Sync>(members: &[&[T]], edges: &[f64]) -> DominatingVector {
    let exceeding: Vec<Vec<u64>> = parallel::map(members, |vector| {
        let magnitude = |entry: &T| Into::<f64>::into(*entry).abs();
        if vector.is_sorted_by(|a, b| magnitude(a) >= magnitude(b)) {
            return count(edges, |edge| vector.partition_point(|e| magnitude(e) > edge));
        }
        let mut sorted: Vec<f64> = vector.iter().map(magnitude).collect();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        count(edges, |edge| sorted.partition_point(|e| *e > edge))
    });
    let mut vector = Vec::with_capacity(edges.len());
    let mut before = 0;
    for (i, edge) in edges.iter().enumerate() {
        let most = exceeding.iter().map(|row| row[i]).max().unwrap_or(0);
        if most > before {
            vector.push((*edge, most - before));
            before = most;
        }
    }
    vector
}

/// For each bin, the number of entries above its lower end (0 for the last bin).
fn count(edges: &[f64], above: impl Fn(f64) -> usize) -> Vec<u64> {
    edges[1..].iter().copied().chain([0.0]).map(|edge| above(edge) as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::bins::Bins;

    fn ranks(vector: &DominatingVector) -> Vec<f64> {
        vector.iter().flat_map(|(entry, count)| std::iter::repeat_n(*entry, *count as usize)).collect()
    }

    #[test]
    fn unions_take_the_larger_entry_at_each_rank() {
        let (a, b) = (vec![(5.0, 1), (2.0, 4)], vec![(4.0, 2), (3.0, 1), (1.0, 6)]);
        assert_eq!(union(&a, &b), vec![(5.0, 1), (4.0, 1), (3.0, 1), (2.0, 2), (1.0, 4)]);
        assert_eq!(reduced(vec![a.clone(), vec![(2.0, 3)], vec![]]), vec![a]);
        let many: Vec<DominatingVector> = (1..20).map(|i| vec![(f64::from(i), 20 - i as u64)]).collect();
        let few = reduced(many.clone());
        assert!(few.len() <= MOST_VECTORS);
        let within = |inner: &DominatingVector, outer: &DominatingVector| union(inner, outer) == *outer;
        assert!(many.iter().all(|vector| few.iter().any(|f| within(vector, f))));
    }

    #[test]
    fn a_cover_exceeds_its_vectors_at_every_rank() {
        // Wide and narrow vectors, unordered, with signs and zeros.
        let vectors: Vec<Vec<f64>> = (0..40)
            .map(|v| {
                (0..600)
                    .map(|i| {
                        let x = f64::from((i * 7919 + v * 104_729) % 10_007) / 10_007.0;
                        let sparse = v % 2 == 1;
                        if sparse && i % 10 > 0 { 0.0 } else { (x - 0.5) * if sparse { 3.0 } else { 1.0 } }
                    })
                    .collect()
            })
            .collect();
        let slices: Vec<&[f64]> = vectors.iter().map(Vec::as_slice).collect();
        let largest = vectors.iter().flatten().fold(0.0f64, |a, b| a.max(b.abs()));
        let mut bins = Bins::new();
        let counts = slices.iter().map(|v| bins.tally(v, largest).counts).collect();
        let dominating = of_groups(&slices, counts, largest);
        assert!(dominating.len() > 1 && dominating.len() <= MOST_VECTORS, "{}", dominating.len());
        let dominating: Vec<Vec<f64>> = dominating.iter().map(ranks).collect();
        let mut norms = vec![];
        for vector in &vectors {
            let mut sorted: Vec<f64> = vector.iter().map(|x| x.abs()).filter(|x| *x > 0.0).collect();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let covers_it = |c: &&Vec<f64>| c.len() >= sorted.len() && sorted.iter().zip(*c).all(|(x, c)| x <= c);
            let by = dominating.iter().find(covers_it).expect("some vector holds it");
            let square = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>();
            norms.push(square(by) / square(&sorted));
        }
        assert!(norms.iter().all(|n| *n < 1.15), "{norms:?}");
    }
}
