//! Which of several workers this is: from flags, or from what started them.

use std::num::NonZeroUsize;

use anyhow::{Context as _, Result, bail};

/// Which worker this is.
#[derive(Debug, clap::Args)]
pub struct WorkerArgs {
    /// The number of this worker, counted from 0 [default: what mpirun, Slurm or Kubernetes set]
    #[arg(long, value_name = "I")]
    pub index: Option<usize>,

    /// How many workers there are [default: what mpirun or Slurm set, else as many as shards]
    #[arg(long, value_name = "N")]
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

/// The variables that hold a worker's number, what they count from, and the number of workers.
const VARIABLES: [(&str, Option<&str>, Option<&str>); 5] = [
    ("OMPI_COMM_WORLD_RANK", None, Some("OMPI_COMM_WORLD_SIZE")),
    ("PMI_RANK", None, Some("PMI_SIZE")),
    ("SLURM_ARRAY_TASK_ID", Some("SLURM_ARRAY_TASK_MIN"), Some("SLURM_ARRAY_TASK_COUNT")),
    ("SLURM_PROCID", None, Some("SLURM_NTASKS")),
    ("JOB_COMPLETION_INDEX", None, None),
];

impl Worker {
    fn of(
        args: &WorkerArgs,
        shards: usize,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
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
