//! `labelwood man`: the manual pages, made from the same declarations as `--help`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::args;
use crate::output::print;

/// Arguments of `labelwood man`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write one page per subcommand into this folder instead of printing the main page
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Prints the main page or writes all of them.
pub fn run(args: Args) -> Result<()> {
    let Some(folder) = args.output else {
        let mut page = Vec::new();
        clap_mangen::Man::new(args::with_examples()).render(&mut page)?;
        return print(&String::from_utf8_lossy(&page));
    };
    let failed = || format!("could not write the manual pages into {}", folder.display());
    fs::create_dir_all(&folder).with_context(failed)?;
    clap_mangen::generate_to(args::with_examples(), &folder).with_context(failed)
}
