//! The algorithms, one folder each, behind three traits.
//!
//! An [`Algorithm`] is a set of settings that knows what can be done with it: it [prepares](Algorithm::prepare)
//! rows for training ([`Train`]), and [opens](Algorithm::open) what was trained ([`Predict`]). Training
//! by units, resuming, shards, budgets, shrinking, updates, the command, Python and the docs work
//! through these traits, and never ask which algorithm it is.
//!
//! To add an algorithm, make a folder with a struct of settings that implements [`Algorithm`], and add a
//! line to [`ALGORITHMS`].

mod budget;
pub mod explain;
mod linear;
mod settings;
mod units;
mod weights;

pub mod craftml;
pub mod fastxml;
pub mod grove;
pub mod label_forest;
pub mod label_tree;
pub mod names;
pub mod neighbours;
pub mod one_vs_rest;
#[cfg(test)]
mod tests;

pub use budget::{Budget, GrowError, Limits};
pub use settings::{Change, SetError, Settings};
pub use units::{Cost, Costs, Interrupted, Role, UnitSink, UnitSpec};

use crate::base::array::Array;
use crate::base::run::{Estimate, Stopped, Task};
use crate::base::settings::{ParamError, Setting};
use crate::base::sparse::{LabelSet, Predictions, Query, RowsView, Scored};
use crate::base::store::{
    ArrayRef, FormatError, Manifest, StoreError, Stored, Training, Unit, UnitFile,
};
use crate::data::{Dataset, DatasetView};
use crate::learn::favour::{Favour, Scores};
use budget::Grower;
use explain::Reasons;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Debug;
use std::ops::Range;
use units::{count_units, seconds_left, shares};

/// All algorithms with their default settings, in the order in which help and docs list them. The
/// first is the one that is trained unless another is asked for.
pub static ALGORITHMS: &[fn() -> Settings] = &[
    Settings::default_of::<grove::Params>,
    Settings::default_of::<craftml::Params>,
    Settings::default_of::<label_tree::Params>,
    Settings::default_of::<one_vs_rest::Params>,
    Settings::default_of::<label_forest::Params>,
    Settings::default_of::<fastxml::Params>,
    Settings::default_of::<neighbours::Params>,
    Settings::default_of::<names::Params>,
    #[cfg(test)]
    Settings::default_of::<tests::toy::Params>,
];

/// What every struct of settings can do, whatever the algorithm.
pub trait Values: Debug + Send + Sync {
    /// The settings by their names, as a model's manifest keeps them.
    fn values(&self) -> Value;

    /// Settings of the same algorithm with other values; else what is wrong with them. Ranges are
    /// not checked.
    fn parse(&self, values: Value) -> Result<Settings, String>;

    /// A copy.
    fn to_settings(&self) -> Settings;
}

impl<P> Values for P
where
    P: Algorithm + Clone + Serialize + DeserializeOwned + 'static,
{
    fn values(&self) -> Value {
        serde_json::to_value(self).expect("settings are numbers and names")
    }

    fn parse(&self, values: Value) -> Result<Settings, String> {
        if let Some(name) = values.as_object().and_then(|values| {
            let table = self.table();
            values.keys().find(|name| table.iter().all(|setting| setting.name != *name)).cloned()
        }) {
            return Err(format!("`{name}` is no setting of it"));
        }
        let parsed: P = serde_json::from_value(values).map_err(|error| error.to_string())?;
        Ok(Settings::from(parsed))
    }

    fn to_settings(&self) -> Settings {
        Settings::from(self.clone())
    }
}

/// An algorithm with its settings: what can be learned with them, and what was.
pub trait Algorithm: Values {
    /// The name in the command, in Python and in model files.
    fn name(&self) -> &'static str;

    /// What it is, in one sentence.
    fn about(&self) -> &'static str;

    /// The table of its settings.
    fn table(&self) -> Vec<Setting>;

