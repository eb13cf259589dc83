//! Groves, and scores that are probabilities.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::harness::Folder;
use crate::linear::{files, generated};

const GROVE: &str = "train train.txt --algorithm grove --trees 6 --label-trees 2 -q";

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

/// Makes the folder of a training that was cut off when only some of a model's units were there.
fn cut_off(folder: &Folder, model: &str, whole: &BTreeMap<String, Vec<u8>>, kept: &[&str]) {
    let partial = folder.path(&format!("{model}.partial"));
    fs::create_dir(&partial).expect("it is not there");
    let manifest: Value = serde_json::from_slice(&whole["manifest.json"]).expect("it is JSON");
    let mut training = serde_json::Map::new();
    for key in ["algorithm", "settings", "data", "calibrate"] {
        if let Some(value) = manifest.get(key) {
            training.insert(key.to_owned(), value.clone());
        }
    }
    let settings = serde_json::json!({"format": manifest["format"], "training": training});
    fs::write(partial.join("settings.json"), settings.to_string()).expect("it is writable");
    for (name, bytes) in whole {
        if kept.iter().any(|stem| name.starts_with(stem)) {
            fs::write(partial.join(name), bytes).expect("it is writable");
        }
    }
}

#[test]
fn a_grove_is_trained_inspected_and_asked() {
    let folder = generated();
    let line =
        json(&folder.run(&format!("{GROVE} --model model --test test.txt --json")).succeeds());
    assert_eq!(line["settings"]["parts"][0]["trees"], 6);
    assert_eq!(line["settings"]["parts"][1]["trees"], 2);
    let p1 = |line: &Value| line["metrics"]["p@1"].as_f64().expect("a number");
    assert!(p1(&line["test"]) > 0.4, "{line}");
    assert!(line["test"]["metrics"]["ece"].as_f64().expect("a number") < 0.15, "{line}");
    let evaluated = json(&folder.run("evaluate model test.txt --json -q").succeeds());
    assert_eq!(evaluated["metrics"], line["test"]["metrics"]);

    let inside = folder.run("inspect model").succeeds();
    for line in [
        "algorithm   grove\n",
        "\nranker: ",
        "  craftml  ",
        "\nranker trees: ",
        "\nbest score  ",
        "\ncraftml-tree-0005 ",
        "\nlabel-tree-tree-0001 ",
    ] {
        assert!(inside.contains(line), "{line}\n{inside}");
    }
    let inside = json(&folder.run("inspect model --json").succeeds());
    // Six trees, two label trees and the neighbours.
    assert_eq!(inside["trees"].as_array().map(Vec::len), Some(9));
    assert_eq!(inside["ranker"].as_array().map(Vec::len), Some(3));
    let parts = inside["bytes_by_part"].as_object().expect("an object").values();
    assert_eq!(parts.flat_map(Value::as_u64).sum::<u64>(), inside["bytes"]);

    let sure = folder.run("predict model test.txt --format tsv --threshold 0.5").succeeds();
    let all = folder.run("predict model test.txt --format tsv").succeeds();
    assert!(sure.len() < all.len() && sure.contains(' '));
}

#[test]
fn all_parts_that_can_learn_from_the_rows_stay_on_request() {
    let folder = generated();
    folder.run(&format!("{GROVE} --model model --choose false")).succeeds();
    let inside = json(&folder.run("inspect model --json").succeeds());
    let parts = inside["settings"]["parts"].as_array().expect("a list").iter();
    let names: Vec<&str> = parts.filter_map(|part| part["algorithm"].as_str()).collect();
    assert_eq!(names, ["craftml", "label-tree", "one-vs-rest", "neighbours"]);
}

#[test]
fn a_grove_has_the_same_bytes_on_any_number_of_threads_and_when_repeated() {
    let folder = generated();
    folder.run(&format!("{GROVE} --model one --threads 1")).succeeds();
    folder.run(&format!("{GROVE} --model many --threads 7")).succeeds();
    assert!(files(&folder, "one") == files(&folder, "many"));
    folder.run("train train.txt --settings one --model again -q").succeeds();
    assert!(files(&folder, "one") == files(&folder, "again"), "--settings repeats a training");
    folder.run(&format!("{GROVE} --model other --seed 7")).succeeds();
    assert!(files(&folder, "one") != files(&folder, "other"));
}

#[test]
fn a_grove_that_was_stopped_goes_on_to_the_same_bytes() {
    let folder = generated();
    folder.run(&format!("{GROVE} --model whole")).succeeds();
    let whole = files(&folder, "whole");
    let some: [&[&str]; 3] = [
        &["ranker"],
        &["craftml-tree-0001", "craftml-tree-0004"],
        &["ranker", "craftml-", "label-tree-tree-0000-root", "label-tree-tree-0001-subtree-00000"],
    ];
    for kept in some {
        cut_off(&folder, "rest", &whole, kept);
        folder.run(&format!("{GROVE} --model rest --resume")).succeeds();
        assert!(whole == files(&folder, "rest"), "{kept:?}");
        fs::remove_dir_all(folder.path("rest")).expect("it is there");
    }
}

