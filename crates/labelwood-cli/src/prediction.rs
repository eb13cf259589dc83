//! What `predict` and `evaluate` share: opening a model, and reading rows for it.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ValueEnum;
use labelwood::data::documents::{self, Documents, Labels};
use labelwood::data::{
    self, Batches, Dataset, LabelIndex, LabelIndexBuilder, ReadError, ReadOptions,
};
use labelwood::model::Model;
use labelwood::model::store::{self, Options};
use labelwood::run::Task;
use labelwood::sparse::{Csr, CsrView, LabelSet, Query};
use labelwood::text::TextReader;

use crate::input::{self, Format, Kind, expect_kind};
use crate::text::{self, DocumentArgs};

/// How a model is opened.
#[derive(Debug, clap::Args)]
pub struct LoadArgs {
    /// Map the model's files, or copy them into memory: for files that may change meanwhile
    #[arg(long, value_name = "HOW", default_value = "map")]
    load: Load,

    /// Do not verify the checksums of the model's files, which reads all of them
    #[arg(long)]
    no_verify: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Load {
    /// Read a part of a file when it is used
    Map,
    /// Read the files at once
    Copy,
}

impl LoadArgs {
    /// Opens a model folder.
    pub fn open(&self, folder: &Path, run: &Task) -> Result<Model> {
        Ok(Model::open(folder, self.options(), run)?)
    }

    fn options(&self) -> Options {
        let load = match self.load {
            Load::Map => store::Load::Map,
            Load::Copy => store::Load::Copy,
        };
        Options { load, verify: !self.no_verify }
    }
}

/// How a model is opened and asked.
#[derive(Debug, clap::Args)]
pub struct ModelArgs {
    /// Follow at most N paths in each tree; 1 is the fastest. By default the model's own setting
    #[arg(long, value_name = "N")]
    beam: Option<NonZeroUsize>,

    /// Name only the labels in FILE: one a line, as training had it or by its name, or by its
    /// number if the model has no names
    #[arg(long, value_name = "FILE")]
    only_labels: Option<PathBuf>,

    /// Never name the labels in FILE
    #[arg(long, value_name = "FILE")]
    without_labels: Option<PathBuf>,

    #[command(flatten)]
    loading: LoadArgs,
}

impl ModelArgs {
    /// Opens a model folder.
    pub fn open(&self, folder: &Path, run: &Task) -> Result<Model> {
        self.loading.open(folder, run)
    }

    /// The files that name labels.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.only_labels, &self.without_labels].into_iter().flatten().map(PathBuf::as_path)
    }

    /// How the files of a model are opened.
    pub fn options(&self) -> Options {
        self.loading.options()
    }

    /// The labels that may be named, if not all.
    pub fn allowed(&self, model: &Model, run: &Task) -> Result<Option<LabelSet>> {
        let read = |file: &Option<PathBuf>| {
            file.as_ref().map(|file| labels_in(file, model, run)).transpose()
        };
        let (only, without) = (read(&self.only_labels)?, read(&self.without_labels)?);
        if only.is_none() && without.is_none() {
            return Ok(None);
        }
        let is_in = |set: &Option<LabelSet>, label, other| {
            set.as_ref().map_or(other, |set| set.contains(label))
        };
        let labels = 0..model.labels().counts().len() as u32;
        let allowed =
            labels.filter(|&label| is_in(&only, label, true) && !is_in(&without, label, false));
        Ok(Some(allowed.collect()))
    }

    /// What is asked of the model.
    pub fn query<'a>(&self, k: usize, allowed: Option<&'a LabelSet>) -> Query<'a> {
        Query { k, beam: self.beam.map(NonZeroUsize::get), allowed }
    }
}

/// The labels that a file names, one a line; those that the model does not know are counted in a
/// warning.
fn labels_in(file: &Path, model: &Model, run: &Task) -> Result<LabelSet> {
    let count = model.labels().counts().len();
    let find = |line: &str| match model.labels().names() {
        Some(names) => names.find(line),
        None => line.parse().ok().filter(|&label: &u32| (label as usize) < count),
    };
    let (mut found, mut unknown) = (BTreeSet::new(), 0);
    documents::read_lines(file, run, |line| {
        match find(line.trim()) {
            _ if line.trim().is_empty() => {}
            Some(label) => drop(found.insert(label)),
            None => unknown += 1,
        }
        // No more than the model has.
        0
    })?;
    if found.is_empty() {
        bail!("{}: the model knows none of its labels: there must be one a line", file.display());
    }
    if unknown > 0 {
        tracing::warn!("{}: the model does not know {unknown} of its labels", file.display());
    }
    Ok(found.into_iter().collect())
}

