//! Files that the user names are not replaced unless that is asked for, and inputs never.

use std::fs;

use crate::harness::{Folder, XC};
use crate::trained::named;

/// Commands that write the file OUT, with the files of [`named`].
const WRITING: [&str; 8] = [
    "predict model three.txt --format tsv --output OUT",
    "evaluate model three.txt --json --per-label OUT",
    "evaluate model three.txt --json --per-instance OUT",
    "evaluate --predictions best.tsv three.txt --train train.txt --json --per-label OUT",
    "convert three.txt OUT --to libsvm",
    "convert three.txt OUT --to lwd",
    "generate --profile eurlex-4k --instances 5 --output OUT",
    "generate --profile eurlex-4k --instances 5 --output other-OUT --test-output OUT",
];

fn prepared() -> Folder {
    let folder = named();
    folder.write("best.tsv", "0 1\n1 1\n2 1\n");
    folder
}

#[test]
fn a_file_that_is_there_is_replaced_only_with_overwrite() {
    let folder = prepared();
    for (at, command) in WRITING.iter().enumerate() {
        let name = format!("{at}.txt");
        let command = command.replace("OUT", &name);
        folder.write(&name, "the only copy");
        let error = folder.run(&command).fails(1);
        let expected =
            format!("error: {name}: the file is already there; add --overwrite to replace it");
        assert!(error.starts_with(&expected), "{command}: {error}");
        assert_eq!(folder.read(&name), "the only copy", "{command}");
        folder.run(&format!("{command} --overwrite")).succeeds();
        let written = fs::read(folder.path(&name)).expect("it is there");
        assert_ne!(written, b"the only copy", "{command}");
        fs::remove_file(folder.path(&name)).expect("it is there");
        folder.run(&format!("{command} --overwrite")).succeeds();
        assert_eq!(fs::read(folder.path(&name)).expect("it is there"), written, "{command}");
    }
    assert!(folder.names().iter().all(|name| !name.ends_with(".tmp")), "{:?}", folder.names());
}

#[cfg(unix)]
#[test]
fn an_input_is_never_written_whatever_its_name() {
    let folder = prepared();
    fs::write(folder.path("only"), "red\n").expect("it is writable");
    std::os::unix::fs::symlink("three.txt", folder.path("soft.txt")).expect("links can be made");
    fs::hard_link(folder.path("three.txt"), folder.path("hard.txt")).expect("links can be made");
    let mut calls = Vec::new();
    for output in ["three.txt", "./three.txt", "soft.txt", "hard.txt", "labels.txt"] {
        calls.extend(WRITING[..6].iter().map(|command| command.replace("OUT", output)));
    }
    for output in ["model/manifest.json", "only"] {
        calls.push(format!(
            "predict model three.txt --only-labels only --format tsv --output {output}"
        ));
        calls.push(format!("evaluate model three.txt --only-labels only --per-label {output}"));
    }
    for output in ["best.tsv", "train.txt"] {
        let evaluate = "evaluate --predictions best.tsv three.txt --train train.txt";
        calls.push(format!("{evaluate} --per-instance {output}"));
    }
    let before = folder.read("three.txt");
    for call in calls {
        let error = folder.run(&format!("{call} --overwrite")).fails(1);
        assert!(error.contains("this is also a file to read ("), "{call}: {error}");
    }
    assert_eq!(folder.read("three.txt"), before);
    folder.run("predict model three.txt").succeeds();
}

#[cfg(unix)]
#[test]
fn standard_input_and_output_may_not_be_one_file() {
    let folder = Folder::new();
    folder.write("a.txt", XC);
    let open = || fs::OpenOptions::new().read(true).append(true).open(folder.path("a.txt"));
    let open = || open().expect("it can be opened");
    let mut command = folder.command(["convert", "-", "-", "--from", "xc", "--to", "libsvm"]);
    let output = command.stdin(open()).stdout(open()).output().expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.starts_with("error: -: this is also a file to read (-)"), "{error}");
    let mut command = folder.command(["convert", "-", "a.txt", "--from", "xc", "--overwrite"]);
    let output = command.stdin(open()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(folder.read("a.txt"), XC);
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_written_to_without_overwrite() {
    let folder = prepared();
    for command in &WRITING[..6] {
        folder.run(&command.replace("OUT", "/dev/null")).succeeds();
    }
    let both = "--per-label /dev/null --per-instance /dev/null";
    folder.run(&format!("evaluate model three.txt --json {both}")).succeeds();
    let path = folder.path("pipe.svm");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("it runs");
    assert!(made.success());
    let reader = std::thread::spawn(move || fs::read_to_string(path).expect("it is a pipe"));
    folder.run("convert three.txt pipe.svm").succeeds();
    assert_eq!(reader.join().expect("it ends"), "0 1:1\n1 2:1\n2 3:1\n");
}

#[test]
fn questions_are_not_written_over_other_files() {
    let folder = Folder::new();
    fs::create_dir(folder.path("own")).expect("the folder is writable");
    folder.write("own/test.tsv", "mine\tbooks\n");
    let error = folder.run("demo --write-corpus own").fails(1);
    assert!(error.starts_with("error: own/test.tsv: the file is already there"), "{error}");
    assert_eq!(folder.read("own/test.tsv"), "mine\tbooks\n");
    assert!(!folder.path("own/train.tsv").exists());
    folder.run("demo --write-corpus own --overwrite -q").succeeds();
    assert_ne!(folder.read("own/test.tsv"), "mine\tbooks\n");
}

#[test]
fn a_worker_replaces_its_own_scores_and_no_other_file() {
    let folder = named();
    let shard = "predict model three.txt --shares 1 --index 0 --output shares -q";
    folder.run(shard).succeeds();
    let name = "shares/share-00000-of-00001.scores";
    let before = fs::read(folder.path(name)).expect("it is there");
    folder.run(shard).succeeds();
    assert_eq!(fs::read(folder.path(name)).expect("it is there"), before);
    folder.write(name, "something else");
    let error = folder.run(shard).fails(1);
    assert!(error.contains("the file is already there"), "{error}");
    folder.run(&format!("{shard} --overwrite")).succeeds();
    let error = folder.run(&format!(
        "predict model three.txt --join shares --output {name} --format tsv --overwrite"
    ));
    assert!(error.fails(1).contains("this is also a file to read"));
    assert_eq!(fs::read(folder.path(name)).expect("it is there"), before);
}
