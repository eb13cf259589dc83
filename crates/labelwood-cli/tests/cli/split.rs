//! `labelwood split` and `train --holdout`.

use std::collections::BTreeSet;

use crate::harness::Folder;
use crate::trained::trained;

/// The lines of a file, sorted, without the first `skipped`.
fn lines(folder: &Folder, name: &str, skipped: usize) -> Vec<String> {
    let mut lines: Vec<String> =
        folder.read(name).lines().skip(skipped).map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn both_files_have_all_rows_as_they_were_and_equal_texts_on_one_side() {
    let folder = Folder::new();
    let text = |at: usize| format!("title {}", at / 3);
    let tsv: String = (0..60).map(|at| format!("{}\tl{}\n", text(at), at % 5)).collect();
    let quoted = |at: usize| format!("{at};\"{}\"\"; x\";l{};a{}\n", text(at), at % 5, at / 6);
    let csv = format!("nr;text;labels;author\n{}", (0..60).map(quoted).collect::<String>());
    let jsonl = |at: usize| format!("{{\"b\": 1,  \"text\": \"{}\", \"labels\": []}}\n", text(at));
    folder.write("a.tsv", &tsv);
    folder.write("a.csv", &csv);
    folder.write("a.jsonl", (0..60).map(jsonl).collect::<String>());
    for (name, header) in [("a.tsv", 0), ("a.csv", 1), ("a.jsonl", 0)] {
        let ending = &name[1..];
        let printed = folder.run(&format!("split {name} --test 0.25 -q")).succeeds();
        let [train, test] = ["train", "test"].map(|side| format!("a-{side}{ending}"));
        assert_eq!(printed, format!("{train}: 45 rows\n{test}: 15 rows\n"));
        let (train, test) = (lines(&folder, &train, header), lines(&folder, &test, header));
        let mut all = [train.clone(), test.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, lines(&folder, name, header), "{name}");
        let texts = |rows: &[String]| {
            let title = |row: &String| row.split("title ").nth(1).map(|rest| rest[..2].to_owned());
            rows.iter().filter_map(title).collect::<BTreeSet<_>>()
        };
        assert!(texts(&train).is_disjoint(&texts(&test)), "{name}");
    }
    assert!(folder.read("a-test.csv").starts_with("nr;text;labels;author\n"));
    let before = folder.read("a-test.tsv");
    assert!(folder.run("split a.tsv --test 0.25").fails(1).contains("--overwrite"));
    folder.run("split a.tsv --test 0.25 --overwrite --threads 1 -q").succeeds();
    assert_eq!(folder.read("a-test.tsv"), before, "the same seed");
    folder.run("split a.tsv --test 0.25 --overwrite --seed 2 -q").succeeds();
    assert_ne!(folder.read("a-test.tsv"), before, "another seed");

    folder.run("split a.csv --by author --overwrite -q").succeeds();
    let authors = |name| {
        let author = |row: &String| row.rsplit(';').next().map(str::to_owned);
        lines(&folder, name, 1).iter().filter_map(author).collect::<BTreeSet<_>>()
    };
    assert!(authors("a-train.csv").is_disjoint(&authors("a-test.csv")));
    folder.write("same.tsv", "a\tb\nA \tc\n");
    let error = folder.run("split same.tsv").fails(1);
    assert!(
        error.contains("same.tsv: all rows have the same text: there is nothing to divide"),
        "{error}"
    );
    assert!(
        folder.run("split a.tsv --by author --overwrite").fails(1).contains("--by asks for"),
        "TSV has no columns"
    );
}

#[test]
fn vectors_are_split_with_their_names_and_packed_files_stay_packed() {
    let folder = trained();
    folder
        .write("named.labels.txt", (0..40).map(|label| format!("l{label}\n")).collect::<String>());
    std::fs::copy(folder.path("train.txt"), folder.path("named.txt")).expect("it can be copied");
    folder.run("convert named.txt named.svm.gz -q").succeeds();
    let rows = lines(&folder, "named.txt", 1);
    std::fs::create_dir(folder.path("parts")).expect("the folder is writable");
    folder.run("split named.txt -o parts -q").succeeds();
    let mut all =
        [lines(&folder, "parts/named-train.txt", 1), lines(&folder, "parts/named-test.txt", 1)]
            .concat();
    all.sort_unstable();
    assert_eq!(all, rows);
    assert_eq!(folder.read("parts/named-test.labels.txt"), folder.read("named.labels.txt"));
    folder.run("split named.svm.gz -o parts -q").succeeds();
    let bytes = std::fs::read(folder.path("parts/named-test.svm.gz")).expect("it was written");
    assert!(bytes.starts_with(&[0x1f, 0x8b]));
    assert!(folder.run("split named.txt --by x").fails(1).contains("--by needs text"));
}

#[test]
fn held_out_rows_are_not_learned_from_and_test_the_model() {
    let folder = Folder::new();
    folder.run("demo --write-corpus q --to tsv -q").succeeds();
    let flags = "--algorithm craftml --trees 4 --json -q";
    let done = folder.run(&format!("train q/train.tsv -m held --holdout 0.2 {flags}")).succeeds();
    let held: serde_json::Value = serde_json::from_str(&done).expect("it is JSON");
    folder.run("split q/train.tsv --test 0.2 -q").succeeds();
    let done = folder
        .run(&format!("train q/train-train.tsv -m split --test q/train-test.tsv {flags}"))
        .succeeds();
    let split: serde_json::Value = serde_json::from_str(&done).expect("it is JSON");
    assert_eq!(held["test"]["metrics"], split["test"]["metrics"]);
    let words = |model: &str| folder.read(&format!("{model}/manifest.json"));
    assert_eq!(words("held"), words("split"), "the same rows are the same model");
    let error = folder.run_with_input("train - --from tsv -m x --holdout 0.2", b"a\tb\n").fails(1);
    assert!(error.contains("DATA is read twice, which standard input does not allow"), "{error}");

    let vectors = trained();
    let done = vectors.run("train train.txt -m held --holdout 0.25 --trees 2");
    let notes = done.stderr();
    assert!(
        notes.contains("holdout: ")
            && notes.contains(" rows are learned from, the others test the model\n")
    );
    assert!(done.stdout().contains("P (popular)"), "{}", done.stdout());
}
