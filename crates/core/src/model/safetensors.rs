//! Export of models in a standard format.

use super::Architecture;

/// Writes flat parameters as a safetensors file: one f32 little-endian weight and bias per layer.
///
/// Source: <https://huggingface.co/docs/safetensors/>, "Format".
// Hand-written, as the format's crate would add 20 kB of JSON code to the page; tests use it.
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

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    #[test]
    fn files_are_readable_by_the_safetensors_crate() {
        use safetensors::{Dtype, SafeTensors};

        for model in Architecture::ALL {
            let parameters: Vec<f32> = (0..model.parameters()).map(|i| i as f32 + 0.5).collect();
            let bytes = safetensors(model, &parameters);
            let (header, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
            assert_eq!(header % 8, 0, "the data begin on an even word");
            assert_eq!(metadata.metadata().as_ref().unwrap()["made-by"], "hushgrad");
            // The crate refuses gaps, overlaps and unused bytes.
            let file = SafeTensors::deserialize(&bytes).unwrap();
            assert_eq!(file.len(), 2 * model.layers().len());
            for layer in model.layers() {
                for (part, shape, range) in [
                    ("weight", vec![layer.outputs, layer.fan_in], layer.weights()),
                    ("bias", vec![layer.outputs], layer.biases()),
                ] {
                    let tensor = file.tensor(&format!("{}.{part}", layer.name)).unwrap();
                    assert_eq!((tensor.dtype(), tensor.shape()), (Dtype::F32, &shape[..]));
                    let values: Vec<f32> = tensor
                        .data()
                        .chunks_exact(4)
                        .map(|word| f32::from_le_bytes(word.try_into().unwrap()))
                        .collect();
                    assert_eq!(values, parameters[range]);
                }
            }
        }
    }
}
