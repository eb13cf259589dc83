//! `labelwood train`: from a data file to a model folder.
//!
//! Here is what is typed and the order of the work; [`memory`] says whether it will fit, [`limits`]
//! chooses what fits, [`fit`] trains and tests one model, and [`summary`] prints what came of it.

mod fit;
mod limits;
pub(super) mod memory;
mod summary;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::error::ErrorKind;
use labelwood::Settings;
use labelwood::app::TrainingNeed;
use labelwood::data::Dataset;
use labelwood::run::{Clock, Spent, Task};
use labelwood::settings::Favour;
use labelwood::settings::Weighting;
use labelwood::sparse::CsrView;
use labelwood::store::{Start, check_target};
use labelwood::text::TextReader;

use crate::args::share;
use crate::context::Context;
use crate::learn::{LearnArgs, Rows, TrainRequest, warn_of_learned_rows};
use crate::output::{check_outputs, print, quoted_path};
use crate::report::{RowNotes, name_of};
use crate::settings::Choice;
use crate::split::{Division, SplitArgs, SplitFiles, divide_rows, numbered};
use crate::spread::Spread;
use fit::{Fitted, Trees};
use limits::LimitArgs;
use summary::print_summary;

const ABOUT_DATA: &str = "\
DATA is text (.tsv: text, TAB, labels; .csv with a header; .jsonl) or vectors (.txt: XC repository format; .svm: LIBSVM; \
.lwd: binary), each also with .gz or .zst. A stopped training is kept in DIR.partial: the same command with --resume goes \
on with it. The same data, settings and seed give the same model on any number of threads.";

/// Arguments of `labelwood train`.
#[derive(Debug, clap::Args)]
#[command(after_help = ABOUT_DATA)]
pub struct Args {
    /// The folder to write the model to, or a file if it ends in .labelwood
    ///
    /// With --split-column all, DIR-01 and so on.
    #[arg(short, long, value_name = "DIR")]
    model: Option<PathBuf>,

    /// Test the model with these rows
    #[arg(long, value_name = "DATA")]
    test: Option<PathBuf>,

    /// Hold out a share of the rows, such as 0.1, to test with
    ///
    /// The model learns from the others; equal texts are on one side.
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with_all = ["test", "train_split"],
        requires = "data")]
    holdout: Option<f64>,

    /// Write a page on the test to FILE, for a browser
    #[arg(long, value_name = "FILE.html", requires = "model")]
    report: Option<PathBuf>,

    /// Go on with a training that was stopped
    ///
    /// The data and settings must be the same.
    #[arg(long, requires = "model")]
    resume: bool,

    /// Replace a model that is there
    ///
    /// An unfinished training is dropped, too.
    #[arg(long, requires = "model")]
    overwrite: bool,

    /// Keep the rows in the model, so that `labelwood update` can divide leaves and learn linear
    /// classifiers again
    #[arg(long, requires = "model")]
    keep_rows: bool,

    /// Print what came of it as one line of JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    learn: LearnArgs,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    split: SplitArgs,
}

impl Args {
    fn start(&self) -> Start {
        Start { resume: self.resume, overwrite: self.overwrite }
    }

    /// Refuses a folder that must not be written to, before any work. What a finished training
    /// left is not in the way of resuming it.
    fn check_target(&self, target: &Path) -> Result<()> {
        Ok(check_target(target, self.overwrite || self.resume)?)
    }

