//! What a data file holds: vectors or text, and in which format.

use super::error::InputError;
use crate::data::{self, documents};
use std::path::Path;

/// What a file holds, as its name or somebody tells.
///
/// ```
/// use labelwood::app::Kind;
/// use labelwood::data::{self, documents};
/// let kind = |path: &str| Kind::of_path(path.as_ref());
/// assert_eq!(kind("rows.svm.gz"), Some(Kind::Vectors(data::Format::Libsvm)));
/// assert_eq!(kind("books.tsv"), Some(Kind::Text(documents::Format::Tsv)));
/// assert_eq!(kind("page.pdf"), None);
/// let stated = Kind::of("page.pdf".as_ref(), Some(Kind::Text(documents::Format::Csv)));
/// assert_eq!(stated.and_then(Kind::text), Some(documents::Format::Csv));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rows of features.
    Vectors(data::Format),
    /// Documents.
    Text(documents::Format),
}

/// Whether a name is one that spreadsheet programs give.
fn is_workbook(path: &Path) -> bool {
    let is_one =
        |ending: &str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending));
    ["xlsx", "xls", "ods", "numbers"].into_iter().any(is_one)
}

impl Kind {
    /// What the ending of a file's name says that it holds.
    pub fn of_path(path: &Path) -> Option<Self> {
        let text = documents::Format::of_path(path).map(Kind::Text);
        text.or_else(|| data::Format::of_path(path).map(Kind::Vectors))
    }

    /// What is stated, else what the file's ending says.
    pub fn of(path: &Path, stated: Option<Kind>) -> Option<Self> {
        stated.or_else(|| Kind::of_path(path))
    }

    /// What is stated, else what the file's ending says. A file without an ending, such as standard
    /// input, may hold anything; an ending that tells nothing is an error.
    pub fn required(path: &Path, stated: Option<Kind>) -> Result<Option<Self>, InputError> {
        match Kind::of(path, stated) {
            None if is_workbook(path) => Err(InputError::refused(
                path,
                "this is a file of a spreadsheet program: save the table as CSV there",
            )),
            None if path.extension().is_some() => Err(InputError::refused(
                path,
                "the ending does not tell the format: text is .tsv, .csv or .jsonl, vectors are .txt \
                 (XC repository format), .svm (LIBSVM) or .lwd (binary), each also with .gz or .zst; \
                 add --from to state it",
            )),
            known => Ok(known),
        }
    }

    /// What a file holds that is to be of the kind that a model was trained on: text, which was of
    /// the format `trained_on`, or vectors. Nothing if the file is to be read in that format.
    pub fn expected(
        path: &Path,
        stated: Option<Kind>,
        trained_on: Option<documents::Format>,
    ) -> Result<Option<Self>, InputError> {
        use documents::Format::{Csv, Jsonl};
        // The names of columns and fields tell whether the file is what the model reads. Any text
        // could be TSV, so that must be stated unless there is no ending at all.
        let is_unclear =
            matches!(Kind::of_path(path), None | Some(Kind::Vectors(data::Format::Xc)));
        if stated.is_none() && is_unclear && matches!(trained_on, Some(Csv | Jsonl)) {
            return Ok(None);
        }
        match Kind::required(path, stated)? {
            Some(Kind::Vectors(_)) if trained_on.is_some() => Err(InputError::refused(
                path,
                "these are vectors, but the model was trained on text: give text (.tsv, .csv or \
                 .jsonl), or add --from tsv if this is text",
            )),
            Some(Kind::Text(_)) if trained_on.is_none() => Err(InputError::refused(
                path,
                "this is text, but the model was trained on vectors: give vectors (.txt or .svm), or \
                 train a model on text",
            )),
            kind => Ok(kind),
        }
    }

    /// The format of documents, if it is that.
    pub fn text(self) -> Option<documents::Format> {
        match self {
            Kind::Text(format) => Some(format),
            Kind::Vectors(_) => None,
        }
    }

    /// The format of vectors, if it is that.
    pub fn vectors(self) -> Option<data::Format> {
        match self {
            Kind::Vectors(format) => Some(format),
            Kind::Text(_) => None,
        }
    }
}
