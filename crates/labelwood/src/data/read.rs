//! Data files: which format, its header, its rows and the label names beside it.

use super::error::{ReadError, UNKNOWN_FORMAT, excerpt};
use super::number::Cursor;
use super::rows::{ParseFailure, Rows, Rules};
use super::source::{Block, Blocks, MemoryMeter, Source};
use super::{Dataset, Vocabulary, binary};
use crate::base::run::Task;
use crate::base::words::plural;
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
    /// The format; by default that of the file's ending or, without an ending, of the first line.
    pub format: Option<Format>,
    /// Goes on, with a warning, when the header disagrees with the rows or label names are not
    /// UTF-8. The rows count, and widths grow to hold their ids.
    pub lenient: bool,
    /// The [`Vocabulary`] that names the labels; by default that [beside the data](names_beside), if
    /// there is one.
    pub vocabulary: Option<PathBuf>,
    /// The language of the names, if the vocabulary has several.
    pub language: Option<String>,
    /// Does not read label names beside the data.
    pub ignore_label_names: bool,
    /// The least number of features, such as those a model was trained with.
    pub features: usize,
    /// The least number of labels.
    pub labels: usize,
    /// Gives the rows of standard input as they arrive, instead of when a whole batch of them is there.
    pub live: bool,
}

/// A data file that was read.
#[derive(Clone, Debug)]
pub struct Read {
    /// The rows.
    pub dataset: Dataset,
    /// Its format.
    pub format: Format,
    /// Doubtful places of the file.
    pub warnings: Vec<String>,
}

/// Reads a data file, or standard input for `-`; gzip and zstd are decompressed.
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
pub fn read(path: &Path, options: &ReadOptions, task: &Task) -> Result<Read, ReadError> {
    let names = match &options.vocabulary {
        Some(given) => Some(given.clone()),
        None if options.ignore_label_names => None,
        None => names_beside(path),
    };
    let read = match format_of(path, options)? {
        Some(Format::Binary) => options.binary(binary::open(path, task.memory())?),
        format => {
            let source = Source::open(path, task.memory())?;
            parse(source, format, options, BlockSizes::of(task), task)?
        }
    };
    attach_names(read, names.as_deref(), options, task)
}

/// Reads the bytes of a data file; the ending of `name` is its format, and messages show the name.
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
    task: &Task,
) -> Result<Read, ReadError> {
    let format = format_of(Path::new(name), options)?;
    let source = Source::from_bytes(name, bytes, task.memory())?;
    let read = match format {
        Some(Format::Binary) => options.binary(binary::from_source(source)?),
        format => parse(source, format, options, BlockSizes::of(task), task)?,
    };
    attach_names(read, options.vocabulary.as_deref(), options, task)
}

/// The file of label names beside a data file, if there is one: its own, which [`names_file`] tells, else
/// `labels.txt` for all files of a folder; both also with `.gz` or `.zst`.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let [data, names, own] =
///     ["train.tsv", "labels.txt", "train.labels.txt"].map(|name| folder.path().join(name));
/// assert_eq!(labelwood::data::names_beside(&data), None);
/// std::fs::write(&names, "birds\n")?;
/// assert_eq!(labelwood::data::names_beside(&data), Some(names));
/// std::fs::write(&own, "birds\n")?;
/// assert_eq!(labelwood::data::names_beside(&data), Some(own));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn names_beside(path: &Path) -> Option<PathBuf> {
    if path.as_os_str() == "-" {
        return None;
    }
    let places = [names_file(path), path.with_file_name("labels.txt")];
    let packed = |place: PathBuf| {
        ["", ".gz", ".zst"].map(|ending| {
            let mut name = place.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        })
    };
    places.into_iter().flat_map(packed).find(|beside| beside != path && beside.is_file())
}

/// Where the names of the labels of a data file are written: `train.labels.txt` for `train.svm.gz`.
pub fn names_file(path: &Path) -> PathBuf {
    let is_packed = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
    let plain = if is_packed { path.with_extension("") } else { path.to_owned() };
    plain.with_extension("labels.txt")
}

impl ReadOptions {
    /// Binary data with the widths and names that the options ask for.
    pub(super) fn binary(&self, mut dataset: Dataset) -> Read {
        dataset.features.widen(self.features);
        dataset.labels.widen(self.labels);
        if self.ignore_label_names {
            dataset.label_names = None;
        }
        Read { dataset, format: Format::Binary, warnings: Vec::new() }
    }
}

