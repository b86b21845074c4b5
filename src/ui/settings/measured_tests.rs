//! Accuracies in hints are those measured by `hushgrad reproduce methods`.

use super::{numbers::Number, selects::Select};

/// Returns a method's gain over DP-SGD in points, and whether it is significant.
fn gained(model: &str, epsilon: u32, method: &str) -> (f64, bool) {
    let table = include_str!("../../../docs/methods.md").split_once("<!-- methods -->").unwrap().1;
    let of_model = |section: &&str| {
        section.starts_with(&format!("The {model} ("))
            && section.lines().next().unwrap().ends_with(&format!("ε ≤ {epsilon}"))
    };
    let section = table.split("\n### ").find(of_model).unwrap_or_else(|| panic!("no table of {model} at {epsilon}"));
    let row = section
        .lines()
        .find(|line| line.starts_with(&format!("| {method} |")))
        .unwrap_or_else(|| panic!("no {method}"));
    let cell = row.split('|').nth_back(1).unwrap().trim();
    let gain = cell.split(" ± ").next().unwrap();
    (gain.trim_matches('*').parse().unwrap(), gain.starts_with("**"))
}

#[test]
fn hints_quote_measured_accuracies() {
    let [denoiser, envelope, phases, noise] =
        [Select::Denoiser, Select::Shape, Select::Phases, Select::LayerNoise].map(|select| select.spec().hint);
    let [clip, bands, momentum, micro_batch] =
        [Number::ClipQuantile, Number::Bands, Number::Momentum, Number::MicroBatch].map(|number| number.spec().hint);
    for (hint, says, model, epsilon, method) in [
        (denoiser, "loses {} points with Kolmogorov", "CNN", 1, "Kolmogorov–Smirnov distance"),
        (denoiser, "{} with Cramér–von Mises or Wasserstein", "CNN", 1, "Cramér–von Mises distance"),
        (denoiser, "{} with Cramér–von Mises or Wasserstein", "CNN", 1, "Wasserstein distance"),
        (envelope, "loses {} points with Gaussian and sparse", "CNN", 1, "Gaussian envelope"),
        (envelope, "loses {} points with Gaussian and sparse", "CNN", 1, "sparse envelope"),
        (denoiser, "{} with James–Stein", "CNN", 1, "James–Stein"),
        (denoiser, "{} with a soft threshold", "CNN", 1, "soft threshold"),
        (denoiser, "smoothing costs it {},", "CNN", 1, "Laplacian smoothing, s = 1"),
        (denoiser, "gains the perceptron {}.", "perceptron", 1, "Laplacian smoothing, s = 1"),
        (phases, "loses {} points if the noise falls to half", "CNN", 1, "noise falls to half over 6 phases"),
        (phases, "and {} if it doubles", "CNN", 1, "noise doubles over 6 phases"),
        (noise, "loses {} points against DP-SGD", "CNN", 1, "clip layer by layer, noise by dimension"),
        (noise, "the perceptron {}.", "perceptron", 1, "clip layer by layer, noise by dimension"),
        (clip, "loses {} points at 0.5", "CNN", 1, "adaptive clip, half within"),
        (clip, "and {} at 0.8", "CNN", 1, "adaptive clip, four fifths within"),
        (micro_batch, "loses {} points with 8", "CNN", 1, "micro-batches of 8"),
        (bands, "gains {} points at ε ≤ 3", "CNN", 3, "correlated noise, 8 bands"),
    ] {
        let (points, counts) = gained(model, epsilon, method);
        let says = says.replace("{}", &format!("{:.1}", points.abs()));
        assert!(counts && hint.get().contains(&says), "{says}: {}", hint.get());
        assert_eq!(points > 0.0, says.starts_with("gains "), "{says}");
    }
    for (hint, says, method) in [
        (bands, "at ε ≤ 1 no more than chance;", "correlated noise, 8 bands"),
        (envelope, "no more than chance with others", "heavy-tailed envelope"),
        (envelope, "no more than chance with others", "mixed envelope"),
        (envelope, "no more than chance with others", "envelope like drawn digits"),
        (momentum, "does as well as without at ε ≤ 1", "momentum 0.9"),
    ] {
        assert!(!gained("CNN", 1, method).1 && hint.get().contains(says), "{says}: {}", hint.get());
    }
}
