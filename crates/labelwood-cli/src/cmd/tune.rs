//! `labelwood tune`: settings that suit the data.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use labelwood::app::TrainingNeed;
use labelwood::data::write_own;
use labelwood::run::{Progress, Stage, Task};
use labelwood::tune::{Measure, Outcome, Plan, TuneError, tune};
use serde_json::json;

use super::train::memory;
use crate::context::Context;
use crate::duration;
use crate::learn::{LearnArgs, Rows, TrainRequest};
use crate::output::print;
use crate::settings::{Choice, TUNED, named};
use crate::signals::NOTHING_KEPT;
use crate::split::selected;

/// The files for people in the folder.
const PAGE: &str = "table.md";
const CHART: &str = "chart.svg";

/// Arguments of `labelwood tune`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A few settings are tried on few rows and with few trees, cross-validated; the best third goes on with \
    three times as many, until the last round has all. Settings that are typed are not changed. Every finished trial is \
    kept in FOLDER: the same command goes on with a tuning that was stopped. FOLDER also gets a table (table.md), a chart \
    (chart.svg) and the settings to take, which `labelwood train DATA --settings FOLDER` does. The same data, settings and seed \
    give the same choice on any number of threads."
)]
pub struct Args {
    /// The folder for the finished trials and what comes of them
    #[arg(long, value_name = "FOLDER")]
    output: PathBuf,

    /// What settings are ranked by: p (the mean of P@1, P@3 and P@5), p@1, p@3, p@5, ndcg@3 or
    /// ndcg@5
    #[arg(long, value_name = "NAME", default_value = "p", hide_possible_values = true,
        value_parser = named::<Measure>(&Measure::NAMES))]
    measure: Measure,

    /// Folds of the cross-validation
    #[arg(long, value_name = "N", default_value_t = 3)]
    folds: usize,

    /// Stop after this time, such as 5m, and decide by the rounds that are done
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    budget: Option<Duration>,

    /// Use these rows of DATA only: a table of row numbers counted from 1, a column a split
    #[arg(long, value_name = "FILE")]
    train_split: Option<PathBuf>,

    /// The column of the split file
    #[arg(long, value_name = "N", requires = "train_split", default_value_t = 1)]
    split_column: usize,

    #[command(flatten)]
    learn: LearnArgs,
}

/// Reads, tries, and says what to take.
pub fn run(args: Args, context: &Context) -> Result<()> {
    let request = args.learn.request(context)?;
    let Choice::Named(start) = &request.choice else {
        bail!("--algorithm auto is for `train`: name the one to tune");
    };
    let trials = Trials::default();
    let task = context.watched_run(trials.watch(), trials.kept(&args.output))?;
    let rows = args.read(&task)?;
    let dataset = &rows.dataset;
    let keep = args.learn.typed_settings();
    let plan = Plan::new(dataset.view(), start, &keep, args.measure, args.folds)?;
    args.announce(&plan, &rows, context, &task)?;
    let until = args.budget.map(|budget| context.started() + budget);
    let outcome = tune(dataset.view(), &plan, &args.output, &task.until(until))
        .map_err(|error| stopped_or(error, &args.output))?;
    args.write(&outcome, &request, &rows)?;
    print(&format_args!("{}\n{}\n", outcome.table(), outcome.verdict()))?;
    if !outcome.is_finished() {
        context.note("the time is up; the same command goes on with the other rounds");
    }
    context.note(format_args!(
        "{0}: {PAGE}, {CHART} and the settings are here\nnext: {1}",
        args.output.display(),
        args.next()
    ));
    Ok(())
}

impl Args {
    fn read(&self, task: &Task) -> Result<Rows> {
        let Rows { dataset, reader } = self.learn.read(self.train_split.is_some(), task)?;
        let dataset = selected(dataset, self.train_split.as_deref(), self.split_column, task)?;
        self.learn.check_rows(&dataset)?;
        Ok(Rows { dataset, reader })
    }

