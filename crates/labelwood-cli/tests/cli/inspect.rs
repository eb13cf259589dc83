//! `labelwood inspect`.

use std::fs;

use labelwood::Settings;
use serde_json::Value;

use crate::harness::{Folder, XC};

fn trained() -> Folder {
    let folder = Folder::new();
    folder.write("a.txt", XC.replace("4 5 3", "4 5 4"));
    folder
        .run("train a.txt --algorithm craftml --model model --trees 2 --leaf 2 --weighting idf -q")
        .succeeds();
    folder
}

#[test]
fn the_pages_tell_what_is_inside() {
    let folder = trained();
    let text = folder.run("inspect model").succeeds();
    for line in [
        "algorithm   craftml\n",
        "trained on  4 instances, 5 features, 4 labels\n",
        "\n  weighting           idf\n",
        "\nlabels: 4, of which 1 has no training row\n         2         2 rows\n",
        "\ntree-0001 ",
        "\nall ",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    for flags in ["--no-verify", "--load map", "--load copy", "--load copy --no-verify"] {
        assert_eq!(folder.run(&format!("inspect model {flags}")).succeeds(), text, "{flags}");
    }
}

#[test]
fn json_is_one_line_with_the_promised_keys() {
    let folder = trained();
    let line = folder.run("inspect model --json").succeeds();
    assert_eq!(line.lines().count(), 1);
    let inside: Value = serde_json::from_str(&line).expect("it is JSON");
    let sizes = ["instances", "features", "labels", "unseen_labels"].map(|key| &inside[key]);
    assert_eq!(sizes, [4, 5, 4, 1]);
    assert_eq!(inside["settings"]["trees"], 2);
    assert_eq!(inside["frequent_labels"][0], serde_json::json!({"label": 2, "instances": 2}));
    assert_eq!(inside["frequent_labels"].as_array().map(Vec::len), Some(3));

    let manifest: Value = serde_json::from_str(&folder.read("model/manifest.json")).expect("JSON");
    assert_eq!(inside["model_id"], manifest["model_id"]);
    let size = |entry: fs::DirEntry| entry.metadata().expect("it is there").len();
    let entries = fs::read_dir(folder.path("model")).expect("it is there");
    assert_eq!(inside["bytes"], entries.flatten().map(size).sum::<u64>());
    let parts = inside["bytes_by_part"].as_object().expect("an object").values();
    assert_eq!(parts.flat_map(Value::as_u64).sum::<u64>(), inside["bytes"]);

    let trees = inside["trees"].as_array().expect("a list");
    assert_eq!(trees.len(), 2);
    for tree in trees {
        assert!(tree["leaves"].as_u64() > tree["nodes"].as_u64(), "{tree}");
        for key in ["depth", "centroid_entries", "leaf_labels", "largest_leaf", "bytes"] {
            assert!(tree[key].as_u64().is_some_and(|figure| figure > 0), "{key}: {tree}");
        }
    }
}

#[test]
fn what_is_no_model_is_refused() {
    let folder = trained();
    let error = folder.run("inspect nowhere").fails(1);
    assert!(error.contains("nowhere: there is no model here"), "{error}");
    assert_eq!(folder.run("inspect").code(), 2);
    assert_eq!(folder.run("inspect model --load lazily").code(), 2);

    let entries = fs::read_dir(folder.path("model")).expect("it is there");
    for entry in entries.flatten() {
        let whole = fs::read(entry.path()).expect("it can be read");
        let mut damaged = whole.clone();
        *damaged.last_mut().expect("no file is empty") ^= 1;
        for (content, flags) in
            [(&damaged[..], ""), (&whole[1..], ""), (&whole[1..], "--no-verify")]
        {
            fs::write(entry.path(), content).expect("it can be written");
            let error = folder.run(&format!("inspect model {flags}")).fails(1);
            assert!(error.contains(&*entry.file_name().to_string_lossy()), "{error}");
        }
        fs::write(entry.path(), whole).expect("it can be written");
    }
    folder.run("inspect model").succeeds();
}

/// The widest line of what `inspect` says of a model.
fn widest(folder: &Folder, flags: &str) -> usize {
    let page = folder.run(&format!("inspect {flags}")).succeeds();
    page.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn no_line_is_wider_than_80_columns_whatever_the_model() {
    let folder = Folder::new();
    folder.run("demo --write-corpus questions -q").succeeds();
    for settings in Settings::all() {
        let name = settings.name();
        let fewer = if name == "craftml" { "--trees 2" } else { "" };
        let train = "train questions/train.tsv -q --overwrite";
        folder.run(&format!("{train} --algorithm {name} {fewer} -m {name}")).succeeds();
        assert!(widest(&folder, name) <= 80, "{name}");
    }
    // All parts of a grove, with the trial that keeps every one of them.
    let grove = "--algorithm grove --trees 2 --label-trees 2 --choose false";
    folder.run(&format!("train questions/train.tsv -q {grove} -m all --keep-rows")).succeeds();
    let inside = folder.run("inspect all --json").succeeds();
    let inside: Value = serde_json::from_str(&inside).expect("it is JSON");
    let parts = inside["settings"]["parts"].as_array().expect("a list");
    let names: Vec<&Value> = parts.iter().map(|part| &part["algorithm"]).collect();
    assert!(names.len() > 3 && names.contains(&&Value::from("names")), "{names:?}");
    assert!(widest(&folder, "all") <= 80);
    let label = inside["frequent_labels"][0]["name"].as_str().expect("a name");
    let terms = folder.command(["inspect", "all", "--label", label]).output().expect("it ends");
    let terms = String::from_utf8(terms.stdout).expect("it is text");
    assert!(terms.lines().count() > 1 && terms.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn settings_are_shown_as_they_were_typed() {
    let folder = Folder::new();
    folder.write("a.txt", XC);
    let train = "train a.txt --algorithm label-tree --tolerance 0.1 --weight-threshold 0.05 -q";
    folder.run(&format!("{train} -m model")).succeeds();
    let page = folder.run("inspect model").succeeds();
    assert!(page.contains("  tolerance           0.1\n"), "{page}");
    assert!(page.contains("  weight-threshold    0.05\n"), "{page}");
    let line = folder.run("inspect model --json").succeeds();
    assert!(line.contains("\"tolerance\":0.1,"), "{line}");
    assert!(line.contains("\"weight_threshold\":0.05"), "{line}");
}

#[test]
fn one_is_in_the_singular() {
    let folder = Folder::new();
    folder.write("a.svm", "0 1:1\n");
    let done = folder.run("train a.svm --algorithm craftml --trees 1 -m model");
    assert!(done.stderr().contains("one tree of 1 row and 1 label in "), "{}", done.stderr());
    let page = folder.run("inspect model").succeeds();
    assert!(page.contains("trained on  1 instance, 1 feature, 1 label\n"), "{page}");
    assert!(page.contains(" 1 row\n"), "{page}");
}
