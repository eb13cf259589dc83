//! A toy algorithm, the most frequent labels, in one file: it is trained, resumed, sharded and merged,
//! opened in parts, inspected, tuned, and described in the docs without any other change.

use crate::algorithms::explain::Evidence;
use crate::algorithms::*;
use crate::base::run::{Pool, Stage};
use crate::base::settings::settings;
use crate::base::sparse::Votes;
use crate::base::store::{Options, Start};
use crate::data::generate::{Generator, Profile};
use crate::model::{Model, TrainError, Trained as Outcome, shrink, train, train_within, update};
use crate::search::tune::{Measure, Plan as TunePlan, tune};
use crate::shard::{Combiner, ModelShare, Options as ShardOptions, Plan, Share, Work};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fs;
use std::path::Path;

settings! {
    /// What the most frequent labels are counted with.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Params {
        /// Slices of the rows, each counted on its own.
        slices: usize = 4, within(1.0, 1000.0);
        /// Labels that this many rows or fewer have are left out.
        rare: usize = 0, tried([0.into(), 5.into(), 1_000_000.into()]);
        /// Every random choice would follow from this number.
        seed: u64 = 42, elsewhere();
    }
}

impl Algorithm for Params {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn about(&self) -> &'static str {
        "the most frequent labels, whatever the row"
    }

    fn table(&self) -> Vec<Setting> {
        Params::table()
    }

    fn presets(&self) -> Vec<(&'static str, Settings)> {
        vec![("default", Params::default().into())]
    }

    fn facts(&self) -> Facts {
        Facts {
            scores: Scores::Probabilities,
            is_calibrated: false,
            grows: None,
            units: "slices",
            updates: Updates::Never,
            reads_names: false,
            needs_rows: true,
            tried_up_to: 0,
            judges: false,
        }
    }

    fn check(&self) -> Result<(), ParamError> {
        self.check_values()
    }

    fn resolve(&self, _rows: DatasetView<'_>) -> Settings {
        self.to_settings()
    }

    fn estimate(&self, rows: DatasetView<'_>, _threads: usize) -> Estimate {
        let counts = 4 * rows.labels.columns() as u64;
        Estimate { memory: counts, model: counts * self.slices as u64 }
    }

    fn members(&self, _labels: usize) -> usize {
        self.slices
    }

    fn units(&self, _labels: usize, _open: &OpenUnit<'_>) -> Result<Vec<UnitSpec>, StoreError> {
        let unit = |slice| UnitSpec::new(unit_name(slice), Role::Learned);
        Ok((0..self.slices).map(unit).collect())
    }

    fn costs(&self, units: &[UnitSpec], rows: DatasetView<'_>, threads: usize) -> Costs {
        let memory = self.estimate(rows, threads).memory;
        let cost = Cost { seconds: 1e-9 * rows.len() as f64, memory };
        Costs { units: vec![cost; units.len()], below: Cost::default() }
    }

    fn prepare<'a>(
        &self,
        rows: DatasetView<'a>,
        _task: &Task,
    ) -> Result<Box<dyn Train + 'a>, Interrupted> {
        self.check()?;
        Ok(Box::new(Trainer { params: self.clone(), rows }))
    }

    fn open(&self, trained: &Trained<'_>) -> Result<Box<dyn Predict>, FormatError> {
        let read = |slice| trained.stored.unit(&unit_name(slice))?.array("counts");
        let slices = trained.members.clone().map(read).collect::<Result<_, _>>()?;
        Ok(Box::new(Counted { params: self.clone(), counts: trained.counts.clone(), slices }))
    }
}

fn unit_name(slice: usize) -> String {
    format!("slice-{slice:04}")
}

struct Trainer<'a> {
    params: Params,
    rows: DatasetView<'a>,
}

