//! Text in, names out: every subcommand on documents.

use serde_json::Value;

use crate::harness::Folder;
use crate::trained::named;

/// Titles about birds and maps, three labels separated by semicolons.
fn titles(rows: usize) -> String {
    let birds = ["owl", "heron", "finch", "nest", "feather"];
    let maps = ["atlas", "scale", "river", "border", "legend"];
    let mut text = String::new();
    for at in 0..rows {
        let (words, label) = if at % 2 == 0 { (birds, "birds") } else { (maps, "old maps") };
        let (one, two, three) = (words[at % 5], words[at / 2 % 5], words[at / 3 % 5]);
        text.push_str(&format!("The {one} and the {two}, {three}\t{label}; library\n"));
    }
    text
}

/// A folder with `train.tsv`, `test.tsv` and `model`, trained on the first.
fn trained() -> Folder {
    let folder = Folder::new();
    folder.write("train.tsv", titles(60));
    folder.write("test.tsv", titles(10));
    folder.run("train train.tsv --model model --trees 4 --leaf 8 -q").succeeds();
    folder
}

fn labels(line: &str) -> Vec<&str> {
    line.split('\t').map(|entry| entry.rsplit_once(' ').expect("label and score").0).collect()
}

#[test]
fn two_commands_lead_from_a_title_to_names() {
    let folder = trained();
    let out = folder.run_with_input("predict model - --top-k 2", b"an atlas and its legend\n");
    let line = out.succeeds();
    let mut found = labels(line.trim_end());
    found.sort_unstable();
    assert_eq!(found, ["library", "old maps"]);
}

#[test]
fn training_says_what_it_decided() {
    let folder = Folder::new();
    folder.write("train.tsv", titles(60));
    let done = folder.run("train train.tsv --model model --trees 2");
    let notes = done.stderr();
    assert_eq!(done.code(), 0, "{notes}");
    let text = "text: 60 documents, 12 terms, 3 labels separated by `;` (--label-separator)";
    assert!(notes.contains(text), "{notes}");
    assert!(notes.contains("memory: about"), "{notes}");
    let json = folder.run("train train.tsv --model other --trees 2 --json").succeeds();
    let line: Value = serde_json::from_str(&json).expect("it is JSON");
    assert!(line["seconds"]["read"].as_f64().is_some(), "{json}");
}

/// The units of a model and their checksums, as the manifest lists them.
fn units(folder: &Folder) -> Value {
    let manifest = folder.read("model/manifest.json");
    serde_json::from_str::<Value>(&manifest).expect("it is JSON")["units"].clone()
}

#[test]
fn the_language_is_guessed_shown_and_kept() {
    let folder = Folder::new();
    folder.run("demo --write-corpus questions -q").succeeds();
    let train = |flags: &str| {
        let done = folder.run(&format!(
            "train questions/train.tsv --algorithm label-tree --trees 1 --model model --overwrite {flags}"
        ));
        assert_eq!(done.code(), 0, "{}", done.stderr());
        let manifest = folder.read("model/manifest.json");
        let manifest: Value = serde_json::from_str(&manifest).expect("it is JSON");
        (done.stderr(), manifest["text"]["vectoriser"].clone())
    };
    let (notes, text) = train("--stem auto --stop-words auto");
    assert!(notes.contains("\nlanguage: english (guessed; --stem takes another)\n"), "{notes}");
    assert_eq!((&text["stem"], &text["stop_words"]), (&"english".into(), &"english".into()));
    let stated = units(&folder);
    let (notes, same) = train("--stem english --stop-words english");
    assert!(!notes.contains("language:"), "{notes}");
    assert_eq!((same, units(&folder)), (text, stated));

    let (notes, text) = train("");
    let guessed =
        "language: english (guessed, to find names of labels in texts; --stem takes another)";
    assert!(notes.contains(guessed), "{notes}");
    assert_eq!((&text["stem"], &text["stop_words"]), (&Value::Null, &"none".into()));

    folder.write("finnish", "which\n");
    let (_, text) = train("--stop-words ./finnish");
    assert_eq!(text["stop_words"]["words"], serde_json::json!(["which"]));
    let (_, text) = train("--stop-words finnish");
    assert_eq!(text["stop_words"], "finnish");
    let error = folder.run("train questions/train.tsv --model x --stop-words klingon").fails(1);
    assert!(error.contains("name a file, a language such as english, or auto"), "{error}");

    folder.write("codes.tsv", "x1 x2\ta1\nx2 x3\tb2\nx1 x3\ta1\n".repeat(9));
    let done = folder.run("train codes.tsv --algorithm label-tree --model codes --stem auto");
    let unsure = "language: unsure, so no words are stemmed or left out (--stem takes one)";
    assert!(done.stderr().contains(unsure), "{}", done.stderr());
}

