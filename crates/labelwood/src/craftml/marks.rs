//! Places from which a node's centroids can be read, so that few rows need not read them all.
//!
//! The words of a node say only how far a feature is from the one before: finding one takes reading
//! all before it. That is nothing for a block of rows that reads them once, and nearly everything
//! for a single row. So nodes with very many words get a mark for each stretch of some features the
//! first time that few rows come to them. Marks are made when they are needed, follow from the
//! words, and are never stored.

use super::block::Decoder;
use super::route::fill;
use super::tree::Tree;
use crate::cluster::lanes::Lanes;
use std::sync::OnceLock;

/// Features from one mark to the next.
const STRETCH: usize = 64;
/// Finding a feature through marks takes as long as reading so many words in a row, about.
const LOOKUP: usize = 256;

/// Where a stretch starts.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// One more than the last feature before it.
    next: u32,
    word: u32,
    value: u32,
}

/// The marks of a node, once a row has come to it alone.
type Marked = OnceLock<Box<[Mark]>>;

/// The marks of a tree's nodes, as far as rows have come to them.
#[derive(Default)]
pub(crate) struct Marks(OnceLock<Box<[Marked]>>);

/// Whether so many entries of some rows are found faster one by one than by reading all of a node's
/// words into a table.
pub(super) fn pays(rows: usize, entries: usize, words: usize) -> bool {
    rows == 1 || entries.saturating_mul(LOOKUP) < words
}

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
    hits: &mut Vec<Hit>,
) -> Lanes {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor counts bits, as just asked.
        return unsafe { products_popcnt(tree, node, row, hits) };
    }
    products_portable(tree, node, row, hits)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn products_popcnt(tree: &Tree, node: usize, row: (&[u32], &[f32]), hits: &mut Vec<Hit>) -> Lanes {
    products_portable(tree, node, row, hits)
}

#[inline(always)]
fn products_portable(
    tree: &Tree,
    node: usize,
    (columns, factors): (&[u32], &[f32]),
    hits: &mut Vec<Hit>,
) -> Lanes {
    let (start, values) = tree.centroids(node);
    let is_long = columns.len().saturating_mul(LOOKUP) < start.remaining();
    let marks = if is_long { tree.marks.of(tree, node) } else { &[] };
    let width = tree.precision.bytes();
    let (mut words, mut at, mut last) = (start.clone(), 0, None);
    // What was read last: a feature, the children it touches, and where its values are.
    let mut read: Option<(u32, u16, usize)> = None;
    for (&column, &factor) in columns.iter().zip(factors) {
        let stretch = marks.partition_point(|mark| mark.next <= column);
        if last.is_none_or(|(column_before, stretch_before)| {
            stretch != stretch_before || column < column_before
        }) {
            (words, at) = match stretch.checked_sub(1).map(|before| marks[before]) {
                Some(mark) => (start.after(mark.word as usize, mark.next), mark.value as usize),
                None => (start.clone(), 0),
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
    fn of(&self, tree: &Tree, node: usize) -> &[Mark] {
        let (words, values) = tree.centroids(node);
        if u32::try_from(values.len()).is_err() {
            return &[];
        }
        let nodes = self.0.get_or_init(|| (0..tree.nodes()).map(|_| Marked::new()).collect());
        nodes[node].get_or_init(|| marks(words, tree.precision.bytes()))
    }
}

fn marks(mut words: Decoder<'_>, width: usize) -> Box<[Mark]> {
    let all = words.remaining();
    let (mut marks, mut value) = (Vec::with_capacity(all / STRETCH), 0);
    let mut count = 0;
    while let Some((feature, touches)) = words.next() {
        value += touches.count_ones() as usize * width;
        count += 1;
        if count % STRETCH == 0 {
            let (next, word) = (feature.wrapping_add(1), (all - words.remaining()) as u32);
            // A damaged file, whose features do not rise, is read from its start.
            if marks.last().is_some_and(|before: &Mark| before.next > next) {
                return Box::default();
            }
            marks.push(Mark { next, word, value: value as u32 });
        }
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
