//! `hushgrad functional`: the functional mechanism for a convex head. Training costs no more ε.

use std::{error::Error, path::PathBuf, time::Instant};

use clap::ValueEnum;
use hushgrad::{
    accounting::{books::account, decimal::upper, ledger::Ledger},
    data::{Dataset, Digits},
    train::{
        books::SetName,
        functional::{
            features::{Features, Map},
            head::{Head, Trial},
            price::{Budget, Price},
            release::Released,
            sums::Sums,
        },
    },
};
use serde_json::json;

use crate::{
    measured::moments,
    out::say,
    train::{
        found,
        kept_books::KeptBooks,
        kept_file::KeptFile,
        said::{tell, together},
    },
};

#[derive(Clone, Copy, ValueEnum)]
pub enum Kind {
    /// 14 × 14 means of four pixels
    #[value(name = "pixels-14")]
    Pixels14,
    /// 28 × 28 pixels
    #[value(name = "pixels-28")]
    Pixels28,
    /// A thousand random cosines of the 14 × 14 means
    Cosines,
    /// The scattering transform's first two orders
    Scattering,
}

impl Kind {
    pub const fn map(self) -> Features {
        match self {
            Self::Pixels14 => Features::Pixels14,
            Self::Pixels28 => Features::Pixels28,
            Self::Cosines => Features::Cosines,
            Self::Scattering => Features::Scattering,
        }
    }
}

/// Where one release is entered before it is made.
pub struct Records {
    ledger: Option<KeptFile>,
    shared: Option<KeptFile>,
    books: Option<KeptBooks>,
}

impl Records {
    /// Claims the files, before anything is read or computed.
    ///
    /// # Errors
    /// A file that exists, cannot be written, or is locked.
    pub fn claim(once: &Once) -> Result<Self, Box<dyn Error>> {
        let claim = |path: &PathBuf| KeptFile::claim("the ledger", path, false, "name another");
        let ledger = once.ledger.as_ref().map(claim).transpose()?;
        let shared = once.books.as_ref().map(|path| KeptFile::shared("the books", path)).transpose()?;
        Ok(Self { ledger, shared, books: None })
    }

    /// The records of a release on `train`, called `name` in the books.
    ///
    /// # Errors
    /// No entropy for the entry's name.
    pub fn of(mut self, train: &Dataset, name: String) -> Result<Self, Box<dyn Error>> {
        let books = self.shared.take().map(|file| KeptBooks::new(file, SetName::of(train), name));
        self.books = books.transpose()?;
        Ok(self)
    }

    /// Enters a release; `None` has no guarantee, and no ledger.
    ///
    /// # Errors
    /// If a file cannot be written, or the release exceeds the budget of the books.
    pub fn enter(&mut self, released: Option<&Ledger>) -> Result<(), Box<dyn Error>> {
        if let Some(books) = &mut self.books
            && !books.enter(released, None, None)?
        {
            return Err("nothing was released: it would exceed the budget of the books".into());
        }
        if let (Some(file), Some(released)) = (&self.ledger, released) {
            file.write(released.to_json().as_bytes())?;
        }
        Ok(())
    }

    /// Prints what all runs on the digits cost together, if there are books.
    ///
    /// # Errors
    /// If the books cannot be read.
    pub fn tell(&self, delta: f64) -> Result<(), Box<dyn Error>> {
        if let Some(books) = &self.books {
            tell(&together(&books.all_runs(delta)?));
        }
        Ok(())
    }
}

/// The options of everything that is released once.
#[derive(clap::Args)]
pub struct Once {
    /// ε of the release
    #[arg(long, default_value_t = 1.0)]
    pub epsilon: f64,
    #[arg(long, default_value_t = 1e-5)]
    pub delta: f64,
    #[arg(long, value_enum, default_value = "pixels-14")]
    pub features: Kind,
    /// Folder or file of images, as for `train` [default: MNIST, as `train` finds it]
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// Use synthetic digits
    #[arg(long, conflicts_with = "data")]
    pub synthetic: bool,
    /// Write the ledger here, before anything is released
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Record the release in these books (as for `train`), before it is made
    #[arg(long, value_name = "FILE")]
    books: Option<PathBuf>,
    /// One line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    once: Once,
    /// Laplace noise, with δ = 0
    #[arg(long, conflicts_with = "delta")]
    pure: bool,
    /// Give less noise to features that matter more on synthetic digits
    #[arg(long)]
    relevance: bool,
    /// Training steps on the release; 0: the closed-form solution alone
    #[arg(long, default_value_t = 300)]
    steps: u64,
    /// Number of releases with independent noise, to measure with; the ledger has all of them
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    releases: u64,
    /// Draw the noise from this seed, which anybody can repeat: no guarantee
    #[arg(long, value_name = "SEED")]
    replay: Option<u64>,
}

