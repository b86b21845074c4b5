//! Networks as lists of layers: their text form, and the shapes that follow from it.
//!
//! ```text
//! conv 16 8x8/2 same, tanh, maxpool 2/1, dense 10
//! ```
//!
//! - `scattering`, first only: fixed scattering maps of the image ([`super::scattering`]);
//! - `extractor`, first only: fixed 64×4×4 features by a small network ([`super::extractor`]);
//! - `conv F KxK/S same` or `pad P`: F kernels of K×K over all channels with stride S (default 1),
//!   and a bias each; P zeros on each side (default 0), or enough for ⌈side/S⌉ outputs;
//! - `maxpool K/S`, `avgpool K/S`: maximum or mean of K×K windows with stride S (default K);
//! - `dense N`: N weighted sums of all values, with a bias each; an image is taken as a vector;
//! - `tanh`, `relu`, `elu` (eˣ − 1 below 0: Clevert, Unterthiner & Hochreiter 2016), `sigmoid`;
//! - `tempered S T O`: S/(1 + e^(−T·x)) − O, to hundredths (tempered sigmoid: Papernot, Thakurta,
//!   Song, Chien & Erlingsson 2021);
//! - `groupnorm G`: G groups of channels at mean 0, variance 1, then affine each (Wu & He 2018);
//! - `flatten`: an image as a vector, channel by channel and row by row.
//!
//! The last layer is `dense` with one output per class, 2 to 100. An optional leading `input CxSxS`
//! gives the images' C (1 or 3) channels of S×S values; the default is MNIST's, 1x28x28. A
//! [`LayerList`] is always valid, and prints in the form it is parsed from.

use core::{fmt, str::FromStr};

use hushgrad_message::word;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{
    cnn::Geometry,
    features::FeatureMap,
    parts::{Activation, CLASSES, Layer},
};
use crate::{
    data::{
        FeatureKind,
        picture::{FEWEST_CLASSES, MOST_CLASSES, MOST_SIDE, Picture},
    },
    mechanism::{denoise::Planes, layers::MOST_LAYERS},
};

/// Largest number of layers in a list.
pub const MOST: usize = 20;
/// Largest number of parameters.
pub const MOST_PARAMETERS: usize = 1_000_000;
/// Largest number of multiply–adds per image; a step of lot 256 then takes a few seconds.
pub const MOST_WORK: u64 = 100_000_000;
/// Largest number of values between two layers.
const MOST_VALUES: usize = 1 << 20;
/// Added to a variance before division.
pub const NORM_FLOOR: f64 = 1e-5;
/// Added to the variances of a [`LayerSpec::BatchNorm`], which are noisy: no channel is enlarged more
/// than ten times.
pub const MOMENT_FLOOR: f64 = 0.01;
/// κ: an example's gradient of a released moment M is κ·(M − m), with m its own, so that a step of
/// learning rate η makes M a mean of the steps' noisy means with weight κη on the last.
pub const MOMENT_SHARE: f64 = 0.1;

/// One layer, without its derived shapes. Images and windows are square.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LayerSpec {
    /// `scattering`, `extractor`: fixed features that replace the image.
    Features(FeatureKind),
    /// `conv`.
    Convolution {
        /// Output channels.
        filters: u16,
        /// Side of a kernel.
        kernel: u8,
        /// Pixels between neighbouring outputs.
        stride: u8,
        /// Zeros around the image.
        padding: Padding,
    },
    /// `maxpool`, `avgpool`.
    Pool {
        /// Operation on each window.
        kind: Pooling,
        /// Side of the window.
        window: u8,
        /// Pixels between neighbouring windows.
        stride: u8,
    },
    /// `dense`.
    Dense {
        /// Number of outputs.
        outputs: u16,
    },
    /// An activation.
    Activation(Activation),
    /// `groupnorm`.
    GroupNorm {
        /// Number of channel groups.
        groups: u16,
    },
    /// `batchnorm`: each channel minus its mean, over its deviation, both as released up to the step
    /// before. They are parameters, whose gradients are in [`MOMENT_SHARE`]'s units.
    BatchNorm,
    /// `flatten`.
    Flatten,
}

/// Zero padding around an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Padding {
    /// Equal padding that gives ⌈side/stride⌉ outputs per row.
    Same,
    /// This many zeros on each side.
    Pixels(u8),
}

