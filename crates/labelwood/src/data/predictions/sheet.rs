//! The format `csv`: the columns of the data, and the labels of each row in one column or several.

use super::file_rows::FileRows;
use super::{KnownLabels, RowBuilder, parse_score, separator_of};
use crate::base::sparse::{Predictions, Scored};
use crate::base::words::plural;
use crate::data::LabelIndex;
use crate::data::documents::{Batch, Header, QuoteCheckedReader, TextBlocks, find_name};
use crate::data::error::{ReadError, first_of};
use crate::data::source::MemoryMeter;
use std::io::{self, Write};

const LABELS: &str = "labels";
const SCORES: &str = "scores";
/// How often predictions may be made for a table that has predictions already.
const MOST: usize = 9;

/// What stands before the names of our columns if the data have columns of such names, from 1 on.
fn before(level: usize) -> String {
    match level {
        0 => String::new(),
        1 => "predicted_".to_owned(),
        level => format!("predicted_{level}_"),
    }
}

/// The last level of which a table has columns of labels.
fn level_of<'n>(header: impl Iterator<Item = &'n str> + Clone) -> Option<usize> {
    let has = |name: String| find_name(&name, header.clone()).is_some();
    (0..=MOST).rev().find(|&level| {
        let before = before(level);
        has(format!("{before}{LABELS}")) || has(format!("{before}label_1"))
    })
}

/// Which columns a [`SheetWriter`] writes after those of the data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    /// Whether there are no scores.
    pub labels_only: bool,
    /// Whether labels are written as numbers, whatever they are called.
    pub are_numbers: bool,
    /// How many labels have columns of their own, if they have.
    pub wide: Option<usize>,
}

/// Writes a table with a header for spreadsheets: the columns of the data, then the labels of each row
/// as the training file had them, their names if these are others, and the scores.
///
/// Rows of vectors are numbered from 1. Labels of a row stand in one field with `;` between them (with
/// `|` if a label has a `;`), or in columns of their own.
///
/// ```
/// use labelwood::data::documents::{Documents, Format, Labels, Options};
/// use labelwood::data::LabelIndex;
/// use labelwood::data::predictions::{Layout, SheetWriter};
/// use labelwood::run::Pool;
/// use labelwood::sparse::{Predictions, Scored};
/// let (task, options) = (Pool::new(1)?.task(), Options::default());
/// let table = b"id,text,year\nx7,\"Birds, north\",1999\n";
/// let optional = Labels::Optional;
/// let documents = Documents::from_bytes(table, "f", Format::Csv, &options, optional, &task)?;
/// let mut documents = documents.keeping_fields();
/// let batch = documents.next_batch()?.expect("there is a document");
/// let mut predictions = Predictions::default();
/// predictions.push_row(&[Scored { id: 1, score: 0.75 }, Scored { id: 0, score: 0.5 }]);
/// let names = LabelIndex::from_lines(["maps", "birds"]);
///
/// let mut sheet = Vec::new();
/// let layout = Layout::default();
/// let mut writer = SheetWriter::new(&mut sheet, documents.header(), Some(&names), layout)?;
/// writer.push(Some(&batch), &predictions)?;
/// writer.finish()?;
/// let expected = "id,text,year,labels,scores\nx7,\"Birds, north\",1999,birds; maps,0.75; 0.5\n";
/// assert_eq!(String::from_utf8(sheet)?, expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SheetWriter<'n, W: Write> {
    out: csv::Writer<W>,
    /// The first line of the data, if they are a table.
    header: Option<Header>,
    names: Option<&'n LabelIndex>,
    /// Whether labels have names besides what the training file had.
    has_names: bool,
    layout: Layout,
    separator: &'static str,
    /// Whether documents have ids, once the header is written.
    has_ids: Option<bool>,
    written: u64,
}

