//! Updates that are killed at any moment and then repeated: the rows are added once, always.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::Folder;
use crate::trained::train_model;

/// System calls that change what is on disk. Which of a kind are there depends on the processor.
const CALLS: &str = "openat,write,ftruncate,fsync,flock,?mkdir,?mkdirat,?rename,?renameat,?renameat2,\
                     ?link,?linkat,?unlink,?unlinkat,?rmdir";

/// An update in place, and one into another folder.
const UPDATES: [&str; 2] =
    ["update model more.txt --threads 1", "update model more.txt --threads 1 --output new"];

/// A folder with `model`, which has one tree so that nearly all system calls are those of the first
/// thread, a copy of it, and `more.txt`, which has a new label.
fn prepared() -> Folder {
    let folder = Folder::new();
    let rows: String = (0..3).map(|at| format!("{at} {at}:1\n").repeat(20)).collect();
    folder.write("train.txt", format!("60 3 3\n{rows}"));
    folder.write("more.txt", format!("14 3 4\n{}", "3 0:1 1:1\n".repeat(14)));
    train_model(&folder, "train.txt", 1);
    copy(&folder.path("model"), &folder.path("untouched"));
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("the folder is writable");
    for (name, bytes) in content(from) {
        fs::write(to.join(name), bytes).expect("the folder is writable");
    }
}

/// The files in a folder.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let read = |entry: io::Result<fs::DirEntry>| {
        let path = entry.expect("the folder can be listed").path();
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        (name, fs::read(&path).expect("the file can be read"))
    };
    entries.map(read).collect()
}

/// Puts the model back to what it was.
fn restore(folder: &Folder) {
    for name in ["model", "model.partial", "new", "new.partial"] {
        match fs::remove_dir_all(folder.path(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{name}: {error}"),
            _ => {}
        }
    }
    copy(&folder.path("untouched"), &folder.path("model"));
}

/// The folders and files after the update ran undisturbed.
fn undisturbed(folder: &Folder, update: &str) -> Vec<BTreeMap<String, Vec<u8>>> {
    restore(folder);
    folder.run(&format!("{update} -q")).succeeds();
    let all = models(folder);
    let manifest = String::from_utf8_lossy(&all[all.len() - 1]["manifest.json"]).into_owned();
    assert!(manifest.contains("\"instances\": 74,"), "{manifest}");
    all
}

fn models(folder: &Folder) -> Vec<BTreeMap<String, Vec<u8>>> {
    let names = folder.names();
    assert!(names.iter().all(|name| !name.ends_with(".partial")), "{names:?}");
    let models = ["model", "new"].into_iter().filter(|name| names.iter().any(|own| own == name));
    models.map(|name| content(&folder.path(name))).collect()
}

/// The system calls of the first thread that change something, as names with how many of that name
/// it had made by then.
fn changes(log: &str) -> Vec<(String, usize)> {
    // The number of the thread, the call, and what was handed to it.
    let calls = log.lines().filter_map(|line| {
        let (thread, call) = line.split_once(' ')?;
        Some((thread, call.trim_start().split_once('(')?))
    });
    let calls: Vec<_> = calls.collect();
    let mut numbers = BTreeMap::<&str, usize>::new();
    let mut changes = Vec::new();
    // Before the first mention of the unfinished update nothing is written.
    let mut has_begun = false;
    for &(thread, (name, rest)) in &calls {
        if thread != calls[0].0 {
            continue;
        }
        let number = numbers.entry(name).or_default();
        *number += 1;
        has_begun |= rest.contains(".partial");
        if has_begun && (name != "openat" || rest.contains("O_CREAT")) {
            changes.push((name.to_owned(), *number));
        }
    }
    changes
}

#[test]
fn an_update_killed_at_any_system_call_and_repeated_adds_its_rows_once() {
    let folder = prepared();
    let strace = |options: &[&str], update: &str| {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-o", "calls", "-e", &format!("trace={CALLS}")]).args(options);
        strace.arg(env!("CARGO_BIN_EXE_labelwood")).args(update.split(' '));
        let strace = strace.current_dir(folder.path("")).stderr(Stdio::null());
        strace.status().is_ok_and(|status| status.success())
    };
    for update in UPDATES {
        let expected = undisturbed(&folder, update);
        restore(&folder);
        if !strace(&[], update) {
            eprintln!("skipped: strace cannot be used here");
            return;
        }
        let changes = changes(&folder.read("calls"));
        assert!(changes.len() > 40, "{changes:?}");
        for (name, number) in changes {
            restore(&folder);
            let inject = format!("inject={name}:signal=KILL:when={number}");
            assert!(!strace(&["-e", &inject], update), "{inject} did not kill it");
            let repeated = folder.run(update);
            assert_eq!(repeated.code(), 0, "{inject}: {}", repeated.stderr());
            assert!(models(&folder) == expected, "{inject}: {}", repeated.stderr());
        }
    }
}

#[test]
fn an_update_killed_at_any_time_and_repeated_adds_its_rows_once() {
    const TIMES: u32 = 100;
    let folder = prepared();
    for update in UPDATES {
        let expected = undisturbed(&folder, update);
        restore(&folder);
        let start = Instant::now();
        folder.run(&format!("{update} -q")).succeeds();
        let whole = start.elapsed();
        for time in 0..TIMES {
            restore(&folder);
            let mut child = folder.start(update);
            thread::sleep(whole * time / TIMES);
            // It may be done already.
            let _ = child.kill();
            child.wait().expect("the command ends");
            let repeated = folder.run(update);
            assert_eq!(repeated.code(), 0, "killed at {time} %: {}", repeated.stderr());
            assert!(models(&folder) == expected, "killed at {time} %: {}", repeated.stderr());
        }
    }
}

#[test]
fn rows_of_two_updates_at_once_are_never_lost_silently() {
    let folder = prepared();
    let mut waiting = folder.start("update model - --from xc");
    // Long enough for it to open the model, before it waits for its rows.
    thread::sleep(Duration::from_millis(500));
    folder.run("update model more.txt -q").succeeds();
    let mut input = waiting.stdin.take().expect("it is a pipe");
    io::Write::write_all(&mut input, b"2 3 3\n0 0:1\n1 1:1\n").expect("it reads");
    drop(input);
    let late = waiting.wait_with_output().expect("the command ends");
    let (told, now) = (String::from_utf8_lossy(&late.stderr), folder.read("model/manifest.json"));
    if late.status.success() {
        // It was so slow that it opened the model after the other was done.
        assert!(now.contains("\"instances\": 76,"), "{now}");
    } else {
        assert!(told.contains("another command has replaced this model"), "{told}");
        assert!(now.contains("\"instances\": 74,"), "{now}");
        assert_eq!(folder.names(), ["model", "more.txt", "train.txt", "untouched"]);
    }
}
