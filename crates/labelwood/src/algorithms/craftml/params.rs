//! The settings of a CRAFTML forest.

use crate::base::settings::{ParamError, choices, settings};
use crate::data::DatasetView;
use crate::learn::cluster::Starts;
use crate::learn::cluster::lanes::LANES;
use crate::learn::weighting::Weighting;
use serde::{Deserialize, Serialize};

settings! {
    /// What a forest is grown with. The paper's letters stand in each setting's description.
    ///
    /// ```
    /// use labelwood::algorithms::craftml::Params;
    /// let params = Params { trees: 10, ..Params::default() };
    /// assert!(params.check().is_ok());
    /// assert!(Params { branches: 1, ..params }.check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Params {
        /// Trees, whose scores are averaged (the paper's m_F).
        trees: usize = 30, within(1.0, 1_048_576.0), common();
        /// Children of a node at most (the paper's k).
        branches: usize = 10, within(2.0, LANES as f64);
        /// A node with fewer instances than this becomes a leaf (the paper's n_leaf).
        leaf: usize = 10, least(2.0), tried([10.into(), 5.into(), 20.into()]);
        /// Instances of a node that its split is learned from, at most (the paper's n_s).
        sample: usize = 20_000, least(2.0);
        /// How features are projected before clustering (the paper's P_x).
        feature_projection: Projection = Projection::None;
        /// Dimensions of projected features at most (the paper's d'_x).
        feature_dimensions: usize = 10_000, within(1.0, 1_073_741_824.0);
        /// How labels are projected before clustering (the paper's P_y); auto hashes 2,000 labels
        /// and more.
        label_projection: Projection = Projection::Auto;
        /// Dimensions of projected labels at most (the paper's d'_y).
        label_dimensions: usize = 10_000, within(1.0, 1_073_741_824.0);
        /// Whether the nodes of a tree share (s) or differ in (d) their projections of features (x)
        /// and labels (y).
        diversity: Diversity = Diversity::SxSy;
        /// How clustering chooses its first centres; plus-plus is k-means++.
        starts: Starts = Starts::Random;
        /// Assignment passes of the clustering (the paper's i).
        iterations: usize = 2, within(1.0, 1000.0);
        /// Passes that may follow while many instances share no label with any cluster.
        more_iterations: usize = 3, within(0.0, 1000.0);
        /// What nearness means when an instance chooses a child; linear learns a classifier for each,
        /// which is slow.
        metric: Metric = Metric::Cosine;
        /// How strongly a centroid is pushed away from the instances of other clusters that it is
        /// nearest to, in nodes of 100 instances and more; 0 leaves it the mean of its own.
        repel: f64 = 0.25, within(0.0, 1.0), tried([0.25.into(), 0.0.into(), 0.5.into()]);
        /// How feature values are weighted first: idf is ln(1 + value) x ln(instances / instances with
        /// the feature), auto takes it when all values are whole positive numbers.
        weighting: Weighting = Weighting::Auto, tried(["idf".into(), "none".into()]);
        /// Share of a centroid's entries that is kept, the largest first; 1 keeps all. Left open, all
        /// are kept, and a quarter of them in forests of many gigabytes.
        keep: Option<f64> = None, above(0.0, 1.0);
        /// Entries that a centroid keeps at least, whatever keep says.
        keep_at_least: usize = 40;
        /// How centroids are stored: in 8 bits (byte) or in 16 (half).
        precision: Precision = Precision::Byte;
        /// Paths that a prediction follows in a tree at most; 1 is the paper's single path.
        beam: usize = 4, within(1.0, 1_048_576.0);
        /// Every random choice follows from this number.
        seed: u64 = 42, elsewhere();
    }
}

choices! {
/// A map to fewer dimensions.
pub enum Projection {
    /// [`Projection::None`] below 2,000 columns, else [`Projection::Hashing`]: with many labels,
    /// those that share a dimension connect instances that have no label in common.
    Auto = "auto",
    /// The columns as they are.
    None = "none",
    /// The hashing trick: every column is added to, or taken from, one dimension.
    Hashing = "hashing",
    /// Independent normal weights; dense, so at most 1000 dimensions.
    Gaussian = "gaussian",
}
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

choices! {
/// Which projections are drawn anew at each node.
pub enum Diversity {
    /// One feature and one label projection for a whole tree.
    SxSy = "sxsy",
    /// One feature projection for a tree, a label projection for each node.
    SxDy = "sxdy",
    /// A feature projection for each node, one label projection for a tree.
    DxSy = "dxsy",
    /// Both for each node.
    DxDy = "dxdy",
}
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

choices! {
/// What nearness means when an instance chooses a child.
pub enum Metric {
    /// The largest cosine with the child's centroid.
    Cosine = "cosine",
    /// The smallest distance to the mean of the child's instances.
    Euclidean = "euclidean",
    /// The largest margin of a linear classifier that tells the child's sampled instances from
    /// those of its siblings: what the paper compares its centroids with. Slow.
    Linear = "linear",
}
}

choices! {
/// How the values of centroids are stored.
pub enum Precision {
    /// Sixteen-bit floating point.
    Half = "half",
    /// A signed byte, scaled to the centroid's largest value.
    Byte = "byte",
}
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
    pub(super) fn resolved(&self, rows: DatasetView<'_>) -> Params {
        let DatasetView { features, labels, .. } = rows;
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
        self.check_values()?;
        let projections = [
            ("feature_dimensions", self.feature_dimensions, self.feature_projection),
            ("label_dimensions", self.label_dimensions, self.label_projection),
        ];
        for (setting, found, projection) in projections {
            if projection == Projection::Gaussian && found > 1000 {
                let expected = "at most 1000 with a gaussian projection";
                return Err(ParamError::new(setting, found, expected));
            }
        }
        Ok(())
    }
}
