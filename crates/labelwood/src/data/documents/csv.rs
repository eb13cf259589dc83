//! Tables with a header.

use super::super::error::{ReadError, excerpt, no_such_field};
use super::super::source::BYTE_ORDER_MARK;
use super::batch::{Batch, Span};
use super::blocks::{TextBlock, TextBlocks};
use super::quotes::Quotes;
use super::{Labels, Options};
use crate::base::words::plural;
use ::csv::{ErrorKind, ReaderBuilder, StringRecord, Terminator, WriterBuilder};
use std::io::{self, Write};

/// Reads the rows of a table.
pub(super) struct Reader<'a> {
    rows: ::csv::Reader<QuoteCheckedReader<'a>>,
    path: String,
    record: StringRecord,
    header: Header,
    columns: Columns,
    /// How many bytes make a batch.
    size: usize,
    /// What is wrong behind the last batch.
    failed: Option<ReadError>,
}

/// The first line of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The names of the columns.
    pub names: Vec<String>,
    /// What separates the columns.
    pub delimiter: u8,
    /// Whether a byte order mark stands before it, which tells spreadsheet programs that the text is
    /// UTF-8.
    pub has_mark: bool,
}

impl Header {
    /// A writer of such a table, which has the mark already.
    pub(in crate::data) fn writer<W: Write>(&self, mut out: W) -> io::Result<::csv::Writer<W>> {
        if self.has_mark {
            out.write_all(BYTE_ORDER_MARK)?;
        }
        Ok(WriterBuilder::new().delimiter(self.delimiter).from_writer(out))
    }
}

/// Which columns are wanted, counted from 0.
#[derive(Default)]
struct Columns {
    text: Vec<usize>,
    labels: Vec<usize>,
    id: Option<usize>,
}

impl<'a> Reader<'a> {
    /// Reads the header and finds the columns in it; `first` is the first block, if it was read already.
    pub(super) fn new(
        blocks: TextBlocks<'a>,
        first: Option<TextBlock>,
        options: &Options,
        labels: Labels,
        size: usize,
    ) -> Result<Self, ReadError> {
        let path = blocks.name().to_owned();
        let checked = QuoteCheckedReader::new(blocks, first)?;
        let (delimiter, has_mark) = (checked.delimiter(), checked.blocks.has_mark());
        // With CRLF as the terminator the crate counts a line's end only when it reads the next
        // row, so rows end at LF here and a CR before it is cut off.
        let rows = ReaderBuilder::new()
            .delimiter(delimiter)
            .terminator(Terminator::Any(b'\n'))
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(1 << 16)
            .from_reader(checked);
        let header = Header { names: Vec::new(), delimiter, has_mark };
        let (record, columns) = (StringRecord::new(), Columns::default());
        let mut reader = Reader { rows, path, record, header, columns, size, failed: None };
        if let Some(line) = reader.next_record()? {
            let header: Vec<&str> = reader.record.iter().map(str::trim).collect();
            reader.columns = Columns::find(&header, options, labels)
                .map_err(|problem| ReadError::content(&reader.path, (line, 1), problem))?;
            reader.header.names = header.into_iter().map(str::to_owned).collect();
        }
        Ok(reader)
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// The next rows.
    pub(super) fn next(&mut self, keeps_fields: bool) -> Result<Option<Batch>, ReadError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let mut batch = Batch::default();
        while batch.arena().len() < self.size {
            let found = match self.next_row() {
                Ok(Some(found)) => found,
                Ok(None) => break,
                Err(failed) if batch.is_empty() => return Err(failed),
                Err(failed) => {
                    self.failed = Some(failed);
                    break;
                }
            };
            let field = |at| match &self.record[at] {
                last if at + 1 == found => last.strip_suffix('\r').unwrap_or(last),
                other => other,
            };
            let parts = self.columns.text.iter().map(|&at| field(at));
            let text = batch.store(parts.filter(|part| !part.is_empty()), " ");
            let id = self.columns.id.map_or(Span::default(), |at| batch.store([field(at)], ""));
            let labels = self.columns.labels.iter().map(|&at| batch.store([field(at)], ""));
            let labels: Vec<Span> = labels.collect();
            batch.push(text, id, labels);
            if keeps_fields {
                for at in 0..found {
                    let field = batch.store([field(at)], "");
                    batch.keep(field);
                }
            }
            // The next row is not there yet, and this one may be waited for.
            if self.rows.get_ref().is_used_up(self.rows.position().byte()) {
                break;
            }
        }
        Ok((!batch.is_empty()).then_some(batch))
    }

