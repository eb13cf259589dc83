//! Fitting to texts and to the names of their labels.
//!
//! A name is a short text about its label. So the names are read as texts, after all others: a row for each
//! label, from which linear classifiers learn. And each text is searched for the names of all labels. These are
//! known only once the last text is read, so the stems of all words are kept until then.

use super::fit::Fitting;
use super::matching::{Matcher, divided_at_case, names_of};
use super::params::{Language, Params};
use super::reader::{TextError, TextReader};
use super::stems::Stems;
use super::vectorise::Vectoriser;
use crate::base::run::Task;
use crate::base::settings::ParamError;
use crate::base::sparse::{Csr, LabelRows};
use crate::data::documents::Options;
use crate::data::{Dataset, LabelIndex, Named};
use std::sync::Arc;

/// Learns how texts become rows, and what the names of labels tell of them.
pub(super) struct NamedFitting {
    fitting: Fitting,
    stems: Stems,
    /// The language of the words; known once there was a text.
    language: Option<Option<Language>>,
}

/// What fitting leaves.
pub(super) struct Fitted {
    pub vectoriser: Vectoriser,
    pub features: Csr,
    /// Nothing if no label has a name that could be found.
    pub named: Option<Named>,
    pub matcher: Arc<Matcher>,
}

impl NamedFitting {
    pub(super) fn new(params: Params) -> Result<Self, ParamError> {
        let fitting = Fitting::new(params)?;
        Ok(NamedFitting { fitting, stems: Stems::default(), language: None })
    }

    /// Adds texts. `meter` gets the memory that all texts so far take, and may refuse it.
    pub(super) fn add<T: AsRef<str> + Sync>(
        &mut self,
        texts: &[T],
        task: &Task,
        mut meter: impl FnMut(usize) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        if texts.is_empty() {
            return Ok(());
        }
        let settle = || self.fitting.settle(|| Language::guess(texts));
        let language = *self.language.get_or_insert_with(settle);
        self.stems.append(&Stems::read(texts, language, task)?);
        let stems = self.stems.bytes();
        self.fitting.add_metered(texts, task, |bytes| meter(bytes + stems))
    }

    /// Ends the texts, whose labels are these; at least one term must be kept.
    pub(super) fn finish(mut self, labels: &LabelIndex, task: &Task) -> Result<Fitted, TextError> {
        let documents = self.fitting.len();
        let language = match documents {
            0 => self.fitting.settle(|| language_of(labels)),
            _ => self.language.flatten(),
        };
        let wordless = self.fitting.why_wordless();
        let matcher = Matcher::new(labels, language);
        if !matcher.is_empty() {
            self.fitting.add(&texts_of(labels), task)?;
        }
        let (vectoriser, mut features, why) = self.fitting.finish_or_why(task)?;
        if let Some(why) = why.filter(|_| documents > 0) {
            let why = wordless.unwrap_or_else(|| why.of(documents));
            return Err(TextError::NoTerms(Box::new(why)));
        }
        let named = match matcher.is_empty() {
            true => None,
            false => {
                let names = features.split_off(documents);
                Some(Named { names, matches: matcher.find_stems(&self.stems, task)? })
            }
        };
        Ok(Fitted { vectoriser, features, named, matcher: Arc::new(matcher) })
    }
}

/// The language of names, for want of texts: what the vocabulary says, else a guess.
fn language_of(labels: &LabelIndex) -> Option<Language> {
    let names = || (0..labels.len() as u32).flat_map(|label| names_of(labels, label));
    labels.language().and_then(Language::of_tag).or_else(|| Language::guess(names()))
}

/// The names of each label as a text.
pub(super) fn texts_of(labels: &LabelIndex) -> Vec<String> {
    (0..labels.len() as u32).map(|label| text_of(labels, label)).collect()
}

/// The names of a label as a text: words that consist of several are there in one piece and divided.
fn text_of(labels: &LabelIndex, label: u32) -> String {
    let mut text = String::new();
    for name in names_of(labels, label) {
        text.extend([name, " "]);
        for word in name.split_whitespace() {
            let divided = divided_at_case(word);
            let pieces = divided.as_deref().unwrap_or(word);
            if divided.is_some() || pieces.contains('_') {
                text.extend([&*pieces.replace('_', " "), " "]);
            }
        }
    }
    text
}

/// Learns from texts that are at hand, with their labels and the names of these.
///
/// ```
/// use labelwood::data::LabelIndex;
/// use labelwood::run::Pool;
/// use labelwood::sparse::LabelRows;
/// use labelwood::text::{Params, learn};
/// let task = Pool::new(1)?.task();
/// let labels = LabelRows::try_new(2, vec![0, 1, 2], vec![1, 0], vec![(), ()])?;
/// let names = LabelIndex::from_lines(["maps", "birds"]);
/// let texts = ["old birds", "an old map of birds"];
/// let (reader, dataset) = learn(&texts, labels, names, Default::default(), Params::default(), &task)?;
/// assert_eq!(reader.vectoriser().terms().collect::<Vec<_>>(), ["birds", "old"]);
/// let named = dataset.named.expect("labels have names");
/// assert_eq!(named.names.row(1).indices, [0]);
/// assert_eq!(named.matches.row(1).indices, [1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn learn<T: AsRef<str> + Sync>(
    texts: &[T],
    labels: LabelRows,
    names: LabelIndex,
    options: Options,
    params: Params,
    task: &Task,
) -> Result<(TextReader, Dataset), TextError> {
    let mut fitting = NamedFitting::new(params)?;
    fitting.add(texts, task, |_| Ok(()))?;
    let Fitted { vectoriser, features, named, matcher } = fitting.finish(&names, task)?;
    let reader = TextReader::new(options, vectoriser, matcher.language()).finding(matcher);
    Ok((reader, Dataset { features, labels, label_names: Some(names), named }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_name_that_consist_of_several_are_divided_too() {
        let labels =
            LabelIndex::from_lines(["a\told maps\tseaChart", "house_cat", "http://x/y", "17"]);
        assert_eq!(
            texts_of(&labels),
            ["old maps seaChart sea Chart ", "house_cat house cat ", "", ""]
        );
    }
}
