//! Spherical k-means with any number of clusters, balanced or not.
//!
//! Label trees cluster labels with it: few calls, many long rows, up to hundreds of clusters. All
//! threads compare rows with centres. A table holds [`LANES`] centres, and only a few tables exist
//! at a time, to save memory. Each centre is the sum of its members in their order, so that the
//! number of threads cannot change a bit.

use super::lanes::{LANES, Lanes, Table, similarities};
use crate::base::random::Stream;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::Entries;
use rayon::prelude::*;

/// How rows are clustered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    /// The most clusters to make; at least 1.
    pub clusters: usize,
    /// The most times that rows are assigned to centres; at least 1.
    pub passes: usize,
    /// Whether the sizes of clusters may differ by at most one row.
    pub balanced: bool,
    /// Clusters with fewer rows than this are dissolved, and each of their rows goes to the nearest
    /// of the others, if there is one.
    pub smallest: usize,
}

/// Passes end when the mean cosine gains less than this.
const LEAST_GAIN: f64 = 1e-4;
/// Rows that a thread compares with some tables of centres at a time.
const CHUNK: usize = 128;

/// The cluster of each of `rows`, which are unit vectors or empty; clusters may stay empty.
pub(crate) fn cluster(
    entries: Entries<'_>,
    rows: &[u32],
    columns: usize,
    params: Params,
    random: &mut Stream,
    task: &Task,
) -> Result<Vec<u32>, Stopped> {
    let clusters = params.clusters.min(rows.len()).max(1);
    if clusters == 1 {
        return Ok(vec![0; rows.len()]);
    }
    let mut centres = Centres::at_starts(entries, rows, columns, clusters, random);
    let mut tables = centres.tables();
    let mut assigned = Vec::new();
    let mut before = f64::NEG_INFINITY;
    for pass in 1..=params.passes {
        let cosines = centres.cosines(rows, params.balanced, &mut tables, task);
        task.check()?;
        assigned = cosines.assign();
        let chosen = |(row, &cluster): (usize, &u32)| f64::from(cosines.of(row, cluster));
        let mean = assigned.iter().enumerate().map(chosen).sum::<f64>() / rows.len() as f64;
        if pass == params.passes || mean - before < LEAST_GAIN {
            break;
        }
        before = mean;
        centres.members = rows.iter().copied().zip(assigned.iter().copied()).collect();
    }
    centres.dissolve_small(rows, params.smallest, &mut tables, task, &mut assigned);
    Ok(assigned)
}

/// The cosines of rows with centres.
enum Cosines {
    /// Each row's nearest centre and the cosine with it.
    Best(Vec<(u32, f32)>),
    /// Each row's cosines with all centres.
    All { clusters: usize, values: Vec<f32> },
}

impl Cosines {
    /// The cluster of each row: the nearest, or [`assign_evenly`] where all cosines are known.
    fn assign(&self) -> Vec<u32> {
        match self {
            Cosines::Best(best) => best.iter().map(|best| best.0).collect(),
            Cosines::All { clusters, values } => assign_evenly(values, *clusters),
        }
    }

    fn of(&self, row: usize, cluster: u32) -> f32 {
        match self {
            Cosines::Best(best) => best[row].1,
            Cosines::All { clusters, values } => values[row * clusters + cluster as usize],
        }
    }
}

/// The centres of all clusters, kept as lists of their members.
struct Centres<'a> {
    entries: Entries<'a>,
    clusters: usize,
    /// The slot of each column that a row has, else 0.
    slot_of: Vec<u32>,
    slots: usize,
    /// Rows with the numbers of their clusters: a centre is the mean of its cluster's rows.
    members: Vec<(u32, u32)>,
}

/// The values of some neighbouring centres.
struct CentreTable {
    /// The number of the first centre, and how many there are.
    first: usize,
    count: usize,
    lanes: Vec<Lanes>,
    /// One over each centre's length.
    scales: Lanes,
}

