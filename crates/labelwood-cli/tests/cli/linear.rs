//! Linear models: label trees through the whole command.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::harness::Folder;

/// A folder with generated data of a few hundred rows.
pub fn generated() -> Folder {
    let folder = Folder::new();
    let command = "generate --profile eurlex-4k --output train.txt --test-output test.txt";
    folder.run(&format!("{command} --instances 600 --test-instances 100")).succeeds();
    folder
}

/// All files of a model, by name.
#[track_caller]
pub fn files(folder: &Folder, model: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.path(model)).expect("the model is there");
    entries
        .map(|entry| {
            let entry = entry.expect("the folder can be listed");
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).expect("the file can be read"))
        })
        .collect()
}

const TREE: &str = "train train.txt --algorithm label-tree --trees 2 --branches 20 -q";

#[test]
fn a_label_tree_is_trained_inspected_and_asked() {
    let folder = generated();
    let line = folder.run(&format!("{TREE} --model model --test test.txt --json")).succeeds();
    let line: Value = serde_json::from_str(&line).expect("it is JSON");
    assert_eq!(line["settings"]["branches"], 20);
    assert!(line["test"]["metrics"]["p@1"].as_f64().expect("a number") > 0.3, "{line}");
    let inside = folder.run("inspect model").succeeds();
    assert!(inside.contains("algorithm   label-tree"), "{inside}");
    assert!(inside.contains("weights"), "{inside}");
    let inside: Value =
        serde_json::from_str(&folder.run("inspect model --json").succeeds()).expect("it is JSON");
    assert_eq!(inside["trees"].as_array().map(Vec::len), Some(2));
    assert_eq!(inside["trees"][0]["unit"], "tree-0000");
    assert!(inside["trees"][0]["weights"].as_u64().expect("a number") > 0);

    let evaluated = folder.run("evaluate model test.txt --json -q").succeeds();
    let evaluated: Value = serde_json::from_str(&evaluated).expect("it is JSON");
    assert_eq!(evaluated["metrics"], line["test"]["metrics"]);
    let wide = folder.run("predict model test.txt --format tsv --beam 50").succeeds();
    let narrow = folder.run("predict model test.txt --format tsv --beam 1").succeeds();
    assert_ne!(wide, narrow);
}

#[test]
fn a_label_tree_has_the_same_bytes_on_any_number_of_threads() {
    let folder = generated();
    folder.run(&format!("{TREE} --model one --threads 1")).succeeds();
    for threads in [2, 7] {
        folder.run(&format!("{TREE} --model many --overwrite --threads {threads}")).succeeds();
        assert!(files(&folder, "one") == files(&folder, "many"), "{threads} threads");
    }
    folder.run("train train.txt --settings one --model again -q").succeeds();
    assert!(files(&folder, "one") == files(&folder, "again"), "--settings repeats a training");
}

#[test]
fn a_label_tree_that_was_stopped_goes_on_to_the_same_bytes() {
    let folder = generated();
    folder.run(&format!("{TREE} --model whole")).succeeds();
    // A training that is cut off leaves some of its units in the partial folder.
    folder.run(&format!("{TREE} --model rest")).succeeds();
    let whole = files(&folder, "whole");
    let partial = folder.path("rest.partial");
    fs::create_dir(&partial).expect("it is not there");
    let manifest: Value =
        serde_json::from_slice(&whole["manifest.json"]).expect("the manifest is JSON");
    let training = serde_json::json!({
        "format": manifest["format"],
        "training": {
            "algorithm": manifest["algorithm"],
            "settings": manifest["settings"],
            "data": manifest["data"],
        },
    });
    fs::write(partial.join("settings.json"), training.to_string()).expect("it is writable");
    let kept =
        whole.iter().filter(|(name, _)| name.contains("-root") || name.contains("subtree-00003"));
    for (name, bytes) in kept {
        fs::write(partial.join(name), bytes).expect("it is writable");
    }
    fs::remove_dir_all(folder.path("rest")).expect("it is there");
    let done = folder.run(&format!("{TREE} --model rest --resume"));
    assert_eq!(done.code(), 0, "{}", done.stderr());
    assert!(whole == files(&folder, "rest"));
}

#[test]
fn every_preset_trains_and_predicts() {
    let folder = generated();
    for preset in ["libmultilabel", "bonsai", "parabel", "plt", "homer", "omikuji"] {
        let train =
            format!("train train.txt --algorithm label-tree --preset {preset} --model {preset} -q");
        let line = folder.run(&format!("{train} --test test.txt --json")).succeeds();
        let line: Value = serde_json::from_str(&line).expect("it is JSON");
        assert!(line["test"]["metrics"]["p@1"].as_f64().expect("a number") > 0.2, "{preset}");
    }
}

