//! A budget instead of settings: what is chosen, and what fits.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::Folder;
use crate::linear::{files, generated};

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

/// The settings in a model's manifest.
fn settings(folder: &Folder, model: &str) -> Value {
    json(&folder.read(&format!("{model}/manifest.json")))["settings"].clone()
}

/// The bytes of a model's folder.
fn size(folder: &Folder, model: &str) -> usize {
    files(folder, model).values().map(Vec::len).sum()
}

/// Trains again with the settings of a model, and expects the same.
#[track_caller]
fn repeats(folder: &Folder, model: &str) {
    folder.run(&format!("train train.txt --settings {model} --model again -q")).succeeds();
    assert!(files(folder, model) == files(folder, "again"), "--settings repeats {model}");
    fs::remove_dir_all(folder.path("again")).expect("it is there");
}

#[test]
fn auto_trains_a_grove_and_says_why() {
    let folder = generated();
    let done = folder.run("train train.txt --algorithm auto --model model --threads 2");
    assert_eq!(done.code(), 0);
    let told = done.stderr();
    assert!(told.starts_with("auto: so grove is trained\n"), "{told}");
    assert_eq!(json(&folder.read("model/manifest.json"))["algorithm"], "grove");
    folder.run("train train.txt --algorithm auto --model other --threads 1 -q").succeeds();
    assert!(files(&folder, "model") == files(&folder, "other"));
    repeats(&folder, "model");
    let again = folder.run("train train.txt --algorithm auto --model model --resume");
    assert!(again.stderr().contains("there is nothing to resume"), "{}", again.stderr());
}

#[test]
fn trees_are_added_until_the_time_is_used() {
    let folder = generated();
    for algorithm in ["craftml --trees 100000", "grove --trees 100000 --label-trees 1"] {
        let start = Instant::now();
        let train = format!("train train.txt --algorithm {algorithm} --budget 4 --overwrite");
        let done = folder.run(&format!("{train} --model model"));
        assert_eq!(done.code(), 0, "{}", done.stderr());
        assert!(start.elapsed() < Duration::from_secs(12), "{:?}", start.elapsed());
        assert!(done.stderr().contains("of 4.0 s are used"), "{}", done.stderr());
        assert!(done.stderr().contains("of 100000 trees"), "{}", done.stderr());
        repeats(&folder, "model");
    }
}

#[test]
fn a_model_stays_within_its_size_whatever_the_threads() {
    let folder = generated();
    for (algorithm, most) in [
        ("craftml", 1_500_000),
        ("label-tree", 1_400_000),
        ("grove", 2_000_000),
        ("auto", 2_000_000),
    ] {
        let train = format!("train train.txt --algorithm {algorithm} --max-model {most} -q");
        folder.run(&format!("{train} --model one --threads 1 --overwrite")).succeeds();
        folder.run(&format!("{train} --model many --threads 5 --overwrite")).succeeds();
        assert!(files(&folder, "one") == files(&folder, "many"), "{algorithm}");
        assert!(size(&folder, "one") <= most, "{algorithm}: {}", size(&folder, "one"));
        repeats(&folder, "one");
    }
}

#[test]
fn a_grove_without_room_for_a_label_tree_does_without() {
    let folder = generated();
    let done = folder.run("train train.txt --max-model 700K --model model");
    assert!(done.stderr().contains(" grown and no label tree\n"), "{}", done.stderr());
    let parts = &settings(&folder, "model")["parts"];
    let of_part = |part: &serde_json::Value| part["algorithm"].as_str().map(str::to_owned);
    let parts: Vec<_> = parts.as_array().expect("a list").iter().filter_map(of_part).collect();
    assert!(parts.contains(&"craftml".to_owned()), "{parts:?}");
    assert!(!parts.contains(&"label-tree".to_owned()), "{parts:?}");
    repeats(&folder, "model");
}

#[test]
fn a_killed_training_within_a_budget_goes_on() {
    let folder = generated();
    let train = "train train.txt --algorithm craftml --trees 100000 --model model";
    let mut child = folder.start(&format!("{train} --budget 5m -q"));
    let partial = folder.path("model.partial");
    let trees = || {
        let entries = fs::read_dir(&partial).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("tree-")).count()
    };
    while trees() < 8 {
        assert!(child.try_wait().expect("it can be asked").is_none(), "it ended too early");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it is running");
    child.wait().expect("it ends");
    let kept = trees();

    let error = folder.run(&format!("{train} --resume -q")).fails(1);
    assert!(error.contains("within_limits is true there but not set here"), "{error}");
    folder.run(&format!("{train} --resume --budget 2 -q")).succeeds();
    let grown = settings(&folder, "model")["trees"].as_u64().expect("a number") as usize;
    // A tree that was killed half-way may leave a gap of one for each thread.
    assert!(grown + 2 >= kept, "{grown} of {kept}");
    repeats(&folder, "model");
    let told = folder.run(&format!("{train} --resume --budget 2")).stderr();
    assert!(told.contains("there is nothing to resume"), "{told}");
}