impl<'a> Centres<'a> {
    fn at_starts(
        entries: Entries<'a>,
        rows: &[u32],
        columns: usize,
        clusters: usize,
        random: &mut Stream,
    ) -> Self {
        let mut slot_of = vec![0; columns];
        let mut slots = 1;
        for &column in rows.iter().flat_map(|&row| entries.row(row).0) {
            let slot = &mut slot_of[column as usize];
            if *slot == 0 {
                *slot = slots;
                slots += 1;
            }
        }
        let mut starts = rows.to_vec();
        random.sample_to_front(&mut starts, clusters);
        let members = starts[..clusters].iter().copied().zip(0..).collect();
        Centres { entries, clusters, slot_of, slots: slots as usize, members }
    }

    /// Empty tables, one for each thread: filling the tables of all centres would take much memory.
    fn tables(&self) -> Vec<CentreTable> {
        let at_once = rayon::current_num_threads().min(self.clusters.div_ceil(LANES));
        let lanes = || vec![Lanes::ZERO; self.slots];
        let empty = |_| CentreTable { first: 0, count: 0, lanes: lanes(), scales: Lanes::ZERO };
        (0..at_once).map(empty).collect()
    }

    /// Calls `each` with the tables of all centres, as many at a time as `tables` holds.
    fn for_each_batch(&self, tables: &mut [CentreTable], mut each: impl FnMut(&[CentreTable])) {
        let firsts: Vec<usize> = (0..self.clusters).step_by(LANES).collect();
        for firsts in firsts.chunks(tables.len()) {
            let tables = &mut tables[..firsts.len()];
            tables.par_iter_mut().zip(firsts).for_each(|(table, &first)| self.fill(table, first));
            each(tables);
        }
    }

    /// Fills a table with the centres from `first` on.
    fn fill(&self, table: &mut CentreTable, first: usize) {
        table.first = first;
        table.count = (self.clusters - first).min(LANES);
        table.lanes.fill(Lanes::ZERO);
        let own = first as u32..(first + table.count) as u32;
        for &(row, cluster) in self.members.iter().filter(|member| own.contains(&member.1)) {
            let (columns, values) = self.entries.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                let slot = self.slot_of[column as usize] as usize;
                table.lanes[slot].0[cluster as usize - first] += value;
            }
        }
        table.scales = Lanes::over_lengths(&table.lanes);
    }

    /// The rows' cosines: with all centres, or with the nearest. Wrong once the run is cancelled.
    fn cosines(&self, rows: &[u32], all: bool, tables: &mut [CentreTable], task: &Task) -> Cosines {
        if all {
            let mut values = vec![0.0; rows.len() * self.clusters];
            self.compare_all(rows, &mut values, tables, task, |values, first, cosines| {
                values[first..first + cosines.len()].copy_from_slice(cosines);
            });
            return Cosines::All { clusters: self.clusters, values };
        }
        let mut best = vec![(0, f32::NEG_INFINITY); rows.len()];
        self.compare_all(rows, &mut best, tables, task, |best, first, cosines| {
            take_nearest(&mut best[0], first, cosines, |_| true);
        });
        Cosines::Best(best)
    }

    /// Calls `each(what is found for the row, first centre, cosines)` for every row and table; as much
    /// is found for each row.
    fn compare_all<T: Send>(
        &self,
        rows: &[u32],
        found: &mut [T],
        tables: &mut [CentreTable],
        task: &Task,
        each: impl Fn(&mut [T], usize, &[f32]) + Sync,
    ) {
        let width = found.len() / rows.len().max(1);
        self.for_each_batch(tables, |centres| {
            let chunks = found.par_chunks_mut(CHUNK * width).zip(rows.par_chunks(CHUNK));
            chunks.filter(|_| task.check().is_ok()).for_each(|(found, rows)| {
                self.compare(centres, rows, |row, first, cosines| {
                    each(&mut found[row * width..(row + 1) * width], first, cosines);
                });
            });
        });
    }

    /// Moves the rows of clusters with fewer than `smallest` rows to the nearest other centre.
    fn dissolve_small(
        &self,
        rows: &[u32],
        smallest: usize,
        tables: &mut [CentreTable],
        task: &Task,
        assigned: &mut [u32],
    ) {
        let mut sizes = vec![0usize; self.clusters];
        assigned.iter().for_each(|&cluster| sizes[cluster as usize] += 1);
        let stays = |cluster: usize| sizes[cluster] >= smallest;
        let Some(first) = (0..self.clusters).find(|&cluster| stays(cluster)) else { return };
        let moving: Vec<usize> =
            (0..rows.len()).filter(|&at| !stays(assigned[at] as usize)).collect();
        if moving.is_empty() {
            return;
        }
        let moving_rows: Vec<u32> = moving.iter().map(|&at| rows[at]).collect();
        let mut best = vec![(first as u32, f32::NEG_INFINITY); moving.len()];
        self.compare_all(&moving_rows, &mut best, tables, task, |best, first, cosines| {
            take_nearest(&mut best[0], first, cosines, stays);
        });
        for (at, best) in moving.into_iter().zip(best) {
            assigned[at] = best.0;
        }
    }

    /// Calls `each(position of the row, first centre, cosines)` for every row and table.
    fn compare(
        &self,
        centres: &[CentreTable],
        rows: &[u32],
        mut each: impl FnMut(usize, usize, &[f32]),
    ) {
        for CentreTable { first, count, lanes, scales } in centres {
            let table = Table { slot_of: &self.slot_of, lanes };
            similarities(&table, self.entries, rows, |row, products| {
                let mut cosines = *products;
                cosines.scale(scales);
                each(row, *first, &cosines.0[..*count]);
            });
        }
    }
}

