//! `labelwood predict`: the best labels of rows.

use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use labelwood::data::predictions::{self, PredictionFormat};
use labelwood::data::write_atomically;
use labelwood::model::Model;
use labelwood::sparse::Predictions;

use crate::context::Context;
use crate::prediction::{ModelArgs, read_rows};

/// Arguments of `labelwood predict`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Rows are read in the formats that train takes; their labels do not matter. \
    Without --format the ending of FILE tells the format (.tsv, .jsonl, .xc or .txt, .npz, each \
    also with .gz or .zst); standard output is a table on a terminal and tsv elsewhere. The table \
    and jsonl show label names if the model has them, the other formats ids."
)]
pub struct Args {
    /// The model's folder
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// The rows to predict; - for standard input
    #[arg(value_name = "DATA")]
    data: PathBuf,

    /// The most labels that a row gets
    #[arg(long, value_name = "K", default_value = "5")]
    top_k: NonZeroUsize,

    /// Leave out labels with a lower score
    #[arg(long, value_name = "S", value_parser = finite, allow_negative_numbers = true)]
    threshold: Option<f32>,

    /// Fill rows up to K labels with the most frequent labels of training, at score 0
    #[arg(long, conflicts_with = "threshold")]
    fill: bool,

    /// The file to write, replacing what is there; - for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    /// How to write the predictions
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// Warn where a header disagrees with the rows, and go by the rows
    #[arg(long)]
    lenient: bool,

    #[command(flatten)]
    opening: ModelArgs,
}

/// How predictions are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Aligned columns for people, with label names
    Table,
    /// `label score` separated by tabs, best first (.tsv)
    Tsv,
    /// One JSON object per row, with label names (.jsonl)
    Jsonl,
    /// The XC repository's sparse matrix: a header, then `label:score` (.xc, .txt)
    Xc,
    /// A sparse matrix for scipy (.npz)
    Npz,
}

/// Predicts the rows of DATA and writes the predictions.
pub fn run(args: Args, context: &Context) -> Result<()> {
    let format = format_of(&args)?;
    let run = context.run()?;
    let model = args.opening.open(&args.model, &run)?;
    let rows = read_rows(&args.data, args.lenient, false, &model, &run)?;
    let k = args.top_k.get();
    let beam = args.opening.beam.map(NonZeroUsize::get);
    let mut predictions = model.predict(rows.features.view(), k, beam, &run)?;
    if let Some(least) = args.threshold {
        predictions = at_least(&predictions, least);
    }
    if args.fill {
        predictions = model.fill(&predictions, k);
    }
    write_atomically(&args.output, |output| write(output, &predictions, format, &model))?;
    Ok(())
}

/// The format that was asked for, or that the output's name tells, or that suits standard output.
fn format_of(args: &Args) -> Result<Format> {
    let to_stdout = args.output.as_os_str() == "-";
    let to_terminal = to_stdout && io::stdout().is_terminal();
    let by_ending = || PredictionFormat::of_path(&args.output.to_string_lossy());
    let format = match args.format {
        Some(format) => format,
        None if to_terminal => Format::Table,
        None if to_stdout => Format::Tsv,
        None => match by_ending() {
            Some(PredictionFormat::Tsv) => Format::Tsv,
            Some(PredictionFormat::Jsonl) => Format::Jsonl,
            Some(PredictionFormat::Xc) => Format::Xc,
            Some(PredictionFormat::Npz) => Format::Npz,
            None => bail!(
                "{}: the ending does not tell the format: add --format tsv, jsonl, xc, npz or table",
                args.output.display()
            ),
        },
    };
    if to_terminal && matches!(format, Format::Npz) {
        bail!("npz is no text for a terminal: name a file with --output");
    }
    Ok(format)
}

/// The predictions with a score of at least `least`.
fn at_least(predictions: &Predictions, least: f32) -> Predictions {
    let mut kept = Predictions::default();
    for row in predictions.rows() {
        let len = row.partition_point(|scored| scored.score >= least);
        kept.push_row(&row[..len]);
    }
    kept
}

fn write(
    output: &mut dyn Write,
    predictions: &Predictions,
    format: Format,
    model: &Model,
) -> io::Result<()> {
    let names = |label| model.labels().name(label);
    let format = match format {
        Format::Table => return predictions::write_table(output, predictions, names),
        Format::Tsv => PredictionFormat::Tsv,
        Format::Jsonl => PredictionFormat::Jsonl,
        Format::Xc => PredictionFormat::Xc,
        Format::Npz => PredictionFormat::Npz,
    };
    let labels = model.labels().counts().len();
    predictions::write(output, predictions, format, labels, names)
}

/// A number that scores can be compared with.
fn finite(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(number) if f32::is_finite(number) => Ok(number),
        _ => Err("expected a number such as 0.25".to_owned()),
    }
}
