//! Parameters trained on the program's own digits alone: a public start, so it costs no privacy.
//!
//! `hushgrad pretrain` makes the files; they hold one byte a parameter. Layer by layer: the step of the weights and that of
//! the biases (f32, little-endian), then weights and biases as signed bytes, in multiples of their step.
//!
//! They are [`KeptFile`]s.

use super::{
    Architecture,
    kept::{KeptFile, hex, kept_file},
};

/// A file of parameters.
struct Start {
    architecture: Architecture,
    file: KeptFile,
    /// SHA-256 of the parameters that it decodes to, each as little-endian f32.
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

/// The file that a run of this architecture waits for where it begins with its parameters; `None`: there is none.
#[must_use]
pub fn file(architecture: Architecture) -> Option<&'static KeptFile> {
    start(architecture).map(|start| &start.file)
}

/// The pre-trained parameters, flat; `None` where there are none for this architecture, or where they were not fetched yet.
#[must_use]
pub fn parameters(architecture: Architecture) -> Option<Vec<f32>> {
    decode(architecture, file(architecture)?.bytes()?)
}

/// Whether there are some for this architecture.
#[must_use]
pub fn available(architecture: Architecture) -> bool {
    start(architecture).is_some()
}

/// Whether these are the pre-trained parameters of this architecture, to the last bit.
#[must_use]
pub fn are(architecture: Architecture, parameters: &[f32]) -> bool {
    start(architecture).is_some_and(|start| decoded_digest(parameters) == start.decoded)
}

fn decoded_digest(parameters: &[f32]) -> String {
    hex(&parameters.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
}

/// The file's bytes. Each value is off by at most half its layer's largest magnitude / 127.
///
/// # Panics
/// When `parameters` are not this architecture's P numbers.
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

/// What [`encode`] wrote; `None` where the length does not fit the architecture.
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
    fn what_is_available_is_there_and_finite() {
        for architecture in Architecture::ALL {
            let parameters = parameters(architecture);
            assert_eq!(parameters.is_some(), available(architecture), "{architecture}");
            assert!(parameters.is_none_or(|p| p.iter().all(|v| v.is_finite())));
        }
    }

    /// The files are those that `hushgrad pretrain` wrote.
    #[test]
    fn the_files_are_known() {
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