    /// Refuses what does not go together.
    fn check(&self, choice: &Choice, calibrate: bool, threshold: bool) -> Result<()> {
        if let Some(report) = &self.report {
            if self.split.is_all() {
                bail!("--report is of one model: choose one --split-column");
            }
            if self.test.is_none() && self.holdout.is_none() && self.split.test_split.is_none() {
                bail!(
                    "--report shows how good the model is: add --holdout 0.1, or --test with rows"
                );
            }
            let read = self.learn.paths().iter().chain(&self.test).map(PathBuf::as_path);
            check_outputs([report.as_path()], read, self.overwrite || self.resume)?;
        }
        if !self.limits.are_given() {
            return Ok(());
        }
        if calibrate {
            bail!(
                "--calibrate does not go with --budget or --max-model: leave it out, or train a grove"
            );
        }
        if threshold {
            bail!(
                "--threshold auto does not go with --budget or --max-model: leave it out; a grove \
                 learns a threshold without"
            );
        }
        if self.split.is_all() {
            bail!("--budget and --max-model are for one model: choose one --split-column");
        }
        match choice {
            Choice::Named(settings) if settings.facts().grows.is_none() => {
                let growing = Settings::all().filter(|one| one.facts().grows.is_some());
                let names: Vec<&str> = growing.map(|one| one.name()).collect();
                bail!(
                    "--budget and --max-model do not go with {}, which has no trees to add one by one: \
                     choose auto or one of {}",
                    settings.name(),
                    names.join(", ")
                )
            }
            _ => Ok(()),
        }
    }

    /// There is no folder for the model; it may have been meant as the last of DATA.
    fn without_model(&self) -> anyhow::Error {
        let paths = self.learn.paths();
        let shown = |paths: &[PathBuf]| {
            paths.iter().map(|path| quoted_path(path)).collect::<Vec<_>>().join(" ")
        };
        let problem = match paths {
            [data @ .., folder] if !data.is_empty() && (folder.is_dir() || !folder.exists()) => {
                let (data, folder) = (shown(data), quoted_path(folder));
                format!("the folder of the model has a flag: labelwood train {data} -m {folder}\n")
            }
            data => {
                format!("name a folder for the model: labelwood train {} -m model\n", shown(data))
            }
        };
        let problem = format!("{problem}\nFor more information, try '--help'.\n");
        clap::Error::raw(ErrorKind::MissingRequiredArgument, problem).into()
    }

    /// What a report is on, for people.
    fn title(&self) -> String {
        let model = self.model.as_deref().map(name_of).unwrap_or_default();
        match &self.test {
            Some(test) => format!("{model} on {}", name_of(test)),
            None => format!("{model} on rows of {}", name_of(self.learn.path())),
        }
    }

    fn note(&self, context: &Context, text: String) {
        if !self.json {
            context.note(text);
        }
    }
}

/// Reads, trains and, if asked for, tests.
pub fn run(mut args: Args, context: &Context) -> Result<()> {
    let TrainRequest { choice, calibrate, threshold, favour } = args.learn.request(context)?;
    args.check(&choice, calibrate, threshold)?;
    args.learn.check_data(&choice)?;
    let single = match &args.model {
        _ if args.split.is_all() => {
            if args.split.test_split.is_none() {
                bail!("--split-column all shows how good the models are: add --test-split");
            }
            None
        }
        Some(target) => {
            args.check_target(target)?;
            Some(target.as_path())
        }
        None => return Err(args.without_model()),
    };
    let trees = Trees::default();
    let task = context.run_within(args.limits.budget, trees.watch(), trees.kept())?;
    let clock = Clock::start();
    if let Some(share) = args.holdout {
        args.learn.hold_out(Division::Share(share), context.seed, &task)?;
    }
    let before = args.chosen_before(&choice)?;
    let text = args.choose_text(&choice, before.as_ref(), context, &task)?;
    let rows = args.learn.read(args.split.train_split.is_some(), text, &task)?;
    let splits = args.split.read(rows.dataset.len(), &task)?;
    let read = clock.spent();
    // Read before the training so that a wrong name does not cost an hour.
    let mut notes = RowNotes::new(args.report.is_some());
    let test = match &args.test {
        Some(test) => Some(args.learn.read_test(test, &rows, &mut notes, &task)?),
        None => None,
    };
    let test = match args.learn.read_held_out(&rows, &mut notes, &task)? {
        Some(held_out) => Some(held_out),
        None => test,
    };
    let Rows { mut dataset, reader, text } = rows;
    let test = match (args.holdout, test) {
        (Some(share), None) => {
            let (train, test) = divide_rows(
                args.learn.path(),
                &dataset,
                Division::Share(share),
                context.seed,
                &task,
            )?;
            dataset = train;
            Some(test)
        }
        (_, test) => test,
    };
    if let (Some(_), Some(test)) = (args.holdout, &test) {
        let (learned, all) = (dataset.len(), dataset.len() + test.len());
        args.note(
            context,
            format!("holdout: {learned} of {all} rows are learned from, the others test the model"),
        );
    }
    let select = |splits: &SplitFiles| splits.select(&dataset, args.split.one(), &task);
    let selected = splits.as_ref().map(select).transpose()?;
    let (train, split_test) = match &selected {
        Some((train, test)) => (train, test.as_ref()),
        None => (&dataset, None),
    };
    args.learn.check_rows(train)?;
    let settings = match before {
        Some(training) => args.going_on(training, context)?,
        None => args.choose(&choice, calibrate, train, reader.as_ref(), context, &task)?,
    };
    let settings = settings.favour(favour);
    // The scores of a grove that auto chose are probabilities without.
    let calibrate = calibrate && !settings.facts().is_calibrated;
    let mut training = Training {
        args: &args,
        context,
        task,
        settings,
        calibrate,
        threshold,
        favour,
        trees,
        reader,
        text,
        notes,
    };
    training.narrow(train);
    match single {
        Some(target) => training.one(train, split_test.or(test.as_ref()), target, read),
        None => {
            let splits = splits.as_ref().context("--split-column all needs --train-split")?;
            training.all(&dataset, splits, read)
        }
    }
}

