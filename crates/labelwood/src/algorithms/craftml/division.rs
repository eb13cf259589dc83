//! How a node is divided: what tells one forest of trees over instances from another.

use super::centroids::{assign, assign_by};
use super::grow::{Grower, Scratch, Side};
use super::node_rows::NodeRows;
use crate::base::random::Stream;
use crate::base::sparse::{Entries, OwnedEntries};
use crate::learn::cluster;

/// Divides the instances of a node among its children.
pub(in crate::algorithms) trait Division: Send + Sync {
    /// Learns the centroids of the children, and sets the lane of the child that each instance goes to.
    ///
    /// `order` are the node's instances, `node` their rows; what is random follows from `seed`.
    fn divide(
        &self,
        grower: &Grower<'_>,
        order: &[u32],
        node: &NodeRows<'_>,
        seed: u64,
        scratch: &mut Scratch,
    );
}

impl Scratch {
    /// Sends the rows with a positive margin to the second of two children, the others to the first; the last
    /// of the weights is the bias.
    pub(in crate::algorithms) fn divide_by(
        &mut self,
        grower: &Grower<'_>,
        rows: Entries<'_>,
        weights: &[f64],
    ) {
        assign_by(&mut self.centroids, rows, weights, grower.params, &mut self.row_lanes);
    }
}

/// Clusters a sample of the instances by their labels, and takes the centroid of each cluster's
/// features.
pub(super) struct Clusters;

impl Division for Clusters {
    fn divide(
        &self,
        grower: &Grower<'_>,
        order: &[u32],
        node: &NodeRows<'_>,
        seed: u64,
        scratch: &mut Scratch,
    ) {
        let settings = grower.params;
        let Scratch { clustering, centroids, sample, clusters, row_lanes, .. } = scratch;
        let mut random = Stream::new(seed);
        sample.clear();
        sample.extend(0..order.len() as u32);
        if order.len() > settings.sample {
            random.sample_to_front(sample, settings.sample);
            sample.truncate(settings.sample);
            sample.sort_unstable();
        }
        let params = cluster::Params {
            clusters: settings.branches,
            starts: settings.starts,
            passes: settings.iterations,
            more_passes: settings.more_iterations,
        };
        let (projected, all);
        let (labels, columns, rows) = match &node.labels {
            Some(labels) => (labels.view(), labels.columns.len(), sample.as_slice()),
            None => {
                projected = project_sample(&grower.labels, order, sample);
                all = (0..sample.len() as u32).collect::<Vec<u32>>();
                (projected.view(), grower.labels.projector.dimensions, all.as_slice())
            }
        };
        clustering.cluster(labels, columns, rows, params, &mut random, clusters);
        let features = &node.features;
        let columns = features.columns.len();
        assign(centroids, features.view(), columns, sample, clusters, settings, row_lanes);
    }
}

/// The labels of some of the root's rows, by the projection that all nodes share.
fn project_sample(labels: &Side<'_>, order: &[u32], sample: &[u32]) -> OwnedEntries {
    let Side { given, projector, seed, .. } = labels;
    let seed = seed.expect("labels are left out only of a root with a shared projection");
    projector.project(*given, sample.iter().map(|&row| order[row as usize]), seed)
}
