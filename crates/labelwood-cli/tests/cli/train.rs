//! `labelwood train`.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::harness::{Folder, LIBSVM, XC};

/// A folder with the small corpus.
fn small() -> Folder {
    let folder = Folder::new();
    folder.write("a.txt", XC);
    folder
}

/// A folder with generated data that takes a moment to learn.
fn generated(instances: usize) -> Folder {
    let folder = Folder::new();
    let command = "generate --profile eurlex-4k --output train.txt --test-output test.txt";
    folder.run(&format!("{command} --instances {instances} --test-instances 200")).succeeds();
    folder
}

/// All files of a model, by name.
#[track_caller]
fn files(folder: &Folder, model: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.path(model)).expect("the model is there");
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.expect("the folder can be listed");
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, fs::read(entry.path()).expect("the file can be read"))
    };
    entries.map(file).collect()
}

fn json(text: &str) -> Value {
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(text).expect("it is JSON")
}

fn model_id(folder: &Folder, model: &str) -> String {
    let inside = json(&folder.run(&format!("inspect {model} --json")).succeeds());
    inside["model_id"].as_str().expect("it is a string").to_owned()
}

#[test]
fn a_model_is_written_and_the_decisions_are_told() {
    let folder = small();
    let done = folder.run("train a.txt --algorithm craftml --model model --trees 3");
    assert_eq!((done.code(), done.stdout().as_str()), (0, ""), "{}", done.stderr());
    let lines: Vec<String> = done.stderr().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(lines[0].starts_with("features: taken as they are, scaled to length 1"), "{lines:?}");
    assert_eq!(lines[1], "a.txt: 1 of 4 rows has no label");
    assert!(lines[2].starts_with("memory: about "), "{lines:?}");
    assert!(lines[3].starts_with("model: 3 trees of 4 rows and 3 labels in "), "{lines:?}");
    assert!(lines[4].contains("labelwood evaluate model DATA"), "{lines:?}");
    assert_eq!(folder.names(), ["a.txt", "model"]);

    folder.write("counts.txt", "2 2 2\n0 0:1\n1 1:3\n");
    let told = folder.run("train counts.txt --model counts --trees 1").stderr();
    assert!(told.contains("weighted by ln(1 + value) x idf (--weighting none"), "{told}");
    assert_eq!(folder.run("train a.txt --model other --trees 1 --quiet").succeeds(), "");
}

#[test]
fn json_is_one_line_with_the_promised_keys() {
    let folder = small();
    let line =
        folder.run("train a.txt --algorithm craftml --model model --trees 3 --json").succeeds();
    assert!(line.starts_with("{\"seconds\":{\"read\":"), "{line}");
    let summary = json(&line);
    let keys: Vec<&String> = summary.as_object().expect("an object").keys().collect();
    let expected = ["cpu_seconds", "model_bytes", "peak_rss_bytes", "seconds", "settings"];
    assert_eq!(keys, expected);
    for stage in ["read", "fit", "save"] {
        assert!(summary["seconds"][stage].as_f64().expect("a number") > 0.0, "{line}");
        assert!(summary["cpu_seconds"][stage].as_f64().is_some_and(|cpu| cpu >= 0.0), "{line}");
    }
    let size: usize = files(&folder, "model").values().map(Vec::len).sum();
    assert_eq!(summary["model_bytes"], size);
    assert_eq!(summary["settings"]["trees"], 3);
    assert_eq!(summary["settings"]["weighting"], "none");
    assert_eq!(summary["settings"]["seed"], 42);
}

#[test]
fn a_test_follows_the_training() {
    let folder = small();
    let table = folder.run("train a.txt --model model --test a.txt --quiet").succeeds();
    assert!(table.starts_with("4 rows (1 without labels), 3 labels"), "{table}");
    let line = folder.run("train a.txt --model other --test a.txt --json -q").succeeds();
    assert_eq!(json(&line)["test"]["metrics"]["recall@3"], 0.75);
    let error = folder.run("train a.txt --model third --test no.txt").fails(1);
    assert!(error.contains("no.txt"), "{error}");
    assert!(!folder.path("third").exists(), "the test is read before the training");
}

