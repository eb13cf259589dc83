//! Random Label Forests behind the traits of the registry: a unit for each submodel, and one for the
//! weights of features.

use super::{LabelForest, Params, Trainer};
use crate::algorithms::explain::Reasons;
use crate::algorithms::label_tree::{LabelTrees, Tree};
use crate::algorithms::{
    Algorithm, Cost, Costs, Facts, Interrupted, NewRows, OpenUnit, Predict, Role, RowVotes,
    Settings, Shrink, Shrunk, Size, Train, Trained, UnitSink, UnitSpec, Updates, WriteUnit, linear,
    weights,
};
use crate::base::run::{Estimate, Stopped, Task};
use crate::base::settings::{ParamError, Setting};
use crate::base::sparse::{Predictions, Query, RowsView, Scored, Votes};
use crate::base::store::{FormatError, StoreError, Stored};
use crate::data::DatasetView;
use crate::learn::favour::{Favour, Scores};
use crate::learn::linear::Shape;
use crate::learn::linear::stored::{Sizes, arrays, read_nodes};
use rayon::prelude::*;
use serde_json::{Value, json};

/// Settings that tuning tries: submodels of more labels are fewer to agree, but each knows more.
const TRIED: [&str; 3] = ["rate", "cost", "weighting"];
/// Labels that a submodel votes for at least, if it comes to as many: few, since each knows few.
const VOTES: usize = 20;
/// How many labels that no submodel drew are named in a warning.
const NAMED: usize = 10;

impl Algorithm for Params {
    fn name(&self) -> &'static str {
        "label-forest"
    }

    fn about(&self) -> &'static str {
        "many label trees, each over some of the labels (Random Label Forests)"
    }

    fn table(&self) -> Vec<Setting> {
        let mut table = Params::table();
        for setting in table.iter_mut().filter(|setting| !TRIED.contains(&setting.name)) {
            setting.tried.clear();
            // Each submodel is one tree, whatever is asked for.
            setting.is_elsewhere |= setting.name == "trees";
        }
        table
    }

    fn presets(&self) -> Vec<(&'static str, Settings)> {
        let preset = |name| Some((name, Params::preset(name)?.into()));
        Params::PRESETS.into_iter().filter_map(preset).collect()
    }

    fn facts(&self) -> Facts {
        Facts {
            scores: Scores::Probabilities,
            is_calibrated: false,
            // With fewer submodels, some labels would be known to none.
            grows: None,
            units: "submodels",
            updates: Updates::Never,
            reads_names: false,
            needs_rows: true,
            tried_up_to: 0,
            judges: false,
        }
    }

    fn check(&self) -> Result<(), ParamError> {
        if self.tree.trees != 1 {
            return Err(ParamError::new("trees", self.tree.trees, "1: each submodel is one tree"));
        }
        self.check_values()
    }

    fn resolve(&self, rows: DatasetView<'_>) -> Settings {
        self.resolve(rows.features, rows.labels).into()
    }

    /// A weight of rare labels' rows gains nothing here, so it is 0 unless settings say otherwise.
    fn favouring(&self, favour: Option<Favour>) -> Settings {
        let mut params = self.clone();
        params.tree.tail_weight = favour.map(|_| self.tree.tail_weight());
        params.into()
    }

    fn size(&self) -> Vec<Size> {
        vec![Size { count: self.submodels, noun: "submodel" }]
    }

    fn resized(&self, sizes: &[usize]) -> Settings {
        Params { submodels: sizes[0], ..self.clone() }.into()
    }

    fn estimate(&self, rows: DatasetView<'_>, threads: usize) -> Estimate {
        let shape = Shape::new(rows);
        let tree = self.resolve(rows.features, rows.labels).tree;
        let growing = threads.min(self.submodels) as f64;
        let copies = self.submodels as f64 * self.rate;
        // The root has the weights of one level more: it learns from all rows for few labels.
        let levels = tree.levels(shape.labels * self.rate) + 1.0;
        let weights = shape.weights(tree.weight_threshold, levels);
        // Each submodel that grows has centres of its own.
        let centres = (growing - 1.0) * shape.centres(tree.branches(), threads);
        let memory = shape.prepared()
            + growing * shape.vectors() * self.rate
            + shape.labels * (copies * 4.0 + 24.0)
            + tree.growing(&shape, threads)
            + centres
            + growing * Shape::building(weights * self.rate, tree.branches());
        let model = copies * tree.stored(&shape, weights);
        Estimate { memory: memory as u64, model: model as u64 }
    }

    fn members(&self, _labels: usize) -> usize {
        self.submodels
    }

    fn units(&self, _labels: usize, _open: &OpenUnit<'_>) -> Result<Vec<UnitSpec>, StoreError> {
        let submodel = |number| UnitSpec::new(unit_name(number), Role::Learned);
        Ok((0..self.submodels).map(submodel).chain([weights::unit()]).collect())
    }

    fn costs(&self, units: &[UnitSpec], rows: DatasetView<'_>, threads: usize) -> Costs {
        let memory = self.estimate(rows, threads).memory;
        let seconds = self.tree.level_seconds(rows, self.rate).iter().sum();
        Costs { units: vec![Cost { seconds, memory }; units.len()], below: Cost::default() }
    }

    fn prepare<'a>(
        &self,
        rows: DatasetView<'a>,
        task: &Task,
    ) -> Result<Box<dyn Train + 'a>, Interrupted> {
        self.check()?;
        let trainer = Trainer::new(rows, self.resolve(rows.features, rows.labels), task);
        warn_of_undrawn(&trainer.undrawn, rows);
        Ok(Box::new(trainer))
    }

    fn open(&self, trained: &Trained<'_>) -> Result<Box<dyn Predict>, FormatError> {
        let stored = trained.stored;
        let (weights, sizes) = linear::sizes(stored, self.tree.precision)?;
        let Sizes { labels, features, .. } = sizes;
        let submodel = |number| {
            let root = read_nodes(stored.unit(&unit_name(number))?, sizes, None)?;
            Ok(Tree { root, subtrees: Vec::new() })
        };
        let numbers = trained.members.clone().into_par_iter();
        let trees = numbers.map(submodel).collect::<Result<_, _>>()?;
        let params = self.tree.clone();
        let trees = LabelTrees { params, weights, features, labels, trees, votes: VOTES };
        Ok(Box::new(LabelForest::new(self.clone(), trees)))
    }

    fn shrunk(&self, how: Shrink) -> Option<Settings> {
        let mut params = self.clone();
        let tree = &mut params.tree;
        (tree.weight_threshold, tree.precision) =
            linear::shrunk(how, tree.weight_threshold, tree.precision)?;
        Some(params.into())
    }

    fn shrink_unit(
        &self,
        how: Shrink,
        stored: &Stored,
        name: &str,
        write: &WriteUnit<'_>,
    ) -> Result<Option<Shrunk>, StoreError> {
        if !name.starts_with(SUBMODEL) {
            return Ok(None);
        }
        linear::shrink_unit(how, self.tree.precision, stored, name, None, write)
    }
}

