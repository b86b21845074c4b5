//! Private training of small models, as a user writes it.

use burn::{
    data::{
        dataloader::batcher::Batcher,
        dataset::{Dataset, InMemDataset},
    },
    module::Module,
    nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig},
    optim::SgdConfig,
    tensor::{Device, Int, Tensor, TensorData, activation::log_softmax},
};
use hushgrad_accounting::dp_sgd;
use hushgrad_burn::{BurnError, DpSgd, Method, PrivateLearner, PrivateModel, Reason, Traced};
use hushgrad_core::rng::NotPrivateReplay;

/// Points in the plane of two classes.
type Item = ([f32; 2], usize);

#[derive(Clone)]
struct Points;

#[derive(Clone, Debug)]
struct Batch {
    points: Tensor<2>,
    classes: Tensor<2, Int>,
}

impl Batcher<Item, Batch> for Points {
    fn batch(&self, items: Vec<Item>, device: &Device) -> Batch {
        let rows = items.len();
        let points = items.iter().flat_map(|(point, _)| *point).collect::<Vec<f32>>();
        let classes = items.iter().map(|(_, class)| *class as i32).collect::<Vec<_>>();
        Batch {
            points: Tensor::from_data(TensorData::new(points, [rows, 2]), device),
            classes: Tensor::from_data(TensorData::new(classes, [rows, 1]), device),
        }
    }
}

fn points(count: usize) -> InMemDataset<Item> {
    let mut rng = NotPrivateReplay::new(3);
    let mut unit = move || f32::from(rng.below(1000) as u16) / 500.0 - 1.0;
    let item = move |_| {
        let point = [unit(), unit()];
        (point, usize::from(point[0] + 0.5 * point[1] > 0.1))
    };
    InMemDataset::new((0..count).map(item).collect())
}

#[derive(Module, Debug)]
struct Perceptron {
    hidden: Linear,
    output: Linear,
}

impl Perceptron {
    fn new(device: &Device) -> Self {
        device.seed(1);
        Self { hidden: LinearConfig::new(2, 8).init(device), output: LinearConfig::new(8, 2).init(device) }
    }
}

fn cross_entropy(logits: Tensor<2>, classes: Tensor<2, Int>) -> Tensor<1> {
    let [examples, _] = logits.dims();
    -log_softmax(logits, 1).gather(1, classes).reshape([examples])
}

impl PrivateModel<Batch> for Perceptron {
    fn losses(&self, batch: Batch) -> Tensor<1> {
        cross_entropy(self.output.traced(self.hidden.traced(batch.points).tanh()), batch.classes)
    }
}

fn device() -> Device {
    Device::flex()
}

fn numbers(model: &impl Module) -> Vec<f32> {
    struct Numbers(Vec<f32>);
    impl burn::module::ModuleVisitor for Numbers {
        fn visit_float<const D: usize>(&mut self, param: &burn::module::Param<Tensor<D>>) {
            self.0.extend(param.val().into_data().try_into_vec::<f32>().expect("parameters are f32"));
        }
    }
    let mut numbers = Numbers(vec![]);
    model.visit(&mut numbers);
    numbers.0
}

#[test]
fn a_model_learns_privately_and_its_epsilon_is_that_of_its_steps() {
    let data = points(2000);
    let config = DpSgd { delta: 1e-6, ..DpSgd::new(1.0, 1.0, 200) };
    let optimizer = SgdConfig::new().init();
    let mut learner = PrivateLearner::new(Perceptron::new(&device()), optimizer, config, 2000).unwrap();
    assert_eq!(learner.epsilon().unwrap().value, 0.0);
    for _ in 0..60 {
        learner.step(&data, &Points, 2.0).unwrap();
    }
    assert_eq!(learner.method(), &Method::Rules);
    let expected = dp_sgd::epsilon(1.0, 0.1, 60, 1e-6).unwrap();
    assert_eq!((learner.epsilon().unwrap().value, learner.ledger().steps()), (expected, 60));
    let model = learner.model().valid();
    let all = Points.batch((0..2000).map(|i| data.get(i).unwrap()).collect(), &device());
    let logits = model.output.forward(model.hidden.forward(all.points).tanh());
    let right = logits.argmax(1).equal(all.classes).int().sum().into_scalar::<i32>();
    assert!(right > 1850, "{right} of 2000");
}

