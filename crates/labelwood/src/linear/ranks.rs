//! Where each feature is among those of a node, so that a single row need not search for it.

use super::Nodes;
use crate::array::prefetch;
use std::sync::OnceLock;

/// Features of a span.
const WIDTH: u32 = 32;

/// The features of a node that has many of them.
#[derive(Debug)]
pub(super) struct Ranks(Box<[Span]>);

/// Some features next to one another.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Which of them the node has.
    present: u32,
    /// How many features of the node come before these.
    before: u32,
}

impl Ranks {
    /// None of so few features, in increasing order, that they take less room than this would.
    fn new(features: &[u32]) -> Option<Self> {
        let spans = (features.last()? / WIDTH) as usize + 1;
        if spans > features.len() {
            return None;
        }
        let mut ranks = Vec::with_capacity(spans);
        for (at, &feature) in features.iter().enumerate() {
            let span = (feature / WIDTH) as usize;
            ranks.resize((span + 1).max(ranks.len()), Span { present: 0, before: at as u32 });
            ranks[span].present |= 1 << (feature % WIDTH);
        }
        Some(Ranks(ranks.into()))
    }

    /// Where a feature is among the node's, if there.
    #[inline(always)]
    pub fn of(&self, feature: u32) -> Option<u32> {
        let Span { present, before } = *self.0.get((feature / WIDTH) as usize)?;
        let bit = 1 << (feature % WIDTH);
        (present & bit != 0).then(|| before + (present & (bit - 1)).count_ones())
    }

    /// Asks for the memory of what tells where a feature is.
    #[inline(always)]
    pub fn fetch(&self, feature: u32) {
        prefetch(&self.0, (feature / WIDTH) as usize);
    }
}

/// The ranks of the nodes that single rows have come to; they are never stored.
#[derive(Debug, Default)]
pub(crate) struct AllRanks(OnceLock<Box<[OnceLock<Option<Ranks>>]>>);

impl AllRanks {
    /// The ranks of a node's features, made when they are first asked for.
    pub(super) fn of(&self, nodes: &Nodes, node: usize) -> Option<&Ranks> {
        let all = self.0.get_or_init(|| (0..nodes.len()).map(|_| OnceLock::new()).collect());
        all[node].get_or_init(|| Ranks::new(nodes.features_of(node))).as_ref()
    }
}

/// A copy makes its own.
impl Clone for AllRanks {
    fn clone(&self) -> Self {
        AllRanks::default()
    }
}

/// They follow from the features, which are compared.
impl PartialEq for AllRanks {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_feature_is_where_it_is(
            features in proptest::collection::btree_set(0u32..600, 0..200)) {
            let sorted: Vec<u32> = features.into_iter().collect();
            if let Some(ranks) = Ranks::new(&sorted) {
                prop_assert!(ranks.0.len() <= sorted.len());
                for feature in 0..700 {
                    let expected = sorted.binary_search(&feature).ok();
                    prop_assert_eq!(ranks.of(feature).map(|at| at as usize), expected);
                }
            } else {
                prop_assert!(sorted.len() < 19);
            }
        }
    }
}
