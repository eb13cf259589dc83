//! Prediction by several workers: each writes what its part of the model says, and one joins that.

use std::fs::{self, File};
use std::io::BufReader;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use labelwood::run::Task;
use labelwood::shard::{Combiner, ModelPart, ScoresReader, Share};
use labelwood::sparse::{CsrView, Predictions, Query};

use super::Args;
use crate::context::Context;
use crate::output::{check_outputs, write_file};
use crate::worker::WorkerArgs;

/// How the files of parts end.
const ENDING: &str = "scores";

/// Which part of the work is done here.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").args(["index", "workers"]).multiple(true)
    .requires("shards").conflicts_with("parts"))]
pub struct PartArgs {
    /// Divide the model into N shards, and write what this worker's have to say into the folder
    /// --output
    #[arg(long, value_name = "N", conflicts_with_all = ["parts", "format", "threshold", "fill", "labels_only"])]
    pub shards: Option<NonZeroUsize>,

    #[command(flatten)]
    worker: WorkerArgs,

    /// Join what the shards of the model wrote: their folders or files
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub parts: Vec<PathBuf>,
}

/// Writes the scores of this worker's shards, a batch of rows at a time.
pub fn write(args: &Args, shards: usize, context: &Context, task: &Task) -> Result<()> {
    if args.to_stdout() {
        bail!("--shards writes a file for each shard: name their folder with --output");
    }
    if args.data.as_os_str() == "-" && shards > 1 {
        bail!("every worker reads the rows, and --parts once more: give a file instead of -");
    }
    let folder = &args.output;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let worker = args.part.worker.worker(shards)?;
    let indices = || (worker.index..shards).step_by(worker.workers);
    let path = |index| folder.join(format!("part-{index:05}-of-{shards:05}.{ENDING}"));
    for path in indices().map(path) {
        // A worker that is started again replaces what it wrote before.
        check_outputs([path.as_path()], args.inputs(), args.overwrite || is_part(&path))?;
    }
    for index in indices() {
        let path = path(index);
        let rows = write_shard(args, Share { index, of: shards }, &path, task)?;
        context.note(format_args!("{}: {rows} rows", path.display()));
    }
    Ok(())
}

/// Whether a file begins with the scores of a part.
fn is_part(path: &Path) -> bool {
    let first = File::open(path).map(|file| ScoresReader::new(BufReader::new(file)).next());
    matches!(first, Ok(Ok(Some(_))))
}

fn write_shard(args: &Args, share: Share, path: &Path, task: &Task) -> Result<u64> {
    let part = ModelPart::open(&args.model, share, args.opening.loading.options(), task)?;
    let mut source = args.reading.options().open(&args.data, part.model(), task)?;
    let allowed = args.opening.files().allowed(part.model(), task)?;
    let query = args.opening.query(args.top_k.get(), allowed.as_ref());
    let mut rows = 0;
    write_file(path, |output| {
        while let Some(batch) = source.next_batch()? {
            part.scores(batch.features.view(), query, task)?.write_to(output)?;
            rows += batch.features.len() as u64;
        }
        Ok(())
    })?;
    Ok(rows)
}

/// The scores of all parts, read batch by batch.
pub struct Parts<'a> {
    combiner: &'a Combiner,
    files: Vec<(PathBuf, ScoresReader<BufReader<File>>)>,
}

impl<'a> Parts<'a> {
    /// Opens the files of the parts.
    pub fn open(combiner: &'a Combiner, paths: Vec<PathBuf>) -> Result<Self> {
        let mut files = Vec::new();
        for path in paths {
            let file = File::open(&path).with_context(|| path.display().to_string())?;
            files.push((path, ScoresReader::new(BufReader::new(file))));
        }
        Ok(Parts { combiner, files })
    }

    /// What the parts say about the next rows, joined.
    pub fn predict(
        &mut self,
        features: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions> {
        let mut scores = Vec::with_capacity(self.files.len());
        for (path, reader) in &mut self.files {
            let path = path.display();
            let Some(part) = reader.next().with_context(|| path.to_string())? else {
                bail!("{path}: it ends before the rows do: predict this part again");
            };
            if !part.are_of(features) {
                bail!("{path}: these are the scores of other rows: give the DATA that they are of");
            }
            scores.push(part);
        }
        Ok(self.combiner.combine(&scores, query, task)?)
    }

    /// Refuses parts that have scores of further rows.
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
            bail!("{}: no part is here: give the folder that `predict --shards` wrote", name());
        }
        paths[before..].sort();
    }
    Ok(paths)
}
