//! The `labelwood` command.
//!
//! `main` parses the arguments, runs one subcommand and turns its error, if any, into one line and
//! an exit code. What is typed is declared in [`args`] and beside each subcommand in [`cmd`]; what
//! an error means for the exit code is in [`fault`].

mod args;
mod cmd;
mod context;
mod duration;
mod fault;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod heap;
mod input;
mod learn;
mod log;
mod machine;
mod output;
mod prediction;
mod progress;
mod report;
mod settings;
mod signals;
mod split;
mod spread;
mod table;
mod terminal;
mod text;
mod worker;

use std::process::ExitCode;

use clap::FromArgMatches;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static HEAP: heap::Heap = heap::Heap;

fn main() -> ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    heap::set_up();
    let parsed = args::command(std::env::args_os())
        .try_get_matches()
        .and_then(|matches| args::Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(asked) => return fault::answer(&asked),
    };
    let verbose = cli.common.verbose > 0;
    let context = context::Context::new(&cli.common);
    let outcome = cmd::run(cli.command, &context);
    drop(context); // takes the progress bar off the terminal before anything else is printed
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fault::report(&error, verbose),
    }
}
