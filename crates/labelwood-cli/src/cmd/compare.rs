//! `labelwood compare`: algorithms side by side on the same rows.

use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use labelwood::app::TrainingNeed;
use labelwood::compare::{Comparison, Contestant, Outcome, Split, TrialError};
use labelwood::data::predictions::PredictionFormat;
use labelwood::data::{Dataset, write_atomically, write_own};
use labelwood::report::ComparisonPage;
use labelwood::run::Task;
use labelwood::words::plural;

use super::train::memory;
use crate::args::{at_least_1, choice, share};
use crate::context::Context;
use crate::duration;
use crate::input::{FORMATS, InputArgs, Kind};
use crate::learn::{LearnArgs, Rows, warn_of_learned_rows};
use crate::output::{check_outputs, print, print_json};
use crate::prediction::{LabelNames, prediction_format};
use crate::report::{RowNotes, name_of};
use crate::signals::NOTHING_KEPT;
use crate::split::{Division, divide_rows};
use crate::table::Table;
use crate::terminal::{table_width, wrapped};
use crate::text::{DocumentArgs, VectoriserArgs};

/// The files for people and programs in the folder.
const PAGE: &str = "table.md";
const LATEX: &str = "table.tex";
const FIGURES: &str = "figures.json";

/// Arguments of `labelwood compare`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each algorithm learns from the same rows with its defaults, or with the preset after a colon, and is tested \
    with the same others. Intervals are those of a paired bootstrap over the test rows, for all differences \
    together. Every finished trial is kept in FOLDER: the same command goes on with a comparison that was stopped. \
    FOLDER also gets the table as Markdown (table.md) and LaTeX (table.tex), and all figures (figures.json)."
)]
pub struct Args {
    /// The rows to learn from
    #[arg(value_name = "DATA")]
    data: PathBuf,

    /// Test with these rows
    #[arg(long, value_name = "DATA", conflicts_with_all = ["holdout", "folds"])]
    test: Option<PathBuf>,

    /// Hold out a share of the rows to test with [default: 0.2]
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "folds")]
    holdout: Option<f64>,

    /// Test with each of so many parts of the rows in turn
    #[arg(long, value_name = "N", value_parser = folds, allow_negative_numbers = true)]
    folds: Option<usize>,

    /// What to compare, such as craftml,label-tree:bonsai [default: all that suit the rows]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = Contestant::named)]
    algorithms: Vec<Contestant>,

    /// Train each so many times, with seeds from --seed on
    #[arg(long, value_name = "N", default_value = "1", value_parser = at_least_1,
        allow_negative_numbers = true)]
    seeds: NonZeroUsize,

    /// Compare with what another system predicted for the rows of --test, in their order; may be given
    /// several times
    #[arg(long, value_name = "NAME=FILE", requires = "test", value_parser = named_file)]
    predictions: Vec<(String, PathBuf)>,

    /// The format of such files, if their endings do not tell
    #[arg(long, value_name = "FORMAT", requires = "predictions",
        value_parser = choice(&super::evaluate::FORMATS))]
    predictions_from: Option<PredictionFormat>,

    /// Stop after this time, such as 5m, and compare what is done
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    budget: Option<Duration>,

    /// The folder for the finished trials and what comes of them
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,

    /// Write a page for a browser to FILE: all figures and costs as tables and pictures, and all settings
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,

    /// Replace the file of --report if it is there
    #[arg(long, requires = "report")]
    overwrite: bool,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,

    /// The format of DATA, if its ending does not tell
    #[arg(long, value_name = "FORMAT", value_parser = choice(&FORMATS))]
    from: Option<Kind>,

    #[command(flatten)]
    reading: InputArgs,

    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    vectoriser: VectoriserArgs,
}

/// How many folds there are.
fn folds(text: &str) -> Result<usize, String> {
    match at_least_1(text)?.get() {
        1 => Err("must be 2 or more".to_owned()),
        folds => Ok(folds),
    }
}

/// A name and a file.
fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), PathBuf::from(file)))
        }
        _ => Err("expected a name and a file, such as omikuji=answers.tsv".to_owned()),
    }
}

/// Which rows are tested with.
#[derive(Clone, Copy)]
enum Testing<'a> {
    File(&'a Path),
    HeldOut(Division),
}

