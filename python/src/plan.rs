//! A training that several workers share: the plan, its shards and the merge.

use std::fs;
use std::path::{Path, PathBuf};

use labelwood::Settings;
use labelwood::data::{self, DatasetView, Format, ReadOptions};
use labelwood::model::TrainOptions;
use labelwood::run::Task;
use labelwood::shard::{Options, Plan as Inner, ShardError, Work};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::errors::{Fault, OrRaise};
use crate::rows::{FeatureArrays, LabelArrays, Rows};
use crate::text::{Reading, Vocabulary};
use crate::training::Learner;
use crate::work;

/// The plan's folder, the number of shards, what it is if neither is given nor known, and whether
/// another plan is replaced.
type Wish = (PathBuf, Option<usize>, usize, bool);
/// The number of units, bytes of memory and seconds.
type Shard = (Vec<String>, u64, f64);
/// Units that are done and missing, files that are broken and foreign, and for each shard how many
/// of its units are done, and how many it has.
type Status = (Vec<String>, Vec<String>, Vec<PathBuf>, Vec<PathBuf>, Vec<(usize, usize)>);

/// A plan in its folder.
#[pyclass(frozen, module = "labelwood._native")]
pub struct Plan(Inner);

#[pymethods]
impl Plan {
    /// A plan for rows of features and labels; one that is there already is taken up.
    #[staticmethod]
    fn of_rows(
        py: Python<'_>,
        wish: Wish,
        learner: Learner,
        features: FeatureArrays<'_>,
        labels: LabelArrays<'_>,
        names: Option<Vec<PyBackedStr>>,
        threads: usize,
    ) -> PyResult<Self> {
        let (algorithm, options) = learner.parts(py)?;
        let rows = Rows::new(features, labels, names)?;
        let dataset = rows.view(py)?;
        work::run(py, threads, None, |task| make(wish, None, dataset, options, &algorithm, task))
    }

    /// A plan for the rows of a file, which it refers to if they are binary.
    #[staticmethod]
    fn of_file(
        py: Python<'_>,
        wish: Wish,
        learner: Learner,
        path: PathBuf,
        threads: usize,
    ) -> PyResult<Self> {
        let (algorithm, options) = learner.parts(py)?;
        work::run(py, threads, None, |task| -> Result<Self, Fault> {
            let rows = data::read(&path, &ReadOptions::default(), task)?.dataset;
            let is_mapped = path.extension().is_some_and(|ending| ending == "lwd")
                && Format::of_path(&path) == Some(Format::Binary);
            let at = if is_mapped { Some(fs::canonicalize(&path)?) } else { None };
            make(wish, at, rows.view(), options, &algorithm, task)
        })
    }

    /// A plan for texts and their tags.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "it is called from one place")]
    fn of_texts(
        py: Python<'_>,
        wish: Wish,
        learner: Learner,
        vectoriser: &str,
        documents: &str,
        texts: Vec<PyBackedStr>,
        tags: Vec<Vec<PyBackedStr>>,
        vocabulary: Vocabulary,
        threads: usize,
    ) -> PyResult<Self> {
        let (algorithm, options) = learner.parts(py)?;
        let reading = Reading::parse(py, vectoriser, documents, vocabulary)?;
        work::run(py, threads, None, |task| -> Result<Self, Fault> {
            let (dataset, reader) = reading.learn(&texts, &tags, task)?;
            let options = TrainOptions { text: Some(&reader), ..options };
            make(wish, None, dataset.view(), options, &algorithm, task)
        })
    }

