//! Clipping by groups of layers, at first each layer by itself: McMahan, Andrew, Erlingsson, Chien, Mironov, Papernot &
//! Kairouz 2018, "A general approach to adding differential privacy to iterative training
//! procedures", §2–4.
//!
//! Group g has norm C_g and noise of standard deviation σ_g = z·s_g, where [`Groups`] distributes
//! the noise multiplier z. Each group's part of an encoded gradient is divided by s_g, so that
//!
//! - its L2 norm over all groups is at most 1 (√(ΣC_g²/s_g²) for separate clips, max C_g/s_g for a
//!   joint one), as the ledger records;
//! - all coordinates of the sum have noise of scale z, as grids, correlation and denoisers expect.
//!
//! As post-processing, the noisy sum is multiplied by s_g before it moves the model
//! ([`Layers::restore`]). Non-Gaussian noise is priced for any vector in the unit ball, an upper
//! bound; for Gaussian noise the price is exact.

use serde::{Deserialize, Serialize, Serializer};

use super::{
    MechanismError,
    exact_sum::{SumGrid, clip_target},
};
use crate::accounting::groups::{Clipping, Group, Groups, NoiseStrategy, NoisyGroup};

/// Largest number of layers of a model.
pub const MOST_LAYERS: usize = 8;

/// Bounds on each group's part of a gradient.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LayerClip {
    /// C_g for each group in order, 1e-9 to 1e6; or one number C, for which separate clips are to
    /// C/√G and a joint clip is to C, so that the whole is no longer than C.
    pub norms: Vec<f64>,
    /// Whether groups are scaled separately or jointly.
    #[serde(default)]
    pub clipping: Clipping,
    /// How noise is distributed over the groups.
    #[serde(default)]
    pub strategy: NoiseStrategy,
    /// The group of each layer in order, from 1 to G; empty: each layer is a group.
    #[serde(default)]
    pub groups: Vec<u8>,
    /// σ_g of each group relative to the others, 1e-9 to 1e9, instead of the strategy; or empty.
    #[serde(default)]
    pub noises: Vec<f64>,
}

impl Serialize for LayerClip {
    /// Files name groups and their noise only where there are some, as files of before do not; other
    /// formats need all fields.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "kebab-case")]
        struct Written<'a> {
            norms: &'a [f64],
            clipping: Clipping,
            strategy: NoiseStrategy,
            #[serde(skip_serializing_if = "<[u8]>::is_empty")]
            groups: &'a [u8],
            #[serde(skip_serializing_if = "<[f64]>::is_empty")]
            noises: &'a [f64],
        }
        let Self { norms, clipping, strategy, groups, noises } = self;
        let (clipping, strategy) = (*clipping, *strategy);
        if serializer.is_human_readable() {
            Written { norms, clipping, strategy, groups, noises }.serialize(serializer)
        } else {
            (norms, clipping, strategy, groups, noises).serialize(serializer)
        }
    }
}

/// A [`LayerClip`] applied to the layers of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    parts: Vec<Part>,
    joint: bool,
}

/// The length of one layer, and norm C_g and unit s_g of its group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Number of parameters of the layer.
    pub length: usize,
    /// C_g.
    pub norm: f64,
    /// s_g.
    pub unit: f64,
    /// g, from 0; the same for all layers of a joint clip.
    pub group: u8,
}

/// Factors of a clip: a layer of norm n is multiplied by min(1, `target`/m)·`scale`, where m is the
/// root of the sum of (n·`weight`)² over the layers of its group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerFactors {
    /// 1/C_g; 0 after the last layer.
    pub weight: [f64; MOST_LAYERS],
    /// Norm to clip to in units of C_g, below the bound to leave room for rounding.
    pub target: [f64; MOST_LAYERS],
    /// 1/s_g.
    pub scale: [f64; MOST_LAYERS],
    /// The layer's group.
    pub group: [u8; MOST_LAYERS],
}

impl LayerClip {
    /// Splits C over the layers, clipped separately with the same privacy for each.
    #[must_use]
    pub fn even(norm: f64) -> Self {
        Self {
            norms: vec![norm],
            clipping: Clipping::Separate,
            strategy: NoiseStrategy::Proportional,
            groups: Vec::new(),
            noises: Vec::new(),
        }
    }

