//! Label names by id, and ids by name.

use super::error::{ReadError, WriteError};
use super::read::{names_beside, names_file};
use super::source::{Blocks, Source};
use super::vocabulary::Thesaurus;
use super::write::{check_output, write_atomically};
use crate::base::array::Array;
use crate::base::run::{Memory, Task};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The names of the labels, by id and back.
///
/// A label has a code and any number of names: line i of a `labels.txt` is `name`, or
/// `code<TAB>name`, or `code<TAB>name<TAB>further name<TAB>...` for label i. A line without a TAB is
/// code and name in one; an empty line makes the id itself the code. Several labels may share a code
/// or a name, as titles do; looking it up then gives the lowest id.
///
/// A [`Vocabulary`](super::Vocabulary) may add names in other languages, and which label is broader
/// than which.
///
/// ```
/// use labelwood::data::LabelIndex;
/// let labels = LabelIndex::from_lines(["p10\tbirds\tfowl", "p11\t", "cats"]);
/// assert_eq!((labels.code(0), labels.name(0)), ("p10", Some("birds")));
/// assert_eq!(labels.names(0).collect::<Vec<_>>(), ["birds", "fowl"]);
/// assert_eq!((labels.display(1), labels.display(2)), ("p11", "cats"));
/// assert_eq!(["p10", "birds", "fowl", "dogs"].map(|text| labels.find(text)), [Some(0), Some(0), Some(0), None]);
/// ```
#[derive(Clone, Debug)]
pub struct LabelIndex {
    /// All lines, one after the other; owned, or mapped from a model's file.
    text: Array<u8>,
    /// Where each line starts, and last where the text ends.
    starts: Array<u64>,
    /// Made when a label is first looked up by name, so that opening a model stays fast.
    sorted: OnceLock<SortedIds>,
    /// What a vocabulary adds.
    thesaurus: Option<Arc<Thesaurus>>,
}

#[derive(Clone, Debug)]
struct SortedIds {
    /// Ids in the order of their codes, then of the ids.
    by_code: Vec<u32>,
    /// Ids of labels with a name besides the code, in the order of their names, then of the ids.
    by_name: Vec<u32>,
    /// Ids and where in their line a further name starts, in the order of these names, then of the ids.
    by_further_name: Vec<(u32, usize)>,
}

/// How much of a file of names is read at a time.
const BLOCK: usize = 1 << 20;

/// Collects the lines of an index.
pub(super) struct LineCollector {
    text: String,
    starts: Vec<u64>,
}

impl Default for LineCollector {
    fn default() -> Self {
        LineCollector { text: String::new(), starts: vec![0] }
    }
}

impl LineCollector {
    /// Adds the line of the next label.
    pub(super) fn push(&mut self, line: &str) {
        let text = &mut self.text;
        match line.split_once('\t') {
            None if line.is_empty() => text.push_str(&(self.starts.len() - 1).to_string()),
            None => text.push_str(&on_one_line(line)),
            Some((code, names)) => {
                let mut names = names.split('\t').map(on_one_line);
                let name = names.next().unwrap_or_default();
                text.extend([&*on_one_line(code), "\t", &*name]);
                for further in names.filter(|name| !name.is_empty()) {
                    text.extend(["\t", &*further]);
                }
            }
        }
        self.starts.push(self.text.len() as u64);
    }

    /// How much memory the lines take.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + 8 * self.starts.len()
    }

    /// The index of the lines.
    pub(super) fn finish(self) -> LabelIndex {
        LabelIndex::from_arrays(self.text.into_bytes().into(), self.starts.into())
    }
}

impl PartialEq for LabelIndex {
    fn eq(&self, other: &Self) -> bool {
        self.starts == other.starts && self.text == other.text && self.thesaurus == other.thesaurus
    }
}

impl Default for LabelIndex {
    /// No labels.
    fn default() -> Self {
        Self::from_lines([])
    }
}

