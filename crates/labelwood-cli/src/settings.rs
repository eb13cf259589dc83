//! The settings of an algorithm as flags: what was typed, and what it means.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use labelwood::craftml::{
    Diversity, Metric, ParamError, Params, Precision, Projection, Starts, Weighting,
};
use labelwood::model::store::Manifest;
use serde::de::{DeserializeOwned, IntoDeserializer, value};

use crate::context::Context;

/// What can be learned.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AlgorithmName {
    /// A forest of clustered instance trees
    Craftml,
}

/// Settings to start from.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Preset {
    /// The best accuracy for its cost
    Default,
    /// The smallest models, for a small loss of accuracy
    Compact,
    /// What the paper published: 50 trees, hashed dimensions, a single path, no weights
    Paper,
}

/// Where the settings come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingsArgs {
    /// What to learn
    #[arg(long, value_name = "NAME", default_value = "craftml")]
    pub algorithm: AlgorithmName,

    /// Settings to start from; the flags below change them [default: default]
    #[arg(long, value_name = "NAME", conflicts_with = "settings")]
    preset: Option<Preset>,

    /// Start from the settings of this model, its seed included
    #[arg(long, value_name = "MODEL")]
    settings: Option<PathBuf>,

    #[command(flatten)]
    craftml: CraftMlArgs,
}

/// The settings of CRAFTML, each with the name it has in [`Params`].
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings of craftml")]
struct CraftMlArgs {
    /// Trees of the forest (the paper's m_F)
    #[arg(long, value_name = "N")]
    trees: Option<usize>,

    /// Children of a node at most, 2 to 16 (the paper's k)
    #[arg(long, value_name = "N")]
    branches: Option<usize>,

    /// A node with fewer instances becomes a leaf (the paper's n_leaf)
    #[arg(long, value_name = "N")]
    leaf: Option<usize>,

    /// Instances of a node that its split is learned from (the paper's n_s)
    #[arg(long, value_name = "N")]
    sample: Option<usize>,

    /// How features are projected before clustering (the paper's P_x)
    #[arg(long, value_name = "NAME", value_parser = named::<Projection>(&PROJECTIONS))]
    feature_projection: Option<Projection>,

    /// Dimensions of projected features at most (the paper's d'_x)
    #[arg(long, value_name = "N")]
    feature_dimensions: Option<usize>,

    /// How labels are projected before clustering (the paper's P_y)
    #[arg(long, value_name = "NAME", value_parser = named::<Projection>(&PROJECTIONS))]
    label_projection: Option<Projection>,

    /// Dimensions of projected labels at most (the paper's d'_y)
    #[arg(long, value_name = "N")]
    label_dimensions: Option<usize>,

    /// Whether the nodes of a tree share (s) or differ in (d) their projections of features (x)
    /// and labels (y)
    #[arg(long, value_name = "NAME", value_parser = named::<Diversity>(&["sxsy", "sxdy", "dxsy", "dxdy"]))]
    diversity: Option<Diversity>,

    /// How clustering chooses its first centres; plus-plus is k-means++
    #[arg(long, value_name = "NAME", value_parser = named::<Starts>(&["random", "plus-plus"]))]
    starts: Option<Starts>,

    /// Passes of the clustering (the paper's i)
    #[arg(long, value_name = "N")]
    iterations: Option<usize>,

    /// Passes that may follow while many instances share no label with any cluster
    #[arg(long, value_name = "N")]
    more_iterations: Option<usize>,

    /// What nearness means when an instance chooses a child
    #[arg(long, value_name = "NAME", value_parser = named::<Metric>(&["cosine", "euclidean"]))]
    metric: Option<Metric>,

    /// How strongly a centroid is pushed away from the instances of other clusters that it is
    /// nearest to; 0 leaves it the mean of its own
    #[arg(long, value_name = "SHARE")]
    repel: Option<f64>,

