//! Data files: which format, its header, its rows and the label names beside it.

use super::error::{Excerpt, Problem, ReadError, Warning};
use super::number::Cursor;
use super::rows::{Rows, Rules, Stop};
use super::source::{Block, Blocks, Charge, Source};
use super::{Dataset, LabelIndex, binary};
use crate::base::run::Task;
use std::path::{Path, PathBuf};

/// How rows are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// The format of the extreme classification repository: a header `rows features labels`, then
    /// lines `3,17 0:0.5 12:1` with everything counted from 0.
    Xc,
    /// LIBSVM multi-label: no header, labels counted from 0 and features from 1.
    Libsvm,
    /// labelwood's own: the arrays of the rows as they lie in memory, label names included.
    Binary,
}

impl Format {
    /// The format that a file name ends in, with `.gz` and `.zst` looked through.
    ///
    /// ```
    /// use labelwood::data::Format;
    /// use std::path::Path;
    /// assert_eq!(Format::of_path(Path::new("train.txt.zst")), Some(Format::Xc));
    /// assert_eq!(Format::of_path(Path::new("train.svm")), Some(Format::Libsvm));
    /// assert_eq!(Format::of_path(Path::new("train.lwd")), Some(Format::Binary));
    /// assert_eq!(Format::of_path(Path::new("train.pdf")), None);
    /// ```
    pub fn of_path(path: &Path) -> Option<Self> {
        match plain_ending(path)?.as_str() {
            "txt" => Some(Format::Xc),
            "svm" | "libsvm" => Some(Format::Libsvm),
            "lwd" => Some(Format::Binary),
            _ => None,
        }
    }
}

/// The ending of a name without `.gz` or `.zst`, in lower case.
pub(super) fn plain_ending(path: &Path) -> Option<String> {
    let ending = |path: &Path| Some(path.extension()?.to_string_lossy().to_lowercase());
    match ending(path)?.as_str() {
        "gz" | "zst" => ending(&path.with_extension("")),
        other => Some(other.to_owned()),
    }
}

/// How to read a data file. The default takes everything from the file.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; by default the file's ending tells it, or the first line when there is none.
    pub format: Option<Format>,
    /// Goes on, with a warning, when the header disagrees with the rows or label names are not
    /// UTF-8. The rows count, and widths grow to hold their ids.
    pub lenient: bool,
    /// The file of label names; by default `labels.txt`, `labels.txt.gz` or `labels.txt.zst` beside
    /// the data, if there is one.
    pub label_names: Option<PathBuf>,
    /// Leaves the names beside the data alone, where nobody will ask for them.
    pub ignore_label_names: bool,
    /// The least number of features, such as those a model was trained with.
    pub features: usize,
    /// The least number of labels.
    pub labels: usize,
}

/// A data file that was read.
#[derive(Clone, Debug)]
pub struct Read {
    /// What it holds.
    pub dataset: Dataset,
    /// Its format.
    pub format: Format,
    /// What deserves a look.
    pub warnings: Vec<Warning>,
}

/// Reads a data file, or standard input for `-`, decompressing as its first bytes tell.
///
/// Rows may lack labels or features. Unsorted ids are sorted; repeated features are added up,
/// repeated labels count once. Zeros are dropped, but their features still count for the width. An
/// empty line is a row without labels and features, except at the end of the file, where empty
/// lines beyond the header's count (in LIBSVM: all) are ignored. CRLF line ends, a byte order mark
/// and blanks at the end of a line are accepted. The first error in the file is the one reported,
/// rows before counts.
///
/// ```
/// use labelwood::{data, run::Pool};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("train.txt");
/// std::fs::write(&path, "2 4 3\n0,2 0:0.5 3:1\n 1:2\n")?;
/// let read = data::read(&path, &data::ReadOptions::default(), &Pool::new(1)?.task())?;
/// assert_eq!(read.dataset.labels.row(0).indices, [0, 2]);
/// assert_eq!(read.dataset.features.row(1).values, [2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path, options: &ReadOptions, run: &Task) -> Result<Read, ReadError> {
    let names = match &options.label_names {
        Some(given) => Some(given.clone()),
        None if options.ignore_label_names => None,
        None => names_beside(path),
    };
    if format_of(path, options)? == Some(Format::Binary) {
        return with_names(binary::open(path, run.memory())?, names, options, run);
    }
    read_source(path, || Source::open(path, run.memory()), names, options, run)
}