impl LabelIndex {
    /// Makes an index of lines, each a code, or a code and names, separated by TABs. Line breaks within
    /// become spaces.
    pub fn from_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut joined = LineCollector::default();
        lines.into_iter().for_each(|line| joined.push(line));
        joined.finish()
    }

    /// The labels of these lines, with what a vocabulary adds to the labels of this index.
    pub(crate) fn with_lines<'a>(&self, lines: impl IntoIterator<Item = &'a str>) -> Self {
        let labels = Self::from_lines(lines);
        match &self.thesaurus {
            Some(thesaurus) => {
                let first = thesaurus.first(labels.len());
                labels.with_thesaurus(first)
            }
            None => labels,
        }
    }

    /// An index over the arrays that [`arrays`](Self::arrays) gave. In a damaged file, lines outside of
    /// the text and lines that are not UTF-8 are empty.
    pub(crate) fn from_arrays(text: Array<u8>, starts: Array<u64>) -> Self {
        LabelIndex { text, starts, sorted: OnceLock::new(), thesaurus: None }
    }

    /// All lines in one text, and where each starts.
    pub(crate) fn arrays(&self) -> (&[u8], &[u64]) {
        (&self.text, &self.starts)
    }

    fn line(&self, id: usize) -> &str {
        let (start, end) = (self.starts[id] as usize, self.starts[id + 1] as usize);
        let line = self.text.get(start..end).unwrap_or_default();
        std::str::from_utf8(line).unwrap_or_default()
    }

    fn sorted(&self) -> &SortedIds {
        self.sorted.get_or_init(|| {
            let mut by_code: Vec<u32> = (0..self.len() as u32).collect();
            let named = |id: &u32| self.name(*id).is_some();
            let mut by_name: Vec<u32> = by_code.iter().copied().filter(named).collect();
            by_code.sort_by_key(|&id| self.code(id));
            by_name.sort_by_key(|&id| self.name(id));
            let further = |&id: &u32| self.further_names(id).map(move |start| (id, start));
            let mut by_further_name: Vec<_> = by_code.iter().flat_map(further).collect();
            by_further_name.sort_unstable_by_key(|&(id, start)| (self.name_at(id, start), id));
            SortedIds { by_code, by_name, by_further_name }
        })
    }

    /// Reads a file of label names, plain, gzip or zstd, or standard input for `-`. A
    /// [`Vocabulary`](super::Vocabulary) may be of other formats, too.
    pub fn read(path: &Path, task: &Task) -> Result<Self, ReadError> {
        Ok(Self::from_source(Source::open(path, task.memory())?, false)?.0)
    }

    /// Takes label names from the bytes of a file; `name` appears in messages.
    ///
    /// ```
    /// use labelwood::data::LabelIndex;
    /// let labels = LabelIndex::from_bytes(b"birds\r\ncats\n", "labels.txt")?;
    /// assert_eq!(labels.len(), 2);
    /// assert_eq!(labels.display(0), "birds");
    /// # Ok::<(), labelwood::data::ReadError>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self, ReadError> {
        Ok(Self::from_source(Source::from_bytes(name, bytes, &Memory::of_machine())?, false)?.0)
    }

    /// Reads the lines of a source; if `lenient`, bytes that are not UTF-8 become a warning.
    pub(super) fn from_source(
        source: Source,
        lenient: bool,
    ) -> Result<(Self, Option<String>), ReadError> {
        let mut blocks = Blocks::new(source, BLOCK);
        let mut meter = blocks.meter();
        let (mut lines, mut damaged) = (LineCollector::default(), 0);
        // Empty lines at the end name no labels, so they wait for a line with text.
        let mut pending = 0;
        while let Some(block) = blocks.next()? {
            for (at, line) in (block.first_line..).zip(block.text.split(|&byte| byte == b'\n')) {
                let end = line.iter().rposition(|&byte| byte != b'\r').map_or(0, |last| last + 1);
                if end == 0 {
                    pending += 1;
                    continue;
                }
                let line = match std::str::from_utf8(&line[..end]) {
                    Ok(line) => Cow::Borrowed(line),
                    Err(_) if lenient => {
                        damaged += 1;
                        String::from_utf8_lossy(&line[..end])
                    }
                    Err(error) => {
                        let place = (at, error.valid_up_to() as u64 + 1);
                        let problem = "the label name is not UTF-8 text: convert the file, for \
                                       example with `iconv -t UTF-8`";
                        return Err(ReadError::content(blocks.name(), place, problem));
                    }
                };
                for _ in 0..std::mem::take(&mut pending) {
                    lines.push("");
                    meter.set(lines.bytes())?;
                }
                lines.push(&line);
                meter.set(lines.bytes())?;
            }
            // The empty piece after the last line feed of a block is no line.
            pending -= 1;
            meter.set(lines.bytes() + 16 * pending)?;
        }
        meter.keep();
        let path = blocks.name();
        let warning =
            (damaged > 0).then(|| format!("{path}: {damaged} label names are not UTF-8 text"));
        Ok((lines.finish(), warning))
    }

    /// Writes the lines to a file, gzip or zstd by its ending; readers see the old file or the new.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        write_atomically(path, |output| {
            self.lines().try_for_each(|line| writeln!(output, "{line}"))
        })
    }

    /// The first label with a code or name that has the same letters and digits, whatever their case.
    ///
    /// ```
    /// use labelwood::data::LabelIndex;
    /// let labels = LabelIndex::from_lines(["php", "c++\tC plus plus"]);
    /// assert_eq!((labels.find_like("PHP"), labels.find_like("c-plus-plus")), (Some(0), Some(1)));
    /// assert_eq!((labels.find_like("perl"), labels.find_like("?")), (None, None));
    /// ```
    pub fn find_like(&self, code_or_name: &str) -> Option<u32> {
        let wanted = letters(code_or_name);
        let is_like = |name: &str| letters(name) == wanted;
        let has = |label: &u32| is_like(self.code(*label)) || self.names(*label).any(is_like);
        (0..self.len() as u32).find(has).filter(|_| !wanted.is_empty())
    }

    /// Where the lines belong beside a data file: the [file for them](names_file), unless what is
    /// [beside it](names_beside) has them already. A file with other names must be one that may be replaced.
    pub fn place_beside(
        &self,
        data: &Path,
        overwrite: bool,
        task: &Task,
    ) -> Result<Option<PathBuf>, WriteError> {
        let beside = names_beside(data).and_then(|beside| LabelIndex::read(&beside, task).ok());
        if beside.is_some_and(|beside| beside.lines().eq(self.lines())) {
            return Ok(None);
        }
        let path = names_file(data);
        check_output(&path, &[], overwrite)?;
        Ok(Some(path))
    }

    /// Writes the lines into their [place](Self::place_beside) beside a data file.
    pub fn write_beside(
        &self,
        data: &Path,
        overwrite: bool,
        task: &Task,
    ) -> Result<(), WriteError> {
        self.place_beside(data, overwrite, task)?.map_or(Ok(()), |path| self.write(&path))
    }

    /// The number of labels.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The lines that make this index, in order of the ids.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        (0..self.len()).map(|id| self.line(id))
    }

    /// The line of a label, if there is one.
    pub(crate) fn get(&self, id: u32) -> Option<&str> {
        ((id as usize) < self.len()).then(|| self.line(id as usize))
    }

    /// The code of a label: what stands before the TAB, or the whole line.
    ///
    /// # Panics
    ///
    /// If there is no such label, as do [`name`](Self::name) and [`display`](Self::display).
    pub fn code(&self, id: u32) -> &str {
        let line = self.line(id as usize);
        line.split_once('\t').map_or(line, |(code, _)| code)
    }

    /// The preferred name of a label, if it has one besides its code.
    pub fn name(&self, id: u32) -> Option<&str> {
        self.line(id as usize).split('\t').nth(1).filter(|name| !name.is_empty())
    }

    /// All names of a label besides its code, the preferred one first; none if it has none.
    ///
    /// # Panics
    ///
    /// If there is no such label.
    pub fn names(&self, id: u32) -> impl Iterator<Item = &str> + Clone {
        let names = self.line(id as usize).split('\t').skip(1);
        names.filter(|name| !name.is_empty())
    }

    /// What to show for a label: its preferred name, else that in another language, else any name, else
    /// its code.
    pub fn display(&self, id: u32) -> &str {
        let thesaurus = self.thesaurus();
        self.name(id)
            .or_else(|| thesaurus?.preferred_name(id))
            .or_else(|| self.names(id).next())
            .or_else(|| thesaurus?.first_name(id))
            .unwrap_or_else(|| self.code(id))
    }

    /// The label with this code, else the one with this preferred name, else with this further name,
    /// else with this name in another language.
    pub fn find(&self, code_or_name: &str) -> Option<u32> {
        let wanted = &*on_one_line(code_or_name);
        self.find_code(wanted)
            .or_else(|| self.find_name(wanted))
            .or_else(|| self.thesaurus.as_ref()?.find_name(wanted))
    }

    /// The label with this code.
    pub(super) fn find_code(&self, code: &str) -> Option<u32> {
        lowest(&self.sorted().by_code, code, |id| Some(self.code(id)))
    }

    /// The label with this preferred name, else the one with this further name.
    pub(super) fn find_name(&self, wanted: &str) -> Option<u32> {
        let sorted = self.sorted();
        lowest(&sorted.by_name, wanted, |id| self.name(id)).or_else(|| {
            let name = |&(id, start): &(u32, usize)| self.name_at(id, start);
            let further = &sorted.by_further_name;
            let at = further.partition_point(|entry| name(entry) < wanted);
            further.get(at).filter(|entry| name(entry) == wanted).map(|&(id, _)| id)
        })
    }

    /// Where in its line each further name of a label starts.
    fn further_names(&self, id: u32) -> impl Iterator<Item = usize> {
        memchr::memchr_iter(b'\t', self.line(id as usize).as_bytes()).skip(1).map(|tab| tab + 1)
    }

    /// The name that starts at this place of a line.
    fn name_at(&self, id: u32, start: usize) -> &str {
        let rest = self.line(id as usize).get(start..).unwrap_or_default();
        rest.split_once('\t').map_or(rest, |(name, _)| name)
    }

    /// What a vocabulary adds, if something.
    pub(super) fn thesaurus(&self) -> Option<&Thesaurus> {
        self.thesaurus.as_deref()
    }

    /// The same labels with what a vocabulary adds.
    pub(super) fn with_thesaurus(mut self, thesaurus: Thesaurus) -> Self {
        self.thesaurus = (thesaurus != Thesaurus::default()).then(|| Arc::new(thesaurus));
        self
    }
}

