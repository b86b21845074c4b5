//! Files of a run: curves (CSV), and the model (safetensors, as written by [`crate::model`]).

pub use crate::model::safetensors;
use crate::plot::{
    format::exact,
    series::{Point, in_order, nearest},
};

/// Returns curves as comma-separated values, with a row per step at which any has a point.
#[must_use]
pub fn csv(curves: [(&str, &[Point]); 4]) -> String {
    let steps = in_order(curves.iter().flat_map(|(_, points)| points.iter().map(|p| p.0)).collect());
    let mut out = format!("step,{}\n", curves.map(|(name, _)| name).join(","));
    for step in steps {
        out.push_str(&exact(step));
        for (_, points) in curves {
            let value = nearest(points, step).filter(|point| point.0 == step);
            out.push(',');
            out.push_str(&value.map_or_else(String::new, |point| exact(point.1)));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_share_their_steps() {
        let text = csv([
            ("accuracy", &[(0.0, 0.1), (10.0, 0.5)]),
            ("improved", &[(10.0, 0.25), (20.0, 0.5)]),
            ("classic", &[]),
            ("tight", &[(10.0, 0.2)]),
        ]);
        assert_eq!(text, "step,accuracy,improved,classic,tight\n0,0.1,,,\n10,0.5,0.25,,0.2\n20,,0.5,,\n");
    }
}
