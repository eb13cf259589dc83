//! An index of the features of a node that has many of them: one bit for each feature.
//!
//! The bits say which features the node has. Counting those before a feature gives the position of
//! its word.

use super::encoding::Decoder;
use super::values::Hit;
use crate::base::array::prefetch;
use crate::base::sparse::Bitmap32;

/// Which features a node has, and where their words and values are.
#[derive(Debug)]
pub(super) struct BitmapIndex(pub(super) Box<[Span]>);

/// The consecutive features of one bitmap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    /// Which of the features the node has.
    bitmap: Bitmap32,
    /// Where the words of the features start.
    words_start: u32,
    /// Where the values of the features start, in bytes.
    values_start: u32,
    /// The number of values of each of the first three quarters.
    quarter_values: [u8; 3],
    /// Whether some of the features take more than one word.
    has_long_gaps: bool,
}

/// Features in a quarter of a span: as many as [`Decoder::among_eight`] reads at once.
const QUARTER: u32 = Bitmap32::WIDTH / 4;

impl Span {
    /// How many values precede those of the quarter that a feature is in.
    #[inline(always)]
    fn values_before_quarter(&self, feature: u32) -> usize {
        let [first, second, third] = self.quarter_values;
        let counts = u32::from_le_bytes([first, second, third, 0]);
        let before = counts & ((1 << (feature % Bitmap32::WIDTH / QUARTER * 8)) - 1);
        ((before & 0xff) + (before >> 8 & 0xff) + (before >> 16)) as usize
    }

    /// The position of the first word of the quarter that a feature is in.
    #[inline(always)]
    fn quarter_start(&self, feature: u32) -> usize {
        self.words_start as usize + self.bitmap.rank(feature / QUARTER * QUARTER) as usize
    }
}

impl BitmapIndex {
    /// Indexes the features of a node, the largest of which is `last`; values have `width` bytes.
    pub(super) fn new(mut words: Decoder<'_>, last: u32, width: usize) -> Self {
        let all = words.remaining();
        let mut spans = vec![Span::default(); Bitmap32::index_of(last) + 1];
        let (mut word, mut value) = (0, 0u32);
        while let Some((feature, child_bits)) = words.next() {
            // The words of a mapped file may have changed since `last` was determined.
            let Some(span) = spans.get_mut(Bitmap32::index_of(feature)) else { break };
            if span.bitmap == Bitmap32::default() {
                (span.words_start, span.values_start) = (word, value);
            }
            span.bitmap.insert(feature);
            let next = (all - words.remaining()) as u32;
            span.has_long_gaps |= next != word + 1;
            word = next;
            let count = child_bits.count_ones();
            let quarter = feature % Bitmap32::WIDTH / QUARTER;
            if let Some(values) = span.quarter_values.get_mut(quarter as usize) {
                *values = values.wrapping_add(count as u8); // At most 8 times 16.
            }
            value = value.wrapping_add(count * width as u32);
        }
        BitmapIndex(spans.into())
    }

    /// Appends the entries of a row whose features the node, with the given words, has.
    #[inline(always)]
    pub(super) fn find(
        &self,
        words: &Decoder<'_>,
        (columns, factors): (&[u32], &[f32]),
        width: usize,
        hits: &mut Vec<Hit>,
    ) {
        for (&column, &factor) in columns.iter().zip(factors) {
            let Some(span) = self.0.get(Bitmap32::index_of(column)) else { continue };
            if !span.bitmap.contains(column) {
                continue;
            }
            let (start, rank) = (span.words_start as usize, span.bitmap.rank(column) as usize);
            let quarter_start = span.quarter_start(column);
            let found = match words.among_eight(quarter_start, start + rank - quarter_start) {
                Some((child_bits, values)) if !span.has_long_gaps => {
                    Some((child_bits, span.values_before_quarter(column) + values))
                }
                _ => words.nth_feature(start, rank),
            };
            let Some((child_bits, values)) = found else { continue };
            let offset = span.values_start as usize + values * width;
            hits.push(Hit { factor, child_bits, offset });
        }
    }

    /// Prefetches the span of a feature.
    #[inline(always)]
    pub(super) fn prefetch(&self, feature: u32) {
        prefetch(&self.0, Bitmap32::index_of(feature));
    }

    /// Prefetches the words of the quarter that a feature is in, if the node has the feature.
    #[inline(always)]
    pub(super) fn prefetch_words(&self, feature: u32, words: &Decoder<'_>) {
        let Some(span) = self.0.get(Bitmap32::index_of(feature)) else { return };
        if span.bitmap.contains(feature) {
            let quarter_start = span.quarter_start(feature);
            words.prefetch(quarter_start);
            words.prefetch(quarter_start + QUARTER as usize - 1);
        }
    }
}
