//! A custom noise density: a table in a file, or a formula.

use std::path::{Path, PathBuf};

use hushgrad::accounting::noise::{CustomDensity, DensityError};

use super::given::{self, GivenError};

#[derive(clap::Args)]
pub struct OwnDensity {
    /// Noise with the density in this CSV file: lines `x,z(x)`, normalised or not, symmetric about
    /// 0 (x < 0 may be left out) and falling away from 0
    #[arg(long, value_name = "FILE", conflicts_with = "noise_formula")]
    noise_table: Option<PathBuf>,
    /// Noise with this density, a formula in x such as "exp(-abs(x)^1.5)"
    #[arg(long, value_name = "FORMULA")]
    noise_formula: Option<String>,
}

/// Why a density cannot be used, and where it fails.
#[derive(Debug, thiserror::Error)]
pub enum OwnDensityError {
    #[error(transparent)]
    File(#[from] GivenError),
    #[error("{path}, line {line}: “{text}” must be two numbers, x and the density there, separated by a comma")]
    Line { path: PathBuf, line: usize, text: String },
    #[error("{path}, line {line}: {error}")]
    Density { path: PathBuf, line: usize, error: DensityError },
    #[error("{path}: {error}")]
    Whole { path: PathBuf, error: DensityError },
    #[error("--noise-formula: {0}")]
    Formula(DensityError),
}

impl OwnDensity {
    /// Returns the requested density, if any.
    ///
    /// # Errors
    /// The wrong line, or what is wrong with the density and where.
    pub fn density(&self) -> Result<Option<CustomDensity>, OwnDensityError> {
        match (&self.noise_table, &self.noise_formula) {
            (Some(path), _) => {
                let text = given::text(path, given::TEXT)?;
                table(path, &text).map(Some)
            }
            (None, Some(formula)) => CustomDensity::from_formula(formula).map(Some).map_err(OwnDensityError::Formula),
            (None, None) => Ok(None),
        }
    }
}

/// Parses lines of x and z(x). Skips a heading, blank lines and lines that begin with #.
fn table(path: &Path, text: &str) -> Result<CustomDensity, OwnDensityError> {
    let path = || path.to_owned();
    let mut points = Vec::new();
    let mut lines = Vec::new();
    let written = text.trim_start_matches('\u{feff}').lines().zip(1..).map(|(line, number)| (line.trim(), number));
    for (i, (line, number)) in written.filter(|(line, _)| !line.is_empty() && !line.starts_with('#')).enumerate() {
        let columns: Vec<Option<f64>> = line.split([',', ';', '\t']).map(|column| column.trim().parse().ok()).collect();
        match columns.as_slice() {
            [Some(x), Some(density)] => {
                points.push((*x, *density));
                lines.push(number);
            }
            [None, None] if i == 0 => {}
            _ => {
                return Err(OwnDensityError::Line {
                    path: path(),
                    line: number,
                    text: line.chars().take(60).collect(),
                });
            }
        }
    }
    let source = path().file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    CustomDensity::from_points(&source, &points).map_err(|error| {
        // Takes the last line with this |x|: of two, the one that repeats or contradicts the other.
        let line = place(&error).and_then(|x| points.iter().rposition(|p| p.0.abs().to_bits() == x.abs().to_bits()));
        match line {
            Some(line) => OwnDensityError::Density { path: path(), line: lines[line], error },
            None => OwnDensityError::Whole { path: path(), error },
        }
    })
}

/// The x at which a density fails, if there is a single one.
fn place(error: &DensityError) -> Option<f64> {
    match error {
        DensityError::NotPositive { x, .. }
        | DensityError::Position(x)
        | DensityError::NotSymmetric { x, .. }
        | DensityError::NotUnimodal { x, .. }
        | DensityError::NotIntegrable { x } => Some(*x),
        DensityError::Points(_) | DensityError::Formula(_) => None,
    }
}
