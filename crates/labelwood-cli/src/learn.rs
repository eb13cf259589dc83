//! What is learned, from which rows: the flags that `train`, `tune` and `plan` share, and reading
//! the rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use labelwood::Settings;
use labelwood::auto::{self, Limits};
use labelwood::data::documents::{self, Documents, Labels, Options};
use labelwood::data::{Dataset, LabelIndex};
use labelwood::model::check_rows;
use labelwood::run::Task;
use labelwood::settings::Favour;
use labelwood::sparse::LabelRows;
use labelwood::text::{Params, TextReader, TextSample, learn};
use labelwood::words::plural;

use crate::args::choice;
use crate::context::Context;
use crate::input::{FORMATS, InputArgs, Kind};
use crate::report::RowNotes;
use crate::settings::{Choice, SettingsArgs, named};
use crate::split::{self, Division};
use crate::text::{self, DocumentArgs, VectoriserArgs};

/// What to learn, and from what.
#[derive(Debug, clap::Args)]
pub struct LearnArgs {
    /// The rows to learn from, in one file or several
    ///
    /// - is standard input. The algorithm names needs none with a --vocabulary.
    #[arg(value_name = "DATA", num_args = 1.., required_unless_present = "vocabulary")]
    data: Vec<PathBuf>,

    /// Make scores probabilities, which --threshold then cuts on; costs a second training, on nine
    /// tenths of the rows. The scores of a grove are probabilities without
    #[arg(long)]
    calibrate: bool,

    /// Learn the threshold with the best F1 for predict --threshold auto; costs a second training, on
    /// nine tenths of the rows, of a part of the trees if there are many. A grove, and a model with --calibrate, learns it without [default: none]
    #[arg(long, value_name = "NAME", value_parser = ["none", "auto"])]
    threshold: Option<String>,

    /// Let rare labels come before frequent ones of a better score: PSP@k rises, P@k falls; tail
    /// ranks by score x inverse propensity, and weighs rare labels more in training linear
    /// classifiers [default: none]
    #[arg(long, value_name = "NAME", value_parser = named::<Favour>(Favour::NAMES))]
    favour: Option<Favour>,

    /// The format of DATA, if its ending does not tell; a model of text keeps it
    #[arg(long, value_name = "FORMAT", alias = "format", value_parser = choice(&FORMATS))]
    pub from: Option<Kind>,

    #[command(flatten)]
    reading: InputArgs,

    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    vectoriser: VectoriserArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    /// Which documents of DATA are learned from, if not all.
    #[arg(skip)]
    learned: Option<Arc<[bool]>>,
}

/// What is asked for.
pub struct TrainRequest {
    /// What to learn.
    pub choice: Choice,
    /// Whether scores are made probabilities.
    pub calibrate: bool,
    /// Whether a threshold is learned.
    pub threshold: bool,
    /// Which labels come before others of a better score.
    pub favour: Favour,
}

/// What is asked for, of several algorithms.
pub struct TuneRequest {
    /// The settings to start from, those of the first algorithm first; nothing if the rows decide which
    /// algorithms there are.
    pub starts: Option<Vec<Settings>>,
    /// Whether scores are made probabilities.
    pub calibrate: bool,
    /// Which labels come before others of a better score.
    pub favour: Favour,
}

/// Rows to learn from.
pub struct Rows {
    /// The rows.
    pub dataset: Dataset,
    /// How text became these rows, if they were text.
    pub reader: Option<TextReader>,
    /// What was decided on the text, if it was text.
    pub text: Option<String>,
}

/// Documents to choose from how text is read.
pub struct TextTrial {
    /// Some of the documents of DATA.
    pub sample: TextSample,
    /// How text is read unless another way is better.
    pub start: Params,
    /// The settings that stay, by name.
    pub keep: Vec<String>,
}

/// How many of the rows to learn from have no label, if some do.
pub fn unlabelled(path: &Path, rows: &Dataset) -> Option<String> {
    let unlabelled = rows.labels.rows().filter(|row| row.indices.is_empty()).count();
    let have = if unlabelled == 1 { "has" } else { "have" };
    (unlabelled > 0).then(|| {
        format!("{}: {unlabelled} of {} {have} no label", path.display(), plural(rows.len(), "row"))
    })
}

