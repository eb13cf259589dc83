//! One-vs-rest behind the traits of the registry: a unit for each block of labels, and one for the
//! weights of features.

use super::{BLOCK, OneVsRest, Params, Trainer, block_labels};
use crate::algorithms::explain::Reasons;
use crate::algorithms::{
    Algorithm, Cost, Costs, Facts, Interrupted, NewRows, OpenUnit, Predict, Role, RowVotes,
    Settings, Shrink, Shrunk, Train, Trained, UnitSink, UnitSpec, Updates, WriteUnit, linear,
    weights,
};
use crate::base::run::{Estimate, Stage, Stopped, Task};
use crate::base::settings::{ParamError, Setting};
use crate::base::sparse::{Csr, LabelRows, Predictions, Query, RowsView, Scored};
use crate::base::store::{FormatError, StoreError, Stored};
use crate::data::{Dataset, DatasetView};
use crate::learn::cost::learn_labels;
use crate::learn::favour::{Favour, Scores};
use crate::learn::linear::stored::{Sizes, arrays, read_nodes};
use crate::learn::linear::{Child, Shape};
use crate::learn::weighting::FeatureWeights;
use rayon::prelude::*;
use serde_json::{Value, json};

/// Bytes that a weight takes as it is learned, before the weights of a block are put in order.
const LEARNED: f64 = 6.0;

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
            units: "blocks",
            updates: Updates::WithRows,
            reads_names: false,
            needs_rows: true,
            tried_up_to: 2000,
            judges: false,
        }
    }

    fn check(&self) -> Result<(), ParamError> {
        self.check_values()
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
        let shape = Shape::new(rows);
        let weights = shape.weights_among_all(self.weight_threshold + self.solver.l1);
        let block = weights * (BLOCK as f64 / shape.labels.max(1.0)).min(1.0);
        let memory = shape.prepared()
            + threads as f64 * shape.workspace()
            + block * LEARNED
            + Shape::building(block, BLOCK);
        let model = Shape::stored(weights, self.precision, 2.0) + shape.labels * 8.0;
        Estimate { memory: memory as u64, model: model as u64 }
    }

    fn members(&self, labels: usize) -> usize {
        labels.div_ceil(BLOCK)
    }

    fn units(&self, labels: usize, _open: &OpenUnit<'_>) -> Result<Vec<UnitSpec>, StoreError> {
        let block = |block| UnitSpec::new(unit_name(block), Role::Learned);
        Ok((0..self.members(labels)).map(block).chain([weights::unit()]).collect())
    }

    fn costs(&self, units: &[UnitSpec], rows: DatasetView<'_>, threads: usize) -> Costs {
        let memory = self.estimate(rows, threads).memory;
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
    ) -> Result<Box<dyn Train + 'a>, Interrupted> {
        self.check_values()?;
        let params = self.resolve(rows.features);
        let weights = FeatureWeights::learn(params.weighting, rows.features);
        Ok(Box::new(Trainer::new(rows, params, weights)))
    }

    fn open(&self, trained: &Trained<'_>) -> Result<Box<dyn Predict>, FormatError> {
        let stored = trained.stored;
        let (weights, sizes) = linear::sizes(stored, self.precision)?;
        let Sizes { labels, features, .. } = sizes;
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

    fn train(&self, units: &UnitSink<'_>, task: &Task) -> Result<(), Interrupted> {
        weights::write(&self.training.weights, units)?;
        self.write((0..self.blocks()).collect(), units, task)
    }
}

impl Trainer {
    /// Writes what is missing of these blocks, one after the other, since each works on all threads.
    fn write(
        &self,
        blocks: Vec<usize>,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        let report = |done| task.progress(Stage::Units("blocks"), done, blocks.len() as u64);
        for (&block, done) in blocks.iter().zip(0..) {
            report(done);
            if units.lacks(&unit_name(block)) {
                units.write(&unit_name(block), &arrays(&self.block(block, task)?))?;
            }
        }
        report(blocks.len() as u64);
        Ok(())
    }
}

impl Predict for OneVsRest {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    fn predict(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        let margins = self.margins(rows.features, query, task)?;
        let mut predictions = Predictions::default();
        margins.rows().for_each(|row| predictions.push_row(&self.ranked(row.to_vec(), query.k)));
        Ok(predictions)
    }

    /// The bits of the best margins: each label is in one block, so nothing is added up.
    fn votes(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<RowVotes>>, Stopped> {
        let margins = self.margins(rows.features, query, task)?;
        let bits = |best: &Scored| (best.id, u64::from(best.score.to_bits()));
        Ok(vec![margins.rows().map(|row| row.iter().map(bits).collect()).collect()])
    }

    fn combine(&self, votes: &[RowVotes], _voters: &[Vec<u32>], query: Query<'_>) -> Vec<Scored> {
        let margin = |&(id, bits): &(u32, u64)| Scored { id, score: f32::from_bits(bits as u32) };
        self.ranked(votes[0].iter().map(margin).collect(), query.k)
    }

    fn explain(
        &self,
        row: RowsView<'_>,
        labels: &[u32],
        _query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<Reasons>>, Stopped> {
        let own = self.reasons(row.features, labels, task)?;
        Ok(own.into_iter().map(|own| vec![own]).collect())
    }

    fn figures(&self) -> Vec<(String, Value)> {
        let blocks = self.blocks.iter().enumerate();
        blocks.map(|(block, nodes)| (unit_name(block), json!(nodes.figures()))).collect()
    }

    /// Learns the blocks again of which any label has new rows, and those that are new: every label
    /// has a block. Without the rows only the new ones, which know nothing.
    fn update(
        &self,
        rows: NewRows<'_>,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        let labels = LabelRows::new(rows.added.labels.columns());
        let none =
            Dataset { features: Csr::new(self.features), labels, label_names: None, named: None };
        let all = rows.all.unwrap_or(&none);
        let trainer = Trainer::new(all.view(), self.params.clone(), self.weights.clone());
        let is_touched = |&block: &usize| {
            let mut labels = block_labels(block, all.labels.columns());
            let is_new = block >= self.blocks.len();
            is_new || rows.all.is_some() && labels.any(|label| rows.touched.contains(label))
        };
        trainer.write((0..trainer.blocks()).filter(is_touched).collect(), units, task)
    }
}