#[test]
fn threads_and_repetition_do_not_change_a_byte() {
    let folder = generated(600);
    let train = |model: &str, more: &str| {
        folder.run(&format!("train train.txt --model {model} --trees 8 -q {more}")).succeeds();
        files(&folder, model)
    };
    let one = train("one", "--threads 1");
    for (model, threads) in [("two", 2), ("again", 2), ("seven", 7)] {
        assert!(train(model, &format!("--threads {threads}")) == one, "{model} differs");
    }
    assert!(train("seed", "--seed 7") != one, "the seed has no effect");
}

#[test]
fn presets_are_changed_by_flags_and_models_repeat_their_settings() {
    let folder = small();
    let settings = |args: &str| {
        json(&folder.run(&format!("train a.txt --overwrite --json {args}")).succeeds())["settings"]
            .clone()
    };
    let paper = settings("--model paper --algorithm craftml --preset paper");
    for (name, value) in [
        ("trees", Value::from(50)),
        ("feature_projection", "hashing".into()),
        ("starts", "plus-plus".into()),
        ("weighting", "none".into()),
        ("beam", 1.into()),
        ("precision", "half".into()),
    ] {
        assert_eq!(paper[name], value, "{name}");
    }
    let changed =
        settings("--model changed --algorithm craftml --preset paper --trees 4 --beam 3 --seed 9");
    assert_eq!((&changed["trees"], &changed["beam"]), (&4.into(), &3.into()));
    assert_eq!(changed["feature_projection"], "hashing");

    assert_eq!(settings("--model same --settings changed"), changed);
    assert_eq!(model_id(&folder, "same"), model_id(&folder, "changed"));
    let seeded = settings("--model seeded --settings changed --seed 1");
    assert_eq!((&seeded["seed"], &seeded["trees"]), (&1.into(), &4.into()));
}

#[test]
fn every_setting_has_a_flag() {
    let folder = small();
    let flags = "--trees 2 --branches 3 --leaf 2 --sample 100 --feature-projection gaussian \
        --feature-dimensions 5 --label-projection hashing --label-dimensions 4 --diversity dxdy \
        --starts plus-plus --iterations 3 --more-iterations 7 --metric euclidean --repel 0.1 --weighting idf \
        --keep 0.5 --keep-at-least 2 --precision half --beam 2 --seed 5 --algorithm craftml";
    let line = folder.run(&format!("train a.txt --model model --json {flags}")).succeeds();
    let expected = serde_json::json!({
        "trees": 2, "branches": 3, "leaf": 2, "sample": 100, "feature_projection": "gaussian",
        "feature_dimensions": 5, "label_projection": "hashing", "label_dimensions": 4,
        "diversity": "dxdy", "starts": "plus-plus", "iterations": 3, "more_iterations": 7,
        "metric": "euclidean", "repel": 0.1, "weighting": "idf", "keep": 0.5, "keep_at_least": 2, "precision": "half", "beam": 2,
        "seed": 5
    });
    assert_eq!(json(&line)["settings"], expected);
}

