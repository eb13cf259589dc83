//! Data files as arguments: the flags that say how to read them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;
use labelwood::app::known_labels;
pub use labelwood::app::{Kind, read_vectors};
use labelwood::data::{self, Dataset, LabelIndexBuilder, ReadOptions, documents};
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

impl From<Format> for Kind {
    fn from(format: Format) -> Self {
        match format {
            Format::Xc => Kind::Vectors(data::Format::Xc),
            Format::Libsvm => Kind::Vectors(data::Format::Libsvm),
            Format::Lwd => Kind::Vectors(data::Format::Binary),
            Format::Tsv => Kind::Text(documents::Format::Tsv),
            Format::Csv => Kind::Text(documents::Format::Csv),
            Format::Jsonl => Kind::Text(documents::Format::Jsonl),
        }
    }
}

/// What a file holds that is to be of the kind that a model was trained on; see [`Kind::expected`].
pub fn expect_kind(
    path: &Path,
    flag: Option<Format>,
    trained_on: Option<documents::Format>,
) -> Result<Option<Kind>> {
    Ok(Kind::expected(path, flag.map(Into::into), trained_on)?)
}

/// How to read data files.
#[derive(Debug, clap::Args)]
pub struct InputArgs {
    /// Warn where a header disagrees with the rows, and go by the rows
    #[arg(long)]
    pub lenient: bool,

    /// The labels with their names: one per line, or code, TAB and names (.txt, .tsv, .csv), or SKOS
    /// (.ttl, .nt, .rdf), each also with .gz or .zst; by default labels.txt beside the data, if
    /// there is one
    #[arg(long, value_name = "FILE")]
    pub vocabulary: Option<PathBuf>,

    /// The language of the names, such as en or pt-br; by default the one in which the most concepts
    /// of the vocabulary have a preferred name
    #[arg(long, value_name = "TAG", requires = "vocabulary")]
    pub language: Option<String>,
}

impl InputArgs {
    /// The labels that are known before those of `data`, which is text, are read.
    pub fn known_labels(&self, data: &Path, task: &Task) -> Result<LabelIndexBuilder> {
        let language = self.language.as_deref();
        Ok(known_labels(data, self.vocabulary.as_deref(), language, task)?)
    }

    /// Reads a file of vectors and shows what deserves a look.
    pub fn read(&self, path: &Path, format: Option<data::Format>, task: &Task) -> Result<Dataset> {
        let options = ReadOptions {
            format,
            lenient: self.lenient,
            vocabulary: self.vocabulary.clone(),
            language: self.language.clone(),
            ..ReadOptions::default()
        };
        Ok(read_vectors(path, &options, task)?.dataset)
    }
}
