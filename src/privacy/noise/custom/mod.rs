//! Noise of the user's own: a table of a symmetric unimodal density, or a formula that fills one.
//!
//! Between knots ln z is linear, beyond the last it goes on with the last slope. That *is* the noise: it is drawn, and accounted for, from
//! this one table, so how well the table follows a formula is no question of privacy.

mod density;
mod table;

pub use density::{CustomDensity, DensityError};
use table::Table;

use super::{
    Noise, NoiseError, Smoothness, check_scale,
    legendre::gauss_legendre,
    moments::{Node, Sums},
};
use crate::privacy::numeric::log_sum_exp;

/// A custom density at a scale.
#[derive(Clone, Debug)]
pub struct Custom {
    density: CustomDensity,
    scale: f64,
    /// The knots, at this scale.
    kinks: Vec<f64>,
}

impl Custom {
    /// The distribution of `scale`·X, X from the table.
    ///
    /// # Errors
    /// Unless 0 < scale < ∞.
    pub fn new(density: CustomDensity, scale: f64) -> Result<Self, NoiseError> {
        check_scale("custom", "scale", scale)?;
        let kinks = density.0.knots.iter().map(|knot| scale * knot).collect();
        Ok(Self { density, scale, kinks })
    }

    fn table(&self) -> &Table {
        &self.density.0
    }
}

impl Noise for Custom {
    fn log_density(&self, x: f64) -> f64 {
        self.table().log_density((x / self.scale).abs()) - self.scale.ln()
    }

    fn tail(&self, x: f64) -> f64 {
        self.table().tail(x / self.scale)
    }

    fn tail_quantile(&self, q: f64) -> f64 {
        self.scale * self.table().tail_quantile(q)
    }

    fn draw(&self, words: [u32; 4]) -> f64 {
        self.density.draw(self.scale, words)
    }

    fn mean_absolute(&self) -> f64 {
        self.scale * self.table().moment(1)
    }

    fn standard_deviation(&self) -> f64 {
        self.scale * self.table().moment(2).sqrt()
    }