    /// Its presets by their names; the first is `default`.
    fn presets(&self) -> Vec<(&'static str, Settings)>;

    /// What is special about it.
    fn facts(&self) -> Facts;

    /// Refuses settings that nothing can be learned with, naming the first.
    fn check(&self) -> Result<(), ParamError>;

    /// The settings with every automatic choice made for these rows.
    fn resolve(&self, rows: DatasetView<'_>) -> Settings;

    /// The settings as they serve what is favoured; without a word of what is, those that follow
    /// from it are left open.
    fn favouring(&self, _favour: Option<Favour>) -> Settings {
        self.to_settings()
    }

    /// The settings with another value of one of them.
    fn with(&self, setting: &str, value: &Value) -> Result<Settings, SetError> {
        let mut values = self.values();
        match values.get_mut(setting) {
            Some(place) => *place = value.clone(),
            None if self.table().iter().any(|known| known.name == setting) => {
                values[setting] = value.clone();
            }
            None => return Err(SetError::Unknown),
        }
        self.parse(values).map_err(SetError::Wrong)
    }

    /// The value of a setting; of an algorithm that has parts, that of the first part that has it.
    fn find(&self, setting: &str) -> Option<Value> {
        self.values().get(setting).cloned()
    }

    /// How many of what it is made of: trees, say, that it grows one by one.
    fn size(&self) -> Vec<Size> {
        Vec::new()
    }

    /// The settings with these numbers instead of those of [`Algorithm::size`].
    fn resized(&self, _sizes: &[usize]) -> Settings {
        self.to_settings()
    }

    /// The settings with one of so many trees; only of what [grows](Facts::grows) one by one.
    fn reduced(&self, divisor: usize) -> Settings {
        match self.facts().grows {
            Some(_) => {
                let fewer: Vec<usize> =
                    self.size().iter().map(|size| size.count.div_ceil(divisor)).collect();
                self.resized(&fewer)
            }
            None => self.to_settings(),
        }
    }

    /// Whether a training of these settings within limits may end with settings that were found.
    fn may_become(&self, found: &Settings) -> bool {
        found.name() == self.name() && is_resized(self, found)
    }

    /// What a training within limits had to leave out, besides trees, to come to these settings.
    fn left_out(&self) -> Option<&'static str> {
        None
    }

    /// What held-out rows decided, in words, if they did.
    fn chosen(&self) -> Option<&str> {
        None
    }

    /// What tuning tries, each with the values of one setting.
    fn changes(&self) -> Vec<Change> {
        let tried = |setting: Setting| {
            (!setting.tried.is_empty())
                .then(|| Change { setting: setting.name.to_owned(), values: setting.tried })
        };
        self.table().into_iter().filter_map(tried).collect()
    }

    /// Changes of settings that need less memory, the least harmful first, as settings and values.
    fn savings(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// What its models know of a label besides its score, by names: a grove's ranker goes by it.
    fn numbers(&self) -> &'static [&'static str] {
        &[]
    }

    /// The algorithms that it is made of, if it is made of others.
    fn parts(&self) -> &[Settings] {
        &[]
    }

    /// What learning from these rows on so many threads will need.
    fn estimate(&self, rows: DatasetView<'_>, threads: usize) -> Estimate;

    /// How many members a model of so many labels has: trees, submodels or blocks of labels, of
    /// which prediction may leave out some.
    fn members(&self, labels: usize) -> usize;

    /// The member that a unit of a model of so many labels belongs to, if it belongs to one: the first
    /// number in the unit's name, as in `tree-0007-root`.
    fn member(&self, unit: &str, _labels: usize) -> Option<usize> {
        unit.split('-').find_map(|word| word.parse().ok())
    }

    /// All units of a model of so many labels, in the manifest's order, as far as they are known:
    /// some follow from what is in others, which `open` opens if they are finished.
    fn units(&self, labels: usize, open: &OpenUnit<'_>) -> Result<Vec<UnitSpec>, StoreError>;

    /// What training each of these units takes, about.
    fn costs(&self, units: &[UnitSpec], rows: DatasetView<'_>, threads: usize) -> Costs;

    /// Checks the settings and prepares the rows for training.
    fn prepare<'a>(
        &self,
        rows: DatasetView<'a>,
        task: &Task,
    ) -> Result<Box<dyn Train + 'a>, Interrupted>;

    /// The same for a training within limits, which may make its choices as it goes.
    fn prepare_within<'a>(
        &self,
        rows: DatasetView<'a>,
        task: &Task,
    ) -> Result<Box<dyn Train + 'a>, Interrupted> {
        self.prepare(rows, task)
    }

    /// Opens what was trained with these settings, or some members of it.
    fn open(&self, trained: &Trained<'_>) -> Result<Box<dyn Predict>, FormatError>;

    /// The settings of a smaller model; nothing if it does not store such values.
    fn shrunk(&self, _how: Shrink) -> Option<Settings> {
        None
    }

    /// Hands a unit that becomes smaller to `write`; nothing if it stays as it is.
    fn shrink_unit(
        &self,
        _how: Shrink,
        _stored: &Stored,
        _name: &str,
        _write: &WriteUnit<'_>,
    ) -> Result<Option<Shrunk>, StoreError> {
        Ok(None)
    }
}

/// Whether settings are those that were planned but for the number of trees, which is not larger.
fn is_resized<A: Algorithm + ?Sized>(planned: &A, found: &Settings) -> bool {
    let sizes: Vec<usize> = found.size().iter().map(|size| size.count).collect();
    let fits = |(planned, &found): (&Size, &usize)| found <= planned.count;
    planned.size().len() == sizes.len()
        && planned.size().iter().zip(&sizes).all(fits)
        && planned.resized(&sizes) == *found
}

/// Opens a unit by its name if it is finished.
pub type OpenUnit<'a> = dyn Fn(&str) -> Result<Option<Unit>, StoreError> + 'a;

/// Writes the arrays of a unit.
pub type WriteUnit<'a> = dyn Fn(&[(&str, ArrayRef<'_>)]) -> Result<UnitFile, StoreError> + 'a;

