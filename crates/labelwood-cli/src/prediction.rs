//! The flags that `predict` and `evaluate` share: how a model is opened and asked, and how the rows
//! for it are read. And how good predictions are, where no flag says how that is measured.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::Result;
use labelwood::app::{LabelFiles, RowOptions, names_in};
use labelwood::data::{Dataset, LabelIndex};
use labelwood::metrics::{Evaluation, MetricOptions, Metrics, TrainingCounts};
use labelwood::model::Model;
use labelwood::run::Task;
use labelwood::sparse::{LabelSet, Predictions, Query, Scored, top_k};
use labelwood::store::{Load, Options};

use crate::args::choice;
use crate::input::{FORMATS, Kind};
use crate::text::DocumentArgs;

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
pub struct ModelArgs {
    /// Follow at most N paths in each tree; 1 is the fastest. By default the model's own setting
    #[arg(long, value_name = "N")]
    beam: Option<NonZeroUsize>,

    /// Name only the labels in FILE: one a line, as training had it or by its name, or by its
    /// number if the model has no names
    #[arg(long, value_name = "FILE")]
    only_labels: Option<PathBuf>,

    /// Never name the labels in FILE
    #[arg(long, value_name = "FILE")]
    without_labels: Option<PathBuf>,

    /// How its files are opened.
    /// Show the names of labels in this language, where they have some, such as fi or pt-br
    #[arg(long, value_name = "TAG")]
    language: Option<String>,

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
}

/// Predicts as many labels of each row as [`measured`] looks at.
pub fn predicted(model: &Model, rows: &Dataset, task: &Task) -> Result<Predictions> {
    let deepest = MetricOptions::default().at.into_iter().max().unwrap_or(1);
    Ok(model.predict(rows.rows(), Query::top(deepest), task)?)
}

/// How good predictions are for rows, at the default cuts, by what training saw.
pub fn measured(model: &Model, rows: &Dataset, predictions: &Predictions) -> Result<Metrics> {
    let instances = model.manifest().instances as usize;
    let training = TrainingCounts { instances, labels: model.labels().counts() };
    let options = MetricOptions::default();
    Ok(Evaluation::new(rows.labels.view(), predictions, training, &options)?.metrics())
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