/// Pooling operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pooling {
    /// The largest value of the window.
    Max,
    /// The mean of the window.
    Average,
}

/// Shape of the values between two layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// This many values.
    Vector(usize),
    /// `channels` squares of `side`² values.
    Image {
        /// Number of channels.
        channels: usize,
        /// Side of each channel.
        side: usize,
    },
}

/// A list is not a valid network. Layers are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, hushgrad_message::Error)]
pub enum LayersError {
    /// An unknown layer name.
    #[error(
        "layer {layer} is “{found}”; a layer is conv, maxpool, avgpool, dense, tanh, relu, elu, sigmoid, tempered, groupnorm, batchnorm or flatten, or, before all others, scattering or extractor"
    )]
    Unknown {
        /// Number of the layer.
        layer: usize,
        /// Its text.
        found: String,
    },
    /// A layer in the wrong form.
    #[error("layer {layer} is “{found}”; it is written as {example}")]
    Written {
        /// Number of the layer.
        layer: usize,
        /// Its text.
        found: String,
        /// A correct example.
        example: &'static str,
    },
    /// A number out of range.
    #[error("layer {layer}: {what} must be from {low} to {high}")]
    Range {
        /// Number of the layer.
        layer: usize,
        /// Name of the quantity.
        what: &'static str,
        /// Smallest value.
        low: u32,
        /// Largest value.
        high: u32,
    },
    /// Too many layers.
    #[error("{found} layers; a network here has at most {MOST}")]
    TooLong {
        /// Number of layers.
        found: usize,
    },
    /// Too many layers with parameters.
    #[error("{found} layers have parameters; at most {MOST_LAYERS} may")]
    TooManyWithParameters {
        /// Number of such layers.
        found: usize,
    },
    /// Features that are not the first layer.
    #[error("layer {layer}, “{found}”, computes features of the image; put it before all other layers")]
    NotFirst {
        /// Number of the layer.
        layer: usize,
        /// Name of the features.
        found: &'static str,
    },
    /// A layer that needs an image but gets a vector.
    #[error("layer {layer} needs an image, and gets a vector; put it before flatten and dense")]
    NotAnImage {
        /// Number of the layer.
        layer: usize,
    },
    /// A window larger than its padded image.
    #[error("layer {layer}: a {window}×{window} window does not fit a {side}×{side} image")]
    Window {
        /// Number of the layer.
        layer: usize,
        /// Side of the window.
        window: usize,
        /// Side of the padded image.
        side: usize,
    },
    /// No equal padding gives the size of `same`.
    #[error(
        "layer {layer}: no equal padding on all sides turns a {side}×{side} image into {places}×{places} values; take an odd kernel, or pad by a number"
    )]
    NotSame {
        /// Number of the layer.
        layer: usize,
        /// Side of its image.
        side: usize,
        /// Outputs required per row.
        places: usize,
    },
    /// Groups that do not divide the channels.
    #[error("layer {layer}: {channels} channels do not split into {groups} equal groups")]
    Groups {
        /// Number of the layer.
        layer: usize,
        /// Number of groups.
        groups: usize,
        /// Number of channels.
        channels: usize,
    },
    /// A layer with too many output values.
    #[error("layer {layer} makes more than {MOST_VALUES} values of an image; take fewer filters, or a larger stride")]
    TooLarge {
        /// Number of the layer.
        layer: usize,
    },
    /// An `input` that is malformed, repeated or misplaced.
    #[error(
        "“{found}” sets the size of images; write it once, before all layers, like input 3x32x32: 1 or 3 channels of at most {MOST_SIDE}×{MOST_SIDE} values"
    )]
    Input {
        /// Its text.
        found: String,
    },
    /// The last layer is not a valid output.
    #[error(
        "the network ends in {found}; its last layer must be dense, with one output per class ({FEWEST_CLASSES} to {MOST_CLASSES}; {CLASSES} for digits)"
    )]
    Ends {
        /// The last layer, or "nothing".
        found: String,
    },
    /// The network reads other images than those given.
    #[error("the network reads {found} images, but these are {there}; leave out its input size, and it takes these")]
    OtherImages {
        /// Images that the network reads.
        found: Picture,
        /// Images given.
        there: Picture,
    },
    /// The network has another number of classes than the images.
    #[error("the network ends in dense {found}, but these images have {there} classes; end it in dense {there}")]
    OtherClasses {
        /// Classes of the network.
        found: usize,
        /// Classes of the images.
        there: usize,
    },
    /// Too many parameters.
    #[error("{found} parameters; the limit is {MOST_PARAMETERS}")]
    Parameters {
        /// Number of parameters.
        found: usize,
    },
    /// Too much work per image.
    #[error("{found} multiplications and additions per image; the limit is {MOST_WORK}")]
    Work {
        /// Multiply–adds per image.
        found: u64,
    },
}

