//! The flags that `predict` and `evaluate` share: how a model is opened and asked, and how the rows
//! for it are read. And how good predictions are, where no flag says how that is measured.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};
use labelwood::app::{LabelFiles, RowOptions, names_in, predict_at_least};
use labelwood::data::predictions::{
    KnownLabels, PredictionFormat, ReadPredictions, read_file_for, separator_of,
};
use labelwood::data::{Dataset, LabelIndex};
use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
use labelwood::model::Model;
use labelwood::run::{Stopped, Task};
use labelwood::sparse::{LabelSet, Predictions, Query, Scored, top_k};
use labelwood::store::{Load, Options};

use crate::args::{at_least_1, choice};
use crate::input::{FORMATS, Kind};
use crate::text::DocumentArgs;

/// The format that was stated for a file of predictions, or that its ending tells.
pub fn prediction_format(
    file: &Path,
    stated: Option<PredictionFormat>,
) -> Result<PredictionFormat> {
    stated.or_else(|| PredictionFormat::of_path(&file.to_string_lossy())).with_context(|| {
        format!(
            "{}: the ending does not tell the format: add --predictions-from csv, tsv, jsonl, xc or npz",
            file.display()
        )
    })
}

/// How the labels of predictions of others are known.
pub struct LabelNames<'a> {
    /// What the rows that were learned from call them.
    pub names: Option<&'a LabelIndex>,
    /// Whether these rows are text. Rows of vectors have labels by number, whatever these are called.
    pub is_text: bool,
    /// How many there are.
    pub count: usize,
}

impl LabelNames<'_> {
    /// Reads a file of predictions for rows with these ids, which a column may hold.
    pub fn read(
        &self,
        file: &Path,
        format: PredictionFormat,
        separator: Option<&str>,
        (id_column, ids): (&str, &[Option<String>]),
        task: &Task,
    ) -> Result<ReadPredictions> {
        let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        let id = |name: &str| match self.names {
            Some(names) if self.is_text || !is_number(name) => names.find(name),
            _ => None,
        };
        let separator = separator.unwrap_or_else(|| {
            separator_of(self.names.into_iter().flat_map(|names| {
                (0..names.len() as u32).flat_map(|id| [names.code(id), names.display(id)])
            }))
        });
        let known = KnownLabels { count: self.count, id: &id, separator };
        Ok(read_file_for(file, format, known, id_column, ids, task)?)
    }
}

/// How a model is opened.
#[derive(Debug, clap::Args)]
pub struct LoadArgs {
    /// Map the model's files, or copy them into memory: for files that may change meanwhile
    #[arg(long, value_name = "HOW", default_value = "map", value_parser = choice(&LOADS))]
    load: Load,

    /// Do not verify the checksums of the model's files, which reads all of them
    #[arg(long)]
    no_verify: bool,
}

const LOADS: [(&str, &str, Load); 2] = [
    ("map", "Read a part of a file when it is used", Load::Map),
    ("copy", "Read the files at once", Load::Copy),
];

impl LoadArgs {
    /// Opens a model folder.
    pub fn open(&self, folder: &Path, task: &Task) -> Result<Model> {
        Ok(Model::open(folder, self.options(), task)?)
    }

    /// How the files of a model are opened.
    pub fn options(&self) -> Options {
        Options { load: self.load, verify: !self.no_verify }
    }
}

/// How a model is opened and asked.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// Follow at most N paths in each tree; 1 is the fastest. By default the model's own setting
    #[arg(long, value_name = "N", value_parser = at_least_1, allow_negative_numbers = true)]
    beam: Option<NonZeroUsize>,

    /// Name only the labels in FILE: one a line, as training had it or by its name, or by its
    /// number if the model has no names
    #[arg(long, value_name = "FILE")]
    only_labels: Option<PathBuf>,

    /// Never name the labels in FILE
    #[arg(long, value_name = "FILE")]
    without_labels: Option<PathBuf>,

    /// Show the names of labels in this language, where they have some, such as fi or pt-br
    #[arg(long, value_name = "TAG")]
    language: Option<String>,

    /// How its files are opened.
    #[command(flatten)]
    pub loading: LoadArgs,
}

impl ModelArgs {
    /// The names to show for the labels of a model, if it has some.
    pub fn names(&self, model: &Model) -> Result<Option<LabelIndex>> {
        Ok(names_in(model, self.language.as_deref())?)
    }

