//! Spherical k-means with any number of groups, balanced or not.
//!
//! Label trees group labels with it: few calls, many long rows, up to hundreds of groups. The
//! centres are added up from their members, [`LANES`] in a table and a few tables at a time, and
//! rows are compared with them on all threads; each centre is added up in the order of its members,
//! so that threads cannot change a bit.

use super::lanes::{LANES, Lanes, Table, similarities};
use crate::base::random::Stream;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::Entries;
use rayon::prelude::*;

/// How rows are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// How many groups there are at most, at least 1.
    pub clusters: usize,
    /// How often rows are assigned to centres at most, at least once.
    pub passes: usize,
    /// Whether all groups get the same number of rows, give or take one.
    pub balanced: bool,
    /// Groups with fewer rows than this are dissolved, and each of their rows goes to the nearest
    /// of the others, if there is one.
    pub smallest: usize,
}

/// Passes end when the mean cosine gains less than this.
const LEAST_GAIN: f64 = 1e-4;
/// Rows that a thread compares with all centres at a time.
const CHUNK: usize = 128;

/// The group of each of `rows`, which are unit vectors or empty; groups may stay empty.
///
/// ```
/// use labelwood::{cluster::wide::{Params, group}, sparse::Entries};
/// use labelwood::random::Stream;
/// let entries = Entries { offsets: &[0, 1, 2, 3], columns: &[0, 1, 0], values: &[1.0; 3] };
/// let params = Params { clusters: 2, passes: 5, balanced: false, smallest: 1 };
/// let run = labelwood::run::Pool::new(1)?.task();
/// let groups = group(entries, &[0, 1, 2], 2, params, &mut Stream::new(3), &run)?;
/// assert!(groups[0] == groups[2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn group(
    entries: Entries<'_>,
    rows: &[u32],
    columns: usize,
    params: Params,
    random: &mut Stream,
    run: &Task,
) -> Result<Vec<u32>, Stopped> {
    let clusters = params.clusters.min(rows.len()).max(1);
    if clusters == 1 {
        return Ok(vec![0; rows.len()]);
    }
    let mut centres = Centres::at_starts(entries, rows, columns, clusters, random);
    let mut room = centres.room();
    let mut assigned = Vec::new();
    let mut before = f64::NEG_INFINITY;
    for pass in 1..=params.passes {
        let cosines = centres.cosines(rows, params.balanced, &mut room, run);
        run.check()?;
        assigned = cosines.assign();
        let chosen = |(row, &group): (usize, &u32)| f64::from(cosines.of(row, group));
        let mean = assigned.iter().enumerate().map(chosen).sum::<f64>() / rows.len() as f64;
        if pass == params.passes || mean - before < LEAST_GAIN {
            break;
        }
        before = mean;
        centres.members = rows.iter().copied().zip(assigned.iter().copied()).collect();
    }
    centres.dissolve_small(rows, params.smallest, &mut room, &mut assigned);
    Ok(assigned)
}

/// What is known of the rows' cosines with the centres.
enum Cosines {
    /// Of each row, its nearest centre and the cosine with it.
    Best(Vec<(u32, f32)>),
    /// Of each row, the cosines with all centres.
    All { clusters: usize, values: Vec<f32> },
}

impl Cosines {
    /// The group of each row: evenly where all cosines are known, else the nearest.
    fn assign(&self) -> Vec<u32> {
        match self {
            Cosines::Best(best) => best.iter().map(|best| best.0).collect(),
            Cosines::All { clusters, values } => evenly(values, *clusters),
        }
    }

    fn of(&self, row: usize, group: u32) -> f32 {
        match self {
            Cosines::Best(best) => best[row].1,
            Cosines::All { clusters, values } => values[row * clusters + group as usize],
        }
    }
}

/// The centres: means of rows.
struct Centres<'a> {
    entries: Entries<'a>,
    clusters: usize,
    /// The slot of each column that occurs, else 0.
    slot_of: Vec<u32>,
    slots: usize,
    /// The rows that the centres are means of, each with the number of its centre.
    members: Vec<(u32, u32)>,
}

/// Some of the centres, side by side.
struct CentreTable {
    /// The number of the first, and how many they are.
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

    /// Room for as many tables as there are threads: all of them would take much memory.
    fn room(&self) -> Vec<CentreTable> {
        let at_once = rayon::current_num_threads().min(self.clusters.div_ceil(LANES));
        let lanes = || vec![Lanes::ZERO; self.slots];
        let empty = |_| CentreTable { first: 0, count: 0, lanes: lanes(), scales: Lanes::ZERO };
        (0..at_once).map(empty).collect()
    }

