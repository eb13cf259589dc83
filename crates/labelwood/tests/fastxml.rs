//! FastXML forests of real rows.

use labelwood::algorithms::fastxml::Params;
use labelwood::data::{self, ReadOptions};
use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
use labelwood::model::Model;
use labelwood::run::Pool;
use labelwood::sparse::Query;
use std::path::Path;

#[test]
fn bibtex_is_learned_as_well_as_it_should_be_and_rare_labels_better_with_pfastrexml() {
    let Some(folder) = std::env::var_os("LABELWOOD_DATA") else {
        println!("skipped: LABELWOOD_DATA is not set");
        return;
    };
    let task = Pool::new(0).unwrap().task();
    let read = |name| {
        let path = Path::new(&folder).join("bibtex").join(name);
        data::read(&path, &ReadOptions::default(), &task).unwrap().dataset
    };
    let (train, test) = (read("train.txt.zst"), read("test.txt.zst"));
    let counts = train.labels.view().column_counts();
    let measured = |params: Params| {
        let model = Model::train(train.view(), Default::default(), &params.into(), &task).unwrap();
        let predictions = model.predict(test.features.view(), Query::top(5), &task).unwrap();
        let training = TrainingCounts { instances: train.len(), labels: &counts };
        let options = MetricOptions::default();
        let labels = test.labels.view();
        let evaluation = Evaluation::new(labels, &predictions, training, &options).unwrap();
        let at = |at: usize| {
            let metrics = &evaluation.metrics().at[at];
            (metrics.precision, metrics.psp)
        };
        [at(0), at(1), at(2)]
    };
    let (usual, rare) = (measured(Params::default()), measured(Params::pfastrexml()));
    println!("(P, PSP) at 1, 3, 5: {usual:?}, pfastrexml {rare:?}");
    // The paper's, less what its split and ours differ by for CRAFTML.
    for (found, expected) in usual.iter().zip([0.608, 0.375, 0.277]) {
        assert!(found.0 > expected, "{usual:?}");
    }
    assert!(usual.iter().zip(&rare).all(|(usual, rare)| usual.1 < rare.1), "{usual:?} {rare:?}");
}
