//! One-vs-rest behind the traits of the registry: a unit for each block of labels, and one for the
//! weights of features.

use super::{BLOCK, OneVsRest, Params, Trainer, block_labels};
use crate::algorithms::{
    Algorithm, Cost, Costs, Facts, Interrupted, NewRows, OpenUnit, Predict, Role, RowVotes,
    Settings, Shrink, Shrunk, Train, Trained, UnitSink, UnitSpec, Updates, WriteUnit, linear,
    weights,
};
use crate::base::run::{Estimate, Stage, Stopped, Task};
use crate::base::settings::{ParamError, Setting};
use crate::base::sparse::{Csr, CsrView, LabelRows, LabelSet, Predictions, Query, Scored};
use crate::base::store::{FormatError, StoreError, Stored};
use crate::data::DatasetView;
use crate::learn::cost::learn_labels;
use crate::learn::favour::{Favour, Scores};
use crate::learn::linear::Child;
use crate::learn::linear::stored::{Sizes, arrays, read_nodes};
use rayon::prelude::*;
use serde_json::{Value, json};

impl Algorithm for Params {
    fn name(&self) -> &'static str {
        "one-vs-rest"
    }

    fn about(&self) -> &'static str {
        "a linear classifier for every label"
    }

    fn table(&self) -> Vec<Setting> {
        let mut table = Params::table();
        if let Some(cost) = table.iter_mut().find(|setting| setting.name == "cost") {
            cost.tried = [0.7, 0.2, 0.4, 1.4, 2.8].map(Value::from).into();
        }
        table
    }

    fn presets(&self) -> Vec<(&'static str, Settings)> {
        let preset = |name| Some((name, Params::preset(name)?.into()));
        Params::PRESETS.into_iter().filter_map(preset).collect()
    }

    fn facts(&self) -> Facts {
        Facts {
            scores: Scores::Unbounded,
            is_calibrated: false,
            grows: None,
            units: "parts",
            updates: Updates::WithRows,
            tried_up_to: 2000,
        }
    }

    fn check(&self) -> Result<(), ParamError> {
        self.check()
    }

    fn resolve(&self, rows: DatasetView<'_>) -> Settings {
        self.resolve(rows.features).into()
    }

    fn favouring(&self, favour: Option<Favour>) -> Settings {
        let tail_weight =
            favour.map(|favour| self.tail_weight.unwrap_or_else(|| favour.tail_weight()));
        Params { tail_weight, ..self.clone() }.into()
    }

    fn estimate(&self, rows: DatasetView<'_>, threads: usize) -> Estimate {
        self.estimate(rows.features, rows.labels, threads)
    }

    fn members(&self, labels: usize) -> usize {
        labels.div_ceil(BLOCK)
    }

    fn units(&self, labels: usize, _open: &OpenUnit<'_>) -> Result<Vec<UnitSpec>, StoreError> {
        let block = |block| UnitSpec::new(unit_name(block), Role::Learned);
        Ok((0..self.members(labels)).map(block).chain([weights::unit()]).collect())
    }

    fn costs(&self, units: &[UnitSpec], rows: DatasetView<'_>, threads: usize) -> Costs {
        let memory = self.estimate(rows.features, rows.labels, threads).memory;
        let counts = rows.labels.column_counts();
        // Labels without rows are not learned.
        let known = |block: usize| {
            let counts = counts.chunks(BLOCK).nth(block).unwrap_or_default();
            counts.iter().filter(|&&count| count > 0).count()
        };
        let cost = |unit: &UnitSpec| {
            let known = self.member(&unit.name, 0).map_or(0, known);
            Cost { seconds: learn_labels(known as f64, rows), memory }
        };
        Costs { units: units.iter().map(cost).collect(), below: Cost::default() }
    }

    fn prepare<'a>(
        &self,
        rows: DatasetView<'a>,
        _task: &Task,
    ) -> Result<Box<dyn Train + 'a>, ParamError> {
        Ok(Box::new(Trainer::new(rows.features, rows.labels, self.clone())?))
    }

    fn open(&self, trained: &Trained<'_>) -> Result<Box<dyn Predict>, FormatError> {
        let stored = trained.stored;
        let (weights, features) = weights::read(stored)?;
        let labels = stored.manifest().labels as usize;
        let sizes = Sizes { labels, features, precision: self.precision };
        let block = |block| {
            let unit = stored.unit(&unit_name(block))?;
            let nodes = read_nodes(unit, sizes, Some(0))?;
            if nodes.len() != 1 {
                return Err(unit.refused("a block is one node"));
            }
            // Each of the labels once: a prediction would name it as often.
            let own = block_labels(block, labels);
            let mut seen = vec![false; own.len()];
            let is_new = |child| match child {
                Child::Label(label) if own.contains(&label) => {
                    !std::mem::replace(&mut seen[(label - own.start) as usize], true)
                }
                _ => false,
            };
            let fits = nodes.children_of(0).all(is_new);
            let twice = || unit.refused("it has a label twice, or one of another block");
            if fits { Ok(nodes) } else { Err(twice()) }
        };
        let blocks =
            trained.members.clone().into_par_iter().map(block).collect::<Result<_, _>>()?;
        Ok(Box::new(OneVsRest { params: self.clone(), weights, features, labels, blocks }))
    }

    fn shrunk(&self, how: Shrink) -> Option<Settings> {
        let (weight_threshold, precision) =
            linear::shrunk(how, self.weight_threshold, self.precision)?;
        Some(Params { weight_threshold, precision, ..self.clone() }.into())
    }

    fn shrink_unit(
        &self,
        how: Shrink,
        stored: &Stored,
        name: &str,
        write: &WriteUnit<'_>,
    ) -> Result<Option<Shrunk>, StoreError> {
        if !name.starts_with(BLOCK_UNIT) {
            return Ok(None);
        }
        linear::shrink_unit(how, self.precision, stored, name, Some(0), write)
    }
}

