//! The centroids of a node's clusters, and which of them each instance is nearest to.

use super::params::{Metric, Params, Precision};
use crate::base::random::{Stream, derive};
use crate::base::sparse::Entries;
use crate::learn::cluster::UNASSIGNED;
use crate::learn::cluster::lanes::{LANES, Lanes, best_lane, products};
use crate::learn::solver::{self, Rows, Workspace};
use multiversion::multiversion;

/// The least sample for which [`Params::repel`] is applied: in smaller nodes few rows are nearest to
/// a wrong centroid, and it makes no difference.
const LEAST_REPEL_SAMPLE: usize = 100;

/// The centroids of one node; the memory is reused from node to node.
#[derive(Default)]
pub(super) struct Centroids {
    /// For each feature, its value in every centroid as it is stored.
    pub table: Vec<Lanes>,
    /// How many lanes are in use.
    pub lanes: usize,
    pub nearness: Nearness,
    /// The rows that are nearest to the centroid of another cluster than theirs, and its lane.
    misplaced: Vec<(u32, usize)>,
    magnitudes: [Vec<f32>; LANES],
    solving: Workspace,
}

/// The rows that the centroids of a node are learned from, with their clusters.
struct Sample<'a> {
    rows: Entries<'a>,
    chosen: &'a [u32],
    clusters: &'a [u8],
    /// The lane of each cluster; those without members get none.
    lane_of: [usize; LANES],
    /// How many members each lane has.
    members: [usize; LANES],
}

impl Sample<'_> {
    /// The position, the row and the lane of each row that is in a cluster.
    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = (usize, u32, usize)> {
        let rows = self.chosen.iter().zip(self.clusters).enumerate();
        rows.filter(|(_, (_, cluster))| **cluster != UNASSIGNED)
            .map(|(at, (&row, &cluster))| (at, row, self.lane_of[cluster as usize % LANES]))
    }
}

impl Centroids {
    /// Learns a linear classifier for each cluster against the others and uses its weights as the
    /// centroid. Returns the classifiers' biases.
    fn learn_classifiers(&mut self, sample: &Sample<'_>, params: &Params) -> Lanes {
        let learned = Rows::gather(sample.rows, sample.chosen, &mut vec![0; self.table.len()]);
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); self.lanes];
        sample.iter().for_each(|(at, _, lane)| members[lane].push(at as u32));
        let members: Vec<&[u32]> = members.iter().map(Vec::as_slice).collect();
        let mut random = Stream::new(derive(params.seed, sample.chosen.len() as u64));
        let settings = solver::Params::default();
        let weights = self.solving.solve(&learned, &members, &[1.0; LANES], &settings, &mut random);
        for (&feature, weights) in learned.features().iter().zip(weights.columns) {
            self.table[feature as usize] = *weights;
        }
        Lanes(weights.bias.0.map(|weight| weight * settings.bias))
    }

    /// Subtracts [`Params::repel`] times each row that is nearest to the centroid of a wrong cluster
    /// from that centroid: one step towards telling the clusters apart.
    #[inline(always)]
    fn repel(&mut self, sample: &Sample<'_>, params: &Params) {
        let nearness = Nearness::new(&self.table, &sample.members, params.metric);
        let mut misplaced = std::mem::take(&mut self.misplaced);
        misplaced.clear();
        for (_, row, lane) in sample.iter() {
            let near = nearness.of(&products(&self.table, sample.rows.row(row)));
            let best = best_lane(&near, self.lanes);
            if best != lane {
                misplaced.push((row, best));
            }
        }
        for &(row, lane) in &misplaced {
            self.add(sample.rows.row(row), -params.repel as f32, lane);
        }
        self.misplaced = misplaced;
    }

    /// Sets the lane of the centroid that each row is nearest to.
    #[inline(always)]
    fn send(&self, rows: Entries<'_>, row_lanes: &mut Vec<u8>) {
        row_lanes.resize(rows.offsets.len() - 1, 0);
        for (row, lane) in row_lanes.iter_mut().enumerate() {
            let near = self.nearness.of(&products(&self.table, rows.row(row as u32)));
            *lane = best_lane(&near, self.lanes) as u8;
        }
    }

    /// Adds a row times a factor to a centroid.
    #[inline(always)]
    fn add(&mut self, (columns, values): (&[u32], &[f32]), factor: f32, lane: usize) {
        for (&column, &value) in columns.iter().zip(values) {
            self.table[column as usize].0[lane % LANES] += factor * value;
        }
    }
}

