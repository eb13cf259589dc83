//! Any bytes read as binary data give rows or an error, and the rows survive being written and
//! read.
//!
//! Bytes that start with 0 change some bytes of good data: nothing else would reach what lies
//! behind the header.

#![no_main]

use labelwood::data::{self, ReadOptions};
use labelwood_fuzz::{RUN, patched};
use std::path::PathBuf;
use std::sync::LazyLock;

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("labelwood-fuzz-{}.lwd", std::process::id()))
});
static GOOD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let text = b"3 4 3\n0,2 0:0.5 3:1\n 1:2\n1\n";
    let read = data::read_bytes(text, "a.txt", &ReadOptions::default(), &RUN).expect("it is right");
    data::write_binary(&FILE, read.dataset.view()).expect("temporary files can be written");
    std::fs::read(&*FILE).expect("it was just written")
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let bytes = match bytes.split_first() {
        Some((0, patches)) => patched(&GOOD, patches, 2),
        _ => bytes.to_vec(),
    };
    let options = ReadOptions::default();
    let Ok(read) = data::read_bytes(&bytes, "fuzz.lwd", &options, &RUN) else { return };
    data::write_binary(&FILE, read.dataset.view()).expect("temporary files can be written");
    let again = data::read(&FILE, &options, &RUN).expect("what was written is read");
    assert_eq!(again.dataset, read.dataset);
});
