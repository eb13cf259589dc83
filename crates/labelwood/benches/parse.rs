//! How fast data files are parsed, in MB of plain text per second of one core.
//!
//! The bar is 250 MB/s on `yso-finna-en-3plus/train.txt`, which is read from the folder that
//! `LABELWOOD_DATA` names; without it, text of the same shape is generated. Prints one line per
//! format: `cargo bench --bench parse`.

mod timing;

use labelwood::data::documents::{self, Documents, Labels, Options};
use labelwood::data::{Format, ReadOptions, read_bytes, write_header, write_row};
use labelwood::run::{Pool, Task};
use std::error::Error;
use std::io::Read;

/// The least speed, in MB per second of one core.
const BAR: f64 = 250.0;
const ROUNDS: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let task = Pool::new(1)?.task();
    let (name, text) = text()?;
    let xc = report(&format!("{name}, XC"), &text, "bench.txt", &task)?;

    let dataset = read_bytes(&text, "bench.txt", &ReadOptions::default(), &task)?.dataset;
    let mut libsvm = Vec::new();
    for (labels, features) in dataset.labels.rows().zip(dataset.features.rows()) {
        write_row(&mut libsvm, Format::Libsvm, labels.indices, features)?;
    }
    report(&format!("{name}, LIBSVM"), &libsvm, "bench.svm", &task)?;
    for (format, text) in documents(&text) {
        report_documents(&format!("{name}, {format:?}"), &text, format, &task)?;
    }
    println!("bar: {BAR} MB/s per core; {}", if xc >= BAR { "reached" } else { "missed" });
    Ok(())
}

/// The best of some rounds on one thread.
fn report(title: &str, text: &[u8], name: &str, task: &Task) -> Result<f64, Box<dyn Error>> {
    let best = timing::best(ROUNDS, || {
        let read = read_bytes(text, name, &ReadOptions::default(), task)?;
        assert!(!read.dataset.is_empty());
        Ok(())
    })?;
    let megabytes = text.len() as f64 / 1e6;
    let speed = megabytes / best.as_secs_f64();
    println!("{title}: {megabytes:.1} MB, {speed:.0} MB/s per core");
    Ok(speed)
}

/// The lines of an XC file as documents: features are the text.
fn documents(xc: &[u8]) -> [(documents::Format, String); 3] {
    let (mut tsv, mut csv, mut jsonl) = (String::new(), "text,labels\n".to_owned(), String::new());
    for line in String::from_utf8_lossy(xc).lines().skip(1) {
        let (labels, text) = line.split_once(' ').unwrap_or((line, ""));
        tsv.push_str(&format!("{text}\t{labels}\n"));
        csv.push_str(&format!("\"{text}\",\"{labels}\"\n"));
        let labels: Vec<&str> = labels.split(',').collect();
        jsonl.push_str(&format!("{{\"text\":\"{text}\",\"labels\":{labels:?}}}\n"));
    }
    use documents::Format;
    [(Format::Tsv, tsv), (Format::Csv, csv), (Format::Jsonl, jsonl)]
}

/// The best of some rounds on one thread.
fn report_documents(
    title: &str,
    text: &str,
    format: documents::Format,
    task: &Task,
) -> Result<(), Box<dyn Error>> {
    let options = Options::default();
    let best = timing::best(ROUNDS, || {
        let bytes = text.as_bytes();
        let required = Labels::Required;
        let mut documents = Documents::from_bytes(bytes, "f", format, &options, required, task)?;
        while let Some(batch) = documents.next_batch()? {
            assert!(!batch.is_empty());
        }
        Ok(())
    })?;
    let megabytes = text.len() as f64 / 1e6;
    println!("{title}: {megabytes:.1} MB, {:.0} MB/s per core", megabytes / best.as_secs_f64());
    Ok(())
}

fn text() -> Result<(String, Vec<u8>), Box<dyn Error>> {
    if let Some(folder) = std::env::var_os("LABELWOOD_DATA") {
        let path = std::path::Path::new(&folder).join("yso-finna-en-3plus/train.txt.zst");
        let mut text = Vec::new();
        zstd::Decoder::new(std::fs::File::open(path)?)?.read_to_end(&mut text)?;
        return Ok(("yso-finna-en-3plus".to_owned(), text));
    }
    Ok(("generated text".to_owned(), generate(150_000)?))
}

/// Rows of 5 labels and 12 features with six decimals.
fn generate(rows: usize) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut state = 42u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut text = Vec::new();
    write_header(&mut text, Format::Xc, rows, (44_250, 24_579))?;
    for _ in 0..rows {
        let mut labels: Vec<u32> = (0..5).map(|_| next(24_579) as u32).collect();
        let mut indices: Vec<u32> = (0..12).map(|_| next(44_250) as u32).collect();
        labels.sort_unstable();
        indices.sort_unstable();
        labels.dedup();
        indices.dedup();
        let values: Vec<f32> = indices.iter().map(|_| (next(999_999) + 1) as f32 / 1e6).collect();
        let row = labelwood::sparse::Row { indices: &indices, values: &values };
        write_row(&mut text, Format::Xc, &labels, row)?;
    }
    Ok(text)
}