#[test]
fn auto_reads_text_in_the_way_that_is_best() {
    let folder = Folder::new();
    folder.run("demo --write-corpus questions -q").succeeds();
    let done = folder.run("train questions/train.tsv --algorithm auto --model model --budget 20s");
    let notes = done.stderr();
    assert_eq!(done.code(), 0, "{notes}");
    let why =
        "auto: 7 ways to read text were tried on 436 documents: stem english, stop_words english";
    assert!(notes.contains(why) && notes.contains("points better than text as it is"), "{notes}");
    let manifest: Value = serde_json::from_str(&folder.read("model/manifest.json")).expect("JSON");
    assert_eq!(manifest["text"]["vectoriser"]["stem"], "english");
    let resumed = "train questions/train.tsv --algorithm auto --model model --budget 20s --resume";
    let done = folder.run(resumed);
    assert!(done.stderr().contains("auto: going on with"), "{}", done.stderr());
    assert_eq!(done.code(), 0, "{}", done.stderr());

    let texts = folder.read("questions/train.tsv");
    let train = "train - --from tsv --algorithm auto --model piped --budget 20s";
    let done = folder.run_with_input(train, texts.as_bytes());
    assert_eq!(done.code(), 0, "{}", done.stderr());
    assert!(
        done.stderr().contains("auto: standard input cannot be read twice"),
        "{}",
        done.stderr()
    );
    let kept = "train questions/train.tsv --algorithm auto --model kept --budget 20s --stem none";
    folder.run(&format!("{kept} --stop-words none -q")).succeeds();
    let manifest: Value = serde_json::from_str(&folder.read("kept/manifest.json")).expect("JSON");
    assert_eq!(manifest["text"]["vectoriser"]["stem"], Value::Null);
}

#[test]
fn the_three_formats_train_the_same_model() {
    let folder = trained();
    let (mut csv, mut jsonl) = ("nr,title,rest,tags\n".to_owned(), String::new());
    for (row, line) in titles(60).lines().enumerate() {
        let (text, tags) = line.split_once('\t').expect("text and labels");
        let (title, rest) = text.split_once(" and ").expect("two parts");
        csv.push_str(&format!("{row},\"{title}\",\"and {rest}\",{tags}\n"));
        let tags: Vec<Value> =
            tags.split("; ").map(|tag| serde_json::json!({ "uri": tag })).collect();
        let object = serde_json::json!({ "nr": row, "doc": { "text": text }, "tags": tags });
        jsonl.push_str(&format!("{object}\n"));
    }
    folder.write("train.csv", csv);
    folder.write("train.jsonl", jsonl);
    let flags = "--trees 4 --leaf 8 -q --id-column nr";
    let columns = "--text-column title,rest --label-column tags";
    folder.run(&format!("train train.csv --model csv {columns} {flags}")).succeeds();
    let columns = "--text-column doc.text --label-column tags[].uri";
    folder.run(&format!("train train.jsonl --model jsonl {columns} {flags}")).succeeds();
    let expected = folder.run("predict model test.tsv").succeeds();
    for model in ["csv", "jsonl"] {
        assert_eq!(
            folder.run(&format!("predict {model} test.tsv")).succeeds(),
            expected,
            "{model}"
        );
    }
    let error = folder.run("train train.tsv --model x --text-column title").fails(1);
    assert!(
        error.contains("does not name the columns that --text-column asks for")
            && error.contains("--from csv")
    );
}

