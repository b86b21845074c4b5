//! Computes what a figure shows from finished runs.

use std::collections::BTreeMap;

use hushgrad::{
    accounting::{
        noise::NoiseSpec,
        rdp::{RdpAccountant, RdpCurve},
    },
    data::Dataset,
    train::{config::RunConfig, plan::Plan},
};

use super::{
    Measured, Setup,
    charts::{Mark, Panel, Rows, Series, Values},
    rates::Tuned,
    table::{Cell, EQUAL, Figure, METHODS, Method, Rate, View},
    trial::{Fault, Point, Trial},
    vectors::{self, Distance, Spectrum},
};

/// The values of ε in Figure 3.
const BUDGETS: [f64; 12] = [0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0, 3.5];

/// Accuracies whose ε the headline states; 96 and 96.1 % are the paper's.
const GOALS: [f64; 7] = [0.9, 0.92, 0.94, 0.95, 0.955, 0.96, 0.961];

/// ε of runs with the system's randomness, by the classic conversion as in the paper.
#[derive(Default)]
pub struct Prices {
    /// By a step's settings: its RDP curve, and ε by number of steps.
    known: BTreeMap<String, (RdpCurve, BTreeMap<u64, f64>)>,
}

impl Prices {
    /// Returns ε after `steps` steps: 0 before the first, `None` for a run without privacy.
    ///
    /// # Errors
    /// If the accountant fails.
    pub fn epsilon(&mut self, config: &RunConfig, train: &Dataset, steps: u64) -> Result<Option<f64>, Fault> {
        if config.noise.is_none() || steps == 0 {
            return Ok(config.noise.as_ref().map(|_| 0.0));
        }
        let key = serde_json::to_string(&(config.model, &config.encoder, &config.noise, config.lot, config.delta))?;
        if !self.known.contains_key(&key) {
            let plan = Plan::new(RunConfig { replay: None, ..config.clone() }, train.len() as u32)?;
            self.known.insert(key.clone(), (plan.priced?.1, BTreeMap::new()));
        }
        let Some((curve, spent)) = self.known.get_mut(&key) else { return Ok(None) };
        if let Some(&epsilon) = spent.get(&steps) {
            return Ok(Some(epsilon));
        }
        let mut accountant = RdpAccountant::new();
        let id = accountant.add_curve(curve.clone())?;
        accountant.compose(id, steps);
        let epsilon = accountant.epsilon(config.delta)?.classic.epsilon;
        spent.insert(steps, epsilon);
        Ok(Some(epsilon))
    }
}

/// The inputs of all views.
pub struct Origin<'a> {
    pub setup: &'a Setup,
    pub train: &'a Dataset,
    pub rates: &'a BTreeMap<&'static str, Tuned>,
    /// Returns the result of a finished run.
    pub measured: &'a dyn Fn(&Trial) -> Option<Measured>,
    pub prices: &'a mut Prices,
}

