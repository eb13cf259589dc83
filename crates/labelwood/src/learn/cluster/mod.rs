//! Spherical k-means on sparse rows.
//!
//! Groups rows by the cosine of their angle. CRAFTML clusters the instances of a node by their
//! labels with it: a few passes over short rows, at most [`lanes::LANES`] groups, thousands of
//! times a tree. So the centres live in one column-major table that a [`Workspace`] keeps between
//! calls; rows number their columns without gaps, which keeps it small.
//!
//! The entry point is [`Workspace::cluster`]; [`Params`] says how many groups, starts and passes.

pub mod lanes;
mod spread;
pub mod wide;

use crate::base::random::Stream;
use crate::base::settings::choices;
use crate::base::sparse::Entries;
use lanes::{LANES, Lanes, best_lane, products};
use spread::Spreading;

/// How rows are clustered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// How many groups there are at most, at most [`LANES`].
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

/// The cluster number of a row that has no entries, or nothing in common with any centre.
pub const NOWHERE: u8 = u8::MAX;

/// One row in this many may be lost without another pass being worth it.
const FEW_LOST: usize = 50;

/// Scratch memory for clustering.
#[derive(Default)]
pub struct Workspace {
    /// The centres by column, of any length.
    lanes: Vec<Lanes>,
    /// One over each centre's length.
    scales: Lanes,
    starts: Vec<u32>,
    /// For k-means++, each row's largest cosine with a start.
    nearest: Vec<f32>,
    spreading: Spreading,
}

impl Workspace {
    /// Puts each of `rows` into a group and its number into `assigned`.
    ///
    /// Rows are unit vectors or empty, with less than the given number of columns; empty ones get
    /// [`NOWHERE`]. Groups may stay empty.
    ///
    /// With very many columns most rows have nothing in common with any of the first centres. They
    /// stay out of the means, so that centres grow by what their members have in common, pass by
    /// pass, until nearly all rows are reached. No group has nearly all rows in the end, unless
    /// nearly all are alike.
    pub fn cluster(
        &mut self,
        entries: Entries<'_>,
        columns: usize,
        rows: &[u32],
        params: Params,
        random: &mut Stream,
        assigned: &mut Vec<u8>,
    ) {
        assert!(params.clusters <= LANES, "at most {LANES} clusters");
        self.assign_to_nearest(entries, columns, rows, params, random, assigned);
        self.spread(entries, rows, params.clusters, random, assigned);
    }

    /// Finds the nearest centre of each row; rows with nothing in common with any get [`NOWHERE`].
    fn assign_to_nearest(
        &mut self,
        entries: Entries<'_>,
        columns: usize,
        rows: &[u32],
        params: Params,
        random: &mut Stream,
        assigned: &mut Vec<u8>,
    ) {
        self.lanes.clear();
        self.lanes.resize(columns, Lanes::ZERO);
        match params.starts {
            Starts::Random => self.random_starts(entries, rows, params.clusters, random),
            Starts::PlusPlus => self.spread_starts(entries, rows, params.clusters, random),
        }
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as just asked.
            return unsafe { self.refine_avx2(entries, rows, params, assigned) };
        }
        self.refine(entries, rows, params, assigned);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn refine_avx2(
        &mut self,
        entries: Entries<'_>,
        rows: &[u32],
        params: Params,
        assigned: &mut Vec<u8>,
    ) {
        self.refine(entries, rows, params, assigned);
    }

    /// Assigns rows to centres and takes the means of centres in turn.
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
        let lost = |assigned: &[u8]| assigned.iter().filter(|&&to| to == NOWHERE).count();
        let mut before = usize::MAX;
        for pass in 1..params.passes + params.more_passes {
            let now = lost(assigned);
            if pass >= params.passes && (now >= before || now * FEW_LOST <= rows.len()) {
                break;
            }
            before = now;
            self.set_centres_to_means(entries, rows, assigned);
            self.assign(entries, rows, assigned);
        }
    }

    /// Draws distinct rows; equal ones are passed over while there is hope of finding others.
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
    fn spread_starts(
        &mut self,
        entries: Entries<'_>,
        rows: &[u32],
        clusters: usize,
        random: &mut Stream,
    ) {
        let distance = |&cosine: &f32| f64::from((1.0 - cosine).max(0.0));
        self.starts.clear();
        self.nearest.clear();
        // An empty row is as good as a start: never drawn.
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
            if cluster != NOWHERE {
                self.add_row(entries, row, cluster as usize);
            }
        }
        let mut squares = Lanes::ZERO;
        for row in &self.lanes {
            squares.add_squares(row);
        }
        let over_length = |square: f32| if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 };
        self.scales = Lanes(squares.0.map(over_length));
    }

    #[inline(always)]
    fn assign(&self, entries: Entries<'_>, rows: &[u32], assigned: &mut Vec<u8>) {
        let clusters = self.starts.len();
        assigned.resize(rows.len(), NOWHERE);
        for (to, &row) in assigned.iter_mut().zip(rows) {
            let mut cosines = products(&self.lanes, entries.row(row));
            cosines.scale(&self.scales);
            let best = best_lane(&cosines, clusters);
            *to = if cosines.0[best] > 0.0 { best as u8 } else { NOWHERE };
        }
    }
}

#[cfg(test)]
mod tests;
