//! The features of a node that has many of them, each found at once.
//!
//! One bit for each feature says whether the node has it; the bits before it, 32 at a time, where its
//! word is.

use super::block::Decoder;
use super::values::Hit;
use crate::base::array::prefetch;
use crate::base::sparse::Present;

/// Which features a node has, and where their words and values are.
#[derive(Debug)]
pub(super) struct Spans(Box<[Span]>);

/// What some features next to one another have in a node.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    /// Which of them the node has.
    present: Present,
    /// Where their words start.
    word: u32,
    /// Where their values start.
    value: u32,
    /// How many values those in each of the first quarters have.
    quarters: [u8; 3],
    /// Whether some of them take more than one word.
    gaps: bool,
}

/// Features in a quarter of a span: few enough that their values can be counted at once.
const QUARTER: u32 = Present::WIDTH / 4;

impl Span {
    /// How many values come before those of a feature's quarter.
    #[inline(always)]
    fn values_before_quarter(&self, feature: u32) -> usize {
        let [first, second, third] = self.quarters;
        let counts = u32::from_le_bytes([first, second, third, 0]);
        let before = counts & ((1 << (feature % Present::WIDTH / QUARTER * 8)) - 1);
        ((before & 0xff) + (before >> 8 & 0xff) + (before >> 16)) as usize
    }

    /// The word that a feature's quarter starts with.
    #[inline(always)]
    fn quarter(&self, feature: u32) -> usize {
        self.word as usize + self.present.before(feature / QUARTER * QUARTER) as usize
    }
}

impl Spans {
    /// The features of some words, the last of which is given; values are so many bytes wide.
    pub fn new(mut words: Decoder<'_>, last: u32, width: usize) -> Self {
        let all = words.remaining();
        let mut spans = vec![Span::default(); Present::at(last) + 1];
        let (mut word, mut value) = (0, 0u32);
        while let Some((feature, touches)) = words.next() {
            // Words of a mapped file may change between the look for the last feature and this one.
            let Some(span) = spans.get_mut(Present::at(feature)) else { break };
            if span.present == Present::default() {
                (span.word, span.value) = (word, value);
            }
            span.present.insert(feature);
            let next = (all - words.remaining()) as u32;
            span.gaps |= next != word + 1;
            word = next;
            let count = touches.count_ones();
            let quarter = feature % Present::WIDTH / QUARTER;
            if let Some(values) = span.quarters.get_mut(quarter as usize) {
                *values = values.wrapping_add(count as u8); // At most 8 times 16.
            }
            value = value.wrapping_add(count * width as u32);
        }
        Spans(spans.into())
    }

    /// Appends the entries of a row that are among the features of the words.
    #[inline(always)]
    pub fn find(
        &self,
        words: &Decoder<'_>,
        (columns, factors): (&[u32], &[f32]),
        width: usize,
        hits: &mut Vec<Hit>,
    ) {
        for (&column, &factor) in columns.iter().zip(factors) {
            let Some(span) = self.0.get(Present::at(column)) else { continue };
            if !span.present.has(column) {
                continue;
            }
            let quarter = span.quarter(column);
            let before = span.word as usize + span.present.before(column) as usize - quarter;
            let found = match words.among_eight(quarter, before) {
                Some((touches, values)) if !span.gaps => {
                    Some((touches, span.values_before_quarter(column) + values))
                }
                _ => words.skim(span.word as usize, span.present.before(column) as usize),
            };
            let Some((touches, values)) = found else { continue };
            hits.push(Hit { factor, touches, place: span.value as usize + values * width });
        }
    }

    /// Asks for the memory of what leads to a feature.
    #[inline(always)]
    pub fn fetch(&self, feature: u32) {
        prefetch(&self.0, Present::at(feature));
    }

    /// Asks for the memory of the words of a feature's quarter.
    #[inline(always)]
    pub fn fetch_word(&self, feature: u32, words: &Decoder<'_>) {
        let Some(span) = self.0.get(Present::at(feature)) else { return };
        if span.present.has(feature) {
            let quarter = span.quarter(feature);
            words.fetch(quarter);
            words.fetch(quarter + QUARTER as usize - 1);
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
