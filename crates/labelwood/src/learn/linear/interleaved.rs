//! Scores rows at nodes that few rows visit, where most time is spent waiting for memory.
//!
//! A row visits tens of nodes on a level, each somewhere else in memory. So many visits are scored
//! together, step by step: a step first requests the memory that it needs at all nodes, and then
//! works, so that the waits overlap.

use super::feature_index::FeatureIndex;
use super::nodes::{Nodes, Values, f16_to_f32};
use super::score::{Hit, RowAtNode, Scorer, add_weights, with_weights};
use crate::base::array::{Numbers, prefetch};
use multiversion::multiversion;

/// A row whose features are looked up among those of a node.
pub(super) struct Lookup<'a> {
    nodes: &'a Nodes,
    node: usize,
    row: (&'a [u32], &'a [f32]),
    features: &'a [u32],
    ends: &'a [u32],
    /// Without an index, the shorter of the two lists is searched for in the longer.
    index: Option<&'a FeatureIndex>,
    /// The position of the visit that this is for.
    pub visit: usize,
    /// Where the hits of this lookup end among those of all lookups.
    hits_end: usize,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(
        RowAtNode { nodes, node, row }: RowAtNode<'a>,
        visit: usize,
        builds_index: bool,
    ) -> Self {
        let (features, ends) = (nodes.features_of(node), nodes.ends_of(node));
        let index = match features.len() < row.0.len() {
            true => None,
            false if builds_index => nodes.feature_index_of(node),
            false => nodes.feature_indexes.get(node),
        };
        Lookup { nodes, node, row, features, ends, index, visit, hits_end: 0 }
    }
}

impl Scorer {
    /// Calls `each(visit, margins)` with the margins of all children for each lookup.
    pub(super) fn score_interleaved(
        &mut self,
        lookups: &mut [Lookup<'_>],
        mut each: impl FnMut(usize, &[f32]),
    ) {
        let Scorer { hits, scores, .. } = self;
        find(lookups, hits);
        let mut first = 0;
        for Lookup { nodes, node, ends, hits_end: last, .. } in &*lookups {
            let hits = &mut hits[first..*last];
            first = *last;
            let range = nodes.weight_range(*node);
            with_weights!(nodes, |owners, values, _widen| {
                let (owners, values) = (&owners[range.clone()], &values[range]);
                for hit in hits {
                    *hit = Hit::new(ends, hit.start as usize, hit.factor);
                    prefetch_weights(*hit, owners, values);
                }
            });
            let children = nodes.children(*node).start;
            prefetch(&nodes.biases, children);
            prefetch(&nodes.children, children);
        }
        let mut first = 0;
        for Lookup { nodes, node, visit, hits_end: last, .. } in &*lookups {
            scores.clear();
            scores.extend_from_slice(&nodes.biases[nodes.children(*node)]);
            let range = nodes.weight_range(*node);
            with_weights!(nodes, |owners, values, widen| {
                let hits = &hits[first..*last];
                add_weights(hits, &owners[range.clone()], &values[range], widen, scores);
            });
            first = *last;
            each(*visit, scores);
        }
    }
}

/// Requests the memory of a hit's weights. Of many weights the first lines are enough: the processor
/// fetches the rest by itself once they are read in order.
#[inline(always)]
fn prefetch_weights<O, V>(hit: Hit, owners: &[O], values: &[V]) {
    /// Weights of 2 bytes that a cache line holds.
    const LINE: usize = 32;
    /// So few weights are seldom in two lines.
    const FEW: usize = 4;
    let (start, end) = (hit.start as usize, hit.end as usize);
    prefetch(owners, start);
    prefetch(values, start);
    if end > start + FEW {
        prefetch(owners, end - 1);
        prefetch(values, end - 1);
    }
    if end > start + LINE {
        for at in (start..end).step_by(LINE).take(4) {
            prefetch(owners, at);
            prefetch(values, at);
        }
    }
}

/// Finds the entries of each row whose features the node has. In these hits, `start` is the
/// position of the feature among the node's; [`Hit::new`] turns it into the range of its weights.
#[multiversion(targets("x86_64+popcnt"))]
fn find(lookups: &mut [Lookup<'_>], hits: &mut Vec<Hit>) {
    for Lookup { features, row: (columns, _), index, .. } in lookups.iter() {
        match index {
            Some(index) => columns.iter().for_each(|&column| index.prefetch(column)),
            None => prefetch_all(features),
        }
    }
    hits.clear();
    for lookup in lookups {
        let Lookup { features, ends, row: (columns, factors), index, .. } = *lookup;
        let push = |hits: &mut Vec<Hit>, at: usize, factor| {
            prefetch(ends, at);
            hits.push(Hit { start: at as u32, end: 0, factor });
        };
        if let Some(index) = index {
            // Branchless, since no branch predictor could tell which features a node has: always
            // write the hit, advance `end` only if it is real.
            let mut end = hits.len();
            hits.resize(end + columns.len(), Hit { start: 0, end: 0, factor: 0.0 });
            for (&column, &factor) in columns.iter().zip(factors) {
                let (is_there, at) = index.position(column);
                prefetch(ends, at as usize);
                hits[end] = Hit { start: at, end: 0, factor };
                end += usize::from(is_there);
            }
            hits.truncate(end);
        } else if features.len() < columns.len() {
            for (at, feature) in features.iter().enumerate() {
                if let Ok(column) = columns.binary_search(feature) {
                    push(hits, at, factors[column]);
                }
            }
        } else {
            for (column, &factor) in columns.iter().zip(factors) {
                if let Ok(at) = features.binary_search(column) {
                    push(hits, at, factor);
                }
            }
        }
        lookup.hits_end = hits.len();
    }
}

/// Requests the memory of a node's features, or, if they are many, of as many places among them as
/// the first steps of a search read.
#[inline(always)]
fn prefetch_all(features: &[u32]) {
    /// Features that a cache line holds.
    const LINE: usize = 16;
    const MAX_LINES: usize = 128;
    let step = (features.len() / MAX_LINES).max(LINE);
    (0..features.len()).step_by(step).for_each(|at| prefetch(features, at));
}
