//! `labelwood predict`: the best labels of rows.

mod shares;

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result, bail};
use labelwood::app::{RowBatch, RowSource, at_least, predict_at_least};
use labelwood::data::predictions::PredictionFormat::{self, Csv, Jsonl, Npz, Tsv, Xc};
use labelwood::data::predictions::{
    DocumentFormat, DocumentWriter, Layout, SheetWriter, Writer, write_table,
};
use labelwood::data::{LabelIndex, documents};
use labelwood::model::Model;
use labelwood::run::{Progress, Task};
use labelwood::shard::Combiner;
use labelwood::sparse::{LabelSet, Predictions};

use self::shares::{ShareArgs, Shares};
use crate::args::{at_least_1, choice};
use crate::context::Context;
use crate::output::{check_outputs, quoted_path, write_file};
use crate::prediction::{ModelArgs, RowArgs, Threshold};
use crate::signals::NOTHING_KEPT;

const ABOUT: &str = "\
DATA is text or vectors, whichever the model was trained on; labels in it do not matter, and lines of text alone are fine. \
Without --to the ending of FILE tells the format (.csv, .tsv, .jsonl, .xc or .txt, .npz, each also with .gz or .zst); standard \
output is a table on a terminal and tsv elsewhere. Rows of standard input are answered as they come, in tsv, csv and jsonl. A \
model of text writes labels as its training file had them, their names in the table, csv and jsonl, and the ids of documents; a \
model of vectors writes the ids of labels, and names in the table, csv and jsonl. `labelwood evaluate --predictions FILE` reads every format but the table.

A model that is larger than a machine's memory is predicted by several workers: `--shares N --output DIR` on each (the \
worker's number comes from --index or as for `labelwood shard`), then the same line with `--join DIR` instead, which writes \
what one machine would.";

/// Arguments of `labelwood predict`.
#[derive(Debug, clap::Args)]
#[command(after_help = ABOUT)]
pub struct Args {
    /// The model: its folder or file
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// The rows to predict; - for standard input
    #[arg(value_name = "DATA", required_unless_present = "text")]
    data: Option<PathBuf>,

    /// A text to predict, instead of DATA; may be given several times
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["data", "shares", "join", "from"])]
    text: Vec<String>,

    /// The most labels that a row gets [default: 5, or with --threshold all that reach it]
    #[arg(short = 'k', long, value_name = "K", value_parser = at_least_1, allow_negative_numbers = true)]
    top_k: Option<NonZeroUsize>,

    /// Leave out labels with a lower score: a probability if the model is a grove or was trained with
    /// --calibrate; auto is the threshold that such a model, or one trained with --threshold auto,
    /// learned, which has the best F1
    #[arg(long, value_name = "S|auto", allow_negative_numbers = true)]
    threshold: Option<Threshold>,

    /// Give a row this many labels at least, also below the threshold
    #[arg(long, value_name = "N", requires = "threshold", default_value_t = 0)]
    min_labels: usize,

    /// Fill rows up to K labels with the most frequent labels of training, at score 0
    #[arg(long, conflicts_with = "threshold")]
    fill: bool,

    /// The file to write; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    /// Replace FILE if it is there
    #[arg(long)]
    overwrite: bool,

    /// How to write the predictions
    #[arg(long, value_name = "FORMAT", alias = "format", value_parser = choice(&FORMATS))]
    to: Option<Format>,

    /// Give each label of a row columns of its own in csv
    #[arg(long)]
    wide: bool,

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
        let data = self.data.as_deref();
        [self.model.as_path()].into_iter().chain(data).chain(self.opening.files().paths())
    }

    /// How many labels a row gets at most, or at first.
    fn k(&self) -> usize {
        self.top_k.map_or(DEFAULT_K, NonZeroUsize::get)
    }

    fn to_terminal(&self) -> bool {
        self.to_stdout() && io::stdout().is_terminal()
    }

    /// Warns of a format that answers only when the input ends, if somebody may be waiting.
    fn warn_of_waiting(&self, format: &str) {
        // Elsewhere than on Unix there are no such files, and nobody is warned.
        let is_live = |name: &str| fs::metadata(name).is_ok_and(|found| !found.is_file());
        let from_stdin = self.data.as_ref().is_some_and(|data| data.as_os_str() == "-");
        if from_stdin && self.to_stdout() && is_live("/dev/stdin") && is_live("/dev/stdout") {
            tracing::warn!(
                "{format} needs all rows, so the answers come when the input ends: choose --to tsv, csv or \
                 jsonl for answers line by line"
            );
        }
    }
}

