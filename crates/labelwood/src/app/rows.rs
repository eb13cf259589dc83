//! Files of rows for a model, read as a whole.

use super::error::InputError;
use super::kind::Kind;
use super::labels::known_labels;
use super::source::Widths;
use crate::base::run::Task;
use crate::base::sparse::{Csr, LabelRows};
use crate::data::documents::{self, Documents, Labels, Options, Separator};
use crate::data::{
    self, Dataset, LabelIndex, LabelIndexBuilder, Read, ReadError, ReadOptions, Vocabulary,
};
use crate::model::Model;
use crate::text::{TextError, TextReader, read_labels};
use std::path::Path;

/// How files of rows are read for a model. By default a file's ending tells its format, and text is
/// read as the model's training file was.
///
/// ```
/// use labelwood::app::RowOptions;
/// use labelwood::model::Model;
/// let (folder, task) = (tempfile::tempdir()?, labelwood::run::Pool::new(1)?.task());
/// let path = folder.path().join("rows.txt");
/// std::fs::write(&path, "2 2 2\n0 0:1\n1 1:1\n")?;
/// let rows = labelwood::app::read_vectors(&path, &Default::default(), &task)?.dataset;
/// let settings = labelwood::Settings::named("one-vs-rest").expect("it is an algorithm");
/// let model = Model::train(rows.view(), Default::default(), &settings, &task)?;
///
/// let options = RowOptions::default();
/// assert_eq!(options.read(&path, &model, &task)?, rows);
/// let error = options.read("books.tsv".as_ref(), &model, &task).unwrap_err();
/// assert!(error.to_string().starts_with("books.tsv: this is text, but the model was trained on"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RowOptions {
    /// The format, if the file's ending does not tell it.
    pub format: Option<Kind>,
    /// Whether to go by the rows, with a warning, where a header disagrees with them.
    pub lenient: bool,
    /// Which fields of documents are taken, if not those of the training file.
    pub fields: Fields,
}

/// Which fields of a file are text, labels and id; what is left open is as in some
/// [`Options`], such as those that a model of text keeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    /// The fields that make up the text; none leaves them open.
    pub text: Vec<String>,
    /// The fields of the labels; none leaves them open.
    pub labels: Vec<String>,
    /// The field of the document's id.
    pub id: Option<String>,
    /// What stands between two labels.
    pub separator: Option<Separator>,
}

impl Fields {
    /// The flag of the first that is not left open.
    pub fn stated(&self) -> Option<&'static str> {
        let flags = [
            ("--text-column", !self.text.is_empty()),
            ("--label-column", !self.labels.is_empty()),
            ("--id-column", self.id.is_some()),
            ("--label-separator", self.separator.is_some()),
        ];
        flags.into_iter().find(|(_, is_stated)| *is_stated).map(|(flag, _)| flag)
    }

    /// These fields, and those of `base` where they are left open.
    pub fn over(&self, base: &Options) -> Options {
        let text = if self.text.is_empty() { &base.text } else { &self.text };
        let labels = if self.labels.is_empty() { &base.labels } else { &self.labels };
        Options {
            format: base.format,
            text: text.clone(),
            labels: labels.clone(),
            id: self.id.clone().or_else(|| base.id.clone()),
            separator: self.separator.clone().or_else(|| base.separator.clone()),
            live: base.live,
        }
    }

    /// Opens files of documents that follow one after the other, and gives the options that they are
    /// read with. Fields with names are refused for a file that has none.
    pub fn open<'a>(
        &self,
        paths: &[impl AsRef<Path>],
        format: Option<documents::Format>,
        base: &Options,
        labels: Labels,
        task: &'a Task,
    ) -> Result<(Documents<'a>, Options), InputError> {
        let options = self.over(base);
        let documents = Documents::open_all(paths, format, &options, labels, task)?;
        match self.stated() {
            Some(flag)
                if documents.format() == documents::Format::Tsv && flag != "--label-separator" =>
            {
                let reason = format!(
                    "its first line does not name the columns that {flag} asks for: leave it out, or add \
                     --from csv if the first line names others"
                );
                Err(InputError::refused(paths[0].as_ref(), &reason))
            }
            _ => Ok((documents, options)),
        }
    }
}

