//! Prediction by beam search: a row follows the most probable nodes of each level.
//!
//! A block of rows goes through a tree together, level by level, so that all rows at a node are
//! scored there together. Probabilities are added up as logarithms on the way down; only a tree's
//! best labels get a score. Scores are summed over trees as whole numbers, so that any order, and
//! any split of the trees, gives the same sums.

use super::{LabelTrees, Tree};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, Entries, LabelSet, Predictions, Query, Votes};
use crate::learn::linear::{Child, Link, Nodes, RowAtNode, Scorer};
use rayon::prelude::*;

/// Rows whose features are weighted together; progress is reported after each block.
const BLOCK: usize = 16_384;
/// The fewest and the most rows that a thread takes through the trees together.
const CHUNK: std::ops::RangeInclusive<usize> = 64..=2048;
/// About how many votes a thread holds in memory at a time.
const HELD_VOTES: usize = 1 << 21;

impl LabelTrees {
    /// The best labels of each row; `voters` is how many trees have a label.
    pub(crate) fn best(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        voters: impl Fn(u32) -> usize + Sync,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        task.predict_blocks(features, BLOCK, |block| {
            let ranked =
                self.count(block.features, query, task, |sums| sums.best_by(query.k, &voters))?;
            let mut predictions = Predictions::default();
            ranked.iter().for_each(|row| predictions.push_row(row));
            Ok(predictions)
        })
    }

    fn beam(&self, query: Query<'_>) -> usize {
        query.beam.unwrap_or(self.params.beam).max(1)
    }

    /// Which nodes of each tree lead to labels that may be named, if not all may.
    fn allowed(&self, query: Query<'_>) -> Option<Vec<AllowedNodes>> {
        let allowed = query.allowed?;
        Some(self.trees.iter().map(|tree| AllowedNodes::new(tree, allowed)).collect())
    }

    /// How many labels a tree votes for at most.
    fn most_votes(&self, query: Query<'_>) -> usize {
        match self.params.leaf_beam {
            true => self.beam(query).saturating_mul(self.beam(query)),
            false => self.votes.max(query.k),
        }
    }

    /// The labels that each tree votes for a row, the only one, with the logarithms of their probabilities.
    pub(super) fn votes_of_trees(
        &self,
        row: Entries<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<(u32, f32)>>, Stopped> {
        let allowed = self.allowed(query);
        let of_tree = |(at, tree): (usize, &Tree)| {
            task.check()?;
            let most = self.most_votes(query);
            let mut search = BeamSearch::new(self, query, most, (row.width(), 1));
            let mut votes = vec![Vec::new()];
            search.run(tree, allowed.as_ref().map(|allowed| &allowed[at]), row, &[0], &mut votes);
            let votes = votes.into_iter().flatten().map(Candidate::unpack);
            Ok(votes.map(|(log, id)| (id, log)).collect())
        };
        task.install(|| self.trees.par_iter().enumerate().map(of_tree).collect())
    }

    /// Sums the trees' votes for the labels of each row; `finish` turns a row's sums into its result.
    pub(crate) fn count<R: Send>(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
        finish: impl Fn(&mut Votes) -> R + Sync,
    ) -> Result<Vec<R>, Stopped> {
        let (allowed, votes) = (self.allowed(query), self.most_votes(query));
        let rows = self.weights.apply(features, self.features);
        let width = rows.view().width();
        let rows_in_memory = HELD_VOTES / votes.saturating_mul(self.trees.len()).max(1);
        let rows_per_thread = features.len().div_ceil(task.threads());
        let row_chunk = rows_in_memory.min(rows_per_thread).clamp(*CHUNK.start(), *CHUNK.end());
        // With fewer chunks of rows than threads, each chunk's trees are split among threads, too.
        let splits = task.threads().div_ceil(features.len().div_ceil(row_chunk).max(1));
        let tree_chunk = self.trees.len().div_ceil(splits).max(1);
        let ids: Vec<u32> = (0..features.len() as u32).collect();
        let count = |sums: &mut Votes, ids: &[u32]| {
            let search = |(chunk, trees): (usize, &[Tree])| {
                let mut search = BeamSearch::new(self, query, votes, (width, features.len()));
                let mut votes = vec![Vec::new(); ids.len()];
                for (at, tree) in (chunk * tree_chunk..).zip(trees) {
                    task.check()?;
                    let allowed = allowed.as_ref().map(|allowed| &allowed[at]);
                    search.run(tree, allowed, rows.view(), ids, &mut votes);
                }
                Ok(votes)
            };
            let chunks = self.trees.par_chunks(tree_chunk).enumerate().map(search);
            let chunks = chunks.collect::<Result<Vec<_>, Stopped>>()?;
            let of_row = |row: usize| chunks.iter().flat_map(move |votes| &votes[row]);
            Ok((0..ids.len()).map(|row| sum_votes(of_row(row), sums, &finish)).collect())
        };
        let finished = task.install(|| {
            let chunks = ids.par_chunks(row_chunk).map_init(|| Votes::new(self.labels), count);
            chunks.collect::<Result<Vec<Vec<R>>, Stopped>>()
        })?;
        Ok(finished.into_iter().flatten().collect())
    }
}

/// Sums a row's votes; `finish` turns the sums into its result.
fn sum_votes<'v, R>(
    votes: impl Iterator<Item = &'v Candidate>,
    sums: &mut Votes,
    finish: impl Fn(&mut Votes) -> R,
) -> R {
    for vote in votes {
        let (log, id) = vote.unpack();
        sums.add(id, Votes::units(f64::from(libm::expf(log))));
    }
    finish(sums)
}

