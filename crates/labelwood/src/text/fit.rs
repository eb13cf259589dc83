//! Fitting: reading the training texts once, without keeping them.
//!
//! Each term gets a provisional id when it is first met, and rows are kept as ids and counts, in
//! the very arrays that become the matrix. Threads look terms up among those so far, which
//! do not change meanwhile, and number unknown terms on their own; these are merged piece by piece. At the end terms are chosen and sorted, and every row is renumbered, sorted and
//! weighed where it lies.

use super::analyse::Analyser;
use super::chunk::{Counter, ranges};
use super::no_terms::{NoTerms, Wordless, why_none};
use super::params::{Language, Params};
use super::reader::TextError;
use super::terms::{MOST, Terms, TermsView, hash, hashed_column};
use super::vectorise::{Arrays, Vectoriser};
use super::weigh::{Weigher, entry, idf};
use crate::base::run::{Stopped, Task};
use crate::base::settings::ParamError;
use crate::base::sparse::Csr;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::ops::Range;

/// Pieces of text that a thread takes before new terms are merged.
const PIECES: usize = 4;
/// Rows that are weighed at a time.
const ROWS: usize = 4096;
/// The new id of a term that is left out.
const DROPPED: u32 = u32::MAX;

/// Learns terms and their weights from texts that are handed over in batches.
///
/// Neither the sizes of the batches nor the number of threads have an effect on the result, but that a
/// language that is to be guessed is that of the first batch.
///
/// ```
/// use labelwood::run::Pool;
/// use labelwood::text::{Fitting, Params};
/// let task = Pool::new(2)?.task();
/// let mut fitting = Fitting::new(Params::default())?;
/// fitting.add(&["Birds of the sea", "The sea"], &task)?;
/// fitting.add(&["Birds"], &task)?;
/// let (vectoriser, rows) = fitting.finish(&task)?;
/// assert_eq!(vectoriser.terms().collect::<Vec<_>>(), ["birds", "sea", "the"]);
/// assert_eq!((rows.len(), rows.columns()), (3, 3));
/// assert_eq!(rows.row(2).values, [1.0]);
/// assert_eq!(vectoriser.transform(&["seabirds, the birds"], &task)?.row(0).indices, [0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Fitting {
    analyser: Analyser,
    /// Whether the language is known, or known to be unsure.
    is_settled: bool,
    /// The terms so far, by provisional id; none with hashing.
    terms: Terms,
    /// Where each row starts, and last the number of entries.
    offsets: Vec<u64>,
    /// Provisional ids or, with hashing, columns; in order within a row.
    ids: Vec<u32>,
    /// How often each occurs in its row.
    counts: Vec<f32>,
    /// What is known of the texts as long as none has a term.
    wordless: Wordless,
}

/// The rows of some texts. Ids from the number of known terms on are those of new ones.
struct Piece {
    new: Terms,
    lengths: Vec<usize>,
    ids: Vec<u32>,
    counts: Vec<f32>,
}

impl Fitting {
    /// Starts without any text.
    pub fn new(params: Params) -> Result<Self, ParamError> {
        params.check()?;
        Ok(Fitting {
            analyser: Analyser::new(params),
            is_settled: false,
            terms: Terms::new(),
            offsets: vec![0],
            ids: Vec::new(),
            counts: Vec::new(),
            wordless: Wordless::default(),
        })
    }

    /// The settings.
    pub(super) fn params(&self) -> &Params {
        self.analyser.params()
    }

    /// Settles what depends on the language, before the first text. Gives the language that is stated or
    /// guessed.
    pub(super) fn settle(&mut self, guess: impl FnOnce() -> Option<Language>) -> Option<Language> {
        let params = self.params();
        let language = params.language().or_else(guess);
        if params.asks_for_language() {
            self.analyser = Analyser::new(params.clone().in_language(language));
        }
        self.is_settled = true;
        language
    }

    /// The number of texts so far.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there was no text yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds texts, each a row. After an error, some of them may have been added.
    pub fn add<T: AsRef<str> + Sync>(&mut self, texts: &[T], task: &Task) -> Result<(), TextError> {
        self.add_metered(texts, task, |_| Ok(()))
    }

