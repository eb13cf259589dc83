//! Scores of rows that have a node nearly for themselves, and wait for memory nearly all the time.
//!
//! Such rows meet tens of nodes on a level, each in a place of its own. So they are scored at many of
//! them at once: what a step takes is asked for at all nodes before any of it is read.

use super::nodes::{Nodes, Values, widened};
use super::ranks::Ranks;
use super::score::{Hit, Meeting, Scorer, add_up, with_weights};
use crate::base::array::{Numbers, prefetch};

/// A row at a node.
pub(super) struct Spot<'a> {
    nodes: &'a Nodes,
    node: usize,
    row: (&'a [u32], &'a [f32]),
    features: &'a [u32],
    ends: &'a [u32],
    way: Way<'a>,
    /// Which of the visits this is.
    pub visit: usize,
    /// Where the hits of this node end.
    hits: usize,
}

/// How the row's columns and a node's features are brought together.
enum Way<'a> {
    /// Ranks tell where each column is.
    Ranks(&'a Ranks),
    /// The fewer are searched for among the others, of which so many are left to each search.
    Search { left: usize },
}

impl<'a> Spot<'a> {
    pub fn new(Meeting { nodes, node, row }: Meeting<'a>, visit: usize, makes_ranks: bool) -> Self {
        let (features, ends) = (nodes.features_of(node), nodes.ends_of(node));
        let ranks = match features.len() < row.0.len() {
            true => None,
            false if makes_ranks => nodes.ranks_of(node),
            false => nodes.ranks.get(node),
        };
        let left = features.len().max(row.0.len());
        let way = ranks.map_or(Way::Search { left }, Way::Ranks);
        Spot { nodes, node, row, features, ends, way, visit, hits: 0 }
    }

    fn features_are_fewer(&self) -> bool {
        self.features.len() < self.row.0.len()
    }

    /// Those that are searched for, and those they are among.
    fn sides(&self) -> (&'a [u32], &'a [u32]) {
        if self.features_are_fewer() {
            (self.features, self.row.0)
        } else {
            (self.row.0, self.features)
        }
    }
}

