//! `labelwood predict`: the best labels of rows.

mod shares;

use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result, bail};
use labelwood::app::{RowBatch, RowSource, at_least};
use labelwood::data::predictions::PredictionFormat::{self, Jsonl, Npz, Tsv, Xc};
use labelwood::data::predictions::{DocumentFormat, DocumentWriter, Writer, write_table};
use labelwood::data::{LabelIndex, documents};
use labelwood::model::Model;
use labelwood::run::{Progress, Task};
use labelwood::shard::Combiner;
use labelwood::sparse::{LabelSet, Predictions};

use self::shares::{ShareArgs, Shares};
use crate::args::choice;
use crate::context::Context;
use crate::output::{check_outputs, write_file};
use crate::prediction::{ModelArgs, RowArgs};
use crate::signals::NOTHING_KEPT;

/// Arguments of `labelwood predict`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "DATA is text or vectors, whichever the model was trained on; labels in it do not \
    matter, and lines of text alone are fine. Without --format the ending of FILE tells the format (.tsv, .jsonl, .xc or .txt, .npz, each \
    also with .gz or .zst); standard output is a table on a terminal and tsv elsewhere. A \
    model of text writes labels as its training file had them, their names in the table and jsonl, and \
    the ids of documents; a model of vectors writes the ids of labels, and names in the table and jsonl. \
    A model that is larger than a machine's memory is predicted by several workers: `--shares N --output DIR` on \
    each (the worker's number comes from --index or as for `labelwood shard`), then the same line with \
    `--join DIR` instead, which writes what one machine would."
)]
pub struct Args {
    /// The model's folder
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// The rows to predict; - for standard input
    #[arg(value_name = "DATA")]
    data: PathBuf,

    /// The most labels that a row gets
    #[arg(long, value_name = "K", default_value = "5")]
    top_k: NonZeroUsize,

    /// Leave out labels with a lower score: a probability if the model is a grove or was trained with
    /// --calibrate
    #[arg(long, value_name = "S", value_parser = finite, allow_negative_numbers = true)]
    threshold: Option<f32>,

    /// Fill rows up to K labels with the most frequent labels of training, at score 0
    #[arg(long, conflicts_with = "threshold")]
    fill: bool,

    /// The file to write; - for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    /// Replace FILE if it is there
    #[arg(long)]
    overwrite: bool,

    /// How to write the predictions
    #[arg(long, value_name = "FORMAT", value_parser = choice(&FORMATS))]
    format: Option<Format>,

    /// Write labels without their scores
    #[arg(long)]
    labels_only: bool,

    #[command(flatten)]
    reading: RowArgs,

    #[command(flatten)]
    opening: ModelArgs,

    #[command(flatten)]
    share: ShareArgs,
}

impl Args {
    fn to_stdout(&self) -> bool {
        self.output.as_os_str() == "-"
    }

    /// The files that are read, and the folder of the model.
    fn inputs(&self) -> impl Iterator<Item = &Path> {
        [self.model.as_path(), &self.data].into_iter().chain(self.opening.files().paths())
    }

    fn to_terminal(&self) -> bool {
        self.to_stdout() && io::stdout().is_terminal()
    }
}

/// How predictions are written.
#[derive(Clone, Copy, Debug)]
enum Format {
    /// For people.
    Table,
    /// As a file that programs read.
    File(PredictionFormat),
}

const FORMATS: [(&str, &str, Format); 5] = [
    ("table", "Aligned columns for people, with label names", Format::Table),
    ("tsv", "`label score` separated by tabs, best first (.tsv)", Format::File(Tsv)),
    ("jsonl", "One JSON object per row, with label names (.jsonl)", Format::File(Jsonl)),
    (
        "xc",
        "The XC repository's sparse matrix: a header, then `label:score` (.xc, .txt)",
        Format::File(Xc),
    ),
    ("npz", "A sparse matrix for scipy (.npz)", Format::File(Npz)),
];

/// What is said where the predictions of all rows, which some formats take, do not fit into memory.
const ALL_AT_ONCE: &str =
    "this format keeps the predictions of all rows: choose --format tsv or jsonl";

/// Predicts the rows of DATA and writes the predictions, a batch of rows at a time.
pub fn run(args: Args, context: &Context) -> Result<()> {
    if let Some(shares) = args.share.shares {
        let task = context.run()?;
        return shares::write(&args, shares.get(), context, &task);
    }
    let format = format_of(&args)?;
    let shares = shares::paths(&args.share.join)?;
    let inputs = args.inputs().chain(shares.iter().map(PathBuf::as_path));
    check_outputs([args.output.as_path()], inputs, args.overwrite)?;
    if args.to_terminal() {
        context.hide_progress();
    }
    let shown = Shown::default();
    let task = context.watched_run(shown.watch(), || NOTHING_KEPT.to_owned())?;
    let (whole, combiner);
    let (model, shares) = if shares.is_empty() {
        whole = args.opening.loading.open(&args.model, &task)?;
        (&whole, None)
    } else {
        combiner = Combiner::open(&args.model, args.opening.loading.options(), &task)?;
        (combiner.model(), Some(Shares::open(&combiner, shares)?))
    };
    let source = args.reading.options().open(&args.data, model, &task)?;
    shown.total.store(source.declared_rows().unwrap_or(0), Ordering::Relaxed);
    let allowed = args.opening.files().allowed(model, &task)?;
    let names = args.opening.names(model)?;
    let mut batches =
        Predicted { args: &args, model, names, shares, task: &task, source, allowed, shown };
    write_file(&args.output, |output| batches.write(output, format))
}