#[test]
fn impossible_settings_are_refused_before_the_data_are_read() {
    let folder = Folder::new();
    for (flags, message) in [
        ("--trees 0", "error: --trees is 0, but must be from 1 to 1,048,576\n"),
        ("--branches 17", "error: --branches is 17, but must be from 2 to 16\n"),
        ("--leaf 1", "error: --leaf is 1, but must be at least 2\n"),
        ("--sample 1", "error: --sample is 1, but must be at least 2\n"),
        ("--iterations 0", "error: --iterations is 0, but must be from 1 to 1000\n"),
        ("--beam 0", "error: --beam is 0, but must be from 1 to 1,048,576\n"),
        ("--keep 0", "error: --keep is 0, but must be above 0 and at most 1\n"),
        ("--keep nan", "error: --keep must be a finite number\n"),
        (
            "--preset bonsai",
            "error: --preset bonsai is none of grove: add --algorithm label-tree\n",
        ),
        (
            "--algorithm label-tree --sample 10",
            "error: --sample is no setting of label-tree: leave it out, or choose another --algorithm\n",
        ),
        (
            "--algorithm label-tree --precision byte",
            "error: --precision is byte, but must be one of half, single\n",
        ),
        (
            "--algorithm label-tree --cost 0",
            "error: --cost is 0, but must be above 0 and at most 1e9\n",
        ),
        (
            "--algorithm label-tree --branches 0",
            "error: --branches is 0, but must be from 1 to 65,536\n",
        ),
        (
            "--feature-projection gaussian --feature-dimensions 2000",
            "error: --feature-dimensions is 2000, but must be at most 1000 with a gaussian projection\n",
        ),
        (
            "--label-dimensions 0",
            "error: --label-dimensions is 0, but must be from 1 to 1,073,741,824\n",
        ),
    ] {
        assert_eq!(folder.run(&format!("train no.txt --model m {flags}")).fails(1), message);
    }
}

#[test]
fn wrong_flags_exit_with_2() {
    let folder = small();
    for args in [
        "train",
        "train a.txt",
        "train a.txt --model m --trees -1",
        "train a.txt --model m --trees x",
        "train a.txt --model m --precision triple",
        "train a.txt --model m --feature-projection hash",
        "train a.txt --model m --algorithm magic",
        "train a.txt --model m --preset best",
        "train a.txt --model m --preset paper --settings m",
        "train a.txt --model m --max-memory much",
        "train a.txt --model m --test-split t.txt",
        "train a.txt --model m --split-column 1",
        "train a.txt --model m --train-split t.txt --split-column 0",
        "train a.txt --model m --train-split t.txt --test-split t.txt --test a.txt",
        "train a.txt --train-split t.txt --resume",
    ] {
        let done = folder.run(args);
        assert_eq!((done.code(), done.stdout().as_str()), (2, ""), "labelwood {args}");
        assert!(done.stderr().contains("--help"), "labelwood {args}: {}", done.stderr());
    }
    assert_eq!(folder.names(), ["a.txt"]);
}

#[test]
fn what_is_in_the_way_is_refused_before_the_data_are_read() {
    let folder = small();
    folder.run("train a.txt --model model --trees 1 -q").succeeds();
    let error = folder.run("train no.txt --model model").fails(1);
    assert_eq!(
        error,
        "error: model: a model is already here; add --overwrite to replace it or choose another folder\n"
    );
    let error = folder.run("train no.txt --model a.txt --overwrite").fails(1);
    assert!(error.contains("a.txt: this is not a model but holds a file"), "{error}");
    fs::create_dir(folder.path("thesis")).expect("the folder is writable");
    folder.write("thesis/thesis.tex", "");
    let error = folder.run("train no.txt --model thesis --overwrite").fails(1);
    assert!(error.contains("holds `thesis.tex`"), "{error}");
    let error = folder.run("train a.txt --model m --settings thesis").fails(1);
    assert!(error.contains("thesis: there is no model here"), "{error}");

    let before = files(&folder, "model");
    folder.run("train a.txt --model model --trees 2 --overwrite -q").succeeds();
    assert!(files(&folder, "model") != before);
    assert_eq!(folder.names(), ["a.txt", "model", "thesis"]);
}

