//! What is wrong with files and the machine: one clear line and the right exit code.

use std::ffi::OsStr;

use crate::harness::Folder;
use crate::trained::named;

/// A folder with a model and rows for it, a folder `folder.txt` and an empty file.
fn furnished() -> Folder {
    let folder = named();
    std::fs::create_dir(folder.path("folder.txt")).expect("the folder is writable");
    folder.write("empty.txt", "");
    folder
}

#[test]
fn every_command_that_reads_names_what_it_cannot_read() {
    let folder = furnished();
    for command in [
        "train DATA --model new",
        "train three.txt --model new --test DATA",
        "predict model DATA",
        "evaluate model DATA",
        "evaluate --predictions DATA three.txt --train train.txt",
        "convert DATA out.svm",
    ] {
        let error =
            |data: &str| folder.run(&format!("-q {}", command.replace("DATA", data))).fails(1);
        let missing = error("missing.txt");
        assert!(missing.starts_with("error: missing.txt: No such file"), "{command}: {missing}");
        let other = error("folder.txt");
        assert_eq!(other, "error: folder.txt: this is a folder: name a file\n", "{command}");
        if !command.contains("--predictions") {
            let empty = error("empty.txt");
            assert!(empty.starts_with("error: empty.txt:1:1: the file is empty"), "{empty}");
            let stdin = error("-");
            assert!(stdin.starts_with("error: standard input:1:1: the file is empty"), "{stdin}");
        }
    }
    assert!(!folder.path("new").exists() && !folder.path("out.svm").exists());
}

#[test]
fn what_is_no_model_is_named() {
    let folder = furnished();
    for command in ["predict MODEL three.txt", "evaluate MODEL three.txt", "inspect MODEL"] {
        for wrong in ["missing", "folder.txt", "three.txt"] {
            let error = folder.run(&command.replace("MODEL", wrong)).fails(1);
            let expected = format!("error: {wrong}: there is no model here (no manifest.json)");
            assert!(error.starts_with(&expected), "{command}: {error}");
        }
    }
}

#[test]
fn an_output_that_cannot_be_made_is_named() {
    let folder = furnished();
    for command in ["predict model three.txt --format tsv --output OUT", "convert three.txt OUT"] {
        let error = |out: &str| folder.run(&command.replace("OUT", out)).fails(1);
        assert!(error("no/out.txt").starts_with("error: no/out.txt: "), "{command}");
        let expected = "error: folder.txt: this is a folder: name a file\n";
        assert_eq!(error("folder.txt"), expected, "{command}");
    }
}

#[cfg(unix)]
#[test]
fn a_place_that_is_no_folder_is_the_users_fault() {
    let folder = furnished();
    for command in [
        "predict model three.txt/rows.txt",
        "predict model three.txt --output three.txt/out.tsv",
        "train three.txt --model three.txt/new",
    ] {
        let error = folder.run(command).fails(1);
        assert!(error.contains("Not a directory"), "{command}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn a_missing_permission_is_the_users_fault() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let folder = furnished();
    let secret = folder.path("secret.txt");
    std::fs::write(&secret, "1 3 3\n0 0:1\n").expect("the folder is writable");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o000)).expect("it is ours");
    let out = folder.path("out.svm");
    let mut command = folder.command([OsStr::new("convert"), secret.as_ref(), out.as_ref()]);
    if std::fs::metadata(&secret).expect("it is there").uid() == 0 {
        // Nothing is denied to root.
        command.current_dir("/").uid(65534);
    }
    // The built command may itself be in a folder that others may not enter.
    let Ok(output) = command.output() else { return };
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("Permission denied"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_the_machines_fault() {
    let folder = furnished();
    for command in [
        "predict model three.txt",
        "predict model three.txt --format npz",
        "predict model three.txt --format table",
        "evaluate model three.txt",
        "evaluate model three.txt --json",
        "inspect model",
        "convert three.txt - --to libsvm",
        "train three.txt --model new --overwrite --json",
        "man",
        "completions bash",
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
        let output = folder.command(command.split(' ')).stdout(full).output().expect("it runs");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{command}: {error}");
        assert!(error.starts_with("error: standard output: No space left"), "{command}: {error}");
        assert_eq!(error.lines().count(), 1, "{command}: {error}");
    }
    let error = folder.run("predict model three.txt --format tsv --output /dev/full").fails(3);
    assert!(error.starts_with("error: /dev/full: No space left"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_told_by_the_exit_code_alone() {
    let folder = furnished();
    for command in ["inspect model", "man", "completions bash", "evaluate model three.txt"] {
        let mut child = folder.start(command);
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), error.as_str()), (Some(141), ""), "{command}");
    }
}

#[cfg(unix)]
#[test]
fn few_open_files_and_links_in_place_of_a_lock_end_in_one_line() {
    let folder = furnished();
    let binary = env!("CARGO_BIN_EXE_labelwood");
    for files in 4..12 {
        // Ten seconds are far more than it takes; a process that goes round in circles is ended.
        let limits = format!("ulimit -t 10; ulimit -n {files}");
        let train = "train three.txt --model few --overwrite --threads 1 -q";
        let output = std::process::Command::new("sh")
            .args(["-c", &format!("{limits}; exec '{binary}' {train}")])
            .current_dir(folder.path(""))
            .output()
            .expect("there is a shell");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => assert_eq!(error, ""),
            code => {
                assert_eq!(code, Some(3), "{files}: {error}");
                assert!(error.contains("Too many open files"), "{files}: {error}");
            }
        }
    }
    folder.write("diary", "important");
    std::fs::create_dir(folder.path("new.partial")).expect("the folder is writable");
    std::os::unix::fs::symlink("../diary", folder.path("new.partial/.lock")).expect("it can be");
    let error = folder.run("train three.txt --model new --overwrite -q").fails(1);
    assert!(error.contains("holds `.lock`, which is a symbolic link"), "{error}");
    assert_eq!(folder.read("diary"), "important");
    // A plan's own files replace links.
    std::fs::create_dir(folder.path("plan")).expect("the folder is writable");
    std::os::unix::fs::symlink("../diary", folder.path("plan/data.lwd")).expect("it can be");
    let done = folder.run("plan three.txt --shards 2 --output plan --trees 2 -q");
    assert_eq!(done.code(), 0, "{}", done.stderr());
    assert!(!folder.path("plan/data.lwd").is_symlink());
    assert_eq!(folder.read("diary"), "important");
}

/// The exit code and the text on standard error of `labelwood ARGS` with the redirections that a
/// shell makes of `how`.
#[cfg(target_os = "linux")]
fn redirected(folder: &Folder, args: &str, how: &str) -> (Option<i32>, String) {
    let line = format!("exec \"$0\" {args} {how}");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &line, env!("CARGO_BIN_EXE_labelwood")]).current_dir(folder.path("."));
    let output = shell.output().expect("there is a shell");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[cfg(target_os = "linux")]
