//! Algorithms side by side.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use labelwood::app::{Alike, Division, TrainingNeed, row_key, text_key};
use labelwood::compare::{Comparison, Contestant, Split};
use labelwood::data::{Dataset, LabelIndex, LabelIndexBuilder, Named};
use labelwood::model::check_rows;
use labelwood::report::ComparisonPage;
use labelwood::run::Task;
use labelwood::sparse::{Csr, Predictions, Rows as TextRows, Scored};
use labelwood::text::TextReader;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::check::{Handed, owned};
use crate::errors::{Fault, refuse};
use crate::rows::{FeatureArrays, Features, label_index, predictions};
use crate::text::{Reading, Vocabulary, number};
use crate::training::{parse, refuse_more};
use crate::work;

/// Labels of a row that are looked at.
const CUT: usize = 5;

/// What is compared: names, with an algorithm and its settings as JSON unless the name says it, none for all
/// that suit the rows; the share of rows to test with, or the folds; the seeds and the first of them; a folder
/// for finished trials, the seconds and the bytes of memory that there are; and the title of the page.
#[derive(FromPyObject)]
pub struct Asked(
    Vec<(PyBackedStr, Option<(PyBackedStr, PyBackedStr)>)>,
    (f64, Option<usize>),
    (usize, u64),
    Option<PathBuf>,
    Option<f64>,
    Option<u64>,
    PyBackedStr,
);

/// What another system predicted: scores, or the names of labels, best first.
#[derive(FromPyObject)]
pub enum Answers<'py> {
    Scores(FeatureArrays<'py>),
    Names(Vec<Vec<PyBackedStr>>),
}

/// The figures as JSON, the cells of the table, the table in Markdown and in LaTeX, a sentence, and a page.
type Compared = (String, Vec<Vec<String>>, String, String, String, String);

/// Texts with their tags.
type Documents = (Vec<PyBackedStr>, Vec<Vec<PyBackedStr>>);

