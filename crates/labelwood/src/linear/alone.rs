//! Scores of a single row, which waits for memory nearly all the time.
//!
//! A row meets tens of nodes on a level, each in a place of its own. So it is scored at all of them
//! at once: what a step takes is asked for at all nodes before any of it is read.

use super::nodes::{Nodes, Values, widened};
use super::ranks::Ranks;
use super::score::{Hit, Scorer, add_up, halve, with_weights};
use crate::array::{Numbers, prefetch};

/// A node that the row is at.
struct Spot<'a> {
    nodes: &'a Nodes,
    node: usize,
    features: &'a [u32],
    ends: &'a [u32],
    ranks: Option<&'a Ranks>,
    /// How many features a search has still to do with; none where ranks tell.
    size: usize,
    /// Where the hits of this node end.
    hits: usize,
}

impl<'a> Spot<'a> {
    fn new(nodes: &'a Nodes, node: usize) -> Self {
        let known = nodes.features_start[node] as usize..nodes.features_start[node + 1] as usize;
        let (features, ends) = (&nodes.features[known.clone()], &nodes.ends[known]);
        let ranks = nodes.ranks_of(node);
        let size = if ranks.is_some() { 0 } else { features.len() };
        Spot { nodes, node, features, ends, ranks, size, hits: 0 }
    }
}

impl Scorer {
    /// Calls `each(position, margins)` with the margins of all children of each of some nodes for
    /// one row, in order: those that [`Scorer::score`] gives.
    pub fn score_alone<'n>(
        &mut self,
        visits: impl Iterator<Item = (&'n Nodes, usize)> + Clone,
        (columns, factors): (&[u32], &[f32]),
        mut each: impl FnMut(usize, &[f32]),
    ) {
        let Scorer { places, hits, scores, .. } = self;
        for (nodes, node) in visits.clone() {
            prefetch(&nodes.features_start, node);
            prefetch(&nodes.weights_start, node);
            prefetch(&nodes.children_start, node);
        }
        let mut spots: Vec<Spot<'_>> = visits.map(|(nodes, node)| Spot::new(nodes, node)).collect();
        places.clear();
        places.resize(spots.len() * columns.len(), 0);
        if !columns.is_empty() {
            find(&mut spots, columns, places);
        }
        hits.clear();
        for (at, spot) in spots.iter_mut().enumerate() {
            let first = hits.len();
            let places = &places[at * columns.len()..];
            let there = factors.iter().zip(places).filter(|&(_, &place)| place != NOWHERE);
            let hit = |(&factor, &place)| Hit::new(spot.ends, place as usize, factor);
            hits.extend(there.map(hit));
            spot.hits = hits.len();
            let Spot { nodes, node, .. } = *spot;
            let (weights, children) = (nodes.weights_start[node], nodes.children(node).start);
            for hit in &hits[first..] {
                nodes.fetch_weights(weights as usize, hit.start..hit.end);
            }
            prefetch(&nodes.biases, children);
            prefetch(&nodes.children, children);
        }
        let mut first = 0;
        for (position, spot) in spots.iter().enumerate() {
            let Spot { nodes, node, .. } = *spot;
            scores.clear();
            scores.extend_from_slice(&nodes.biases[nodes.children(node)]);
            let hits = &hits[first..spot.hits];
            first = spot.hits;
            let within = nodes.weights_start[node] as usize..nodes.weights_start[node + 1] as usize;
            with_weights!(nodes, |owners, values, widen| {
                add_up(hits, &owners[within.clone()], &values[within], widen, scores);
            });
            each(position, scores);
        }
    }
}

/// The place of a column that a node does not have.
const NOWHERE: u32 = u32::MAX;

/// Finds the places of all columns, one at least, among the features of each node.
///
/// Searches go step by step together: none waits for the memory that another asks for.
fn find(spots: &mut [Spot<'_>], columns: &[u32], places: &mut [u32]) {
    for spot in spots.iter() {
        prefetch(spot.features, spot.size / 2);
        if let Some(ranks) = spot.ranks {
            columns.iter().for_each(|&column| ranks.fetch(column));
        }
    }
    while spots.iter().any(|spot| spot.size > 1) {
        for (spot, places) in spots.iter_mut().zip(places.chunks_mut(columns.len())) {
            if spot.size > 1 {
                spot.size = halve(spot.features, spot.size, columns, places);
                let middle = spot.size / 2;
                places.iter().for_each(|&at| prefetch(spot.features, at as usize + middle));
            }
        }
    }
    for (spot, places) in spots.iter().zip(places.chunks_mut(columns.len())) {
        for (place, &column) in places.iter_mut().zip(columns) {
            *place = match spot.ranks {
                Some(ranks) => ranks.of(column).unwrap_or(NOWHERE),
                None if spot.features.get(*place as usize) == Some(&column) => *place,
                None => NOWHERE,
            };
            prefetch(spot.ends, *place as usize);
        }
    }
}