/// Gives labels their ids as they are met: the first is 0, the next new one is 1.
///
/// It may start from an index, whose labels keep their ids and are met by their codes or any of their
/// names.
///
/// ```
/// use labelwood::data::{LabelIndex, LabelIndexBuilder};
/// let mut labels = LabelIndexBuilder::new(&LabelIndex::from_lines(["p1\tbirds"]));
/// assert_eq!((labels.id("cats"), labels.id("p1"), labels.id("birds"), labels.id("cats")), (1, 0, 0, 1));
/// assert_eq!(labels.finish(), LabelIndex::from_lines(["p1\tbirds", "cats"]));
/// ```
#[derive(Clone, Debug, Default)]
pub struct LabelIndexBuilder {
    lines: Vec<String>,
    ids: HashMap<String, u32>,
    /// The length of all lines.
    text: usize,
    /// What a vocabulary adds to the labels it started with.
    thesaurus: Option<Arc<Thesaurus>>,
}

impl LabelIndexBuilder {
    /// The memory of a label besides its text: two strings, and a slot of a hash table that may be half
    /// empty.
    const LABEL: usize = 160;

    /// How much memory a builder that starts with these labels takes, at most.
    pub(super) fn bytes_for(known: &LabelIndex) -> usize {
        // Each code and each name is a key of the table.
        let names = memchr::memchr_iter(b'\t', &known.text).count();
        (2 * known.len() + names) * Self::LABEL + 3 * known.text.len()
    }