/// A layer with its derived shapes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// The layer as written.
    pub spec: LayerSpec,
    /// Input shape.
    pub input: Shape,
    /// Output shape.
    pub output: Shape,
    /// Its parameters, if any.
    pub layer: Option<Layer>,
    /// Window geometry of a convolution or pool.
    pub geometry: Option<Geometry>,
}

impl From<Picture> for Shape {
    fn from(picture: Picture) -> Self {
        Self::Image { channels: picture.channels.into(), side: picture.side.into() }
    }
}

impl Shape {
    /// Returns the number of values.
    #[must_use]
    pub const fn values(self) -> usize {
        match self {
            Self::Vector(values) => values,
            Self::Image { channels, side } => channels * side * side,
        }
    }

    /// Returns the number of channels and values per channel; each value of a vector is a channel.
    #[must_use]
    pub const fn channels(self) -> (usize, usize) {
        match self {
            Self::Vector(values) => (values, 1),
            Self::Image { channels, side } => (channels, side * side),
        }
    }

    fn image(self, layer: usize) -> Result<(usize, usize), LayersError> {
        match self {
            Self::Vector(_) => Err(LayersError::NotAnImage { layer }),
            Self::Image { channels, side } => Ok((channels, side)),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vector(values) => write!(f, "{values}"),
            Self::Image { channels, side } => write!(f, "{channels}×{side}×{side}"),
        }
    }
}

impl Placed {
    /// Returns the multiply–adds of one image's forward pass.
    #[must_use]
    pub fn work(&self) -> u64 {
        let out = self.output.values() as u64;
        match (self.spec, self.layer, self.geometry) {
            (LayerSpec::Convolution { .. } | LayerSpec::Dense { .. }, Some(layer), _) => {
                let places = out / layer.outputs as u64;
                places * (layer.outputs * layer.fan_in) as u64
            }
            (_, _, Some(geometry)) => out * geometry.taps() as u64,
            // Features are computed only once.
            (LayerSpec::Features(_), ..) => 0,
            _ => out,
        }
    }
}

/// Name of a layer in files, for its kind and index from 0.
const fn name(kind: usize, number: usize) -> &'static str {
    const NAMES: [[&str; MOST_LAYERS]; 3] = [
        ["conv1", "conv2", "conv3", "conv4", "conv5", "conv6", "conv7", "conv8"],
        ["dense1", "dense2", "dense3", "dense4", "dense5", "dense6", "dense7", "dense8"],
        ["norm1", "norm2", "norm3", "norm4", "norm5", "norm6", "norm7", "norm8"],
    ];
    NAMES[kind][if number < MOST_LAYERS { number } else { MOST_LAYERS - 1 }]
}

