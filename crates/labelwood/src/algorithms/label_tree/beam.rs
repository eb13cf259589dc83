//! Prediction: rows walk down the most probable nodes of each level.
//!
//! A block of rows goes through a tree together, level by level, and the rows that have come to a
//! node are scored there together. Probabilities are added up as logarithms on the way and become
//! scores for a tree's best labels only; scores are summed over trees as whole numbers, so that any
//! order, and any split of the trees, gives the same sums.

use super::Tree;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, Entries, LabelSet, Predictions, Query, Votes};
use crate::learn::linear::{Child, Link, Meeting, Nodes, Scorer};
use crate::learn::weighting::FeatureWeights;
use rayon::prelude::*;

/// Rows that are weighted together, between two looks at the canceller.
const BLOCK: usize = 16_384;
/// Rows that a thread takes through the trees together, at most and at least.
const CHUNK: std::ops::RangeInclusive<usize> = 64..=2048;
/// Votes that a thread holds for the rows that it takes through the trees, about.
const HELD_VOTES: usize = 1 << 21;

/// Trees that answer together: a label's score is its mean over the trees that know it.
pub(crate) struct Ensemble<'a> {
    pub trees: &'a [Tree],
    pub weights: &'a FeatureWeights,
    pub features: usize,
    pub labels: usize,
    pub link: Link,
    /// How many nodes of a level are followed, unless the query says.
    pub beam: usize,
    /// Whether leaves share the beam with the nodes of later levels, and each names as many labels
    /// as it is wide, at most.
    pub leaf_beam: bool,
    /// How many labels a tree votes for at least, if it comes to as many.
    pub votes: usize,
}

impl Ensemble<'_> {
    /// The best labels of each row; `voters` is how many trees know a label.
    pub fn predict(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        voters: impl Fn(u32) -> usize + Sync,
        run: &Task,
    ) -> Result<Predictions, Stopped> {
        run.predict_blocks(features, BLOCK, |block| self.predict_block(block, query, &voters, run))
    }

    /// The same for so few rows that they are weighted together, without a word of progress.
    pub fn predict_block(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        voters: impl Fn(u32) -> usize + Sync,
        run: &Task,
    ) -> Result<Predictions, Stopped> {
        let ranked = self.count(features, query, run, |sums| sums.best_by(query.k, &voters))?;
        let mut predictions = Predictions::default();
        ranked.iter().for_each(|row| predictions.push_row(row));
        Ok(predictions)
    }

    fn beam(&self, query: Query<'_>) -> usize {
        query.beam.unwrap_or(self.beam).max(1)
    }

    /// Lets the trees vote for the labels of each row; `finish` makes something of the votes.
    pub fn count<R: Send>(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        run: &Task,
        finish: impl Fn(&mut Votes) -> R + Sync,
    ) -> Result<Vec<R>, Stopped> {
        let open: Option<Vec<Open>> = query
            .allowed
            .map(|allowed| self.trees.iter().map(|tree| Open::new(tree, allowed)).collect());
        let votes = match self.leaf_beam {
            true => self.beam(query).saturating_mul(self.beam(query)),
            false => self.votes.max(query.k),
        };
        let rows = self.weights.apply(features, self.features);
        let width = rows.view().width();
        let held = HELD_VOTES / votes.saturating_mul(self.trees.len()).max(1);
        let share = features.len().div_ceil(run.threads());
        let chunk = held.min(share).clamp(*CHUNK.start(), *CHUNK.end());
        // Threads that have no rows of their own take a part of the trees.
        let parts = run.threads().div_ceil(features.len().div_ceil(chunk).max(1));
        let some = self.trees.len().div_ceil(parts).max(1);
        let ids: Vec<u32> = (0..features.len() as u32).collect();
        let count = |sums: &mut Votes, ids: &[u32]| {
            let part = |(part, trees): (usize, &[Tree])| {
                let mut walk = Walk::new(self, query, votes, (width, features.len()));
                let mut ballots = vec![Vec::new(); ids.len()];
                for (at, tree) in (part * some..).zip(trees) {
                    run.check()?;
                    let open = open.as_ref().map(|open| &open[at]);
                    walk.tree(tree, open, rows.view(), ids, &mut ballots);
                }
                Ok(ballots)
            };
            let parts = self.trees.par_chunks(some).enumerate().map(part);
            let parts = parts.collect::<Result<Vec<_>, Stopped>>()?;
            let of_row = |row: usize| parts.iter().flat_map(move |ballots| &ballots[row]);
            Ok((0..ids.len()).map(|row| tally(of_row(row), sums, &finish)).collect())
        };
        let finished = run.install(|| {
            let chunks = ids.par_chunks(chunk).map_init(|| Votes::new(self.labels), count);
            chunks.collect::<Result<Vec<Vec<R>>, Stopped>>()
        })?;
        Ok(finished.into_iter().flatten().collect())
    }
}

