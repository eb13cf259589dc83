//! Split files, which list the rows of each split, and filter files, which list pairs to leave out.

use super::error::{ReadError, excerpt};
use super::number::Cursor;
use super::source::{Blocks, Source};
use crate::base::run::{Memory, Task};
use std::path::Path;

/// Which rows belong to each of several splits.
///
/// A split file is a table of row numbers counted from 1, one column per split; the set's training
/// and test rows are in two such files.
///
/// ```
/// use labelwood::data::Splits;
/// let splits = Splits::from_bytes(b"1 3\n2 1\n", "train_split.txt", 3)?;
/// assert_eq!(splits.len(), 2);
/// assert_eq!(splits.column(2)?, [2, 0]);
/// # Ok::<(), labelwood::data::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splits {
    path: String,
    columns: Vec<Vec<usize>>,
}

impl Splits {
    /// Reads a split file for a data set of `rows` rows.
    pub fn read(path: &Path, rows: usize, task: &Task) -> Result<Self, ReadError> {
        Self::from_source(Source::open(path, task.memory())?, rows)
    }

    /// Takes splits from the bytes of a file; `name` appears in messages.
    pub fn from_bytes(bytes: &[u8], name: &str, rows: usize) -> Result<Self, ReadError> {
        Self::from_source(Source::from_bytes(name, bytes, &Memory::of_machine())?, rows)
    }

    fn from_source(source: Source, rows: usize) -> Result<Self, ReadError> {
        const REMEDY: &str = "a split file has row numbers counted from 1, as many in every line";
        let path = source.name.clone();
        let mut columns: Vec<Vec<usize>> = Vec::new();
        for_each_line(source, REMEDY, |fields| {
            if columns.is_empty() {
                columns.resize(fields.len(), Vec::new());
            }
            expect_fields(fields, columns.len(), REMEDY)?;
            for (field, column) in fields.iter().zip(&mut columns) {
                column.push(field.id("row", 1, rows)?);
            }
            let lines = columns.first().map_or(0, Vec::len);
            Ok(columns.len() * (size_of::<Vec<usize>>() + size_of::<usize>() * lines.max(4)))
        })?;
        if columns.is_empty() {
            let expected = "row numbers counted from 1, one column per split";
            return Err(ReadError::empty(&path, expected));
        }
        Ok(Splits { path, columns })
    }

    /// The number of splits.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there are no splits; a file that was read has at least one.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The rows of split `number`, both counted as users do and Rust does: splits from 1, rows from
    /// 0.
    pub fn column(&self, number: usize) -> Result<&[usize], ReadError> {
        let column = number.checked_sub(1).and_then(|at| self.columns.get(at));
        column.map(Vec::as_slice).ok_or_else(|| {
            let columns = self.columns.len();
            let problem =
                format!("there is no column {number}: the splits are numbered from 1 to {columns}");
            ReadError::file(&self.path, problem)
        })
    }
}

/// Reads the (row, label) pairs, counted from 0, that an evaluation leaves out: one pair per line.
///
/// The pairs come sorted and each once. Data of `rows` rows and `labels` labels must contain them.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("filter_labels_test.txt");
/// std::fs::write(&path, "1 4\n0 7\n1 4\n")?;
/// let task = labelwood::run::Pool::new(1)?.task();
/// assert_eq!(labelwood::data::read_filter(&path, 2, 8, &task)?, [(0, 7), (1, 4)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_filter(
    path: &Path,
    rows: usize,
    labels: usize,
    task: &Task,
) -> Result<Vec<(usize, u32)>, ReadError> {
    filter_from_source(Source::open(path, task.memory())?, rows, labels)
}

fn filter_from_source(
    source: Source,
    rows: usize,
    labels: usize,
) -> Result<Vec<(usize, u32)>, ReadError> {
    const REMEDY: &str = "a filter file has a row and a label in every line, counted from 0";
    let mut pairs = Vec::new();
    for_each_line(source, REMEDY, |fields| {
        expect_fields(fields, 2, REMEDY)?;
        pairs.push((fields[0].id("row", 0, rows)?, fields[1].id("label", 0, labels)? as u32));
        Ok(size_of_val(&pairs[..]))
    })?;
    pairs.sort_unstable();
    pairs.dedup();
    Ok(pairs)
}

/// A whole number of a table and where it stands.
struct Field<'a> {
    number: u64,
    text: &'a [u8],
    /// The byte within the line, counted from 1.
    column: u64,
}

impl Field<'_> {
    /// The number as an id counted from 0, where the file counts `count` ids from `first`.
    fn id(&self, what: &str, first: u64, count: usize) -> Result<usize, (u64, String)> {
        let id = self.number.checked_sub(first).filter(|&id| id < count as u64);
        id.map(|id| id as usize).ok_or_else(|| {
            let found = excerpt(self.text);
            let problem = format!(
                "{what} {found} is out of range: the data have {count} {what}s, counted from {first} \
                 here; check that both files belong together"
            );
            (self.column, problem)
        })
    }
}