    /// Reads a row that is not blank; gives how many fields it has, which is as many as the header has.
    fn next_row(&mut self) -> Result<Option<usize>, ReadError> {
        let Some(line) = self.next_record()? else { return Ok(None) };
        let (expected, found) = (self.header.names.len(), self.record.len());
        if found != expected {
            let problem = format!(
                "expected {} as in the header but found {found}: put fields that \
                 hold the column separator into double quotes",
                plural(expected, "column")
            );
            return Err(ReadError::content(&self.path, (line, 1), problem));
        }
        Ok(Some(found))
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
        let found = |name: &String| find_name(name, header.iter().copied());
        let require = |name: &String| {
            let missing = || {
                let is_default = *name == "text" || *name == "labels";
                let likely = if is_default { likely(header) } else { String::new() };
                no_such_field("column", name, header.iter().copied()) + &likely
            };
            found(name).ok_or_else(missing)
        };
        let text = match labels {
            Labels::Alone => options.text.iter().filter_map(found).collect(),
            _ => options.text.iter().map(require).collect::<Result<_, _>>()?,
        };
        let labels = match labels {
            Labels::Optional => options.labels.iter().filter_map(found).collect(),
            _ => options.labels.iter().map(require).collect::<Result<_, _>>()?,
        };
        let id = match &options.id {
            Some(name) => Some(require(name)?),
            None => find_name("id", header.iter().copied()),
        };
        Ok(Columns { text, labels, id })
    }
}

/// The place of a name: exactly this or, if only one differs by case and blanks alone, that one.
pub(in crate::data) fn find_name<'n>(
    name: &str,
    known: impl Iterator<Item = &'n str> + Clone,
) -> Option<usize> {
    let exact = known.clone().position(|known| known == name);
    exact.or_else(|| {
        let plain = |name: &str| {
            let letters = name.chars().filter(|letter| !letter.is_whitespace());
            letters.flat_map(char::to_lowercase).collect::<String>()
        };
        let wanted = plain(name);
        let mut same = known.enumerate().filter(|(_, known)| plain(known) == wanted);
        same.next().map(|(at, _)| at).filter(|_| same.next().is_none())
    })
}

/// What a column of texts or of labels is often called.
const TEXTS: [&str; 10] = [
    "text",
    "title",
    "abstract",
    "description",
    "document",
    "content",
    "body",
    "question",
    "query",
    "sentence",
];
const LABELS: [&str; 14] = [
    "label",
    "labels",
    "tag",
    "tags",
    "subject",
    "subjects",
    "keyword",
    "keywords",
    "category",
    "categories",
    "class",
    "classes",
    "topic",
    "topics",
];

/// The flags that take the columns that look like text and labels, after a message, if there are both.
fn likely(header: &[&str]) -> String {
    let is_one_of = |names: &'static [&str]| {
        move |field: &&&str| find_name(field, names.iter().copied()).is_some()
    };
    let text = header.iter().find(is_one_of(&TEXTS));
    match (text, header.iter().find(is_one_of(&LABELS))) {
        (Some(text), Some(labels)) => {
            format!(
                ", perhaps --text-column '{}' --label-column '{}'",
                excerpt(text),
                excerpt(labels)
            )
        }
        _ => String::new(),
    }
}

