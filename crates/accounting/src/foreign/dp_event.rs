//! dp_accounting: events as programs in Python.

use hushgrad_message::{Message, ToMessage as _, message, word};

use super::python::{self, Value, float, place};
use crate::{
    envelope::EnvelopeProfile,
    error::PrivacyError,
    ledger::{Event, Ledger, PrivacyUnit, Release, Sensitivity},
    noise::NoiseSpec,
    pair::Pair,
    rdp::check_kind_count,
    sampling::{NeighbouringRelation, Sampling},
};

/// Most events that a repetition may unfold into.
const MOST_EVENTS: usize = 1 << 16;

/// True for a text that names an event of dp_accounting, and is not a JSON object.
pub(super) fn is_event(text: &str) -> bool {
    let text = text.trim_start();
    let begins = |first: char| first.is_ascii_alphabetic() || "_#[(".contains(first);
    text.starts_with(begins) && text.contains("DpEvent")
}

/// Reads a `DpEvent` of dp_accounting (0.1 to 0.6): its `repr()`, or, since 0.4.4, the `repr()` of its
/// `to_named_tuple()`, or the JSON of that tuple (`json.dumps(event.to_named_tuple())`).
///
/// - Gaussian noise on all records, or on a sample by Poisson or without replacement
///   (`GaussianDpEvent`, `PoissonSampledDpEvent`, `SampledWithoutReplacementDpEvent`). Several
///   Gaussian events on one sample are one release, with the noise of the joint query.
/// - `ComposedDpEvent` and `SelfComposedDpEvent` are lists of releases; `NoOpDpEvent` is none.
/// - `LaplaceDpEvent` (noise over a bound on the L1 norm), `DiscreteLaplaceDpEvent`,
///   `MixtureOfGaussiansDpEvent`, and `RandomizedResponseDpEvent`, in which one record replaces
///   another: beside it, so it does in all events.
/// - `NonPrivateDpEvent` is a release without noise or bound: such a ledger has no ε.
///
/// The noise multiplier is the noise's deviation over a bound on the norm of *one* record, as
/// dp_accounting documents it. For fixed-size samples, whose neighbours replace one record by
/// another, dp_accounting's RDP accountant takes it over their distance instead, which is up to twice
/// that bound; its ε is smaller.
///
/// ```
/// use hushgrad_accounting::{books::account, foreign::dp_event};
///
/// let ledger = dp_event(
///     "SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.0042, \
///      event=GaussianDpEvent(noise_multiplier=1.1)), count=3515)",
/// )?;
/// let epsilon = account(&ledger, 1e-5)?.tight.expect("a tight bound").value;
/// assert_eq!(format!("{epsilon:.3}"), "1.114");
/// # Ok::<(), hushgrad_accounting::PrivacyError>(())
/// ```
///
/// # Errors
/// [`PrivacyError::Ledger`]: not such a text, with its line and column. [`PrivacyError::Event`]: an
/// event that a ledger cannot say, such as `ZCDpEvent`, with its place.
/// [`PrivacyError::TooManyKinds`].
pub fn dp_event(text: &str) -> Result<Ledger, PrivacyError> {
    let value = python::parse(text)?;
    let mut ledger = Ledger::new();
    let events = read(&value, "", &mut ledger)?;
    let ledger = ledger.with_events(events)?;
    // One relation for all, as of dp_accounting's accountants.
    let relation = |neighbours| ledger.releases().iter().any(|release| release.neighbours() == neighbours);
    let mixed = relation(NeighbouringRelation::AddOrRemoveOne) && relation(NeighbouringRelation::ReplaceOne);
    if mixed { ledger.replacing_one() } else { Ok(ledger) }
}