/// Computes the centroid of each cluster of the `chosen` rows, and assigns every row to the nearest:
/// `row_lanes` becomes the lane of each row. Clusters without members get no lane.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn assign(
    centroids: &mut Centroids,
    rows: Entries<'_>,
    features: usize,
    chosen: &[u32],
    clusters: &[u8],
    params: &Params,
    row_lanes: &mut Vec<u8>,
) {
    let mut sizes = [0usize; LANES];
    for &cluster in clusters.iter().filter(|&&cluster| cluster != UNASSIGNED) {
        sizes[cluster as usize] += 1;
    }
    let (lane_of, members) = ([0; LANES], [0; LANES]);
    let mut sample = Sample { rows, chosen, clusters, lane_of, members };
    centroids.lanes = 0;
    for cluster in (0..LANES).filter(|&cluster| sizes[cluster] > 0) {
        sample.lane_of[cluster] = centroids.lanes;
        sample.members[centroids.lanes] = sizes[cluster];
        centroids.lanes += 1;
    }
    centroids.table.clear();
    centroids.table.resize(features, Lanes::ZERO);
    let mut biases = None;
    if params.metric == Metric::Linear {
        biases = Some(centroids.learn_classifiers(&sample, params));
    } else {
        for (_, row, lane) in sample.iter() {
            centroids.add(rows.row(row), 1.0, lane);
        }
        if params.repel > 0.0 && chosen.len() >= LEAST_REPEL_SAMPLE {
            centroids.repel(&sample, params);
        }
    }
    if let Some(keep) = params.keep.filter(|&keep| keep < 1.0) {
        prune(&mut centroids.table, keep, params.keep_at_least, &mut centroids.magnitudes);
    }
    centroids.nearness = quantize(&mut centroids.table, &sample.members, params);
    centroids.nearness.biases = biases.or(centroids.nearness.biases);
    centroids.send(rows, row_lanes);
}

/// Takes a linear classifier, whose last weight is its bias, as the centroid of the second of two
/// children, and nothing as that of the first: rows with a positive margin go to the second.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn assign_by(
    centroids: &mut Centroids,
    rows: Entries<'_>,
    weights: &[f64],
    params: &Params,
    row_lanes: &mut Vec<u8>,
) {
    let second = |weight: f64| {
        let mut lanes = Lanes::ZERO;
        lanes.0[1] = weight as f32;
        lanes
    };
    let (&bias, weights) = weights.split_last().expect("the bias is always there");
    centroids.lanes = 2;
    centroids.table.clear();
    centroids.table.extend(weights.iter().map(|&weight| second(weight)));
    centroids.nearness = quantize(&mut centroids.table, &[1; LANES], params);
    centroids.nearness.biases = Some(second(bias));
    centroids.send(rows, row_lanes);
}

/// Turns a row's dot products with stored centroids into its nearness to them.
#[derive(Default)]
pub(super) struct Nearness {
    pub scales: Lanes,
    /// Added after scaling; only for the Euclidean metric and linear classifiers.
    pub biases: Option<Lanes>,
}

impl Nearness {
    /// The nearness to centroids that are still sums over their members.
    #[inline(always)]
    fn new(table: &[Lanes], members: &[usize; LANES], metric: Metric) -> Self {
        let mut squares = Lanes::ZERO;
        table.iter().for_each(|row| squares.add_squares(row));
        let mut scales = Lanes::ZERO;
        for lane in (0..LANES).filter(|&lane| squares.0[lane] > 0.0) {
            scales.0[lane] = 1.0 / divisor(squares.0[lane], members[lane], metric);
        }
        Nearness::scaled(squares, scales, metric)
    }

