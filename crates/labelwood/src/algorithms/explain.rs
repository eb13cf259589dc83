//! Why a label has its score: what each algorithm tells of a row and a label.
//!
//! [`Predict::explain`](super::Predict::explain) gives one [`Reasons`] for each part. Its figures are those
//! that the prediction computes, not estimates of them, and add up as follows.
//!
//! - **linear**: at each [`Step`], `bias` and then the `terms`, added up in single precision in the order in
//!   which they come, give `margin` to the last bit. So do the logarithms of the steps of a tree, and the
//!   shares of the trees, the score. The terms of the whole part are those of its steps, added up over the
//!   path and averaged over the trees by how much each counts; these sums are made in double precision and
//!   rounded once, so they agree with the margins to six digits.
//! - **forest**: the votes of the leaves add up to the score in whole units of 2^-40, as in a prediction.
//! - **neighbours**: the shares of the rows that have the label do the same. Each share is divided among the
//!   features by what they add to the similarity, which is a sum of whole numbers.
//! - **ranker**: the terms add up to the log-odds in double precision, rounded once.

use crate::base::words::plural;
use serde::Serialize;
use std::collections::BTreeMap;

/// What an algorithm, a part of a grove or the whole model, says of a label for a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reasons {
    /// The algorithm.
    pub part: &'static str,
    /// The score that it gives the label; 0 if it does not name the label.
    pub score: f32,
    /// By how much the log-odds of the label would fall if this part named no label; nothing if there are no
    /// other parts, or if it is the ranker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f32>,
    /// What the terms come on top of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias: Option<f32>,
    /// The features that speak for the label and against it, each with what it adds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<Contribution>,
    /// What was left out of the terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// How it came to the score.
    #[serde(flatten)]
    pub evidence: Evidence,
    /// What leads from there to the score.
    #[serde(skip)]
    pub how: Vec<Fact>,
}

/// What a feature adds, or takes off if it is negative.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contribution {
    /// The number of the feature; of a ranker the place of the number that it goes by.
    pub feature: u32,
    /// The feature's name: a term of a text.
    pub term: Option<String>,
    /// What it adds.
    pub contribution: f32,
}

/// The sum of contributions that are not listed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rest {
    /// How many there are.
    pub count: usize,
    /// What they add together.
    pub contribution: f32,
}

/// A label with its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedLabel {
    /// The number of the label.
    pub id: u32,
    /// What the training file calls it; the number where labels have no names.
    pub code: String,
    /// What people call it.
    pub name: String,
}

impl NamedLabel {
    /// A label whose name is not known yet.
    pub(crate) fn unnamed(id: u32) -> Self {
        NamedLabel { id, code: String::new(), name: String::new() }
    }
}

/// A figure on the way to the score, in words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// What it is.
    pub what: String,
    /// The figure.
    pub value: f64,
}

impl Fact {
    pub(crate) fn new(what: impl Into<String>, value: impl Into<f64>) -> Self {
        Fact { what: what.into(), value: value.into() }
    }
}

/// How an algorithm came to a score.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Evidence {
    /// Linear classifiers along the paths to the label.
    Linear {
        /// How many trees, submodels or blocks know the label.
        trees: usize,
        /// The numbers of those whose search came to the label: the others do not vote for it.
        voting: Vec<usize>,
        /// The steps of each tree that knows the label, from the root on.
        steps: Vec<Step>,
    },
    /// Leaves in which training rows have the label.
    Forest {
        /// How many trees there are.
        trees: usize,
        /// How many of them vote for the label.
        voting: usize,
        /// The leaves that do, those of the largest votes first.
        leaves: Vec<Leaf>,
    },
    /// A name of the label in the text.
    Names {
        /// The name, at each place; filled in where the text is at hand.
        names: Vec<NameAt>,
        /// In how many training rows the label's name was found.
        found: u32,
        /// Whether its words stand together.
        in_one_piece: bool,
    },
    /// Training rows that are like the row.
    Neighbours {
        /// How many were looked at.
        neighbours: usize,
        /// How many of them have the label.
        having: usize,
        /// The rows, most similar first.
        rows: Vec<NearRow>,
    },
    /// What the parts say, as one probability.
    Ranker {
        /// Their sum.
        log_odds: f32,
    },
    /// How many training rows have the label.
    Counts {
        /// The number.
        rows: u32,
    },
    /// The algorithm does not name the label for this row.
    None,
}

/// A linear classifier on the path to a label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The number of the tree, submodel or block.
    pub tree: usize,
    /// How many steps come before it in the tree.
    pub level: usize,
    /// How many labels the step leads to.
    pub labels: usize,
    /// Among how many groups or labels it chooses.
    pub children: usize,
    /// How far the row is on the label's side.
    pub margin: f32,
    /// What the margin starts from.
    pub bias: f32,
    /// The logarithm of the probability that the margin makes.
    pub log_probability: f32,
    /// What each feature adds to the margin, in the order of the features.
    pub terms: Vec<Contribution>,
    /// What was left out of the terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
}

/// A leaf that the row comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Leaf {
    /// The number of the tree.
    pub tree: usize,
    /// How many nodes come before it.
    pub depth: usize,
    /// The share of the row that comes to it.
    pub weight: f32,
    /// How many training rows are there.
    pub rows: u32,
    /// How many of them have the label.
    pub having: u32,
    /// Labels that most rows there have.
    pub labels: Vec<LabelCount>,
}

