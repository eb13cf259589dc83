//! The settings of a CRAFTML forest.

use crate::base::settings::ParamError;
use crate::base::sparse::{CsrView, LabelRowsView};
use crate::learn::cluster::Starts;
use crate::learn::cluster::lanes::LANES;
use crate::learn::weighting::Weighting;
use serde::{Deserialize, Serialize};

/// What a forest is grown with. The paper's letters stand in each setting's description.
///
/// ```
/// use labelwood::craftml::Params;
/// let params = Params { trees: 10, ..Params::default() };
/// assert!(params.check().is_ok());
/// assert!(Params { branches: 1, ..params }.check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The number of trees (the paper's m_F).
    pub trees: usize,
    /// The most children a node has (the paper's k), 2 to 16.
    pub branches: usize,
    /// A node with fewer instances than this becomes a leaf (the paper's n_leaf).
    pub leaf: usize,
    /// How many instances of a node its split is learned from (the paper's n_s).
    pub sample: usize,
    /// How features are projected before clustering (the paper's P_x).
    pub feature_projection: Projection,
    /// The dimensions of projected features, at most (the paper's d'_x).
    pub feature_dimensions: usize,
    /// How labels are projected before clustering (the paper's P_y).
    pub label_projection: Projection,
    /// The dimensions of projected labels, at most (the paper's d'_y).
    pub label_dimensions: usize,
    /// Whether the nodes of a tree share their projections (the paper's SxSy to DxDy).
    pub diversity: Diversity,
    /// How clustering chooses its first centres.
    pub starts: Starts,
    /// Assignment passes of the clustering (the paper's i).
    pub iterations: usize,
    /// Passes that may follow while many instances share no label with any cluster.
    pub more_iterations: usize,
    /// What nearness means when an instance chooses a child.
    pub metric: Metric,
    /// How strongly a centroid is pushed away from the instances of other clusters that it is
    /// nearest to, in nodes of 100 instances and more; 0 leaves it the mean of its own.
    pub repel: f64,
    /// How feature values are weighted before anything else.
    pub weighting: Weighting,
    /// The share of a centroid's entries that is kept, the largest first; 1 keeps all. Without a
    /// number, all are kept while the forest stays below some gigabytes, else a quarter of them.
    pub keep: Option<f64>,
    /// A centroid keeps at least this many entries, whatever `keep` says.
    pub keep_at_least: usize,
    /// How centroids are stored.
    pub precision: Precision,
    /// How many paths a prediction follows in a tree at most; 1 is the paper's single path.
    pub beam: usize,
    /// Every random choice follows from this number.
    pub seed: u64,
}

/// A map to fewer dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Projection {
    /// [`Projection::None`] below 2,000 columns, else [`Projection::Hashing`]: with many labels,
    /// those that share a dimension connect instances that have no label in common.
    Auto,
    /// The columns as they are.
    None,
    /// The hashing trick: every column is added to, or taken from, one dimension.
    Hashing,
    /// Independent normal weights; dense, so at most 1000 dimensions.
    Gaussian,
}

impl Projection {
    /// What [`Projection::Auto`] means for this many columns.
    pub fn resolve(self, columns: usize) -> Projection {
        match self {
            Projection::Auto if columns < 2000 => Projection::None,
            Projection::Auto => Projection::Hashing,
            chosen => chosen,
        }
    }
}

/// Which projections are drawn anew at each node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Diversity {
    /// One feature and one label projection for a whole tree.
    SxSy,
    /// One feature projection for a tree, a label projection for each node.
    SxDy,
    /// A feature projection for each node, one label projection for a tree.
    DxSy,
    /// Both for each node.
    DxDy,
}

impl Diversity {
    /// Whether features are projected anew at each node.
    pub fn features_differ(self) -> bool {
        matches!(self, Diversity::DxSy | Diversity::DxDy)
    }

    /// Whether labels are projected anew at each node.
    pub fn labels_differ(self) -> bool {
        matches!(self, Diversity::SxDy | Diversity::DxDy)
    }
}

/// What nearness means when an instance chooses a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// The largest cosine with the child's centroid.
    Cosine,
    /// The smallest distance to the mean of the child's instances.
    Euclidean,
    /// The largest margin of a linear classifier that tells the child's sampled instances from
    /// those of its siblings: what the paper compares its centroids with. Slow.
    Linear,
}