/// How many labels a row gets, unless that is stated.
const DEFAULT_K: usize = 5;

/// How predictions are written.
#[derive(Clone, Copy, Debug)]
enum Format {
    /// For people.
    Table,
    /// As a file that programs read.
    File(PredictionFormat),
}

const FORMATS: [(&str, &str, Format); 6] = [
    ("table", "Aligned columns for people, with label names", Format::Table),
    ("csv", "For spreadsheets: the columns of DATA, then the labels (.csv)", Format::File(Csv)),
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
    "this format keeps the predictions of all rows: choose --to tsv, csv or jsonl";

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
    let source = match &args.data {
        Some(data) if looks_like_text(data) => {
            let text = quoted_path(data);
            bail!(
                "{}: no such file; for a text: labelwood predict {} --text {text}",
                data.display(),
                quoted_path(&args.model)
            )
        }
        Some(data) => args.reading.options().open(data, model, &task)?,
        None => RowSource::texts(args.text.clone(), model, &task)?,
    };
    let is_sheet = matches!(format, Format::File(Csv));
    let source = if is_sheet { source.keeping_fields() } else { source };
    shown.total.store(source.declared_rows().unwrap_or(0), Ordering::Relaxed);
    let allowed = args.opening.files().allowed(model, &task)?;
    let names = args.opening.names(model)?;
    let threshold = args.threshold.map(|threshold| threshold.of(model)).transpose()?;
    let task = &task;
    let mut batches =
        Predicted { args: &args, model, names, shares, task, source, allowed, threshold, shown };
    write_file(&args.output, |output| batches.write(output, format))
}

/// Whether a name that no file has is rather a text.
fn looks_like_text(path: &Path) -> bool {
    let has_blanks = path.to_string_lossy().contains(char::is_whitespace);
    let is_plain = path.extension().is_none() && path.components().count() == 1;
    path.as_os_str() != "-" && (has_blanks || is_plain) && !path.exists()
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
    /// The least score of a label.
    threshold: Option<f32>,
    shown: Shown,
}

