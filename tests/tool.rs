//! The native tool, run as a program: files in, JSON lines and a ledger out, sentences for errors.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
#[cfg(feature = "gpu")]
use std::process::Output;
use std::process::{Command, Stdio};

use hushgrad::{
    accounting::{
        dp_sgd,
        ledger::{Ledger, Release, Sensitivity},
        noise::NoiseSpec,
        risk::{AttackBound, GaussianPrivacy},
        sampling::Sampling,
    },
    data::synthetic,
    engine::{Engine as _, Performance, cpu::CpuEngine},
    train::{
        config::{Minority, RunConfig},
        plan::Plan,
        report::Privacy,
        run_file::RunFile,
        session::Session,
    },
};

#[path = "common/files.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod files;

use files::{Files, command, hushgrad, reports, text};

#[test]
fn a_run_reports_in_json_and_its_ledger_gives_the_same_epsilon() {
    let files = Files::new("run");
    let run =
        "train --data @ --json --lot 32 --steps 6 --evaluate-every 2 --noise student-t --sigma 2 --ledger @ledger.json";
    let trained = hushgrad(run, &files.0);
    let reports = reports(&trained);
    assert_eq!(reports.iter().map(|r| r.step).collect::<Vec<_>>(), [2, 4, 6]);
    let last = reports.last().unwrap();
    assert!(last.complete && last.test_accuracy.is_some_and(|a| (0.0..=1.0).contains(&a)));
    let Privacy::Bounded(bound) = &last.privacy else { panic!("{:?}", last.privacy) };

    let out = hushgrad("account @ledger.json --json", &files.0);
    let account: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let epsilon = account["improved"]["epsilon"].as_f64().unwrap();
    assert!((epsilon - bound.improved.epsilon).abs() <= 1e-9, "{epsilon} {}", bound.improved.epsilon);
    assert_eq!(account["steps"], 6);
    // From the first line on, the cost of all planned steps.
    let first: serde_json::Value = serde_json::from_str(text(&trained.stdout).lines().next().unwrap()).unwrap();
    assert_eq!((&first["planned"]["steps"], &first["step"]), (&6.into(), &2.into()));
    let planned = first["planned"]["epsilon"].as_f64().unwrap();
    // This noise has no tight bound.
    assert!(account["tight"].is_null() && (planned - epsilon).abs() <= 1e-9, "{planned} {epsilon}");
}

/// 300 digits in lots of 32: ten batches, so that twelve steps begin a second epoch.
#[test]
fn every_sampling_policy_is_drawn_from_and_accounted_for() {
    let files = Files::new("sampling");
    let mut spent = vec![];
    for (policy, neighbours) in
        [("poisson", "add or remove one"), ("fixed-size", "replace one"), ("shuffled", "add or remove one")]
    {
        let set = hushgrad(&format!("train --data @ --lot 32 --steps 12 --sampling {policy} --print-config"), &files.0);
        std::fs::write(files.0.join("config.json"), set.stdout).unwrap();
        let run = "train --data @ --config @config.json --json --evaluate-every 12 --ledger @ledger.json --force";
        let trained = hushgrad(run, &files.0);
        let reports = reports(&trained);
        let last = reports.last().unwrap();
        let Privacy::Bounded(bound) = &last.privacy else { panic!("{:?}", last.privacy) };
        let phrase = format!("neighbours: {neighbours}");
        assert!(bound.assumptions.iter().any(|own| own.to_string() == phrase), "{policy}: {:?}", bound.assumptions);
        let counted = bound.assumptions.iter().any(|phrase| phrase.contains("number of training examples is public"));
        assert_eq!(counted, policy != "fixed-size", "{policy}: {:?}", bound.assumptions);
        let one_an_epoch = bound.assumptions.iter().any(|phrase| {
            phrase.contains("each example drawn independently into one of ")
                && phrase.contains(" batches: one release per epoch")
        });
        assert_eq!(one_an_epoch, policy == "shuffled", "{policy}: {:?}", bound.assumptions);

        let out = hushgrad("account @ledger.json --json", &files.0);
        let account: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        let epsilon = account["improved"]["epsilon"].as_f64().unwrap();
        assert!((epsilon - bound.improved.epsilon).abs() <= 1e-9, "{policy}: {epsilon} {}", bound.improved.epsilon);
        // The last line has the tight bound, too.
        let line: serde_json::Value = serde_json::from_slice(&trained.stdout).unwrap();
        assert!(account["tight"]["value"].as_f64().is_some_and(|tight| tight <= epsilon), "{policy}: {account}");
        assert_eq!(line["tight"], account["tight"], "{policy}");
        spent.push(epsilon);
    }
    // A replacement is a removal and an addition; two unsampled releases cost more than twelve
    // sampled ones here.
    assert!(spent[0] < spent[1] && spent[0] < spent[2], "{spent:?}");
    let out = hushgrad("train --data @ --sampling everybody", &files.0);
    assert!(!out.status.success() && text(&out.stderr).contains("fixed-size"), "{}", text(&out.stderr));
}

#[test]
fn rounding_to_a_grid_is_accounted_for() {
    let files = Files::new("grid");
    let run = "train --data @ --json --lot 32 --steps 4 --evaluate-every 4 --grid-bits 10 --ledger @ledger.json";
    let reports = reports(&hushgrad(run, &files.0));
    let Privacy::Bounded(bound) = &reports[0].privacy else { panic!("{:?}", reports[0].privacy) };
    assert!(bound.assumptions.iter().any(|phrase| phrase.contains("rounded to the grid 2^-10")), "{bound:?}");
    assert!(!bound.assumptions.iter().any(|phrase| phrase.contains("not counted")), "{bound:?}");
    let out = hushgrad("account @ledger.json --json", &files.0);
    let account: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let epsilon = account["improved"]["epsilon"].as_f64().unwrap();
    assert!((epsilon - bound.improved.epsilon).abs() <= 1e-9, "{epsilon} {}", bound.improved.epsilon);
    assert!(account["rounding"]["loss"].as_f64().unwrap() > 0.0 && account["tight"].is_null(), "{account}");
    let out = hushgrad("account @ledger.json", &files.0);
    assert!(text(&out.stdout).contains("not exactly its law"), "{}", text(&out.stdout));
    for (words, why) in [
        ("--grid-bits 10 --noise variance-gamma", "known error bound"),
        ("--grid-bits 10 --noise cauchy", "no finite bound"),
        ("--grid-bits 10 --noise none", "--grid-bits needs another --noise"),
        ("--grid-bits 25", "between 1 and 24"),
    ] {
        let out = hushgrad(&format!("train --data @ --steps 1 --lot 32 {words}"), &files.0);
        assert!(!out.status.success() && text(&out.stderr).contains(why), "{words}: {}", text(&out.stderr));
    }
}