    /// Adds texts like [`add`](Self::add). `meter` gets the memory that all texts so far take, and may
    /// refuse it.
    pub(super) fn add_metered<T: AsRef<str> + Sync>(
        &mut self,
        texts: &[T],
        task: &Task,
        mut meter: impl FnMut(usize) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        if !texts.is_empty() && !self.is_settled && self.params().asks_for_language() {
            self.settle(|| Language::guess(texts));
        }
        for ranges in ranges(texts).chunks(PIECES * task.threads()) {
            let mut pieces = task.install(|| {
                let (analyser, known) = (&self.analyser, self.terms.view());
                let read = |range: &Range<usize>| {
                    task.check()?;
                    Ok(Piece::read(analyser, known, &texts[range.clone()]))
                };
                ranges.par_iter().map(read).collect::<Result<Vec<_>, Stopped>>()
            })?;
            if self.analyser.params().hashing.is_none() {
                self.merge_terms(&mut pieces, task)?;
            }
            pieces.iter().for_each(|piece| self.append(piece));
            meter(self.bytes())?;
        }
        if self.is_wordless() {
            self.wordless.add(texts, self.analyser.params());
        }
        Ok(())
    }

    /// Whether no text so far has a term.
    fn is_wordless(&self) -> bool {
        self.ids.is_empty() && self.params().hashing.is_none()
    }

    /// Why there will be no terms, if no text so far has one.
    pub(super) fn why_wordless(&self) -> Option<NoTerms> {
        self.is_wordless().then(|| self.wordless.clone().why(self.len()))
    }

    /// The memory that the rows and terms take, and what choosing and sorting the terms adds.
    fn bytes(&self) -> usize {
        let Terms { text, starts, slots } = &self.terms;
        let rows = 8 * self.offsets.len() + 4 * (self.ids.len() + self.counts.len());
        rows + 2 * text.len() + 8 * (4 * starts.len() + slots.len())
    }

    /// Adds the new terms of all pieces, whose rows then have the ids that these got.
    fn merge_terms(&mut self, pieces: &mut [Piece], task: &Task) -> Result<(), TextError> {
        let known = self.terms.len();
        let mut renumberings = Vec::with_capacity(pieces.len());
        for piece in pieces.iter() {
            if self.terms.len() + piece.new.len() > MOST {
                return Err(TextError::TooManyTerms);
            }
            let new = piece.new.view();
            let mut intern = |id| {
                let term = new.term(id as u32);
                self.terms.intern(hash(term), term)
            };
            renumberings.push((0..new.len()).map(&mut intern).collect::<Vec<u32>>());
        }
        task.install(|| {
            pieces.par_iter_mut().zip(&renumberings).for_each(|(piece, new)| {
                for id in piece.ids.iter_mut().filter(|id| **id as usize >= known) {
                    *id = new[*id as usize - known];
                }
            });
        });
        Ok(())
    }

    fn append(&mut self, piece: &Piece) {
        let mut end = self.ids.len() as u64;
        self.offsets.extend(piece.lengths.iter().map(|&length| {
            end += length as u64;
            end
        }));
        self.ids.extend_from_slice(&piece.ids);
        self.counts.extend_from_slice(&piece.counts);
    }

    /// Chooses the terms, and weighs the rows of all texts. There may be no column at all, if no
    /// term occurs in as many documents as it should.
    pub fn finish(self, task: &Task) -> Result<(Vectoriser, Csr), Stopped> {
        let (vectoriser, rows, _) = self.finish_or_why(task)?;
        Ok((vectoriser, rows))
    }

    /// Like [`finish`](Self::finish), but refuses texts of which no term is kept, and says why.
    pub fn finish_with_terms(self, task: &Task) -> Result<(Vectoriser, Csr), TextError> {
        let (vectoriser, rows, why) = self.finish_or_why(task)?;
        match why {
            Some(why) => Err(TextError::NoTerms(Box::new(why))),
            None => Ok((vectoriser, rows)),
        }
    }

