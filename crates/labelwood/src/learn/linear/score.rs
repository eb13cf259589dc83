//! Scores: rows at a node meet the weights of its children.

use super::few::Spot;
use super::nodes::{Nodes, Values, widened};
use crate::base::array::Numbers;
use crate::base::settings::choices;
use crate::base::sparse::MOST_PLACES;

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

/// A call of so many rows, at most, has nodes remember where their features are.
const FEW: usize = 256;
/// Rows with a node nearly for themselves that are scored at once: what is asked for must stay in the
/// cache until it is read.
const TOGETHER: usize = 64;

/// Scores rows at nodes; holds the scratch memory for it.
pub struct Scorer {
    width: usize,
    /// Whether further calls will bring few rows again, for which ranks are there then.
    makes_ranks: bool,
    /// One more than the position of each of the node's features; all 0 between nodes. Empty until
    /// a node's features are mapped.
    position_of: Vec<u32>,
    /// Where the searches for features are.
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
        let end = |at: usize| ends.get(at).copied().unwrap_or(0);
        Hit { start: if at == 0 { 0 } else { end(at - 1) }, end: end(at), factor }
    }
}

/// A row at a node.
#[derive(Clone, Copy)]
pub struct Meeting<'a> {
    /// The nodes that the node is among.
    pub nodes: &'a Nodes,
    /// Which of them it is.
    pub node: usize,
    /// The row's columns and values.
    pub row: (&'a [u32], &'a [f32]),
}

impl Meeting<'_> {
    fn shares_node_with(&self, other: &Meeting<'_>) -> bool {
        self.node == other.node && std::ptr::eq(self.nodes, other.nodes)
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
    /// For calls of so many rows whose columns are below `width`.
    pub fn new(width: usize, rows: usize) -> Self {
        Scorer {
            width,
            makes_ranks: rows <= FEW,
            position_of: Vec::new(),
            places: Vec::new(),
            hits: Vec::new(),
            scores: Vec::new(),
        }
    }

    /// Calls `each(visit, margins)` with the margins of all children of the node that each of some
    /// visits is to, in no order. Those to one node are best next to one another.
    ///
    /// A row's features are added up in their order, however they are found.
    pub fn score<'a, V>(
        &mut self,
        visits: &[V],
        meeting: impl Fn(&V) -> Meeting<'a>,
        mut each: impl FnMut(&V, &[f32]),
    ) {
        let mut few = Vec::with_capacity(visits.len());
        let mut first = 0;
        for visits in visits.chunk_by(|left, right| meeting(left).shares_node_with(&meeting(right)))
        {
            let Meeting { nodes, node, .. } = meeting(&visits[0]);
            let wanted = || visits.iter().map(|visit| meeting(visit).row.0.len()).sum::<usize>();
            // A map of the node's features pays when many entries are looked up in it.
            if visits.len() > 1
                && self.width <= MOST_PLACES
                && wanted() * 8 > nodes.features_of(node).len()
            {
                self.map(nodes, node);
                let (ends, biases) = (nodes.ends_of(node), &nodes.biases[nodes.children(node)]);
                let weights = nodes.weight_range(node);
                with_weights!(nodes, |owners, values, widen| {
                    let (owners, values) = (&owners[weights.clone()], &values[weights]);
                    for visit in visits {
                        self.scores.clear();
                        self.scores.extend_from_slice(biases);
                        find(&self.position_of, ends, meeting(visit).row, &mut self.hits);
                        add_up(&self.hits, owners, values, widen, &mut self.scores);
                        each(visit, &self.scores);
                    }
                });
                self.forget(nodes, node);
            } else {
                let spots = visits.iter().zip(first..);
                few.extend(
                    spots.map(|(visit, at)| Spot::new(meeting(visit), at, self.makes_ranks)),
                );
            }
            first += visits.len();
        }
        for spots in few.chunks_mut(TOGETHER) {
            self.score_few(spots, |at, margins| each(&visits[at], margins));
        }
    }

    /// Notes where the features of a node are.
    fn map(&mut self, nodes: &Nodes, node: usize) {
        self.position_of.resize(self.width, 0);
        for (&feature, at) in nodes.features_of(node).iter().zip(1..) {
            // No row has a feature beyond the map's.
            if let Some(position) = self.position_of.get_mut(feature as usize) {
                *position = at;
            }
        }
    }

    /// Makes the map empty again.
    fn forget(&mut self, nodes: &Nodes, node: usize) {
        for &feature in nodes.features_of(node) {
            if let Some(position) = self.position_of.get_mut(feature as usize) {
                *position = 0;
            }
        }
    }
}

/// Finds the entries of a row that the node has whose features are mapped.
///
/// Never inlined: in the middle of other work it ran out of registers, and batches took a tenth longer.
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
        // Weights that do not exist are those of a file that was changed after it was checked.
        let (Some(owners), Some(values)) = (owners.get(weights.clone()), values.get(weights))
        else {
            continue;
        };
        for (&owner, &value) in owners.iter().zip(values) {
            // An owner that is no child is a damaged file that was not verified.
            if let Some(score) = scores.get_mut(owner.into() as usize) {
                *score += factor * widen(value);
            }
        }
    }
}
