//! A label as an entry of <https://github.com/opendp/deployments-registry-data>, with the keys of
//! its template. What a training does not know of itself is left empty and marked.

use super::{
    facts::PrivacyLabel,
    text::{headline, odds},
};
use crate::{accounting::decimal::upper, data::name::is_hidden};

/// Marks a field that someone has to fill in.
const OPEN: &str = "'' # to be filled in";

pub fn entry(label: &PrivacyLabel) -> String {
    let of = |wanted: &str| label.about.iter().find(|(name, _)| *name == wanted).map(|(_, value)| text(value));
    let (variant, parameters) = match &label.bounds {
        Ok(bounds) => (
            "Approximate DP",
            format!(
                "    privacy_parameters:\n      epsilon: {}\n      delta: {}\n",
                number(&upper(bounds.epsilon(), 6)),
                number(&format!("{:e}", label.delta))
            ),
        ),
        Err(_) => ("None", String::new()),
    };
    let details = format!("{}. {}", headline(label), odds(label));
    let mechanisms = text(&label.assumptions.join("; "));
    let uncovered = text(&label.uncovered.join(" "));
    let several = if label.releases == 1 { "One release" } else { "Many releases" };
    format!(
        "url_slug: {OPEN}
deployment:
  basic:
    name: {name}
    data_curators:
      -
        data_curator_name: {OPEN}
        data_curator_type: {OPEN}
    description: {model}
    intended_use: {OPEN}
    data_product_type: Machine learning model
    data_product_region: {OPEN}
    data_product_sector: {OPEN}
    publication_date: {OPEN}

  dp_variant:
    variant_name: {variant}
    data_domain: {data}
    unprotected_quantities: {uncovered}

  privacy_loss:
    privacy_unit: {unit}
    privacy_unit_details: {neighbours}
    number_of_privacy_units: 1
{parameters}    privacy_parameters_details: {details}

  deployment_model:
    model_name: Central
    model_name_details: {OPEN}
    trust_assumptions: Whoever trains sees the data; whoever sees the noisy sums and the model need not be trusted.
    actors: {OPEN}
    release_type: {several}
    release_type_details: {releases}
    data_source_type: Static
    data_source_type_details: {OPEN}
    access_type: Non-interactive
    access_type_details: {OPEN}

  implementation:
    preprocessing_and_hyperparameter_tuning: {tuning}
    mechanisms: {mechanisms}
    composition: {composition}
    post_processing: Everything that is computed from the noisy sums, the model itself included.
    justification: {OPEN}
    utility: {utility}
    additional_information: ''

  administrative:
    evidence_sources: {{}}
    status: Draft
    registry_authors:
      - {OPEN}
    tier: 3
",
        name = text(&label.name),
        model = of("Model").unwrap_or_else(|| OPEN.to_owned()),
        data = of("Data").unwrap_or_else(|| OPEN.to_owned()),
        unit = text(&label.unit),
        neighbours = text(&format!("Neighbouring data sets: {}. Sampling: {}.", label.neighbours, label.sampling)),
        details = text(&details),
        releases = text(&format!("{} noisy sums, every one of which may be seen.", label.releases)),
        tuning = text(&label.tuning),
        composition = text(
            "Privacy loss distributions composed by FFT (tight), and Rényi divergences; the smallest bound is stated."
        ),
        utility = of("Test accuracy").unwrap_or_else(|| OPEN.to_owned()),
    )
}

/// Quotes a text as both YAML and JSON read it.
fn text(text: &str) -> String {
    let printable: String = text.chars().filter(|c| !is_hidden(*c)).collect();
    // Serializing a string never fails.
    serde_json::to_string(&printable).unwrap_or_default()
}

/// Writes a number as YAML 1.1 recognises it: with a point, and with the sign of its exponent.
fn number(decimal: &str) -> String {
    let (digits, exponent) = decimal.split_once('e').unwrap_or((decimal, ""));
    let point = if digits.contains('.') { "" } else { ".0" };
    let exponent = match exponent {
        "" => String::new(),
        negative if negative.starts_with('-') => format!("e{negative}"),
        positive => format!("e+{positive}"),
    };
    format!("{digits}{point}{exponent}")
}