#[test]
fn results_for_a_closed_standard_output_are_no_success() {
    let folder = furnished();
    for command in ["predict model three.txt", "evaluate model three.txt", "--help", "--version"] {
        for how in [">&-", ">&- <&-", ">&- 2>&- <&-"] {
            let found = redirected(&folder, command, how);
            assert_eq!(found, (Some(141), String::new()), "{command} {how}");
        }
        let (code, error) = redirected(&folder, command, "> /dev/full");
        assert_eq!(code, Some(3), "{command}: {error}");
        assert!(error.starts_with("error: standard output: No space left"), "{command}: {error}");
    }
    // Who writes nothing there does not need it.
    let (code, error) = redirected(&folder, "train three.txt --model new", ">&-");
    assert_eq!(code, Some(0), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_standard_error_that_cannot_be_written_leaves_the_exit_code_as_it_is() {
    let folder = furnished();
    for (command, code) in [
        ("predict model three.txt > out.tsv", 0),
        ("-v predict model three.txt > out.tsv", 0),
        ("evaluate model train.txt --test-split missing.txt", 1),
        ("predict model missing.txt", 1),
        ("-v predict model missing.txt", 1),
        ("predict model three.txt --nonsense", 2),
        ("predict model three.txt > /dev/full", 3),
    ] {
        for how in ["2> /dev/full", "2>&-"] {
            assert_eq!(redirected(&folder, command, how).0, Some(code), "{command} {how}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_start_are_the_machines_fault() {
    let folder = furnished();
    let shared = |name: &str| {
        use std::os::unix::fs::PermissionsExt;
        let rights = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(name), rights).expect("the folder is ours");
    };
    shared(".");
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|found| {
        use std::os::unix::fs::MetadataExt;
        found.uid() == 0
    });
    // Root may start as many as there are, and somebody else has no other processes here.
    let other = if is_root { "setpriv --reuid 65534 --clear-groups" } else { "" };
    let mut codes = Vec::new();
    for most in 1..=6 {
        let line = format!(
            "exec {other} prlimit --nproc={most} \"$0\" predict model three.txt --threads 2"
        );
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_labelwood")]).current_dir(folder.path("."));
        let output = shell.output().expect("there is a shell");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let code = output.status.code();
        if matches!(code, Some(126 | 127)) {
            return eprintln!("skipped: {error}");
        }
        assert!(matches!(code, Some(0 | 3)), "{most}: {code:?} {error}");
        let is_line = error.starts_with("error: could not ") && error.lines().count() == 1;
        assert_eq!(code == Some(3), is_line, "{most}: {error}");
        codes.push(code);
    }
    assert_eq!(codes[0], Some(3));
}