/// Reads a data file that is already in memory; `name` tells the format and appears in messages.
///
/// ```
/// use labelwood::{data, run::Pool};
/// let options = data::ReadOptions::default();
/// let error = data::read_bytes(b"1 2 2\n5 0:1\n", "a.txt", &options, &Pool::new(1)?.task()).unwrap_err();
/// assert!(error.to_string().starts_with("a.txt:2:1: label 5 is out of range"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_bytes(
    bytes: &[u8],
    name: &str,
    options: &ReadOptions,
    run: &Task,
) -> Result<Read, ReadError> {
    let open = || Ok(Source::from_bytes(name, bytes)?.within(run.memory()));
    if format_of(Path::new(name), options)? == Some(Format::Binary) {
        let dataset = binary::from_source(open()?)?;
        return with_names(dataset, options.label_names.clone(), options, run);
    }
    read_source(Path::new(name), open, options.label_names.clone(), options, run)
}

/// The file of label names beside a data file, if there is one: `labels.txt`, `labels.txt.gz` or
/// `labels.txt.zst`.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let (data, names) = (folder.path().join("train.tsv"), folder.path().join("labels.txt"));
/// assert_eq!(labelwood::data::names_beside(&data), None);
/// std::fs::write(&names, "birds\n")?;
/// assert_eq!(labelwood::data::names_beside(&data), Some(names));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn names_beside(path: &Path) -> Option<PathBuf> {
    if path.as_os_str() == "-" {
        return None;
    }
    ["labels.txt", "labels.txt.gz", "labels.txt.zst"]
        .map(|name| path.with_file_name(name))
        .into_iter()
        .find(|beside| beside != path && beside.is_file())
}

/// Binary data as they were asked for. Names that are inside go before those that lie beside.
fn with_names(
    mut dataset: Dataset,
    names: Option<PathBuf>,
    options: &ReadOptions,
    run: &Task,
) -> Result<Read, ReadError> {
    dataset.features.widen(options.features);
    dataset.labels.widen(options.labels);
    if options.ignore_label_names {
        dataset.label_names = None;
    }
    let wanted = options.label_names.is_some() || dataset.label_names.is_none();
    let mut read = Read { dataset, format: Format::Binary, warnings: Vec::new() };
    if let Some(names) = names.filter(|_| wanted) {
        attach_names(&mut read, &names, options.lenient, run)?;
    }
    Ok(read)
}

fn read_source<'a>(
    path: &Path,
    open: impl FnOnce() -> Result<Source<'a>, ReadError>,
    names: Option<PathBuf>,
    options: &ReadOptions,
    run: &Task,
) -> Result<Read, ReadError> {
    let format = format_of(path, options)?;
    let layout = Layout::of(run);
    let mut read = parse(open()?, format, options, layout, run)?;
    if let Some(names) = names {
        attach_names(&mut read, &names, options.lenient, run)?;
    }
    Ok(read)
}

/// The format that is asked for or that the name tells; none if the first line has to.
pub(super) fn format_of(path: &Path, options: &ReadOptions) -> Result<Option<Format>, ReadError> {
    let format = options.format.or_else(|| Format::of_path(path));
    if format.is_none() && plain_ending(path).is_some() {
        return Err(ReadError::UnknownFormat { path: path.display().to_string() });
    }
    Ok(format)
}

/// How much text is taken at a time; the result does not depend on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub block: usize,
    pub chunk: usize,
}