/// The same model without rules.
#[derive(Module, Debug)]
struct Plain {
    perceptron: Perceptron,
}

impl PrivateModel<Batch> for Plain {
    fn losses(&self, batch: Batch) -> Tensor<1> {
        cross_entropy(
            self.perceptron.output.forward(self.perceptron.hidden.forward(batch.points).tanh()),
            batch.classes,
        )
    }
}

#[test]
fn models_without_rules_learn_the_same_one_example_at_a_time() {
    let data = points(300);
    let config = DpSgd { at_once: Some(7), ..DpSgd::new(0.7, 0.5, 30) };
    fn trained<M: PrivateModel<Batch>>(model: M, config: &DpSgd, data: &InMemDataset<Item>) -> (M, Method) {
        let rng = NotPrivateReplay::new(5);
        let optimizer = SgdConfig::new().init();
        let mut learner = PrivateLearner::with_rng(model, optimizer, config.clone(), 300, rng).unwrap();
        for _ in 0..4 {
            learner.step(data, &Points, 0.5).unwrap();
        }
        (learner.model().clone(), learner.method().clone())
    }
    let (rules, method) = trained(Perceptron::new(&device()), &config, &data);
    assert_eq!(method, Method::Rules);
    let (plain, method) = trained(Plain { perceptron: Perceptron::new(&device()) }, &config, &data);
    assert!(
        matches!(&method, Method::OneByOne(Reason::Untraced { path }) if path.ends_with("hidden.weight")),
        "{method}"
    );
    assert!(method.to_string().contains("hidden.weight is used without `traced`"), "{method}");
    let chosen = DpSgd { one_by_one: true, ..config };
    let (alone, method) = trained(Perceptron::new(&device()), &chosen, &data);
    assert_eq!(method, Method::OneByOne(Reason::Chosen));
    for other in [numbers(&plain), numbers(&alone)] {
        for (a, b) in numbers(&rules).iter().zip(other) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
    }
}

#[derive(Module, Debug)]
struct Mixing {
    linear: Linear,
    norm: BatchNorm,
}

#[test]
fn layers_that_mix_examples_are_refused() {
    let model =
        Mixing { linear: LinearConfig::new(2, 4).init(&device()), norm: BatchNormConfig::new(4).init(&device()) };
    let error = PrivateLearner::new(model, SgdConfig::new().init(), DpSgd::new(1.0, 1.0, 10), 100).err().unwrap();
    assert_eq!(
        error.to_string(),
        "norm is a BatchNorm, which mixes the examples of a batch, so no example's influence is bounded; use GroupNorm"
    );
}

#[test]
fn impossible_settings_are_refused() {
    let refused = |config: DpSgd, examples| {
        let model = Perceptron::new(&device());
        PrivateLearner::new(model, SgdConfig::new().init(), config, examples).err().unwrap().to_string()
    };
    assert!(refused(DpSgd::new(1.0, 1.0, 11), 10).starts_with("lot is 11; it must be from 1"));
    assert!(refused(DpSgd::new(1.0, 1.0, 0), 10).starts_with("lot is 0"));
    assert!(refused(DpSgd { delta: 1.0, ..DpSgd::new(1.0, 1.0, 1) }, 10).starts_with("delta is 1"));
    assert!(refused(DpSgd::new(f64::NAN, 1.0, 1), 10).contains("NaN"));
    assert!(refused(DpSgd::new(1.0, -1.0, 1), 10).contains("-1"));
    let frozen = Perceptron::new(&device()).no_grad();
    let none = PrivateLearner::new(frozen, SgdConfig::new().init(), DpSgd::new(1.0, 1.0, 1), 10).err().unwrap();
    assert!(matches!(none, BurnError::NothingToTrain));
    let mut learner =
        PrivateLearner::new(Perceptron::new(&device()), SgdConfig::new().init(), DpSgd::new(1.0, 1.0, 5), 100).unwrap();
    let other = learner.step(&points(99), &Points, 0.1).unwrap_err();
    assert_eq!(other.to_string(), "the data set has 99 examples, but the run is accounted for 100");
    assert_eq!(learner.ledger().steps(), 0, "nothing was released");
    assert!(DpSgd::within(0.0, 1e-5, 10, 1.0, 10, 100).is_err());
    let calibrated = DpSgd::within(2.0, 1e-5, 500, 1.0, 64, 10_000).unwrap();
    let multiplier = calibrated.noise.unwrap().scale();
    assert!(dp_sgd::epsilon(multiplier, 64.0 / 10_000.0, 500, 1e-5).unwrap() <= 2.0);
}

