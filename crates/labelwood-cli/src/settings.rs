//! The settings of an algorithm as flags: what was typed, and what it means.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use labelwood::craftml::ParamError;
use labelwood::favour::Favour;
use labelwood::model::Algorithm;
use labelwood::model::store::{Manifest, Training};
use labelwood::text::TextSettings;
use serde::Serialize;
use serde::de::{DeserializeOwned, IntoDeserializer, value};
use serde_json::{Map, Value};

use crate::context::Context;

/// Where the settings come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingsArgs {
    /// What to learn; auto tries some on a sample, takes what is best and fits, and says why
    /// [default: craftml]
    #[arg(long, value_name = "NAME",
        value_parser = PossibleValuesParser::new(Algorithm::NAMES.iter().chain(&[AUTO])))]
    algorithm: Option<String>,

    /// Settings to start from, which the flags below change: of craftml default, compact (the
    /// smallest models) or paper (as published); of label-tree default, libmultilabel, bonsai,
    /// parabel, plt, homer or omikuji; of one-vs-rest default or dismec; of label-forest default or
    /// paper; of grove default [default: default]
    #[arg(long, value_name = "NAME", conflicts_with = "settings",
        value_parser = PossibleValuesParser::new(presets()), hide_possible_values = true)]
    preset: Option<String>,

    /// Start from the settings of this model, or from those that `tune` found in this folder; the
    /// seed included
    #[arg(long, value_name = "MODEL")]
    settings: Option<PathBuf>,

    #[command(flatten)]
    typed: Typed,
}

/// The flags that were typed, each with the name that the setting has in the library.
#[derive(Debug, Args, Serialize)]
struct Typed {
    #[command(flatten)]
    #[serde(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    #[serde(flatten)]
    craftml: CraftMlArgs,
    #[command(flatten)]
    #[serde(flatten)]
    linear: LinearArgs,
    #[command(flatten)]
    #[serde(flatten)]
    forest: LabelForestArgs,
    #[command(flatten)]
    #[serde(flatten)]
    grove: GroveArgs,
}

/// Settings that several algorithms have.
#[derive(Debug, Args, Serialize)]
#[command(next_help_heading = "Settings of several algorithms")]
struct CommonArgs {
    /// Trees, whose scores are averaged (the CRAFTML paper's m_F)
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    trees: Option<usize>,

    /// Children of a node at most: of craftml 2 to 16 (the paper's k), of a label tree any number;
    /// 1 does not divide the labels
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    branches: Option<usize>,

    /// A craftml node with fewer instances becomes a leaf (the paper's n_leaf); a label tree's node
    /// with at most so many labels is not divided
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    leaf: Option<usize>,

    /// Passes of the clustering (the paper's i); of linear classifiers, passes over the rows at
    /// most
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    iterations: Option<usize>,

    /// How feature values are weighted first: idf is ln(1 + value) x ln(instances / instances with
    /// the feature), auto takes it when all values are whole positive numbers
    #[arg(long, value_name = "NAME", value_parser = ["auto", "none", "idf"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    weighting: Option<String>,

    /// How weights are stored: in 16 bits (half), of craftml also in 8 (byte), of linear
    /// classifiers also in 32 (single)
    #[arg(long, value_name = "NAME", value_parser = ["half", "byte", "single"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    precision: Option<String>,

    /// Paths that a prediction follows in a tree at most; 1 is the CRAFTML paper's single path
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    beam: Option<usize>,
}

/// Settings of CRAFTML alone.
#[derive(Debug, Args, Serialize)]
#[command(next_help_heading = "Settings of craftml")]
struct CraftMlArgs {
    /// Instances of a node that its split is learned from (the paper's n_s)
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<usize>,

    /// How features are projected before clustering (the paper's P_x)
    #[arg(long, value_name = "NAME", value_parser = PROJECTIONS)]
    #[serde(skip_serializing_if = "Option::is_none")]
    feature_projection: Option<String>,

    /// Dimensions of projected features at most (the paper's d'_x)
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    feature_dimensions: Option<usize>,

