//! What units cost, about, and how they are shared out.
//!
//! The figures are for planning: whether a worker's memory will do, and which shards take how long.
//! Each algorithm says what its units take.

use super::Shard;
use crate::algorithms::{Cost, Costs, Role, Settings, UnitSpec};
use crate::base::run::Estimate;
use crate::data::DatasetView;
use crate::model::job::CALIBRATION;

/// Seconds of preparing the rows, which every shard does, for each entry.
const PREPARE: f64 = 5.0e-8;

/// Bytes that a process takes whatever it learns from: code, stacks, buffers, and memory that was
/// freed but not given back.
const PROCESS: u64 = 16 << 20;

/// What the units of a plan need.
pub(super) struct PlanCosts {
    /// The units of the first stage.
    units: Vec<(String, Cost)>,
    /// All units of the second stage together.
    below: Cost,
    /// Seconds that preparing the rows takes.
    prepare: f64,
}

impl PlanCosts {
    pub(super) fn of(
        settings: &Settings,
        mut first: Vec<UnitSpec>,
        dataset: DatasetView<'_>,
        threads: usize,
    ) -> Self {
        let calibration = first.pop_if(|unit| unit.name == CALIBRATION);
        let Costs { units, below } = settings.costs(&first, dataset, threads);
        let is_blend = |unit: &UnitSpec| unit.role == Role::Blend;
        let others = first.iter().zip(&units).filter(|(unit, _)| !is_blend(unit));
        let all = others.map(|(_, cost)| cost.seconds).sum::<f64>() + below.seconds;
        let mut units: Vec<(String, Cost)> =
            first.into_iter().map(|unit| unit.name).zip(units).collect();
        if let Some(calibration) = calibration {
            // A second training on nine tenths of the rows, which are prepared twice; the second model
            // stays in memory.
            let Estimate { memory, model } = settings.estimate(dataset, threads);
            let cost = Cost { seconds: 0.9 * all, memory: 2 * memory + model };
            units.push((calibration.name, cost));
        }
        PlanCosts { units, below, prepare: PREPARE * dataset.features.entries() as f64 }
    }

    /// Divides the units into shards that take about as long.
    pub(super) fn shards(self, count: usize) -> Vec<Shard> {
        let weighed = self.units.iter().map(|(unit, cost)| (unit.clone(), cost.seconds));
        let shard = |units: Vec<String>| {
            let Cost { seconds: below, mut memory } = self.below;
            // Each stage that has something to do for the shard prepares the rows.
            let stages = u8::from(!units.is_empty()) + u8::from(below > 0.0);
            let mut seconds = f64::from(stages) * self.prepare + below / count as f64;
            for (unit, cost) in &self.units {
                if units.contains(unit) {
                    seconds += cost.seconds;
                    memory = memory.max(cost.memory);
                }
            }
            // More digits would look as if they were known.
            Shard { units, memory: PROCESS + memory, seconds: (seconds * 1000.0).round() / 1000.0 }
        };
        share_out(weighed.collect(), count).into_iter().map(shard).collect()
    }
}

/// Gives the heaviest first to the shard that has least so far; names keep their order within a
/// shard, and each shard gets the same wherever this is computed.
pub(super) fn share_out(weighed: Vec<(String, f64)>, count: usize) -> Vec<Vec<String>> {
    let mut order: Vec<usize> = (0..weighed.len()).collect();
    order.sort_by(|&one, &other| weighed[other].1.total_cmp(&weighed[one].1));
    let mut loads = vec![0.0; count];
    let mut shard_of = vec![0; weighed.len()];
    for at in order {
        let least = (0..count).min_by(|&one, &other| f64::total_cmp(&loads[one], &loads[other]));
        shard_of[at] = least.unwrap_or(0);
        loads[shard_of[at]] += weighed[at].1;
    }
    let mut shards = vec![Vec::new(); count];
    for ((name, _), shard) in weighed.into_iter().zip(shard_of) {
        shards[shard].push(name);
    }
    shards
}
