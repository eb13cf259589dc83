//! `--vocabulary` and `--language`.

use std::fs;

use crate::harness::Folder;

const ANIMALS: &str = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n\
    @prefix : <x:> .\n\
    :bird skos:prefLabel \"birds\"@en, \"linnut\"@fi ; skos:altLabel \"fowl\"@en ; skos:broader :animal .\n\
    :cat skos:prefLabel \"cats\"@en, \"kissat\"@fi ; skos:broader :animal .\n\
    :animal skos:prefLabel \"animals\"@en, \"eläimet\"@fi .\n";

/// Titles with labels that go by code, preferred name and further name.
fn titles() -> String {
    (0..30)
        .map(|at| match at % 3 {
            0 => "a bird sings in the tree\t<x:bird>\n",
            1 => "the fowl of the farm sings\tfowl\n",
            _ => "the cat sleeps on the mat\tcats\n",
        })
        .collect()
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("zoo.tsv", titles());
    folder.write("animals.ttl", ANIMALS);
    folder
}

const TRAIN: &str =
    "train zoo.tsv --vocabulary animals.ttl --algorithm one-vs-rest -q --language en";

#[test]
fn a_model_knows_its_labels_by_every_name_and_shows_any_language() {
    let folder = folder();
    folder.run(&format!("{TRAIN} --model model --keep-rows")).succeeds();
    folder.write("ask.tsv", "a bird sings\t\n");
    let best = |flags: &str| {
        folder.run(&format!("predict model ask.tsv --top-k 1 --labels-only {flags}")).succeeds()
    };
    assert!(best("--format table").contains("birds"));
    assert!(best("--format table --language fi").contains("linnut"));
    assert_eq!(best("--format tsv --language fi"), "x:bird\n");
    let inside = folder.run("inspect model --language FI").succeeds();
    let line = "vocabulary  3 names and 1 further one (en, fi), 2 broader pairs\n";
    assert!(inside.contains(line), "{inside}");
    assert!(inside.contains("linnut") && inside.contains("3 labels"), "{inside}");
    let error = folder.run("predict model ask.tsv --language sv").fails(1);
    let expected = "there are no names in the language `sv`: the model has `en`, `fi`";
    assert!(error.contains(expected), "{error}");
    folder.run("evaluate model zoo.tsv --per-label labels --language fi -q").succeeds();
    let table = folder.read("labels");
    assert!(table.contains("kissat"), "{table}");
    folder.write("only.txt", "fowl\n");
    assert!(best("--format table --only-labels only.txt").contains("birds"));
    folder.write("more.tsv", "the dog of the farm barks\tdog\na bird sings\tbirds\n");
    folder.run("update model more.tsv -q").succeeds();
    let inside = folder.run("inspect model").succeeds();
    assert!(inside.contains("4 labels") && inside.contains("(en, fi), 2 broader"), "{inside}");
    assert!(best("--format table --language fi").contains("linnut"));
}

#[test]
fn shards_merge_to_the_model_with_all_names_of_the_vocabulary() {
    let folder = folder();
    // Enough rows to decide on parts.
    folder.write("zoo.tsv", titles().repeat(40));
    for train in [TRAIN.to_owned(), TRAIN.replace("--algorithm one-vs-rest", "--trees 3")] {
        folder.run(&format!("{train} --model model --overwrite")).succeeds();
        let plan = train.replace("train", "plan") + " --shards 2 --output plan --overwrite";
        folder.run(&plan).succeeds();
        for (shard, stage) in [(0, 1), (1, 1), (0, 2), (1, 2)] {
            let shard = format!("shard --plan plan --index {shard} --stage {stage} -q");
            assert_eq!(folder.run(&shard).code(), 0);
        }
        folder.run("merge --plan plan --model merged --overwrite -q").succeeds();
        let manifest = |model: &str| {
            fs::read(folder.path(model).join("manifest.json")).expect("it was written")
        };
        assert_eq!(manifest("model"), manifest("merged"), "{train}");
    }
    assert!(folder.read("model/manifest.json").contains("kept: "));
    // A worker may have the counts of names, and another the trees.
    let whole = folder.run("predict model zoo.tsv --format tsv").succeeds();
    for share in 0..3 {
        let asked = format!("predict model zoo.tsv --shares 3 --index {share} --output said -q");
        folder.run(&asked).succeeds();
    }
    let joined = folder.run("predict model zoo.tsv --format tsv --join said").succeeds();
    assert_eq!(joined, whole);
}

#[test]
fn vectors_keep_the_numbers_and_names_of_a_vocabulary() {
    let folder = folder();
    folder.run("convert zoo.tsv rows.lwd --vocabulary animals.ttl --language fi -q").succeeds();
    folder.run("train rows.lwd --model model --algorithm one-vs-rest -q").succeeds();
    let inside = folder.run("inspect model --language en").succeeds();
    assert!(inside.contains("(fi, en), 2 broader pairs"), "{inside}");
    assert!(inside.contains("cats"), "{inside}");
    let refused = folder.run("train zoo.tsv --model m --language fi");
    assert_eq!(refused.code(), 2);
    assert!(refused.stderr().contains("--vocabulary"), "{}", refused.stderr());
    let error = folder.run("train zoo.tsv --model m --vocabulary animals.json").fails(1);
    assert!(error.contains("the ending does not tell the format"), "{error}");
}