#[test]
fn resuming_a_finished_model_names_what_differs() {
    let folder = small();
    folder.run("train a.txt --model model --trees 1 -q").succeeds();
    let before = files(&folder, "model");
    let error = folder.run("train a.txt --model model --trees 2 --seed 7 --resume -q").fails(1);
    assert!(error.starts_with("error: model: the model here is finished and differs:"), "{error}");
    assert!(
        error.contains("craftml.seed is 42 there but 7 here, craftml.trees is 1 there but 2 here"),
        "{error}"
    );
    folder.write("b.txt", "1 1 1\n0 0:1\n");
    let error = folder.run("train b.txt --model model --trees 1 --resume -q").fails(1);
    assert!(error.contains("the digest of the data is"), "{error}");
    assert!(files(&folder, "model") == before);
    folder.run("train a.txt --model model --trees 2 --resume --overwrite -q").succeeds();
    assert!(files(&folder, "model") != before);
    assert_eq!(folder.names(), ["a.txt", "b.txt", "model"]);
}

#[test]
fn too_much_memory_exits_with_3_and_names_the_remedy() {
    let folder = generated(3000);
    let train = "train train.txt --algorithm craftml --model model --max-memory";
    let error = folder.run(&format!("{train} 8M")).fails(3);
    assert!(error.starts_with("error: the training needs about "), "{error}");
    assert!(error.contains("but --max-memory allows 8.0 MiB: give it fewer rows"), "{error}");
    let error = folder.run(&format!("{train} 100M --threads 8")).fails(3);
    assert!(error.contains(": try --threads "), "{error}");
    let gaussian = "--feature-projection gaussian --feature-dimensions 1000 --threads 1";
    let command = format!("{train} 50M {gaussian}");
    let error = folder.run(&command).fails(3);
    assert!(error.ends_with(": try --feature-projection hashing\n"), "{error}");
    assert_eq!(folder.names(), ["test.txt", "train.txt"]);
}

#[test]
fn data_that_say_little_are_learned_all_the_same() {
    let folder = Folder::new();
    for (name, data) in [
        ("single", "1 4 2\n0,1 0:1 3:2\n"),
        ("featureless", "3 0 3\n0,2\n1\n\n"),
        ("same", "4 2 2\n0 0:1\n0 0:1\n0 0:1\n0 0:1\n"),
    ] {
        folder.write(&format!("{name}.txt"), data);
        for algorithm in ["grove", "craftml --preset paper"] {
            let args =
                format!("train {name}.txt --model {name} --overwrite --algorithm {algorithm} -q");
            let table = folder.run(&format!("{args} --test {name}.txt --trees 2")).succeeds();
            assert!(table.contains("P (popular)"), "{name}: {table}");
        }
    }
    folder.write("none.txt", "0 4 2\n");
    let error = folder.run("train none.txt --model none").fails(1);
    assert_eq!(
        error,
        "error: none.txt: there are no rows to learn from: give a file with at least one row\n"
    );
    let error = folder.run_with_input("train - --model stdin", b"").fails(1);
    assert!(error.contains("standard input:1:1: the file is empty"), "{error}");
    let done = folder.run_with_input("train - --from libsvm --model stdin -q", LIBSVM.as_bytes());
    assert_eq!(done.succeeds(), "");
}

#[test]
fn names_of_labels_travel_with_the_model() {
    let folder = small();
    folder.write("names.txt", "zero\none\ntwo\n");
    folder.run("train a.txt --model model --vocabulary names.txt -q").succeeds();
    let inside = folder.run("inspect model").succeeds();
    assert!(inside.contains("2 rows  two\n"), "{inside}");
    folder.write("few.txt", "zero\n");
    let error = folder.run("train a.txt --model m --vocabulary few.txt").fails(1);
    assert!(error.contains("few.txt: 1 label name for 3 labels"), "{error}");
}

#[test]
fn a_wrong_header_is_refused_or_warned_about() {
    let folder = Folder::new();
    folder.write("a.txt", "5 5 3\n0 0:1\n1 1:1\n");
    let error = folder.run("train a.txt --model m").fails(1);
    assert!(error.contains("a.txt:"), "{error}");
    let done = folder.run("train a.txt --model m --lenient");
    assert_eq!(done.code(), 0);
    assert!(done.stderr().starts_with("warning: a.txt:"), "{}", done.stderr());
}

