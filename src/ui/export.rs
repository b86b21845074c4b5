//! What a run leaves as files of its own kind: its curves (CSV), its model (safetensors).

use super::series::{Point, in_order, nearest};
use crate::model::Architecture;

/// Curves as comma-separated values, a row for every step at which any of them has a point.
#[must_use]
pub fn csv(curves: [(&str, &[Point]); 3]) -> String {
    use std::fmt::Write;
    let steps = in_order(curves.iter().flat_map(|(_, points)| points.iter().map(|p| p.0)).collect());
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
