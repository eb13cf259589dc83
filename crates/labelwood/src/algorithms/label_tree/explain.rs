//! What speaks for a label along its path in each tree.

use super::{LabelTrees, Tree};
use crate::algorithms::explain::{Contribution, Evidence, Fact, Reasons, Step, Sums};
use crate::algorithms::linear;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, Query, Votes};
use crate::learn::linear::{Child, Nodes, Scorer};

/// A node on the way to a label: the array that holds it, its number, the position of the child that leads
/// on, and how many labels that leads to.
type Passed<'t> = (&'t Nodes, usize, usize, usize);

impl LabelTrees {
    /// The reasons of each label for a row, the only one of `features`; `voters` is how many trees have a label.
    pub(crate) fn reasons(
        &self,
        part: &'static str,
        features: CsrView<'_>,
        (labels, query): (&[u32], Query<'_>),
        voters: impl Fn(u32) -> usize,
        task: &Task,
    ) -> Result<Vec<Reasons>, Stopped> {
        let rows = self.weights.apply(features, self.features);
        let voted = self.votes_of_trees(rows.view(), query, task)?;
        let row = rows.view().row(0);
        let mut scorer = Scorer::new(rows.view().width(), 1);
        let mut reasons = Vec::with_capacity(labels.len());
        for &label in labels {
            task.check()?;
            // The logarithm of the label's probability in each tree that votes for it.
            let logs: Vec<Option<f32>> = voted
                .iter()
                .map(|tree| tree.iter().find(|vote| vote.0 == label).map(|vote| vote.1))
                .collect();
            let units =
                |log: &Option<f32>| log.map_or(0, |log| Votes::units(libm::expf(log).into()));
            let votes: Vec<(u32, u64)> = logs.iter().map(|log| (label, units(log))).collect();
            let best = Votes::best_of(self.labels, &votes, 1, &voters);
            let score = best.first().map_or(0.0, |best| best.score);
            let mut steps = Vec::new();
            for (number, tree) in self.trees.iter().enumerate() {
                let path = tree.path_to(label).unwrap_or_default();
                let step = |(level, passed)| self.step(number, level, passed, row, &mut scorer);
                steps.extend(path.into_iter().enumerate().map(step));
            }
            let knowing = voters(label);
            let voting: Vec<usize> = (0..logs.len()).filter(|&tree| logs[tree].is_some()).collect();
            let votes_for = voting.len() as f64;
            let shares = shares_of(&votes, &steps);
            let (bias, terms) = total(&steps, &shares);
            let mut own = match steps.is_empty() {
                true => Reasons::none(part),
                false => {
                    Reasons::new(part, score, Evidence::Linear { trees: knowing, voting, steps })
                }
            };
            own.bias = (!terms.is_empty()).then_some(bias);
            own.terms = terms;
            let what = format!("{part}: trees that vote for the label, of {knowing}");
            own.how = vec![
                Fact::new(what, votes_for),
                Fact::new(format!("{part}: mean of its probability in the trees"), score),
            ];
            reasons.push(own);
        }
        Ok(reasons)
    }

    fn step(
        &self,
        tree: usize,
        level: usize,
        (nodes, node, child, labels): Passed<'_>,
        row: (&[u32], &[f32]),
        scorer: &mut Scorer,
    ) -> Step {
        let link = |margin| self.params.link.log_probability(margin);
        linear::step((nodes, node, child), row, scorer, link).at(tree, level, labels)
    }
}

impl Tree {
    /// The nodes from the root on to a label.
    fn path_to(&self, label: u32) -> Option<Vec<Passed<'_>>> {
        let within = |nodes| -> Option<Vec<Passed<'_>>> {
            let path = Nodes::path_to(nodes, label)?.into_iter();
            let labels =
                |node, child| nodes.children_of(node).nth(child).map(|it| nodes.labels_of(it));
            let passed = path.map(|(node, at)| (nodes, node, at, labels(node, at).unwrap_or(0)));
            Some(passed.collect())
        };
        if self.subtrees.is_empty() {
            return within(&self.root);
        }
        if let Some((node, at)) = self.root.parent_of(Child::Label(label)) {
            return Some(vec![(&self.root, node, at, 1)]);
        }
        let below = self.subtrees.iter().enumerate();
        let (number, below) = below.filter_map(|(at, nodes)| Some((at, within(nodes)?))).next()?;
        let (node, at) = self.root.parent_of(Child::Node(number as u32))?;
        let labels = self.subtrees[number].labels_below(0).len();
        Some([(&self.root, node, at, labels)].into_iter().chain(below).collect())
    }
}

/// By how much each tree counts: its share of the votes; the same for all that know the label if none votes.
fn shares_of(votes: &[(u32, u64)], steps: &[Step]) -> Vec<f64> {
    let sum: f64 = votes.iter().map(|vote| vote.1 as f64).sum();
    if sum > 0.0 {
        return votes.iter().map(|vote| vote.1 as f64 / sum).collect();
    }
    let knows = |tree: usize| steps.iter().any(|step| step.tree == tree);
    let knowing = (0..votes.len()).filter(|&tree| knows(tree)).count().max(1);
    (0..votes.len()).map(|tree| if knows(tree) { 1.0 / knowing as f64 } else { 0.0 }).collect()
}

/// The bias and the contributions of all steps together.
fn total(steps: &[Step], shares: &[f64]) -> (f32, Vec<Contribution>) {
    let (mut bias, mut sums) = (0.0, Sums::default());
    for step in steps {
        let share = shares[step.tree];
        bias += share * f64::from(step.bias);
        for term in &step.terms {
            sums.add(term.feature, share * f64::from(term.contribution));
        }
    }
    (bias as f32, sums.finish())
}
