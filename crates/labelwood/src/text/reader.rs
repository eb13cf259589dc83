//! Turns documents into rows. A model that was trained on text keeps a [`TextReader`].

use super::matching::Matcher;
use super::named::{Fitted, NamedFitting, texts_of};
use super::no_terms::NoTerms;
use super::params::{Language, Params};
use super::terms::MOST;
use super::vectorise::Vectoriser;
use crate::base::run::{Stopped, Task};
use crate::base::settings::ParamError;
use crate::base::sparse::{Csr, CsrView, LabelRows, Rows};
use crate::data::documents::{Batch, Documents, Options};
use crate::data::source::MemoryMeter;
use crate::data::{Dataset, LabelIndex, LabelIndexBuilder, Named, ReadError};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;
use thiserror::Error;

/// Reads documents always in the same way: the same fields, and the same columns for their words.
///
/// ```
/// use labelwood::data::documents::{Documents, Format, Labels, Options};
/// use labelwood::run::Pool;
/// use labelwood::text::{Params, TextReader};
/// let task = Pool::new(1)?.task();
/// let (options, names) = (Options::default(), Default::default());
/// let documents = |text: &'static str| {
///     Documents::from_bytes(text.as_bytes(), "f", Format::Tsv, &options, Labels::Required, &task)
/// };
/// let training = documents("old maps\tmaps,old\nold books\told\nnew maps\tmaps\n")?;
/// let (reader, dataset) = TextReader::fit(training, &options, Params::default(), names, &task)?;
/// assert_eq!(dataset.labels.row(1).indices, [1]);
/// assert_eq!(reader.options().separator.as_ref().and_then(|it| it.text()), Some(","));
///
/// let names = dataset.label_names.as_ref().unwrap();
/// let test = reader.read(documents("old birds\told,birds\n")?, names, &task)?;
/// assert_eq!((test.features.row(0).indices, test.labels.row(0).indices), (&[1][..], &[1, 2][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TextReader {
    options: Options,
    vectoriser: Vectoriser,
    /// The language of the texts, in which words are stemmed that may be those of a name.
    language: Option<Language>,
    /// Finds the names of labels, if somebody wants to know them.
    matcher: Option<Arc<Matcher>>,
}

/// The settings of a [`TextReader`], as a model's manifest keeps them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextSettings {
    /// Which fields of a file are read.
    pub documents: Options,
    /// How text becomes rows.
    pub vectoriser: Params,
    /// The language of the texts, in which names of labels are looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

/// Why documents could not become rows.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TextError {
    /// The file could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A setting is impossible.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// There are too many different terms.
    #[error(
        "the text has more than {MOST} different terms; use shorter n-grams, or hashing, which keeps no \
         terms"
    )]
    TooManyTerms,
    /// The work was cancelled.
    #[error("{0}")]
    Stopped(#[from] Stopped),
    /// There are texts for a model that knows nothing of text.
    #[error("the model was trained on vectors: give it rows, not text")]
    TrainedOnVectors,
    /// No term is left after all settings.
    #[error("{0}")]
    NoTerms(Box<NoTerms>),
}

/// Whether both read texts in the same way, whatever labels they know.
impl PartialEq for TextReader {
    fn eq(&self, other: &Self) -> bool {
        self.settings() == other.settings() && self.vectoriser == other.vectoriser
    }
}

impl TextReader {
    /// A reader of texts in a language, which does not look for names of labels.
    pub fn new(options: Options, vectoriser: Vectoriser, language: Option<Language>) -> Self {
        TextReader { options, vectoriser, language, matcher: None }
    }

    /// The same reader, which finds names of labels.
    pub(super) fn finding(self, matcher: Arc<Matcher>) -> Self {
        TextReader { matcher: Some(matcher).filter(|matcher| !matcher.is_empty()), ..self }
    }

    /// The same reader, which finds the names of these labels if it finds names at all.
    pub(crate) fn finding_also(self, labels: &LabelIndex) -> Self {
        if self.matcher.is_some() { self.finding_names(labels) } else { self }
    }

    /// The same reader, which finds the names of these labels.
    pub(crate) fn finding_names(self, labels: &LabelIndex) -> Self {
        let matcher = Matcher::new(labels, self.language);
        self.finding(Arc::new(matcher))
    }