impl<'n, W: Write> SheetWriter<'n, W> {
    /// Writes to `out` with the columns of the data, if they are a table. Without `names` labels are numbers.
    pub fn new(
        out: W,
        header: Option<&Header>,
        names: Option<&'n LabelIndex>,
        layout: Layout,
    ) -> io::Result<Self> {
        // A file that is named .csv has no TABs.
        let of_data = header.filter(|header| header.delimiter != b'\t');
        let plain = Header { delimiter: b',', ..Header::default() };
        let all = |names: &'n LabelIndex| 0..names.len() as u32;
        let has_name = |names: &'n LabelIndex| {
            layout.are_numbers || all(names).any(|id| names.name(id).is_some())
        };
        let labels = names
            .into_iter()
            .flat_map(|names| all(names).flat_map(|id| [names.code(id), names.display(id)]));
        Ok(SheetWriter {
            out: of_data.unwrap_or(&plain).writer(out)?,
            header: header.cloned(),
            names,
            has_names: names.is_some_and(has_name),
            layout,
            separator: separator_of(labels),
            has_ids: None,
            written: 0,
        })
    }

    /// Takes the predictions of the next rows, and their documents if they are text.
    pub fn push(&mut self, documents: Option<&Batch>, predictions: &Predictions) -> io::Result<()> {
        if self.has_ids.is_none() {
            self.write_header(documents)?;
        }
        let mut texts = documents.map(Batch::texts);
        for (row, labels) in predictions.rows().enumerate() {
            self.written += 1;
            let text = texts.as_mut().and_then(Iterator::next);
            match documents {
                Some(batch) if self.header.is_some() => {
                    batch.fields(row).try_for_each(|field| self.out.write_field(field))?;
                }
                Some(batch) => {
                    if self.has_ids == Some(true) {
                        self.out.write_field(batch.id(row).unwrap_or_default())?;
                    }
                    self.out.write_field(text.unwrap_or_default())?;
                }
                None => self.out.write_field(self.written.to_string())?,
            }
            self.write_labels(labels)?;
            self.out.write_record(None::<&[u8]>)?;
        }
        Ok(())
    }

    /// Hands on what is written so far.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Completes the file.
    pub fn finish(mut self) -> io::Result<()> {
        if self.has_ids.is_none() {
            self.write_header(None)?;
        }
        self.out.flush()
    }

    fn write_header(&mut self, documents: Option<&Batch>) -> io::Result<()> {
        let has_ids =
            documents.is_some_and(|batch| (0..batch.len()).any(|row| batch.id(row).is_some()));
        self.has_ids = Some(has_ids);
        let own = match (&self.header, documents) {
            (Some(header), _) => header.names.clone(),
            (None, Some(_)) if has_ids => vec!["id".to_owned(), "text".to_owned()],
            (None, Some(_)) => vec!["text".to_owned()],
            (None, None) => vec!["row".to_owned()],
        };
        let ours: Vec<String> = match self.layout.wide {
            None => self.kinds().map(|kind| format!("{kind}s")).collect(),
            Some(width) => {
                let of = |rank: usize| self.kinds().map(move |kind| format!("{kind}_{rank}"));
                (1..=width).flat_map(of).collect()
            }
        };
        let level = level_of(own.iter().map(String::as_str)).map_or(0, |level| level + 1);
        let before = before(level.min(MOST));
        let ours = ours.iter().map(|name| format!("{before}{name}"));
        self.out.write_record(own.iter().cloned().chain(ours))?;
        Ok(())
    }

    /// What is told of a label.
    fn kinds(&self) -> impl Iterator<Item = &'static str> + Clone + use<W> {
        let has_scores = !self.layout.labels_only;
        [Some("label"), self.has_names.then_some("name"), has_scores.then_some("score")]
            .into_iter()
            .flatten()
    }

    /// One of the kinds of a label.
    fn told(&self, kind: &str, best: &Scored) -> String {
        match (kind, self.names) {
            ("score", _) => best.score.to_string(),
            ("name", Some(names)) => names.display(best.id).to_owned(),
            (_, Some(names)) if !self.layout.are_numbers => names.code(best.id).to_owned(),
            _ => best.id.to_string(),
        }
    }

    fn write_labels(&mut self, labels: &[Scored]) -> io::Result<()> {
        let kinds = self.kinds();
        let Some(width) = self.layout.wide else {
            let between = format!("{} ", self.separator);
            for kind in kinds {
                let all: Vec<String> = labels.iter().map(|best| self.told(kind, best)).collect();
                self.out.write_field(all.join(&between))?;
            }
            return Ok(());
        };
        for rank in 0..width {
            for kind in kinds.clone() {
                let told = labels.get(rank).map(|best| self.told(kind, best));
                self.out.write_field(told.unwrap_or_default())?;
            }
        }
        Ok(())
    }
}

/// Where the predictions stand in a table.
struct Columns {
    id: Option<usize>,
    /// The columns of labels, each with those of their names and scores if there are some.
    labels: Vec<(usize, Option<usize>, Option<usize>)>,
    /// Whether a column has all labels of a row.
    are_joined: bool,
}

