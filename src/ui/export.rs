//! Runs as files: one run whole (JSON), its curves (CSV), its model (safetensors).

use serde::{Deserialize, Serialize};

use super::{
    field::clipped,
    format,
    series::{Point, nearest},
};
use crate::{
    engine::EngineInfo,
    model::Architecture,
    train::{config::RunConfig, report::Report},
};

const FORMAT: &str = "hushgrad-run";
/// Version of [`RunFile`]; later ones are refused, since what they add may matter.
const VERSION: u32 = 1;
/// A larger file is not a run.
const LARGEST: usize = 16 << 20;

/// A run as a file: what was set, where it ran, what it came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunFile {
    pub format: String,
    pub version: u32,
    pub name: String,
    pub config: RunConfig,
    pub engine: EngineInfo,
    pub data: String,
    pub train: u32,
    pub test: u32,
    pub report: Report,
    /// Test accuracy where it was measured last.
    pub accuracy: Option<f64>,
    /// Step and value.
    pub accuracy_curve: Vec<Point>,
    pub improved_curve: Vec<Point>,
    pub classic_curve: Vec<Point>,
}

/// Why a file is not a run that can be shown.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunFileError {
    #[error("{name} is no run file: it is larger than any ({size})")]
    TooLarge { name: String, size: String },
    #[error("{name} is no run file of this page: {reason}")]
    Unreadable { name: String, reason: String },
    #[error("{name} was written by a later version of this page ({version}; this one reads {VERSION}); open it there")]
    Later { name: String, version: u32 },
    #[error("{name}: {field} is {value}, which no run can have; the file was changed by hand or damaged")]
    Impossible { name: String, field: &'static str, value: String },
}

impl RunFile {
    /// Stamps format and version on a run.
    #[expect(clippy::too_many_arguments, reason = "each is one field of the file")]
    #[must_use]
    pub fn new(
        name: String,
        config: RunConfig,
        engine: EngineInfo,
        data: String,
        (train, test): (u32, u32),
        report: Report,
        accuracy: Option<f64>,
        [accuracy_curve, improved_curve, classic_curve]: [Vec<Point>; 3],
    ) -> Self {
        let format = FORMAT.to_owned();
        Self {
            format,
            version: VERSION,
            name,
            config,
            engine,
            data,
            train,
            test,
            report,
            accuracy,
            accuracy_curve,
            improved_curve,
            classic_curve,
        }
    }

    /// The file.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Every field is a plain number, text or list, and none is a map with keys that JSON could refuse.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads a file of the name `name`.
    ///
    /// # Errors
    /// What is wrong with it, by name.
    pub fn from_json(name: &str, bytes: &[u8]) -> Result<Self, RunFileError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let name = clipped(name);
        let unreadable = |reason: String| RunFileError::Unreadable { name: name.clone(), reason };
        if bytes.len() > LARGEST {
            return Err(RunFileError::TooLarge { name, size: format::bytes(bytes.len() as u64) });
        }
        let head: Head = serde_json::from_slice(bytes).map_err(|error| unreadable(error.to_string()))?;
        if head.format != FORMAT {
            return Err(unreadable(format!("its format is “{}”", clipped(&head.format))));
        }
        if head.version > VERSION {
            return Err(RunFileError::Later { name, version: head.version });
        }
        let run: Self = serde_json::from_slice(bytes).map_err(|error| unreadable(error.to_string()))?;
        run.check(&name)?;
        Ok(run)
    }

    fn check(&self, name: &str) -> Result<(), RunFileError> {
        let fine = |field: &'static str, fine: bool, value: String| {
            if fine {
                Ok(())
            } else {
                Err(RunFileError::Impossible { name: name.to_owned(), field, value: clipped(&value) })
            }
        };
        if let Some(accuracy) = self.accuracy {
            fine("accuracy", (0.0..=1.0).contains(&accuracy), accuracy.to_string())?;
        }
        fine("train", self.train > 0, self.train.to_string())?;
        fine("lot", (1..=self.train).contains(&self.config.lot), self.config.lot.to_string())?;
        for (field, curve, most) in [
            ("accuracy-curve", &self.accuracy_curve, 1.0),
            ("improved-curve", &self.improved_curve, f64::MAX),
            ("classic-curve", &self.classic_curve, f64::MAX),
        ] {
            let ordered = curve.windows(2).all(|w| w[0].0 < w[1].0);
            let inside = curve.iter().all(|p| p.0 >= 0.0 && (0.0..=most).contains(&p.1));
            fine(field, ordered && inside, "out of order or out of range".to_owned())?;
        }
        Ok(())
    }
}

/// Curves as comma-separated values, a row for every step at which any of them has a point.
#[must_use]
pub fn csv(curves: [(&str, &[Point]); 3]) -> String {
    use std::fmt::Write;
    let mut steps: Vec<f64> = curves.iter().flat_map(|(_, points)| points.iter().map(|p| p.0)).collect();
    steps.sort_unstable_by(f64::total_cmp);
    steps.dedup();
    let mut out = format!("step,{}\n", curves.map(|(name, _)| name).join(","));
    for step in steps {
        // Writing into a string cannot fail.
        _ = write!(out, "{step}");
        for (_, points) in curves {
            let value = nearest(points, step).filter(|point| point.0 == step);
            _ = write!(out, ",{}", value.map_or_else(String::new, |point| point.1.to_string()));
        }
        out.push('\n');
    }
    out
}

