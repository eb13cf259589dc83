//! Scores rows at nodes with the weights of the nodes' children.

use super::interleaved::Lookup;
use super::nodes::{Nodes, Values, f16_to_f32};
use crate::base::array::Numbers;
use crate::base::settings::choices;
use crate::base::sparse::MAX_DENSE_COLUMNS;

choices! {
/// How a margin becomes a probability.
pub enum Link {
    /// exp(-max(0, 1 - margin)).
    Hinge = "hinge",
    /// exp(-max(0, 1 - margin)^2).
    SquaredHinge = "squared-hinge",
    /// exp(-max(0, 1 - margin)^3).
    CubedHinge = "cubed-hinge",
    /// 1 / (1 + exp(-margin)).
    Sigmoid = "sigmoid",
    /// 1 / (1 + exp(-3 margin)).
    SteepSigmoid = "steep-sigmoid",
}
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

/// Batches of up to this many rows build a feature index per node: more such batches are likely.
const SMALL_BATCH: usize = 256;
/// Lookups that are interleaved at a time. Prefetched memory must stay in the cache until it is read.
const INTERLEAVED: usize = 64;

/// Scores rows at nodes, and holds the scratch memory for it.
pub(crate) struct Scorer {
    width: usize,
    builds_indexes: bool,
    /// By feature, one more than its position among the node's features; 0 if the node does not have
    /// it. All 0 between nodes, and empty until the first use.
    position_of: Vec<u32>,
    pub(super) hits: Vec<Hit>,
    pub(super) scores: Vec<f32>,
}

/// An entry of a row whose feature the node has: its value, and the range of the feature's weights.
#[derive(Clone, Copy)]
pub(super) struct Hit {
    pub start: u32,
    pub end: u32,
    pub factor: f32,
}

impl Hit {
    /// The hit of the node's feature at a position.
    #[inline(always)]
    pub(super) fn new(ends: &[u32], at: usize, factor: f32) -> Self {
        let end = |at: usize| ends.get(at).copied().unwrap_or(0);
        Hit { start: if at == 0 { 0 } else { end(at - 1) }, end: end(at), factor }
    }
}

/// A row at a node.
#[derive(Clone, Copy)]
pub(crate) struct RowAtNode<'a> {
    /// The array that holds the node.
    pub nodes: &'a Nodes,
    /// The number of the node in it.
    pub node: usize,
    /// The row's columns and values.
    pub row: (&'a [u32], &'a [f32]),
}

impl RowAtNode<'_> {
    fn shares_node_with(&self, other: &RowAtNode<'_>) -> bool {
        self.node == other.node && std::ptr::eq(self.nodes, other.nodes)
    }
}

/// Evaluates an expression with the owners and weights of some nodes as typed slices, and with the
/// function that converts a weight to `f32`.
macro_rules! with_weights {
    ($nodes:expr, |$owners:ident, $values:ident, $widen:ident| $work:expr) => {{
        macro_rules! arm {
            ($own:ident, $val:ident, $to:expr) => {{
                let ($owners, $values, $widen) = (&$own[..], &$val[..], $to);
                $work
            }};
        }
        match (&$nodes.owners, &$nodes.values) {
            (Numbers::U8(o), Values::Half(v)) => arm!(o, v, f16_to_f32),
            (Numbers::U16(o), Values::Half(v)) => arm!(o, v, f16_to_f32),
            (Numbers::U32(o), Values::Half(v)) => arm!(o, v, f16_to_f32),
            (Numbers::U8(o), Values::Single(v)) => arm!(o, v, |value: f32| value),
            (Numbers::U16(o), Values::Single(v)) => arm!(o, v, |value: f32| value),
            (Numbers::U32(o), Values::Single(v)) => arm!(o, v, |value: f32| value),
        }
    }};
}
pub(super) use with_weights;

impl Scorer {
    /// For a batch of so many rows whose columns are below `width`.
    pub(crate) fn new(width: usize, rows: usize) -> Self {
        Scorer {
            width,
            builds_indexes: rows <= SMALL_BATCH,
            position_of: Vec::new(),
            hits: Vec::new(),
            scores: Vec::new(),
        }
    }