/// Derives all shapes of layers that take `input`, whatever the last layer is.
///
/// # Errors
/// When a layer cannot take its input, or is too large.
pub fn place(input: Shape, specs: &[LayerSpec]) -> Result<Vec<Placed>, LayersError> {
    if specs.len() > MOST {
        return Err(LayersError::TooLong { found: specs.len() });
    }
    let (mut shape, mut offset, mut counts, mut placed) = (input, 0, [0_usize; 3], Vec::with_capacity(specs.len()));
    for (number, &spec) in (1..).zip(specs) {
        let mut geometry = None;
        let mut layer = |kind: usize, outputs: usize, fan_in: usize, fan_out: usize| {
            let layer = Layer { name: name(kind, counts[kind]), offset, outputs, fan_in, fan_out, scales: kind == 2 };
            counts[kind] += 1;
            offset += outputs * (fan_in + 1);
            Some(layer)
        };
        let (output, layer) = match spec {
            LayerSpec::Features(kind) => {
                let picture = shape.image(number).ok().and_then(|(channels, side)| Picture::new(channels, side));
                let Some(picture) = picture.filter(|_| number == 1) else {
                    let found = kind.name();
                    return Err(LayersError::NotFirst { layer: number, found });
                };
                let (channels, side) = FeatureMap { kind, picture }.shape();
                (Shape::Image { channels, side }, None)
            }
            LayerSpec::Convolution { filters, kernel, stride, padding } => {
                let (channels, side) = shape.image(number)?;
                let (kernel, stride) = (usize::from(kernel), usize::from(stride));
                let window = |padding| Geometry { side, kernel, stride, padding };
                let found = match padding {
                    Padding::Pixels(padding) => Ok(window(padding.into())),
                    Padding::Same => {
                        let places = side.div_ceil(stride);
                        let fits = |it: &Geometry| kernel <= it.padded_side() && it.output_side() == places;
                        let found = (0..kernel).map(window).find(fits);
                        found.ok_or(LayersError::NotSame { layer: number, side, places })
                    }
                }?;
                geometry = Some(fitting(number, found)?);
                let (area, filters) = (kernel * kernel, usize::from(filters));
                (
                    Shape::Image { channels: filters, side: found.output_side() },
                    layer(0, filters, channels * area, filters * area),
                )
            }
            LayerSpec::Pool { window, stride, .. } => {
                let (channels, side) = shape.image(number)?;
                let found = Geometry { side, kernel: window.into(), stride: stride.into(), padding: 0 };
                geometry = Some(fitting(number, found)?);
                (Shape::Image { channels, side: found.output_side() }, None)
            }
            LayerSpec::Dense { outputs } => {
                let outputs = usize::from(outputs);
                (Shape::Vector(outputs), layer(1, outputs, shape.values(), outputs))
            }
            LayerSpec::GroupNorm { groups } => {
                let (channels, _) = shape.channels();
                let groups = usize::from(groups);
                if channels % groups != 0 {
                    return Err(LayersError::Groups { layer: number, groups, channels });
                }
                (shape, layer(2, channels, 1, 1))
            }
            LayerSpec::BatchNorm => (shape, layer(2, shape.channels().0, 1, 1)),
            LayerSpec::Activation(_) => (shape, None),
            LayerSpec::Flatten => (Shape::Vector(shape.values()), None),
        };
        if output.values() > MOST_VALUES {
            return Err(LayersError::TooLarge { layer: number });
        }
        placed.push(Placed { spec, input: shape, output, layer, geometry });
        shape = output;
    }
    Ok(placed)
}

fn fitting(layer: usize, geometry: Geometry) -> Result<Geometry, LayersError> {
    let side = geometry.padded_side();
    match geometry.kernel <= side {
        true => Ok(geometry),
        false => Err(LayersError::Window { layer, window: geometry.kernel, side }),
    }
}

/// A valid list of layers, from an image to one output per class.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LayerList {
    picture: Picture,
    layers: [LayerSpec; MOST],
    length: u8,
}

impl LayerList {
    /// The initial list of a builder: `conv 8 5x5/2 same, tanh, maxpool 2, dense 10`.
    pub const FIRST: Self = {
        let mut layers = [LayerSpec::Flatten; MOST];
        layers[0] = LayerSpec::Convolution { filters: 8, kernel: 5, stride: 2, padding: Padding::Same };
        layers[1] = LayerSpec::Activation(Activation::Tanh);
        layers[2] = LayerSpec::Pool { kind: Pooling::Max, window: 2, stride: 2 };
        layers[3] = LayerSpec::Dense { outputs: CLASSES as u16 };
        Self { picture: Picture::DIGIT, layers, length: 4 }
    };

    /// Builds a list for MNIST's images.
    ///
    /// # Errors
    /// As [`LayerList::on`].
    pub fn new(specs: &[LayerSpec]) -> Result<Self, LayersError> {
        Self::on(Picture::DIGIT, specs)
    }

