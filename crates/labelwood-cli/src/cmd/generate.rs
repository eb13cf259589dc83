//! `labelwood generate`: synthetic data with the shape of a public set or of given sizes.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;
use labelwood::data::generate::{Generator, Profile};
use labelwood::data::{Format, write_atomically};
use labelwood::run::Task;

use crate::context::Context;
use crate::output::check_outputs;

/// Arguments of `labelwood generate`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The same sizes and seed give the same rows; fewer instances are the first \
    of more. Files are in the XC repository's format, compressed if they end in .gz or .zst."
)]
pub struct Args {
    /// The public set to imitate; the sizes below change it
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Profile::NAMES))]
    profile: Option<String>,

    /// Training rows
    #[arg(long, value_name = "N", required_unless_present = "profile")]
    instances: Option<u64>,

    /// Test rows, which are other rows; without a profile, a quarter of the training rows
    #[arg(long, value_name = "N", requires = "test_output")]
    test_instances: Option<u64>,

    /// Features
    #[arg(long, value_name = "N", required_unless_present = "profile")]
    features: Option<u32>,

    /// Labels
    #[arg(long, value_name = "N", required_unless_present = "profile")]
    labels: Option<u32>,

    /// Features of a row, on average; 50 without a profile
    #[arg(long, value_name = "X")]
    entries_per_row: Option<f64>,

    /// Labels of a row, on average; 5 without a profile
    #[arg(long, value_name = "X")]
    labels_per_row: Option<f64>,

    /// How unequal the labels' frequencies are, 0 to 2; 0.75 without a profile
    #[arg(long, value_name = "X")]
    skew: Option<f64>,

    /// The file for the training rows; - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The file for the test rows
    #[arg(long, value_name = "FILE")]
    test_output: Option<PathBuf>,

    /// Replace files that are there
    #[arg(long)]
    overwrite: bool,
}

/// Writes the training rows and, if asked for, the test rows.
pub fn run(args: Args, context: &Context) -> Result<()> {
    let generator = Generator::new(shape(&args), context.seed)?;
    let outputs = || args.test_output.iter().chain([&args.output]).map(PathBuf::as_path);
    outputs().try_for_each(check_ending)?;
    check_outputs(outputs(), [], args.overwrite)?;
    let task = context.run()?;
    write(&args.output, &generator, 0..generator.profile().instances, &task)?;
    match &args.test_output {
        Some(path) => write(path, &generator, generator.test_rows(), &task),
        None => Ok(()),
    }
}

/// The profile, or one of the given sizes, with what the flags change.
fn shape(args: &Args) -> Profile {
    let named = args.profile.as_deref().and_then(Profile::named);
    let base = named.unwrap_or_else(|| {
        let instances = args.instances.unwrap_or_default();
        Profile {
            instances,
            test_instances: instances / 4,
            features: args.features.unwrap_or_default(),
            labels: args.labels.unwrap_or_default(),
            entries_per_row: 50.0,
            labels_per_row: 5.0,
            skew: 0.75,
        }
    });
    Profile {
        instances: args.instances.unwrap_or(base.instances),
        test_instances: args.test_instances.unwrap_or(base.test_instances),
        features: args.features.unwrap_or(base.features),
        labels: args.labels.unwrap_or(base.labels),
        entries_per_row: args.entries_per_row.unwrap_or(base.entries_per_row),
        labels_per_row: args.labels_per_row.unwrap_or(base.labels_per_row),
        skew: args.skew.unwrap_or(base.skew),
    }
}

fn check_ending(path: &Path) -> Result<()> {
    if path == Path::new("-") || Format::of_path(path) == Some(Format::Xc) {
        return Ok(());
    }
    bail!(
        "{}: rows are generated in the XC repository's format: name the file .txt, .txt.gz or \
         .txt.zst, and convert it afterwards",
        path.display()
    )
}

fn write(path: &Path, generator: &Generator, rows: Range<u64>, task: &Task) -> Result<()> {
    Ok(write_atomically(path, |mut output| generator.write_xc(rows, &mut output, task))?)
}