impl Predicted<'_> {
    /// The predictions of the next rows, with the documents if they are text.
    fn next(&mut self) -> Result<Option<(Predictions, Option<documents::Batch>)>> {
        let Some(RowBatch { rows, documents }) = self.source.next_batch()? else {
            self.shares.as_mut().map_or(Ok(()), Shares::finish)?;
            self.warn_of_unknown_texts();
            return Ok(None);
        };
        let args = self.args;
        let query = args.opening.query(args.k(), self.allowed.as_ref());
        let mut batch = match (&mut self.shares, self.threshold) {
            (Some(shares), _) => shares.predict(rows.view(), query, self.task)?,
            (None, Some(least)) if args.top_k.is_none() => {
                let min_labels = args.min_labels;
                predict_at_least(self.model, rows.view(), least, min_labels, query, self.task)?
            }
            (None, _) => self.model.predict(rows.view(), query, self.task)?,
        };
        if let Some(least) = self.threshold {
            batch = at_least(&batch, least, args.min_labels);
        }
        if args.fill {
            batch = self.model.fill(&batch, query);
        }
        self.shown.before.fetch_add(rows.view().len() as u64, Ordering::Relaxed);
        Ok(Some((batch, documents)))
    }

    /// Says how many texts the model had to say nothing of.
    fn warn_of_unknown_texts(&self) {
        let (unknown, all) = (self.source.unknown(), self.shown.before.load(Ordering::Relaxed));
        let what = match self.args {
            Args { fill: true, .. } => "the most frequent labels are named (--fill)",
            Args { threshold: Some(_), .. } => "they get no labels",
            _ => "they get no labels (--fill names the most frequent)",
        };
        if unknown > 0 {
            tracing::warn!(
                "{unknown} of {}: no word that the model knows; {what}",
                labelwood::words::plural(all, "text")
            );
        }
    }

    /// Writes all of them.
    fn write(&mut self, output: &mut dyn Write, format: Format) -> Result<()> {
        let (model, names) = (self.model, self.names.take());
        let labels_only = self.args.labels_only;
        if matches!(format, Format::File(Csv)) {
            return self.write_sheet(output, names.as_ref());
        }
        if let Some(format) = format.of_documents()
            && model.text().is_some()
        {
            let mut writer = DocumentWriter::new(output, format, names.as_ref(), labels_only);
            while let Some((batch, documents)) = self.next()? {
                writer.push(documents.as_ref(), &batch)?;
                if self.args.to_stdout() {
                    writer.flush()?;
                }
            }
            return Ok(writer.finish()?);
        }
        let names = |label| names.as_ref().map(|names| names.display(label));
        let Format::File(format) = format else {
            // The widths of a table's columns follow from all rows.
            let (mut all, mut held) = (Predictions::default(), self.task.memory().hold());
            self.args.warn_of_waiting("a table of vectors");
            while let Some((batch, _)) = self.next()? {
                all.append(&batch);
                held.set(all.bytes() as u64).context(ALL_AT_ONCE)?;
            }
            return Ok(write_table(output, &all, labels_only, names)?);
        };
        let (rows, labels) = (self.source.declared_rows(), model.labels().counts().len());
        let mut writer = Writer::new(output, format, rows, labels, labels_only, names)?;
        if writer.keeps_all() {
            self.args.warn_of_waiting("this format");
        }
        let mut held = self.task.memory().hold();
        while let Some((batch, _)) = self.next()? {
            writer.push(&batch)?;
            if self.args.to_stdout() {
                writer.flush()?;
            }
            held.set(writer.kept_bytes() as u64).context(ALL_AT_ONCE)?;
        }
        Ok(writer.finish()?)
    }
}

impl Predicted<'_> {
    /// Writes all of them as a table for spreadsheets.
    fn write_sheet(&mut self, output: &mut dyn Write, names: Option<&LabelIndex>) -> Result<()> {
        let args = self.args;
        let layout = Layout {
            labels_only: args.labels_only,
            are_numbers: self.model.text().is_none(),
            wide: args.wide.then_some(args.k().min(self.model.labels().counts().len())),
        };
        let mut writer = SheetWriter::new(output, self.source.header(), names, layout)?;
        while let Some((batch, documents)) = self.next()? {
            writer.push(documents.as_ref(), &batch)?;
            if args.to_stdout() {
                writer.flush()?;
            }
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
            let known = total.load(Ordering::Relaxed);
            let overall = if known == 0 { 0.0 } else { done as f64 / known.max(done) as f64 };
            Progress { overall, ..Progress::new(progress.stage, done, known.max(done)) }
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
            Format::File(Csv | Xc | Npz) => None,
        }
    }
}

/// The format that was asked for, or that the output's name tells, or that suits standard output.
fn format_of(args: &Args) -> Result<Format> {
    let (to_stdout, to_terminal) = (args.to_stdout(), args.to_terminal());
    let format = match args.to {
        Some(format) => format,
        None if to_terminal => Format::Table,
        None if to_stdout => Format::File(Tsv),
        None => match PredictionFormat::of_path(&args.output.to_string_lossy()) {
            Some(format) => Format::File(format),
            None => bail!(
                "{}: the ending does not tell the format: add --to csv, tsv, jsonl, xc, npz or table",
                args.output.display()
            ),
        },
    };
    if to_terminal && matches!(format, Format::File(Npz)) {
        bail!("npz is no text for a terminal: name a file with --output");
    }
    if args.wide && !matches!(format, Format::File(Csv)) {
        bail!("--wide is for csv: add --to csv, or leave it out");
    }
    Ok(format)
}