#[test]
fn a_damaged_ranker_is_refused_by_name() {
    let folder = generated();
    folder.run(&format!("{GROVE} --model model")).succeeds();
    let name = files(&folder, "model").into_keys().find(|name| name.starts_with("ranker"));
    let name = name.expect("there is a ranker");
    let path = folder.path("model").join(&name);
    let mut bytes = fs::read(&path).expect("it can be read");
    // The last weight becomes infinite.
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::INFINITY.to_le_bytes());
    fs::write(&path, bytes).expect("it is writable");
    for flags in ["", "--no-verify"] {
        let error = folder.run(&format!("predict model test.txt {flags}")).fails(1);
        assert!(error.contains(&name), "{error}");
    }
}

#[test]
fn settings_go_to_the_part_that_has_them() {
    let folder = generated();
    let train = "train train.txt --algorithm grove --trees 2 -q --json --model";
    let line = folder.run(&format!("{train} a --repel 0.5 --cost 0.5 --beam 3")).succeeds();
    let settings = &json(&line)["settings"];
    let [forest, label_tree] = [0, 1].map(|part| &settings["parts"][part]);
    assert_eq!((&forest["algorithm"], &forest["repel"]), (&"craftml".into(), &0.5.into()));
    assert_eq!(
        (&label_tree["algorithm"], &label_tree["cost"]),
        (&"label-tree".into(), &0.5.into())
    );
    assert_eq!((&forest["beam"], &label_tree["beam"]), (&3.into(), &3.into()));
    let error = folder.run(&format!("{train} b --submodels 3")).fails(1);
    assert!(error.contains("--submodels is no setting of grove"), "{error}");
    let error = folder.run(&format!("{train} b --label-trees 0")).fails(1);
    assert!(error.contains("--label-trees is 0, but must be"), "{error}");
    let error = folder.run(&format!("{train} b --calibrate")).fails(1);
    assert!(error.contains("the scores of a grove are probabilities already"), "{error}");
}

#[test]
fn a_calibrated_model_ranks_as_before_and_its_scores_are_probabilities() {
    let folder = generated();
    for algorithm in ["craftml --trees 4", "label-tree --trees 1", "one-vs-rest"] {
        let train = format!("train train.txt --algorithm {algorithm} -q --overwrite --model");
        folder.run(&format!("{train} raw")).succeeds();
        folder.run(&format!("{train} calibrated --calibrate")).succeeds();
        let evaluate = |model: &str| {
            let line =
                json(&folder.run(&format!("evaluate {model} test.txt --json -q")).succeeds());
            let figure = |name: &str| line["metrics"][name].as_f64().expect("a number");
            (figure("p@1"), figure("p@5"), figure("ece"))
        };
        let (raw, calibrated) = (evaluate("raw"), evaluate("calibrated"));
        assert_eq!((raw.0, raw.1), (calibrated.0, calibrated.1), "{algorithm}");
        assert!(calibrated.2 < raw.2.max(0.1), "{algorithm}: {raw:?} {calibrated:?}");
        let inside = folder.run("inspect calibrated").succeeds();
        assert!(inside.contains("\ncalibration: "), "{inside}");
    }
}

#[test]
fn a_calibrated_training_is_repeated_and_resumed() {
    let folder = generated();
    let train = "train train.txt --algorithm craftml --trees 3 --calibrate -q";
    folder.run(&format!("{train} --model whole")).succeeds();
    let whole = files(&folder, "whole");
    folder.run("train train.txt --settings whole --model again -q --threads 7").succeeds();
    assert!(whole == files(&folder, "again"), "--settings repeats a training");
    for kept in [&["calibration"][..], &["tree-0001"]] {
        cut_off(&folder, "rest", &whole, kept);
        folder.run(&format!("{train} --model rest --resume")).succeeds();
        assert!(whole == files(&folder, "rest"), "{kept:?}");
        fs::remove_dir_all(folder.path("rest")).expect("it is there");
    }
    let error = folder
        .run("train train.txt --algorithm craftml --trees 3 --model whole --resume -q")
        .fails(1);
    assert!(error.contains("calibrate is true there but false here"), "{error}");
    let text = folder
        .run("train train.txt --algorithm craftml --calibrate --max-memory 8M --model x")
        .stderr();
    assert!(text.contains("--max-memory allows"), "{text}");
}