    /// About how much memory the labels take.
    pub(crate) fn bytes(&self) -> usize {
        self.lines.len() * Self::LABEL + 2 * self.text
    }

    /// Starts with the labels of an index, by code, then by preferred name, then by further names. Angle
    /// brackets around a code, as lists of URIs have them, are removed.
    pub fn new(known: &LabelIndex) -> Self {
        let mut lines = Vec::with_capacity(known.len());
        let mut ids = HashMap::with_capacity(2 * known.len());
        for id in 0..known.len() as u32 {
            let code = known.code(id);
            let inner = code.strip_prefix('<').and_then(|code| code.strip_suffix('>'));
            let code = inner.unwrap_or(code);
            lines.push(match known.line(id as usize).split_once('\t') {
                Some((_, names)) if !names.is_empty() => format!("{code}\t{names}"),
                _ => code.to_owned(),
            });
            ids.entry(code.to_owned()).or_insert(id);
        }
        for id in 0..known.len() as u32 {
            if let Some(name) = known.name(id) {
                ids.entry(name.to_owned()).or_insert(id);
            }
        }
        for id in 0..known.len() as u32 {
            for start in known.further_names(id) {
                ids.entry(known.name_at(id, start).to_owned()).or_insert(id);
            }
        }
        let text = lines.iter().map(String::len).sum();
        LabelIndexBuilder { lines, ids, text, thesaurus: known.thesaurus.clone() }
    }

