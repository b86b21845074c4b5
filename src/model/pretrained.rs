//! Parameters trained on the program's own digits alone: a public start, so it costs no privacy.
//!
//! `hushgrad pretrain` makes the file; it holds one byte a parameter. Layer by layer: the step of the weights and that of
//! the biases (f32, little-endian), then weights and biases as signed bytes, in multiples of their step.

use super::Architecture;

const CNN_TANH: &[u8] = include_bytes!("cnn-tanh.pretrained");
const SCATTERING: &[u8] = include_bytes!("scattering.pretrained");

/// The parameters that come with the program, flat; `None` where there are none for this architecture.
#[must_use]
pub fn parameters(architecture: Architecture) -> Option<Vec<f32>> {
    match architecture {
        Architecture::CnnTanh => decode(architecture, CNN_TANH),
        Architecture::Scattering => decode(architecture, SCATTERING),
        _ => None,
    }
}

/// Whether [`parameters`] has some.
#[must_use]
pub const fn available(architecture: Architecture) -> bool {
    matches!(architecture, Architecture::CnnTanh | Architecture::Scattering)
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
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::{
        data::synthetic,
        engine::reference::inputs,
        model::{initial_parameters, reference},
    };

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

    /// The files are those that `hushgrad pretrain` wrote, and they read digits that they were not trained on.
    #[test]
    fn the_files_are_known_and_read_synthetic_digits() {
        let hex = |bytes| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(CNN_TANH), "89dbcc7b0a6a4d6876478f16bc37e97ecc6a7a06a14f30ee6a12d3615f181c69");
        assert_eq!(hex(SCATTERING), "5a50ef52a7add75f5da9d08ec2ff7e25ca9de68bd61c14779ceeab8999638b34");
        let digits = synthetic::dataset(9, synthetic::TEST_START, 1000);
        for (architecture, least) in [(Architecture::CnnTanh, 950), (Architecture::Scattering, 900)] {
            let parameters = parameters(architecture).expect("there is a file");
            let right = (0..digits.len())
                .filter(|&i| {
                    let input = inputs(architecture, digits.image(i));
                    reference::classify(architecture, &parameters, &input) == digits.labels[i]
                })
                .count();
            assert!(right >= least, "{architecture}: {right} of 1000");
        }
    }
}