/// Compares with rows, tested with those of a part of them or with others.
#[pyfunction]
pub fn compare_rows(
    py: Python<'_>,
    asked: Asked,
    rows: Handed<'_>,
    test: Option<Handed<'_>>,
    others: Vec<(String, Answers<'_>)>,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Compared> {
    let comparing = Comparing::new(py, asked, others)?;
    let (features, labels, names) = rows;
    let names = label_index(names.as_deref().unwrap_or_default());
    let all = owned(py, (features, labels, None))?;
    let test = test.map(|test| owned(py, test)).transpose()?;
    work::run(py, threads, progress, |task| {
        let keys = all.features.rows().map(row_key);
        let read = |is_test: Option<&[bool]>| {
            let select = |wanted: bool, is_test: &[bool]| {
                let places = (0..all.len()).filter(|&row| is_test[row] == wanted);
                all.select(&places.collect::<Vec<_>>())
            };
            let (train, test) = match (is_test, &test) {
                (Some(is_test), _) => (select(false, is_test), select(true, is_test)),
                (None, test) => (all.clone(), test.clone().unwrap_or_else(|| all.clone())),
            };
            Ok(Divided { train, test, reader: None, names: names.clone() })
        };
        comparing.run(keys, test.is_some(), read, task)
    })
}

/// Compares with texts, which are read as a vectoriser says; words of those to test with are never learned.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are the parameters of Python's")]
pub fn compare_texts(
    py: Python<'_>,
    asked: Asked,
    vectoriser: &str,
    documents: &str,
    vocabulary: Vocabulary,
    all: Documents,
    test: Option<Documents>,
    others: Vec<(String, Answers<'_>)>,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Compared> {
    let comparing = Comparing::new(py, asked, others)?;
    let reading = Reading::parse(py, vectoriser, documents, vocabulary)?;
    work::run(py, threads, progress, |task| {
        let keys = all.0.iter().map(|text| text_key(text));
        let read = |is_test: Option<&[bool]>| -> Result<Divided, Fault> {
            let is_learned = |row: usize| is_test.is_none_or(|is_test| !is_test[row]);
            let (texts, tags) = chosen(&all, is_learned);
            let (train, reader) = reading.learn(&texts, &tags, task)?;
            let none = LabelIndex::default();
            let known = train.label_names.as_ref().unwrap_or(&none);
            let tested = match &test {
                Some(test) => chosen(test, |_| true),
                None => chosen(&all, |row| !is_learned(row)),
            };
            let tested = labelled(&reader, known, tested, task)?;
            let (test, names) = tested;
            Ok(Divided { train, test, reader: Some(reader), names })
        };
        comparing.run(keys, test.is_some(), read, task)
    })
}

/// Some of the texts with their tags.
fn chosen(
    (texts, tags): &Documents,
    is_chosen: impl Fn(usize) -> bool,
) -> (Vec<&str>, Vec<Vec<&str>>) {
    let rows = (0..texts.len()).filter(|&row| is_chosen(row));
    rows.map(|row| (&*texts[row], tags[row].iter().map(|tag| &**tag).collect())).unzip()
}

/// Texts with their tags as those that were learned, and the names of the tags of both.
fn labelled(
    reader: &TextReader,
    known: &LabelIndex,
    (texts, tags): (Vec<&str>, Vec<Vec<&str>>),
    task: &Task,
) -> Result<(Dataset, LabelIndex), Fault> {
    let TextRows { features, matches } = reader.rows(&texts, task)?;
    let (labels, names) = number(&tags, LabelIndexBuilder::new(known));
    let no_names = Csr::new(features.columns());
    let named = matches.map(|matches| Named { names: no_names, matches });
    Ok((Dataset { features, labels, label_names: None, named }, names))
}

/// Rows to learn from, and others to test with.
struct Divided {
    train: Dataset,
    test: Dataset,
    reader: Option<TextReader>,
    names: LabelIndex,
}

/// What another system predicted, without Python's objects.
enum Foreign {
    Ranked(Predictions),
    Names(Vec<Vec<PyBackedStr>>),
}

struct Comparing {
    asked: Asked,
    contestants: Vec<Contestant>,
    others: Vec<(String, Foreign)>,
}

impl Comparing {
    fn new(py: Python<'_>, asked: Asked, others: Vec<(String, Answers<'_>)>) -> PyResult<Self> {
        let contestant =
            |(name, given): &(PyBackedStr, Option<(PyBackedStr, PyBackedStr)>)| match given {
                None => Contestant::named(name).map_err(|reason| refuse(py, reason)),
                Some((algorithm, values)) => Ok(Contestant {
                    name: name.to_string(),
                    settings: parse(py, algorithm, values)?,
                }),
            };
        let contestants = asked.0.iter().map(contestant).collect::<PyResult<_>>()?;
        let foreign = |(name, answers)| -> PyResult<(String, Foreign)> {
            let answers = match answers {
                Answers::Scores(arrays) => {
                    Foreign::Ranked(predictions(Features::new(arrays)?.view(py)?, CUT))
                }
                Answers::Names(names) => Foreign::Names(names),
            };
            Ok((name, answers))
        };
        let others = others.into_iter().map(foreign).collect::<PyResult<_>>()?;
        Ok(Comparing { asked, contestants, others })
    }

    /// Compares on each split, which `read` makes of what is held out; `keys` tell which rows are alike.
    fn run(
        self,
        keys: impl Iterator<Item = u64>,
        has_test: bool,
        read: impl Fn(Option<&[bool]>) -> Result<Divided, Fault>,
        task: &Task,
    ) -> Result<Compared, Fault> {
        let Asked(_, (holdout, folds), (_, seed), _, seconds, _, title) = &self.asked;
        let budget =
            seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default());
        let timed = task.until(budget.map(|budget| Instant::now() + budget));
        let divisions = match (has_test, *folds) {
            (true, _) => vec![None],
            (false, None) => vec![Some(Division::Share(*holdout))],
            (false, Some(count)) => {
                (0..count).map(|number| Some(Division::Fold(number, count))).collect()
            }
        };
        let mut alike = Alike::default();
        keys.for_each(|key| alike.push([key]));
        let mut comparison: Option<Comparison> = None;
        for division in &divisions {
            let all_alike =
                || Fault::Input("all rows are alike: there is nothing to divide".to_owned());
            let is_test = division.map(|division| division.of(&alike, *seed).ok_or_else(all_alike));
            let Divided { train, test, reader, names } = read(is_test.transpose()?.as_deref())?;
            check_rows(train.view())?;
            if test.is_empty() {
                return Err(Fault::Input("there are no rows to test with".to_owned()));
            }
            if test.digest() == train.digest() {
                tracing::warn!(
                    "test has the rows that were learned from: the figures do not tell how good predictions \
                     for other rows are"
                );
            }
            let split = Split { train: &train, test: &test, reader: reader.as_ref() };
            let comparison = match &mut comparison {
                Some(comparison) => comparison,
                empty => empty.insert(self.begin(&split, divisions.len(), task)?),
            };
            for (name, answers) in &self.others {
                match answers {
                    Foreign::Ranked(ranked) => comparison.join(name, ranked, &split)?,
                    Foreign::Names(lists) => {
                        comparison.join(name, &ranked(name, lists, &names)?, &split)?
                    }
                }
            }
            comparison.try_out(&split, &timed)?;
        }
        let comparison = comparison.expect("there is a split");
        let outcome = comparison.outcome(task)?;
        let page = ComparisonPage { title, outcome: &outcome }.to_string();
        let figures = serde_json::to_string(&outcome)?;
        let (cells, verdict) = (outcome.cells(), outcome.verdict());
        Ok((figures, cells, outcome.markdown(), outcome.latex(), verdict, page))
    }

    /// Refuses what does not fit into memory, or leaves it out if it was not asked for.
    fn begin(&self, split: &Split<'_>, splits: usize, task: &Task) -> Result<Comparison, Fault> {
        let Asked(_, _, (seeds, seed), folder, _, memory, _) = &self.asked;
        let rows = split.train.view();
        let check = |one: &Contestant| {
            let need = TrainingNeed {
                reader: split.reader,
                ..TrainingNeed::new(rows, &one.settings, task.threads())
            };
            refuse_more(need.bytes(), *memory, rows.labels.columns())
        };
        let mut contestants = self.contestants.clone();
        contestants.iter().try_for_each(check)?;
        if contestants.is_empty() {
            contestants = Contestant::all(split.train);
            contestants.retain(|one| {
                let fits = check(one).is_ok();
                if !fits {
                    tracing::warn!("{} is left out: there is too little memory for it", one.name);
                }
                fits
            });
        }
        Ok(Comparison::new(contestants, *seeds, *seed, splits, folder.as_deref())?)
    }
}

/// Names of labels, best first, as predictions.
fn ranked(
    system: &str,
    rows: &[Vec<PyBackedStr>],
    names: &LabelIndex,
) -> Result<Predictions, Fault> {
    let mut predictions = Predictions::default();
    for (at, row) in rows.iter().enumerate() {
        let mut best: Vec<Scored> = Vec::new();
        for (name, left) in row.iter().take(CUT).zip((1..=CUT).rev()) {
            let id = names.find(name).ok_or_else(|| {
                Fault::Input(format!(
                    "predictions of {system} have the label {name:?} in row {at}, which no row of the data has"
                ))
            })?;
            if best.iter().any(|one| one.id == id) {
                return Err(Fault::Input(format!(
                    "predictions of {system} have the label {name:?} twice in row {at}"
                )));
            }
            best.push(Scored { id, score: left as f32 });
        }
        predictions.push_ranked(&best);
    }
    Ok(predictions)
}