    /// Calls `each` with a few tables of centres after the others, as many as there is room for.
    fn each_few(&self, room: &mut [CentreTable], mut each: impl FnMut(&[CentreTable])) {
        let firsts: Vec<usize> = (0..self.clusters).step_by(LANES).collect();
        for firsts in firsts.chunks(room.len()) {
            let tables = &mut room[..firsts.len()];
            tables.par_iter_mut().zip(firsts).for_each(|(table, &first)| self.fill(table, first));
            each(tables);
        }
    }

    /// Makes a table that of the centres from `first` on.
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
        let mut squares = Lanes::ZERO;
        table.lanes.iter().for_each(|centre| squares.add_squares(centre));
        let over_length = |square: f32| if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 };
        table.scales = Lanes(squares.0.map(over_length));
    }

    /// Once the run is cancelled, the cosines mean nothing.
    fn cosines(&self, rows: &[u32], all: bool, room: &mut [CentreTable], run: &Task) -> Cosines {
        if all {
            let mut values = vec![0.0; rows.len() * self.clusters];
            self.each_few(room, |centres| {
                let chunks =
                    values.par_chunks_mut(CHUNK * self.clusters).zip(rows.par_chunks(CHUNK));
                chunks.filter(|_| run.check().is_ok()).for_each(|(values, rows)| {
                    self.compare(centres, rows, |row, first, cosines| {
                        let at = row * self.clusters + first;
                        values[at..at + cosines.len()].copy_from_slice(cosines);
                    });
                });
            });
            return Cosines::All { clusters: self.clusters, values };
        }
        let mut best = vec![(0, f32::NEG_INFINITY); rows.len()];
        self.each_few(room, |centres| {
            let chunks = best.par_chunks_mut(CHUNK).zip(rows.par_chunks(CHUNK));
            chunks.filter(|_| run.check().is_ok()).for_each(|(best, rows)| {
                self.compare(centres, rows, |row, first, cosines| {
                    take_nearest(&mut best[row], first, cosines, |_| true);
                });
            });
        });
        Cosines::Best(best)
    }

    /// Moves the rows of groups with fewer than `smallest` rows to the nearest other centre.
    fn dissolve_small(
        &self,
        rows: &[u32],
        smallest: usize,
        room: &mut [CentreTable],
        assigned: &mut [u32],
    ) {
        let mut sizes = vec![0usize; self.clusters];
        assigned.iter().for_each(|&group| sizes[group as usize] += 1);
        let stays = |group: usize| sizes[group] >= smallest;
        let Some(first) = (0..self.clusters).find(|&group| stays(group)) else { return };
        let moving: Vec<usize> =
            (0..rows.len()).filter(|&at| !stays(assigned[at] as usize)).collect();
        if moving.is_empty() {
            return;
        }
        let moving_rows: Vec<u32> = moving.iter().map(|&at| rows[at]).collect();
        let mut best = vec![(first as u32, f32::NEG_INFINITY); moving.len()];
        self.each_few(room, |centres| {
            self.compare(centres, &moving_rows, |row, first, cosines| {
                take_nearest(&mut best[row], first, cosines, stays);
            });
        });
        for (at, best) in moving.into_iter().zip(best) {
            assigned[at] = best.0;
        }
    }

    /// Calls `each(row's position, first centre, cosines)` for every row and table.
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

/// Takes the nearest of the centres from `first` on that are allowed, if it is nearer than the
/// best so far; of equally near ones the first.
fn take_nearest(
    best: &mut (u32, f32),
    first: usize,
    cosines: &[f32],
    is_allowed: impl Fn(usize) -> bool,
) {
    for (group, &cosine) in (first..).zip(cosines) {
        if cosine > best.1 && is_allowed(group) {
            *best = (group as u32, cosine);
        }
    }
}

