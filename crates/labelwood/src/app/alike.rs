//! Which rows are alike, and a division of rows that keeps those on one side.

use crate::base::random::derive;
use crate::base::sparse::Row;
use std::collections::HashMap;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Rows that are alike: those with a key in common, and those that are like the same other.
///
/// ```
/// use labelwood::app::{Alike, text_key};
/// let mut rows = Alike::default();
/// for text in ["Old maps", "Birds", "old  maps", "Cats", "Dogs"] {
///     rows.push([text_key(text)]);
/// }
/// assert_eq!(rows.firsts(), [0, 1, 0, 3, 4]);
/// let is_test = rows.divide(0.4, 42).expect("they are not all alike");
/// assert_eq!(is_test.iter().filter(|&&is_test| is_test).count(), 2);
/// assert_eq!(is_test[0], is_test[2]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Alike {
    /// For each row one that it is like, not after it; itself for the first of all that are alike.
    before: Vec<u32>,
    /// The least key of each row.
    keys: Vec<u64>,
    /// The first row with each key.
    known: HashMap<u64, u32>,
}

/// Which rows are held out to test with.
#[derive(Clone, Copy, Debug)]
pub enum Division {
    /// About this share of them.
    Share(f64),
    /// A fold of so many, counted from 0.
    Fold(usize, usize),
}

impl Division {
    /// Says for each row whether it is held out; nothing if one side would be empty.
    pub fn of(self, alike: &Alike, seed: u64) -> Option<Vec<bool>> {
        match self {
            Division::Share(share) => alike.divide(share, seed),
            Division::Fold(number, count) => {
                let folds = alike.folds(count, seed)?;
                Some(folds.iter().map(|&fold| fold == number).collect())
            }
        }
    }
}

/// The key of a text, whatever its case and its blanks.
pub fn text_key(text: &str) -> u64 {
    let mut hasher = Xxh3::new();
    for word in text.split_whitespace() {
        hasher.update(word.to_lowercase().as_bytes());
        hasher.update(b" ");
    }
    hasher.digest()
}

/// The key of the value of a field, which no text has.
pub fn value_key(value: &str) -> u64 {
    !xxh3_64(value.trim().as_bytes())
}

/// The key of a row of features.
pub fn row_key(row: Row<'_>) -> u64 {
    let mut hasher = Xxh3::new();
    for (feature, value) in row.iter() {
        hasher.update(&feature.to_le_bytes());
        hasher.update(&value.to_le_bytes());
    }
    hasher.digest()
}

