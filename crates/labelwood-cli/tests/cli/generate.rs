//! `labelwood generate`.

use crate::harness::Folder;

const SMALL: &str = "generate --instances 300 --features 200 --labels 40";

#[test]
fn the_files_have_the_sizes_asked_for_and_can_be_read() {
    let folder = Folder::new();
    folder.run(&format!("{SMALL} --output a.txt --test-output b.txt.zst")).succeeds();
    assert!(folder.read("a.txt").starts_with("300 200 40\n"));
    folder.run("convert b.txt.zst b.txt").succeeds();
    assert!(folder.read("b.txt").starts_with("75 200 40\n"));
    assert_eq!(folder.names(), ["a.txt", "b.txt", "b.txt.zst"]);
}

#[test]
fn a_profile_gives_the_shape_and_flags_change_it() {
    let folder = Folder::new();
    let args = "generate --profile eurlex-4k --instances 50 --output - ";
    assert!(folder.run(args).succeeds().starts_with("50 5000 3993\n"));
    let wider = folder.run(&format!("{args} --labels 9000")).succeeds();
    assert!(wider.starts_with("50 5000 9000\n"));
}

#[test]
fn the_seed_and_nothing_else_decides_the_rows() {
    let folder = Folder::new();
    let args = format!("{SMALL} --output -");
    let rows = folder.run(&args).succeeds();
    for same in ["--seed 42", "--threads 1", "--threads 7", "--test-output test.txt"] {
        assert_eq!(folder.run(&format!("{args} {same}")).succeeds(), rows, "{same}");
    }
    assert_ne!(folder.run(&format!("{args} --seed 43")).succeeds(), rows);
    let fewer = folder.run(&args.replace("300", "100")).succeeds();
    assert!(fewer.lines().skip(1).eq(rows.lines().skip(1).take(100)));
}

#[test]
fn sizes_are_needed_without_a_profile() {
    let folder = Folder::new();
    for args in [
        "generate --output a.txt",
        "generate --instances 9 --features 9 --output a.txt",
        "generate --profile amazon --output a.txt",
        "generate --profile eurlex-4k",
        "generate --profile eurlex-4k --output a.txt --test-instances 5",
    ] {
        assert_eq!(folder.run(args).code(), 2, "{args}");
    }
    assert!(folder.names().is_empty());
}

#[test]
fn impossible_wishes_are_refused_before_anything_is_written() {
    let folder = Folder::new();
    for (flags, reason) in [
        ("--output a.txt --labels-per-row 90", "labels_per_row is 90"),
        ("--output a.txt --skew nan", "skew is NaN"),
        ("--output a.svm", "convert it afterwards"),
        ("--output a.txt --test-output a.txt", "the same file"),
        ("--output a.txt --test-output b.pdf", "b.pdf: "),
    ] {
        let error = folder.run(&format!("{SMALL} {flags}")).fails(1);
        assert!(error.contains(reason), "{error}");
    }
    assert!(folder.names().is_empty());
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_no_half_written_file() {
    let folder = Folder::new();
    let child = folder.start("generate --profile amazon-3m --output a.txt");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let id = child.id().to_string();
    let sent = std::process::Command::new("kill").args(["-TERM", &id]).status();
    assert!(sent.expect("there is a kill command").success());
    let output = child.wait_with_output().expect("the command ends");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(error.starts_with("stopped: "), "{error}");
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}