impl Layout {
    /// Enough for all threads. Empty lines take 16 bytes each, so a block takes little of the memory.
    pub fn of(run: &Task) -> Self {
        let chunk = 256 << 10;
        let block = (chunk * 8 * run.threads()).min(run.memory().share(64)).max(chunk);
        Layout { block, chunk }
    }
}

/// Parses a whole source.
pub(super) fn parse(
    source: Source,
    format: Option<Format>,
    options: &ReadOptions,
    layout: Layout,
    run: &Task,
) -> Result<Read, ReadError> {
    let mut parser = Parser::new(source, format, options.clone(), layout)?;
    let mut rows = Rows::new();
    while parser.parse_block(&mut rows, run)? {}
    let warnings = parser.check_end(0, &mut rows)?;
    let (features, labels) = parser.widths();
    let dataset = rows.into_dataset(features, labels);
    parser.charge.keep();
    Ok(Read { dataset, format: parser.format, warnings })
}

/// A source on its way to rows, a block at a time.
pub(super) struct Parser<'a> {
    blocks: Blocks<'a>,
    next: Option<Block>,
    /// Where the rows start in the next block: behind the header, if it is the first.
    body: usize,
    header: Option<Header>,
    rules: Rules,
    options: ReadOptions,
    pub format: Format,
    /// For the rows.
    charge: Charge,
}

impl<'a> Parser<'a> {
    /// Takes the header.
    pub fn new(
        source: Source<'a>,
        format: Option<Format>,
        options: ReadOptions,
        layout: Layout,
    ) -> Result<Self, ReadError> {
        let mut blocks = Blocks::new(source, layout.block);
        let Some(first) = blocks.next()? else {
            let expected = match format {
                Some(Format::Libsvm) => "lines such as `3,17 1:0.5 12:1`",
                _ => "a header `rows features labels` and one line per row",
            };
            return Err(ReadError::content(blocks.name(), (1, 1), Problem::Empty { expected }));
        };
        let format = format.unwrap_or_else(|| sniff(&first.text));
        let (header, body) = match format {
            Format::Xc => {
                let (header, length) =
                    Header::parse(&first.text).map_err(|(column, problem)| {
                        ReadError::content(blocks.name(), (1, column), problem)
                    })?;
                (Some(header), length)
            }
            Format::Libsvm | Format::Binary => (None, 0),
        };
        let bounds = header.filter(|_| !options.lenient);
        let rules = Rules {
            first_feature: u64::from(format == Format::Libsvm),
            header: bounds.map(|header| (header.features, header.labels)),
            chunk: layout.chunk,
        };
        let charge = blocks.charge();
        Ok(Parser { blocks, next: Some(first), body, header, rules, options, format, charge })
    }

    /// The number of rows that the header declares, unless it need not be right.
    pub fn declared_rows(&self) -> Option<u64> {
        self.header.filter(|_| !self.options.lenient).map(|header| header.rows)
    }

    /// The features and labels that there are at least.
    pub fn widths(&self) -> (u64, u64) {
        let declared = self.header.unwrap_or_default();
        (
            declared.features.max(self.options.features as u64),
            declared.labels.max(self.options.labels as u64),
        )
    }

    /// Appends the rows of the next block, reading the one after it meanwhile; false at the end.
    pub fn parse_block(&mut self, rows: &mut Rows, run: &Task) -> Result<bool, ReadError> {
        let Some(block) = self.next.take() else {
            return Ok(false);
        };
        run.check()?;
        let skip = std::mem::take(&mut self.body);
        let parse = || rows.parse(&block.text[skip..], self.rules, run);
        let (following, parsed) = run.install(|| rayon::join(|| self.blocks.next(), parse));
        parsed.map_err(|stop| match stop {
            Stop::Stopped(cancelled) => ReadError::Stopped(cancelled),
            Stop::Fault(fault) => {
                let line = block.first_line + u64::from(skip > 0) + fault.row as u64;
                ReadError::content(self.blocks.name(), (line, fault.column), fault.problem)
            }
        })?;
        self.charge.set(rows.bytes())?;
        self.next = following?;
        Ok(true)
    }

