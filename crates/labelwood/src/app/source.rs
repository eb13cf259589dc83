//! Rows to predict, some at a time.

use super::error::InputError;
use super::rows::{Guess, RowOptions};
use crate::base::run::Task;
use crate::base::sparse::{self, CsrView};
use crate::data::documents::{self, Documents, Labels};
use crate::data::{self, Batches, Dataset};
use crate::model::Model;
use crate::text::TextError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The texts of a batch, at most, where they do not come from a file.
const TEXTS: usize = 16_384;
/// Their bytes, but for the last of them: what a batch of a file has.
const TEXT_BYTES: usize = 8 << 20;

/// The rows to predict, a batch at a time, in order: those of a file that [`RowOptions::open`] opens,
/// or texts.
///
/// ```
/// use labelwood::app::RowSource;
/// use labelwood::data::documents::{Documents, Format, Labels, Options};
/// use labelwood::model::{Model, TrainOptions};
/// use labelwood::sparse::Query;
/// use labelwood::text::{Params, TextReader};
/// let (task, options) = (labelwood::run::Pool::new(1)?.task(), Options::default());
/// let text = b"old owls\tbirds\ngrey owls\tbirds\nold atlas\tmaps\nan atlas\tmaps\n";
/// let documents = Documents::from_bytes(text, "f", Format::Tsv, &options, Labels::Required, &task)?;
/// let (reader, rows) =
///     TextReader::fit(documents, &options, Params::default(), Default::default(), &task)?;
/// let settings = labelwood::Settings::named("one-vs-rest").expect("it is an algorithm");
/// let options = TrainOptions { text: Some(&reader), ..Default::default() };
/// let model = Model::train(rows.view(), options, &settings, &task)?;
///
/// let texts = ["an owl", "owls", "the atlas"].map(str::to_owned);
/// let mut source = RowSource::texts(texts, &model, &task)?;
/// let batch = source.next_batch()?.expect("there are texts");
/// assert_eq!(batch.rows.view().len(), 3);
/// let best = model.predict(batch.rows.view(), Query::top(1), &task)?;
/// assert_eq!(model.labels().name(best.row(2)[0].id), Some("maps"));
/// assert!(source.next_batch()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RowSource<'m> {
    rows: Rows<'m>,
    model: &'m Model,
    task: &'m Task,
    unknown: usize,
}

enum Rows<'m> {
    Vectors(PathBuf, Box<Batches<'static>>, Widths<'m>),
    Documents(Box<Documents<'m>>, Guess),
    Texts(Box<dyn Iterator<Item = String> + 'm>),
}

/// Some rows.
pub struct RowBatch {
    /// What the model predicts from.
    pub rows: sparse::Rows,
    /// The documents they were made of, if they are text.
    pub documents: Option<documents::Batch>,
}

impl RowOptions {
    /// Opens a data file, or standard input for `-`, whose rows `model` is to predict, a batch at a
    /// time. A batch of standard input is what has arrived of it, so that rows can be answered before more
    /// of them come.
    pub fn open<'m>(
        &self,
        path: &Path,
        model: &'m Model,
        task: &'m Task,
    ) -> Result<RowSource<'m>, InputError> {
        let kind = self.kind(path, model)?;
        let rows = match model.text() {
            Some(reader) => {
                let (documents, guess) =
                    self.documents(path, kind, reader, Labels::Optional, task)?;
                Rows::Documents(Box::new(documents), guess)
            }
            None => {
                let options = data::ReadOptions { live: true, ..self.vectors(kind) };
                let batches = Batches::open(path, &options, task)?;
                let widths = Widths::new(batches.format(), model);
                Rows::Vectors(path.to_owned(), Box::new(batches), widths)
            }
        };
        Ok(RowSource { rows, model, task, unknown: 0 })
    }
}

impl<'m> RowSource<'m> {
    /// Texts that `model`, which must be one of text, is to predict; they are taken as they are
    /// needed.
    pub fn texts(
        texts: impl IntoIterator<Item = String, IntoIter: 'm>,
        model: &'m Model,
        task: &'m Task,
    ) -> Result<Self, InputError> {
        if model.text().is_none() {
            return Err(TextError::TrainedOnVectors.into());
        }
        let rows = Rows::Texts(Box::new(texts.into_iter()));
        Ok(RowSource { rows, model, task, unknown: 0 })
    }