impl RowOptions {
    /// Reads all rows for a model, with their labels, and warns of what deserves a look. Labels that
    /// a model of text does not know get ids beyond its own.
    pub fn read(&self, path: &Path, model: &Model, task: &Task) -> Result<Dataset, InputError> {
        self.read_noting(path, model, |_| 0, task)
    }

    /// Reads rows like [`read`](Self::read), and shows documents to `note`, which says how many bytes it
    /// keeps of them.
    pub fn read_noting(
        &self,
        path: &Path,
        model: &Model,
        note: impl FnMut(&documents::Batch) -> usize + Send,
        task: &Task,
    ) -> Result<Dataset, InputError> {
        let kind = self.kind(path, model)?;
        let Some(reader) = model.text() else {
            let Read { dataset, format, .. } = read_vectors(path, &self.vectors(kind), task)?;
            Widths::check(path, format, &dataset, Some(dataset.labels.columns()), model);
            return Ok(dataset);
        };
        let (documents, guess) = self.documents(path, kind, reader, Labels::Required, task)?;
        let none = LabelIndex::default();
        let names = model.labels().names().unwrap_or(&none);
        let rows = reader.read_noting(documents, names, note, task);
        rows.map_err(|error| guess.explain(error.into()))
    }

    /// Reads what a model is to learn in addition: rows, a vocabulary with more labels or names, or
    /// both. Labels that the model does not know get ids beyond its own. In a file of vectors they are
    /// numbers, and a vocabulary beside it lists all labels, those of the model first; to what else the
    /// model knows, a vocabulary is [joined](LabelIndex::joined).
    pub fn read_more(
        &self,
        data: Option<&Path>,
        model: &Model,
        vocabulary: Option<&Path>,
        task: &Task,
    ) -> Result<Dataset, InputError> {
        let known = model.labels().names();
        if known.is_none() && vocabulary.is_some() {
            let reason = "--vocabulary: the labels of the model have no names";
            return Err(InputError::Refused(reason.to_owned()));
        }
        let joined = vocabulary.filter(|_| data.is_none() || model.text().is_some());
        let joined = joined.zip(known).map(|(vocabulary, known)| {
            let Vocabulary { labels, warnings } =
                Vocabulary::read(vocabulary, known.language(), task)?;
            warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
            Ok::<_, ReadError>(known.joined(&labels))
        });
        let joined = joined.transpose()?;
        let Some(path) = data else {
            let names = joined.unwrap_or_default();
            let features = Csr::new(model.manifest().features as usize);
            let labels = LabelRows::new(names.len());
            return Ok(Dataset { features, labels, label_names: Some(names), named: None });
        };
        let kind = self.kind(path, model)?;
        let Some(reader) = model.text() else {
            let options = ReadOptions {
                ignore_label_names: known.is_none(),
                vocabulary: vocabulary.map(Path::to_owned),
                language: known.and_then(LabelIndex::language).map(str::to_owned),
                ..self.vectors(kind)
            };
            let Read { dataset, format, .. } = read_vectors(path, &options, task)?;
            Widths::check(path, format, &dataset, None, model);
            return Ok(dataset);
        };
        let (documents, guess) = self.documents(path, kind, reader, Labels::Required, task)?;
        let none = LabelIndex::default();
        let names = joined.as_ref().or(known).unwrap_or(&none);
        let finding = joined.as_ref().map(|names| reader.clone().finding_also(names));
        let rows = finding.as_ref().unwrap_or(reader).read_counting(documents, names, task);
        let (dataset, unknown) = rows.map_err(|error| guess.explain(error.into()))?;
        if unknown > 0 {
            let (terms, are) = if unknown == 1 { ("term", "is") } else { ("terms", "are") };
            tracing::warn!(
                "{}: {unknown} {terms} that the model does not know {are} ignored",
                path.display()
            );
        }
        Ok(dataset)
    }