/// An event's class and its arguments.
struct Named<'v, 'a> {
    class: &'a str,
    arguments: Vec<(Option<&'a str>, &'v Value<'a>)>,
    path: String,
}

fn refused(path: &str, event: impl ToString, problem: Message) -> PrivacyError {
    PrivacyError::Event { place: place(path), event: event.to_string(), problem }
}

impl<'v, 'a> Named<'v, 'a> {
    fn of(value: &'v Value<'a>, path: &str) -> Result<Self, PrivacyError> {
        let no_event = || refused(path, value, word!("it is no event").into());
        let (class, arguments) = match value {
            Value::Call(name, arguments) => {
                let name = name.rsplit('.').next().unwrap_or(name);
                let arguments = arguments.iter().map(|(key, value)| (*key, value));
                let tuple = name.strip_prefix('_').and_then(|name| name.strip_suffix("NamedTupleWrapper"));
                match tuple {
                    Some(name) => {
                        let names = ["module_name", "class_name"];
                        (name, arguments.filter(|(key, _)| key.is_none_or(|key| !names.contains(&key))).collect())
                    }
                    None => (name, arguments.collect()),
                }
            }
            // A named tuple in JSON.
            Value::List(items) => match items.as_slice() {
                [Value::Text(module), Value::Text(class), fields @ ..] if module.ends_with("dp_event") => {
                    (*class, fields.iter().map(|value| (None, value)).collect())
                }
                _ => return Err(no_event()),
            },
            Value::Number(_) | Value::Text(_) => return Err(no_event()),
        };
        Ok(Self { class, arguments, path: path.to_owned() })
    }

    fn refused(&self, problem: impl Into<Message>) -> PrivacyError {
        refused(&self.path, self.class, problem.into())
    }

    /// Its arguments of these names, in this order, and no others.
    fn fields<const N: usize>(&self, names: [&str; N]) -> Result<[&'v Value<'a>; N], PrivacyError> {
        let mut found = [None; N];
        for (index, (key, value)) in self.arguments.iter().enumerate() {
            let at = key.map_or(Some(index), |key| names.iter().position(|name| *name == key));
            match at.and_then(|at| found.get_mut(at)) {
                Some(field @ None) => *field = Some(*value),
                _ => {
                    let what = key.map_or_else(|| value.to_string(), ToString::to_string);
                    return Err(self.refused(message!("it has no field for {what}")));
                }
            }
        }
        let mut missing = names.iter().zip(&found).filter(|(_, value)| value.is_none());
        if let Some((name, _)) = missing.next() {
            return Err(self.refused(message!("{} is missing", name.to_string())));
        }
        Ok(found.map(|value| value.unwrap_or(&Value::Text(""))))
    }

    fn number<N: std::str::FromStr>(&self, field: &str, value: &Value<'_>) -> Result<N, PrivacyError> {
        let field = field.to_owned();
        let problem = || message!("{field} is {value}, which is not a number that a ledger can hold exactly");
        value.number().ok_or_else(|| self.refused(problem()))
    }

    /// The pair that it says, or why it says none.
    fn pair(&self, made: Result<Pair, PrivacyError>) -> Result<Pair, PrivacyError> {
        made.map_err(|error| self.refused(error.to_message()))
    }

    /// A list, also as NumPy writes an array.
    fn numbers(&self, field: &str, value: &Value<'_>) -> Result<Vec<f64>, PrivacyError> {
        match value {
            Value::List(all) => all.iter().map(|value| self.number(field, value)).collect(),
            Value::Call("array" | "np.array" | "numpy.array", arguments)
                if let [(None, list @ Value::List(_))] = arguments.as_slice() =>
            {
                self.numbers(field, list)
            }
            _ => Err(self.refused(message!("{} is no list of numbers", field.to_owned()))),
        }
    }

    fn path(&self, field: &str) -> String {
        if self.path.is_empty() { field.to_owned() } else { format!("{}.{field}", self.path) }
    }

    /// The events of a list, with their paths.
    fn list(&self, value: &'v Value<'a>) -> Result<Vec<(&'v Value<'a>, String)>, PrivacyError> {
        let Value::List(events) = value else { return Err(self.refused(word!("its events are no list"))) };
        Ok(events.iter().enumerate().map(|(i, event)| (event, self.path(&format!("events[{i}]")))).collect())
    }