/// Replaces `best` by the nearest allowed centre from `first` on if that is nearer; of equally near
/// ones the first wins.
fn take_nearest(
    best: &mut (u32, f32),
    first: usize,
    cosines: &[f32],
    is_allowed: impl Fn(usize) -> bool,
) {
    for (cluster, &cosine) in (first..).zip(cosines) {
        if cosine > best.1 && is_allowed(cluster) {
            *best = (cluster as u32, cosine);
        }
    }
}

/// Assigns rows to clusters of equal size.
///
/// With two clusters, rows are ordered by the difference of their two cosines, and the first half
/// goes to the first cluster, which is optimal. With more, pairs of a row and a cluster are taken by
/// falling cosine, as long as the cluster has room.
fn assign_evenly(values: &[f32], clusters: usize) -> Vec<u32> {
    let rows = values.len() / clusters;
    let mut assigned = vec![u32::MAX; rows];
    let mut room = vec![rows / clusters; clusters];
    room[..rows % clusters].iter_mut().for_each(|room| *room += 1);
    let mut order: Vec<(f32, u64)> = if clusters == 2 {
        let preference = |row: usize| values[2 * row] - values[2 * row + 1];
        (0..rows).map(|row| (preference(row), 2 * row as u64)).collect()
    } else {
        values.iter().copied().zip(0..).collect()
    };
    order.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    for (_, pair) in order {
        let (row, mut cluster) = (pair as usize / clusters, pair as usize % clusters);
        if clusters == 2 && room[0] == 0 {
            cluster = 1;
        }
        if assigned[row] == u32::MAX && room[cluster] > 0 {
            assigned[row] = cluster as u32;
            room[cluster] -= 1;
        }
    }
    assigned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use proptest::prelude::*;

    fn unit(rows: &[Vec<f32>]) -> (Vec<u64>, Vec<u32>, Vec<f32>) {
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            let length = row.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-9);
            for (column, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                columns.push(column as u32);
                values.push(value / length);
            }
            offsets.push(columns.len() as u64);
        }
        (offsets, columns, values)
    }

    fn clustered(rows: &[Vec<f32>], params: Params, seed: u64) -> Vec<u32> {
        let (offsets, columns, values) = unit(rows);
        let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
        let ids: Vec<u32> = (0..rows.len() as u32).collect();
        let task = Pool::new(1).unwrap().task();
        cluster(entries, &ids, 4, params, &mut Stream::new(seed), &task).unwrap()
    }

    #[test]
    fn a_cancelled_run_ends_the_clustering() {
        let (offsets, columns, values) = unit(&vec![vec![1.0, 2.0]; 300]);
        let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
        let ids: Vec<u32> = (0..300).collect();
        let params = Params { clusters: 9, passes: 10, balanced: false, smallest: 1 };
        let task = Pool::new(1).unwrap().task();
        task.canceller().cancel();
        assert!(cluster(entries, &ids, 2, params, &mut Stream::new(1), &task).is_err());
    }

    #[test]
    fn rows_on_two_axes_fall_into_two_clusters() {
        let rows: Vec<_> =
            (0..40).map(|row| vec![(row % 2) as f32, 1.0 - (row % 2) as f32]).collect();
        let params = Params { clusters: 2, passes: 10, balanced: true, smallest: 1 };
        let assigned = clustered(&rows, params, 5);
        assert_eq!(assigned.iter().filter(|&&cluster| cluster == 0).count(), 20);
        assert!((0..40).all(|row| assigned[row] == assigned[row % 2]), "{assigned:?}");
    }

    #[test]
    fn more_clusters_than_rows_and_empty_rows_are_legal() {
        let rows = vec![vec![1.0, 0.0], vec![0.0, 0.0], vec![0.0, 2.0]];
        for balanced in [false, true] {
            let assigned =
                clustered(&rows, Params { clusters: 9, passes: 3, balanced, smallest: 2 }, 1);
            assert!(assigned.iter().all(|&cluster| cluster < 3));
        }
        let nothing =
            clustered(&[], Params { clusters: 9, passes: 3, balanced: false, smallest: 1 }, 1);
        assert!(nothing.is_empty());
    }

    proptest! {
        #[test]
        fn balanced_clusters_differ_by_one_at_most(
            rows in prop::collection::vec(prop::collection::vec(0.0f32..1.0, 4), 1..60),
            clusters in 1usize..20,
            seed in 0u64..9,
        ) {
            let assigned = clustered(&rows, Params { clusters, passes: 3, balanced: true, smallest: 1 }, seed);
            let mut sizes = vec![0; clusters.min(rows.len())];
            assigned.iter().for_each(|&cluster| sizes[cluster as usize] += 1);
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }

        #[test]
        fn small_clusters_are_dissolved_and_threads_do_not_matter(
            rows in prop::collection::vec(prop::collection::vec(0.0f32..1.0, 4), 1..300),
            clusters in 1usize..40,
            smallest in 1usize..6,
            balanced in any::<bool>(),
        ) {
            let params = Params { clusters, passes: 4, balanced, smallest };
            let on = |threads| Pool::new(threads).unwrap().task().install(|| clustered(&rows, params, 4));
            let assigned = on(1);
            prop_assert_eq!(&on(2), &assigned);
            prop_assert_eq!(&on(7), &assigned);
            let mut sizes = vec![0; clusters];
            assigned.iter().for_each(|&cluster| sizes[cluster as usize] += 1);
            let is_small = |size: &usize| (1..smallest).contains(size);
            // If all clusters are small, none can take the others' rows.
            prop_assert!(!sizes.iter().any(is_small) || sizes.iter().all(|&size| size < smallest));
        }

        #[test]
        fn each_row_is_with_the_centre_nearest_to_it(
            rows in prop::collection::vec(prop::collection::vec(0.01f32..1.0, 4), 2..60),
            clusters in 2usize..40,
        ) {
            // After one pass the centres are still the rows that were drawn.
            let assigned = clustered(&rows, Params { clusters, passes: 1, balanced: false, smallest: 1 }, 3);
            let (offsets, columns, values) = unit(&rows);
            let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
            let clusters = clusters.min(rows.len());
            let mut starts: Vec<u32> = (0..rows.len() as u32).collect();
            Stream::new(3).sample_to_front(&mut starts, clusters);
            let cosine = |left: u32, right: u32| -> f64 {
                let (left, right) = (entries.row(left), entries.row(right));
                left.1.iter().zip(right.1).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
            };
            for (row, &cluster) in assigned.iter().enumerate() {
                let best = starts[..clusters].iter().map(|&start| cosine(row as u32, start));
                let best = best.fold(f64::NEG_INFINITY, f64::max);
                prop_assert!(cosine(row as u32, starts[cluster as usize]) >= best - 1e-5);
            }
        }
    }
}