/// Adds up the votes for a row; `finish` makes something of the sums.
fn tally<'v, R>(
    votes: impl Iterator<Item = &'v Likely>,
    sums: &mut Votes,
    finish: impl Fn(&mut Votes) -> R,
) -> R {
    for vote in votes {
        let (log, id) = vote.parts();
        sums.add(id, Votes::units(f64::from(libm::expf(log))));
    }
    finish(sums)
}

/// The nodes of a tree that lead to an allowed label, subtree by subtree, or all together.
struct Open(Vec<Vec<bool>>);

impl Open {
    fn new(tree: &Tree, allowed: &LabelSet) -> Self {
        let part = |nodes: &Nodes| {
            let mut open = vec![false; nodes.len()];
            // Children come after their nodes.
            for node in (0..nodes.len()).rev() {
                open[node] = nodes.children(node).any(|at| match nodes.child(at) {
                    Child::Label(label) => allowed.contains(label),
                    Child::Node(child) => open.get(child as usize).is_some_and(|&open| open),
                });
            }
            open
        };
        match tree.subtrees.as_slice() {
            [] => Open(vec![part(&tree.root)]),
            subtrees => Open(subtrees.iter().map(part).collect()),
        }
    }

    fn leads_on(&self, (part, node): Place) -> bool {
        let part = if part == WHOLE { 0 } else { part as usize };
        self.0[part].get(node as usize).is_some_and(|&open| open)
    }
}

/// A subtree and the node in it.
type Place = (u32, u32);
/// The part that the root is in, with all other nodes if there are no subtrees.
const WHOLE: u32 = u32::MAX;
/// Where every walk starts.
const ROOT: Place = (WHOLE, 0);

/// A row at a node.
#[derive(Clone, Copy, Debug)]
struct Visit {
    place: Place,
    row: u32,
    log: f32,
}

/// A child or label with the logarithm of its probability, in one number: the likeliest is the
/// lowest, of equally likely ones the first. Logarithms of probabilities are not positive, and the
/// bits of such numbers rise as they fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Likely(u64);

impl Likely {
    #[inline(always)]
    fn new(log: f32, id: u32) -> Self {
        Likely(u64::from(log.to_bits()) << 32 | u64::from(id))
    }

    fn parts(self) -> (f32, u32) {
        (f32::from_bits((self.0 >> 32) as u32), self.0 as u32)
    }
}

/// Takes rows through trees; holds the scratch memory for it.
struct Walk<'a> {
    votes: usize,
    scorer: Scorer,
    level: Vec<Visit>,
    sieve: Sieve<'a>,
}

impl<'a> Walk<'a> {
    /// For calls of so many rows whose columns are below a width.
    fn new(
        trees: &Ensemble<'_>,
        query: Query<'a>,
        votes: usize,
        (width, rows): (usize, usize),
    ) -> Self {
        Walk {
            votes,
            scorer: Scorer::new(width, rows),
            level: Vec::new(),
            sieve: Sieve {
                query,
                link: trees.link,
                beam: trees.beam(query),
                leaf_beam: trees.leaf_beam,
                onward: Vec::new(),
                next: Vec::new(),
                found: Vec::new(),
            },
        }
    }

    /// Adds the labels that a tree votes for to each row's ballot.
    fn tree(
        &mut self,
        tree: &Tree,
        open: Option<&Open>,
        entries: Entries<'_>,
        rows: &[u32],
        ballots: &mut [Vec<Likely>],
    ) {
        let first = rows.first().copied().unwrap_or(0);
        self.sieve.found.resize(rows.len().max(self.sieve.found.len()), Vec::new());
        self.sieve.next.resize(rows.len().max(self.sieve.next.len()), Vec::new());
        self.level.clear();
        self.level.extend(rows.iter().map(|&row| Visit { place: ROOT, row, log: 0.0 }));
        while !self.level.is_empty() {
            self.sieve.hold_leaves(tree, first, &mut self.level);
            self.step(tree, open, entries, first);
            self.sieve.narrow(first, &mut self.level);
        }
        for (ballot, found) in ballots.iter_mut().zip(&mut self.sieve.found) {
            keep_best(found, self.votes);
            ballot.append(found);
        }
    }