impl Train for Trainer<'_> {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    fn train(&self, units: &UnitSink<'_>, task: &Task) -> Result<(), Interrupted> {
        let slices = self.params.slices;
        for slice in (0..slices).filter(|&slice| units.lacks(&unit_name(slice))) {
            task.check()?;
            let mut counts = vec![0u32; self.rows.labels.columns()];
            for row in (slice..self.rows.len()).step_by(slices) {
                let labels = self.rows.labels.row(row).indices;
                labels.iter().for_each(|&label| counts[label as usize] += 1);
            }
            units.write(&unit_name(slice), &[("counts", counts[..].into())])?;
            task.progress(Stage::Units("slices"), slice as u64 + 1, slices as u64);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Counted {
    params: Params,
    counts: Array<u32>,
    slices: Vec<Array<u32>>,
}

impl Predict for Counted {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    fn predict(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        let votes = self.votes(rows, query, task)?;
        let mut predictions = Predictions::default();
        for row in &votes[0] {
            predictions.push_row(&self.combine(std::slice::from_ref(row), &[vec![]], query));
        }
        Ok(predictions)
    }

    fn votes(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        _task: &Task,
    ) -> Result<Vec<Vec<RowVotes>>, Stopped> {
        let is_meant = |label: u32| {
            query.allows(label) && self.counts[label as usize] as usize > self.params.rare
        };
        let of_slice = |counts: &Array<u32>| -> RowVotes {
            let counts = (0..).zip(counts.iter().copied());
            counts.filter(|&(label, _)| is_meant(label)).map(|(id, n)| (id, n.into())).collect()
        };
        let votes: RowVotes = self.slices.iter().flat_map(of_slice).collect();
        Ok(vec![vec![votes; rows.len()]])
    }

    fn combine(&self, votes: &[RowVotes], _voters: &[Vec<u32>], query: Query<'_>) -> Vec<Scored> {
        Votes::best_of(self.counts.len(), &votes[0], query.k, |_| 1)
    }

    fn explain(
        &self,
        row: RowsView<'_>,
        labels: &[u32],
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<Reasons>>, Stopped> {
        let predictions = self.predict(row, Query { k: usize::MAX, ..query }, task)?;
        let reasons = |&label: &u32| match predictions.row(0).iter().find(|best| best.id == label) {
            Some(best) => {
                let rows = self.counts[label as usize];
                Reasons::new("toy", best.score, Evidence::Counts { rows })
            }
            None => Reasons::none("toy"),
        };
        Ok(labels.iter().map(|label| vec![reasons(label)]).collect())
    }

    fn figures(&self) -> Vec<(String, Value)> {
        let sum = |slice: &Array<u32>| slice.iter().sum::<u32>();
        let figures = |(at, slice)| (unit_name(at), json!({ "labels_counted": sum(slice) }));
        self.slices.iter().enumerate().map(figures).collect()
    }

    fn update(
        &self,
        _rows: NewRows<'_>,
        _units: &UnitSink<'_>,
        _task: &Task,
    ) -> Result<(), Interrupted> {
        Ok(())
    }
}

fn rows(task: &Task) -> Dataset {
    let profile = Profile { instances: 120, ..Profile::named("eurlex-4k").unwrap() };
    let (features, labels) = Generator::new(profile, 1).unwrap().rows(0..120, task).unwrap();
    Dataset { features, labels, label_names: None, named: None }
}

/// The names and bytes of all files in a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn the_toy_is_trained_resumed_sharded_and_merged_to_the_same_bytes() {
    let (task, folder) = (Pool::new(2).unwrap().task(), tempfile::tempdir().unwrap());
    let (rows, settings) = (rows(&task), Settings::named("toy").unwrap());
    let path = |name: &str| folder.path().join(name);
    train(&rows, &settings, &path("whole"), Start::default(), &task).unwrap();
    let expected = files(&path("whole"));
    assert!(expected.len() >= 4 + 2, "slices, labels and the manifest");

    // Stopped after two units, it goes on with the others.
    let stopping = Pool::new(1).unwrap().task();
    let canceller = stopping.canceller();
    let stopping = stopping.on_progress(move |progress| {
        if progress.done == 2 {
            canceller.cancel();
        }
    });
    let error = train(&rows, &settings, &path("stopped"), Start::default(), &stopping).unwrap_err();
    let TrainError::Stopped { finished: 2, total: 4, units: "slices", .. } = error else {
        panic!("{error}")
    };
    let start = Start { resume: true, overwrite: false };
    let resumed = train(&rows, &settings, &path("stopped"), start, &task).unwrap();
    assert!(matches!(resumed, Outcome::Written(_)));
    assert_eq!(files(&path("stopped")), expected);

    let options = ShardOptions { shards: 3, ..Default::default() };
    let plan =
        Plan::make(&path("plan"), rows.view(), Default::default(), &settings, &options, &task)
            .unwrap();
    assert_eq!(plan.stages(), 1);
    for shard in 0..3 {
        plan.train(rows.view(), &[shard], Work::default(), &task).unwrap();
    }
    plan.merge(&[], &path("merged"), false, &task).unwrap();
    assert_eq!(files(&path("merged")), expected);
}

#[test]
fn the_toy_predicts_whole_and_in_parts_and_is_inspected() {
    let (task, folder) = (Pool::new(2).unwrap().task(), tempfile::tempdir().unwrap());
    let rows = rows(&task);
    let path = folder.path().join("model");
    let settings = Settings::named("toy").unwrap().set("slices", 3).unwrap();
    train(&rows, &settings, &path, Start::default(), &task).unwrap();
    let model = Model::open(&path, Options::default(), &task).unwrap();
    let (features, query) = (rows.features.view(), Query::top(5));
    let predictions = model.predict(features, query, &task).unwrap();
    let frequent = model.labels().most_frequent(5);
    let found: Vec<u32> = predictions.row(7).iter().map(|label| label.id).collect();
    assert_eq!(found, frequent);

    let part = |index| {
        let share = Share { index, of: 2 };
        let part = ModelShare::open(&path, share, Options::default(), &task).unwrap();
        part.scores(features, query, &task).unwrap()
    };
    let combiner = Combiner::open(&path, Options::default(), &task).unwrap();
    let combined = combiner.combine(&[part(0), part(1)], query, &task).unwrap();
    assert_eq!(combined, predictions);

    let figures = model.learned().figures();
    assert_eq!((figures.len(), figures[2].0.as_str()), (3, "slice-0002"));
    assert_eq!(model.manifest().training.settings["slices"], 3);
    assert_eq!(settings.describe_size(), "a model");
}

#[test]
fn the_toy_is_tuned_and_what_it_cannot_do_is_refused() {
    let (task, folder) = (Pool::new(2).unwrap().task(), tempfile::tempdir().unwrap());
    // Few labels, so that the most frequent are right often enough to tell.
    let profile = Profile { instances: 120, labels: 25, ..Profile::named("eurlex-4k").unwrap() };
    let (features, labels) = Generator::new(profile, 1).unwrap().rows(0..120, &task).unwrap();
    let rows = Dataset { features, labels, label_names: None, named: None };
    let settings = Settings::named("toy").unwrap();
    let path = |name: &str| folder.path().join(name);
    let start = settings.set("rare", 1_000_000).unwrap();
    let plan = TunePlan::new(rows.view(), std::slice::from_ref(&start), &[], Measure::default(), 2)
        .unwrap();
    assert_eq!(plan.candidates().len(), 3);
    let outcome = tune(rows.view(), &plan, &path("tuned"), &task).unwrap();
    assert_eq!(outcome.chosen().settings.find("rare"), Some(0.into()));

    train(&rows, &settings, &path("model"), Start::default(), &task).unwrap();
    let model = Model::open(&path("model"), Options::default(), &task).unwrap();
    let refused = update(&model, &rows, &path("model"), Default::default(), &task).unwrap_err();
    assert_eq!(refused.to_string(), "a toy model cannot be updated: train it again on all rows");
    let how = Shrink { values: Some(StoredAs::F16), prune: None };
    assert!(shrink(&path("model"), &path("small"), how, false, &task).is_err());
    let limits = Limits { bytes: Some(1 << 20), ..Limits::default() };
    let start = Start::default();
    let limited =
        train_within(&rows, Default::default(), &settings, limits, &path("l"), start, &task);
    assert!(limited.unwrap_err().to_string().starts_with("algorithm is toy"));
}
