//! Spherical k-means on sparse rows.
//!
//! Clusters rows by the cosine of their angle. CRAFTML clusters the instances of a node by their
//! labels with it: a few passes over short rows, at most `LANES` clusters, thousands of
//! times a tree. So the centres live in one column-major table that a `Workspace` keeps between
//! calls; rows number their columns without gaps, which keeps it small.
//!
//! The entry point is `Workspace::cluster`; `Params` says how many clusters, starts and passes.
//! `parallel_kmeans` is for few, large calls.

mod divide;
pub(crate) mod lanes;
pub(crate) mod parallel_kmeans;

use crate::base::random::Stream;
use crate::base::settings::choices;
use crate::base::sparse::Entries;
use divide::DivideScratch;
use lanes::{LANES, Lanes, best_lane, products};
use multiversion::multiversion;

/// How rows are clustered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    /// The most clusters to make; at most [`LANES`].
    pub clusters: usize,
    /// How the first centres are chosen.
    pub starts: Starts,
    /// How often rows are assigned to centres, at least once.
    pub passes: usize,
    /// How many more passes may follow while rows are orthogonal to every centre.
    pub more_passes: usize,
}

choices! {
    /// How the first centres are chosen.
    #[derive(Default)]
    pub enum Starts {
        /// Distinct rows, uniformly.
        #[default]
        Random = "random",
        /// One after the other, each with a probability that grows with its distance to those chosen
        /// (k-means++).
        PlusPlus = "plus-plus",
    }
}

/// Stands for the cluster of a row without entries, or without a column in common with any centre.
pub(crate) const UNASSIGNED: u8 = u8::MAX;

/// Another pass is not worth it while at most one row in this many is unassigned.
const TOLERATED_UNASSIGNED: usize = 50;

/// Scratch memory for clustering.
#[derive(Default)]
pub(crate) struct Workspace {
    /// The centres by column, of any length.
    lanes: Vec<Lanes>,
    /// One over each centre's length.
    scales: Lanes,
    starts: Vec<u32>,
    /// For k-means++, each row's largest cosine with a start.
    nearest: Vec<f32>,
    divide_scratch: DivideScratch,
}

impl Workspace {
    /// Puts the number of each row's cluster into `assigned`.
    ///
    /// Rows are unit vectors or empty, and their columns are below `columns`; empty ones get
    /// [`UNASSIGNED`]. Clusters may stay empty.
    ///
    /// With very many columns, most rows share no column with any of the first centres. They are left
    /// out of the means, so that centres gain columns from their members, pass by pass, until nearly
    /// all rows share some. In the end no cluster has nearly all rows, unless nearly all are alike.
    pub(crate) fn cluster(
        &mut self,
        entries: Entries<'_>,
        columns: usize,
        rows: &[u32],
        params: Params,
        random: &mut Stream,
        assigned: &mut Vec<u8>,
    ) {
        assert!(params.clusters <= LANES, "at most {LANES} clusters");
        self.lanes.clear();
        self.lanes.resize(columns, Lanes::ZERO);
        match params.starts {
            Starts::Random => self.random_starts(entries, rows, params.clusters, random),
            Starts::PlusPlus => self.plus_plus_starts(entries, rows, params.clusters, random),
        }
        refine(self, entries, rows, params, assigned);
        self.divide_leftovers(entries, rows, params.clusters, random, assigned);
    }

    /// Alternates between assigning rows to centres and setting centres to the means of their rows.
    #[inline(always)]
    fn refine(
        &mut self,
        entries: Entries<'_>,
        rows: &[u32],
        params: Params,
        assigned: &mut Vec<u8>,
    ) {
        self.set_centres_to_starts(entries);
        self.assign(entries, rows, assigned);
        let unassigned = |assigned: &[u8]| assigned.iter().filter(|&&to| to == UNASSIGNED).count();
        let mut before = usize::MAX;
        for pass in 1..params.passes + params.more_passes {
            let now = unassigned(assigned);
            if pass >= params.passes && (now >= before || now * TOLERATED_UNASSIGNED <= rows.len())
            {
                break;
            }
            before = now;
            self.set_centres_to_means(entries, rows, assigned);
            self.assign(entries, rows, assigned);
        }
    }