    /// Scores rows at all nodes of a level.
    fn step(&mut self, tree: &Tree, open: Option<&Open>, entries: Entries<'_>, first: u32) {
        let Walk { scorer, level, sieve, .. } = self;
        let meeting = |&Visit { place, row, .. }: &Visit| Meeting {
            nodes: part_of(tree, place),
            node: place.1 as usize,
            row: entries.row(row),
        };
        scorer.score(level, meeting, |visit, margins| {
            sieve.take(tree, open, *visit, (visit.row - first) as usize, margins);
        });
    }
}

/// Whether a place leads to labels rather than to other nodes.
fn is_leaf(tree: &Tree, place: Place) -> bool {
    let first = part_of(tree, place).children_of(place.1 as usize).next();
    !matches!(first, Some(Child::Node(_)))
}

/// The nodes that a place is among.
fn part_of(tree: &Tree, (part, _): Place) -> &Nodes {
    if part == WHOLE { &tree.root } else { &tree.subtrees[part as usize] }
}

/// Keeps the most probable of what rows come to.
struct Sieve<'a> {
    query: Query<'a>,
    link: Link,
    beam: usize,
    leaf_beam: bool,
    /// The children that a row may go on to from a node; empty between nodes.
    onward: Vec<Likely>,
    /// The nodes of the next level that each row may go to, with the bits of their logarithms, which
    /// put them in order.
    next: Vec<Vec<(u32, Place)>>,
    /// The labels that each row has come to.
    found: Vec<Vec<Likely>>,
}

impl Sieve<'_> {
    /// Takes the margins of all children of a node for a row, the one at a place of this block.
    #[inline]
    fn take(&mut self, tree: &Tree, open: Option<&Open>, visit: Visit, at: usize, margins: &[f32]) {
        let Visit { place: (part, node), log, .. } = visit;
        let nodes = part_of(tree, visit.place);
        let leaves_root = part == WHOLE && !tree.subtrees.is_empty();
        let place = |child| if leaves_root { (child, 0) } else { (part, child) };
        // Models are checked when they are opened. A mapped file that was changed since must lead
        // neither back nor beyond the nodes there are, or a walk would not end.
        let exists = |child: u32| match leaves_root {
            true => (child as usize) < tree.subtrees.len(),
            false => child > node && (child as usize) < nodes.len(),
        };
        let found = &mut self.found[at];
        let before = found.len();
        for (child, &margin) in nodes.children_of(node as usize).zip(margins) {
            let log = log + self.link.log_probability(margin);
            match child {
                Child::Label(id) => {
                    if self.query.allows(id) {
                        found.push(Likely::new(log, id));
                    }
                }
                Child::Node(child) => {
                    if exists(child) && open.is_none_or(|open| open.leads_on(place(child))) {
                        self.onward.push(Likely::new(log, child));
                    }
                }
            }
        }
        if self.leaf_beam && found.len() - before > self.beam {
            found[before..].select_nth_unstable(self.beam - 1);
            found.truncate(before + self.beam);
        }
        // What is not among the best here is not among the best of the level.
        keep_best(&mut self.onward, self.beam);
        self.next[at].extend(self.onward.drain(..).map(|likely| {
            let (log, child) = likely.parts();
            (log.to_bits(), place(child))
        }));
    }

    /// Takes the leaves off a level that has other nodes, too: they go on to the next, whose nodes
    /// may push them out of the beam.
    fn hold_leaves(&mut self, tree: &Tree, first: u32, level: &mut Vec<Visit>) {
        let is_leaf = |visit: &Visit| is_leaf(tree, visit.place);
        if !self.leaf_beam || level.iter().all(is_leaf) {
            return;
        }
        level.retain(|visit| {
            let is_held = is_leaf(visit);
            if is_held {
                let held = (visit.log.to_bits(), visit.place);
                self.next[(visit.row - first) as usize].push(held);
            }
            !is_held
        });
    }

    /// Makes the visits to the next level this one's: of each row the most probable few.
    fn narrow(&mut self, first: u32, level: &mut Vec<Visit>) {
        level.clear();
        for (row, next) in (first..).zip(&mut self.next) {
            keep_best(next, self.beam);
            let visits = next.drain(..);
            level.extend(visits.map(|(bits, place)| Visit {
                place,
                row,
                log: f32::from_bits(bits),
            }));
        }
        // Rows stay in order.
        level.sort_by_key(|visit| visit.place);
    }
}

/// Cuts `items` down to the `most` lowest; they stay in no order.
fn keep_best<T: Ord>(items: &mut Vec<T>, most: usize) {
    if items.len() > most && most > 0 {
        items.select_nth_unstable(most - 1);
    }
    items.truncate(most);
}