impl Scorer {
    /// Calls `each(visit, margins)` with the margins of all children for each of some rows at nodes.
    pub(super) fn score_few(
        &mut self,
        spots: &mut [Spot<'_>],
        mut each: impl FnMut(usize, &[f32]),
    ) {
        let Scorer { places, hits, scores, .. } = self;
        find(spots, places, hits);
        let mut first = 0;
        for Spot { nodes, node, ends, hits: last, .. } in &*spots {
            let hits = &mut hits[first..*last];
            first = *last;
            let within = nodes.weight_range(*node);
            with_weights!(nodes, |owners, values, _widen| {
                let (owners, values) = (&owners[within.clone()], &values[within]);
                for hit in hits {
                    *hit = Hit::new(ends, hit.start as usize, hit.factor);
                    fetch_weights(*hit, owners, values);
                }
            });
            let children = nodes.children(*node).start;
            prefetch(&nodes.biases, children);
            prefetch(&nodes.children, children);
        }
        let mut first = 0;
        for Spot { nodes, node, visit, hits: last, .. } in &*spots {
            scores.clear();
            scores.extend_from_slice(&nodes.biases[nodes.children(*node)]);
            let within = nodes.weight_range(*node);
            with_weights!(nodes, |owners, values, widen| {
                let hits = &hits[first..*last];
                add_up(hits, &owners[within.clone()], &values[within], widen, scores);
            });
            first = *last;
            each(*visit, scores);
        }
    }
}

/// Asks for the memory of an entry's weights: all unless they are many, when reading those before
/// them is enough to have the rest fetched.
#[inline(always)]
fn fetch_weights<O, V>(hit: Hit, owners: &[O], values: &[V]) {
    /// Weights of 2 bytes that a line of the cache holds.
    const LINE: usize = 32;
    const FEW: usize = 4;
    let (start, end) = (hit.start as usize, hit.end as usize);
    prefetch(owners, start);
    prefetch(values, start);
    // Few are seldom in two lines.
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

/// Finds the entries of a row that each node has: where their features are, as yet, is where these
/// hits start.
///
/// Searches go step by step together: none waits for the memory that another asks for.
fn find(spots: &mut [Spot<'_>], places: &mut Vec<u32>, hits: &mut Vec<Hit>) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor counts bits, as just asked.
        return unsafe { find_popcnt(spots, places, hits) };
    }
    find_portable(spots, places, hits)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn find_popcnt(spots: &mut [Spot<'_>], places: &mut Vec<u32>, hits: &mut Vec<Hit>) {
    find_portable(spots, places, hits)
}

#[inline(always)]
fn find_portable(spots: &mut [Spot<'_>], places: &mut Vec<u32>, hits: &mut Vec<Hit>) {
    let mut searches = 0;
    for spot in spots.iter() {
        let (columns, features) = (spot.row.0, spot.features);
        match spot.way {
            Way::Ranks(ranks) => columns.iter().for_each(|&column| ranks.fetch(column)),
            Way::Search { .. } if spot.features_are_fewer() => {
                searches += features.len();
                (0..features.len()).step_by(16).for_each(|at| prefetch(features, at));
            }
            Way::Search { left } => {
                searches += columns.len();
                prefetch(features, left / 2);
            }
        }
    }
    places.clear();
    places.resize(searches, 0);
    let mut goes_on = true;
    while goes_on {
        goes_on = false;
        let mut rest = &mut places[..];
        for spot in spots.iter_mut() {
            let (features_are_fewer, (sought, among)) = (spot.features_are_fewer(), spot.sides());
            let Way::Search { left } = &mut spot.way else { continue };
            let (places, after) = rest.split_at_mut(sought.len());
            rest = after;
            if *left > 1 {
                *left = halve(among, *left, sought, places);
                goes_on |= *left > 1;
                if !features_are_fewer {
                    let middle = *left / 2;
                    places.iter().for_each(|&at| prefetch(among, at as usize + middle));
                }
            }
        }
    }
    hits.clear();
    let mut rest = &places[..];
    for spot in spots {
        let Spot { features, ends, row: (columns, factors), .. } = *spot;
        let push = |hits: &mut Vec<Hit>, place: u32, factor| {
            prefetch(ends, place as usize);
            hits.push(Hit { start: place, end: 0, factor });
        };
        match spot.way {
            Way::Ranks(ranks) => {
                // Whether a column is there is anyone's guess, the processor's too: so all are
                // written down, each over the one before if that was not there.
                let mut end = hits.len();
                hits.resize(end + columns.len(), Hit { start: 0, end: 0, factor: 0.0 });
                for (&column, &factor) in columns.iter().zip(factors) {
                    let (is_there, place) = ranks.of(column);
                    prefetch(ends, place as usize);
                    hits[end] = Hit { start: place, end: 0, factor };
                    end += usize::from(is_there);
                }
                hits.truncate(end);
            }
            Way::Search { .. } if spot.features_are_fewer() => {
                let places;
                (places, rest) = rest.split_at(features.len());
                for (at, (feature, &place)) in features.iter().zip(places).enumerate() {
                    if columns.get(place as usize) == Some(feature) {
                        push(hits, at as u32, factors[place as usize]);
                    }
                }
            }
            Way::Search { .. } => {
                let places;
                (places, rest) = rest.split_at(columns.len());
                for ((column, &factor), &place) in columns.iter().zip(factors).zip(places) {
                    if features.get(place as usize) == Some(column) {
                        push(hits, place, factor);
                    }
                }
            }
        }
        spot.hits = hits.len();
    }
}

/// One step of some searches for the last of the sorted `among` that is not beyond each of the
/// sought, each among so many from its place on; gives how many are left.
#[inline(always)]
fn halve(among: &[u32], size: usize, sought: &[u32], places: &mut [u32]) -> usize {
    let half = size / 2;
    for (place, &sought) in places.iter_mut().zip(sought) {
        let middle = *place + half as u32;
        let is_right = among[middle as usize] <= sought;
        *place = std::hint::select_unpredictable(is_right, middle, *place);
    }
    size - half
}
