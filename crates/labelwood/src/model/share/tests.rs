use super::*;
use crate::base::run::Pool;
use crate::base::sparse::LabelSet;
use crate::data::Dataset;
use crate::data::generate::{Generator, Profile};
use crate::learn::favour::Favour;
use crate::model::{TrainOptions, train_with};
use std::fs;
use tempfile::TempDir;

struct Trained {
    folder: TempDir,
    dataset: Dataset,
    task: Task,
}

impl Trained {
    fn new(name: &str, changes: &[(&str, i64)], extras: TrainOptions<'_>) -> Self {
        let set = |settings: Settings, &(setting, value): &(&str, i64)| {
            settings.set(setting, value).unwrap()
        };
        let settings = changes.iter().fold(Settings::named(name).unwrap(), set);
        Self::with(&settings, extras)
    }

    fn with(settings: &Settings, extras: TrainOptions<'_>) -> Self {
        let (folder, task) = (tempfile::tempdir().unwrap(), Pool::new(2).unwrap().task());
        let profile = Profile { instances: 250, ..Profile::named("eurlex-4k").unwrap() };
        let (features, labels) = Generator::new(profile, 1).unwrap().rows(0..250, &task).unwrap();
        let dataset = Dataset { features, labels, label_names: None, named: None };
        let trained = Trained { folder, dataset, task };
        let (path, task) = (trained.path(), &trained.task);
        train_with(&trained.dataset, extras, settings, &path, Default::default(), task).unwrap();
        trained
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("model")
    }

    fn share(&self, index: usize, of: usize) -> ModelShare {
        ModelShare::open(&self.path(), Share { index, of }, Options::default(), &self.task).unwrap()
    }

    fn scores(&self, index: usize, of: usize, query: Query<'_>) -> Scores {
        self.share(index, of).scores(self.dataset.features.view(), query, &self.task).unwrap()
    }

    fn combine(&self, scores: &[Scores], query: Query<'_>) -> Result<Predictions, ShareError> {
        let combiner = Combiner::open(&self.path(), Options::default(), &self.task).unwrap();
        combiner.combine(scores, query, &self.task)
    }

    /// Shares in any number predict what the whole model predicts, bit for bit.
    #[track_caller]
    fn is_the_sum_of_its_shares(&self) {
        let model = Model::open(&self.path(), Options::default(), &self.task).unwrap();
        let few: LabelSet = (0..400).step_by(3).collect();
        let queries = [
            Query::top(5),
            Query::top(150),
            Query { beam: Some(2), ..Query::top(3) },
            Query { allowed: Some(&few), ..Query::top(5) },
        ];
        for query in queries {
            let rows = self.dataset.features.view();
            let whole = model.predict(rows, query, &self.task).unwrap();
            assert!(whole.rows().any(|row| !row.is_empty()));
            for of in [1, 2, 3, 7] {
                // In another order than they are counted, and by way of their bytes.
                let share = |index| {
                    let scores = self.scores(index, of, query);
                    assert!(scores.are_of(rows));
                    Scores::from_bytes(&scores.to_bytes()).unwrap()
                };
                let scores: Vec<Scores> = (0..of).rev().map(share).collect();
                assert_eq!(self.combine(&scores, query).unwrap(), whole, "{of} shares, {query:?}");
            }
        }
    }
}

#[test]
fn shares_of_a_forest_predict_what_the_whole_does() {
    Trained::new("craftml", &[("trees", 5)], TrainOptions::default()).is_the_sum_of_its_shares();
    let projected = [("trees", 3), ("feature_dimensions", 64)];
    Trained::new("craftml", &projected, TrainOptions::default()).is_the_sum_of_its_shares();
}

#[test]
fn shares_of_label_trees_predict_what_the_whole_does() {
    let small = [("trees", 3), ("branches", 6), ("leaf", 30)];
    Trained::new("label-tree", &small, TrainOptions::default()).is_the_sum_of_its_shares();
}

#[test]
fn shares_of_a_label_forest_predict_what_the_whole_does() {
    Trained::new("label-forest", &[("submodels", 8)], TrainOptions::default())
        .is_the_sum_of_its_shares();
}

#[test]
fn shares_of_one_vs_rest_predict_what_the_whole_does() {
    Trained::new("one-vs-rest", &[], TrainOptions::default()).is_the_sum_of_its_shares();
}

