//! `labelwood convert`: the same rows in another format, text included, and models made smaller.

mod shrink;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use labelwood::data::Format::Binary;
use labelwood::data::documents::{self, Labels, Options, Separator};
use labelwood::data::{
    self, Dataset, LabelIndex, write_atomically, write_binary, write_header, write_row,
};
use labelwood::model::{open_text, save_text};
use labelwood::run::{Stage, Task};
use labelwood::sparse::Row;
use labelwood::store::{self, check_target, is_model};
use labelwood::text::{Params, TextReader};
use labelwood::words::plural;

use crate::args::choice;
use crate::context::Context;
use crate::input::{FORMATS, InputArgs, Kind};
use crate::output::check_outputs;
use crate::text::{self, DocumentArgs, VectoriserArgs};

/// Rows between two looks at the progress bar and the signals.
const CHUNK: usize = 4096;

/// Arguments of `labelwood convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The endings tell the formats: .txt (XC repository), .svm or .libsvm \
    (LIBSVM multi-label), .lwd (binary, which is not parsed but mapped into memory), and for text .tsv, \
    .csv or .jsonl, each also with .gz or .zst. Label names given with --vocabulary, and those of text, \
    are written into .lwd, else beside OUT as NAME.labels.txt. Vectors become \
    text again as the terms and labels of a vectoriser. With --prune or --values, IN is a model and OUT \
    a smaller one; --from is then the format of --test. Without them a model becomes one file if OUT ends in \
    .labelwood, and a file becomes a folder.")]
pub struct Args {
    /// The file to read, - for standard input; or a model
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The file to write, - for standard output; or the model that is to be written
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// Replace OUT, and what --save-vectoriser names, if they are there
    #[arg(long)]
    overwrite: bool,

    /// The format of IN, if its ending does not tell
    #[arg(long, value_name = "FORMAT", value_parser = choice(&FORMATS))]
    from: Option<Kind>,

    /// The format of OUT, if its ending does not tell
    #[arg(long, value_name = "FORMAT", value_parser = choice(&FORMATS))]
    to: Option<Kind>,

    /// Turn text into vectors as this folder does, or vectors into its terms and labels: that of a
    /// model of text, or what --save-vectoriser wrote
    #[arg(long, value_name = "DIR", conflicts_with = "save_vectoriser")]
    vectoriser: Option<PathBuf>,

    /// Keep how text was turned into vectors, and the labels, for other files
    #[arg(long, value_name = "DIR")]
    save_vectoriser: Option<PathBuf>,

    #[command(flatten)]
    reading: InputArgs,

    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    settings: VectoriserArgs,

    #[command(flatten)]
    shrinking: shrink::ShrinkArgs,
}

/// Reads IN and writes OUT; label names that were asked for go beside it.
pub fn run(args: Args, context: &Context) -> Result<()> {
    if args.shrinking.is_typed() || is_model(&args.input) {
        return shrink::run(args, context);
    }
    let task = context.run()?;
    let Some(to) = Kind::of(&args.output, args.to) else {
        let output = args.output.display();
        match Kind::of(&args.input, args.from) {
            Some(Kind::Text(_)) => bail!(
                "{output}: the ending does not tell the format: text becomes vectors, so name it .txt, .svm or \
                 .lwd, or add --to xc, --to libsvm or --to lwd"
            ),
            _ if args.vectoriser.is_some() => bail!(
                "{output}: the ending does not tell the format: name it .tsv or .jsonl, or add --to tsv or \
                 --to jsonl"
            ),
            _ => bail!(
                "{output}: the ending does not tell the format: name it .txt, .svm or .lwd, or add --to xc, \
                 --to libsvm or --to lwd"
            ),
        }
    };
    args.check_output()?;
    match (Kind::required(&args.input, args.from)?, to) {
        (Some(Kind::Text(_)), Kind::Text(_)) => {
            bail!(
                "both IN and OUT are text: convert turns text into vectors, and vectors into text"
            )
        }
        (Some(Kind::Text(from)), Kind::Vectors(to)) => {
            text_to_vectors(&args, args.from.and(Some(from)), to, context, &task)
        }
        (from, Kind::Text(to)) => vectors_to_text(&args, from.and_then(Kind::vectors), to, &task),
        (from, Kind::Vectors(to)) => {
            args.refuse_text_flags()?;
            if args.reading.vocabulary.is_some() && to != Binary && args.output == Path::new("-") {
                bail!("standard output has no place for label names: leave out --vocabulary");
            }
            let dataset = args.reading.read(&args.input, from.and_then(Kind::vectors), &task)?;
            args.write(&dataset, to, &task)
        }
    }
}

