//! `labelwood evaluate`: how good a model, or anybody's predictions, are.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::error::ErrorKind;
use labelwood::data::predictions::{PredictionFormat, ReadPredictions};
use labelwood::data::{Dataset, LabelIndex, Splits, read_filter, write_atomically};
use labelwood::metrics::{Evaluation, MetricOptions, Propensity, TrainingCounts};
use labelwood::model::Model;
use labelwood::report::EvaluationReport;
use labelwood::run::{Clock, Spent, Task};
use labelwood::sparse::{LabelRows, Predictions};
use labelwood::words::plural;
use serde::Serialize;

use crate::args::{at_least_1, choice};
use crate::context::Context;
use crate::input::Kind;
use crate::learn::warn_of_learned_rows;
use crate::machine::sum;
use crate::output::{check_outputs, print, print_json};
use crate::prediction::{
    ENOUGH, LabelNames, ModelArgs, RowArgs, Threshold, looked_at, most_frequent, prediction_format,
};
use crate::report::{RowNotes, Tested, facts_of, name_of};
use crate::split::{Column, numbered, select, selected};
use crate::spread::Spread;

/// Arguments of `labelwood evaluate`.
#[derive(Debug, clap::Args)]
#[command(
    allow_missing_positional = true,
    override_usage = "labelwood evaluate [OPTIONS] <MODEL> <DATA>\n       \
        labelwood evaluate [OPTIONS] --predictions <FILE> --train <DATA> <DATA>",
    after_help = "The figures are percentages, fractions of 1 with --json. P@k divides by k and \
        every mean runs over all rows, those without labels included."
)]
pub struct Args {
    /// The model: its folder or file
    #[arg(value_name = "MODEL")]
    model: Option<PathBuf>,

    /// Rows with their true labels; - for standard input
    #[arg(value_name = "DATA", required = true)]
    data: PathBuf,

    /// The cuts k
    #[arg(long, value_name = "K,..", value_delimiter = ',', default_value = "1,3,5", value_parser = cut,
        allow_negative_numbers = true)]
    at: Vec<NonZeroUsize>,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,

    /// Show all figures, those of frequent and rare labels apart, and the time that it took
    #[arg(long)]
    all: bool,

    /// Show F1, precision and recall of the labels with at least this score; auto is the threshold that the
    /// model learned, which is shown anyway
    #[arg(long, value_name = "S|auto", allow_negative_numbers = true)]
    threshold: Option<Threshold>,

    /// A of the propensity model: 0.5 for the Wikipedia sets, 0.6 for Amazon
    #[arg(long, value_name = "A", default_value_t = Propensity::default().a)]
    propensity_a: f64,

    /// B of the propensity model: 0.4 for the Wikipedia sets, 2.6 for Amazon
    #[arg(long, value_name = "B", default_value_t = Propensity::default().b)]
    propensity_b: f64,

    /// Leave out the pairs `row label` in FILE, counted from 0, as the XC repository's title sets ask
    #[arg(long, value_name = "FILE")]
    filter: Option<PathBuf>,

    /// Write the figures of each row to FILE, tab-separated
    #[arg(long, value_name = "FILE")]
    per_instance: Option<PathBuf>,

    /// Write the figures of each label at the largest cut to FILE, tab-separated
    #[arg(long, value_name = "FILE")]
    per_label: Option<PathBuf>,

    /// Write a page with figures, curves, labels and rows to look at to FILE, for a browser
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,

    /// Replace the files of --report, --per-instance and --per-label if they are there
    #[arg(long)]
    overwrite: bool,

    /// Evaluate only the rows of DATA that a column of FILE lists, counted from 1
    #[arg(long, value_name = "FILE")]
    test_split: Option<PathBuf>,

    /// Which column of the split files, counted from 1; with `all`, the mean and standard deviation
    /// over the columns. If MODEL is not there, column 1 is for MODEL-01 and so on, as train wrote
    #[arg(long, value_name = "N|all", default_value = "1")]
    split_column: Column,

    #[command(flatten)]
    reading: RowArgs,

    #[command(flatten)]
    opening: ModelArgs,

    #[command(flatten)]
    foreign: ForeignArgs,
}

