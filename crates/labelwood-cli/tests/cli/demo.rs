//! `labelwood demo`.

use serde_json::Value;

use crate::harness::Folder;

/// The figures in a line of the table that starts with `name`.
#[track_caller]
fn figures(page: &str, name: &str) -> Vec<f64> {
    let line = page.lines().find(|line| line.split_whitespace().next() == Some(name));
    let line = line.unwrap_or_else(|| panic!("no line {name}: {page}"));
    line.split_whitespace().skip(1).map(|figure| figure.parse().expect("a number")).collect()
}

#[test]
fn the_demo_beats_the_most_frequent_labels_and_leaves_nothing_behind() {
    let folder = Folder::new();
    let page = folder.run("demo").succeeds();
    assert!(page.starts_with("436 questions"), "{page}");
    let precision = figures(&page, "P");
    assert_eq!(precision.len(), 6, "three cuts of the model and of the most frequent labels");
    assert!((55.0..=80.0).contains(&precision[0]), "P@1 is {}", precision[0]);
    // `family history` is the most frequent, and on 14 of the 104 questions of the test part.
    assert_eq!(precision[3], 13.5, "{page}");
    for name in ["P", "recall", "nDCG"] {
        let figures = figures(&page, name);
        let (model, popular) = figures.split_at(3);
        assert!(model.iter().zip(popular).all(|(model, popular)| *model > 2.0 * popular), "{page}");
    }
    assert!(page.contains("✓"), "{page}");
    assert!(page.contains("labelwood train ") && page.contains("labelwood predict "), "{page}");
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn the_demo_is_the_same_on_any_number_of_threads() {
    let folder = Folder::new();
    let without_time = |page: String| page.lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
    let one = without_time(folder.run("demo --threads 1").succeeds());
    assert_eq!(without_time(folder.run("demo --threads 3").succeeds()), one);
}

#[test]
fn the_questions_are_written_in_each_format() {
    let folder = Folder::new();
    for format in ["tsv", "csv", "jsonl"] {
        let args = format!("demo --write-corpus questions --format {format} -q");
        assert_eq!(folder.run(&args).succeeds(), "");
    }
    let lines = |name: &str| folder.read(&format!("questions/{name}")).lines().count();
    assert_eq!((lines("train.tsv"), lines("test.tsv")), (436, 104));
    assert_eq!((lines("train.csv"), lines("test.csv")), (437, 105));
    assert_eq!((lines("train.jsonl"), lines("test.jsonl")), (436, 104));
    let test = folder.read("questions/test.jsonl");
    let first: Value = serde_json::from_str(test.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["id"], 437, "ids go on after the training part");
    let text = first["text"].as_str().expect("a text");
    let labels = first["labels"].as_array().expect("a list");
    let labels: Vec<&str> = labels.iter().filter_map(Value::as_str).collect();
    let line = format!("{text}\t{}", labels.join(";"));
    assert_eq!(folder.read("questions/test.tsv").lines().next(), Some(line.as_str()));
}

#[test]
fn files_are_announced_and_a_format_needs_a_folder() {
    let folder = Folder::new();
    let done = folder.run("demo --write-corpus new/folder");
    assert_eq!(done.code(), 0);
    assert!(done.stderr().contains("train.tsv: 436 questions"), "{}", done.stderr());
    assert_eq!(folder.run("demo --format csv").code(), 2);
}

#[test]
fn a_kept_model_is_a_model_like_any_other() {
    let folder = Folder::new();
    let page = folder.run("demo --model kept -q").succeeds();
    assert_eq!(folder.names(), ["kept"]);
    folder.run("inspect kept").succeeds();
    folder.run("demo --model kept -q").fails(1);
    let again = folder.run("demo --model kept --overwrite -q").succeeds();
    let figures = |page: &str| page.lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(figures(&again), figures(&page));
}
