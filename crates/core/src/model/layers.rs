//! A network as a list of layers: how it is written, and every shape that follows.
//!
//! ```text
//! conv 16 8x8/2 same, tanh, maxpool 2/1, dense 10
//! ```
//!
//! | layer | is |
//! | --- | --- |
//! | `scattering` | fixed features of an image, which nothing is learned of: maps of scattering coefficients ([`super::scattering`]); before all others |
//! | `extractor` | what a small fixed network finds in an image ([`super::extractor`]): 64×4×4; before all others |
//! | `conv F KxK/S same`, `conv F KxK/S pad P` | F kernels of K×K pixels over all channels, with a bias each, every S pixels (1 if left out); P zeros around the image, or as many as leave ⌈side/S⌉ places; none if left out |
//! | `maxpool K/S`, `avgpool K/S` | the largest value, or the mean, of each window of K×K pixels, every S pixels (K if left out), channel by channel |
//! | `dense N` | N sums of all values, with a bias each; an image is taken as a vector |
//! | `tanh`, `relu`, `elu`, `sigmoid` | of each value by itself; elu x = eˣ − 1 below 0 (Clevert, Unterthiner & Hochreiter 2016) |
//! | `tempered S T O` | S/(1 + e^(−T·x)) − O (tempered sigmoid: Papernot, Thakurta, Song, Chien & Erlingsson 2021), to hundredths |
//! | `groupnorm G` | channels in G groups, each brought to mean 0 and variance 1 within the image, then scaled and shifted channel by channel (Wu & He 2018) |
//! | `flatten` | an image as a vector, channel by channel and row by row |
//!
//! The last layer is `dense` with one number for each class, 2 to 100. Before the first may stand `input CxSxS`, what images are: C (1 or 3) channels of S×S values;
//! left out, they are MNIST's, 1x28x28. [`LayerList`] holds what fits together alone, and prints itself as it is read.

use core::{fmt, str::FromStr};

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

/// Most layers of a list, of whatever kind.
pub const MOST: usize = 20;
/// Most parameters.
pub const MOST_PARAMETERS: usize = 1_000_000;
/// Most multiplications and additions that reading one image takes: a step of lot 256 takes some seconds then.
pub const MOST_WORK: u64 = 100_000_000;
/// Most values between two layers.
const MOST_VALUES: usize = 1 << 20;
/// What is added to a variance before it is divided by.
pub const NORM_FLOOR: f64 = 1e-5;

/// One layer, without what follows from the layers before it. Images and windows are square.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LayerSpec {
    /// `scattering`, `extractor`: fixed features of the image, which take its place.
    Features(FeatureKind),
    /// `conv`.
    Convolution {
        /// Output channels.
        filters: u16,
        /// Side of a kernel.
        kernel: u8,
        /// Pixels from one place to the next.
        stride: u8,
        /// Zeros around the image.
        padding: Padding,
    },
    /// `maxpool`, `avgpool`.
    Pool {
        /// What is made of a window.
        kind: Pooling,
        /// Side of it.
        window: u8,
        /// Pixels from one to the next.
        stride: u8,
    },
    /// `dense`.
    Dense {
        /// Numbers that it makes.
        outputs: u16,
    },
    /// An activation.
    Activation(Activation),
    /// `groupnorm`.
    GroupNorm {
        /// Groups of channels.
        groups: u16,
    },
    /// `flatten`.
    Flatten,
}

/// Zeros around an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Padding {
    /// As many on each side as leave ⌈side/stride⌉ places in a row.
    Same,
    /// So many on each side.
    Pixels(u8),
}

/// What is made of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pooling {
    /// Its largest value; of equals the first, row by row.
    Max,
    /// The mean of its values.
    Average,
}

/// What stands between two layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// So many values.
    Vector(usize),
    /// `channels` squares of `side`² values.
    Image {
        /// Squares.
        channels: usize,
        /// Values in a row of one.
        side: usize,
    },
}