/// Releases, trains and reports.
///
/// # Errors
/// A sentence that says what to change.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let &Once { epsilon, delta, .. } = &arguments.once;
    let features = arguments.once.features.map();
    let budget = if arguments.pure { Budget::Pure { epsilon } } else { Budget::Approximate { epsilon, delta } };
    let price = budget.price(features.dimension())?;
    let records = Records::claim(&arguments.once)?;
    let mut map = Map::new(features, budget.ball());
    if arguments.relevance {
        map = map.by_relevance()?;
    }
    let Digits { train, test, .. } = found(arguments.once.data.as_deref(), arguments.once.synthetic)?;
    let mut records = records.of(&train, format!("paid once: {}", features.key()))?;
    let told = measure(arguments, &map, &price, (&train, &test), |released| records.enter(released))?;
    records.tell(delta)?;
    if arguments.once.json {
        say(&told.json(arguments, features).to_string())
    } else {
        say(&told.words(arguments, features))
    }
}

/// The results.
struct Told {
    /// Test accuracy of each release, after the steps (`stepped`) and of the solution (`solved`).
    stepped: Vec<f64>,
    solved: Vec<f64>,
    epsilon: f64,
    seconds: [f64; 3],
}

fn measure(
    arguments: &Arguments,
    map: &Map,
    price: &Price,
    (train, test): (&Dataset, &Dataset),
    mut enter: impl FnMut(Option<&Ledger>) -> Result<(), Box<dyn Error>>,
) -> Result<Told, Box<dyn Error>> {
    let ledger = Ledger::of([(price.release.clone(), arguments.releases)])?;
    let delta = arguments.once.delta;
    let epsilon = if arguments.pure {
        arguments.once.epsilon * arguments.releases as f64
    } else {
        account(&ledger, delta)?.tight.map_or(f64::INFINITY, |tight| tight.value)
    };
    let start = Instant::now();
    let mut sums = Sums::of(map, train)?;
    let summed = start.elapsed().as_secs_f64();
    let trial = Trial::of(map, test)?;
    // Written before the release happens. A replay has no guarantee and no ledger.
    enter(Some(&ledger).filter(|_| arguments.replay.is_none()))?;
    let (mut stepped, mut solved, mut times) = (Vec::new(), Vec::new(), [0.0; 2]);
    for release in 0..arguments.releases {
        let released = match arguments.replay {
            Some(seed) => Released::not_private(&mut sums, price, seed + release)?,
            None => Released::new(&mut sums, price)?,
        };
        let mut head = Head::new(released);
        let start = Instant::now();
        solved.push(trial.accuracy(&head.solved()));
        times[0] += start.elapsed().as_secs_f64();
        let start = Instant::now();
        (0..arguments.steps).for_each(|_| head.step());
        times[1] += start.elapsed().as_secs_f64();
        stepped.push(trial.accuracy(head.weights()));
    }
    let each = |time: f64| time / arguments.releases as f64;
    Ok(Told { stepped, solved, epsilon, seconds: [summed, each(times[0]), each(times[1])] })
}

impl Told {
    fn json(&self, arguments: &Arguments, features: Features) -> serde_json::Value {
        let private = arguments.replay.is_none();
        json!({
            "features": features.key(), "dimension": features.dimension(), "relevance": arguments.relevance,
            "releases": arguments.releases, "steps": arguments.steps,
            "epsilon": private.then_some(self.epsilon), "delta": if arguments.pure { 0.0 } else { arguments.once.delta },
            "accuracy": self.stepped, "solved": self.solved,
            "seconds": { "sums": self.seconds[0], "solution": self.seconds[1], "steps": self.seconds[2] },
        })
    }

    fn words(&self, arguments: &Arguments, features: Features) -> String {
        let share = |of: &[f64]| {
            let (mean, deviation) = moments(&of.iter().map(|share| 100.0 * share).collect::<Vec<_>>());
            if of.len() > 1 { format!("{mean:.2} ± {deviation:.2} %") } else { format!("{mean:.2} %") }
        };
        let cost = match arguments.replay {
            Some(_) => "no guarantee, because the noise can be drawn again from its seed".to_owned(),
            None if arguments.pure => format!("ε ≤ {} with δ = 0", upper(self.epsilon, 6)),
            None => format!("ε ≤ {} at δ = {:e}", upper(self.epsilon, 6), arguments.once.delta),
        };
        let released =
            if arguments.releases == 1 { "one release".to_owned() } else { format!("{} releases", arguments.releases) };
        let (steps, n) = (arguments.steps, features.dimension());
        format!(
            "{released} of {n} features ({}): {cost}\n\
             test accuracy after {steps} steps: {}; of the solution: {}\n\
             steps use only what was released: further ones cost no ε\n\
             {:.1} s for the sums, {:.2} s for the solution, {:.2} s for the steps",
            features.key(),
            share(&self.stepped),
            share(&self.solved),
            self.seconds[0],
            self.seconds[1],
            self.seconds[2],
        )
    }
}
