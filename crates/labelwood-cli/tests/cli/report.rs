//! `evaluate --report` and `train --report`: the page holds what `evaluate` prints, and stays in bounds.

use serde_json::Value;

use crate::harness::Folder;
use crate::trained::trained;

/// The text between tags, tags left out; checks that every tag is closed in order, that there is no script
/// and that nothing is fetched.
#[track_caller]
pub fn text_of(page: &str) -> String {
    assert!(page.starts_with("<!DOCTYPE html><html lang=\"en\">"), "{}", &page[..80]);
    let (mut text, mut open) = (String::new(), Vec::new());
    let mut rest = &page["<!DOCTYPE html>".len()..];
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().expect("a tag has a name");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "before {:.60}", rest);
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        if matches!(name, "tr" | "p" | "h1" | "h2" | "h3" | "dt" | "dd" | "td" | "th") {
            text.push('\n');
        }
        if name == "style" && !tag.starts_with('/') {
            rest = &rest[rest.find("</style>").expect("the style ends")..];
        }
        assert!(name != "script" && name != "link" && name != "img", "{tag}");
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(!page.contains("http"), "nothing is fetched");
    text
}

/// The figures of `evaluate --json`.
fn figures(folder: &Folder, args: &str) -> Value {
    serde_json::from_str(&folder.run(args).succeeds()).expect("it is JSON")
}

/// The page with its times taken out.
fn without_times(page: &str) -> String {
    let start = page.find("<dt>time to").expect("there are times");
    page[..start].to_owned() + &page[page.find("</dl>").expect("the list ends")..]
}

#[test]
fn the_figures_of_the_page_are_those_that_are_printed() {
    let folder = trained();
    let printed = figures(&folder, "-q evaluate model test.txt --json");
    let with_report = figures(&folder, "-q evaluate model test.txt --json --report page.html");
    assert_eq!(printed["metrics"], with_report["metrics"]);
    assert_eq!(printed["slices"], with_report["slices"]);
    let text = text_of(&folder.read("page.html"));
    let percent =
        |figure: &str| format!("{:.1}", 100.0 * printed["metrics"][figure].as_f64().unwrap());
    // Rows of the table of figures: a name, then a figure with its range for each cut.
    let row_of = |name: &str| {
        let start = format!("\n{name}\n");
        let at =
            text.find(&start).unwrap_or_else(|| panic!("{name} is not in {text}")) + start.len();
        text[at..].split('\n').filter(|cell| !cell.is_empty()).take(3).collect::<Vec<_>>()
    };
    for (name, key) in [
        ("P", "p"),
        ("recall", "recall"),
        ("nDCG", "ndcg"),
        ("PSP", "psp"),
        ("micro-F1", "micro_f1"),
        ("R-precision", "rprecision"),
        ("coverage", "coverage"),
        ("macro-F1", "macro_f1"),
    ] {
        for (cell, k) in row_of(name).into_iter().zip([1, 3, 5]) {
            let figure = percent(&format!("{key}@{k}"));
            assert!(cell.starts_with(&figure), "{name}@{k}: {cell} is not {figure}");
            let is_known = cell.len() > figure.len();
            assert_eq!(is_known, !matches!(key, "coverage" | "macro_f1"), "{name}@{k}: {cell}");
        }
    }
    assert!(text.contains(&format!("{} % of the rows", percent("p@1"))), "{text}");
    let again = folder.read("page.html");
    folder.run("-q evaluate model test.txt --report page.html --overwrite --threads 1").succeeds();
    assert_eq!(without_times(&folder.read("page.html")), without_times(&again));
}

#[test]
fn names_and_texts_are_escaped_and_shown_with_the_rows() {
    let folder = Folder::new();
    let text = "<script>alert('x')</script> & old \"maps\"";
    let row = |at: usize| format!("{text} {at}\t{}\n", ["<b>maps</b> old", "seas & co"][at % 2]);
    folder.write("rows.tsv", (0..40).map(row).collect::<String>());
    // The labels of the tested rows are the other way round, so that all of them look wrong.
    folder.write(
        "test.tsv",
        (1..30)
            .map(|at| row(at).replace(&format!(" {at}\t"), &format!(" {}\t", at + 1)))
            .collect::<String>(),
    );
    let train = "-q train rows.tsv --model model --label-separator ; --algorithm label-tree \
                 --test test.tsv --report page.html";
    folder.run(train).succeeds();
    let page = folder.read("page.html");
    let shown = text_of(&page);
    assert!(shown.contains("&lt;b&gt;maps&lt;/b&gt; old"), "{shown}");
    assert!(shown.contains("&lt;script&gt;alert("), "{shown}");
    assert!(shown.contains("model on test.tsv") && shown.contains("Rows to look at"), "{shown}");
    // The same page comes of evaluating what was trained.
    folder.run("-q evaluate model test.tsv --label-separator ; --report again.html").succeeds();
    assert_eq!(without_times(&folder.read("again.html")), without_times(&page));
}

