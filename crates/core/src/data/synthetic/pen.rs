//! Draws strokes as grey pixels: curves, MNIST's box, the pen and the centre of mass.

use crate::data::idx::{PIXELS, SIDE};

/// Side of the box into which MNIST's digits were scaled before being centred in 28×28.
const BOX: f32 = 20.0;
const SIDE_PIXELS: usize = SIDE as usize;
/// Straight pieces between two control points.
const PIECES: usize = 6;
/// Pixels over which the pen's edge fades from ink to paper.
const EDGE: f32 = 1.15;

/// A sheet for one digit, reused from digit to digit.
pub struct Page {
    /// Points along all strokes; `pen_up` holds the index of each stroke's first point.
    points: Vec<(f32, f32)>,
    pen_up: Vec<usize>,
    /// Pen radius in pixels, the relative amplitude of its variation along strokes, and its phase.
    radius: f32,
    pressure: f32,
    phase: f32,
    ink: [f32; PIXELS],
}

impl Page {
    pub fn new() -> Self {
        let (points, pen_up) = (Vec::with_capacity(256), Vec::with_capacity(4));
        Self { points, pen_up, radius: 1.0, pressure: 0.0, phase: 0.0, ink: [0.0; PIXELS] }
    }

    /// Starts a clean sheet with a pen of `radius` pixels that varies by the share `pressure`.
    pub fn begin(&mut self, radius: f32, pressure: f32, phase: f32) {
        self.points.clear();
        self.pen_up.clear();
        (self.radius, self.pressure, self.phase) = (radius, pressure, phase);
    }

    /// Draws a smooth curve through the points, with a corner where a point comes twice in a row.
    pub fn stroke(&mut self, through: &[(f32, f32)]) {
        self.pen_up.push(self.points.len());
        let (Some(&first), Some(last)) = (through.first(), through.len().checked_sub(1)) else { return };
        self.points.push(first);
        for i in 0..last {
            let (from, to) = (through[i], through[i + 1]);
            if from == to {
                continue;
            }
            // At an end or a corner, mirror the other neighbour: the curve leaves along the chord.
            let mirror = |p: (f32, f32), q: (f32, f32)| (2.0 * p.0 - q.0, 2.0 * p.1 - q.1);
            let before = if i > 0 && through[i - 1] != from { through[i - 1] } else { mirror(from, to) };
            let after = if i + 2 <= last && through[i + 2] != to { through[i + 2] } else { mirror(to, from) };
            for piece in 1..=PIECES {
                let t = piece as f32 / PIECES as f32;
                self.points.push((
                    catmull_rom(before.0, from.0, to.0, after.0, t),
                    catmull_rom(before.1, from.1, to.1, after.1, t),
                ));
            }
        }
    }

    /// Scales the strokes into the 20×20 box, inks them and centres their mass in `image`.
    pub fn place(&mut self, image: &mut [u8]) {
        self.fit();
        self.ink.fill(0.0);
        for stroke in 0..self.pen_up.len() {
            let end = self.pen_up.get(stroke + 1).copied().unwrap_or(self.points.len());
            for i in self.pen_up[stroke]..end.saturating_sub(1) {
                self.segment(i);
            }
        }
        let (mut mass, mut mass_x, mut mass_y) = (0.0, 0.0, 0.0);
        for (i, &ink) in self.ink.iter().enumerate() {
            mass += ink;
            mass_x += ink * (i % SIDE_PIXELS) as f32;
            mass_y += ink * (i / SIDE_PIXELS) as f32;
        }
        // Like MNIST, shift the centre of mass to the centre of the image by whole pixels.
        let centre = SIDE as f32 / 2.0;
        let shift = |moment: f32| if mass > 0.0 { libm::roundf(centre - moment / mass - 0.5) as i32 } else { 0 };
        let (dx, dy) = (shift(mass_x), shift(mass_y));
        let side = SIDE as i32;
        for (i, pixel) in image.iter_mut().enumerate() {
            let (x, y) = (i as i32 % side - dx, i as i32 / side - dy);
            let inside = (0..side).contains(&x) && (0..side).contains(&y);
            *pixel = if inside { (255.0 * self.ink[(y * side + x) as usize] + 0.5) as u8 } else { 0 };
        }
    }

    /// Scales and moves the points so that the ink's longer side fills the box in the middle.
    fn fit(&mut self) {
        let mut low = (f32::MAX, f32::MAX);
        let mut high = (f32::MIN, f32::MIN);
        for &(x, y) in &self.points {
            low = (low.0.min(x), low.1.min(y));
            high = (high.0.max(x), high.1.max(y));
        }
        let longer = (high.0 - low.0).max(high.1 - low.1).max(1e-3);
        let scale = (BOX - 2.0 * self.radius * (1.0 + self.pressure)).max(4.0) / longer;
        let middle = ((low.0 + high.0) / 2.0, (low.1 + high.1) / 2.0);
        let centre = SIDE as f32 / 2.0;
        for point in &mut self.points {
            *point = (centre + scale * (point.0 - middle.0), centre + scale * (point.1 - middle.1));
        }
    }

    /// Inks the piece from point `i` to the next: full within the pen's radius, fading at its edge.
    fn segment(&mut self, i: usize) {
        let (from, to) = (self.points[i], self.points[i + 1]);
        let radius = self.radius * (1.0 + self.pressure * libm::sinf(self.phase + 0.12 * i as f32));
        let reach = radius + EDGE / 2.0;
        let range = |a: f32, b: f32| {
            let first = (a.min(b) - reach - 0.5).max(0.0) as usize;
            let last = (a.max(b) + reach + 0.5).min(SIDE as f32) as usize;
            first..last.min(SIDE_PIXELS)
        };
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let per_length = 1.0 / (dx * dx + dy * dy).max(1e-12);
        for row in range(from.1, to.1) {
            let v = row as f32 + 0.5 - from.1;
            for column in range(from.0, to.0) {
                let u = column as f32 + 0.5 - from.0;
                let along = ((u * dx + v * dy) * per_length).clamp(0.0, 1.0);
                let (across_x, across_y) = (u - along * dx, v - along * dy);
                let distance = (across_x * across_x + across_y * across_y).sqrt();
                let ink = ((reach - distance) / EDGE).clamp(0.0, 1.0);
                let pixel = &mut self.ink[row * SIDE_PIXELS + column];
                *pixel = pixel.max(ink);
            }
        }
    }
}

/// Point at `t` in [0, 1] on the uniform Catmull–Rom span from `b` to `c` (Catmull & Rom 1974).
fn catmull_rom(a: f32, b: f32, c: f32, d: f32, t: f32) -> f32 {
    let cubic = -a + 3.0 * b - 3.0 * c + d;
    let square = 2.0 * a - 5.0 * b + 4.0 * c - d;
    0.5 * (2.0 * b + t * ((c - a) + t * (square + t * cubic)))
}
