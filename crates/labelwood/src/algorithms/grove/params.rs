//! The settings of a grove: its parts, each an algorithm with settings.

use crate::algorithms::{Settings, craftml, label_tree};
use crate::base::settings::ParamError;
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
    /// Whether the blend is learned from the rows, which takes about a third of the time that the
    /// parts take. A training without time for it takes the blend that is likely beforehand.
    #[serde(default = "learned", skip_serializing_if = "is_learned")]
    pub learn_blend: bool,
}

fn learned() -> bool {
    true
}

fn is_learned(learn_blend: &bool) -> bool {
    *learn_blend
}

impl Default for Params {
    fn default() -> Self {
        let parts = vec![craftml::Params::default().into(), label_tree::Params::default().into()];
        Params { parts, learn_blend: true }
    }
}

/// The number of label trees, while `trees` is that of the first part that has trees.
pub(super) const LABEL_TREES: &str = "label_trees";
/// The part whose trees that are.
pub(super) const LABEL_TREE: &str = "label-tree";

/// What is known of an algorithm as a part before any row has been seen.
pub(super) struct Prior {
    /// One of so many trees is enough to learn the blend with.
    pub reduced_by: usize,
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
                Prior { reduced_by: 4, tuned: Some("leaf"), weights }
            }
            LABEL_TREE => {
                let weights = [0.7, 0.0, -0.05, 0.3];
                Prior { reduced_by: 3, tuned: Some("cost"), weights }
            }
            _ => Prior { reduced_by: 3, tuned: None, weights: [0.6, 1.0, -0.04, 0.0] },
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

    /// Smaller parts of the same kind, which the blend is learned with.
    pub(super) fn reduced(&self) -> Params {
        self.map(|part| part.reduced(Prior::of(part).reduced_by))
    }
}
