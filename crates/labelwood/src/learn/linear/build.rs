//! Learns nodes and collects them, one after the other.

use super::nodes::{Child, Nodes, Precision, Values};
use crate::base::array::{LazyPerNode, Numbers};
use crate::base::random::{Stream, derive};
use crate::base::run::{Stopped, Task};
use crate::learn::solver::{LANES, Params, Rows, Workspace};
use rayon::prelude::*;
use std::sync::{Mutex, MutexGuard};

/// Collects learned nodes into [`Nodes`].
#[derive(Default)]
pub(crate) struct Builder {
    children_start: Vec<u32>,
    children: Vec<u32>,
    biases: Vec<f32>,
    features_start: Vec<u64>,
    features: Vec<u32>,
    weights_start: Vec<u64>,
    ends: Vec<u32>,
    owners: Vec<u32>,
    values: Vec<f32>,
    precision: Precision,
}

/// The kept weights of at most [`LANES`] children, feature by feature.
#[derive(Default)]
struct BlockWeights {
    biases: Vec<f32>,
    /// Each feature's position among those of the node, and a bit for each child with a weight.
    features: Vec<(u32, u16)>,
    /// The weights of each feature, child by child.
    weights: Vec<f32>,
}

/// How a node's classifiers are learned, and which weights are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassifierParams {
    pub solver: Params,
    /// Weights of at most this magnitude are dropped.
    pub threshold: f32,
}

impl Builder {
    /// No nodes yet.
    pub(crate) fn new(precision: Precision) -> Self {
        Builder {
            children_start: vec![0],
            features_start: vec![0],
            weights_start: vec![0],
            precision,
            ..Builder::default()
        }
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.children_start.len() - 1
    }

    /// Learns a node: `positives[child]` are the positions in `rows` of the child's positive rows,
    /// and `emphasis[child]` is their weight.
    ///
    /// Returns the node's number; [`Builder::set_child`] says what its children are.
    pub(crate) fn learn(
        &mut self,
        rows: &Rows,
        positives: &[impl AsRef<[u32]> + Sync],
        emphasis: &[f32],
        params: ClassifierParams,
        seed: u64,
        task: &Task,
    ) -> Result<usize, Stopped> {
        let mut order: Vec<u32> = (0..rows.features().len() as u32).collect();
        order.sort_unstable_by_key(|&column| rows.features()[column as usize]);
        // One for each thread that solves; reused, since they are large.
        let workspaces = Mutex::new(Vec::new());
        let blocks = positives
            .par_chunks(LANES)
            .enumerate()
            .with_max_len(1)
            .map(|(at, positives)| {
                task.check()?;
                let workspace = lock(&workspaces).pop();
                let mut workspace = workspace.unwrap_or_else(|| Workspace::new(task.canceller()));
                let lists: Vec<&[u32]> = positives.iter().map(AsRef::as_ref).collect();
                let mut random = Stream::new(derive(seed, at as u64));
                let weights = workspace.solve(
                    rows,
                    &lists,
                    &emphasis[at * LANES..],
                    &params.solver,
                    &mut random,
                );
                task.check()?;
                let mut block = BlockWeights::default();
                block.biases.extend(&weights.bias.0[..lists.len()]);
                for (at, &column) in order.iter().enumerate() {
                    let lanes = &weights.columns[column as usize];
                    let mut kept = 0;
                    for (lane, &weight) in lanes.0[..lists.len()].iter().enumerate() {
                        if weight.abs() > params.threshold {
                            kept |= 1 << lane;
                            block.weights.push(weight);
                        }
                    }
                    if kept != 0 {
                        block.features.push((at as u32, kept));
                    }
                }
                lock(&workspaces).push(workspace);
                Ok(block)
            })
            .collect::<Result<Vec<_>, Stopped>>()?;
        drop(workspaces);
        let bias = params.solver.bias;
        self.biases
            .extend(blocks.iter().flat_map(|block| &block.biases).map(|weight| weight * bias));
        self.children.resize(self.biases.len(), Child::Label(0).pack());
        self.children_start.push(self.children.len() as u32);
        self.push_weights(&blocks, |at| rows.features()[order[at as usize] as usize]);
        Ok(self.len() - 1)
    }

    /// Appends a copy of a node, its children included, with those of its weights that are kept.
    /// Features without weights are dropped.
    pub(crate) fn push_copy(&mut self, nodes: &Nodes, node: usize, is_kept: impl Fn(f32) -> bool) {
        let children = nodes.children(node);
        self.children.extend_from_slice(&nodes.children[children.clone()]);
        self.biases.extend_from_slice(&nodes.biases[children]);
        self.children_start.push(self.children.len() as u32);
        let base = self.owners.len();
        for (feature, weights) in nodes.weights_by_feature(node) {
            let before = self.owners.len();
            for at in weights {
                let value = nodes.values.get(at);
                if is_kept(value) {
                    self.owners.push(nodes.owners.get(at));
                    self.values.push(value);
                }
            }
            if self.owners.len() > before {
                self.end_feature(feature, base);
            }
        }
        self.end_node();
    }

