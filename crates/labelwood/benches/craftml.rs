//! How fast forests grow and predict, in CPU time.
//!
//! Takes the sets of the folder that `LABELWOOD_DATA` names, or generated rows with the shape of
//! EURLex-4K without it. Prints one line for each set: `cargo bench --bench craftml`.

mod timing;

use labelwood::Settings;
use labelwood::algorithms::craftml::Params;
use labelwood::data::generate::{Generator, Profile};
use labelwood::data::{Dataset, ReadOptions, read};
use labelwood::model::Model;
use labelwood::run::{Pool, Task};
use labelwood::sparse::Query;
use std::error::Error;
use std::path::Path;
use timing::best;

/// The sets that are measured: one with few features, one of text.
const SETS: [&str; 2] = ["bibtex", "debian-debtags"];
const TREES: usize = 3;
const ROUNDS: usize = 3;
/// Rows that are predicted, at most.
const ROWS: usize = 3000;

fn main() -> Result<(), Box<dyn Error>> {
    let task = Pool::new(1)?.task();
    let Some(folder) = std::env::var_os("LABELWOOD_DATA") else {
        let generator = Generator::new(
            Profile { instances: 5000, ..Profile::named("eurlex-4k").ok_or("no such profile")? },
            1,
        )?;
        let (features, labels) = generator.rows(0..5000, &task)?;
        return report(
            "generated",
            &Dataset { features, labels, label_names: None, named: None },
            &task,
        );
    };
    for set in SETS {
        let path = Path::new(&folder).join(set).join("train.txt.zst");
        report(set, &read(&path, &ReadOptions::default(), &task)?.dataset, &task)?;
    }
    Ok(())
}

/// The best of some rounds.
fn report(name: &str, dataset: &Dataset, task: &Task) -> Result<(), Box<dyn Error>> {
    let features = dataset.features.view();
    let params = Params { trees: TREES, ..Params::default() };
    let (beam, settings) = (params.beam, Settings::from(params));
    let mut forest = None;
    let grown = best(ROUNDS, || {
        forest = Some(Model::train(dataset.view(), Default::default(), &settings, task)?);
        Ok(())
    })?;
    let forest = forest.ok_or("there is at least one round")?;
    let per_tree = grown.as_secs_f64() / TREES as f64;
    let rows = features.slice(0..features.len().min(ROWS));
    let mut predicted = [0.0; 3];
    let kinds = [(Some(1), ROWS), (None, ROWS), (None, 1)];
    for (milliseconds, (beam, together)) in predicted.iter_mut().zip(kinds) {
        let spent = best(ROUNDS, || {
            for start in (0..rows.len()).step_by(together) {
                let some = rows.view().slice(start..rows.len().min(start + together));
                forest.predict(some.view(), Query { beam, ..Query::top(5) }, task)?;
            }
            Ok(())
        })?;
        *milliseconds = spent.as_secs_f64() * 1e3 / rows.len() as f64 / TREES as f64;
    }
    println!(
        "{name}: {} rows, {} entries; {per_tree:.3} s per tree; a row and tree takes {:.4} ms with \
         beam 1, {:.4} ms with beam {beam}, {:.4} ms alone",
        features.len(),
        features.entries(),
        predicted[0],
        predicted[1],
        predicted[2],
    );
    Ok(())
}