    /// Reads norms, groups and noises: a word for each group, `LAYERS:NORM@NOISE`, of which LAYERS
    /// (as `1-2` or `1+4`) and NOISE may be missing in all words. See [`LayerClip::text`].
    ///
    /// # Errors
    /// The word that is not such a group; a layer in two groups or in none.
    pub fn read(&mut self, text: &str) -> Result<(), MechanismError> {
        let (mut norms, mut noises, mut members) = (Vec::new(), Vec::new(), Vec::new());
        for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
            let mut group = || {
                let (layers, rest) = word.split_once(':').map_or((None, word), |(layers, rest)| (Some(layers), rest));
                let (norm, noise) = rest.split_once('@').map_or((rest, None), |(norm, noise)| (norm, Some(noise)));
                norms.push(norm.parse().ok()?);
                noises.extend(noise.map(str::parse::<f64>).transpose().ok()?);
                members.extend(layers.map(numbers).map(|layers| layers.ok_or(())).transpose().ok()?);
                Some(())
            };
            group().ok_or_else(|| MechanismError::LayerGroup(word.chars().take(40).collect()))?;
        }
        if norms.len() > MOST_LAYERS {
            return Err(MechanismError::LayerNorms { groups: MOST_LAYERS, found: norms.len() });
        }
        let all_or_none = |count: usize| count == 0 || count == norms.len();
        if !all_or_none(members.len()) || !all_or_none(noises.len()) {
            return Err(MechanismError::LayerGroupsUnlike);
        }
        let mut groups = vec![0; members.iter().flatten().copied().max().unwrap_or(0).into()];
        for (group, layer) in (1..).zip(&members).flat_map(|(group, own)| own.iter().map(move |layer| (group, layer))) {
            let place = &mut groups[usize::from(*layer) - 1];
            if *place != 0 {
                return Err(MechanismError::LayerTwice(*layer));
            }
            *place = group;
        }
        if let Some(missing) = groups.iter().position(|group| *group == 0) {
            return Err(MechanismError::LayerMissing(missing as u8 + 1));
        }
        (self.norms, self.groups, self.noises) = (norms, groups, noises);
        Ok(())
    }

    /// Returns what [`LayerClip::read`] reads.
    #[must_use]
    pub fn text(&self) -> String {
        let word = |(place, norm): (usize, &f64)| {
            let own = (1..).zip(&self.groups).filter(|(_, group)| usize::from(**group) == place + 1);
            let layers: Vec<String> = own.map(|(layer, _): (u8, _)| layer.to_string()).collect();
            let layers = if layers.is_empty() { String::new() } else { layers.join("+") + ":" };
            let noise = self.noises.get(place).map_or_else(String::new, |noise| format!("@{noise}"));
            format!("{layers}{norm}{noise}")
        };
        self.norms.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
    }

    /// Returns the L2 bound of the whole gradient for `layers` layers, in gradient units.
    #[must_use]
    pub fn length(&self, layers: usize) -> f64 {
        let each = |count: usize| self.norms.iter().take(count).map(|norm| norm * norm).sum::<f64>().sqrt();
        match (self.norms.len(), self.clipping) {
            (0, _) => 1.0,
            (1, _) => self.norms[0],
            (_, Clipping::Separate) => each(layers),
            (_, Clipping::Joint) => self.norms.iter().copied().fold(0.0, f64::max),
        }
    }

    /// Checks that the norms are in range.
    ///
    /// # Errors
    /// When there is no norm, or one is NaN or out of range.
    pub fn validate(&self) -> Result<(), MechanismError> {
        let usable = |norm: &f64| (1e-9..=1e6).contains(norm);
        if let Some(norm) = self.norms.iter().find(|norm| !usable(norm)) {
            return Err(MechanismError::LayerNorm(*norm));
        }
        if let Some(noise) = self.noises.iter().find(|noise| !(1e-9..=1e9).contains(*noise)) {
            return Err(MechanismError::LayerNoise(*noise));
        }
        if self.norms.is_empty() {
            return Err(MechanismError::LayerNorms { groups: MOST_LAYERS, found: 0 });
        }
        if self.clipping == Clipping::Joint && !(self.groups.is_empty() && self.noises.is_empty()) {
            return Err(MechanismError::LayerGroupsJoint);
        }
        Ok(())
    }
}