/// Whether each node of a tree leads to an allowed label, by subtree; a tree without subtrees has
/// one list for all its nodes.
struct AllowedNodes(Vec<Vec<bool>>);

impl AllowedNodes {
    fn new(tree: &Tree, allowed: &LabelSet) -> Self {
        let of_subtree = |nodes: &Nodes| {
            let mut is_allowed = vec![false; nodes.len()];
            // From the last node to the first, since children come after their node.
            for node in (0..nodes.len()).rev() {
                is_allowed[node] = nodes.children_of(node).any(|child| match child {
                    Child::Label(label) => allowed.contains(label),
                    Child::Node(child) => is_allowed.get(child as usize) == Some(&true),
                });
            }
            is_allowed
        };
        match tree.subtrees.as_slice() {
            [] => AllowedNodes(vec![of_subtree(&tree.root)]),
            subtrees => AllowedNodes(subtrees.iter().map(of_subtree).collect()),
        }
    }

    fn contains(&self, (subtree, node): NodeRef) -> bool {
        let subtree = if subtree == NO_SUBTREE { 0 } else { subtree as usize };
        self.0[subtree].get(node as usize) == Some(&true)
    }
}

/// The number of a subtree, and of a node in it.
type NodeRef = (u32, u32);
/// Stands for the subtree of the root, and of all nodes of a tree without subtrees.
const NO_SUBTREE: u32 = u32::MAX;
/// Where every search starts.
const ROOT: NodeRef = (NO_SUBTREE, 0);

/// A row at a node, and the logarithm of the probability of getting there.
#[derive(Clone, Copy, Debug)]
struct Visit {
    at: NodeRef,
    row: u32,
    log: f32,
}

/// A child or label with the logarithm of its probability, packed so that integer order ranks
/// them: the most probable is the lowest, and of equally probable ones the lowest id. This works
/// because the logarithms are not positive, and the bits of such floats rise as the floats fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate(u64);

impl Candidate {
    #[inline(always)]
    fn new(log: f32, id: u32) -> Self {
        Candidate(u64::from(log.to_bits()) << 32 | u64::from(id))
    }

    fn unpack(self) -> (f32, u32) {
        (f32::from_bits((self.0 >> 32) as u32), self.0 as u32)
    }
}

/// Takes rows through trees, and holds the scratch memory for it.
struct BeamSearch<'a> {
    votes: usize,
    scorer: Scorer,
    level: Vec<Visit>,
    frontier: Frontier<'a>,
}

impl<'a> BeamSearch<'a> {
    /// A search for a call of `rows` rows whose columns are below `width`.
    fn new(
        trees: &LabelTrees,
        query: Query<'a>,
        votes: usize,
        (width, rows): (usize, usize),
    ) -> Self {
        BeamSearch {
            votes,
            scorer: Scorer::new(width, rows),
            level: Vec::new(),
            frontier: Frontier {
                query,
                link: trees.params.link,
                beam: trees.beam(query),
                leaf_beam: trees.params.leaf_beam,
                children: Vec::new(),
                next: Vec::new(),
                found: Vec::new(),
            },
        }
    }

    /// Adds the labels that a tree votes for to each row's votes.
    fn run(
        &mut self,
        tree: &Tree,
        allowed: Option<&AllowedNodes>,
        entries: Entries<'_>,
        rows: &[u32],
        votes: &mut [Vec<Candidate>],
    ) {
        let first = rows.first().copied().unwrap_or(0);
        self.frontier.found.resize(rows.len().max(self.frontier.found.len()), Vec::new());
        self.frontier.next.resize(rows.len().max(self.frontier.next.len()), Vec::new());
        self.level.clear();
        self.level.extend(rows.iter().map(|&row| Visit { at: ROOT, row, log: 0.0 }));
        while !self.level.is_empty() {
            self.frontier.postpone_leaves(tree, first, &mut self.level);
            self.score_level(tree, allowed, entries, first);
            self.frontier.start_next_level(first, &mut self.level);
        }
        for (votes, found) in votes.iter_mut().zip(&mut self.frontier.found) {
            keep_best(found, self.votes);
            votes.append(found);
        }
    }

