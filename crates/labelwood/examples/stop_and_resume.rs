//! Stops a training after three trees and goes on with it: finished units are kept, and the model is the
//! same, byte for byte. Run it with `cargo run --example stop_and_resume`.

use labelwood::Settings;
use labelwood::data::Dataset;
use labelwood::data::generate::{Generator, Profile};
use labelwood::model::{TrainError, train};
use labelwood::run::Pool;
use labelwood::store::{Manifest, Start};
use std::error::Error;

/// The whole example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let pool = Pool::new(1)?;
    let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").expect("it is known") };
    let (features, labels) = Generator::new(profile, 1)?.rows(0..300, &pool.task())?;
    let rows = Dataset { features, labels, label_names: None, named: None };
    let settings = Settings::named("craftml").expect("it is an algorithm").set("trees", 8)?;
    let folder = tempfile::tempdir()?;
    let (whole, stopped) = (folder.path().join("whole"), folder.path().join("stopped"));

    // Anything that has the canceller may stop the task: here its own progress does.
    let task = pool.task();
    let canceller = task.canceller();
    let task = task.on_progress(move |progress| {
        if progress.done == 3 {
            canceller.cancel();
        }
    });
    match train(&rows, &settings, &stopped, Start::default(), &task) {
        Err(TrainError::Stopped { finished, total, units, source }) => {
            println!("{source}: {finished} of {total} {units} are kept");
        }
        other => panic!("the training should have been stopped, but: {other:?}"),
    }

    // A stopped task stays stopped, so going on is a new one.
    let start = Start { resume: true, ..Start::default() };
    train(&rows, &settings, &stopped, start, &pool.task())?;
    train(&rows, &settings, &whole, Start::default(), &pool.task())?;

    let (resumed, expected) = (Manifest::read(&stopped)?, Manifest::read(&whole)?);
    println!("the resumed model is {}", resumed.model_id());
    assert_eq!(resumed.model_id(), expected.model_id());
    Ok(())
}
