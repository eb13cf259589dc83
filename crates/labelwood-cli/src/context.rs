//! What every subcommand is handed: the common flags made into things that work.

use std::io::IsTerminal;

use anyhow::Result;
use indicatif::ProgressBar;
use labelwood::run::Run;

use crate::args::Common;
use crate::machine::{self, Clock};
use crate::{log, progress, signals};

/// The common flags of one call of the command, ready for use.
pub struct Context {
    /// Seed of all randomness.
    pub seed: u64,
    threads: usize,
    bar: ProgressBar,
    clock: Clock,
}

impl Context {
    /// Sets up the log and the progress bar.
    pub fn new(common: &Common) -> Self {
        let bar = progress::bar(!common.quiet && std::io::stderr().is_terminal());
        log::start(common, &bar);
        Context { seed: common.seed, threads: common.threads, bar, clock: Clock::start() }
    }

    /// The run that a subcommand's work goes through: it has `--threads` threads, moves the
    /// progress bar, and stops on a signal. A subcommand asks for it once.
    pub fn run(&self) -> Result<Run> {
        let run = Run::new(self.threads)?.on_progress(progress::observer(self.bar.clone()));
        signals::cancel_on_signal(run.canceller())?;
        let limit = machine::memory_limit().map_or("unknown".to_owned(), |limit| limit.to_string());
        tracing::info!("seed {}, {} threads, memory limit {limit}", self.seed, run.threads());
        Ok(run)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        let spent = self.clock.spent();
        let cpu = spent.cpu_seconds.map_or("unknown".to_owned(), |cpu| format!("{cpu:.2} s"));
        let peak = machine::peak_memory().map_or("unknown".to_owned(), |peak| peak.to_string());
        tracing::info!("took {:.2} s, CPU {cpu}, peak memory {peak}", spent.seconds);
    }
}