    /// The nearness to centroids with the given scales and squared lengths before scaling.
    #[inline(always)]
    fn scaled(squares: Lanes, scales: Lanes, metric: Metric) -> Self {
        // |x - c|^2 = |x|^2 - 2 (x . c - |c|^2 / 2): the nearest has the largest x . c - |c|^2 / 2.
        let biases = (metric == Metric::Euclidean).then(|| {
            let mut biases = squares;
            for lane in 0..LANES {
                biases.0[lane] *= -0.5 * scales.0[lane] * scales.0[lane];
            }
            biases
        });
        Nearness { scales, biases }
    }

    /// The nearness of a row to each centroid.
    #[inline(always)]
    pub(super) fn of(&self, products: &Lanes) -> Lanes {
        let mut near = *products;
        near.scale(&self.scales);
        if let Some(biases) = &self.biases {
            for lane in 0..LANES {
                near.0[lane] += biases.0[lane];
            }
        }
        near
    }
}

/// Keeps the largest entries of each centroid, including ties, and sets the others to zero;
/// `magnitudes` is scratch memory.
fn prune(table: &mut [Lanes], keep: f64, at_least: usize, magnitudes: &mut [Vec<f32>; LANES]) {
    magnitudes.iter_mut().for_each(Vec::clear);
    for row in table.iter() {
        for (lane, &value) in row.0.iter().enumerate() {
            if value != 0.0 {
                magnitudes[lane].push(value.abs());
            }
        }
    }
    let mut least = Lanes::ZERO;
    for (least, magnitudes) in least.0.iter_mut().zip(magnitudes) {
        let share = (keep * magnitudes.len() as f64).ceil() as usize;
        let kept = share.max(at_least);
        if kept < magnitudes.len() {
            *least =
                *magnitudes.select_nth_unstable_by(kept, |left, right| right.total_cmp(left)).1;
        }
    }
    for row in table.iter_mut() {
        for lane in 0..LANES {
            let value = row.0[lane];
            row.0[lane] = if value.abs() >= least.0[lane] { value } else { 0.0 };
        }
    }
}

/// Turns sums of features into stored centroids: unit vectors for the cosine, means for the
/// Euclidean metric, rounded to the stored precision.
#[inline(always)]
pub(super) fn quantize(table: &mut [Lanes], members: &[usize; LANES], params: &Params) -> Nearness {
    let (mut squares, mut largest) = (Lanes::ZERO, Lanes::ZERO);
    for row in table.iter() {
        squares.add_squares(row);
        for lane in 0..LANES {
            largest.0[lane] = largest.0[lane].max(row.0[lane].abs());
        }
    }
    let (mut to_stored, mut scales) = (Lanes::ZERO, Lanes::ZERO);
    for lane in (0..LANES).filter(|&lane| squares.0[lane] > 0.0) {
        let divisor = divisor(squares.0[lane], members[lane], params.metric);
        (to_stored.0[lane], scales.0[lane]) = match params.precision {
            Precision::Byte => (127.0 / largest.0[lane], largest.0[lane] / (127.0 * divisor)),
            Precision::Half => (1.0 / divisor, 1.0),
        };
    }
    for row in table.iter_mut() {
        row.scale(&to_stored);
        match params.precision {
            Precision::Byte => row.0.iter_mut().for_each(|value| *value = rounded(*value)),
            Precision::Half => row
                .0
                .iter_mut()
                .filter(|value| **value != 0.0)
                .for_each(|value| *value = half::f16::from_f32(*value).to_f32()),
        }
    }
    let mut squares = Lanes::ZERO;
    if params.metric == Metric::Euclidean {
        table.iter().for_each(|row| squares.add_squares(row));
    }
    Nearness::scaled(squares, scales, params.metric)
}

/// The number that a sum of features is divided by: its length for the cosine, the number of its
/// members for the Euclidean metric, 1 for the weights of a classifier.
#[inline(always)]
fn divisor(square: f32, members: usize, metric: Metric) -> f32 {
    match metric {
        Metric::Cosine => square.sqrt(),
        Metric::Euclidean => members as f32,
        Metric::Linear => 1.0,
    }
}