#[test]
fn a_column_of_split_files_selects_the_rows() {
    let folder = small();
    folder.write("train_split.txt", "3 1\n4 2\n");
    folder.write("test_split.txt", "1 3\n2 4\n");
    folder.write("second.txt", "2 5 3\n0,2 0:0.5 3:1\n1 1:2 2:0.25\n");
    folder.run("train second.txt --model expected --trees 2 -q").succeeds();
    let split = "train a.txt --train-split train_split.txt --trees 2 -q";
    folder.run(&format!("{split} --model found --split-column 2")).succeeds();
    assert_eq!(model_id(&folder, "found"), model_id(&folder, "expected"));

    let test = format!("{split} --test-split test_split.txt");
    let table = folder.run(&format!("{test} --model first")).succeeds();
    assert!(table.starts_with("2 rows, 3 labels"), "{table}");
    let error = folder.run(&format!("{split} --model m --split-column 3")).fails(1);
    assert!(error.contains("there is no column 3: the splits are numbered from 1 to 2"), "{error}");
    let done = folder.run(&format!("{split} --split-column 1"));
    assert!(done.code() == 2 && done.stderr().contains("name a folder for the model"));
    let error = folder.run(&format!("{split} --split-column all")).fails(1);
    assert!(error.contains("add --test-split"), "{error}");
    folder.write("narrow.txt", "1\n2\n");
    let error = folder.run(&format!("{split} --test-split narrow.txt --model m")).fails(1);
    assert!(error.contains("train_split.txt has 2 columns but narrow.txt has 1"), "{error}");
}

#[test]
fn all_columns_give_mean_and_deviation_and_a_model_each() {
    let folder = small();
    folder.write("train_split.txt", "1 1\n2 4\n");
    folder.write("test_split.txt", "1 2\n2 4\n");
    let all = "train a.txt --train-split train_split.txt --test-split test_split.txt \
        --split-column all --trees 2 -q";
    let in_memory = json(&folder.run(&format!("{all} --json")).succeeds());
    assert_eq!(folder.names(), ["a.txt", "test_split.txt", "train_split.txt"]);
    let on_disk = json(&folder.run(&format!("{all} --json --model model")).succeeds());
    assert_eq!(in_memory["test"], on_disk["test"]);
    assert_eq!(on_disk["test"]["splits"], 2);
    let figures = |model: &str, column: usize| {
        let one = all.replace("all", &column.to_string());
        json(&folder.run(&format!("{one} --model {model} --json")).succeeds())
    };
    let [first, second] = [figures("one", 1), figures("two", 2)]
        .map(|line| line["test"]["metrics"]["recall@5"].as_f64().expect("a number"));
    let mean = on_disk["test"]["metrics"]["recall@5"].as_f64().expect("a number");
    let deviation = on_disk["test"]["deviations"]["recall@5"].as_f64().expect("a number");
    assert_eq!(mean, (first + second) / 2.0);
    assert!((deviation - (first - second).abs() / 2f64.sqrt()).abs() < 1e-12);
    for (numbered, single) in [("model-01", "one"), ("model-02", "two")] {
        assert_eq!(model_id(&folder, numbered), model_id(&folder, single));
    }
    let table = folder.run(all).succeeds();
    assert!(table.starts_with("2 splits: mean and standard deviation, in percent\n"), "{table}");
    let error = folder.run(&format!("{all} --model model")).fails(1);
    assert!(error.contains("model-01: a model is already here"), "{error}");
}

#[cfg(unix)]
mod interrupted {
    use std::process::{Child, Command};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    const TRAIN: &str = "train train.txt --algorithm craftml --model model --trees 60";

    fn finished_trees(folder: &Folder) -> usize {
        let Ok(entries) = fs::read_dir(folder.path("model.partial")) else {
            return 0;
        };
        let is_tree = |name: String| name.starts_with("tree-") && name.ends_with(".safetensors");
        entries.flatten().filter(|one| is_tree(one.file_name().to_string_lossy().into())).count()
    }

