//! Prediction by several workers: each writes what its share of the model says, and one joins that.

use std::fs::{self, File};
use std::io::BufReader;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use labelwood::run::Task;
use labelwood::shard::{Combiner, ModelShare, ScoresReader, Share};
use labelwood::sparse::{Predictions, Query, RowsView};
use labelwood::words::plural;

use super::Args;
use crate::args::at_least_1;
use crate::context::Context;
use crate::output::{check_outputs, write_file};
use crate::worker::WorkerArgs;

/// How the files of shares end.
const ENDING: &str = "scores";

/// Which share of the work is done here.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Several workers", group = clap::ArgGroup::new("which").args(["index", "workers"]).multiple(true)
    .requires("shares").conflicts_with("join"))]
pub struct ShareArgs {
    /// Divide the model into N shares, and write what this worker's have to say into the folder
    /// --output
    #[arg(long, value_name = "N", value_parser = at_least_1, allow_negative_numbers = true,
        conflicts_with_all = ["join", "to", "wide", "threshold", "fill", "labels_only"])]
    pub shares: Option<NonZeroUsize>,

    #[command(flatten)]
    worker: WorkerArgs,

    /// Join what the shares of the model wrote: their folders or files
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub join: Vec<PathBuf>,
}

/// Writes the scores of this worker's shares, a batch of rows at a time.
pub fn write(args: &Args, shares: usize, context: &Context, task: &Task) -> Result<()> {
    if args.to_stdout() {
        bail!("--shares writes a file for each share: name their folder with --output");
    }
    let Some(data) = &args.data else { bail!("--shares reads DATA: name the file") };
    if data.as_os_str() == "-" && shares > 1 {
        bail!("every worker reads the rows, and --join once more: give a file instead of -");
    }
    let folder = &args.output;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let worker = args.share.worker.worker(shares)?;
    let indices = || (worker.index..shares).step_by(worker.workers);
    let path = |index| folder.join(format!("share-{index:05}-of-{shares:05}.{ENDING}"));
    for path in indices().map(path) {
        // A worker that is started again replaces what it wrote before.
        check_outputs([path.as_path()], args.inputs(), args.overwrite || is_share(&path))?;
    }
    for index in indices() {
        let path = path(index);
        let rows = write_share(args, data, Share { index, of: shares }, &path, task)?;
        context.note(format_args!("{}: {}", path.display(), plural(rows, "row")));
    }
    Ok(())
}

/// Whether a file begins with the scores of a share.
fn is_share(path: &Path) -> bool {
    let first = File::open(path).map(|file| ScoresReader::new(BufReader::new(file)).next());
    matches!(first, Ok(Ok(Some(_))))
}

fn write_share(args: &Args, data: &Path, share: Share, path: &Path, task: &Task) -> Result<u64> {
    let share = ModelShare::open(&args.model, share, args.opening.loading.options(), task)?;
    let mut source = args.reading.options().open(data, share.model(), task)?;
    let allowed = args.opening.files().allowed(share.model(), task)?;
    let query = args.opening.query(args.k(), allowed.as_ref());
    let mut rows = 0;
    write_file(path, |output| {
        while let Some(batch) = source.next_batch()? {
            share.scores(batch.rows.view(), query, task)?.write_to(output)?;
            rows += batch.rows.view().len() as u64;
        }
        Ok(())
    })?;
    Ok(rows)
}

/// The scores of all shares, read batch by batch.
pub struct Shares<'a> {
    combiner: &'a Combiner,
    files: Vec<(PathBuf, ScoresReader<BufReader<File>>)>,
}

impl<'a> Shares<'a> {
    /// Opens the files of the shares.
    pub fn open(combiner: &'a Combiner, paths: Vec<PathBuf>) -> Result<Self> {
        let mut files = Vec::new();
        for path in paths {
            let file = File::open(&path).with_context(|| path.display().to_string())?;
            files.push((path, ScoresReader::new(BufReader::new(file))));
        }
        Ok(Shares { combiner, files })
    }

    /// What the shares say about the next rows, joined.
    pub fn predict(
        &mut self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions> {
        let mut scores = Vec::with_capacity(self.files.len());
        for (path, reader) in &mut self.files {
            let path = path.display();
            let Some(share) = reader.next().with_context(|| path.to_string())? else {
                bail!("{path}: it ends before the rows do: predict this share again");
            };
            if !share.are_of(rows.features) {
                bail!("{path}: these are the scores of other rows: give the DATA that they are of");
            }
            scores.push(share);
        }
        Ok(self.combiner.combine(&scores, query, task)?)
    }

    /// Refuses shares that have scores of further rows.
    pub fn finish(&mut self) -> Result<()> {
        for (path, reader) in &mut self.files {
            let path = path.display();
            if reader.next().with_context(|| path.to_string())?.is_some() {
                bail!("{path}: it has scores of more rows: give the DATA that they are of");
            }
        }
        Ok(())
    }
}

/// The files, and those in the folders, in the order of their names.
pub fn paths(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for path in given {
        let name = || path.display().to_string();
        if !path.is_dir() {
            paths.push(path.clone());
            continue;
        }
        let before = paths.len();
        for entry in fs::read_dir(path).with_context(name)? {
            let path = entry.with_context(name)?.path();
            if path.extension().is_some_and(|ending| ending == ENDING) {
                paths.push(path);
            }
        }
        if paths.len() == before {
            bail!("{}: no share is here: give the folder that `predict --shares` wrote", name());
        }
        paths[before..].sort();
    }
    Ok(paths)
}