fn text_to_vectors(
    args: &Args,
    from: Option<documents::Format>,
    to: data::Format,
    context: &Context,
    task: &Task,
) -> Result<()> {
    if let Some(folder) = &args.vectoriser {
        if args.settings.is_typed() {
            bail!("{} has its settings: leave out those of \"Text to vectors\"", folder.display());
        }
        let (reader, names) = open_vectoriser(folder, task)?;
        let input = &[&args.input];
        let (documents, _) =
            args.documents.open(input, from, reader.options(), Labels::Optional, task)?;
        let dataset = reader.read(documents, &names, task).map_err(text::lift)?;
        let unseen = dataset.labels.columns() - names.len();
        if unseen > 0 {
            tracing::warn!(
                "{}: {unseen} of its labels are not in {}; they have ids from {} on",
                args.input.display(),
                folder.display(),
                names.len()
            );
        }
        return write_vectors(&args.output, &dataset, to, task);
    }
    if let Some(folder) = &args.save_vectoriser {
        check_target(folder, args.overwrite)?;
    }
    let params = args.settings.over(Params::default(), task)?;
    let options = Options::default();
    let documents = args.documents.open(&[&args.input], from, &options, Labels::Required, task)?;
    let known = args.reading.known_labels(&args.input, task)?;
    let (reader, dataset) = text::fit(documents, params.clone(), known, task)?;
    context.note(args.documents.describe(&params, &reader, &dataset));
    args.write(&dataset, to, task)?;
    if let Some(folder) = &args.save_vectoriser {
        save_text(&reader, &dataset, folder, args.overwrite)?;
    }
    Ok(())
}

/// The reader of text in a folder, and its label names.
fn open_vectoriser(folder: &Path, task: &Task) -> Result<(TextReader, LabelIndex)> {
    let Some((reader, labels)) = open_text(folder, store::Options::default(), task)? else {
        bail!("{}: this model was trained on vectors and reads no text", folder.display());
    };
    Ok((reader, labels.names().cloned().unwrap_or_default()))
}

fn write_vectors(path: &Path, dataset: &Dataset, format: data::Format, task: &Task) -> Result<()> {
    if format == Binary {
        return Ok(write_binary(path, dataset.view())?);
    }
    let widths = (dataset.features.columns(), dataset.labels.columns());
    Ok(write_atomically(path, |output| {
        write_header(output, format, dataset.len(), widths)?;
        for_each_row(dataset, task, |labels, features| write_row(output, format, labels, features))
    })?)
}

