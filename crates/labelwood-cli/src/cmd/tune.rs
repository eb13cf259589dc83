//! `labelwood tune`: settings that suit the data.

use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Result, anyhow};
use labelwood::app::TrainingNeed;
use labelwood::auto;
use labelwood::data::write_own;
use labelwood::run::{Progress, Stage, Task};
use labelwood::text::Params;
use labelwood::tune::{
    Measure, Outcome, Plan, TEXT_SAMPLE, TextOutcome, TextPlan, TrialError, tune,
};
use labelwood::words::plural;
use serde_json::json;

use super::train::memory;
use crate::context::Context;
use crate::duration;
use crate::learn::{LearnArgs, Rows, TextTrial, TuneRequest};
use crate::output::{print, quoted};
use crate::settings::{TUNED, named};
use crate::signals::NOTHING_KEPT;
use crate::split::selected;
use crate::table::Table;
use crate::terminal::{table_width, wrapped};
use crate::text;

/// The files for people in the folder.
const PAGE: &str = "table.md";
const CHART: &str = "chart.svg";
const TEXT_CHART: &str = "text.svg";

/// Arguments of `labelwood tune`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A few settings are tried on few rows and with few trees, cross-validated; the best third goes on with \
    three times as many, until the last round has all. For text, ways to read it (stems, stop words, n-grams) are tried \
    before, on some of the documents. Settings that are typed are not changed. Every finished trial is \
    kept in FOLDER: the same command goes on with a tuning that was stopped. FOLDER also gets a table (table.md), a chart \
    (chart.svg) and the settings to take, which `labelwood train DATA --settings FOLDER` does. The same data, settings and seed \
    give the same choice on any number of threads."
)]
pub struct Args {
    /// The folder for the finished trials and what comes of them
    #[arg(short, long, value_name = "FOLDER")]
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
    let request = args.learn.tune_request(context)?;
    let trials = Trials::default();
    let task = context.run_within(args.budget, trials.watch(), trials.kept(&args.output))?;
    let until = args.budget.map(|budget| context.started() + budget);
    let timed = &task.until(until);
    let text = args.tune_text(&request, context, &task, timed)?;
    let rows = args.read(text.as_ref().map(|text| text.params.clone()), &task)?;
    let dataset = &rows.dataset;
    let starts = request.starts.clone().unwrap_or_else(|| {
        let among = auto::algorithms(dataset.view(), context.seed).into_iter();
        among.map(|settings| settings.favour(request.favour)).collect()
    });
    let keep = args.learn.typed_settings();
    let plan = Plan::new(dataset.view(), &starts, &keep, args.measure, args.folds)?;
    args.announce(&plan, &rows, context, &task)?;
    let outcome = tune(dataset.view(), &plan, &args.output, timed)
        .map_err(|error| stopped_or(error, &args.output))?;
    let text = text.map(|text| text.outcome);
    args.write(&outcome, text.as_ref(), &request, &rows)?;
    context.hide_progress();
    for outcome in text.iter().chain([&outcome]) {
        print(&Shown(outcome))?;
    }
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

/// What came of a tuning: in a terminal a table that fits it, elsewhere one in Markdown.
struct Shown<'a>(&'a Outcome);

impl Display for Shown<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Shown(outcome) = self;
        if !io::stdout().is_terminal() {
            return writeln!(out, "{}\n{}", outcome.table(), outcome.verdict());
        }
        let columns = table_width();
        Table::of_rows(&outcome.cells(), columns).write(out, columns)?;
        writeln!(out, "\n{}", wrapped(&outcome.verdict(), columns, false).join("\n"))
    }
}

impl Args {
    /// How DATA is read, if it is text and there are several ways to try, which `timed` has the time for.
    fn tune_text(
        &self,
        request: &TuneRequest,
        context: &Context,
        task: &Task,
        timed: &Task,
    ) -> Result<Option<TextOutcome>> {
        if self.train_split.is_some() {
            return Ok(None);
        }
        let start = request.starts.as_ref().and_then(|starts| starts.first());
        let seed = start.map_or(context.seed, |start| start.seed());
        let Some(trial) = self.learn.sample(TEXT_SAMPLE, seed, task)? else { return Ok(None) };
        let TextTrial { sample, start, keep } = &trial;
        let plan = TextPlan::new(sample, start, keep, self.measure, self.folds, seed, task);
        let Some(plan) = plan.map_err(text::lift)? else { return Ok(None) };
        let (ways, folds) = (plan.plan().candidates().len(), self.folds);
        context.note(format_args!(
            "text: {ways} ways to read it are tried first, in {folds} folds of {} of {}",
            sample.len(),
            plural(sample.documents(), "document")
        ));
        let found = plan.tune(Some(&self.output), timed);
        found.map(Some).map_err(|error| stopped_or(error, &self.output))
    }

