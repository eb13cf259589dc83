//! `labelwood completions`: what a shell needs to complete our arguments.

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::output::print;

/// Arguments of `labelwood completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell to complete in
    shell: Shell,
}

/// Prints the script.
pub fn run(args: Args) -> Result<()> {
    // Into memory first: the generator panics where writing fails, as it does when `head` is done.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "labelwood", &mut script);
    print(&String::from_utf8_lossy(&script))
}
