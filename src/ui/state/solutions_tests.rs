//! What the teacher's page states of its tasks' solutions holds for the tasks' links; accuracies
//! are checked on MNIST, if it is on this machine.

use std::collections::BTreeSet;

use super::prices::{TRAIN, curve, epsilon, found};
use crate::{
    data::mnist,
    engine::{Performance, cpu::CpuEngine},
    plot::format,
    train::{config::RunConfig, label::of_a_hundred, plan::Plan, projection, session::Session},
    ui::link::{self, encoding::pairs, lock::read},
};

/// A run of a solution: its task's link, its other settings, and its numbers' names and texts.
struct Solution {
    task: String,
    link: String,
    set: String,
    shown: Vec<(String, String)>,
}

/// Returns the solutions of the page's tasks. One run may be nested in the text of another.
fn solutions() -> Vec<Solution> {
    let mut all = vec![];
    for article in include_str!("../../../www/teach.html").split("<article class=\"task\" id=\"").skip(1) {
        let task = article.split('"').next().unwrap();
        let link =
            article.split("class=\"task-link\" href=\"./").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        for item in article.split("<li data-run=\"").skip(1) {
            let item = item.split("</li>").next().unwrap();
            let (before, rest) = item.split_once("<span data-run=\"").unwrap_or((item, "</span></span>"));
            let (within, after) = rest.split_once("</span></span>").unwrap();
            for run in [format!("{before}{after}"), within.to_owned()] {
                let Some((set, said)) = run.split_once('"') else { continue };
                let numbers = said.split("<span data-shows=\"").skip(1).map(|number| {
                    let (name, number) = number.split_once("\">").unwrap();
                    (name.to_owned(), number.split('<').next().unwrap().to_owned())
                });
                let [link, set] = [link, set].map(|query| query.replace("&amp;", "&"));
                all.push(Solution { task: task.to_owned(), link, set, shown: numbers.collect() });
            }
        }
    }
    all
}

impl Solution {
    /// Returns its run, with the noise scale that keeps its budget.
    fn run(&self) -> RunConfig {
        let (link, problems) = link::read(&format!("{}&{}", self.link, self.set));
        assert_eq!(problems, Vec::<String>::new(), "{}", self.set);
        let mut settings = link.settings;
        if let Some((config, steps, budget)) = settings.plan_budget(TRAIN) {
            settings.scale = projection::scale_for(&config, TRAIN, steps, budget).unwrap();
        }
        settings.config()
    }
}

#[test]
fn solutions_set_what_their_task_leaves_free() {
    let all = solutions();
    assert!(all.len() > 15 && all.iter().all(|solution| !solution.shown.is_empty()));
    assert_eq!(all.iter().map(|solution| &solution.task).collect::<BTreeSet<_>>().len(), 6);
    for Solution { task, link, set, .. } in &all {
        let lock = read(link).0.unwrap();
        assert!(pairs(set).iter().all(|(key, _)| lock.leaves(key)), "{task}: {set}");
    }
}

#[test]
fn solutions_cost_what_the_page_says() {
    for solution in solutions() {
        let (run, Solution { task, set, shown, .. }) = (solution.run(), solution);
        let cost = epsilon(&run);
        for (name, number) in shown {
            let own = match name.as_str() {
                "epsilon" => format::epsilon(cost),
                "odds-of-pair" => of_a_hundred(found([(format::shown(cost), run.delta)])).to_string(),
                "odds" => of_a_hundred(curve(&run).1).to_string(),
                "accuracy" => continue,
                _ => panic!("{task}: {name}"),
            };
            assert_eq!(own, number, "{task}: {name} of {set}");
        }
    }
}

/// Equal runs differ: over four runs of each, by at most 0.6 points from their mean. The page
/// states one run's accuracy, and this is another's, so three times that is allowed.
#[test]
fn solutions_read_as_many_digits_as_the_page_says() {
    let Ok(mnist::LocatedDigits { digits, .. }) = mnist::locate() else {
        println!("MNIST is not on this machine: what solutions read of it is not checked here");
        return;
    };
    for solution in solutions() {
        let Some((_, number)) = solution.shown.iter().find(|(name, _)| name == "accuracy") else { continue };
        let plan = Plan::new(RunConfig { replay: Some(1), ..solution.run() }, TRAIN).unwrap();
        let parameters = plan.initial_parameters();
        let engine = CpuEngine::new(plan.task.clone(), digits.train.clone(), &parameters, Performance::default());
        let mut session = Session::new(plan, engine.unwrap()).unwrap();
        let accuracy = pollster::block_on(async {
            while !session.complete() {
                session.step().await.unwrap();
            }
            100.0 * session.accuracy(&digits.test).await.unwrap()
        });
        let said: f64 = number.trim_end_matches('%').parse().unwrap();
        assert!((accuracy - said).abs() < 1.8, "{}: {accuracy} instead of {number} of {}", solution.task, solution.set);
    }
}
