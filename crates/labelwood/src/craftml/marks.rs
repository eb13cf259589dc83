//! Places from which a node's centroids can be read, so that few rows need not read them all.
//!
//! The words of a node say only how far a feature is from the one before: finding one takes reading
//! all before it. That is nothing for a block of rows that reads them once, and nearly everything
//! for a single row. So nodes with many words get a mark for each stretch of features the first time
//! that few rows come to them. Marks are made when they are needed, follow from the words, and are
//! never stored.

use super::block::Decoder;
use super::route::fill;
use super::tree::Tree;
use crate::array::prefetch;
use crate::cluster::lanes::Lanes;
use std::sync::OnceLock;

/// Words from one mark to the next on average, at least.
const STRETCH: usize = 16;

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
            Company::Few => 24,
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
struct Marked {
    /// There is one for each 2 to the power of this features, up to the last of the node.
    shift: u32,
    marks: Box<[Mark]>,
}

/// The marks of a tree's nodes, as far as rows have come to them with little company.
#[derive(Default)]
pub(crate) struct Marks(OnceLock<Box<[OnceLock<Marked>]>>);

/// An entry of a row that a node has, too: the row's value and where the centroids' are.
pub(super) struct Hit {
    factor: f32,
    touches: u16,
    place: usize,
}

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
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor counts bits, as just asked.
        return unsafe { products_popcnt(tree, node, row, company, hits) };
    }
    products_portable(tree, node, row, company, hits)
}

/// Apart from its caller, which could count bits as well: compiled into that, it was slower.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn products_popcnt(
    tree: &Tree,
    node: usize,
    row: (&[u32], &[f32]),
    company: Company,
    hits: &mut Vec<Hit>,
) -> Lanes {
    products_portable(tree, node, row, company, hits)
}

