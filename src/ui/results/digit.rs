//! From a drawing to a model's input: strokes of MNIST's width in a 20×20 box, with the centre of
//! mass in the middle of 28×28 pixels (the preparation of LeCun, Cortes & Burges).

use crate::model::PIXELS;

const SIDE: usize = 28;
/// Length of the drawing's longer side after scaling.
const BOX: f32 = 20.0;
/// Half the width of the pen, in pixels of the result.
const PEN: f32 = 1.05;

/// The points of a stroke, in any unit, x to the right and y down.
pub type Stroke = Vec<(f32, f32)>;

/// Returns the 784 pixels of a drawing in [0, 1], row by row; `None` if nothing is drawn.
#[must_use]
pub fn rasterise(strokes: &[Stroke]) -> Option<Vec<f32>> {
    let points = || strokes.iter().flatten().copied().filter(|(x, y)| x.is_finite() && y.is_finite());
    points().next()?;
    let fold =
        |start: f32, pick: fn((f32, f32)) -> f32, with: fn(f32, f32) -> f32| points().map(pick).fold(start, with);
    let (left, right) = (fold(f32::MAX, |p| p.0, f32::min), fold(f32::MIN, |p| p.0, f32::max));
    let (top, bottom) = (fold(f32::MAX, |p| p.1, f32::min), fold(f32::MIN, |p| p.1, f32::max));
    let size = (right - left).max(bottom - top);
    // A dot has no size.
    let scale = if size > 0.0 { (BOX - 2.0 * PEN) / size } else { 0.0 };
    let middle = SIDE as f32 / 2.0;
    let place = |shift: (f32, f32)| -> Vec<Stroke> {
        strokes
            .iter()
            .map(|stroke| {
                stroke
                    .iter()
                    .filter(|(x, y)| x.is_finite() && y.is_finite())
                    .map(|(x, y)| {
                        (
                            (x - (left + right) / 2.0) * scale + middle + shift.0,
                            (y - (top + bottom) / 2.0) * scale + middle + shift.1,
                        )
                    })
                    .collect()
            })
            .collect()
    };
    let (x, y) = centre_of_mass(&ink(&place((0.0, 0.0))))?;
    // Keeps the ink within the image if a long tail moves its centre of mass.
    let most = (SIDE as f32 - BOX) / 2.0;
    Some(ink(&place(((middle - x).clamp(-most, most), (middle - y).clamp(-most, most)))))
}

/// Returns the ink of each pixel by its distance from the strokes.
fn ink(strokes: &[Stroke]) -> Vec<f32> {
    let mut pixels = vec![0f32; PIXELS];
    for stroke in strokes {
        let dot = stroke.first().map(|&p| (p, p));
        let segments = stroke.windows(2).map(|w| (w[0], w[1]));
        for (a, b) in segments.chain(dot) {
            let reach = |low: f32, high: f32| {
                let first = (low - PEN - 1.0).floor().clamp(0.0, SIDE as f32) as usize;
                let last = (high + PEN + 1.0).ceil().clamp(0.0, SIDE as f32) as usize;
                first..last
            };
            for row in reach(a.1.min(b.1), a.1.max(b.1)) {
                for column in reach(a.0.min(b.0), a.0.max(b.0)) {
                    let at = (column as f32 + 0.5, row as f32 + 0.5);
                    let covered = (PEN + 0.5 - distance(at, a, b)).clamp(0.0, 1.0);
                    let pixel = &mut pixels[row * SIDE + column];
                    *pixel = pixel.max(covered);
                }
            }
        }
    }
    pixels
}