    /// The files that name labels.
    pub fn files(&self) -> LabelFiles<'_> {
        LabelFiles { only: self.only_labels.as_deref(), without: self.without_labels.as_deref() }
    }

    /// What is asked of the model.
    pub fn query<'a>(&self, k: usize, allowed: Option<&'a LabelSet>) -> Query<'a> {
        Query { k, beam: self.beam.map(NonZeroUsize::get), allowed }
    }
}

/// How the rows for a model are read.
#[derive(Debug, clap::Args)]
pub struct RowArgs {
    /// The format of DATA, if its ending does not tell; by default that of the file that a model of
    /// text was trained on
    #[arg(long, value_name = "FORMAT", value_parser = choice(&FORMATS))]
    pub from: Option<Kind>,

    /// Warn where a header disagrees with the rows, and go by the rows
    #[arg(long)]
    pub lenient: bool,

    #[command(flatten)]
    documents: DocumentArgs,
}

impl RowArgs {
    /// What the flags mean.
    pub fn options(&self) -> RowOptions {
        RowOptions { format: self.from, lenient: self.lenient, fields: self.documents.fields() }
    }

    /// The column of ids.
    pub fn id_column(&self) -> &str {
        self.documents.id_column()
    }

    /// What stands between two labels, if that was typed.
    pub fn separator(&self) -> Option<&str> {
        self.documents.separator()
    }
}

/// The least score of labels that are given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// The one that the model learned from held-out rows.
    Auto,
    /// This one.
    Of(f32),
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Threshold::Auto),
            (_, Ok(number)) if f32::is_finite(number) => Ok(Threshold::Of(number)),
            _ => Err("expected a number such as 0.25, or auto".to_owned()),
        }
    }
}

impl Threshold {
    /// The number that it is for a model.
    pub fn of(self, model: &Model) -> Result<f32> {
        match self {
            Threshold::Auto => model.threshold().context(
                "--threshold auto: the model has learned none: add --threshold auto to train, or state a \
                 number",
            ),
            Threshold::Of(least) if model.gives_probabilities() && !(0.0..=1.0).contains(&least) => {
                bail!("--threshold {least}: the scores are probabilities, which lie between 0 and 1")
            }
            Threshold::Of(least) => Ok(least),
        }
    }
}

/// Labels of each row that are looked at where a threshold decides, not a cut, even if they do not reach it.
pub const ENOUGH: usize = 30;

/// Predicts as many labels of each row as are looked at by default, or in a report, and all that reach the
/// threshold that the model has learned.
pub fn predicted(
    model: &Model,
    rows: &Dataset,
    for_report: bool,
    task: &Task,
) -> Result<Predictions> {
    let deepest = MetricOptions::default().at.into_iter().max().unwrap_or(1);
    let k = if for_report { ENOUGH } else { deepest };
    Ok(looked_at(model, rows, Query::top(k), model.threshold(), task)?)
}

/// The best labels of each row, and all that reach a threshold, if there is one.
pub fn looked_at(
    model: &Model,
    rows: &Dataset,
    query: Query<'_>,
    threshold: Option<f32>,
    task: &Task,
) -> Result<Predictions, Stopped> {
    match threshold {
        Some(least) => {
            let query = Query { k: query.k.max(ENOUGH), ..query };
            predict_at_least(model, rows.rows(), least, query.k, query, task)
        }
        None => model.predict(rows.rows(), query, task),
    }
}

/// How good predictions are for rows, at the default cuts, by what training saw.
pub fn measured<'a>(
    model: &'a Model,
    rows: &'a Dataset,
    predictions: &'a Predictions,
) -> Result<Evaluation<'a>> {
    let instances = model.manifest().instances as usize;
    let training = TrainingCounts { instances, labels: model.labels().counts() };
    let options = MetricOptions::default();
    Ok(Evaluation::new(rows.labels.view(), predictions, training, &options)?)
}

/// The `k` most frequent labels of training as the prediction of each of so many rows.
pub fn most_frequent(counts: &[u32], k: usize, rows: usize) -> Predictions {
    let scored = |(id, &count): (usize, &u32)| Scored { id: id as u32, score: count as f32 };
    let mut best: Vec<Scored> = counts.iter().enumerate().map(scored).collect();
    top_k(&mut best, k);
    let mut predictions = Predictions::default();
    (0..rows).for_each(|_| predictions.push_row(&best));
    predictions
}
