//! A request for predictions: how many labels, and which.

/// How many labels to predict, how widely a model searches for them, and which it may predict.
///
/// ```
/// use labelwood::sparse::{LabelSet, Query};
/// let allowed: LabelSet = [3, 5].into_iter().collect();
/// let query = Query { allowed: Some(&allowed), ..Query::top(5) };
/// assert!(query.allows(3) && !query.allows(4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Query<'a> {
    /// The most labels to predict for each row.
    pub k: usize,
    /// The most nodes of a level to follow; `None` for as many as the model's settings say. Models
    /// without levels score every label.
    pub beam: Option<usize>,
    /// The labels that may be predicted; `None` for all.
    pub allowed: Option<&'a LabelSet>,
}

impl Query<'_> {
    /// Asks for the best `k` of all labels.
    pub fn top(k: usize) -> Self {
        Query { k, beam: None, allowed: None }
    }

    /// Whether a label may be predicted.
    #[inline(always)]
    pub fn allows(&self, label: u32) -> bool {
        self.allowed.is_none_or(|allowed| allowed.contains(label))
    }
}

/// A set of labels, one bit each.
///
/// ```
/// use labelwood::sparse::LabelSet;
/// let mut labels = LabelSet::all(100);
/// labels.remove(99);
/// assert_eq!(labels.len(), 99);
/// assert!(labels.contains(0) && !labels.contains(99) && !labels.contains(100));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSet {
    words: Vec<u64>,
}

impl LabelSet {
    /// The labels below `labels`.
    pub fn all(labels: usize) -> Self {
        (0..labels as u32).collect()
    }

    /// Adds a label.
    pub fn insert(&mut self, label: u32) {
        let word = label as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (label % 64);
    }

    /// Takes a label out.
    pub fn remove(&mut self, label: u32) {
        if let Some(word) = self.words.get_mut(label as usize / 64) {
            *word &= !(1 << (label % 64));
        }
    }

    /// Whether a label is in the set.
    #[inline(always)]
    pub fn contains(&self, label: u32) -> bool {
        self.words.get(label as usize / 64).is_some_and(|word| word >> (label % 64) & 1 == 1)
    }

    /// The labels, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        (0..self.words.len() as u32 * 64).filter(|&label| self.contains(label))
    }

    /// How many labels there are.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
}

impl FromIterator<u32> for LabelSet {
    fn from_iter<I: IntoIterator<Item = u32>>(labels: I) -> Self {
        let mut set = LabelSet::default();
        labels.into_iter().for_each(|label| set.insert(label));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_label_set_equals_a_set_of_numbers(
            changes in prop::collection::vec((0u32..300, any::<bool>()), 0..100),
        ) {
            let (mut bits, mut plain) = (LabelSet::default(), BTreeSet::new());
            for (label, is_in) in changes {
                if is_in {
                    bits.insert(label);
                    plain.insert(label);
                } else {
                    bits.remove(label);
                    plain.remove(&label);
                }
            }
            prop_assert_eq!(bits.len(), plain.len());
            prop_assert_eq!(bits.is_empty(), plain.is_empty());
            prop_assert!((0..400).all(|label| bits.contains(label) == plain.contains(&label)));
        }
    }
}