fn for_each_row(
    dataset: &Dataset,
    task: &Task,
    mut write: impl FnMut(&[u32], Row<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let rows = dataset.labels.rows().zip(dataset.features.rows());
    for (done, (labels, features)) in rows.enumerate() {
        if done % CHUNK == 0 {
            task.check().map_err(io::Error::other)?;
            task.progress(Stage::Writing, done as u64, dataset.len() as u64);
        }
        write(labels.indices, features)?;
    }
    Ok(())
}

/// Writes the terms of each row, the weightiest first, and the labels as text has them.
fn vectors_to_text(
    args: &Args,
    from: Option<data::Format>,
    to: documents::Format,
    task: &Task,
) -> Result<()> {
    if to == documents::Format::Csv {
        bail!("{}: text is written as .tsv or .jsonl", args.output.display());
    }
    let Some(folder) = &args.vectoriser else {
        bail!("vectors become text by the terms of a vectoriser: add --vectoriser DIR");
    };
    let (reader, names) = open_vectoriser(folder, task)?;
    if reader.vectoriser().params().hashing.is_some() {
        bail!("{}: its terms are hashed and cannot be told", folder.display());
    }
    let dataset = args.reading.read(&args.input, from, task)?;
    let (columns, labels) = (dataset.features.columns(), dataset.labels.columns());
    if columns > reader.vectoriser().columns() || labels > names.len() {
        bail!(
            "{}: {} and {}, but {} has {} and {}: these vectors were made otherwise",
            args.input.display(),
            plural(columns, "feature"),
            plural(labels, "label"),
            folder.display(),
            reader.vectoriser().columns(),
            names.len()
        );
    }
    let separator = match reader.options().separator.as_ref().and_then(Separator::text) {
        Some(separator) => separator,
        None => unused_separator(&names),
    };
    Ok(write_atomically(&args.output, |output| {
        for_each_row(&dataset, task, |labels, features| {
            let mut entries: Vec<(u32, f32)> = features.iter().collect();
            entries.sort_by(|one, other| other.1.total_cmp(&one.1));
            let terms = entries.iter().filter_map(|&(term, _)| reader.vectoriser().term(term));
            let text = terms.collect::<Vec<_>>().join(" ");
            let labels: Vec<&str> = labels.iter().map(|&label| names.code(label)).collect();
            write_document(output, to, &text, &labels, separator)
        })
    })?)
}

/// A separator that no label holds, for labels that were not split from one field.
fn unused_separator(names: &LabelIndex) -> &'static str {
    let is_unused = |separator: &&str| {
        !(0..names.len() as u32).any(|label| names.code(label).contains(*separator))
    };
    [" ", ";", "|", ","].into_iter().find(is_unused).unwrap_or(" ")
}

fn write_document(
    output: &mut dyn Write,
    format: documents::Format,
    text: &str,
    labels: &[&str],
    separator: &str,
) -> io::Result<()> {
    match format {
        documents::Format::Jsonl => {
            let object = serde_json::json!({ "text": text, "labels": labels });
            writeln!(output, "{object}")
        }
        // Terms hold no TAB and no line break, and need no quotes here.
        _ => writeln!(output, "{text}\t{}", labels.join(separator)),
    }
}

impl Args {
    /// Refuses an OUT that would take the place of something.
    fn check_output(&self) -> Result<()> {
        let read = [&self.vectoriser, &self.reading.vocabulary].into_iter().flatten();
        let read = read.chain([&self.input]).map(PathBuf::as_path);
        check_outputs([self.output.as_path()], read, self.overwrite)
    }

    fn refuse_text_flags(&self) -> Result<()> {
        let folder = [
            ("--vectoriser", self.vectoriser.is_some()),
            ("--save-vectoriser", self.save_vectoriser.is_some()),
            ("the flags of \"Text to vectors\"", self.settings.is_typed()),
        ];
        let folder = folder.into_iter().find(|(_, is_typed)| *is_typed).map(|(flag, _)| flag);
        if let Some(flag) = self.documents.typed().or(folder) {
            bail!("{flag} need text, but both IN and OUT are vectors");
        }
        Ok(())
    }

    /// Writes OUT, and beside it, where every reader finds them, the names of labels, unless OUT has a place
    /// for them.
    fn write(&self, dataset: &Dataset, to: data::Format, task: &Task) -> Result<()> {
        let has_place = to == Binary || self.output == Path::new("-");
        let names = dataset.label_names.as_ref().filter(|_| !has_place);
        let place = |names: &LabelIndex| names.place_beside(&self.output, self.overwrite, task);
        let path = names.map(place).transpose()?.flatten();
        write_vectors(&self.output, dataset, to, task)?;
        match (names, path) {
            (Some(names), Some(path)) => Ok(names.write(&path)?),
            _ => Ok(()),
        }
    }
}
