//! Rows of predictions in the order of their file, and in the order of the data.

use super::documents::shortened;
use crate::base::sparse::Predictions;
use crate::base::words::plural;
use crate::data::error::{ReadError, excerpt};
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// About how many bytes the allocator needs for a small allocation besides its content.
const ALLOCATION: usize = 32;

/// The rows of a file with the ids of their documents, where it has them.
#[derive(Debug, Default)]
pub(super) struct FileRows {
    pub predictions: Predictions,
    /// As many as there are rows, or none.
    pub ids: Vec<Option<String>>,
    /// The memory of all ids.
    pub id_bytes: usize,
    /// Whether labels have scores; nothing if there are no labels.
    pub has_scores: Option<bool>,
    /// The error of the first row whose number in the file is not its position.
    pub misplaced: Option<ReadError>,
    /// The line of the first row, if the format has lines.
    pub first_line: Option<u64>,
    /// Whether ids have single spaces instead of other blanks, as in tsv.
    pub has_plain_ids: bool,
}

impl FileRows {
    /// Adds the id of the next row.
    pub(super) fn push_id(&mut self, id: Option<String>) {
        self.id_bytes += id.as_ref().map_or(0, |id| id.capacity() + ALLOCATION);
        self.ids.push(id);
    }

    /// The memory that the rows take.
    pub(super) fn bytes(&self) -> usize {
        self.predictions.bytes() + self.id_bytes + self.ids.capacity() * size_of::<Option<String>>()
    }

    /// The rows in the order of the file.
    pub(super) fn in_file_order(self) -> Result<Predictions, ReadError> {
        self.misplaced.map_or(Ok(self.predictions), Err)
    }

    /// The rows in the order of `wanted`, the ids of the data's rows: matched by id if all rows of
    /// both have one, else by their place, where ids must not contradict it.
    pub(super) fn in_order_of(
        self,
        wanted: &[Option<String>],
        path: &str,
    ) -> Result<Predictions, ReadError> {
        let all_have_ids = |ids: &[Option<String>]| ids.iter().all(Option::is_some);
        let is_matched = !self.ids.is_empty() && all_have_ids(&self.ids) && all_have_ids(wanted);
        if is_matched && !self.agrees_with(wanted) {
            let order = self.order(wanted, path)?;
            let mut ordered = Predictions::default();
            order.iter().for_each(|&row| ordered.push_ranked(self.predictions.row(row)));
            return Ok(ordered);
        }
        let (found, rows) = (self.predictions.len(), wanted.len());
        if found != rows {
            let problem = format!(
                "{} of predictions for {} of data: predict exactly the rows to evaluate",
                plural(found, "row"),
                plural(rows, "row")
            );
            return Err(self.error(path, found.min(rows), problem));
        }
        for (row, (own, other)) in self.ids.iter().zip(wanted).enumerate() {
            if let (Some(own), Some(other)) = (own, other)
                && *own != *self.plain(other)
            {
                let (own, other) = (excerpt(own), excerpt(other));
                let problem = format!(
                    "the id is `{own}`, but that of row {} of the data is `{other}`: give all rows \
                     ids, or the rows in the order of the data",
                    row + 1
                );
                return Err(self.error(path, row, problem));
            }
        }
        if is_matched { Ok(self.predictions) } else { self.in_file_order() }
    }

    /// Whether every row has the id that the data have at its place.
    fn agrees_with(&self, wanted: &[Option<String>]) -> bool {
        let is_same = |(own, other): (&Option<String>, &Option<String>)| {
            own.as_deref() == other.as_deref().map(|other| self.plain(other)).as_deref()
        };
        self.ids.len() == wanted.len() && self.ids.iter().zip(wanted).all(is_same)
    }

    /// For each row of the data, the row of the file that has its id.
    fn order(&self, wanted: &[Option<String>], path: &str) -> Result<Vec<usize>, ReadError> {
        let mut rows: HashMap<&str, usize> = HashMap::with_capacity(self.ids.len());
        for (row, id) in self.ids.iter().flatten().enumerate() {
            match rows.entry(id) {
                Entry::Vacant(place) => {
                    place.insert(row);
                }
                Entry::Occupied(first) => {
                    let first = *first.get() as u64;
                    let place = match self.first_line {
                        Some(line) => format!("line {}", line + first),
                        None => format!("row {}", first + 1),
                    };
                    let id = excerpt(id);
                    let problem = format!("the id `{id}` stands in {place}, too: keep one of them");
                    return Err(self.error(path, row, problem));
                }
            }
        }
        let mut used = vec![None; self.ids.len()];
        let mut order = Vec::with_capacity(wanted.len());
        for (at, id) in wanted.iter().flatten().enumerate() {
            let shown = excerpt(id);
            let Some(&row) = rows.get(&*self.plain(id)) else {
                let problem = format!(
                    "no row has the id `{shown}`, that of row {} of the data: predict exactly the \
                     rows to evaluate",
                    at + 1
                );
                return Err(self.error(path, self.ids.len(), problem));
            };
            if let Some(before) = used[row].replace(at + 1) {
                let problem = format!(
                    "the id `{shown}` is that of rows {before} and {} of the data: give each an id \
                     of its own, or predictions in the order of the data",
                    at + 1
                );
                return Err(self.error(path, row, problem));
            }
            order.push(row);
        }
        match used.iter().position(Option::is_none) {
            None => Ok(order),
            Some(row) => {
                let id = excerpt(self.ids[row].as_deref().unwrap_or_default());
                let problem = format!(
                    "no row of the data has the id `{id}`: predict exactly the rows to evaluate"
                );
                Err(self.error(path, row, problem))
            }
        }
    }

