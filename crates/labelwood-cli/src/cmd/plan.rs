//! `labelwood plan`: how several workers share a training.

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use labelwood::Settings;
use labelwood::app::TrainingNeed;
use labelwood::model::TrainOptions;
use labelwood::run::{Bytes, Task};
use labelwood::shard::{Options, Plan, Shard};
use labelwood::words::plural;
use labelwood::{auto, data};
use serde::Serialize;

use super::train::memory::{fits, narrowed};
use crate::args::at_least_1;
use crate::context::Context;
use crate::input::Kind;
use crate::learn::{LearnArgs, Rows, TrainRequest};
use crate::output::print_json;
use crate::settings::Choice;

/// Arguments of `labelwood plan`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "PLAN is a folder for all workers to see, or to be copied to each: it holds plan.json, the \
    rows as data.lwd, and later the finished units. If DATA is an uncompressed .lwd file, PLAN refers to it instead of \
    holding the rows. Train the shards with `labelwood shard`, in any order and at once, and join them \
    with `labelwood merge`: the model is byte for byte the one that `labelwood train` writes."
)]
pub struct Args {
    /// The folder to write the plan to
    #[arg(short, long, value_name = "PLAN")]
    output: PathBuf,

    /// Into how many shards the work is divided: as many as there are workers, or some times that
    #[arg(long, value_name = "N", value_parser = at_least_1, allow_negative_numbers = true)]
    shards: NonZeroUsize,

    /// Replace a plan that is there; finished units that are the same are kept
    #[arg(long)]
    overwrite: bool,

    /// Keep the rows in the model, so that `labelwood update` can divide leaves and learn linear
    /// classifiers again
    #[arg(long)]
    keep_rows: bool,

    /// Print the shards as one line of JSON
    #[arg(long)]
    json: bool,

    /// For a message that says what to do instead
    #[arg(long, hide = true)]
    budget: Option<String>,

    /// For a message that says what to do instead
    #[arg(long, hide = true)]
    max_model: Option<String>,

    #[command(flatten)]
    learn: LearnArgs,
}

impl Args {
    /// Refuses, before the rows are read, what only `train` can do and what no plan can have.
    fn check(&self) -> Result<()> {
        Options { shards: self.shards.get(), ..Options::default() }.check()?;
        let typed = [("--budget", &self.budget), ("--max-model", &self.max_model)];
        match typed.iter().find(|(_, value)| value.is_some()) {
            Some((flag, _)) => bail!(
                "{flag} is for `train`, which adds trees while there is room: the trees of a plan \
                 are all trained, so choose fewer with --trees and see what `plan` says they take"
            ),
            None => Ok(()),
        }
    }

    /// The algorithm for these rows: the one that was asked for, or the one that is best and fits
    /// into this machine's memory, as `train` chooses it.
    fn choose(
        &self,
        choice: Choice,
        calibrate: bool,
        rows: &Rows,
        context: &Context,
        task: &Task,
    ) -> Result<Settings> {
        let seed = match choice {
            Choice::Named(settings) => return Ok(*settings),
            Choice::Auto { seed } => seed,
        };
        let Rows { dataset, reader, .. } = rows;
        let (threads, reader) = (task.threads(), reader.as_ref());
        let has_memory = |settings: &Settings| {
            let rows = dataset.view();
            let need =
                TrainingNeed { calibrate, reader, ..TrainingNeed::new(rows, settings, threads) };
            fits(&need, context.max_memory)
        };
        let limits = auto::Limits::default();
        let auto::Choice { settings, why } =
            auto::choose(dataset.view(), seed, limits, has_memory, task)?;
        if !self.json {
            why.iter().for_each(|reason| context.note(format_args!("auto: {reason}")));
        }
        Ok(settings)
    }
}

