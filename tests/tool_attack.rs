//! The native tool's attacks, run as a program.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
use serde_json::Value;

#[path = "common/files.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod files;

use files::{Files, hushgrad, text};

fn lines(words: &str, files: &Files) -> Vec<Value> {
    let out = hushgrad(words, &files.0);
    assert!(out.status.success(), "{}", text(&out.stderr));
    text(&out.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn refused(words: &str, files: &Files) -> String {
    let out = hushgrad(words, &files.0);
    assert!(!out.status.success() && out.stdout.is_empty());
    text(&out.stderr)
}

#[test]
fn membership_says_what_was_found_and_what_it_costs() {
    let files = Files::new("attack-membership");
    let run = "attack membership --data @ --records 200 --mislabelled 80 --lot 20 --steps 40";
    let [line] = &lines(&format!("{run} --labelled 40 --json --sigma 2"), &files)[..] else { panic!() };
    let wrong = &line["mislabelled"];
    assert_eq!(wrong["in"].as_u64().unwrap() + wrong["out"].as_u64().unwrap(), 80);
    assert_eq!((&line["steps"], &wrong["guesses"], &line["replayed"]), (&40.into(), &4.into(), &false.into()));
    let [most, least] = [&line["epsilon-at-most"], &wrong["epsilon-at-least"]].map(|of| of.as_f64().unwrap());
    assert!(most > 0.5 && least <= most, "{line}");
    assert!((0.0..=1.0).contains(&line["labelled"]["auc"]["value"].as_f64().unwrap()));
    assert!(!wrong["roc"].as_array().unwrap().is_empty());
    let told = text(&hushgrad(&format!("{run} --no-noise --labelled 0"), &files.0).stdout);
    assert!(told.contains("no guarantee") && told.contains("mislabelled") && !told.contains("correctly"), "{told}");
    for (more, why) in [
        ("--records 10 --mislabelled 80 --labelled 40", "take more records or fewer candidates"),
        ("--records 290 --mislabelled 80 --labelled 40", "needs 350 training images, and there are 300"),
        ("--records 200 --mislabelled 0", "at least one mislabelled image"),
        ("--records 200 --mislabelled 80 --labelled 40 --epochs 0", "must be above 0"),
        ("--records 200 --mislabelled 80 --labelled 40 --sigma 0", "noise"),
        ("--records 200 --mislabelled 80 --labelled 40 --sigma -1", "noise"),
    ] {
        let sentence = refused(&format!("attack membership --data @ --lot 20 {more}"), &files);
        assert!(sentence.contains(why), "{more}: {sentence}");
    }
}

#[test]
fn the_game_is_played_from_a_configuration_and_from_a_ledger() {
    let files = Files::new("attack-game");
    let run = "attack game --json --rounds 40 --candidates 2,5 --examples 300 --lot 30";
    let games = lines(&format!("{run} --steps 6 --sigma 1.2"), &files);
    assert_eq!(games.len(), 2);
    for (game, candidates) in games.iter().zip([2, 5]) {
        let outcome = &game["outcome"];
        assert_eq!(outcome["candidates"], candidates);
        let [attack, error] = ["value", "standard-error"].map(|of| outcome["attack"][of].as_f64().unwrap());
        assert!(attack < outcome["bound"].as_f64().unwrap() + 4.0 * error, "{outcome}");
        assert!(outcome["bound"].as_f64().unwrap() <= outcome["bound-of-epsilon"].as_f64().unwrap());
    }
    // The same steps, from the ledger of a run.
    let trained = hushgrad("train --data @ --json --lot 30 --steps 6 --sigma 1.2 --ledger @ledger.json", &files.0);
    assert!(trained.status.success(), "{}", text(&trained.stderr));
    let kept = lines("attack game --json --rounds 40 --candidates 2,5 --examples 300 --ledger @ledger.json", &files);
    assert_eq!(kept, games);
    for (words, why) in [
        ("--candidates 1", "it needs 2 to 4096"),
        ("--candidates 301 --examples 300 --lot 30", "population of 300"),
        ("--no-noise", "no noise"),
        ("--ledger @none.json", "none.json"),
    ] {
        let sentence = refused(&format!("attack game {words}"), &files);
        assert!(sentence.contains(why), "{words}: {sentence}");
    }
}

#[test]
fn noise_hides_the_inverted_image() {
    let files = Files::new("attack-invert");
    let found = lines("attack invert --data @ --json --images 3 --sigma 0,0.01,0.1,1.1", &files);
    let cosine = |k: usize| found[k]["cosine"]["value"].as_f64().unwrap();
    assert!(cosine(0) > 0.999 && cosine(1) > 0.9 && cosine(2) < 0.4 && cosine(3) < 0.3, "{found:?}");
    assert!(found[0]["epsilon-at-most"].is_null() && found[2]["epsilon-at-most"].as_f64().unwrap() > 91.0);
    assert_eq!(found[0]["picture"].as_array().unwrap().len(), 784);
    for (words, why) in
        [("--image 300", "the 300 training images"), ("--units 1", "from 2 to 128"), ("--sigma -0.1", "sigma")]
    {
        let sentence = refused(&format!("attack invert --data @ {words}"), &files);
        assert!(sentence.contains(why), "{words}: {sentence}");
    }
}

#[test]
fn shadow_models_are_trained_and_asked() {
    let files = Files::new("attack-lira");
    let run = "attack lira --data @ --json --records 200 --models 6 --lot 20 --steps 30 --lr 4";
    let [line] = &lines(&format!("{run} --no-noise"), &files)[..] else { panic!() };
    assert!(line["told"]["auc"]["value"].as_f64().unwrap() > 0.5, "{line}");
    let sentence = refused("attack lira --data @ --models 1 --records 200 --lot 20", &files);
    assert!(sentence.contains("shadow models is 1"), "{sentence}");
    assert!(refused("attack lira --data @", &files).contains("needs 2000 training images"));
}