#[inline(always)]
fn products_portable(
    tree: &Tree,
    node: usize,
    (columns, factors): (&[u32], &[f32]),
    company: Company,
    hits: &mut Vec<Hit>,
) -> Lanes {
    let (start, values) = tree.centroids(node);
    let is_long = columns.len().saturating_mul(company.lookup()) < start.remaining();
    let marks = if is_long { tree.marks.of(tree, node) } else { None };
    let width = tree.precision.bytes();
    let (mut words, mut at, mut last) = (start.clone(), 0, None);
    // What was read last: a feature, the children it touches, and where its values are.
    let mut read: Option<(u32, u16, usize)> = None;
    for (&column, &factor) in columns.iter().zip(factors) {
        let stretch = marks.map_or(0, |marks| column >> marks.shift);
        if last.is_none_or(|(column_before, stretch_before)| {
            stretch != stretch_before || column < column_before
        }) {
            (words, at) = match marks {
                None => (start.clone(), 0),
                Some(marks) => match marks.before(column) {
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
    let mut sums = Lanes::ZERO;
    for hit in hits.drain(..) {
        let end = hit.place + hit.touches.count_ones() as usize * width;
        if let Some(values) = values.get(hit.place..end) {
            let mut lanes = Lanes::ZERO;
            fill(&mut lanes, hit.touches, values, tree.precision);
            sums.add_product(hit.factor, &lanes);
        }
    }
    sums
}

impl Marks {
    /// The marks of a node, made when they are first asked for; none of a node that is damaged or
    /// too large.
    fn of(&self, tree: &Tree, node: usize) -> Option<&Marked> {
        let nodes = self.0.get_or_init(|| (0..tree.nodes()).map(|_| OnceLock::new()).collect());
        let marked = nodes[node].get_or_init(|| {
            let (words, values) = tree.centroids(node);
            Marked::new(words, values.len(), tree.precision.bytes())
        });
        (!marked.marks.is_empty()).then_some(marked)
    }
}

/// Asks for the memory that finding rows' features at some nodes takes, of all of them at once, so
/// that none waits for another's. `visits` gives each node with the columns of a row at it.
pub(super) fn fetch<'a>(tree: &Tree, visits: impl Iterator<Item = (usize, &'a [u32])> + Clone) {
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
        if let Some(Marked { shift, marks }) = marked {
            columns.iter().for_each(|&column| prefetch(marks, (column >> shift) as usize));
        }
    }
    for (node, marked, columns) in marked {
        let (words, values) = tree.centroids(node);
        let Some(marked) = marked else {
            (0..words.remaining().min(256)).step_by(32).for_each(|word| words.fetch(word));
            continue;
        };
        for mark in columns.iter().filter_map(|&column| marked.before(column)) {
            words.fetch(mark.word as usize);
            prefetch(values, mark.value as usize);
        }
    }
}

impl Marked {
    fn new(words: Decoder<'_>, values: usize, width: usize) -> Self {
        let all = words.remaining();
        let rises = words.clone().map(|(feature, _)| feature).is_sorted();
        let last = words.clone().last().map_or(0, |(feature, _)| feature);
        // A damaged file, whose features do not rise, is read from its start.
        if !rises || u32::try_from(values).is_err() || u32::try_from(all).is_err() {
            return Marked { shift: 0, marks: Box::default() };
        }
        let apart = (u64::from(last) + 1) * STRETCH as u64 / all.max(1) as u64;
        let shift = apart.max(1).next_power_of_two().ilog2().min(31);
        let mut marks = Vec::with_capacity((last >> shift) as usize + 1);
        let (mut mark, mut rest) = (Mark { next: 0, word: 0, value: 0 }, words);
        while let Some((feature, touches)) = rest.next() {
            marks.resize(((feature >> shift) as usize + 1).max(marks.len()), mark);
            mark.next = feature.wrapping_add(1);
            mark.word = (all - rest.remaining()) as u32;
            mark.value = mark.value.wrapping_add(touches.count_ones() * width as u32);
        }
        Marked { shift, marks: marks.into() }
    }

    /// Where to start looking for a feature; nowhere if it is beyond the last.
    #[inline(always)]
    fn before(&self, feature: u32) -> Option<&Mark> {
        self.marks.get((feature >> self.shift) as usize)
    }
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

    /// The children that a feature touches and where its values are, read from some place on.
    fn look(words: Decoder<'_>, mut value: usize, wanted: u32) -> Option<(u16, usize)> {
        for (feature, touches) in words {
            if feature >= wanted {
                return (feature == wanted).then_some((touches, value));
            }
            value += touches.count_ones() as usize;
        }
        None
    }

    proptest! {
        #[test]
        fn every_feature_is_found_from_the_mark_before_it(
            features in proptest::collection::btree_map(0u32..5000, 1u16..1 << 10, 0..300),
            beyond in proptest::option::of(0u32..1 << 31),
            strange in proptest::collection::vec(0u32..1 << 31, 0..5)) {
            let mut words = Vec::new();
            let mut encoder = Encoder::new(&mut words, 10);
            let far = beyond.filter(|&feature| feature >= 5000).map(|feature| (feature, 3));
            for (feature, touches) in features.into_iter().chain(far) {
                encoder.push(feature, touches);
            }
            let start = Decoder::new(&words, 10);
            let marked = Marked::new(start.clone(), 10, 1);
            prop_assert!(marked.marks.len() <= words.len() / STRETCH + 1);
            for wanted in (0..5100).chain(beyond).chain(strange) {
                let found = marked.before(wanted).and_then(|mark| {
                    look(start.after(mark.word as usize, mark.next), mark.value as usize, wanted)
                });
                prop_assert_eq!(found, look(start.clone(), 0, wanted));
            }
        }

        #[test]
        fn any_words_are_marked_or_left(words in proptest::collection::vec(any::<u16>(), 0..200)) {
            let marked = Marked::new(Decoder::new(&words, 10), 10, 1);
            prop_assert!(marked.marks.len() <= words.len() / STRETCH + 1);
        }
    }
}