/// One unsampled Gaussian release of μ = 1.
fn ledger_of_one(files: &Files) {
    let noise = Some(NoiseSpec::Gaussian { sigma: 1.0 });
    let release = Release::new(Sampling::Poisson { rate: 1.0 }, Sensitivity::L2 { norm: 1.0 }, noise);
    let ledger = Ledger::of([(release, 1)]).unwrap();
    std::fs::write(files.0.join("ledger.json"), ledger.to_json()).unwrap();
}

#[test]
fn labels_state_the_cost_of_a_run_and_its_ledger() {
    let files = Files::new("label");
    let trained =
        hushgrad("train --data @ --lot 32 --steps 6 --threads 1 --ledger @ledger.json --out @run.json", &files.0);
    assert!(trained.status.success(), "{}", text(&trained.stderr));
    let account: serde_json::Value =
        serde_json::from_slice(&hushgrad("account @ledger.json --json", &files.0).stdout).unwrap();
    let epsilon = account["tight"]["value"].as_f64().unwrap();
    let label = |words: &str| {
        let out = hushgrad(&format!("label {words}"), &files.0);
        assert!(out.status.success(), "{words}: {}", text(&out.stderr));
        text(&out.stdout)
    };
    let stated = format!("ε ≤ {} at δ = 1e-5", hushgrad::accounting::decimal::upper(epsilon, 3));
    for format in ["html", "md", "yaml"] {
        for file in ["run", "ledger"] {
            let written = label(&format!("@{file}.json --format {format}"));
            assert!(written.contains(&stated) && written.contains("add or remove one"), "{written}");
            assert_eq!(written.contains("300 training examples"), file == "run", "{written}");
        }
    }
    // The device states the requested threads, not the machine's.
    let file = RunFile::from_json("run.json", &std::fs::read(files.0.join("run.json")).unwrap()).unwrap();
    assert!(file.run.engine.device.ends_with(", 1 thread"), "{}", file.run.engine.device);
    // The cost of tuning is that of all runs.
    let both = label("@run.json --with @ledger.json");
    assert!(both.contains("All 2 runs on these data together: ε ≤ ") && both.contains(&stated), "{both}");
    // One unsampled Gaussian release: μ = 1, and whoever accuses 5 of 100 others finds at most 27
    // of 100 members, or a few more by points of the curve.
    ledger_of_one(&files);
    let one = label("@ledger.json");
    assert!(one.contains("μ ≤ 1.00"), "{one}");
    let found: f64 = one.split("was, at most ").nth(1).unwrap().split('.').next().unwrap().parse().unwrap();
    let truth = 100.0 * GaussianPrivacy::new(1.0).unwrap().best_true_positive_rate(0.05);
    assert!(found >= truth && found < truth + 3.0, "{found} {truth}");
    let out = hushgrad("label @run.json --delta 1e-6", &files.0);
    assert!(!out.status.success() && text(&out.stderr).contains("its own δ"), "{}", text(&out.stderr));
    let out = hushgrad("label @train-labels-idx1-ubyte", &files.0);
    assert!(!out.status.success() && text(&out.stderr).contains("train-labels"), "{}", text(&out.stderr));
}

