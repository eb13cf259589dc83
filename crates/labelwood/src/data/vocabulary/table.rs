//! Vocabularies as tables: code, name, further names.

use super::super::documents::QuoteCheckedReader;
use super::super::documents::TextBlocks;
use super::super::error::ReadError;
use super::super::label_index::{LabelIndex, LineCollector, on_one_line};
use super::super::source::Source;
use ::csv::{ErrorKind, ReaderBuilder, StringRecord, Terminator};

/// How much of a table is read at a time.
const BLOCK: usize = 1 << 20;

/// What the first cell of a header may be, in any case.
const HEADS: [&str; 7] = ["code", "id", "uri", "url", "iri", "notation", "concept"];

/// How the cells of a table are separated.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// By TABs; quotes are part of the text.
    Tsv,
    /// By commas, semicolons or TABs, as the first line tells; cells may be quoted.
    Csv,
}

/// Reads a table. Its first line is a header if it has several cells, of which the first is one of
/// [`HEADS`].
pub(super) fn read(source: Source<'_>, kind: Kind) -> Result<LabelIndex, ReadError> {
    let blocks = TextBlocks::new(source, BLOCK);
    let mut table = Table { lines: LineCollector::default(), line: String::new(), is_first: true };
    match kind {
        Kind::Tsv => table.read_tsv(blocks)?,
        Kind::Csv => table.read_csv(blocks)?,
    }
    Ok(table.lines.finish())
}

struct Table {
    lines: LineCollector,
    line: String,
    is_first: bool,
}

impl Table {
    fn read_tsv(&mut self, mut blocks: TextBlocks<'_>) -> Result<(), ReadError> {
        let mut meter = blocks.meter();
        while let Some(block) = blocks.next()? {
            for row in block.text.lines() {
                self.add(row.split('\t'));
                meter.set(self.lines.bytes())?;
            }
        }
        meter.keep();
        Ok(())
    }

    fn read_csv(&mut self, blocks: TextBlocks<'_>) -> Result<(), ReadError> {
        let (path, mut meter) = (blocks.name().to_owned(), blocks.meter());
        let checked = QuoteCheckedReader::new(blocks, None)?;
        let mut rows = ReaderBuilder::new()
            .delimiter(checked.delimiter())
            .terminator(Terminator::Any(b'\n'))
            .has_headers(false)
            .flexible(true)
            .from_reader(checked);
        let mut record = StringRecord::new();
        loop {
            match rows.read_record(&mut record) {
                Ok(true) => self.add(record.iter()),
                Ok(false) => break,
                Err(error) => {
                    let source = match error.into_kind() {
                        ErrorKind::Io(source) => source,
                        other => std::io::Error::other(format!("{other:?}")),
                    };
                    return Err(source
                        .downcast()
                        .unwrap_or_else(|source| ReadError::Io { path, source }));
                }
            }
            meter.set(self.lines.bytes())?;
        }
        meter.keep();
        Ok(())
    }

    /// Adds a row, unless it is blank or the header.
    fn add<'c>(&mut self, cells: impl Iterator<Item = &'c str>) {
        let mut cells = cells.map(str::trim);
        let first = cells.next().unwrap_or_default();
        let code = first.strip_prefix('<').and_then(|code| code.strip_suffix('>')).unwrap_or(first);
        self.line.clear();
        self.line.push_str(&on_one_line(code));
        let code_end = self.line.len();
        for cell in cells {
            self.line.extend(["\t", &*on_one_line(cell)]);
        }
        let has_names = self.line.len() > code_end;
        if self.line.bytes().all(|byte| byte == b'\t') {
            return;
        }
        let is_head = || HEADS.iter().any(|head| first.eq_ignore_ascii_case(head));
        if !(std::mem::take(&mut self.is_first) && has_names && is_head()) {
            self.lines.push(&self.line);
        }
    }
}