/// The format of the options or of the file's ending; none if the first line decides.
pub(super) fn format_of(path: &Path, options: &ReadOptions) -> Result<Option<Format>, ReadError> {
    let format = options.format.or_else(|| Format::of_path(path));
    if format.is_none() && plain_ending(path).is_some() {
        return Err(ReadError::file(path.display(), UNKNOWN_FORMAT));
    }
    Ok(format)
}

/// How much text is read and parsed at a time. The result does not depend on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockSizes {
    pub block: usize,
    pub chunk: usize,
}

impl BlockSizes {
    /// Blocks that keep all threads busy, but are small against the memory limit: parsed rows may take
    /// 16 times as much as their text.
    pub(super) fn of(task: &Task) -> Self {
        let chunk = 256 << 10;
        let block = (chunk * 8 * task.threads()).min(task.memory().share(64)).max(chunk);
        BlockSizes { block, chunk }
    }
}

/// Parses a whole source.
pub(super) fn parse(
    source: Source,
    format: Option<Format>,
    options: &ReadOptions,
    sizes: BlockSizes,
    task: &Task,
) -> Result<Read, ReadError> {
    let mut parser = Parser::new(source, format, options.clone(), sizes)?;
    let mut rows = Rows::new();
    while parser.parse_block(&mut rows, task)? {}
    let warnings = parser.check_end(0, &mut rows)?;
    let (features, labels) = parser.widths();
    let dataset = rows.into_dataset(features, labels);
    parser.meter.keep();
    Ok(Read { dataset, format: parser.format, warnings })
}

/// Parses a source block by block.
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
    meter: MemoryMeter,
}

