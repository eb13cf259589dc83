//! The command line as it is typed: the subcommands and the flags that all of them share.

use clap::{ArgAction, Args, Parser};

use crate::bytes::Bytes;
use crate::cmd::Command;

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 the input or the settings are at fault, 2 wrong usage, \
3 the machine is at fault (disk, memory), 130 stopped by a signal, 141 standard output was closed early.";

/// Learns which few of very many labels fit a row of features.
///
/// labelwood trains models on sparse data with thousands to millions of labels, predicts with them
/// and measures how good the predictions are.
#[derive(Debug, Parser)]
#[command(name = "labelwood", version, after_help = EXIT_CODES)]
pub struct Cli {
    /// The flags that every subcommand takes.
    #[command(flatten)]
    pub common: Common,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every subcommand takes, before or after its name.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Seed of all randomness; the same seed gives the same bytes [default: 42]
    #[arg(long, global = true, value_name = "N")]
    pub seed: Option<u64>,

    /// Threads to work on; 0 means as many as the machine and its CPU quota give
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub threads: usize,

    /// The most memory for what is read and learned, such as 8G; by default what the machine or its
    /// control group has. What needs more is refused
    #[arg(long, global = true, value_name = "SIZE")]
    pub max_memory: Option<Bytes>,

    /// Print errors and results only: no progress, no warnings
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Say more: every cause of an error, and what was used; twice for details
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}
