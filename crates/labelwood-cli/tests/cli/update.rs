//! `labelwood update`.

use crate::harness::Folder;
use crate::trained::{named, trained};

/// Titles about birds and maps.
fn titles(rows: usize) -> String {
    (0..rows)
        .map(|at| match at % 2 {
            0 => format!("the owl and the heron{}\tbirds\n", at % 3),
            _ => format!("an atlas of rivers{}\tmaps\n", at % 3),
        })
        .collect()
}

#[test]
fn rows_and_new_labels_are_added_in_place() {
    let folder = named();
    folder.write("more.txt", format!("14 3 4\n{}", "3 0:1 1:1\n".repeat(14)));
    folder.write("labels.txt", "r\tred\ng\tdark green\nb\tblue\np\tpurple\n");
    let done = folder.run("update model more.txt");
    let notes = done.stderr();
    assert_eq!((done.code(), done.stdout().as_str()), (0, ""), "{notes}");
    assert!(
        notes.starts_with("model: 14 rows and 1 new label added, now 76 rows and 4 labels, "),
        "{notes}"
    );
    assert!(
        notes.ends_with("leaves that grew are not divided: train with --keep-rows\n"),
        "{notes}"
    );
    assert_eq!(notes.lines().count(), 2, "{notes}");
    let inside = folder.run("inspect model").succeeds();
    assert!(inside.contains("updated     1 time, by 14 rows\n"), "{inside}");
    assert!(inside.contains("purple"), "{inside}");
    let best = folder.run("predict model more.txt --top-k 1").succeeds();
    assert!(best.contains('3'), "{best}");
    // A training does not take an updated model for its own.
    let error = folder
        .run("train train.txt --model model --trees 3 --algorithm craftml --resume -q")
        .fails(1);
    assert!(error.contains("updates is"), "{error}");
}

#[test]
fn another_folder_gets_the_new_model_and_threads_change_nothing() {
    let folder = trained();
    let before = folder.read("model/manifest.json");
    for (threads, output) in [(1, "one"), (3, "three")] {
        folder
            .run(&format!("update model test.txt --output {output} --threads {threads} -q"))
            .succeeds();
    }
    assert_eq!(folder.read("model/manifest.json"), before);
    assert_eq!(folder.read("one/manifest.json"), folder.read("three/manifest.json"));
    let done = folder.run("update model test.txt --output one");
    assert!(done.stderr().contains("nothing left to do"), "{}", done.stderr());
    let error = folder.run("update model train.txt --output one").fails(1);
    assert!(error.contains("--overwrite"), "{error}");
    folder.run("update model train.txt --output one --overwrite -q").succeeds();
    folder.run("evaluate one test.txt").succeeds();
    assert_eq!(folder.names(), ["model", "one", "test.txt", "three", "train.txt"]);
}

#[test]
fn the_same_rows_are_added_once_unless_it_is_insisted() {
    let folder = Folder::new();
    folder.write("train.tsv", titles(60));
    folder.write("more.tsv", "the owl of the zebra\tbirds zoo\na zebra\tzoo\n".repeat(15));
    folder.run("train train.tsv --model model --trees 3 --algorithm craftml -q").succeeds();
    folder.run("update model more.tsv -q").succeeds();
    let done = folder.run("update model more.tsv");
    assert!(
        done.stderr().ends_with(
            "model: the last update added these 30 rows, there is nothing left to do; --again adds \
             them once more\n"
        ),
        "{}",
        done.stderr()
    );
    assert_eq!(done.code(), 0);
    let error = folder.run("update model more.tsv --output other -q").fails(1);
    assert!(error.contains("add --again"), "{error}");
    assert!(folder.read("model/manifest.json").contains("\"instances\": 90,"));
    folder.run("update model more.tsv --again -q").succeeds();
    assert!(folder.read("model/manifest.json").contains("\"instances\": 120,"));
    assert_eq!(folder.names(), ["model", "more.tsv", "train.tsv"]);
}