/// Why a list is no network. Layers are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayersError {
    /// A word that names no layer.
    #[error(
        "layer {layer} is “{found}”; a layer is conv, maxpool, avgpool, dense, tanh, relu, elu, sigmoid, tempered, groupnorm or flatten, or, before all others, scattering or extractor"
    )]
    Unknown {
        /// Which.
        layer: usize,
        /// What stands there.
        found: String,
    },
    /// A layer that is written otherwise.
    #[error("layer {layer} is “{found}”; it is written as {example}")]
    Written {
        /// Which.
        layer: usize,
        /// What stands there.
        found: String,
        /// Such a layer.
        example: &'static str,
    },
    /// A number beyond what is allowed.
    #[error("layer {layer}: {what} must be from {low} to {high}")]
    Range {
        /// Which.
        layer: usize,
        /// Of what.
        what: &'static str,
        /// The least.
        low: u32,
        /// The most.
        high: u32,
    },
    /// Too many layers.
    #[error("{found} layers; a network here has {MOST} at most")]
    TooLong {
        /// How many there are.
        found: usize,
    },
    /// Too many layers with parameters.
    #[error("{found} layers have parameters; {MOST_LAYERS} at most may")]
    TooManyWithParameters {
        /// How many have.
        found: usize,
    },
    /// Features of an image behind a layer.
    #[error("layer {layer} is “{found}”, features of the image itself; put it before all other layers")]
    NotFirst {
        /// Which.
        layer: usize,
        /// What stands there.
        found: &'static str,
    },
    /// An image is asked for where there is none.
    #[error("layer {layer} needs an image, and gets a vector; put it before flatten and dense")]
    NotAnImage {
        /// Which.
        layer: usize,
    },
    /// A window that is too large.
    #[error("layer {layer}: a {window}×{window} window does not fit a {side}×{side} image")]
    Window {
        /// Which.
        layer: usize,
        /// Its window.
        window: usize,
        /// Of the image that it gets, with the zeros around it.
        side: usize,
    },
    /// No number of zeros does it.
    #[error(
        "layer {layer}: no equal padding on all sides leaves a {side}×{side} image {places}×{places} places; take an odd kernel, or pad by a number"
    )]
    NotSame {
        /// Which.
        layer: usize,
        /// Of its image.
        side: usize,
        /// Places in a row.
        places: usize,
    },
    /// Groups of unequal size.
    #[error("layer {layer}: {groups} groups do not divide {channels} channels")]
    Groups {
        /// Which.
        layer: usize,
        /// Groups.
        groups: usize,
        /// Channels that it gets.
        channels: usize,
    },
    /// Too large to be held.
    #[error("layer {layer} makes more values of an image than {MOST_VALUES}; take fewer filters, or a larger stride")]
    TooLarge {
        /// Which.
        layer: usize,
    },
    /// What images are is said elsewhere, or twice, or wrongly.
    #[error(
        "“{found}” says of what size images are; it is written once, before all layers, as input 3x32x32: 1 or 3 channels of at most {MOST_SIDE}×{MOST_SIDE} values"
    )]
    Input {
        /// What stands there.
        found: String,
    },
    /// It does not end with an answer.
    #[error(
        "the network ends in {found}; its last layer must be dense, with a number for each class ({FEWEST_CLASSES} to {MOST_CLASSES}; digits are {CLASSES})"
    )]
    Ends {
        /// The last layer, or nothing.
        found: String,
    },
    /// Images that are not those at hand.
    #[error(
        "the network reads {found} images, and those at hand are {there}; leave out what it reads, and it takes those"
    )]
    OtherImages {
        /// What it reads.
        found: Picture,
        /// What there is.
        there: Picture,
    },
    /// Classes that are not those at hand.
    #[error("the network ends in dense {found}, and the images at hand have {there} classes; end it in dense {there}")]
    OtherClasses {
        /// Classes that it tells apart.
        found: usize,
        /// Classes that there are.
        there: usize,
    },
    /// Too many parameters.
    #[error("{found} parameters; {MOST_PARAMETERS} are the most")]
    Parameters {
        /// How many there would be.
        found: usize,
    },
    /// Too slow.
    #[error("{found} multiplications and additions an image; {MOST_WORK} are the most")]
    Work {
        /// How many there would be.
        found: u64,
    },
}