impl Layers {
    /// Applies `clip` to layers with these numbers of parameters, in flat order.
    ///
    /// # Errors
    /// As [`LayerClip::validate`]; a wrong number of norms, or more than [`MOST_LAYERS`] layers.
    pub fn new(clip: &LayerClip, lengths: &[usize]) -> Result<Self, MechanismError> {
        clip.validate()?;
        let count = lengths.len();
        if count > MOST_LAYERS {
            return Err(MechanismError::LayerNorms { groups: count, found: clip.norms.len() });
        }
        let group_of: Vec<u8> = if clip.groups.is_empty() { (1..=count as u8).collect() } else { clip.groups.clone() };
        let groups = group_of.iter().copied().max().unwrap_or(0);
        if group_of.len() != count || !(1..=groups).all(|group| group_of.contains(&group)) || group_of.contains(&0) {
            return Err(MechanismError::LayerGroups { layers: count, found: group_of.len() });
        }
        let groups = usize::from(groups);
        let norms = match (&clip.norms[..], clip.clipping) {
            (&[norm], Clipping::Separate) => vec![norm / (groups as f64).sqrt(); groups],
            (&[norm], Clipping::Joint) => vec![norm; groups],
            (norms, _) => norms.to_vec(),
        };
        let wrong = MechanismError::LayerNorms { groups, found: clip.norms.len() };
        if norms.len() != groups || !(clip.noises.is_empty() || clip.noises.len() == groups) {
            return Err(wrong);
        }
        let length = |group: usize| {
            let own = group_of.iter().zip(lengths).filter(|(of, _)| usize::from(**of) == group);
            own.map(|(_, length)| *length as u64).sum::<u64>()
        };
        let each = (1..).zip(&norms).map(|(group, norm)| Group::new("layers", length(group), *norm));
        // Cannot fail: norms are in range, and no group is empty.
        let noisy = if clip.noises.is_empty() {
            Groups::with_multiplier(each.collect(), 1.0, clip.strategy, clip.clipping)
        } else {
            let noisy = each.zip(&clip.noises).map(|(group, noise)| NoisyGroup { group, noise: *noise });
            Groups::new(noisy.collect(), clip.clipping).map(|groups| groups.scaled_to(1.0))
        };
        let noisy = noisy.map_err(|_| wrong)?;
        let joint = clip.clipping == Clipping::Joint;
        let part = |(&length, &group): (&usize, &u8)| {
            let NoisyGroup { group: own, noise } = &noisy.groups()[usize::from(group) - 1];
            Part { length, norm: own.clip, unit: *noise, group: if joint { 0 } else { group - 1 } }
        };
        Ok(Self { parts: lengths.iter().zip(&group_of).map(part).collect(), joint })
    }

    /// Returns the grid of encoded coordinates, in units of s_g.
    #[must_use]
    pub fn sum_grid() -> SumGrid {
        SumGrid::of(1.0)
    }

