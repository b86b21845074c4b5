//! Curves: points in ascending order of x, thinned out for drawing.

use super::format::fixed;
pub use crate::train::projection::Point;

/// Thins `points` to about `budget`: the first, the last, and the extremes of each stretch.
#[must_use]
pub fn decimate(points: &[Point], budget: usize) -> Vec<Point> {
    let budget = budget.max(4);
    if points.len() <= budget {
        return points.to_vec();
    }
    let inner = &points[1..points.len() - 1];
    let stretch = inner.len().div_ceil(budget / 2 - 1);
    let mut kept = vec![points[0]];
    for part in inner.chunks(stretch) {
        let by_y = |a: &&Point, b: &&Point| a.1.total_cmp(&b.1);
        if let (Some(low), Some(high)) = (part.iter().min_by(by_y), part.iter().max_by(by_y)) {
            let (first, second) = if low.0 <= high.0 { (low, high) } else { (high, low) };
            kept.push(*first);
            if first != second {
                kept.push(*second);
            }
        }
    }
    kept.push(points[points.len() - 1]);
    kept
}

/// Returns steps: between two points, the value of the second, a bound if y grows with x.
#[must_use]
pub fn stairs(points: &[Point]) -> Vec<Point> {
    let mut stairs: Vec<Point> = Vec::with_capacity(2 * points.len());
    for &(x, y) in points {
        if let Some(&(before, last)) = stairs.last()
            && last != y
        {
            stairs.push((before, y));
        }
        stairs.push((x, y));
    }
    stairs
}

/// A growing curve; beyond 4,096 points, [`decimate`] thins it to half of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    points: Vec<Point>,
}

impl Curve {
    const LIMIT: usize = 4096;

    /// Appends a finite point, which replaces those at its x or beyond; ignores others.
    pub fn push(&mut self, point: Point) {
        if !(point.0.is_finite() && point.1.is_finite()) {
            return;
        }
        while self.points.last().is_some_and(|last| last.0 >= point.0) {
            self.points.pop();
        }
        self.points.push(point);
        if self.points.len() > Self::LIMIT {
            self.points = decimate(&self.points, Self::LIMIT / 2);
        }
    }

    /// Returns the points kept, in ascending order of x.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Returns the point with the largest x.
    #[must_use]
    pub fn last(&self) -> Option<Point> {
        self.points.last().copied()
    }

    /// Returns the point whose x is nearest.
    #[must_use]
    pub fn nearest(&self, x: f64) -> Option<Point> {
        nearest(&self.points, x)
    }
}

/// Returns the point whose x is nearest; `points` must ascend in x.
#[must_use]
pub fn nearest(points: &[Point], x: f64) -> Option<Point> {
    let after = points.partition_point(|p| p.0 < x);
    match (after.checked_sub(1).and_then(|i| points.get(i)), points.get(after)) {
        (Some(a), Some(b)) => Some(if x - a.0 <= b.0 - x { *a } else { *b }),
        (a, b) => a.or(b).copied(),
    }
}

/// Interpolates the curve at `x`; `None` outside its first and last points. With `logarithmic`,
/// interpolates geometrically between positive values.
#[must_use]
pub fn at(points: &[Point], x: f64, logarithmic: bool) -> Option<f64> {
    let after = points.partition_point(|p| p.0 < x);
    let b = points.get(after)?;
    if b.0 == x {
        return Some(b.1);
    }
    let a = points.get(after.checked_sub(1)?)?;
    let share = (x - a.0) / (b.0 - a.0);
    let factors = logarithmic && a.1 > 0.0 && b.1 > 0.0;
    Some(if factors { a.1 * (b.1 / a.1).powf(share) } else { a.1 + share * (b.1 - a.1) })
}

/// Returns the `d` of an SVG path through `pixels`, to a tenth of a pixel.
#[must_use]
pub fn path(pixels: impl IntoIterator<Item = Point>) -> String {
    use std::fmt::Write;
    let mut d = String::new();
    for (i, (x, y)) in pixels.into_iter().enumerate() {
        // Writing into a string cannot fail.
        _ = write!(d, "{}{} {}", if i == 0 { 'M' } else { 'L' }, fixed(x, 1), fixed(y, 1));
    }
    d
}