/// Predictions of another system, and what it learned from.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Instead of a model")]
struct ForeignArgs {
    /// Predictions to evaluate: one row for each row of DATA, with the same id if both have ids, else in
    /// the same order; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "beam", "load", "no_verify", "language"])]
    predictions: Option<PathBuf>,

    /// The format of the predictions, if the ending does not tell
    #[arg(long, value_name = "FORMAT", alias = "predictions-format", conflicts_with = "model",
        value_parser = choice(&FORMATS))]
    predictions_from: Option<PredictionFormat>,

    /// The rows that the predictions were learned from, for propensities and slices
    #[arg(long, value_name = "DATA", conflicts_with = "model")]
    train: Option<PathBuf>,

    /// The labels with their names that the model was trained with, if it was with some
    #[arg(long, value_name = "FILE", requires = "train")]
    vocabulary: Option<PathBuf>,

    /// Learned were only the rows that a column of FILE lists, counted from 1
    #[arg(long, value_name = "FILE", requires = "train")]
    train_split: Option<PathBuf>,
}

/// The formats of files of predictions.
pub const FORMATS: [(&str, &str, PredictionFormat); 5] = [
    ("csv", "A table with columns `labels` and `scores` (.csv)", PredictionFormat::Csv),
    ("tsv", "`label score` separated by tabs (.tsv)", PredictionFormat::Tsv),
    ("jsonl", "One JSON object per row (.jsonl)", PredictionFormat::Jsonl),
    ("xc", "Lines of `label:score`, with or without a header (.xc, .txt)", PredictionFormat::Xc),
    ("npz", "A sparse matrix of scipy (.npz)", PredictionFormat::Npz),
];