    /// How many rows there will be, if the file says so and is held to it.
    pub fn declared_rows(&self) -> Option<u64> {
        match &self.rows {
            Rows::Vectors(_, batches, _) => batches.declared_rows(),
            Rows::Documents(..) | Rows::Texts(_) => None,
        }
    }

    /// The same rows, with all fields of their documents.
    #[must_use]
    pub fn keeping_fields(self) -> Self {
        let rows = match self.rows {
            Rows::Documents(documents, guess) => {
                Rows::Documents(Box::new(documents.keeping_fields()), guess)
            }
            other => other,
        };
        RowSource { rows, ..self }
    }

    /// The first line, if the rows come from a table.
    pub fn header(&self) -> Option<&documents::Header> {
        match &self.rows {
            Rows::Documents(documents, _) => documents.header(),
            Rows::Vectors(..) | Rows::Texts(_) => None,
        }
    }

    /// How many texts so far have no word that the model knows. It says nothing of them.
    pub fn unknown(&self) -> usize {
        self.unknown
    }

    /// The next rows. At the end, warnings tell what deserves a look.
    pub fn next_batch(&mut self) -> Result<Option<RowBatch>, InputError> {
        let batch = self.read_batch()?;
        if let Some(rows) = batch.as_ref().map(|batch| batch.rows.view())
            && self.model.text().is_some()
        {
            self.unknown += (0..rows.len()).filter(|&row| rows.is_unknown(row)).count();
        }
        Ok(batch)
    }

    fn read_batch(&mut self) -> Result<Option<RowBatch>, InputError> {
        match &mut self.rows {
            Rows::Vectors(path, batches, widths) => {
                if let Some(batch) = batches.next(self.task)? {
                    widths.see(batch.features.view());
                    let matches = batch.named.map(|named| named.matches);
                    let rows = sparse::Rows { features: batch.features, matches };
                    return Ok(Some(RowBatch { rows, documents: None }));
                }
                for warning in batches.warnings() {
                    tracing::warn!("{warning}");
                }
                widths.warn(path, batches.features(), None);
                Ok(None)
            }
            Rows::Documents(documents, guess) => {
                let next = documents.next_batch().map_err(|error| guess.explain(error.into()));
                let Some(batch) = next? else { return Ok(None) };
                let texts: Vec<&str> = batch.texts().collect();
                let rows = self.model.read_texts(&texts, self.task)?;
                Ok(Some(RowBatch { rows, documents: Some(batch) }))
            }
            Rows::Texts(texts) => {
                let (mut batch, mut bytes) = (Vec::new(), 0);
                while batch.len() < TEXTS
                    && bytes < TEXT_BYTES
                    && let Some(text) = texts.next()
                {
                    bytes += text.len();
                    batch.push(text);
                }
                if batch.is_empty() {
                    return Ok(None);
                }
                let rows = self.model.read_texts(&batch, self.task)?;
                let documents = Some(documents::Batch::of_texts(&batch));
                Ok(Some(RowBatch { rows, documents }))
            }
        }
    }
}

/// Where the widths of a file are not the model's.
pub(super) struct Widths<'m> {
    format: data::Format,
    model: &'m Model,
    /// The columns with an entry that the model does not know.
    unknown: BTreeSet<u32>,
}

impl<'m> Widths<'m> {
    fn new(format: data::Format, model: &'m Model) -> Self {
        Widths { format, model, unknown: BTreeSet::new() }
    }

    /// Warns if a whole file has other widths than the model; those of labels count if given.
    pub(super) fn check(
        path: &Path,
        format: data::Format,
        rows: &Dataset,
        labels: Option<usize>,
        model: &'m Model,
    ) {
        let mut widths = Widths::new(format, model);
        widths.see(rows.features.view());
        widths.warn(path, rows.features.columns(), labels);
    }

    /// Looks through some rows for columns that the model does not know.
    fn see(&mut self, features: CsrView<'_>) {
        let known = self.model.manifest().features;
        if features.columns() as u64 > known {
            let unknown = features.indices().iter().filter(|&&column| u64::from(column) >= known);
            self.unknown.extend(unknown);
        }
    }