#[test]
fn evaluate_knows_the_labels_by_name_and_reports_unseen_ones_once() {
    let folder = trained();
    let table = folder.run("evaluate model test.tsv").succeeds();
    assert!(table.contains("\nP             100.00"), "{table}");
    let line = folder.run("evaluate model test.tsv --json").succeeds();
    let figures: Value = serde_json::from_str(&line).expect("it is JSON");
    assert_eq!(figures["metrics"]["p@1"], 1.0);
    assert_eq!(figures["instances"], 10);

    let more = titles(10) + "The owl\tbirds; new; newer\nThe nest\tnew\n";
    folder.write("more.tsv", more);
    let done = folder.run("evaluate model more.tsv --json");
    assert_eq!(done.code(), 0);
    let figures: Value = serde_json::from_str(&done.stdout()).expect("it is JSON");
    assert_eq!(figures["unseen_labels"], 2);
    let table = folder.run("evaluate model more.tsv").succeeds();
    assert!(
        table.starts_with("12 rows, 5 labels (2 true here but unseen in training)\n"),
        "{table}"
    );
}

#[test]
fn train_tests_with_text() {
    let folder = trained();
    let done =
        folder.run("train train.tsv --model other --test test.tsv --trees 4 --leaf 8 --json -q");
    let line: Value = serde_json::from_str(&done.succeeds()).expect("it is JSON");
    assert_eq!(line["test"]["metrics"]["p@1"], 1.0);
    folder.write("test.txt", "1 3 3\n0 0:1\n");
    let error = folder.run("train train.tsv --model x --test test.txt").fails(1);
    assert!(error.contains("test.txt: these are vectors"), "{error}");
}

#[test]
fn the_wrong_kind_of_file_is_named() {
    let folder = trained();
    folder.write("rows.txt", "1 3 3\n0 0:1\n");
    for command in ["predict", "evaluate"] {
        let error = folder.run(&format!("{command} model rows.txt")).fails(1);
        assert!(error.contains("rows.txt: these are vectors, but the model was trained on text"));
        let error = folder.run(&format!("{command} model rows.pdf")).fails(1);
        assert!(error.contains("rows.pdf: the ending does not tell"), "{error}");
    }
    let plain = folder.run("predict model rows.txt --from tsv");
    assert_eq!(plain.stdout().lines().count(), 2, "two lines of text");
    assert!(plain.stderr().contains("2 of 2 texts: no word that the model knows"));
    let vectors = named();
    vectors.write("a.tsv", "some text\tred\n");
    for command in ["predict", "evaluate"] {
        let error = vectors.run(&format!("{command} model a.tsv")).fails(1);
        assert!(error.contains("a.tsv: this is text, but the model was trained on vectors"));
    }
    let error = vectors.run("predict model three.txt --label-separator ;").fails(1);
    assert!(error.contains("--label-separator needs text"), "{error}");
    let error = vectors.run("train train.txt --model x --min-df 3").fails(1);
    assert!(error.contains("train.txt: ") && error.contains("need text"), "{error}");
}