#[test]
fn a_report_of_odd_data_is_a_sound_page() {
    let folder = Folder::new();
    folder.write("rows.tsv", "old maps\tmaps\nnew seas\tseas\n".repeat(20));
    folder.run("-q train rows.tsv --model model --algorithm one-vs-rest").succeeds();
    folder.write("one.tsv", "old maps\tmaps\n");
    folder.write("never.tsv", "old maps\tbirds\nnew seas\tbees\nwho\tcats\n");
    folder.write("none.tsv", "old maps\t\nnew seas\t\n");
    let says = |name: &str, what: &[&str]| {
        let report = format!("-q evaluate model {name}.tsv --report {name}.html");
        folder.run(&report).succeeds();
        let page = text_of(&folder.read(&format!("{name}.html")));
        what.iter().for_each(|what| assert!(page.contains(what), "{name}: {what}: {page}"));
        assert!(!page.contains("NaN") && !page.contains("inf"), "{name}: {page}");
    };
    says("one", &["1 row and 2 labels", "100.0 %", "too few rows"]);
    says("never", &["3 of which no training row has", "0.0 %", "Rows to look at"]);
    says("none", &["(2 without labels)", "no label"]);
    // Predictions of somebody else, without scores.
    folder.write("theirs.tsv", "maps\nseas\nseas\n");
    let theirs =
        "-q evaluate --predictions theirs.tsv --train rows.tsv never.tsv --report theirs.html";
    folder.run(theirs).succeeds();
    let page = text_of(&folder.read("theirs.html"));
    assert!(page.contains("The predictions came without scores"), "{page}");
    assert!(!page.contains("Rows to look at") && !page.contains("NaN"), "{page}");
}

#[test]
fn a_page_is_bounded_whatever_the_data_are() {
    let folder = Folder::new();
    let long = "word ".repeat(20_000);
    let label = "x".repeat(5000);
    let row = |at: usize| {
        let labels: Vec<String> =
            (0..30).map(|one| format!("{label}{}", (at + one) % 90)).collect();
        format!("{at} {} {long}\t{}\n", at % 17, labels.join(";"))
    };
    folder.write("rows.tsv", (0..60).map(row).collect::<String>());
    let train = "-q train rows.tsv --model model --algorithm label-tree --label-separator ;";
    folder.run(train).succeeds();
    let cuts = (1..200).map(|k: usize| k.to_string()).collect::<Vec<_>>().join(",");
    folder.write("other.tsv", (7..67).map(row).collect::<String>());
    folder
        .run(&format!(
            "-q evaluate model other.tsv --at {cuts} --label-separator ; --report page.html"
        ))
        .succeeds();
    let page = folder.read("page.html");
    text_of(&page);
    assert!(page.len() < 400_000, "{}", page.len());
}

#[test]
fn a_report_does_not_change_what_any_algorithm_says() {
    let folder = trained();
    for algorithm in ["label-tree", "label-forest", "one-vs-rest", "neighbours", "grove"] {
        let train = format!("-q train train.txt --algorithm {algorithm} --model {algorithm}");
        folder.run(&train).succeeds();
        let plain = figures(&folder, &format!("-q evaluate {algorithm} test.txt --json"));
        let args = format!("-q evaluate {algorithm} test.txt --json --report {algorithm}.html");
        assert_eq!(plain["metrics"], figures(&folder, &args)["metrics"], "{algorithm}");
    }
}

#[test]
fn reports_that_cannot_be_written_are_refused_before_any_work() {
    let folder = trained();
    folder.write("page.html", "mine");
    let error = folder.run("-q evaluate model test.txt --report page.html").fails(1);
    assert!(error.contains("page.html"), "{error}");
    assert_eq!(folder.read("page.html"), "mine");
    let error = folder.run("-q evaluate model test.txt --report test.txt --overwrite").fails(1);
    assert!(error.contains("test.txt"), "{error}");
    let error = folder.run("-q train train.txt --model new --report new.html").fails(1);
    assert!(error.contains("add --holdout 0.1, or --test with rows"), "{error}");
    let train = "-q train train.txt --model new --report page.html --holdout 0.1";
    assert!(folder.run(train).fails(1).contains("page.html"));
    assert!(!folder.path("new").exists());
}
