//! `predict MODEL -` answers what has come through a pipe before it waits for more.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::thread;
use std::time::Duration;

use crate::harness::Folder;

/// A command that is kept open, with both of its pipes.
struct Live {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Live {
    fn start(folder: &Folder, args: &str) -> Self {
        let mut child = folder.start(args);
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Live { child, input, output }
    }

    fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let input = self.input.as_mut().expect("it is open");
        input.write_all(bytes.as_ref()).and_then(|()| input.flush()).expect("it is read");
    }

    /// The next line of the answer, which is waited for while the input stays open.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it is text");
        line.trim_end().to_owned()
    }

    /// Ends the input; gives the exit code, the rest of the answers, and what was complained about.
    fn end(mut self) -> (i32, String, String) {
        drop(self.input.take());
        let (mut rest, mut errors) = (String::new(), String::new());
        self.output.read_to_string(&mut rest).expect("it is text");
        let stderr = self.child.stderr.as_mut().expect("it is a pipe");
        stderr.read_to_string(&mut errors).expect("it is text");
        let status = self.child.wait().expect("it ends");
        (status.code().unwrap_or(-1), rest, errors)
    }
}

/// Two subjects, and a `model` of text.
fn text_model() -> Folder {
    let folder = Folder::new();
    folder.write("rows.tsv", "old maps\tmaps\nnew seas\tseas\n".repeat(20));
    let train = "-q train rows.tsv --algorithm one-vs-rest --model model";
    folder.run(train).succeeds();
    folder
}

/// Two labels of a feature each, and a `model` of vectors.
fn vector_model() -> Folder {
    let folder = Folder::new();
    folder.write("rows.svm", "0 1:1\n1 2:1\n".repeat(20));
    folder.run("-q train rows.svm --algorithm one-vs-rest --model model").succeeds();
    folder
}

fn pause() {
    thread::sleep(Duration::from_millis(30));
}

#[test]
fn each_line_of_text_is_answered_before_the_next_is_sent() {
    let folder = text_model();
    let mut live = Live::start(&folder, "-q predict model - -k 1 --labels-only");
    for (line, answer) in
        [("a map of old maps\n", "maps"), ("seas\r\n", "seas"), ("no word of them\n", "")]
    {
        live.send(line);
        assert_eq!(live.line(), answer, "{line:?}");
    }
    // In pieces, with pauses between and within lines.
    for piece in ["new", " seas\nold m", "aps", "\n"] {
        live.send(piece);
        pause();
    }
    assert_eq!([live.line(), live.line()], ["seas", "maps"]);
    // An empty line may be the end, so it is answered with the line behind it; the last needs no end.
    live.send("\nold maps");
    pause();
    let (code, rest, errors) = live.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_eq!(rest.lines().count(), 2, "{rest}");
    assert!(rest.ends_with("maps\n"), "{rest}");
}

#[test]
fn objects_and_rows_of_a_table_are_answered_one_by_one() {
    let folder = text_model();
    let mut live = Live::start(&folder, "-q predict model - --from jsonl --to jsonl -k 1");
    for (at, text) in ["old maps", "", "new seas"].into_iter().enumerate() {
        live.send(format!("{{\"id\":\"n{at}\",\"text\":\"{text}\"}}\r\n\n"));
        let answer = live.line();
        assert!(answer.starts_with(&format!("{{\"row\":{at},\"id\":\"n{at}\"")), "{answer}");
    }
    assert_eq!(live.end().0, 0);

    let mut live =
        Live::start(&folder, "-q predict model - --from csv --to csv -k 1 --labels-only");
    live.send("\u{feff}text,year\r\n");
    for row in ["old maps,1700\r\n", "\"new\nseas\",1701\r\n\r\n", "old,\"1,7\"\r\n"] {
        live.send(row);
        let mut answer = live.line();
        // The header comes with the first row.
        if answer.starts_with('\u{feff}') {
            assert_eq!(answer, "\u{feff}text,year,labels");
            answer = live.line();
        }
        if row.contains("new") {
            assert_eq!((answer.as_str(), live.line().as_str()), ("\"new", "seas\",1701,seas"));
        } else {
            assert!(answer.ends_with(",maps"), "{answer}");
        }
    }
    assert_eq!(live.end().0, 0);
}

#[test]
fn rows_of_vectors_are_answered_one_by_one() {
    let folder = vector_model();
    let mut live = Live::start(&folder, "-q predict model - --from libsvm -k 1 --labels-only");
    for (row, answer) in [(" 1:1\n", "0"), (" 2:1\r\n", "1"), (" 1:0.5 2:0.1\n", "0")] {
        live.send(row);
        assert_eq!(live.line(), answer);
    }
    assert_eq!(live.end().0, 0);

    // A header says how many rows there are, so that an XC file can be answered as it comes.
    let mut live = Live::start(&folder, "-q predict model - --from xc --to xc -k 1");
    live.send("2 2 2\n 0:1\n");
    assert_eq!(live.line(), "2 2");
    assert!(live.line().starts_with("0:"));
    live.send(" 1:1");
    pause();
    let (code, rest, errors) = live.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(rest.starts_with("1:"), "{rest}");
}

