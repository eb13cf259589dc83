//! Places from which a node's centroids can be read, so that few rows need not read them all.
//!
//! The words of a node say only how far a feature is from the one before: finding one takes reading
//! all before it. That is nothing for a block of rows that reads them once, and nearly everything
//! for a single row. So nodes with many words get marks the first time that few rows come to them: if
//! they have most of the features, the children that each touches; if they have many, one bit for
//! each; otherwise a place to start from for each stretch of features. Marks are made when they are
//! needed, follow from the words, and are never stored.

use super::block::Decoder;
use super::params::Precision;
use super::spans::Spans;
use super::touches::Touches;
use super::tree::Tree;
#[cfg(target_arch = "x86_64")]
use super::values::bytes;
use super::values::{self, Hit};
use crate::base::array::{OnDemand, prefetch};
use crate::learn::cluster::lanes::Lanes;

/// Words from one mark to the next on average, at least.
const STRETCH: u64 = 8;
/// A node that has at least one of so many features gets the touches of each.
const MOST: u64 = 4;
/// A node that has at least one of so many features gets a bit for each.
const MANY: u64 = 16;

/// Rows that are few.
const FEW: usize = 256;

/// How many rows go through the trees together, which decides whether marks are worth making.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Company {
    /// Few, and further calls will bring few again, for which marks are there then.
    Few,
    /// A block, most of which goes to other nodes.
    Many,
}

impl Company {
    /// That of so many rows. Of a model of 500 MB the first calls with few take longer for the marks,
    /// later ones half as long.
    pub fn of(rows: usize) -> Self {
        if rows <= FEW { Company::Few } else { Company::Many }
    }

    /// Finding a feature through marks takes as long as reading so many words in a row, about; for
    /// blocks the making of them counts.
    fn lookup(self) -> usize {
        match self {
            Company::Few => 4,
            Company::Many => 256,
        }
    }

    /// Whether so many entries of some rows are found faster one by one than by reading all of a
    /// node's words into a table.
    pub fn pays(self, rows: usize, entries: usize, words: usize) -> bool {
        rows == 1 || entries.saturating_mul(self.lookup()) < words
    }
}

/// Where a stretch starts.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// One more than the last feature before it.
    next: u32,
    word: u32,
    value: u32,
}

/// The marks of a node.
#[derive(Debug)]
enum Marked {
    /// All features, with the children they touch.
    Full(Touches),
    /// All features.
    Dense(Spans),
    /// One for each 2 to the power of `shift` features, up to the last of the node.
    Sparse { shift: u32, marks: Box<[Mark]> },
}

/// The marks of a tree's nodes, as far as rows have come to them with little company.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Marks(OnDemand<Marked>);

/// A row's dot product with each of a node's centroids, as the table of all of them gives it;
/// `hits` is scratch memory.
pub(super) fn products(
    tree: &Tree,
    node: usize,
    row: (&[u32], &[f32]),
    company: Company,
    hits: &mut Vec<Hit>,
) -> Lanes {
    hits.clear();
    find(tree, node, row, company, hits);
    weigh(tree, node, hits)
}

/// Appends the entries of a row that are among a node's features, and asks for the memory of their
/// values.
pub(super) fn find(
    tree: &Tree,
    node: usize,
    row: (&[u32], &[f32]),
    company: Company,
    hits: &mut Vec<Hit>,
) {
    let (words, values) = tree.centroids(node);
    let is_long = row.0.len().saturating_mul(company.lookup()) < words.remaining();
    let marked = if is_long { marks_of(tree, node) } else { None };
    let first = hits.len();
    find_in(marked, words, row, tree.precision.bytes(), hits);
    hits[first..].iter().for_each(|hit| prefetch(values, hit.place));
}