#[test]
fn a_choice_is_kept_for_the_resumed_training() {
    let folder = generated();
    let train = "train train.txt --algorithm auto --budget 5m --model model";
    folder.run(&format!("{train} -q")).succeeds();
    let whole = files(&folder, "model");
    let manifest = json(&folder.read("model/manifest.json"));
    let mut settings = manifest["settings"].clone();
    settings["within_limits"] = true.into();
    let training = serde_json::json!(
        {"algorithm": manifest["algorithm"], "settings": settings, "data": manifest["data"]}
    );
    fs::rename(folder.path("model"), folder.path("model.partial")).expect("it is there");
    fs::remove_file(folder.path("model.partial/manifest.json")).expect("it is there");
    let unfinished = serde_json::json!({"format": manifest["format"], "training": training});
    folder.write("model.partial/settings.json", unfinished.to_string());
    let done = folder.run(&format!("{train} --resume"));
    assert!(done.stderr().starts_with("auto: going on with grove"), "{}", done.stderr());
    assert!(files(&folder, "model") == whole);
}

#[test]
fn limits_that_nothing_fits_into_are_refused() {
    let folder = generated();
    let fails = |flags: &str| folder.run(&format!("train train.txt -q --model x {flags}")).fails(1);
    let error = fails("--max-model 1K");
    assert!(error.contains("takes at least") && error.contains("--max-model allows"), "{error}");
    let error = fails("--algorithm auto --max-model 1K --overwrite");
    assert!(error.contains("allow more"), "{error}");
    let error = fails("--algorithm auto --budget 0.01 --overwrite");
    assert!(error.contains("allow a longer --budget"), "{error}");
}

#[test]
fn flags_that_do_not_go_together_are_refused() {
    let folder = generated();
    let fails = |flags: &str| folder.run(&format!("train train.txt -q --model x {flags}")).fails(1);
    for (flags, reason) in [
        ("--algorithm one-vs-rest --budget 5m", "do not go with one-vs-rest"),
        ("--algorithm label-forest --max-model 5M", "do not go with label-forest"),
        ("--algorithm craftml --budget 5m --calibrate", "--calibrate does not go with"),
        ("--algorithm auto --trees 5", "--trees does not go with auto"),
        ("--algorithm auto --preset paper", "--preset does not go with auto"),
    ] {
        let error = fails(flags);
        assert!(error.contains(reason), "{flags}: {error}");
    }
    assert!(folder.names().iter().all(|name| !name.starts_with('x')));
}

#[test]
fn rare_labels_are_favoured_on_request() {
    let folder = generated();
    for algorithm in ["one-vs-rest", "label-tree --trees 1"] {
        let train = format!("train train.txt --algorithm {algorithm} -q --overwrite");
        let figures = |flags: &str, model: &str| {
            folder.run(&format!("{train} {flags} --model {model}")).succeeds();
            let line =
                json(&folder.run(&format!("evaluate {model} test.txt --json -q")).succeeds());
            ["psp@1", "psp@3", "p@1"].map(|name| line["metrics"][name].as_f64().expect("a number"))
        };
        let (plain, tail) = (figures("", "plain"), figures("--favour tail", "tail"));
        assert!(tail[0] > plain[0] && tail[1] > plain[1], "{algorithm}: {plain:?} {tail:?}");
    }
    let inside = folder.run("inspect tail").succeeds();
    assert!(inside.contains("\nfavours     rare labels"), "{inside}");
    assert_eq!(json(&folder.run("inspect tail --json").succeeds())["favour"], "tail");
    repeats(&folder, "tail");
    // Labels are cut by their scores.
    let scores = |model: &str| {
        let command = format!("predict {model} test.txt --format tsv --top-k 3 --threshold 0.2");
        folder.run(&command).succeeds()
    };
    assert_ne!(scores("plain"), scores("tail"));
    let error = folder
        .run("train train.txt --settings tail --favour none --model tail --resume -q")
        .fails(1);
    assert!(error.contains("favour is tail there but none here"), "{error}");
}

#[test]
fn rare_labels_weigh_more_in_training_unless_settings_say_otherwise() {
    let folder = generated();
    let train = |flags: &str, model: &str| {
        folder.run(&format!("train train.txt {flags} -q --model {model}")).succeeds();
    };
    // What was learned, without the manifest, which tells what is favoured.
    let learned = |model: &str| {
        let mut files = files(&folder, model);
        files.retain(|name, _| name != "manifest.json");
        files
    };
    train("--algorithm one-vs-rest", "plain");
    train("--algorithm one-vs-rest --favour tail", "tail");
    assert_eq!(settings(&folder, "plain")["tail_weight"], 0.0);
    assert_eq!(settings(&folder, "tail")["tail_weight"], 0.5);
    assert!(learned("plain") != learned("tail"));
    // Ranking alone.
    train("--algorithm one-vs-rest --favour tail --tail-weight 0", "ranked");
    assert!(learned("plain") == learned("ranked"));
    // Training alone.
    train("--algorithm one-vs-rest --tail-weight 0.5", "weighted");
    assert!(learned("tail") == learned("weighted"));
    // The weight goes with what is favoured.
    train("--settings tail --favour none", "none");
    assert!(files(&folder, "plain") == files(&folder, "none"));
    train("--settings plain --favour tail", "favoured");
    assert!(files(&folder, "tail") == files(&folder, "favoured"));
    train("--settings ranked", "kept");
    assert!(files(&folder, "ranked") == files(&folder, "kept"));
    for (flags, reason) in [
        ("--algorithm craftml --tail-weight 0.5", "--tail-weight is no setting of craftml"),
        ("--algorithm one-vs-rest --tail-weight 9", "--tail-weight is 9, but must be from 0 to 4"),
    ] {
        let error = folder.run(&format!("train train.txt {flags} --model x -q")).fails(1);
        assert!(error.contains(reason), "{error}");
    }
}
