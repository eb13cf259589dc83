//! The rows of a data file some at a time, for work that does not need them all at once.

use super::error::ReadError;
use super::read::{BlockSizes, Format, Parser, ReadOptions, format_of};
use super::rows::Rows;
use super::source::Source;
use super::{Dataset, Named, binary};
use crate::base::run::Task;
use crate::base::sparse::Csr;
use std::path::Path;

/// The rows of every batch but the last. Prediction shares work between the rows of a batch.
const ROWS: usize = 16_384;
/// Long rows make a smaller batch: rows that take one part in so many of the memory limit.
const SHARE: u64 = 8;

/// A data file that is read batch by batch, so that only one batch is in memory.
///
/// The rows, warnings and errors are those of [`read`](super::read). But an error may come after rows
/// were handed out, and a wrong number of rows in the header shows only at the end. Label names are not
/// read.
///
/// ```
/// use labelwood::data::{Batches, ReadOptions};
/// use labelwood::run::Pool;
/// let (folder, task) = (tempfile::tempdir()?, Pool::new(1)?.task());
/// let path = folder.path().join("rows.txt");
/// std::fs::write(&path, "2 4 3\n0,2 0:0.5 3:1\n 1:2\n")?;
/// let mut batches = Batches::open(&path, &ReadOptions::default(), &task)?;
/// assert_eq!(batches.declared_rows(), Some(2));
/// let mut rows = 0;
/// while let Some(batch) = batches.next(&task)? {
///     rows += batch.len();
/// }
/// assert_eq!((rows, batches.features()), (2, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Batches<'a> {
    origin: Origin<'a>,
    handed_out: u64,
    warnings: Vec<String>,
    batch: usize,
    /// What is wrong behind the last batch.
    failed: Option<ReadError>,
}

enum Origin<'a> {
    Text {
        parser: Box<Parser<'a>>,
        /// Rows that were parsed and not handed out yet.
        rows: Rows,
        has_ended: bool,
    },
    /// Mapped, so that only the pages in use are in memory.
    Binary(Box<Dataset>),
}

impl Batches<'static> {
    /// Opens a data file, or standard input for `-`, and reads its header.
    pub fn open(path: &Path, options: &ReadOptions, task: &Task) -> Result<Self, ReadError> {
        let format = format_of(path, options)?;
        if format == Some(Format::Binary) {
            let dataset = options.binary(binary::open(path, task.memory())?).dataset;
            let origin = Origin::Binary(Box::new(dataset));
            return Ok(Batches::of(origin, ROWS));
        }
        Batches::new(
            Source::open_live(path, options.live, task.memory())?,
            format,
            options,
            BlockSizes::of(task),
            ROWS,
        )
    }
}

impl<'a> Batches<'a> {
    fn new(
        source: Source<'a>,
        format: Option<Format>,
        options: &ReadOptions,
        sizes: BlockSizes,
        batch: usize,
    ) -> Result<Self, ReadError> {
        let parser = Box::new(Parser::new(source, format, options.clone(), sizes)?);
        let origin = Origin::Text { parser, rows: Rows::new(), has_ended: false };
        Ok(Batches::of(origin, batch))
    }

    fn of(origin: Origin<'a>, batch: usize) -> Self {
        Batches { origin, handed_out: 0, warnings: Vec::new(), batch, failed: None }
    }

    /// The file's format.
    pub fn format(&self) -> Format {
        match &self.origin {
            Origin::Text { parser, .. } => parser.format,
            Origin::Binary(_) => Format::Binary,
        }
    }

    /// The number of rows in the header, if the file is held to it.
    pub fn declared_rows(&self) -> Option<u64> {
        match &self.origin {
            Origin::Text { parser, .. } => parser.declared_rows(),
            Origin::Binary(dataset) => Some(dataset.len() as u64),
        }
    }

    /// The number of features, as far as it is known: that of the header, or more if rows read so
    /// far have more.
    pub fn features(&self) -> usize {
        match &self.origin {
            Origin::Text { parser, rows, .. } => parser.widths().0.max(rows.feature_width) as usize,
            Origin::Binary(dataset) => dataset.features.columns(),
        }
    }

