//! `cargo xtask bench built`: steps of user-built networks beside those of the named models, on
//! both engines (`built.md`).

use serde_json::{Value, json};

use super::report::{self, Lines};
use crate::prelude::*;

pub fn run(project: &Project, adapter: Option<&str>) -> Result<()> {
    project.say("Benches");
    let step = project.step("built networks, on both engines");
    let words = "run --locked --release --no-default-features --features gpu --example built_bench --";
    let said = step.run(project.cargo(words).args(adapter))?.lines;
    let mut lines = Lines::default();
    lines.read(&said, &Value::Null);
    step.done(device(&lines)["adapter"].as_str().unwrap_or_default());
    report::write(project, "built", "Built networks", &section(&lines)?)
}

/// The devices of both engines.
fn device(lines: &Lines) -> Value {
    lines.with("adapter").next_back().cloned().unwrap_or_default()
}

fn section(lines: &Lines) -> Result<String> {
    let mut models: Vec<&str> = Vec::new();
    for model in lines.with("samples").filter_map(|line| line["model"].as_str()) {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    lines.fill(include_str!("built.md"), json!({ "device": device(lines), "models": models }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_has_a_row_of_both_engines() {
        let step = |model: &str, backend: &str, best: f64| {
            json!({ "model": model, "parameters": 7850, "backend": backend, "samples": [best, 3.0, 2.5] }).to_string()
        };
        let device = json!({ "adapter": "an adapter", "software": true, "cpu": "a processor" }).to_string();
        let mut said = vec![device];
        for model in ["linear model", "dense 10"] {
            said.extend([step(model, "cpu", 0.5), step(model, "gpu", 2.0)]);
        }
        let read = |said: &[String]| {
            let mut lines = Lines::default();
            lines.read(said, &Value::Null);
            section(&lines)
        };
        let text = read(&said).unwrap();
        assert!(text.contains("| linear model | 7850 | 0.50 (2.50) | 2.00 (2.50) | 4.0 |\n"), "{text}");
        assert!(text.contains("| dense 10 | 7850 |") && text.contains("an adapter: software"), "{text}");
        let error = read(&said[..4]).unwrap_err().to_string();
        assert!(error.contains("backend gpu"), "{error}");
    }
}