/// How the values of centroids are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Sixteen-bit floating point.
    Half,
    /// A signed byte, scaled to the centroid's largest value.
    Byte,
}

impl Precision {
    /// How many bytes a value takes.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Precision::Half => 2,
            Precision::Byte => 1,
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Params {
            trees: 30,
            branches: 10,
            leaf: 10,
            sample: 20_000,
            feature_projection: Projection::None,
            feature_dimensions: 10_000,
            label_projection: Projection::Auto,
            label_dimensions: 10_000,
            diversity: Diversity::SxSy,
            starts: Starts::Random,
            iterations: 2,
            more_iterations: 3,
            metric: Metric::Cosine,
            repel: 0.25,
            weighting: Weighting::Auto,
            keep: None,
            keep_at_least: 40,
            precision: Precision::Byte,
            beam: 4,
            seed: 42,
        }
    }
}

impl Params {
    /// The setting that the paper published.
    ///
    /// The paper never states the number of branches; 10 is what its authors' program uses.
    pub fn paper() -> Self {
        Params {
            trees: 50,
            branches: 10,
            leaf: 10,
            sample: 20_000,
            feature_projection: Projection::Hashing,
            feature_dimensions: 10_000,
            label_projection: Projection::Hashing,
            label_dimensions: 10_000,
            diversity: Diversity::SxSy,
            starts: Starts::PlusPlus,
            iterations: 2,
            more_iterations: 0,
            metric: Metric::Cosine,
            repel: 0.0,
            weighting: Weighting::None,
            keep: Some(1.0),
            keep_at_least: 0,
            precision: Precision::Half,
            beam: 1,
            seed: 42,
        }
    }

    /// The smallest models: fewer, pruned centroids, for a small loss of accuracy.
    pub fn compact() -> Self {
        Params { trees: 25, keep: Some(0.2), keep_at_least: 30, ..Params::default() }
    }

    /// The settings with every automatic choice made for these rows.
    pub fn resolve(&self, features: CsrView<'_>, labels: LabelRowsView<'_>) -> Params {
        // Each entry comes back in about four levels of each tree, in about three bytes.
        let is_large = features.entries() as u64 * self.trees as u64 > 500_000_000;
        Params {
            weighting: self.weighting.resolve(features),
            feature_projection: self.feature_projection.resolve(features.columns()),
            label_projection: self.label_projection.resolve(labels.columns()),
            keep: Some(self.keep.unwrap_or(if is_large { 0.25 } else { 1.0 })),
            ..self.clone()
        }
    }

    /// Refuses settings that no forest can be grown with, naming the first.
    pub fn check(&self) -> Result<(), ParamError> {
        let refuse =
            |setting, found: String, expected| Err(ParamError { setting, found, expected });
        let counts = [
            ("trees", self.trees, 1, 1 << 20, "from 1 to 1,048,576"),
            ("branches", self.branches, 2, LANES, "from 2 to 16"),
            ("leaf", self.leaf, 2, usize::MAX, "at least 2"),
            ("sample", self.sample, 2, usize::MAX, "at least 2"),
            ("iterations", self.iterations, 1, 1000, "from 1 to 1000"),
            ("more_iterations", self.more_iterations, 0, 1000, "at most 1000"),
            ("beam", self.beam, 1, 1 << 20, "from 1 to 1,048,576"),
        ];
        for (setting, found, least, most, expected) in counts {
            if found < least || found > most {
                return refuse(setting, found.to_string(), expected);
            }
        }
        let projections = [
            ("feature_dimensions", self.feature_dimensions, self.feature_projection),
            ("label_dimensions", self.label_dimensions, self.label_projection),
        ];
        for (setting, found, projection) in projections {
            if found == 0 || found > 1 << 30 {
                return refuse(setting, found.to_string(), "from 1 to 1,073,741,824");
            }
            if projection == Projection::Gaussian && found > 1000 {
                return refuse(
                    setting,
                    found.to_string(),
                    "at most 1000 with a gaussian projection",
                );
            }
        }
        if !(0.0..=1.0).contains(&self.repel) {
            return refuse("repel", self.repel.to_string(), "from 0 to 1");
        }
        if let Some(keep) = self.keep.filter(|&keep| !(keep > 0.0 && keep <= 1.0)) {
            return refuse("keep", keep.to_string(), "above 0 and at most 1");
        }
        Ok(())
    }
}