    /// Builds a list for images of this size.
    ///
    /// # Errors
    /// When layers do not fit, do not end in `dense` with 2 to 100 outputs, or exceed a limit.
    pub fn on(picture: Picture, specs: &[LayerSpec]) -> Result<Self, LayersError> {
        let placed = place(picture.into(), specs)?;
        let last = specs.last();
        let classes = FEWEST_CLASSES as u16..=MOST_CLASSES as u16;
        if !matches!(last, Some(LayerSpec::Dense { outputs }) if classes.contains(outputs)) {
            let found = last.map_or_else(|| "nothing".to_owned(), ToString::to_string);
            return Err(LayersError::Ends { found });
        }
        let with: Vec<Layer> = placed.iter().filter_map(|placed| placed.layer).collect();
        if with.len() > MOST_LAYERS {
            return Err(LayersError::TooManyWithParameters { found: with.len() });
        }
        let found = with.iter().map(|layer| layer.biases().end).max().unwrap_or_default();
        if found > MOST_PARAMETERS {
            return Err(LayersError::Parameters { found });
        }
        let work = placed.iter().map(Placed::work).sum();
        if work > MOST_WORK {
            return Err(LayersError::Work { found: work });
        }
        let mut layers = [LayerSpec::Flatten; MOST];
        layers[..specs.len()].copy_from_slice(specs);
        Ok(Self { picture, layers, length: specs.len() as u8 })
    }

    /// Returns the same layers for other images and another number of classes.
    ///
    /// # Errors
    /// As [`LayerList::on`].
    pub fn fitted(&self, picture: Picture, classes: usize) -> Result<Self, LayersError> {
        let mut specs = self.specs().to_vec();
        if let Some(LayerSpec::Dense { outputs }) = specs.last_mut() {
            *outputs = classes as u16;
        }
        Self::on(picture, &specs)
    }

    /// Returns the images that the network reads.
    #[must_use]
    pub const fn picture(&self) -> Picture {
        self.picture
    }

    /// Returns the number of classes.
    #[must_use]
    pub fn classes(&self) -> usize {
        match self.specs().last() {
            Some(LayerSpec::Dense { outputs }) => usize::from(*outputs),
            _ => CLASSES,
        }
    }

    /// Returns the layers in order.
    #[must_use]
    pub fn specs(&self) -> &[LayerSpec] {
        &self.layers[..usize::from(self.length)]
    }

    /// Returns the fixed features that replace pixels, if any.
    #[must_use]
    pub const fn features(&self) -> Option<FeatureMap> {
        match self.layers[0] {
            LayerSpec::Features(kind) => Some(FeatureMap { kind, picture: self.picture }),
            _ => None,
        }
    }

    /// Returns the first layer's weights that correspond to pixels, per unit and channel.
    #[must_use]
    pub(super) fn planes(&self) -> Option<Planes> {
        if self.features().is_some() {
            return None;
        }
        let first = self.placed().into_iter().find(|placed| placed.layer.is_some())?;
        let layer = first.layer?;
        match (first.spec, first.input, first.geometry) {
            (LayerSpec::Convolution { .. }, Shape::Image { channels, .. }, Some(geometry)) => {
                Some(Planes { offset: layer.offset, count: layer.outputs * channels, side: geometry.kernel })
            }
            (LayerSpec::Dense { .. }, Shape::Image { channels, side }, _) => {
                Some(Planes { offset: layer.offset, count: layer.outputs * channels, side })
            }
            _ => None,
        }
    }

    /// Returns the multiply–adds of one image's forward pass.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.placed().iter().map(Placed::work).sum()
    }

    /// Returns the layers with their shapes.
    #[must_use]
    pub fn placed(&self) -> Vec<Placed> {
        // Cannot fail: a list is valid when built.
        place(self.picture.into(), self.specs()).unwrap_or_default()
    }
}

impl fmt::Debug for LayerList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for LayerList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Picture { channels, side } = self.picture;
        if self.picture != Picture::DIGIT {
            write!(f, "input {channels}x{side}x{side}, ")?;
        }
        for (place, spec) in self.specs().iter().enumerate() {
            if place > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{spec}")?;
        }
        Ok(())
    }
}

