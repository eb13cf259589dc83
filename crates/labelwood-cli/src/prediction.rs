//! The flags that `predict` and `evaluate` share: how a model is opened and asked, and how the rows
//! for it are read.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;
use labelwood::app::{LabelFiles, RowOptions, names_in};
use labelwood::data::LabelIndex;
use labelwood::model::Model;
use labelwood::run::Task;
use labelwood::sparse::{LabelSet, Query};
use labelwood::store::{self, Options};

use crate::input::Format;
use crate::text::DocumentArgs;

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
    pub fn open(&self, folder: &Path, task: &Task) -> Result<Model> {
        Ok(Model::open(folder, self.options(), task)?)
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

    /// Show the names of labels in this language, where they have some, such as fi or pt-br
    #[arg(long, value_name = "TAG")]
    language: Option<String>,

    #[command(flatten)]
    loading: LoadArgs,
}

impl ModelArgs {
    /// Opens a model folder.
    pub fn open(&self, folder: &Path, task: &Task) -> Result<Model> {
        self.loading.open(folder, task)
    }

    /// The names to show for the labels of a model, if it has some.
    pub fn names(&self, model: &Model) -> Result<Option<LabelIndex>> {
        Ok(names_in(model, self.language.as_deref())?)
    }

    /// The files that name labels.
    pub fn files(&self) -> LabelFiles<'_> {
        LabelFiles { only: self.only_labels.as_deref(), without: self.without_labels.as_deref() }
    }

    /// How the files of a model are opened.
    pub fn options(&self) -> Options {
        self.loading.options()
    }

    /// What is asked of the model.
    pub fn query<'a>(&self, k: usize, allowed: Option<&'a LabelSet>) -> Query<'a> {
        Query { k, beam: self.beam.map(NonZeroUsize::get), allowed }
    }
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
    /// What the flags mean.
    pub fn options(&self) -> RowOptions {
        RowOptions {
            format: self.from.map(Into::into),
            lenient: self.lenient,
            fields: self.documents.fields(),
        }
    }
}