    /// Learns from documents, which were opened with the same `options`; gives their rows too.
    ///
    /// Labels get their ids in the order in which they are met, after those of `names`. The format
    /// of the documents is kept, and so is what separates labels, be it stated or decided on them.
    pub fn fit(
        mut documents: Documents<'_>,
        options: &Options,
        params: Params,
        names: LabelIndexBuilder,
        task: &Task,
    ) -> Result<(Self, Dataset), TextError> {
        let mut fitting = NamedFitting::new(params)?;
        let mut meter = documents.meter();
        let mut labels = LabelCollector::new(names, &documents);
        for_each_batch(&mut documents, task, |batch| {
            labels.add(batch)?;
            let texts: Vec<_> = batch.texts().collect();
            fitting.add(&texts, task, |bytes| Ok(meter.set(bytes)?))
        })?;
        let mut dataset = labels.finish();
        let known = dataset.label_names.as_ref().expect("labels of documents have names");
        let Fitted { vectoriser, features, named, matcher } = fitting.finish(known, task)?;
        meter.keep();
        (dataset.features, dataset.named) = (features, named);
        let separator = documents.separator().cloned();
        let options = Options { format: documents.format(), separator, ..options.clone() };
        let reader = Self::new(options, vectoriser, matcher.language()).finding(matcher);
        Ok((reader, dataset))
    }

    /// Reads all of some documents. Labels that `names` does not know get ids beyond it.
    pub fn read(
        &self,
        documents: Documents<'_>,
        names: &LabelIndex,
        task: &Task,
    ) -> Result<Dataset, TextError> {
        self.read_noting(documents, names, |_| 0, task)
    }

    /// Reads documents like [`read`](Self::read), and counts the different terms that are not known.
    ///
    /// ```
    /// use labelwood::data::documents::{Documents, Format, Labels, Options};
    /// use labelwood::run::Pool;
    /// use labelwood::text::{Params, TextReader};
    /// let (task, options) = (Pool::new(1)?.task(), Options::default());
    /// let documents = |text: &'static str| {
    ///     Documents::from_bytes(text.as_bytes(), "f", Format::Tsv, &options, Labels::Required, &task)
    /// };
    /// let training = documents("old maps\tmaps\nold maps\told\n")?;
    /// let (reader, _) = TextReader::fit(training, &options, Params::default(), Default::default(), &task)?;
    /// let more = documents("old birds\told\nnew birds\tbirds\n")?;
    /// let (rows, unknown) = reader.read_counting(more, &Default::default(), &task)?;
    /// assert_eq!((rows.len(), unknown), (2, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_counting(
        &self,
        documents: Documents<'_>,
        names: &LabelIndex,
        task: &Task,
    ) -> Result<(Dataset, usize), TextError> {
        let mut unknown = HashSet::new();
        let note = |batch: &Batch| {
            self.vectoriser.note_unknown(batch.texts(), &mut unknown);
            2 * size_of::<u64>() * unknown.capacity()
        };
        let dataset = self.read_noting(documents, names, note, task)?;
        Ok((dataset, unknown.len()))
    }

    /// Reads documents like [`read`](Self::read), and shows them to `note`, which says how many bytes it
    /// keeps of them.
    pub fn read_noting(
        &self,
        mut documents: Documents<'_>,
        names: &LabelIndex,
        mut note: impl FnMut(&Batch) -> usize + Send,
        task: &Task,
    ) -> Result<Dataset, TextError> {
        let mut meter = documents.meter();
        let mut labels = LabelCollector::new(LabelIndexBuilder::new(names), &documents);
        let mut all = self.rows::<&str>(&[], task)?;
        for_each_batch(&mut documents, task, |batch| {
            labels.add(batch)?;
            let noted = note(batch);
            all.append(self.rows(&batch.texts().collect::<Vec<_>>(), task)?.view());
            Ok(meter.set(noted + all.bytes())?)
        })?;
        meter.keep();
        let Rows { features, matches } = all;
        let no_names = || Csr::new(features.columns());
        let named = matches.map(|matches| Named { names: no_names(), matches });
        Ok(Dataset { named, features, ..labels.finish() })
    }

    /// The rows of some texts.
    pub fn rows<T: AsRef<str> + Sync>(&self, texts: &[T], task: &Task) -> Result<Rows, Stopped> {
        let find = |matcher: &Arc<Matcher>| matcher.find(texts, task);
        Ok(Rows {
            features: self.vectoriser.transform(texts, task)?,
            matches: self.matcher.as_ref().map(find).transpose()?,
        })
    }

    /// The names of each label as a row, like a text; it is empty where there is none.
    pub(crate) fn rows_of_names(&self, labels: &LabelIndex, task: &Task) -> Result<Csr, Stopped> {
        self.vectoriser.transform(&texts_of(labels), task)
    }

    /// Which fields of a file are read, and what separates labels.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// How text becomes rows.
    pub fn vectoriser(&self) -> &Vectoriser {
        &self.vectoriser
    }

    /// The language of the texts, if it is known.
    pub fn language(&self) -> Option<Language> {
        self.language
    }

    /// Whether names of labels are found in texts.
    pub fn finds_names(&self) -> bool {
        self.matcher.is_some()
    }

    /// The settings of both.
    pub fn settings(&self) -> TextSettings {
        let vectoriser = self.vectoriser.params().clone();
        TextSettings { documents: self.options.clone(), vectoriser, language: self.language }
    }
}

