//! What `predict` and `evaluate` share: opening a model, and reading rows for it.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;
use labelwood::data::{self, Batches, ReadOptions};
use labelwood::model::Model;
use labelwood::model::store::{self, Options};
use labelwood::run::Run;
use labelwood::sparse::{Csr, CsrView};

use crate::input;

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
    pub fn open(&self, folder: &Path, run: &Run) -> Result<Model> {
        let load = match self.load {
            Load::Map => store::Load::Map,
            Load::Copy => store::Load::Copy,
        };
        Ok(Model::open(folder, Options { load, verify: !self.no_verify }, run)?)
    }
}

/// How a model is opened and asked.
#[derive(Debug, clap::Args)]
pub struct ModelArgs {
    /// Follow at most N paths in each tree; 1 is the fastest. By default the model's own setting
    #[arg(long, value_name = "N")]
    beam: Option<NonZeroUsize>,

    #[command(flatten)]
    loading: LoadArgs,
}

impl ModelArgs {
    /// Opens a model folder.
    pub fn open(&self, folder: &Path, run: &Run) -> Result<Model> {
        self.loading.open(folder, run)
    }

    /// The paths to follow, if not as many as the model's setting says.
    pub fn beam(&self) -> Option<usize> {
        self.beam.map(NonZeroUsize::get)
    }
}

/// Reads all rows for a model, with their labels.
pub fn read_rows(path: &Path, lenient: bool, run: &Run) -> Result<data::Read> {
    input::read(path, &options(lenient), run)
}

/// Tells of a file that has other widths than the model, in one warning.
pub fn warn_of_widths(path: &Path, read: &data::Read, model: &Model) {
    let mut widths = Widths::new(read.format, model);
    widths.see(read.dataset.features.view());
    let (features, labels) = (read.dataset.features.columns(), read.dataset.labels.columns());
    widths.warn(path, features, Some(labels));
}

fn options(lenient: bool) -> ReadOptions {
    ReadOptions { lenient, ignore_label_names: true, ..ReadOptions::default() }
}

/// The rows to predict, some at a time, in order.
pub struct RowSource<'m> {
    path: PathBuf,
    batches: Batches<'static>,
    widths: Widths<'m>,
}

impl<'m> RowSource<'m> {
    /// Opens a data file whose rows `model` is to predict.
    pub fn open(path: &Path, lenient: bool, model: &'m Model, run: &Run) -> Result<Self> {
        let batches = Batches::open(path, &options(lenient), run)?;
        let widths = Widths::new(batches.format(), model);
        Ok(RowSource { path: path.to_owned(), batches, widths })
    }

    /// How many rows there will be, if that is known.
    pub fn len(&self) -> Option<u64> {
        self.batches.declared_rows()
    }

    /// The next rows. At the end, warnings tell what deserves a look.
    pub fn next(&mut self, run: &Run) -> Result<Option<Csr>> {
        if let Some(batch) = self.batches.next(run)? {
            self.widths.see(batch.features.view());
            return Ok(Some(batch.features));
        }
        for warning in self.batches.warnings() {
            tracing::warn!("{warning}");
        }
        self.widths.warn(&self.path, self.batches.features(), None);
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