/// Reads a table as [`SheetWriter`] writes it; `id_column` has the ids of documents, if it is there.
pub(super) fn read(
    blocks: TextBlocks<'_>,
    known: KnownLabels<'_>,
    id_column: &str,
    meter: &mut MemoryMeter,
) -> Result<FileRows, ReadError> {
    let path = blocks.name().to_owned();
    let checked = QuoteCheckedReader::new(blocks, None)?;
    let mut table = csv::ReaderBuilder::new()
        .delimiter(checked.delimiter())
        .flexible(true)
        .terminator(csv::Terminator::Any(b'\n'))
        .has_headers(false)
        .from_reader(checked);
    let mut record = csv::StringRecord::new();
    let fault = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(source) => {
            source.downcast().unwrap_or_else(|source| ReadError::Io { path: path.clone(), source })
        }
        other => ReadError::file(&path, format!("{other:?}")),
    };
    let at = |record: &csv::StringRecord, problem: String| {
        let line = record.position().map_or(1, csv::Position::line);
        ReadError::content(&path, (line, 1), problem)
    };
    let mut read = FileRows::default();
    if !table.read_record(&mut record).map_err(&fault)? {
        return Err(ReadError::empty(&path, "a line that names the columns, and rows"));
    }
    let columns = Columns::find(&record, id_column).map_err(|problem| at(&record, problem))?;
    let width = record.len();
    let mut row = RowBuilder::default();
    while table.read_record(&mut record).map_err(&fault)? {
        if record.len() != width {
            let found = record.len();
            let problem =
                format!("expected {} as in the header but found {found}", plural(width, "column"));
            return Err(at(&record, problem));
        }
        columns.take(&record, known, &mut row).map_err(|problem| at(&record, problem))?;
        row.finish(&mut read.predictions).map_err(|(_, problem)| at(&record, problem))?;
        read.push_id(row.id.take());
        meter.set(read.bytes())?;
    }
    read.has_scores = row.has_scores;
    Ok(read)
}

impl Columns {
    fn find(header: &csv::StringRecord, id_column: &str) -> Result<Self, String> {
        let find = |name: &str| find_name(name, header.iter());
        let id = find(id_column);
        if let Some(before) = level_of(header.iter()).map(before) {
            let names = find(&format!("{before}names"));
            if let Some(labels) = find(&format!("{before}{LABELS}")) {
                let labels = vec![(labels, names, find(&format!("{before}{SCORES}")))];
                return Ok(Columns { id, labels, are_joined: true });
            }
            let ranked = (1..).map_while(|rank| {
                let one = |kind: &str| find(&format!("{before}{kind}_{rank}"));
                Some((one("label")?, one("name"), one("score")))
            });
            return Ok(Columns { id, labels: ranked.collect(), are_joined: false });
        }
        let known = first_of(header.iter().collect::<Vec<_>>().into_iter());
        Err(format!("there is no column `{LABELS}` or `label_1`: there are {known}"))
    }

    /// Adds the labels of a row.
    fn take(
        &self,
        record: &csv::StringRecord,
        known: KnownLabels<'_>,
        row: &mut RowBuilder,
    ) -> Result<(), String> {
        row.id = self
            .id
            .map(|at| record[at].trim_end_matches('\r').to_owned())
            .filter(|id| !id.is_empty());
        for &(labels, names, scores) in &self.labels {
            // A field of its own may hold what separates labels elsewhere.
            let split = |field: usize| {
                let separator = if self.are_joined { known.separator } else { "\0" };
                let pieces = record[field].split(separator).map(str::trim);
                pieces.filter(|piece| !piece.is_empty()).collect::<Vec<_>>()
            };
            let found = split(labels);
            let (names, scores) = (names.map(split).unwrap_or_default(), scores.map(split));
            if let Some(scores) = scores.as_ref().filter(|scores| scores.len() != found.len()) {
                let (labels, scores) = (found.len(), scores.len());
                return Err(format!(
                    "{} but {}: give each label one",
                    plural(labels, "label"),
                    plural(scores, "score")
                ));
            }
            for (place, label) in found.iter().enumerate() {
                let score = scores.as_ref().map(|scores| parse_score(scores[place])).transpose()?;
                // A code that is not known may have a name that is.
                let by_name = || (known.id)(names.get(place)?);
                let label = known.resolve(label).or_else(|problem| by_name().ok_or(problem))?;
                row.push(label, score, 1).map_err(|(_, problem)| problem)?;
            }
        }
        Ok(())
    }
}