    fn read(&self, text: Option<Params>, task: &Task) -> Result<Rows> {
        let is_split = self.train_split.is_some();
        let Rows { dataset, reader, text } = self.learn.read(is_split, text, task)?;
        let dataset = selected(dataset, self.train_split.as_deref(), self.split_column, task)?;
        self.learn.check_rows(&dataset)?;
        Ok(Rows { dataset, reader, text })
    }

    /// Says what will be tried, and refuses what will not fit.
    fn announce(&self, plan: &Plan, rows: &Rows, context: &Context, task: &Task) -> Result<()> {
        let notes = self.learn.notes(&rows.dataset, rows.text.as_deref());
        notes.iter().for_each(|note| context.note(note));
        for candidate in plan.candidates() {
            // A copy of most rows is learned from, and the model stays in memory.
            let need = TrainingNeed {
                rows: rows.dataset.view(),
                settings: &candidate.settings,
                calibrate: false,
                threshold: false,
                threads: task.threads(),
                keeps_model: true,
                reader: rows.reader.as_ref(),
            };
            memory::check(&need, context.max_memory)?;
        }
        let round = |round: &labelwood::tune::Round| {
            format!("{} on {}", plural(round.candidates, "candidate"), plural(round.rows, "row"))
        };
        let rounds: Vec<String> = plan.rounds().iter().map(round).collect();
        let folds = self.folds;
        context.note(format_args!("rounds of {folds} folds: {}", rounds.join(", then ")));
        Ok(())
    }

    /// Puts what came of it into the folder.
    fn write(
        &self,
        outcome: &Outcome,
        text: Option<&Outcome>,
        request: &TuneRequest,
        rows: &Rows,
    ) -> Result<()> {
        let chosen = &outcome.chosen().settings;
        let mut training = json!({
            "algorithm": chosen.name(),
            "settings": chosen.values(),
            "data": format!("{:032x}", rows.dataset.digest()),
            "calibrate": request.calibrate && !chosen.facts().is_calibrated,
            "threshold": self.learn.learns_threshold()?,
            "favour": request.favour,
        });
        if let Some(reader) = &rows.reader {
            training["text"] = serde_json::to_value(reader.settings())?;
        }
        let training = serde_json::to_string_pretty(&training)? + "\n";
        let text_page = text.map(|text| text.page(TEXT_CHART) + "\n").unwrap_or_default();
        let files =
            [(CHART, outcome.chart()), (PAGE, text_page + &outcome.page(CHART)), (TUNED, training)];
        let files = text.map(|text| (TEXT_CHART, text.chart())).into_iter().chain(files);
        for (name, text) in files {
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

/// How many trials are finished, as far as the run tells.
#[derive(Clone, Default)]
struct Trials(Arc<Mutex<Option<Progress>>>);

impl Trials {
    fn finished(&self) -> MutexGuard<'_, Option<Progress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches a run's progress.
    fn watch(&self) -> impl Fn(Progress) -> Progress + Send + Sync + 'static {
        let trials = self.clone();
        move |progress| {
            if progress.stage == Stage::Trials {
                *trials.finished() = Some(progress);
            }
            progress
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
fn stopped_or(error: TrialError, folder: &Path) -> anyhow::Error {
    match error {
        TrialError::Stopped { finished, total, source } => {
            anyhow::Error::from(source).context(kept(finished, total, folder))
        }
        TrialError::TimeUp { finished, total } => anyhow!(
            "the time was up too early to choose: {}, or allow a longer --budget",
            kept(finished, total, folder)
        ),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_the_trials_that_are_finished() {
        let trials = Trials::default();
        let (watch, kept) = (trials.watch(), trials.kept(Path::new("found")));
        assert_eq!(kept(), NOTHING_KEPT);
        watch(Progress::new(Stage::Trials, 3, 9));
        watch(Progress::new(Stage::Rows, 1, 2));
        assert_eq!(kept(), "3 of 9 trials are kept in found; the same command goes on with them");
    }
}