impl fmt::Display for LayerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Convolution { filters, kernel, stride, padding } => {
                write!(f, "conv {filters} {kernel}x{kernel}")?;
                if stride != 1 {
                    write!(f, "/{stride}")?;
                }
                match padding {
                    Padding::Same => f.write_str(" same"),
                    Padding::Pixels(0) => Ok(()),
                    Padding::Pixels(pixels) => write!(f, " pad {pixels}"),
                }
            }
            Self::Pool { kind, window, stride } => {
                f.write_str(match kind {
                    Pooling::Max => "maxpool ",
                    Pooling::Average => "avgpool ",
                })?;
                write!(f, "{window}")?;
                if stride == window { Ok(()) } else { write!(f, "/{stride}") }
            }
            Self::Features(kind) => f.write_str(kind.name()),
            Self::Dense { outputs } => write!(f, "dense {outputs}"),
            Self::Activation(Activation::Tanh) => f.write_str("tanh"),
            Self::Activation(Activation::Relu) => f.write_str("relu"),
            Self::Activation(Activation::Elu) => f.write_str("elu"),
            Self::Activation(Activation::Sigmoid) => f.write_str("sigmoid"),
            Self::Activation(Activation::Tempered { scale, inverse_temperature, offset }) => {
                f.write_str("tempered")?;
                [scale, inverse_temperature, offset].iter().try_for_each(|hundredths| {
                    let (whole, rest) = (hundredths / 100, hundredths % 100);
                    match rest {
                        0 => write!(f, " {whole}"),
                        _ if rest % 10 == 0 => write!(f, " {whole}.{}", rest / 10),
                        _ => write!(f, " {whole}.{rest:02}"),
                    }
                })
            }
            Self::GroupNorm { groups } => write!(f, "groupnorm {groups}"),
            Self::BatchNorm => f.write_str("batchnorm"),
            Self::Flatten => f.write_str("flatten"),
        }
    }
}

impl FromStr for LayerList {
    type Err = LayersError;

    fn from_str(text: &str) -> Result<Self, LayersError> {
        let (picture, specs) = read(text)?;
        Self::on(picture.unwrap_or_default(), &specs)
    }
}

/// Parses comma-, semicolon- or line-separated layers and `input`; they need not fit together.
///
/// # Errors
/// [`LayersError`]'s `Input`, `Unknown`, `Written`, `Range` or `TooLong`.
pub fn read(text: &str) -> Result<(Option<Picture>, Vec<LayerSpec>), LayersError> {
    let mut items = text.split([',', '\n', ';']).map(str::trim).filter(|item| !item.is_empty()).peekable();
    let picture = items.next_if(|item| is_input(item)).map(read_input).transpose()?;
    let found = items.clone().count();
    if found > MOST {
        return Err(LayersError::TooLong { found });
    }
    let layers: Result<_, _> = (1..).zip(items).map(|(layer, item)| read_layer(layer, item)).collect();
    Ok((picture, layers?))
}

fn is_input(item: &str) -> bool {
    item.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("input"))
}

fn read_input(item: &str) -> Result<Picture, LayersError> {
    let lower = item.to_ascii_lowercase().replace('×', "x");
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<usize>().ok())?;
    let read = || {
        let mut words = lower.split_whitespace().skip(1);
        let (size, None) = (words.next()?, words.next()) else { return None };
        let [channels, rows, columns] = size.split('x').map(number).collect::<Option<Vec<_>>>()?[..] else {
            return None;
        };
        Picture::new(channels, rows).filter(|_| rows == columns)
    };
    read().ok_or_else(|| LayersError::Input { found: item.chars().take(REPEATED).collect() })
}

/// Most characters of the text that an error quotes.
const REPEATED: usize = 40;

