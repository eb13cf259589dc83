//! The rows to learn from and to test with: vectors, or text that becomes vectors.

use std::path::Path;

use anyhow::{Result, bail};
use labelwood::data::documents::{Labels, Options};
use labelwood::data::{Dataset, LabelIndex};
use labelwood::run::Run;
use labelwood::text::{Params, TextReader};

use super::Args;
use crate::input::{Kind, expect_kind};
use crate::text;

/// Rows to learn from.
pub struct Rows {
    /// The rows.
    pub dataset: Dataset,
    /// How text became these rows, if they were text.
    pub reader: Option<TextReader>,
}

impl Args {
    /// Reads DATA.
    pub fn read(&self, run: &Run) -> Result<Rows> {
        let kind = Kind::required(&self.data, self.from)?;
        let Some(Kind::Text(format)) = kind else {
            self.refuse_text_flags()?;
            let dataset = self.reading.read(&self.data, kind.and_then(Kind::vectors), run)?;
            return Ok(Rows { dataset, reader: None });
        };
        if self.split.train_split.is_some() {
            bail!(
                "--train-split is for vectors, since words of the rows to test with would be \
                 learned too: give two files, the second with --test"
            );
        }
        let base = self.settings.text()?;
        let (options, params) = base.map_or((Options::default(), Params::default()), |text| {
            (text.documents, text.vectoriser)
        });
        let params = self.vectoriser.over(params)?;
        let documents =
            self.documents.open(&self.data, Some(format), &options, Labels::Required, run)?;
        let names = text::known_labels(&self.data, self.reading.label_names.as_deref())?;
        let (reader, dataset) = text::fit(documents, params, names, run)?;
        Ok(Rows { dataset, reader: Some(reader) })
    }

    fn refuse_text_flags(&self) -> Result<()> {
        let vectoriser = self.vectoriser.is_typed().then_some("the flags of \"Text to vectors\"");
        if let Some(flag) = self.documents.typed().or(vectoriser) {
            bail!(
                "{}: {flag} need text, but this is read as vectors: name the file .tsv, .csv or \
                 .jsonl, or add --from",
                self.data.display()
            );
        }
        Ok(())
    }

    /// Reads the rows of `--test`, of the kind that was learned.
    pub fn read_test(&self, test: &Path, rows: &Rows, run: &Run) -> Result<Dataset> {
        let kind = expect_kind(test, None, rows.reader.is_some())?;
        let Some(reader) = &rows.reader else { return self.reading.read(test, None, run) };
        let format = kind.and_then(Kind::text);
        let options = reader.options();
        let (documents, _) = self.documents.open(test, format, options, Labels::Required, run)?;
        let none = LabelIndex::default();
        let names = rows.dataset.label_names.as_ref().unwrap_or(&none);
        reader.read(documents, names, run).map_err(text::lift)
    }
}