/// Warns of a test with the rows that were learned.
pub fn warn_of_learned_rows(path: &Path) {
    tracing::warn!(
        "{}: these are the rows that were learned from: the figures do not tell how good predictions \
         for other rows are",
        path.display()
    );
}

fn refuse_twice_calibrated(settings: &Settings, calibrate: bool) -> Result<()> {
    if calibrate && settings.facts().is_calibrated {
        bail!(
            "--calibrate: leave it out, the scores of a {} are probabilities already",
            settings.name()
        );
    }
    Ok(())
}

impl LearnArgs {
    /// The same for one file, without any settings of an algorithm.
    pub fn of_data(
        data: PathBuf,
        from: Option<Kind>,
        reading: InputArgs,
        documents: DocumentArgs,
        vectoriser: VectoriserArgs,
    ) -> Self {
        LearnArgs {
            data: vec![data],
            calibrate: false,
            threshold: None,
            favour: None,
            from,
            reading,
            documents,
            vectoriser,
            settings: SettingsArgs::default(),
            learned: None,
        }
    }

    /// What is asked for.
    pub fn request(&self, context: &Context) -> Result<TrainRequest> {
        let (calibrate, favour) = self.scores()?;
        let choice = self.settings.resolve(favour, context)?;
        if let Choice::Named(settings) = &choice {
            refuse_twice_calibrated(settings, calibrate)?;
        }
        let threshold = self.learns_threshold()?;
        Ok(TrainRequest { choice, calibrate, threshold, favour })
    }

    /// What is asked for if the settings of several algorithms may be.
    pub fn tune_request(&self, context: &Context) -> Result<TuneRequest> {
        let (calibrate, favour) = self.scores()?;
        let starts = self.settings.starts(favour, context)?;
        if let Some([settings]) = starts.as_deref() {
            refuse_twice_calibrated(settings, calibrate)?;
        }
        Ok(TuneRequest { starts, calibrate, favour })
    }

    /// Whether scores are made probabilities, and which labels come before others of a better score.
    fn scores(&self) -> Result<(bool, Favour)> {
        let favour = self.favour.map_or_else(|| self.settings.favour(), Ok)?;
        Ok((self.calibrate || self.settings.is_calibrated()?, favour))
    }

    /// Whether a threshold is learned.
    pub fn learns_threshold(&self) -> Result<bool> {
        match self.threshold.as_deref() {
            Some(typed) => Ok(typed == "auto"),
            None => self.settings.has_threshold(),
        }
    }

    /// The settings that were typed, by name.
    pub fn typed_settings(&self) -> Vec<String> {
        self.settings.typed().keys().cloned().collect()
    }

    /// DATA and the flags that say how to read it, but for those that a model's settings tell.
    pub fn data_words(&self) -> Vec<String> {
        let mut words: Vec<String> =
            self.data.iter().map(|path| path.display().to_string()).collect();
        if let Some((format, ..)) = FORMATS.iter().find(|(.., kind)| Some(*kind) == self.from) {
            words.extend(["--from".to_owned(), format.to_string()]);
        }
        if let Some(vocabulary) = &self.reading.vocabulary {
            words.extend(["--vocabulary".to_owned(), vocabulary.display().to_string()]);
        }
        if let Some(language) = &self.reading.language {
            words.extend(["--language".to_owned(), language.clone()]);
        }
        words.extend(self.reading.lenient.then(|| "--lenient".to_owned()));
        words
    }

    /// DATA, the first file if there are several, or the vocabulary that is learned from alone.
    pub fn path(&self) -> &Path {
        let path = self.data.first().or(self.reading.vocabulary.as_ref());
        path.expect("the parser asks for one of both")
    }

    /// The files of DATA.
    pub fn paths(&self) -> &[PathBuf] {
        &self.data
    }

    /// What all files of DATA hold: text, or vectors.
    fn kind(&self) -> Result<Option<Kind>> {
        let kind = Kind::required(self.path(), self.from)?;
        let is_text = |kind| matches!(kind, Some(Kind::Text(_)));
        for other in self.data.iter().skip(1) {
            if is_text(Kind::required(other, self.from)?) != is_text(kind) {
                let (one, other) = (self.path().display(), other.display());
                bail!("{one} and {other}: one is text, the other vectors: learn from one of both");
            }
        }
        Ok(kind)
    }

    /// The format of text that was stated.
    fn stated(&self) -> Option<documents::Format> {
        self.from.and_then(Kind::text)
    }