    /// How labels are projected before clustering (the paper's P_y)
    #[arg(long, value_name = "NAME", value_parser = PROJECTIONS)]
    #[serde(skip_serializing_if = "Option::is_none")]
    label_projection: Option<String>,

    /// Dimensions of projected labels at most (the paper's d'_y)
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    label_dimensions: Option<usize>,

    /// Whether the nodes of a tree share (s) or differ in (d) their projections of features (x)
    /// and labels (y)
    #[arg(long, value_name = "NAME", value_parser = ["sxsy", "sxdy", "dxsy", "dxdy"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    diversity: Option<String>,

    /// How clustering chooses its first centres; plus-plus is k-means++
    #[arg(long, value_name = "NAME", value_parser = ["random", "plus-plus"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    starts: Option<String>,

    /// Passes that may follow while many instances share no label with any cluster
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    more_iterations: Option<usize>,

    /// What nearness means when an instance chooses a child; linear learns a classifier for each
    #[arg(long, value_name = "NAME", value_parser = ["cosine", "euclidean", "linear"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    metric: Option<String>,

    /// How strongly a centroid is pushed away from the instances of other clusters that it is
    /// nearest to; 0 leaves it the mean of its own
    #[arg(long, value_name = "SHARE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    repel: Option<f64>,

    /// Share of a centroid's entries that is kept, the largest first; 1 keeps all [default: 1, and
    /// 0.25 for forests of many gigabytes]
    #[arg(long, value_name = "X")]
    #[serde(skip_serializing_if = "Option::is_none")]
    keep: Option<f64>,

    /// Entries that a centroid keeps at least, whatever --keep says
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_at_least: Option<usize>,
}

/// Settings of label trees and other linear classifiers.
#[derive(Debug, Args, Serialize)]
#[command(next_help_heading = "Settings of linear classifiers and label trees")]
struct LinearArgs {
    /// What a wrong or narrow margin costs
    #[arg(long, value_name = "NAME", value_parser = ["squared-hinge", "hinge", "logistic"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<String>,

    /// The weight of the loss against the length of the weights (LIBLINEAR's C)
    #[arg(long, value_name = "X")]
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f32>,

    /// The weight of positive rows against negative ones
    #[arg(long, value_name = "X")]
    #[serde(skip_serializing_if = "Option::is_none")]
    positive_weight: Option<f32>,

    /// The power of the inverse propensity of a label by which its positive rows are weighted, so
    /// that rare labels are learned at the expense of frequent ones; 0 for all alike [default: 0,
    /// and 0.5 for label-tree and one-vs-rest with --favour tail]
    #[arg(long, value_name = "X")]
    #[serde(skip_serializing_if = "Option::is_none")]
    tail_weight: Option<f32>,

    /// The value of a feature that every row has; 0 for none
    #[arg(long, value_name = "X")]
    #[serde(skip_serializing_if = "Option::is_none")]
    bias: Option<f32>,

    /// A classifier is done when the gradients of its rows lie within a range of this width
    #[arg(long, value_name = "X")]
    #[serde(skip_serializing_if = "Option::is_none")]
    tolerance: Option<f32>,

    /// Weights that are not larger than this are dropped
    #[arg(long, value_name = "X")]
    #[serde(skip_serializing_if = "Option::is_none")]
    weight_threshold: Option<f32>,

    /// With --loss logistic, whether the cost of a node is multiplied by the number of all rows over
    /// that of its own
    #[arg(long, value_name = "true|false")]
    #[serde(skip_serializing_if = "Option::is_none")]
    scale_cost: Option<bool>,

    /// Whether leaves share the beam with the nodes of later levels, and each names as many labels as
    /// it is wide, at most
    #[arg(long, value_name = "true|false")]
    #[serde(skip_serializing_if = "Option::is_none")]
    leaf_beam: Option<bool>,