const SUBMODEL: &str = "submodel-";

fn unit_name(submodel: usize) -> String {
    format!("{SUBMODEL}{submodel:04}")
}

/// Names labels that no submodel of a forest will know; the first few, if they are many.
fn warn_of_undrawn(labels: &[u32], rows: DatasetView<'_>) {
    if labels.is_empty() {
        return;
    }
    let name = |&label: &u32| match rows.label_names {
        Some(names) => names.display(label).to_owned(),
        None => label.to_string(),
    };
    let named: Vec<String> = labels.iter().take(NAMED).map(name).collect();
    let more = if labels.len() > NAMED { ", ..." } else { "" };
    tracing::warn!(
        "no submodel drew {} of the labels, which are never predicted: {}{more}; cover them, draw more of \
         them or train more submodels",
        labels.len(),
        named.join(", ")
    );
}

impl Train for Trainer {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    /// Several submodels at a time, each of them whole: there are many, and few labels in each.
    fn train(&self, units: &UnitSink<'_>, task: &Task) -> Result<(), Interrupted> {
        weights::write(&self.training.weights, units)?;
        let total = self.params.submodels;
        let missing: Vec<usize> =
            (0..total).filter(|&number| units.lacks(&unit_name(number))).collect();
        linear::write_each(&missing, (total, "submodels"), task, |&number| {
            let submodel = self.submodel(number, task)?;
            Ok(units.write(&unit_name(number), &arrays(&submodel.root))?)
        })
    }
}

impl Predict for LabelForest {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    /// A label's score is the sum of its probabilities in the submodels that know it, over their
    /// number (the paper's equation 14).
    fn predict(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        self.submodels.best(
            rows.features,
            query,
            |label| self.copies[label as usize] as usize,
            task,
        )
    }

    fn votes(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<RowVotes>>, Stopped> {
        Ok(vec![self.submodels.count(rows.features, query, task, Votes::take)?])
    }

    fn voters(&self) -> Vec<Vec<u32>> {
        vec![self.copies.clone()]
    }

    fn combine(&self, votes: &[RowVotes], voters: &[Vec<u32>], query: Query<'_>) -> Vec<Scored> {
        let copies = |label: u32| voters[0].get(label as usize).copied().unwrap_or(0) as usize;
        Votes::best_of(self.copies.len(), &votes[0], query.k, copies)
    }

    fn explain(
        &self,
        row: RowsView<'_>,
        labels: &[u32],
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<Reasons>>, Stopped> {
        let copies = |label: u32| self.copies.get(label as usize).copied().unwrap_or(0) as usize;
        let part = self.params.name();
        let own = self.submodels.reasons(part, row.features, (labels, query), copies, task)?;
        Ok(own.into_iter().map(|own| vec![own]).collect())
    }

    fn figures(&self) -> Vec<(String, Value)> {
        let submodels = self.submodels.trees.iter().enumerate();
        submodels.map(|(number, tree)| (unit_name(number), json!(tree.figures()))).collect()
    }

    fn update(
        &self,
        _rows: NewRows<'_>,
        _units: &UnitSink<'_>,
        _task: &Task,
    ) -> Result<(), Interrupted> {
        Ok(())
    }
}