const BLOCK_UNIT: &str = "block-";

fn unit_name(block: usize) -> String {
    format!("{BLOCK_UNIT}{block:05}")
}

impl Train for Trainer {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    /// One block after the other, since each works on all threads.
    fn train(&self, units: &UnitSink<'_>, task: &Task) -> Result<(), Interrupted> {
        weights::write(&self.weights, units)?;
        let total = self.blocks();
        for block in 0..total {
            task.progress(Stage::Units("parts"), block as u64, total as u64);
            if units.lacks(&unit_name(block)) {
                let nodes = self.block(block, task)?;
                units.write(&unit_name(block), &arrays(&nodes))?;
            }
        }
        task.progress(Stage::Units("parts"), total as u64, total as u64);
        Ok(())
    }
}

impl Predict for OneVsRest {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    fn predict(
        &self,
        rows: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        OneVsRest::predict(self, rows, query, task)
    }

    /// The bits of the best margins: each label is in one block, so nothing is added up.
    fn votes(
        &self,
        rows: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<RowVotes>>, Stopped> {
        let margins = self.margins(rows, query, task)?;
        let bits = |best: &Scored| (best.id, u64::from(best.score.to_bits()));
        Ok(vec![margins.rows().map(|row| row.iter().map(bits).collect()).collect()])
    }

    fn combine(&self, votes: &[RowVotes], _voters: &[Vec<u32>], query: Query<'_>) -> Vec<Scored> {
        let margin = |&(id, bits): &(u32, u64)| Scored { id, score: f32::from_bits(bits as u32) };
        self.ranked(votes[0].iter().map(margin).collect(), query.k)
    }

    fn figures(&self) -> Vec<(String, Value)> {
        let blocks = self.blocks.iter().enumerate();
        blocks.map(|(block, nodes)| (unit_name(block), json!(nodes.figures()))).collect()
    }

    /// Learns the blocks again of which any label has new rows, and those that are new.
    fn update(
        &self,
        rows: NewRows<'_>,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        let Some(all) = rows.all else {
            return self.add_blocks(rows.added.labels.columns(), units, task);
        };
        let trainer = Trainer::again(self, all.features.view(), all.labels.view());
        let with_rows: LabelSet = rows.added.labels.indices().iter().copied().collect();
        let is_touched = |&block: &usize| {
            let mut labels = block_labels(block, all.labels.columns());
            block >= self.blocks.len() || labels.any(|label| with_rows.contains(label))
        };
        let touched: Vec<usize> = (0..trainer.blocks()).filter(is_touched).collect();
        for (done, &block) in touched.iter().enumerate() {
            task.progress(Stage::Units("parts"), done as u64, touched.len() as u64);
            if units.find(&unit_name(block)).is_none() {
                let nodes = trainer.block(block, task)?;
                units.write(&unit_name(block), &arrays(&nodes))?;
            }
        }
        task.progress(Stage::Units("parts"), touched.len() as u64, touched.len() as u64);
        Ok(())
    }
}

impl OneVsRest {
    /// Writes blocks for labels that are new, of which nothing can be learned without the rows: every
    /// label has a block.
    fn add_blocks(
        &self,
        labels: usize,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        let (features, labels) = (Csr::new(self.features), LabelRows::new(labels));
        let trainer = Trainer::again(self, features.view(), labels.view());
        for block in self.blocks.len()..trainer.blocks() {
            if units.find(&unit_name(block)).is_none() {
                units.write(&unit_name(block), &arrays(&trainer.block(block, task)?))?;
            }
        }
        Ok(())
    }
}
