//! Terms and their ids, both ways, in three flat arrays.
//!
//! The text of all terms stands in one array, and the places where they start in another; a table
//! of slots finds the id of a term. [`TermsView`] borrows the arrays from a [`Terms`] that grows
//! while text is read, or from a file, so that very many terms are open without being read.

use xxhash_rust::xxh3::xxh3_64;

/// The most terms there can be.
pub(super) const MOST: usize = 1 << 31;

/// A growing set of terms, numbered in the order in which they come.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Terms {
    pub(super) text: Vec<u8>,
    /// Where each term starts, and last where the text ends.
    pub(super) starts: Vec<u64>,
    /// A hash table with linear probing. A slot is 0 if free, else the hash of a term in the upper
    /// half and its id plus one in the lower. The hash, scaled to the length of the table, is where
    /// the search for a term starts; so the table grows without looking at a term.
    pub(super) slots: Vec<u64>,
}

/// Terms in borrowed arrays. Arrays that do not fit together are safe: terms are then not found.
#[derive(Clone, Copy)]
pub(super) struct TermsView<'a> {
    pub(super) text: &'a [u8],
    pub(super) starts: &'a [u64],
    pub(super) slots: &'a [u64],
}

/// The hash by which a term is found.
#[inline]
pub(super) fn hash(term: &[u8]) -> u32 {
    (xxh3_64(term) >> 32) as u32
}

/// The column of a term by its hash, without any terms.
#[inline]
pub(super) fn hashed_column(term: &[u8], columns: usize) -> u32 {
    ((u128::from(xxh3_64(term)) * columns as u128) >> 64) as u32
}

#[inline]
fn first_slot(hash: u32, slots: usize) -> usize {
    ((u64::from(hash) * slots as u64) >> 32) as usize
}

impl<'a> TermsView<'a> {
    /// The number of terms.
    pub(super) fn len(self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// A term's text; empty if there is no such term.
    #[inline]
    pub(super) fn term(self, id: u32) -> &'a [u8] {
        let id = id as usize;
        let (Some(&start), Some(&end)) = (self.starts.get(id), self.starts.get(id + 1)) else {
            return &[];
        };
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The id of a term, or the free slot at which the search for it ended.
    #[inline]
    pub(super) fn find(self, hash: u32, term: &[u8]) -> Result<u32, usize> {
        let mut at = first_slot(hash, self.slots.len());
        // A table always has a free slot, but a damaged one may not.
        for _ in 0..self.slots.len() {
            let slot = self.slots[at];
            if slot == 0 {
                break;
            }
            if (slot >> 32) as u32 == hash {
                let id = (slot as u32).wrapping_sub(1);
                if (id as usize) < self.len() && self.term(id) == term {
                    return Ok(id);
                }
            }
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
        Err(at)
    }
}

impl Default for Terms {
    fn default() -> Self {
        Terms::new()
    }
}

impl Terms {
    pub(super) fn new() -> Self {
        Terms { text: Vec::new(), starts: vec![0], slots: Vec::new() }
    }

    /// Reserves memory for `terms` terms. The size of the hash table depends on their number alone.
    pub(super) fn with_capacity(terms: usize, text: usize) -> Self {
        let mut starts = Vec::with_capacity(terms + 1);
        starts.push(0);
        Terms {
            text: Vec::with_capacity(text),
            starts,
            slots: vec![0; (terms * 4).div_ceil(3) + 1],
        }
    }

    pub(super) fn view(&self) -> TermsView<'_> {
        TermsView { text: &self.text, starts: &self.starts, slots: &self.slots }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The id of a term, which is added if it is new.
    #[inline]
    pub(super) fn intern(&mut self, hash: u32, term: &[u8]) -> u32 {
        match self.view().find(hash, term) {
            Ok(id) => id,
            Err(free) => self.add(hash, term, free),
        }
    }

    fn add(&mut self, hash: u32, term: &[u8], mut free: usize) -> u32 {
        let id = self.len() as u32;
        if (self.len() + 1) * 4 > self.slots.len() * 3 {
            self.grow();
            free = next_free(&self.slots, hash);
        }
        self.text.extend_from_slice(term);
        self.starts.push(self.text.len() as u64);
        self.slots[free] = (u64::from(hash) << 32) | u64::from(id + 1);
        id
    }

    fn grow(&mut self) {
        let mut slots = vec![0; (self.slots.len() * 2).max(64)];
        for &slot in self.slots.iter().filter(|&&slot| slot != 0) {
            let free = next_free(&slots, (slot >> 32) as u32);
            slots[free] = slot;
        }
        self.slots = slots;
    }
}

fn next_free(slots: &[u64], hash: u32) -> usize {
    let mut at = first_slot(hash, slots.len());
    while slots[at] != 0 {
        at = if at + 1 == slots.len() { 0 } else { at + 1 };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intern(terms: &mut Terms, term: &str) -> u32 {
        terms.intern(hash(term.as_bytes()), term.as_bytes())
    }

    #[test]
    fn terms_keep_the_id_that_they_got_first() {
        let mut terms = Terms::new();
        assert_eq!(terms.view().find(hash(b"a"), b"a"), Err(0));
        for round in 0..2 {
            for number in 0..1000 {
                assert_eq!(intern(&mut terms, &format!("term {number}")), number, "{round}");
            }
        }
        assert_eq!(intern(&mut terms, ""), 1000);
        assert_eq!(terms.view().term(7), b"term 7");
        assert_eq!(terms.view().term(1001), b"");
        assert_eq!(terms.len(), 1001);
    }

    #[test]
    fn terms_with_the_same_hash_are_told_apart() {
        for hash in [0, u32::MAX] {
            let mut terms = Terms::new();
            for number in 0..200u32 {
                assert_eq!(terms.intern(hash, &number.to_le_bytes()), number);
            }
            for number in 0..200u32 {
                assert_eq!(terms.view().find(hash, &number.to_le_bytes()), Ok(number));
            }
            assert!(terms.view().find(hash, b"none").is_err());
        }
    }

    #[test]
    fn a_table_made_for_its_terms_never_grows() {
        for count in [0, 1, 2, 3, 4, 100, 1001] {
            let mut terms = Terms::with_capacity(count, 0);
            let slots = terms.slots.len();
            for number in 0..count {
                intern(&mut terms, &number.to_string());
            }
            assert_eq!(terms.slots.len(), slots);
        }
    }

    #[test]
    fn damaged_arrays_find_nothing_and_end() {
        let full = [u64::from(hash(b"x")) << 32 | 9, u64::from(hash(b"x")) << 32];
        for starts in [&[][..], &[0], &[0, 1], &[5, 2], &[0, u64::MAX, 3]] {
            let view = TermsView { text: b"abc", starts, slots: &full };
            assert!(view.find(hash(b"x"), b"x").is_err());
            assert!(view.find(hash(b"x"), b"").is_err());
        }
    }
}
