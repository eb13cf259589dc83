//! Tables for spreadsheets: what `predict` writes and `evaluate` reads back; several files and columns.

use crate::harness::Folder;
use crate::trained::named;

const HEADER: &str = "ID,Title,Year,Subjects,Keywords\n";

/// A table with labels in two columns.
fn table(rows: usize) -> String {
    let row = |at: usize| {
        let (words, subject) = match at % 3 {
            0 => ("old maps of rivers", "maps"),
            1 => ("an owl and its nest", "birds"),
            _ => ("cats in the house", "cats; pets"),
        };
        format!("b{at},\"{words}, {}\",{},{subject},k{}\n", at % 7, 1900 + at, at % 2)
    };
    HEADER.to_owned() + &(0..rows).map(row).collect::<String>()
}

const COLUMNS: &str = "--text-column title --label-column subjects,keywords";
const LABELS: &str = "--label-column subjects,keywords";

fn books() -> Folder {
    let folder = Folder::new();
    folder.write("train.csv", table(90));
    folder.write("new.csv", table(6));
    folder.run(&format!("train train.csv -m books --trees 4 {COLUMNS} -q")).succeeds();
    folder
}

#[test]
fn a_sheet_keeps_the_columns_of_the_data_and_is_read_back() {
    let folder = books();
    folder.run("predict books new.csv -o out.csv -k 2").succeeds();
    let sheet = folder.read("out.csv");
    let lines: Vec<&str> = sheet.lines().collect();
    assert_eq!(lines[0], "ID,Title,Year,Subjects,Keywords,labels,scores");
    assert!(lines[1].starts_with("b0,\"old maps of rivers, 0\",1900,maps,k0,"), "{sheet}");
    assert_eq!(lines.len(), 7);
    folder.run("predict books new.csv -o wide.csv -k 2 --wide --labels-only").succeeds();
    assert!(
        folder.read("wide.csv").starts_with("ID,Title,Year,Subjects,Keywords,label_1,label_2\n")
    );
    let figures = |args: &str| {
        let line = folder.run(&format!("evaluate {args} --json --at 1,2 -q")).succeeds();
        serde_json::from_str::<serde_json::Value>(&line).expect("it is JSON")["metrics"].clone()
    };
    let expected = figures("books new.csv");
    let foreign =
        |name: &str| figures(&format!("--predictions {name} --train train.csv new.csv {LABELS}"));
    assert_eq!(foreign("out.csv"), expected);
    for name in ["only.csv", "only.tsv", "only.jsonl", "only.xc", "only.npz", "wide.csv"] {
        if name != "wide.csv" {
            folder.run(&format!("predict books new.csv -o {name} -k 2 --labels-only")).succeeds();
        }
        let found = foreign(name);
        for figure in ["p@1", "p@2", "ndcg@2", "micro_f1@2"] {
            assert_eq!(found[figure], expected[figure], "{name}: {figure}");
        }
    }
    // In another order: the ids tell which row is whose.
    let mut rows: Vec<&str> = lines[1..].to_vec();
    rows.reverse();
    folder.write("turned.csv", format!("{}\n{}\n", lines[0], rows.join("\n")));
    assert_eq!(foreign("turned.csv"), expected);
    folder.write("short.csv", lines[..5].join("\n"));
    let args = format!("evaluate --predictions short.csv --train train.csv new.csv {LABELS}");
    let error = folder.run(&args).fails(1);
    assert!(error.contains("no row has the id `b4`"), "{error}");
}

#[test]
fn other_data_get_the_columns_that_people_need() {
    let folder = books();
    folder.write("new.jsonl", "{\"id\":7,\"Title\":\"an owl\"}\n{\"id\":8,\"Title\":\"a cat\"}\n");
    let sheet = folder.run("predict books new.jsonl --to csv -k 1 --labels-only").succeeds();
    assert!(
        sheet.starts_with("id,text,labels\n7,an owl,") && sheet.lines().count() == 3,
        "{sheet}"
    );
    let sheet = folder.run_with_input("predict books - --from tsv --to csv -k 1", b"an owl\n");
    assert!(sheet.succeeds().starts_with("text,labels,scores\nan owl,"));
    let folder = named();
    let sheet = folder.run("predict model three.txt --to csv -k 1 --labels-only").succeeds();
    assert_eq!(sheet, "row,labels,names\n1,0,red\n2,1,dark green\n3,2,blue\n");
    let error = folder.run("predict model three.txt --to tsv --wide").fails(1);
    assert!(error.contains("--wide is for csv"), "{error}");
}