/// Everything that a training needs but the rows.
struct Training<'a> {
    args: &'a Args,
    context: &'a Context,
    task: Task,
    settings: Settings,
    calibrate: bool,
    threshold: bool,
    favour: Favour,
    trees: Trees,
    /// How text became the rows, if they were text.
    reader: Option<TextReader>,
    /// What was decided on the text, if they were text.
    text: Option<String>,
    /// What people call the rows to test with.
    notes: RowNotes,
}

impl Training<'_> {
    /// One model of these rows.
    fn one(
        &self,
        train: &Dataset,
        test: Option<&Dataset>,
        target: &Path,
        read: Spent,
    ) -> Result<()> {
        self.announce(train)?;
        self.look_at_test(train, test);
        let fitted = self.fit(train, test, target, &self.task)?;
        if self.args.json {
            return print_summary(read, std::slice::from_ref(&fitted), fitted.report());
        }
        if self.is_limited() && !fitted.was_there {
            let start = self.context.started();
            let text = limits::outcome(self.args, &self.settings, &fitted.settings, start);
            self.args.note(self.context, text);
        }
        self.args.note(self.context, fitted.to_string());
        match fitted.report() {
            Some(report) => print(&report),
            None => Ok(()),
        }
    }

    /// A model for each column of the split files; without `--model` none of them is kept.
    fn all(&self, dataset: &Dataset, splits: &SplitFiles, read: Spent) -> Result<()> {
        let targets = self.args.model.as_ref().map(|model| numbered(model, splits.columns()));
        for target in targets.iter().flatten() {
            self.args.check_target(target)?;
        }
        let mut fitted: Vec<Fitted> = Vec::new();
        for column in 1..=splits.columns() {
            let (train, test) = splits.select(dataset, column, &self.task)?;
            if column == 1 {
                // Every column has as many rows.
                self.announce(&train)?;
            }
            self.look_at_test(&train, test.as_ref());
            let at = |column: usize| column as f64 / splits.columns() as f64;
            let task = self.task.share(at(column - 1)..at(column));
            let model = match &targets {
                Some(targets) => self.fit(&train, test.as_ref(), &targets[column - 1], &task)?,
                None => self.fit_in_memory(&train, test.as_ref(), &task)?,
            };
            self.args.note(self.context, format!("split {column}: {model}"));
            fitted.push(model);
        }
        let tests = fitted.iter().filter_map(|one| one.test.as_ref());
        let spread = Spread::over(tests.map(|test| test.metrics.named().collect()).collect());
        if self.args.json { print_summary(read, &fitted, Some(spread)) } else { print(&spread) }
    }

    /// Warns of a test that tells nothing.
    fn look_at_test(&self, train: &Dataset, test: Option<&Dataset>) {
        if test.is_some_and(|test| test.digest() == train.digest()) {
            warn_of_learned_rows(self.args.test.as_deref().unwrap_or(self.args.learn.path()));
        }
    }

    /// What the training of these rows needs.
    fn need<'n>(&'n self, train: &'n Dataset) -> TrainingNeed<'n> {
        TrainingNeed {
            rows: train.view(),
            settings: &self.settings,
            calibrate: self.calibrate,
            threshold: self.threshold,
            threads: self.task.threads(),
            keeps_model: self.args.model.is_none(),
            reader: self.reader.as_ref(),
        }
    }

    /// Leaves out the parts for which there is no memory.
    fn narrow(&mut self, train: &Dataset) {
        if let Some((settings, why)) = memory::narrowed(&self.need(train), self.context.max_memory)
        {
            self.args.note(self.context, why);
            self.settings = settings;
        }
    }

    /// Says what will be done with the rows, and refuses what will not fit.
    fn announce(&self, train: &Dataset) -> Result<()> {
        let need = self.need(train);
        let text = memory::check(&need, self.context.max_memory)?;
        let parts = parts_text(&self.settings.resolve(train.view())).into_iter();
        let weighting = weighting_text(&self.settings, train.features.view()).to_owned();
        let weighting = self.reader.is_none().then_some(weighting).into_iter();
        let notes = weighting.chain(self.args.learn.notes(train, self.text.as_deref()));
        notes.chain(parts).chain([text]).for_each(|note| self.args.note(self.context, note));
        Ok(())
    }
}