/// Trains, tests, and prints the table.
pub fn run(args: Args, context: &Context) -> Result<()> {
    args.check_report()?;
    let task = context.run_within(args.budget, |progress| progress, args.kept())?;
    let until = args.budget.map(|budget| context.started() + budget);
    let timed = &task.until(until);
    let mut learn = args.learn();
    let mut comparison: Option<Comparison> = None;
    for testing in args.testing() {
        let (rows, test) = read(&mut learn, testing, context, &task)?;
        let split = Split { train: &rows.dataset, test: &test, reader: rows.reader.as_ref() };
        let comparison = match &mut comparison {
            Some(comparison) => comparison,
            empty => {
                let notes = learn.notes(&rows.dataset, rows.text.as_deref());
                notes.iter().for_each(|note| context.note(note));
                empty.insert(args.begin(&rows, &test, context, &task)?)
            }
        };
        for (name, file) in &args.predictions {
            let format = prediction_format(file, args.predictions_from)?;
            let labels = LabelNames {
                names: rows.dataset.label_names.as_ref(),
                is_text: rows.reader.is_some(),
                count: rows.dataset.labels.columns().max(test.labels.columns()),
            };
            let ids = vec![None; test.len()];
            let separator = args.documents.separator();
            let read = labels.read(file, format, separator, ("id", &ids), &task)?;
            comparison.join(name, &read.predictions, &split)?;
        }
        comparison.try_out(&split, timed).map_err(|error| args.stopped_or(error))?;
    }
    let comparison = comparison.ok_or_else(|| anyhow!("nothing was compared"))?;
    let outcome = comparison.outcome(&task).map_err(|error| args.stopped_or(error))?;
    args.write(&outcome)?;
    if let Some(report) = &args.report {
        let title = format!("Comparison on {}", name_of(&args.data));
        let page = ComparisonPage { title: &title, outcome: &outcome };
        write_atomically(report, |output| write!(output, "{page}"))?;
    }
    context.hide_progress();
    match args.json {
        true => print_json(&outcome)?,
        false => print(&Shown(&outcome))?,
    }
    if let Some(folder) = &args.output {
        context.note(format_args!("{}: {PAGE}, {LATEX} and {FIGURES} are here", folder.display()));
    }
    Ok(())
}

/// Reads the rows to learn from, and those to test with.
fn read(
    learn: &mut LearnArgs,
    testing: Testing<'_>,
    context: &Context,
    task: &Task,
) -> Result<(Rows, Dataset)> {
    let division = match testing {
        Testing::File(_) => None,
        Testing::HeldOut(division) => Some(division),
    };
    if let Some(division) = division {
        learn.hold_out(division, context.seed, task)?;
    }
    let mut rows = learn.read(false, None, task)?;
    let mut notes = RowNotes::default();
    let test = match (testing, learn.read_held_out(&rows, &mut notes, task)?) {
        (Testing::File(path), _) => learn.read_test(path, &rows, &mut notes, task)?,
        (Testing::HeldOut(_), Some(test)) => test,
        (Testing::HeldOut(division), None) => {
            let (train, test) =
                divide_rows(learn.path(), &rows.dataset, division, context.seed, task)?;
            rows.dataset = train;
            test
        }
    };
    learn.check_rows(&rows.dataset)?;
    if let Testing::File(path) = testing
        && test.digest() == rows.dataset.digest()
    {
        warn_of_learned_rows(path);
    }
    if test.is_empty() {
        bail!("{}: there are no rows to test with", learn.path().display());
    }
    Ok((rows, test))
}

