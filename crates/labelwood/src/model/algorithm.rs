//! What can be learned, and with which settings.

use crate::craftml;
use crate::params::ParamError;
use crate::run::Estimate;
use crate::sparse::{CsrView, LabelRowsView};
use crate::weighting::Weighting;
use crate::{label_forest, label_tree, one_vs_rest};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What to learn and with which settings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Algorithm {
    /// A CRAFTML forest.
    CraftMl(craftml::Params),
    /// Label trees.
    LabelTree(label_tree::Params),
    /// A linear classifier for every label.
    OneVsRest(one_vs_rest::Params),
    /// Label trees over random subsets of the labels (Random Label Forests).
    LabelForest(label_forest::Params),
}

impl Algorithm {
    /// The names of all algorithms.
    pub const NAMES: [&'static str; 4] = ["craftml", "label-tree", "one-vs-rest", "label-forest"];

    /// The algorithm's name.
    pub fn name(&self) -> &'static str {
        match self {
            Algorithm::CraftMl(_) => "craftml",
            Algorithm::LabelTree(_) => "label-tree",
            Algorithm::OneVsRest(_) => "one-vs-rest",
            Algorithm::LabelForest(_) => "label-forest",
        }
    }

    /// The presets of the algorithm of that name; none if there is no such algorithm.
    pub fn presets(name: &str) -> &'static [&'static str] {
        match name {
            "craftml" => &["default", "compact", "paper"],
            "label-tree" => &label_tree::Params::PRESETS,
            "one-vs-rest" => &one_vs_rest::Params::PRESETS,
            "label-forest" => &label_forest::Params::PRESETS,
            _ => &[],
        }
    }

    /// An algorithm with the settings of one of its presets.
    ///
    /// ```
    /// use labelwood::model::Algorithm;
    /// assert!(Algorithm::preset("label-tree", "bonsai").is_some());
    /// assert!(Algorithm::preset("craftml", "bonsai").is_none());
    /// ```
    pub fn preset(name: &str, preset: &str) -> Option<Algorithm> {
        match (name, preset) {
            ("craftml", "default") => Some(Algorithm::CraftMl(craftml::Params::default())),
            ("craftml", "compact") => Some(Algorithm::CraftMl(craftml::Params::compact())),
            ("craftml", "paper") => Some(Algorithm::CraftMl(craftml::Params::paper())),
            ("label-tree", _) => label_tree::Params::preset(preset).map(Algorithm::LabelTree),
            ("one-vs-rest", _) => one_vs_rest::Params::preset(preset).map(Algorithm::OneVsRest),
            ("label-forest", _) => label_forest::Params::preset(preset).map(Algorithm::LabelForest),
            _ => None,
        }
    }

    /// The settings by their names, as a model's manifest keeps them.
    pub fn settings(&self) -> Value {
        match self {
            Algorithm::CraftMl(params) => serde_json::to_value(params),
            Algorithm::LabelTree(params) => serde_json::to_value(params),
            Algorithm::OneVsRest(params) => serde_json::to_value(params),
            Algorithm::LabelForest(params) => serde_json::to_value(params),
        }
        .expect("settings are numbers and names")
    }

    /// The algorithm of that name with settings as [`Algorithm::settings`] gives them; else what is
    /// wrong with them. Their values are not checked.
    pub fn parse(name: &str, settings: Value) -> Result<Algorithm, String> {
        match name {
            "craftml" => parse(settings).map(Algorithm::CraftMl),
            "label-tree" => parse(settings).map(Algorithm::LabelTree),
            "one-vs-rest" => parse(settings).map(Algorithm::OneVsRest),
            "label-forest" => parse(settings).map(Algorithm::LabelForest),
            _ => Err(format!("`{name}` is no algorithm that this version knows")),
        }
    }

    /// As [`Algorithm::parse`], and checks the values.
    pub fn from_settings(name: &str, settings: Value) -> Result<Algorithm, String> {
        let algorithm = Self::parse(name, settings)?;
        algorithm.check().map_err(|error| error.to_string())?;
        Ok(algorithm)
    }

    /// Refuses settings that nothing can be learned with, naming the first.
    pub fn check(&self) -> Result<(), ParamError> {
        match self {
            Algorithm::CraftMl(params) => params.check(),
            Algorithm::LabelTree(params) => params.check(),
            Algorithm::OneVsRest(params) => params.check(),
            Algorithm::LabelForest(params) => params.check(),
        }
    }

    /// How feature values are weighted before anything else.
    pub fn weighting(&self) -> Weighting {
        match self {
            Algorithm::CraftMl(params) => params.weighting,
            Algorithm::LabelTree(params) => params.weighting,
            Algorithm::OneVsRest(params) => params.weighting,
            Algorithm::LabelForest(params) => params.tree.weighting,
        }
    }

    /// What learning from these rows on so many threads will need.
    pub fn estimate(
        &self,
        features: CsrView<'_>,
        labels: LabelRowsView<'_>,
        threads: usize,
    ) -> Estimate {
        match self {
            Algorithm::CraftMl(params) => params.estimate(features, labels, threads),
            Algorithm::LabelTree(params) => params.estimate(features, labels, threads),
            Algorithm::OneVsRest(params) => params.estimate(features, labels, threads),
            Algorithm::LabelForest(params) => params.estimate(features, labels, threads),
        }
    }
}

/// Settings of a known type; names that it does not have are refused.
fn parse<T: Serialize + DeserializeOwned>(settings: Value) -> Result<T, String> {
    let names: Vec<String> =
        settings.as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default();
    let parsed: T = serde_json::from_value(settings).map_err(|error| error.to_string())?;
    let known = serde_json::to_value(&parsed).map_err(|error| error.to_string())?;
    match names.iter().find(|name| known.get(name.as_str()).is_none()) {
        Some(name) => Err(format!("`{name}` is no setting of it")),
        None => Ok(parsed),
    }
}
