//! Examples for the tests.

use hushgrad::model::PIXELS;

/// One labelled image, pixels in [0, 1].
pub struct Example {
    pub pixels: Vec<f32>,
    pub label: u8,
}

/// Rotated wavy strokes, all different.
pub fn examples(count: usize) -> Vec<Example> {
    (0..count)
        .map(|n| {
            let phase = n as f32;
            let pixels = (0..PIXELS).map(|i| {
                let (y, x) = ((i / 28) as f32 - 14.0, (i % 28) as f32 - 13.0);
                let (along, across) = (x * phase.cos() + y * phase.sin(), y * phase.cos() - x * phase.sin());
                let ink = (3.0 - (across - 2.0 * (0.4 * along).sin()).abs()).clamp(0.0, 1.0);
                if x * x + y * y < 90.0 { (ink * 255.0).round() / 255.0 } else { 0.0 }
            });
            Example { pixels: pixels.collect(), label: (n % 10) as u8 }
        })
        .collect()
}