    /// Ends the weights of a feature; `base` is where the weights of its node start.
    fn end_feature(&mut self, feature: u32, base: usize) {
        self.features.push(feature);
        self.ends.push((self.owners.len() - base) as u32);
    }

    /// Ends the features of a node.
    fn end_node(&mut self) {
        self.features_start.push(self.features.len() as u64);
        self.weights_start.push(self.owners.len() as u64);
    }

    /// Appends the weights of all blocks of a node, merged into the order of features.
    fn push_weights(&mut self, blocks: &[BlockWeights], feature_at: impl Fn(u32) -> u32) {
        let base = self.owners.len();
        let weights = blocks.iter().map(|block| block.weights.len()).sum();
        self.owners.reserve(weights);
        self.values.reserve(weights);
        let mut rest: Vec<_> = blocks
            .iter()
            .map(|block| (block.features.iter().peekable(), &block.weights[..]))
            .collect();
        while let Some(next) = rest.iter_mut().filter_map(|rest| Some(rest.0.peek()?.0)).min() {
            for (block, (features, weights)) in rest.iter_mut().enumerate() {
                let Some(&(_, kept)) = features.next_if(|feature| feature.0 == next) else {
                    continue;
                };
                let lanes = (0..LANES).filter(|lane| kept >> lane & 1 == 1);
                self.owners.extend(lanes.map(|lane| (block * LANES + lane) as u32));
                let these = weights.split_off(..kept.count_ones() as usize).unwrap_or_default();
                self.values.extend_from_slice(these);
            }
            self.end_feature(feature_at(next), base);
        }
        self.end_node();
    }

    /// Sets a node's child; `at` counts from the node's first.
    pub(crate) fn set_child(&mut self, node: usize, at: usize, child: Child) {
        self.children[self.children_start[node] as usize + at] = child.pack();
    }

    /// Sets a node's children, the first ones first.
    pub(crate) fn set_children(&mut self, node: usize, children: impl IntoIterator<Item = Child>) {
        children.into_iter().enumerate().for_each(|(at, child)| self.set_child(node, at, child));
    }

    /// The nodes.
    pub(crate) fn finish(self) -> Nodes {
        Nodes {
            children_start: self.children_start.into(),
            children: self.children.into(),
            biases: self.biases.into(),
            features_start: self.features_start.into(),
            features: self.features.into(),
            weights_start: self.weights_start.into(),
            ends: self.ends.into(),
            owners: Numbers::from(self.owners),
            values: Values::new(self.values, self.precision),
            feature_indexes: LazyPerNode::default(),
        }
    }
}

impl Nodes {
    /// The nodes of `root`, whose [`Child::Node`] are numbers of subtrees, followed by those of each
    /// subtree. Children are renumbered; that of a subtree's number becomes the subtree's first node.
    pub(crate) fn flattened(root: &Nodes, subtrees: &[Nodes]) -> Nodes {
        let starts: Vec<usize> = subtrees
            .iter()
            .scan(root.len(), |next, nodes| Some(std::mem::replace(next, *next + nodes.len())))
            .collect();
        let mut builder = Builder::new(root.precision());
        for (number, nodes) in [root].into_iter().chain(subtrees).enumerate() {
            for node in 0..nodes.len() {
                builder.push_copy(nodes, node, |_| true);
                let renumbered = |child| match child {
                    Child::Node(child) if number == 0 => Child::Node(starts[child as usize] as u32),
                    Child::Node(child) => Child::Node(starts[number - 1] as u32 + child),
                    label => label,
                };
                builder.set_children(builder.len() - 1, nodes.children_of(node).map(renumbered));
            }
        }
        builder.finish()
    }

    /// A copy without the weights of magnitude at most `prune`, as training drops them, and with the
    /// others stored in `precision`. Features without weights are dropped, too; children and their
    /// biases stay.
    pub(crate) fn shrunk(&self, prune: f32, precision: Precision) -> Nodes {
        let mut builder = Builder::new(precision);
        (0..self.len()).for_each(|node| builder.push_copy(self, node, |value| value.abs() > prune));
        builder.finish()
    }
}

fn lock(workspaces: &Mutex<Vec<Workspace>>) -> MutexGuard<'_, Vec<Workspace>> {
    workspaces.lock().expect("no thread panics between taking and giving back")
}