    fn count(&self, value: &Value<'_>) -> Result<u64, PrivacyError> {
        self.number("count", value)
    }
}

/// Registers an event's releases; returns how often each happens.
fn read(value: &Value<'_>, path: &str, ledger: &mut Ledger) -> Result<Vec<Event>, PrivacyError> {
    let named = Named::of(value, path)?;
    match named.class {
        "NoOpDpEvent" => named.fields([]).map(|[]| Vec::new()),
        "ComposedDpEvent" => {
            let [events] = named.fields(["events"])?;
            let mut all = Vec::new();
            for (event, path) in named.list(events)? {
                read(event, &path, ledger)?.into_iter().for_each(|event| Event::push(&mut all, event));
            }
            Ok(all)
        }
        "SelfComposedDpEvent" => {
            let [event, count] = named.fields(["event", "count"])?;
            let count = named.count(count)?;
            repeated(read(event, &named.path("event"), ledger)?, count)
                .ok_or_else(|| named.refused(message!("it unfolds into more than {MOST_EVENTS} events")))
        }
        "PoissonSampledDpEvent" => {
            let [rate, event] = named.fields(["sampling_probability", "event"])?;
            let rate = named.number("sampling_probability", rate)?;
            once(&named, Sampling::Poisson { rate }, event, "event", ledger)
        }
        "SampledWithoutReplacementDpEvent" => {
            let [population, size, event] = named.fields(["source_dataset_size", "sample_size", "event"])?;
            let population = named.number("source_dataset_size", population)?;
            let sampling = Sampling::FixedSize { population, size: named.number("sample_size", size)? };
            once(&named, sampling, event, "event", ledger)
        }
        _ => once(&named, Sampling::Poisson { rate: 1.0 }, value, "", ledger),
    }
}

/// The same events `count` times.
fn repeated(events: Vec<Event>, count: u64) -> Option<Vec<Event>> {
    match events.as_slice() {
        [one] => Some(
            vec![Event { count: one.count.checked_mul(count)?, ..*one }].into_iter().filter(|e| e.count > 0).collect(),
        ),
        many if count.saturating_mul(many.len() as u64) > MOST_EVENTS as u64 => None,
        many => {
            let mut all = Vec::new();
            (0..count).for_each(|_| many.iter().for_each(|event| Event::push(&mut all, *event)));
            Some(all)
        }
    }
}

/// Registers the release of `event` on a sample; `field` is where `outer` has it.
fn once(
    outer: &Named<'_, '_>,
    sampling: Sampling,
    event: &Value<'_>,
    field: &str,
    ledger: &mut Ledger,
) -> Result<Vec<Event>, PrivacyError> {
    let path = if field.is_empty() { outer.path.clone() } else { outer.path(field) };
    let release = match noise(event, &path)? {
        Noise::Gaussian(sigma) => {
            let noise = (sigma != 0.0).then_some(NoiseSpec::Gaussian { sigma });
            Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, noise)
        }
        // A bound on the L1 norm costs no more than one coordinate that uses it up: with log-concave
        // noise one shift by a + b is two shifts, by a and b, of one example each (Dong, Roth & Su
        // 2022, group privacy), which costs no less than two coordinates.
        Noise::Laplace(scale) => {
            let sensitivity = Sensitivity::Envelope { profile: EnvelopeProfile::from_vectors_f64([&[1.0][..]])? };
            Release::new(sampling, sensitivity, (scale != 0.0).then_some(NoiseSpec::Laplace { scale }))
        }
        Noise::Added(_) if sampling.neighbours() == NeighbouringRelation::ReplaceOne => {
            return Err(outer.refused(word!("its neighbours lack a record, and those of a fixed size replace one")));
        }
        Noise::Added(pair) => Release::of_pair(sampling, pair),
        Noise::Replaced(pair) => Release::of_pair(sampling, pair).between(NeighbouringRelation::ReplaceOne),
        Noise::NonPrivate => Release::new(sampling, Sensitivity::Unbounded, None),
    };
    let id = ledger.register(release).map_err(|error| outer.refused(error.to_message()))?;
    check_kind_count(ledger.releases().len(), 0)?;
    Ok(vec![Event { release: id.place() as u32, count: 1 }])
}