    /// Reads rows of either kind for their labels, without a model. Labels in text are those of
    /// `known` and new ones, else those of the `vocabulary`, or of a file of label names beside it; `note`
    /// is shown its documents.
    pub fn read_labels(
        &self,
        path: &Path,
        known: Option<&LabelIndex>,
        vocabulary: Option<&Path>,
        note: impl FnMut(&documents::Batch) + Send,
        task: &Task,
    ) -> Result<Dataset, InputError> {
        let kind = Kind::required(path, self.format)?;
        let Some(Kind::Text(_)) = kind else {
            let vocabulary = vocabulary.map(Path::to_owned);
            let ignore_label_names = known.is_some();
            let options = ReadOptions { ignore_label_names, vocabulary, ..self.vectors(kind) };
            return Ok(read_vectors(path, &options, task)?.dataset);
        };
        let names = match known {
            Some(known) => LabelIndexBuilder::new(known),
            None => known_labels(path, vocabulary, None, task)?,
        };
        let base = Options::default();
        let stated = self.format.and_then(Kind::text);
        let (documents, _) = self.fields.open(&[path], stated, &base, Labels::Alone, task)?;
        Ok(read_labels(documents, names, note, task)?)
    }

    pub(super) fn kind(&self, path: &Path, model: &Model) -> Result<Option<Kind>, InputError> {
        match self.fields.stated() {
            Some(flag) if model.text().is_none() => Err(InputError::Refused(format!(
                "{flag} needs text, but the model was trained on vectors"
            ))),
            _ => {
                let trained_on = model.text().map(|reader| reader.options().format);
                Kind::expected(path, self.format, trained_on)
            }
        }
    }

    /// How vectors are read: without the names of their labels.
    pub(super) fn vectors(&self, kind: Option<Kind>) -> ReadOptions {
        ReadOptions {
            format: kind.and_then(Kind::vectors),
            lenient: self.lenient,
            ignore_label_names: true,
            ..ReadOptions::default()
        }
    }

    /// Opens documents that the model's reader is to read.
    pub(super) fn documents<'r>(
        &self,
        path: &Path,
        kind: Option<Kind>,
        reader: &TextReader,
        labels: Labels,
        task: &'r Task,
    ) -> Result<(Documents<'r>, Guess), InputError> {
        let guess = Guess(kind.is_none().then_some(reader.options().format));
        let stated = self.format.and_then(Kind::text);
        let open = |options: &Options| self.fields.open(&[path], stated, options, labels, task);
        // Labels do not matter in what is predicted, which may come line by line.
        let options = Options { live: labels == Labels::Optional, ..reader.options().clone() };
        let opened = open(&options).or_else(|error| {
            // The ids of the training file are no reason to refuse one without.
            let without = Options { id: None, ..options.clone() };
            let has_ids = self.fields.id.is_none() && options.id.is_some();
            let can_be_read_again = path.as_os_str() != "-";
            let again = (has_ids && can_be_read_again).then(|| open(&without).ok()).flatten();
            again.ok_or(error)
        });
        let (documents, _) = opened.map_err(|error| guess.explain(error))?;
        Ok((documents, guess))
    }
}

/// The format of text if only the model tells it.
#[derive(Clone, Copy)]
pub(super) struct Guess(Option<documents::Format>);

impl Guess {
    /// Says which format was expected if the very first line is not of it.
    pub(super) fn explain(self, error: InputError) -> InputError {
        use documents::Format::{Csv, Jsonl};
        match (self.0, error) {
            (
                Some(format @ (Csv | Jsonl)),
                InputError::Read(source @ ReadError::Content { line: 1, .. })
                | InputError::Text(TextError::Read(source @ ReadError::Content { line: 1, .. })),
            ) => InputError::OtherFormat(source, format),
            (_, error) => error,
        }
    }
}

/// Reads a file of vectors, and warns of what deserves a look.
pub fn read_vectors(path: &Path, options: &ReadOptions, task: &Task) -> Result<Read, ReadError> {
    let read = data::read(path, options, task)?;
    for warning in &read.warnings {
        tracing::warn!("{warning}");
    }
    Ok(read)
}
