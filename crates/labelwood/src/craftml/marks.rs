//! Places from which a node's centroids can be read, so that few rows need not read them all.
//!
//! The words of a node say only how far a feature is from the one before: finding one takes reading
//! all before it. That is nothing for a block of rows that reads them once, and nearly everything
//! for a single row. So nodes with many words get marks the first time that few rows come to them: if
//! they have many of the features, one bit for each, otherwise a place to start from for each stretch
//! of features. Marks are made when they are needed, follow from the words, and are never stored.

use super::block::Decoder;
use super::tree::Tree;
use super::values::{Hit, weigh};
use crate::array::prefetch;
use crate::cluster::lanes::Lanes;
use std::sync::OnceLock;

/// Words from one mark to the next on average, at least.
const STRETCH: u64 = 16;
/// Features that a span has on average, at least.
const SPAN: u64 = 4;
/// Of a tree whose words and values take fewer bytes, the processor's caches hold most anyway.
const SMALL: usize = 4 << 20;

/// How many rows go through the trees together, which decides whether marks are worth making.
#[derive(Clone, Copy, Debug)]
pub(super) enum Company {
    /// Few, and further calls will bring few again, for which marks are there then.
    Few,
    /// A block, most of which goes to other nodes.
    Many,
}

impl Company {
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

/// What 64 features next to one another have in a node.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Which of them the node has.
    present: u64,
    /// Where their words start, which go up to those of the next span.
    word: u32,
    /// Where their values start.
    value: u32,
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
    /// All features, each found by counting those before it in its span; the last span is empty.
    Dense(Box<[Span]>),
    /// One for each 2 to the power of `shift` features, up to the last of the node.
    Sparse { shift: u32, marks: Box<[Mark]> },
}

/// The marks of a tree's nodes, as far as rows have come to them with little company.
#[derive(Default)]
pub(crate) struct Marks(OnceLock<Box<[OnceLock<Option<Marked>>]>>);

/// A row's dot product with each of a node's centroids, as the table of all of them gives it.
///
/// All entries are found before the first value is read, so that none waits for another's memory;
/// `hits` holds them, and is empty before and after.
pub(super) fn products(
    tree: &Tree,
    node: usize,
    row: (&[u32], &[f32]),
    company: Company,
    hits: &mut Vec<Hit>,
) -> Lanes {
    let (words, values) = tree.centroids(node);
    let is_long = row.0.len().saturating_mul(company.lookup()) < words.remaining();
    let marked = if is_long { tree.marks.of(tree, node) } else { None };
    collect(marked, words, row, tree.precision.bytes(), hits);
    weigh(hits, values, tree.precision)
}

/// Collects the entries of a row that are among the features of some words.
fn collect(
    marked: Option<&Marked>,
    words: Decoder<'_>,
    row: (&[u32], &[f32]),
    width: usize,
    hits: &mut Vec<Hit>,
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor counts bits, as just asked.
        return unsafe { collect_popcnt(marked, words, row, width, hits) };
    }
    collect_portable(marked, words, row, width, hits)
}

/// Apart from its caller, which could count bits as well: compiled into that, it was slower.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn collect_popcnt(
    marked: Option<&Marked>,
    words: Decoder<'_>,
    row: (&[u32], &[f32]),
    width: usize,
    hits: &mut Vec<Hit>,
) {
    collect_portable(marked, words, row, width, hits)
}

#[inline(always)]
fn collect_portable(
    marked: Option<&Marked>,
    words: Decoder<'_>,
    row: (&[u32], &[f32]),
    width: usize,
    hits: &mut Vec<Hit>,
) {
    match marked {
        Some(Marked::Dense(spans)) => look_up(spans, words, row, width, hits),
        Some(Marked::Sparse { shift, marks }) => {
            read(words, Some((*shift, marks)), row, width, hits);
        }
        None => read(words, None, row, width, hits),
    }
}