/// A model whose loss is constant, so that an update is noise alone.
#[derive(Module, Debug)]
struct Still {
    linear: Linear,
}

impl PrivateModel<Batch> for Still {
    fn losses(&self, batch: Batch) -> Tensor<1> {
        let [examples, _] = batch.points.dims();
        self.linear.traced(batch.points).mul_scalar(0.0).sum_dim(1).reshape([examples])
    }
}

/// Kolmogorov's distance of the update to its normal distribution, at 20,002 numbers.
#[test]
fn the_noise_is_that_which_is_accounted_for() {
    let (norm, multiplier, lot) = (0.25, 1.7, 40);
    let model = Still { linear: LinearConfig::new(2, 6667).init(&device()) };
    let before = numbers(&model);
    let config = DpSgd::new(multiplier, norm, lot);
    let optimizer = SgdConfig::new().init();
    let mut learner = PrivateLearner::with_rng(model, optimizer, config, 400, NotPrivateReplay::new(11)).unwrap();
    learner.step(&points(400), &Points, 1.0).unwrap();
    let sigma = multiplier * norm / f64::from(lot);
    let mut moved: Vec<f64> =
        before.iter().zip(numbers(learner.model())).map(|(a, b)| f64::from(a - b) / sigma).collect();
    moved.sort_by(f64::total_cmp);
    let n = moved.len() as f64;
    let distance = moved
        .iter()
        .enumerate()
        .map(|(i, &z)| {
            let below = 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
            (below - i as f64 / n).abs().max((below - (i + 1) as f64 / n).abs())
        })
        .fold(0.0, f64::max);
    assert!(moved.len() == 20_001 && distance < 1.95 / n.sqrt(), "{distance}");
}

#[test]
fn a_saved_training_goes_on_with_its_books() {
    let folder = std::env::temp_dir().join(format!("hushgrad-burn-{}", std::process::id()));
    let data = points(500);
    let config = DpSgd::new(1.0, 1.0, 50);
    let optimizer = || burn::optim::AdamConfig::new().init();
    let new =
        |config: &DpSgd| PrivateLearner::new(Perceptron::new(&device()), optimizer(), config.clone(), 500).unwrap();
    let mut learner = new(&config);
    for _ in 0..3 {
        learner.step(&data, &Points, 0.1).unwrap();
    }
    learner.save(&folder).unwrap();
    let same = new(&config).resume(&folder).unwrap();
    assert_eq!((numbers(same.model()), same.ledger()), (numbers(learner.model()), learner.ledger()));
    // With other settings, both kinds of step are in the books.
    let mut other = new(&DpSgd { lot: 100, ..config }).resume(&folder).unwrap();
    for _ in 0..2 {
        other.step(&data, &Points, 0.1).unwrap();
    }
    assert_eq!((other.ledger().steps(), other.ledger().events().len()), (5, 2));
    assert!(other.epsilon().unwrap().value > learner.epsilon().unwrap().value);
    std::fs::write(folder.join("ledger.json"), "{}").unwrap();
    assert!(new(&DpSgd::new(1.0, 1.0, 50)).resume(&folder).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
    let missing = new(&DpSgd::new(1.0, 1.0, 50)).resume(&folder).err().unwrap().to_string();
    assert!(missing.contains("ledger.json"), "{missing}");
}