    /// An id of the data as the format has it.
    fn plain<'i>(&self, id: &'i str) -> Cow<'i, str> {
        match self.has_plain_ids {
            true => Cow::Owned(shortened(id, usize::MAX)),
            false => Cow::Borrowed(id),
        }
    }

    /// An error at a row, or after the last.
    fn error(&self, path: &str, row: usize, problem: String) -> ReadError {
        match self.first_line {
            Some(first) => ReadError::content(path, (first + row as u64, 1), problem),
            None => ReadError::file(path, problem),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KnownLabels, PredictionFormat, read_source};
    use crate::base::run::Memory;
    use crate::data::source::Source;

    /// The best label of each row of predictions of labels 0 to 9, in the order of some ids.
    fn matched(
        text: &str,
        format: PredictionFormat,
        wanted: &[Option<&str>],
    ) -> Result<Vec<u32>, String> {
        let wanted: Vec<Option<String>> = wanted.iter().map(|id| id.map(str::to_owned)).collect();
        let known = KnownLabels { count: 10, id: &|_| None, separator: ";" };
        let source = Source::new("f".to_owned(), text.as_bytes(), &Memory::of_machine()).unwrap();
        let ordered = read_source(source, format, known, "id", &wanted)
            .and_then(|rows| rows.in_order_of(&wanted, "f"))
            .map_err(|error| error.to_string())?;
        Ok(ordered.rows().map(|row| row[0].id).collect())
    }

    #[test]
    fn rows_with_ids_come_in_the_order_of_the_data() {
        use PredictionFormat::{Jsonl, Tsv};
        let tsv = "b\t1 1\nc\t2 1\na\t0 1\n";
        assert_eq!(matched(tsv, Tsv, &[Some("a"), Some("b"), Some("c")]), Ok(vec![0, 1, 2]));
        // Written for these rows in another order, so that the numbers of the rows are others.
        let jsonl = "{\"row\":1,\"id\":17,\"labels\":[{\"label\":1,\"score\":1}]}\n\
            {\"row\":0,\"id\":\"a\",\"labels\":[{\"label\":0,\"score\":1}]}\n";
        assert_eq!(matched(jsonl, Jsonl, &[Some("a"), Some("17")]), Ok(vec![0, 1]));
        let without = matched(jsonl, Jsonl, &[None, None]).unwrap_err();
        assert_eq!(
            without,
            "f:1:1: \"row\" is 1 where 0 is due, as it counts from 0: sort the rows, skip none"
        );
    }

    #[test]
    fn ids_are_matched_as_tsv_writes_them() {
        let tsv = "\"map 7\"\t1 1\nold map\t0 1\n";
        let wanted = [Some("old \t map"), Some("map 7")];
        assert_eq!(matched(tsv, PredictionFormat::Tsv, &wanted), Ok(vec![0, 1]));
    }

    #[test]
    fn an_id_that_is_missing_or_stands_twice_is_refused_with_its_line() {
        let refused = |text, wanted: &[&str]| {
            let wanted: Vec<Option<&str>> = wanted.iter().copied().map(Some).collect();
            matched(text, PredictionFormat::Tsv, &wanted).unwrap_err()
        };
        let twice = refused("b\t1 1\na\t0 1\nb\t2 1\n", &["a", "b", "c"]);
        assert_eq!(twice, "f:3:1: the id `b` stands in line 1, too: keep one of them");
        let missing = refused("b\t1 1\nc\t0 1\n", &["a", "b", "c"]);
        assert!(missing.starts_with("f:3:1: no row has the id `a`, that of row 1"), "{missing}");
        let unknown = refused("b\t1 1\nx\t0 1\na\t0 1\n", &["a", "b"]);
        assert!(unknown.starts_with("f:2:1: no row of the data has the id `x`"), "{unknown}");
        let doubtful = refused("b\t1 1\na\t0 1\n", &["a", "b", "a"]);
        assert!(doubtful.starts_with("f:2:1: the id `a` is that of rows 1 and 3"), "{doubtful}");
    }

    #[test]
    fn without_ids_everywhere_the_order_tells_and_ids_must_agree() {
        let by_row = |text, wanted: &[Option<&str>]| matched(text, PredictionFormat::Tsv, wanted);
        assert_eq!(by_row("1 1\n0 1\n", &[Some("a"), Some("b")]), Ok(vec![1, 0]));
        assert_eq!(by_row("b\t1 1\na\t0 1\n", &[None, None]), Ok(vec![1, 0]));
        assert_eq!(by_row("a\t1 1\n\t0 1\n", &[Some("a"), None]), Ok(vec![1, 0]));
        // An id that says nothing is no reason to refuse what is in order.
        assert_eq!(by_row("a\t1 1\na\t0 1\n", &[Some("a"), Some("a")]), Ok(vec![1, 0]));
        let other = by_row("a\t1 1\nb\t0 1\n", &[None, Some("a")]).unwrap_err();
        assert!(other.starts_with("f:2:1: the id is `b`, but that of row 2"), "{other}");
    }

    #[test]
    fn another_number_of_rows_is_refused_where_it_shows() {
        let expected = "1 row of predictions for 2 rows of data: predict exactly the rows";
        for (text, format, place) in [
            ("0 1\n", PredictionFormat::Tsv, "f:2:1: "),
            ("0:1\n", PredictionFormat::Xc, "f:2:1: "),
            ("1 10\n0:1\n", PredictionFormat::Xc, "f:3:1: "),
        ] {
            let error = matched(text, format, &[None, None]).unwrap_err();
            assert!(error.starts_with(&format!("{place}{expected}")), "{error}");
        }
        let error = matched("0 1\n0 1\n", PredictionFormat::Tsv, &[None]).unwrap_err();
        assert!(error.starts_with("f:2:1: 2 rows of predictions for 1 row of data"), "{error}");
    }
}
