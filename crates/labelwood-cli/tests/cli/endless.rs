//! Input without an end: every command that reads stops at the memory that is allowed.

use std::io::Write;
use std::thread;

use crate::harness::Folder;

/// As much as is written before it counts as endless, which is far more than is allowed.
const ENDLESS: usize = 600 << 20;

/// Runs a command that is allowed 50 MB, with a text on standard input that is repeated for ever;
/// gives its exit code, its only line on standard error, and how much of the text it took.
fn run_endlessly(folder: &Folder, args: &str, beginning: &str, text: &str) -> (i32, String, usize) {
    let mut child = folder.start(&format!("-q {args} --max-memory 50MB"));
    let mut input = child.stdin.take().expect("it is a pipe");
    let (beginning, chunk) = (beginning.to_owned(), text.repeat((1 << 20) / text.len()));
    let writer = thread::spawn(move || {
        let mut taken = 0;
        let _ = input.write_all(beginning.as_bytes());
        while taken < ENDLESS && input.write_all(chunk.as_bytes()).is_ok() {
            taken += chunk.len();
        }
        taken
    });
    let output = child.wait_with_output().expect("it ends");
    let taken = writer.join().expect("writing ends");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), error, taken)
}

#[test]
fn a_pipe_without_an_end_stops_every_command_with_the_figure() {
    let folder = Folder::new();
    folder.write("rows.svm", "0 1:1\n1 2:1\n2 3:1\n".repeat(20));
    folder.write("rows.tsv", "old maps\tmaps\nnew seas\tseas\n".repeat(20));
    let model = "train rows.tsv --algorithm label-tree --model model";
    assert_eq!(folder.run(model).code(), 0);
    let (rows, text) = ("0,1 1:0.5 2:0.25 7:1\n", "old maps of the sea\tmaps\n");
    for (args, beginning, line) in [
        ("train - --from libsvm --model new", "", rows),
        ("train - --from xc --model new", "4000000000 10 10\n", rows),
        ("train - --from tsv --model new", "", text),
        ("train - --from csv --model new", "text,labels\n", "old maps,maps\n"),
        ("train - --from csv --model new", "text,labels\n\"", "old maps\n"),
        ("train - --from jsonl --model new", "{\"text\":[", "0,"),
        ("train - --from tsv --model new", "", "a line without an end "),
        ("train - --from lwd --model new", "", "\0\0\0\0\0\0\0\0"),
        ("train rows.svm --vocabulary - --model new", "", "name\n"),
        ("train rows.tsv --vocabulary - --model new", "", "name\n"),
        ("train rows.svm --train-split - --model new", "", "1 2\n"),
        ("train rows.tsv --stop-words - --model new", "", "of\n"),
        ("tune - --from tsv --output new", "", text),
        ("plan - --from tsv --shards 2 --output new", "", text),
        ("convert - new.lwd --from libsvm", "", rows),
        ("update model -", "", text),
        ("evaluate model -", "", text),
        ("evaluate model rows.tsv --filter -", "", "1 1\n"),
        (
            "evaluate --predictions - --predictions-format tsv rows.svm --train rows.svm",
            "",
            "1 0.5\n",
        ),
        (
            "evaluate --predictions - --predictions-format npz rows.svm --train rows.svm",
            "",
            "\0\0\0\0",
        ),
        ("predict model -", "", "a line without an end "),
    ] {
        let (code, error, taken) = run_endlessly(&folder, args, beginning, line);
        assert_eq!(code, 3, "{args}: {error}");
        assert_eq!(error.lines().count(), 1, "{args}: {error}");
        assert!(
            error.contains("standard input: the 47.7 MiB of memory that may be used are full, ")
        );
        assert!(error.contains("into the data: read fewer rows at a time"), "{args}: {error}");
        assert!(taken < ENDLESS / 4, "{args}: {taken} bytes were taken");
    }
    assert_eq!(folder.names(), ["model", "rows.svm", "rows.tsv"]);
}

#[test]
fn batches_of_any_number_are_predicted_with_little_memory() {
    let folder = Folder::new();
    folder.write("rows.svm", "0 1:1\n1 2:1\n2 3:1\n".repeat(20));
    assert_eq!(folder.run("train rows.svm --algorithm label-tree --model model").code(), 0);
    folder.write("many.svm", "0 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1\n".repeat(400_000));
    folder.run("-q predict model many.svm --output many.tsv --max-memory 20MB").succeeds();
    assert_eq!(folder.read("many.tsv").lines().count(), 400_000);
    let error = folder.run("-q convert many.svm many.lwd --max-memory 20MB").fails(3);
    assert!(error.starts_with("error: many.svm: the 19.1 MiB of memory"), "{error}");
    let error = folder.run("predict model many.svm --output x.npz --max-memory 10MB").fails(3);
    assert!(error.contains("of memory that may be used are full"), "{error}");
    assert!(!folder.path("x.npz").exists());
}

#[test]
fn a_split_that_repeats_rows_is_bounded_too() {
    let folder = Folder::new();
    let long: String = (1..5000).map(|feature| format!(" {feature}:1")).collect();
    folder.write("rows.svm", format!("0{long}\n1 2:1\n"));
    folder.write("split.txt", "1\n".repeat(100_000));
    let train = "train rows.svm --train-split split.txt --model new --max-memory 300MB";
    let error = folder.run(train).fails(3);
    assert!(error.starts_with("error: the split has 100000 rows that take 3.7 GiB"), "{error}");
}
