//! `labelwood convert`.

use crate::harness::{Folder, LIBSVM, XC};
use crate::trained::trained;

#[test]
fn rows_go_from_xc_to_libsvm_and_back() {
    let folder = Folder::new();
    folder.write("a.txt", XC);
    assert_eq!(folder.run("convert a.txt b.svm").succeeds(), "");
    assert_eq!(folder.read("b.svm"), LIBSVM);
    folder.run("convert b.svm c.txt").succeeds();
    // The last feature is not used, so LIBSVM does not know of it.
    assert_eq!(folder.read("c.txt"), XC.replace("4 5 3", "4 4 3"));
    assert_eq!(folder.names(), ["a.txt", "b.svm", "c.txt"]);
}

#[test]
fn compressed_files_are_written_and_read() {
    let folder = Folder::new();
    folder.write("a.txt", XC);
    for name in ["b.txt.gz", "b.txt.zst"] {
        folder.run(&format!("convert a.txt {name}")).succeeds();
        let bytes = std::fs::read(folder.path(name)).expect("the file is there");
        assert!(!bytes.starts_with(b"4 5 3"), "{name}");
        folder.run(&format!("convert {name} c.txt --overwrite")).succeeds();
        assert_eq!(folder.read("c.txt"), XC, "{name}");
    }
}

#[test]
fn standard_input_and_output_are_a_dash() {
    let folder = Folder::new();
    let done = folder.run_with_input("convert - - --from xc --to libsvm", XC.as_bytes());
    assert_eq!(done.succeeds(), LIBSVM);
    let error = folder.run("convert - -").fails(1);
    assert!(error.contains("--to xc"), "{error}");
}

#[test]
fn flags_go_before_endings() {
    let folder = Folder::new();
    folder.write("a.data", LIBSVM);
    folder.run("convert a.data b.data --from libsvm --to xc").succeeds();
    assert_eq!(folder.read("b.data"), XC.replace("4 5 3", "4 4 3"));
    let error = folder.run("convert a.data b.txt").fails(1);
    assert!(error.starts_with("error: a.data: the ending"), "{error}");
    let error = folder.run("convert a.data b.data --from libsvm").fails(1);
    assert!(error.starts_with("error: b.data: the ending"), "{error}");
}

#[test]
fn a_wrong_header_is_refused_or_leniently_corrected() {
    let folder = Folder::new();
    folder.write("a.txt", XC.replace("4 5 3", "7 5 3"));
    let error = folder.run("convert a.txt b.txt").fails(1);
    assert!(error.starts_with("error: a.txt:1:"), "{error}");
    assert_eq!(folder.names(), ["a.txt"]);

    let done = folder.run("convert a.txt b.txt --lenient");
    assert_eq!((done.code(), folder.read("b.txt")), (0, XC.to_owned()));
    assert!(done.stderr().starts_with("warning: a.txt:1: "), "{}", done.stderr());
    assert_eq!(done.stderr().lines().count(), 1);
    folder.run("convert a.txt b.txt --lenient --quiet --overwrite").succeeds();
}

