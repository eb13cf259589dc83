//! Any bytes read as a vocabulary give labels that are found by what is shown, or an error.

#![no_main]

use labelwood::data::Vocabulary;

const NAMES: [&str; 6] = ["v.ttl", "v.nt", "v.rdf", "v.tsv", "v.csv", "v.txt"];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&first, file)) = bytes.split_first() else { return };
    let name = NAMES[first as usize % NAMES.len()];
    let language = (first >= 128).then_some("en");
    let Ok(Vocabulary { labels, .. }) = Vocabulary::from_bytes(file, name, language) else {
        return;
    };
    assert!(labels.joined(&labels).len() >= labels.len());
    let tags: Vec<&str> = labels.languages().collect();
    for id in 0..labels.len() as u32 {
        labels.find(labels.display(id)).expect("what is shown is found");
        assert!(labels.broader(id).iter().all(|&broad| (broad as usize) < labels.len()));
        for tag in &tags {
            assert!(labels.names_in(tag, id).all(|name| !name.is_empty()));
        }
    }
    for tag in tags {
        assert!(labels.in_language(tag).is_some_and(|other| other.len() == labels.len()));
    }
});
