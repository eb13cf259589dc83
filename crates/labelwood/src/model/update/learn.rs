//! What each algorithm makes of new rows.

use super::Work;
use crate::algorithms::craftml::{self, Forest};
use crate::algorithms::label_tree::{self, LabelTrees, UpdatedTree};
use crate::algorithms::one_vs_rest::{BLOCK, OneVsRest, Trainer};
use crate::base::run::Task;
use crate::base::sparse::LabelSet;
use crate::data::Dataset;
use crate::model::linear::{self, Names};
use crate::model::units::{Stop, Units};
use crate::model::{Learned, craftml as trees};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

impl Work<'_> {
    /// Writes the units of what is learned, as far as it changes.
    pub(super) fn learn(&self, units: &Units<'_>, run: &Task) -> Result<(), Stop> {
        match (self.model.learned(), &self.all) {
            (Learned::CraftMl(forest), _) => self.write_forest(forest, units, run),
            (Learned::LabelTree(trees), Some(all)) => {
                self.write_label_trees(trees, linear::TREES, all, units, run)
            }
            (Learned::OneVsRest(labels), Some(all)) => self.write_blocks(labels, all, units, run),
            (Learned::Grove(grove), all) => {
                self.write_forest(grove.forest(), units, run)?;
                match all {
                    Some(all) => {
                        let trees = grove.label_tree();
                        self.write_label_trees(trees, linear::GROVE, all, units, run)
                    }
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Writes the trees of a forest with the new rows in their leaves.
    fn write_forest(&self, forest: &Forest, units: &Units<'_>, run: &Task) -> Result<(), Stop> {
        let (rows, known) = match &self.all {
            Some(all) => (all.view(), Some(all.len() - self.added.len())),
            None => (self.added, None),
        };
        let updater = craftml::Updater::new(forest, rows.features, rows.labels, known);
        let total = forest.trees().len();
        let missing: Vec<usize> =
            (0..total).filter(|&tree| units.find(&trees::stem(tree)).is_none()).collect();
        let done = AtomicU64::new((total - missing.len()) as u64);
        run.progress("trees", done.load(Ordering::Relaxed), total as u64);
        run.install(|| {
            missing.par_iter().with_max_len(1).try_for_each(|&number| {
                let tree = updater.tree(number, run)?;
                units.write(&trees::stem(number), &trees::arrays(&tree))?;
                run.progress("trees", done.fetch_add(1, Ordering::Relaxed) + 1, total as u64);
                Ok(())
            })
        })
    }

    /// Writes the parts of label trees that new rows touch. The root, which is always among them,
    /// comes last: where it is, nothing is missing.
    fn write_label_trees(
        &self,
        trees: &LabelTrees,
        names: Names,
        all: &Dataset,
        units: &Units<'_>,
        run: &Task,
    ) -> Result<(), Stop> {
        let (features, labels) = (all.features.view(), all.labels.view());
        let known = all.len() - self.added.len();
        let updater = label_tree::Updater::new(trees, features, labels, known, run)?;
        let total = trees.trees().len();
        for tree in 0..total {
            run.progress("parts", tree as u64, total as u64);
            if units.find(&names.root(tree)).is_some() {
                continue;
            }
            let UpdatedTree { root, subtrees } = updater.tree(tree, run)?;
            for (part, nodes) in subtrees.iter().enumerate() {
                if let Some(nodes) = nodes {
                    units.write(&names.part(tree, part), &linear::arrays(nodes))?;
                }
            }
            linear::with_groups(&root.nodes, &root.groups, |arrays| {
                units.write(&names.root(tree), arrays)
            })?;
        }
        run.progress("parts", total as u64, total as u64);
        Ok(())
    }

    /// Writes the blocks of labels of which any has new rows, and those that are new.
    fn write_blocks(
        &self,
        learned: &OneVsRest,
        all: &Dataset,
        units: &Units<'_>,
        run: &Task,
    ) -> Result<(), Stop> {
        let trainer = Trainer::again(learned, all.features.view(), all.labels.view());
        let with_rows: LabelSet = self.added.labels.indices().iter().copied().collect();
        let is_touched = |&block: &usize| {
            let labels = block * BLOCK..((block + 1) * BLOCK).min(all.labels.columns());
            block >= learned.blocks().len()
                || labels.into_iter().any(|label| with_rows.contains(label as u32))
        };
        let touched: Vec<usize> = (0..trainer.blocks()).filter(is_touched).collect();
        for (done, &block) in touched.iter().enumerate() {
            run.progress("parts", done as u64, touched.len() as u64);
            if units.find(&linear::block_stem(block)).is_none() {
                let nodes = trainer.block(block, run)?;
                units.write(&linear::block_stem(block), &linear::arrays(&nodes))?;
            }
        }
        run.progress("parts", touched.len() as u64, touched.len() as u64);
        Ok(())
    }
}
