//! Which of several workers this is: from flags, or from what started them.

use std::num::NonZeroUsize;

use anyhow::{Context as _, Result, bail};

use crate::args::{at_least_1, count};

/// Which worker this is.
#[derive(Debug, clap::Args)]
pub struct WorkerArgs {
    /// The number of this worker, counted from 0 [default: what mpirun, Slurm or Kubernetes set]
    #[arg(long, value_name = "I", value_parser = count, allow_negative_numbers = true)]
    pub index: Option<usize>,

    /// How many workers there are [default: what mpirun or Slurm set, else as many as shards]
    #[arg(long, value_name = "N", value_parser = at_least_1, allow_negative_numbers = true)]
    pub workers: Option<NonZeroUsize>,
}

impl WorkerArgs {
    /// This worker of those that share so many shards.
    pub fn worker(&self, shards: usize) -> Result<Worker> {
        Worker::of(self, shards, |name| std::env::var(name).ok())
    }
}

/// Which of how many workers this is.
#[derive(Debug, PartialEq)]
pub struct Worker {
    /// Its number, counted from 0.
    pub index: usize,
    /// How many there are.
    pub workers: usize,
}

impl std::fmt::Display for Worker {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "worker {} of {}", self.index, self.workers)
    }
}

/// The variables that hold a worker's number and the number of workers; the first that is set
/// counts. The tasks of a Slurm array need not be numbered from 0 nor one by one.
const VARIABLES: [(&str, Option<&str>); 5] = [
    ("OMPI_COMM_WORLD_RANK", Some("OMPI_COMM_WORLD_SIZE")),
    ("PMI_RANK", Some("PMI_SIZE")),
    (ARRAY_TASK, Some("SLURM_ARRAY_TASK_COUNT")),
    ("SLURM_PROCID", Some("SLURM_NTASKS")),
    ("JOB_COMPLETION_INDEX", None),
];

/// The number of a task of a Slurm array.
const ARRAY_TASK: &str = "SLURM_ARRAY_TASK_ID";

impl Worker {
    fn of(
        args: &WorkerArgs,
        shards: usize,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let (index, size) = match args.index {
            Some(index) => (index, None),
            None => started_as(&variable)?,
        };
        let workers = args.workers.map(NonZeroUsize::get).or(size).unwrap_or(shards).max(1);
        if index >= workers {
            bail!("there is no worker {index}: there are {workers}, counted from 0");
        }
        Ok(Worker { index, workers })
    }
}

/// The worker's number, and how many there are if that is told, from what started the workers.
fn started_as(variable: &impl Fn(&str) -> Option<String>) -> Result<(usize, Option<usize>)> {
    let Some(&(name, size)) = VARIABLES.iter().find(|(name, _)| variable(name).is_some()) else {
        bail!(
            "which shards? Add --index I, or start this with mpirun, as a Slurm array or \
             as a Kubernetes indexed job, which number their workers"
        );
    };
    let index = number(variable, name)?.unwrap_or(0);
    let count = size.map(|size| number(variable, size)).transpose()?.flatten();
    if let (Some(size), Some(0)) = (size, count) {
        bail!("{size} is `0`, but there is at least this worker");
    }
    let index = if name == ARRAY_TASK { place_in_array(index, count, variable)? } else { index };
    Ok((index, count))
}

/// How many tasks of a Slurm array come before this one.
///
/// Slurm tells the first and the last number, the step and how many there are: enough for a range,
/// not for a list such as 1,3,4.
fn place_in_array(
    task: usize,
    count: Option<usize>,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<usize> {
    let of_array = |name: &str| number(variable, &format!("SLURM_ARRAY_TASK_{name}"));
    let first = of_array("MIN")?.unwrap_or(0);
    let step = of_array("STEP")?.unwrap_or(1).max(1);
    let Some(before) = task.checked_sub(first) else {
        bail!("{ARRAY_TASK} is {task}, which is below the first task, {first}");
    };
    let in_range = of_array("MAX")?.map(|last| last.saturating_sub(first) / step + 1);
    let is_list = in_range.zip(count).is_some_and(|(in_range, count)| in_range != count);
    if is_list || before % step != 0 {
        bail!(
            "the numbers of this Slurm array are a list, of which a task is not told its place: add \
             --index \"${ARRAY_TASK}\", which does the shard of that number"
        );
    }
    Ok(before / step)
}

/// The number that a variable holds, if it is set.
fn number(variable: &impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<usize>> {
    let Some(value) = variable(name) else { return Ok(None) };
    let number = value.trim().parse();
    Ok(Some(number.with_context(|| format!("{name} is `{value}`, which is no number"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A variable and its value.
    type Set = (&'static str, &'static str);

    fn worker(index: Option<usize>, workers: Option<usize>, set: &[Set]) -> Result<Worker> {
        let args = WorkerArgs { index, workers: workers.and_then(NonZeroUsize::new) };
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

    /// What Slurm sets for a task of an array.
    fn array(task: &'static str, [first, last, step, count]: [&'static str; 4]) -> Vec<Set> {
        vec![
            ("SLURM_ARRAY_TASK_ID", task),
            ("SLURM_ARRAY_TASK_MIN", first),
            ("SLURM_ARRAY_TASK_MAX", last),
            ("SLURM_ARRAY_TASK_STEP", step),
            ("SLURM_ARRAY_TASK_COUNT", count),
            ("SLURM_PROCID", "0"),
        ]
    }

    #[test]
    fn a_slurm_array_may_start_anywhere_and_take_steps() {
        is(worker(None, None, &array("12", ["10", "13", "1", "4"])), 2, 4);
        is(worker(None, None, &array("4", ["0", "6", "2", "4"])), 2, 4);
        is(worker(None, None, &array("5", ["1", "6", "2", "3"])), 2, 3);
        is(worker(None, None, &array("12", ["10", "13", "1", "4"])[..2]), 2, 6);
    }

    #[test]
    fn every_task_of_a_slurm_list_is_told_to_give_its_index() {
        for task in ["1", "3"] {
            let list = array(task, ["1", "3", "1", "2"]);
            let error = worker(None, None, &list).unwrap_err().to_string();
            assert!(error.contains("add --index \"$SLURM_ARRAY_TASK_ID\""), "{error}");
            assert!(worker(None, Some(4), &list).is_err());
        }
        // Which trains the shard of that number and no other.
        is(worker(Some(3), None, &array("3", ["1", "3", "1", "2"])), 3, 6);
    }

    #[test]
    fn what_is_no_worker_is_refused() {
        let error = |found: Result<Worker>| found.unwrap_err().to_string();
        assert!(error(worker(None, None, &[])).contains("--index"));
        assert!(error(worker(Some(6), None, &[])).contains("there is no worker 6: there are 6"));
        let wrong = [("PMI_RANK", "one")];
        assert!(error(worker(None, None, &wrong)).contains("PMI_RANK is `one`"));
        let none = [("PMI_RANK", "0"), ("PMI_SIZE", "0")];
        assert!(error(worker(None, None, &none)).contains("PMI_SIZE is `0`"));
    }
}
