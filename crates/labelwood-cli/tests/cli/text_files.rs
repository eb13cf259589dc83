//! Files of documents that are wrong or unusual: what is expected happens, or one clear line.

use crate::harness::Folder;

/// Trains on a file that must be refused; gives the error.
#[track_caller]
fn refused(name: &str, content: impl AsRef<[u8]>, flags: &str) -> String {
    let folder = Folder::new();
    folder.write(name, content);
    let error = folder.run(&format!("train {name} --model model --trees 2 {flags}")).fails(1);
    assert_eq!(folder.names(), [name], "nothing is left behind");
    error
}

/// Trains on a file that must be accepted; gives the folder with `model`.
#[track_caller]
fn accepted(name: &str, content: impl AsRef<[u8]>, flags: &str) -> Folder {
    let folder = Folder::new();
    folder.write(name, content);
    folder.run(&format!("train {name} --model model --trees 2 -q {flags}")).succeeds();
    folder
}

const TABLE: &str = "id,text,labels\n1,old maps,maps\n2,old books,books\n";

#[test]
fn a_wrong_column_names_those_that_exist() {
    let error = refused("a.csv", TABLE, "--text-column title");
    assert_eq!(
        error,
        "error: a.csv:1:1: there is no column `title`: there are `id`, `text`, `labels`; name the \
         column to take\n"
    );
    let error = refused("a.csv", TABLE, "--label-column tags");
    assert!(error.starts_with("error: a.csv:1:1: there is no column `tags`"), "{error}");
}

#[test]
fn an_unbalanced_quote_names_the_line_where_it_opens() {
    let error = refused("a.csv", "text,labels\nold maps,maps\n\"old books,books\nnew,x\n", "");
    assert!(error.starts_with("error: a.csv:3:1: the double quote that opens here"), "{error}");
}

#[test]
fn bytes_that_are_not_utf8_name_their_line() {
    let error = refused("a.tsv", b"old maps\tmaps\nold caf\xe9s\tbooks\n", "");
    assert!(error.starts_with("error: a.tsv:2:8: the byte `\\xe9` is not UTF-8"), "{error}");
    assert!(error.contains("iconv"), "{error}");
}

#[test]
fn a_document_of_50_megabytes_is_learned() {
    let long = "words of a very long document ".repeat(1_800_000);
    assert!(long.len() > 50_000_000);
    let folder =
        accepted("a.tsv", format!("old maps\tmaps\n{long}\tlong\nold books\tlong\n"), "--min-df 1");
    let found =
        folder.run_with_input("predict model - --top-k 1 --labels-only", b"a very long document");
    assert_eq!(found.succeeds(), "long\n");
}

#[test]
fn an_empty_label_field_is_a_document_without_labels() {
    let folder = accepted("a.tsv", "old maps\tmaps\nold books\t\nnew maps\tmaps\n", "");
    let inside = folder.run("inspect model").succeeds();
    assert!(inside.contains("trained on  3 instances, 2 features, 1 label\n"), "{inside}");
    let error = refused("a.tsv", "old maps\tmaps\nold books\n", "");
    assert!(error.starts_with("error: a.tsv:2:10: expected a text, a TAB and labels"), "{error}");
}

#[test]
fn a_byte_order_mark_and_windows_lines_are_accepted() {
    for (name, text) in [("a.tsv", "old maps\tmaps\nold books\tbooks\n"), ("a.csv", TABLE)] {
        let plain = accepted(name, text, "");
        let marked = accepted(name, format!("\u{feff}{}", text.replace('\n', "\r\n")), "");
        assert_eq!(marked.read("model/manifest.json"), plain.read("model/manifest.json"), "{name}");
    }
}

#[test]
fn a_file_of_one_line_is_learned_if_its_words_may_be_single() {
    let folder = accepted("a.tsv", "old maps\tmaps", "--min-df 1");
    let found = folder.run_with_input("predict model - --labels-only", b"maps");
    assert_eq!(found.succeeds(), "maps\n");
    let error = refused("a.tsv", "old maps\tatlas", "");
    assert!(error.contains("no term of the 1 document is kept") && error.contains("--min-df 1"));
    let error = refused("a.csv", "text,labels\n", "");
    assert!(error.starts_with("error: a.csv:1:1: the file is empty"), "{error}");
}