/// What an algorithm that is made of others tries, if it does.
fn parts_text(settings: &Settings) -> Option<String> {
    let tries = settings.find("choose").is_some_and(|choose| choose == true);
    let parts: Vec<&str> = settings.parts().iter().map(|part| part.name()).collect();
    tries.then(|| {
        format!(
            "{}: tries {} on held-out rows and keeps what pays (--algorithm takes one alone)",
            settings.name(),
            parts.join(", ")
        )
    })
}

/// How the values of features are weighted, as far as the settings tell.
fn weighting_text(settings: &Settings, features: CsrView<'_>) -> &'static str {
    let weighting = settings.find("weighting").and_then(|value| serde_json::from_value(value).ok());
    let weighting = weighting.unwrap_or(Weighting::None);
    match (weighting, weighting.resolve(features)) {
        (Weighting::Auto, Weighting::Idf) => {
            "features: whole numbers, weighted by ln(1 + value) x idf (--weighting none turns this off)"
        }
        (_, Weighting::Idf) => "features: weighted by ln(1 + value) x idf",
        _ => {
            "features: taken as they are, scaled to length 1 (--weighting idf weights them by rarity)"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use labelwood::algorithms::craftml;
    use labelwood::sparse::Csr;

    #[test]
    fn the_weighting_is_said_with_the_flag_that_changes_it() {
        let rows = |value: f32| {
            let mut rows = Csr::new(1);
            rows.push_row(&[0], &[value]).expect("a row of one value");
            rows
        };
        let text = |weighting: Weighting, value| {
            let params = craftml::Params { weighting, ..Default::default() };
            weighting_text(&params.into(), rows(value).view())
        };
        assert!(text(Weighting::Auto, 2.0).contains("--weighting none"));
        assert!(text(Weighting::Auto, 0.5).contains("--weighting idf"));
        assert!(text(Weighting::None, 2.0).contains("--weighting idf"));
        assert!(!text(Weighting::Idf, 2.0).contains("--weighting"));
    }
}