#[test]
fn a_table_with_a_byte_order_mark_is_answered_with_one() {
    let folder = books();
    folder.write("new.csv", "\u{feff}ID;Title\r\n7;an owl\r\n8;a cat\r\n");
    let sheet = folder.run("predict books new.csv --to csv -k 1 --labels-only").succeeds();
    assert!(sheet.starts_with("\u{feff}ID;Title;labels\n7;an owl;"), "{sheet:?}");
    folder.run("split new.csv --text-column title --test 0.5 -q").succeeds();
    assert!(folder.read("new-test.csv").starts_with("\u{feff}ID;Title\n"));
    folder.write("back.csv", sheet);
    folder.write("truth.csv", "ID;Title;Subjects;Keywords\n8;a cat;cats;\n7;an owl;birds;\n");
    let args =
        format!("evaluate --predictions back.csv --train train.csv truth.csv {LABELS} --at 1");
    assert!(folder.run(&args).succeeds().contains("\nP             100.00\n"));
}

#[test]
fn labels_of_several_columns_and_rows_of_several_files_are_learned_together() {
    let folder = books();
    let labels = folder.run("inspect books --json").succeeds();
    let inside: serde_json::Value = serde_json::from_str(&labels).expect("it is JSON");
    assert_eq!((&inside["labels"], &inside["instances"]), (&6.into(), &90.into()));
    let whole = table(90);
    let rows: Vec<&str> = whole.lines().skip(1).collect();
    for (name, part) in [("one.csv", &rows[..40]), ("two.csv", &rows[40..])] {
        folder.write(name, format!("{HEADER}{}\n", part.join("\n")));
    }
    folder.run(&format!("train one.csv two.csv -m both --trees 4 {COLUMNS} -q")).succeeds();
    assert_eq!(folder.read("both/manifest.json"), folder.read("books/manifest.json"));
    folder.write("bad.csv", "ID,Title\nb,c\n");
    let error = folder.run(&format!("train one.csv bad.csv -m x {COLUMNS}")).fails(1);
    assert!(error.contains("bad.csv:1:1: there is no column `subjects`"), "{error}");

    folder.write("a.svm", "0 1:1\n1 2:1\n0 1:1\n");
    folder.write("b.svm", "2 3:1\n2 3:2\n");
    folder.write("all.svm", "0 1:1\n1 2:1\n0 1:1\n2 3:1\n2 3:2\n");
    for (data, model) in [("a.svm b.svm", "parts"), ("all.svm", "whole")] {
        folder.run(&format!("train {data} -m {model} --trees 2 -q")).succeeds();
    }
    assert_eq!(folder.read("parts/manifest.json"), folder.read("whole/manifest.json"));
    let error = folder.run("train a.svm one.csv -m x").fails(1);
    assert!(error.contains("one is text, the other vectors"), "{error}");
}

#[test]
fn texts_of_the_command_line_are_predicted() {
    let folder = books();
    let printed = folder.run("predict books --text owl --text cats --to table -k 1").succeeds();
    assert!(
        printed.starts_with("1  owl\n    ") && printed.contains("\n\n2  cats\n    "),
        "{printed}"
    );
    assert_eq!(folder.run("predict books new.csv --text owl").code(), 2);
    assert!(named().run("predict model --text owl").fails(1).contains("trained on vectors"));
}

#[test]
fn oddities_of_data_are_shown_with_what_to_do() {
    let folder = books();
    let mut odd = table(8);
    odd.push_str("x1,\"old maps of rivers, 0\",1900,Maps,k0\nx2,,1900,maps,\nx3,cats,1900,,\n");
    folder.write("odd.csv", odd);
    let found = folder.run(&format!("check odd.csv {COLUMNS}")).succeeds();
    for line in [
        "odd.csv: 11 rows, 7 labels, ",
        "1 row without labels: 11\n",
        "1 row like one before, but with other labels: 9\n",
        "1 row without any text or feature: 10\n",
        "1 group of labels that differ by case, blanks or punctuation only: `maps` (4), `Maps` (1)\n",
    ] {
        assert!(found.contains(line), "{line}: {found}");
    }
    let beside = folder.run(&format!("check train.csv --test new.csv {COLUMNS} --json")).succeeds();
    let found: serde_json::Value = serde_json::from_str(&beside).expect("it is JSON");
    assert_eq!(found["findings"][0]["name"], "test rows in training");
    assert_eq!(found["findings"][0]["count"], 6);
    let vectors = named();
    assert!(
        vectors
            .run("check three.txt")
            .succeeds()
            .starts_with("three.txt: 3 rows, 3 labels, 1.0 a row\n")
    );
}