    /// How margins become probabilities
    #[arg(long, value_name = "NAME",
        value_parser = ["hinge", "squared-hinge", "cubed-hinge", "sigmoid", "steep-sigmoid"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,

    /// Whether a node's groups of labels have the same size
    #[arg(long, value_name = "true|false")]
    #[serde(skip_serializing_if = "Option::is_none")]
    balanced: Option<bool>,

    /// Levels of groups that are divided again before their node gets children
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    collapse: Option<usize>,

    /// Levels of nodes at most
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<usize>,

    /// Groups with fewer labels are dissolved, and their labels go to the other groups
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    smallest_group: Option<usize>,

    /// Passes of the clustering of labels
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    passes: Option<usize>,

    /// Entries of a label's vector below this are left out before clustering
    #[arg(long, value_name = "X")]
    #[serde(skip_serializing_if = "Option::is_none")]
    vector_threshold: Option<f32>,
}

/// Settings of label forests alone.
#[derive(Debug, Args, Serialize)]
#[command(next_help_heading = "Settings of label-forest")]
struct LabelForestArgs {
    /// Submodels, each a label tree over some of the labels (the paper's N)
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    submodels: Option<usize>,

    /// Share of the labels that a submodel knows (the paper's r)
    #[arg(long, value_name = "X")]
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,

    /// How the labels of submodels are drawn: each submodel's on its own (uniform, the paper's
    /// 100U) or all labels in turn (partitions, 10P and 10Px10); the random- forms also learn
    /// whether a row has any label of a submodel
    #[arg(long, value_name = "NAME",
        value_parser = ["uniform", "partitions", "random-partitions", "random-selection"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<String>,

    /// Whether labels that no submodel drew are given to one
    #[arg(long, value_name = "true|false")]
    #[serde(skip_serializing_if = "Option::is_none")]
    cover: Option<bool>,

    /// Labels that are drawn together at most, because their rows are alike; 1 draws each alone
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<usize>,

    /// Whether rows without a label of the submodel are left out
    #[arg(long, value_name = "true|false")]
    #[serde(skip_serializing_if = "Option::is_none")]
    drop_unlabelled: Option<bool>,
}

/// Settings of groves alone; those above that only one of its parts has go to that part, others to
/// both.
#[derive(Debug, Args, Serialize)]
#[command(
    next_help_heading = "Settings of grove, besides those of craftml and label-tree, its parts"
)]
struct GroveArgs {
    /// Label trees, while --trees says how many trees the forest has
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    label_trees: Option<usize>,
}

/// The algorithm that is chosen for the data.
const AUTO: &str = "auto";

const PROJECTIONS: [&str; 4] = ["auto", "none", "hashing", "gaussian"];

/// The presets of all algorithms.
fn presets() -> Vec<&'static str> {
    let mut presets: Vec<_> =
        Algorithm::NAMES.iter().flat_map(|name| Algorithm::presets(name)).copied().collect();
    presets.sort_unstable();
    presets.dedup();
    presets
}

/// A parser of the names that a setting of the library has in model files.
pub fn named<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| {
        let name: value::StringDeserializer<value::Error> = name.into_deserializer();
        T::deserialize(name)
    })
}

/// What is to be learned.
#[derive(Debug)]
pub enum Wanted {
    /// What is best for the data.
    Auto {
        /// Seed of all randomness.
        seed: u64,
    },
    /// This.
    Named(Box<Algorithm>),
}

impl SettingsArgs {
    /// What the flags mean, checked, for a model that favours such labels.
    pub fn resolve(&self, favour: Favour, context: &Context) -> Result<Wanted> {
        if self.algorithm.as_deref() != Some(AUTO) {
            return Ok(Wanted::Named(Box::new(self.named(favour, context)?)));
        }
        let typed = self.typed()?.keys().next().cloned();
        let others = [("preset", self.preset.is_some()), ("settings", self.settings.is_some())];
        let other = others.iter().find(|(_, is_typed)| *is_typed).map(|(flag, _)| flag.to_string());
        if let Some(flag) = typed.or(other) {
            let flag = flag.replace('_', "-");
            bail!(
                "--{flag} does not go with auto, which chooses settings: leave it out, or choose an --algorithm"
            );
        }
        Ok(Wanted::Auto { seed: context.seed })
    }

