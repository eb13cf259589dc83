//! Files of predictions, our own and those of other systems.
//!
//! | format | what it looks like | who else speaks it |
//! |---|---|---|
//! | `tsv` | `label score<TAB>label score`, best first; a document's id may stand before them | craftml-rs, omikuji |
//! | `jsonl` | `{"row":0,"labels":[{"label":7,"name":"maps","score":0.9}]}` | |
//! | `xc` | a header `rows labels`, then `label:score label:score` | Parabel; without the header napkinXC and LibMultiLabel |
//! | `npz` | `scipy.sparse.save_npz` of a CSR matrix | scipy, PECOS, pyxclib |
//!
//! [`write()`] and [`read`] take whichever is asked for, [`read_file_for`] in the order of
//! the data, [`Writer`] writes batch by batch, [`write_table`] is for people. [`DocumentWriter`] writes label names and document ids instead
//! of numbers. Scores are written with just the digits that give the same
//! `f32` back. The text formats carry label ids; `jsonl` adds the names.
//!
//! A row is ranked by its scores, and equal scores by the lower label id, in whatever order a file
//! lists them. What is read is never trusted: a header's numbers are compared, not allocated.

mod documents;
mod file_rows;
mod jsonl;
mod npz;
mod table;
mod text;
mod writer;

pub use documents::{DocumentFormat, DocumentWriter};
pub use table::write_table;
pub use writer::Writer;

use self::file_rows::FileRows;
use super::documents::TextBlocks;
use super::error::{ReadError, excerpt};
use super::source::Source;
use crate::base::run::{Memory, Task};
use crate::base::sparse::{Predictions, Scored, best_first};
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
}

impl PredictionFormat {
    /// The format of a file name's ending: `.tsv`, `.jsonl`, `.npz`, and `.xc` or
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
            _ => None,
        }
    }
}

/// Reads a file of predictions, or standard input for `-`; gzip and zstd are decompressed. Labels are
/// as in [`read`]. Rows come in the order of the data that the predictions are of: `rows` are the ids
/// of its rows.
///
/// If all rows of both have ids, these tell which predictions belong to which row; else their order
/// does, and ids that are there must not contradict it. A row too many or too few, an id that is
/// missing and one that stands twice are refused.
///
/// ```
/// use labelwood::data::predictions::{PredictionFormat, read_file_for};
/// use labelwood::run::Pool;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("best.tsv");
/// std::fs::write(&path, "x7\t1 0.75\nx6\t0 0.5\n")?;
/// let (rows, task) = (["x6", "x7"].map(|id| Some(id.to_owned())), Pool::new(1)?.task());
/// let predictions = read_file_for(&path, PredictionFormat::Tsv, 2, |_| None, &rows, &task)?;
/// assert_eq!((predictions.row(0)[0].id, predictions.row(1)[0].id), (0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_file_for(
    path: &Path,
    format: PredictionFormat,
    labels: usize,
    id: impl Fn(&str) -> Option<u32>,
    rows: &[Option<String>],
    task: &Task,
) -> Result<Predictions, ReadError> {
    let source = Source::open(path, task.memory())?;
    let name = source.name.clone();
    read_source(source, format, KnownLabels { labels, id: &id })?.in_order_of(rows, &name)
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
    read_source(source, format, KnownLabels { labels, id: &id })?.in_file_order()
}

/// How much of a file of text is read at a time.
const BLOCK: usize = 1 << 18;

fn read_source(
    source: Source<'_>,
    format: PredictionFormat,
    known: KnownLabels<'_>,
) -> Result<FileRows, ReadError> {
    let mut meter = source.meter();
    let rows = if format == PredictionFormat::Npz {
        let predictions = npz::read(source, known.labels, &mut meter)?;
        FileRows { predictions, ..FileRows::default() }
    } else {
        let blocks = &mut TextBlocks::new(source, BLOCK);
        match format {
            PredictionFormat::Tsv => text::read_tsv(blocks, known, &mut meter)?,
            PredictionFormat::Xc => text::read_xc(blocks, known, &mut meter)?,
            PredictionFormat::Jsonl | PredictionFormat::Npz => {
                jsonl::read(blocks, known, &mut meter)?
            }
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
    mut out: impl Write,
    predictions: &Predictions,
    format: PredictionFormat,
    labels: usize,
    name: impl Fn(u32) -> Option<&'n str>,
) -> io::Result<()> {
    if format == PredictionFormat::Npz {
        npz::write(&mut out, predictions, labels)?;
        return out.flush();
    }
    let mut writer = Writer::new(out, format, Some(predictions.len() as u64), labels, name)?;
    writer.push(predictions)?;
    writer.finish()
}

/// The labels that predictions may name.
#[derive(Clone, Copy)]
struct KnownLabels<'a> {
    labels: usize,
    id: &'a dyn Fn(&str) -> Option<u32>,
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
            Err(_) => Err(out_of_range(label, self.labels)),
        }
    }

    fn check(&self, id: u64) -> Result<u32, String> {
        match u32::try_from(id) {
            Ok(label) if (label as usize) < self.labels => Ok(label),
            _ => Err(out_of_range(&id.to_string(), self.labels)),
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
    format!("label {label} is out of range: there are {labels} labels, and ids count from 0")
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
    /// The id of the document.
    id: Option<String>,
    /// The error of a row whose number in the file is not its position.
    misplaced: Option<String>,
}

impl RowBuilder {
    fn push(&mut self, id: u32, score: f32, column: usize) {
        self.entries.push((Scored { id, score }, column));
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
