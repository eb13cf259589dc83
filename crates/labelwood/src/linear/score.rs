//! Scores: rows at a node meet the weights of its children.

use super::nodes::{Nodes, Values, widened};
use crate::array::{Numbers, prefetch};
use crate::sparse::Entries;
use serde::{Deserialize, Serialize};

/// How a margin becomes a probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// exp(-max(0, 1 - margin)).
    Hinge,
    /// exp(-max(0, 1 - margin)^2).
    SquaredHinge,
    /// exp(-max(0, 1 - margin)^3).
    CubedHinge,
    /// 1 / (1 + exp(-margin)).
    Sigmoid,
    /// 1 / (1 + exp(-3 margin)).
    SteepSigmoid,
}

impl Link {
    /// The logarithm of the probability.
    #[inline(always)]
    pub fn log_probability(self, margin: f32) -> f32 {
        let short = if margin < 1.0 { 1.0 - margin } else { 0.0 };
        match self {
            Link::Hinge => -short,
            Link::SquaredHinge => -(short * short),
            Link::CubedHinge => -(short * short * short),
            Link::Sigmoid => log_sigmoid(margin),
            Link::SteepSigmoid => log_sigmoid(3.0 * margin),
        }
    }
}

/// ln(1 / (1 + exp(-x))), without overflow.
fn log_sigmoid(x: f32) -> f32 {
    if x > 0.0 { -libm::log1pf(libm::expf(-x)) } else { x - libm::log1pf(libm::expf(x)) }
}

/// Scores rows at nodes; holds the scratch memory for it.
pub struct Scorer {
    features: usize,
    /// One more than the position of each of the node's features; all 0 between nodes. Empty until
    /// a node's features are mapped.
    position_of: Vec<u32>,
    /// Where each of a row's features is among the node's, if there.
    pub(super) places: Vec<u32>,
    /// The entries of a row whose features the node has.
    pub(super) hits: Vec<Hit>,
    pub(super) scores: Vec<f32>,
}

/// An entry of a row: its value, and where its feature's weights are.
#[derive(Clone, Copy)]
pub(super) struct Hit {
    pub start: u32,
    pub end: u32,
    pub factor: f32,
}

impl Hit {
    /// An entry whose feature is the node's at a position.
    #[inline(always)]
    pub fn new(ends: &[u32], at: usize, factor: f32) -> Self {
        let start = if at == 0 { 0 } else { ends[at - 1] };
        Hit { start, end: ends[at], factor }
    }
}

/// Evaluates an expression with the owners and weights of some nodes as slices of their types, and
/// with what makes a number of a weight.
macro_rules! with_weights {
    ($nodes:expr, |$owners:ident, $values:ident, $widen:ident| $work:expr) => {{
        macro_rules! arm {
            ($own:ident, $val:ident, $to:expr) => {{
                let ($owners, $values, $widen) = (&$own[..], &$val[..], $to);
                $work
            }};
        }
        match (&$nodes.owners, &$nodes.values) {
            (Numbers::U8(o), Values::Half(v)) => arm!(o, v, widened),
            (Numbers::U16(o), Values::Half(v)) => arm!(o, v, widened),
            (Numbers::U32(o), Values::Half(v)) => arm!(o, v, widened),
            (Numbers::U8(o), Values::Single(v)) => arm!(o, v, |value: f32| value),
            (Numbers::U16(o), Values::Single(v)) => arm!(o, v, |value: f32| value),
            (Numbers::U32(o), Values::Single(v)) => arm!(o, v, |value: f32| value),
        }
    }};
}
pub(super) use with_weights;

impl Scorer {
    /// For rows with up to `features` features.
    pub fn new(features: usize) -> Self {
        Scorer {
            features,
            position_of: Vec::new(),
            places: Vec::new(),
            hits: Vec::new(),
            scores: Vec::new(),
        }
    }

    /// Calls `each(position, margins)` with the margins of all children of `node` for each of
    /// `rows`, in order.
    ///
    /// A row's features are added up in their order, however they are found.
    pub fn score(
        &mut self,
        nodes: &Nodes,
        node: usize,
        entries: Entries<'_>,
        rows: &[u32],
        each: impl FnMut(usize, &[f32]),
    ) {
        let work = Work { nodes, node, entries, rows };
        with_weights!(nodes, |owners, values, widen| self.run(work, owners, values, widen, each));
    }

