//! What `predict` and `evaluate` share: opening a model, and reading rows for it.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use labelwood::data::{self, Dataset, ReadOptions};
use labelwood::model::Model;
use labelwood::model::store::{self, Options};
use labelwood::run::Run;
use labelwood::sparse::CsrView;

use crate::input;

/// How a model is opened and asked.
#[derive(Debug, clap::Args)]
pub struct ModelArgs {
    /// Follow at most N paths in each tree; 1 is the fastest. By default the model's own setting
    #[arg(long, value_name = "N")]
    pub beam: Option<NonZeroUsize>,

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

impl ModelArgs {
    /// Opens a model folder.
    pub fn open(&self, folder: &Path, run: &Run) -> Result<Model> {
        let load = match self.load {
            Load::Map => store::Load::Map,
            Load::Copy => store::Load::Copy,
        };
        Ok(Model::open(folder, Options { load, verify: !self.no_verify }, run)?)
    }
}

/// Reads rows for a model, which may have been trained with other widths: one warning tells what
/// that means. `labels` says whether the labels of the rows matter.
pub fn read_rows(
    path: &Path,
    lenient: bool,
    labels: bool,
    model: &Model,
    run: &Run,
) -> Result<Dataset> {
    let options = ReadOptions { lenient, ignore_label_names: true, ..ReadOptions::default() };
    let read = input::read(path, &options, run)?;
    if let Some(warning) = other_widths(&read, labels, model) {
        tracing::warn!("{}: {warning}", path.display());
    }
    Ok(read.dataset)
}

/// Tells where the widths of a file are not the model's. A LIBSVM file does not declare any, so
/// there only ids beyond the model's count.
fn other_widths(read: &data::Read, labels: bool, model: &Model) -> Option<String> {
    let (dataset, manifest) = (&read.dataset, model.manifest());
    let differs = |found: usize, known: u64| match read.format {
        data::Format::Libsvm => found as u64 > known,
        _ => found as u64 != known,
    };
    let mut widths = Vec::new();
    for (what, found, known) in [
        ("features", dataset.features.columns(), manifest.features),
        ("labels", dataset.labels.columns(), manifest.labels),
    ] {
        if (what == "features" || labels) && differs(found, known) {
            widths.push(format!("{found} {what} where the model has {known}"));
        }
    }
    if widths.is_empty() {
        return None;
    }
    let unknown = unknown_columns(dataset.features.view(), manifest.features);
    let ignored = match unknown {
        0 => String::new(),
        1 => "; 1 feature that the model does not know is ignored".to_owned(),
        _ => format!("; {unknown} features that the model does not know are ignored"),
    };
    Some(widths.join(", ") + &ignored)
}

/// How many columns from `known` on have an entry.
fn unknown_columns(features: CsrView<'_>, known: u64) -> usize {
    if features.columns() as u64 <= known {
        return 0;
    }
    let unknown = features.indices().iter().filter(|&&column| u64::from(column) >= known);
    unknown.collect::<BTreeSet<_>>().len()
}
