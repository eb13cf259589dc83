//! The subcommands, one file each.
//!
//! A subcommand is a file with an `Args` struct, which declares and documents its flags, and a
//! `run(args, &Context)`; a line in [`Command`] and one in [`run`] make it known.

mod check;
mod compare;
mod completions;
mod convert;
mod demo;
mod evaluate;
mod explain;
mod generate;
mod inspect;
mod man;
mod merge;
mod plan;
mod predict;
mod serve;
mod shard;
mod split;
mod train;
mod tune;
mod update;

use anyhow::Result;
use clap::Subcommand;

use crate::context::Context;

/// What the command can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train, test and predict on questions that come with labelwood
    Demo(demo::Args),
    /// Train a model
    Train(Box<train::Args>),
    /// Find settings that suit the data
    Tune(Box<tune::Args>),
    /// Show what is inside a model, or how far a plan has come
    Inspect(inspect::Args),
    /// Predict the labels of rows
    Predict(predict::Args),
    /// Show which words, rows and names speak for a label, and which against it
    Explain(Box<explain::Args>),
    /// Measure how good a model or a file of predictions is
    Evaluate(evaluate::Args),
    /// Compare algorithms on the same rows
    Compare(compare::Args),
    /// Answer programs and people over HTTP
    Serve(serve::Args),
    /// Add rows and labels to a trained model
    Update(update::Args),
    /// Look for what is odd about data, and say what to do about it
    Check(check::Args),
    /// Divide a file into rows to train on and rows to test with
    Split(split::Args),
    /// Convert data between formats, or a model into a smaller one
    Convert(convert::Args),
    /// Plan a training that several workers share
    Plan(Box<plan::Args>),
    /// Train some of the shards of a plan
    Shard(shard::Args),
    /// Make a model of a plan's finished shards
    Merge(merge::Args),
    /// Draw synthetic data with the shape of a public set or of given sizes
    Generate(generate::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print the manual page, or write the pages of all subcommands
    Man(man::Args),
}

/// Does what was asked.
pub fn run(command: Command, context: &Context) -> Result<()> {
    match command {
        Command::Demo(args) => demo::run(args, context),
        Command::Train(args) => train::run(*args, context),
        Command::Tune(args) => tune::run(*args, context),
        Command::Inspect(args) => inspect::run(args, context),
        Command::Predict(args) => predict::run(args, context),
        Command::Explain(args) => explain::run(*args, context),
        Command::Evaluate(args) => evaluate::run(args, context),
        Command::Compare(args) => compare::run(args, context),
        Command::Serve(args) => serve::run(args, context),
        Command::Update(args) => update::run(args, context),
        Command::Check(args) => check::run(args, context),
        Command::Split(args) => split::run(args, context),
        Command::Convert(args) => convert::run(args, context),
        Command::Plan(args) => plan::run(*args, context),
        Command::Shard(args) => shard::run(args, context),
        Command::Merge(args) => merge::run(args, context),
        Command::Generate(args) => generate::run(args, context),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}