    /// How feature values are weighted first: idf is ln(1 + value) x ln(instances / instances with
    /// the feature), auto takes it when all values are whole positive numbers
    #[arg(long, value_name = "NAME", value_parser = named::<Weighting>(&["auto", "none", "idf"]))]
    weighting: Option<Weighting>,

    /// Share of a centroid's entries that is kept, the largest first; 1 keeps all [default: 1, and
    /// 0.25 for forests of many gigabytes]
    #[arg(long, value_name = "X")]
    keep: Option<f64>,

    /// Entries that a centroid keeps at least, whatever --keep says
    #[arg(long, value_name = "N")]
    keep_at_least: Option<usize>,

    /// How centroids are stored: in sixteen bits or in eight
    #[arg(long, value_name = "NAME", value_parser = named::<Precision>(&["half", "byte"]))]
    precision: Option<Precision>,

    /// Paths that a prediction follows in a tree at most; 1 is the paper's single path
    #[arg(long, value_name = "N")]
    beam: Option<usize>,
}

const PROJECTIONS: [&str; 4] = ["auto", "none", "hashing", "gaussian"];

/// A parser of the names that a setting of the library has in model files.
fn named<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| {
        let name: value::StringDeserializer<value::Error> = name.into_deserializer();
        T::deserialize(name)
    })
}

impl SettingsArgs {
    /// The settings that the flags mean, checked.
    pub fn resolve(&self, context: &Context) -> Result<Params> {
        let AlgorithmName::Craftml = self.algorithm;
        let base = match (&self.settings, self.preset) {
            (Some(model), _) => settings_of(model)?,
            (None, Some(Preset::Paper)) => Params { seed: context.seed, ..Params::paper() },
            (None, Some(Preset::Compact)) => Params { seed: context.seed, ..Params::compact() },
            (None, Some(Preset::Default) | None) => {
                Params { seed: context.seed, ..Params::default() }
            }
        };
        let params = self.craftml.over(base, context.typed_seed);
        params.check().map_err(as_flag)?;
        Ok(params)
    }
}

/// The settings that a model was trained with.
fn settings_of(model: &std::path::Path) -> Result<Params> {
    let settings = Manifest::read(model)?.training.settings;
    serde_json::from_value(settings)
        .with_context(|| format!("{}: its settings cannot be read", model.display()))
}

/// The error with the setting's name as it is typed.
fn as_flag(error: ParamError) -> anyhow::Error {
    let ParamError { setting, found, expected } = error;
    anyhow::anyhow!("--{} is {found}, but must be {expected}", setting.replace('_', "-"))
}

impl CraftMlArgs {
    /// What was typed, and `base` for the rest.
    fn over(&self, base: Params, seed: Option<u64>) -> Params {
        Params {
            trees: self.trees.unwrap_or(base.trees),
            branches: self.branches.unwrap_or(base.branches),
            leaf: self.leaf.unwrap_or(base.leaf),
            sample: self.sample.unwrap_or(base.sample),
            feature_projection: self.feature_projection.unwrap_or(base.feature_projection),
            feature_dimensions: self.feature_dimensions.unwrap_or(base.feature_dimensions),
            label_projection: self.label_projection.unwrap_or(base.label_projection),
            label_dimensions: self.label_dimensions.unwrap_or(base.label_dimensions),
            diversity: self.diversity.unwrap_or(base.diversity),
            starts: self.starts.unwrap_or(base.starts),
            iterations: self.iterations.unwrap_or(base.iterations),
            more_iterations: self.more_iterations.unwrap_or(base.more_iterations),
            metric: self.metric.unwrap_or(base.metric),
            repel: self.repel.unwrap_or(base.repel),
            weighting: self.weighting.unwrap_or(base.weighting),
            keep: self.keep.or(base.keep),
            keep_at_least: self.keep_at_least.unwrap_or(base.keep_at_least),
            precision: self.precision.unwrap_or(base.precision),
            beam: self.beam.unwrap_or(base.beam),
            seed: seed.unwrap_or(base.seed),
        }
    }
}