    /// The id of a label, a new one if it was not met before.
    ///
    /// # Panics
    ///
    /// After 2^32 labels.
    pub fn id(&mut self, label: &str) -> u32 {
        let label = on_one_line(label);
        if let Some(&id) = self.ids.get(&*label) {
            return id;
        }
        let id = u32::try_from(self.lines.len()).expect("ids of labels have 32 bits");
        self.text += label.len();
        self.lines.push(label.clone().into_owned());
        self.ids.insert(label.into_owned(), id);
        id
    }

    /// How many labels there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The index of all labels.
    pub fn finish(self) -> LabelIndex {
        let labels = LabelIndex::from_lines(self.lines.iter().map(String::as_str));
        LabelIndex { thesaurus: self.thesaurus, ..labels }
    }
}

/// A label as one line without a TAB, which would end its code.
pub(super) fn on_one_line(label: &str) -> Cow<'_, str> {
    if memchr::memchr3(b'\t', b'\n', b'\r', label.as_bytes()).is_none() {
        return Cow::Borrowed(label);
    }
    Cow::Owned(label.replace(['\t', '\n', '\r'], " "))
}

/// The first of `ids`, which are in the order of their keys, whose key is the wanted one.
fn lowest<'a>(ids: &[u32], wanted: &str, key: impl Fn(u32) -> Option<&'a str>) -> Option<u32> {
    let at = ids.partition_point(|&id| key(id) < Some(wanted));
    ids.get(at).copied().filter(|&id| key(id) == Some(wanted))
}

