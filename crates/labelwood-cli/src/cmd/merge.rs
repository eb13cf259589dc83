//! `labelwood merge`: from a plan's finished units to a model.

use std::path::PathBuf;

use anyhow::Result;
use labelwood::model::Trained;
use labelwood::run::Bytes;
use labelwood::shard::Plan;

use crate::context::Context;

/// Arguments of `labelwood merge`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every unit is read and checked. What is missing, damaged, of another plan or there \
    twice and different is named, and nothing is written. The rows are not needed."
)]
pub struct Args {
    /// The folder of the plan
    #[arg(long, value_name = "PLAN")]
    plan: PathBuf,

    /// The folder to write the model to, or a file if it ends in .labelwood
    #[arg(short, long, value_name = "DIR")]
    model: PathBuf,

    /// Further folders with finished units, such as copies of the plan from other machines
    #[arg(long, value_name = "DIR", num_args = 1..)]
    units: Vec<PathBuf>,

    /// Replace a model that is there
    #[arg(long)]
    overwrite: bool,
}

/// Checks the units and joins them.
pub fn run(args: Args, context: &Context) -> Result<()> {
    let task = context.run()?;
    let plan = Plan::open(&args.plan)?;
    let folder = args.model.display();
    match plan.merge(&args.units, &args.model, args.overwrite, &task)? {
        Trained::Written(manifest) => {
            context.note(format_args!("{folder}: {}", Bytes(manifest.bytes())));
        }
        Trained::AlreadyThere(_) => {
            context.note(format_args!("{folder}: already merged, nothing to do"))
        }
    }
    Ok(())
}