#[test]
fn a_headed_file_with_tabs_is_a_table_or_is_asked_about() {
    let text = TABLE.replace(',', "\t");
    accepted("a.tsv", &text, "");
    accepted("a.tsv", &text, "--from csv");
    accepted("a.tsv", &text, "--format csv");
    let other = text.replacen("text", "Words", 1);
    let error = refused("a.tsv", &other, "");
    assert!(error.contains("found 3 fields") && error.contains("as CSV"), "{error}");
    accepted("a.tsv", &other, "--text-column words");
    let error = refused("a.tsv", "Title\tSubjects\nOld maps\tmaps\nOld maps\tmaps\n", "");
    let tip = "this line looks like the names of columns: add --text-column 'Title' --label-column 'Subjects', \
        or --from tsv if it is a text with its labels";
    assert!(error.contains(tip), "{error}");
    accepted("a.tsv", "Title\tSubjects\nOld maps\tmaps\nOld maps\tmaps\n", "--from tsv");
}

#[test]
fn a_line_that_is_no_json_names_its_place() {
    let error = refused("a.jsonl", "{\"text\":\"a\",\"labels\":[]}\n{\"text\":}\n", "");
    assert!(error.starts_with("error: a.jsonl:2:9: this is no JSON object"), "{error}");
}

/// A table of goods whose categories are names of several words.
fn goods(rows: usize) -> String {
    let mut table = "id,text,labels\n".to_owned();
    for at in 0..rows {
        let (words, label) = match at % 2 {
            0 => (["rose", "spade", "lawn"], "Home & Garden"),
            _ => (["doll", "chess", "kite"], "Toys"),
        };
        table.push_str(&format!("g{at},{} {},{label}\n", words[at / 2 % 3], words[at / 4 % 3]));
    }
    table
}

#[test]
fn a_column_of_names_with_blanks_is_one_label_and_training_shows_one() {
    let folder = Folder::new();
    folder.write("goods.csv", goods(40));
    let done = folder.run("train goods.csv --model model --trees 2");
    let notes = done.stderr();
    assert_eq!(done.code(), 0, "{notes}");
    assert!(notes.contains(" 2 labels, each a whole field (--label-separator)\n"), "{notes}");
    let example =
        "labels: 2, for example \"Home & Garden\"; --label-separator ' ' would split them\n";
    assert!(notes.contains(example), "{notes}");
    folder.write("new.csv", "text\na lawn and a rose\n");
    let best = folder.run("predict model new.csv --labels-only --top-k 1").succeeds();
    assert_eq!(best, "Home & Garden\n");

    // The model keeps it for a file whose own labels would be split.
    folder.write("test.csv", "text,labels\nlawn rose,\"Home & Garden, old\"\n");
    let done = folder.run("evaluate model test.csv");
    assert!(done.stdout().contains("1 true here but unseen in training"), "{}", done.stdout());
    let inside = folder.run("inspect model").succeeds();
    assert!(inside.contains("  separator           none\n"), "{inside}");

    let split = folder.command(["train", "goods.csv", "--model", "x", "--label-separator", " "]);
    let output = { split }.output().expect("it runs");
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(notes.contains(" 4 labels separated by spaces"), "{notes}");
}

#[test]
fn labels_of_several_words_in_tsv_stay_whole_if_none_separates_them() {
    let folder = Folder::new();
    let table = goods(40);
    let lines = table.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        format!("{}\t{}\n", fields[1], fields[2])
    });
    folder.write("goods.tsv", lines.collect::<String>());
    let done = folder.run("train goods.tsv --model split --trees 2");
    let notes = done.stderr();
    assert!(notes.contains(" 4 labels separated by spaces (--label-separator)\n"), "{notes}");
    assert!(notes.contains("labels: 4, for example \"&\"; --label-separator none"), "{notes}");
    let done = folder.run("train goods.tsv --model whole --trees 2 --label-separator none");
    assert!(done.stderr().contains(" 2 labels, each a whole field"), "{}", done.stderr());
    assert!(!done.stderr().contains("for example"), "what is stated is known: {}", done.stderr());
    let done = folder.run("train goods.tsv --model again --trees 2 --settings whole");
    assert!(done.stderr().contains(" 2 labels, each a whole field"), "{}", done.stderr());
}