/// Finds each entry by the features in its span.
#[inline(always)]
fn look_up(
    spans: &[Span],
    words: Decoder<'_>,
    (columns, factors): (&[u32], &[f32]),
    width: usize,
    hits: &mut Vec<Hit>,
) {
    for (&column, &factor) in columns.iter().zip(factors) {
        let at = (column / 64) as usize;
        let Some([span, next]) = spans.get(at..).and_then(<[Span]>::first_chunk) else { continue };
        let bit = 1 << (column % 64);
        if span.present & bit == 0 {
            continue;
        }
        let range = span.word as usize..next.word as usize;
        let features = span.present.count_ones() as usize;
        let before = (span.present & (bit - 1)).count_ones() as usize;
        let Some((touches, values)) = words.at(range, features, before) else { continue };
        hits.push(Hit { factor, touches, place: span.value as usize + values * width });
    }
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

impl Marks {
    /// The marks of a node, made when they are first asked for; none of a node that is damaged or
    /// too large.
    fn of(&self, tree: &Tree, node: usize) -> Option<&Marked> {
        let nodes = self.0.get_or_init(|| (0..tree.nodes()).map(|_| OnceLock::new()).collect());
        let made = nodes[node].get_or_init(|| {
            let (words, values) = tree.centroids(node);
            Marked::new(words, values.len(), tree.precision.bytes())
        });
        made.as_ref()
    }
}

/// Asks for the memory that finding rows' features at some nodes takes, of all of them at once, so
/// that none waits for another's. `visits` gives each node with the columns of a row at it.
pub(super) fn fetch<'a>(tree: &Tree, visits: impl Iterator<Item = (usize, &'a [u32])> + Clone) {
    if tree.words.len() * 2 + tree.values.len() < SMALL {
        return;
    }
    let Some(nodes) = tree.marks.0.get() else { return };
    for (node, _) in visits.clone() {
        prefetch(&tree.children_start, node);
        prefetch(&tree.words_start, node);
        prefetch(&tree.values_start, node);
        prefetch(nodes, node);
    }
    let marked = visits.map(|(node, columns)| (node, nodes[node].get(), columns));
    for (node, marked, columns) in marked.clone() {
        let first = tree.child_range(node).start;
        prefetch(&tree.children, first);
        prefetch(&tree.scales, first);
        if let Some(Some(marked)) = marked {
            columns.iter().for_each(|&column| marked.fetch(column));
        }
    }
    for (node, marked, columns) in marked {
        let (words, values) = tree.centroids(node);
        let Some(Some(marked)) = marked else {
            (0..words.remaining().min(256)).step_by(32).for_each(|word| words.fetch(word));
            continue;
        };
        for (word, value) in columns.iter().filter_map(|&column| marked.before(column)) {
            words.fetch(word);
            prefetch(values, value);
        }
    }
}

impl Marked {
    /// None for a damaged file, whose features do not rise, and for one too large.
    fn new(words: Decoder<'_>, values: usize, width: usize) -> Option<Self> {
        let all = words.remaining();
        let rises = words.clone().map(|(feature, _)| feature).is_sorted();
        let last = words.clone().last()?.0;
        if !rises || u32::try_from(values).is_err() || u32::try_from(all).is_err() {
            return None;
        }
        let (features, all) = (u64::from(last) + 1, all as u64);
        if features * SPAN <= all * 64 {
            return Some(Marked::Dense(spans(words, last, width)));
        }
        let shift = (features * STRETCH / all).next_power_of_two().ilog2().min(31);
        Some(Marked::Sparse { shift, marks: marks(words, last >> shift, shift, width) })
    }

    /// A word and a value near those of a feature; none if it is surely not there.
    #[inline(always)]
    fn before(&self, feature: u32) -> Option<(usize, usize)> {
        match self {
            Marked::Dense(spans) => {
                let span = spans.get((feature / 64) as usize)?;
                let is_there = span.present >> (feature % 64) & 1 == 1;
                is_there.then_some((span.word as usize, span.value as usize))
            }
            Marked::Sparse { shift, marks } => {
                let mark = marks.get((feature >> shift) as usize)?;
                Some((mark.word as usize, mark.value as usize))
            }
        }
    }

    /// Asks for the memory of what leads to a feature.
    #[inline(always)]
    fn fetch(&self, feature: u32) {
        match self {
            Marked::Dense(spans) => prefetch(spans, (feature / 64) as usize),
            Marked::Sparse { shift, marks } => prefetch(marks, (feature >> shift) as usize),
        }
    }
}