/// Sorts and deduplicates `values` by insertion; a general sort would add kilobytes of program.
#[must_use]
pub fn in_order(values: Vec<f64>) -> Vec<f64> {
    let mut ordered: Vec<f64> = vec![];
    for value in values {
        let place = ordered.partition_point(|other| *other < value);
        if ordered.get(place) != Some(&value) {
            ordered.insert(place, value);
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order_sorts_and_deduplicates() {
        assert_eq!(in_order(vec![1.0, 4.0, 9.0, 0.0, 4.0, 5.0, 9.0]), [0.0, 1.0, 4.0, 5.0, 9.0]);
        assert!(in_order(vec![]).is_empty());
    }

    #[test]
    fn thinning_keeps_ends_and_spikes() {
        let mut points: Vec<Point> = (0..10_000).map(|i| (f64::from(i), (f64::from(i) * 0.01).sin())).collect();
        points[7_777].1 = 9.0;
        let thin = decimate(&points, 300);
        assert!(thin.len() <= 302, "{}", thin.len());
        assert_eq!(thin.first(), points.first());
        assert_eq!(thin.last(), points.last());
        assert!(thin.iter().any(|p| p.1 == 9.0));
        assert!(thin.windows(2).all(|w| w[0].0 < w[1].0));
        assert_eq!(decimate(&points[..50], 300), &points[..50]);
    }

    #[test]
    fn stairs_are_nowhere_below_the_next_point() {
        let points = [(0.0, 0.0), (100.0, 0.19), (400.0, 0.536), (500.0, 0.536)];
        let stairs = stairs(&points);
        let expected = [(0.0, 0.0), (0.0, 0.19), (100.0, 0.19), (100.0, 0.536), (400.0, 0.536), (500.0, 0.536)];
        assert_eq!(stairs, expected);
        assert!(super::stairs(&[]).is_empty());
    }

    #[test]
    fn a_curve_stays_bounded_and_in_order() {
        let mut curve = Curve::default();
        for i in 0..100_000 {
            curve.push((f64::from(i), f64::from(i % 7)));
        }
        assert!(curve.points().len() <= Curve::LIMIT);
        assert_eq!(curve.last(), Some((99_999.0, (99_999 % 7) as f64)));
        assert!(curve.points().windows(2).all(|w| w[0].0 < w[1].0));
        curve.push((f64::NAN, 1.0));
        curve.push((99_999.0, 3.0));
        assert_eq!(curve.last(), Some((99_999.0, 3.0)));
    }

    #[test]
    fn nearest_finds_the_nearer_side() {
        let points = [(0.0, 1.0), (10.0, 2.0), (20.0, 3.0)];
        assert_eq!(nearest(&points, -5.0), Some((0.0, 1.0)));
        assert_eq!(nearest(&points, 14.0), Some((10.0, 2.0)));
        assert_eq!(nearest(&points, 16.0), Some((20.0, 3.0)));
        assert_eq!(nearest(&points, 99.0), Some((20.0, 3.0)));
        assert_eq!(nearest(&[], 1.0), None);
    }

    #[test]
    fn at_interpolates_between_the_ends_only() {
        let points = [(0.0, 1.0), (10.0, 100.0), (20.0, 0.0)];
        assert_eq!(at(&points, 0.0, false), Some(1.0));
        assert_eq!(at(&points, 15.0, false), Some(50.0));
        assert!((at(&points, 5.0, true).unwrap() - 10.0).abs() < 1e-9);
        assert_eq!(at(&points, 15.0, true), Some(50.0));
        assert_eq!(at(&points, 20.0, false), Some(0.0));
        for x in [-0.1, 20.1, f64::NAN] {
            assert_eq!(at(&points, x, false), None, "{x}");
        }
        assert_eq!(at(&[(3.0, 7.0)], 3.0, true), Some(7.0));
        assert_eq!(at(&[], 0.0, false), None);
    }

    #[test]
    fn paths_are_plain_svg() {
        assert_eq!(path([(0.0, 1.0), (2.25, 3.0)]), "M0.0 1.0L2.3 3.0");
        assert_eq!(path([]), "");
    }
}
