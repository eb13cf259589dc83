//! What can be learned, and with which settings.

use crate::algorithms::craftml;
use crate::algorithms::{grove, label_forest, label_tree, one_vs_rest};
use crate::base::run::Estimate;
use crate::base::settings::ParamError;
use crate::base::sparse::{CsrView, LabelRowsView};
use crate::learn::favour::Favour;
use crate::learn::weighting::Weighting;
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
    /// A CRAFTML forest and label trees that answer together.
    Grove(grove::Params),
}

impl Algorithm {
    /// The names of all algorithms.
    pub const NAMES: [&'static str; 5] =
        ["craftml", "label-tree", "one-vs-rest", "label-forest", "grove"];

    /// The algorithm's name.
    pub fn name(&self) -> &'static str {
        match self {
            Algorithm::CraftMl(_) => "craftml",
            Algorithm::LabelTree(_) => "label-tree",
            Algorithm::OneVsRest(_) => "one-vs-rest",
            Algorithm::LabelForest(_) => "label-forest",
            Algorithm::Grove(_) => "grove",
        }
    }

    /// The presets of the algorithm of that name; none if there is no such algorithm.
    pub fn presets(name: &str) -> &'static [&'static str] {
        match name {
            "craftml" => &["default", "compact", "paper"],
            "label-tree" => &label_tree::Params::PRESETS,
            "one-vs-rest" => &one_vs_rest::Params::PRESETS,
            "label-forest" => &label_forest::Params::PRESETS,
            "grove" => &["default"],
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
            ("grove", "default") => Some(Algorithm::Grove(grove::Params::default())),
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
            Algorithm::Grove(params) => serde_json::to_value(params),
        }
        .expect("settings are numbers and names")
    }

    /// Puts a value into settings as [`Algorithm::settings`] gives them, and says whether they have a
    /// setting of that name. The settings of a grove are those of its parts: `trees` is the forest's,
    /// `label_trees` the number of label trees, and any other goes to each part that has it.
    ///
    /// ```
    /// use labelwood::model::Algorithm;
    /// let mut settings = Algorithm::preset("grove", "default").unwrap().settings();
    /// assert!(Algorithm::set(&mut settings, "label_trees", &5.into()));
    /// assert!(Algorithm::set(&mut settings, "seed", &7.into()));
    /// assert!(!Algorithm::set(&mut settings, "submodels", &5.into()));
    /// assert_eq!(settings["label_tree"]["trees"], 5);
    /// assert_eq!((&settings["forest"]["seed"], &settings["label_tree"]["seed"]), (&7.into(), &7.into()));
    /// ```
    pub fn set(settings: &mut Value, setting: &str, value: &Value) -> bool {
        let Some(settings) = settings.as_object_mut() else { return false };
        if let Some(place) = settings.get_mut(setting) {
            *place = value.clone();
            return true;
        }
        let mut is_known = false;
        for (part, settings) in settings {
            let setting = match (part.as_str(), setting) {
                ("label_tree", "trees") => continue,
                ("label_tree", "label_trees") => "trees",
                (_, setting) => setting,
            };
            if let Some(place) = settings.get_mut(setting) {
                *place = value.clone();
                is_known = true;
            }
        }
        is_known
    }

    /// The algorithm of that name with settings as [`Algorithm::settings`] gives them; else what is
    /// wrong with them. Their values are not checked.
    pub fn parse(name: &str, settings: Value) -> Result<Algorithm, String> {
        match name {
            "craftml" => parse(settings).map(Algorithm::CraftMl),
            "label-tree" => parse(settings).map(Algorithm::LabelTree),
            "one-vs-rest" => parse(settings).map(Algorithm::OneVsRest),
            "label-forest" => parse(settings).map(Algorithm::LabelForest),
            "grove" => parse(settings).map(Algorithm::Grove),
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
            Algorithm::Grove(params) => params.check(),
        }
    }

    /// How feature values are weighted before anything else.
    pub fn weighting(&self) -> Weighting {
        match self {
            Algorithm::CraftMl(params) => params.weighting,
            Algorithm::LabelTree(params) => params.weighting,
            Algorithm::OneVsRest(params) => params.weighting,
            Algorithm::LabelForest(params) => params.tree.weighting,
            Algorithm::Grove(params) => params.forest.weighting,
        }
    }

    /// The algorithm as it serves what is favoured: where label trees or one-vs-rest leave the weight
    /// of rare labels' rows open, it is chosen.
    ///
    /// Elsewhere all rows count alike unless settings say otherwise. CRAFTML only counts labels, and
    /// weighting its counts is no more than weighting its scores; the blend of a grove learns what
    /// the scores of rare labels are worth, and takes such a weight out again; and a random label
    /// forest gains nothing by it.
    ///
    /// ```
    /// use labelwood::favour::Favour;
    /// use labelwood::model::Algorithm;
    /// let open = Algorithm::preset("label-tree", "default").unwrap();
    /// assert!(open.settings()["tail_weight"].is_null());
    /// let tail = open.favouring(Favour::Tail);
    /// assert_eq!(tail.settings()["tail_weight"], 0.5);
    /// assert_eq!(tail.clone().favouring(Favour::None), tail);
    /// ```
    #[must_use]
    pub fn favouring(mut self, favour: Favour) -> Algorithm {
        let gains = matches!(self, Algorithm::LabelTree(_) | Algorithm::OneVsRest(_));
        if let Some(weight) = self.tail_weight_mut() {
            weight.get_or_insert(if gains { favour.tail_weight() } else { 0.0 });
        }
        self
    }

    /// The algorithm with the weight of rare labels' rows left open, as what is favoured says.
    #[must_use]
    pub fn favouring_none(mut self) -> Algorithm {
        if let Some(weight) = self.tail_weight_mut() {
            *weight = None;
        }
        self
    }

    fn tail_weight_mut(&mut self) -> Option<&mut Option<f32>> {
        match self {
            Algorithm::CraftMl(_) => None,
            Algorithm::LabelTree(params) => Some(&mut params.tail_weight),
            Algorithm::OneVsRest(params) => Some(&mut params.tail_weight),
            Algorithm::LabelForest(params) => Some(&mut params.tree.tail_weight),
            Algorithm::Grove(params) => Some(&mut params.label_tree.tail_weight),
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
            Algorithm::Grove(params) => params.estimate(features, labels, threads),
        }
    }
}

/// Settings of a known type; names that it does not have are refused.
fn parse<T: Serialize + DeserializeOwned>(settings: Value) -> Result<T, String> {
    let parsed: T = serde_json::from_value(settings.clone()).map_err(|error| error.to_string())?;
    let known = serde_json::to_value(&parsed).map_err(|error| error.to_string())?;
    match unknown(&settings, &known) {
        Some(name) => Err(format!("`{name}` is no setting of it")),
        None => Ok(parsed),
    }
}

/// The first name among settings, and those of parts, that is not known.
fn unknown<'a>(settings: &'a Value, known: &Value) -> Option<&'a str> {
    settings.as_object()?.iter().find_map(|(name, value)| match known.get(name) {
        None => Some(name.as_str()),
        Some(known) => unknown(value, known),
    })
}