/// Reads only the labels of documents: the rows have no features. Labels that `names` does not know
/// get ids beyond it. `note` is called with every batch.
///
/// ```
/// use labelwood::data::documents::{Documents, Format, Labels, Options};
/// use labelwood::run::Pool;
/// let (task, options) = (Pool::new(1)?.task(), Options::default());
/// let text = b"old maps\tmaps,old\nold books\told\n";
/// let documents = Documents::from_bytes(text, "f", Format::Tsv, &options, Labels::Required, &task)?;
/// let rows = labelwood::text::read_labels(documents, Default::default(), |_| (), &task)?;
/// assert_eq!((rows.len(), rows.labels.row(1).indices), (2, &[1][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_labels(
    mut documents: Documents<'_>,
    names: LabelIndexBuilder,
    mut note: impl FnMut(&Batch) + Send,
    task: &Task,
) -> Result<Dataset, TextError> {
    let mut labels = LabelCollector::new(names, &documents);
    for_each_batch(&mut documents, task, |batch| {
        note(batch);
        labels.add(batch)
    })?;
    Ok(labels.finish())
}

/// How many documents have no term that another document has, if these are most of at least ten.
///
/// Such documents teach nothing about others. Where words are not separated by spaces, as in Chinese,
/// [`Tokens::Word`](super::Tokens::Word) takes a whole sentence for one word, and most documents are like that.
///
/// ```
/// use labelwood::run::Pool;
/// use labelwood::text::{Fitting, Params, mostly_unshared};
/// let task = Pool::new(1)?.task();
/// let texts: Vec<String> = (0..10).map(|at| format!("word{} sentence{at}", at / 2)).collect();
/// let unshared = |params| -> Result<_, Box<dyn std::error::Error>> {
///     let mut fitting = Fitting::new(params)?;
///     fitting.add(&texts, &task)?;
///     Ok(mostly_unshared(fitting.finish(&task)?.1.view()))
/// };
/// assert_eq!(unshared(Params::default())?, None);
/// assert_eq!(unshared(Params { word_ngrams: Some((2, 2)), ..Params::default() })?, Some(10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mostly_unshared(rows: CsrView<'_>) -> Option<usize> {
    let counts = rows.column_counts();
    let is_unshared = |indices: &[u32]| indices.iter().all(|&column| counts[column as usize] < 2);
    let unshared = rows.rows().filter(|row| is_unshared(row.indices)).count();
    (rows.len() >= 10 && 2 * unshared > rows.len()).then_some(unshared)
}

/// Calls `take` with every batch, and reads the next one meanwhile.
pub(super) fn for_each_batch(
    documents: &mut Documents<'_>,
    task: &Task,
    mut take: impl FnMut(&Batch) -> Result<(), TextError> + Send,
) -> Result<(), TextError> {
    let mut next = documents.next_batch()?;
    while let Some(batch) = next {
        let (following, taken) =
            task.install(|| rayon::join(|| documents.next_batch(), || take(&batch)));
        taken?;
        next = following?;
    }
    Ok(())
}

