//! Models that are one file, in every command that takes a model.

use std::fs;
use std::process::Command;

use crate::linear::files;
use crate::trained::{named, trained};

const TRAIN: &str = "train train.txt --trees 2 --algorithm craftml -q --model";

#[test]
fn a_file_answers_as_the_folder_does() {
    let folder = trained();
    folder.run("convert model one.labelwood").succeeds();
    for command in [
        "evaluate MODEL test.txt -q",
        "predict MODEL test.txt",
        "predict MODEL test.txt --load copy --no-verify",
        "explain MODEL test.txt --top-k 1",
        "inspect MODEL",
        "inspect MODEL --json",
        "train train.txt --settings MODEL --model new --overwrite -q",
    ] {
        let [one, other] = ["model", "one.labelwood"]
            .map(|model| folder.run(&command.replace("MODEL", model)).succeeds());
        assert_eq!(one, other, "{command}");
    }
}

#[test]
fn folders_become_files_and_files_folders_to_the_same_bytes() {
    let folder = trained();
    let before = files(&folder, "model");
    folder.run("convert model one.labelwood").succeeds();
    let whole = fs::read(folder.path("one.labelwood")).expect("it was written");
    folder.run("convert one.labelwood again").succeeds();
    assert_eq!(files(&folder, "again"), before);
    folder.run("convert again one.labelwood --overwrite").succeeds();
    assert!(fs::read(folder.path("one.labelwood")).expect("it is there") == whole);
    assert!(folder.run("convert again one.labelwood").fails(1).contains("--overwrite"));
    for same in ["convert model other", "convert one.labelwood other.labelwood"] {
        assert!(folder.run(same).fails(1).contains("add --prune T"), "{same}");
    }
    folder.run("convert one.labelwood small.labelwood --prune 0.2").succeeds();
    folder.run("convert model small --prune 0.2").succeeds();
    folder.run("convert small.labelwood large").succeeds();
    assert_eq!(files(&folder, "small"), files(&folder, "large"));
}

#[test]
fn tar_lists_and_unpacks_a_file() {
    let folder = trained();
    folder.run("convert model one.labelwood").succeeds();
    let unpacked = folder.path("unpacked");
    fs::create_dir(&unpacked).expect("it is not there yet");
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(folder.path("one.labelwood")).arg("-C").arg(&unpacked);
    match tar.status() {
        Err(error) => println!("skipped: there is no tar ({error})"),
        Ok(done) => {
            assert!(done.success());
            assert_eq!(files(&folder, "unpacked"), files(&folder, "model"));
        }
    }
}

#[test]
fn a_training_into_a_file_resumes_and_gives_the_same_bytes_on_any_threads() {
    let folder = trained();
    for (name, threads) in [("one", 1), ("three", 3)] {
        folder.run(&format!("{TRAIN} {name}.labelwood --threads {threads}")).succeeds();
    }
    let [one, three] =
        ["one", "three"].map(|name| fs::read(folder.path(&format!("{name}.labelwood"))));
    assert!(one.expect("it was written") == three.expect("it was written"));
    let done = folder.run(&format!("{TRAIN} one.labelwood --resume"));
    assert_eq!(done.code(), 0, "{}", done.stderr());
    assert!(folder.run(&format!("{TRAIN} one.labelwood")).fails(1).contains("--overwrite"));
    folder.run(&format!("{TRAIN} one.labelwood --overwrite --leaf 20")).succeeds();
    assert!(folder.path("one.labelwood").is_file());
    assert!(!folder.path("one.labelwood.partial").exists());
}

#[test]
fn a_file_is_updated_in_place_and_into_another() {
    let folder = named();
    folder.run("convert model one.labelwood").succeeds();
    folder.run("update one.labelwood three.txt --output two.labelwood -q").succeeds();
    folder.run("update one.labelwood three.txt -q").succeeds();
    folder.run("update model three.txt -q").succeeds();
    let [one, two] = ["one", "two"].map(|name| fs::read(folder.path(&format!("{name}.labelwood"))));
    assert!(one.expect("it is there") == two.expect("it was written"));
    folder.run("convert one.labelwood updated").succeeds();
    assert_eq!(files(&folder, "updated"), files(&folder, "model"));
}

#[test]
fn what_is_no_model_and_what_is_damaged_is_one_line_that_names_the_file() {
    let folder = trained();
    folder.run("convert model one.labelwood").succeeds();
    let whole = fs::read(folder.path("one.labelwood")).expect("it was written");
    folder.write("cut.labelwood", &whole[..whole.len() - 700]);
    folder.write("thesis.labelwood", "years of work");
    for (command, told) in [
        ("predict cut.labelwood test.txt", "error: cut.labelwood: "),
        ("predict test.txt test.txt", "error: test.txt: there is no model here"),
        ("predict none.labelwood test.txt", "error: none.labelwood: there is no model here"),
        (
            "convert model thesis.labelwood --overwrite",
            "error: thesis.labelwood: this is not a model",
        ),
        (
            "predict one.labelwood test.txt --output one.labelwood --overwrite",
            "error: one.labelwood",
        ),
    ] {
        let error = folder.run(command).fails(1);
        assert!(error.starts_with(told) && error.lines().count() == 1, "{command}: {error}");
    }
    assert_eq!(folder.read("thesis.labelwood"), "years of work");
    assert!(fs::read(folder.path("one.labelwood")).expect("it is there") == whole);
}
