//! Trains a forest on rows of features, opens it from its folder, predicts other rows, and measures
//! how good the predictions are. Run it with `cargo run --example train_and_predict`.

use labelwood::algorithms::craftml;
use labelwood::data::Dataset;
use labelwood::data::generate::{Generator, Profile, TEST_START};
use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
use labelwood::model::{Model, train};
use labelwood::run::Pool;
use labelwood::sparse::Query;
use std::error::Error;

/// The whole example.
pub fn main() -> Result<(), Box<dyn Error>> {
    // A pool of threads lives long; each piece of work is a task of its own.
    let task = Pool::new(2)?.task();

    // Rows to learn from and rows to test with. `data::read` reads them from a file instead.
    let profile = Profile { instances: 500, ..Profile::named("eurlex-4k").expect("it is known") };
    let generator = Generator::new(profile, 1)?;
    let (features, labels) = generator.rows(0..500, &task)?;
    let rows = Dataset { features, labels, label_names: None, named: None };
    let (features, truth) = generator.rows(TEST_START..TEST_START + 100, &task)?;

    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model");
    let settings = craftml::Params { trees: 10, ..Default::default() }.into();
    train(&rows, &settings, &path, Default::default(), &task)?;

    let model = Model::open(&path, Default::default(), &task)?;
    let predictions = model.predict(features.view(), Query::top(5), &task)?;
    for label in predictions.row(0) {
        println!("row 1: label {} with a score of {:.3}", label.id, label.score);
    }

    let training = TrainingCounts { instances: rows.len(), labels: model.labels().counts() };
    let options = MetricOptions::default();
    let figures = Evaluation::new(truth.view(), &predictions, training, &options)?.metrics();
    let (name, value) = figures.named().next().expect("P@1 comes first");
    println!("{name} of {} rows: {value:.3}", figures.instances);
    assert!(value > 0.2, "a forest finds more than chance does");
    Ok(())
}
