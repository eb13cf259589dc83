//! How much of a model a threshold leaves.

use super::ShrinkError;
use crate::algorithms::Shrunk;

/// How many values there were and how many are left, counted over all units.
#[derive(Default)]
pub(super) struct Kept {
    before: u64,
    after: u64,
    /// The largest value of the units that lost all of theirs, by magnitude.
    largest: f32,
}

impl Kept {
    /// Counts a unit.
    pub fn add(&mut self, shrunk: &Shrunk) {
        self.before += shrunk.before;
        self.after += shrunk.after;
        if shrunk.after == 0 {
            self.largest = self.largest.max(shrunk.largest.abs());
        }
    }

    /// Refuses a threshold that left nothing, and warns of one that left less than a hundredth.
    pub fn check(&self, what: &'static str, prune: f32) -> Result<(), ShrinkError> {
        let &Kept { before, after, largest } = self;
        if prune == 0.0 || before == 0 {
            return Ok(());
        }
        if after == 0 {
            return Err(ShrinkError::NothingLeft { prune, what, largest });
        }
        if after < before / 100 {
            tracing::warn!(
                "prune is {prune}, which leaves {after} of {before} {what}: predictions will be poor; \
                 choose a smaller threshold"
            );
        }
        Ok(())
    }
}
