//! From finished units to a model.

use super::{Plan, ShardError};
use crate::base::run::Task;
use crate::base::store::{Begin, Manifest, Staging, Start, remove_abandoned};
use crate::model::Trained;
use std::path::{Path, PathBuf};

impl Plan {
    /// Makes a model of the plan's units, which may lie in further folders: byte for byte what
    /// [`train`](crate::model::train) writes. The rows are not needed.
    ///
    /// Every unit is read and must give the digest in its name. Units that are missing, damaged,
    /// of another plan, or there twice and different are refused by name. A merge that was killed is taken up.
    pub fn merge(
        &self,
        more: &[PathBuf],
        target: &Path,
        overwrite: bool,
        task: &Task,
    ) -> Result<Trained, ShardError> {
        let mut found = self.find(more, |_| true, task)?;
        if let Some(path) = found.foreign.into_iter().next() {
            return Err(ShardError::Foreign { path });
        }
        found.foreign = Vec::new();
        if let Some((one, other)) = found.mixed {
            return Err(ShardError::Mixture { one, other });
        }
        found.mixed = None;
        let status = self.status_of(&found)?;
        if !status.missing.is_empty() {
            let unfinished = status.shards.iter().enumerate().filter(|(_, (done, all))| done < all);
            let shards = unfinished.map(|(shard, _)| shard).collect();
            let (missing, damaged) = found.missing_or_damaged(status.missing);
            return Err(ShardError::Incomplete { missing, damaged, shards });
        }
        // What killed workers left takes room, but is in nobody's way if it cannot be removed.
        let _ = remove_abandoned(&self.units_folder());
        let (common, lost) = self.common(task)?;
        if let Some(file) = lost.into_iter().next() {
            return Err(ShardError::Lost { folder: self.folder.clone(), file });
        }
        let training = self.training().clone();
        // A merge that was killed has nothing that this one does not make again.
        let start = Start { resume: true, overwrite };
        let partial = match Staging::begin(target, &training, start)? {
            Begin::Work(partial) => partial,
            Begin::Finished(manifest) => return Ok(Trained::AlreadyThere(manifest)),
        };
        let mut units = Vec::new();
        for stem in self.order(&found)? {
            if let Some((unit, path)) = found.sound.get(&stem).or_else(|| common.get(&stem)) {
                task.check()?;
                units.push(partial.adopt_file(path, unit)?);
            }
        }
        let identity = &self.content.identity;
        let manifest = Manifest {
            training,
            instances: identity.instances,
            features: identity.features,
            labels: identity.labels,
            units,
        };
        partial.commit(&manifest)?;
        Ok(Trained::Written(manifest))
    }
}