#[test]
fn a_damaged_part_is_refused_by_name() {
    let folder = generated();
    folder.run(&format!("{TREE} --model model")).succeeds();
    let part = files(&folder, "model").into_keys().find(|name| name.contains("subtree-00001"));
    let part = part.expect("there are parts");
    let path = folder.path("model").join(&part);
    let mut bytes = fs::read(&path).expect("the file can be read");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&path, bytes).expect("it is writable");
    let error = folder.run("predict model test.txt").fails(1);
    assert!(error.contains(&part), "{error}");
    // Without the checksums it still answers or refuses, and does not crash.
    assert!([0, 1].contains(&folder.run("predict model test.txt --no-verify").code()));
}

#[test]
fn an_algorithm_that_disagrees_with_the_settings_is_refused() {
    let folder = generated();
    folder.run(&format!("{TREE} --model model")).succeeds();
    let error =
        folder.run("train train.txt --settings model --algorithm craftml --model x").fails(1);
    assert!(error.contains("model was trained with label-tree"), "{error}");
}

const OTHERS: [&str; 2] = [
    "train train.txt --algorithm one-vs-rest -q",
    "train train.txt --algorithm label-forest --submodels 12 --rate 0.2 -q",
];

#[test]
fn one_vs_rest_and_label_forests_go_the_same_ways() {
    let folder = generated();
    for train in OTHERS {
        let line = folder.run(&format!("{train} --model model --test test.txt --json")).succeeds();
        let line: Value = serde_json::from_str(&line).expect("it is JSON");
        assert!(line["test"]["metrics"]["p@1"].as_f64().expect("a number") > 0.3, "{line}");
        assert!(line["seconds"]["save"].as_f64().expect("a number") > 0.0, "{line}");
        folder.run(&format!("{train} --model other --threads 7")).succeeds();
        assert!(files(&folder, "model") == files(&folder, "other"), "{train}");
        let evaluated = folder.run("evaluate model test.txt --json -q").succeeds();
        let evaluated: Value = serde_json::from_str(&evaluated).expect("it is JSON");
        assert_eq!(evaluated["metrics"], line["test"]["metrics"], "{train}");
        let inside = folder.run("inspect model").succeeds();
        assert!(inside.contains("weights"), "{inside}");
        for model in ["model", "other"] {
            fs::remove_dir_all(folder.path(model)).expect("it is there");
        }
    }
}

#[test]
fn labels_that_no_submodel_drew_are_named() {
    let folder = generated();
    let train = "train train.txt --algorithm label-forest --submodels 2 --rate 0.1 --model";
    let told = folder.run(&format!("{train} few --cover false")).stderr();
    assert!(told.contains("of the labels, which are never predicted: "), "{told}");
    let told = folder.run(&format!("{train} all")).stderr();
    assert!(!told.contains("never predicted"), "{told}");
}

/// The labels of all predictions in tab-separated `label score` pairs.
fn predicted(tsv: &str) -> Vec<u32> {
    let pairs = tsv.lines().flat_map(|line| line.split('\t')).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split(' ').next().and_then(|id| id.parse().ok()).expect("a label"))
        .collect()
}

#[test]
fn labels_can_be_asked_for_or_shut_out() {
    let folder = generated();
    let craftml = "train train.txt --trees 3 -q";
    let grove = "train train.txt --algorithm grove --trees 3 --label-trees 1 -q";
    for train in [craftml, TREE, OTHERS[0], OTHERS[1], grove] {
        folder.run(&format!("{train} --model model --overwrite")).succeeds();
        let ask = |flags: &str| {
            predicted(
                &folder.run(&format!("predict model test.txt --format tsv {flags}")).succeeds(),
            )
        };
        // Labels that are named now and then, with blanks around one.
        let all = ask("");
        let some = [all[0], all[all.len() / 2], all[all.len() - 1]];
        folder.write("some.txt", format!("{}\n\n {} \n{}", some[0], some[1], some[2]));
        let only = ask("--only-labels some.txt");
        assert!(!only.is_empty() && only.iter().all(|label| some.contains(label)), "{train}");
        let without = ask("--without-labels some.txt");
        assert!(!without.iter().any(|label| some.contains(label)), "{train}");
    }
    folder.write("unknown.txt", "x\n99999\n");
    let error = folder.run("predict model test.txt --only-labels unknown.txt").fails(1);
    assert!(error.contains("unknown.txt: the model knows none of its labels"), "{error}");
}