impl Args {
    /// Refuses a report in the place of something else, or in none.
    fn check_report(&self) -> Result<()> {
        let folder = self.report.as_deref().and_then(Path::parent);
        if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty())
            && !folder.is_dir()
        {
            bail!("--report: there is no folder {}: make it first", folder.display());
        }
        let predictions = self.predictions.iter().map(|(_, file)| file);
        let read = [&self.data].into_iter().chain(&self.test).chain(&self.reading.vocabulary);
        let read = read.chain(predictions).map(PathBuf::as_path);
        check_outputs(self.report.as_deref(), read, self.overwrite)
    }

    /// How DATA is read to learn from it.
    fn learn(&self) -> LearnArgs {
        let Args { data, from, reading, documents, vectoriser, .. } = self;
        LearnArgs::of_data(
            data.clone(),
            *from,
            reading.clone(),
            documents.clone(),
            vectoriser.clone(),
        )
    }

    /// The rows to test with, of each split.
    fn testing(&self) -> Vec<Testing<'_>> {
        match (&self.test, self.folds) {
            (Some(path), _) => vec![Testing::File(path)],
            (None, Some(count)) => {
                let fold = |number| Testing::HeldOut(Division::Fold(number, count));
                (0..count).map(fold).collect()
            }
            (None, None) => vec![Testing::HeldOut(Division::Share(self.holdout.unwrap_or(0.2)))],
        }
    }

    /// Says what will be compared. What does not fit into memory is left out, or refused if it was
    /// asked for.
    fn begin(
        &self,
        rows: &Rows,
        test: &Dataset,
        context: &Context,
        task: &Task,
    ) -> Result<Comparison> {
        let need = |contestant: &Contestant| {
            let need = TrainingNeed {
                rows: rows.dataset.view(),
                settings: &contestant.settings,
                calibrate: false,
                threshold: false,
                threads: task.threads(),
                keeps_model: true,
                reader: rows.reader.as_ref(),
            };
            memory::check(&need, context.max_memory)
        };
        let mut contestants = self.algorithms.clone();
        for contestant in &contestants {
            need(contestant)?;
        }
        if contestants.is_empty() {
            contestants = Contestant::all(&rows.dataset);
            contestants.retain(|contestant| match need(contestant) {
                Ok(_) => true,
                Err(error) => {
                    context.note(format_args!("{} is left out: {error}", contestant.name));
                    false
                }
            });
        }
        let names: Vec<&str> = contestants.iter().map(|one| &*one.name).collect();
        context.note(format_args!(
            "{} on {} to learn from and {} to test with{}: {}",
            plural(contestants.len(), "algorithm"),
            plural(rows.dataset.len(), "row"),
            plural(test.len(), "row"),
            self.folds.map(|folds| format!(", in {folds} folds")).unwrap_or_default(),
            names.join(", ")
        ));
        let (seeds, splits) = (self.seeds.get(), self.folds.unwrap_or(1));
        let folder = self.output.as_deref();
        Ok(Comparison::new(contestants, seeds, context.seed, splits, folder)?)
    }

    /// Puts what came of it into the folder, if there is one.
    fn write(&self, outcome: &Outcome) -> Result<()> {
        let Some(folder) = &self.output else { return Ok(()) };
        let figures = serde_json::to_string_pretty(outcome)? + "\n";
        for (name, text) in [(PAGE, outcome.page()), (LATEX, outcome.latex()), (FIGURES, figures)] {
            write_own(&folder.join(name), |output| output.write_all(text.as_bytes()))?;
        }
        Ok(())
    }

    /// What is left when the run is ended from outside.
    fn kept(&self) -> impl Fn() -> String + Send + Sync + 'static {
        let folder = self.output.clone();
        move || match &folder {
            Some(folder) => kept(folder),
            None => NOTHING_KEPT.to_owned(),
        }
    }

    /// The error of a comparison; a stopped one says what is kept and how to go on.
    fn stopped_or(&self, error: TrialError) -> anyhow::Error {
        let kept = match &self.output {
            Some(folder) => kept(folder),
            None => "nothing is kept without --output".to_owned(),
        };
        match error {
            TrialError::Stopped { source, .. } => anyhow::Error::from(source).context(kept),
            TrialError::TimeUp { .. } => {
                anyhow!(
                    "the time was up before the first algorithm was done: {kept}, or allow a longer --budget"
                )
            }
            other => other.into(),
        }
    }
}

fn kept(folder: &Path) -> String {
    let folder = folder.display();
    format!("finished trials are kept in {folder}; the same command goes on with them")
}

/// What came of it: in a terminal a table that fits it, elsewhere one in Markdown.
struct Shown<'a>(&'a Outcome);

impl Display for Shown<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Shown(outcome) = self;
        if !io::stdout().is_terminal() {
            return writeln!(out, "{}\n{}", outcome.markdown(), outcome.verdict());
        }
        let columns = table_width();
        Table::of_rows(&outcome.cells(), columns).write(out, columns)?;
        writeln!(out, "\n{}", wrapped(&outcome.verdict(), columns, false).join("\n"))
    }
}
