//! What is possible but hardly meant is refused or warned of: training without labels, a test with the
//! training rows, a threshold that empties a model.

use crate::harness::{Folder, XC};
use crate::trained::trained;

#[test]
fn a_training_file_without_a_single_label_is_refused() {
    let folder = Folder::new();
    folder.write("none.txt", "3 2 4\n 0:1\n 1:1\n 0:2\n");
    folder.write("without.txt", "2 2 0\n 0:1\n 1:1\n");
    folder.write("none.tsv", "old maps\t\nold books\t\n");
    for file in ["none.txt", "without.txt", "none.tsv"] {
        for command in [
            format!("train {file} --model model"),
            format!("train {file} --model model --algorithm auto"),
            format!("train {file} --model model --budget 60s"),
            format!("plan {file} --output plan --shards 2"),
            format!("tune {file} --algorithm label-tree --output found"),
        ] {
            let error = folder.run(&command).fails(1);
            assert!(error.starts_with(&format!("error: {file}: none of the ")), "{error}");
            assert!(error.contains("has a label: give rows with the labels"), "{error}");
        }
    }
    folder.write("some.txt", "2 2 4\n0 0:1\n1 1:1\n");
    folder.run("train some.txt --model model -q").succeeds();
    let error = folder.run("update model none.txt --output newer").fails(1);
    assert!(error.starts_with("error: none of the 3 rows to add has a label"), "{error}");
    assert_eq!(folder.names(), ["model", "none.tsv", "none.txt", "some.txt", "without.txt"]);
}

#[test]
fn rows_without_labels_are_mentioned_in_one_line() {
    let folder = Folder::new();
    folder.write("a.txt", XC);
    folder.write("b.txt", "3 5 3\n 0:1\n0 1:1\n 2:1\n");
    let mentions = |command: &str| -> Vec<String> {
        let done = folder.run(command);
        assert_eq!(done.code(), 0, "{}", done.stderr());
        let told = done.stderr();
        told.lines().filter(|line| line.ends_with(" no label")).map(str::to_owned).collect()
    };
    let one = ["a.txt: 1 of 4 rows has no label"];
    assert_eq!(mentions("train a.txt --model model"), one);
    assert_eq!(mentions("plan a.txt --output plan --shards 1"), one);
    let two = ["b.txt: 2 of 3 rows have no label"];
    assert_eq!(mentions("update model b.txt --output newer"), two);
    assert!(mentions("train a.txt --model json --json").is_empty());
    folder.run("train a.txt --model quiet -q").succeeds();
}

#[test]
fn a_test_with_the_training_rows_is_noticed() {
    let folder = trained();
    folder.run("demo --write-corpus questions -q").succeeds();
    let told = |command: &str| {
        let done = folder.run(command);
        assert_eq!(done.code(), 0, "{}", done.stderr());
        let lines = done.stderr();
        let mut lines = lines.lines().filter(|line| line.starts_with("warning: "));
        let first = lines.next().map(str::to_owned);
        assert_eq!(lines.next(), None);
        first
    };
    let learned = |file: &str| {
        Some(format!(
            "warning: {file}: these are the rows that were learned from: the figures do not tell how \
             good predictions for other rows are"
        ))
    };
    // Copies and other formats are the same rows.
    folder.run("convert train.txt copy.svm").succeeds();
    assert_eq!(told("train train.txt --model again --test train.txt"), learned("train.txt"));
    assert_eq!(told("train train.txt --model other --test test.txt"), None);
    assert_eq!(told("evaluate model train.txt"), learned("train.txt"));
    assert_eq!(told("evaluate model copy.svm"), learned("copy.svm"));
    assert_eq!(told("evaluate model test.txt"), None);
    folder.run("update model test.txt --output updated -q").succeeds();
    assert_eq!(told("evaluate updated train.txt"), learned("train.txt"));
    assert_eq!(told("evaluate updated test.txt"), learned("test.txt"));

    let (train, test) = ("questions/train.tsv", "questions/test.tsv");
    assert_eq!(told(&format!("train {train} --model text --test {train}")), learned(train));
    assert_eq!(told(&format!("evaluate text {train}")), learned(train));
    assert_eq!(told(&format!("evaluate text {test}")), None);

    folder.run("predict model train.txt --output p.tsv").succeeds();
    let both = "evaluate --predictions p.tsv ./train.txt --train train.txt";
    assert_eq!(told(both), learned("./train.txt"));
}

#[test]
fn a_threshold_that_empties_a_model_is_refused_and_one_that_nearly_does_warned_of() {
    let folder = trained();
    let error = folder.run("convert model small --prune 5").fails(1);
    let start = "error: prune is 5, but the largest of all entries of centroids is ";
    let largest = error.strip_prefix(start).and_then(|rest| rest.split(':').next()?.parse().ok());
    let largest: f32 = largest.unwrap_or_else(|| panic!("{error}"));
    assert!(!folder.path("small").exists() && !folder.path("small.partial").exists());
    folder.run("convert model small --prune 0.01").succeeds();
    let done = folder.run(&format!("convert model tiny --prune {}", 0.999 * largest));
    assert_eq!(done.code(), 0, "{}", done.stderr());
    let warning = done.stderr();
    assert!(warning.starts_with("warning: prune is 0."), "{warning}");
    assert!(warning.contains(" entries of centroids: predictions will be poor"), "{warning}");
}