/// The same of a node with these words; values are so many bytes wide.
fn find_in(
    marked: Option<&Marked>,
    words: Decoder<'_>,
    row: (&[u32], &[f32]),
    width: usize,
    hits: &mut Vec<Hit>,
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor counts bits, as just asked.
        return unsafe { find_in_popcnt(marked, words, row, width, hits) };
    }
    find_in_portable(marked, words, row, width, hits)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn find_in_popcnt(
    marked: Option<&Marked>,
    words: Decoder<'_>,
    row: (&[u32], &[f32]),
    width: usize,
    hits: &mut Vec<Hit>,
) {
    find_in_portable(marked, words, row, width, hits)
}

#[inline(always)]
fn find_in_portable(
    marked: Option<&Marked>,
    words: Decoder<'_>,
    row: (&[u32], &[f32]),
    width: usize,
    hits: &mut Vec<Hit>,
) {
    match marked {
        Some(Marked::Full(touches)) => touches.find(row, width, hits),
        Some(Marked::Dense(spans)) => spans.find(&words, row, width, hits),
        Some(Marked::Sparse { shift, marks }) => {
            read(words, Some((*shift, marks)), row, width, hits)
        }
        None => read(words, None, row, width, hits),
    }
}

/// The sums of a node's values times those of a row, of the entries that both have.
pub(super) fn weigh(tree: &Tree, node: usize, hits: &[Hit]) -> Lanes {
    weigh_values(tree.values_of(node), tree.precision, hits)
}

/// The same of a node with these values.
fn weigh_values(values: &[u8], precision: Precision, hits: &[Hit]) -> Lanes {
    #[cfg(target_arch = "x86_64")]
    if precision == Precision::Byte
        && std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the processor has both, as just asked.
        return unsafe { weigh_bytes(values, hits) };
    }
    let mut sums = Lanes::ZERO;
    hits.iter().for_each(|&hit| values::weigh(&mut sums, hit, values, precision));
    sums
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn weigh_bytes(values: &[u8], hits: &[Hit]) -> Lanes {
    let mut sums = bytes::Sums::new();
    hits.iter().for_each(|&hit| sums.weigh(hit, values));
    sums.lanes()
}

/// Finds entries by reading words, from the marks before them or all.
#[inline(always)]
fn read(
    start: Decoder<'_>,
    marks: Option<(u32, &[Mark])>,
    (columns, factors): (&[u32], &[f32]),
    width: usize,
    hits: &mut Vec<Hit>,
) {
    let (mut words, mut at, mut last) = (start.clone(), 0, None);
    // What was read last: a feature, the children it touches, and where its values are.
    let mut read: Option<(u32, u16, usize)> = None;
    for (&column, &factor) in columns.iter().zip(factors) {
        let stretch = marks.map_or(0, |(shift, _)| column >> shift);
        if last.is_none_or(|(column_before, stretch_before)| {
            stretch != stretch_before || column < column_before
        }) {
            (words, at) = match marks {
                None => (start.clone(), 0),
                Some((_, marks)) => match marks.get(stretch as usize) {
                    Some(mark) => (start.after(mark.word as usize, mark.next), mark.value as usize),
                    None => continue,
                },
            };
            read = None;
        }
        last = Some((column, stretch));
        while read.is_none_or(|(feature, ..)| feature < column) {
            let Some((feature, touches)) = words.next() else { break };
            read = Some((feature, touches, at));
            at += touches.count_ones() as usize * width;
        }
        if let Some((feature, touches, place)) = read
            && feature == column
        {
            hits.push(Hit { factor, touches, place });
        }
    }
}

/// The marks of a node, made when they are first asked for; none of a node that is damaged or too
/// large.
fn marks_of(tree: &Tree, node: usize) -> Option<&Marked> {
    tree.marks.0.get_or_make(tree.nodes(), node, || {
        let (words, values) = tree.centroids(node);
        Marked::new(words, values.len(), tree.precision.bytes())
    })
}

/// What is asked for at a time: each stage needs what the one before asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stage {
    /// Where nodes lie.
    Nodes,
    /// What leads to features, and the children.
    Places,
    /// The words of features.
    Words,
}

/// All stages in their order.
pub(super) const STAGES: [Stage; 3] = [Stage::Nodes, Stage::Places, Stage::Words];

