//! `labelwood demo`: what labelwood does, shown on the questions that come with it.
//!
//! It takes the way that one's own texts take: the questions are read as a TSV file, the model is
//! trained into a folder, and the figures are those of the model as it is opened from there.
//! [`page`] is what is printed; [`corpus`] writes the questions to files instead.

mod corpus;
mod page;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use labelwood::Settings;
use labelwood::data::corpus::{TEST, TRAIN};
use labelwood::data::documents::{Documents, Format, Labels, Options};
use labelwood::data::{Dataset, LabelIndexBuilder, write_atomically};
use labelwood::model::{Model, train_text};
use labelwood::run::{Clock, Task};
use labelwood::store::{self, Start, check_target};
use labelwood::text::{self, TextReader};

use crate::args::choice;
use crate::context::Context;
use crate::prediction::{measured, most_frequent, predicted};
use page::Page;

/// Arguments of `labelwood demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The questions were written for labelwood and are part of the command.")]
pub struct Args {
    /// Keep the model in DIR; by default it is gone when the demo ends
    #[arg(short, long, value_name = "DIR")]
    model: Option<PathBuf>,

    /// Replace a model, or files of questions, that are there
    #[arg(long)]
    overwrite: bool,

    /// Train nothing, but write the questions to FOLDER: a file to train on and one to test with
    #[arg(long, value_name = "FOLDER", conflicts_with = "model")]
    write_corpus: Option<PathBuf>,

    /// How to write the questions
    #[arg(long, value_name = "FORMAT", default_value = "tsv", requires = "write_corpus",
        alias = "format", value_parser = choice(&corpus::FORMATS))]
    to: Format,
}

/// Trains on the questions and shows what came of it, or only writes them.
pub fn run(args: Args, context: &Context) -> Result<()> {
    if let Some(folder) = &args.write_corpus {
        return corpus::write(folder, args.to, args.overwrite, context);
    }
    let start = Start { resume: false, overwrite: args.overwrite };
    match &args.model {
        Some(target) => {
            check_target(target, args.overwrite)?;
            show(target, start, context)?;
            context.note(format_args!("The model is in {}.", target.display()));
            Ok(())
        }
        None => {
            let temporary = tempfile::Builder::new().prefix("labelwood-demo-").tempdir();
            let temporary =
                temporary.context("no temporary folder can be made: name one with --model")?;
            show(&temporary.path().join("model"), start, context)
        }
    }
}

/// Trains a model into a folder, measures it and prints the page.
fn show(target: &Path, start: Start, context: &Context) -> Result<()> {
    let task = context.run()?;
    let clock = Clock::start();
    train(target, start, context.seed, &task)?;
    let model = Model::open(target, store::Options::default(), &task)?;
    let seconds = clock.spent().seconds;
    let test = read_test(&model, &task)?;
    let predictions = predicted(&model, &test, false, &task)?;
    let popular = most_frequent(model.labels().counts(), predictions.row(0).len(), test.len());
    let page = Page {
        model: &model,
        seconds,
        metrics: measured(&model, &test, &predictions)?.metrics(),
        popular: measured(&model, &test, &popular)?.metrics(),
        predictions: &predictions,
    };
    context.hide_progress();
    write_atomically(Path::new("-"), |output| write!(output, "{page}"))?;
    Ok(())
}

/// Trains with default settings.
fn train(target: &Path, start: Start, seed: u64, task: &Task) -> Result<()> {
    let options = Options::default();
    let documents = documents(TRAIN, &options, task)?;
    let (params, names) = (text::Params::default(), LabelIndexBuilder::default());
    let (reader, dataset) = TextReader::fit(documents, &options, params, names, task)?;
    let settings = Settings::default().set("seed", seed)?;
    train_text(&dataset, &reader, &settings, target, start, task)?;
    Ok(())
}

/// Reads the questions to measure on, in the way that the model keeps.
fn read_test(model: &Model, task: &Task) -> Result<Dataset> {
    let reader = model.text().context("the model was trained on text")?;
    let names = model.labels().names().context("the labels of text have names")?;
    Ok(reader.read(documents(TEST, reader.options(), task)?, names, task)?)
}

/// A part of the corpus as a file that is being read.
fn documents<'a>(part: &'static str, options: &Options, task: &'a Task) -> Result<Documents<'a>> {
    let required = Labels::Required;
    Ok(Documents::from_bytes(part.as_bytes(), "corpus", Format::Tsv, options, required, task)?)
}
