//! How far a plan has come.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use anyhow::Result;
use labelwood::run::{Bytes, Task};
use labelwood::shard::{Plan, Status};
use serde::Serialize;

use crate::cmd::plan::ShardLine;
use crate::output::print_as;

/// Units that are named; of more, the number is told.
const NAMED: usize = 20;

/// Reads the finished units of a plan and shows which are there.
pub fn show(folder: &Path, units: &[PathBuf], json: bool, task: &Task) -> Result<()> {
    let plan = Plan::open(folder)?;
    print_as(json, &Inside::new(&plan, plan.status(units, task)?))
}

/// What `inspect` shows of a plan; the line that `inspect --json` prints.
#[derive(Serialize)]
struct Inside {
    algorithm: String,
    data: String,
    stages: usize,
    threads: usize,
    shards: Vec<ShardLine>,
    done: Vec<String>,
    missing: Vec<String>,
    broken: Vec<String>,
    foreign: Vec<String>,
    lost: Vec<String>,
}

impl Inside {
    fn new(plan: &Plan, status: Status) -> Self {
        let line = |(&(done, units), shard)| ShardLine::new(Some(done), units, shard);
        let names =
            |paths: Vec<PathBuf>| paths.iter().map(|path| path.display().to_string()).collect();
        Inside {
            algorithm: plan.training().algorithm.clone(),
            data: plan.data().display().to_string(),
            stages: plan.stages(),
            threads: plan.threads(),
            shards: status.shards.iter().zip(plan.shards()).map(line).collect(),
            done: status.done,
            missing: status.missing,
            broken: names(status.broken),
            foreign: names(status.foreign),
            lost: status.lost,
        }
    }
}

impl Display for Inside {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "algorithm   {}", self.algorithm)?;
        writeln!(out, "data        {}", self.data)?;
        writeln!(out, "stages      {}", self.stages)?;
        writeln!(out, "units       {} done, {} missing", self.done.len(), self.missing.len())?;
        writeln!(out, "\nshard    done  units      memory   CPU seconds")?;
        for (number, shard) in self.shards.iter().enumerate() {
            let ShardLine { units, cpu_seconds, .. } = shard;
            let (done, memory) = (shard.done.unwrap_or(0), Bytes(shard.memory_bytes).to_string());
            writeln!(out, "{number:>5} {done:>7} {units:>6} {memory:>11} {cpu_seconds:>13.0}")?;
        }
        for (what, names) in [
            ("missing", &self.missing),
            ("broken", &self.broken),
            ("of another plan", &self.foreign),
        ] {
            for name in names.iter().take(NAMED) {
                writeln!(out, "{what}: {name}")?;
            }
            if names.len() > NAMED {
                writeln!(out, "{what}: {} more", names.len() - NAMED)?;
            }
        }
        for name in &self.lost {
            writeln!(out, "lost: {name}; plan again with --overwrite, which keeps the units")?;
        }
        Ok(())
    }
}
