//! Any bytes read as predictions, in each format, give labels that there are, each once in a row, or an
//! error.

#![no_main]

use labelwood::data::predictions::{PredictionFormat, read};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    use PredictionFormat::{Csv, Jsonl, Npz, Tsv, Xc};
    let id = |name: &str| ["maps", "a:b", "2012"].iter().position(|known| *known == name);
    for format in [Tsv, Jsonl, Xc, Npz, Csv] {
        let read = read(bytes, "fuzz", format, 8, |name| id(name).map(|at| at as u32));
        let Ok(predictions) = read else { continue };
        for row in predictions.rows() {
            let mut labels: Vec<u32> = row.iter().map(|scored| scored.id).collect();
            labels.sort_unstable();
            labels.dedup();
            assert_eq!(labels.len(), row.len());
            assert!(labels.iter().all(|&label| label < 8));
        }
    }
});
