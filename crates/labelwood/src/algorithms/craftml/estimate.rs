//! What a training will need, before it starts.

use super::params::{Params, Precision, Projection};
use super::project::Projector;
use crate::base::run::Estimate;
use crate::base::sparse::{CsrView, LabelRowsView};
use crate::data::DatasetView;
use xxhash_rust::xxh3::Xxh3;
use zerocopy::IntoBytes;

/// The rows that differ: equal ones go the same way through every tree and count once in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Distinct {
    rows: u64,
    entries: u64,
    label_entries: u64,
}

impl Distinct {
    /// Finds rows that agree in features and labels, by a hash of both.
    fn of(features: CsrView<'_>, labels: LabelRowsView<'_>) -> Self {
        let mut hasher = Xxh3::new();
        let mut found: Vec<(u64, u32)> = Vec::with_capacity(features.len());
        for (at, (row, labels)) in features.rows().zip(labels.rows()).enumerate() {
            hasher.reset();
            hasher.update(row.indices.as_bytes());
            hasher.update(row.values.as_bytes());
            // Where features end and labels start must tell, too.
            hasher.update(&(labels.len() as u64).to_le_bytes());
            hasher.update(labels.indices.as_bytes());
            found.push((hasher.digest(), at as u32));
        }
        found.sort_unstable();
        found.dedup_by_key(|(hash, _)| *hash);
        let sum = |length: &dyn Fn(usize) -> usize| {
            found.iter().map(|&(_, row)| length(row as usize) as u64).sum()
        };
        Distinct {
            rows: found.len() as u64,
            entries: sum(&|row| features.row(row).len()),
            label_entries: sum(&|row| labels.row(row).len()),
        }
    }
}

/// Estimates from the shape of the rows; `threads` trees grow at the same time.
///
/// The model's part is an upper estimate: how many entries centroids share is not known before.
pub(super) fn estimate(params: &Params, dataset: DatasetView<'_>, threads: usize) -> Estimate {
    let DatasetView { features, labels, .. } = dataset;
    let distinct = Distinct::of(features, labels);
    let params = &params.resolved(dataset);
    let (rows, entries) = (features.len() as u64, features.entries() as u64);
    let label_entries = labels.entries() as u64;
    let csr = |rows: u64, entries: u64, width: u64| rows * 8 + entries * width;
    let given = csr(rows, entries, 8) + csr(rows, label_entries, 4);
    let prepared = params.weighting.prepared_bytes(features) + label_entries * 4 + rows * 16;
    let projected = |to: Projector, entries: u64| match to.kind {
        Projection::Gaussian => csr(rows, rows * to.dimensions as u64, 8),
        _ => csr(rows, entries, 8),
    };
    let features_to = Projector::of_features(params, features.columns());
    let projected_features = projected(features_to, entries);
    let projected_labels = projected(Projector::of_labels(params, labels.columns()), label_entries);
    // A node that projects its own rows has them until all its children have theirs. Labels
    // that nodes share are projected for the root's sample, and then for each of its children.
    let own_features = match params.diversity.features_differ() {
        true => 2 * projected_features,
        false if features_to.is_identity() => 0,
        false => projected_features,
    };
    let own_labels = if params.diversity.labels_differ() { 2 * projected_labels } else { 0 };
    let own = own_features + own_labels;
    // A growing tree holds a copy of the rows of the root's child that is being grown, of which
    // the largest has about a fifth, and for a moment another of the same rows.
    let sampled = projected_labels * rows.min(params.sample as u64) / rows.max(1);
    let copies = ((projected_features + projected_labels) * 2 / 5).max(sampled);
    // The order of the rows, the sample, the lane of each, and three more lists of them.
    let lists = rows * 21;
    let scratch = copies + (features.columns() + labels.columns()) as u64 * 72 + lists;
    // Instances lie about `leaf / 3` to a leaf; every level repeats the entries of its nodes,
    // each as a word of two bytes and one value.
    let leaves = (rows * 3 / params.leaf as u64).min(distinct.rows).max(1) as f64;
    let levels = (leaves.ln() / (params.branches as f64).ln()).ceil().max(1.0);
    let width = match params.precision {
        Precision::Byte => 4,
        Precision::Half => 5,
    };
    let kept = levels * 0.6 * params.keep.unwrap_or(1.0);
    let centroids = (distinct.entries as f64 * kept) as u64;
    let tree = centroids * width + distinct.label_entries * 5 + distinct.rows * 16;
    // Beside a tree is the largest of its subtrees that are not yet part of it.
    let growing = threads.min(params.trees) as u64 * (own + scratch + tree * 3 / 2);
    Estimate {
        // Large arrays are made as long as they become; what one that grows has room for but
        // does not hold takes no memory, since nothing was written there.
        memory: given + prepared + growing,
        model: tree * params.trees as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use crate::data;

    #[test]
    fn rows_that_repeat_count_once() {
        let distinct = |text: &[u8]| {
            let (options, task) = (data::ReadOptions::default(), Pool::new(1).unwrap().task());
            let rows = data::read_bytes(text, "a.svm", &options, &task).unwrap().dataset;
            Distinct::of(rows.features.view(), rows.labels.view())
        };
        let once = distinct(b"0 1:1\n1 2:1\n");
        assert_eq!(distinct(b"0 1:1\n1 2:1\n0 1:1\n"), once);
        assert_ne!(distinct(b"0 1:1\n1 2:1\n1 1:1\n"), once);
    }
}