/// The predictions of the rows, some at a time.
struct Predicted<'a> {
    args: &'a Args,
    model: &'a Model,
    /// The names to show.
    names: Option<LabelIndex>,
    /// What the shares of the model said, if they did.
    shares: Option<Shares<'a>>,
    task: &'a Task,
    source: RowSource<'a>,
    allowed: Option<LabelSet>,
    shown: Shown,
}

impl Predicted<'_> {
    /// The predictions of the next rows, with the documents if they are text.
    fn next(&mut self) -> Result<Option<(Predictions, Option<documents::Batch>)>> {
        let Some(RowBatch { rows, documents }) = self.source.next_batch()? else {
            self.shares.as_mut().map_or(Ok(()), Shares::finish)?;
            return Ok(None);
        };
        let args = self.args;
        let query = args.opening.query(args.top_k.get(), self.allowed.as_ref());
        let mut batch = match &mut self.shares {
            Some(shares) => shares.predict(rows.view(), query, self.task)?,
            None => self.model.predict(rows.view(), query, self.task)?,
        };
        if let Some(least) = args.threshold {
            batch = at_least(&batch, least);
        }
        if args.fill {
            batch = self.model.fill(&batch, query);
        }
        self.shown.before.fetch_add(rows.view().len() as u64, Ordering::Relaxed);
        Ok(Some((batch, documents)))
    }

    /// Writes all of them.
    fn write(&mut self, output: &mut dyn Write, format: Format) -> Result<()> {
        let (model, names) = (self.model, self.names.take());
        if let Some(format) = format.of_documents()
            && (model.text().is_some() || self.args.labels_only)
        {
            let mut writer =
                DocumentWriter::new(output, format, names.as_ref(), self.args.labels_only);
            while let Some((batch, documents)) = self.next()? {
                writer.push(documents.as_ref(), &batch)?;
            }
            return Ok(writer.finish()?);
        }
        let names = |label| names.as_ref().map(|names| names.display(label));
        let Format::File(format) = format else {
            // The widths of a table's columns follow from all rows.
            let (mut all, mut held) = (Predictions::default(), self.task.memory().hold());
            while let Some((batch, _)) = self.next()? {
                all.append(&batch);
                held.set(all.bytes() as u64).context(ALL_AT_ONCE)?;
            }
            return Ok(write_table(output, &all, names)?);
        };
        let labels = model.labels().counts().len();
        let mut writer = Writer::new(output, format, self.source.declared_rows(), labels, names)?;
        let mut held = self.task.memory().hold();
        while let Some((batch, _)) = self.next()? {
            writer.push(&batch)?;
            held.set(writer.kept_bytes() as u64).context(ALL_AT_ONCE)?;
        }
        Ok(writer.finish()?)
    }
}

/// How far the rows have come: the model knows only of its batch.
#[derive(Clone, Default)]
struct Shown {
    /// The rows of the batches before.
    before: Arc<AtomicU64>,
    /// All rows; 0 if that is not known.
    total: Arc<AtomicU64>,
}

impl Shown {
    fn watch(&self) -> impl Fn(Progress) -> Progress + Send + Sync + 'static {
        let Shown { before, total } = self.clone();
        move |progress| {
            let done = before.load(Ordering::Relaxed) + progress.done;
            Progress { done, total: done.max(total.load(Ordering::Relaxed)), ..progress }
        }
    }
}

impl Format {
    /// The format that shows documents and labels rather than numbers, if there is one.
    fn of_documents(self) -> Option<DocumentFormat> {
        match self {
            Format::Table => Some(DocumentFormat::Table),
            Format::File(Tsv) => Some(DocumentFormat::Tsv),
            Format::File(Jsonl) => Some(DocumentFormat::Jsonl),
            Format::File(Xc | Npz) => None,
        }
    }
}

/// The format that was asked for, or that the output's name tells, or that suits standard output.
fn format_of(args: &Args) -> Result<Format> {
    let (to_stdout, to_terminal) = (args.to_stdout(), args.to_terminal());
    let format = match args.format {
        Some(format) => format,
        None if to_terminal => Format::Table,
        None if to_stdout => Format::File(Tsv),
        None => match PredictionFormat::of_path(&args.output.to_string_lossy()) {
            Some(format) => Format::File(format),
            None => bail!(
                "{}: the ending does not tell the format: add --format tsv, jsonl, xc, npz or table",
                args.output.display()
            ),
        },
    };
    if to_terminal && matches!(format, Format::File(Npz)) {
        bail!("npz is no text for a terminal: name a file with --output");
    }
    if args.labels_only && format.of_documents().is_none() {
        bail!("xc and npz are made of scores: leave out --labels-only, or choose another --format");
    }
    Ok(format)
}

/// A number that scores can be compared with.
fn finite(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(number) if f32::is_finite(number) => Ok(number),
        _ => Err("expected a number such as 0.25".to_owned()),
    }
}