/// A model's flat parameters as a safetensors file: a weight and a bias a layer, f32, little-endian.
#[must_use]
pub fn safetensors(model: Architecture, parameters: &[f32]) -> Vec<u8> {
    let mut entries = vec![r#""__metadata__":{"made-by":"hushgrad"}"#.to_owned()];
    for layer in model.layers() {
        let bias = layer.offset + layer.outputs * layer.fan_in;
        let tensors = [
            ("weight", format!("[{},{}]", layer.outputs, layer.fan_in), layer.offset, bias),
            ("bias", format!("[{}]", layer.outputs), bias, bias + layer.outputs),
        ];
        for (part, shape, from, to) in tensors {
            let name = layer.name;
            let (from, to) = (from * 4, to * 4);
            entries.push(format!(r#""{name}.{part}":{{"dtype":"F32","shape":{shape},"data_offsets":[{from},{to}]}}"#));
        }
    }
    let mut header = format!("{{{}}}", entries.join(","));
    while header.len() % 8 != 0 {
        header.push(' ');
    }
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.into_bytes());
    bytes.extend(parameters.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::Backend,
        train::report::{OrderedEpsilon, Privacy, PrivacyBound},
    };

    fn run() -> RunFile {
        let bound = OrderedEpsilon { epsilon: 0.731, order: 11.5 };
        let privacy = Privacy::Bounded(PrivacyBound {
            delta: 1e-5,
            classic: bound,
            improved: bound,
            assumptions: vec!["a".into()],
        });
        let report = Report {
            step: 12,
            epoch: 0.05,
            lot_size: 250,
            training_seconds: 0.1,
            examples_per_second: 1e4,
            learning_rate: 0.5,
            test_accuracy: Some(0.8),
            denoise_factor: 1.0,
            non_finite: 0,
            privacy,
            complete: false,
        };
        let engine = EngineInfo { backend: Backend::Cpu, device: "test".into() };
        let curves = [vec![(0.0, 0.1), (12.0, 0.8)], vec![(12.0, 0.731)], vec![(12.0, 0.731)]];
        RunFile::new(
            "a run".into(),
            RunConfig::default(),
            engine,
            "MNIST".into(),
            (60_000, 10_000),
            report,
            Some(0.8),
            curves,
        )
    }

    #[test]
    fn a_run_survives_its_file() {
        assert_eq!(RunFile::from_json("a.json", run().to_json().as_bytes()), Ok(run()));
    }

    #[test]
    fn bad_files_are_named() {
        let read = |text: &str| RunFile::from_json("a.json", text.as_bytes()).unwrap_err().to_string();
        let json = run().to_json();
        assert!(read("PK").starts_with("a.json is no run file of this page: "));
        assert!(read(&json.replace("hushgrad-run", "other")).contains("its format is “other”"));
        assert!(
            read(&json.replace("\"version\": 1", "\"version\": 7"))
                .contains("later version of this page (7; this one reads 1)")
        );
        assert!(
            read(&json.replace("\"accuracy\": 0.8", "\"accuracy\": 1.8"))
                .contains("accuracy is 1.8, which no run can have")
        );
        assert!(read(&json.replace("\"lot\": 256", "\"lot\": 0")).contains("lot is 0"));
        assert!(read(&json[..json.len() / 2]).contains("is no run file of this page"));
        assert!(
            RunFile::from_json("big", &vec![b' '; LARGEST + 1]).unwrap_err().to_string().contains("larger than any")
        );
    }

    #[test]
    fn curves_share_their_steps() {
        let text = csv([
            ("accuracy", &[(0.0, 0.1), (10.0, 0.5)]),
            ("improved", &[(10.0, 0.25), (20.0, 0.5)]),
            ("classic", &[]),
        ]);
        assert_eq!(text, "step,accuracy,improved,classic\n0,0.1,,\n10,0.5,0.25,\n20,,0.5,\n");
    }

    #[test]
    fn weights_are_laid_out_as_the_format_says() {
        for model in Architecture::ALL {
            let parameters: Vec<f32> = (0..model.parameters()).map(|i| i as f32).collect();
            let bytes = safetensors(model, &parameters);
            let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
            let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
            let data = &bytes[8 + length..];
            assert_eq!(data.len(), 4 * parameters.len());
            let mut covered = 0;
            for (name, tensor) in header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__") {
                let offsets: Vec<usize> =
                    tensor["data_offsets"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
                let size: u64 = tensor["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).product();
                assert_eq!(offsets[1] - offsets[0], size as usize * 4, "{name}");
                let first = f32::from_le_bytes(data[offsets[0]..offsets[0] + 4].try_into().unwrap());
                assert_eq!(first, (offsets[0] / 4) as f32);
                covered += offsets[1] - offsets[0];
            }
            assert_eq!(covered, data.len());
        }
    }
}