    /// Returns P, the total number of parameters.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.parts.iter().map(|part| part.length).sum()
    }

    /// Returns each layer's part.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the clip's factors if coordinates are rounded to `grid`.
    #[must_use]
    pub fn factors(&self, grid: Option<SumGrid>) -> LayerFactors {
        let mut factors = LayerFactors {
            weight: [0.0; MOST_LAYERS],
            target: [0.0; MOST_LAYERS],
            scale: [0.0; MOST_LAYERS],
            group: std::array::from_fn(|layer| layer as u8),
        };
        let aim = |norm, length| grid.map_or_else(|| clip_target(norm), |grid| grid.clip_target(norm, length));
        for (g, part) in self.parts.iter().enumerate() {
            let most = part.norm / part.unit;
            factors.weight[g] = part.norm.recip();
            factors.scale[g] = part.unit.recip();
            factors.group[g] = part.group;
            // A joint clip allows for rounding of all coordinates, none of which is stretched.
            let length = self.parts.iter().filter(|other| other.group == part.group).map(|other| other.length).sum();
            factors.target[g] = if self.joint { aim(1.0, length) } else { aim(most, length) / most };
        }
        factors
    }

    /// Splits a gradient, or a sum of them, into the layers' parts.
    fn split<'a>(&self, mut values: &'a mut [f32]) -> Vec<&'a mut [f32]> {
        let take = |part: &Part| {
            let (own, rest) = std::mem::take(&mut values).split_at_mut(part.length);
            values = rest;
            own
        };
        self.parts.iter().map(take).collect()
    }

    /// Clips a finite gradient in place and converts it to units of s_g.
    ///
    /// # Panics
    /// When `gradient` is shorter than the layers.
    pub fn clip(&self, gradient: &mut [f32], grid: Option<SumGrid>) {
        let factors = self.factors(grid);
        let mut parts = self.split(gradient);
        let mut squares = [0.0; MOST_LAYERS];
        for (square, part) in squares.iter_mut().zip(&parts) {
            *square = part.iter().map(|&g| f64::from(g).powi(2)).sum();
        }
        for (part, factor) in parts.iter_mut().zip(factors.of(squares)) {
            for g in part.iter_mut() {
                *g = (f64::from(*g) * factor) as f32;
                *g = grid.map_or(*g, |grid| grid.round(*g));
            }
        }
    }

    /// True if an encoded gradient is within its bounds.
    #[must_use]
    pub fn inside(&self, encoded: &[f64]) -> bool {
        let mut rest = encoded;
        let mut squares = [0.0; MOST_LAYERS];
        for part in &self.parts {
            let (own, after) = rest.split_at(part.length.min(rest.len()));
            rest = after;
            squares[usize::from(part.group)] +=
                own.iter().map(|v| v * v).sum::<f64>() * (part.unit / part.norm).powi(2);
        }
        // Squares on a grid are exact, but the bounds are rounded.
        squares.iter().all(|square| *square <= 1.0 + 1e-12)
    }

    /// Converts from units of s_g back to gradient units.
    ///
    /// # Panics
    /// When `values` is shorter than the layers.
    pub fn restore(&self, values: &mut [f32]) {
        for (values, part) in self.split(values).into_iter().zip(&self.parts) {
            let unit = part.unit as f32;
            values.iter_mut().for_each(|value| *value *= unit);
        }
    }
}

impl LayerFactors {
    /// Returns each layer's factor for a gradient with these squared norms per layer.
    #[must_use]
    pub fn of(&self, squares: [f64; MOST_LAYERS]) -> [f64; MOST_LAYERS] {
        let own: [f64; MOST_LAYERS] = std::array::from_fn(|l| squares[l].sqrt() * self.weight[l]);
        std::array::from_fn(|l| {
            let together = own.iter().zip(self.group).filter(|(_, group)| *group == self.group[l]);
            let norm = together.map(|(norm, _)| norm * norm).sum::<f64>().sqrt();
            (self.target[l] / norm).min(1.0) * self.scale[l]
        })
    }
}

