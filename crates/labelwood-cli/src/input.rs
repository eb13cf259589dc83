//! Data files as arguments: the flags that say how to read them, and reading with warnings shown.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;
use labelwood::data::{self, Dataset, ReadOptions};
use labelwood::run::Run;

/// A data format by the name it has in flags.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    /// The XC repository's: a header, everything counted from 0 (.txt)
    Xc,
    /// LIBSVM multi-label: no header, features counted from 1 (.svm, .libsvm)
    Libsvm,
}

impl From<Format> for data::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Xc => data::Format::Xc,
            Format::Libsvm => data::Format::Libsvm,
        }
    }
}

/// How to read data files.
#[derive(Debug, clap::Args)]
pub struct InputArgs {
    /// Warn where a header disagrees with the rows, and go by the rows
    #[arg(long)]
    pub lenient: bool,

    /// Names of the labels, one per line; by default labels.txt beside the data, if there is one
    #[arg(long, value_name = "FILE")]
    pub label_names: Option<PathBuf>,
}

impl InputArgs {
    /// Reads a data file and shows what deserves a look.
    pub fn read(&self, path: &Path, format: Option<Format>, run: &Run) -> Result<Dataset> {
        let options = ReadOptions {
            format: format.map(Into::into),
            lenient: self.lenient,
            label_names: self.label_names.clone(),
            ..ReadOptions::default()
        };
        Ok(read(path, &options, run)?.dataset)
    }
}

/// Reads a data file and shows what deserves a look.
pub fn read(path: &Path, options: &ReadOptions, run: &Run) -> Result<data::Read> {
    let read = data::read(path, options, run)?;
    for warning in &read.warnings {
        tracing::warn!("{warning}");
    }
    Ok(read)
}
