//! The settings of a grove: its parts, each an algorithm with settings.

use crate::algorithms::Size;
use crate::algorithms::{Settings, craftml, label_tree, names, neighbours, one_vs_rest};
use crate::base::settings::ParamError;
use crate::base::sparse::CsrView;
use crate::data::DatasetView;
use serde::{Deserialize, Serialize};

/// What a grove is grown with.
///
/// ```
/// use labelwood::algorithms::grove::Params;
/// use labelwood::algorithms::{craftml, label_tree};
/// let forest = craftml::Params { trees: 10, ..Default::default() };
/// let params = Params { parts: vec![forest.into(), label_tree::Params::default().into()], ..Params::default() };
/// assert!(params.check().is_ok());
/// assert!(Params { parts: Vec::new(), ..params }.check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The algorithms that answer together, each at most once; which rows are held out follows from
    /// the seed of the first.
    pub parts: Vec<Settings>,
    /// Whether the ranker is learned from the rows, which takes about a third of the time that the
    /// parts take. A training without time for it takes the ranker that is likely beforehand.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub learn_ranker: bool,
    /// Whether held-out rows decide which of the parts stay, and how many of their trees; else all stay
    /// as they are, with all their trees.
    #[serde(default, skip_serializing_if = "is_no")]
    pub choose: bool,
    /// What was decided, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

fn is_no(value: &bool) -> bool {
    !*value
}

impl Default for Params {
    /// All algorithms that have something to say; held-out rows decide which of them stay.
    fn default() -> Self {
        let parts = vec![
            craftml::Params::default().into(),
            label_tree::Params::default().into(),
            one_vs_rest::Params::default().into(),
            names::Params::default().into(),
            neighbours::Params::default().into(),
        ];
        Params { parts, learn_ranker: true, choose: true, chosen: None }
    }
}

/// Of fewer rows, those that are held out cannot tell parts from each other.
const LEAST_ROWS: usize = 1000;

/// A search for neighbours looks at the entries of other rows that share a feature with the one that is
/// asked about, as far as bounds do not spare it. More than so many take longer than all other parts.
const MOST_MET: f64 = 1e6;

/// Whether held-out rows decide.
pub(super) const CHOOSE: &str = "choose";
/// The number of label trees, while `trees` is that of the first part that has trees.
pub(super) const LABEL_TREES: &str = "label_trees";
/// The part whose trees that are.
pub(super) const LABEL_TREE: &str = "label-tree";

/// What is known of an algorithm as a part before any row has been seen.
pub(super) struct Prior {
    /// So many trees are enough to learn the ranker with.
    pub reduced_to: usize,
    /// The setting of the part that tuning tries.
    pub tuned: Option<&'static str>,
    /// How much the logarithm of a score, the score, and both times the logarithm of a label's count
    /// add to the label's log-odds: about the mean of what was learned from four public sets.
    pub weights: [f64; 4],
}

impl Prior {
    pub(super) fn of(part: &Settings) -> Prior {
        match part.name() {
            "craftml" => {
                let weights = [0.55, 3.0, -0.03, -0.2];
                Prior { reduced_to: 8, tuned: Some("leaf"), weights }
            }
            LABEL_TREE => {
                let weights = [0.7, 0.0, -0.05, 0.3];
                Prior { reduced_to: 1, tuned: Some("cost"), weights }
            }
            _ => Prior { reduced_to: 4, tuned: None, weights: [0.6, 1.0, -0.04, 0.0] },
        }
    }
}

impl Params {
    /// Refuses settings that no grove can be grown with, naming the first.
    pub fn check(&self) -> Result<(), ParamError> {
        let names: Vec<&str> = self.parts.iter().map(|part| part.name()).collect();
        let is_twice = |(at, name): (usize, &&str)| names[..at].contains(name);
        if names.is_empty() || names.contains(&"grove") || names.iter().enumerate().any(is_twice) {
            let expected = "one algorithm or more, each once, and no grove";
            return Err(ParamError::new("parts", names.join(", "), expected));
        }
        self.parts.iter().try_for_each(|part| part.check())
    }

    /// The settings with each part changed.
    pub(super) fn map(&self, change: impl FnMut(&Settings) -> Settings) -> Params {
        Params { parts: self.parts.iter().map(change).collect(), ..self.clone() }
    }

    /// Smaller parts of the same kind, which the ranker is learned with.
    pub(super) fn reduced(&self) -> Params {
        self.map(|part| {
            let fewer = |size: Size| size.count.min(Prior::of(part).reduced_to);
            part.resized(&part.size().into_iter().map(fewer).collect::<Vec<_>>())
        })
    }

    /// The settings with all choices made for these rows but those that need a training: without parts
    /// that can do nothing with such rows and, if parts are tried, those that cost much and are hardly ever
    /// of use there.
    pub(super) fn resolved(&self, rows: DatasetView<'_>) -> Params {
        let parts = self.parts.iter().filter(|part| self.is_possible(part, rows));
        let parts: Vec<Settings> = parts.map(|part| part.resolve(rows)).collect();
        let parts = if parts.is_empty() { self.parts.clone() } else { parts };
        let is_tellable = rows.len() >= LEAST_ROWS;
        let chosen = (self.choose && !is_tellable).then(|| {
            let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
            format!("kept: {}; rows are too few to tell what pays", names.join(", "))
        });
        Params {
            parts,
            choose: self.choose && is_tellable,
            chosen: chosen.or_else(|| self.chosen.clone()),
            ..self.clone()
        }
    }

    /// Whether a part can do something with such rows, as names can with texts, and is worth a trial if
    /// parts are tried: one classifier for each label beside trees of such classifiers needs rows that can
    /// tell which is better, and few labels, and neighbours need rows with few features in common.
    fn is_possible(&self, part: &Settings, rows: DatasetView<'_>) -> bool {
        match part.name() {
            _ if part.facts().reads_names => rows.named.is_some(),
            "one-vs-rest" if self.choose => {
                let trees = self.parts.iter().find(|part| part.name() == LABEL_TREE);
                trees.is_none_or(|trees| {
                    rows.len() >= LEAST_ROWS && seconds(part, rows) < seconds(trees, rows)
                })
            }
            "neighbours" if self.choose => entries_met(rows.features) <= MOST_MET,
            _ => true,
        }
    }
}

/// How many entries of other rows share a feature with a row, on average.
fn entries_met(rows: CsrView<'_>) -> f64 {
    let squares = rows.column_counts().into_iter().map(|count| f64::from(count).powi(2));
    squares.sum::<f64>() / rows.len().max(1) as f64
}

/// How long learning a part takes, about.
pub(super) fn seconds(part: &Settings, rows: DatasetView<'_>) -> f64 {
    let part = part.resolve(rows);
    let units = part.units(rows.labels.columns(), &|_| Ok(None)).unwrap_or_default();
    let costs = part.costs(&units, rows, 1);
    costs.below.seconds + costs.units.iter().map(|unit| unit.seconds).sum::<f64>()
}