/// Collects the labels of documents and gives them ids.
struct LabelCollector {
    names: LabelIndexBuilder,
    offsets: Vec<u64>,
    ids: Vec<u32>,
    meter: MemoryMeter,
}

impl LabelCollector {
    fn new(names: LabelIndexBuilder, documents: &Documents<'_>) -> Self {
        LabelCollector { names, offsets: vec![0], ids: Vec::new(), meter: documents.meter() }
    }

    fn add(&mut self, batch: &Batch) -> Result<(), TextError> {
        let mut row_ids = Vec::new();
        for row in 0..batch.len() {
            row_ids.clear();
            row_ids.extend(batch.labels(row).map(|label| self.names.id(label)));
            row_ids.sort_unstable();
            row_ids.dedup();
            self.ids.extend_from_slice(&row_ids);
            self.offsets.push(self.ids.len() as u64);
            let rows = 4 * self.ids.len() + 8 * self.offsets.len();
            self.meter.set(rows + self.names.bytes())?;
        }
        Ok(())
    }

    /// The labels of rows that have no features.
    fn finish(self) -> Dataset {
        self.meter.keep();
        let no_features = vec![0; self.offsets.len()];
        let features = Csr::try_new(0, no_features, Vec::new(), Vec::new());
        let features = features.expect("rows may be empty");
        let no_values = vec![(); self.ids.len()];
        let labels = LabelRows::try_new(self.names.len(), self.offsets, self.ids, no_values)
            .expect("ids are sorted, single and known");
        Dataset { features, labels, label_names: Some(self.names.finish()), named: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use crate::data::documents::{Format, Labels};

    fn documents<'a>(text: &'a str, options: &Options, task: &'a Task) -> Documents<'a> {
        let required = Labels::Required;
        Documents::from_bytes(text.as_bytes(), "f", Format::Tsv, options, required, task).unwrap()
    }

    #[test]
    fn labels_are_numbered_as_they_are_met_and_those_of_a_list_first() {
        let task = Pool::new(2).unwrap().task();
        let options = Options::default();
        let text = "a bird\tp2 p1 p2\na bird\t\nthe bird\tp9\n";
        let fit = |names| {
            let documents = documents(text, &options, &task);
            TextReader::fit(documents, &options, Params::default(), names, &task).unwrap().1
        };
        let dataset = fit(LabelIndexBuilder::default());
        let rows: Vec<&[u32]> = dataset.labels.rows().map(|row| row.indices).collect();
        assert_eq!(rows, [&[0, 1][..], &[], &[2]]);
        let lines = ["p2", "p1", "p9"];
        assert_eq!(dataset.label_names, Some(LabelIndex::from_lines(lines)));
        let known = LabelIndex::from_lines(["p0\tbirds", "p1\tcats"]);
        let dataset = fit(LabelIndexBuilder::new(&known));
        let rows: Vec<&[u32]> = dataset.labels.rows().map(|row| row.indices).collect();
        assert_eq!(rows, [&[1, 2][..], &[], &[3]]);
        assert_eq!(dataset.labels.columns(), 4);
    }

    #[test]
    fn documents_without_a_common_term_are_refused_with_the_remedy() {
        let task = Pool::new(1).unwrap().task();
        let options = Options::default();
        let fit = |text, params| {
            let documents = documents(text, &options, &task);
            TextReader::fit(documents, &options, params, LabelIndexBuilder::default(), &task)
        };
        let error = fit("one line\tx\n", Params::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no term of the 1 document is kept: too few documents have the same one: give more text, \
             or set min_df to 1"
        );
        let params = Params { min_df: super::super::Frequency::Count(1), ..Params::default() };
        assert_eq!(fit("one line\tx\n", params).unwrap().1.features.columns(), 2);
    }

    #[test]
    fn errors_of_the_file_come_through() {
        let task = Pool::new(1).unwrap().task();
        let options = Options::default();
        let documents = documents("no labels\n", &options, &task);
        let names = LabelIndexBuilder::default();
        let error = TextReader::fit(documents, &options, Params::default(), names, &task);
        assert!(matches!(error, Err(TextError::Read(ReadError::Content { line: 1, .. }))));
    }
}