#[test]
fn ids_and_names_come_through_to_every_output() {
    let folder = Folder::new();
    let coded = titles(60).replace("old maps", "p7").replace("birds", "p3").replace("; ", " ");
    folder.write("train.tsv", coded);
    folder.write("labels.txt", "<p3>\tbirds\n<p7>\told maps\nlibrary\nx\tnever used\n");
    folder.run("train train.tsv --model model --trees 4 --leaf 8 -q").succeeds();
    folder.write(
        "new.jsonl",
        "{\"id\":\"a-1\",\"text\":\"atlas of\\nrivers\"}\n{\"text\":\"owl nest\"}\n",
    );
    let table = folder.run("predict model new.jsonl --format table --top-k 2").succeeds();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!((lines[0], lines[4]), ("a-1  atlas of rivers", "2  owl nest"), "{table}");
    assert!(lines[1].trim_start().starts_with("0.") || lines[1].trim_start().starts_with('1'));
    assert!(table.contains("  old maps\n") && table.contains("  birds\n"), "{table}");
    let tsv = folder.run("predict model new.jsonl --top-k 2").succeeds();
    assert!(tsv.starts_with("a-1\t") && tsv.contains("p7 "), "{tsv}");
    let only = folder.run("predict model new.jsonl --top-k 2 --labels-only").succeeds();
    let mut first: Vec<&str> = only.lines().next().expect("a row").split('\t').collect();
    first[1..].sort_unstable();
    assert_eq!(first, ["a-1", "library", "p7"]);
    let jsonl = folder.run("predict model new.jsonl --format jsonl").succeeds();
    let row: Value = serde_json::from_str(jsonl.lines().next().expect("a row")).expect("JSON");
    assert_eq!((&row["row"], &row["id"]), (&0.into(), &"a-1".into()));
    let map = row["labels"].as_array().expect("a list").iter().find(|label| label["code"] == "p7");
    let map = map.expect("it is among them");
    assert_eq!((&map["label"], &map["name"]), (&1.into(), &"old maps".into()));
    folder.write("labels.txt", "p7\told maps\n");
    let done = folder.run("train train.tsv --model other --trees 2");
    let warning = "2 labels of the data are not among the 1 of the vocabulary";
    assert!(done.stderr().contains(warning), "{}", done.stderr());
    let xc = folder.run("predict model new.jsonl --format xc").succeeds();
    assert!(xc.starts_with("2 4\n"), "{xc}");
    let xc = folder.run("predict model new.jsonl --to xc --labels-only").succeeds();
    assert_eq!(xc.lines().nth(1).map(|row| row.split(' ').count()), Some(3), "{xc}");
    let error = folder.run("predict model new.jsonl --threshold 9").fails(1);
    assert!(
        error.contains("--threshold 9: the scores are probabilities, which lie between 0 and 1"),
        "{error}"
    );
    let none = folder.run("predict model new.jsonl --threshold 1 --to table").succeeds();
    assert_eq!(none, "a-1  atlas of rivers\n    -\n\n2  owl nest\n    -\n");
}

#[test]
fn predictions_of_every_format_are_evaluated_like_the_model_that_made_them() {
    let folder = Folder::new();
    // Labels that are numbers, but not their own, and ids that look like labels with scores.
    let coded = titles(60).replace("old maps", "1").replace("birds", "0").replace("; ", " ");
    folder.write("train.tsv", &coded);
    folder.run("train train.tsv --model model --trees 4 --leaf 8 -q").succeeds();
    let id = |row: usize| ["", "0 7", "a b", "17", "0"][row % 5];
    let documents: String = titles(4)
        .replace("old maps", "1")
        .replace("birds", "0")
        .lines()
        .enumerate()
        .map(|(row, line)| {
            let (text, labels) = line.split_once('\t').expect("text and labels");
            let labels: Vec<&str> = labels.split("; ").collect();
            serde_json::json!({"id": id(row), "text": text, "labels": labels}).to_string() + "\n"
        })
        .collect();
    folder.write("test.jsonl", documents);
    let metrics = |command: &str| {
        let line = folder.run(&format!("evaluate {command} test.jsonl --json -q")).succeeds();
        serde_json::from_str::<Value>(&line).expect("it is JSON")["metrics"].clone()
    };
    let expected = metrics("model");
    for format in ["csv", "tsv", "jsonl", "xc", "npz", "tsv.gz"] {
        folder.run(&format!("predict model test.jsonl --output best.{format}")).succeeds();
        let found = metrics(&format!("--predictions best.{format} --train train.tsv"));
        assert_eq!(found, expected, "{format}");
    }
}

#[test]
fn labels_only_is_for_vectors_too() {
    let folder = named();
    let tsv = folder.run("predict model three.txt --labels-only --top-k 1").succeeds();
    assert_eq!(tsv, "0\n1\n2\n");
}