    /// Warns of a file with that many features and, if they matter, labels. A LIBSVM file does not
    /// declare any, so there only ids beyond the model's count.
    fn warn(&self, path: &Path, features: usize, labels: Option<usize>) {
        let manifest = self.model.manifest();
        let differs = |found: usize, known: u64| match self.format {
            data::Format::Libsvm => found as u64 > known,
            _ => found as u64 != known,
        };
        let mut widths = Vec::new();
        for (what, found, known) in
            [("features", Some(features), manifest.features), ("labels", labels, manifest.labels)]
        {
            if let Some(found) = found.filter(|&found| differs(found, known)) {
                widths.push(format!("{found} {what} where the model has {known}"));
            }
        }
        if widths.is_empty() {
            return;
        }
        let ignored = match self.unknown.len() {
            0 => String::new(),
            1 => "; 1 feature that the model does not know is ignored".to_owned(),
            some => format!("; {some} features that the model does not know are ignored"),
        };
        tracing::warn!("{}: {}{ignored}", path.display(), widths.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::Settings;
    use crate::base::run::Pool;
    use crate::data::LabelIndexBuilder;
    use crate::data::documents::{Format, Options};
    use crate::model::TrainOptions;
    use crate::text::{Params, TextReader};

    /// A model of text, or one of the same vectors.
    fn model(is_text: bool, task: &Task) -> Model {
        let options = Options::default();
        let text = b"old owls\tbirds\ngrey owls\tbirds\nold atlas\tmaps\nan atlas\tmaps\n";
        let documents =
            Documents::from_bytes(text, "f", Format::Tsv, &options, Labels::Required, task)
                .unwrap();
        let names = LabelIndexBuilder::default();
        let (reader, rows) =
            TextReader::fit(documents, &options, Params::default(), names, task).unwrap();
        let settings = Settings::named("one-vs-rest").unwrap();
        let options = TrainOptions { text: is_text.then_some(&reader), ..Default::default() };
        Model::train(rows.view(), options, &settings, task).unwrap()
    }

    #[test]
    fn texts_come_in_batches_of_bounded_size() {
        let task = Pool::new(1).unwrap().task();
        let model = model(true, &task);
        let sizes = |texts: Vec<String>| {
            let mut source = RowSource::texts(texts, &model, &task).unwrap();
            let mut sizes = Vec::new();
            while let Some(batch) = source.next_batch().unwrap() {
                sizes.push(batch.rows.view().len());
            }
            sizes
        };
        assert_eq!(sizes(Vec::new()), [0; 0]);
        assert_eq!(sizes(vec!["an owl".to_owned(); TEXTS + 3]), [TEXTS, 3]);
        let long = "owls and more ".repeat(TEXT_BYTES / 14 + 1);
        assert_eq!(sizes(vec![long, "an owl".to_owned()]), [1, 1]);
    }

    #[test]
    fn a_file_of_lines_has_the_rows_of_its_texts() {
        let task = Pool::new(1).unwrap().task();
        let model = model(true, &task);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        std::fs::write(&path, "grey owls\nan old atlas\tmaps\n\nnothing known\n").unwrap();
        let mut source = RowOptions::default().open(&path, &model, &task).unwrap();
        let batch = source.next_batch().unwrap().unwrap();
        assert_eq!(batch.documents.unwrap().len(), 4);
        let texts = ["grey owls", "an old atlas", "", "nothing known"].map(str::to_owned);
        let mut source = RowSource::texts(texts, &model, &task).unwrap();
        assert_eq!(source.next_batch().unwrap().unwrap().rows, batch.rows);
    }

    #[test]
    fn texts_for_a_model_of_vectors_are_refused() {
        let task = Pool::new(1).unwrap().task();
        let model = model(false, &task);
        let refused = RowSource::texts([String::new()], &model, &task).err().unwrap();
        assert!(matches!(refused, InputError::Text(TextError::TrainedOnVectors)), "{refused:?}");
        let options = RowOptions::default();
        let refused = options.open("rows.tsv".as_ref(), &model, &task).err().unwrap();
        assert!(refused.to_string().starts_with("rows.tsv: this is text, but"), "{refused:?}");
    }
}