enum Noise {
    /// Of this multiplier.
    Gaussian(f64),
    /// Of this scale over the bound on the L1 norm.
    Laplace(f64),
    /// The answer with a record and without it.
    Added(Pair),
    /// The answer with a record and with another.
    Replaced(Pair),
    NonPrivate,
}

fn noise(value: &Value<'_>, path: &str) -> Result<Noise, PrivacyError> {
    let named = Named::of(value, path)?;
    match named.class {
        "NonPrivateDpEvent" => named.fields([]).map(|[]| Noise::NonPrivate),
        "GaussianDpEvent" => {
            let [multiplier] = named.fields(["noise_multiplier"])?;
            Ok(Noise::Gaussian(named.number("noise_multiplier", multiplier)?))
        }
        "LaplaceDpEvent" => {
            let [multiplier] = named.fields(["noise_multiplier"])?;
            Ok(Noise::Laplace(named.number("noise_multiplier", multiplier)?))
        }
        "DiscreteLaplaceDpEvent" => {
            let [parameter, sensitivity] = named.fields(["noise_parameter", "sensitivity"])?;
            let (parameter, sensitivity) =
                (named.number("noise_parameter", parameter)?, named.number("sensitivity", sensitivity)?);
            named.pair(Pair::discrete_laplace(parameter, sensitivity)).map(Noise::Added)
        }
        "RandomizedResponseDpEvent" => {
            let [noise, answers] = named.fields(["noise_parameter", "num_buckets"])?;
            let (noise, answers) = (named.number("noise_parameter", noise)?, named.number("num_buckets", answers)?);
            named.pair(Pair::randomized_response(noise, answers)).map(Noise::Replaced)
        }
        "MixtureOfGaussiansDpEvent" => {
            let [sigma, shifts, probabilities] =
                named.fields(["standard_deviation", "sensitivities", "sampling_probs"])?;
            let sigma = named.number("standard_deviation", sigma)?;
            let (shifts, probabilities) =
                (named.numbers("sensitivities", shifts)?, named.numbers("sampling_probs", probabilities)?);
            named.pair(Pair::mixture(sigma, &shifts, &probabilities)).map(Noise::Added)
        }
        "ComposedDpEvent" | "SelfComposedDpEvent" => {
            let mut inverse_squares = 0.0;
            joint(&named, 1.0, &mut inverse_squares)?;
            // Rounded down, far beyond the error of the sum.
            Ok(Noise::Gaussian(f64::sqrt(1.0 / inverse_squares) * (1.0 - 1e-10)))
        }
        other => Err(named.refused(unsaid(other))),
    }
}

/// Adds up 1/z² of several Gaussian queries on one sample.
fn joint(named: &Named<'_, '_>, times: f64, sum: &mut f64) -> Result<(), PrivacyError> {
    match named.class {
        "GaussianDpEvent" => {
            let [multiplier] = named.fields(["noise_multiplier"])?;
            let z: f64 = named.number("noise_multiplier", multiplier)?;
            if !(1e-100..=1e100).contains(&z) {
                return Err(named.refused(message!("noise_multiplier is {z}; it must be from 1e-100 to 1e100")));
            }
            *sum += times / (z * z);
            Ok(())
        }
        "ComposedDpEvent" => {
            let [events] = named.fields(["events"])?;
            named.list(events)?.into_iter().try_for_each(|(event, path)| joint(&Named::of(event, &path)?, times, sum))
        }
        "SelfComposedDpEvent" => {
            let [event, count] = named.fields(["event", "count"])?;
            let count = named.count(count)? as f64;
            joint(&Named::of(event, &named.path("event"))?, times * count, sum)
        }
        other => Err(named.refused(match unsaid(other) {
            _ if other == "NonPrivateDpEvent" => word!("on one sample only Gaussian events are read together"),
            problem => problem,
        })),
    }
}