#[test]
fn inspect_shows_labels_by_name_and_their_terms() {
    let folder = trained();
    let text = folder.run("inspect model").succeeds();
    for line in
        [" 60 rows  library\n", "  separator           ;\n", "  min-df              2\n", " text "]
    {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let done =
        folder.command(["inspect", "model", "--label", "old maps"]).output().expect("it runs");
    let terms = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(terms.starts_with("old maps: 30 training rows\n  0."), "{terms}");
    let mut found: Vec<&str> =
        terms.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)).collect();
    found.sort_unstable();
    assert_eq!(found, ["atlas", "border", "legend", "river", "scale"]);
    let json = folder.run("inspect model --label birds --json").succeeds();
    let line: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&line["code"], &line["instances"]), (&"birds".into(), &30.into()));
    let error = folder.run("inspect model --label cats").fails(1);
    assert!(error.contains("no label `cats`"), "{error}");
    let error = named().run("inspect model --label red").fails(1);
    assert!(error.contains("trained on text"), "{error}");
}

#[test]
fn text_becomes_vectors_for_other_tools_and_names_again() {
    let folder = Folder::new();
    folder.write("train.tsv", titles(60));
    folder.write("test.tsv", titles(4) + "An owl\tbirds; new\n");
    folder.run("convert train.tsv train.txt --save-vectoriser words -q").succeeds();
    let xc = folder.read("train.txt");
    assert!(xc.starts_with("60 12 3\n0,1 "), "{xc}");
    assert_eq!(folder.read("train.labels.txt"), "birds\nlibrary\nold maps\n");
    let done = folder.run("convert test.tsv test.txt --vectoriser words");
    let warning = "test.tsv: 1 of its labels are not in words; they have ids from 3 on";
    assert!(done.stderr().contains(warning), "{}", done.stderr());
    assert!(folder.read("test.txt").starts_with("5 12 4\n"));
    assert_eq!(folder.read("test.txt").lines().nth(1), xc.lines().nth(1), "the same row");

    folder.run("convert train.txt back.tsv --vectoriser words").succeeds();
    let back = folder.read("back.tsv");
    let (terms, labels) = back.lines().next().expect("a row").split_once('\t').expect("two fields");
    let mut terms: Vec<&str> = terms.split(' ').collect();
    terms.sort_unstable();
    assert_eq!((terms, labels), (vec!["and", "owl", "the"], "birds;library"));
    folder.run("convert train.txt back.jsonl --vectoriser words").succeeds();
    assert!(folder.read("back.jsonl").starts_with("{\"labels\":[\"birds\",\"library\"],\"text\":"));

    // Vectors that other tools get are those that labelwood itself learns from.
    folder.run("train train.tsv --algorithm craftml --model text --trees 2 -q").succeeds();
    folder.run("train train.txt --algorithm craftml --model vectors --trees 2 -q").succeeds();
    let from_text = folder.run("predict text train.tsv --format xc").succeeds();
    assert_eq!(folder.run("predict vectors train.txt --format xc").succeeds(), from_text);
    folder.run("convert test.tsv again.txt --vectoriser text -q").succeeds();
    assert_eq!(folder.read("again.txt"), folder.read("test.txt"));
}

#[test]
fn labels_of_lists_become_text_with_a_separator_that_none_of_them_holds() {
    let folder = Folder::new();
    let line = "{\"text\":\"old maps\",\"labels\":[\"old maps\",\"paper\"]}\n";
    folder.write("a.jsonl", line.repeat(2));
    folder.run("convert a.jsonl a.txt --save-vectoriser words -q").succeeds();
    folder.run("convert a.txt a.tsv --vectoriser words").succeeds();
    assert!(folder.read("a.tsv").ends_with("\told maps;paper\n"), "{}", folder.read("a.tsv"));
}