/// Deals rows to groups of equal size, those first that a group holds most dear.
///
/// Of two groups, each row's preference is the difference of its cosines, and the half that most
/// prefers the first gets it: the best there is. Of more, the pair of row and group with the
/// largest cosine goes first, as long as the group has room.
fn evenly(values: &[f32], clusters: usize) -> Vec<u32> {
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
        let (row, mut group) = (pair as usize / clusters, pair as usize % clusters);
        if clusters == 2 && room[0] == 0 {
            group = 1;
        }
        if assigned[row] == u32::MAX && room[group] > 0 {
            assigned[row] = group as u32;
            room[group] -= 1;
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

    fn grouped(rows: &[Vec<f32>], params: Params, seed: u64) -> Vec<u32> {
        let (offsets, columns, values) = unit(rows);
        let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
        let ids: Vec<u32> = (0..rows.len() as u32).collect();
        let run = Pool::new(1).unwrap().task();
        group(entries, &ids, 4, params, &mut Stream::new(seed), &run).unwrap()
    }

    #[test]
    fn a_cancelled_run_ends_the_grouping() {
        let (offsets, columns, values) = unit(&vec![vec![1.0, 2.0]; 300]);
        let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
        let ids: Vec<u32> = (0..300).collect();
        let params = Params { clusters: 9, passes: 10, balanced: false, smallest: 1 };
        let run = Pool::new(1).unwrap().task();
        run.canceller().cancel();
        assert!(group(entries, &ids, 2, params, &mut Stream::new(1), &run).is_err());
    }

    #[test]
    fn rows_on_two_axes_fall_into_two_groups() {
        let rows: Vec<_> =
            (0..40).map(|row| vec![(row % 2) as f32, 1.0 - (row % 2) as f32]).collect();
        let params = Params { clusters: 2, passes: 10, balanced: true, smallest: 1 };
        let groups = grouped(&rows, params, 5);
        assert_eq!(groups.iter().filter(|&&group| group == 0).count(), 20);
        assert!((0..40).all(|row| groups[row] == groups[row % 2]), "{groups:?}");
    }

    #[test]
    fn more_groups_than_rows_and_empty_rows_are_legal() {
        let rows = vec![vec![1.0, 0.0], vec![0.0, 0.0], vec![0.0, 2.0]];
        for balanced in [false, true] {
            let groups =
                grouped(&rows, Params { clusters: 9, passes: 3, balanced, smallest: 2 }, 1);
            assert!(groups.iter().all(|&group| group < 3));
        }
        let nothing =
            grouped(&[], Params { clusters: 9, passes: 3, balanced: false, smallest: 1 }, 1);
        assert!(nothing.is_empty());
    }

    proptest! {
        #[test]
        fn balanced_groups_differ_by_one_at_most(
            rows in prop::collection::vec(prop::collection::vec(0.0f32..1.0, 4), 1..60),
            clusters in 1usize..20,
            seed in 0u64..9,
        ) {
            let groups = grouped(&rows, Params { clusters, passes: 3, balanced: true, smallest: 1 }, seed);
            let mut sizes = vec![0; clusters.min(rows.len())];
            groups.iter().for_each(|&group| sizes[group as usize] += 1);
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }

        #[test]
        fn small_groups_are_dissolved_and_threads_do_not_matter(
            rows in prop::collection::vec(prop::collection::vec(0.0f32..1.0, 4), 1..300),
            clusters in 1usize..40,
            smallest in 1usize..6,
            balanced in any::<bool>(),
        ) {
            let params = Params { clusters, passes: 4, balanced, smallest };
            let on = |threads| Pool::new(threads).unwrap().task().install(|| grouped(&rows, params, 4));
            let groups = on(1);
            prop_assert_eq!(&on(2), &groups);
            prop_assert_eq!(&on(7), &groups);
            let mut sizes = vec![0; clusters];
            groups.iter().for_each(|&group| sizes[group as usize] += 1);
            let is_small = |size: &usize| (1..smallest).contains(size);
            // Where all groups are small, there is none that could take the others' rows.
            prop_assert!(!sizes.iter().any(is_small) || sizes.iter().all(|&size| size < smallest));
        }

        #[test]
        fn each_row_is_with_the_centre_nearest_to_it(
            rows in prop::collection::vec(prop::collection::vec(0.01f32..1.0, 4), 2..60),
            clusters in 2usize..40,
        ) {
            // After one pass the centres are still the rows that were drawn.
            let groups = grouped(&rows, Params { clusters, passes: 1, balanced: false, smallest: 1 }, 3);
            let (offsets, columns, values) = unit(&rows);
            let entries = Entries { offsets: &offsets, columns: &columns, values: &values };
            let clusters = clusters.min(rows.len());
            let mut starts: Vec<u32> = (0..rows.len() as u32).collect();
            Stream::new(3).sample_to_front(&mut starts, clusters);
            let cosine = |left: u32, right: u32| -> f64 {
                let (left, right) = (entries.row(left), entries.row(right));
                left.1.iter().zip(right.1).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
            };
            for (row, &group) in groups.iter().enumerate() {
                let best = starts[..clusters].iter().map(|&start| cosine(row as u32, start));
                let best = best.fold(f64::NEG_INFINITY, f64::max);
                prop_assert!(cosine(row as u32, starts[group as usize]) >= best - 1e-5);
            }
        }
    }
}