/// What is special about an algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// What its scores are like.
    pub scores: Scores,
    /// Whether its scores are probabilities that need no calibration.
    pub is_calibrated: bool,
    /// Whether a training may stop after any tree, and the model has the trees until then.
    pub grows: Option<Growth>,
    /// What the finished units are called when they are counted.
    pub units: &'static str,
    /// Whether more rows can be added to a trained model.
    pub updates: Updates,
    /// Whether it goes by which labels' names are in a text.
    pub reads_names: bool,
    /// Whether it learns nothing without training rows.
    pub needs_rows: bool,
    /// The most labels for which a choice among algorithms tries this one beside the others.
    pub tried_up_to: usize,
    /// Whether one tree of it is quick and steady enough to judge how text is read.
    pub judges: bool,
}

/// How trees are grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// As many at a time as there are threads.
    Together,
    /// One after the other, each on all threads.
    OneByOne,
}

/// What an update of a trained model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updates {
    /// Nothing but the new rows; what is not learned again without the training rows, if anything.
    Always(Option<&'static str>),
    /// The training rows, which the model must hold.
    WithRows,
    /// It cannot be updated.
    Never,
}

/// How many of what an algorithm is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The number.
    pub count: usize,
    /// What one is called.
    pub noun: &'static str,
}

/// How a model is made smaller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shrink {
    /// Weights of at most this are dropped; of a CRAFTML forest, entries of its centroids, which
    /// are vectors of length 1 unless the metric is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prune: Option<f32>,
    /// How the others are stored; as they are without a word about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<StoredAs>,
}

crate::base::settings::choices! {
    /// How the values of a model are stored.
    pub enum StoredAs {
        /// Bytes, which CRAFTML scales to the largest value of a centroid.
        U8 = "u8",
        /// Sixteen-bit floating point.
        F16 = "f16",
        /// Thirty-two bits, of linear classifiers only.
        F32 = "f32",
    }
}

/// What became of a unit that was made smaller.
pub struct Shrunk {
    /// The new file.
    pub file: UnitFile,
    /// What was counted.
    pub what: &'static str,
    /// How many there were.
    pub before: u64,
    /// How many are left.
    pub after: u64,
    /// The largest of them by magnitude, if none is left.
    pub largest: f32,
}

/// Rows that are prepared for training.
pub trait Train: Sync {
    /// The settings with every automatic choice made.
    fn settings(&self) -> Settings;

    /// Trains the units that `units` lacks and writes each as it is done.
    fn train(&self, units: &UnitSink<'_>, task: &Task) -> Result<(), Interrupted>;

    /// Trains the first so many members, asking before each is begun whether to go on. Only of what
    /// [grows](Facts::grows).
    fn grow(
        &self,
        members: usize,
        goes_on: &(dyn Fn() -> bool + Sync),
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        let _ = (members, goes_on);
        self.train(units, task)
    }

    /// Trains as much as the budget allows, and gives the settings of that.
    fn train_within(
        &self,
        budget: &Budget,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<Settings, GrowError> {
        let settings = self.settings();
        let most = settings.size().first().map_or(0, |size| size.count);
        let members = Grower::new(self, units, budget, task).grow(most, 0, |_, _| 0.0, None)?;
        match members {
            0 => Err(GrowError::TimeUp),
            members => Ok(settings.resized(&[members])),
        }
    }
}

/// A trained model that is to be opened.
pub struct Trained<'a> {
    /// Its files.
    pub stored: &'a Stored,
    /// How many training rows have each label.
    pub counts: &'a Array<u32>,
    /// The members to open, by the numbers that [`Algorithm::member`] gives.
    pub members: Range<usize>,
}

/// Rows that are added to a trained model.
#[derive(Clone, Copy)]
pub struct NewRows<'a> {
    /// The new rows, with the model's features.
    pub added: DatasetView<'a>,
    /// The training rows and after them the new ones, if the model holds its rows.
    pub all: Option<&'a Dataset>,
    /// The labels of the new rows, and those that have new names.
    pub touched: &'a LabelSet,
}