    #[inline(always)]
    fn run<O: Copy + Into<u32>, V: Copy>(
        &mut self,
        work: Work<'_>,
        owners: &[O],
        values: &[V],
        widen: impl Fn(V) -> f32,
        mut each: impl FnMut(usize, &[f32]),
    ) {
        let Work { nodes, node, entries, rows } = work;
        let within = |starts: &[u64]| starts[node] as usize..starts[node + 1] as usize;
        let known = within(&nodes.features_start);
        let (features, ends) = (&nodes.features[known.clone()], &nodes.ends[known]);
        let weights = within(&nodes.weights_start);
        let (owners, values) = (&owners[weights.clone()], &values[weights]);
        let biases = &nodes.biases[nodes.children(node)];
        // A map of the node's features pays when many entries are looked up in it.
        let wanted: usize = rows.iter().map(|&row| entries.row(row).0.len()).sum();
        let mapped = rows.len() > 1 && wanted * 8 > features.len();
        if mapped {
            self.position_of.resize(self.features, 0);
            for (at, &feature) in features.iter().enumerate() {
                // A feature beyond the model's is a damaged file that was not verified.
                if let Some(position) = self.position_of.get_mut(feature as usize) {
                    *position = at as u32 + 1;
                }
            }
        }
        for (position, &row) in rows.iter().enumerate() {
            self.scores.clear();
            self.scores.extend_from_slice(biases);
            let (columns, factors) = entries.row(row);
            if !mapped {
                find(features, columns, &mut self.places);
            }
            self.hits.clear();
            for (entry, (&column, &factor)) in columns.iter().zip(factors).enumerate() {
                let found = if mapped {
                    (self.position_of[column as usize] as usize).checked_sub(1)
                } else {
                    let at = self.places[entry] as usize;
                    (features.get(at) == Some(&column)).then_some(at)
                };
                if let Some(at) = found {
                    self.hits.push(Hit::new(ends, at, factor));
                }
            }
            if !mapped {
                fetch(&self.hits, owners, values);
            }
            add_up(&self.hits, owners, values, &widen, &mut self.scores);
            each(position, &self.scores);
        }
        if mapped {
            for &feature in features {
                if let Some(position) = self.position_of.get_mut(feature as usize) {
                    *position = 0;
                }
            }
        }
    }
}

/// Adds the weights of a row's entries, times its values, to the scores of their owners.
#[inline(always)]
pub(super) fn add_up<O: Copy + Into<u32>, V: Copy>(
    hits: &[Hit],
    owners: &[O],
    values: &[V],
    widen: impl Fn(V) -> f32,
    scores: &mut [f32],
) {
    for &Hit { start, end, factor } in hits {
        let weights = start as usize..end as usize;
        for (&owner, &value) in owners[weights.clone()].iter().zip(&values[weights]) {
            // An owner that is no child is a damaged file that was not verified.
            if let Some(score) = scores.get_mut(owner.into() as usize) {
                *score += factor * widen(value);
            }
        }
    }
}

/// Asks for the first weights of all hits at once, so that adding them up does not wait for one
/// after the other.
fn fetch<O, V>(hits: &[Hit], owners: &[O], values: &[V]) {
    for hit in hits {
        prefetch(owners, hit.start as usize);
        prefetch(values, hit.start as usize);
    }
}

/// Finds the last of the sorted `features` that is not beyond each column, the first if all are.
///
/// The searches go step by step together: none waits for the memory that another asks for.
fn find(features: &[u32], columns: &[u32], places: &mut Vec<u32>) {
    places.clear();
    places.resize(columns.len(), 0);
    let mut size = features.len();
    while size > 1 {
        size = halve(features, size, columns, places);
    }
}

/// One step of these searches, each among so many features from its place on; gives how many are
/// left.
#[inline(always)]
pub(super) fn halve(features: &[u32], size: usize, columns: &[u32], places: &mut [u32]) -> usize {
    let half = size / 2;
    for (place, &column) in places.iter_mut().zip(columns) {
        let middle = *place + half as u32;
        let is_right = features[middle as usize] <= column;
        *place = std::hint::select_unpredictable(is_right, middle, *place);
    }
    size - half
}

/// What is scored.
#[derive(Clone, Copy)]
struct Work<'a> {
    nodes: &'a Nodes,
    node: usize,
    entries: Entries<'a>,
    rows: &'a [u32],
}