#[test]
fn missing_files_and_folders_are_the_callers_fault() {
    let folder = Folder::new();
    let error = folder.run("convert nowhere.txt b.txt").fails(1);
    assert!(error.contains("nowhere.txt"), "{error}");
    folder.write("a.txt", XC);
    let error = folder.run("convert a.txt nowhere/b.txt").fails(1);
    assert!(error.contains("nowhere/b.txt"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_the_machines_fault() {
    let folder = Folder::new();
    folder.write("a.txt", XC);
    let error = folder.run("convert a.txt /dev/full --to xc").fails(3);
    assert!(error.contains("/dev/full"), "{error}");
}

#[test]
fn label_names_are_written_beside_the_output_and_replace_nothing() {
    let folder = Folder::new();
    folder.write("a.txt", XC);
    folder.write("names", "red\ngreen\tthe colour\nblue\n");
    std::fs::create_dir(folder.path("out")).expect("the folder is writable");
    folder.run("convert a.txt out/b.svm --vocabulary names").succeeds();
    assert_eq!(folder.read("out/b.labels.txt"), folder.read("names"));
    folder.write("out/labels.txt", folder.read("names"));
    folder.run("convert a.txt out/c.svm --vocabulary out/labels.txt").succeeds();
    assert!(!folder.path("out/c.labels.txt").exists(), "labels.txt has these names");
    folder.write("out/d.labels.txt", "other\n");
    let error = folder.run("convert a.txt out/d.svm --vocabulary names").fails(1);
    assert!(error.contains("out/d.labels.txt: the file is already there"), "{error}");
    folder.run("convert a.txt out/d.svm --vocabulary names --overwrite").succeeds();
    assert_eq!(folder.read("out/d.labels.txt"), folder.read("names"));
    let error = folder.run("convert a.txt - --to xc --vocabulary names").fails(1);
    assert!(error.contains("leave out --vocabulary"), "{error}");
}

#[test]
fn a_model_is_made_smaller_and_the_loss_is_shown() {
    let folder = trained();
    let made = "train train.txt --algorithm one-vs-rest --precision single --weight-threshold 0";
    folder.run(&format!("{made} --model wide -q")).succeeds();
    let told =
        folder.run("convert wide small --prune 0.05 --values f16 --test test.txt").succeeds();
    let lines: Vec<Vec<&str>> =
        told.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["before", "after", "change"]);
    assert_eq!(lines[1][0], "size");
    assert!(lines[1][5].starts_with('-'), "{told}");
    let names: Vec<&str> = lines[2..].iter().map(|line| line[0]).collect();
    assert_eq!(names, ["P@1", "P@3", "P@5"]);
    for (model, column) in [("wide", 1), ("small", 2)] {
        let evaluated = folder.run(&format!("evaluate {model} test.txt --json")).succeeds();
        let evaluated: serde_json::Value = serde_json::from_str(&evaluated).expect("it is JSON");
        let precision = 100.0 * evaluated["metrics"]["p@1"].as_f64().expect("a number");
        assert_eq!(format!("{precision:.2}"), lines[2][column], "{told}");
    }
    let inside = folder.run("inspect small").succeeds();
    assert!(inside.contains("\nmade smaller\n  from"), "{inside}");
    assert_eq!(
        folder.run("convert model tiny --values u8 --prune 0.1").succeeds().lines().count(),
        2
    );
    folder.run("convert model tiny --values f16 --overwrite").succeeds();
}

#[test]
fn a_model_that_cannot_be_made_smaller_is_told_so() {
    let folder = trained();
    for (command, told) in [
        ("convert model small", "model: add --prune T"),
        ("convert model small --values f32", "craftml stores values as u8 or f16"),
        ("convert model small --prune -1", "prune is -1"),
        ("convert model small --prune 0.1 --to xc", "--to: this is for data"),
        ("convert model small --prune 0.1 --test nowhere.txt", "nowhere.txt"),
        ("convert model model --prune 0.1", "model: a model is already here; add --overwrite"),
        ("convert model model --prune 0.1 --overwrite", "give another folder"),
        ("convert train.txt small --prune 0.1", "train.txt: there is no model here"),
        ("convert nowhere small --prune 0.1", "nowhere: there is no model here"),
    ] {
        let error = folder.run(command).fails(1);
        assert!(error.contains(told), "{command}: {error}");
    }
    assert_eq!(folder.names(), ["model", "test.txt", "train.txt"]);
}

#[test]
fn the_output_is_the_same_on_any_number_of_threads() {
    let folder = Folder::new();
    let rows: String =
        (0..20_000).map(|row| format!("{} {}:1 7:0.5\n", row % 3, row % 5)).collect();
    folder.write("a.txt", format!("20000 8 3\n{rows}"));
    let one = folder.run("convert a.txt - --to libsvm --threads 1").succeeds();
    assert_eq!(one.lines().count(), 20_000);
    for threads in [2, 7] {
        let many = folder.run(&format!("convert a.txt - --to libsvm --threads {threads}"));
        assert_eq!(many.succeeds(), one);
    }
}

#[test]
fn binary_data_are_the_same_rows_with_their_names_to_every_command() {
    let folder = Folder::new();
    folder.write("a.txt", XC);
    folder.write("labels.txt", "owls\nmaps\natlases\n");
    folder.run("convert a.txt b.lwd").succeeds();
    std::fs::create_dir(folder.path("other")).expect("the folder is writable");
    folder.run("convert b.lwd other/c.txt").succeeds();
    assert_eq!(folder.read("other/c.txt"), XC);
    assert_eq!(folder.read("other/c.labels.txt"), "owls\nmaps\natlases\n");

    for (data, model) in [("a.txt", "one"), ("b.lwd", "two")] {
        folder.run(&format!("train {data} --model {model} --trees 2 --leaf 2 -q")).succeeds();
    }
    let [one, two] = ["one", "two"].map(|model| folder.read(&format!("{model}/manifest.json")));
    assert_eq!(one, two);
    let evaluated = |data: &str| folder.run(&format!("evaluate one {data} -q")).succeeds();
    let figures = |table: String| table.lines().take(6).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(figures(evaluated("a.txt")), figures(evaluated("b.lwd")));
    let predicted = |data: &str| folder.run(&format!("predict one {data} --format tsv")).succeeds();
    assert_eq!(predicted("a.txt"), predicted("b.lwd"));
    let cut = &std::fs::read(folder.path("b.lwd")).expect("the file is there")[..200];
    folder.write("cut.lwd", cut);
    let error = folder.run("predict one cut.lwd").fails(1);
    assert!(error.contains("cut.lwd: these are not labelwood's binary data"), "{error}");
}

#[test]
fn text_becomes_binary_data() {
    let folder = Folder::new();
    folder.write("a.tsv", "old maps\tmaps\nold owls\towls\nowls and maps\tmaps owls\n");
    folder.run("convert a.tsv b.lwd -q").succeeds();
    assert_eq!(folder.names(), ["a.tsv", "b.lwd"]);
    folder.run("convert b.lwd c.txt").succeeds();
    assert_eq!(folder.read("c.labels.txt"), "maps\nowls\n");
}
