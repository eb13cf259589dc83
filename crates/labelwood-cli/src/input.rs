//! Data files as arguments: the flags that say how to read them, and reading with warnings shown.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ValueEnum;
use labelwood::data::{self, Dataset, ReadOptions, documents};
use labelwood::run::Task;

/// A data format by the name it has in flags.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    /// Vectors as the XC repository has them: a header, everything counted from 0 (.txt)
    Xc,
    /// Vectors as LIBSVM has them: no header, features counted from 1 (.svm, .libsvm)
    Libsvm,
    /// Vectors as they lie in memory, with the names of the labels (.lwd)
    Lwd,
    /// Text, a TAB and labels in every line (.tsv)
    Tsv,
    /// Text in columns that the first line names (.csv)
    Csv,
    /// Text in JSON objects, one per line (.jsonl)
    Jsonl,
}

/// What a file holds, as its name or a flag tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Rows of features.
    Vectors(data::Format),
    /// Documents.
    Text(documents::Format),
}

impl Kind {
    /// What a flag says that a file holds, or else the file's ending, if it does.
    pub fn of(path: &Path, flag: Option<Format>) -> Option<Self> {
        match flag {
            Some(Format::Xc) => Some(Kind::Vectors(data::Format::Xc)),
            Some(Format::Libsvm) => Some(Kind::Vectors(data::Format::Libsvm)),
            Some(Format::Lwd) => Some(Kind::Vectors(data::Format::Binary)),
            Some(Format::Tsv) => Some(Kind::Text(documents::Format::Tsv)),
            Some(Format::Csv) => Some(Kind::Text(documents::Format::Csv)),
            Some(Format::Jsonl) => Some(Kind::Text(documents::Format::Jsonl)),
            None => documents::Format::of_path(path)
                .map(Kind::Text)
                .or_else(|| data::Format::of_path(path).map(Kind::Vectors)),
        }
    }

    /// The same, but an ending that tells nothing is an error; nothing for what has no ending.
    pub fn required(path: &Path, flag: Option<Format>) -> Result<Option<Self>> {
        match Kind::of(path, flag) {
            None if path.extension().is_some() => bail!(
                "{}: the ending does not tell the format: text is .tsv, .csv or .jsonl, vectors are \
                 .txt (XC repository format), .svm (LIBSVM) or .lwd (binary), each also with .gz or \
                 .zst; add --from to state it",
                path.display()
            ),
            known => Ok(known),
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

/// What a file holds that is to be of the kind that a model was trained on: text of some format, or
/// vectors. Nothing if it is to be read in the format that the model keeps.
pub fn expect_kind(
    path: &Path,
    flag: Option<Format>,
    trained_on: Option<documents::Format>,
) -> Result<Option<Kind>> {
    use documents::Format::{Csv, Jsonl};
    // The names of columns and fields tell whether the file is what the model reads. Any text could
    // be TSV, so that must be stated unless there is no ending at all.
    let is_unclear = matches!(Kind::of(path, None), None | Some(Kind::Vectors(data::Format::Xc)));
    if flag.is_none() && is_unclear && matches!(trained_on, Some(Csv | Jsonl)) {
        return Ok(None);
    }
    match Kind::required(path, flag)? {
        Some(Kind::Vectors(_)) if trained_on.is_some() => bail!(
            "{}: these are vectors, but the model was trained on text: give text (.tsv, .csv or \
             .jsonl), or add --from tsv if this is text",
            path.display()
        ),
        Some(Kind::Text(_)) if trained_on.is_none() => bail!(
            "{}: this is text, but the model was trained on vectors: give vectors (.txt or .svm), or \
             train a model on text",
            path.display()
        ),
        kind => Ok(kind),
    }
}

/// How to read data files.
#[derive(Debug, clap::Args)]
pub struct InputArgs {
    /// Warn where a header disagrees with the rows, and go by the rows
    #[arg(long)]
    pub lenient: bool,

    /// Names of the labels, one per line, or code, TAB and name; by default labels.txt beside the
    /// data, if there is one
    #[arg(long, value_name = "FILE")]
    pub label_names: Option<PathBuf>,
}

impl InputArgs {
    /// Reads a file of vectors and shows what deserves a look.
    pub fn read(&self, path: &Path, format: Option<data::Format>, run: &Task) -> Result<Dataset> {
        let options = ReadOptions {
            format,
            lenient: self.lenient,
            label_names: self.label_names.clone(),
            ..ReadOptions::default()
        };
        Ok(read(path, &options, run)?.dataset)
    }
}

/// Reads a data file and shows what deserves a look.
pub fn read(path: &Path, options: &ReadOptions, run: &Task) -> Result<data::Read> {
    let read = data::read(path, options, run)?;
    for warning in &read.warnings {
        tracing::warn!("{warning}");
    }
    Ok(read)
}
