//! Tables with a header.

use super::super::error::{ReadError, no_such_field};
use super::batch::{Batch, Span};
use super::blocks::TextBlocks;
use super::quotes::Quotes;
use super::{Labels, Options};
use ::csv::{ErrorKind, ReaderBuilder, StringRecord, Terminator};
use std::io;

/// Reads the rows of a table.
pub(super) struct Reader<'a> {
    rows: ::csv::Reader<QuoteCheckedReader<'a>>,
    path: String,
    record: StringRecord,
    columns: Columns,
    /// How many bytes make a batch.
    size: usize,
}

/// Which columns are wanted, counted from 0.
#[derive(Default)]
struct Columns {
    count: usize,
    text: Vec<usize>,
    labels: Option<usize>,
    id: Option<usize>,
}

impl<'a> Reader<'a> {
    /// Reads the header and finds the columns in it.
    pub(super) fn new(
        blocks: TextBlocks<'a>,
        options: &Options,
        labels: Labels,
        size: usize,
    ) -> Result<Self, ReadError> {
        let path = blocks.name().to_owned();
        let checked = QuoteCheckedReader::new(blocks)?;
        // With CRLF as the terminator the crate counts a line's end only when it reads the next
        // row, so rows end at LF here and a CR before it is cut off.
        let rows = ReaderBuilder::new()
            .delimiter(checked.quotes.delimiter)
            .terminator(Terminator::Any(b'\n'))
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(1 << 16)
            .from_reader(checked);
        let record = StringRecord::new();
        let mut reader = Reader { rows, path, record, columns: Columns::default(), size };
        if let Some(line) = reader.next_record()? {
            let header: Vec<&str> = reader.record.iter().map(str::trim).collect();
            reader.columns = Columns::find(&header, options, labels)
                .map_err(|problem| ReadError::content(&reader.path, (line, 1), problem))?;
        }
        Ok(reader)
    }

    /// The next rows.
    pub(super) fn next(&mut self) -> Result<Option<Batch>, ReadError> {
        let mut batch = Batch::default();
        while batch.arena().len() < self.size {
            let Some(line) = self.next_record()? else { break };
            let expected = self.columns.count;
            let found = self.record.len();
            if found != expected {
                let problem = format!(
                    "expected {expected} columns as in the header but found {found}: put fields that \
                     hold the column separator into double quotes"
                );
                return Err(ReadError::content(&self.path, (line, 1), problem));
            }
            let field = |at| match &self.record[at] {
                last if at + 1 == expected => last.strip_suffix('\r').unwrap_or(last),
                other => other,
            };
            let parts = self.columns.text.iter().map(|&at| field(at));
            let text = batch.store(parts.filter(|part| !part.is_empty()), " ");
            let id = self.columns.id.map_or(Span::default(), |at| batch.store([field(at)], ""));
            let labels = self.columns.labels.map(|at| batch.store([field(at)], ""));
            batch.push(text, id, labels);
        }
        Ok((!batch.is_empty()).then_some(batch))
    }

    /// Reads a row that is not blank; gives the line that it starts in.
    fn next_record(&mut self) -> Result<Option<u64>, ReadError> {
        loop {
            match self.rows.read_record(&mut self.record) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => {
                    let source = match error.into_kind() {
                        ErrorKind::Io(source) => source,
                        other => io::Error::other(format!("{other:?}")),
                    };
                    let path = self.path.clone();
                    return Err(source
                        .downcast()
                        .unwrap_or_else(|source| ReadError::Io { path, source }));
                }
            }
            if self.record.len() > 1 || !self.record[0].trim().is_empty() {
                let breaks = |field: &str| memchr::memchr_iter(b'\n', field.as_bytes()).count();
                let lines = 1 + self.record.iter().map(breaks).sum::<usize>();
                return Ok(Some(self.rows.position().line() - lines as u64));
            }
        }
    }
}

impl Columns {
    fn find(header: &[&str], options: &Options, labels: Labels) -> Result<Self, String> {
        let find = |name: &str| header.iter().position(|&column| column == name);
        let require = |name: &str| {
            find(name).ok_or_else(|| no_such_field("column", name, header.iter().copied()))
        };
        let text = options.text.iter().map(|name| require(name)).collect::<Result<_, _>>()?;
        let labels = match labels {
            Labels::Required => Some(require(&options.labels)?),
            Labels::Optional => find(&options.labels),
        };
        let id = match &options.id {
            Some(name) => Some(require(name)?),
            None => find("id"),
        };
        Ok(Columns { count: header.len(), text, labels, id })
    }
}

/// Reads the text of a file, whose quotes are checked block by block.
pub(in crate::data) struct QuoteCheckedReader<'a> {
    blocks: TextBlocks<'a>,
    quotes: Quotes,
    text: String,
    at: usize,
}

impl<'a> QuoteCheckedReader<'a> {
    /// Reads the first block, which holds the header.
    pub(crate) fn new(mut blocks: TextBlocks<'a>) -> Result<Self, ReadError> {
        let first = blocks.next()?;
        let quotes = Quotes::new(delimiter(first.as_ref().map_or("", |block| &block.text)));
        let mut checked = QuoteCheckedReader { blocks, quotes, text: String::new(), at: 0 };
        if let Some(block) = first {
            checked.check(&block.text, block.first_line)?;
            checked.text = block.text;
        }
        Ok(checked)
    }

    /// The separator of columns, as the first line tells.
    pub(crate) fn delimiter(&self) -> u8 {
        self.quotes.delimiter
    }

    fn check(&mut self, text: &str, first_line: u64) -> Result<(), ReadError> {
        let quotes = self.quotes.check(text, first_line);
        quotes.map_err(|(place, problem)| self.blocks.fault(place, problem))?;
        match self.quotes.open() {
            Some((line, bytes)) => self.blocks.check_row(line, bytes),
            None => Ok(()),
        }
    }

    /// Gets the next block, if there is one.
    fn refill(&mut self) -> Result<(), ReadError> {
        (self.text, self.at) = (String::new(), 0);
        match self.blocks.next()? {
            Some(block) => {
                self.check(&block.text, block.first_line)?;
                self.text = block.text;
                Ok(())
            }
            None => {
                let closed = self.quotes.finish();
                closed.map_err(|(place, problem)| self.blocks.fault(place, problem))
            }
        }
    }
}

impl io::Read for QuoteCheckedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            self.refill().map_err(io::Error::other)?;
        }
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

/// The separator of columns: the most frequent of comma, semicolon and TAB in the header, outside of
/// quotes. Without any, a comma.
fn delimiter(text: &str) -> u8 {
    const CANDIDATES: [u8; 3] = *b",;\t";
    let mut counts = [0; 3];
    let mut is_quoted = false;
    for byte in text.trim_start().bytes() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' if !is_quoted => break,
            _ if is_quoted => {}
            _ => (0..3).filter(|&at| byte == CANDIDATES[at]).for_each(|at| counts[at] += 1),
        }
    }
    let best = (0..3).rev().max_by_key(|&at| counts[at]).unwrap_or_default();
    CANDIDATES[best]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells_the_delimiter() {
        assert_eq!(delimiter("id,text\n;;;"), b',');
        assert_eq!(delimiter("\"a,b,c\";text\n"), b';');
        assert_eq!(delimiter("id\ttext, long\tlabels\n"), b'\t');
        assert_eq!(delimiter("text\n"), b',');
        assert_eq!(delimiter("\n\na;b\n"), b';');
    }
}
