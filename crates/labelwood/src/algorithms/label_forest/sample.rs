//! Drawing: which submodel knows which labels.

use super::Params;
use crate::base::random::{Stream, derive};

/// What the streams are for.
const SUBSETS: u64 = 1;
const COVER: u64 = 2;

/// The labels of each submodel, in increasing order; `groups` are drawn whole.
///
/// No submodel is empty while there are as many groups as it takes.
pub(super) fn draw(groups: &[Vec<u32>], params: &Params, seed: u64) -> Vec<Vec<u32>> {
    let mut drawn = if params.sampling.is_partition() {
        deal(groups.len(), params, seed)
    } else {
        choose(groups.len(), params, seed)
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

/// Each submodel draws its share of the groups.
fn choose(groups: usize, params: &Params, seed: u64) -> Vec<Vec<u32>> {
    let count = ((params.rate * groups as f64).round() as usize).clamp(1.min(groups), groups);
    let mut order: Vec<u32> = (0..groups as u32).collect();
    let draw = |submodel| {
        // From the same order whatever was drawn before.
        order.sort_unstable();
        Stream::new(derive(derive(seed, SUBSETS), submodel)).sample_to_front(&mut order, count);
        order[..count].to_vec()
    };
    (0..params.submodels as u64).map(draw).collect()
}

/// Each round of submodels deals all groups among them.
fn deal(groups: usize, params: &Params, seed: u64) -> Vec<Vec<u32>> {
    let parts = params.parts();
    let mut drawn = Vec::with_capacity(params.submodels);
    for round in 0..params.submodels.div_ceil(parts) as u64 {
        let mut order: Vec<u32> = (0..groups as u32).collect();
        Stream::new(derive(derive(seed, SUBSETS), round)).sample_to_front(&mut order, groups);
        let part = |part: usize| order[part * groups / parts..(part + 1) * groups / parts].to_vec();
        drawn.extend((0..parts).take(params.submodels - drawn.len()).map(part));
    }
    drawn
}