#[test]
fn predictions_are_told_from_labels_and_predictions_of_before() {
    let folder = Folder::new();
    folder.run("demo --write-corpus q --to csv -q").succeeds();
    for side in ["train", "test"] {
        let table = folder.read(&format!("q/{side}.csv"));
        folder.write(
            &format!("{side}.csv"),
            table.replacen("number,question,subjects", "id,text,labels", 1),
        );
    }
    for (model, algorithm) in [("one", "one-vs-rest"), ("two", "neighbours")] {
        folder.run(&format!("train train.csv -m {model} --algorithm {algorithm} -q")).succeeds();
    }
    let figures = |args: &str| {
        let line = folder.run(&format!("evaluate {args} --json --at 1")).succeeds();
        serde_json::from_str::<serde_json::Value>(&line).expect("it is JSON")["metrics"].clone()
    };
    let foreign = |name: &str| figures(&format!("--predictions {name} --train train.csv test.csv"));
    folder.run("predict one test.csv -o one.csv --wide").succeeds();
    assert!(
        folder.read("one.csv").starts_with("id,text,labels,predicted_label_1,predicted_score_1,")
    );
    assert_eq!(foreign("one.csv"), figures("one test.csv"));
    for (flags, first) in [("", "predicted_2_labels"), ("--wide", "predicted_2_label_1")] {
        folder.run(&format!("predict two one.csv -o two.csv --overwrite {flags}")).succeeds();
        let header = folder.read("two.csv");
        assert!(header.lines().next().is_some_and(|line| line.contains(first)), "{header}");
        assert_eq!(foreign("two.csv"), figures("two test.csv"), "{flags}");
    }
}

#[test]
fn codes_of_a_vocabulary_are_known_by_their_names_or_by_the_vocabulary() {
    let folder = books();
    folder.write("voc.csv", "code;name\nm;maps\nc;cats\nb;birds\n");
    let flags = format!("{COLUMNS} --vocabulary voc.csv -q");
    folder.run(&format!("train train.csv -m coded --trees 4 {flags}")).succeeds();
    let figures = |args: &str| {
        let line = folder.run(&format!("evaluate {args} --json --at 1")).succeeds();
        serde_json::from_str::<serde_json::Value>(&line).expect("it is JSON")["metrics"].clone()
    };
    let expected = figures("coded new.csv");
    for (name, more) in [("p.csv", ""), ("p.jsonl", ""), ("p.tsv", "--vocabulary voc.csv")] {
        folder.run(&format!("predict coded new.csv -k 1 -o {name}")).succeeds();
        let args = format!("--predictions {name} --train train.csv new.csv {LABELS} {more}");
        assert_eq!(figures(&args), expected, "{name}");
    }
    folder.run("predict coded new.csv -k 1 -o p.xc").succeeds();
    let args = format!("evaluate --predictions p.xc --train train.csv new.csv {LABELS}");
    let warned = folder.run(&args).stderr();
    assert!(warned.contains("p.xc: its labels are numbers, which are right if"), "{warned}");
}

#[test]
fn a_table_without_the_ids_of_the_training_file_is_read_all_the_same() {
    let folder = Folder::new();
    folder.write("train.csv", table(30));
    folder.run(&format!("train train.csv -m m --trees 2 {COLUMNS} --id-column id -q")).succeeds();
    folder.write("bare.csv", "title\nan owl\n");
    assert_eq!(folder.run("predict m bare.csv -k 1 --labels-only").succeeds().lines().count(), 1);
    let error = folder.run("predict m bare.csv --id-column nr").fails(1);
    assert!(error.contains("there is no column `nr`"), "{error}");
    folder.run("convert m small --values f16 -q").succeeds();
    folder.run("predict small bare.csv -k 1").succeeds();
    let error = folder.run("train book.xlsx -m x").fails(1);
    assert!(error.contains("save the table as CSV there"), "{error}");
    folder.write("wide.csv", b"\xff\xfet\0e\0x\0t\0\n\0");
    let error = folder.run("train wide.csv -m x").fails(1);
    assert!(error.contains("this is UTF-16: save it as UTF-8"), "{error}");
}
