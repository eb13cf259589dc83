//! Any bytes read as label names give an index that finds every code, or an error.

#![no_main]

use labelwood::data::LabelIndex;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(labels) = LabelIndex::from_bytes(bytes, "labels.txt") else { return };
    for id in 0..labels.len() as u32 {
        let found = labels.find(labels.code(id)).expect("every code is found");
        assert!(found <= id && labels.code(found) == labels.code(id));
        labels.find(labels.display(id)).expect("every name is found");
    }
});
