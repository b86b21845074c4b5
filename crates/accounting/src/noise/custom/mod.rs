//! User-supplied noise: a table of a symmetric unimodal density, or a formula that fills one.
//!
//! ln z is linear between knots and continues with the last slope. That *is* the noise: draws and
//! prices use this table, so privacy does not depend on how well it follows a formula.

mod ceiling;
mod density;
mod error;
mod line;
mod scaled;
mod table;

pub use density::CustomDensity;
pub use error::DensityError;
pub use scaled::Custom;

use super::{Noise, Smoothness};

impl Noise for Custom {
    fn log_density(&self, x: f64) -> f64 {
        self.table().log_density((x / self.scale).abs()) - self.scale.ln()
    }

    fn survival(&self, x: f64) -> f64 {
        self.table().survival(x / self.scale)
    }

    fn survival_quantile(&self, q: f64) -> f64 {
        self.scale * self.table().survival_quantile(q)
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
        self.table().information() / (self.scale * self.scale)
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

    fn log_moments(&self, tau: f64, out: &mut [f64]) {
        self.moments((tau / self.scale).abs(), out);
    }

    fn l2_ceiling(&self, norm: f64, reach: f64, orders: usize) -> Option<Vec<f64>> {
        Some(ceiling::supremum(self, norm, reach, orders))
    }

    fn excess_over(
        &self,
        range: (f64, f64),
        unit: f64,
        orders: usize,
        floor: &dyn Fn(f64, f64) -> Vec<f64>,
    ) -> Vec<f64> {
        ceiling::excess_over(self, range, unit, orders, floor)
    }

    fn hidden_below(&self, shift: f64, orders: usize) -> f64 {
        ceiling::hidden_below(self, shift, orders)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Laplace;

    #[test]
    fn two_points_are_laplace() {
        let density = CustomDensity::from_points("Laplace", &[(0.0, 1.0), (1.0, (-1.0f64).exp())]).unwrap();
        let custom = Custom::new(density, 0.7).unwrap();
        let laplace = Laplace::new(0.7).unwrap();
        for x in [0.0, 1e-3, 0.3, 1.0, 20.0] {
            assert!((custom.log_density(x) - laplace.log_density(x)).abs() < 1e-13);
            assert!((custom.survival(x) / laplace.survival(x) - 1.0).abs() < 1e-12, "{x}");
        }
        for q in [1e-12, 0.01, 0.3, 0.5] {
            assert!((custom.survival_quantile(q) - laplace.survival_quantile(q)).abs() < 1e-12, "{q}");
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

    /// P(X > survival_quantile(q)) = q to the last digits, far out and on wide intervals too.
    #[test]
    fn quantiles_keep_their_digits_in_the_tail() {
        // 1/cosh with a knot every 40, and one interval of 600 before the last.
        for points in [
            vec![(0.0, 0.0), (40.0, -39.0), (80.0, -79.0), (81.0, -80.5)],
            vec![(0.0, 0.0), (0.5, -0.1), (600.0, -600.0), (600.5, -602.0)],
            vec![(0.0, 0.0), (1.0, -1e-12), (2.0, -2.0), (2.5, -90.0)],
        ] {
            let points: Vec<(f64, f64)> = points.into_iter().map(|(x, log): (f64, f64)| (x, log.exp())).collect();
            let noise = Custom::new(CustomDensity::from_points("few knots", &points).unwrap(), 1.0).unwrap();
            for exponent in 1..240 {
                let q = 0.5 * 10f64.powf(-0.5 * f64::from(exponent));
                let x = noise.survival_quantile(q);
                // The effect of an error of half an ulp of x.
                let allowed = 1e-12 + 4.0 * f64::EPSILON * x * 180.0;
                assert!((noise.survival(x) / q - 1.0).abs() < allowed, "{q:e}: {x} has {:e}", noise.survival(x));
            }
        }
    }

    /// However small the shift: ln I_k → k(k−1)/2·J·τ².
    #[test]
    fn small_shifts_keep_their_digits() {
        let fine: Vec<(f64, f64)> = (0..2000)
            .map(|i| 0.02 * f64::from(i))
            .map(|x| (x, (-0.5 * x * x).exp().max(1e-300)))
            .filter(|p| p.1 > 1e-290)
            .collect();
        for density in [
            CustomDensity::from_points("fine", &fine).unwrap(),
            CustomDensity::from_points("coarse", &[(0.0, 1.0), (1.0, 0.9), (3.0, 0.02)]).unwrap(),
        ] {
            let noise = Custom::new(density, 0.7).unwrap();
            for tau in [1e-13, 1e-10, 1e-8] {
                for k in [2u32, 7, 64] {
                    let limit = 0.5 * f64::from(k * (k - 1)) * noise.fisher_information() * tau * tau;
                    let ratio = noise.log_moment(k, tau) / limit;
                    assert!((ratio - 1.0).abs() < 1e-9 + 1e3 * tau, "k = {k}, τ = {tau}: {ratio}");
                }
            }
        }
    }

    /// The pieces tile the line between the last knots, and `ends` are ln r and ln z there.
    #[test]
    fn pieces_tile_the_line() {
        let table = |n: u32| (0..n).map(|i| 0.37 * f64::from(i)).map(|x| (x, (-x.powf(1.4)).exp())).collect::<Vec<_>>();
        for (points, tau) in [(2, 0.37), (2, 0.1), (9, 0.37), (9, 1.0), (9, 40.0), (40, 0.74), (40, 1e-5)] {
            let density = CustomDensity::from_points("test", &table(points)).unwrap();
            let table = density.0.as_ref();
            let far = table.knots[table.knots.len() - 1];
            let mut x = -far;
            for piece in table.pieces(tau) {
                for (at, (log_ratio, log_density)) in
                    [x + 1e-9 * piece.width, x + piece.width].into_iter().zip(piece.ends())
                {
                    let (z, shifted) = (table.log_density(at.abs()), table.log_density((at - tau).abs()));
                    assert!(
                        (log_density - z).abs() < 1e-6 && (log_ratio - (shifted - z)).abs() < 1e-6,
                        "{points} {tau} at {at}"
                    );
                }
                x += piece.width;
            }
            assert!((x - (far + tau)).abs() < 1e-9, "{points} {tau}: {x}");
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
        // Everything but the peak is below the smallest ratio sampled.
        assert_eq!(f(|x| (-5.09e22 * x.abs()).exp()), DensityError::Points(1));
    }

    /// A table of a few bytes whose quadrature would take minutes.
    #[test]
    fn densities_that_underflow_are_refused() {
        let read = |end: f64| {
            let json = serde_json::json!({ "source": "steep", "knots": [0.0, 1.0], "log-densities": [0.0, end] });
            serde_json::from_value::<CustomDensity>(json)
        };
        assert!(read(-999_999.0).unwrap_err().to_string().contains("at x = 1 is 0"));
        assert!(read(-1500.0).is_ok());
        // As steep as f64 values can express.
        let steep = CustomDensity::from_points("steep", &[(0.0, f64::MAX), (1.0, f64::MIN_POSITIVE)]).unwrap();
        assert!(Custom::new(steep, 1.0).unwrap().log_moment(256, 1e-6) > 0.0);
    }

    /// With few knots, a table is within its tolerance at the samples and little beyond it between.
    #[test]
    fn tables_follow_their_formulas() {
        type Formula = fn(f64) -> f64;
        let formulas: [(&str, Formula, usize); 7] = [
            ("1/cosh(x)", |x| -x.cosh().ln(), 40),
            ("exp(-x^2/2)", |x| -0.5 * x * x, 90),
            ("exp(-x^4)", |x| -x.powi(4), 180),
            ("exp(-sqrt(abs(x)))", |x| -x.sqrt(), 120),
            ("exp(-abs(x))", |x| -x, 3),
            ("1/(1+x^4)", |x| -x.powi(4).ln_1p(), 260),
            // A shoulder.
            ("exp(-x^8)+0.001*exp(-abs(x))", |x| ((-x.powi(8)).exp() + 1e-3 * (-x).exp()).ln() - 1.001f64.ln(), 180),
        ];
        for (formula, log, most) in formulas {
            let density = CustomDensity::from_formula(formula).unwrap();
            let table = density.0.as_ref();
            assert!(table.knots.len() <= most, "{formula}: {} knots", table.knots.len());
            let last = table.knots.len() - 1;
            let mut worst = 0.0f64;
            for step in 1..20_000 {
                // Below the first sample, a cusp is cut off.
                let x = 0.01 + table.knots[last] * f64::from(step) / 20_000.0;
                let error = table.log_density(x) - table.log_densities[0] - log(x);
                worst = worst.max(error.abs() / (1.0 - log(x)));
            }
            assert!(worst < 2e-3, "{formula}: {worst}");
        }
    }

    #[test]
    fn formulas_become_tables() {
        let density = CustomDensity::from_formula("exp(-abs(x)^3)").unwrap();
        let noise = Custom::new(density.clone(), 1.0).unwrap();
        let exact = crate::noise::GeneralizedGaussian::new(3.0, 1.0).unwrap();
        assert!((noise.standard_deviation() / exact.standard_deviation() - 1.0).abs() < 1e-2);
        let json = serde_json::to_string(&density).unwrap();
        assert_eq!(serde_json::from_str::<CustomDensity>(&json).unwrap(), density);
        for bad in ["exp(-y)", "exp(", "x+*", "", "1", "exp(-abs(x)) + 0*z"] {
            assert!(CustomDensity::from_formula(bad).is_err(), "{bad}");
        }
    }
}