#[test]
fn names_beside_text_are_found_with_their_further_names() {
    let folder = folder();
    folder.write("labels.txt", "x:bird\tbirds\tfowl\nx:cat\tcats\nx:dog\tdogs\n");
    folder.run("train zoo.tsv --model model --algorithm one-vs-rest -q").succeeds();
    let inside = folder.run("inspect model --json").succeeds();
    assert!(inside.contains("\"labels\":3"), "{inside}");
    let line = "\"vocabulary\":{\"names\":3,\"further_names\":1,\"broader\":0}";
    assert!(inside.contains(line), "{inside}");
}

/// The labels of a text, best first.
#[track_caller]
fn labels_of(folder: &Folder, model: &str, text: &str) -> Vec<String> {
    let asked = format!("predict {model} - --labels-only");
    let found = folder.run_with_input(&asked, text.as_bytes()).succeeds();
    found.trim_end().split('\t').map(str::to_owned).collect()
}

#[test]
fn names_are_found_without_a_single_row_to_learn_from() {
    let folder = folder();
    let vocabulary = "--vocabulary animals.ttl --language en";
    let train = format!("train {vocabulary} --model model");
    folder.run(&format!("{train} --algorithm names -q")).succeeds();
    assert_eq!(labels_of(&folder, "model", "all the birds of the sea\n"), ["x:bird"]);
    assert_eq!(labels_of(&folder, "model", "a fowl and a cat\n"), ["x:bird", "x:cat"]);
    let figures = folder.run("evaluate model zoo.tsv --json -q").succeeds();
    assert!(figures.contains("\"p@1\": 1.0") || figures.contains("\"p@1\":1.0"), "{figures}");
    for algorithm in ["", "--algorithm auto", "--algorithm label-tree"] {
        let error = folder.run(&format!("{train} {algorithm} --overwrite")).fails(1);
        assert!(
            error.contains("DATA is missing") && error.contains("--algorithm names"),
            "{error}"
        );
    }
    assert_eq!(folder.run("train --algorithm names --model other").code(), 2);
    let plan = format!("plan {vocabulary} --algorithm names --shards 1 --output plan -q");
    folder.run(&plan).succeeds();
    folder.run("shard --plan plan --index 0 -q").succeeds();
    folder.run("merge --plan plan --model merged -q").succeeds();
    let manifest = |model: &str| folder.read(&format!("{model}/manifest.json"));
    assert_eq!(manifest("model"), manifest("merged"));
}

#[test]
fn labels_of_the_vocabulary_without_rows_are_predicted_by_their_names() {
    let folder = folder();
    folder.run("train zoo.tsv --vocabulary animals.ttl --language en --model model -q").succeeds();
    let found = labels_of(&folder, "model", "animals of the forest\n");
    assert!(found.contains(&"x:animal".to_owned()), "{found:?}");
}

#[test]
fn a_vocabulary_is_added_to_a_model_with_rows_or_without() {
    let folder = folder();
    folder.write(
        "more.ttl",
        format!(
            "{ANIMALS} :cat skos:altLabel \"felines\"@en .\n\
             :horse skos:prefLabel \"horses\"@en, \"hevoset\"@fi ; skos:broader :animal .\n"
        ),
    );
    let train = "train zoo.tsv --vocabulary animals.ttl --language en -q --keep-rows --overwrite";
    folder.run(&format!("{train} --model model")).succeeds();
    let done = folder.run("update model --vocabulary more.ttl");
    assert_eq!(done.code(), 0, "{}", done.stderr());
    let told = done.stderr();
    assert!(
        told.contains("0 rows and 1 new label added") && told.contains("1 with other names"),
        "{told}"
    );
    assert!(told.contains("1 new label has no rows: found by name"), "{told}");
    for (text, label) in [("horses in the field\n", "x:horse"), ("a feline\n", "x:cat")] {
        let found = labels_of(&folder, "model", text);
        assert!(found.contains(&label.to_owned()), "{text}: {found:?}");
    }
    let inside = folder.run("inspect model --language fi").succeeds();
    assert!(inside.contains("4 names") && inside.contains("3 broader pairs"), "{inside}");
    let again = folder.run("update model --vocabulary more.ttl").stderr();
    assert!(again.contains("there is nothing left to do"), "{again}");
    let again = folder.run("update model --vocabulary animals.ttl").stderr();
    assert!(again.contains("the model has all these names"), "{again}");

    // With rows, which are counted where names are found.
    folder.run(&format!("{train} --model names --algorithm names")).succeeds();
    folder.write("more.tsv", "the horse runs\thorses\na horse and a cat\thorses\n".repeat(20));
    folder.run("update names more.tsv --vocabulary more.ttl").stderr();
    let inside = folder.run("inspect names").succeeds();
    assert!(inside.contains("40 rows  x:horse: horses") || inside.contains("horses"), "{inside}");
    assert_eq!(labels_of(&folder, "names", "a horse and a cat\n")[0], "x:horse");

    folder.write("farm.tsv", "x:farm\tfarm\n");
    for (algorithm, fate) in [
        ("label-tree", "learned from those words"),
        ("one-vs-rest", "learned from those words"),
        ("craftml", "not predicted before there are rows"),
    ] {
        folder.run(&format!("{train} --model other --algorithm {algorithm}")).succeeds();
        let told = folder.run("update other --vocabulary farm.tsv").stderr();
        assert!(told.contains(fate), "{algorithm}: {told}");
        let found = labels_of(&folder, "other", "farm\n");
        assert_eq!(
            found.contains(&"x:farm".to_owned()),
            algorithm != "craftml",
            "{algorithm}: {found:?}"
        );
    }
}
