//! Indexes of a node's features, so that single rows need not decode all of them.
//!
//! The words of a node store each feature as its distance from the one before, so that finding one
//! means decoding all before it. For a large batch that is cheap, as the words are decoded once for
//! all rows; for a single row it would be nearly all of the time. So a node with many words gets an
//! index the first time that a small batch reaches it: a [`DenseIndex`] if it has most of the
//! features, a [`BitmapIndex`] if it has many, otherwise a [`SkipIndex`]. Indexes are computed from
//! the words and never stored.

use super::bitmap_index::BitmapIndex;
use super::dense_index::DenseIndex;
use super::encoding::Decoder;
use super::params::Precision;
use super::tree::Tree;
#[cfg(target_arch = "x86_64")]
use super::values::bytes;
use super::values::{self, Hit};
use crate::base::array::{LazyPerNode, prefetch};
use crate::learn::cluster::lanes::Lanes;
use multiversion::{multiversion, target::match_target};

/// The least number of words from one [`SkipPoint`] to the next, on average.
const SKIP_WORDS: u64 = 8;
/// A node with at least one in this many features gets a [`DenseIndex`].
const DENSE: u64 = 4;
/// A node with at least one in this many features gets a [`BitmapIndex`].
const BITMAP: u64 = 16;

/// The most rows of a small batch.
const SMALL_BATCH: usize = 256;

/// How many rows go through the trees together, which decides whether indexing nodes pays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum BatchSize {
    /// More batches of this size are likely, so building an index pays: on a model of 500 MB the first
    /// calls take longer, later ones half as long.
    Small,
    /// Most rows of the batch reach different nodes, so that an index would rarely be used again.
    Large,
}

impl BatchSize {
    /// The size of a batch of `rows` rows.
    pub(super) fn of(rows: usize) -> Self {
        if rows <= SMALL_BATCH { BatchSize::Small } else { BatchSize::Large }
    }

    /// The cost of finding a feature by an index, in words that could be decoded in the same time.
    /// For large batches it includes building the index.
    fn lookup_cost(self) -> usize {
        match self {
            BatchSize::Small => 4,
            BatchSize::Large => 256,
        }
    }

    /// Whether looking up the entries of the rows at a node one by one is faster than decoding all of
    /// the node's words into a table.
    pub(super) fn prefers_lookup(self, rows: usize, entries: usize, words: usize) -> bool {
        rows == 1 || entries.saturating_mul(self.lookup_cost()) < words
    }
}

/// The index of a node's features.
#[derive(Debug)]
enum NodeIndex {
    Dense(DenseIndex),
    Bitmap(BitmapIndex),
    Skip(SkipIndex),
}

/// Points from which decoding can start: one for every 2 to the power of `shift` features, up to the
/// node's last.
#[derive(Debug)]
struct SkipIndex {
    shift: u32,
    points: Box<[SkipPoint]>,
}

/// A point from which decoding can start.
#[derive(Clone, Copy, Debug)]
struct SkipPoint {
    /// One more than the last feature before it.
    next: u32,
    word: u32,
    value: u32,
}

/// The indexes of a tree's nodes, as far as small batches have reached them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NodeIndexes(LazyPerNode<NodeIndex>);

/// Appends the entries of a row whose features a node has, and prefetches their values.
pub(super) fn find(
    tree: &Tree,
    node: usize,
    row: (&[u32], &[f32]),
    batch: BatchSize,
    hits: &mut Vec<Hit>,
) {
    let (words, values) = tree.centroids(node);
    let index_pays = row.0.len().saturating_mul(batch.lookup_cost()) < words.remaining();
    let index = if index_pays { index_of(tree, node) } else { None };
    let first = hits.len();
    find_in(index, words, row, tree.precision.bytes(), hits);
    hits[first..].iter().for_each(|hit| prefetch(values, hit.offset));
}

/// Appends the entries of a row whose features are among `words`; values have `width` bytes.
#[multiversion(targets("x86_64+popcnt"))]
fn find_in(
    index: Option<&NodeIndex>,
    words: Decoder<'_>,
    row: (&[u32], &[f32]),
    width: usize,
    hits: &mut Vec<Hit>,
) {
    match index {
        Some(NodeIndex::Dense(dense)) => dense.find(row, width, hits),
        Some(NodeIndex::Bitmap(bitmap)) => bitmap.find(&words, row, width, hits),
        Some(NodeIndex::Skip(skip)) => decode(words, Some(skip), row, width, hits),
        None => decode(words, None, row, width, hits),
    }
}