/// Asks for the memory that finding rows' features at some nodes takes, of all of them at once, so
/// that none waits for another's. `visits` gives each node with the columns of a row at it.
pub(super) fn fetch<'a>(
    stage: Stage,
    tree: &Tree,
    visits: impl Iterator<Item = (usize, &'a [u32])>,
) {
    let Some(nodes) = tree.marks.0.made() else { return };
    for (node, columns) in visits {
        match stage {
            Stage::Nodes => {
                prefetch(&tree.children_start, node);
                prefetch(&tree.words_start, node);
                prefetch(&tree.values_start, node);
                prefetch(nodes, node);
            }
            Stage::Places => {
                let first = tree.child_range(node).start;
                prefetch(&tree.children, first);
                prefetch(&tree.scales, first);
                if let Some(Some(marked)) = nodes[node].get() {
                    columns.iter().for_each(|&column| marked.fetch(column));
                } else {
                    let words = tree.centroids(node).0;
                    (0..words.remaining().min(256)).step_by(32).for_each(|word| words.fetch(word));
                }
            }
            Stage::Words => {
                if let Some(Some(marked)) = nodes[node].get() {
                    fetch_words(marked, &tree.centroids(node).0, columns);
                }
            }
        }
    }
}

/// Asks for the memory of some features' words, if finding them takes these.
fn fetch_words(marked: &Marked, words: &Decoder<'_>, columns: &[u32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor counts bits, as just asked.
        return unsafe { fetch_words_popcnt(marked, words, columns) };
    }
    fetch_words_portable(marked, words, columns)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn fetch_words_popcnt(marked: &Marked, words: &Decoder<'_>, columns: &[u32]) {
    fetch_words_portable(marked, words, columns)
}

#[inline(always)]
fn fetch_words_portable(marked: &Marked, words: &Decoder<'_>, columns: &[u32]) {
    match marked {
        Marked::Full(_) => {}
        Marked::Dense(spans) => columns.iter().for_each(|&column| spans.fetch_word(column, words)),
        Marked::Sparse { shift, marks } => {
            for &column in columns {
                if let Some(mark) = marks.get((column >> shift) as usize) {
                    words.fetch(mark.word as usize);
                }
            }
        }
    }
}

impl Marked {
    /// None for a damaged file, whose features do not rise, and for one too large.
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
        if features <= all * MOST {
            return Some(Marked::Full(Touches::new(words, last, width)));
        }
        if features <= all * MANY {
            return Some(Marked::Dense(Spans::new(words, last, width)));
        }
        let shift = (features * STRETCH / all).next_power_of_two().ilog2().min(31);
        Some(Marked::Sparse { shift, marks: marks(words, last >> shift, shift, width) })
    }

    /// Asks for the memory of what leads to a feature.
    #[inline(always)]
    fn fetch(&self, feature: u32) {
        match self {
            Marked::Full(touches) => touches.fetch(feature),
            Marked::Dense(spans) => spans.fetch(feature),
            Marked::Sparse { shift, marks } => prefetch(marks, (feature >> shift) as usize),
        }
    }
}

/// Marks for each stretch of a node's words, up to the given one.
fn marks(mut words: Decoder<'_>, last: u32, shift: u32, width: usize) -> Box<[Mark]> {
    let all = words.remaining();
    let mut marks = Vec::with_capacity(last as usize + 1);
    let mut mark = Mark { next: 0, word: 0, value: 0 };
    while let Some((feature, touches)) = words.next() {
        // Words of a mapped file may change between the look for the last feature and this one.
        if feature >> shift > last {
            break;
        }
        marks.resize(((feature >> shift) as usize + 1).max(marks.len()), mark);
        mark.next = feature.wrapping_add(1);
        mark.word = (all - words.remaining()) as u32;
        mark.value = mark.value.wrapping_add(touches.count_ones() * width as u32);
    }
    marks.into()
}

