//! Dividing the rows that clustering leaves together.
//!
//! Where labels are many, most rows may share no label with any centre; where one label is nearly
//! everywhere, most rows are nearest to the same centre. Such rows have to be divided all the same:
//! a tree whose nodes keep them together takes off a few rows at each level, and becomes as deep as
//! it has rows, with the same centroids on every level.
//!
//! So they are dealt out in blocks, each of the rows that have one label in common, over as many
//! groups as their number asks for. The other groups keep their rows; the smallest give up their
//! places and are blocks like the others.

use super::lanes::LANES;
use super::{NOWHERE, Workspace};
use crate::base::random::{Stream, mix};
use crate::base::sparse::Entries;

/// Rows that are nearest to no centre are divided if they are more than so many times an even share
/// of the rows, and then so that each group has about so many. The fewer groups they take, the more
/// are left to clusters of rows with labels in common: with a single share instead of five, it is
/// half a point of precision that is lost.
const EVEN_SHARES: f64 = 5.0;
/// A group with a larger share of the rows than this is divided in any case.
const DOMINANT: f64 = 0.75;

/// Scratch memory for dividing rows.
#[derive(Default)]
pub(super) struct Spreading {
    /// How many of the rows to divide have each column.
    counts: Vec<u32>,
    /// The group that each block of rows went to.
    group_of: Vec<u8>,
}

impl Workspace {
    /// Finds a group for the rows that are nearest to no centre: the first one if they are few.
    /// Divides a group that has nearly all rows.
    pub(super) fn spread(
        &mut self,
        entries: Entries<'_>,
        rows: &[u32],
        clusters: usize,
        random: &mut Stream,
        assigned: &mut [u8],
    ) {
        let columns_of = |row: u32| entries.row(row).0;
        let (mut sizes, mut lost) = ([0usize; LANES], 0);
        for (&to, _) in assigned.iter().zip(rows).filter(|(_, row)| !columns_of(**row).is_empty()) {
            match to {
                NOWHERE => lost += 1,
                _ => sizes[to as usize] += 1,
            }
        }
        let all = (sizes.iter().sum::<usize>() + lost) as f64;
        let mut largest_first: Vec<usize> =
            (0..clusters).filter(|&group| sizes[group] > 0).collect();
        largest_first.sort_by_key(|&group| std::cmp::Reverse(sizes[group]));
        let dominant =
            largest_first.first().copied().filter(|&group| sizes[group] as f64 > DOMINANT * all);
        let most = (EVEN_SHARES / clusters as f64).min(DOMINANT);
        if dominant.is_none() && lost as f64 <= most * all {
            for (to, &row) in assigned.iter_mut().zip(rows) {
                if *to == NOWHERE && !columns_of(row).is_empty() {
                    *to = 0;
                }
            }
            return;
        }

        // A block is named by the most frequent column of its rows that is not in too many of them.
        let Spreading { counts, group_of } = &mut self.spreading;
        let is_loose = |to: u8| to == NOWHERE || Some(to as usize) == dominant;
        counts.clear();
        counts.resize(self.lanes.len(), 0);
        let mut loose = 0;
        for (_, &row) in assigned.iter().zip(rows).filter(|(to, _)| is_loose(**to)) {
            loose += usize::from(!columns_of(row).is_empty());
            columns_of(row).iter().for_each(|&column| counts[column as usize] += 1);
        }
        let too_many = ((loose as f64 * most.min(0.5)) as u32).max(1);
        let block_of = |row: u32| {
            let rare =
                columns_of(row).iter().filter(|&&column| counts[column as usize] <= too_many);
            rare.copied().max_by_key(|&column| (counts[column as usize], std::cmp::Reverse(column)))
        };
        let leaves = |&(&to, &row): &(&u8, &u32)| {
            is_loose(to)
                && !columns_of(row).is_empty()
                && (to == NOWHERE || block_of(row).is_some())
        };
        let share = assigned.iter().zip(rows).filter(leaves).count() as f64 / all;
        let mut groups = (share * clusters as f64 / EVEN_SHARES).ceil() as usize;
        if share > DOMINANT {
            groups = groups.max(2).min(clusters);
        }
        let kept = clusters - groups;
        let mut renamed = [NOWHERE; LANES];
        largest_first.iter().take(kept).zip(0..).for_each(|(&group, to)| renamed[group] = to);

        // Of two groups that chance offers a block, the smaller takes it.
        let seed = mix(random.seed());
        let mut taken = [0usize; LANES];
        group_of.clear();
        group_of.resize(self.lanes.len() + LANES + 1, NOWHERE);
        for (to, &row) in
            assigned.iter_mut().zip(rows).filter(|(_, row)| !columns_of(**row).is_empty())
        {
            let own = if is_loose(*to) { block_of(row) } else { None };
            // Rows without a block of their own stay with their group, which is a block if it has
            // lost its place.
            let block = match (own, *to) {
                (Some(column), _) => column as usize,
                (None, NOWHERE) => self.lanes.len() + LANES,
                (None, group) if renamed[group as usize] != NOWHERE => {
                    *to = renamed[group as usize];
                    continue;
                }
                (None, group) => self.lanes.len() + group as usize,
            };
            if group_of[block] == NOWHERE {
                let drawn = mix(seed ^ block as u64);
                let offered =
                    [drawn as u32, (drawn >> 32) as u32].map(|part| kept + part as usize % groups);
                let smaller = usize::from(taken[offered[1]] < taken[offered[0]]);
                group_of[block] = offered[smaller] as u8;
            }
            *to = group_of[block];
            taken[*to as usize] += 1;
        }
    }
}
