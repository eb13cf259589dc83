//! `labelwood explain`.

use serde_json::Value;

use crate::harness::{Done, Folder, XC};

const TEXTS: &str = "id,text,labels
a,old owls of the north,birds
b,grey owls and herons,birds
c,an old atlas of the north,maps
d,the new atlas of maps,maps
e,herons of the north,birds
f,maps and an atlas,maps
";

fn trained() -> Folder {
    let folder = Folder::new();
    folder.write("books.csv", TEXTS);
    let train = "train books.csv -m books --algorithm one-vs-rest --min-df 1 -q";
    folder.run(train).succeeds();
    folder
}

/// Runs `labelwood explain books --text T` with further arguments.
fn explain(folder: &Folder, text: &str, args: &str) -> Done {
    let args =
        ["explain", "books", "--text"].into_iter().chain([text]).chain(args.split_whitespace());
    Done::of(&mut folder.command(args))
}

fn lines(output: &str) -> Vec<Value> {
    output.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

#[test]
fn words_are_marked_in_the_text() {
    let folder = trained();
    let table = explain(&folder, "Owls in the atlas", "--to table --label birds").succeeds();
    assert!(table.starts_with("birds  0."), "{table}");
    assert!(table.contains("\n  [+Owls] in "), "{table}");
    assert!(table.contains("[-atlas]") && table.contains("\n  not known   in\n"), "{table}");
    for part in ["\n  for         owls +", "\n  against     atlas -", "\n  one-vs-rest 0."] {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(!table.contains('\x1b'));
    let forced = folder
        .command(["explain", "books", "--text", "Owls", "--to", "table"])
        .env("CLICOLOR_FORCE", "1")
        .output()
        .expect("it runs");
    let forced = String::from_utf8_lossy(&forced.stdout).into_owned();
    assert!(forced.contains("\x1b[1;4;32mOwls\x1b[0m"), "{forced}");
    let plain = folder
        .command(["explain", "books", "--text", "Owls", "--to", "table"])
        .env("CLICOLOR_FORCE", "1")
        .env("NO_COLOR", "1")
        .output()
        .expect("it runs");
    assert!(!String::from_utf8_lossy(&plain.stdout).contains('\x1b'));
    let control = explain(&folder, "owls\u{1b}[2J", "--to table").succeeds();
    assert!(!control.contains('\x1b'), "what a text has does not reach the terminal");
}

#[test]
fn json_has_a_line_for_each_text_and_row() {
    let folder = trained();
    let output = folder
        .command(["explain", "books", "--text", "owls", "--text", "atlas", "-k", "1"])
        .output();
    let output = String::from_utf8(output.expect("it runs").stdout).expect("it is text");
    let found = lines(&output);
    assert_eq!(found.len(), 2);
    assert_eq!(found[1]["labels"][0]["label"]["name"], "maps");
    assert_eq!(found[1]["labels"][0]["parts"][0]["kind"], "linear");

    let found = lines(&folder.run("explain books books.csv -k 1").succeeds());
    let ids: Vec<&Value> = found.iter().map(|line| &line["id"]).collect();
    assert_eq!(ids, ["a", "b", "c", "d", "e", "f"]);
    assert_eq!(found[3]["row"], 3);
    assert_eq!(found[3]["text"], "the new atlas of maps");
    let whole = folder.run("explain books books.csv -k 1 --threads 1").succeeds();
    assert_eq!(lines(&whole), found);
}

#[test]
fn pages_need_no_other_file_and_escape_the_text() {
    let folder = trained();
    explain(&folder, "<script>owls</script>", "-o why.html -k 1").succeeds();
    let page = folder.read("why.html");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
    assert!(page.contains("&lt;script&gt;<mark") && !page.contains("<script"), "{page}");
    for outside in ["http", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("lang=\"en\"") && page.contains("prefers-color-scheme:dark"), "{page}");
    let again = explain(&folder, "owls", "-o why.html");
    assert!(again.fails(1).contains("why.html"));
    explain(&folder, "owls", "-o why.html --overwrite").succeeds();
    folder.run("explain books books.csv -o all.html").succeeds();
    assert_eq!(folder.read("all.html").matches("<article").count(), 6);
}

#[test]
fn a_label_that_is_not_there_is_answered_with_one_like_it() {
    let folder = trained();
    let error = explain(&folder, "owls", "--label brids").fails(1);
    assert!(error.contains("there is no label `brids`: did you mean `birds`?"), "{error}");
    let error = explain(&folder, "owls", "--label quantum").fails(1);
    assert!(error.contains("there is no label `quantum`: predictions show how"), "{error}");
    let error = explain(&folder, "owls", "-o why.doc").fails(1);
    assert!(error.contains("add --to json, --to html or --to table"), "{error}");
    let error = folder.command(["explain", "books", "old owls"]).output().expect("it runs");
    let error = String::from_utf8_lossy(&error.stderr).into_owned();
    assert!(error.contains("for a text: labelwood explain books --text 'old owls'"), "{error}");
    assert_eq!(folder.run("explain books").code(), 2);
}

#[test]
fn a_text_without_a_known_word_says_so() {
    let folder = trained();
    let found = lines(&explain(&folder, "xyzzy", "").succeeds());
    assert_eq!(found[0]["labels"], Value::Array(vec![]));
    assert_eq!(found[0]["note"], "the model knows no word of the text, so it names no label");
    let table = explain(&folder, "xyzzy", "--to table").succeeds();
    assert_eq!(
        table,
        "the model knows no word of the text, so it names no label\n  not known   xyzzy\n"
    );
}

#[test]
fn rows_of_features_are_explained_by_their_numbers() {
    let folder = Folder::new();
    folder.write("a.txt", XC);
    folder.run("train a.txt -m model --algorithm one-vs-rest -q").succeeds();
    let found = lines(&folder.run("explain model a.txt --label 2").succeeds());
    assert_eq!(found.len(), 4);
    assert_eq!(found[0]["text"], Value::Null);
    assert_eq!(found[0]["labels"][0]["label"]["id"], 2);
    assert!(found[0]["labels"][0]["features"][0]["feature"].is_u64(), "{}", found[0]);
    assert_eq!(found[3]["note"], "the row has no features");
    let table = folder.run("explain model a.txt -k 1 --to table").succeeds();
    assert!(table.contains("row 1\n") && table.contains("feature 3 +"), "{table}");
    let error = folder.run("explain model --text owls").fails(1);
    assert!(error.contains("the model was trained on vectors"), "{error}");
    let error = folder.run("explain model a.txt --label 9").fails(1);
    assert!(error.contains("the model's labels are the numbers from 0 to 2"), "{error}");
}