/// A row's dot product with each of a node's centroids, which have these values, from the entries that
/// [`find`] found.
#[multiversion(targets("x86_64+avx2+popcnt"))]
pub(super) fn sum_products(values: &[u8], precision: Precision, hits: &[Hit]) -> Lanes {
    match_target! {
        "x86_64+avx2+popcnt" => if precision == Precision::Byte {
            let mut sums = bytes::Sums::new();
            hits.iter().for_each(|&hit| sums.add_products(hit, values));
            return sums.lanes();
        },
        _ => (),
    }
    let mut sums = Lanes::ZERO;
    hits.iter().for_each(|&hit| values::add_products(&mut sums, hit, values, precision));
    sums
}

/// Finds entries by decoding words, from the last point of the index before each entry or all.
#[inline(always)]
fn decode(
    start: Decoder<'_>,
    index: Option<&SkipIndex>,
    (columns, factors): (&[u32], &[f32]),
    width: usize,
    hits: &mut Vec<Hit>,
) {
    let (mut words, mut offset, mut last) = (start.clone(), 0, None);
    // The feature decoded last, its `child_bits`, and where its values start.
    let mut decoded: Option<(u32, u16, usize)> = None;
    for (&column, &factor) in columns.iter().zip(factors) {
        let at = index.map_or(0, |index| column >> index.shift);
        if last.is_none_or(|(column_before, at_before)| at != at_before || column < column_before) {
            (words, offset) = match index {
                None => (start.clone(), 0),
                Some(index) => match index.points.get(at as usize) {
                    Some(point) => {
                        (start.after(point.word as usize, point.next), point.value as usize)
                    }
                    None => continue,
                },
            };
            decoded = None;
        }
        last = Some((column, at));
        while decoded.is_none_or(|(feature, ..)| feature < column) {
            let Some((feature, child_bits)) = words.next() else { break };
            decoded = Some((feature, child_bits, offset));
            offset += child_bits.count_ones() as usize * width;
        }
        if let Some((feature, child_bits, offset)) = decoded
            && feature == column
        {
            hits.push(Hit { factor, child_bits, offset });
        }
    }
}

/// The index of a node, built on first use; `None` if the node is damaged or too large.
fn index_of(tree: &Tree, node: usize) -> Option<&NodeIndex> {
    tree.indexes.0.get_or_init(tree.nodes(), node, || {
        let (words, values) = tree.centroids(node);
        NodeIndex::new(words, values.len(), tree.precision.bytes())
    })
}

/// The steps of prefetching what finding features reads; each reads what the one before prefetched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PrefetchStage {
    /// The bounds of the nodes' arrays.
    Bounds,
    /// The index entries of the features, and the nodes' children.
    IndexEntries,
    /// The words of the features.
    Words,
}

/// All stages in their order.
pub(super) const PREFETCH_STAGES: [PrefetchStage; 3] =
    [PrefetchStage::Bounds, PrefetchStage::IndexEntries, PrefetchStage::Words];

/// Prefetches what finding the features of rows at several nodes reads, for all nodes at once, so
/// that their memory latencies overlap. `visits` gives each node with the columns of the row at it.
pub(super) fn prefetch_stage<'a>(
    stage: PrefetchStage,
    tree: &Tree,
    visits: impl Iterator<Item = (usize, &'a [u32])>,
) {
    let Some(indexes) = tree.indexes.0.slots() else { return };
    for (node, columns) in visits {
        match stage {
            PrefetchStage::Bounds => {
                prefetch(&tree.children_start, node);
                prefetch(&tree.words_start, node);
                prefetch(&tree.values_start, node);
                prefetch(indexes, node);
            }
            PrefetchStage::IndexEntries => {
                let first = tree.child_range(node).start;
                prefetch(&tree.children, first);
                prefetch(&tree.scales, first);
                if let Some(Some(index)) = indexes[node].get() {
                    columns.iter().for_each(|&column| index.prefetch(column));
                } else {
                    let words = tree.centroids(node).0;
                    let start = 0..words.remaining().min(256);
                    start.step_by(32).for_each(|word| words.prefetch(word));
                }
            }
            PrefetchStage::Words => {
                if let Some(Some(index)) = indexes[node].get() {
                    prefetch_words(index, &tree.centroids(node).0, columns);
                }
            }
        }
    }
}

