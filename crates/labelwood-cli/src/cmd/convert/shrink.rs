//! `labelwood convert MODEL OUT`: a trained model with fewer and narrower weights, or as one file.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use anyhow::{Result, bail};
use labelwood::app::RowOptions;
use labelwood::model::{Model, Shrink, StoredAs, shrink};
use labelwood::run::Bytes;
use labelwood::store::{self, Stored, check_target, is_file_target};

use super::Args;
use crate::context::Context;
use crate::output::print;
use crate::prediction::{measured, predicted};
use crate::settings::named;

/// What becomes of a model.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "A smaller model: IN and OUT are models")]
pub(super) struct ShrinkArgs {
    /// Drop the weights of at most T, such as 0.1, or of craftml the entries of its centroids, which
    /// have length 1, such as 0.01
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    prune: Option<f32>,

    /// How the weights are stored: u8 is for craftml only, f32 for linear classifiers only
    #[arg(long, value_name = "TYPE", value_parser = named::<StoredAs>(StoredAs::NAMES))]
    values: Option<StoredAs>,

    /// Show P@k of both models on these rows, and the difference
    #[arg(long, value_name = "DATA")]
    test: Option<PathBuf>,
}

impl ShrinkArgs {
    /// Whether a model is meant.
    pub fn is_typed(&self) -> bool {
        self.prune.is_some() || self.values.is_some() || self.test.is_some()
    }
}

/// Writes the smaller model and prints what it saves and costs; or the same model, as a file or folder.
pub(super) fn run(args: Args, context: &Context) -> Result<()> {
    args.refuse_data_flags()?;
    let how = Shrink { prune: args.shrinking.prune, values: args.shrinking.values };
    let is_smaller = how != Shrink::default();
    if !is_smaller && (args.shrinking.test.is_some() || args.is_as_before()) {
        bail!(
            "{}: add --prune T to drop the smallest weights of this model, --values f16 to store \
             them in 16 bits, or both",
            args.input.display()
        );
    }
    let task = context.run()?;
    if !is_smaller {
        let stored = Stored::open(&args.input, store::Options::default(), &task)?;
        return Ok(stored.save(&args.output, args.overwrite)?);
    }
    // A file of rows that cannot be read is no reason to begin.
    check_target(&args.output, args.overwrite)?;
    let reading = RowOptions {
        format: args.from,
        lenient: args.reading.lenient,
        fields: args.documents.fields(),
    };
    let open = |folder| Model::open(folder, store::Options::default(), &task);
    let test = match &args.shrinking.test {
        Some(path) => {
            let model = open(&args.input)?;
            let rows = reading.read(path, &model, &task)?;
            Some((model, rows))
        }
        None => None,
    };
    let (before, after) = shrink(&args.input, &args.output, how, args.overwrite, &task)?;
    let mut precision = Vec::new();
    if let Some((model, rows)) = test {
        let metrics = |model: &Model| -> Result<_> {
            Ok(measured(model, &rows, &predicted(model, &rows, false, &task)?)?.metrics())
        };
        let (one, other) = (metrics(&model)?, metrics(&open(&args.output)?)?);
        let cuts = one.at.iter().zip(&other.at);
        precision = cuts.map(|(one, other)| (one.k, one.precision, other.precision)).collect();
    }
    print(&Comparison { bytes: (before.bytes(), after.bytes()), precision })
}

/// Both models side by side.
struct Comparison {
    bytes: (u64, u64),
    /// Each cut with P@k before and after, in fractions of 1.
    precision: Vec<(usize, f64, f64)>,
}

impl Display for Comparison {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (before, after) = self.bytes;
        writeln!(out, "{:6}{:>12}{:>12}{:>12}", "", "before", "after", "change")?;
        let change = 100.0 * (after as f64 / before.max(1) as f64 - 1.0);
        let (before, after) = (Bytes(before).to_string(), Bytes(after).to_string());
        writeln!(out, "{:6}{before:>12}{after:>12}{change:>+10.1} %", "size")?;
        for &(k, before, after) in &self.precision {
            let (before, after) = (100.0 * before, 100.0 * after);
            let change = after - before;
            writeln!(out, "{:6}{before:>12.2}{after:>12.2}{change:>+12.2}", format!("P@{k}"))?;
        }
        Ok(())
    }
}

impl Args {
    /// Whether OUT would be a folder as IN is, or a file as IN is.
    fn is_as_before(&self) -> bool {
        self.input.is_file() == is_file_target(&self.output)
    }

    fn refuse_data_flags(&self) -> Result<()> {
        let flags = [
            ("--to", self.to.is_some()),
            ("--vectoriser", self.vectoriser.is_some()),
            ("--save-vectoriser", self.save_vectoriser.is_some()),
            ("--vocabulary", self.reading.vocabulary.is_some()),
            ("the flags of \"Text to vectors\"", self.settings.is_typed()),
        ];
        match flags.into_iter().find(|(_, is_typed)| *is_typed) {
            Some((flag, _)) => bail!("{flag}: this is for data, but a model is to become smaller"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_stand_side_by_side() {
        let precision = vec![(1, 0.5, 0.495), (5, 0.25, 0.25)];
        let comparison = Comparison { bytes: (4096, 1024), precision };
        let expected = "            before       after      change\n\
            size       4.0 KiB     1.0 KiB     -75.0 %\n\
            P@1          50.00       49.50       -0.50\n\
            P@5          25.00       25.00       +0.00\n";
        assert_eq!(comparison.to_string(), expected);
    }
}
