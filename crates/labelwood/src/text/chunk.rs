//! Reading many texts at once: fixed pieces, terms counted by row.

use super::analyse::{Analyser, Buffers};
use std::ops::Range;

/// How much text a thread takes at a time.
const BYTES: usize = 1 << 18;

/// Divides texts into ranges of some [`BYTES`], none empty.
pub(super) fn ranges<T: AsRef<str>>(texts: &[T]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, text) in texts.iter().enumerate() {
        // One more, because even an empty text takes some time.
        bytes += text.as_ref().len() + 1;
        if bytes >= BYTES || at + 1 == texts.len() {
            ranges.push(start..at + 1);
            (start, bytes) = (at + 1, 0);
        }
    }
    ranges
}

/// Counts the terms of texts, one after the other.
#[derive(Default)]
pub(super) struct Counter {
    buffers: Buffers,
    ids: Vec<u32>,
}

impl Counter {
    /// Calls `take` with each different id that `id_of` gives for the terms of a text, in order, and how
    /// often it occurs.
    #[inline]
    pub(super) fn count(
        &mut self,
        analyser: &Analyser,
        text: &str,
        mut id_of: impl FnMut(&[u8]) -> Option<u32>,
        mut take: impl FnMut(u32, u32),
    ) {
        let Counter { buffers, ids } = self;
        ids.clear();
        analyser.each_term(text, buffers, |term| ids.extend(id_of(term)));
        ids.sort_unstable();
        for same in ids.chunk_by(|one, next| one == next) {
            take(same[0], u32::try_from(same.len()).unwrap_or(u32::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_all_texts_once() {
        let texts: Vec<String> = (0..2000).map(|at| "x".repeat(at)).collect();
        let ranges = ranges(&texts);
        assert!(ranges.len() > 5);
        assert!(ranges.iter().all(|range| !range.is_empty()));
        assert!(ranges.iter().cloned().flatten().eq(0..2000));
        assert!(super::ranges::<&str>(&[]).is_empty());
    }
}
