//! `labelwood shard`: one worker's part of a plan.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use labelwood::data::{self, ReadOptions};
use labelwood::run::Cancelled;
use labelwood::shard::{Plan, Work};

use crate::context::Context;
use crate::input;

/// Arguments of `labelwood shard`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --index, the worker's number comes from OMPI_COMM_WORLD_RANK, PMI_RANK, \
    SLURM_ARRAY_TASK_ID (less SLURM_ARRAY_TASK_MIN), SLURM_PROCID or JOB_COMPLETION_INDEX, the first that \
    is set; without --workers, their number is the matching size that mpirun or Slurm sets, else that of \
    the plan's shards. A worker takes the shards I, I + N, I + 2 N and so on. It is safe to run a shard \
    twice, at once with others, and again after it was killed: finished units are kept in PLAN. Label \
    trees have two stages; the second needs the first of all shards."
)]
pub struct Args {
    /// The folder of the plan
    #[arg(long, value_name = "PLAN")]
    plan: PathBuf,

    /// The number of this worker, counted from 0
    #[arg(long, value_name = "I")]
    index: Option<usize>,

    /// How many workers there are [default: as many as shards]
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,

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
    let worker = Worker::of(&args, plan.shards().len(), |name| std::env::var(name).ok())?;
    let shards = plan.share(worker.index, worker.workers);
    let plan_name = args.plan.display().to_string();
    if shards.is_empty() {
        context.note(format_args!("{plan_name}: nothing to do for {worker}"));
        return Ok(());
    }
    let kept = format!("finished units are kept in {plan_name}; run the shard again to go on");
    let kept_too = kept.clone();
    let run = context.watched_run(|progress| progress, move || kept_too.clone())?;
    let options = ReadOptions { ignore_label_names: true, ..ReadOptions::default() };
    let dataset = match &args.data {
        Some(path) => {
            let is_binary = data::Format::of_path(path) == Some(data::Format::Binary);
            if plan.training().text.is_some() && !is_binary {
                bail!(
                    "{}: the plan is for text, whose words the plan has numbered: give a copy of {}",
                    path.display(),
                    plan.data().display()
                );
            }
            input::read(path, &options, &run)?.dataset
        }
        None => {
            let path = plan.data();
            let read = input::read(&path, &options, &run);
            read.context("the rows of the plan; --data reads them from elsewhere")?.dataset
        }
    };
    let work = Work { stage: args.stage.map(usize::from), units: &args.units, wait: args.wait };
    let (trained, all) = plan.train(dataset.view(), &shards, work, &run).map_err(|error| {
        match error.is_cancelled() {
            true => anyhow::Error::from(Cancelled).context(kept),
            false => error.into(),
        }
    })?;
    let list: Vec<String> = shards.iter().map(usize::to_string).collect();
    let what = if shards.len() == 1 { "shard" } else { "shards" };
    context.note(format_args!(
        "{plan_name}: {what} {}: {trained} units trained, {} were there",
        list.join(", "),
        all - trained
    ));
    Ok(())
}

/// Which of how many workers this is.
#[derive(Debug, PartialEq)]
struct Worker {
    index: usize,
    workers: usize,
}

impl std::fmt::Display for Worker {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "worker {} of {}", self.index, self.workers)
    }
}

/// The variables that hold a worker's number, what they count from, and the number of workers.
const VARIABLES: [(&str, Option<&str>, Option<&str>); 5] = [
    ("OMPI_COMM_WORLD_RANK", None, Some("OMPI_COMM_WORLD_SIZE")),
    ("PMI_RANK", None, Some("PMI_SIZE")),
    ("SLURM_ARRAY_TASK_ID", Some("SLURM_ARRAY_TASK_MIN"), Some("SLURM_ARRAY_TASK_COUNT")),
    ("SLURM_PROCID", None, Some("SLURM_NTASKS")),
    ("JOB_COMPLETION_INDEX", None, None),
];

impl Worker {
    fn of(args: &Args, shards: usize, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let number = |name: &str| -> Result<Option<usize>> {
            let Some(value) = variable(name) else { return Ok(None) };
            let number = value.trim().parse();
            Ok(Some(number.with_context(|| format!("{name} is `{value}`, which is no number"))?))
        };
        let (index, size) = match args.index {
            Some(index) => (index, None),
            None => {
                let set = VARIABLES.iter().find(|(name, ..)| variable(name).is_some());
                let Some(&(name, first, size)) = set else {
                    bail!(
                        "which shards? Add --index I, or start this with mpirun, as a Slurm array or \
                         as a Kubernetes indexed job, which number their workers"
                    );
                };
                let first = first.map(&number).transpose()?.flatten().unwrap_or(0);
                let index = number(name)?.unwrap_or(0);
                let Some(index) = index.checked_sub(first) else {
                    bail!("{name} is {index}, which is below the first task, {first}");
                };
                (index, size.map(&number).transpose()?.flatten())
            }
        };
        let workers = args.workers.map(NonZeroUsize::get).or(size).unwrap_or(shards).max(1);
        if index >= workers {
            bail!("there is no worker {index}: there are {workers}, counted from 0");
        }
        Ok(Worker { index, workers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(
        index: Option<usize>,
        workers: Option<usize>,
        set: &[(&str, &str)],
    ) -> Result<Worker> {
        let args = Args {
            plan: PathBuf::new(),
            index,
            workers: workers.and_then(NonZeroUsize::new),
            data: None,
            units: Vec::new(),
            stage: None,
            wait: false,
        };
        let find = |name: &str| set.iter().find(|(key, _)| *key == name);
        Worker::of(&args, 6, |name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    #[track_caller]
    fn is(found: Result<Worker>, index: usize, workers: usize) {
        assert_eq!(found.unwrap(), Worker { index, workers });
    }

    #[test]
    fn flags_go_before_variables_and_those_in_their_order() {
        let slurm = ("SLURM_PROCID", "3");
        let mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4"), slurm];
        is(worker(None, None, &mpi), 1, 4);
        is(worker(Some(2), None, &mpi), 2, 6);
        is(worker(None, Some(5), &mpi), 1, 5);
        is(worker(None, None, &[slurm, ("SLURM_NTASKS", "9")]), 3, 9);
        is(worker(None, None, &[("PMI_RANK", "0"), ("PMI_SIZE", "2"), slurm]), 0, 2);
        is(worker(None, None, &[("JOB_COMPLETION_INDEX", "5")]), 5, 6);
    }

    #[test]
    fn a_slurm_array_may_start_anywhere() {
        let array = [
            ("SLURM_ARRAY_TASK_ID", "12"),
            ("SLURM_ARRAY_TASK_MIN", "10"),
            ("SLURM_ARRAY_TASK_COUNT", "4"),
            ("SLURM_PROCID", "0"),
        ];
        is(worker(None, None, &array), 2, 4);
    }

    #[test]
    fn what_is_no_worker_is_refused() {
        let error = |found: Result<Worker>| found.unwrap_err().to_string();
        assert!(error(worker(None, None, &[])).contains("--index"));
        assert!(error(worker(Some(6), None, &[])).contains("there is no worker 6: there are 6"));
        let wrong = [("PMI_RANK", "one")];
        assert!(error(worker(None, None, &wrong)).contains("PMI_RANK is `one`"));
    }
}