/// Prefetches the words of some features, if the index does not make reading them unnecessary.
#[multiversion(targets("x86_64+popcnt"))]
fn prefetch_words(index: &NodeIndex, words: &Decoder<'_>, columns: &[u32]) {
    match index {
        NodeIndex::Dense(_) => {}
        NodeIndex::Bitmap(bitmap) => {
            columns.iter().for_each(|&column| bitmap.prefetch_words(column, words));
        }
        NodeIndex::Skip(SkipIndex { shift, points }) => {
            for &column in columns {
                if let Some(point) = points.get((column >> shift) as usize) {
                    words.prefetch(point.word as usize);
                }
            }
        }
    }
}

impl NodeIndex {
    /// `None` for a node that is damaged, so that its features do not increase, or too large.
    fn new(words: Decoder<'_>, values: usize, width: usize) -> Option<Self> {
        let mut features = 0;
        for (feature, _) in words.clone() {
            if u64::from(feature) < features {
                return None;
            }
            features = u64::from(feature) + 1;
        }
        let last = features.checked_sub(1)? as u32;
        let all = u64::from(u32::try_from(words.remaining()).ok()?);
        u32::try_from(values).ok()?;
        if features <= all * DENSE {
            return Some(NodeIndex::Dense(DenseIndex::new(words, last, width)));
        }
        if features <= all * BITMAP {
            return Some(NodeIndex::Bitmap(BitmapIndex::new(words, last, width)));
        }
        let shift = (features * SKIP_WORDS / all).next_power_of_two().ilog2().min(31);
        Some(NodeIndex::Skip(SkipIndex::new(words, last, width, shift)))
    }

    /// Prefetches the entry of a feature.
    #[inline(always)]
    fn prefetch(&self, feature: u32) {
        match self {
            NodeIndex::Dense(dense) => dense.prefetch(feature),
            NodeIndex::Bitmap(bitmap) => bitmap.prefetch(feature),
            NodeIndex::Skip(skip) => prefetch(&skip.points, (feature >> skip.shift) as usize),
        }
    }
}

