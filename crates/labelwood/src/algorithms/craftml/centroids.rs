//! The centroids of a node's clusters, and which of them each instance is nearest to.

use super::params::{Metric, Params, Precision};
use crate::base::random::{Stream, derive};
use crate::base::sparse::Entries;
use crate::learn::cluster::UNASSIGNED;
use crate::learn::cluster::lanes::{LANES, Lanes, best_lane, products};
use crate::learn::solver::{self, Rows, Workspace};

/// Centroids are pushed away from the rows of others only where this many rows are sampled: in
/// smaller nodes the mistakes are few and of no consequence.
const REPEL_FROM: usize = 100;

/// The centroids of one node; the memory serves one node after the other.
#[derive(Default)]
pub(super) struct Centroids {
    /// The centroids by feature, in the form in which they are stored.
    pub table: Vec<Lanes>,
    /// How many lanes are in use.
    pub lanes: usize,
    pub nearness: Nearness,
    /// The rows that lie nearest to another cluster than their own, and its lane.
    strays: Vec<(u32, usize)>,
    magnitudes: [Vec<f32>; LANES],
    solving: Workspace,
}

impl Centroids {
    /// Takes the centroid of each cluster of the `sample`, and says for every row which one it is
    /// nearest to. Clusters without members get no lane.
    pub fn divide(
        &mut self,
        rows: Entries<'_>,
        features: usize,
        sample: &[u32],
        clusters: &[u8],
        params: &Params,
        chosen: &mut Vec<u8>,
    ) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as just asked.
            return unsafe {
                self.divide_avx2(rows, features, sample, clusters, params, chosen);
            };
        }
        self.divide_portable(rows, features, sample, clusters, params, chosen);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn divide_avx2(
        &mut self,
        rows: Entries<'_>,
        features: usize,
        sample: &[u32],
        clusters: &[u8],
        params: &Params,
        chosen: &mut Vec<u8>,
    ) {
        self.divide_portable(rows, features, sample, clusters, params, chosen);
    }

    #[inline(always)]
    fn divide_portable(
        &mut self,
        rows: Entries<'_>,
        features: usize,
        sample: &[u32],
        clusters: &[u8],
        params: &Params,
        chosen: &mut Vec<u8>,
    ) {
        let (lane_of, members) = self.lay_out(clusters);
        self.table.clear();
        self.table.resize(features, Lanes::ZERO);
        let mut biases = None;
        if params.metric == Metric::Linear {
            biases = Some(self.learn(rows, sample, clusters, &lane_of, params));
        } else {
            for (&row, &cluster) in sample.iter().zip(clusters) {
                if cluster != UNASSIGNED {
                    self.add(rows.row(row), 1.0, lane_of[cluster as usize % LANES]);
                }
            }
            if params.repel > 0.0 && sample.len() >= REPEL_FROM {
                self.repel(rows, sample, clusters, &lane_of, &members, params);
            }
        }
        if let Some(keep) = params.keep.filter(|&keep| keep < 1.0) {
            prune(&mut self.table, keep, params.keep_at_least, &mut self.magnitudes);
        }
        self.nearness = store(&mut self.table, &members, params);
        self.nearness.biases = biases.or(self.nearness.biases);
        chosen.resize(rows.offsets.len() - 1, 0);
        for (row, lane) in chosen.iter_mut().enumerate() {
            let near = self.nearness.of(&products(&self.table, rows.row(row as u32)));
            *lane = best_lane(&near, self.lanes) as u8;
        }
    }

    /// Learns a linear classifier that tells each cluster from the others; its weights stand in the
    /// place of the centroid. Returns the margins of a row without features.
    fn learn(
        &mut self,
        rows: Entries<'_>,
        sample: &[u32],
        clusters: &[u8],
        lane_of: &[usize; LANES],
        params: &Params,
    ) -> Lanes {
        let learned = Rows::gather(rows, sample, &mut vec![0; self.table.len()]);
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); self.lanes];
        for (at, &cluster) in
            clusters.iter().enumerate().filter(|(_, cluster)| **cluster != UNASSIGNED)
        {
            members[lane_of[cluster as usize % LANES]].push(at as u32);
        }
        let members: Vec<&[u32]> = members.iter().map(Vec::as_slice).collect();
        let mut random = Stream::new(derive(params.seed, sample.len() as u64));
        let settings = solver::Params::default();
        let weights = self.solving.solve(&learned, &members, &settings, &mut random);
        for (&feature, weights) in learned.features().iter().zip(weights.columns) {
            self.table[feature as usize] = *weights;
        }
        Lanes(weights.bias.0.map(|weight| weight * settings.bias))
    }

    /// Takes a part of each row that lies nearest to another cluster than its own from the centroid
    /// of that cluster: one step towards telling the clusters apart.
    #[inline(always)]
    fn repel(
        &mut self,
        rows: Entries<'_>,
        sample: &[u32],
        clusters: &[u8],
        lane_of: &[usize; LANES],
        members: &[usize; LANES],
        params: &Params,
    ) {
        let nearness = Nearness::new(&self.table, members, params.metric);
        let mut strays = std::mem::take(&mut self.strays);
        strays.clear();
        for (&row, &cluster) in sample.iter().zip(clusters) {
            let near = nearness.of(&products(&self.table, rows.row(row)));
            let best = best_lane(&near, self.lanes);
            if cluster != UNASSIGNED && best != lane_of[cluster as usize % LANES] {
                strays.push((row, best));
            }
        }
        for &(row, lane) in &strays {
            self.add(rows.row(row), -params.repel as f32, lane);
        }
        self.strays = strays;
    }

    /// Adds a row times a factor to a centroid.
    #[inline(always)]
    fn add(&mut self, (columns, values): (&[u32], &[f32]), factor: f32, lane: usize) {
        for (&column, &value) in columns.iter().zip(values) {
            self.table[column as usize].0[lane % LANES] += factor * value;
        }
    }

    /// The lane of each cluster, and how many members each lane has.
    fn lay_out(&mut self, clusters: &[u8]) -> ([usize; LANES], [usize; LANES]) {
        let mut sizes = [0usize; LANES];
        for &cluster in clusters.iter().filter(|&&cluster| cluster != UNASSIGNED) {
            sizes[cluster as usize] += 1;
        }
        let (mut lane_of, mut members) = ([0; LANES], [0; LANES]);
        self.lanes = 0;
        for cluster in (0..LANES).filter(|&cluster| sizes[cluster] > 0) {
            lane_of[cluster] = self.lanes;
            members[self.lanes] = sizes[cluster];
            self.lanes += 1;
        }
        (lane_of, members)
    }
}