/// How the rows for a model are read.
#[derive(Debug, clap::Args)]
pub struct RowArgs {
    /// The format of DATA, if its ending does not tell; by default that of the file that a model of
    /// text was trained on
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<Format>,

    /// Warn where a header disagrees with the rows, and go by the rows
    #[arg(long)]
    pub lenient: bool,

    #[command(flatten)]
    documents: DocumentArgs,
}

impl RowArgs {
    /// What other flags say.
    pub fn new(from: Option<Format>, lenient: bool, documents: DocumentArgs) -> Self {
        RowArgs { from, lenient, documents }
    }

    /// Reads all rows for a model, with their labels, and tells what deserves a look. Labels that a
    /// model of text does not know get ids beyond its own.
    pub fn read(&self, path: &Path, model: &Model, run: &Task) -> Result<Dataset> {
        let kind = self.kind(path, model)?;
        let Some(reader) = model.text() else {
            let read = input::read(path, &self.options(kind), run)?;
            warn_of_widths(path, &read, model);
            return Ok(read.dataset);
        };
        let (documents, guess) = self.open_text(path, kind, reader, Labels::Required, run)?;
        let none = LabelIndex::default();
        let names = model.labels().names().unwrap_or(&none);
        reader.read(documents, names, run).map_err(|error| guess.explain(text::lift(error)))
    }

    /// Reads rows that a model is to learn, too; labels that it does not know get ids beyond its own
    /// and the names that text gives them, else a file of names.
    pub fn read_more(
        &self,
        path: &Path,
        model: &Model,
        label_names: Option<&Path>,
        run: &Task,
    ) -> Result<Dataset> {
        let kind = self.kind(path, model)?;
        let known = model.labels().names();
        let Some(reader) = model.text() else {
            if known.is_none() && label_names.is_some() {
                bail!("--label-names: the labels of the model have no names");
            }
            let options = ReadOptions {
                ignore_label_names: known.is_none(),
                label_names: label_names.map(Path::to_owned),
                ..self.options(kind)
            };
            let read = input::read(path, &options, run)?;
            let mut widths = Widths::new(read.format, model);
            widths.see(read.dataset.features.view());
            widths.warn(path, read.dataset.features.columns(), None);
            return Ok(read.dataset);
        };
        if label_names.is_some() {
            bail!("--label-names is for vectors: labels in text are their names");
        }
        let (documents, guess) = self.open_text(path, kind, reader, Labels::Required, run)?;
        let none = LabelIndex::default();
        let rows = reader.read_counting(documents, known.unwrap_or(&none), run);
        let (dataset, unknown) = rows.map_err(|error| guess.explain(text::lift(error)))?;
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
    /// `known` and new ones, else those of a file of label names beside it; `note` is shown its
    /// documents.
    pub fn read_labels(
        &self,
        path: &Path,
        known: Option<&LabelIndex>,
        note: impl FnMut(&documents::Batch) + Send,
        run: &Task,
    ) -> Result<Dataset> {
        let kind = Kind::required(path, self.from)?;
        let Some(Kind::Text(format)) = kind else {
            let options = ReadOptions { ignore_label_names: known.is_some(), ..self.options(kind) };
            return Ok(input::read(path, &options, run)?.dataset);
        };
        let names = match known {
            Some(known) => LabelIndexBuilder::new(known),
            None => text::known_labels(path, None, run)?,
        };
        let base = documents::Options::default();
        let (documents, _) =
            self.documents.open(path, Some(format), &base, Labels::Required, run)?;
        labelwood::text::read_labels(documents, names, note, run).map_err(text::lift)
    }

    fn kind(&self, path: &Path, model: &Model) -> Result<Option<Kind>> {
        if model.text().is_none()
            && let Some(flag) = self.documents.typed()
        {
            bail!("{flag} needs text, but the model was trained on vectors");
        }
        let trained_on = model.text().map(|reader| reader.options().format);
        expect_kind(path, self.from, trained_on)
    }

    fn options(&self, kind: Option<Kind>) -> ReadOptions {
        ReadOptions {
            format: kind.and_then(Kind::vectors),
            lenient: self.lenient,
            ignore_label_names: true,
            ..ReadOptions::default()
        }
    }

    fn open_text<'r>(
        &self,
        path: &Path,
        kind: Option<Kind>,
        reader: &TextReader,
        labels: Labels,
        run: &'r Task,
    ) -> Result<(Documents<'r>, Guess)> {
        let format = kind.and_then(Kind::text);
        let guess = Guess(format.is_none().then_some(reader.options().format));
        let opened = self.documents.open(path, format, reader.options(), labels, run);
        let (documents, _) = opened.map_err(|error| guess.explain(error))?;
        Ok((documents, guess))
    }
}

