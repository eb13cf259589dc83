//! `labelwood demo`: what labelwood does, shown on the questions that come with it.
//!
//! [`page`] is what is printed; [`corpus`] writes the questions to files instead.

mod corpus;
mod page;

use std::path::{Path, PathBuf};

use anyhow::Result;
use labelwood::craftml::{Params, Trainer};
use labelwood::data::{LabelIndexBuilder, write_atomically};
use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
use labelwood::sparse::{LabelRows, Predictions};
use labelwood::text::{self, Fitting};

use super::evaluate::most_frequent;
use crate::context::Context;
use crate::machine::Clock;
use corpus::Question;
use page::Page;

/// Arguments of `labelwood demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The questions were written for labelwood and are part of the command.")]
pub struct Args {
    /// Train nothing, but write the questions to FOLDER: a file to train on and one to test with
    #[arg(long, value_name = "FOLDER")]
    write_corpus: Option<PathBuf>,

    /// How to write the questions
    #[arg(long, value_name = "FORMAT", default_value = "tsv", requires = "write_corpus")]
    format: corpus::FileFormat,
}

/// Trains on the questions and shows what came of it, or only writes them.
pub fn run(args: Args, context: &Context) -> Result<()> {
    let (train, test) = corpus::parts();
    if let Some(folder) = &args.write_corpus {
        return corpus::write(folder, args.format, &train, &test, context);
    }
    let run = context.run()?;
    let clock = Clock::start();
    let mut names = LabelIndexBuilder::default();
    let labels = label_rows(&train, &mut names)?;
    let mut fitting = Fitting::new(text::Params::default())?;
    fitting.add(&texts(&train), &run)?;
    let (vectoriser, features) = fitting.finish(&run)?;
    let params = Params { seed: context.seed, ..Params::default() };
    let forest = Trainer::new(features.view(), labels.view(), params)?.forest(&run)?;
    let seconds = clock.spent().seconds;

    let truth = label_rows(&test, &mut names)?;
    let rows = vectoriser.transform(&texts(&test), &run)?;
    let options = MetricOptions::default();
    let k = options.at.iter().copied().max().unwrap_or(1);
    let predictions = forest.predict(rows.view(), k, None, &run)?;
    let counts = labels.view().column_counts();
    let metrics = |predictions: &Predictions| {
        let training = TrainingCounts { instances: train.len(), labels: &counts };
        Evaluation::new(truth.view(), predictions, training, &options).map(|it| it.metrics())
    };
    let page = Page {
        train: train.len(),
        test: &test,
        names: &names.finish(),
        seconds,
        metrics: metrics(&predictions)?,
        popular: metrics(&most_frequent(&counts, k, test.len()))?,
        predictions: &predictions,
    };
    write_atomically(Path::new("-"), |output| write!(output, "{page}"))?;
    Ok(())
}

fn texts(questions: &[Question]) -> Vec<&'static str> {
    questions.iter().map(|(text, _)| *text).collect()
}

/// The tags of questions as ids; `names` learns those that it does not know.
fn label_rows(questions: &[Question], names: &mut LabelIndexBuilder) -> Result<LabelRows> {
    let ids = |tags: &Vec<&str>| {
        let mut ids: Vec<u32> = tags.iter().map(|tag| names.id(tag)).collect();
        ids.sort_unstable();
        ids
    };
    let rows: Vec<Vec<u32>> = questions.iter().map(|(_, tags)| tags).map(ids).collect();
    let mut labels = LabelRows::new(names.len());
    for row in rows {
        labels.push_row(&row, &vec![(); row.len()])?;
    }
    Ok(labels)
}