    /// Doubtful places of the file; complete after the last batch.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The next rows, never none of them; nothing at the end.
    pub fn next(&mut self, task: &Task) -> Result<Option<Dataset>, ReadError> {
        let (parser, rows, has_ended) = match &mut self.origin {
            Origin::Text { parser, rows, has_ended } => (parser, rows, has_ended),
            Origin::Binary(dataset) => {
                let start = self.handed_out as usize;
                let end = dataset.len().min(start + self.batch);
                self.handed_out = end as u64;
                let named = |named: &Named| Named {
                    names: Csr::new(dataset.features.columns()),
                    matches: named.matches.view().slice(start..end),
                };
                return Ok((start < end).then(|| Dataset {
                    features: dataset.features.view().slice(start..end),
                    labels: dataset.labels.view().slice(start..end),
                    label_names: None,
                    named: dataset.named.as_ref().map(named),
                }));
            }
        };
        // Whether empty lines are rows or the end of the file shows only in what follows them.
        let room = task.memory().share(SHARE);
        let is_live = parser.is_live();
        let is_batch = |rows: &Rows| {
            let known = rows.len() - rows.empty_tail;
            known >= self.batch || (known > 0 && (is_live || rows.bytes() > room))
        };
        while !*has_ended && !is_batch(rows) {
            let parsed = parser.parse_block(rows, task).and_then(|goes_on| {
                if !goes_on {
                    self.warnings = parser.check_end(self.handed_out, rows)?;
                    // All that is left are rows, empty or not.
                    rows.empty_tail = 0;
                }
                Ok(goes_on)
            });
            match parsed {
                Ok(goes_on) => *has_ended = !goes_on,
                Err(failed) => {
                    *has_ended = true;
                    self.failed = Some(failed);
                }
            }
        }
        let count = self.batch.min(rows.len() - rows.empty_tail);
        if count == 0 {
            return self.failed.take().map_or(Ok(None), Err);
        }
        self.handed_out += count as u64;
        let (features, labels) = parser.widths();
        Ok(Some(rows.split_front(count).into_dataset(features, labels)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::parse;
    use super::*;
    use crate::base::run::Pool;
    use crate::base::sparse::{Csr, LabelRows};
    use proptest::prelude::*;

    fn sizes() -> impl Strategy<Value = BlockSizes> {
        (1usize..200, 1usize..60).prop_map(|(block, chunk)| BlockSizes { block, chunk })
    }

    /// Everything that a file gives, rows and warnings, or its error.
    type Outcome = Result<(Vec<(Vec<u32>, Vec<f32>, Vec<u32>)>, usize, Vec<String>), String>;

    fn rows(features: &Csr, labels: &LabelRows) -> Vec<(Vec<u32>, Vec<f32>, Vec<u32>)> {
        let both = features.rows().zip(labels.rows());
        both.map(|(row, labels)| {
            (row.indices.to_vec(), row.values.to_vec(), labels.indices.to_vec())
        })
        .collect()
    }

    fn at_once(text: &str, format: Format, options: &ReadOptions, task: &Task) -> Outcome {
        let source = Source::from_bytes("f", text.as_bytes(), task.memory()).unwrap();
        let whole = BlockSizes { block: 1 << 20, chunk: 1 << 20 };
        let read = parse(source, Some(format), options, whole, task);
        let read = read.map_err(|error| error.to_string())?;
        let rows = rows(&read.dataset.features, &read.dataset.labels);
        Ok((rows, read.dataset.features.columns(), read.warnings))
    }

    fn in_batches(
        text: &str,
        format: Format,
        options: &ReadOptions,
        (sizes, batch): (BlockSizes, usize),
        task: &Task,
    ) -> Outcome {
        let source = Source::from_bytes("f", text.as_bytes(), task.memory()).unwrap();
        let batches = Batches::new(source, Some(format), options, sizes, batch);
        let mut batches = batches.map_err(|error| error.to_string())?;
        let mut found = Vec::new();
        while let Some(some) = batches.next(task).map_err(|error| error.to_string())? {
            assert!(some.len() <= batch && !some.is_empty());
            found.extend(rows(&some.features, &some.labels));
        }
        assert!(batches.next(task).unwrap().is_none());
        Ok((found, batches.features(), batches.warnings().to_vec()))
    }

    /// Lines that are right most of the time, some of them empty.
    fn line() -> impl Strategy<Value = String> {
        prop_oneof![
            8 => "([0-9](,[0-9]){0,2})?( [1-9]:[0-9](\\.[0-9]{1,9})?){0,4}[ \r]?",
            6 => Just(String::new()),
            1 => Just(" 1:x".to_owned()),
        ]
    }

    #[test]
    fn empty_lines_at_the_end_are_rows_only_if_the_header_counts_them() {
        let task = Pool::new(1).unwrap().task();
        let sizes = BlockSizes { block: 8, chunk: 4 };
        let options = ReadOptions::default();
        let count = |text: &str, format| {
            in_batches(text, format, &options, (sizes, 2), &task).map(|found| found.0.len())
        };
        assert_eq!(count("4 3 3\n0 1:1\n\n\n\n\n\n", Format::Xc), Ok(4));
        assert_eq!(count("0 1:1\n\n\n1 1:1\n\n\n", Format::Libsvm), Ok(4));
        let error = count("9 3 3\n0 1:1\n\n\n", Format::Xc).unwrap_err();
        assert!(error.starts_with("f:1:1: the header declares 9 rows, but there are 3"), "{error}");
    }

    proptest! {
        #[test]
        fn batches_are_the_rows_of_the_whole(
            lines in proptest::collection::vec(line(), 0..30),
            declared in 0usize..30,
            sizes in sizes(),
            batch in 1usize..12,
            is_lenient: bool,
        ) {
            let task = Pool::new(3).unwrap().task();
            let options = ReadOptions { lenient: is_lenient, ..ReadOptions::default() };
            let declared = if is_lenient { declared } else { lines.len() };
            let xc = format!("{declared} 10 10\n{}", lines.join("\n"));
            for (format, text) in [(Format::Xc, xc), (Format::Libsvm, lines.join("\n"))] {
                let found = in_batches(&text, format, &options, (sizes, batch), &task);
                prop_assert_eq!(found, at_once(&text, format, &options, &task));
            }
        }
    }
}