fn expect_fields(fields: &[Field], expected: usize, remedy: &str) -> Result<(), (u64, String)> {
    let found = fields.len();
    if found == expected {
        return Ok(());
    }
    Err((1, format!("expected {expected} numbers in this line but found {found}: {remedy}")))
}

/// How much of a table is read at a time.
const BLOCK: usize = 1 << 20;

/// Calls `take` with the whole numbers of each line that is not blank. It returns how many bytes it keeps
/// in all, or an error with its column.
fn for_each_line(
    source: Source<'_>,
    remedy: &str,
    mut take: impl FnMut(&[Field]) -> Result<usize, (u64, String)>,
) -> Result<(), ReadError> {
    let mut blocks = Blocks::new(source, BLOCK);
    let mut meter = blocks.meter();
    while let Some(block) = blocks.next()? {
        let mut cursor = Cursor::new(&block.text);
        let mut fields = Vec::new();
        let mut line = block.first_line;
        while !cursor.is_at_end() {
            let at_line = |(column, problem): (u64, String)| {
                ReadError::content(blocks.name(), (line, column), problem)
            };
            parse_line(&mut cursor, remedy, &mut fields).map_err(at_line)?;
            if !fields.is_empty() {
                meter.set(take(&fields).map_err(at_line)?)?;
            }
            line += 1;
        }
    }
    meter.keep();
    Ok(())
}

/// Parses the whole numbers of the next line.
fn parse_line<'t>(
    cursor: &mut Cursor<'t>,
    remedy: &str,
    fields: &mut Vec<Field<'t>>,
) -> Result<(), (u64, String)> {
    fields.clear();
    let start = cursor.at;
    loop {
        cursor.skip_blanks();
        if cursor.peek() == b'\n' {
            break;
        }
        let at = cursor.at;
        let column = (at - start) as u64 + 1;
        let number = cursor.integer().filter(|_| cursor.ends_field());
        let text = cursor.field_from(at);
        let no_number = || {
            let found = excerpt(text);
            (column, format!("expected a whole number but found `{found}`: {remedy}"))
        };
        fields.push(Field { number: number.ok_or_else(no_number)?, text, column });
    }
    cursor.at += 1;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splits(text: &str) -> Result<Splits, String> {
        Splits::from_bytes(text.as_bytes(), "s.txt", 5).map_err(|error| error.to_string())
    }

    fn filter(text: &str) -> Result<Vec<(usize, u32)>, String> {
        let source = Source::from_bytes("f.txt", text.as_bytes(), &Memory::of_machine()).unwrap();
        filter_from_source(source, 2, 3).map_err(|error| error.to_string())
    }

    #[test]
    fn splits_are_columns_of_rows() {
        let read = splits("1 5\r\n00003\t2 \n\n").unwrap();
        assert_eq!((read.column(1).unwrap(), read.column(2).unwrap()), (&[0, 2][..], &[4, 1][..]));
        let error = read.column(3).unwrap_err().to_string();
        assert_eq!(error, "s.txt: there is no column 3: the splits are numbered from 1 to 2");
        assert!(read.column(0).is_err());
    }

    #[test]
    fn wrong_splits_are_refused_with_their_place() {
        let place = |text: &str| {
            splits(text).unwrap_err().split(": ").take(2).collect::<Vec<_>>().join(": ")
        };
        assert_eq!(place(""), "s.txt:1:1: the file is empty");
        assert_eq!(place("1 2\n3 0\n"), "s.txt:2:3: row 0 is out of range");
        assert_eq!(place("1 2\n 6 1"), "s.txt:2:2: row 6 is out of range");
        assert_eq!(place("1 2\n3\n"), "s.txt:2:1: expected 2 numbers in this line but found 1");
        assert_eq!(place("1 2\n3 -4\n"), "s.txt:2:3: expected a whole number but found `-4`");
        assert_eq!(place("1 2x"), "s.txt:1:3: expected a whole number but found `2x`");
    }

    #[test]
    fn filters_are_sorted_pairs_within_the_data() {
        assert_eq!(filter("1 2\n0 1\n1 2\n").unwrap(), [(0, 1), (1, 2)]);
        assert_eq!(filter("").unwrap(), []);
        assert!(filter("2 0").unwrap_err().starts_with("f.txt:1:1: row 2 is out of range"));
        assert!(filter("0 3").unwrap_err().starts_with("f.txt:1:3: label 3 is out of range"));
        assert!(filter("0 3 1").unwrap_err().starts_with("f.txt:1:1: expected 2 numbers"));
    }
}