/// A layer with its shapes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// As it is written.
    pub spec: LayerSpec,
    /// What it takes.
    pub input: Shape,
    /// What it makes.
    pub output: Shape,
    /// Its parameters, where it has some.
    pub layer: Option<Layer>,
    /// Where its windows lie, of a convolution or a pool.
    pub geometry: Option<Geometry>,
}

impl From<Picture> for Shape {
    fn from(picture: Picture) -> Self {
        Self::Image { channels: picture.channels.into(), side: picture.side.into() }
    }
}

impl Shape {
    /// Values in all.
    #[must_use]
    pub const fn values(self) -> usize {
        match self {
            Self::Vector(values) => values,
            Self::Image { channels, side } => channels * side * side,
        }
    }

    /// Channels, and values of each: of a vector each value is a channel.
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
    /// Multiplications and additions of an image's way forward, one for both.
    #[must_use]
    pub fn work(&self) -> u64 {
        let out = self.output.values() as u64;
        match (self.spec, self.layer, self.geometry) {
            (LayerSpec::Convolution { .. } | LayerSpec::Dense { .. }, Some(layer), _) => {
                let places = out / layer.outputs as u64;
                places * (layer.outputs * layer.fan_in) as u64
            }
            (_, _, Some(geometry)) => out * geometry.taps() as u64,
            // They are computed once.
            (LayerSpec::Features(_), ..) => 0,
            _ => out,
        }
    }
}

/// Names of layers in files, by their number from 1.
const fn name(kind: usize, number: usize) -> &'static str {
    const NAMES: [[&str; MOST_LAYERS]; 3] = [
        ["conv1", "conv2", "conv3", "conv4", "conv5", "conv6", "conv7", "conv8"],
        ["dense1", "dense2", "dense3", "dense4", "dense5", "dense6", "dense7", "dense8"],
        ["norm1", "norm2", "norm3", "norm4", "norm5", "norm6", "norm7", "norm8"],
    ];
    NAMES[kind][if number < MOST_LAYERS { number } else { MOST_LAYERS - 1 }]
}

/// Works out every shape of layers that take `input`, whatever they end in.
///
/// # Errors
/// Where a layer cannot take what the one before makes, or is too large.
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

/// A list of layers that fit together, from an image to a number for each class.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LayerList {
    picture: Picture,
    layers: [LayerSpec; MOST],
    length: u8,
}

impl LayerList {
    /// What a builder begins with: `conv 8 5x5/2 same, tanh, maxpool 2, dense 10`.
    pub const FIRST: Self = {
        let mut layers = [LayerSpec::Flatten; MOST];
        layers[0] = LayerSpec::Convolution { filters: 8, kernel: 5, stride: 2, padding: Padding::Same };
        layers[1] = LayerSpec::Activation(Activation::Tanh);
        layers[2] = LayerSpec::Pool { kind: Pooling::Max, window: 2, stride: 2 };
        layers[3] = LayerSpec::Dense { outputs: CLASSES as u16 };
        Self { picture: Picture::DIGIT, layers, length: 4 }
    };

    /// These layers, of digits' images.
    ///
    /// # Errors
    /// As [`LayerList::on`].
    pub fn new(specs: &[LayerSpec]) -> Result<Self, LayersError> {
        Self::on(Picture::DIGIT, specs)
    }

    /// These layers, of images of this size.
    ///
    /// # Errors
    /// Where they do not fit together, do not end in `dense` with 2 to 100 numbers, or are too many or too large.
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