impl Origin<'_> {
    /// Returns the panels of a figure, from finished runs.
    ///
    /// # Errors
    /// If the accountant fails.
    pub fn panels(&mut self, figure: &Figure) -> Result<Vec<Panel>, Fault> {
        match figure.view {
            View::Gradients => Ok(self.gradients(figure)),
            View::Distances => Ok(self.distances(figure)),
            View::BestByEpsilon => Ok(vec![self.best(figure)?]),
            _ => {
                let mut panels =
                    figure.rates.iter().map(|&rate| self.curves(figure, rate)).collect::<Result<Vec<_>, _>>()?;
                if let (View::AccuracyBySpent, [curves]) = (figure.view, &panels[..]) {
                    panels.extend(reached(curves));
                }
                Ok(panels)
            }
        }
    }

    fn panel(&self, figure: &Figure, rate: Rate) -> Panel {
        let several = figure.rates.len() > 1;
        let (key, title) = if several {
            (format!("figure-{}-{}", figure.key, rate.key()), format!("{}; {}", figure.title, rate.label()))
        } else {
            (format!("figure-{}", figure.key), figure.title.to_owned())
        };
        let (x, y, values) = match figure.view {
            View::AccuracyByStep => ("step", "accuracy", Values::Accuracies),
            View::AccuracyBySpent => ("ε (classic)", "accuracy", Values::Accuracies),
            View::LossByEpoch => ("epoch", "training loss", Values::Logarithmic),
            _ => ("ε (classic)", "accuracy", Values::Shares),
        };
        let rows = match figure.view {
            View::AccuracyByEpsilon | View::BestByEpsilon => Rows::All,
            _ => Rows::Ends,
        };
        Panel { key, title, x, y, values, rows, series: vec![] }
    }

    /// Returns the curves of all methods, for one choice of rates.
    fn curves(&mut self, figure: &Figure, rate: Rate) -> Result<Panel, Fault> {
        let mut panel = self.panel(figure, rate);
        for method in figure.methods() {
            let mut marks = vec![];
            for &scale in figure.scales {
                marks.extend(self.marks(figure, Cell { method, scale: method.scales[scale], rate })?);
            }
            marks.sort_by(|a, b| a.x.total_cmp(&b.x));
            let tuned = self.rates.get(rate.owner(method).key).map(Tuned::rate);
            panel.series.push(Series { name: method.label.to_owned(), rate: tuned, colour: colour(method), marks });
        }
        Ok(panel)
    }

    /// Returns the results of a cell's runs, in the figure's units.
    fn marks(&mut self, figure: &Figure, cell: Cell) -> Result<Vec<Mark>, Fault> {
        let Some(trials) = self.setup.trials(figure, cell, self.rates, self.train.len()) else { return Ok(vec![]) };
        let runs: Vec<Vec<Point>> = trials.iter().filter_map(|trial| self.points(trial)).collect();
        let (Some(first), Some(trial)) = (runs.first(), trials.first()) else { return Ok(vec![]) };
        let per_epoch = self.train.len() as f64 / f64::from(trial.config.lot);
        let mut marks = vec![];
        for (i, Point { step, .. }) in first.iter().enumerate() {
            if figure.view == View::AccuracyByEpsilon && i + 1 < first.len() {
                continue;
            }
            let x = match figure.view {
                View::AccuracyByStep => *step as f64,
                View::LossByEpoch => *step as f64 / per_epoch,
                _ => self.prices.epsilon(&trial.config, self.train, *step)?.unwrap_or(f64::NAN),
            };
            let value = |point: &Point| if figure.view == View::LossByEpoch { point.loss } else { point.accuracy };
            let values: Vec<f64> = runs.iter().filter_map(|points| points.get(i)).map(value).collect();
            marks.extend(Mark::of(x, &values));
        }
        Ok(marks)
    }

    fn points(&self, trial: &Trial) -> Option<Vec<Point>> {
        match (self.measured)(trial) {
            Some(Measured::Curve(points)) => Some(points),
            _ => None,
        }
    }

    /// For each ε, chooses noise scale, length and rate by held-out accuracy, among those that cost
    /// no more, and shows the test accuracy of that choice. Test images choose nothing.
    fn best(&mut self, figure: &Figure) -> Result<Panel, Fault> {
        let mut panel = self.panel(figure, Rate::Own);
        for method in figure.methods() {
            // ε, held-out accuracy, test accuracies.
            let mut candidates: Vec<(f64, f64, Vec<f64>)> = vec![];
            for cell in figure.cells(self.setup.as_published).into_iter().filter(|cell| cell.method.key == method.key) {
                let Some(trials) = self.setup.trials(figure, cell, self.rates, self.train.len()) else { continue };
                let Some(held) = self.setup.held_out(figure, cell, self.rates, self.train.len()) else { continue };
                let runs: Vec<Vec<Point>> = trials.iter().filter_map(|trial| self.points(trial)).collect();
                let (Some(held), Some(first)) = (self.points(&held), runs.first()) else { continue };
                // Matched by epoch: with fewer training images, its step differs.
                for (i, point) in first.iter().enumerate().skip(1) {
                    let spent = self.prices.epsilon(&trials[0].config, self.train, point.step)?;
                    let values = runs.iter().filter_map(|points| points.get(i)).map(|point| point.accuracy).collect();
                    if let (Some(epsilon), Some(held)) = (spent, held.get(i)) {
                        candidates.push((epsilon, held.accuracy, values));
                    }
                }
            }
            let best = |budget: f64| {
                let within = candidates.iter().filter(|candidate| candidate.0 <= budget);
                within.max_by(|a, b| a.1.total_cmp(&b.1)).and_then(|best| Mark::of(budget, &best.2))
            };
            let marks = BUDGETS.into_iter().filter_map(best).collect();
            let rate = self.rates.get(Rate::Own.owner(method).key).map(Tuned::rate);
            panel.series.push(Series { name: method.label.to_owned(), rate, colour: colour(method), marks });
        }
        Ok(panel)
    }

    fn gradients(&self, figure: &Figure) -> Vec<Panel> {
        let spectra: Vec<Spectrum> = match self.vectors(figure) {
            Some(Measured::Gradients(spectra)) => spectra,
            _ => vec![],
        };
        let rate = self.rates.get(figure.methods[0]).map(Tuned::rate);
        let panel = |key: &str, title: &str, x, y, values, series| Panel {
            key: format!("figure-{}{key}", figure.key),
            title: format!("{}{title}", figure.title),
            x,
            y,
            values,
            rows: Rows::All,
            series,
        };
        let shares = |(i, spectrum): (usize, &Spectrum)| {
            let middle = |bin: usize| vectors::LOWEST + vectors::WIDTH * (bin as f64 + 0.5);
            let marks = spectrum.shares.iter().enumerate();
            Series {
                name: format!("after step {}", spectrum.step),
                rate,
                colour: [7, 5, 3, 1, 0][i % 5],
                marks: marks.map(|(bin, &mean)| Mark { x: middle(bin), mean, deviation: 0.0, runs: 1 }).collect(),
            }
        };
        let by_step = |name: &str, value: fn(&Spectrum) -> f64| Series {
            name: name.to_owned(),
            rate,
            colour: 0,
            marks: spectra.iter().filter_map(|s| Mark::of(s.step as f64, &[value(s)])).collect(),
        };
        let all = spectra.iter().enumerate().map(shares).collect();
        let cosine = vec![by_step("cosine with a sorted |N(0, 1)| vector", |s| s.cosine)];
        let zeros = vec![by_step("coordinates below 1e-8", |s| s.zeros)];
        let norm = vec![by_step("mean L2 norm of a gradient", |s| s.norm)];
        vec![
            Panel {
                rows: Rows::None,
                ..panel("", "", "log₁₀ |coordinate|", "share of coordinates", Values::Shares, all)
            },
            panel("-cosine", ": how well |N(0, 1)| fits", "step", "cosine", Values::Numbers, cosine),
            panel("-zeros", ": coordinates that are zero", "step", "share", Values::Shares, zeros),
            panel("-norm", ": length", "step", "norm", Values::Numbers, norm),
        ]
    }

    fn distances(&self, figure: &Figure) -> Vec<Panel> {
        let found: Vec<Distance> = match self.vectors(figure) {
            Some(Measured::Distances(found)) => found,
            _ => vec![],
        };
        let rate = self.rates.get(figure.methods[0]).map(Tuned::rate);
        let panel = |key: &str, title: &str, of: fn(&Distance) -> &Vec<f64>, to_gaussian: bool| {
            let series = vectors::families().into_iter().enumerate().map(|(i, (name, family))| {
                let own = found.iter().filter(|distance| distance.noise.family() == family.family());
                let gaussian = |divergence: f64| {
                    let mut all = found.iter().filter(|other| other.divergence == divergence);
                    all.find(|other| matches!(other.noise, NoiseSpec::Gaussian { .. })).map(of)
                };
                let mark = |distance: &Distance| {
                    let values = of(distance).clone();
                    if !to_gaussian {
                        return Mark::of(distance.divergence, &values);
                    }
                    // Per draw, because the lots are the same.
                    let pairs = values.iter().zip(gaussian(distance.divergence)?);
                    Mark::of(distance.divergence, &pairs.map(|(value, base)| value / base).collect::<Vec<_>>())
                };
                let marks = own.filter_map(mark).collect();
                Series { name: name.to_owned(), rate, colour: [0, 1, 5, 3, 7][i % 5], marks }
            });
            Panel {
                key: format!("figure-{}{key}", figure.key),
                title: format!("{}{title}", figure.title),
                x: "D₂ of one release",
                y: if to_gaussian { "distance ÷ the Gaussian's" } else { "mean |difference| of a coordinate" },
                values: Values::Numbers,
                rows: Rows::All,
                series: series.collect(),
            }
        };
        vec![
            panel("", "", |distance| &distance.from_raw, false),
            panel("-ratio", ", against Gaussian noise", |distance| &distance.from_raw, true),
            panel("-noise", ", against Gaussian noise, from the encoded sum", |distance| &distance.from_encoded, true),
        ]
    }

    fn vectors(&self, figure: &Figure) -> Option<Measured> {
        let trial = self.setup.vectors_trial(figure, self.rates, self.train.len())?;
        (self.measured)(&trial)
    }
}