/// How many rows have a label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelCount {
    /// The label.
    #[serde(flatten)]
    pub label: NamedLabel,
    /// The rows.
    pub rows: u32,
}

/// A name in a text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NameAt {
    /// The name as the vocabulary has it.
    pub name: String,
    /// Where it starts, in characters.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// A training row that is like the row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NearRow {
    /// Its number among the training rows, from 0.
    pub row: u32,
    /// The cosine of the angle between the two.
    pub similarity: f32,
    /// Its share in the vote.
    pub share: f32,
    /// Whether it has the label.
    pub has_label: bool,
    /// Its labels.
    pub labels: Vec<NamedLabel>,
    /// Its words that weigh most, if the model keeps its rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// The features that both have, with what each adds to the similarity.
    pub terms: Vec<Contribution>,
    /// What was left out of the terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
}

impl Reasons {
    /// What an algorithm says that does not name the label.
    pub(crate) fn none(part: &'static str) -> Self {
        Self::new(part, 0.0, Evidence::None)
    }

    /// Reasons without terms.
    pub(crate) fn new(part: &'static str, score: f32, evidence: Evidence) -> Self {
        let (terms, how) = (Vec::new(), Vec::new());
        Reasons { part, score, weight: None, bias: None, terms, rest: None, evidence, how }
    }
}

impl Reasons {
    /// What it says, in a few words.
    pub fn describe(&self) -> String {
        let score = self.score;
        match &self.evidence {
            Evidence::Linear { trees, steps, .. } => {
                let per_tree = steps.len().div_ceil((*trees).max(1));
                match (trees, per_tree) {
                    (1, 1) => format!("{score:.2} by its classifier"),
                    _ => {
                        format!("{score:.2} by {}", plural(steps.len(), "classifier"))
                            + &format!(" in {}", plural(*trees, "tree"))
                    }
                }
            }
            Evidence::Forest { trees, voting, .. } => {
                format!("{score:.2}: {voting} of {} vote for it", plural(*trees, "tree"))
            }
            Evidence::Names { names, found, .. } => {
                let name = names.first().map_or(String::new(), |at| format!(" “{}”", at.name));
                let rows = plural(*found, "training row");
                format!("{score:.2}: its name{name} is there, as in {rows}")
            }
            Evidence::Neighbours { neighbours, having, .. } => {
                let rows = plural(*neighbours, "training row");
                format!("{score:.2}: {having} of the {rows} nearest to it have the label")
            }
            Evidence::Ranker { log_odds } => format!("{score:.2}, log-odds of {log_odds:+.2}"),
            Evidence::Counts { rows } => {
                format!("{score:.2}: {} have it", plural(*rows, "training row"))
            }
            Evidence::None => "does not name the label".to_owned(),
        }
    }
}

impl Contribution {
    /// The feature's name, or its number.
    pub fn name(&self) -> String {
        self.term.clone().unwrap_or_else(|| format!("feature {}", self.feature))
    }

    pub(crate) fn new(feature: u32, contribution: f32) -> Self {
        Contribution { feature, term: None, contribution }
    }
}

/// Adds up what features contribute in several places.
#[derive(Debug, Default)]
pub(crate) struct Sums(BTreeMap<u32, f64>);

impl Sums {
    pub(crate) fn add(&mut self, feature: u32, contribution: f64) {
        *self.0.entry(feature).or_default() += contribution;
    }

    /// The contributions that are not 0, strongest first.
    pub(crate) fn finish(self) -> Vec<Contribution> {
        let sums = self.0.into_iter().map(|(feature, sum)| Contribution::new(feature, sum as f32));
        let mut all: Vec<Contribution> = sums.filter(|term| term.contribution != 0.0).collect();
        all.sort_by(stronger);
        all
    }
}

/// The order of contributions: the strongest first, then by feature.
fn stronger(one: &Contribution, other: &Contribution) -> std::cmp::Ordering {
    let by_size = other.contribution.abs().total_cmp(&one.contribution.abs());
    by_size.then(one.feature.cmp(&other.feature))
}

/// Cuts contributions down to the `most` strongest; gives what is left out.
pub(crate) fn cut(terms: &mut Vec<Contribution>, most: usize) -> Option<Rest> {
    if terms.len() <= most {
        return None;
    }
    terms.sort_by(stronger);
    let left_out = terms.split_off(most);
    let contribution = left_out.iter().map(|term| f64::from(term.contribution)).sum::<f64>();
    Some(Rest { count: left_out.len(), contribution: contribution as f32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_contributions_stay_and_the_others_are_summed_up() {
        let mut sums = Sums::default();
        for (feature, value) in [(3, 0.5), (1, -2.0), (7, 0.25), (3, 0.5), (9, 1.0), (9, -1.0)] {
            sums.add(feature, value);
        }
        let mut terms = sums.finish();
        let features =
            |terms: &[Contribution]| terms.iter().map(|it| it.feature).collect::<Vec<_>>();
        assert_eq!(features(&terms), [1, 3, 7], "9 cancels itself out");
        assert_eq!(cut(&mut terms, 3), None);
        assert_eq!(cut(&mut terms, 1), Some(Rest { count: 2, contribution: 1.25 }));
        assert_eq!(features(&terms), [1]);
    }

    #[test]
    fn the_kind_of_evidence_stands_beside_the_score() {
        let found = Evidence::Counts { rows: 7 };
        let json = serde_json::to_value(Reasons::new("toy", 0.5, found)).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"part": "toy", "score": 0.5, "kind": "counts", "rows": 7})
        );
    }
}
