//! Tuning: the same choice however it is reached, and what is done with it.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::Folder;
use crate::linear::{files, generated};

const TUNE: &str = "tune train.txt --algorithm craftml --trees 3 --folds 2 -q";

/// A table without the time, which is its last column.
fn timeless(text: &str) -> Vec<String> {
    let cut = |line: &str| match line.strip_suffix('|').and_then(|line| line.rsplit_once('|')) {
        Some((rest, _)) => rest.to_owned(),
        None => line.to_owned(),
    };
    text.lines().map(cut).collect()
}

/// The finished trials of a tuning, by name.
fn trials(folder: &Folder, output: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder.path(output).join("trials")) else { return Vec::new() };
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    paths
}

#[test]
fn the_choice_is_the_same_on_any_threads_and_after_a_kill() {
    let folder = generated();
    let whole = folder.run(&format!("{TUNE} --output whole --threads 1")).succeeds();
    assert!(whole.contains("| (as given) "), "{whole}");
    assert!(whole.contains("\nby the mean of P@1, P@3 and P@5 in percent, "), "{whole}");
    // Nine candidates, then the best three and the settings as given.
    assert_eq!(trials(&folder, "whole").len(), 2 * (9 + 4));

    let mut killed = folder.start(&format!("{TUNE} --output killed --threads 2"));
    let start = Instant::now();
    while trials(&folder, "killed").len() < 3 && start.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(5));
    }
    killed.kill().expect("it can be ended");
    killed.wait().expect("it ends");
    let again = folder.run(&format!("{TUNE} --output killed --threads 3")).succeeds();
    assert_eq!(timeless(&again), timeless(&whole));

    let kept = trials(&folder, "whole");
    for path in kept.iter().step_by(2) {
        fs::remove_file(path).expect("it is there");
    }
    let untouched =
        fs::metadata(&kept[1]).expect("it is there").modified().expect("there is a clock");
    let resumed = folder.run(&format!("{TUNE} --output whole")).succeeds();
    assert_eq!(timeless(&resumed), timeless(&whole));
    let after = fs::metadata(&kept[1]).expect("it is there").modified().expect("there is a clock");
    assert_eq!(after, untouched, "what is finished is not tried again");
    for name in ["settings.json", "chart.svg"] {
        let [one, other] =
            ["whole", "killed"].map(|output| folder.read(&format!("{output}/{name}")));
        assert_eq!(one, other, "{name}");
    }
    assert!(folder.read("whole/chart.svg").starts_with("<svg "));
    assert!(folder.read("whole/table.md").contains("![What was tried](chart.svg)"));
}

#[test]
fn other_data_and_settings_are_refused_in_a_line() {
    let folder = generated();
    let tune = format!("{TUNE} --leaf 10 --output found");
    folder.run(&tune).succeeds();
    for (args, expected) in [
        (tune.replace("train.txt", "test.txt"), "it was begun with other data"),
        (tune.replace("--folds 2", "--folds 3"), "folds was 2, but is 3 now"),
        (tune.replace("craftml", "label-tree"), "algorithm was craftml, but is label-tree now"),
        (tune.replace("--trees 3", "--trees 4"), "the setting craftml.trees was another"),
        (format!("{tune} --seed 7"), "the setting craftml.seed was another"),
        (format!("{tune} --measure p@1"), "measure was p, but is p@1 now"),
        (format!("{tune} --repel 0.3"), "nothing is left to tune"),
        (tune.replace("craftml", "auto"), "does not go with auto"),
        (format!("{TUNE} --output train.txt"), "this is no tuning but holds a file"),
        (format!("{TUNE} --output sub --budget 0.000001"), "0 of 26 trials are kept in sub"),
    ] {
        let error = folder.run(&args).fails(1);
        assert!(error.contains(expected), "{args}: {error}");
    }
    folder.run("train train.txt --trees 2 --model model -q").succeeds();
    let error = folder.run(&format!("{TUNE} --output model")).fails(1);
    assert!(error.contains("this is no tuning"), "{error}");
}

#[test]
fn train_takes_what_was_found() {
    let folder = generated();
    let tune = "tune train.txt --algorithm label-tree --trees 1 --weight-threshold 0.1 --folds 2";
    let done = folder.run(&format!("{tune} --branches 20 --output found"));
    assert_eq!(done.code(), 0, "{}", done.stderr());
    let told = done.stderr();
    let next = told.lines().last().and_then(|line| line.strip_prefix("next: labelwood "));
    assert_eq!(next, Some("train train.txt --settings found --model model"), "{told}");
    folder.run(&format!("{} -q", next.expect("it was checked"))).succeeds();

    let found: Value =
        serde_json::from_str(&folder.read("found/settings.json")).expect("it is JSON");
    let cost = found["settings"]["cost"].as_f64().expect("it is a number") as f32;
    let train = "train train.txt --algorithm label-tree --trees 1 --weight-threshold 0.1";
    folder.run(&format!("{train} --branches 20 --cost {cost} --model typed -q")).succeeds();
    assert!(files(&folder, "model") == files(&folder, "typed"));
}

