//! How fast a block of labels is solved, in seconds of one core.
//!
//! On generated rows with the shape of `eurlex-4k`, and on the real sets below in the folder that
//! `LABELWOOD_DATA` names. The labels of a set are solved one block after the other over all rows,
//! up to a number of blocks. Prints one line per set and loss: `cargo bench --bench solver`.

mod timing;

use labelwood::data::generate::{Generator, Profile};
use labelwood::data::{ReadOptions, read};
use labelwood::random::Stream;
use labelwood::run::Pool;
use labelwood::solver::{LANES, Loss, Params, Rows, Workspace};
use labelwood::sparse::{Csr, Entries, LabelRows};
use std::error::Error;
use std::path::Path;

const SETS: [&str; 2] = ["delicious", "wordnet-hyper3"];
/// Blocks of the most frequent labels, which take longest.
const BLOCKS: usize = 8;
const ROUNDS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let run = Pool::new(1)?.task();
    let profile = Profile { instances: 15_000, ..Profile::named("eurlex-4k").ok_or("no profile")? };
    let (features, labels) = Generator::new(profile, 1)?.rows(0..15_000, &run)?;
    report("generated", &features, &labels)?;
    if let Some(folder) = std::env::var_os("LABELWOOD_DATA") {
        for set in SETS {
            let path = Path::new(&folder).join(set).join("train.txt.zst");
            let dataset = read(&path, &ReadOptions::default(), &run)?.dataset;
            report(set, &dataset.features, &dataset.labels)?;
        }
    }
    Ok(())
}

fn report(set: &str, features: &Csr, labels: &LabelRows) -> Result<(), Box<dyn Error>> {
    let rows = normalised(features);
    let mut positives = vec![Vec::new(); labels.columns()];
    for (row, labels) in labels.rows().enumerate() {
        for &label in labels.indices {
            positives[label as usize].push(row as u32);
        }
    }
    positives.sort_by_key(|rows| std::cmp::Reverse(rows.len()));
    let positives: Vec<&[u32]> = positives.iter().map(Vec::as_slice).collect();
    for loss in [Loss::SquaredHinge, Loss::Hinge, Loss::Logistic] {
        let params = Params { loss, ..Params::default() };
        let mut workspace = Workspace::default();
        let best = timing::best(ROUNDS, || {
            for block in positives.chunks(LANES).take(BLOCKS) {
                workspace.solve(&rows, block, &params, &mut Stream::new(1));
            }
            Ok(())
        })?;
        let blocks = positives.len().div_ceil(LANES).min(BLOCKS);
        let each = best.as_secs_f64() * 1e3 / blocks as f64;
        println!("{set}, {} rows, {loss:?}: {each:.1} ms per block of {LANES} labels", rows.len());
    }
    Ok(())
}

/// The rows, each of length 1.
fn normalised(features: &Csr) -> Rows {
    let mut offsets = vec![0];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for row in features.rows() {
        let length = row.values.iter().map(|value| value * value).sum::<f32>().sqrt();
        columns.extend(row.indices);
        values.extend(row.values.iter().map(|value| value / length.max(f32::MIN_POSITIVE)));
        offsets.push(columns.len() as u64);
    }
    let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
    let all: Vec<u32> = (0..features.len() as u32).collect();
    Rows::gather(entries, &all, &mut vec![0; features.columns()])
}
