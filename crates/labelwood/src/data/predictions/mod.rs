//! Files of predictions, our own and those of other systems.
//!
//! | format | what it looks like | who else speaks it |
//! |---|---|---|
//! | `tsv` | `label score<TAB>label score`, best first; a document's id may stand before them | craftml-rs, omikuji |
//! | `jsonl` | `{"row":0,"labels":[{"label":7,"name":"maps","score":0.9}]}` | |
//! | `xc` | a header `rows labels`, then `label:score label:score` | Parabel; without the header napkinXC and LibMultiLabel |
//! | `npz` | `scipy.sparse.save_npz` of a CSR matrix | scipy, PECOS, pyxclib |
//! | `csv` | the columns of the data, then `labels` and `scores` | spreadsheets |
//!
//! [`write()`] and [`read`] take whichever is asked for, [`read_file_for`] in the order of
//! the data, [`Writer`] writes batch by batch, [`write_table`] is for people. [`DocumentWriter`] writes
//! label names and document ids instead of numbers, [`SheetWriter`] a table of all columns of the data.
//! Scores are written with just the digits that give the same `f32` back; a file may as well have labels
//! without scores, the best first. The text formats carry label ids; `jsonl` adds the names.
//!
//! A row is ranked by its scores, and equal scores by the lower label id, in whatever order a file
//! lists them. What is read is never trusted: a header's numbers are compared, not allocated.

mod documents;
mod file_rows;
mod jsonl;
mod npz;
mod sheet;
mod table;
mod text;
mod writer;

pub use documents::{DocumentFormat, DocumentWriter};
pub use sheet::{Layout, SheetWriter};
pub use table::write_table;
pub use writer::Writer;

use self::file_rows::FileRows;
use super::documents::TextBlocks;
use super::error::{ReadError, excerpt};
use super::source::Source;
use crate::base::run::{Memory, Task};
use crate::base::sparse::{Predictions, Scored, best_first};
use crate::base::words::plural;
use std::io::{self, Read, Write};
use std::path::Path;

/// How a file holds predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictionFormat {
    /// `label score<TAB>label score`.
    Tsv,
    /// One JSON object per row.
    Jsonl,
    /// A text matrix `label:score`, with a header when we write it.
    Xc,
    /// A scipy CSR matrix.
    Npz,
    /// A table with a header.
    Csv,
}

impl PredictionFormat {
    /// The format of a file name's ending: `.tsv`, `.csv`, `.jsonl`, `.npz`, and `.xc` or
    /// `.txt`, the text ones also followed by `.gz` or `.zst`.
    ///
    /// ```
    /// use labelwood::data::predictions::PredictionFormat;
    /// assert_eq!(PredictionFormat::of_path("out/best.tsv.gz"), Some(PredictionFormat::Tsv));
    /// assert_eq!(PredictionFormat::of_path("scores"), None);
    /// ```
    pub fn of_path(path: &str) -> Option<Self> {
        let plain = path.strip_suffix(".gz").or_else(|| path.strip_suffix(".zst")).unwrap_or(path);
        match plain.rsplit_once('.')?.1 {
            "tsv" => Some(PredictionFormat::Tsv),
            "jsonl" => Some(PredictionFormat::Jsonl),
            "xc" | "txt" => Some(PredictionFormat::Xc),
            "npz" => Some(PredictionFormat::Npz),
            "csv" => Some(PredictionFormat::Csv),
            _ => None,
        }
    }
}

/// What a file of predictions is read with.
#[derive(Clone, Copy)]
pub struct KnownLabels<'a> {
    /// How many labels there are.
    pub count: usize,
    /// The label of a name or code, if it is one.
    pub id: &'a dyn Fn(&str) -> Option<u32>,
    /// What stands between two labels in a field of CSV.
    pub separator: &'a str,
}

/// Predictions that were read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadPredictions {
    /// The labels of each row, with their scores.
    pub predictions: Predictions,
    /// Whether the file has scores; else the labels of a row have the scores 0, -1, -2 in their order.
    pub has_scores: bool,
}