    /// Opens a plan's folder.
    #[staticmethod]
    fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        Ok(Plan(Inner::open(&folder).or_raise(py)?))
    }

    /// The shards: the units of the first stage, bytes of memory and seconds, about.
    #[getter]
    fn shards(&self) -> Vec<Shard> {
        let shards = self.0.shards().iter();
        shards.map(|shard| (shard.units.clone(), shard.memory, shard.seconds)).collect()
    }

    /// How many stages there are.
    #[getter]
    fn stages(&self) -> usize {
        self.0.stages()
    }

    /// Where the rows lie.
    #[getter]
    fn data(&self) -> PathBuf {
        self.0.data()
    }

    /// How far the plan has come.
    fn status(&self, py: Python<'_>) -> PyResult<Status> {
        let status = work::run(py, 0, None, |task| self.0.status(&[], task))?;
        Ok((status.done, status.missing, status.broken, status.foreign, status.shards))
    }

    /// Trains what is missing of a stage of a shard, on rows that are handed over, as arrays or as the
    /// content of the plan's file of rows, or on those of this file, which are mapped; gives how many
    /// units were trained.
    fn train(
        &self,
        py: Python<'_>,
        shard: usize,
        stage: usize,
        rows: Option<Handed<'_>>,
        threads: usize,
    ) -> PyResult<usize> {
        let work = Work { stage: Some(stage), ..Work::default() };
        let train = |dataset: DatasetView<'_>, task: &Task| -> Result<usize, Fault> {
            Ok(self.0.train(dataset, &[shard], work, task)?.0)
        };
        let options = ReadOptions { ignore_label_names: true, ..ReadOptions::default() };
        match rows {
            None => work::run(py, threads, None, |task| {
                train(data::read(&self.0.data(), &options, task)?.dataset.view(), task)
            }),
            Some(Handed::File(content)) => {
                let content = content.as_slice()?;
                work::run(py, threads, None, |task| {
                    let read = data::read_bytes(content, "data.lwd", &options, task)?;
                    train(read.dataset.view(), task)
                })
            }
            Some(Handed::Arrays(features, labels)) => {
                let rows = Rows::new(features, labels, None)?;
                let dataset = rows.view(py)?;
                work::run(py, threads, None, |task| train(dataset, task))
            }
        }
    }

    /// Makes the model of the units.
    fn merge(&self, py: Python<'_>, target: PathBuf, overwrite: bool) -> PyResult<()> {
        work::run(py, 0, None, |task| self.0.merge(&[], &target, overwrite, task)).map(|_| ())
    }
}

/// Rows that are handed over to a worker.
#[derive(FromPyObject)]
enum Handed<'py> {
    /// The content of a file of rows, which may have names.
    File(PyReadonlyArray1<'py, u8>),
    /// Features and labels.
    Arrays(FeatureArrays<'py>, LabelArrays<'py>),
}

/// Makes a plan, or takes up the one that is there if it is for the same training.
fn make(
    (folder, shards, otherwise, overwrite): Wish,
    at: Option<PathBuf>,
    dataset: DatasetView<'_>,
    training: TrainOptions<'_>,
    settings: &Settings,
    task: &Task,
) -> Result<Plan, Fault> {
    let make = |folder: &Path, options: &Options| {
        Inner::make(folder, dataset, training, settings, options, task)
    };
    let there = match Inner::open(&folder) {
        Err(ShardError::NoPlan { .. }) => None,
        Err(_) if overwrite => None,
        other => Some(other?),
    };
    let Some(there) = there else {
        let shards = shards.unwrap_or(otherwise);
        return Ok(Plan(make(&folder, &Options { shards, data: at, overwrite })?));
    };
    // What automatic settings come to is known once a plan is made; the rows stay where they are.
    let beside = folder.with_extension("compared");
    let placed = Options { data: Some(there.data()), overwrite: true, ..Options::default() };
    let is_same = id(&make(&beside, &placed)?)? == id(&there)?;
    fs::remove_dir_all(&beside)?;
    if !is_same && !overwrite {
        return Err(Fault::Input(format!(
            "{}: the plan that is here is for other rows, labels or settings: choose another folder, \
             or give overwrite=True",
            folder.display()
        )));
    }
    let count = there.shards().len();
    let shards = shards.unwrap_or(if is_same { count } else { otherwise });
    if is_same && shards == count {
        return Ok(Plan(there));
    }
    Ok(Plan(make(&folder, &Options { shards, data: at, overwrite: true })?))
}

/// What tells plans of different units apart.
fn id(plan: &Inner) -> Result<serde_json::Value, Fault> {
    let text = fs::read(plan.folder().join("plan.json"))?;
    let mut content: serde_json::Value = serde_json::from_slice(&text)?;
    Ok(content["plan_id"].take())
}
