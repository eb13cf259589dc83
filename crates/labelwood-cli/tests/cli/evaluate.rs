//! `labelwood evaluate`.

use std::path::Path;

use serde_json::Value;

use crate::harness::Folder;
use crate::trained::{named, train_model, trained};

/// What `evaluate --json` prints.
#[track_caller]
fn json(folder: &Folder, args: &str) -> Value {
    let printed = folder.run(&format!("evaluate --json {args}")).succeeds();
    assert_eq!(printed.lines().count(), 1, "{printed}");
    serde_json::from_str(&printed).expect("it is JSON")
}

/// A number of the output.
#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The columns of a tab-separated file by their names.
fn column<'t>(table: &'t str, name: &str) -> Vec<&'t str> {
    let at = table.lines().next().and_then(|line| line.split('\t').position(|title| title == name));
    let at = at.unwrap_or_else(|| panic!("there is no column {name}"));
    table.lines().skip(1).map(|line| line.split('\t').nth(at).expect("lines are whole")).collect()
}

fn sum(values: &[&str]) -> f64 {
    values.iter().map(|value| value.parse::<f64>().expect("it is a number")).sum()
}

#[test]
fn all_labels_that_reach_a_threshold_count_however_many_they_are() {
    let folder = trained();
    folder.run("train train.txt -m linear --algorithm one-vs-rest -q").succeeds();
    for least in ["0.000001", "0.3"] {
        let options = format!("linear test.txt --threshold {least}");
        let found = number(&json(&folder, &options)["at_threshold"]["labels_per_row"]);
        let predicted = folder.run(&format!("predict {options} --to tsv --labels-only")).succeeds();
        let labels = predicted.lines().map(|line| line.split_whitespace().count()).sum::<usize>();
        assert_eq!(found, labels as f64 / 120.0);
        assert_eq!(found > 30.0, least != "0.3", "{found}");
    }
}

#[test]
fn a_model_that_knows_all_gets_all_right() {
    let folder = named();
    let found = json(&folder, "model three.txt --at 1");
    assert_eq!((&found["instances"], &found["labels"]), (&3.into(), &3.into()));
    for name in ["p@1", "recall@1", "ndcg@1", "psp@1", "psndcg@1", "coverage@1"] {
        assert_eq!(found["metrics"][name], 1.0, "{name}");
    }
    let table = folder.run("evaluate model three.txt --at 1").succeeds();
    assert!(table.contains("\nP             100.00\n"), "{table}");
    assert!(table.contains("\nP (popular)    33.33\n"), "{table}");
    assert!(!table.contains("coverage") && !table.contains("head"), "{table}");
    let all = folder.run("evaluate model three.txt --at 1 --all").succeeds();
    assert!(all.contains("\ncoverage      100.00\n"), "{all}");
    assert!(all.contains("\n3 torso labels (10 to 99 training rows)\n"), "{all}");
    assert!(!all.contains("head labels"), "an empty slice: {all}");
}