/// Reads a file of predictions, or standard input for `-`; gzip and zstd are decompressed. Labels are
/// as in [`read`]. Rows come in the order of the data that the predictions are of: `rows` are the ids
/// of its rows, `id_column` the column that has these ids in a CSV file.
///
/// If all rows of both have ids, these tell which predictions belong to which row; else their order
/// does, and ids that are there must not contradict it. A row too many or too few, an id that is
/// missing and one that stands twice are refused.
///
/// ```
/// use labelwood::data::predictions::{KnownLabels, PredictionFormat, read_file_for};
/// use labelwood::run::Pool;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("best.tsv");
/// std::fs::write(&path, "x7\t1 0.75\nx6\t0 0.5\n")?;
/// let (rows, task) = (["x6", "x7"].map(|id| Some(id.to_owned())), Pool::new(1)?.task());
/// let known = KnownLabels { count: 2, id: &|_| None, separator: ";" };
/// let read = read_file_for(&path, PredictionFormat::Tsv, known, "id", &rows, &task)?;
/// assert_eq!((read.predictions.row(0)[0].id, read.predictions.row(1)[0].id), (0, 1));
/// assert!(read.has_scores);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_file_for(
    path: &Path,
    format: PredictionFormat,
    known: KnownLabels<'_>,
    id_column: &str,
    rows: &[Option<String>],
    task: &Task,
) -> Result<ReadPredictions, ReadError> {
    let source = Source::open(path, task.memory())?;
    let name = source.name.clone();
    let read = read_source(source, format, known, id_column, rows)?;
    let has_scores = read.has_scores != Some(false);
    Ok(ReadPredictions { predictions: read.in_order_of(rows, &name)?, has_scores })
}

/// Reads predictions; `path` names the input in errors. They may take as much memory as the machine
/// gives.
///
/// Labels are names that `id` knows, or ids below `labels`; in `xc` a number is always an id.
///
/// ```
/// use labelwood::data::predictions::{PredictionFormat, read};
/// let names = ["maps", "web design"];
/// let id = |name: &str| names.iter().position(|known| *known == name).map(|at| at as u32);
/// let file = "web design 0.75\t0 0.5\n\n";
/// let predictions = read(file.as_bytes(), "best.tsv", PredictionFormat::Tsv, 2, id)?;
/// assert_eq!(predictions.len(), 2);
/// assert_eq!(predictions.row(0)[0].id, 1);
///
/// let wrong = read("0 0.5\t2 0.4".as_bytes(), "best.tsv", PredictionFormat::Tsv, 2, id);
/// assert_eq!(
///     wrong.unwrap_err().to_string(),
///     "best.tsv:1:7: label 2 is out of range: there are 2 labels, and ids count from 0",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(
    input: impl Read + Send,
    path: &str,
    format: PredictionFormat,
    labels: usize,
    id: impl Fn(&str) -> Option<u32>,
) -> Result<Predictions, ReadError> {
    let source = Source::new(path.to_owned(), input, &Memory::of_machine())?;
    let known = KnownLabels { count: labels, id: &id, separator: ";" };
    read_source(source, format, known, "id", &[])?.in_file_order()
}

/// A separator that no label holds, for labels in one field: the first of a few.
///
/// ```
/// use labelwood::data::predictions::separator_of;
/// assert_eq!(separator_of(["maps", "birds"].into_iter()), ";");
/// assert_eq!(separator_of(["a;b", "c"].into_iter()), "|");
/// ```
pub fn separator_of<'l>(labels: impl Iterator<Item = &'l str>) -> &'static str {
    const CANDIDATES: [&str; 4] = [";", "|", "||", "\u{1f}"];
    let mut is_used = [false; CANDIDATES.len()];
    for label in labels {
        for (is_used, candidate) in is_used.iter_mut().zip(CANDIDATES) {
            *is_used |= label.contains(candidate);
        }
    }
    let unused = is_used.iter().position(|is_used| !is_used);
    CANDIDATES[unused.unwrap_or(CANDIDATES.len() - 1)]
}

/// How much of a file of text is read at a time.
const BLOCK: usize = 1 << 18;

fn read_source(
    source: Source<'_>,
    format: PredictionFormat,
    known: KnownLabels<'_>,
    id_column: &str,
    ids: &[Option<String>],
) -> Result<FileRows, ReadError> {
    let mut meter = source.meter();
    let rows = match format {
        PredictionFormat::Npz => npz::read(source, known.count, &mut meter)?,
        PredictionFormat::Csv => {
            sheet::read(TextBlocks::new(source, BLOCK), known, id_column, &mut meter)?
        }
        PredictionFormat::Tsv => {
            text::read_tsv(&mut TextBlocks::new(source, BLOCK), known, ids, &mut meter)?
        }
        PredictionFormat::Xc => {
            text::read_xc(&mut TextBlocks::new(source, BLOCK), known, &mut meter)?
        }
        PredictionFormat::Jsonl => {
            jsonl::read(&mut TextBlocks::new(source, BLOCK), known, &mut meter)?
        }
    };
    meter.keep();
    Ok(rows)
}

