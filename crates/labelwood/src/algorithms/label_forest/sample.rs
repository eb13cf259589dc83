//! Draws the labels of each submodel.

use super::Params;
use crate::base::random::{Stream, derive};

/// Keep the random streams of the two draws apart.
const SUBSETS: u64 = 1;
const COVER: u64 = 2;

/// The labels of each submodel, in increasing order. A group is drawn whole or not at all.
///
/// No submodel is empty if there are enough groups.
pub(super) fn draw(groups: &[Vec<u32>], params: &Params, seed: u64) -> Vec<Vec<u32>> {
    let mut drawn = if params.sampling.is_partition() {
        partition(groups.len(), params, seed)
    } else {
        draw_subsets(groups.len(), params, seed)
    };
    if params.cover {
        let mut is_drawn = vec![false; groups.len()];
        drawn.iter().flatten().for_each(|&group| is_drawn[group as usize] = true);
        let mut random = Stream::new(derive(seed, COVER));
        for (group, _) in (0..).zip(&is_drawn).filter(|(_, is_drawn)| !**is_drawn) {
            drawn[random.below(params.submodels)].push(group);
        }
    }
    let labels = |drawn: &Vec<u32>| {
        let mut labels: Vec<u32> =
            drawn.iter().flat_map(|&group| &groups[group as usize]).copied().collect();
        labels.sort_unstable();
        labels
    };
    drawn.iter().map(labels).collect()
}

/// Each submodel draws its share of the groups, whatever the others draw.
fn draw_subsets(groups: usize, params: &Params, seed: u64) -> Vec<Vec<u32>> {
    let count = ((params.rate * groups as f64).round() as usize).clamp(1.min(groups), groups);
    let mut order: Vec<u32> = (0..groups as u32).collect();
    let draw = |submodel| {
        // Restored, so that a draw does not depend on those before it.
        order.sort_unstable();
        Stream::new(derive(derive(seed, SUBSETS), submodel)).sample_to_front(&mut order, count);
        order[..count].to_vec()
    };
    (0..params.submodels as u64).map(draw).collect()
}

/// Submodels come in rounds; each round divides all groups evenly among its submodels.
fn partition(groups: usize, params: &Params, seed: u64) -> Vec<Vec<u32>> {
    let per_round = params.parts();
    let mut drawn = Vec::with_capacity(params.submodels);
    for round in 0..params.submodels.div_ceil(per_round) as u64 {
        let mut order: Vec<u32> = (0..groups as u32).collect();
        Stream::new(derive(derive(seed, SUBSETS), round)).sample_to_front(&mut order, groups);
        let start = |submodel: usize| submodel * groups / per_round;
        let share = |submodel: usize| order[start(submodel)..start(submodel + 1)].to_vec();
        drawn.extend((0..per_round).take(params.submodels - drawn.len()).map(share));
    }
    drawn
}