    /// Draws distinct rows. Gives up after three draws a cluster, since most rows may be equal.
    fn random_starts(
        &mut self,
        entries: Entries<'_>,
        rows: &[u32],
        clusters: usize,
        random: &mut Stream,
    ) {
        self.starts.clear();
        for _ in 0..3 * clusters {
            let row = rows[random.below(rows.len())];
            let drawn = entries.row(row);
            let known = |&start: &u32| entries.row(start) == drawn;
            if !drawn.0.is_empty() && !self.starts.iter().any(known) {
                self.starts.push(row);
                if self.starts.len() == clusters {
                    break;
                }
            }
        }
    }

    /// Draws a row with a probability in proportion to 1 - cosine with the nearest start, which is
    /// half its squared distance, until there are enough or all rows lie on a start.
    fn plus_plus_starts(
        &mut self,
        entries: Entries<'_>,
        rows: &[u32],
        clusters: usize,
        random: &mut Stream,
    ) {
        let distance = |&cosine: &f32| f64::from((1.0 - cosine).max(0.0));
        self.starts.clear();
        self.nearest.clear();
        // A cosine of 1 means a distance of 0: empty rows are never drawn.
        self.nearest.extend(rows.iter().map(|&row| f32::from(entries.row(row).0.is_empty())));
        while self.starts.len() < clusters {
            let total: f64 = self.nearest.iter().map(distance).sum();
            let mut left = random.unit() * total;
            let drawn = self.nearest.iter().position(|cosine| {
                left -= distance(cosine);
                left < 0.0
            });
            let Some(drawn) = drawn.filter(|_| total > 1e-6) else { break };
            let lane = self.starts.len();
            self.starts.push(rows[drawn]);
            self.add_row(entries, rows[drawn], lane);
            for (nearest, &row) in self.nearest.iter_mut().zip(rows) {
                let (columns, values) = entries.row(row);
                let mut cosine = 0.0;
                for (&column, &value) in columns.iter().zip(values) {
                    cosine += value * self.lanes[column as usize].0[lane];
                }
                *nearest = nearest.max(cosine);
            }
            self.nearest[drawn] = 1.0;
        }
        self.lanes.fill(Lanes::ZERO);
    }

    #[inline(always)]
    fn add_row(&mut self, entries: Entries<'_>, row: u32, lane: usize) {
        let (columns, values) = entries.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            self.lanes[column as usize].0[lane] += value;
        }
    }

    fn set_centres_to_starts(&mut self, entries: Entries<'_>) {
        for lane in 0..self.starts.len() {
            self.add_row(entries, self.starts[lane], lane);
        }
        self.scales = Lanes([1.0; LANES]);
    }

    #[inline(always)]
    fn set_centres_to_means(&mut self, entries: Entries<'_>, rows: &[u32], assigned: &[u8]) {
        self.lanes.fill(Lanes::ZERO);
        for (&row, &cluster) in rows.iter().zip(assigned) {
            if cluster != UNASSIGNED {
                self.add_row(entries, row, cluster as usize);
            }
        }
        self.scales = Lanes::over_lengths(&self.lanes);
    }

    #[inline(always)]
    fn assign(&self, entries: Entries<'_>, rows: &[u32], assigned: &mut Vec<u8>) {
        let clusters = self.starts.len();
        assigned.resize(rows.len(), UNASSIGNED);
        for (to, &row) in assigned.iter_mut().zip(rows) {
            let mut cosines = products(&self.lanes, entries.row(row));
            cosines.scale(&self.scales);
            let best = best_lane(&cosines, clusters);
            *to = if cosines.0[best] > 0.0 { best as u8 } else { UNASSIGNED };
        }
    }
}

/// Compiled for each width of vector instruction; all give the same bits.
#[multiversion(targets("x86_64+avx2"))]
fn refine(
    workspace: &mut Workspace,
    entries: Entries<'_>,
    rows: &[u32],
    params: Params,
    assigned: &mut Vec<u8>,
) {
    workspace.refine(entries, rows, params, assigned);
}

#[cfg(test)]
mod tests;