    /// Takes the empty lines that are no rows off the end, and compares all rows with the header:
    /// the last ones, and how many came before them.
    pub fn check_end(&self, before: u64, rows: &mut Rows) -> Result<Vec<Warning>, ReadError> {
        let Some(header) = self.header else {
            rows.drop_empty_tail(rows.empty_tail);
            return Ok(Vec::new());
        };
        let surplus = (before + rows.len() as u64).saturating_sub(header.rows);
        rows.drop_empty_tail(rows.empty_tail.min(surplus as usize));
        let path = self.blocks.name();
        let mut warnings = Vec::new();
        let (declared, found) = (header.rows, before + rows.len() as u64);
        if declared != found {
            if !self.options.lenient {
                return Err(ReadError::content(path, (1, 1), Problem::Rows { declared, found }));
            }
            warnings.push(Warning::Rows { path: path.to_owned(), declared, found });
        }
        for (what, declared, found) in [
            ("feature", header.features, rows.feature_width),
            ("label", header.labels, rows.label_width),
        ] {
            if found > declared {
                warnings.push(Warning::Width { path: path.to_owned(), what, declared, found });
            }
        }
        Ok(warnings)
    }
}

/// The header of an XC file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Header {
    rows: u64,
    features: u64,
    labels: u64,
}

impl Header {
    /// Takes the first line; gives the header and the length of that line, or a column and what is
    /// wrong there.
    fn parse(text: &[u8]) -> Result<(Header, usize), (u64, Problem)> {
        let length = memchr::memchr(b'\n', text).map_or(text.len(), |at| at + 1);
        let line = text[..length].trim_ascii_end();
        let mut cursor = Cursor::new(line);
        let mut numbers = [0; 3];
        for (number, what) in numbers.iter_mut().zip(["rows", "features", "labels"]) {
            cursor.skip_blanks();
            let at = cursor.at;
            let place = at as u64 + 1;
            let whole = cursor.integer().filter(|_| cursor.ends_field());
            *number =
                whole.ok_or_else(|| (place, Problem::Header { found: Excerpt::new(line) }))?;
            if *number > u64::from(u32::MAX) {
                let value = Excerpt::new(cursor.field_from(at));
                return Err((place, Problem::HeaderSize { what, value }));
            }
        }
        cursor.skip_blanks();
        if !cursor.is_at_end() {
            return Err((cursor.at as u64 + 1, Problem::Header { found: Excerpt::new(line) }));
        }
        let [rows, features, labels] = numbers;
        Ok((Header { rows, features, labels }, length))
    }
}

/// A first line of several whole numbers is a header, be it right or wrong; no LIBSVM line is.
fn sniff(text: &[u8]) -> Format {
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let is_header =
        fields.clone().nth(1).is_some() && fields.all(|field| field.iter().all(u8::is_ascii_digit));
    if is_header { Format::Xc } else { Format::Libsvm }
}

/// Reads the label names. A LIBSVM file does not say how many labels there are, so there the names
/// do.
fn attach_names(read: &mut Read, path: &Path, lenient: bool, run: &Task) -> Result<(), ReadError> {
    let (names, warning) = LabelIndex::read_noting(path, lenient, run)?;
    read.warnings.extend(warning);
    let labels = read.dataset.labels.columns();
    if names.len() < labels {
        let path = path.display().to_string();
        return Err(ReadError::TooFewNames { path, names: names.len(), labels });
    }
    if read.format == Format::Libsvm {
        read.dataset.labels.widen(names.len());
    } else if names.len() > labels {
        let path = path.display().to_string();
        read.warnings.push(Warning::MoreNames { path, names: names.len(), labels });
    }
    read.dataset.label_names = Some(names);
    Ok(())
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
