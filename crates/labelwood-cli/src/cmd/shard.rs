//! `labelwood shard`: one worker's part of a plan.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use labelwood::app::Fault;
use labelwood::data::{self, ReadOptions};
use labelwood::run::Stopped;
use labelwood::shard::{Plan, Work};
use labelwood::words::plural;

use crate::context::Context;
use crate::input;
use crate::worker::WorkerArgs;

/// Arguments of `labelwood shard`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --index, the worker's number comes from OMPI_COMM_WORLD_RANK, PMI_RANK, \
    SLURM_ARRAY_TASK_ID (its place in the array), SLURM_PROCID or JOB_COMPLETION_INDEX, the first that \
    is set, and so does the number of workers where mpirun or Slurm tells it. With --index, and wherever \
    it is not told, there are as many workers as shards unless --workers says otherwise: --index I alone \
    trains shard I. A worker takes the shards I, I + N, I + 2 N and so on. It is safe to task a shard \
    twice, at once with others, and again after it was killed: finished units are kept in PLAN. Label \
    trees have two stages; the second needs the first of all shards."
)]
pub struct Args {
    /// The folder of the plan
    #[arg(long, value_name = "PLAN")]
    plan: PathBuf,

    #[command(flatten)]
    worker: WorkerArgs,

    /// Read the rows from here; they must be those of the plan
    #[arg(long, value_name = "DATA")]
    data: Option<PathBuf>,

    /// Further folders with finished units, such as the first stage of other machines
    #[arg(long, value_name = "DIR", num_args = 1..)]
    units: Vec<PathBuf>,

    /// Do only the first or the second stage
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2))]
    stage: Option<u8>,

    /// Wait until other workers have finished the first stage
    #[arg(long)]
    wait: bool,
}

/// Trains the units of this worker's shards that are not finished.
pub fn run(args: Args, context: &Context) -> Result<()> {
    let plan = Plan::open(&args.plan)?;
    let worker = args.worker.worker(plan.shards().len())?;
    let shards = plan.share(worker.index, worker.workers);
    let plan_name = args.plan.display().to_string();
    if shards.is_empty() {
        context.note(format_args!("{plan_name}: nothing to do for {worker}"));
        return Ok(());
    }
    let kept = format!("finished units are kept in {plan_name}; run the shard again to go on");
    let kept_too = kept.clone();
    let task = context.watched_run(|progress| progress, move || kept_too.clone())?;
    let options = ReadOptions { ignore_label_names: true, ..ReadOptions::default() };
    let rows = match &args.data {
        Some(path) => {
            let is_binary = data::Format::of_path(path) == Some(data::Format::Binary);
            if plan.training().text.is_some() && !is_binary {
                bail!(
                    "{}: the plan is for text, whose words the plan has numbered: give a copy of {}",
                    path.display(),
                    plan.data().display()
                );
            }
            input::read_vectors(path, &options, &task)?
        }
        None => input::read_vectors(&plan.data(), &options, &task)
            .context("the rows of the plan; --data reads them from elsewhere")?,
    };
    let work = Work { stage: args.stage.map(usize::from), units: &args.units, wait: args.wait };
    let (trained, all) =
        plan.train(rows.dataset.view(), &shards, work, &task).map_err(|error| {
            match Fault::of(&error) {
                Fault::Stopped => anyhow::Error::from(Stopped::Cancelled).context(kept),
                _ => error.into(),
            }
        })?;
    let list: Vec<String> = shards.iter().map(usize::to_string).collect();
    let was = if all - trained == 1 { "was" } else { "were" };
    let what = if shards.len() == 1 { "shard" } else { "shards" };
    context.note(format_args!(
        "{plan_name}: {what} {}: {} trained, {} {was} there",
        list.join(", "),
        plural(trained, "unit"),
        all - trained
    ));
    Ok(())
}
