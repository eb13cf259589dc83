//! Training a grove within a budget.
//!
//! A third of the time is for the trial, which says what pays and fits. Then every part gets its first
//! trees, the quickest part first, and then the others, as far as there is time and room.

use super::params::{Params, seconds};
use super::{Ranker, TRIAL_SHARE, Trainer, prefix, write_ranker};
use crate::algorithms::budget::Grower;
use crate::algorithms::{Budget, GrowError, Growth, Interrupted, Settings, Train, UnitSink};
use crate::base::run::{Stopped, Task};
use std::time::Instant;

/// The share of the time that the trial may take.
const TRIAL: f64 = 1.0 / 3.0;
/// Trees that a part gets first if it grows several at a time: as many are nearly as good as twelve.
const FIRST: usize = 4;
/// How much is done when all parts are grown, if nothing is said about the time.
const GROWN: f64 = 0.95;
/// Seconds for each row that is held out, which learning the ranker takes.
const HELD_OUT_ROW: f64 = 2e-4;

impl Trainer<'_> {
    /// Trains what pays and fits.
    pub(super) fn train_in_time(
        &self,
        budget: &Budget,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<Settings, GrowError> {
        let decided = self.decided_in_time(budget, task)?;
        let parts = decided.grow_parts(budget, units, task)?;
        let mut params = decided.params.clone();
        if params.parts != parts {
            params = Params { parts, chosen: None, ..params };
        }
        let ranker = match decided.ranker_of(&params, &task.share(GROWN..1.0)) {
            Err(Interrupted::Stopped(Stopped::Late)) => {
                params.learn_ranker = false;
                Ranker::prior(&params.parts)
            }
            ranker => ranker?,
        };
        write_ranker(&ranker, units)?;
        Ok(params.into())
    }

    /// The same with the parts that pay and fit, as far as there is time to see that.
    fn decided_in_time(&self, budget: &Budget, task: &Task) -> Result<Self, Interrupted> {
        let until = budget.limits.until.map(|until| {
            let now = Instant::now();
            now + until.saturating_duration_since(now).mul_f64(TRIAL)
        });
        let room = budget.limits.bytes.map(|_| budget.room(0));
        let undecided = |params| Trainer { params, rows: self.rows, trial: None };
        match undecided(self.params.clone()).decide(room, &task.until(until)) {
            Err(Interrupted::Stopped(Stopped::Late)) => {
                task.check()?;
                let params = self.params.clone();
                Ok(undecided(Params { choose: false, learn_ranker: false, ..params }))
            }
            decided => decided,
        }
    }

    /// The parts with as many trees as there is time and room for.
    fn grow_parts(
        &self,
        budget: &Budget,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<Vec<Settings>, GrowError> {
        let parts = &self.params.parts;
        let sinks: Vec<UnitSink<'_>> =
            parts.iter().map(|part| units.below(&prefix(part))).collect();
        let trainers = parts.iter().map(|part| part.prepare(self.rows, task));
        let trainers: Vec<Box<dyn Train + '_>> = trainers.collect::<Result<_, _>>()?;
        let growers = trainers.iter().zip(&sinks);
        let mut growers: Vec<Grower<'_, dyn Train + '_>> =
            growers.map(|(train, units)| Grower::new(&**train, units, budget, task)).collect();
        let held_out = self.trial.as_ref().map_or(0, |trial| trial.held_out.len());
        let reserve = held_out as f64 * HELD_OUT_ROW;

        let (mut sizes, mut no_room) = (vec![0; parts.len()], None);
        let mut order: Vec<usize> = (0..parts.len()).collect();
        let times: Vec<f64> = parts.iter().map(|part| seconds(part, self.rows)).collect();
        order.sort_by(|&one, &other| times[one].total_cmp(&times[other]));
        let all = task.share(TRIAL_SHARE..GROWN);
        let turns = 2.0 * parts.len() as f64;
        for (is_first_round, round) in [(true, 0), (false, 1)] {
            for (&at, turn) in order.iter().zip(round * parts.len()..) {
                let share = turn as f64 / turns..(turn + 1) as f64 / turns;
                growers[at].task = all.share(share).part(parts[at].name());
                let grows = parts[at].facts().grows;
                let most = growers[at].most();
                let target = match grows {
                    Some(Growth::Together) if is_first_round => most.min(FIRST),
                    Some(Growth::OneByOne) if is_first_round => most.min(1),
                    _ => most,
                };
                if sizes[at] >= target || sizes[at] == 0 && !is_first_round {
                    continue;
                }
                let mut beside = 0;
                for other in (0..parts.len()).filter(|&other| other != at) {
                    beside += growers[other].finished(sizes[other])?.iter().sum::<u64>();
                }
                let until = budget.limits.until.filter(|_| grows != Some(Growth::Together));
                sizes[at] = match growers[at].grow(target, beside, |_, _| reserve, until) {
                    Err(GrowError::NoRoom { least, allowed }) => {
                        let least = no_room.map_or(least, |(before, _)| least.min(before));
                        no_room = Some((least, allowed));
                        0
                    }
                    grown => grown?,
                };
                if grows.is_none() && sizes[at] < most {
                    sizes[at] = 0;
                }
            }
        }
        let grown: Vec<Settings> = parts
            .iter()
            .zip(&sizes)
            .filter(|&(_, &size)| size > 0)
            .map(|(part, &size)| part.resized(&[size]))
            .collect();
        match no_room {
            _ if !grown.is_empty() => Ok(grown),
            Some((least, allowed)) => Err(GrowError::NoRoom { least, allowed }),
            None => Err(GrowError::TimeUp),
        }
    }

    /// The ranker of those of its parts that were grown.
    fn ranker_of(self, grown: &Params, task: &Task) -> Result<Ranker, Interrupted> {
        let trial = self.trial.map(|trial| trial.narrowed(grown, task)).transpose()?.flatten();
        Trainer { params: grown.clone(), rows: self.rows, trial }.ranker(task)
    }
}
