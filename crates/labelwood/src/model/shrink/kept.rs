//! How much of a model a threshold leaves.

use super::ShrinkError;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many values there were and how many are left, counted over all units.
#[derive(Default)]
pub(super) struct Kept {
    before: AtomicU64,
    after: AtomicU64,
    /// The bits of the largest value of the units that lost all of theirs.
    largest: AtomicU32,
}

impl Kept {
    /// Counts a unit, whose largest value by magnitude is asked for if none is left.
    pub fn add(&self, [before, after]: [u64; 2], largest: impl FnOnce() -> f32) {
        self.before.fetch_add(before, Ordering::Relaxed);
        self.after.fetch_add(after, Ordering::Relaxed);
        if after == 0 {
            // The bits of numbers from 0 on are ordered as the numbers are.
            self.largest.fetch_max(largest().abs().to_bits(), Ordering::Relaxed);
        }
    }

    /// Refuses a threshold that left nothing, and warns of one that left less than a hundredth.
    pub fn check(&self, what: &'static str, prune: f32) -> Result<(), ShrinkError> {
        let [before, after] =
            [&self.before, &self.after].map(|count| count.load(Ordering::Relaxed));
        if prune == 0.0 || before == 0 {
            return Ok(());
        }
        if after == 0 {
            let largest = f32::from_bits(self.largest.load(Ordering::Relaxed));
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
