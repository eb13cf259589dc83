//! Stopping on signals.

use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::Folder;

/// A command that waits for its standard input, which stays open until the second value is dropped.
fn waiting(folder: &Folder, setup: &str) -> (Child, ChildStdin) {
    let binary = env!("CARGO_BIN_EXE_labelwood");
    let mut child = Command::new("sh")
        .args(["-c", &format!("{setup} exec '{binary}' convert - out.txt --from xc")])
        .current_dir(folder.path(""))
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("there is a shell");
    let stdin = child.stdin.take().expect("it is a pipe");
    thread::sleep(Duration::from_millis(500));
    (child, stdin)
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.expect("there is a kill command").success());
}

#[test]
fn a_signal_ends_even_a_waiting_command_within_a_second_or_so() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let folder = Folder::new();
        let (mut child, _stdin) = waiting(&folder, "");
        let start = Instant::now();
        send(signal, &child);
        let code = child.wait().expect("the command ends").code();
        assert_eq!(code, Some(130), "{signal}");
        assert!(start.elapsed() < Duration::from_secs(3), "{signal}: {:?}", start.elapsed());
        assert!(folder.names().is_empty());
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let folder = Folder::new();
    let (mut child, _stdin) = waiting(&folder, "");
    send("-TERM", &child);
    thread::sleep(Duration::from_millis(100));
    send("-TERM", &child);
    assert_eq!(child.wait().expect("the command ends").code(), Some(130));
}

#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let folder = Folder::new();
    let (mut child, _stdin) = waiting(&folder, "trap '' HUP;");
    send("-HUP", &child);
    thread::sleep(Duration::from_millis(1500));
    assert!(child.try_wait().expect("it can be asked").is_none(), "it ended on SIGHUP");
    send("-TERM", &child);
    assert_eq!(child.wait().expect("the command ends").code(), Some(130));
}
