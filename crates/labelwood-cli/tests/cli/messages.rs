//! What is said about words that were typed wrong, and how it is mended.

use crate::harness::Folder;
use crate::trained::named;

/// Questions as a table with columns of other names, and a model of them.
fn questions() -> Folder {
    let folder = Folder::new();
    folder.run("demo --write-corpus q --to tsv -q").succeeds();
    folder
}

#[test]
fn numbers_that_are_none_are_asked_for_in_words() {
    let folder = Folder::new();
    for (typed, said) in [
        ("predict m a.tsv --top-k 0", "must be 1 or more"),
        ("predict m a.tsv --beam 0", "must be 1 or more"),
        ("predict m a.tsv --shares 0 -o x", "must be 1 or more"),
        ("plan a.tsv -o p --shards 0", "must be 1 or more"),
        ("train a.tsv -m m --trees 1e9", "expected a whole number"),
        ("train a.tsv -m m --seed abc", "expected a whole number"),
        ("evaluate m a.tsv --at 1-5", "expected a whole number, or a list such as 1,3,5"),
        ("train a.tsv -m m --trees -5", "must be at least 1"),
        (
            "train a.tsv -m m --holdout 10",
            "expected a share of the rows between 0 and 1, such as 0.1",
        ),
        ("train a.tsv -m m --stem deutsch", "that language is called german here"),
        ("train a.tsv -m m --stem fi", "that language is called finnish here"),
    ] {
        let done = folder.run(typed);
        assert_eq!(done.code(), 2, "{typed}");
        assert!(done.stderr().contains(said), "{typed}: {}", done.stderr());
    }
}

#[test]
fn what_was_meant_is_said() {
    let folder = questions();
    folder.run("train q/train.tsv -m m --trees 2 --algorithm craftml -q").succeeds();
    folder.write("a.csv", "nr,Question,Subjects\n1,a,b\n");
    folder.write("a.jsonl", "{\"text\":\"a\",\"bib\":{\"id\":7,\"title\":\"b\"},\"subjects\":[{\"uri\":\"x\",\"tag\":\"y\"}]}\n");
    for (typed, said) in [
        (
            "train q/train.tsv -m n --max-df 1",
            "at least min_df; 1 means one document, 1.0 means all",
        ),
        ("train q/train.tsv -m n --stop-words deutsch", "that language is called german here"),
        ("predict m lived", "lived: no such file; for a text: labelwood predict m --text lived"),
        (
            "train a.jsonl -m n --label-column subjects[].ur",
            "there is no key `ur` in `subjects[]`: there are `tag`, `uri`; name the key to take",
        ),
        (
            "train a.jsonl -m n --text-column bib --label-column subjects[].uri",
            "the field `bib` holds an object: name the key within to take, as in `bib.title`",
        ),
        (
            "convert q/train.tsv x.xlsx",
            "name it .txt, .svm or .lwd, or add --to xc, --to libsvm or --to lwd",
        ),
        ("train a.csv -m n", "perhaps --text-column 'Question' --label-column 'Subjects'"),
        ("inspect m --label MAPS", "did you mean `maps`?"),
    ] {
        let error = folder.run(typed).fails(1);
        assert!(error.contains(said), "{typed}: {error}");
    }
    let offered = folder.run("convert q/train.tsv x.xlsx").fails(1);
    assert!(!offered.contains("tsv or"), "{offered}");
}

#[test]
fn a_merge_that_is_done_has_nothing_to_do_and_a_stage_can_be_waited_for() {
    let folder = questions();
    folder.run("plan q/train.tsv -o p --shards 2 --algorithm label-tree -q").succeeds();
    let error = folder.run("shard --plan p --index 0 --stage 2").fails(1);
    assert!(error.contains("run this again when it is, or add --wait"), "{error}");
    folder.run("shard --plan p --index 0 --workers 1 -q").succeeds();
    folder.run("merge --plan p -m merged -q").succeeds();
    let again = folder.run("merge --plan p -m merged");
    assert_eq!(
        (again.code(), again.stderr().as_str()),
        (0, "merged: already merged, nothing to do\n")
    );
}

#[test]
fn a_probability_above_1_is_refused_and_auto_needs_a_threshold() {
    let folder = questions();
    folder.run("train q/train.tsv -m grove --trees 2 -q").succeeds();
    let error = folder.run("predict grove q/test.tsv --threshold 20").fails(1);
    assert!(
        error.contains("--threshold 20: the scores are probabilities, which lie between 0 and 1"),
        "{error}"
    );
    folder.run("predict grove q/test.tsv --threshold auto").succeeds();
    let error = named().run("predict model three.txt --threshold auto").fails(1);
    assert!(
        error.contains(
            "the model has learned none: add --threshold auto to train, or state a number"
        ),
        "{error}"
    );
}

#[test]
fn the_folder_of_a_model_is_asked_for_with_the_line_to_type() {
    let folder = questions();
    for (typed, said) in [
        (
            "train q/train.tsv books",
            "the folder of the model has a flag: labelwood train q/train.tsv -m books\n",
        ),
        (
            "train q/train.tsv",
            "name a folder for the model: labelwood train q/train.tsv -m model\n",
        ),
    ] {
        let done = folder.run(typed);
        assert!(done.code() == 2 && done.stderr().contains(said), "{typed}: {}", done.stderr());
    }
}

#[test]
fn the_help_of_train_fits_a_screen() {
    let help = Folder::new().run("train -h").succeeds();
    assert!(help.lines().count() <= 40 && help.contains("Examples:"), "{help}");
}
