//! The settings of a grove: its parts, each an algorithm with settings.

use crate::algorithms::{Change, SetError, Settings, craftml, label_tree};
use crate::base::settings::{Kind, ParamError, Setting};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
const LABEL_TREES: &str = "label_trees";
/// The part whose trees that are.
const LABEL_TREE: &str = "label-tree";

/// What is known of an algorithm as a part before any row has been seen.
pub(super) struct Prior {
    /// One of so many trees is enough to learn the blend with.
    pub reduced_by: usize,
    /// The setting of the part that tuning tries.
    tuned: Option<&'static str>,
    /// How much the logarithm of a score, the score, and both times the logarithm of a label's count
    /// add to the label's log-odds: about the mean of what was learned from four public sets.
    pub weights: [f64; 4],
}

impl Prior {
    pub fn of(part: &Settings) -> Prior {
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
    /// The settings that a grove has besides those of its parts.
    pub(super) fn table() -> Vec<Setting> {
        let parts = "The algorithms that answer together, each with its settings.";
        let learn_blend = "Whether what the parts' scores are worth is learned from held-out rows.";
        let label_trees = "Label trees of a grove, while trees says how many trees its forest has.";
        vec![
            Setting { kind: Kind::Parts, ..Setting::new::<bool>("parts", parts).elsewhere() },
            Setting::new::<bool>("learn_blend", learn_blend).elsewhere(),
            Setting::new::<usize>(LABEL_TREES, label_trees).within(1.0, 1_048_576.0).common(),
        ]
    }

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

    /// The settings with another value: `trees` is the first part's, `label_trees` the number of label
    /// trees, `part.setting` one part's, and any other goes to each part that has it.
    pub(super) fn with(&self, setting: &str, value: &Value) -> Result<Params, SetError> {
        let (part, name) = match setting.split_once('.') {
            Some((part, name)) => (Some(part), name),
            None if setting == LABEL_TREES => (Some(LABEL_TREE), "trees"),
            None => (None, setting),
        };
        let mut params = self.clone();
        let mut is_known = false;
        for settings in &mut params.parts {
            if part.is_some_and(|part| part != settings.name()) {
                continue;
            }
            match settings.with(name, value) {
                Err(SetError::Unknown) => continue,
                changed => *settings = changed?,
            }
            is_known = true;
            if setting == "trees" {
                break;
            }
        }
        if is_known { Ok(params) } else { Err(SetError::Unknown) }
    }

    /// What tuning tries: one setting of each part, the last part first, and whether the last part
    /// weights features; forests are hardly ever better without.
    pub(super) fn changes(&self) -> Vec<Change> {
        let of_part = |part: &Settings, name: &str| {
            let mut changes = part.changes();
            changes.retain(|change| change.setting == name);
            changes
                .into_iter()
                .map(|change| Change {
                    setting: format!("{}.{}", part.name(), change.setting),
                    ..change
                })
                .collect::<Vec<_>>()
        };
        let tuned = self.parts.iter().rev();
        let tuned = tuned.flat_map(|part| of_part(part, Prior::of(part).tuned.unwrap_or_default()));
        let weighting = self.parts.last().map(|part| of_part(part, "weighting"));
        tuned.chain(weighting.into_iter().flatten()).collect()
    }
}