impl Alike {
    /// Adds a row with its keys.
    pub fn push(&mut self, keys: impl IntoIterator<Item = u64>) {
        let row = self.before.len() as u32;
        self.before.push(row);
        self.keys.push(u64::MAX);
        for key in keys {
            self.keys[row as usize] = self.keys[row as usize].min(key);
            let other = *self.known.entry(key).or_insert(row);
            let (one, other) = (self.first_like(row), self.first_like(other));
            self.before[one.max(other) as usize] = one.min(other);
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.before.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.before.is_empty()
    }

    /// The memory that this takes, about.
    pub fn bytes(&self) -> usize {
        12 * self.before.len() + 24 * self.known.capacity()
    }

    /// The first of the rows that are like this one; the way there is shorter the next time.
    fn first_like(&mut self, mut row: u32) -> u32 {
        while self.before[row as usize] != row {
            let before = self.before[row as usize];
            self.before[row as usize] = self.before[before as usize];
            row = before;
        }
        row
    }

    /// For each row, the first of those that are like it.
    pub fn firsts(&self) -> Vec<usize> {
        let mut firsts: Vec<usize> = Vec::with_capacity(self.len());
        for (row, &before) in self.before.iter().enumerate() {
            let before = before as usize;
            firsts.push(if before == row { row } else { firsts[before] });
        }
        firsts
    }

    /// Says for each row whether it is for testing: about a `share` of them, rows that are alike on one
    /// side. Which ones follows from the seed and the keys. Nothing if one side would be empty.
    pub fn divide(&self, share: f64, seed: u64) -> Option<Vec<bool>> {
        let (firsts, sizes, order) = self.groups(seed);
        let wanted = (share * self.len() as f64).round() as usize;
        let wanted = wanted.clamp(1, self.len().saturating_sub(1).max(1));
        let (mut is_test, mut taken) = (vec![false; self.len()], 0);
        for &first in &order {
            // What comes nearest to the wanted number; a large group may be more than that.
            if 2 * taken + sizes[first] < 2 * wanted {
                is_test[first] = true;
                taken += sizes[first];
            }
        }
        if let (0, Some(&first)) = (taken, order.iter().min_by_key(|&&first| sizes[first])) {
            is_test[first] = true;
            taken = sizes[first];
        }
        let is_test: Vec<bool> = firsts.iter().map(|&first| is_test[first]).collect();
        (0 < taken && taken < self.len()).then_some(is_test)
    }

    /// The fold of each row, of so many of about the same size; rows that are alike are in one. Which
    /// ones follows from the seed and the keys. Nothing if a fold would be empty.
    ///
    /// ```
    /// use labelwood::app::{Alike, text_key};
    /// let mut rows = Alike::default();
    /// for text in ["Old maps", "Birds", "old  maps", "Cats"] {
    ///     rows.push([text_key(text)]);
    /// }
    /// let folds = rows.folds(2, 42).expect("there are two groups, at least");
    /// assert_eq!(folds[0], folds[2]);
    /// assert_eq!(folds.iter().filter(|&&fold| fold == 0).count(), 2);
    /// assert!(rows.folds(4, 42).is_none());
    /// ```
    pub fn folds(&self, count: usize, seed: u64) -> Option<Vec<usize>> {
        let (firsts, sizes, mut order) = self.groups(seed);
        // Large groups first, so that small ones can make up for them.
        order.sort_by_key(|&first| std::cmp::Reverse(sizes[first]));
        let (mut folds, mut filled) = (vec![0; self.len()], vec![0usize; count]);
        for &first in &order {
            let fold = (0..count).min_by_key(|&fold| filled[fold])?;
            folds[first] = fold;
            filled[fold] += sizes[first];
        }
        let folds = firsts.iter().map(|&first| folds[first]).collect();
        filled.iter().all(|&rows| rows > 0).then_some(folds)
    }

    /// For each row the first that it is like, how many rows are like that, and all such first rows in an
    /// order that follows from the seed and the keys.
    fn groups(&self, seed: u64) -> (Vec<usize>, Vec<usize>, Vec<usize>) {
        let mut sizes = vec![0usize; self.len()];
        let mut keys = vec![u64::MAX; self.len()];
        let firsts = self.firsts();
        for (row, &first) in firsts.iter().enumerate() {
            sizes[first] += 1;
            keys[first] = keys[first].min(self.keys[row]);
        }
        let mut order: Vec<usize> = (0..self.len()).filter(|&row| sizes[row] > 0).collect();
        order.sort_by_key(|&first| (derive(seed, keys[first]), first));
        (firsts, sizes, order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_ignore_what_makes_no_difference() {
        assert_eq!(text_key(" Old\tmaps "), text_key("old maps"));
        assert_ne!(text_key("oldmaps"), text_key("old maps"));
        assert_ne!(text_key("a"), value_key("a"));
        let row = |indices: &'static [u32]| row_key(Row { indices, values: &[1.0, 1.0] });
        assert_ne!(row(&[1, 2]), row(&[1, 3]));
    }

    #[test]
    fn one_side_is_never_empty() {
        let mut same = Alike::default();
        (0..4).for_each(|_| same.push([7]));
        assert_eq!(same.divide(0.5, 1), None);
        assert_eq!(Alike::default().divide(0.5, 1), None);
        let mut two = Alike::default();
        (0..2).for_each(|key| two.push([key]));
        let mut pairs = Alike::default();
        (0..6).for_each(|key| pairs.push([key / 2]));
        assert!(pairs.divide(0.01, 1).is_some_and(|is_test| is_test.contains(&true)));
        assert!(two.divide(0.01, 1).is_some_and(|is_test| is_test.contains(&true)));
    }

    proptest! {
        #[test]
        fn rows_are_alike_as_far_as_keys_lead(rows in prop::collection::vec([0u64..12, 20u64..32], 0..30)) {
            let mut alike = Alike::default();
            rows.iter().for_each(|keys| alike.push(keys.iter().copied()));
            // Plainly: the lowest row that can be reached, key by key.
            let mut least: Vec<usize> = (0..rows.len()).collect();
            for _ in 0..rows.len() {
                for one in 0..rows.len() {
                    for other in 0..rows.len() {
                        if rows[one].iter().any(|key| rows[other].contains(key)) {
                            least[one] = least[one].min(least[other]);
                        }
                    }
                }
            }
            let found = alike.firsts();
            prop_assert_eq!(&found, &least);
            if let Some(is_test) = alike.divide(0.3, 5) {
                for (row, &first) in found.iter().enumerate() {
                    prop_assert_eq!(is_test[row], is_test[first]);
                }
            }
        }

        #[test]
        fn a_share_of_different_rows_is_for_testing(count in 2usize..200, seed: u64) {
            let mut alike = Alike::default();
            (0..count as u64).for_each(|key| alike.push([key]));
            let is_test = alike.divide(0.25, seed).unwrap();
            let tested = is_test.iter().filter(|&&is_test| is_test).count();
            prop_assert_eq!(tested, (0.25 * count as f64).round().max(1.0) as usize);
        }

        #[test]
        fn folds_have_about_the_same_size_and_keep_alike_rows_together(
            keys in prop::collection::vec(0u64..60, 1..120),
            count in 2usize..6,
            seed: u64,
        ) {
            let mut alike = Alike::default();
            keys.iter().for_each(|&key| alike.push([key]));
            let mut groups = std::collections::BTreeMap::<u64, usize>::new();
            keys.iter().for_each(|&key| *groups.entry(key).or_default() += 1);
            let Some(folds) = alike.folds(count, seed) else {
                prop_assert!(groups.len() < count);
                return Ok(());
            };
            let sizes: Vec<usize> =
                (0..count).map(|fold| folds.iter().filter(|&&one| one == fold).count()).collect();
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            prop_assert!(most - least <= *groups.values().max().unwrap(), "{:?}", sizes);
            for (one, fold) in keys.iter().zip(&folds) {
                for (other, same) in keys.iter().zip(&folds) {
                    prop_assert!(one != other || fold == same);
                }
            }
        }
    }
}
