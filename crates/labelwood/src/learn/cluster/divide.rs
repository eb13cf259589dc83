//! Divides the rows that k-means leaves together.
//!
//! With many labels, most rows may share no label with any centre; with one label on nearly all
//! rows, most rows are nearest to the same centre. Such rows must be divided all the same: a tree
//! that keeps them together splits off only a few rows at each level, and becomes as deep as it has
//! rows, with the same centroids on every level.
//!
//! So the leftover rows are put into blocks, each of rows that share one label, and the blocks are
//! distributed over some of the clusters. The other clusters keep their rows. The smallest clusters
//! make room: each becomes a block, too.

use super::lanes::LANES;
use super::{UNASSIGNED, Workspace};
use crate::base::random::{Stream, mix};
use crate::base::sparse::Entries;

/// Unassigned rows are divided if they are more than this many times an even share of the rows, and
/// then so that each of their clusters has about that many. The fewer clusters they take, the more
/// are left to rows that share labels: one even share instead of five costs half a point of
/// precision.
const EVEN_SHARES: f64 = 5.0;
/// A cluster with a larger share of the rows than this is always divided.
const DOMINANT: f64 = 0.75;

/// Scratch memory for dividing rows.
#[derive(Default)]
pub(super) struct DivideScratch {
    /// How many of the rows to divide have each column.
    counts: Vec<u32>,
    /// The cluster of each block of rows.
    cluster_of: Vec<u8>,
}

impl Workspace {
    /// Finds a cluster for unassigned rows (the first one if they are few), and divides a cluster
    /// that has nearly all rows.
    pub(super) fn divide_leftovers(
        &mut self,
        entries: Entries<'_>,
        rows: &[u32],
        clusters: usize,
        random: &mut Stream,
        assigned: &mut [u8],
    ) {
        let columns_of = |row: u32| entries.row(row).0;
        let (mut sizes, mut unassigned) = ([0usize; LANES], 0);
        for (&to, _) in assigned.iter().zip(rows).filter(|(_, row)| !columns_of(**row).is_empty()) {
            match to {
                UNASSIGNED => unassigned += 1,
                _ => sizes[to as usize] += 1,
            }
        }
        let all = (sizes.iter().sum::<usize>() + unassigned) as f64;
        let mut largest_first: Vec<usize> =
            (0..clusters).filter(|&cluster| sizes[cluster] > 0).collect();
        largest_first.sort_by_key(|&cluster| std::cmp::Reverse(sizes[cluster]));
        let is_dominant = |&cluster: &usize| sizes[cluster] as f64 > DOMINANT * all;
        let dominant = largest_first.first().copied().filter(is_dominant);
        let max_share = (EVEN_SHARES / clusters as f64).min(DOMINANT);
        if dominant.is_none() && unassigned as f64 <= max_share * all {
            for (to, &row) in assigned.iter_mut().zip(rows) {
                if *to == UNASSIGNED && !columns_of(row).is_empty() {
                    *to = 0;
                }
            }
            return;
        }

        // A row's block is its most frequent column, of those that are not in too many leftover rows.
        let DivideScratch { counts, cluster_of } = &mut self.divide_scratch;
        let is_leftover = |to: u8| to == UNASSIGNED || Some(to as usize) == dominant;
        counts.clear();
        counts.resize(self.lanes.len(), 0);
        let mut leftover = 0;
        for (_, &row) in assigned.iter().zip(rows).filter(|(to, _)| is_leftover(**to)) {
            leftover += usize::from(!columns_of(row).is_empty());
            columns_of(row).iter().for_each(|&column| counts[column as usize] += 1);
        }
        let max_count = ((leftover as f64 * max_share.min(0.5)) as u32).max(1);
        let block_of = |row: u32| {
            let rare =
                columns_of(row).iter().filter(|&&column| counts[column as usize] <= max_count);
            rare.copied().max_by_key(|&column| (counts[column as usize], std::cmp::Reverse(column)))
        };
        let moves = |&(&to, &row): &(&u8, &u32)| {
            is_leftover(to)
                && !columns_of(row).is_empty()
                && (to == UNASSIGNED || block_of(row).is_some())
        };
        let share = assigned.iter().zip(rows).filter(moves).count() as f64 / all;
        let mut block_clusters = (share * clusters as f64 / EVEN_SHARES).ceil() as usize;
        if share > DOMINANT {
            block_clusters = block_clusters.max(2).min(clusters);
        }
        let kept = clusters - block_clusters;
        let mut renamed = [UNASSIGNED; LANES];
        largest_first.iter().take(kept).zip(0..).for_each(|(&cluster, to)| renamed[cluster] = to);

        // Each block draws two clusters and goes to the smaller, which keeps their sizes even.
        let seed = mix(random.seed());
        let mut sizes = [0usize; LANES];
        cluster_of.clear();
        cluster_of.resize(self.lanes.len() + LANES + 1, UNASSIGNED);
        for (to, &row) in
            assigned.iter_mut().zip(rows).filter(|(_, row)| !columns_of(**row).is_empty())
        {
            let own = if is_leftover(*to) { block_of(row) } else { None };
            // A row without a block stays in its cluster, which is itself a block if it is not kept.
            let block = match (own, *to) {
                (Some(column), _) => column as usize,
                (None, UNASSIGNED) => self.lanes.len() + LANES,
                (None, cluster) if renamed[cluster as usize] != UNASSIGNED => {
                    *to = renamed[cluster as usize];
                    continue;
                }
                (None, cluster) => self.lanes.len() + cluster as usize,
            };
            if cluster_of[block] == UNASSIGNED {
                let drawn = mix(seed ^ block as u64);
                let [one, other] = [drawn as u32, (drawn >> 32) as u32]
                    .map(|number| kept + number as usize % block_clusters);
                let smaller = if sizes[other] < sizes[one] { other } else { one };
                cluster_of[block] = smaller as u8;
            }
            *to = cluster_of[block];
            sizes[*to as usize] += 1;
        }
    }
}