    /// Refuses to learn without rows what needs them.
    pub fn check_data(&self, choice: &Choice) -> Result<()> {
        let needs_rows = match choice {
            Choice::Auto { .. } => true,
            Choice::Named(settings) => settings.facts().needs_rows,
        };
        if self.data.is_empty() && needs_rows {
            bail!(
                "DATA is missing: name the rows to learn from, or add --algorithm names, which finds the \
                 labels of a vocabulary without any"
            );
        }
        Ok(())
    }

    /// Reads DATA, of which a part is to be learned if `is_split`. Text is read as `chosen`, if that is
    /// decided, else as the flags say.
    pub fn read(&self, is_split: bool, chosen: Option<Params>, task: &Task) -> Result<Rows> {
        if self.data.is_empty() {
            return self.read_vocabulary(task);
        }
        let Some(Kind::Text(_)) = self.kind()? else {
            self.refuse_text_flags()?;
            return Ok(Rows { dataset: self.read_vectors(task)?, reader: None, text: None });
        };
        if is_split {
            bail!(
                "--train-split is for vectors, since words of the rows to test with would be \
                 learned too: give two files, the second with --test"
            );
        }
        let (options, asked) = self.text_settings(task)?;
        let documents = self.open(&options, task)?;
        let names = self.reading.known_labels(self.path(), task)?;
        let params = chosen.unwrap_or_else(|| asked.clone());
        let (reader, dataset) = text::fit(documents, params, names, task)?;
        let text = self.documents.describe(&asked, &reader, &dataset);
        Ok(Rows { dataset, reader: Some(reader), text: Some(text) })
    }

