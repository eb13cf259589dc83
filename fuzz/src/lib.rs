//! What several targets share.

use labelwood::data::{self, Format, ReadOptions};
use labelwood::model::Model;
use labelwood::run::{Pool, Task};
use labelwood::sparse::{Csr, Query};
use std::sync::LazyLock;

/// What all inputs are worked on with: one thread.
pub static RUN: LazyLock<Task> =
    LazyLock::new(|| Pool::new(1).expect("one thread can be started").task());

/// Good bytes with some changed. A patch is a place of so many bytes, and what is changed there.
pub fn patched(good: &[u8], patches: &[u8], place: usize) -> Vec<u8> {
    let mut content = good.to_vec();
    for patch in patches.chunks_exact(place + 1) {
        let at = patch[..place].iter().rev().fold(0, |at, &byte| at << 8 | usize::from(byte));
        content[at % good.len()] ^= patch[place];
    }
    content
}

/// Reads bytes as a file of rows of that name and format; what is read must survive being written
/// and read again.
pub fn read_write_read(bytes: &[u8], name: &str, format: Format) {
    let strict = data::read_bytes(bytes, name, &ReadOptions::default(), &RUN);
    let options = ReadOptions { lenient: true, ..ReadOptions::default() };
    let lenient = data::read_bytes(bytes, name, &options, &RUN);
    let Ok(read) = strict.or(lenient) else { return };
    let dataset = read.dataset;
    let (features, labels) = (dataset.features.columns(), dataset.labels.columns());
    let mut text = Vec::new();
    data::write_header(&mut text, format, dataset.len(), (features, labels))
        .expect("memory takes all");
    for (labels, features) in dataset.labels.rows().zip(dataset.features.rows()) {
        data::write_row(&mut text, format, labels.indices, features).expect("memory takes all");
    }
    let options = ReadOptions { features, labels, ..ReadOptions::default() };
    let again = data::read_bytes(&text, name, &options, &RUN);
    assert_eq!(again.map(|read| read.dataset).ok(), (!text.is_empty()).then_some(dataset));
}

/// Asks a model for the labels of rows: it names only labels that it has.
pub fn check_predictions(model: &Model, rows: &Csr) {
    for beam in [None, Some(1)] {
        let query = Query { beam, ..Query::top(5) };
        let found = model.predict(rows.view(), query, &RUN).expect("nobody cancels");
        assert_eq!(found.len(), rows.len());
        let known = model.labels().counts().len();
        assert!(found.rows().flatten().all(|scored| (scored.id as usize) < known));
    }
}
