//! Data files as arguments: the flags that say how to read them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use labelwood::app::known_labels;
pub use labelwood::app::{Kind, read_vectors};
use labelwood::data::{self, Dataset, LabelIndexBuilder, ReadOptions, documents};
use labelwood::run::Task;

/// The formats of data by the names they have in flags.
pub const FORMATS: [(&str, &str, Kind); 6] = [
    (
        "xc",
        "Vectors as the XC repository has them: a header, everything counted from 0 (.txt)",
        Kind::Vectors(data::Format::Xc),
    ),
    (
        "libsvm",
        "Vectors as LIBSVM has them: no header, features counted from 1 (.svm, .libsvm)",
        Kind::Vectors(data::Format::Libsvm),
    ),
    (
        "lwd",
        "Vectors as they lie in memory, with the names of the labels (.lwd)",
        Kind::Vectors(data::Format::Binary),
    ),
    ("tsv", "Text, a TAB and labels in every line (.tsv)", Kind::Text(documents::Format::Tsv)),
    ("csv", "Text in columns that the first line names (.csv)", Kind::Text(documents::Format::Csv)),
    ("jsonl", "Text in JSON objects, one per line (.jsonl)", Kind::Text(documents::Format::Jsonl)),
];

/// How to read data files.
#[derive(Clone, Debug, clap::Args)]
pub struct InputArgs {
    /// Warn where a header disagrees with the rows, and go by the rows
    #[arg(long)]
    pub lenient: bool,

    /// The labels with their names, such as a SKOS file
    ///
    /// One per line, or code, TAB and names (.txt, .tsv, .csv), or SKOS (.ttl, .nt, .rdf), each also with .gz
    /// or .zst; by default NAME.labels.txt or labels.txt beside the data NAME.*, if there is one.
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