/// What is evaluated: true labels, predictions, and what training saw.
struct Subject {
    truth: LabelRows,
    predictions: Predictions,
    filter: Vec<(usize, u32)>,
    training_rows: usize,
    counts: Vec<u32>,
    names: Option<LabelIndex>,
    notes: RowNotes,
    /// What a report says besides.
    facts: Vec<(&'static str, String)>,
    /// The least score of labels that are given, if it is known.
    threshold: Option<f32>,
    /// Whether labels came without scores, so that these are made up.
    are_unscored: bool,
    stages: Stages,
}

/// The time that each stage took.
#[derive(Default)]
struct Stages(Vec<(&'static str, Spent)>);

impl Stages {
    fn time<T>(&mut self, stage: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let clock = Clock::start();
        let done = work()?;
        let spent = clock.spent();
        match self.0.iter_mut().find(|known| known.0 == stage) {
            Some(known) => known.1 = sum([known.1, spent]),
            None => self.0.push((stage, spent)),
        }
        Ok(done)
    }
}

/// Predicts or reads the predictions, scores them and prints the figures.
pub fn run(args: Args, context: &Context) -> Result<()> {
    args.check_outputs()?;
    if args.split_column == Column::All {
        return over_columns(&args, &context.run()?);
    }
    let subject = match (&args.model, &args.foreign.predictions) {
        (Some(model), _) => of_model(&args, model, &context.run()?)?,
        (None, Some(file)) => of_predictions(&args, file, &context.run()?)?,
        (None, None) => {
            return Err(missing(
                "give a model and data, or data with --predictions FILE --train DATA",
            ));
        }
    };
    let options = args.metric_options();
    let evaluation = subject.evaluation(&subject.predictions, &options)?;
    let mut metrics = evaluation.metrics();
    if subject.are_unscored {
        metrics.ece = f64::NAN;
    }
    if let Some(path) = &args.per_instance {
        write_atomically(path, |output| evaluation.write_instances(output, &subject.notes.ids))?;
    }
    if let Some(path) = &args.per_label {
        let named = |label| subject.names.as_ref().filter(|names| (label as usize) < names.len());
        let name = |label| named(label).map(|names| names.display(label));
        write_atomically(path, |output| evaluation.write_labels(output, name))?;
    }
    let most_frequent =
        most_frequent(&subject.counts, args.deepest(&subject.filter), subject.truth.len());
    let popular = subject.evaluation(&most_frequent, &options)?.metrics();
    if let Some(path) = &args.report {
        let tested = Tested {
            title: args.title(),
            evaluation: &evaluation,
            popular: &popular,
            threshold: subject.threshold,
            has_scores: !subject.are_unscored,
            names: subject.names.as_ref(),
            notes: &subject.notes,
            facts: subject.facts.clone(),
            stages: &subject.stages.0,
            seed: context.seed,
        };
        tested.write(path)?;
    }
    context.hide_progress();
    let report = EvaluationReport {
        metrics: &metrics,
        at_threshold: subject.threshold.map(|least| evaluation.at_threshold(least)),
        popular: Some(&popular),
        stages: &subject.stages.0,
        all: args.all,
    };
    print(&if args.json { report.to_json() + "\n" } else { report.to_string() })
}

/// A cut of a list of cuts.
fn cut(text: &str) -> Result<NonZeroUsize, String> {
    at_least_1(text).map_err(|problem| match text.parse::<i128>() {
        Ok(_) => problem,
        Err(_) => format!("{problem}, or a list such as 1,3,5"),
    })
}

/// Whether two names lead to the same file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| fs::canonicalize(path).ok();
    place(one).is_some_and(|one| place(other) == Some(one))
}

/// Wrong usage: something is missing.
fn missing(problem: &str) -> anyhow::Error {
    clap::Error::raw(ErrorKind::MissingRequiredArgument, format!("{problem}\n")).into()
}

/// The mean and spread over the columns of the split file, with one model or with one for each.
fn over_columns(args: &Args, task: &Task) -> Result<()> {
    let (Some(folder), Some(split)) = (&args.model, &args.test_split) else {
        return Err(missing("--split-column all needs a model and --test-split FILE"));
    };
    let files = [&args.filter, &args.per_instance, &args.per_label, &args.report];
    if files.into_iter().any(Option::is_some) {
        let problem = "--filter, --per-instance, --per-label and --report are of one column: \
            give --split-column a number\n";
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem).into());
    }
    let mut stages = Stages::default();
    // A model says how DATA is read, and how many rows that are is known only then.
    let folders = match numbered(folder, Splits::read(split, usize::MAX, task)?.len()) {
        several if several.first().is_some_and(|one| one.exists()) && !folder.exists() => several,
        _ => vec![folder.clone()],
    };
    let mut model = stages.time("load", || args.opening.loading.open(&folders[0], task))?;
    let rows = stages.time("read", || args.read(&model, task))?;
    let splits = Splits::read(split, rows.len(), task)?;
    let mut figures = Vec::new();
    for column in 1..=splits.len() {
        if column > 1 && folders.len() > 1 {
            model =
                stages.time("load", || args.opening.loading.open(&folders[column - 1], task))?;
        }
        let some = select(&rows, splits.column(column)?, task)?;
        let (notes, before) = (RowNotes::default(), std::mem::take(&mut stages));
        let subject = predicted(args, &model, some, notes, before, task)?;
        let evaluation = subject.evaluation(&subject.predictions, &args.metric_options())?;
        figures.push(evaluation.metrics().named().collect());
        stages = subject.stages;
    }
    let spread = Spread::over(figures);
    if !args.json {
        return print(&spread);
    }
    let seconds = stages.0.iter().map(|(stage, spent)| (*stage, spent.seconds)).collect();
    let cpu = stages.0.iter().filter_map(|(stage, spent)| Some((*stage, spent.cpu_seconds?)));
    print_json(&SpreadLine { spread, seconds, cpu_seconds: cpu.collect() })
}

/// The line that `--split-column all --json` prints.
#[derive(Serialize)]
struct SpreadLine {
    #[serde(flatten)]
    spread: Spread,
    seconds: BTreeMap<&'static str, f64>,
    cpu_seconds: BTreeMap<&'static str, f64>,
}