#[test]
fn the_json_has_all_its_parts() {
    let folder = trained();
    let found = json(&folder, "model test.txt --at 2,7 --propensity-a 0.5 --propensity-b 0.4");
    let keys: Vec<&String> = found.as_object().expect("an object").keys().collect();
    let mut expected = [
        "instances",
        "labels",
        "unlabelled",
        "unseen_labels",
        "metrics",
        "slices",
        "propensity",
        "psndcg",
        "popular",
        "seconds",
        "cpu_seconds",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(found["propensity"], serde_json::json!({"a": 0.5, "b": 0.4}));
    assert_eq!(found["psndcg"], "matlab");
    assert_eq!(found["metrics"].as_object().expect("an object").len(), 21);
    for clock in ["seconds", "cpu_seconds"] {
        for stage in ["load", "read", "predict"] {
            assert!(number(&found[clock][stage]) >= 0.0);
        }
    }
}

#[test]
fn slices_add_up_to_precision() {
    let folder = trained();
    let found = json(&folder, "model test.txt");
    for k in ["p@1", "p@3", "p@5"] {
        let slices = ["head", "torso", "tail"].map(|slice| number(&found["slices"][slice][k]));
        let whole = number(&found["metrics"][k]);
        assert!(whole > 0.1 && (slices.iter().sum::<f64>() - whole).abs() < 1e-12, "{slices:?}");
    }
}

#[test]
fn every_format_of_predictions_gives_the_figures_of_the_model() {
    let folder = trained();
    let expected = json(&folder, "model test.txt");
    for name in [
        "p.csv",
        "p.csv.gz",
        "p.tsv",
        "p.tsv.gz",
        "p.jsonl",
        "p.jsonl.zst",
        "p.xc",
        "p.txt.gz",
        "p.npz",
    ] {
        folder.run(&format!("predict model test.txt --output {name}")).succeeds();
        let found = json(&folder, &format!("--predictions {name} test.txt --train train.txt"));
        for part in ["instances", "labels", "metrics", "slices"] {
            assert_eq!(found[part], expected[part], "{name}: {part}");
        }
    }
    std::fs::copy(folder.path("p.npz"), folder.path("p")).expect("the folder is writable");
    let args = "--predictions p test.txt --train train.txt";
    let found = json(&folder, &format!("{args} --predictions-from npz"));
    assert_eq!(found["metrics"], expected["metrics"]);
    let error = folder.run(&format!("evaluate {args}")).fails(1);
    assert!(error.contains("--predictions-from csv, tsv"), "{error}");
    let tsv = folder.run("predict model test.txt").succeeds();
    let args =
        "evaluate --json --predictions - --predictions-format tsv test.txt --train train.txt";
    let printed = folder.run_with_input(args, tsv.as_bytes()).succeeds();
    let found: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(found["metrics"], expected["metrics"]);
}

#[test]
fn predictions_may_name_labels() {
    let folder = named();
    folder.write("p.tsv", "red 0.9\ndark green 0.5\tred 0.1\nr 0.5\n");
    let found = json(&folder, "--predictions p.tsv three.txt --train train.txt --at 1");
    assert!((number(&found["metrics"]["p@1"]) - 2.0 / 3.0).abs() < 1e-12);
}

#[test]
fn rows_and_predictions_must_be_as_many() {
    let folder = named();
    folder.write("p.tsv", "0 0.9\n1 0.5\n");
    let error = folder.run("evaluate --predictions p.tsv three.txt --train train.txt").fails(1);
    assert!(error.contains("2 rows of predictions for 3 rows of data"), "{error}");
    folder.write("p.tsv", "0 0.9\n1 0.5\n0 0.5\t7 0.4\n");
    let error = folder.run("evaluate --predictions p.tsv three.txt --train train.txt").fails(1);
    assert!(error.starts_with("error: p.tsv:3:7: label 7 is out of range"), "{error}");
}

#[test]
fn what_does_not_go_together_is_wrong_usage() {
    let folder = named();
    folder.write("p.tsv", "0 0.9\n1 0.5\n2 0.5\n");
    let error = folder.run("evaluate --predictions p.tsv three.txt").fails(2);
    assert!(error.contains("--predictions needs --train DATA"), "{error}");
    let error = folder.run("evaluate three.txt").fails(2);
    assert!(error.contains("--predictions FILE --train DATA"), "{error}");
    for args in [
        "",
        "model three.txt --predictions p.tsv --train train.txt",
        "model three.txt --train train.txt",
        "--predictions p.tsv three.txt --train train.txt --beam 2",
        "model three.txt --at 0",
        "model three.txt --at 1,x",
    ] {
        assert_eq!(folder.run(&format!("evaluate {args}")).code(), 2, "{args}");
    }
    let error = folder.run("evaluate model three.txt --propensity-b 0").fails(1);
    assert!(error.contains("propensity"), "{error}");
}

#[test]
fn the_files_of_rows_and_labels_sum_up_to_the_figures() {
    let folder = trained();
    let found = json(&folder, "model test.txt --at 1,3 --per-instance rows --per-label labels");
    let (metrics, rows, labels) = (&found["metrics"], folder.read("rows"), folder.read("labels"));
    assert_eq!(column(&rows, "row").len(), 120);
    for name in ["p@1", "recall@1", "ndcg@1", "p@3", "recall@3", "ndcg@3"] {
        let mean = sum(&column(&rows, name)) / 120.0;
        assert!((mean - number(&metrics[name])).abs() < 1e-9, "{name}");
    }
    let [support, hits, misses] =
        ["support", "hits@3", "misses@3"].map(|name| sum(&column(&labels, name)));
    assert_eq!(support, sum(&column(&rows, "true_labels")));
    assert_eq!(hits, sum(&column(&rows, "hits@3")));
    assert_eq!(hits + misses, support);
    assert!((hits / 360.0 - number(&metrics["p@3"])).abs() < 1e-9);
}

#[test]
fn the_file_of_labels_has_their_names() {
    let folder = named();
    folder.run("evaluate model three.txt --per-label labels.tsv").succeeds();
    assert_eq!(column(&folder.read("labels.tsv"), "name"), ["red", "dark green", "blue"]);
    assert_eq!(column(&folder.read("labels.tsv"), "training_rows"), ["30", "20", "12"]);
}

#[test]
fn filtered_pairs_count_neither_as_truth_nor_as_predictions() {
    let folder = named();
    folder.write("filter.txt", "0 0\n2 1\n");
    let found = json(&folder, "model three.txt --at 1 --filter filter.txt");
    // The first row has no label left; another label than its own takes the place.
    assert!((number(&found["metrics"]["p@1"]) - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(found["unlabelled"], 1);
    folder.write("filter.txt", "3 0\n");
    let error = folder.run("evaluate model three.txt --filter filter.txt").fails(1);
    assert!(error.starts_with("error: filter.txt:1:1: row 3 is out of range"), "{error}");
}

#[test]
fn a_split_file_chooses_the_rows() {
    let folder = named();
    folder.write("split.txt", "1 3\n2 3\n");
    let found = json(&folder, "model three.txt --at 1 --test-split split.txt");
    assert_eq!(found["instances"], 2);
    let args = "model three.txt --at 1 --test-split split.txt --split-column 2 --per-label labels";
    assert_eq!(json(&folder, args)["instances"], 2);
    assert_eq!(column(&folder.read("labels"), "support"), ["2"]);
    let error =
        folder.run("evaluate model three.txt --test-split split.txt --split-column 3").fails(1);
    assert!(error.contains("no column 3"), "{error}");
    folder.write("p.tsv", "0 1\n1 1\n");
    folder.write("train_split.txt", "1\n31\n");
    let args = "--predictions p.tsv three.txt --train train.txt --train-split train_split.txt";
    let found = json(&folder, &format!("{args} --test-split split.txt --per-label learned"));
    assert_eq!(found["metrics"]["p@1"], 1.0);
    assert_eq!(column(&folder.read("learned"), "training_rows"), ["1", "1"]);
}

#[test]
fn all_columns_give_mean_and_deviation() {
    let folder = named();
    // The second column asks for a label that the model cannot know.
    folder.write("four.txt", "4 3 4\n0 0:1\n1 1:1\n2 2:1\n3 2:1\n");
    folder.write("split.txt", "1 3\n2 4\n");
    let all = "model four.txt --at 1 --test-split split.txt --split-column all";
    let done = folder.run(&format!("evaluate --json {all}"));
    assert_eq!(done.stderr().lines().count(), 1, "{}", done.stderr());
    let found: Value = serde_json::from_str(&done.stdout()).expect("JSON");
    assert_eq!((&found["splits"], &found["metrics"]["p@1"]), (&2.into(), &0.75.into()));
    assert!((number(&found["deviations"]["p@1"]) - 0.125f64.sqrt()).abs() < 1e-12);
    for stage in ["load", "read", "predict"] {
        assert!(number(&found["seconds"][stage]) >= 0.0);
    }
    let table = folder.run(&format!("evaluate -q {all}")).succeeds();
    assert!(table.starts_with("2 splits: mean and standard deviation, in percent\n"), "{table}");
    assert!(table.contains("p@1              75.00  ± 35.36\n"), "{table}");

    for more in ["--filter f", "--per-label f", "--per-instance f"] {
        let error = folder.run(&format!("evaluate {all} {more}")).fails(2);
        assert!(error.contains("give --split-column a number"), "{error}");
    }
    let error = folder.run("evaluate model four.txt --split-column all").fails(2);
    assert!(error.contains("--split-column all needs a model and --test-split"), "{error}");
}

#[test]
fn all_columns_take_the_models_that_training_wrote_for_them() {
    let folder = Folder::new();
    let rows = "--instances 200 --features 30 --labels 9 --entries-per-row 5 --labels-per-row 2";
    folder.run(&format!("generate {rows} --output a.txt")).succeeds();
    let column = |from: usize| (from..from + 100).map(|row| row.to_string());
    let lines = |left: usize, right: usize| -> String {
        column(left).zip(column(right)).map(|(left, right)| format!("{left} {right}\n")).collect()
    };
    folder.write("train_split", lines(1, 101));
    folder.write("test_split", lines(101, 1));
    let splits = "a.txt --test-split test_split --split-column all --json";
    let trained =
        folder.run(&format!("train {splits} --train-split train_split --model m --trees 2"));
    let trained: Value = serde_json::from_str(&trained.succeeds()).expect("JSON");
    let evaluated = folder.run(&format!("evaluate m {splits}")).succeeds();
    let evaluated: Value = serde_json::from_str(&evaluated).expect("JSON");
    for part in ["splits", "metrics", "deviations"] {
        assert_eq!(evaluated[part], trained["test"][part]);
    }
}

#[test]
fn unseen_labels_and_other_widths_are_told_once_each() {
    let folder = named();
    folder.write("wide.txt", "3 4 6\n0 0:1 3:1\n1,4 1:1\n5,2 2:1\n");
    let done = folder.run("evaluate model wide.txt --json --at 1");
    let found: Value = serde_json::from_str(&done.stdout()).expect("JSON");
    assert_eq!((&found["unseen_labels"], &found["labels"]), (&2.into(), &6.into()));
    assert!((number(&found["metrics"]["recall@1"]) - 2.0 / 3.0).abs() < 1e-12);
    let warnings = "\
warning: wide.txt: 4 features where the model has 3, 6 labels where the model has 3; \
1 feature that the model does not know is ignored
";
    assert_eq!(done.stderr(), warnings);
    // A LIBSVM file declares nothing, so having fewer is no news.
    folder.write("narrow.svm", "0 1:1\n");
    folder.run("evaluate model narrow.svm").succeeds();
}

#[test]
fn a_real_set_is_learned() {
    let Some(data) = std::env::var_os("LABELWOOD_DATA") else {
        return eprintln!("skipped: LABELWOOD_DATA is not set");
    };
    let folder = Folder::new();
    for part in ["train.txt.zst", "test.txt.zst"] {
        let from = Path::new(&data).join("bibtex").join(part);
        std::fs::copy(from, folder.path(part)).expect("the set is there");
    }
    train_model(&folder, "train.txt.zst", 10);
    let found = json(&folder, "model test.txt.zst");
    assert_eq!(found["instances"], 2515);
    assert!(number(&found["metrics"]["p@1"]) > 0.62, "{found}");
}

/// The rows of a text file as JSON objects with ids.
fn with_ids(tsv: &str) -> String {
    let line = |(at, line): (usize, &str)| {
        let (text, labels) = line.split_once('\t').expect("text, TAB, labels");
        let labels: Vec<&str> = labels.split(';').collect();
        let object = serde_json::json!({"id": format!("q{at}"), "text": text, "labels": labels});
        format!("{object}\n")
    };
    tsv.lines().enumerate().map(line).collect()
}

#[test]
fn predictions_in_another_order_are_matched_by_id() {
    let folder = Folder::new();
    folder.run("demo --write-corpus questions -q").succeeds();
    for part in ["train", "test"] {
        let rows = with_ids(&folder.read(&format!("questions/{part}.tsv")));
        folder.write(&format!("{part}.jsonl"), rows);
    }
    folder.run("train train.jsonl --model model --trees 5 -q").succeeds();
    let evaluate = |predictions: &str, data: &str| {
        let found = format!("--predictions {predictions} {data} --train train.jsonl");
        json(&folder, &found)["metrics"].clone()
    };
    for format in ["tsv", "jsonl"] {
        let (own, other) = (format!("own.{format}"), format!("other.{format}"));
        folder.run(&format!("predict model test.jsonl --output {own}")).succeeds();
        let lines = folder.read(&own);
        let turned: Vec<&str> = lines.lines().rev().collect();
        folder.write(&other, turned.join("\n") + "\n");
        let expected = evaluate(&own, "test.jsonl");
        assert!(expected["p@1"].as_f64().expect("a number") > 0.3, "{expected}");
        assert_eq!(evaluate(&other, "test.jsonl"), expected);

        folder.write(&other, turned[1..].join("\n"));
        let call = format!("evaluate --predictions {other} test.jsonl --train train.jsonl");
        let error = folder.run(&call).fails(1);
        let id = format!("q{}", turned.len() - 1);
        let place = format!("error: {other}:{}:1: no row has the id `{id}`", turned.len());
        assert!(error.starts_with(&place), "{error}");
    }
}
