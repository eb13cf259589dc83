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
    assert!(inside.contains("trained on  3 instances, 2 features, 1 labels"), "{inside}");
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
    let error = refused("a.tsv", "old maps\tmaps", "");
    assert!(error.contains("no term of the 1 documents is kept") && error.contains("--min-df 1"));
    let error = refused("a.csv", "text,labels\n", "");
    assert!(error.starts_with("error: a.csv:1:1: the file is empty"), "{error}");
}

#[test]
fn a_headed_file_with_tabs_is_told_to_be_a_table() {
    let text = TABLE.replace(',', "\t");
    let error = refused("a.tsv", &text, "");
    assert!(error.contains("found 3 fields") && error.contains("as CSV"), "{error}");
    accepted("a.tsv", &text, "--from csv");
    accepted("a.tsv", &text, "--format csv");
}

#[test]
fn a_line_that_is_no_json_names_its_place() {
    let error = refused("a.jsonl", "{\"text\":\"a\",\"labels\":[]}\n{\"text\":}\n", "");
    assert!(error.starts_with("error: a.jsonl:2:9: this is no JSON object"), "{error}");
}
