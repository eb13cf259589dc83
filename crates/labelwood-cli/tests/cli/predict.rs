//! `labelwood predict`.

use std::io::Read;

use crate::harness::Folder;
use crate::trained::{named, trained};

/// The labels and scores of each row of a tsv file.
fn rows(tsv: &str) -> Vec<Vec<(u32, f32)>> {
    let entry = |entry: &str| {
        let (label, score) = entry.split_once(' ').expect("a label and a score");
        (label.parse().expect("a label id"), score.parse().expect("a score"))
    };
    let row = |line: &str| line.split('\t').filter(|entry| !entry.is_empty()).map(entry).collect();
    tsv.lines().map(row).collect()
}

#[test]
fn each_row_gets_its_own_label_first() {
    let folder = named();
    let tsv = folder.run("predict model three.txt").succeeds();
    let best: Vec<u32> = rows(&tsv).iter().map(|row| row[0].0).collect();
    assert_eq!(best, [0, 1, 2]);
}

#[test]
fn names_are_shown_in_the_table_and_in_jsonl() {
    let folder = named();
    let table = folder.run("predict model three.txt --to table --top-k 1").succeeds();
    let lines: Vec<&str> = table.lines().map(str::trim).collect();
    assert!(lines[0].starts_with("row  label"), "{table}");
    assert!(lines[2].starts_with("2  dark green  "), "{table}");
    let jsonl = folder.run("predict model three.txt --to jsonl --top-k 1").succeeds();
    let row: serde_json::Value =
        serde_json::from_str(jsonl.lines().nth(2).expect("three rows")).expect("JSON");
    assert_eq!((&row["row"], &row["labels"][0]["name"]), (&2.into(), &"blue".into()));
}

#[test]
fn the_ending_of_the_output_tells_format_and_compression() {
    let folder = trained();
    let tsv = folder.run("predict model test.txt").succeeds();
    assert_eq!(rows(&tsv).len(), 120);
    folder.run("predict model test.txt --output a.tsv").succeeds();
    assert_eq!(folder.read("a.tsv"), tsv);
    folder.run("predict model test.txt --output a.data --to tsv").succeeds();
    assert_eq!(folder.read("a.data"), tsv);
    folder.run("predict model test.txt --output a.xc").succeeds();
    assert!(folder.read("a.xc").starts_with("120 40\n"));
    for (name, magic) in
        [("a.tsv.gz", &[0x1f, 0x8b][..]), ("a.xc.zst", &[0x28, 0xb5, 0x2f, 0xfd]), ("a.npz", b"PK")]
    {
        folder.run(&format!("predict model test.txt --output {name}")).succeeds();
        let bytes = std::fs::read(folder.path(name)).expect("it was written");
        assert!(bytes.starts_with(magic), "{name}");
    }
    let error = folder.run("predict model test.txt --output a.pdf").fails(1);
    assert!(error.contains("a.pdf: the ending") && error.contains("--to csv, tsv"), "{error}");
    assert!(!folder.path("a.pdf").exists());
}

#[test]
fn rows_beyond_a_batch_get_what_they_would_get_alone() {
    let folder = trained();
    let rows = folder.read("test.txt");
    let body = rows.split_once('\n').expect("a header").1;
    let copies = 150; // 18,000 rows are two batches
    folder.write("many.txt", format!("18000 60 40\n{}", body.repeat(copies)));
    let tsv = folder.run("predict model test.txt").succeeds();
    let jsonl = folder.run("predict model test.txt --to jsonl").succeeds();
    let xc = folder.run("predict model test.txt --to xc").succeeds();
    let numbered = |(at, line): (usize, &str)| {
        let labels = line.split_once(',').expect("a row and its labels").1;
        format!("{{\"row\":{at},{labels}\n")
    };
    let jsonl: String = jsonl.repeat(copies).lines().enumerate().map(numbered).collect();
    let xc = format!("18000 40\n{}", xc.split_once('\n').expect("a header").1.repeat(copies));
    for threads in [1, 2, 7] {
        let run = |more: &str| {
            folder.run(&format!("predict model many.txt --threads {threads} {more}")).succeeds()
        };
        assert!(run("") == tsv.repeat(copies), "{threads} threads");
        assert!(run("--to jsonl") == jsonl, "{threads} threads");
        assert!(run("--to xc") == xc, "{threads} threads");
        // Where the number of rows need not be right, the header comes from the rows.
        assert!(run("--to xc --lenient") == xc, "{threads} threads");
        let table = run("--to table --top-k 1");
        assert!(table.lines().last().expect("rows").starts_with("18000  "), "{threads} threads");
    }
}

#[test]
fn an_error_in_a_late_row_leaves_no_file() {
    let folder = named();
    folder.write("old.tsv", "old");
    folder.write("bad.txt", format!("20001 3 3\n{}x 0:1\n", "0 0:1\n".repeat(20_000)));
    let error = folder.run("predict model bad.txt --output old.tsv --overwrite").fails(1);
    assert!(error.starts_with("error: bad.txt:20002:1: expected label ids"), "{error}");
    assert_eq!(folder.read("old.tsv"), "old");
    assert!(folder.names().iter().all(|name| !name.ends_with(".tmp")));
}