/// Predicts with a model.
fn of_model(args: &Args, folder: &Path, task: &Task) -> Result<Subject> {
    let mut stages = Stages::default();
    let model = stages.time("load", || args.opening.loading.open(folder, task))?;
    let (rows, notes) = stages.time("read", || {
        let mut notes = RowNotes::new(args.report.is_some());
        let note = |batch: &_| notes.add(batch);
        let rows = args.reading.options().read_noting(&args.data, &model, note, task)?;
        args.selected(rows, notes, task)
    })?;
    predicted(args, &model, rows, notes, stages, task)
}

/// Predicts rows with a model.
fn predicted(
    args: &Args,
    model: &Model,
    rows: Dataset,
    notes: RowNotes,
    mut stages: Stages,
    task: &Task,
) -> Result<Subject> {
    let training = &model.manifest().training;
    let digest = format!("{:032x}", rows.digest());
    if training.data == digest || training.updates.iter().any(|update| update.data == digest) {
        warn_of_learned_rows(&args.data);
    }
    let counts = model.labels().counts().to_vec();
    let filter = args.read_filter(&rows, counts.len(), task)?;
    let allowed = args.opening.files().allowed(model, task)?;
    let threshold = args.threshold.map(|threshold| threshold.of(model)).transpose()?;
    let threshold = threshold.or_else(|| model.threshold());
    let least = if args.report.is_some() { ENOUGH } else { 0 };
    let query = args.opening.query(args.deepest(&filter).max(least), allowed.as_ref());
    // Where a threshold decides, labels beyond the cuts count.
    let predict = || Ok(looked_at(model, &rows, query, threshold, task)?);
    let predictions = stages.time("predict", predict)?;
    let names = args.opening.names(model)?;
    Ok(Subject {
        truth: rows.labels,
        predictions,
        filter,
        training_rows: model.manifest().instances as usize,
        counts,
        names,
        notes,
        facts: facts_of(model),
        threshold,
        are_unscored: false,
        stages,
    })
}

/// Reads the predictions of another system.
fn of_predictions(args: &Args, file: &Path, task: &Task) -> Result<Subject> {
    let Some(train_path) = &args.foreign.train else {
        return Err(missing(
            "--predictions needs --train DATA, the rows that were learned from: \
             propensities and the head, torso and tail labels follow from them",
        ));
    };
    let format = args.foreign.predictions_from;
    let format = prediction_format(file, format)?;
    let threshold = match args.threshold {
        None => None,
        Some(Threshold::Of(least)) => Some(least),
        Some(Threshold::Auto) => bail!("--threshold auto needs a model: state a number"),
    };
    let is_text = matches!(Kind::required(&args.data, args.reading.from)?, Some(Kind::Text(_)));
    if is_text && matches!(format, PredictionFormat::Xc | PredictionFormat::Npz) {
        tracing::warn!(
            "{}: its labels are numbers, which are right if the model was trained on {} alone, without \
             --holdout; csv, tsv and jsonl have names",
            file.display(),
            train_path.display()
        );
    }
    let mut stages = Stages::default();
    let (train, (test, notes), read) = stages.time("read", || {
        let train = {
            let vocabulary = args.foreign.vocabulary.as_deref();
            args.reading.options().read_labels(train_path, None, vocabulary, |_| (), task)?
        };
        let split = args.foreign.train_split.as_deref();
        let train = selected(train, split, args.split_column.one(), task)?;
        let (test, notes) = args.read_truth(train.label_names.as_ref(), task)?;
        let labels = train.labels.columns().max(test.labels.columns());
        let names = LabelNames { names: train.label_names.as_ref(), is_text, count: labels };
        let separator = args.reading.separator();
        let read = names.read(
            file,
            format,
            separator,
            (args.reading.id_column(), &notes.ids[..]),
            task,
        )?;
        Ok((train, (test, notes), read))
    })?;
    let has_splits = args.foreign.train_split.is_some() || args.test_split.is_some();
    if !has_splits && is_same_file(train_path, &args.data) {
        warn_of_learned_rows(&args.data);
    }
    let counts = train.labels.view().column_counts();
    let filter = args.read_filter(&test, counts.len(), task)?;
    let ReadPredictions { predictions, has_scores } = read;
    if threshold.is_some() && !has_scores {
        bail!("{}: --threshold needs scores, which it does not have", file.display());
    }
    Ok(Subject {
        truth: test.labels,
        predictions,
        filter,
        training_rows: train.len(),
        facts: vec![("learned from", plural(train.len(), "row"))],
        counts,
        names: train.label_names,
        notes,
        threshold,
        are_unscored: !has_scores,
        stages,
    })
}