    /// Says what will be tried, and refuses what will not fit.
    fn announce(&self, plan: &Plan, rows: &Rows, context: &Context, task: &Task) -> Result<()> {
        let notes = self.learn.notes(&rows.dataset, rows.reader.as_ref());
        notes.iter().for_each(|note| context.note(note));
        for candidate in plan.candidates() {
            // A copy of most rows is learned from, and the model stays in memory.
            let need = TrainingNeed {
                rows: rows.dataset.view(),
                settings: &candidate.settings,
                calibrate: false,
                threads: task.threads(),
                keeps_model: true,
                reader: rows.reader.as_ref(),
            };
            memory::check(&need, context.max_memory)?;
        }
        let round = |round: &labelwood::tune::Round| {
            format!("{} candidates on {} rows", round.candidates, round.rows)
        };
        let rounds: Vec<String> = plan.rounds().iter().map(round).collect();
        let folds = self.folds;
        context.note(format_args!("rounds of {folds} folds: {}", rounds.join(", then ")));
        Ok(())
    }

    /// Puts what came of it into the folder.
    fn write(&self, outcome: &Outcome, request: &TrainRequest, rows: &Rows) -> Result<()> {
        let chosen = &outcome.chosen().settings;
        let mut training = json!({
            "algorithm": chosen.name(),
            "settings": chosen.values(),
            "data": format!("{:032x}", rows.dataset.digest()),
            "calibrate": request.calibrate,
            "favour": request.favour,
        });
        if let Some(reader) = &rows.reader {
            training["text"] = serde_json::to_value(reader.settings())?;
        }
        let training = serde_json::to_string_pretty(&training)? + "\n";
        for (name, text) in
            [(CHART, outcome.chart()), (PAGE, outcome.page(CHART)), (TUNED, training)]
        {
            let path = self.output.join(name);
            write_own(&path, |output| output.write_all(text.as_bytes()))?;
        }
        Ok(())
    }

    /// The command that trains with the settings that were chosen.
    fn next(&self) -> String {
        let mut words = vec!["labelwood".to_owned(), "train".to_owned()];
        words.extend(self.learn.data_words());
        if let Some(split) = &self.train_split {
            words.extend(["--train-split".to_owned(), split.display().to_string()]);
            words.extend(["--split-column".to_owned(), self.split_column.to_string()]);
        }
        words.extend(["--settings".to_owned(), self.output.display().to_string()]);
        words.extend(["--model".to_owned(), "model".to_owned()]);
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./@:+,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// How many trials are finished, as far as the run tells.
#[derive(Clone, Default)]
struct Trials(Arc<Mutex<Option<Progress>>>);

impl Trials {
    fn finished(&self) -> MutexGuard<'_, Option<Progress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches a run's progress and shows that of the trials, not of what goes on inside them.
    fn watch(&self) -> impl Fn(Progress) -> Progress + Send + Sync + 'static {
        let trials = self.clone();
        move |progress| {
            let mut finished = trials.finished();
            if progress.stage == Stage::Trials {
                *finished = Some(progress);
            }
            finished.unwrap_or(progress)
        }
    }

    /// What is left when the run is ended from outside.
    fn kept(&self, folder: &Path) -> impl Fn() -> String + Send + Sync + 'static {
        let (trials, folder) = (self.clone(), folder.to_owned());
        move || match *trials.finished() {
            Some(Progress { done, total, .. }) => kept(done, total, &folder),
            None => NOTHING_KEPT.to_owned(),
        }
    }
}

fn kept(finished: impl Display, total: impl Display, folder: &Path) -> String {
    let folder = folder.display();
    format!("{finished} of {total} trials are kept in {folder}; the same command goes on with them")
}

/// The error of a tuning; a stopped one says what is kept and how to go on.
fn stopped_or(error: TuneError, folder: &Path) -> anyhow::Error {
    match error {
        TuneError::Stopped { finished, total, source } => {
            anyhow::Error::from(source).context(kept(finished, total, folder))
        }
        TuneError::TimeUp { finished, total } => anyhow!(
            "the time was up before the first round was done: {}, or allow a longer --budget",
            kept(finished, total, folder)
        ),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted("out/train-1.txt"), "out/train-1.txt");
        assert_eq!(quoted("my data.txt"), "'my data.txt'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn the_trials_are_shown_rather_than_what_they_do() {
        let trials = Trials::default();
        let (watch, kept) = (trials.watch(), trials.kept(Path::new("found")));
        assert_eq!(kept(), NOTHING_KEPT);
        let rows = Progress { stage: Stage::Rows, done: 1, total: 2 };
        assert_eq!(watch(rows), rows);
        let third = Progress { stage: Stage::Trials, done: 3, total: 9 };
        assert_eq!(watch(third), third);
        assert_eq!(watch(rows), third);
        assert_eq!(kept(), "3 of 9 trials are kept in found; the same command goes on with them");
    }
}