#[test]
fn text_is_read_as_it_was_tuned() {
    let folder = Folder::new();
    folder.run("demo --write-corpus questions -q").succeeds();
    let tune = "tune questions/train.tsv --stem english --algorithm label-tree --trees 1 --folds 2";
    folder.run(&format!("{tune} --cost 1 --output found -q")).succeeds();
    folder.run("train questions/train.tsv --settings found --model model -q").succeeds();
    let manifest: Value = serde_json::from_str(&folder.read("model/manifest.json")).expect("JSON");
    assert!(manifest["text"].to_string().contains("english"), "{}", manifest["text"]);
}

#[test]
fn ways_to_read_text_are_tried_before_settings() {
    let folder = Folder::new();
    folder.run("demo --write-corpus questions -q").succeeds();
    let tune = "tune questions/train.tsv --algorithm label-tree --trees 1 --weight-threshold 0.1 \
        --branches 16 --folds 2";
    let done = folder.run(&format!("{tune} --output found"));
    let (found, notes) = (done.stdout(), done.stderr());
    assert_eq!(done.code(), 0, "{notes}");
    let ways = "text: 7 ways to read it are tried first, in 2 folds of 436 of 436 documents";
    assert!(notes.contains(ways), "{notes}");
    assert!(found.contains("| stem english, stop_words english "), "{found}");
    assert_eq!(found.matches("\nby the mean of ").count(), 2, "{found}");
    let training: Value =
        serde_json::from_str(&folder.read("found/settings.json")).expect("it is JSON");
    assert_eq!(training["text"]["vectoriser"]["stem"], "english");
    let page = folder.read("found/table.md");
    assert!(page.starts_with("# Settings of text\n"), "{page}");
    assert!(folder.read("found/text.svg").starts_with("<svg "));
    assert_eq!(trials(&folder, "found/text").len(), 2 * (7 + 3));

    let again = folder.run(&format!("{tune} --output found --threads 1 -q")).succeeds();
    assert_eq!(timeless(&again), timeless(&found));
    for path in trials(&folder, "found/text").iter().chain(&trials(&folder, "found")).step_by(2) {
        fs::remove_file(path).expect("it is there");
    }
    let resumed = folder.run(&format!("{tune} --output found -q")).succeeds();
    assert_eq!(timeless(&resumed), timeless(&found));
    let error = folder.run(&format!("{tune} --stem none --output found -q")).fails(1);
    assert!(error.contains("found/text: another tuning is here"), "{error}");

    let pinned = "--stem none --stop-words none --word-ngrams 1 --char-ngrams none";
    let plain = folder.run(&format!("{tune} {pinned} --output plain -q")).succeeds();
    assert_eq!(plain.matches("\nby the mean of ").count(), 1, "{plain}");
    let late = folder.run(&format!("{tune} --budget 0.000001 --output late -q")).fails(1);
    assert!(late.contains("of 20 trials are kept in late"), "{late}");
}

#[test]
fn algorithms_are_chosen_among() {
    let folder = generated();
    let tune =
        "tune train.txt --folds 2 --trees 2 --leaf 10 --branches 16 --weight-threshold 0.1 -q";
    let several = format!("{tune} --algorithm craftml,label-tree,craftml --output found");
    let table = folder.run(&several).succeeds();
    assert!(table.contains("| algorithm label-tree, cost 0.3 "), "{table}");
    assert!(table.contains("| (as given) "), "{table}");
    let training: Value =
        serde_json::from_str(&folder.read("found/settings.json")).expect("it is JSON");
    let name = training["algorithm"].as_str().expect("it is a name");
    assert!(["craftml", "label-tree"].contains(&name), "{name}");
    folder.run("train train.txt --settings found --model model -q").succeeds();
    for (args, expected) in [
        (format!("{tune} --algorithm craftml,auto --output a"), "auto stands alone"),
        (
            "tune train.txt --algorithm craftml,label-tree --submodels 3 --output a".to_owned(),
            "--submodels is no setting of craftml, label-tree",
        ),
        (
            "train train.txt --algorithm craftml,label-tree --model a".to_owned(),
            "choose one; `labelwood tune` chooses among several",
        ),
    ] {
        let error = folder.run(&args).fails(1);
        assert!(error.contains(expected), "{args}: {error}");
    }
}

#[test]
fn the_rows_of_a_split_are_tuned_with() {
    let folder = generated();
    let rows: Vec<String> = (1..=300).map(|row| format!("{row} {}\n", row + 300)).collect();
    folder.write("split.txt", rows.concat());
    let tune = format!("{TUNE} --leaf 10 --train-split split.txt --split-column 2");
    let table = folder.run(&format!("{tune} --output second")).succeeds();
    assert!(table.contains(" 300 rows "), "{table}");
}
