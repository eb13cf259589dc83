//! What every subcommand is handed: the common flags made into things that work.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget};
use labelwood::run::{Bytes, Clock, Memory, Pool, Progress, Task};

use crate::args::Common;
use crate::machine;
use crate::{log, progress, signals, terminal};

/// The seed, unless `--seed` says otherwise.
const SEED: u64 = 42;

/// The common flags of one call of the command, ready for use.
pub struct Context {
    /// Seed of all randomness.
    pub seed: u64,
    /// The seed, if it was typed: it goes before one that comes from elsewhere.
    pub typed_seed: Option<u64>,
    /// The most memory, if it was typed.
    pub max_memory: Option<Bytes>,
    threads: usize,
    quiet: bool,
    bar: ProgressBar,
    clock: Clock,
}

impl Context {
    /// Sets up the log and the progress bar.
    pub fn new(common: &Common) -> Self {
        let bar = progress::bar(!common.quiet && terminal::can_redraw(io::stderr().is_terminal()));
        log::start(common, &bar);
        Context {
            seed: common.seed.unwrap_or(SEED),
            typed_seed: common.seed,
            max_memory: common.max_memory,
            threads: common.threads,
            quiet: common.quiet,
            bar,
            clock: Clock::start(),
        }
    }

    /// The run that a subcommand's work goes through: it has `--threads` threads, moves the
    /// progress bar, and stops on a signal. A subcommand asks for it once.
    pub fn run(&self) -> Result<Task> {
        self.watched_run(|progress| progress, || signals::NOTHING_KEPT.to_owned())
    }

    /// The same run, with `watch` told of every progress and saying what to show of it, and `kept`
    /// asked what is left if a signal ends it before it comes to a check.
    pub fn watched_run(
        &self,
        watch: impl Fn(Progress) -> Progress + Send + Sync + 'static,
        kept: impl Fn() -> String + Send + Sync + 'static,
    ) -> Result<Task> {
        self.run_within(None, watch, kept)
    }

    /// The same run, of which the progress bar shows how much of this time has passed since the command
    /// started.
    pub fn run_within(
        &self,
        limit: Option<Duration>,
        watch: impl Fn(Progress) -> Progress + Send + Sync + 'static,
        kept: impl Fn() -> String + Send + Sync + 'static,
    ) -> Result<Task> {
        let draw = progress::observer(self.bar.clone(), limit.map(|limit| (self.started(), limit)));
        let machine = machine::memory_limit();
        let memory = self.max_memory.or(machine);
        let for_input = machine.map(|limit| Bytes(Memory::for_input(limit.0)));
        let task = Pool::new(self.threads)?
            .task()
            .limit_memory(self.max_memory.or(for_input).map(|limit| limit.0))
            .on_progress(move |progress| draw(watch(progress)));
        signals::cancel_on_signal(task.canceller(), kept)?;
        let limit = memory.map_or("unknown".to_owned(), |limit| limit.to_string());
        tracing::info!("seed {}, {} threads, memory limit {limit}", self.seed, task.threads());
        Ok(task)
    }

    /// How many threads were asked for; 0 for as many as the machine gives.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// When the command started.
    pub fn started(&self) -> Instant {
        self.clock.started()
    }

    /// Takes the progress bar off the terminal and draws none from here on, for results that go
    /// there.
    pub fn hide_progress(&self) {
        self.bar.finish_and_clear();
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
    }

    /// Tells the user something on stderr, unless `--quiet` was asked for.
    pub fn note(&self, text: impl Display) {
        if !self.quiet {
            // Nobody to tell is no reason to stop.
            let _ = self.bar.suspend(|| writeln!(io::stderr(), "{text}"));
        }
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
