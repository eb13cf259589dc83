//! How fast linear classifiers of labels are learned, in seconds of one core.
//!
//! One-vs-rest on generated rows with the shape of `eurlex-4k`, and on a real set in the folder that
//! `LABELWOOD_DATA` names. Prints one line per set and loss: `cargo bench --bench solver`.

mod timing;

use labelwood::Settings;
use labelwood::algorithms::one_vs_rest::Params;
use labelwood::data::generate::{Generator, Profile};
use labelwood::data::{Dataset, ReadOptions, read};
use labelwood::model::Model;
use labelwood::run::{Pool, Task};
use labelwood::settings::{Loss, SolverParams};
use std::error::Error;
use std::path::Path;

const SETS: [&str; 1] = ["delicious"];
const ROUNDS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let task = Pool::new(1)?.task();
    let profile = Profile {
        instances: 5000,
        labels: 200,
        ..Profile::named("eurlex-4k").ok_or("no profile")?
    };
    let (features, labels) = Generator::new(profile, 1)?.rows(0..5000, &task)?;
    report("generated", &Dataset { features, labels, label_names: None, named: None }, &task)?;
    if let Some(folder) = std::env::var_os("LABELWOOD_DATA") {
        for set in SETS {
            let path = Path::new(&folder).join(set).join("train.txt.zst");
            report(set, &read(&path, &ReadOptions::default(), &task)?.dataset, &task)?;
        }
    }
    Ok(())
}

fn report(set: &str, rows: &Dataset, task: &Task) -> Result<(), Box<dyn Error>> {
    for loss in [Loss::SquaredHinge, Loss::Hinge, Loss::Logistic] {
        let default = Params::default();
        let solver = SolverParams { loss, ..default.solver };
        let settings = Settings::from(Params { solver, ..default });
        let best = timing::best(ROUNDS, || {
            Model::train(rows.view(), Default::default(), &settings, task)?;
            Ok(())
        })?;
        let each = best.as_secs_f64() * 1e3 / rows.labels.columns() as f64;
        println!("{set}, {} rows, {loss:?}: {each:.2} ms for each label", rows.len());
    }
    Ok(())
}
