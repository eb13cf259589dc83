//! Any bytes read as a split file give rows within the data, or an error.

#![no_main]

use labelwood::data::Splits;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    const ROWS: usize = 50;
    let Ok(splits) = Splits::from_bytes(bytes, "split.txt", ROWS) else { return };
    for number in 1..=splits.len() {
        let column = splits.column(number).expect("the column is there");
        assert!(column.iter().all(|&row| row < ROWS));
    }
});