impl Args {
    /// Refuses tables that would take the place of something.
    fn check_outputs(&self) -> Result<()> {
        let ForeignArgs { predictions, train, train_split, vocabulary, .. } = &self.foreign;
        let read = [
            &self.model,
            &self.filter,
            &self.test_split,
            predictions,
            train,
            train_split,
            vocabulary,
        ];
        let read = read.into_iter().flatten().chain([&self.data]).map(PathBuf::as_path);
        let written = [&self.per_instance, &self.per_label, &self.report];
        let written = written.into_iter().flatten().map(PathBuf::as_path);
        check_outputs(written, read.chain(self.opening.files().paths()), self.overwrite)
    }

    fn metric_options(&self) -> MetricOptions {
        MetricOptions {
            at: self.at.iter().map(|k| k.get()).collect(),
            propensity: Propensity { a: self.propensity_a, b: self.propensity_b },
            ..MetricOptions::default()
        }
    }

    /// The rows to evaluate, for a model.
    fn read(&self, model: &Model, task: &Task) -> Result<Dataset> {
        Ok(self.reading.options().read(&self.data, model, task)?)
    }

    /// What is evaluated with what, for people.
    fn title(&self) -> String {
        let subject = self.model.as_ref().or(self.foreign.predictions.as_ref());
        let subject = subject.map(|path| name_of(path)).unwrap_or_default();
        format!("{subject} on {}", name_of(&self.data))
    }

    /// The labels of the rows to evaluate, and what people call them.
    fn read_truth(&self, known: Option<&LabelIndex>, task: &Task) -> Result<(Dataset, RowNotes)> {
        let mut notes = RowNotes::new(self.report.is_some());
        let note = |batch: &_| {
            notes.add(batch);
        };
        let rows = self.reading.options().read_labels(&self.data, known, None, note, task)?;
        self.selected(rows, notes, task)
    }

    /// The rows to evaluate, and what people call them.
    fn selected(&self, rows: Dataset, notes: RowNotes, task: &Task) -> Result<(Dataset, RowNotes)> {
        let notes = notes.of_rows(rows.len());
        let Some(split) = &self.test_split else { return Ok((rows, notes)) };
        let splits = Splits::read(split, rows.len(), task)?;
        let chosen = splits.column(self.split_column.one())?;
        Ok((select(&rows, chosen, task)?, notes.select(chosen)))
    }

    fn read_filter(&self, rows: &Dataset, labels: usize, task: &Task) -> Result<Vec<(usize, u32)>> {
        match &self.filter {
            None => Ok(Vec::new()),
            Some(path) => {
                let labels = labels.max(rows.labels.columns());
                Ok(read_filter(path, rows.len(), labels, task)?)
            }
        }
    }

    /// How many labels of a row are looked at: up to the largest cut, and those that the filter
    /// takes away before it.
    fn deepest(&self, filter: &[(usize, u32)]) -> usize {
        let cut = self.at.iter().max().map_or(0, |k| k.get());
        let filtered = filter.chunk_by(|left, right| left.0 == right.0).map(<[_]>::len).max();
        cut.saturating_add(filtered.unwrap_or(0))
    }
}

impl Subject {
    fn evaluation<'a>(
        &'a self,
        predictions: &'a Predictions,
        options: &MetricOptions,
    ) -> Result<Evaluation<'a>> {
        let training = TrainingCounts { instances: self.training_rows, labels: &self.counts };
        let evaluation = Evaluation::new(self.truth.view(), predictions, training, options)?;
        Ok(evaluation.without(&self.filter)?)
    }
}
