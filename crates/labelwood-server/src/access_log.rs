//! A line of JSON for every request.
//!
//! A thread of its own writes the lines, so that a reader who is slow holds up nobody: lines that find no
//! room are left out, and the next one says how many these were.

use serde::Serialize;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// How many lines wait at most.
const WAITING: usize = 8192;

/// Where the lines go.
#[derive(Debug)]
pub(crate) struct AccessLog {
    lines: SyncSender<String>,
    lost: AtomicU64,
}

/// What is said of a request: never its text, nor what was answered.
#[derive(Serialize)]
pub(crate) struct Line<'a> {
    /// When it came.
    pub time: String,
    /// The id that its answer has, too.
    pub id: &'a str,
    /// From where it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The name of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<&'a str>,
    pub method: &'a str,
    /// The path without the query.
    pub path: &'a str,
    pub status: u16,
    /// How long it took until the answer began.
    pub ms: f64,
    /// The bytes of the answer, if they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How many lines before this one were lost.
    #[serde(skip_serializing_if = "is_nothing")]
    pub lost: u64,
}

fn is_nothing(lost: &u64) -> bool {
    *lost == 0
}

impl AccessLog {
    /// Starts the thread that writes to `output`; nothing if there is no thread to be had.
    pub(crate) fn start(output: Box<dyn Write + Send>) -> std::io::Result<Self> {
        let (lines, receiver) = sync_channel(WAITING);
        let name = "labelwood-log".to_owned();
        thread::Builder::new().name(name).spawn(move || write(&receiver, output))?;
        Ok(AccessLog { lines, lost: AtomicU64::new(0) })
    }

    /// Writes a line soon.
    pub(crate) fn push(&self, line: Line<'_>) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        let Ok(text) = serde_json::to_string(&Line { lost, ..line }) else { return };
        if self.lines.try_send(text).is_err() {
            self.lost.fetch_add(lost + 1, Ordering::Relaxed);
        }
    }
}

/// Writes lines until there is nobody who sends some.
fn write(lines: &Receiver<String>, mut output: Box<dyn Write + Send>) {
    let mut block = String::new();
    while let Ok(first) = lines.recv() {
        block.clear();
        // What has come meanwhile goes along.
        for line in std::iter::once(first).chain(lines.try_iter().take(WAITING)) {
            block.push_str(&line);
            block.push('\n');
        }
        // Where the log cannot be written, requests are still answered.
        let _ = output.write_all(block.as_bytes()).and_then(|()| output.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn line(path: &str) -> Line<'_> {
        Line {
            time: "2026-01-01T00:00:00.000Z".into(),
            id: "a",
            client: None,
            key: None,
            method: "GET",
            path,
            status: 200,
            ms: 0.5,
            bytes: None,
            lost: 0,
        }
    }

    #[test]
    fn lines_are_written_in_order_and_hold_what_is_known() {
        let shared = Shared::default();
        let (lines, receiver) = sync_channel(WAITING);
        let log = AccessLog { lines, lost: AtomicU64::new(0) };
        ["/a", "/\"b\"\n"].into_iter().for_each(|path| log.push(line(path)));
        drop(log);
        write(&receiver, Box::new(shared.clone()));
        let written = String::from_utf8(shared.0.lock().unwrap().clone()).unwrap();
        let start = r#"{"time":"2026-01-01T00:00:00.000Z","id":"a","method":"GET","path":"#;
        let expected = [r#""/a""#, r#""/\"b\"\n""#]
            .map(|path| format!("{start}{path},\"status\":200,\"ms\":0.5}}\n"));
        assert_eq!(written, expected.concat());
    }

    #[test]
    fn lines_that_find_no_room_are_counted() {
        let (lines, receiver) = sync_channel(1);
        let log = AccessLog { lines, lost: AtomicU64::new(0) };
        (0..3).for_each(|_| log.push(line("/")));
        assert!(!receiver.recv().unwrap().contains("lost"));
        log.push(line("/"));
        assert!(receiver.recv().unwrap().ends_with("\"lost\":2}"));
    }
}