impl NewRows<'_> {
    /// How many rows the model knows, if they are here.
    pub fn known(&self) -> Option<usize> {
        self.all.map(|all| all.len() - self.added.len())
    }
}

/// The votes of some voters for the labels of a row.
pub type RowVotes = Vec<(u32, u64)>;

/// What was learned.
pub trait Predict: Debug + Send + Sync {
    /// The settings that it was learned with.
    fn settings(&self) -> Settings;

    /// The best labels of each row. Columns that training did not know are ignored.
    fn predict(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped>;

    /// What the members that are open say about each row, for each kind of them: all labels that got
    /// votes, not only the best, since a label that is best nowhere may be so in sum.
    fn votes(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<RowVotes>>, Stopped>;

    /// For each kind of members, how many of those that are open vote for each label; nothing for a
    /// kind of which all do.
    fn voters(&self) -> Vec<Vec<u32>> {
        vec![Vec::new()]
    }

    /// The best labels of a row from the votes of all members, of each kind.
    fn combine(&self, votes: &[RowVotes], voters: &[Vec<u32>], query: Query<'_>) -> Vec<Scored>;

    /// The [numbers](Algorithm::numbers) of some labels, one label after the other, from the votes of
    /// all members for a row.
    fn numbers_of(&self, _votes: &[RowVotes], _labels: &[Scored]) -> Vec<f32> {
        Vec::new()
    }

    /// What speaks for and against each of some labels of a row, the only one of `row`, if it is asked
    /// `query`: for each label what each part says, or what this algorithm does.
    fn explain(
        &self,
        row: RowsView<'_>,
        labels: &[u32],
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<Reasons>>, Stopped>;

    /// The figures of each tree, submodel or block by the name of its first unit.
    fn figures(&self) -> Vec<(String, Value)>;

    /// The least score of a label that is worth giving, if it was learned from rows that were held out.
    fn threshold(&self) -> Option<f32> {
        None
    }

    /// Further tables for people, such as what the scores of parts are worth.
    fn tables(&self) -> Vec<Table> {
        Vec::new()
    }

    /// Writes what the new rows change.
    fn update(
        &self,
        rows: NewRows<'_>,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted>;

    /// The labels below each child of the root of a tree over labels, if there is one of that number.
    fn clusters(&self, _tree: usize) -> Option<Vec<Vec<u32>>> {
        None
    }
}

/// A table for people and, by its name, in JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name in JSON.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Its rows: each cell by the name of its column.
    pub rows: Vec<serde_json::Map<String, Value>>,
}

/// What was learned from rows in memory; nothing is written to disk.
pub(crate) struct Learned {
    settings: Settings,
    stored: Stored,
    counts: Array<u32>,
}

impl Learned {
    /// Learns from rows. The settings must have been checked.
    pub(crate) fn from_rows(
        settings: &Settings,
        rows: DatasetView<'_>,
        task: &Task,
    ) -> Result<Self, Interrupted> {
        let trainer = settings.prepare(rows, task)?;
        let units = UnitSink::in_memory();
        trainer.train(&units, task)?;
        let (settings, labels) = (trainer.settings(), rows.labels.columns());
        drop(trainer);
        let specs = settings.units(labels, &|name| units.open(name))?;
        let files = units.listed(specs.iter().map(|unit| unit.name.as_str()));
        let manifest = Manifest {
            training: Training::of(settings.name(), settings.values(), String::new()),
            instances: rows.len() as u64,
            features: rows.features.columns() as u64,
            labels: labels as u64,
            units: files,
        };
        let stored = Stored::in_memory(manifest.clone(), units.take_memory(&manifest.units));
        Ok(Learned { settings, stored, counts: Array::from(rows.labels.column_counts()) })
    }

    /// The bytes of its units.
    pub(crate) fn bytes(&self) -> u64 {
        self.stored.manifest().units.iter().map(|unit| unit.bytes).sum()
    }

    /// What was learned with these settings, which have no more trees than those it was learned with.
    pub(crate) fn open(
        &self,
        settings: &Settings,
        task: &Task,
    ) -> Result<Box<dyn Predict>, Interrupted> {
        let members = 0..settings.members(self.counts.len());
        let trained = Trained { stored: &self.stored, counts: &self.counts, members };
        Ok(task.install(|| settings.open(&trained)).map_err(StoreError::from)?)
    }
}

/// Learns from rows in memory. The settings must have been checked.
pub(crate) fn learn_in_memory(
    settings: &Settings,
    rows: DatasetView<'_>,
    task: &Task,
) -> Result<Box<dyn Predict>, Interrupted> {
    let learned = Learned::from_rows(settings, rows, task)?;
    learned.open(&learned.settings, task)
}