#[test]
fn what_stands_before_a_wrong_line_is_answered() {
    let folder = text_model();
    for (format, lines, place) in [
        ("tsv", "old maps\nnew seas\na\tb\tc\nold maps\n", "standard input:3:4: "),
        (
            "jsonl",
            "{\"text\":\"old maps\"}\n\n{\"text\":\"new seas\"}\n{\"text\":3\n",
            "standard input:4:",
        ),
        ("csv", "text,a\nold maps,1\nnew seas,2\nold maps\n", "standard input:4:1: "),
        ("csv", "text,a\nold maps,1\nnew seas,2\n\"old\"maps,3\nold,4\n", "standard input:4:1: "),
    ] {
        let args = format!("-q predict model - --from {format} -k 1 --labels-only");
        // All at once, and line by line.
        for pieces in [vec![lines], lines.split_inclusive('\n').collect()] {
            let mut live = Live::start(&folder, &args);
            let is_slow = pieces.len() > 1;
            for piece in pieces {
                // Those behind the wrong line may not be read any more.
                let _ = live.input.as_mut().expect("it is open").write_all(piece.as_bytes());
                if is_slow {
                    pause();
                }
            }
            let (code, answers, error) = live.end();
            assert_eq!((code, answers.as_str()), (1, "maps\nseas\n"), "{format}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
            assert!(error.starts_with(&format!("error: {place}")), "{error}");
        }
    }
    let mut live = Live::start(&folder, "-q predict model - -k 1 --labels-only");
    live.send(b"old maps\nnew seas\n\xff\n");
    let (code, answers, error) = live.end();
    assert_eq!((code, answers.as_str()), (1, "maps\nseas\n"), "{error}");
    assert!(error.starts_with("error: standard input:3:1: the byte"), "{error}");

    let folder = vector_model();
    let mut live = Live::start(&folder, "-q predict model - --from libsvm -k 1 --labels-only");
    live.send(" 1:1\n 2:1\n 1:1 2:x\n 1:1\n");
    let (code, answers, error) = live.end();
    assert_eq!((code, answers.as_str()), (1, "0\n1\n"), "{error}");
    assert!(error.starts_with("error: standard input:3:8: `x` is not a number"), "{error}");
    let input = b"3 2 2\n 0:1\n 1:1\n";
    let done = folder.run_with_input("-q predict model - --from xc -k 1 --labels-only", input);
    assert_eq!((done.code(), done.stdout().as_str()), (1, "0\n1\n"));
    assert!(done.stderr().contains("the header declares 3 rows, but there are 2"));
}

#[test]
fn a_pipe_is_answered_as_the_file_is() {
    let folder = text_model();
    let lines: String = (0..40_000)
        .map(|at| format!("{} {at} of {}\n", ["maps", "seas"][at % 2], at / 7))
        .collect();
    folder.write("many.tsv", &lines);
    let of_file = folder.run("-q predict model many.tsv").succeeds();
    let of_pipe = folder.run_with_input("-q predict model - --from tsv", lines.as_bytes());
    assert!(of_pipe.succeeds() == of_file);

    // A compressed pipe is decompressed as it comes.
    let folder = vector_model();
    folder.write("many.svm", "0 1:1\n1 2:1 1:0.25\n".repeat(20_000));
    folder.run("-q convert many.svm many.svm.zst").succeeds();
    let packed = std::fs::read(folder.path("many.svm.zst")).expect("it was written");
    let of_pipe = folder.run_with_input("-q predict model - --from libsvm", &packed);
    assert!(of_pipe.succeeds() == folder.run("-q predict model many.svm").succeeds());
}

#[test]
fn formats_that_need_all_rows_say_so() {
    let folder = vector_model();
    let rows = b" 1:1\n 2:1\n";
    for format in ["xc", "table"] {
        let done =
            folder.run_with_input(&format!("predict model - --from libsvm --to {format}"), rows);
        let says = "the answers come when the input ends: choose --to tsv, csv or jsonl";
        assert!(done.stderr().contains(says), "{format}: {}", done.stderr());
        assert_eq!(done.code(), 0);
        // To a file nobody waits.
        let args = format!("predict model - --from libsvm --to {format} --output {format}");
        folder.run_with_input(&args, rows).succeeds();
    }
    let done = folder.run_with_input("predict model - --from libsvm --to tsv", rows);
    done.succeeds();
}