    /// A training with some trees finished and others not.
    fn half_done(folder: &Folder, args: &str) -> Child {
        let child = folder.start(args);
        let before = finished_trees(folder);
        let start = Instant::now();
        while finished_trees(folder) < before + 3 {
            assert!(start.elapsed() < Duration::from_secs(120), "no trees are written");
            thread::sleep(Duration::from_millis(2));
        }
        child
    }

    fn send(signal: &str, child: &Child) {
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("there is a kill command").success());
    }

    fn uninterrupted(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
        folder.run(&format!("{} -q", TRAIN.replace("--model model", "--model whole"))).succeeds();
        files(folder, "whole")
    }

    #[test]
    fn a_killed_training_resumes_to_the_same_bytes() {
        let folder = generated(1500);
        let expected = uninterrupted(&folder);
        for round in 0..3 {
            let args = if round == 0 { TRAIN.to_owned() } else { format!("{TRAIN} --resume") };
            let mut child = half_done(&folder, &args);
            child.kill().expect("it is running");
            child.wait().expect("it ends");
            assert!(!folder.path("model").exists(), "round {round} was finished too early");
        }
        let error = folder.run(&format!("{TRAIN} -q")).fails(1);
        assert!(error.contains("add --resume to go on with it or --overwrite"), "{error}");
        folder.run(&format!("{TRAIN} --resume -q")).succeeds();
        assert!(files(&folder, "model") == expected);
        assert!(!folder.path("model.partial").exists());

        let done = folder.run(&format!("{TRAIN} --resume"));
        assert_eq!(done.code(), 0);
        assert!(done.stderr().contains("model: this training is finished"), "{}", done.stderr());
        assert!(files(&folder, "model") == expected);
    }

    #[test]
    fn a_signal_ends_a_training_within_a_second_and_keeps_its_trees() {
        let folder = generated(1500);
        let expected = uninterrupted(&folder);
        let child = half_done(&folder, &format!("{TRAIN} -q"));
        let start = Instant::now();
        send("-TERM", &child);
        let output = child.wait_with_output().expect("the command ends");
        assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
        assert_eq!(output.status.code(), Some(130));
        let trees = finished_trees(&folder);
        assert!((3..60).contains(&trees), "{trees}");
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            format!(
                "stopped: {trees} of 60 trees are kept in model.partial; go on with --resume\n"
            )
        );

        let error = folder.run(&format!("{TRAIN} --resume -q --leaf 5")).fails(1);
        assert!(
            error.contains("the unfinished training differs: leaf is 10 there but 5 here"),
            "{error}"
        );
        let error = folder.run("train test.txt --model model --trees 60 --resume -q").fails(1);
        assert!(error.contains("the digest of the data is "), "{error}");
        folder.run(&format!("{TRAIN} --resume -q --threads 1")).succeeds();
        assert!(files(&folder, "model") == expected);
    }

    #[test]
    fn overwriting_drops_an_unfinished_training() {
        let folder = generated(1500);
        let mut child = half_done(&folder, TRAIN);
        child.kill().expect("it is running");
        child.wait().expect("it ends");
        folder.run("train train.txt --model model --trees 1 --overwrite -q").succeeds();
        assert_eq!(folder.names(), ["model", "test.txt", "train.txt"]);
    }

    #[test]
    fn resuming_without_anything_to_resume_starts_afresh() {
        let folder = small();
        folder.run("train a.txt --model model --trees 2 --resume -q").succeeds();
        folder.run("train a.txt --model other --trees 2 -q").succeeds();
        assert!(files(&folder, "model") == files(&folder, "other"));
    }

    #[test]
    fn two_trainings_into_one_folder_do_not_meet() {
        let folder = generated(1500);
        let mut child = half_done(&folder, TRAIN);
        let error = folder.run(&format!("{TRAIN} --resume -q")).fails(1);
        assert!(error.contains("is writing here; wait for it or choose another folder"), "{error}");
        child.kill().expect("it is running");
        child.wait().expect("it ends");
    }
}