    fn named(&self, favour: Favour, context: &Context) -> Result<Algorithm> {
        let (base, seed) = match &self.settings {
            Some(model) => (self.of_model(model)?, context.typed_seed),
            None => (self.of_preset()?, Some(context.seed)),
        };
        // What the model weighed is for what it favours.
        let base = if favour == self.favour()? { base } else { base.favouring_none() };
        let mut typed = self.typed()?;
        if let Some(seed) = seed {
            typed.insert("seed".to_owned(), seed.into());
        }
        Ok(over(&base, typed)?.favouring(favour))
    }

    /// The settings that were typed, by the names that they have in the library.
    pub fn typed(&self) -> Result<Map<String, Value>> {
        match serde_json::to_value(&self.typed)? {
            Value::Object(typed) => Ok(typed),
            _ => Ok(Map::new()),
        }
    }

    fn of_preset(&self) -> Result<Algorithm> {
        let name = self.algorithm.as_deref().unwrap_or(Algorithm::NAMES[0]);
        let preset = self.preset.as_deref().unwrap_or("default");
        Algorithm::preset(name, preset).ok_or_else(|| {
            let known = Algorithm::presets(name).join(", ");
            anyhow!("--preset {preset} is none of {name}, which has {known}")
        })
    }

    /// The algorithm and settings that a model was trained with.
    fn of_model(&self, model: &Path) -> Result<Algorithm> {
        let training = training(model)?;
        if let Some(name) = self.algorithm.as_ref().filter(|name| **name != training.algorithm) {
            bail!(
                "--algorithm is {name}, but {} was trained with {}: leave one of --algorithm and \
                 --settings out",
                model.display(),
                training.algorithm
            );
        }
        Algorithm::from_settings(&training.algorithm, training.settings)
            .map_err(|reason| anyhow!("{}: its settings cannot be read: {reason}", model.display()))
    }

    /// Whether the model whose settings are taken is calibrated.
    pub fn is_calibrated(&self) -> Result<bool> {
        let Some(model) = &self.settings else { return Ok(false) };
        Ok(training(model)?.calibrate)
    }

    /// What the model whose settings are taken favours.
    pub fn favour(&self) -> Result<Favour> {
        let Some(model) = &self.settings else { return Ok(Favour::None) };
        Ok(training(model)?.favour)
    }

    /// How the model whose settings are taken reads text, if it does.
    pub fn text(&self) -> Result<Option<TextSettings>> {
        let Some(model) = &self.settings else { return Ok(None) };
        let Some(text) = training(model)?.text else { return Ok(None) };
        let settings = serde_json::from_value(text)
            .with_context(|| format!("{}: its text settings cannot be read", model.display()))?;
        Ok(Some(settings))
    }
}

/// The file in the folder of a tuning that says what to train with.
pub const TUNED: &str = "settings.json";

/// What a model was trained with, or what a tuning found.
fn training(folder: &Path) -> Result<Training> {
    let tuned = folder.join(TUNED);
    if !tuned.exists() {
        return Ok(Manifest::read(folder)?.training);
    }
    let text = fs::read(&tuned).with_context(|| tuned.display().to_string())?;
    serde_json::from_slice(&text).with_context(|| tuned.display().to_string())
}

/// `base` with what was typed; a wrong value is named as it was typed.
fn over(base: &Algorithm, typed: Map<String, Value>) -> Result<Algorithm> {
    let name = base.name();
    let mut settings = base.settings();
    for (setting, value) in typed {
        let flag = setting.replace('_', "-");
        if !Algorithm::set(&mut settings, &setting, &value) {
            bail!("--{flag} is no setting of {name}: leave it out, or choose another --algorithm");
        }
        if value.is_null() {
            bail!("--{flag} must be a finite number");
        }
        // One by one, so that the one to blame can be named.
        Algorithm::parse(name, settings.clone()).map_err(|reason| {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            anyhow!("--{flag} {shown} does not go with {name}: {reason}")
        })?;
    }
    let algorithm = Algorithm::parse(name, settings).map_err(anyhow::Error::msg)?;
    algorithm.check().map_err(as_flag)?;
    Ok(algorithm)
}

/// The error with the setting's name as it is typed.
pub fn as_flag(error: ParamError) -> anyhow::Error {
    let ParamError { setting, found, expected } = error;
    anyhow::anyhow!("--{} is {found}, but must be {expected}", setting.replace('_', "-"))
}
