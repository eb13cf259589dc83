//! `labelwood compare`.

use serde_json::Value;

use crate::harness::Folder;
use crate::report::text_of;

/// Texts whose labels follow from their words.
fn texts(rows: std::ops::Range<usize>) -> String {
    let title = |at: usize| {
        let (one, other) = (at % 7, at * 5 % 11);
        format!("word{one} term{other} and book {at}\tl{one} m{other}\n")
    };
    rows.map(title).collect()
}

/// What wrong usage is told.
fn wrong_usage(folder: &Folder, line: &str) -> String {
    let done = folder.run(line);
    assert_eq!(done.code(), 2, "{line}");
    done.stderr()
}

/// The figures of a comparison without what depends on the clock.
fn timeless(json: &str) -> Value {
    let mut outcome: Value = serde_json::from_str(json).unwrap();
    for system in outcome["systems"].as_array_mut().unwrap() {
        system.as_object_mut().unwrap().remove("costs");
    }
    outcome
}

#[test]
fn algorithms_are_compared_on_held_out_rows_and_a_stopped_comparison_goes_on() {
    let folder = Folder::new();
    folder.write("books.tsv", texts(0..200));
    let line = "compare books.tsv --algorithms craftml,label-tree:bonsai,neighbours -q";
    let printed = folder.run(&format!("{line} -o found")).succeeds();
    assert!(printed.starts_with("| system "), "{printed}");
    assert!(printed.contains("| label-tree:bonsai |"), "{printed}");
    assert!(printed.contains("paired bootstrap over 40 test rows"), "{printed}");
    let latex = folder.read("found/table.tex");
    assert!(
        latex.starts_with("\\begin{tabular}") && latex.contains("label-tree:bonsai"),
        "{latex}"
    );
    assert!(folder.read("found/table.md").contains("# Comparison"));

    let whole = timeless(&folder.read("found/figures.json"));
    std::fs::remove_file(folder.path("found/trials/split-1-seed-1-2.json")).unwrap();
    let again = folder.run(&format!("{line} -o found --json --threads 1")).succeeds();
    assert_eq!(timeless(&again), whole);
    let error = folder.run("compare books.tsv --algorithms craftml -o found -q").fails(1);
    assert!(error.contains("another comparison is here"), "{error}");
}

#[test]
fn the_figures_are_those_of_a_training_with_the_same_rows() {
    let folder = Folder::new();
    folder.write("books.tsv", texts(0..200));
    let compared = folder.run("compare books.tsv --holdout 0.25 --algorithms label-tree --json -q");
    let compared: Value = serde_json::from_str(&compared.succeeds()).unwrap();
    let trained = folder
        .run("train books.tsv -m model --holdout 0.25 --algorithm label-tree --json -q")
        .succeeds();
    let trained: Value = serde_json::from_str(&trained).unwrap();
    let figures = &compared["systems"][0]["figures"];
    for (own, other) in
        [("p_at_1", "p@1"), ("p_at_5", "p@5"), ("ndcg_at_5", "ndcg@5"), ("psp_at_3", "psp@3")]
    {
        let (own, other) =
            (figures[own].as_f64().unwrap(), trained["test"]["metrics"][other].as_f64().unwrap());
        assert!((own - other).abs() < 1e-9, "{own} {other}: {trained}");
    }
}

#[test]
fn folds_test_every_row_once_and_vectors_are_divided_alike() {
    let folder = Folder::new();
    folder.write("books.tsv", texts(0..90));
    folder.run("convert books.tsv books.txt -q").succeeds();
    for data in ["books.tsv", "books.txt"] {
        let line =
            format!("compare {data} --folds 3 --seeds 2 --algorithms neighbours,craftml --json -q");
        let outcome: Value = serde_json::from_str(&folder.run(&line).succeeds()).unwrap();
        assert_eq!((&outcome["rows"], &outcome["rounds"]), (&90.into(), &6.into()), "{data}");
        assert_eq!(outcome["systems"].as_array().unwrap().len(), 2);
    }
    let error = wrong_usage(&folder, "compare books.tsv --folds 1");
    assert!(error.contains("must be 2 or more"), "{error}");
}