/// Rounds a number of small magnitude to the nearest integer. Uses additions alone, which compile to
/// vector instructions on every processor.
#[inline(always)]
fn rounded(value: f32) -> f32 {
    const SHIFT: f32 = 12_582_912.0;
    (value + SHIFT) - SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::sparse::OwnedEntries;

    /// Two clusters: the first of two rows and one that is nearer to the second cluster, the second of
    /// two rows; the sample has each row `times` times.
    fn assigned(params: &Params, times: usize) -> (Centroids, Vec<u8>) {
        let mut rows = OwnedEntries::with_capacity(0, 0);
        for row in [&[0][..], &[0], &[1, 2], &[1], &[1]] {
            rows.columns.extend_from_slice(row);
            rows.values.resize(rows.columns.len(), 1.0);
            rows.end_unit_row();
        }
        let (mut centroids, mut row_lanes) = (Centroids::default(), Vec::new());
        let sample = [0, 1, 2, 3, 4].repeat(times);
        let clusters = [3, 3, 3, 7, 7].repeat(times);
        assign(&mut centroids, rows.view(), 3, &sample, &clusters, params, &mut row_lanes);
        (centroids, row_lanes)
    }

    /// A centroid with its stored values scaled back.
    fn centroid(centroids: &Centroids, lane: usize) -> Vec<f32> {
        let scale = centroids.nearness.scales.0[lane];
        centroids.table.iter().map(|row| row.0[lane] * scale).collect()
    }

    fn assert_near(found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len());
        let near = found.iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() < 0.005);
        assert!(near, "{found:?}, expected {expected:?}");
    }

    #[test]
    fn a_misplaced_row_is_subtracted_from_the_centroid_it_is_nearest_to() {
        for precision in [Precision::Byte, Precision::Half] {
            let params = Params { repel: 0.0, precision, ..Params::default() };
            let (centroids, row_lanes) = assigned(&params, 20);
            assert_eq!(centroids.lanes, 2, "only clusters with members have lanes");
            assert_near(&centroid(&centroids, 0), &[0.8944, 0.3162, 0.3162]);
            assert_near(&centroid(&centroids, 1), &[0.0, 1.0, 0.0]);
            assert_eq!(row_lanes, [0, 0, 1, 1, 1]);
            // (0, 2, 0) - 0.5 (0, 1, 1) / sqrt 2 = (0, 1.6464, -0.3536), of length 1.6840.
            let (centroids, row_lanes) = assigned(&Params { repel: 0.5, ..params.clone() }, 20);
            assert_near(&centroid(&centroids, 0), &[0.8944, 0.3162, 0.3162]);
            assert_near(&centroid(&centroids, 1), &[0.0, 0.9777, -0.2100]);
            assert_eq!(row_lanes, [0, 0, 1, 1, 1]);
            let (centroids, _) = assigned(&Params { repel: 0.5, ..params }, 19);
            assert_near(&centroid(&centroids, 1), &[0.0, 1.0, 0.0]);
        }
    }

    #[test]
    fn a_linear_classifier_tells_clusters_apart() {
        let params = Params { metric: Metric::Linear, ..Params::default() };
        let (centroids, row_lanes) = assigned(&params, 20);
        // Unlike a mean, it learns from the misplaced row that feature 2 means the first cluster.
        assert_eq!(row_lanes, [0, 0, 0, 1, 1]);
        let (first, second) = (centroid(&centroids, 0), centroid(&centroids, 1));
        assert!(first[0] > 0.5 && first[2] > 0.5 && second[1] > 0.5, "{first:?} {second:?}");
        let biases = centroids.nearness.biases.expect("a classifier has biases");
        assert!(
            biases.0[2..].iter().all(|&bias| bias == 0.0),
            "lanes without a cluster are unused"
        );
    }

    #[test]
    fn means_are_kept_for_the_euclidean_metric() {
        let params = Params { repel: 0.0, metric: Metric::Euclidean, ..Params::default() };
        let (centroids, row_lanes) = assigned(&params, 1);
        assert_near(&centroid(&centroids, 0), &[0.6667, 0.2357, 0.2357]);
        assert_near(&centroid(&centroids, 1), &[0.0, 1.0, 0.0]);
        assert_eq!(row_lanes, [0, 0, 1, 1, 1]);
    }
}