fn read_layer(layer: usize, item: &str) -> Result<LayerSpec, LayersError> {
    let found: String = item.chars().take(REPEATED).collect();
    let lower = item.to_ascii_lowercase().replace('×', "x");
    let words: Vec<&str> = lower.split_whitespace().collect();
    let [kind, rest @ ..] = &words[..] else { return Err(LayersError::Unknown { layer, found }) };
    if is_input(item) {
        return Err(LayersError::Input { found });
    }
    let example = match *kind {
        "scattering" => "scattering",
        "extractor" => "extractor",
        "conv" => "conv 16 8x8/2 same",
        "maxpool" => "maxpool 2/1",
        "avgpool" => "avgpool 2",
        "dense" => "dense 32",
        "tanh" => "tanh",
        "relu" => "relu",
        "elu" => "elu",
        "sigmoid" => "sigmoid",
        "tempered" => "tempered 1.58 3 0.71",
        "groupnorm" => "groupnorm 4",
        "batchnorm" => "batchnorm",
        "flatten" => "flatten",
        _ => return Err(LayersError::Unknown { layer, found }),
    };
    let written = || LayersError::Written { layer, found: found.clone(), example };
    let number = |text: &str, what: &'static str, low: u32, high: u32| -> Result<u32, LayersError> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let value = if digits { text.parse::<u32>().unwrap_or(u32::MAX) } else { return Err(written()) };
        if (low..=high).contains(&value) { Ok(value) } else { Err(LayersError::Range { layer, what, low, high }) }
    };
    // Parses K/S; without /S, the stride is `stride`, or K.
    let window = |text: &str, most: u32, stride: Option<u32>| -> Result<(u8, u8), LayersError> {
        let (side, every) = text.split_once('/').map_or((text, None), |(side, every)| (side, Some(every)));
        let side = number(side, word!("its window"), 1, most)?;
        let stride = match every {
            Some(every) => number(every, word!("its stride"), 1, 64)?,
            None => stride.unwrap_or(side),
        };
        Ok((side as u8, stride as u8))
    };
    let activation = |activation| if rest.is_empty() { Ok(LayerSpec::Activation(activation)) } else { Err(written()) };
    match (*kind, rest) {
        ("conv", [filters, size, padding @ ..]) => {
            let filters = number(filters, word!("the number of filters"), 1, 1024)? as u16;
            let (width, rest) = size.split_once('x').ok_or_else(written)?;
            let (kernel, stride) = window(rest, 64, Some(1))?;
            if number(width, word!("its kernel"), 1, 64)? != u32::from(kernel) {
                return Err(written());
            }
            let padding = match padding {
                [] => Padding::Pixels(0),
                ["same"] => Padding::Same,
                ["pad", pixels] => Padding::Pixels(number(pixels, word!("its padding"), 0, 63)? as u8),
                _ => return Err(written()),
            };
            Ok(LayerSpec::Convolution { filters, kernel, stride, padding })
        }
        ("maxpool" | "avgpool", [size]) => {
            let kind = if *kind == "maxpool" { Pooling::Max } else { Pooling::Average };
            let (window, stride) = window(size, 64, None)?;
            Ok(LayerSpec::Pool { kind, window, stride })
        }
        ("dense", [outputs]) => {
            Ok(LayerSpec::Dense { outputs: number(outputs, word!("the number of outputs"), 1, 4096)? as u16 })
        }
        ("groupnorm", [groups]) => {
            Ok(LayerSpec::GroupNorm { groups: number(groups, word!("the number of groups"), 1, 1024)? as u16 })
        }
        ("tempered", [scale, inverse_temperature, offset]) => {
            let hundredths = |text: &str, what, low: u32| -> Result<u16, LayersError> {
                let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
                let rest = match rest.len() {
                    0 if !text.contains('.') => 0,
                    1 => 10 * number(rest, what, 0, 9)?,
                    2 => number(rest, what, 0, 99)?,
                    _ => return Err(written()),
                };
                let value = 100 * number(whole, what, 0, 100)? + rest;
                let high = 10_000;
                if (low..=high).contains(&value) {
                    Ok(value as u16)
                } else {
                    Err(LayersError::Range { layer, what, low: 0, high: 100 })
                }
            };
            Ok(LayerSpec::Activation(Activation::Tempered {
                scale: hundredths(scale, word!("its scale"), 1)?,
                inverse_temperature: hundredths(inverse_temperature, word!("its inverse temperature"), 1)?,
                offset: hundredths(offset, word!("its offset"), 0)?,
            }))
        }
        ("batchnorm", []) => Ok(LayerSpec::BatchNorm),
        ("flatten", []) => Ok(LayerSpec::Flatten),
        ("scattering", []) => Ok(LayerSpec::Features(FeatureKind::Scattering)),
        ("extractor", []) => Ok(LayerSpec::Features(FeatureKind::Learned)),
        ("tanh", _) => activation(Activation::Tanh),
        ("relu", _) => activation(Activation::Relu),
        ("elu", _) => activation(Activation::Elu),
        ("sigmoid", _) => activation(Activation::Sigmoid),
        _ => Err(written()),
    }
}

impl Serialize for LayerList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LayerList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(any(test, feature = "testing"))]
pub mod strategies;
#[cfg(test)]
mod tests;