/// Writes predictions of labels below `labels`; `name` gives the names that `jsonl` adds.
///
/// ```
/// use labelwood::data::predictions::{PredictionFormat, write};
/// use labelwood::sparse::{Predictions, Scored};
/// let mut predictions = Predictions::default();
/// predictions.push_row(&[Scored { id: 1, score: 0.75 }, Scored { id: 0, score: 0.1 }]);
/// let mut file = Vec::new();
/// write(&mut file, &predictions, PredictionFormat::Xc, 2, |_| None)?;
/// assert_eq!(file, b"1 2\n0:0.1 1:0.75\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write<'n>(
    out: impl Write,
    predictions: &Predictions,
    format: PredictionFormat,
    labels: usize,
    name: impl Fn(u32) -> Option<&'n str>,
) -> io::Result<()> {
    let rows = Some(predictions.len() as u64);
    let mut writer = Writer::new(out, format, rows, labels, false, name)?;
    writer.push(predictions)?;
    writer.finish()
}

impl KnownLabels<'_> {
    /// The label of a name or an id.
    fn resolve(&self, label: &str) -> Result<u32, String> {
        if let Some(id) = (self.id)(label) {
            return self.check(u64::from(id));
        }
        if !is_number(label) {
            return Err(format!(
                "`{}` is neither a label id nor a known label name: use ids from 0, or give the label names",
                excerpt(label)
            ));
        }
        match label.parse::<u64>() {
            Ok(id) => self.check(id),
            Err(_) => Err(out_of_range(label, self.count)),
        }
    }

    fn check(&self, id: u64) -> Result<u32, String> {
        match u32::try_from(id) {
            Ok(label) if (label as usize) < self.count => Ok(label),
            _ => Err(out_of_range(&id.to_string(), self.count)),
        }
    }
}

/// A row's labels in the order of their ids.
fn by_label(row: &[Scored]) -> Vec<Scored> {
    let mut sorted = row.to_vec();
    sorted.sort_unstable_by_key(|scored| scored.id);
    sorted
}

fn is_number(label: &str) -> bool {
    !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit())
}

fn out_of_range(label: &str, labels: usize) -> String {
    let label = excerpt(label);
    let are = if labels == 1 { "is" } else { "are" };
    format!(
        "label {label} is out of range: there {are} {}, and ids count from 0",
        plural(labels, "label")
    )
}

/// A score that is written as text.
fn parse_score(score: &str) -> Result<f32, String> {
    match fast_float2::parse::<f32, _>(score) {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(format!("the score `{}` is not a finite 32-bit number", excerpt(score))),
        Err(_) => Err(format!("the score `{}` is not a number", excerpt(score))),
    }
}

/// The entries of the row being read, each with the column where it stands.
#[derive(Default)]
struct RowBuilder {
    entries: Vec<(Scored, usize)>,
    ranked: Vec<Scored>,
    /// Whether the labels have scores, which the first of the file tells.
    has_scores: Option<bool>,
    /// The id of the document.
    id: Option<String>,
    /// The error of a row whose number in the file is not its position.
    misplaced: Option<String>,
}

impl RowBuilder {
    /// Adds a label; one without a score ranks after those before it.
    fn push(&mut self, id: u32, score: Option<f32>, column: usize) -> Result<(), (usize, String)> {
        let has_scores = score.is_some();
        if *self.has_scores.get_or_insert(has_scores) != has_scores {
            let (has, had) = if has_scores { ("a", "none") } else { ("no", "one") };
            let problem = format!(
                "label {id} has {has} score, but those before have {had}: give all or none scores"
            );
            return Err((column, problem));
        }
        let score = score.unwrap_or(0.0 - self.entries.len() as f32);
        self.entries.push((Scored { id, score }, column));
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Moves the row to `predictions`. A label that occurs twice is an error with its column.
    fn finish(&mut self, predictions: &mut Predictions) -> Result<(), (usize, String)> {
        self.entries.sort_unstable_by_key(|(scored, column)| (scored.id, *column));
        let twice = self.entries.windows(2).find(|pair| pair[0].0.id == pair[1].0.id);
        if let Some(&[_, (scored, column)]) = twice {
            let problem = format!("label {} stands twice in this row: keep one of them", scored.id);
            return Err((column, problem));
        }
        self.ranked.clear();
        self.ranked.extend(self.entries.drain(..).map(|(scored, _)| scored));
        self.ranked.sort_unstable_by(best_first);
        predictions.push_row(&self.ranked);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