    /// Scores all visits of a level; `first` is the first row of the chunk.
    fn score_level(
        &mut self,
        tree: &Tree,
        allowed: Option<&AllowedNodes>,
        entries: Entries<'_>,
        first: u32,
    ) {
        let BeamSearch { scorer, level, frontier, .. } = self;
        let row_at_node = |&Visit { at, row, .. }: &Visit| RowAtNode {
            nodes: nodes_of(tree, at),
            node: at.1 as usize,
            row: entries.row(row),
        };
        scorer.score(level, row_at_node, |visit, margins| {
            frontier.add(tree, allowed, *visit, (visit.row - first) as usize, margins);
        });
    }
}

/// Whether a node leads to labels rather than to other nodes.
fn is_leaf(tree: &Tree, at: NodeRef) -> bool {
    let first = nodes_of(tree, at).children_of(at.1 as usize).next();
    !matches!(first, Some(Child::Node(_)))
}

/// The array that holds a node.
fn nodes_of(tree: &Tree, (subtree, _): NodeRef) -> &Nodes {
    if subtree == NO_SUBTREE { &tree.root } else { &tree.subtrees[subtree as usize] }
}

/// What the rows of a chunk have reached in a tree: labels, and the nodes of the next level.
struct Frontier<'a> {
    query: Query<'a>,
    link: Link,
    beam: usize,
    leaf_beam: bool,
    /// Scratch memory for the child nodes that one visit reaches; empty between visits.
    children: Vec<Candidate>,
    /// The nodes of the next level that each row may visit, ordered by the bits of their logarithms
    /// as a [`Candidate`] is.
    next: Vec<Vec<(u32, NodeRef)>>,
    /// The labels that each row has reached.
    found: Vec<Vec<Candidate>>,
}

impl Frontier<'_> {
    /// Adds the children that a visit reaches, given their margins; `row` counts from the chunk's
    /// first.
    #[inline]
    fn add(
        &mut self,
        tree: &Tree,
        allowed: Option<&AllowedNodes>,
        visit: Visit,
        row: usize,
        margins: &[f32],
    ) {
        let Visit { at: (subtree, node), log, .. } = visit;
        let nodes = nodes_of(tree, visit.at);
        let leaves_root = subtree == NO_SUBTREE && !tree.subtrees.is_empty();
        let child_ref = |child| if leaves_root { (child, 0) } else { (subtree, child) };
        // Models are checked when they are opened, but a mapped file may change afterwards. A child
        // before its node would make the search endless, and one that does not exist would panic.
        let exists = |child: u32| match leaves_root {
            true => (child as usize) < tree.subtrees.len(),
            false => child > node && (child as usize) < nodes.len(),
        };
        let found = &mut self.found[row];
        let before = found.len();
        for (child, &margin) in nodes.children_of(node as usize).zip(margins) {
            let log = log + self.link.log_probability(margin);
            match child {
                Child::Label(id) => {
                    if self.query.allows(id) {
                        found.push(Candidate::new(log, id));
                    }
                }
                Child::Node(child) => {
                    let is_allowed =
                        || allowed.is_none_or(|nodes| nodes.contains(child_ref(child)));
                    if exists(child) && is_allowed() {
                        self.children.push(Candidate::new(log, child));
                    }
                }
            }
        }
        if self.leaf_beam && found.len() - before > self.beam {
            found[before..].select_nth_unstable(self.beam - 1);
            found.truncate(before + self.beam);
        }
        // A child that is not among the best of its node cannot be among the best of the level.
        keep_best(&mut self.children, self.beam);
        self.next[row].extend(self.children.drain(..).map(|candidate| {
            let (log, child) = candidate.unpack();
            (log.to_bits(), child_ref(child))
        }));
    }

    /// With `leaf_beam`, moves leaves from this level to the next as long as it has other nodes, too:
    /// more probable nodes may then push them out of the beam.
    fn postpone_leaves(&mut self, tree: &Tree, first: u32, level: &mut Vec<Visit>) {
        let is_leaf = |visit: &Visit| is_leaf(tree, visit.at);
        if !self.leaf_beam || level.iter().all(is_leaf) {
            return;
        }
        level.retain(|visit| {
            let is_leaf = is_leaf(visit);
            if is_leaf {
                let postponed = (visit.log.to_bits(), visit.at);
                self.next[(visit.row - first) as usize].push(postponed);
            }
            !is_leaf
        });
    }

    /// Fills `level` with each row's most probable visits to the next level.
    fn start_next_level(&mut self, first: u32, level: &mut Vec<Visit>) {
        level.clear();
        for (row, next) in (first..).zip(&mut self.next) {
            keep_best(next, self.beam);
            let visits = next.drain(..);
            level.extend(visits.map(|(bits, at)| Visit { at, row, log: f32::from_bits(bits) }));
        }
        // A stable sort: the rows of a node stay in order.
        level.sort_by_key(|visit| visit.at);
    }
}

/// Cuts `items` down to the `count` lowest, in no order.
fn keep_best<T: Ord>(items: &mut Vec<T>, count: usize) {
    if items.len() > count && count > 0 {
        items.select_nth_unstable(count - 1);
    }
    items.truncate(count);
}