impl<'a> Parser<'a> {
    /// Reads the header.
    pub(super) fn new(
        source: Source<'a>,
        format: Option<Format>,
        options: ReadOptions,
        sizes: BlockSizes,
    ) -> Result<Self, ReadError> {
        let mut blocks = Blocks::new(source, sizes.block);
        let Some(first) = blocks.next()? else {
            let expected = match format {
                Some(Format::Libsvm) => "lines such as `3,17 1:0.5 12:1`",
                _ => "a header `rows features labels` and one line per row",
            };
            return Err(ReadError::empty(blocks.name(), expected));
        };
        let format = format.unwrap_or_else(|| format_of_first_line(&first.text));
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
            chunk: sizes.chunk,
        };
        let meter = blocks.meter();
        Ok(Parser { blocks, next: Some(first), body, header, rules, options, format, meter })
    }

    /// The number of rows in the header, if the file is held to it.
    pub(super) fn declared_rows(&self) -> Option<u64> {
        self.header.filter(|_| !self.options.lenient).map(|header| header.rows)
    }

    /// The least numbers of features and labels.
    pub(super) fn widths(&self) -> (u64, u64) {
        let declared = self.header.unwrap_or_default();
        (
            declared.features.max(self.options.features as u64),
            declared.labels.max(self.options.labels as u64),
        )
    }

    /// Whether blocks are what has arrived, rather than as large as may be.
    pub(super) fn is_live(&self) -> bool {
        self.blocks.is_live()
    }

    /// Appends the rows of the next block, reading the one after it meanwhile unless that may have to be
    /// waited for; false at the end. What is wrong with a row is told when the rows before it are appended.
    pub(super) fn parse_block(&mut self, rows: &mut Rows, task: &Task) -> Result<bool, ReadError> {
        let is_live = self.is_live();
        if is_live && self.next.is_none() {
            self.next = self.blocks.next()?;
        }
        let Some(block) = self.next.take() else {
            return Ok(false);
        };
        task.check()?;
        let skip = std::mem::take(&mut self.body);
        let mut parse = || rows.parse(&block.text[skip..], self.rules, task);
        let (following, parsed) = task.install(|| match is_live {
            true => (Ok(None), parse()),
            false => rayon::join(|| self.blocks.next(), parse),
        });
        parsed.map_err(|failure| match failure {
            ParseFailure::Stopped(cancelled) => ReadError::Stopped(cancelled),
            ParseFailure::Fault(fault) => {
                let line = block.first_line + u64::from(skip > 0) + fault.row as u64;
                ReadError::content(self.blocks.name(), (line, fault.column), fault.problem)
            }
        })?;
        self.meter.set(rows.bytes())?;
        self.next = following?;
        Ok(true)
    }

    /// Removes empty lines at the end that are no rows, then compares with the header. `rows` are the
    /// last rows, and `before` counts the rows that were handed out before them.
    pub(super) fn check_end(&self, before: u64, rows: &mut Rows) -> Result<Vec<String>, ReadError> {
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
            let are = if found == 1 { "is" } else { "are" };
            let declared = plural(declared, "row");
            let problem = format!("the header declares {declared}, but there {are} {found}");
            if !self.options.lenient {
                let remedy = "correct the header, or read leniently to go by the rows";
                return Err(ReadError::content(path, (1, 1), format!("{problem}: {remedy}")));
            }
            warnings.push(format!("{path}:1: {problem}"));
        }
        for (what, declared, found) in [
            ("feature", header.features, rows.feature_width),
            ("label", header.labels, rows.label_width),
        ] {
            if found > declared {
                warnings.push(format!(
                    "{path}:1: the header declares {declared} {what}s, but the ids need {found}"
                ));
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
    /// Parses the first line; gives the header and the length of the line. An error has its column.
    fn parse(text: &[u8]) -> Result<(Header, usize), (u64, String)> {
        let length = memchr::memchr(b'\n', text).map_or(text.len(), |at| at + 1);
        let line = text[..length].trim_ascii_end();
        let no_header = || {
            format!(
                "expected a header of three whole numbers, `rows features labels`, but found `{}`: \
                 add the header, or state the format if this is no XC file",
                excerpt(line)
            )
        };
        let mut cursor = Cursor::new(line);
        let mut numbers = [0; 3];
        for (number, what) in numbers.iter_mut().zip(["rows", "features", "labels"]) {
            cursor.skip_blanks();
            let at = cursor.at;
            let place = at as u64 + 1;
            let whole = cursor.integer().filter(|_| cursor.ends_field());
            *number = whole.ok_or_else(|| (place, no_header()))?;
            if *number > u64::from(u32::MAX) {
                let (value, most) = (excerpt(cursor.field_from(at)), u32::MAX);
                let problem =
                    format!("the header declares {value} {what}: there can be at most {most}");
                return Err((place, problem));
            }
        }
        cursor.skip_blanks();
        if !cursor.is_at_end() {
            return Err((cursor.at as u64 + 1, no_header()));
        }
        let [rows, features, labels] = numbers;
        Ok((Header { rows, features, labels }, length))
    }
}

/// XC if the first line is several whole numbers, which no LIBSVM line is, even if they make no valid
/// header.
fn format_of_first_line(text: &[u8]) -> Format {
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let is_header =
        fields.clone().nth(1).is_some() && fields.all(|field| field.iter().all(u8::is_ascii_digit));
    if is_header { Format::Xc } else { Format::Libsvm }
}

/// Reads the vocabulary, unless the data have names and no file is given in the options. In
/// LIBSVM, which has no header, there are as many labels as names.
fn attach_names(
    mut read: Read,
    path: Option<&Path>,
    options: &ReadOptions,
    task: &Task,
) -> Result<Read, ReadError> {
    let has_names = read.dataset.label_names.is_some() && options.vocabulary.is_none();
    let Some(path) = path.filter(|_| !has_names) else { return Ok(read) };
    let language = options.language.as_deref();
    let Vocabulary { labels: names, warnings } =
        Vocabulary::read_noting(path, language, options.lenient, task)?;
    read.warnings.extend(warnings);
    let (count, labels) = (names.len(), read.dataset.labels.columns());
    let path = path.display();
    let counts = format!("{} for {}", plural(count, "label name"), plural(labels, "label"));
    if count < labels {
        return Err(ReadError::file(
            path,
            format!(
                "{counts}: line i must name label i, counted from 0; add the missing lines or give \
                 another file of label names"
            ),
        ));
    }
    if read.format == Format::Libsvm {
        read.dataset.labels.widen(count);
    } else if count > labels {
        read.warnings.push(format!("{path}: {counts}: the last names are not used"));
    }
    read.dataset.label_names = Some(names);
    Ok(read)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