/// Whether the first line of a file that is named TSV names its columns. One that may be meant so is
/// asked about.
pub(super) fn is_header(
    header: &[&str],
    options: &Options,
    labels: Labels,
) -> Result<bool, String> {
    let has = |name: &String| find_name(name, header.iter().copied()).is_some();
    let has_labels = options.labels.iter().all(has) || labels == Labels::Optional;
    let has_text = options.text.iter().all(has) || labels == Labels::Alone;
    if header.len() > 1 && has_text && has_labels {
        return Ok(true);
    }
    let is_one_of = |field: &str, names: &[&str]| find_name(field, names.iter().copied()).is_some();
    match header {
        [text, labels] if is_one_of(text, &TEXTS) => {
            let (text, labels) = (text.trim(), labels.trim());
            Err(format!(
                "this line looks like the names of columns: add --text-column '{text}' \
                 --label-column '{labels}', or --from tsv if it is a text with its labels"
            ))
        }
        _ => Ok(false),
    }
}

/// Reads the text of a file, whose quotes are checked block by block.
pub(in crate::data) struct QuoteCheckedReader<'a> {
    blocks: TextBlocks<'a>,
    quotes: Quotes,
    text: String,
    at: usize,
    /// The bytes of the texts before this one.
    before: u64,
    /// What is wrong behind the text.
    failed: Option<ReadError>,
}

impl<'a> QuoteCheckedReader<'a> {
    /// Reads the first block, which holds the header, unless that was done already.
    pub(crate) fn new(
        mut blocks: TextBlocks<'a>,
        first: Option<TextBlock>,
    ) -> Result<Self, ReadError> {
        let first = match first {
            Some(first) => Some(first),
            None => blocks.next()?,
        };
        let quotes = Quotes::new(delimiter(first.as_ref().map_or("", |block| &block.text)));
        let (text, failed) = (String::new(), None);
        let mut checked = QuoteCheckedReader { blocks, quotes, text, at: 0, before: 0, failed };
        if let Some(block) = first {
            checked.take(block)?;
        }
        Ok(checked)
    }

    /// Whether all but blank lines was read, if that was so many bytes.
    fn is_used_up(&self, bytes: u64) -> bool {
        let rest = self.text.as_bytes().get(bytes.saturating_sub(self.before) as usize..);
        let is_blank = |rest: &[u8]| rest.iter().all(u8::is_ascii_whitespace);
        self.failed.is_none() && rest.is_none_or(is_blank)
    }

    /// Takes the next block, up to the line in which a quote goes wrong.
    fn take(&mut self, mut block: TextBlock) -> Result<(), ReadError> {
        if let Err((line, failed)) = self.check(&block.text, block.first_line) {
            let good = line.saturating_sub(block.first_line) as usize;
            let ends = memchr::memchr_iter(b'\n', block.text.as_bytes());
            let Some(end) = ends.take(good).last().filter(|_| good > 0) else { return Err(failed) };
            block.text.truncate(end + 1);
            self.failed = Some(failed);
        }
        self.before += self.text.len() as u64;
        (self.text, self.at) = (block.text, 0);
        Ok(())
    }

    /// The separator of columns, as the first line tells.
    pub(crate) fn delimiter(&self) -> u8 {
        self.quotes.delimiter
    }

    /// What is wrong with the quotes, and in which line.
    fn check(&mut self, text: &str, first_line: u64) -> Result<(), (u64, ReadError)> {
        let quotes = self.quotes.check(text, first_line);
        quotes.map_err(|(place, problem)| (place.0, self.blocks.fault(place, problem)))?;
        match self.quotes.open() {
            Some((line, bytes)) => {
                self.blocks.check_row(line, bytes).map_err(|error| (first_line, error))
            }
            None => Ok(()),
        }
    }

    /// Gets the next block, if there is one.
    fn refill(&mut self) -> Result<(), ReadError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        match self.blocks.next()? {
            Some(block) => self.take(block),
            None => {
                self.before += self.text.len() as u64;
                (self.text, self.at) = (String::new(), 0);
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
