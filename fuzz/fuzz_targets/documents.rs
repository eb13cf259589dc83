//! Any bytes read as documents, in each format, give texts and labels that a label index takes, or
//! an error.

#![no_main]

use labelwood::data::LabelIndexBuilder;
use labelwood::data::documents::{Documents, Format, Labels, Options};
use labelwood_fuzz::RUN;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for format in [Format::Tsv, Format::Csv, Format::Jsonl] {
        for labels in [Labels::Required, Labels::Optional, Labels::Alone] {
            read(bytes, format, labels);
        }
    }
});

fn read(bytes: &[u8], format: Format, labels: Labels) {
    let options = Options { labels: vec!["labels[].uri".to_owned()], ..Options::default() };
    let documents = Documents::from_bytes(bytes, "fuzz", format, &options, labels, &RUN);
    let Ok(documents) = documents else { return };
    let mut documents = documents.keeping_fields();
    let width = documents.header().map_or(1, |header| header.names.len());
    let mut names = LabelIndexBuilder::default();
    while let Ok(Some(batch)) = documents.next_batch() {
        assert_eq!(batch.texts().len(), batch.len());
        for row in 0..batch.len() {
            assert_ne!(batch.id(row), Some(""));
            assert_eq!(batch.fields(row).len(), width);
            for label in batch.labels(row) {
                assert!(!label.is_empty());
                names.id(label);
            }
        }
    }
    let known = names.len();
    let names = names.finish();
    assert_eq!(names.len(), known);
    assert!((0..known as u32).all(|id| names.find(names.code(id)) == Some(id)));
}
