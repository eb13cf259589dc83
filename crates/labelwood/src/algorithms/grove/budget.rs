//! Training a grove within a budget.
//!
//! What fits is known only at the end, and the ranker depends on how large the parts are: it is learned
//! last. Time is kept for it if there is enough once each part has its first tree; else it is the one
//! that is likely beforehand.

use super::params::Prior;
use super::ranker::Ranker;
use super::{Params, Trainer, prefix, write_ranker};
use crate::algorithms::budget::{Grower, SAFETY};
use crate::algorithms::{Budget, GrowError, Growth, Interrupted, Settings, Train, UnitSink};
use crate::base::run::{Stopped, Task};
use std::time::Duration;

/// Trees that the first part has before the others are begun: as many tell what a tree costs, and are
/// nearly as good as twelve.
const FIRST: usize = 4;
/// Trees that the first part has before another part has a second one: more of them are worth less.
const ENOUGH: usize = 12;
/// The share of the rows that the ranker is learned with.
const REST: f64 = 0.9;
/// Seconds for each row that is held out: predicting it, and its part of the regression.
const HELD_OUT_ROW: f64 = 4e-4;

impl Trainer<'_> {
    /// A few trees of the first part, a tree of each other part, more trees of the first, more of the
    /// others, and the rest of the first, as far as the budget allows; then the ranker of what is there.
    /// All parts are worth more than a ranker that is learned, so time for it is kept only if the first
    /// trees of each leave some. A grove without time or room for its other parts becomes the first.
    pub(super) fn grow_parts(
        &self,
        budget: &Budget,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<Settings, GrowError> {
        let parts = &self.params.parts;
        let sinks: Vec<UnitSink<'_>> =
            parts.iter().map(|part| units.below(&prefix(part))).collect();
        let trainers = parts.iter().map(|part| part.prepare(self.rows, task));
        let trainers: Vec<Box<dyn Train + '_>> = trainers.collect::<Result<_, _>>()?;
        let growers = trainers.iter().zip(&sinks);
        let mut growers: Vec<Grower<'_, dyn Train + '_>> =
            growers.map(|(train, units)| Grower::new(&**train, units, budget, task)).collect();
        let mut sizes = vec![0; parts.len()];
        let most: Vec<usize> = growers.iter().map(Grower::most).collect();
        let until = budget.limits.until;

        sizes[0] = growers[0].grow(most[0].min(FIRST), 0, |_, _| 0.0, None)?;
        if sizes[0] == 0 {
            return Err(GrowError::TimeUp);
        }
        let first: u64 = growers[0].finished(1)?.iter().sum();
        for at in 1..parts.len() {
            let beside = first + bytes(&growers[1..at], &sizes[1..at])?;
            sizes[at] = match growers[at].grow(most[at].min(1), beside, |_, _| 0.0, until) {
                Err(GrowError::NoRoom { .. }) => 0,
                grown => grown?,
            };
            if sizes[at] == 0 {
                let alone = growers[0].grow(most[0], 0, |_, _| 0.0, None)?;
                let alone = parts[0].resized(&[alone]);
                // The units are now those of the part, under the names that it gives them.
                for unit in alone.units(budget.labels, &|name| sinks[0].open(name))? {
                    sinks[0].copy_to(&unit.name, units)?;
                }
                return Ok(alone);
            }
        }
        let mut learn_ranker = self.params.learn_ranker;
        let seconds: Vec<f64> = growers.iter().map(|part| part.seconds.unwrap_or(0.0)).collect();
        learn_ranker &= budget.has_seconds(self.ranker_seconds(&sizes, &seconds, task));
        for at in (0..parts.len()).chain([0]) {
            let is_first_time = at == 0 && sizes[0] <= FIRST;
            let target = if is_first_time { most[0].min(ENOUGH) } else { most[at] };
            let before = bytes(&growers[..at], &sizes[..at])?;
            let beside = before + bytes(&growers[at + 1..], &sizes[at + 1..])?;
            let reserve = |members: usize, each: f64| match learn_ranker {
                true => {
                    let (mut sizes, mut seconds) = (sizes.clone(), seconds.clone());
                    (sizes[at], seconds[at]) = (members, each);
                    self.ranker_seconds(&sizes, &seconds, task)
                }
                false => 0.0,
            };
            let ranker = Duration::from_secs_f64(reserve(sizes[at] + 1, seconds[at]));
            let until = match parts[at].facts().grows {
                Some(Growth::OneByOne) => until.and_then(|until| until.checked_sub(ranker)),
                _ => None,
            };
            sizes[at] = growers[at].grow(target, beside, reserve, until)?.max(sizes[at].min(1));
        }
        let resized = self.params.parts.iter().zip(&sizes);
        let parts: Vec<Settings> = resized.map(|(part, &size)| part.resized(&[size])).collect();
        self.write_grown(Params { parts, learn_ranker, ..self.params.clone() }, units, task)
    }

    /// Writes the ranker of parts that are grown: the prior if learning takes too long.
    fn write_grown(
        &self,
        mut params: Params,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<Settings, GrowError> {
        let grown = Trainer { params: params.clone(), rows: self.rows, trial: None };
        let ranker = match grown.ranker(task) {
            Err(Interrupted::Stopped(Stopped::Late)) => {
                params.learn_ranker = false;
                Ranker::prior(&params.parts)
            }
            ranker => ranker?,
        };
        write_ranker(&ranker, units)?;
        Ok(params.into())
    }

    /// How long learning the ranker of parts of these sizes takes if each tree takes so many seconds.
    fn ranker_seconds(&self, sizes: &[usize], seconds: &[f64], task: &Task) -> f64 {
        let of_part = |(at, part): (usize, &Settings)| {
            let trees = sizes[at].min(Prior::of(part).reduced_to);
            let trees = match part.facts().grows {
                Some(Growth::Together) => trees.next_multiple_of(task.threads()),
                _ => trees,
            };
            trees as f64 * seconds[at]
        };
        let parts: f64 = self.params.parts.iter().enumerate().map(of_part).sum();
        let held_out = (self.rows.len() / 10).min(10_000) as f64;
        SAFETY * REST * parts + held_out * HELD_OUT_ROW
    }
}

/// The bytes of the first so many members of each part.
fn bytes(growers: &[Grower<'_, dyn Train + '_>], sizes: &[usize]) -> Result<u64, GrowError> {
    let mut sum = 0;
    for (grower, &size) in growers.iter().zip(sizes) {
        sum += grower.finished(size)?.iter().sum::<u64>();
    }
    Ok(sum)
}