    /// Calls `each(visit, margins)` for each visit, in no order, with the margins of all children of
    /// its node; `row_at_node` says which node and row a visit is of. Visits to one node should be
    /// neighbours, since they are scored together.
    ///
    /// A row's weights are added in the order of its features, however these are looked up.
    pub(crate) fn score<'a, V>(
        &mut self,
        visits: &[V],
        row_at_node: impl Fn(&V) -> RowAtNode<'a>,
        mut each: impl FnMut(&V, &[f32]),
    ) {
        let mut lookups = Vec::with_capacity(visits.len());
        let mut first = 0;
        for visits in
            visits.chunk_by(|left, right| row_at_node(left).shares_node_with(&row_at_node(right)))
        {
            let RowAtNode { nodes, node, .. } = row_at_node(&visits[0]);
            let entries =
                || visits.iter().map(|visit| row_at_node(visit).row.0.len()).sum::<usize>();
            // Filling `position_of` pays if many entries are looked up in it.
            if visits.len() > 1
                && self.width <= MAX_DENSE_COLUMNS
                && entries() * 8 > nodes.features_of(node).len()
            {
                self.fill_positions(nodes, node);
                let (ends, biases) = (nodes.ends_of(node), &nodes.biases[nodes.children(node)]);
                let weights = nodes.weight_range(node);
                with_weights!(nodes, |owners, values, widen| {
                    let (owners, values) = (&owners[weights.clone()], &values[weights]);
                    for visit in visits {
                        self.scores.clear();
                        self.scores.extend_from_slice(biases);
                        find(&self.position_of, ends, row_at_node(visit).row, &mut self.hits);
                        add_weights(&self.hits, owners, values, widen, &mut self.scores);
                        each(visit, &self.scores);
                    }
                });
                self.clear_positions(nodes, node);
            } else {
                let lookup = |(visit, at)| Lookup::new(row_at_node(visit), at, self.builds_indexes);
                lookups.extend(visits.iter().zip(first..).map(lookup));
            }
            first += visits.len();
        }
        for lookups in lookups.chunks_mut(INTERLEAVED) {
            self.score_interleaved(lookups, |at, margins| each(&visits[at], margins));
        }
    }

    /// Enters the features of a node into `position_of`.
    fn fill_positions(&mut self, nodes: &Nodes, node: usize) {
        self.position_of.resize(self.width, 0);
        for (&feature, at) in nodes.features_of(node).iter().zip(1..) {
            // No row has a feature beyond `width`.
            if let Some(position) = self.position_of.get_mut(feature as usize) {
                *position = at;
            }
        }
    }

    /// Takes the features of a node out of `position_of` again.
    fn clear_positions(&mut self, nodes: &Nodes, node: usize) {
        for &feature in nodes.features_of(node) {
            if let Some(position) = self.position_of.get_mut(feature as usize) {
                *position = 0;
            }
        }
    }
}

/// Finds the entries of a row whose features the node in `position_of` has.
///
/// Never inlined: inlined, it ran out of registers, and batches took a tenth longer.
#[inline(never)]
fn find(
    position_of: &[u32],
    ends: &[u32],
    (columns, factors): (&[u32], &[f32]),
    hits: &mut Vec<Hit>,
) {
    hits.clear();
    for (&column, &factor) in columns.iter().zip(factors) {
        if let Some(at) = (position_of[column as usize] as usize).checked_sub(1) {
            hits.push(Hit::new(ends, at, factor));
        }
    }
}

/// Adds the weights of a row's hits, times the row's values, to the scores of their owners.
#[inline(always)]
pub(super) fn add_weights<O: Copy + Into<u32>, V: Copy>(
    hits: &[Hit],
    owners: &[O],
    values: &[V],
    widen: impl Fn(V) -> f32,
    scores: &mut [f32],
) {
    for &Hit { start, end, factor } in hits {
        let weights = start as usize..end as usize;
        // Only a file that was changed after it was checked names weights that do not exist.
        let (Some(owners), Some(values)) = (owners.get(weights.clone()), values.get(weights))
        else {
            continue;
        };
        for (&owner, &value) in owners.iter().zip(values) {
            // Only a damaged file names an owner that is no child.
            if let Some(score) = scores.get_mut(owner.into() as usize) {
                *score += factor * widen(value);
            }
        }
    }
}
