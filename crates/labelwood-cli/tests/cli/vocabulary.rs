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
    let line = "vocabulary  3 names and 1 further ones (en, fi), 2 broader pairs\n";
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
    folder.run(&format!("{TRAIN} --model model")).succeeds();
    let plan = TRAIN.replace("train", "plan") + " --shards 2 --output plan";
    folder.run(&plan).succeeds();
    for shard in 0..2 {
        folder.run(&format!("shard --plan plan --index {shard} -q")).succeeds();
    }
    folder.run("merge --plan plan --model merged -q").succeeds();
    let manifest =
        |model: &str| fs::read(folder.path(model).join("manifest.json")).expect("it was written");
    assert_eq!(manifest("model"), manifest("merged"));
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
