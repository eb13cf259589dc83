//! The features of a node that has many of them, each found at once.
//!
//! One bit for each feature says whether the node has it; the bits before it, 32 at a time, where its
//! word is.

use super::block::Decoder;
use super::values::Hit;
use crate::array::prefetch;
use crate::sparse::Present;

/// Which features a node has, and where their words and values are.
#[derive(Debug)]
pub(super) struct Spans(Box<[Span]>);

/// What some features next to one another have in a node.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Which of them the node has.
    present: Present,
    /// Where their words start, which go up to those of the next span.
    word: u32,
    /// Where their values start.
    value: u32,
}

impl Spans {
    /// The features of some words, the last of which is given; values are so many bytes wide.
    pub fn new(mut words: Decoder<'_>, last: u32, width: usize) -> Self {
        let all = words.remaining();
        let mut spans = Vec::with_capacity(Present::at(last) + 2);
        let mut next = Span { present: Present::default(), word: 0, value: 0 };
        while let Some((feature, touches)) = words.next() {
            let at = Present::at(feature);
            spans.resize((at + 1).max(spans.len()), next);
            spans[at].present.insert(feature);
            next.word = (all - words.remaining()) as u32;
            next.value = next.value.wrapping_add(touches.count_ones() * width as u32);
        }
        // So that there is one after the last.
        spans.push(next);
        Spans(spans.into())
    }

    /// The span of a feature, and the next.
    #[inline(always)]
    fn of(&self, feature: u32) -> Option<&[Span; 2]> {
        self.0.get(Present::at(feature)..)?.first_chunk()
    }

    /// Collects the entries of a row that are among the features of the words.
    #[inline(always)]
    pub fn collect(
        &self,
        words: &Decoder<'_>,
        (columns, factors): (&[u32], &[f32]),
        width: usize,
        hits: &mut Vec<Hit>,
    ) {
        for (&column, &factor) in columns.iter().zip(factors) {
            let Some([span, next]) = self.of(column) else { continue };
            let Some(before) = span.present.rank(column) else { continue };
            let range = span.word as usize..next.word as usize;
            let features = span.present.count() as usize;
            let Some((touches, values)) = words.at(range, features, before as usize) else {
                continue;
            };
            hits.push(Hit { factor, touches, place: span.value as usize + values * width });
        }
    }

    /// Asks for the memory of what leads to a feature.
    #[inline(always)]
    pub fn fetch(&self, feature: u32) {
        prefetch(&self.0, Present::at(feature));
    }

    /// Asks for the memory of a feature's words, and of its values if they lie about where they
    /// would if all features of its span had as many.
    #[inline(always)]
    pub fn fetch_feature(&self, feature: u32, words: &Decoder<'_>, values: &[u8]) {
        let Some([span, next]) = self.of(feature) else { return };
        let Some(before) = span.present.rank(feature) else { return };
        words.fetch(span.word as usize);
        words.fetch((span.word + before) as usize);
        let room = u64::from(next.value.wrapping_sub(span.value));
        let about = room * u64::from(before) / u64::from(span.present.count());
        prefetch(values, span.value as usize + about as usize);
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