/// All features of a node's words, the last of which is given.
fn spans(mut words: Decoder<'_>, last: u32, width: usize) -> Box<[Span]> {
    let all = words.remaining();
    let mut spans = Vec::with_capacity(last as usize / 64 + 2);
    let mut next = Span { present: 0, word: 0, value: 0 };
    while let Some((feature, touches)) = words.next() {
        let at = feature as usize / 64;
        spans.resize((at + 1).max(spans.len()), next);
        spans[at].present |= 1 << (feature % 64);
        next.word = (all - words.remaining()) as u32;
        next.value = next.value.wrapping_add(touches.count_ones() * width as u32);
    }
    spans.push(next);
    spans.into()
}

/// Marks for each stretch of a node's words, up to the given one.
fn marks(mut words: Decoder<'_>, last: u32, shift: u32, width: usize) -> Box<[Mark]> {
    let all = words.remaining();
    let mut marks = Vec::with_capacity(last as usize + 1);
    let mut mark = Mark { next: 0, word: 0, value: 0 };
    while let Some((feature, touches)) = words.next() {
        marks.resize(((feature >> shift) as usize + 1).max(marks.len()), mark);
        mark.next = feature.wrapping_add(1);
        mark.word = (all - words.remaining()) as u32;
        mark.value = mark.value.wrapping_add(touches.count_ones() * width as u32);
    }
    marks.into()
}

/// A copy makes its own.
impl Clone for Marks {
    fn clone(&self) -> Self {
        Marks::default()
    }
}

/// They follow from the words, which are compared.
impl PartialEq for Marks {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for Marks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Marks")
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::Encoder;
    use super::*;
    use proptest::prelude::*;

    /// The children that features touch and where their values are, as marks or reading all of the
    /// words tells.
    fn found(marked: Option<&Marked>, words: &[u16], wanted: &[u32]) -> Vec<(u32, u16, usize)> {
        let factors: Vec<f32> = (0..wanted.len()).map(|at| at as f32).collect();
        let mut hits = Vec::new();
        collect(marked, Decoder::new(words, 10), (wanted, &factors), 2, &mut hits);
        hits.iter().map(|hit| (wanted[hit.factor as usize], hit.touches, hit.place)).collect()
    }

    fn marked(words: &[u16]) -> Option<Marked> {
        Marked::new(Decoder::new(words, 10), 10, 2)
    }

    /// Whether marks take no more room than they may.
    fn is_small(marked: &Marked, words: &[u16]) -> bool {
        match marked {
            Marked::Dense(spans) => spans.len() <= words.len() / SPAN as usize + 2,
            Marked::Sparse { marks, .. } => marks.len() <= words.len() / STRETCH as usize + 1,
        }
    }

    proptest! {
        #[test]
        fn every_feature_is_found_by_marks(
            near in proptest::collection::btree_map(0u32..800, 1u16..1 << 10, 0..300),
            wide in proptest::collection::btree_map(0u32..5000, 1u16..1 << 10, 0..100),
            beyond in proptest::option::of(5000u32..1 << 31),
            strange in proptest::collection::vec(0u32..1 << 31, 0..5)) {
            let mut apart = wide.clone();
            apart.extend(beyond.map(|feature| (feature, 3)));
            for features in [near, wide, apart] {
                let mut words = Vec::new();
                let mut encoder = Encoder::new(&mut words, 10);
                features.iter().for_each(|(&feature, &touches)| encoder.push(feature, touches));
                let Some(marked) = marked(&words) else {
                    prop_assert!(words.is_empty());
                    continue;
                };
                prop_assert!(is_small(&marked, &words));
                let wanted: Vec<u32> =
                    (0..5100).chain(beyond).chain(strange.iter().copied()).collect();
                let expected = found(None, &words, &wanted);
                prop_assert!(features.len() <= expected.len());
                prop_assert_eq!(found(Some(&marked), &words, &wanted), expected);
            }
        }

        #[test]
        fn any_words_are_marked_or_left(
            words in proptest::collection::vec(any::<u16>(), 0..200),
            wanted in proptest::collection::vec(0u32..10_000, 0..50)) {
            if let Some(marked) = marked(&words) {
                prop_assert!(is_small(&marked, &words));
                prop_assert!(found(Some(&marked), &words, &wanted).len() <= wanted.len());
            }
        }
    }
}