#[test]
fn models_that_keep_their_rows_learn_again_what_is_touched() {
    let folder = trained();
    for algorithm in ["craftml", "grove", "label-tree", "one-vs-rest"] {
        let train =
            format!("train train.txt --algorithm {algorithm} --keep-rows --model {algorithm}");
        folder.run(&format!("{train} -q")).succeeds();
        let done = folder.run(&format!("update {algorithm} test.txt"));
        assert_eq!((done.code(), done.stderr().lines().count()), (0, 1), "{}", done.stderr());
        let inside = folder.run(&format!("inspect {algorithm}")).succeeds();
        let words: Vec<&str> = inside.split_whitespace().collect();
        assert!(
            words.join(" ").contains(", rows ") && inside.contains("520 instances"),
            "{inside}"
        );
        folder.run(&format!("evaluate {algorithm} test.txt -q")).succeeds();
    }
    for algorithm in ["label-tree", "one-vs-rest"] {
        folder
            .run(&format!("train train.txt --algorithm {algorithm} --model bare --overwrite -q"))
            .succeeds();
        let error = folder.run("update bare test.txt").fails(1);
        assert!(error.contains("train it with --keep-rows"), "{error}");
    }
    folder
        .run("train train.txt --algorithm label-forest --submodels 2 --keep-rows --model drawn -q")
        .succeeds();
    let error = folder.run("update drawn test.txt").fails(1);
    assert!(error.contains("a label-forest model cannot be updated"), "{error}");
    folder.run("train train.txt --algorithm grove --model bare --overwrite -q").succeeds();
    let notes = folder.run("update bare test.txt").stderr();
    assert!(
        notes.contains("not divided and label trees not relearned: train with --keep-rows"),
        "{notes}"
    );
}

#[test]
fn text_is_read_as_the_model_reads_it() {
    let folder = Folder::new();
    folder.write("train.tsv", titles(60));
    folder
        .write("more.tsv", "the owl of the zebra\tbirds zoo\na zebra, an okapi\tzoo\n".repeat(15));
    folder.run("train train.tsv --model model --trees 4 --leaf 8 -q").succeeds();
    let done = folder.run("update model more.tsv --output new");
    let notes = done.stderr();
    assert_eq!(done.code(), 0, "{notes}");
    assert!(
        notes.contains("more.tsv: 2 terms that the model does not know are ignored\n"),
        "{notes}"
    );
    assert!(notes.contains("30 rows and 1 new label added, now 90 rows and 3 labels"), "{notes}");
    let terms = folder.run("inspect new --label zoo").succeeds();
    assert!(terms.starts_with("zoo: 30 training rows\n"), "{terms}");
    let terms = folder.run("inspect new --label maps").succeeds();
    assert!(terms.contains("atlas"), "{terms}");
    folder.write("vectors.txt", "1 2 2\n0 0:1\n");
    let error = folder.run("update model vectors.txt").fails(1);
    assert!(error.contains("the model was trained on text"), "{error}");
    folder.run("train train.tsv --model kept --trees 4 --leaf 8 --keep-rows -q").succeeds();
    folder.run("update kept more.tsv -q").succeeds();
    let terms = folder.run("inspect kept --label zoo").succeeds();
    assert!(terms.starts_with("zoo: 30 training rows\n"), "{terms}");
}

#[test]
fn what_cannot_be_added_is_told_in_one_line() {
    let folder = named();
    folder.write("empty.txt", "0 3 3\n");
    folder.write("more.tsv", titles(2));
    folder.write("other.txt", "g\nr\nb\n");
    let before = folder.read("model/manifest.json");
    for (command, told) in [
        ("update model empty.txt", "there is nothing to add"),
        ("update model more.tsv", "the model was trained on vectors"),
        ("update model nowhere.txt", "nowhere.txt"),
        ("update nowhere three.txt", "nowhere: there is no model here"),
        ("update model three.txt --vocabulary other.txt", "label 0 is called `g`"),
        ("update model three.txt --output three.txt", "three.txt"),
    ] {
        let error = folder.run(command).fails(1);
        assert!(error.contains(told), "{command}: {error}");
    }
    assert_eq!(folder.read("model/manifest.json"), before);
}