fn distance(p: (f32, f32), a: (f32, f32), b: (f32, f32)) -> f32 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx * dx + dy * dy;
    let along = if length > 0.0 { (((p.0 - a.0) * dx + (p.1 - a.1) * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
    (p.0 - a.0 - along * dx).hypot(p.1 - a.1 - along * dy)
}

fn centre_of_mass(pixels: &[f32]) -> Option<(f32, f32)> {
    let total: f32 = pixels.iter().sum();
    let weigh = |of: fn(usize) -> usize| -> f32 {
        pixels.iter().enumerate().map(|(i, ink)| ink * (of(i) as f32 + 0.5)).sum::<f32>() / total
    };
    (total > 0.0).then(|| (weigh(|i| i % SIDE), weigh(|i| i / SIDE)))
}

/// Returns sine and cosine of `turn` turns to about 0.001, with less code than the exact ones.
fn of_turn(turn: f32) -> (f32, f32) {
    let sine = |turn: f32| {
        let t = turn - (turn + 0.5).floor();
        let parabola = 8.0 * t - 16.0 * t * t.abs();
        parabola + 0.225 * (parabola * parabola.abs() - parabola)
    };
    (sine(turn), sine(turn + 0.25))
}

/// Returns an example of a digit on the unit square, for those who cannot or prefer not to draw.
#[must_use]
pub fn sample(digit: u8) -> Vec<Stroke> {
    let arc = |cx: f32, cy: f32, rx: f32, ry: f32, from: f32, to: f32| -> Stroke {
        (0..=24)
            .map(|i| {
                let (sin, cos) = of_turn(from + (to - from) * i as f32 / 24.0);
                (cx + rx * sin, cy - ry * cos)
            })
            .collect()
    };
    let joined = |parts: Vec<Stroke>| vec![parts.concat()];
    match digit {
        0 => vec![arc(0.5, 0.5, 0.3, 0.42, 0.05, 1.05)],
        1 => vec![vec![(0.38, 0.2), (0.52, 0.08), (0.5, 0.92)]],
        2 => joined(vec![arc(0.5, 0.33, 0.25, 0.24, -0.2, 0.4), vec![(0.24, 0.88), (0.8, 0.86)]]),
        3 => joined(vec![arc(0.47, 0.29, 0.24, 0.2, -0.2, 0.5), arc(0.46, 0.7, 0.28, 0.22, 0.0, 0.7)]),
        4 => vec![vec![(0.36, 0.1), (0.24, 0.55), (0.76, 0.52)], vec![(0.66, 0.2), (0.62, 0.92)]],
        5 => vec![[vec![(0.72, 0.1), (0.34, 0.12), (0.3, 0.45)], arc(0.46, 0.66, 0.27, 0.24, -0.06, 0.68)].concat()],
        6 => joined(vec![vec![(0.62, 0.06), (0.42, 0.26), (0.3, 0.52)], arc(0.5, 0.7, 0.22, 0.22, -0.25, 0.8)]),
        7 => vec![vec![(0.22, 0.14), (0.76, 0.12), (0.6, 0.45), (0.46, 0.92)]],
        8 => joined(vec![arc(0.5, 0.29, 0.19, 0.2, 0.5, 1.5), arc(0.5, 0.71, 0.24, 0.22, 0.0, 1.0)]),
        _ => joined(vec![arc(0.48, 0.32, 0.22, 0.22, 0.25, 1.25), vec![(0.7, 0.34), (0.66, 0.62), (0.56, 0.93)]]),
    }
}

/// Returns pixels in [0, 1] as bytes; 255 is ink.
#[must_use]
pub fn bytes(pixels: &[f32]) -> Vec<u8> {
    pixels.iter().map(|ink| (255.0 * ink).round() as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_drawing_has_no_pixels() {
        assert_eq!(rasterise(&[]), None);
        assert_eq!(rasterise(&[vec![]]), None);
        assert_eq!(rasterise(&[vec![(f32::NAN, 1.0)]]), None);
    }

    #[test]
    fn drawings_are_centred_by_mass_in_the_box() {
        for digit in 0..10 {
            let pixels = rasterise(&sample(digit)).unwrap();
            let (x, y) = centre_of_mass(&pixels).unwrap();
            assert!((x - 14.0).abs() < 0.6 && (y - 14.0).abs() < 0.6, "{digit} is centred at {x}, {y}");
            let rows = (0..SIDE).filter(|r| pixels[r * SIDE..][..SIDE].iter().any(|p| *p > 0.5)).count();
            assert!((18..=21).contains(&rows), "{digit} is {rows} rows high");
            // MNIST's mean pixel is about 0.13.
            let mean = pixels.iter().sum::<f32>() / PIXELS as f32;
            assert!((0.05..0.25).contains(&mean), "{digit} has mean ink {mean}");
        }
    }

    #[test]
    fn arcs_are_round_enough() {
        for i in -100..=100 {
            let turn = i as f32 / 50.0;
            let (sin, cos) = (turn * std::f32::consts::TAU).sin_cos();
            let (a, b) = of_turn(turn);
            assert!((a - sin).abs() < 1.2e-3 && (b - cos).abs() < 1.2e-3, "{turn}: {a} {sin}, {b} {cos}");
        }
    }

    #[test]
    fn place_and_size_of_the_drawing_do_not_matter() {
        let small: Vec<Stroke> = sample(4);
        let large = small
            .iter()
            .map(|s| s.iter().map(|(x, y)| (x * 300.0 + 55.0, y * 300.0 - 9.0)).collect())
            .collect::<Vec<_>>();
        let (a, b) = (rasterise(&small).unwrap(), rasterise(&large).unwrap());
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-3));
    }

    proptest! {
        #[test]
        fn any_drawing_gives_pixels_in_range(strokes in prop::collection::vec(prop::collection::vec((-1e4..1e4f32, -1e4..1e4f32), 0..20), 0..5)) {
            if let Some(pixels) = rasterise(&strokes) {
                prop_assert_eq!(pixels.len(), PIXELS);
                prop_assert!(pixels.iter().all(|p| (0.0..=1.0).contains(p)));
                prop_assert!(pixels.iter().any(|p| *p > 0.0));
            }
        }
    }
}