#[cfg(test)]
mod tests {
    use super::super::block::Encoder;
    use super::*;
    use crate::learn::cluster::lanes::LANES;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Values of a precision, and the bytes that they are stored in.
    fn values(count: usize, precision: Precision) -> (Vec<f32>, Vec<u8>) {
        let numbers: Vec<f32> = (0..count).map(|at| (at * 37 % 255) as f32 - 127.0).collect();
        let bytes = numbers.iter().flat_map(|&number| match precision {
            Precision::Byte => vec![number as i8 as u8],
            Precision::Half => half::f16::from_f32(number).to_le_bytes().to_vec(),
        });
        let bytes = bytes.collect();
        (numbers, bytes)
    }

    /// Some number of the row for each feature that is wanted.
    fn factors(wanted: &[u32]) -> Vec<f32> {
        (0..wanted.len()).map(|at| (at % 13) as f32 / 7.0 - 0.8).collect()
    }

    /// The bits of the products that marks, or reading all of the words, give.
    fn found(
        marked: Option<&Marked>,
        words: &[u16],
        values: (&[u8], Precision),
        wanted: &[u32],
    ) -> [u32; LANES] {
        let (values, precision) = values;
        let (words, mut hits) = (Decoder::new(words, 10), Vec::new());
        find_in(marked, words, (wanted, &factors(wanted)), precision.bytes(), &mut hits);
        weigh_values(values, precision, &hits).0.map(f32::to_bits)
    }

    /// The same from a plain map of the node's features.
    fn expected(features: &BTreeMap<u32, u16>, numbers: &[f32], wanted: &[u32]) -> [u32; LANES] {
        let (mut sums, mut numbers) = ([0.0f32; LANES], numbers.iter());
        let mut lanes_of = |touches: u16| {
            let lane = |lane| if touches >> lane & 1 == 1 { *numbers.next().unwrap() } else { 0.0 };
            let lanes: Vec<f32> = (0..LANES).map(lane).collect();
            lanes
        };
        let lanes: BTreeMap<u32, Vec<f32>> =
            features.iter().map(|(&feature, &touches)| (feature, lanes_of(touches))).collect();
        for (feature, factor) in wanted.iter().zip(factors(wanted)) {
            for (sum, value) in sums.iter_mut().zip(lanes.get(feature).into_iter().flatten()) {
                *sum += factor * value;
            }
        }
        sums.map(f32::to_bits)
    }

    /// Whether marks take no more room than they may.
    fn is_small(marked: &Marked, words: &[u16]) -> bool {
        match marked {
            Marked::Full(touches) => touches.len() <= words.len() / 2 + 1,
            Marked::Dense(spans) => spans.len() <= words.len() / 2 + 2,
            Marked::Sparse { marks, .. } => marks.len() <= words.len() / STRETCH as usize + 1,
        }
    }

    proptest! {
        #[test]
        fn every_feature_is_found_by_marks(
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
                features.iter().for_each(|(&feature, &touches)| encoder.push(feature, touches));
                let count = features.values().map(|touches| touches.count_ones() as usize).sum();
                for precision in [Precision::Byte, Precision::Half] {
                    let (numbers, bytes) = values(count, precision);
                    let expected = expected(&features, &numbers, &wanted);
                    let found = |marked| found(marked, &words, (&bytes, precision), &wanted);
                    prop_assert_eq!(found(None), expected);
                    let decoder = Decoder::new(&words, 10);
                    match Marked::new(decoder, bytes.len(), precision.bytes()) {
                        None => prop_assert!(features.is_empty()),
                        Some(marked) => {
                            prop_assert!(is_small(&marked, &words));
                            prop_assert_eq!(found(Some(&marked)), expected);
                        }
                    }
                }
            }
        }

        #[test]
        fn any_words_are_marked_or_left(
            words in proptest::collection::vec(any::<u16>(), 0..200),
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            wanted in proptest::collection::vec(0u32..10_000, 0..50)) {
            let values = (&bytes[..], Precision::Byte);
            if let Some(marked) = Marked::new(Decoder::new(&words, 10), bytes.len(), 1) {
                prop_assert!(is_small(&marked, &words));
                let expected = found(None, &words, values, &wanted);
                prop_assert_eq!(found(Some(&marked), &words, values, &wanted), expected);
            }
        }
    }
}