    /// The same layers for images of another size and other classes: the last makes as many numbers as there are.
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

    /// What images are.
    #[must_use]
    pub const fn picture(&self) -> Picture {
        self.picture
    }

    /// Classes that it tells apart.
    #[must_use]
    pub fn classes(&self) -> usize {
        match self.specs().last() {
            Some(LayerSpec::Dense { outputs }) => usize::from(*outputs),
            _ => CLASSES,
        }
    }

    /// Its layers, in order.
    #[must_use]
    pub fn specs(&self) -> &[LayerSpec] {
        &self.layers[..usize::from(self.length)]
    }

    /// The fixed features that its layers take in place of pixels.
    #[must_use]
    pub const fn features(&self) -> Option<FeatureMap> {
        match self.layers[0] {
            LayerSpec::Features(kind) => Some(FeatureMap { kind, picture: self.picture }),
            _ => None,
        }
    }

    /// Coordinates that are pictures: the first layer's weights for an image's pixels, or for those under a kernel, channel by channel.
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

    /// Multiplications and additions of an image's way forward, one for both.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.placed().iter().map(Placed::work).sum()
    }

    /// Its layers with their shapes.
    #[must_use]
    pub fn placed(&self) -> Vec<Placed> {
        // They fitted when the list was made.
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

/// The layers of a text, separated by commas or line ends, whether they fit together or not, and what images are, where it says so.
///
/// # Errors
/// [`LayersError::Input`], [`LayersError::Unknown`], [`LayersError::Written`], [`LayersError::Range`], [`LayersError::TooLong`].
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

/// Longest piece of a text that an error repeats, in characters.
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
        "flatten" => "flatten",
        _ => return Err(LayersError::Unknown { layer, found }),
    };
    let written = || LayersError::Written { layer, found: found.clone(), example };
    let number = |text: &str, what: &'static str, low: u32, high: u32| -> Result<u32, LayersError> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let value = if digits { text.parse::<u32>().unwrap_or(u32::MAX) } else { return Err(written()) };
        if (low..=high).contains(&value) { Ok(value) } else { Err(LayersError::Range { layer, what, low, high }) }
    };
    // K/S; without /S, what stands for it.
    let window = |text: &str, most: u32, stride: Option<u32>| -> Result<(u8, u8), LayersError> {
        let (side, every) = text.split_once('/').map_or((text, None), |(side, every)| (side, Some(every)));
        let side = number(side, "its window", 1, most)?;
        let stride = match every {
            Some(every) => number(every, "its stride", 1, 64)?,
            None => stride.unwrap_or(side),
        };
        Ok((side as u8, stride as u8))
    };
    let activation = |activation| if rest.is_empty() { Ok(LayerSpec::Activation(activation)) } else { Err(written()) };
    match (*kind, rest) {
        ("conv", [filters, size, padding @ ..]) => {
            let filters = number(filters, "the number of filters", 1, 1024)? as u16;
            let (width, rest) = size.split_once('x').ok_or_else(written)?;
            let (kernel, stride) = window(rest, 64, Some(1))?;
            if number(width, "its kernel", 1, 64)? != u32::from(kernel) {
                return Err(written());
            }
            let padding = match padding {
                [] => Padding::Pixels(0),
                ["same"] => Padding::Same,
                ["pad", pixels] => Padding::Pixels(number(pixels, "its padding", 0, 63)? as u8),
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
            Ok(LayerSpec::Dense { outputs: number(outputs, "the number of outputs", 1, 4096)? as u16 })
        }
        ("groupnorm", [groups]) => {
            Ok(LayerSpec::GroupNorm { groups: number(groups, "the number of groups", 1, 1024)? as u16 })
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
                scale: hundredths(scale, "its scale", 1)?,
                inverse_temperature: hundredths(inverse_temperature, "its inverse temperature", 1)?,
                offset: hundredths(offset, "its offset", 0)?,
            }))
        }
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
