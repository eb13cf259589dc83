//! Vocabularies: the labels that there are, with their names.
//!
//! A vocabulary is a file of its own, and its ending says what it is:
//!
//! | ending | what it holds |
//! |---|---|
//! | `.txt`, or none | the lines of a [`LabelIndex`] |
//! | `.tsv`, `.csv` | columns: code, name, further names; a first line whose first cell is `code`, `id`, `uri`, `url`, `iri`, `notation` or `concept` is a header |
//! | `.ttl` | SKOS in Turtle |
//! | `.nt` | SKOS in N-Triples |
//! | `.rdf`, `.xml`, `.owl` | SKOS in RDF/XML |
//!
//! Each may be compressed, with `.gz` or `.zst` after the ending.
//!
//! Of SKOS, a label is a concept that has an address and a preferred name or the type `skos:Concept`,
//! and its code is the address. Labels are in the order of their addresses, so that neither the syntax
//! nor the order of statements matters. Deprecated concepts are left out. Names in one language are the
//! [`names`](LabelIndex::names) of the labels, those in other languages are kept beside them.

mod guard;
mod skos;
mod table;
mod thesaurus;
#[cfg(test)]
mod tests;

pub(crate) use thesaurus::Thesaurus;

use super::error::ReadError;
use super::label_index::{LabelIndex, LabelIndexBuilder};
use super::read::plain_ending;
use super::source::Source;
use crate::base::run::{Memory, Task};
use std::path::Path;

/// A vocabulary that was read.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The labels with all that is known of them.
    pub labels: LabelIndex,
    /// What deserves a look.
    pub warnings: Vec<String>,
}

/// What a file holds, as its ending tells.
#[derive(Clone, Copy)]
enum Format {
    Lines,
    Table(table::Kind),
    Skos(guard::Syntax),
}

impl Format {
    fn of_path(path: &Path) -> Result<Self, ReadError> {
        let ending = plain_ending(path);
        Ok(match ending.as_deref() {
            None | Some("txt") => Format::Lines,
            Some("tsv") => Format::Table(table::Kind::Tsv),
            Some("csv") => Format::Table(table::Kind::Csv),
            Some("ttl") => Format::Skos(guard::Syntax::Turtle),
            Some("nt") => Format::Skos(guard::Syntax::NTriples),
            Some("rdf" | "xml" | "owl") => Format::Skos(guard::Syntax::Xml),
            Some(_) => {
                let problem = "the ending does not tell the format: a vocabulary is .txt (a label a \
                               line), .tsv or .csv (code, name, further names), or SKOS as .ttl \
                               (Turtle), .nt (N-Triples) or .rdf, .xml or .owl (RDF/XML), each also \
                               with .gz or .zst";
                return Err(ReadError::file(path.display(), problem));
            }
        })
    }
}

impl Vocabulary {
    /// Reads a vocabulary, or lines of label names from standard input for `-`.
    ///
    /// `language` is a tag such as `en`, which names tagged `en-gb` belong to, too. It says which names
    /// of SKOS are the [`names`](LabelIndex::names) of the labels, by default those in the language
    /// that has the most preferred names; names without a tag belong to every language. Files of other
    /// formats have one language only, so that the tag just tells which one it is.
    pub fn read(path: &Path, language: Option<&str>, task: &Task) -> Result<Self, ReadError> {
        Self::read_noting(path, language, false, task)
    }

    /// Reads a vocabulary; if `lenient`, lines that are not UTF-8 become a warning.
    pub(super) fn read_noting(
        path: &Path,
        language: Option<&str>,
        lenient: bool,
        task: &Task,
    ) -> Result<Self, ReadError> {
        let format = Format::of_path(path)?;
        let source = Source::open(path, task.memory())?;
        Self::from_source(source, format, language, lenient, Some(task))
    }

    /// Reads a vocabulary, for a builder that starts with its labels, and what deserves a look.
    pub fn read_builder(
        path: &Path,
        language: Option<&str>,
        task: &Task,
    ) -> Result<(LabelIndexBuilder, Vec<String>), ReadError> {
        let format = Format::of_path(path)?;
        let source = Source::open(path, task.memory())?;
        let mut meter = source.meter();
        let read = Self::from_source(source, format, language, false, Some(task))?;
        meter.set(LabelIndexBuilder::bytes_for(&read.labels))?;
        meter.keep();
        Ok((LabelIndexBuilder::new(&read.labels), read.warnings))
    }

    /// Takes a vocabulary from the bytes of a file; `name` tells the format and appears in messages.
    ///
    /// ```
    /// use labelwood::data::Vocabulary;
    /// let vocabulary = Vocabulary::from_bytes(b"uri,name\n<x:1>,birds,fowl\n", "birds.csv", None)?;
    /// assert_eq!(vocabulary.labels.lines().collect::<Vec<_>>(), ["x:1\tbirds\tfowl"]);
    /// # Ok::<(), labelwood::data::ReadError>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], name: &str, language: Option<&str>) -> Result<Self, ReadError> {
        let format = Format::of_path(Path::new(name))?;
        let source = Source::from_bytes(name, bytes, &Memory::of_machine())?;
        Self::from_source(source, format, language, false, None)
    }

    fn from_source(
        source: Source<'_>,
        format: Format,
        language: Option<&str>,
        lenient: bool,
        task: Option<&Task>,
    ) -> Result<Self, ReadError> {
        let language = language.map(str::to_ascii_lowercase);
        if let Some(language) = language.as_ref().filter(|tag| !thesaurus::is_tag(tag)) {
            let problem = format!(
                "`{language}` is no tag of a language: expected one such as en, fi or pt-br"
            );
            return Err(ReadError::file(&source.name, problem));
        }
        let (labels, warning) = match format {
            Format::Skos(syntax) => return skos::read(source, syntax, language.as_deref(), task),
            Format::Lines => LabelIndex::from_source(source, lenient)?,
            Format::Table(kind) => (table::read(source, kind)?, None),
        };
        let labels = labels.with_thesaurus(Thesaurus { language, ..Thesaurus::default() });
        Ok(Vocabulary { labels, warnings: warning.into_iter().collect() })
    }
}