/// Why a ledger has no words for an event.
fn unsaid(class: &str) -> &'static str {
    match class {
        "PoissonSampledDpEvent" | "SampledWithoutReplacementDpEvent" | "SampledWithReplacementDpEvent" => {
            word!("a ledger samples once, and never with replacement")
        }
        "TruncatedSubsampledGaussianDpEvent" => word!("a ledger has no truncated samples"),
        "SingleEpochTreeAggregationDpEvent" => word!("a ledger has no tree of sums"),
        "RepeatAndSelectDpEvent" => word!("a ledger has no selection among runs; account --best-of prices it"),
        "ZCDpEvent" => word!("a ledger has releases, not bounds on their divergence"),
        "UnsupportedDpEvent" => word!("it does not say what was released"),
        _ => word!("it is no event of dp_accounting 0.6 that a ledger knows"),
    }
}

/// Writes a ledger as a `DpEvent`: a Python expression that dp_accounting's `dp_event` module
/// evaluates, and that [`dp_event`] reads. The noise multiplier is the noise over the bound, rounded
/// down; the bound itself is not written. Kinds of release that never happened are left out.
///
/// ```
/// use hushgrad_accounting::{dp_sgd, foreign::to_dp_event, ledger::Ledger};
///
/// let ledger = Ledger::of([(dp_sgd::step(1.1, 0.01), 300)])?;
/// assert_eq!(
///     to_dp_event(&ledger)?,
///     "SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.01, \
///      event=GaussianDpEvent(noise_multiplier=1.1)), count=300)"
/// );
/// # Ok::<(), hushgrad_accounting::PrivacyError>(())
/// ```
///
/// # Errors
/// [`PrivacyError::Unsayable`], with the kind of release: other than Gaussian noise, sampling with
/// epochs, an envelope, a grid, several vectors, hidden steps, micro-batches and users.
pub fn to_dp_event(ledger: &Ledger) -> Result<String, PrivacyError> {
    let mut events = Vec::new();
    for Event { release, count } in ledger.events() {
        let kind = *release as usize;
        let unsayable = |problem| PrivacyError::Unsayable { language: "DpEvent", place: kind, problem };
        let event =
            ledger.releases().get(kind).map_or(Ok(String::new()), |release| written(release).map_err(unsayable))?;
        events.push(if *count == 1 { event } else { format!("SelfComposedDpEvent(event={event}, count={count})") });
    }
    Ok(match events.as_slice() {
        [] => "NoOpDpEvent()".to_owned(),
        [one] => one.clone(),
        many => format!("ComposedDpEvent(events=[{}])", many.join(", ")),
    })
}

/// What is released on a sample: the noise multiplier, 0 without noise; `None` without a bound.
///
/// # Errors
/// What an event, or a history of Opacus, would lose.
pub(super) fn multiplier(release: &Release) -> Result<Option<f64>, Message> {
    let Release { sampling: _, sensitivity, noise, unit, neighbours, grid, parts, hidden } = release;
    if *unit != PrivacyUnit::Example {
        return Err(message!("it protects {unit}, and an event does not name its unit"));
    }
    if neighbours.is_some() {
        return Err(word!("its neighbours are not those of its sampling").into());
    }
    if grid.is_some() {
        return Err(word!("its ε covers noise on a grid").into());
    }
    if !parts.is_empty() {
        return Err(word!("it releases several vectors").into());
    }
    if hidden.is_some() {
        return Err(word!("it hides the steps before it").into());
    }
    match (sensitivity, noise) {
        (Sensitivity::L2 { .. }, None) => Ok(Some(0.0)),
        (Sensitivity::L2 { norm }, Some(NoiseSpec::Gaussian { sigma })) => {
            let ratio = sigma / norm;
            Ok(Some(if f64::mul_add(ratio, *norm, -sigma) > 0.0 { ratio.next_down() } else { ratio }))
        }
        (Sensitivity::Unbounded, None) => Ok(None),
        (Sensitivity::L2 { .. }, Some(noise)) => Err(message!("its noise is {}", noise.family())),
        (Sensitivity::Envelope { .. }, _) => Err(word!("its bound is an envelope").into()),
        (Sensitivity::Pair(_), _) => Err(word!("it is no noisy sum").into()),
        (Sensitivity::Unbounded, Some(_)) => Err(word!("it has noise and no bound").into()),
    }
}