#[test]
fn shares_of_neighbours_predict_what_the_whole_does() {
    Trained::new("neighbours", &[], TrainOptions::default()).is_the_sum_of_its_shares();
}

#[test]
fn shares_of_fastxml_predict_what_the_whole_does() {
    Trained::new("fastxml", &[("trees", 5)], TrainOptions::default()).is_the_sum_of_its_shares();
    let with_means = [("trees", 5), ("tail_weight", 1), ("tail_share", 1)];
    Trained::new("fastxml", &with_means, TrainOptions::default()).is_the_sum_of_its_shares();
}

#[test]
fn shares_of_a_grove_predict_what_the_whole_does() {
    let small = [("trees", 4), ("label_trees", 2), ("branches", 6)];
    Trained::new("grove", &small, TrainOptions::default()).is_the_sum_of_its_shares();
}

#[test]
fn calibration_and_favour_come_after_the_sum() {
    let extras = TrainOptions { calibrate: true, favour: Favour::Tail, ..TrainOptions::default() };
    Trained::new("craftml", &[("trees", 4)], extras).is_the_sum_of_its_shares();
}

#[test]
fn a_share_needs_the_files_of_no_other() {
    let trained = Trained::new("craftml", &[("trees", 4)], TrainOptions::default());
    let query = Query::top(5);
    let expected = trained.scores(1, 2, query).to_bytes();
    for entry in fs::read_dir(trained.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("tree-0000") || name.starts_with("tree-0001") {
            fs::remove_file(path).unwrap();
        }
    }
    assert_eq!(trained.scores(1, 2, query).to_bytes(), expected);
    assert!(Combiner::open(&trained.path(), Options::default(), &trained.task).is_ok());
    let first = Share { index: 0, of: 2 };
    assert!(ModelShare::open(&trained.path(), first, Options::default(), &trained.task).is_err());
}

#[test]
fn what_does_not_go_together_is_named() {
    let trained = Trained::new("craftml", &[("trees", 4)], TrainOptions::default());
    let query = Query::top(5);
    let share = |index| trained.scores(index, 3, query);
    let error = |scores: &[Scores], query| trained.combine(scores, query).unwrap_err().to_string();
    assert!(error(&[share(0), share(2)], query).contains("share 1 is missing, of 3 shares"));
    assert!(error(&[share(0), share(0)], query).contains("share 0 is there twice"));
    let all = [share(0), share(1), share(2)];
    assert!(error(&all, Query::top(6)).contains("share 0 has the answer to another question"));
    let mixed = [share(0), trained.scores(1, 2, query)];
    assert!(error(&mixed, query).contains("share 1 has another number of shares"));
    assert!(error(&[], query).contains("there are no scores"));
    let some = trained.dataset.features.view().slice(0..9);
    let other = trained.share(1, 3).scores(some.view(), query, &trained.task).unwrap();
    assert!(error(&[share(0), other], query).contains("share 1 has the scores of other rows"));
    let another = Trained::new("craftml", &[("trees", 3)], TrainOptions::default());
    let foreign = another.scores(0, 3, query);
    assert!(error(&[foreign], query).contains("share 0 has the scores of another model"));
    let beyond = Share { index: 3, of: 3 };
    let opened = ModelShare::open(&trained.path(), beyond, Options::default(), &trained.task);
    assert!(opened.unwrap_err().to_string().contains("there is no share 3: there are 3"));
}

#[test]
fn damaged_scores_are_refused() {
    let trained = Trained::new("craftml", &[("trees", 2)], TrainOptions::default());
    let query = Query::top(5);
    let scores = trained.scores(0, 1, query);
    let mut written = Vec::new();
    scores.write_to(&mut written).unwrap();
    scores.write_to(&mut written).unwrap();
    let mut reader = ScoresReader::new(written.as_slice());
    assert_eq!(reader.next().unwrap().unwrap().to_bytes(), scores.to_bytes());
    assert!(reader.next().unwrap().is_some() && reader.next().unwrap().is_none());
    for len in (1..written.len() / 2).step_by(997).chain(1..60) {
        assert!(ScoresReader::new(&written[..len]).next().is_err(), "{len} bytes");
        let mut flipped = scores.to_bytes();
        flipped[len] ^= 1;
        assert!(Scores::from_bytes(&flipped).is_err(), "byte {len}");
    }
}