/// Reads the rows and writes the plan.
pub fn run(args: Args, context: &Context) -> Result<()> {
    args.check()?;
    let TrainRequest { choice, calibrate, threshold, favour } = args.learn.request(context)?;
    args.learn.check_data(&choice)?;
    let task = context.run()?;
    let text = match choice {
        Choice::Auto { seed } => {
            let note = |why: String| {
                if !args.json {
                    context.note(why)
                }
            };
            args.learn.choose_text(seed, auto::Limits::default(), note, &task)?
        }
        Choice::Named(_) => None,
    };
    let rows = args.learn.read(false, text, &task)?;
    args.learn.check_rows(&rows.dataset)?;
    if !args.json {
        let notes = args.learn.notes(&rows.dataset, rows.text.as_deref());
        notes.iter().for_each(|note| context.note(note));
    }
    let settings = args.choose(choice, calibrate, &rows, context, &task)?;
    let need = TrainingNeed {
        calibrate,
        threshold,
        reader: rows.reader.as_ref(),
        ..TrainingNeed::new(rows.dataset.view(), &settings, task.threads())
    };
    let narrowed = narrowed(&need, context.max_memory);
    let settings = narrowed.map_or(settings.clone(), |(settings, why)| {
        if !args.json {
            context.note(why);
        }
        settings
    });
    // The scores of a grove that auto chose are probabilities without.
    let calibrate = calibrate && !settings.facts().is_calibrated;
    let options = Options {
        shards: args.shards.get(),
        data: mapped(&args.learn)?,
        overwrite: args.overwrite,
    };
    let text = rows.reader.as_ref();
    let keep_rows = args.keep_rows;
    let training = TrainOptions { text, calibrate, threshold, favour, keep_rows };
    let plan = Plan::make(&args.output, rows.dataset.view(), training, &settings, &options, &task)?;
    let summary = Summary::of(&plan);
    if args.json {
        return print_json(&summary);
    }
    context.note(summary);
    Ok(())
}

/// Where binary rows lie that need not be written again.
fn mapped(learn: &LearnArgs) -> Result<Option<PathBuf>> {
    let is_plain =
        learn.path().extension().is_some_and(|ending| ending.eq_ignore_ascii_case("lwd"));
    let kind = Kind::of(learn.path(), learn.from);
    let is_alone = learn.paths().len() == 1;
    if !is_plain || !is_alone || kind != Some(Kind::Vectors(data::Format::Binary)) {
        return Ok(None);
    }
    let path = learn.path();
    Ok(Some(fs::canonicalize(path).with_context(|| path.display().to_string())?))
}

/// What there is to do; the line that `plan --json` prints.
#[derive(Serialize)]
struct Summary<'a> {
    plan: &'a Path,
    stages: usize,
    threads: usize,
    shards: Vec<ShardLine>,
}

/// A shard in the lines that `plan --json` and `inspect --json` print.
#[derive(Serialize)]
pub struct ShardLine {
    /// How many of its units are finished, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<usize>,
    /// How many units it has, of both stages where those of the second are known.
    pub units: usize,
    /// The memory that it takes, about.
    pub memory_bytes: u64,
    /// The time that it takes, about.
    pub cpu_seconds: f64,
}

impl ShardLine {
    /// What the plan says.
    pub fn new(done: Option<usize>, units: usize, shard: &Shard) -> Self {
        ShardLine { done, units, memory_bytes: shard.memory, cpu_seconds: shard.seconds }
    }
}

impl<'a> Summary<'a> {
    fn of(plan: &'a Plan) -> Self {
        let line = |shard: &Shard| ShardLine::new(None, shard.units.len(), shard);
        let shards = plan.shards().iter().map(line).collect();
        Summary { plan: plan.folder(), stages: plan.stages(), threads: plan.threads(), shards }
    }
}

impl Display for Summary<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let shards = &self.shards;
        let memory = shards.iter().map(|shard| shard.memory_bytes).max().unwrap_or(0);
        let seconds = shards.iter().map(|shard| shard.cpu_seconds);
        let (longest, all) = (seconds.clone().fold(0.0, f64::max), seconds.sum::<f64>());
        write!(
            out,
            "{}: {}{}; about {} of memory with {}, {longest:.0} s of CPU for the \
             longest and {all:.0} s for all",
            self.plan.display(),
            plural(shards.len(), "shard"),
            if self.stages == 2 { " in two stages" } else { "" },
            Bytes(memory),
            plural(self.threads, "thread")
        )
    }
}