#[test]
fn convert_refuses_what_it_cannot_do() {
    let folder = Folder::new();
    folder.write("a.tsv", titles(20));
    folder.write("rows.txt", "1 3 3\n0 0:1\n");
    let refused = [
        ("a.tsv b.tsv", "both IN and OUT are text"),
        ("rows.txt b.tsv", "add --vectoriser DIR"),
        ("rows.txt b.csv --vectoriser words", "b.csv: text is written as .tsv or .jsonl"),
        ("rows.txt b.svm --vectoriser words", "--vectoriser need text"),
        ("rows.txt b.svm --min-df 3", "need text, but both"),
        ("a.tsv b.pdf", "b.pdf: the ending does not tell the format"),
        ("a.tsv b.txt --vectoriser words", "words: "),
        ("a.tsv b.txt --vectoriser words --min-df 3", "leave out"),
    ];
    for (args, problem) in refused {
        let error = folder.run(&format!("convert {args}")).fails(1);
        assert!(error.contains(problem), "{args}: {error}");
    }
    folder.write("b.labels.txt", "other\n");
    let error = folder.run("convert a.tsv b.txt -q").fails(1);
    assert!(error.contains("b.labels.txt: the file is already there; add --overwrite"), "{error}");
    assert!(!folder.path("b.txt").exists());
}

#[test]
fn settings_of_the_vectoriser_are_kept_and_repeated() {
    let folder = Folder::new();
    folder.write("train.tsv", titles(60));
    folder.write("stop.txt", "the\nand\n");
    let flags = "--word-ngrams 1,2 --stop-words stop.txt --stem english --max-features 9 --trees 2";
    folder.run(&format!("train train.tsv --model one {flags} -q")).succeeds();
    let text = folder.run("inspect one").succeeds();
    for line in ["  word-ngrams         1,2\n", "  stem                english\n", " 9 features"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    folder.run("train train.tsv --model two --settings one -q").succeeds();
    assert_eq!(folder.read("one/manifest.json"), folder.read("two/manifest.json"));
    let hashed = folder.run("train train.tsv --model hashed --hashing 64 --trees 2");
    assert!(hashed.stderr().contains("hashed to 64 columns"), "{}", hashed.stderr());
    let error = folder.run("train train.tsv --model x --char-ngrams 5,3").fails(1);
    assert!(error.contains("--char-ngrams is 5,3"), "{error}");
    let error = folder.run("train train.tsv --model x --stop-words none.txt").fails(1);
    assert!(error.contains("none.txt"), "{error}");
    let error = folder.run("train train.tsv --model x --train-split s.txt").fails(1);
    assert!(error.contains("--train-split is for vectors"), "{error}");
}

#[test]
fn predictions_of_text_are_evaluated_by_name() {
    let folder = trained();
    folder.run("predict model test.tsv --output best.jsonl").succeeds();
    let own = folder.run("evaluate model test.tsv --json").succeeds();
    let foreign = "evaluate --predictions best.jsonl --train train.tsv test.tsv --json";
    let foreign = folder.run(foreign).succeeds();
    let metrics = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("it is JSON");
        line["metrics"].clone()
    };
    assert_eq!(metrics(&foreign), metrics(&own));
}

#[test]
fn text_is_learned_as_well_as_the_vectors_that_come_with_it() {
    let Some(data) = std::env::var_os("LABELWOOD_DATA") else {
        println!("skipped: LABELWOOD_DATA is not set");
        return;
    };
    let data = data.to_string_lossy();
    let folder = Folder::new();
    for set in ["cve-libraries", "debian-debtags"] {
        let precision = |ending: &str| {
            let (train, test) = (format!("train.{ending}.zst"), format!("test.{ending}.zst"));
            let files = format!("{data}/{set}/{train} --test {data}/{set}/{test}");
            let line = folder.run(&format!("train {files} --model {set}-{ending} --json -q"));
            let line: Value = serde_json::from_str(&line.succeeds()).expect("it is JSON");
            ["p@1", "p@3", "p@5"].map(|name| line["test"]["metrics"][name].as_f64().expect(name))
        };
        let (text, vectors) = (precision("tsv"), precision("txt"));
        println!("{set}: {text:?} from text, {vectors:?} from vectors");
        for (text, vectors) in text.into_iter().zip(vectors) {
            assert!(text > vectors - 0.005, "{set}: {text} from text, {vectors} from vectors");
        }
    }
}