/// The format of text that only the model tells.
#[derive(Clone, Copy)]
struct Guess(Option<documents::Format>);

impl Guess {
    /// Says which format was expected if the very first line is not of it.
    fn explain(self, error: anyhow::Error) -> anyhow::Error {
        use documents::Format::{Csv, Jsonl};
        match (self.0, error.downcast_ref()) {
            (Some(format @ (Csv | Jsonl)), Some(ReadError::Content { line: 1, .. })) => {
                let line = format!(
                    "{error}; this is read as {format}, as the training file was: add --from tsv for \
                     lines of text"
                );
                error.context(line)
            }
            _ => error,
        }
    }
}

/// Tells of a file that has other widths than the model, in one warning.
fn warn_of_widths(path: &Path, read: &data::Read, model: &Model) {
    let mut widths = Widths::new(read.format, model);
    widths.see(read.dataset.features.view());
    let (features, labels) = (read.dataset.features.columns(), read.dataset.labels.columns());
    widths.warn(path, features, Some(labels));
}

/// The rows to predict, some at a time, in order.
pub struct RowSource<'m> {
    path: PathBuf,
    rows: Rows<'m>,
}

enum Rows<'m> {
    Vectors(Box<Batches<'static>>, Widths<'m>),
    Text(Box<Documents<'m>>, &'m TextReader, Guess),
}

/// Some rows.
pub struct RowBatch {
    /// What the model predicts from.
    pub features: Csr,
    /// The documents they were made of, if they were text.
    pub documents: Option<documents::Batch>,
}

impl<'m> RowSource<'m> {
    /// Opens a data file whose rows `model` is to predict.
    pub fn open(path: &Path, args: &RowArgs, model: &'m Model, run: &'m Task) -> Result<Self> {
        let kind = args.kind(path, model)?;
        let rows = match model.text() {
            Some(reader) => {
                let (documents, guess) =
                    args.open_text(path, kind, reader, Labels::Optional, run)?;
                Rows::Text(Box::new(documents), reader, guess)
            }
            None => {
                let batches = Batches::open(path, &args.options(kind), run)?;
                let widths = Widths::new(batches.format(), model);
                Rows::Vectors(Box::new(batches), widths)
            }
        };
        Ok(RowSource { path: path.to_owned(), rows })
    }

    /// How many rows there will be, if that is known.
    pub fn len(&self) -> Option<u64> {
        match &self.rows {
            Rows::Vectors(batches, _) => batches.declared_rows(),
            Rows::Text(..) => None,
        }
    }

    /// The next rows. At the end, warnings tell what deserves a look.
    pub fn next(&mut self, run: &Task) -> Result<Option<RowBatch>> {
        let (batches, widths) = match &mut self.rows {
            Rows::Vectors(batches, widths) => (batches, widths),
            Rows::Text(documents, reader, guess) => {
                let next = documents.next_batch().map_err(|error| guess.explain(error.into()));
                let Some(batch) = next? else { return Ok(None) };
                let features = reader.vectorise(&batch, run)?;
                return Ok(Some(RowBatch { features, documents: Some(batch) }));
            }
        };
        if let Some(batch) = batches.next(run)? {
            widths.see(batch.features.view());
            return Ok(Some(RowBatch { features: batch.features, documents: None }));
        }
        for warning in batches.warnings() {
            tracing::warn!("{warning}");
        }
        widths.warn(&self.path, batches.features(), None);
        Ok(None)
    }
}

/// Where the widths of a file are not the model's.
struct Widths<'m> {
    format: data::Format,
    model: &'m Model,
    /// The columns with an entry that the model does not know.
    unknown: BTreeSet<u32>,
}

impl<'m> Widths<'m> {
    fn new(format: data::Format, model: &'m Model) -> Self {
        Widths { format, model, unknown: BTreeSet::new() }
    }

    /// Looks through some rows for columns that the model does not know.
    fn see(&mut self, features: CsrView<'_>) {
        let known = self.model.manifest().features;
        if features.columns() as u64 > known {
            let unknown = features.indices().iter().filter(|&&column| u64::from(column) >= known);
            self.unknown.extend(unknown);
        }
    }

    /// Tells of a file with that many features and, if they matter, labels. A LIBSVM file does not
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