#[test]
fn rows_come_from_standard_input_too() {
    let folder = trained();
    let from_file = folder.run("predict model test.txt").succeeds();
    let rows = folder.read("test.txt");
    assert_eq!(folder.run_with_input("predict model -", rows.as_bytes()).succeeds(), from_file);
    assert_eq!(
        folder.run_with_input("predict model -", b" 1:1 2:0.5\n").succeeds().lines().count(),
        1
    );
}

#[test]
fn top_k_bounds_and_the_threshold_cuts() {
    let folder = trained();
    let all = rows(&folder.run("predict model test.txt --top-k 1000").succeeds());
    let best = rows(&folder.run("predict model test.txt --top-k 2").succeeds());
    let cut = rows(&folder.run("predict model test.txt --top-k 1000 --threshold 0.2").succeeds());
    assert!(all.iter().flatten().any(|entry| entry.1 < 0.2));
    for ((all, best), cut) in all.iter().zip(&best).zip(&cut) {
        assert!(all.is_sorted_by(|left, right| left.1 >= right.1));
        assert_eq!(best[..], all[..all.len().min(2)]);
        let kept: Vec<_> = all.iter().copied().filter(|entry| entry.1 >= 0.2).collect();
        assert_eq!(*cut, kept);
    }
}

#[test]
fn filling_adds_frequent_labels_at_score_zero() {
    let folder = named();
    let plain = rows(&folder.run("predict model three.txt --top-k 3 --beam 1").succeeds());
    let filled = rows(&folder.run("predict model three.txt --top-k 3 --beam 1 --fill").succeeds());
    for (plain, filled) in plain.iter().zip(&filled) {
        assert_eq!(filled.len(), 3);
        assert_eq!(filled[..plain.len()], plain[..]);
        assert!(filled[plain.len()..].iter().all(|entry| entry.1 == 0.0));
    }
    assert!(plain.iter().any(|row| row.len() < 3));
}

#[test]
fn the_beam_changes_scores_and_loading_does_not() {
    let folder = trained();
    let usual = folder.run("predict model test.txt").succeeds();
    assert_ne!(folder.run("predict model test.txt --beam 1").succeeds(), usual);
    for flags in ["--load copy", "--load map --no-verify", "--threads 1", "--threads 7"] {
        assert_eq!(folder.run(&format!("predict model test.txt {flags}")).succeeds(), usual);
    }
}

#[test]
fn unknown_features_are_ignored_with_one_warning() {
    let folder = named();
    let known = folder.run("predict model three.txt").succeeds();
    folder.write("wide.txt", "3 9 8\n7 0:1 5:2\n 1:1 8:1\n 2:1 5:1\n");
    let done = folder.run("predict model wide.txt");
    assert_eq!((done.code(), done.stdout()), (0, known.clone()));
    let warning = "warning: wide.txt: 9 features where the model has 3; \
        2 features that the model does not know are ignored\n";
    assert_eq!(done.stderr(), warning);
    assert_eq!(folder.run("predict model wide.txt --quiet").succeeds(), known);
}

#[test]
fn wrong_flags_are_wrong_usage() {
    let folder = Folder::new();
    for flags in [
        "--top-k 0",
        "--beam 0",
        "--threshold nan",
        "--to pdf",
        "--format pdf",
        "--threshold 1 --fill",
    ] {
        assert_eq!(folder.run(&format!("predict model rows.txt {flags}")).code(), 2, "{flags}");
    }
    assert_eq!(folder.run("predict model").code(), 2);
}

#[test]
fn what_is_missing_or_damaged_is_named() {
    let folder = named();
    let error = folder.run("predict nowhere three.txt").fails(1);
    assert!(error.contains("nowhere"), "{error}");
    let error = folder.run("predict model nowhere.txt").fails(1);
    assert!(error.contains("nowhere.txt"), "{error}");
    folder.write("short.txt", "4 3 3\n0 0:1\n");
    let error = folder.run("predict model short.txt --output out.tsv").fails(1);
    assert!(error.starts_with("error: short.txt:1:"), "{error}");
    assert!(!folder.path("out.tsv").exists());
    assert_eq!(folder.run("predict model short.txt --lenient").code(), 0);
    let is_tree =
        |name: &std::fs::DirEntry| name.file_name().to_string_lossy().starts_with("tree-0000");
    let entries = std::fs::read_dir(folder.path("model")).expect("the model is a folder");
    let tree = entries.map(|entry| entry.expect("it can be listed")).find(is_tree);
    let tree = tree.expect("there is a first tree").path();
    let mut bytes = std::fs::read(&tree).expect("it can be read");
    *bytes.last_mut().expect("it is not empty") ^= 1;
    std::fs::write(&tree, bytes).expect("it can be written");
    let error = folder.run("predict model three.txt").fails(1);
    assert!(error.contains("tree-0000"), "{error}");
}

#[test]
fn a_reader_that_goes_away_ends_a_prediction_without_a_word() {
    let folder = trained();
    let rows = folder.read("test.txt");
    let body = rows.split_once('\n').expect("a header").1;
    folder.write("many.svm", body.replace(" 0:", " 60:").repeat(200));
    let mut child = folder.start("predict model many.svm --top-k 40 --quiet");
    let mut first = [0; 10];
    child.stdout.take().expect("it is a pipe").read_exact(&mut first).expect("it prints");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr), (Some(141), Vec::new()));
}