    fn fisher_information(&self) -> f64 {
        let Table { slopes, tails, .. } = self.table();
        let next = |i: usize| tails.get(i + 1).copied().unwrap_or(0.0);
        let sum: f64 = slopes.iter().enumerate().map(|(i, s)| s * s * (tails[i] - next(i))).sum();
        2.0 * sum / (self.scale * self.scale)
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn kinks(&self) -> &[f64] {
        &self.kinks
    }

    fn smoothness(&self, x: f64, _radius: f64) -> Option<Smoothness> {
        Some(Smoothness { slope: self.table().slope(x.abs() / self.scale).abs() / self.scale, curvature: 0.0 })
    }

    fn log_ratio(&self, x: f64, tau: f64) -> f64 {
        self.table().log_ratio(x / self.scale, tau / self.scale)
    }

    /// Piece by piece, ln r and ln z being linear there: Gauss–Legendre of I_k − 1 where r^k is moderate, the exact integral of z·r^k where
    /// it is not, and beyond the last knots, where r is constant, the exact masses.
    fn log_moments(&self, tau: f64, out: &mut [f64]) {
        let table = self.table();
        let t = (tau / self.scale).abs();
        if t == 0.0 || out.is_empty() {
            out.fill(0.0);
            return;
        }
        if !t.is_finite() {
            out.fill(f64::INFINITY);
            return;
        }
        let (last, far) = (table.knots.len() - 1, table.knots[table.knots.len() - 1]);
        let steep = -table.slopes[last];
        // Beyond far + τ, r = e^{steep·τ}; below −far, its inverse.
        let ends = [
            Node { log_ratio: steep * t, log_weight: table.tails[last].ln() - steep * t },
            Node { log_ratio: -steep * t, log_weight: table.tails[last].ln() },
        ];
        let pieces = table.pieces(t);
        debug_assert!(pieces.last().is_some_and(|p| p[0] + p[1] >= far));
        let highest = pieces.iter().flat_map(|p| [p[4], p[4] + p[5] * p[1]]).fold(ends[0].log_ratio, f64::max);
        let linear = ((400.0 / highest).min(1e6) as usize).saturating_sub(1).min(out.len());
        if linear > 0 {
            let mut nodes = Vec::new();
            for &[_, width, z, z_slope, rho, slope] in &pieces {
                let variation = ((linear + 1) as f64 * slope.abs() + z_slope.abs()) * width;
                // A rule of n points on e^{±V/2} errs by less than (V/4)^{2n}/(2n)!.
                let parts = (variation / 6.0).ceil().clamp(1.0, 1e5);
                let points = if variation < 0.15 {
                    4
                } else if variation < 2.0 {
                    8
                } else {
                    16
                };
                let part = width / parts;
                for p in 0..parts as usize {
                    for &(y, weight) in gauss_legendre(points) {
                        let u = part * (p as f64 + 0.5 * (1.0 + y));
                        nodes.push(Node {
                            log_ratio: rho + slope * u,
                            log_weight: z + z_slope * u + (0.5 * weight * part).ln(),
                        });
                    }
                }
            }
            nodes.extend(ends.iter().map(|n| Node { ..*n }));
            let mut sums = Sums::linear(linear);
            sums.add(&nodes);
            sums.log_moments(1.0, &mut out[..linear]);
        }
        let mut logs = Vec::with_capacity(pieces.len() + 2);
        for (j, value) in out.iter_mut().enumerate().skip(linear) {
            let k = (j + 2) as f64;
            logs.clear();
            logs.extend(ends.iter().map(|n| k * n.log_ratio + n.log_weight));
            logs.extend(pieces.iter().map(|&[_, width, z, z_slope, rho, slope]| {
                let rise = (k * slope + z_slope) * width;
                let start = k * rho + z + if rise > 0.0 { rise } else { 0.0 };
                let fall = rise.abs();
                let share = if fall < 1e-8 { -0.5 * fall } else { (-(-fall).exp_m1() / fall).ln() };
                start + width.ln() + share
            }));
            *value = log_sum_exp(&logs);
        }
        for value in out {
            *value *= 1.0 + 1e-12;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::noise::Laplace;

    /// A table of two points is the Laplace distribution.
    #[test]
    fn two_points_are_laplace() {
        let density = CustomDensity::from_points("Laplace", &[(0.0, 1.0), (1.0, (-1.0f64).exp())]).unwrap();
        let custom = Custom::new(density, 0.7).unwrap();
        let laplace = Laplace::new(0.7).unwrap();
        for x in [0.0, 1e-3, 0.3, 1.0, 20.0] {
            assert!((custom.log_density(x) - laplace.log_density(x)).abs() < 1e-13);
            assert!((custom.tail(x) / laplace.tail(x) - 1.0).abs() < 1e-12, "{x}");
        }
        for q in [1e-12, 0.01, 0.3, 0.5] {
            assert!((custom.tail_quantile(q) - laplace.tail_quantile(q)).abs() < 1e-12, "{q}");
        }
        assert!((custom.mean_absolute() / 0.7 - 1.0).abs() < 1e-13);
        assert!((custom.standard_deviation() / laplace.standard_deviation() - 1.0).abs() < 1e-13);
        assert!((custom.fisher_information() / laplace.fisher_information() - 1.0).abs() < 1e-13);
        for tau in [1e-6, 1e-3, 0.1, 1.0, 7.0] {
            let (mut a, mut b) = (vec![0.0; 255], vec![0.0; 255]);
            custom.log_moments(tau, &mut a);
            laplace.log_moments(tau, &mut b);
            for (k, (x, y)) in a.iter().zip(&b).enumerate() {
                assert!((x / y - 1.0).abs() < 1e-10, "k = {}, τ = {tau}: {x} {y}", k + 2);
            }
        }
    }

    #[test]
    fn bad_densities_are_refused_with_the_place() {
        let refuse = |points: &[(f64, f64)]| CustomDensity::from_points("test", points).unwrap_err();
        assert!(matches!(refuse(&[(0.0, 1.0), (1.0, 0.5), (2.0, 0.6)]), DensityError::NotUnimodal { x: 2.0, .. }));
        assert!(matches!(refuse(&[(0.0, 1.0), (1.0, 0.5), (-1.0, 0.4)]), DensityError::NotSymmetric { x: 1.0, .. }));
        assert!(matches!(refuse(&[(0.0, 1.0), (1.0, 0.0)]), DensityError::NotPositive { x: 1.0, .. }));
        assert!(matches!(refuse(&[(0.0, 1.0), (1.0, 0.5), (2.0, 0.5)]), DensityError::NotIntegrable { x: 2.0 }));
        assert!(matches!(refuse(&[(0.0, 1.0), (f64::NAN, 0.5)]), DensityError::Position(_)));
        assert_eq!(refuse(&[(0.0, 1.0)]), DensityError::Points(1));
        let f = |f: fn(f64) -> f64| CustomDensity::from_function("test", |x| Ok(f(x))).unwrap_err();
        assert!(matches!(f(|x| 1.0 / (1.0 + x.abs())), DensityError::NotIntegrable { .. }));
        assert!(matches!(
            f(|x| (-(x - 0.1) * (x - 0.1)).exp()),
            DensityError::NotSymmetric { .. } | DensityError::NotUnimodal { .. }
        ));
        assert!(matches!(f(|x| (-x * x).exp() * (1.0 + 2.0 * x.powi(4))), DensityError::NotUnimodal { .. }));
        assert!(matches!(f(|x| if x.abs() < 1.0 { 1.0 } else { 0.0 }), DensityError::NotPositive { .. }));
        assert!(matches!(f(|_| f64::NAN), DensityError::NotPositive { .. }));
    }

    /// A table of a few bytes whose quadrature would take minutes.
    #[test]
    fn densities_that_fall_beyond_all_numbers_are_refused() {
        let read = |end: f64| {
            let json = serde_json::json!({ "source": "steep", "knots": [0.0, 1.0], "log-densities": [0.0, end] });
            serde_json::from_value::<CustomDensity>(json)
        };
        assert!(read(-999_999.0).unwrap_err().to_string().contains("at x = 1 is 0"));
        assert!(read(-1500.0).is_ok());
        // The steepest that numbers can say.
        let steep = CustomDensity::from_points("steep", &[(0.0, f64::MAX), (1.0, f64::MIN_POSITIVE)]).unwrap();
        assert!(Custom::new(steep, 1.0).unwrap().log_moment(256, 1e-6) > 0.0);
    }

    #[test]
    fn formulas_become_tables() {
        let density = CustomDensity::from_formula("exp(-abs(x)^3)").unwrap();
        let noise = Custom::new(density.clone(), 1.0).unwrap();
        let exact = crate::privacy::noise::GeneralizedGaussian::new(3.0, 1.0).unwrap();
        assert!((noise.standard_deviation() / exact.standard_deviation() - 1.0).abs() < 1e-2);
        let json = serde_json::to_string(&density).unwrap();
        assert_eq!(serde_json::from_str::<CustomDensity>(&json).unwrap(), density);
        for bad in ["exp(-y)", "exp(", "x+*", "", "1", "exp(-abs(x)) + 0*z"] {
            assert!(CustomDensity::from_formula(bad).is_err(), "{bad}");
        }
    }
}