#[test]
fn standard_input_is_read_as_the_training_file_was() {
    let folder = Folder::new();
    folder.write("goods.csv", goods(40));
    folder.run("train goods.csv --model model --trees 2 -q").succeeds();
    let best = folder.run("predict model goods.csv").succeeds();
    let without_times = |table: String| table.split("\nIn percent").next().map(str::to_owned);
    let figures = without_times(folder.run("evaluate -q model goods.csv").succeeds());
    assert_eq!(best.lines().count(), 40);
    for path in ["-", "goods", "goods.dat", "goods.txt", "goods.txt.gz"] {
        if path != "-" {
            folder.write(path, goods(40));
        }
        let run = |command: &str| {
            folder.run_with_input(&format!("{command} {path}"), goods(40).as_bytes())
        };
        assert_eq!(run("predict model").succeeds(), best, "{path}");
        assert_eq!(without_times(run("evaluate -q model").succeeds()), figures, "{path}");
        let done = run(&format!("update --output more/{path}.model model"));
        let notes = done.stderr();
        assert!(notes.contains("40 rows and 0 new labels added"), "{path}: {notes}");
    }
    // What is stated, or what an ending tells, goes before what the model keeps.
    folder.write("new.tsv", "a lawn and a rose\n");
    let from_tsv = folder.run("predict model new.tsv").succeeds();
    let line = folder.run_with_input("predict model - --from tsv", b"a lawn and a rose\n");
    assert_eq!(line.succeeds(), from_tsv);
    let error = folder.run("predict model goods.txt --from xc").fails(1);
    assert!(error.contains("goods.txt: these are vectors"), "{error}");
    folder.write("rows.txt", "1 3 3\n0 0:1\n");
    let error = folder.run("predict model rows.txt").fails(1);
    assert!(error.contains("rows.txt:1:1: there is no column `text`"), "{error}");
    folder.write("rows.svm", "0 1:1\n");
    let error = folder.run("predict model rows.svm").fails(1);
    assert!(error.contains("rows.svm: these are vectors"), "{error}");
}

#[test]
fn text_that_is_not_of_the_format_that_a_model_keeps_is_refused_with_the_flag() {
    let folder = Folder::new();
    folder.write("goods.csv", goods(40));
    folder.run("train goods.csv --model csv --trees 2 -q").succeeds();
    let line = "{\"text\":\"old maps\",\"labels\":[\"maps\"]}\n";
    folder.write("maps.jsonl", line.repeat(4));
    folder.run("train maps.jsonl --model jsonl --trees 2 -q").succeeds();
    for (model, problem) in [
        ("csv", "standard input:1:1: there is no column `text`: there are `a lawn and a rose`; "),
        ("jsonl", "standard input:1:1: this is no JSON object"),
    ] {
        for command in ["predict", "evaluate", "update"] {
            let command = format!("{command} {model} -");
            let error = folder.run_with_input(&command, b"a lawn and a rose\n").fails(1);
            let remedy = format!(
                "; this is read as {}, as the training file was: add --from tsv for lines of text\n",
                model.to_uppercase()
            );
            assert!(error.contains(problem) && error.ends_with(&remedy), "{command}: {error}");
        }
    }
    let found = folder.run_with_input("predict jsonl - --labels-only", line.as_bytes());
    assert_eq!(found.succeeds(), "maps\n");
}

#[test]
fn the_format_that_training_was_told_is_kept() {
    let folder = Folder::new();
    folder.write("goods.tab", goods(40));
    let flags = "--from csv --trees 2 --test goods.tab --json -q";
    folder.run(&format!("train goods.tab --model model {flags}")).succeeds();
    let inside = folder.run("inspect model").succeeds();
    assert!(inside.contains("  format              csv\n"), "{inside}");
    let best = folder.run("predict model goods.tab").succeeds();
    assert_eq!(best.lines().count(), 40);
    assert!(best.starts_with("g0\t"), "{best}");
}
