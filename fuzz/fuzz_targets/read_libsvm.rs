//! Any bytes read as LIBSVM data give rows or an error, and the rows survive being written and read.

#![no_main]

use labelwood::data::{self, Format, ReadOptions};
use labelwood::run::{Pool, Task};
use std::sync::LazyLock;

static RUN: LazyLock<Task> = LazyLock::new(|| Pool::new(1).expect("one thread can be started").task());

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let strict = data::read_bytes(bytes, "fuzz.svm", &ReadOptions::default(), &RUN);
    let options = ReadOptions { lenient: true, ..ReadOptions::default() };
    let lenient = data::read_bytes(bytes, "fuzz.svm", &options, &RUN);
    let Ok(read) = strict.or(lenient) else { return };
    let dataset = read.dataset;
    let widths = (dataset.features.columns(), dataset.labels.columns());
    let mut text = Vec::new();
    data::write_header(&mut text, Format::Libsvm, dataset.len(), widths).expect("memory takes all");
    for (labels, features) in dataset.labels.rows().zip(dataset.features.rows()) {
        data::write_row(&mut text, Format::Libsvm, labels.indices, features).expect("memory takes all");
    }
    let options =
        ReadOptions { features: widths.0, labels: widths.1, ..ReadOptions::default() };
    let again = data::read_bytes(&text, "again.svm", &options, &RUN);
    assert_eq!(again.map(|read| read.dataset).ok(), (!text.is_empty()).then_some(dataset));
});