/// The letters and digits of a name in lower case.
pub(crate) fn letters(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;

    fn read(bytes: &[u8]) -> Result<LabelIndex, ReadError> {
        LabelIndex::from_bytes(bytes, "labels.txt")
    }

    #[test]
    fn what_is_shown_is_found_whatever_the_columns() {
        for line in ["p1\ta\tb", "\t\t\t", "p1\t\tb", "p1\t\t\tb\t", "\ta", "\t\ta"] {
            let labels = LabelIndex::from_lines([line]);
            assert_eq!(labels.find(labels.display(0)), Some(0), "{line:?}");
        }
    }

    #[test]
    fn further_columns_are_further_names() {
        let labels = LabelIndex::from_lines(["p1\ta\t\tb\nc\t", "p2\t\tb c", "p3\tb c", "d"]);
        let names = |id| labels.names(id).collect::<Vec<_>>();
        assert_eq!(
            [names(0), names(1), names(2), names(3)],
            [vec!["a", "b c"], vec!["b c"], vec!["b c"], vec![]]
        );
        assert_eq!((labels.name(0), labels.name(1)), (Some("a"), None));
        assert_eq!(labels.find("b c"), Some(2), "a preferred name goes before further names");
        let labels = LabelIndex::from_lines(["p1\ta\tx", "p2\tb\tx"]);
        assert_eq!(labels.find("x"), Some(0), "the lowest id of a further name");
        let lines = labels.lines().collect::<Vec<_>>();
        assert_eq!(LabelIndex::from_lines(lines), labels);
    }

    #[test]
    fn codes_and_names_are_found_and_duplicates_give_the_lowest_id() {
        let labels = LabelIndex::from_lines(["b\tred", "a\tblue", "b\tred", "red"]);
        assert_eq!(labels.find("b"), Some(0));
        assert_eq!(labels.find("a"), Some(1));
        assert_eq!(labels.find("blue"), Some(1));
        assert_eq!(labels.find("red"), Some(3), "a code goes before a name");
        assert_eq!(labels.find(""), None);
    }

    #[test]
    fn empty_lines_name_a_label_by_its_id_except_at_the_end() {
        let labels = read(b"\xef\xbb\xbfx\r\n\r\nz\n\n\n").unwrap();
        assert_eq!(labels.lines().collect::<Vec<_>>(), ["x", "1", "z"]);
        assert!(read(b"").unwrap().is_empty());
        assert!(read(b"\n\n").unwrap().is_empty());
    }

    #[test]
    fn a_name_that_is_not_utf8_is_an_error_or_a_warning() {
        let error = read(b"ok\nab\xff\n").unwrap_err();
        assert!(error.to_string().starts_with("labels.txt:2:3: the label name is not UTF-8"));
        let memory = Memory::of_machine();
        let source = Source::from_bytes("labels.txt", b"ok\nab\xff\n", &memory).unwrap();
        let (labels, warning) = LabelIndex::from_source(source, true).unwrap();
        assert_eq!(labels.display(1), "ab\u{fffd}");
        assert_eq!(warning.as_deref(), Some("labels.txt: 1 label names are not UTF-8 text"));
    }

    #[test]
    fn a_builder_keeps_known_ids_and_adds_what_is_new() {
        let known = LabelIndex::from_lines(["<http://x/1>\tred", "red", "", "b\tred"]);
        let mut builder = LabelIndexBuilder::new(&known);
        assert_eq!(["http://x/1", "red", "2", "b"].map(|label| builder.id(label)), [0, 1, 2, 3]);
        assert_eq!(["two\nlines\tx", "two lines x"].map(|label| builder.id(label)), [4, 4]);
        assert_eq!(builder.len(), 5);
        let labels = builder.finish();
        let lines = ["http://x/1\tred", "red", "2", "b\tred", "two lines x"];
        assert_eq!(labels.lines().collect::<Vec<_>>(), lines);
        assert_eq!(labels.find("two lines\tx"), Some(4));
        assert!(LabelIndexBuilder::default().is_empty());
    }

    #[test]
    fn a_builder_knows_labels_by_further_names_last() {
        let known = LabelIndex::from_lines(["p1\tred\tblue\tp2", "p2\tblue\tcrimson", "p3\t\tx"]);
        let mut builder = LabelIndexBuilder::new(&known);
        let ids = ["p2", "blue", "crimson", "red", "x"].map(|label| builder.id(label));
        assert_eq!(ids, [1, 1, 1, 0, 2]);
        assert_eq!(builder.finish(), known);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let labels = LabelIndex::from_lines(["p1\tcats", "", "p3"]);
        for name in ["labels.txt", "labels.txt.gz", "labels.txt.zst"] {
            let path = folder.path().join(name);
            labels.write(&path).unwrap();
            assert_eq!(LabelIndex::read(&path, &Pool::new(1).unwrap().task()).unwrap(), labels);
        }
    }
}
