//! The command line as it is typed: the subcommands and the flags that all of them share.

use std::ffi::OsString;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, CommandFactory, Parser};
use labelwood::Settings;
use labelwood::run::Bytes;

use crate::cmd::Command;
use crate::settings::only_of;

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

/// The subcommands that learn, which have a flag for every setting.
const LEARNING: [&str; 3] = ["train", "tune", "plan"];

/// The flags that `-h` of these shows; `--help` shows all.
const SHOWN: &str = "data model output shards test algorithm preset text_column label_column vocabulary trees \
    label_trees submodels cost budget resume overwrite folds measure seed threads quiet verbose help";

/// The command line that is parsed. `-h` of a subcommand that learns shows what most people need, and
/// `--algorithm NAME --help` the settings of that algorithm only.
pub fn command(typed: impl Iterator<Item = OsString>) -> clap::Command {
    let typed: Vec<String> = typed.map(|word| word.to_string_lossy().into_owned()).collect();
    let asks_for_help = typed.iter().any(|word| word == "--help");
    let named = typed.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some(("--algorithm", name)) => Some(name.to_owned()),
        None if word == "--algorithm" => typed.get(at + 1).cloned(),
        _ => None,
    });
    let algorithm = named.filter(|_| asks_for_help).and_then(|name| Settings::named(&name));
    let mut command = Cli::command();
    for name in LEARNING {
        command = command.mut_subcommand(name, |mut command| {
            if let Some(algorithm) = &algorithm {
                command = only_of(command, algorithm);
            }
            command.mut_args(|arg| {
                let is_shown = SHOWN.split(' ').any(|name| arg.get_id() == name);
                arg.hide_short_help(!is_shown)
            })
        });
    }
    command.mut_arg("max_memory", |arg| arg.hide_short_help(true))
}

/// A parser of names, each of which is given with its help and what it stands for.
pub fn choice<T: Clone + Send + Sync + 'static>(
    known: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let names = known.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names).map(|typed| {
        let chosen = known.iter().find(|(name, ..)| *name == typed);
        chosen.expect("the parser takes no other names").2.clone()
    })
}