/// Reads layers' numbers: `3`, `1-2` or `1+4`.
fn numbers(text: &str) -> Option<Vec<u8>> {
    let mut layers = Vec::new();
    for part in text.split('+') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let [first, last] = [first, last].map(|number| number.parse::<u8>().ok().filter(|number| *number > 0));
        layers.extend(first?..=last?);
    }
    Some(layers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<LayerClip, MechanismError> {
        let mut clip = LayerClip::even(1.0);
        clip.read(text).map(|()| clip)
    }

    #[test]
    fn groups_are_read_as_they_are_written() {
        for (text, norms, groups, noises) in [
            ("0.5", &[0.5][..], &[][..], &[][..]),
            ("0.5 1e-3 2", &[0.5, 1e-3, 2.0], &[], &[]),
            ("0.5@2,1@0.25", &[0.5, 1.0], &[], &[2.0, 0.25]),
            ("1-2:0.5 3+4:1", &[0.5, 1.0], &[1, 1, 2, 2], &[]),
            ("2+4:0.5@3 1:1@1 3:2@1", &[0.5, 1.0, 2.0], &[2, 1, 3, 1], &[3.0, 1.0, 1.0]),
        ] {
            let clip = read(text).unwrap();
            assert_eq!((&clip.norms[..], &clip.groups[..], &clip.noises[..]), (norms, groups, noises), "{text}");
            assert_eq!(read(&clip.text()).unwrap(), clip, "{text}");
        }
    }

    #[test]
    fn what_is_no_partition_is_refused() {
        use MechanismError as Error;
        let refused = |text: &str| read(text).and_then(|clip| Layers::new(&clip, &[10, 20, 30])).unwrap_err();
        assert!(matches!(refused("nought"), Error::LayerGroup(word) if word == "nought"));
        for text in ["1:", "0:1", "1-:1", "x:1", "1:1@", "1:1@1@1", "1:1:1", "300:1", "@2"] {
            assert!(matches!(refused(text), Error::LayerGroup(_)), "{text}");
        }
        for text in ["1:1 2", "1@1 2", "1-2:1@2 3:1"] {
            assert!(matches!(refused(text), Error::LayerGroupsUnlike), "{text}");
        }
        assert!(matches!(refused("1-2:1 2-3:1"), Error::LayerTwice(2)));
        assert!(matches!(refused("1:1 3:1"), Error::LayerMissing(2)));
        assert!(matches!(refused("1:1 2:1"), Error::LayerGroups { layers: 3, found: 2 }));
        assert!(matches!(refused("1-255:1"), Error::LayerGroups { layers: 3, found: 255 }));
        assert!(matches!(refused("3-1:1 1-3:1"), Error::LayerGroups { .. }));
        assert!(matches!(refused("1-2:1 3:0"), Error::LayerNorm(0.0)));
        assert!(matches!(refused("1@1 1@0 1@1"), Error::LayerNoise(0.0)));
        assert!(matches!(refused("1@nan 1@1 1@1"), Error::LayerNoise(_)));
        assert!(matches!(refused("1 2"), Error::LayerNorms { groups: 3, found: 2 }));
        assert!(matches!(refused("1 1 1 1 1 1 1 1 1"), Error::LayerNorms { .. }));
        assert!(matches!(refused(""), Error::LayerNorms { .. }));
        let joint = LayerClip { clipping: Clipping::Joint, ..read("1-2:1 3:1").unwrap() };
        assert!(matches!(Layers::new(&joint, &[1, 2, 3]), Err(Error::LayerGroupsJoint)));
    }

    /// Each group is no longer than its norm in units of its noise, and as long if it was longer;
    /// all groups together are within 1, for any partition.
    #[test]
    fn groups_are_clipped_and_have_the_noise_that_they_name() {
        let lengths = [3, 4, 5];
        let clip = read("1+3:0.5@2 2:3@1").unwrap();
        let layers = Layers::new(&clip, &lengths).unwrap();
        let [first, second, third] = [0, 1, 2].map(|layer| layers.parts()[layer]);
        assert_eq!((first.norm, second.norm, third.norm), (0.5, 3.0, 0.5));
        assert!((first.unit / second.unit - 2.0).abs() < 1e-12 && first.unit == third.unit);
        assert!(((0.5 / first.unit).powi(2) + (3.0 / second.unit).powi(2) - 1.0).abs() < 1e-12);
        for (size, clipped) in [(0.01, false), (100.0, true)] {
            let mut gradient: Vec<f32> = (1..=12).map(|i| size * i as f32).collect();
            let whole = gradient.clone();
            layers.clip(&mut gradient, None);
            let encoded: Vec<f64> = gradient.iter().map(|v| f64::from(*v)).collect();
            assert!(layers.inside(&encoded));
            let norm = |range: &[std::ops::Range<usize>]| {
                let squares = range.iter().flat_map(|range| &encoded[range.clone()]).map(|v| v * v);
                squares.sum::<f64>().sqrt()
            };
            let (joined, alone) = (norm(&[0..3, 7..12]) * first.unit, norm(&[3..7, 0..0]) * second.unit);
            if clipped {
                assert!((joined / 0.5 - 1.0).abs() < 1e-3 && (alone / 3.0 - 1.0).abs() < 1e-3, "{joined} {alone}");
            } else {
                layers.restore(&mut gradient);
                assert!(gradient.iter().zip(&whole).all(|(restored, g)| (restored / g - 1.0).abs() < 1e-5));
            }
            // Layers of a group keep their proportion.
            let [a, b] = [0, 11].map(|place| encoded[place] / f64::from(whole[place]));
            assert!((a / b - 1.0).abs() < 1e-6);
        }
    }
}