fn written(release: &Release) -> Result<String, Message> {
    let event = match multiplier(release)? {
        Some(multiplier) => format!("GaussianDpEvent(noise_multiplier={})", float(multiplier)),
        None => "NonPrivateDpEvent()".to_owned(),
    };
    match release.sampling {
        Sampling::Poisson { rate: 1.0 } => Ok(event),
        Sampling::Poisson { rate } => {
            Ok(format!("PoissonSampledDpEvent(sampling_probability={}, event={event})", float(rate)))
        }
        Sampling::FixedSize { population, size } => Ok(format!(
            "SampledWithoutReplacementDpEvent(source_dataset_size={population}, sample_size={size}, event={event})"
        )),
        sampling @ (Sampling::Shuffled { .. } | Sampling::RandomAllocation { .. } | Sampling::CyclicPoisson { .. }) => {
            Err(message!("its lots are drawn by {sampling}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dp_sgd, envelope::EnvelopeProfile, rounding::Grid};

    fn gaussian(sampling: Sampling, norm: f64, sigma: f64) -> Release {
        Release::new(sampling, Sensitivity::L2 { norm }, Some(NoiseSpec::Gaussian { sigma }))
    }

    fn sayable() -> Vec<(Release, u64)> {
        let fixed = Sampling::FixedSize { population: 60_000, size: 256 };
        let noiseless = |rate, sensitivity| Release::new(Sampling::Poisson { rate }, sensitivity, None);
        vec![
            (dp_sgd::step(1.1, 0.01), 3),
            (gaussian(fixed, 1.0, 0.7), 1),
            (dp_sgd::step(1e-7, 1.0), 1),
            (dp_sgd::step(1.1, 0.01), 1 << 50),
            (dp_sgd::step(2.0 / 3.0, 1e-300), 2),
            (noiseless(1.0, Sensitivity::Unbounded), 1),
            (noiseless(0.5, Sensitivity::Unbounded), 2),
            (noiseless(0.5, Sensitivity::L2 { norm: 1.0 }), 2),
        ]
    }

    #[test]
    fn what_is_written_is_read_as_the_same_ledger() {
        let all = sayable();
        for releases in [&all[2..], &all[..0], &all[..1], &all[1..2], &all[5..6]] {
            let ledger = Ledger::of(releases.to_vec()).unwrap();
            let event = to_dp_event(&ledger).unwrap();
            assert_eq!(dp_event(&event).unwrap(), ledger, "{event}");
            assert!(releases.is_empty() || is_event(&event));
        }
    }

    /// As dp_accounting 0.6.0 writes them.
    #[test]
    fn every_form_of_an_event_is_read() {
        let expected = Ledger::of([(dp_sgd::step(1.1, 0.01), 100), (dp_sgd::step(2.0, 1.0), 1)]).unwrap();
        for text in [
            "ComposedDpEvent(events=[SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.01, event=GaussianDpEvent(noise_multiplier=1.1)), count=100), NoOpDpEvent(), GaussianDpEvent(noise_multiplier=2)])",
            "# a run\ndp_event.ComposedDpEvent((\n  dp_accounting.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(np.float64(1.1))), np.int64(100)),  # steps\n  dp_event.GaussianDpEvent(2.),\n))\n",
            "_ComposedDpEventNamedTupleWrapper(module_name='dp_accounting.dp_event', class_name='ComposedDpEvent', events=[_SelfComposedDpEventNamedTupleWrapper(module_name='dp_accounting.dp_event', class_name='SelfComposedDpEvent', event=_PoissonSampledDpEventNamedTupleWrapper(module_name='dp_accounting.dp_event', class_name='PoissonSampledDpEvent', sampling_probability=0.01, event=_GaussianDpEventNamedTupleWrapper(module_name='dp_accounting.dp_event', class_name='GaussianDpEvent', noise_multiplier=1.1)), count=100), _GaussianDpEventNamedTupleWrapper(module_name='dp_accounting.dp_event', class_name='GaussianDpEvent', noise_multiplier=2.0)])",
            r#"["dp_accounting.dp_event", "ComposedDpEvent", [["dp_accounting.dp_event", "SelfComposedDpEvent", ["dp_accounting.dp_event", "PoissonSampledDpEvent", 0.01, ["dp_accounting.dp_event", "GaussianDpEvent", 1.1]], 100], ["dp_accounting.dp_event", "NoOpDpEvent"], ["dp_accounting.dp_event", "GaussianDpEvent", 2.0]]]"#,
        ] {
            assert!(is_event(text), "{text}");
            assert_eq!(dp_event(text).unwrap(), expected, "{text}");
        }
        // Queries on one sample, as of adaptive clipping.
        let both = "PoissonSampledDpEvent(0.01, ComposedDpEvent([GaussianDpEvent(2.0), SelfComposedDpEvent(GaussianDpEvent(4.0), 4)]))";
        let [release] = dp_event(both).unwrap().releases().to_vec().try_into().unwrap();
        let Some(NoiseSpec::Gaussian { sigma }) = release.noise else { panic!("{release:?}") };
        let joint = f64::sqrt(2.0);
        assert!(sigma <= joint && sigma > joint * (1.0 - 1e-9), "{sigma}");
        let alternating =
            dp_event("SelfComposedDpEvent(ComposedDpEvent([GaussianDpEvent(1.0), GaussianDpEvent(2.0)]), 3)");
        assert_eq!(alternating.unwrap().events().len(), 6);
        assert_eq!(dp_event("SelfComposedDpEvent(GaussianDpEvent(1.0), 0)").unwrap().steps(), 0);
    }

    #[test]
    fn what_a_ledger_cannot_say_is_refused_with_its_place() {
        for (text, says) in [
            (
                "SingleEpochTreeAggregationDpEvent(1.0, 3)",
                "event: SingleEpochTreeAggregationDpEvent cannot be read: a ledger",
            ),
            ("ComposedDpEvent([NoOpDpEvent(), ZCDpEvent(rho=0.1, xi=0.0)])", "events[1]: ZCDpEvent cannot be read"),
            ("SelfComposedDpEvent(PoissonSampledDpEvent(0.1, ZCDpEvent(1.0, 0.0)), 3)", "event.event: ZCDpEvent"),
            ("PoissonSampledDpEvent(0.1, RandomizedResponseDpEvent(0.5, 3))", "nothing is known without either"),
            (
                "SampledWithoutReplacementDpEvent(9, 3, DiscreteLaplaceDpEvent(0.5, 3))",
                "those of a fixed size replace one",
            ),
            ("MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], 3)", "sampling_probs is no list of numbers"),
            ("MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.5, 0.6])", "pair.probabilities is 1.1"),
            ("LaplaceDpEvent(noise_multiplier=-1.0)", "scale"),
            ("PoissonSampledDpEvent(0.1, PoissonSampledDpEvent(0.1, GaussianDpEvent(1.0)))", "samples once"),
            (
                "PoissonSampledDpEvent(0.1, ComposedDpEvent([NonPrivateDpEvent()]))",
                "event.events[0]: NonPrivateDpEvent",
            ),
            ("PoissonSampledDpEvent(0.1, ComposedDpEvent([GaussianDpEvent(0.0)]))", "event.events[0]: GaussianDpEvent"),
            ("PoissonSampledDpEvent(0.1, ComposedDpEvent([]))", "finite"),
            ("PoissonSampledDpEvent(0.1, NoOpDpEvent())", "event: NoOpDpEvent"),
            ("PoissonSampledDpEvent(1.5, GaussianDpEvent(1.0))", "sampling.rate is 1.5"),
            ("PoissonSampledDpEvent(0.1, GaussianDpEvent(-1.0))", "sigma"),
            ("GaussianDpEvent(inf)", "GaussianDpEvent cannot be read"),
            ("GaussianDpEvent(noise_multiplier=np.float32(1.1))", "np.float32(…)"),
            ("GaussianDpEvent(1.0, 2.0)", "no field for 2.0"),
            ("GaussianDpEvent(noise=1.0)", "no field for noise"),
            ("GaussianDpEvent()", "noise_multiplier is missing"),
            ("SelfComposedDpEvent(GaussianDpEvent(1.0), -1)", "count is -1"),
            ("SelfComposedDpEvent(GaussianDpEvent(1.0), 9007199254740993)", "2^53"),
            ("SelfComposedDpEvent(ComposedDpEvent([GaussianDpEvent(1.0), GaussianDpEvent(2.0)]), 99999)", "unfolds"),
            ("SelfComposedDpEvent(SelfComposedDpEvent(GaussianDpEvent(1.0), 99999999999), 99999999999)", "unfolds"),
            ("SampledWithoutReplacementDpEvent(10, 11, GaussianDpEvent(1.0))", "sampling.size is 11"),
            ("SampledWithReplacementDpEvent(10, 5, GaussianDpEvent(1.0))", "with replacement"),
            ("MyDpEvent(1.0)", "no event of dp_accounting"),
            ("ComposedDpEvent([3])", "events[0]: 3 cannot be read: it is no event"),
            ("GaussianDpEvent(1.0", "line 1, column 20"),
            ("GaussianDpEvent(1.0)\nGaussianDpEvent(2.0)", "line 2, column 1"),
            ("GaussianDpEvent(noise_multiplier=open('x'))", "not a number"),
        ] {
            let error = dp_event(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let deep = format!("{}GaussianDpEvent(1.0){}", "ComposedDpEvent([".repeat(99), "])".repeat(99));
        assert!(dp_event(&deep).unwrap_err().to_string().contains("nesting"));
    }

    #[test]
    fn what_an_event_cannot_say_is_refused() {
        let poisson = Sampling::Poisson { rate: 0.1 };
        let step = gaussian(poisson, 1.0, 1.0);
        let profile = EnvelopeProfile::from_vectors([&[0.6f32, 0.8][..]]).unwrap();
        for (release, says) in [
            (gaussian(Sampling::Shuffled { batches: 5 }, 1.0, 1.0), "shuffled partition"),
            (gaussian(Sampling::RandomAllocation { batches: 5 }, 1.0, 1.0), "random allocation"),
            (gaussian(Sampling::CyclicPoisson { rate: 0.1, groups: 2 }, 1.0, 1.0), "cyclic"),
            (Release { noise: Some(NoiseSpec::Laplace { scale: 1.0 }), ..step.clone() }, "noise is"),
            (Release { sensitivity: Sensitivity::Envelope { profile }, ..step.clone() }, "envelope"),
            (Release { sensitivity: Sensitivity::Unbounded, ..step.clone() }, "no bound"),
            (Release { unit: PrivacyUnit::User, ..step.clone() }, "one user"),
            (Release { grid: Some(Grid { exponent: -20, coordinates: 10 }), ..step.clone() }, "grid"),
        ] {
            let ledger = Ledger::of([(step.clone(), 1), (release, 3)]).unwrap();
            let error = to_dp_event(&ledger).unwrap_err().to_string();
            assert!(error.contains("releases[1]") && error.contains(says), "{error}");
        }
        // The multiplier is never above the ratio.
        for (norm, sigma) in [(0.1, 0.3), (3.0, 1.0), (0.7, 0.9)] {
            let z = multiplier(&gaussian(poisson, norm, sigma)).unwrap().unwrap();
            assert!(f64::mul_add(z, norm, -sigma) <= 0.0 && z > sigma / norm * (1.0 - 1e-15));
        }
    }
}
