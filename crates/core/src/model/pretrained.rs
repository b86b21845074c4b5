//! Parameters trained on synthetic digits alone: a public start that costs no privacy.
//!
//! `hushgrad pretrain` makes these [`KeptFile`]s: for each layer, the steps of weights and biases
//! (f32, little-endian), then both as signed bytes in multiples of their step.

use super::{
    Architecture,
    kept::{KeptFile, hex, kept_file},
};

/// A file of parameters.
struct Start {
    architecture: Architecture,
    file: KeptFile,
    /// SHA-256 of the decoded parameters as little-endian f32.
    decoded: &'static str,
}

static STARTS: [Start; 2] = [
    Start {
        architecture: Architecture::CnnTanh,
        file: kept_file!("cnn_tanh.pretrained", "89dbcc7b0a6a4d6876478f16bc37e97ecc6a7a06a14f30ee6a12d3615f181c69"),
        decoded: "e25fbcbda64200d15999b73ba3c81718af78dbbee69b49dbc0786818d3090087",
    },
    Start {
        architecture: Architecture::Scattering,
        file: kept_file!("scattering.pretrained", "5a50ef52a7add75f5da9d08ec2ff7e25ca9de68bd61c14779ceeab8999638b34"),
        decoded: "8eea983b5506b4fe7e2c7202e54d8a3b2a2f11aa1f90183e73f075d86ddbfece",
    },
];

fn start(architecture: Architecture) -> Option<&'static Start> {
    STARTS.iter().find(|start| start.architecture == architecture)
}

/// Returns the file of this architecture's pre-trained parameters, if one exists.
#[must_use]
pub fn file(architecture: Architecture) -> Option<&'static KeptFile> {
    start(architecture).map(|start| &start.file)
}

/// Returns the flat pre-trained parameters, or `None` if there are none or not fetched yet.
#[must_use]
pub fn parameters(architecture: Architecture) -> Option<Vec<f32>> {
    decode(architecture, file(architecture)?.bytes()?)
}

/// True if pre-trained parameters exist for this architecture.
#[must_use]
pub fn available(architecture: Architecture) -> bool {
    start(architecture).is_some()
}

/// True if these are exactly the pre-trained parameters of this architecture.
#[must_use]
pub fn are(architecture: Architecture, parameters: &[f32]) -> bool {
    start(architecture).is_some_and(|start| decoded_digest(parameters) == start.decoded)
}

fn decoded_digest(parameters: &[f32]) -> String {
    hex(&parameters.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
}

/// Encodes parameters; the error per value is at most half its part's largest magnitude / 127.
///
/// # Panics
/// When `parameters` does not have this architecture's length P.
#[must_use]
pub fn encode(architecture: Architecture, parameters: &[f32]) -> Vec<u8> {
    assert_eq!(parameters.len(), architecture.parameters(), "parameters of this architecture");
    let mut bytes = Vec::with_capacity(length(architecture));
    for layer in architecture.layers() {
        let parts = [&parameters[layer.weights()], &parameters[layer.biases()]];
        let steps = parts.map(|part| part.iter().fold(f32::MIN_POSITIVE, |most, v| most.max(v.abs())) / 127.0);
        bytes.extend(steps.iter().flat_map(|step| step.to_le_bytes()));
        for (part, step) in parts.iter().zip(steps) {
            bytes.extend(part.iter().map(|v| (v / step).round() as i8 as u8));
        }
    }
    bytes
}

/// Decodes the output of [`encode`]; `None` if the length does not match.
#[must_use]
pub fn decode(architecture: Architecture, bytes: &[u8]) -> Option<Vec<f32>> {
    if bytes.len() != length(architecture) {
        return None;
    }
    let mut parameters = Vec::with_capacity(architecture.parameters());
    let mut rest = bytes;
    for layer in architecture.layers() {
        let weights_step = take_step(&mut rest)?;
        let biases_step = take_step(&mut rest)?;
        for (count, step) in [(layer.outputs * layer.fan_in, weights_step), (layer.outputs, biases_step)] {
            let (part, after) = rest.split_at_checked(count)?;
            parameters.extend(part.iter().map(|&byte| f32::from(byte as i8) * step));
            rest = after;
        }
    }
    Some(parameters)
}

fn take_step(rest: &mut &[u8]) -> Option<f32> {
    let (step, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(f32::from_le_bytes(*step))
}

fn length(architecture: Architecture) -> usize {
    architecture.parameters() + 8 * architecture.layers().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::initial_parameters;

    #[test]
    fn encoding_keeps_every_value_within_half_a_step() {
        for architecture in Architecture::ALL {
            let mut before = initial_parameters(architecture, 5);
            for layer in architecture.layers() {
                before[layer.biases()].iter_mut().enumerate().for_each(|(k, bias)| *bias = k as f32 - 3.0);
            }
            let bytes = encode(architecture, &before);
            let after = decode(architecture, &bytes).expect("its own length");
            for layer in architecture.layers() {
                for range in [layer.weights(), layer.biases()] {
                    let most = before[range.clone()].iter().fold(0f32, |most, v| most.max(v.abs()));
                    for k in range {
                        assert!((before[k] - after[k]).abs() <= 0.5001 * most / 127.0, "{architecture} {k}");
                    }
                }
            }
            assert_eq!(decode(architecture, &bytes[1..]), None);
            assert_eq!(encode(architecture, &after), bytes, "{architecture}: encoding again changes nothing");
        }
    }

    #[test]
    fn all_zeros_stay_zeros() {
        let zeros = vec![0.0; Architecture::Linear.parameters()];
        assert_eq!(decode(Architecture::Linear, &encode(Architecture::Linear, &zeros)), Some(zeros));
    }

    #[test]
    fn available_parameters_exist_and_are_finite() {
        for architecture in Architecture::ALL {
            let parameters = parameters(architecture);
            assert_eq!(parameters.is_some(), available(architecture), "{architecture}");
            assert!(parameters.is_none_or(|p| p.iter().all(|v| v.is_finite())));
        }
    }

    /// The files are as written by `hushgrad pretrain`.
    #[test]
    fn files_match_their_digests() {
        for Start { architecture, file, decoded } in &STARTS {
            let bytes = file.bytes().expect("the native program carries it");
            assert_eq!(hex(bytes), file.digest, "{architecture}");
            let parameters = parameters(*architecture).expect("there is a file");
            assert_eq!(decoded_digest(&parameters), *decoded, "{architecture}");
            assert!(are(*architecture, &parameters));
            let mut other = parameters.clone();
            other[7] = other[7].next_up();
            assert!(!are(*architecture, &other) && !are(Architecture::Linear, &parameters));
            assert!(file.bring(bytes.to_vec()) && !file.bring(bytes[1..].to_vec()));
            assert_eq!(file.address(), None, "the native program waits for nothing");
        }
    }
}
