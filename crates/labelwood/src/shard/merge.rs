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
        let found = self.find(more, |_| true, task)?;
        if let Some(path) = found.foreign.first() {
            let advice = "merge the units of one plan, or move it away";
            return Err(ShardError::at(
                path,
                format_args!("this unit is of another plan: {advice}"),
            ));
        }
        if let Some((one, other)) = &found.mixed {
            return Err(ShardError::Refused(format!(
                "{} and {} differ, but are the same unit: remove the one that does not belong here",
                one.display(),
                other.display()
            )));
        }
        let status = self.status_of(&found)?;
        if !status.missing.is_empty() {
            let unfinished = status.shards.iter().enumerate().filter(|(_, (done, all))| done < all);
            let shards: Vec<String> = unfinished.map(|(shard, _)| shard.to_string()).collect();
            let advice = match shards.len() {
                0 => String::new(),
                1 => format!("; run shard {}", shards[0]),
                _ => format!("; run shards {}", shards.join(", ")),
            };
            let lacking = found.lacking(status.missing);
            return Err(ShardError::Refused(format!(
                "the plan is not finished: {lacking}{advice}"
            )));
        }
        // What killed workers left takes room, but is in nobody's way if it cannot be removed.
        let _ = remove_abandoned(&self.units_folder());
        let (common, lost) = self.common(task)?;
        if let Some(file) = lost.first() {
            return Err(ShardError::at(
                &self.folder,
                format_args!(
                    "{file} is missing or damaged; plan the training again with --overwrite, which \
                     keeps the units that are finished"
                ),
            ));
        }
        // A merge that was killed has nothing that this one does not make again.
        let start = Start { resume: true, overwrite };
        let partial = match Staging::begin(target, self.training(), start)? {
            Begin::Work(partial) => partial,
            Begin::Finished(manifest) => return Ok(Trained::AlreadyThere(manifest)),
        };
        let mut units = Vec::new();
        for name in self.order(&found)? {
            if let Some((unit, path)) = found.sound.get(&name).or_else(|| common.get(&name)) {
                task.check()?;
                units.push(partial.adopt_file(path, unit)?);
            }
        }
        let manifest = Manifest { units, ..self.content.identity.manifest.clone() };
        partial.commit(&manifest)?;
        Ok(Trained::Written(manifest))
    }
}
