//! `labelwood convert`: the same rows in another format.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use labelwood::data::{self, Dataset, write_atomically, write_header, write_row};
use labelwood::run::Run;

use crate::context::Context;
use crate::input::{Format, InputArgs};

/// Rows between two looks at the progress bar and the signals.
const CHUNK: usize = 4096;

/// Arguments of `labelwood convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The endings tell the formats: .txt (XC repository), .svm or .libsvm \
    (LIBSVM multi-label), each also with .gz or .zst. Label names given with --label-names \
    are written as labels.txt beside OUT.")]
pub struct Args {
    /// The file to read; - for standard input
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The file to write, replacing what is there; - for standard output
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// The format of IN, if its ending does not tell
    #[arg(long, value_name = "FORMAT")]
    from: Option<Format>,

    /// The format of OUT, if its ending does not tell
    #[arg(long, value_name = "FORMAT")]
    to: Option<Format>,

    #[command(flatten)]
    reading: InputArgs,
}

/// Reads IN and writes OUT; label names that were asked for go beside it.
pub fn run(args: Args, context: &Context) -> Result<()> {
    let run = context.run()?;
    let format = match args.to.map(Into::into).or_else(|| data::Format::of_path(&args.output)) {
        Some(format) => format,
        None => bail!(
            "{}: the ending does not tell the format: add --to xc or --to libsvm",
            args.output.display()
        ),
    };
    let names_file = names_file(&args)?;
    let dataset = args.reading.read(&args.input, args.from, &run)?;
    write_atomically(&args.output, |output| write(output, &dataset, format, &run))?;
    if let (Some(path), Some(names)) = (names_file, &dataset.label_names) {
        names.write(&path)?;
    }
    Ok(())
}

fn write(
    output: &mut dyn Write,
    dataset: &Dataset,
    format: data::Format,
    run: &Run,
) -> io::Result<()> {
    let widths = (dataset.features.columns(), dataset.labels.columns());
    write_header(output, format, dataset.len(), widths)?;
    let rows = dataset.labels.rows().zip(dataset.features.rows());
    for (done, (labels, features)) in rows.enumerate() {
        if done % CHUNK == 0 {
            run.check().map_err(io::Error::other)?;
            run.progress("writing", done as u64, dataset.len() as u64);
        }
        write_row(output, format, labels.indices, features)?;
    }
    Ok(())
}

/// Where the label names go if `--label-names` asks for it: `labels.txt` beside the output, where
/// every reader finds them. Another file of that name is not replaced.
fn names_file(args: &Args) -> Result<Option<PathBuf>> {
    let Some(given) = &args.reading.label_names else {
        return Ok(None);
    };
    if args.output == Path::new("-") {
        bail!("standard output has no place for label names: leave out --label-names");
    }
    let path = args.output.with_file_name("labels.txt");
    if !path.exists() {
        return Ok(Some(path));
    }
    let place = |path: &Path| fs::canonicalize(path).with_context(|| path.display().to_string());
    if place(&path)? != place(given)? {
        bail!("{} is already there: move it away, or leave out --label-names", path.display());
    }
    Ok(None)
}