    /// Like [`finish`](Self::finish), and tells why no term is kept, if none is.
    pub(super) fn finish_or_why(
        self,
        task: &Task,
    ) -> Result<(Vectoriser, Csr, Option<NoTerms>), Stopped> {
        task.check()?;
        let params = self.analyser.params();
        let documents = self.len();
        let mut occurrences = vec![0u32; params.hashing.unwrap_or(self.terms.len())];
        if params.hashing.is_none() || params.idf {
            self.ids.iter().for_each(|&id| occurrences[id as usize] += 1);
        }
        let mut why = None;
        let (terms, renumbering) = match params.hashing {
            Some(_) => (None, None),
            None => {
                let chosen = task.install(|| self.choose(&occurrences));
                task.check()?;
                if chosen.is_empty() {
                    let of_terms = || why_none(params, self.terms.view(), &occurrences, documents);
                    why = Some(self.why_wordless().unwrap_or_else(of_terms));
                }
                let (terms, renumbering) = only_chosen(self.terms.view(), &chosen);
                occurrences = chosen.iter().map(|&id| occurrences[id as usize]).collect();
                (Some(terms), Some(renumbering))
            }
        };
        let weights = if params.idf { idf(params, documents, &occurrences) } else { Vec::new() };
        let columns = occurrences.len();
        let Fitting { analyser, terms: provisional, offsets, ids, counts, .. } = self;
        // Weighing the rows takes the most memory, so free what it does not need.
        drop((provisional, occurrences));
        let rows = Rows { offsets, ids, counts };
        let rows =
            rows.weigh(columns, renumbering.as_deref(), analyser.params(), &weights, task)?;
        let arrays = match terms {
            Some(Terms { text, starts, slots }) => Arrays {
                text: text.into(),
                starts: starts.into(),
                slots: slots.into(),
                idf: weights.into(),
            },
            None => Arrays { idf: weights.into(), ..Arrays::default() },
        };
        Ok((Vectoriser::new(analyser, arrays), rows, why))
    }

    /// The provisional ids of the terms to keep, in the order of their text.
    fn choose(&self, occurrences: &[u32]) -> Vec<u32> {
        let params = self.analyser.params();
        let (least, most) = (params.min_df.of(self.len()), params.max_df.of(self.len()));
        let is_chosen = |id: &u32| {
            let documents = f64::from(occurrences[*id as usize]);
            least <= documents && documents <= most
        };
        let mut chosen: Vec<u32> = (0..occurrences.len() as u32).filter(is_chosen).collect();
        sort_by_text(self.terms.view(), &mut chosen);
        if let Some(cap) = params.max_features.filter(|&cap| cap < chosen.len()) {
            let mut totals = vec![0u64; occurrences.len()];
            for (&id, &count) in self.ids.iter().zip(&self.counts) {
                totals[id as usize] += count as u64;
            }
            let mut places: Vec<usize> = (0..chosen.len()).collect();
            places.sort_by_key(|&place| Reverse(totals[chosen[place] as usize]));
            places.truncate(cap);
            places.sort_unstable();
            chosen = places.into_iter().map(|place| chosen[place]).collect();
        }
        chosen
    }
}

impl Piece {
    fn read<T: AsRef<str>>(analyser: &Analyser, known: TermsView<'_>, texts: &[T]) -> Self {
        let mut counter = Counter::default();
        let mut new = Terms::new();
        let (mut lengths, mut ids, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for text in texts {
            let start = ids.len();
            let take = |id, count| {
                ids.push(id);
                counts.push(count as f32);
            };
            match analyser.params().hashing {
                Some(columns) => {
                    let column = |term: &[u8]| Some(hashed_column(term, columns));
                    counter.count(analyser, text.as_ref(), column, take);
                }
                None => {
                    let id_of = |term: &[u8]| {
                        let hash = hash(term);
                        let new_id = |_| known.len() as u32 + new.intern(hash, term);
                        Some(known.find(hash, term).unwrap_or_else(new_id))
                    };
                    counter.count(analyser, text.as_ref(), id_of, take);
                }
            }
            lengths.push(ids.len() - start);
        }
        Piece { new, lengths, ids, counts }
    }
}

/// Sorts ids by the bytes of their terms.
fn sort_by_text(terms: TermsView<'_>, ids: &mut [u32]) {
    // Most terms differ in their first bytes, which are compared without a look at the text.
    let first = |id: u32| {
        let mut bytes = [0; 8];
        let term = terms.term(id);
        let length = term.len().min(8);
        bytes[..length].copy_from_slice(&term[..length]);
        u64::from_be_bytes(bytes)
    };
    let mut keys: Vec<(u64, u32)> = ids.par_iter().map(|&id| (first(id), id)).collect();
    keys.par_sort_unstable_by(|one, other| {
        one.0.cmp(&other.0).then_with(|| terms.term(one.1).cmp(terms.term(other.1)))
    });
    ids.iter_mut().zip(keys).for_each(|(id, key)| *id = key.1);
}

/// The chosen terms by themselves, and the new id of each old one.
fn only_chosen(old: TermsView<'_>, chosen: &[u32]) -> (Terms, Vec<u32>) {
    let bytes = chosen.iter().map(|&id| old.term(id).len()).sum();
    let mut terms = Terms::with_capacity(chosen.len(), bytes);
    let mut renumbering = vec![DROPPED; old.len()];
    for &id in chosen {
        let term = old.term(id);
        renumbering[id as usize] = terms.intern(hash(term), term);
    }
    (terms, renumbering)
}

/// Rows of counts, which become a matrix.
struct Rows {
    offsets: Vec<u64>,
    ids: Vec<u32>,
    counts: Vec<f32>,
}

/// Some of the rows: their lengths, which change, and their entries, which move to the front.
struct Block<'a> {
    lengths: Vec<usize>,
    ids: &'a mut [u32],
    values: &'a mut [f32],
}

