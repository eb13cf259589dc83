//! The settings of a grove.

use crate::algorithms::{craftml, label_tree};
use crate::base::settings::ParamError;
use crate::base::sparse::{CsrView, LabelRowsView};
use serde::{Deserialize, Serialize};

/// What a grove is grown with: the settings of its parts.
///
/// ```
/// use labelwood::grove::Params;
/// let mut params = Params::default();
/// params.forest.trees = 10;
/// assert!(params.check().is_ok());
/// params.label_tree.trees = 0;
/// assert!(params.check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The CRAFTML forest; which rows are held out follows from its seed.
    pub forest: craftml::Params,
    /// The label trees.
    pub label_tree: label_tree::Params,
    /// Whether the blend is learned from the rows, which takes about a third of the time that the
    /// parts take. A training without time for it takes [`Blend::default`](super::Blend).
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
        let (forest, label_tree) = (craftml::Params::default(), label_tree::Params::default());
        Params { forest, label_tree, learn_blend: true }
    }
}

impl Params {
    /// Refuses settings that no grove can be grown with, naming the first.
    pub fn check(&self) -> Result<(), ParamError> {
        self.forest.check()?;
        self.label_tree.check()
    }

    /// The settings with every automatic choice made for these rows.
    pub fn resolve(&self, features: CsrView<'_>, labels: LabelRowsView<'_>) -> Params {
        Params {
            forest: self.forest.resolve(features, labels),
            label_tree: self.label_tree.resolve(features, labels),
            learn_blend: self.learn_blend,
        }
    }

    /// Smaller parts of the same kind, which the blend is learned with: a fourth of the forest's
    /// trees and a third of the label trees rank and score much as all of them.
    pub(super) fn reduced(&self) -> Params {
        let (mut forest, mut label_tree) = (self.forest.clone(), self.label_tree.clone());
        forest.trees = forest.trees.div_ceil(4);
        label_tree.trees = label_tree.trees.div_ceil(3);
        Params { forest, label_tree, ..*self }
    }
}
