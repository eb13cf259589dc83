//! Scores of a single row, which waits for memory nearly all the time.
//!
//! A row meets tens of nodes on a level, each in a place of its own. So it is scored at all of them
//! at once: what a step takes is asked for at all nodes before any of it is read.

use super::nodes::{Nodes, Values, widened};
use super::score::{Hit, Scorer, add_up, with_weights};
use crate::array::{Numbers, prefetch};

/// A node that the row is at.
struct Spot<'a> {
    nodes: &'a Nodes,
    node: usize,
    features: &'a [u32],
    ends: &'a [u32],
    /// How many features a search has still to do with.
    size: usize,
    /// Where the hits of this node end.
    hits: usize,
}

impl<'a> Spot<'a> {
    fn new(nodes: &'a Nodes, node: usize) -> Self {
        let known = nodes.features_start[node] as usize..nodes.features_start[node + 1] as usize;
        let (features, ends) = (&nodes.features[known.clone()], &nodes.ends[known]);
        Spot { nodes, node, features, ends, size: features.len(), hits: 0 }
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
        find(&mut spots, columns, places);
        hits.clear();
        for (at, spot) in spots.iter_mut().enumerate() {
            let first = hits.len();
            let places = &places[at * columns.len()..];
            let entries = columns.iter().zip(factors).zip(places);
            hits.extend(entries.filter_map(|((&column, &factor), &place)| {
                let at = place as usize;
                let is_there = spot.features.get(at) == Some(&column);
                is_there.then(|| Hit::new(spot.ends, at, factor))
            }));
            spot.hits = hits.len();
            let Spot { nodes, node, .. } = *spot;
            let (weights, children) = (nodes.weights_start[node], nodes.children(node).start);
            for hit in &hits[first..] {
                nodes.fetch_weight(weights as usize + hit.start as usize);
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

/// Finds at each node the last feature that is not beyond each column, the first if all are.
///
/// The searches go step by step together: none waits for the memory that another asks for.
fn find(spots: &mut [Spot<'_>], columns: &[u32], places: &mut Vec<u32>) {
    places.clear();
    places.resize(spots.len() * columns.len(), 0);
    for spot in spots.iter() {
        prefetch(spot.features, spot.size / 2);
    }
    while !columns.is_empty() && spots.iter().any(|spot| spot.size > 1) {
        for (spot, places) in spots.iter_mut().zip(places.chunks_mut(columns.len())) {
            if spot.size <= 1 {
                continue;
            }
            let half = spot.size / 2;
            spot.size -= half;
            for (place, &column) in places.iter_mut().zip(columns) {
                let middle = *place + half as u32;
                let is_right = spot.features[middle as usize] <= column;
                *place = std::hint::select_unpredictable(is_right, middle, *place);
                prefetch(spot.features, *place as usize + spot.size / 2);
            }
            if spot.size == 1 {
                places.iter().for_each(|&place| prefetch(spot.ends, place as usize));
            }
        }
    }
}