    /// Opens DATA, which is text; gives the documents that are learned from.
    fn open<'t>(&self, options: &Options, task: &'t Task) -> Result<(Documents<'t>, Options)> {
        let (documents, options) =
            self.documents.open(&self.data, self.stated(), options, Labels::Required, task)?;
        Ok(match &self.learned {
            Some(learned) => (documents.only(learned.clone()), options),
            None => (documents, options),
        })
    }

    /// Holds some of the documents of DATA out, equal texts on one side, if DATA is text.
    pub fn hold_out(&mut self, division: Division, seed: u64, task: &Task) -> Result<()> {
        if !matches!(self.kind()?, Some(Kind::Text(_))) {
            return Ok(());
        }
        if self.data.iter().any(|data| data == Path::new("-")) {
            bail!("DATA is read twice, which standard input does not allow: give a file");
        }
        self.learned = None;
        let (options, _) = self.text_settings(task)?;
        let (documents, _) = self.open(&options, task)?;
        let is_test = split::divide_documents(self.path(), documents, None, division, seed, task)?;
        self.learned = Some(is_test.iter().map(|is_test| !is_test).collect());
        Ok(())
    }

    /// The documents of DATA that are held out, read as the others.
    pub fn read_held_out(
        &self,
        rows: &Rows,
        notes: &mut RowNotes,
        task: &Task,
    ) -> Result<Option<Dataset>> {
        let (Some(learned), Some(reader)) = (&self.learned, &rows.reader) else { return Ok(None) };
        let held_out = learned.iter().map(|is_learned| !is_learned).collect();
        let options = reader.options();
        let (documents, _) =
            self.documents.open(&self.data, self.stated(), options, Labels::Required, task)?;
        read_as(documents.only(held_out), reader, rows, notes, task).map(Some)
    }

    /// The rows of all files of DATA, which are vectors.
    fn read_vectors(&self, task: &Task) -> Result<Dataset> {
        let read = |path: &PathBuf| {
            let format = Kind::required(path, self.from)?.and_then(Kind::vectors);
            self.reading.read(path, format, task)
        };
        let (first, more) = self.data.split_first().context("DATA is missing")?;
        let mut all = read(first)?;
        for path in more {
            let appended = all.append(&read(path)?);
            appended.map_err(|reason| anyhow!("{}: {reason}", path.display()))?;
        }
        Ok(all)
    }

    /// At most so many documents of DATA, if it is text that can be read twice.
    pub fn sample(&self, most: usize, seed: u64, task: &Task) -> Result<Option<TextTrial>> {
        if self.data.is_empty() || self.data.iter().any(|data| data == Path::new("-")) {
            return Ok(None);
        }
        let Some(Kind::Text(_)) = self.kind()? else { return Ok(None) };
        let (options, start) = self.text_settings(task)?;
        let (documents, _) = self.open(&options, task)?;
        let names = self.reading.known_labels(self.path(), task)?;
        let sample = TextSample::read(documents, names, most, seed, task).map_err(text::lift)?;
        Ok(Some(TextTrial { sample, start, keep: self.vectoriser.typed() }))
    }

    /// How text is read that is learned by the algorithm that is best for it: the best of a few ways, too,
    /// which is said in `note`.
    pub fn choose_text(
        &self,
        seed: u64,
        limits: Limits,
        note: impl FnOnce(String),
        task: &Task,
    ) -> Result<Option<Params>> {
        let Some(trial) = self.sample(auto::text_sample(limits), seed, task)? else {
            if matches!(Kind::of(self.path(), self.from), Some(Kind::Text(_))) {
                let why = "standard input cannot be read twice, so text is read as it is without";
                note(format!("auto: {why}"));
            }
            return Ok(None);
        };
        let TextTrial { sample, start, keep } = &trial;
        if sample.labels() == 0 {
            // All rows will be refused.
            return Ok(None);
        }
        let choice = auto::choose_text(sample, start, keep, seed, limits, task);
        let auto::TextChoice { params, why } = choice.map_err(text::lift)?;
        note(format!("auto: {why}"));
        Ok(Some(params))
    }

    /// No rows, and the labels of the vocabulary.
    fn read_vocabulary(&self, task: &Task) -> Result<Rows> {
        let (options, params) = self.text_settings(task)?;
        let names = self.reading.known_labels(self.path(), task)?.finish();
        let labels = LabelRows::new(names.len());
        let options = self.documents.fields().over(&options);
        let learned = learn::<&str>(&[], labels, names, options, params.clone(), task);
        let (reader, dataset) = learned.map_err(text::lift)?;
        let text = self.documents.describe(&params, &reader, &dataset);
        Ok(Rows { dataset, reader: Some(reader), text: Some(text) })
    }

    /// How text is read.
    fn text_settings(&self, task: &Task) -> Result<(Options, Params)> {
        let base = self.settings.text()?;
        let (options, params) = base.map_or((Options::default(), Params::default()), |text| {
            (text.documents, text.vectoriser)
        });
        Ok((options, self.vectoriser.over(params, task)?))
    }

    /// Refuses rows of DATA that nothing can be learned from.
    pub fn check_rows(&self, rows: &Dataset) -> Result<()> {
        if self.data.is_empty() {
            return Ok(());
        }
        check_rows(rows.view()).with_context(|| self.path().display().to_string())
    }

    /// What was decided on the text of DATA, if it is text, and how many of its rows have no label, if
    /// some do.
    pub fn notes(&self, rows: &Dataset, text: Option<&str>) -> Vec<String> {
        text.map(str::to_owned).into_iter().chain(unlabelled(self.path(), rows)).collect()
    }

    fn refuse_text_flags(&self) -> Result<()> {
        let vectoriser = self.vectoriser.is_typed().then_some("the flags of \"Text to vectors\"");
        if let Some(flag) = self.documents.typed().or(vectoriser) {
            bail!(
                "{}: {flag} need text, but this is read as vectors: name the file .tsv, .csv or \
                 .jsonl, or add --from",
                self.path().display()
            );
        }
        Ok(())
    }

    /// Reads the rows of `--test`, of the kind that was learned.
    pub fn read_test(
        &self,
        test: &Path,
        rows: &Rows,
        notes: &mut RowNotes,
        task: &Task,
    ) -> Result<Dataset> {
        let trained_on = rows.reader.as_ref().map(|reader| reader.options().format);
        Kind::expected(test, None, trained_on)?;
        let Some(reader) = &rows.reader else { return self.reading.read(test, None, task) };
        let options = reader.options();
        let (documents, _) = self.documents.open(&[test], None, options, Labels::Required, task)?;
        read_as(documents, reader, rows, notes, task)
    }
}

/// Reads documents as those that were learned, with the same labels, and takes notes.
fn read_as(
    documents: Documents<'_>,
    reader: &TextReader,
    learned: &Rows,
    notes: &mut RowNotes,
    task: &Task,
) -> Result<Dataset> {
    let none = LabelIndex::default();
    let names = learned.dataset.label_names.as_ref().unwrap_or(&none);
    reader.read_noting(documents, names, |batch| notes.add(batch), task).map_err(text::lift)
}