#[test]
fn predictions_of_other_systems_join_the_table() {
    let folder = Folder::new();
    folder.write("train.tsv", texts(0..150));
    folder.write("test.tsv", texts(150..200));
    folder.run("train train.tsv --algorithm one-vs-rest -m model -q").succeeds();
    folder.run("predict model test.tsv -o answers.jsonl -q").succeeds();
    let line = "compare train.tsv --test test.tsv --algorithms one-vs-rest --json -q";
    let with = format!("{line} --predictions other=answers.jsonl");
    let outcome: Value = serde_json::from_str(&folder.run(&with).succeeds()).unwrap();
    let [one, other] = [0, 1].map(|at| &outcome["systems"][at]);
    assert_eq!(one["figures"], other["figures"], "the same algorithm, settings and seed");
    let names: Vec<&str> = [one, other].map(|one| one["name"].as_str().unwrap()).to_vec();
    assert!(names.contains(&"other") && names.contains(&"one-vs-rest"), "{names:?}");
    let error = wrong_usage(&folder, &format!("{line} --predictions answers.jsonl"));
    assert!(error.contains("omikuji=answers.tsv"), "{error}");
    folder.run("predict model train.tsv -o more.jsonl -q").succeeds();
    let error = folder.run(&format!("{line} --predictions other=more.jsonl")).fails(1);
    assert!(error.contains("more.jsonl") && error.contains("50"), "{error}");
}

#[test]
fn a_report_is_one_page_and_replaced_only_when_told_so() {
    let folder = Folder::new();
    folder.write("b&m.tsv", texts(0..120));
    let line =
        "compare b&m.tsv --algorithms neighbours,label-tree:bonsai -q -o found --report page.html";
    folder.run(line).succeeds();
    let page = folder.read("page.html");
    let text = text_of(&page);
    for part in ["Comparison on b&amp;m.tsv", "\nlabel-tree:bonsai", "surely", "weight_threshold"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let outcome: Value = serde_json::from_str(&folder.read("found/figures.json")).unwrap();
    for system in outcome["systems"].as_array().unwrap() {
        let figure = |name: &str| 100.0 * system["figures"][name].as_f64().unwrap();
        let cells = format!("\n{:.1}", figure("psp_at_1"));
        assert!(text.contains(&cells), "{cells}: {text}");
    }
    assert!(folder.run(line).fails(1).contains("page.html"));
    folder.run(&format!("{line} --overwrite")).succeeds();
    assert_eq!(folder.read("page.html"), page, "the same trials give the same page");
    let error = folder.run("compare b&m.tsv --report new/page.html").fails(1);
    assert_eq!(error, "error: --report: there is no folder new: make it first\n");
    let error = folder.run("compare b&m.tsv --report b&m.tsv --overwrite -q").fails(1);
    assert!(error.contains("b&m.tsv"), "{error}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_what_to_do() {
    let folder = Folder::new();
    folder.write("books.tsv", texts(0..60));
    let error = wrong_usage(&folder, "compare books.tsv --algorithms forest");
    assert!(error.contains("`forest` is no algorithm: there are grove, craftml"), "{error}");
    let error = wrong_usage(&folder, "compare books.tsv --algorithms craftml:bonsai");
    assert!(error.contains("`bonsai` is no preset of craftml: there are default"), "{error}");
    let error = folder.run("compare books.tsv --algorithms craftml,craftml -q").fails(1);
    assert!(error.contains("craftml takes part twice: leave one out"), "{error}");
    let error = folder.run("compare books.tsv --budget 0.001s -o found -q").fails(1);
    assert!(error.contains("the time was up before the first algorithm was done"), "{error}");
    let error = wrong_usage(&folder, "compare books.tsv --test books.tsv --folds 3");
    assert!(error.contains("--folds"), "{error}");
}