impl Rows {
    /// Renumbers, sorts and weighs all rows in place.
    fn weigh(
        mut self,
        columns: usize,
        renumbering: Option<&[u32]>,
        params: &Params,
        idf: &[f32],
        task: &Task,
    ) -> Result<Csr, Stopped> {
        let blocks = self.blocks();
        let lengths = task.install(|| {
            let weigh = |mut block: Block<'_>| {
                task.check()?;
                block.weigh(renumbering, &mut Weigher::new(params, idf));
                Ok(block.lengths)
            };
            blocks.into_par_iter().map(weigh).collect::<Result<Vec<_>, Stopped>>()
        })?;
        self.close_gaps(&lengths);
        Ok(Csr::try_new(columns, self.offsets, self.ids, self.counts)
            .expect("rows were sorted and their columns renumbered"))
    }

    fn blocks(&mut self) -> Vec<Block<'_>> {
        let (mut ids, mut values) = (&mut self.ids[..], &mut self.counts[..]);
        let mut blocks = Vec::new();
        let rows = self.offsets.len() - 1;
        for start in (0..rows).step_by(ROWS) {
            let offsets = &self.offsets[start..=rows.min(start + ROWS)];
            let lengths: Vec<usize> =
                offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize).collect();
            let entries = lengths.iter().sum();
            let (block_ids, block_values);
            (block_ids, ids) = ids.split_at_mut(entries);
            (block_values, values) = values.split_at_mut(entries);
            blocks.push(Block { lengths, ids: block_ids, values: block_values });
        }
        blocks
    }

    /// Moves the entries that blocks kept next to each other.
    fn close_gaps(&mut self, lengths: &[Vec<usize>]) {
        let mut end = 0;
        for (number, lengths) in lengths.iter().enumerate() {
            let start = self.offsets[number * ROWS] as usize;
            let kept = lengths.iter().sum::<usize>();
            self.ids.copy_within(start..start + kept, end);
            self.counts.copy_within(start..start + kept, end);
            end += kept;
        }
        let mut end_of_row = 0;
        for (offset, length) in self.offsets[1..].iter_mut().zip(lengths.iter().flatten()) {
            end_of_row += *length as u64;
            *offset = end_of_row;
        }
        self.ids.truncate(end);
        self.counts.truncate(end);
        self.ids.shrink_to_fit();
        self.counts.shrink_to_fit();
    }
}

impl Block<'_> {
    fn weigh(&mut self, renumbering: Option<&[u32]>, weigher: &mut Weigher<'_>) {
        let (mut from, mut to) = (0, 0);
        let mut entries = Vec::new();
        for length in &mut self.lengths {
            entries.clear();
            for at in from..from + *length {
                let id = renumbering.map_or(self.ids[at], |new| new[self.ids[at] as usize]);
                if id != DROPPED {
                    entries.push(entry(id, self.values[at] as u32));
                }
            }
            from += *length;
            entries.sort_unstable();
            weigher.weigh(&entries, |at, column, value| {
                self.ids[to + at] = column;
                self.values[to + at] = value;
            });
            *length = entries.len();
            to += *length;
        }
    }
}
