//! `--report FILE`: the page that `evaluate` and `train` write of a test.

use std::path::Path;

use anyhow::Result;
use labelwood::data::documents::Batch;
use labelwood::data::{LabelIndex, write_atomically};
use labelwood::metrics::{Evaluation, Metrics};
use labelwood::model::Model;
use labelwood::report::{Page, RowText, Study};
use labelwood::run::{Bytes, Spent};
use labelwood::words::plural;

/// How many characters of a text are kept, which is more than a page shows.
const TEXT: usize = 400;

/// What people call rows of text: their ids and, for a report, how they begin. Rows of vectors have none.
#[derive(Default)]
pub struct RowNotes {
    /// The ids of documents that have some.
    pub ids: Vec<Option<String>>,
    texts: Vec<Box<str>>,
    keeps_texts: bool,
    bytes: usize,
}

impl RowNotes {
    /// Notes on no rows yet.
    pub fn new(keeps_texts: bool) -> Self {
        RowNotes { keeps_texts, ..RowNotes::default() }
    }

    /// Takes the next rows; gives the bytes that are kept of all.
    pub fn add(&mut self, batch: &Batch) -> usize {
        for (row, text) in batch.texts().enumerate() {
            let id = batch.id(row).map(str::to_owned);
            self.bytes += size_of::<Option<String>>() + id.as_ref().map_or(0, String::len);
            self.ids.push(id);
            if self.keeps_texts {
                let end = text.char_indices().nth(TEXT).map_or(text.len(), |(end, _)| end);
                let text = &text[..end];
                self.bytes += size_of::<Box<str>>() + text.len();
                self.texts.push(text.into());
            }
        }
        self.bytes
    }

    /// Notes on so many rows, those of vectors included.
    pub fn of_rows(mut self, rows: usize) -> Self {
        self.ids.resize(rows, None);
        self
    }

    /// Those on the chosen rows, in their order.
    pub fn select(&self, chosen: &[usize]) -> Self {
        let text = |&row: &usize| self.texts.get(row).cloned();
        RowNotes {
            ids: chosen.iter().map(|&row| self.ids[row].clone()).collect(),
            texts: chosen.iter().filter_map(text).collect(),
            ..*self
        }
    }

    fn of(&self, row: usize) -> RowText<'_> {
        let id = self.ids.get(row).and_then(Option::as_deref);
        RowText { id, text: self.texts.get(row).map(|text| &**text) }
    }
}

/// A test that a page is written of.
pub struct Tested<'a> {
    /// What was tested with what.
    pub title: String,
    pub evaluation: &'a Evaluation<'a>,
    /// The figures of the most frequent labels.
    pub popular: &'a Metrics,
    pub threshold: Option<f32>,
    pub has_scores: bool,
    pub names: Option<&'a LabelIndex>,
    pub notes: &'a RowNotes,
    pub facts: Vec<(&'a str, String)>,
    pub stages: &'a [(&'static str, Spent)],
    pub seed: u64,
}

impl Tested<'_> {
    /// Writes the page to a file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let study = Study::of(self.evaluation, self.threshold, self.has_scores, self.seed);
        let page = Page {
            title: &self.title,
            study: &study,
            popular: Some(self.popular),
            name: &|label| {
                let names = self.names.filter(|names| (label as usize) < names.len())?;
                Some(names.display(label))
            },
            row: &|row| self.notes.of(row),
            facts: &self.facts,
            stages: self.stages,
        };
        Ok(write_atomically(path, |output| write!(output, "{page}"))?)
    }
}

/// The last part of a path, which is what people call a file.
pub fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// What a report says of a model.
pub fn facts_of(model: &Model) -> Vec<(&'static str, String)> {
    let manifest = model.manifest();
    let (rows, labels) = (plural(manifest.instances, "row"), plural(manifest.labels, "label"));
    let features = plural(manifest.features, "feature");
    vec![
        ("algorithm", manifest.training.algorithm.clone()),
        ("learned from", format!("{rows} with {features} and {labels}")),
        ("size of the model", Bytes(manifest.bytes()).to_string()),
    ]
}