#[test]
fn audits_report_claims_and_findings_and_detect_broken_promises() {
    let files = Files::new("audit");
    let audit = "audit --data @ --lot 30 --steps 30 --threads 1";
    let lines = |words: &str| -> Vec<serde_json::Value> {
        let out = hushgrad(&format!("{audit} --json {words}"), &files.0);
        assert!(out.status.success(), "{words}: {}", text(&out.stderr));
        text(&out.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    // As many canaries as allowed; two of the bounds.
    let found = lines("--quick --runs 2");
    assert_eq!(found.len(), 3);
    for (run, one) in found[..2].iter().enumerate() {
        assert_eq!(
            (one["run"].as_u64(), one["canaries"].as_u64(), one["steps"].as_u64()),
            (Some(run as u64 + 1), Some(300), Some(30))
        );
        let (tight, classic) = (one["claim"]["tight"].as_f64().unwrap(), one["claim"]["classic"].as_f64().unwrap());
        assert!(tight > 0.1 && classic > tight, "{one}");
        assert!(one["auc"].as_f64().is_some_and(|auc| (0.4..0.9).contains(&auc)), "{one}");
        assert!(one["guesses"] == 15 && one["right"].as_u64() <= Some(15) && one["broken"].is_null());
        assert!(one["bounds"][0].is_f64() && one["bounds"][2].is_null(), "{one}");
    }
    assert_eq!((found[2]["runs"].as_u64(), found[2]["bounds"]["guesses"]["runs"].as_u64()), (Some(2), Some(2)));
    // All five bounds, and a broken promise that single steps reveal.
    let found = lines("--canaries 200 --mutate noise-of-mean");
    assert_eq!(found.len(), 1);
    assert!(found[0]["broken"] == "noise-of-mean" && found[0]["refuted"] == true, "{}", found[0]);
    assert!(found[0]["bounds"].as_array().unwrap().iter().all(serde_json::Value::is_f64), "{}", found[0]);
    let out = hushgrad(&format!("{audit} --mutate half-noise"), &files.0);
    let (said, table) = (text(&out.stderr), text(&out.stdout));
    assert!(said.contains("it breaks the promise: the noise is as strong as the books say"), "{said}");
    for part in [
        "claimed   ε ≤ ",
        "guesses   ε ≥ ",
        "steps     ε ≥ ",
        "five bounds are five chances",
        "AUC ",
        "the claim is refuted",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    // Without noise nothing is claimed.
    let found = lines("--noise none");
    assert!(found[0]["claim"].is_null() && found[0]["refuted"] == false, "{}", found[0]);
}

/// Wherever its accuracy is shown.
#[test]
fn a_run_with_canaries_says_so() {
    let files = Files::new("canaries");
    let train = "train --data @ --lot 32 --steps 3 --canaries 50 --evaluate-every 3";
    let out = hushgrad(&format!("{train} --out @run.json"), &files.0);
    assert!(out.status.success() && text(&out.stderr).contains("(with 50 canaries)"), "{}", text(&out.stderr));
    let json = hushgrad(&format!("{train} --json"), &files.0);
    let line: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(line["canaries"], 50);
    let label = text(&hushgrad("label @run.json --format md", &files.0).stdout);
    assert!(
        label.contains("trained with 50 canaries of an audit") && label.contains("50 canaries: public records"),
        "{label}"
    );
    let without = hushgrad("train --data @ --lot 32 --steps 3 --evaluate-every 3 --json", &files.0);
    let line: serde_json::Value = serde_json::from_slice(&without.stdout).unwrap();
    assert!(line.get("canaries").is_none());
    for sharing in ["--sampling fixed-size", "--sampling random-allocation", "--sampling shuffled", "--users 100"] {
        let other = format!("train --data @ --lot 32 --steps 3 --canaries 50 {sharing} --out @other.json --force");
        assert!(hushgrad(&other, &files.0).status.success(), "{sharing}");
        let label = hushgrad("label @other.json --format md", &files.0);
        assert!(text(&label.stdout).contains("ε ≤ "), "{sharing}: {}", text(&label.stderr));
    }
    // Coins are in no file: the run continues without canaries.
    let resumed = hushgrad("train --data @ --resume @run.json --steps 5", &files.0);
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    // The books of a run file are read like a ledger.
    let account = hushgrad("account @run.json", &files.0);
    assert!(account.status.success() && text(&account.stdout).contains("ε ≤"), "{}", text(&account.stderr));
}

/// By the whole curve, not by ε at one δ, which would allow far more.
#[test]
fn an_account_says_what_an_attacker_can_do() {
    let files = Files::new("attack");
    ledger_of_one(&files);
    let out = hushgrad("account @ledger.json --false-alarms 0.1 --json", &files.0);
    let account: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let truth = GaussianPrivacy::new(1.0).unwrap();
    for (name, truth) in [("recognised", truth.best_true_positive_rate(0.1)), ("advantage", truth.advantage())] {
        let bound = account["attack"][name].as_f64().unwrap();
        assert!(bound >= truth * (1.0 - 1e-9) && bound < 1.05 * truth, "{name}: {bound} {truth}");
    }
    let out = hushgrad("account @ledger.json --false-alarms 0.1", &files.0);
    assert!(text(&out.stdout).contains("recognises at most"), "{}", text(&out.stdout));
}

/// A training in another library: by options, by Opacus' record, and as a ledger.
#[test]
fn a_training_elsewhere_is_accounted_for_and_calibrated() {
    let files = Files::new("elsewhere");
    let step = |sigma| dp_sgd::step(sigma, 0.004);
    let write = |name: &str, text: &str| std::fs::write(files.0.join(name), text).unwrap();
    write("ledger.json", &Ledger::of([(step(1.1), 3000)]).unwrap().to_json());
    write("kinds.json", &Ledger::of([(step(1.0), 300), (step(0.6), 200)]).unwrap().to_json());
    write("opacus.json", r#"{"accountant": "rdp", "history": [[1.1, 0.004, 3000]]}"#);
    write("no-opacus.json", r#"{"history": [[1.1, 2, 3000]]}"#);
    write("event.txt", &text(&hushgrad("export @ledger.json --as dp-event", &files.0).stdout));
    write("no-event.txt", "ComposedDpEvent(events=[ZCDpEvent(rho=0.1, xi=0.0)])");
    let run = |words: &str| hushgrad(words, &files.0);
    let account = |words: &str| text(&run(&format!("account {words} --json")).stdout);
    let expected = account("@ledger.json");
    assert!(expected.contains("\"tight\""), "{expected}");
    for words in [
        "@opacus.json",
        "@event.txt",
        "--noise-multiplier 1.1 --rate 0.004 --steps 3000",
        "--sigma 1.1 --lot 100 --examples 25000 --epochs 11.999",
    ] {
        assert_eq!(account(words), expected, "{words}");
    }
    for (sampling, says) in [
        ("fixed-size --noise laplace", "fixed size, 100 of 25000"),
        ("random-allocation --noise student-t --nu 4", "250"),
    ] {
        let words =
            format!("account --noise-multiplier 1.1 --lot 100 --examples 25000 --steps 250 --sampling {sampling}");
        let said = text(&run(&words).stdout);
        assert!(said.contains("ε ≤") && said.contains(says), "{words}: {said}");
    }
    let found = text(&run("calibrate --rate 0.004 --steps 3000 --epsilon 1 --json").stdout);
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let needed = dp_sgd::noise_multiplier(1.0, 0.004, 3000, 1e-5).unwrap();
    assert!(found["value"] == needed && found["accountant"] == "tight", "{found}");
    // No tight price is known for Laplace noise under a clip alone.
    let found = text(&run("calibrate --rate 0.004 --steps 30 --epsilon 1 --noise laplace").stdout);
    assert!(found.contains("by Rényi accounting"), "{found}");
    let said = text(&run("calibrate @kinds.json --epsilon 3 --kinds 2").stdout);
    assert!(said.contains("kind 1: noise scale 1\n"), "{said}");
    for (words, says) in [
        ("account @no-opacus.json", "history[0]"),
        ("account @no-event.txt", "events[0]: ZCDpEvent cannot be read"),
        ("account @ledger.json --steps 3", "has its own"),
        ("account @ledger.json --rate 0.1", "cannot be used with"),
        ("account", "required"),
        ("account --rate 0.1 --steps 3", "--noise-multiplier is missing"),
        ("account --rate 0.1 --noise-multiplier 1", "--steps or --epochs is missing"),
        ("account --rate 1.1 --noise-multiplier 1 --steps 3", "--rate is 1.1"),
        ("account --rate 0.1 --noise-multiplier 0 --steps 3", "sigma is 0"),
        ("account --rate 0.1 --noise-multiplier 1 --steps 3 --nu 4", "--nu has no effect"),
        ("account --rate 0.1 --noise-multiplier 1 --steps 3 --sampling shuffled", "--lot and --examples"),
        ("account --rate 0.1 --noise-multiplier 1 --epochs -1", "--epochs"),
        ("account --lot 9 --examples 8 --noise-multiplier 1 --steps 1", "--lot is 9"),
        ("account --rate 1e-300 --noise-multiplier 1 --epochs 3", "1 to 2^53"),
        ("account --rate 0.1 --noise none --steps 3", "no guarantee"),
        ("calibrate @kinds.json --epsilon 3 --kinds 3", "names kind 3"),
        ("calibrate @kinds.json --epsilon 3 --for rate", "2 kinds of release"),
        ("calibrate @kinds.json --epsilon 3 --steps 5", "one kind of release"),
        ("calibrate --rate 0.1 --epsilon 3", "--steps or --epochs is missing"),
    ] {
        let out = run(words);
        let said = text(&out.stderr);
        assert!(!out.status.success() && out.stdout.is_empty() && said.contains(says), "{words}: {said}");
    }
}

/// What each form says is tested where it is written.
#[test]
fn a_run_is_exported_or_refused_with_the_setting() {
    let files = Files::new("export");
    let train = |words: &str| {
        let out = hushgrad(&format!("train --data @ --lot 30 --steps 2 {words} --force"), &files.0);
        assert!(out.status.success(), "{}", text(&out.stderr));
    };
    train("--model cnn-tanh --clip 0.3 --lr 0.25 --momentum 0.5 --out @run.json");
    train("--out @averaged.json --average");
    for (form, line) in [
        ("opacus", "nn.Conv2d(1, 16, 8, 2, 3),"),
        ("opacus", "nn.Linear(512, 32),"),
        ("jax-privacy", "nn.Conv(16, (8, 8), 2, 3, kernel_init=glorot),"),
        ("jax-privacy", "EVENT = SelfComposedDpEvent("),
    ] {
        let out = hushgrad(&format!("export @run.json --as {form}"), &files.0);
        let script = text(&out.stdout);
        for part in [line, "PHASES = [(1.1, 0.1, 2)]", "EXAMPLES = 300", "CLIP = 0.3", "LEARNING_RATE = 0.25"] {
            assert!(script.contains(part), "{form}, {part}: {script}{}", text(&out.stderr));
        }
    }
    let ledger = text(&hushgrad("export @averaged.json --as ledger", &files.0).stdout);
    std::fs::write(files.0.join("ledger.json"), ledger).unwrap();
    let script = text(&hushgrad("export @ledger.json --as opacus", &files.0).stdout);
    assert!(script.contains("PRVAccountant") && !script.contains("def train"), "{script}");
    for (words, says) in [
        ("export @averaged.json --as opacus", "its setting averaging"),
        ("export @averaged.json --as dp-event --delta 0.1", "its own δ"),
        ("export @ledger.json", "--as"),
    ] {
        let out = hushgrad(words, &files.0);
        assert!(!out.status.success() && text(&out.stderr).contains(says), "{words}: {}", text(&out.stderr));
    }
}

#[test]
fn a_target_is_calibrated_for_or_refused_with_the_reason() {
    let files = Files::new("calibrate");
    ledger_of_one(&files);
    let of = |words: &str| -> serde_json::Value {
        let out = hushgrad(&format!("calibrate @ledger.json --json --epsilon 2 {words}"), &files.0);
        serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{words}: {}", text(&out.stderr)))
    };
    for words in ["", "--steps 10", "--for rate", "--for rate --steps 3", "--accountant tight"] {
        let found = of(words);
        assert!(
            found["epsilon"].as_f64().unwrap() <= 2.0 && found["value"].as_f64().unwrap() > 0.0,
            "{words}: {found}"
        );
    }
    let ranking = of("--for noise --by 0.9");
    let found = ranking["found"].as_array().unwrap();
    let errors: Vec<f64> = found.iter().map(|candidate| candidate["error"].as_f64().unwrap()).collect();
    assert!(found.len() > 5 && errors.is_sorted(), "{ranking}");
    let out = hushgrad("calibrate @ledger.json --epsilon 0.1 --for steps", &files.0);
    assert!(!out.status.success() && text(&out.stderr).contains("one step alone costs"), "{}", text(&out.stderr));
}

/// `hushgrad account … | head -1`.
#[test]
fn a_closed_pipe_is_no_failure() {
    let files = Files::new("pipe");
    ledger_of_one(&files);
    let mut command = Command::new(env!("CARGO_BIN_EXE_hushgrad"));
    let mut child = command.arg("account").arg(files.0.join("ledger.json")).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

/// σ = 1, one release of everything: μ is 1, and the best of several such runs costs more than one;
/// even that of 100 costs less than four times as much.
#[test]
fn account_reports_mu_and_the_cost_of_a_choice() {
    let files = Files::new("choice");
    ledger_of_one(&files);
    let said = text(&hushgrad("account @ledger.json --best-of 4", &files.0).stdout);
    assert!(said.contains("μ ≤ 1.00000") && said.contains("regret 0 ("), "{said}");
    assert!(said.contains("for the best of 4 such runs on average"), "{said}");
    let json =
        |words: &str| -> serde_json::Value { serde_json::from_slice(&hushgrad(words, &files.0).stdout).unwrap() };
    let [few, many] = [2, 100].map(|runs| json(&format!("account @ledger.json --json --best-of {runs}")));
    assert!((few["gaussian"]["mu"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{few}");
    let of = |account: &serde_json::Value| account["best-of"]["epsilon"].as_f64().unwrap();
    let one = few["improved"]["epsilon"].as_f64().unwrap();
    assert!(one < of(&few) && of(&few) < of(&many) && of(&many) < 4.0 * one, "{few} {many}");
    assert!(json("account @ledger.json --json")["best-of"].is_null());
    assert!(!hushgrad("account @ledger.json --best-of 0.5", &files.0).status.success());
}

/// σ = 1, one release of everything, δ = 1e-5: ε is 4.3771780957 by tight accounting.
#[test]
fn printed_bounds_are_rounded_up() {
    let files = Files::new("bounds");
    ledger_of_one(&files);
    let said = text(&hushgrad("account @ledger.json", &files.0).stdout);
    assert!(said.contains("ε ≤ 4.37717") && said.contains("tight accounting"), "{said}");
    let json: serde_json::Value =
        serde_json::from_slice(&hushgrad("account @ledger.json --json", &files.0).stdout).unwrap();
    let bounds = [&json["tight"]["value"], &json["improved"]["epsilon"], &json["classic"]["epsilon"]];
    let printed =
        said.lines().filter_map(|line| line.trim().strip_prefix("ε ≤ ")?.split_whitespace().next()?.parse().ok());
    let printed: Vec<f64> = printed.collect();
    assert_eq!(printed.len(), 3, "{said}");
    for (printed, bound) in printed.iter().zip(bounds.map(|bound| bound.as_f64().unwrap())) {
        assert!(*printed >= bound && *printed < bound + 1.01e-6, "{printed} {bound}");
    }
    // A tiny ε is not printed as zero.
    let noise = Some(NoiseSpec::Gaussian { sigma: 1.0 });
    let release = Release::new(Sampling::Poisson { rate: 1e-9 }, Sensitivity::L2 { norm: 1.0 }, noise);
    let ledger = Ledger::of([(release, 1)]).unwrap();
    std::fs::write(files.0.join("small.json"), ledger.to_json()).unwrap();
    let said = text(&hushgrad("account @small.json --delta 1e-12", &files.0).stdout);
    let json: serde_json::Value =
        serde_json::from_slice(&hushgrad("account @small.json --delta 1e-12 --json", &files.0).stdout).unwrap();
    let tight = json["tight"]["value"].as_f64().unwrap();
    let first = said.lines().find_map(|line| line.trim().strip_prefix("ε ≤ ")?.split_whitespace().next()).unwrap();
    assert!(tight > 0.0 && first.parse::<f64>().unwrap() >= tight && first.contains("e-"), "{tight}: {said}");
    let out = hushgrad("calibrate @ledger.json --epsilon 2", &files.0);
    let json: serde_json::Value =
        serde_json::from_slice(&hushgrad("calibrate @ledger.json --epsilon 2 --json", &files.0).stdout).unwrap();
    let said = text(&out.stdout);
    assert!(said.contains("by tight accounting") && json["accountant"] == "tight", "{said} {json}");
    let printed: f64 = said.trim().rsplit_once("ε ≤ ").unwrap().1.parse().unwrap();
    assert!(printed >= json["epsilon"].as_f64().unwrap(), "{said} {json}");
}

/// The user's own files: their test set is not covered by ε.
#[test]
fn private_results_are_marked_and_sampled_values_not_reported() {
    let files = Files::new("private");
    let of_both = hushgrad("train --data @ --lot 32 --steps 2 --json", &files.0);
    for file in ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"] {
        std::fs::remove_file(files.0.join(file)).unwrap();
    }
    let held_out = hushgrad("train --data @ --lot 32 --steps 2 --json", &files.0);
    for (out, set, caution) in [
        (&of_both, "visitor", "test images are yours too"),
        (&held_out, "held-out", "About one image in six, chosen independently, is kept for testing"),
    ] {
        assert!(out.status.success(), "{}", text(&out.stderr));
        for line in text(&out.stdout).lines() {
            let report: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(report["test-set"], set);
            assert!(report["caution"].as_str().unwrap().contains(caution), "{line}");
            for secret in ["lot-size", "examples-per-second", "non-finite"] {
                assert!(report.get(secret).is_none(), "{line}");
            }
        }
    }
    let said = text(&hushgrad("train --data @ --lot 32 --steps 2", &files.0).stderr);
    assert!(said.matches("About one image in six, chosen independently, is kept for testing").count() == 2, "{said}");
    assert!(said.contains("accuracy (not covered by ε)"), "{said}");
    let public = hushgrad("train --synthetic --lot 600 --steps 1 --json", &files.0);
    let report: serde_json::Value = serde_json::from_slice(&public.stdout).unwrap();
    assert!(report["test-set"] == "public" && report.get("caution").is_none(), "{report}");
}

/// With steps, with epochs, or with neither: the run then ends after one epoch.
#[test]
fn a_learning_rate_falls_towards_the_end_of_any_run() {
    let files = Files::new("decay");
    for (length, steps) in [("--steps 10", 10), ("--epochs 2", 19), ("", 10)] {
        let run = format!("train --data @ --json --lot 32 --lr 1 --decay-to 0 --evaluate-every 1 {length}");
        let reports = reports(&hushgrad(&run, &files.0));
        assert_eq!(reports.len(), steps, "{length}");
        let rates: Vec<f64> = reports.iter().map(|report| report.learning_rate).collect();
        assert!(rates[0] == 1.0 && rates.windows(2).all(|w| w[1] < w[0]), "{length}: {rates:?}");
        assert!((rates[steps - 1] - 1.0 / steps as f64).abs() < 1e-9, "{length}: {rates:?}");
        assert!(reports[steps - 1].complete, "{length}");
    }
}

#[test]
fn a_configuration_survives_export_and_import() {
    let files = Files::new("config");
    let out = hushgrad(
        "train --data @ --print-config --model mlp --lot 7 --clip 0.5 --lr 0.25 --decay-to 0.1 --steps 3",
        &files.0,
    );
    let config: RunConfig = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((config.lot, config.learning_rate, config.steps), (7, 0.25, Some(3)));
    std::fs::write(files.0.join("run.json"), &out.stdout).unwrap();
    let again = hushgrad("train --data @ --config @run.json --print-config", &files.0);
    assert_eq!(serde_json::from_slice::<RunConfig>(&again.stdout).unwrap(), config);
    assert_eq!(reports(&hushgrad("train --data @ --config @run.json --json", &files.0)).last().unwrap().step, 3);
    // Options override the file.
    let changed = hushgrad("train --data @ --config @run.json --lot 9 --print-config", &files.0);
    assert_eq!(serde_json::from_slice::<RunConfig>(&changed.stdout).unwrap(), RunConfig { lot: 9, ..config });
}

/// The training thread's tests check the same for the page: both use this session.
#[test]
fn a_minority_is_what_any_session_trains_on_and_costs_nothing() {
    let files = Files::new("minority");
    let run = "train --data @ --lot 32 --steps 6";
    let out = hushgrad(&format!("{run} --minority turned --replay 5 --out @run.json"), &files.0);
    assert!(text(&out.stderr).contains("accuracy on the test images turned by a quarter: "), "{}", text(&out.stderr));
    let file = RunFile::from_json("run.json", &std::fs::read(files.0.join("run.json")).unwrap()).unwrap();
    let config = file.run.config.clone();
    assert_eq!((config.minority, config.steps), (Minority::Turned, Some(6)));
    let alone = |config: RunConfig| {
        let train = config.minority.among(&synthetic::digits(1, 300, 100).train);
        let plan = Plan::new(config, 300).unwrap();
        let engine = CpuEngine::new(plan.task.clone(), train, &plan.initial_parameters(), Performance::default());
        let mut session = Session::new(plan, engine.unwrap()).unwrap();
        (0..6).for_each(|_| pollster::block_on(session.step()).unwrap());
        pollster::block_on(session.engine().state()).unwrap().parameters
    };
    assert!(alone(config.clone()) == file.parameters);
    assert!(alone(RunConfig { minority: Minority::None, ..config }) != file.parameters);
    // The cost is that of the same digits.
    let cost = |minority: &str| {
        reports(&hushgrad(&format!("{run} --json --minority {minority}"), &files.0)).pop().unwrap().privacy
    };
    assert_eq!(cost("turned"), cost("none"));
    let resumed = hushgrad("train --data @ --resume @run.json --steps 9 --minority none", &files.0);
    assert!(text(&resumed.stderr).contains("a resumed run keeps its settings"), "{}", text(&resumed.stderr));
}

/// MNIST is nowhere here, and an attempt to fetch it leaves a mark.
#[cfg(unix)]
#[test]
fn a_configuration_is_printed_without_digits() {
    use std::os::unix::fs::PermissionsExt as _;
    let files = Files::new("no-digits");
    let curl = files.0.join("curl");
    std::fs::write(&curl, format!("#!/bin/sh\n: > {}/fetched\nexit 1\n", files.0.display())).unwrap();
    std::fs::set_permissions(&curl, std::fs::Permissions::from_mode(0o755)).unwrap();
    let print = |words: &str| {
        let mut command = command(words, &files.0);
        command.current_dir(&files.0).env("PATH", &files.0).env("HOME", &files.0).env("HUSHGRAD_CACHE", &files.0);
        command.env_remove("MNIST_DIR").env_remove("CARGO_MANIFEST_DIR").output().unwrap()
    };
    for (words, steps) in [("", 235), ("--lot 600 --epochs 2", 200), ("--synthetic --lot 600", 100)] {
        let out = print(&format!("train --print-config {words}"));
        let config: RunConfig = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!((config.steps, text(&out.stderr)), (Some(steps), String::new()), "{words}");
    }
    for (words, says) in [("--epochs -1", "--epochs is -1"), ("--sigma 0", "sigma is 0"), ("--lr 0", "learning-rate")] {
        let out = print(&format!("train {words}"));
        assert!(!out.status.success() && text(&out.stderr).contains(says), "{words}: {}", text(&out.stderr));
        let out = print(&format!("audit {words}"));
        assert!(!out.status.success() && text(&out.stderr).contains(says), "audit {words}: {}", text(&out.stderr));
    }
    assert!(!files.0.join("fetched").exists());
    // The mark appears once digits are needed.
    let run = files.0.join("run.json");
    let trained = print(&format!("train --lot 1 --steps 1 --json --out {}", run.display()));
    assert!(trained.status.success() && files.0.join("fetched").exists(), "{}", text(&trained.stderr));
    let line: serde_json::Value = serde_json::from_slice(&trained.stdout).unwrap();
    let note = line["fallback"].as_str().unwrap();
    assert!(text(&trained.stderr).lines().last().unwrap() == note, "{}", text(&trained.stderr));
    assert!(std::fs::read_to_string(run).unwrap().contains(note));
    for asked in ["--dataset mnist", "--preset dp-sgd"] {
        let out = print(&format!("train --lot 1 --steps 1 {asked}"));
        assert!(!out.status.success() && text(&out.stderr).contains("MNIST is not here"), "{}", text(&out.stderr));
    }
}

#[test]
fn errors_give_a_sentence_and_a_failure() {
    let files = Files::new("wrong");
    std::fs::write(files.0.join("bad.json"), r#"{"lott": 3}"#).unwrap();
    ledger_of_one(&files);
    std::fs::rename(files.0.join("ledger.json"), files.0.join("one.json")).unwrap();
    std::fs::write(files.0.join("ledger.json"), "{}").unwrap();
    for (words, sentence) in [
        ("train --data @nowhere --steps 1", "nowhere: the folder does not exist"),
        (
            "train --data @t10k-images-idx3-ubyte --steps 1",
            "images without labels; choose the labels file that belongs to it as well",
        ),
        ("train --data @ --sigma -1 --steps 1", "sigma is -1; it must be"),
        ("train --data @ --clip -0.5 --steps 1", "encoder.norm is -0.5"),
        ("train --data @ --lr -1e-3 --steps 1", "learning-rate is -0.001"),
        ("train --data @ --momentum -1 --steps 1", "momentum is -1"),
        ("train --data @ --delta -1e-5 --steps 1", "delta is -1e-5"),
        ("train --data @ --epochs -2", "--epochs is -2; it must be above 0"),
        ("train --data @ --replay 9007199254740992 --steps 1", "it must be at most 9007199254740991"),
        ("train --data @ --lot 4294967296 --steps 1", "it must be at most 4294967295"),
        ("train --data @ --decay-to NaN --steps 1", "not a finite number"),
        ("train --data @ --model built --steps 1", "[possible values: linear, scattering, mlp, cnn-tanh, cnn-relu]"),
        ("train --data @ --noise custom --steps 1", "generalized-gaussian, cauchy]"),
        ("train --data @ --lot -5 --steps 1", "invalid value '-5' for '--lot"),
        ("account @one.json --delta -1", "delta is -1"),
        ("calibrate @one.json --epsilon -1", "target ε is -1"),
        ("train --data @ --lot 301 --steps 1", "between 1 and the 300 training examples"),
        ("train --data @ --clip 0 --steps 1", "encoder.norm"),
        ("train --data @ --clip NaN --steps 1", "not a finite number"),
        ("train --data @ --encoder gaussian --clip 1 --steps 1", "--clip needs --encoder clip"),
        ("train --data @ --sigma 1e39 --steps 1", "noise.sigma is 1e39; it must be at most"),
        ("train --data @ --noise cauchy --sigma 1e30 --steps 1", "noise.scale is 1e30; it must be at most"),
        ("train --data @ --sigma 1e-50 --steps 1", "noise.sigma is 1e-50; it must be at least"),
        ("train --data @ --momentum 0.9999999999 --steps 1", "momentum is"),
        ("train --data @ --lr 1e-60 --steps 1", "learning-rate is 1e-60; it must be at least"),
        ("train --data @ --noise student-t --nu -inf --steps 1", "not a finite number"),
        ("train --data @ --nu 3 --steps 1", "--nu needs --noise student-t"),
        ("train --data @ --noise student-t --nu 0 --steps 1", "nu"),
        ("train --data @ --exponent 3 --steps 1", "--exponent needs --noise generalized-gaussian"),
        ("train --data @ --noise generalized-gaussian --exponent 0.5 --steps 1", "exponent"),
        ("train --data @ --config @bad.json", "lott"),
        ("train --data @ --config @absent.json", "cannot read"),
        ("train --data @ --adapter 0 --steps 1", "--adapter needs --backend gpu"),
        ("train --data @ --preset best", "presets are"),
        ("train --data @ --steps 1 --ledger @no/such/folder.json", "cannot write"),
        ("train --data @ --canaries 301 --lot 30 --steps 1", "canaries is 301; it must be between 0 and 300"),
        ("audit --data @ --lot 30 --steps 1 --canaries 0", "choose --canaries 1 or more"),
        ("audit --data @ --lot 30 --steps 1 --replay 1", "canaries: a replayed run's seed tells which canaries are in"),
        (
            "audit --data @ --lot 30 --steps 1 --mutate half",
            "half-noise, double-clip, double-sampling, fixed-batches, drawn-lot, noise-of-mean, count-unpaid",
        ),
        (
            "audit --data @ --lot 30 --steps 1 --noise none --mutate half-noise",
            "--mutate: a run without noise makes no promise to break",
        ),
        (
            "audit --data @ --lot 30 --steps 1 --sampling fixed-size --mutate drawn-lot",
            "--mutate: this bug needs Poisson sampling",
        ),
        ("audit --data @ --lot 30 --steps 1 --runs 0", "invalid value '0' for '--runs"),
        ("account @absent.json", "cannot read"),
        ("account /dev/zero", "more than 67108864 bytes"),
        ("train --data @ --config /dev/zero", "more than 16777216 bytes"),
        ("train --data @ --noise-table /dev/zero --steps 1", "more than 16777216 bytes"),
        ("account @ledger.json", "ledger.json"),
        ("account @ledger.json --delta x", "invalid value"),
        ("account @ledger.json --false-alarms 2", "it must be from 0 to 1"),
    ] {
        let out = hushgrad(words, &files.0);
        let said = text(&out.stderr);
        assert!(!out.status.success() && said.contains(sentence) && !said.contains("panicked"), "{words}: {said}");
    }
    let listed = command("train --data @ --steps 1", &files.0).args(["--layers", "dense 11"]).output().unwrap();
    let said = text(&listed.stderr);
    assert!(!listed.status.success() && said.contains("ends in 11 classes, but the images have 10"), "{said}");
}

/// `hushgrad … > /dev/full`.
#[cfg(target_os = "linux")]
#[test]
fn an_output_that_takes_nothing_is_named() {
    let files = Files::new("full");
    ledger_of_one(&files);
    for words in
        ["account @ledger.json", "train --data @ --lot 30 --steps 1 --json", "train --print-config --synthetic"]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let out = command(words, &files.0).stdout(full).output().unwrap();
        let said = text(&out.stderr);
        assert!(!out.status.success() && said.contains("cannot write to standard output"), "{words}: {said}");
    }
}

#[cfg(feature = "gpu")]
#[test]
fn an_adapter_is_chosen_by_number_or_name_and_one_that_is_not_there_is_named() {
    let files = Files::new("adapter");
    let train = |adapter: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hushgrad"));
        command.args(["train", "--backend", "gpu", "--lot", "32", "--steps", "1", "--data"]).arg(&files.0);
        command.args(adapter.into_iter().flat_map(|adapter| ["--adapter", adapter])).output().unwrap()
    };
    let refused = train(Some("no such adapter"));
    let said = text(&refused.stderr);
    let named = ["available: ", "there is none at all"].map(|there| format!("is called `no such adapter`; {there}"));
    assert!(!refused.status.success() && named.iter().any(|named| said.contains(named)), "{said}");
    if std::env::var_os("HUSHGRAD_NO_GPU").is_some_and(|v| v == "1") {
        eprintln!("**** NOT RUN: HUSHGRAD_NO_GPU=1; no adapter was chosen. ****");
        return;
    }

    // The first line of a run ends with its device.
    let device = |out: &Output| {
        let said = text(&out.stderr);
        assert!(out.status.success(), "{said}");
        said.lines().find_map(|line| Some(line.split_once(" parameters, ")?.1.to_owned())).unwrap()
    };
    let chosen = device(&train(None));
    let listed = text(&hushgrad("adapters", &files.0).stdout);
    let number =
        listed.lines().find_map(|line| line.strip_suffix(&chosen)).unwrap_or_else(|| panic!("{listed}")).trim();
    assert_eq!(device(&train(Some(number))), chosen);
    assert_eq!(device(&train(Some(&chosen.to_uppercase()))), chosen);
}

#[test]
fn figures_mark_missing_runs() {
    let files = Files::new("figures");
    let out = hushgrad("reproduce figures --figure 8", &files.0);
    assert!(!out.status.success() && text(&out.stderr).contains("headline, 1, 2"), "{}", text(&out.stderr));
    let draw =
        "reproduce figures --figure 5 --draw --data @ --out @docs/figures --document @docs/paper.md --runs @runs.jsonl";
    let out = hushgrad(draw, &files.0);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let document = std::fs::read_to_string(files.0.join("docs").join("paper.md")).unwrap();
    assert!(
        document.contains("<!-- figure-5 -->") && document.contains("0 runs are finished, and not all rates are tuned"),
        "{document}"
    );
    assert!(!files.0.join("runs.jsonl").exists(), "nothing was run");
    let out = hushgrad(&format!("{draw} --epochs 0"), &files.0);
    assert!(text(&out.stderr).contains("--epochs is 0; it must be above 0"), "{}", text(&out.stderr));
}

/// A density as a table or a formula: used in training and calibration, or refused with the line.
#[test]
fn a_density_of_ones_own_is_used_or_refused_with_the_line() {
    let files = Files::new("density");
    let write = |text: &str| std::fs::write(files.0.join("noise.csv"), text).unwrap();
    let rows = |n: u32| (0..n).map(|i| 0.1 * f64::from(i)).map(|x| format!("{x},{}\n", (-x).exp())).collect::<String>();
    // Laplace noise of scale 1, with a heading, a comment and another separator.
    write(&format!("\u{feff}x,density\n# measured\n{}\n-1;{}\n", rows(60), (-1f64).exp()));
    let printed = |words: &str| -> RunConfig {
        let out = hushgrad(&format!("train --data @ --print-config {words}"), &files.0);
        serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{}", text(&out.stderr)))
    };
    let config = printed("--noise-table @noise.csv --sigma 1.5");
    let Some(NoiseSpec::Custom { density, scale }) = config.noise else { panic!("{:?}", config.noise) };
    assert_eq!((density.source(), scale), ("noise.csv", 1.5));
    let flat = printed("--noise generalized-gaussian --exponent 8 --sigma 3");
    assert_eq!(flat.noise, Some(NoiseSpec::GeneralizedGaussian { exponent: 8.0, scale: 3.0 }));
    assert!(matches!(printed("--noise-formula exp(-abs(x)^3)").noise, Some(NoiseSpec::Custom { scale: 1.0, .. })));

    ledger_of_one(&files);
    let scale = |words: &str| -> f64 {
        let out = hushgrad(&format!("calibrate @ledger.json --json --epsilon 2 {words}"), &files.0);
        let found: serde_json::Value =
            serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{}", text(&out.stderr)));
        found["value"].as_f64().unwrap()
    };
    // Interpolation between knots is exact for Laplace noise.
    let (table, formula) = (scale("--noise-table @noise.csv"), scale("--noise-formula exp(-abs(x))"));
    assert!((table / formula - 1.0).abs() < 1e-3, "{table} {formula}");

    for (file, place) in [
        ("0,1\n1,0.5\nzwei,0.2\n", "line 3"),
        ("0,1\n1,0.5,0.2\n", "line 2"),
        ("0,1\n\n1,0.5\n2,0.6\n", "line 4"),
        ("0,1\n1,0\n", "line 2"),
        ("0,1\n1,nan\n", "line 2"),
        ("-1,0.4\n0,1\n1,0.5\n", "not symmetric"),
        ("0,1\n1,0.5\n1,0.5\n", "line 3"),
        ("0,1\n", "two points"),
    ] {
        write(file);
        let out = hushgrad("train --data @ --print-config --noise-table @noise.csv", &files.0);
        let error = text(&out.stderr);
        assert!(!out.status.success() && error.contains(place) && error.contains("noise.csv"), "{file:?}: {error}");
    }
    let out = hushgrad("train --data @ --print-config --noise laplace --noise-table @noise.csv", &files.0);
    assert!(!out.status.success() && text(&out.stderr).contains("cannot be used with"), "{}", text(&out.stderr));
}
