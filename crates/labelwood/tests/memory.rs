//! Whatever is read, it takes no more memory than may be used, and the error says so.

use labelwood::data::documents::{self, Documents, Labels, Options};
use labelwood::data::predictions::{KnownLabels, PredictionFormat, read_file_for};
use labelwood::data::{
    self, LabelIndex, LabelIndexBuilder, ReadError, ReadOptions, Splits, Vocabulary,
};
use labelwood::data::{Batches, read_filter, write_atomically};
use labelwood::run::{Pool, Task};
use labelwood::text::{Params, TextError, TextReader, read_labels};
use std::error::Error;
use std::path::PathBuf;
use tempfile::TempDir;

const LIMIT: u64 = 4 << 20;
/// What the error of each of these files starts with, after the name of the file.
const FULL: &str = ": the 4.0 MiB of memory that may be used are full, ";

fn run() -> Task {
    Pool::new(2).unwrap().task().limit_memory(Some(LIMIT))
}

/// A compressed file of a text that is repeated up to 24 MiB, after a beginning.
fn file(folder: &TempDir, name: &str, beginning: &str, text: &str) -> PathBuf {
    let path = folder.path().join(format!("{name}.zst"));
    let chunk = text.repeat((1 << 20) / text.len());
    let written = write_atomically(&path, |output| {
        output.write_all(beginning.as_bytes())?;
        (0..24).try_for_each(|_| output.write_all(chunk.as_bytes()))
    });
    written.unwrap();
    assert!(path.metadata().unwrap().len() < 1 << 20, "{name}");
    path
}

#[track_caller]
fn assert_full<T>(path: &std::path::Path, outcome: Result<T, impl Error>) {
    let error = outcome.err().expect("there is too much").to_string();
    assert!(error.starts_with(&format!("{}{FULL}", path.display())), "{error}");
    assert!(error.ends_with("into the data: read fewer rows at a time, or allow more memory"));
}

#[test]
fn vectors_stop_at_the_memory_that_may_be_used() {
    let (folder, options) = (tempfile::tempdir().unwrap(), ReadOptions::default());
    for (name, beginning, text) in [
        ("rows.svm", "", "0,1 1:0.5 7:1\n"),
        ("rows.txt", "4000000000 10 10\n", "0,1 1:0.5 7:1\n"),
        ("empty.txt", "4000000000 10 10\n", "\n"),
        ("line.svm", "0", " 7:1 8:1 9:1"),
        ("zeros.lwd", "", "\0\0\0\0\0\0\0\0"),
    ] {
        let path = file(&folder, name, beginning, text);
        assert_full(&path, data::read(&path, &options, &run()));
    }
    // All batches together may have any size, one line may not.
    let batches = |path: &PathBuf| -> Result<usize, ReadError> {
        let (task, mut rows) = (run(), 0);
        let mut batches = Batches::open(path, &options, &task)?;
        while let Some(batch) = batches.next(&task)? {
            rows += batch.len();
        }
        Ok(rows)
    };
    assert!(batches(&folder.path().join("rows.svm.zst")).unwrap() > 1_000_000);
    let path = folder.path().join("line.svm.zst");
    assert_full(&path, batches(&path));
}

#[test]
fn text_stops_at_the_memory_that_may_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::default();
    for (name, beginning, text) in [
        ("rows.tsv", "", "old maps of the sea\tmaps\n"),
        ("short.tsv", "", "\t\n"),
        ("empty.tsv", "", "\n"),
        ("line.tsv", "", "old maps "),
        ("rows.csv", "text,labels\n", "old maps of the sea,maps\n"),
        ("field.csv", "text,labels\n\"", "old maps of the sea\n"),
        ("rows.jsonl", "", "{\"text\":\"old maps of the sea\",\"labels\":[\"maps\"]}\n"),
        ("line.jsonl", "{\"text\":[", "0,"),
    ] {
        let path = file(&folder, name, beginning, text);
        let task = run();
        let open = || Documents::open(&path, None, &options, Labels::Required, &task);
        let fit = |documents: Documents<'_>| {
            let names = LabelIndexBuilder::default();
            TextReader::fit(documents, &options, Params::default(), names, &task).map(drop)
        };
        assert_full(&path, open().map_err(TextError::from).and_then(fit));
        let labels =
            |documents| read_labels(documents, LabelIndexBuilder::default(), |_| (), &task);
        assert_full(&path, open().map_err(TextError::from).and_then(labels));
    }
}

#[test]
fn files_beside_the_data_stop_at_the_memory_that_may_be_used() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("names", "name\n"), ("no-names", "\n"), ("name", "name ")] {
        let path = file(&folder, name, "", text);
        assert_full(&path, LabelIndex::read(&path, &run()));
        assert_full(&path, Vocabulary::read_builder(&path, None, &run()));
    }
    for (name, text) in [("split", "1 2\n"), ("columns", "1 ")] {
        let path = file(&folder, name, "", text);
        assert_full(&path, Splits::read(&path, 5, &run()));
    }
    let path = file(&folder, "filter", "", "1 2\n");
    assert_full(&path, read_filter(&path, 5, 5, &run()));
    let path = file(&folder, "words", "", "word\n");
    let mut words = Vec::new();
    let take = |word: &str| {
        words.push(word.to_owned());
        64 * words.len()
    };
    assert_full(&path, documents::read_lines(&path, &run(), take));
}

#[test]
fn predictions_stop_at_the_memory_that_may_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let known = KnownLabels { count: 5, id: &|_| None, separator: ";" };
    for (name, header, text, format) in [
        ("rows.tsv", "", "1 0.5\n", PredictionFormat::Tsv),
        ("line.tsv", "", "1 0.5\t", PredictionFormat::Tsv),
        ("rows.xc", "", "1:0.5\n", PredictionFormat::Xc),
        ("rows.jsonl", "", "{\"labels\":[]}\n", PredictionFormat::Jsonl),
        ("zeros.npz", "", "\0\0\0\0\0\0\0\0", PredictionFormat::Npz),
        ("rows.csv", "id,labels\n", "x,1\n", PredictionFormat::Csv),
    ] {
        let path = file(&folder, name, header, text);
        assert_full(&path, read_file_for(&path, format, known, "id", &[], &run()));
    }
}

#[test]
fn all_files_that_are_kept_share_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (path, options) = (folder.path().join("rows.svm"), ReadOptions::default());
    std::fs::write(&path, "0,1 1:0.5 7:1\n".repeat(50_000)).unwrap();
    let task = run();
    let first = data::read(&path, &options, &task).unwrap();
    assert_eq!(first.dataset.len(), 50_000);
    assert_full(&path, data::read(&path, &options, &task));
}