/// What turns the stored products of a row into nearness.
#[derive(Default)]
pub(super) struct Nearness {
    pub scales: Lanes,
    /// For the Euclidean metric and linear classifiers only.
    pub biases: Option<Lanes>,
}

impl Nearness {
    /// For centroids that are sums over their members.
    #[inline(always)]
    fn new(table: &[Lanes], members: &[usize; LANES], metric: Metric) -> Self {
        let mut squares = Lanes::ZERO;
        table.iter().for_each(|row| squares.add_squares(row));
        let mut scales = Lanes::ZERO;
        for lane in (0..LANES).filter(|&lane| squares.0[lane] > 0.0) {
            scales.0[lane] = 1.0 / length(squares.0[lane], members[lane], metric);
        }
        Nearness::scaled(squares, scales, metric)
    }

    /// From the centroids' squared lengths before scaling.
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
    pub fn of(&self, products: &Lanes) -> Lanes {
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

/// Sets all but the largest entries of each centroid to zero, sparing those that are as large as
/// the last one kept; `magnitudes` is scratch memory.
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

/// Turns sums of features into centroids in the form in which they are stored: unit vectors for
/// the cosine, means for the Euclidean metric.
#[inline(always)]
pub(super) fn store(table: &mut [Lanes], members: &[usize; LANES], params: &Params) -> Nearness {
    let (mut squares, mut largest) = (Lanes::ZERO, Lanes::ZERO);
    for row in table.iter() {
        squares.add_squares(row);
        for lane in 0..LANES {
            largest.0[lane] = largest.0[lane].max(row.0[lane].abs());
        }
    }
    let (mut to_stored, mut scales) = (Lanes::ZERO, Lanes::ZERO);
    for lane in (0..LANES).filter(|&lane| squares.0[lane] > 0.0) {
        let length = length(squares.0[lane], members[lane], params.metric);
        (to_stored.0[lane], scales.0[lane]) = match params.precision {
            Precision::Byte => (127.0 / largest.0[lane], largest.0[lane] / (127.0 * length)),
            Precision::Half => (1.0 / length, 1.0),
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

/// What a sum of features is divided by: its length for the cosine, the number of its members for
/// the Euclidean metric. Weights stay as they are.
#[inline(always)]
fn length(square: f32, members: usize, metric: Metric) -> f32 {
    match metric {
        Metric::Cosine => square.sqrt(),
        Metric::Euclidean => members as f32,
        Metric::Linear => 1.0,
    }
}

/// Rounds a number of small magnitude to the nearest whole number, with additions alone, which
/// every processor does in vectors.
#[inline(always)]
fn rounded(value: f32) -> f32 {
    const SHIFT: f32 = 12_582_912.0;
    (value + SHIFT) - SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::sparse::OwnedEntries;

    /// Two clusters, the first of two rows and a stray that lies nearer to the second, all of them
    /// so many times.
    fn divided(params: &Params, times: usize) -> (Centroids, Vec<u8>) {
        let mut rows = OwnedEntries::with_capacity(0, 0);
        for row in [&[0][..], &[0], &[1, 2], &[1], &[1]] {
            rows.columns.extend_from_slice(row);
            rows.values.resize(rows.columns.len(), 1.0);
            rows.end_unit_row();
        }
        let (mut centroids, mut chosen) = (Centroids::default(), Vec::new());
        let sample = [0, 1, 2, 3, 4].repeat(times);
        let clusters = [3, 3, 3, 7, 7].repeat(times);
        centroids.divide(rows.view(), 3, &sample, &clusters, params, &mut chosen);
        (centroids, chosen)
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
    fn a_stray_pushes_the_centroid_that_it_is_nearest_to() {
        for precision in [Precision::Byte, Precision::Half] {
            let params = Params { repel: 0.0, precision, ..Params::default() };
            let (centroids, chosen) = divided(&params, 20);
            assert_eq!(centroids.lanes, 2, "only clusters with members have lanes");
            assert_near(&centroid(&centroids, 0), &[0.8944, 0.3162, 0.3162]);
            assert_near(&centroid(&centroids, 1), &[0.0, 1.0, 0.0]);
            assert_eq!(chosen, [0, 0, 1, 1, 1]);
            // (0, 2, 0) - 0.5 (0, 1, 1) / sqrt 2 = (0, 1.6464, -0.3536), of length 1.6840.
            let (centroids, chosen) = divided(&Params { repel: 0.5, ..params.clone() }, 20);
            assert_near(&centroid(&centroids, 0), &[0.8944, 0.3162, 0.3162]);
            assert_near(&centroid(&centroids, 1), &[0.0, 0.9777, -0.2100]);
            assert_eq!(chosen, [0, 0, 1, 1, 1]);
            let (centroids, _) = divided(&Params { repel: 0.5, ..params }, 19);
            assert_near(&centroid(&centroids, 1), &[0.0, 1.0, 0.0]);
        }
    }

    #[test]
    fn a_linear_classifier_tells_clusters_apart() {
        let params = Params { metric: Metric::Linear, ..Params::default() };
        let (centroids, chosen) = divided(&params, 20);
        // Unlike a mean it learns from the stray that feature 2 speaks for the first cluster.
        assert_eq!(chosen, [0, 0, 0, 1, 1]);
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
        let (centroids, chosen) = divided(&params, 1);
        assert_near(&centroid(&centroids, 0), &[0.6667, 0.2357, 0.2357]);
        assert_near(&centroid(&centroids, 1), &[0.0, 1.0, 0.0]);
        assert_eq!(chosen, [0, 0, 1, 1, 1]);
    }
}