/// ε when the mean accuracy first reached each goal; `None` if no curve reaches the lowest.
fn reached(curves: &Panel) -> Option<Panel> {
    let of = |series: &Series| {
        let first = |&goal: &f64| {
            let mark = series.marks.iter().find(|mark| mark.mean >= goal)?;
            Some(Mark { x: 100.0 * goal, mean: mark.x, deviation: 0.0, runs: mark.runs })
        };
        Series { marks: GOALS.iter().filter_map(first).collect(), ..series.clone() }
    };
    let series: Vec<Series> = curves.series.iter().map(of).collect();
    series.iter().any(|series| !series.marks.is_empty()).then(|| Panel {
        key: format!("{}-reached", curves.key),
        title: format!("{}; spent when the mean accuracy first reached", curves.title),
        x: "accuracy, %",
        y: "ε (classic)",
        values: Values::Numbers,
        rows: Rows::All,
        series,
    })
}

fn colour(method: &Method) -> usize {
    // Not the colour of the method whose runs it shares.
    if let Some(key) = method.read_anew {
        return 3 + 2 * METHODS.iter().position(|other| other.key == key).unwrap_or(0);
    }
    METHODS.iter().position(|other| other.key == method.key).unwrap_or(0)
}

/// Table of a figure's tuned rates, one row per method.
pub fn rates_table(figure: &Figure, rates: &BTreeMap<&'static str, Tuned>) -> String {
    let mut out = String::from(
        "| tuned | noise scale | rates tried | best | held-out accuracy |\n| --- | ---: | ---: | ---: | ---: |\n",
    );
    for method in figure.tuned() {
        let Some(tuned) = rates.get(method.key) else { continue };
        let ends = (tuned.tried.keys().next(), tuned.tried.keys().next_back());
        let (low, high) = (ends.0.copied().unwrap_or(0), ends.1.copied().unwrap_or(0));
        let scale = if method.noise(1.0).is_some() { method.scales[EQUAL].to_string() } else { "–".to_owned() };
        out.push_str(&format!(
            "| {} | {scale} | {} to {} | {} | {:.2} % |\n",
            method.label,
            super::rates::rate(low),
            super::rates::rate(high),
            tuned.rate(),
            100.0 * tuned.best().1
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goal_costs_the_epsilon_at_which_it_was_first_reached() {
        let mark = |x, mean| Mark { x, mean, deviation: 0.01, runs: 3 };
        let series = |marks| Series { name: "a".to_owned(), rate: None, colour: 0, marks };
        let curves = |series| Panel {
            key: "figure-headline".to_owned(),
            title: "Headline".to_owned(),
            x: "ε",
            y: "accuracy",
            values: Values::Shares,
            rows: Rows::Ends,
            series,
        };
        let high = series(vec![mark(0.0, 0.1), mark(1.0, 0.93), mark(2.0, 0.91), mark(3.0, 0.96)]);
        let low = series(vec![mark(0.0, 0.1), mark(9.0, 0.2)]);
        let panel = reached(&curves(vec![high, low.clone()])).unwrap();
        let prices: Vec<(f64, f64)> = panel.series[0].marks.iter().map(|mark| (mark.x, mark.mean)).collect();
        assert_eq!(prices, [(90.0, 1.0), (92.0, 1.0), (94.0, 3.0), (95.0, 3.0), (95.5, 3.0), (96.0, 3.0)]);
        assert!(panel.series[1].marks.is_empty());
        assert!(reached(&curves(vec![low])).is_none());
    }
}