impl SkipIndex {
    /// Indexes the features of a node, the largest of which is `last`; values have `width` bytes.
    fn new(mut words: Decoder<'_>, last: u32, width: usize, shift: u32) -> Self {
        let all = words.remaining();
        let mut points = Vec::with_capacity((last >> shift) as usize + 1);
        let mut point = SkipPoint { next: 0, word: 0, value: 0 };
        while let Some((feature, child_bits)) = words.next() {
            // The words of a mapped file may have changed since `last` was determined.
            if feature >> shift > last >> shift {
                break;
            }
            points.resize(((feature >> shift) as usize + 1).max(points.len()), point);
            point.next = feature.wrapping_add(1);
            point.word = (all - words.remaining()) as u32;
            point.value = point.value.wrapping_add(child_bits.count_ones() * width as u32);
        }
        SkipIndex { shift, points: points.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::encoding::Encoder;
    use super::*;
    use crate::learn::cluster::lanes::LANES;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Some values, and the bytes that store them.
    fn values(count: usize, precision: Precision) -> (Vec<f32>, Vec<u8>) {
        let numbers: Vec<f32> = (0..count).map(|at| (at * 37 % 255) as f32 - 127.0).collect();
        let bytes = numbers.iter().flat_map(|&number| match precision {
            Precision::Byte => vec![number as i8 as u8],
            Precision::Half => half::f16::from_f32(number).to_le_bytes().to_vec(),
        });
        let bytes = bytes.collect();
        (numbers, bytes)
    }

    /// The row's value for each of its features.
    fn factors(wanted: &[u32]) -> Vec<f32> {
        (0..wanted.len()).map(|at| (at % 13) as f32 / 7.0 - 0.8).collect()
    }

    /// The bits of the products, found by the index or by decoding all words.
    fn found(
        index: Option<&NodeIndex>,
        words: &[u16],
        values: (&[u8], Precision),
        wanted: &[u32],
    ) -> [u32; LANES] {
        let (values, precision) = values;
        let (words, mut hits) = (Decoder::new(words, 10), Vec::new());
        find_in(index, words, (wanted, &factors(wanted)), precision.bytes(), &mut hits);
        sum_products(values, precision, &hits).0.map(f32::to_bits)
    }

    /// The bits of the products, computed from a map of the node's features.
    fn expected(features: &BTreeMap<u32, u16>, numbers: &[f32], wanted: &[u32]) -> [u32; LANES] {
        let (mut sums, mut numbers) = ([0.0f32; LANES], numbers.iter());
        let mut lanes_of = |child_bits: u16| {
            let lane =
                |lane| if child_bits >> lane & 1 == 1 { *numbers.next().unwrap() } else { 0.0 };
            let lanes: Vec<f32> = (0..LANES).map(lane).collect();
            lanes
        };
        let lanes: BTreeMap<u32, Vec<f32>> = features
            .iter()
            .map(|(&feature, &child_bits)| (feature, lanes_of(child_bits)))
            .collect();
        for (feature, factor) in wanted.iter().zip(factors(wanted)) {
            for (sum, value) in sums.iter_mut().zip(lanes.get(feature).into_iter().flatten()) {
                *sum += factor * value;
            }
        }
        sums.map(f32::to_bits)
    }

    /// Whether the index has at most so many entries as the thresholds promise.
    fn is_small(index: &NodeIndex, words: &[u16]) -> bool {
        match index {
            NodeIndex::Dense(dense) => dense.0.len() <= words.len() / 2 + 1,
            NodeIndex::Bitmap(bitmap) => bitmap.0.len() <= words.len() / 2 + 2,
            NodeIndex::Skip(skip) => skip.points.len() <= words.len() / SKIP_WORDS as usize + 1,
        }
    }

    proptest! {
        #[test]
        fn every_feature_is_found_by_an_index(
            crowded in proptest::collection::btree_map(0u32..200, 1u16..1 << 10, 0..200),
            near in proptest::collection::btree_map(0u32..800, 1u16..1 << 10, 0..200),
            wide in proptest::collection::btree_map(0u32..5000, 1u16..1 << 10, 0..100),
            beyond in proptest::option::of(5000u32..1 << 31),
            strange in proptest::collection::vec(0u32..1 << 31, 0..5)) {
            let mut apart = wide.clone();
            apart.extend(beyond.map(|feature| (feature, 3)));
            let wanted: Vec<u32> = (0..5100).chain(beyond).chain(strange).collect();
            for features in [crowded, near, wide, apart] {
                let mut words = Vec::new();
                let mut encoder = Encoder::new(&mut words, 10);
                features.iter().for_each(|(&feature, &child_bits)| encoder.push(feature, child_bits));
                let count = features.values().map(|child_bits| child_bits.count_ones() as usize).sum();
                for precision in [Precision::Byte, Precision::Half] {
                    let (numbers, bytes) = values(count, precision);
                    let expected = expected(&features, &numbers, &wanted);
                    let found = |index| found(index, &words, (&bytes, precision), &wanted);
                    prop_assert_eq!(found(None), expected);
                    let decoder = Decoder::new(&words, 10);
                    match NodeIndex::new(decoder, bytes.len(), precision.bytes()) {
                        None => prop_assert!(features.is_empty()),
                        Some(index) => {
                            prop_assert!(is_small(&index, &words));
                            prop_assert_eq!(found(Some(&index)), expected);
                        }
                    }
                }
            }
        }

        #[test]
        fn damaged_words_are_indexed_correctly_or_not_at_all(
            words in proptest::collection::vec(any::<u16>(), 0..200),
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            wanted in proptest::collection::vec(0u32..10_000, 0..50)) {
            let values = (&bytes[..], Precision::Byte);
            if let Some(index) = NodeIndex::new(Decoder::new(&words, 10), bytes.len(), 1) {
                prop_assert!(is_small(&index, &words));
                let expected = found(None, &words, values, &wanted);
                prop_assert_eq!(found(Some(&index), &words, values, &wanted), expected);
            }
        }
    }
}
