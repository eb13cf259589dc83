//! The fitted vectoriser, which a model keeps to read new text.

use super::analyse::{Analyser, Buffers};
use super::chunk::{Counter, ranges};
use super::params::Params;
use super::scripts::Script;
use super::terms::{MOST, TermsView, hash, hashed_column};
use super::weigh::{Weigher, entry};
use crate::base::array::Array;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::Csr;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// A script is worth a word if it has one of so many terms.
const NOTED_SHARE: usize = 20;

/// Turns text into rows, always in the same way. [`Fitting`](super::Fitting) makes one.
///
/// Its columns are the terms in the order of their bytes or, with hashing, what the terms hash to.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectoriser {
    analyser: Analyser,
    arrays: Arrays,
}

/// All that a vectoriser keeps besides its settings, owned or in a file.
///
/// With hashing, there are no terms and the first three are empty. Without idf, the last is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrays {
    /// The terms, one after the other, as UTF-8.
    pub text: Array<u8>,
    /// Where each term starts, and last where the text ends.
    pub starts: Array<u64>,
    /// The hash table by which terms are found.
    pub slots: Array<u64>,
    /// The weight of each column.
    pub idf: Array<f32>,
}

impl Vectoriser {
    pub(super) fn new(analyser: Analyser, arrays: Arrays) -> Self {
        Vectoriser { analyser, arrays }
    }

    /// Makes a vectoriser of settings and arrays of a file, after checking them.
    ///
    /// The hash table is not checked: if it is damaged, terms are not found.
    ///
    /// ```
    /// use labelwood::run::Pool;
    /// use labelwood::text::{Fitting, Params, Vectoriser};
    /// let task = Pool::new(1)?.task();
    /// let mut fitting = Fitting::new(Params::default())?;
    /// fitting.add(&["old maps", "old books"], &task)?;
    /// let (vectoriser, _) = fitting.finish(&task)?;
    /// let again = Vectoriser::from_arrays(vectoriser.params().clone(), vectoriser.arrays().clone())?;
    /// assert_eq!(again, vectoriser);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_arrays(params: Params, arrays: Arrays) -> Result<Self, String> {
        params.check().map_err(|error| format!("the settings of its text are refused: {error}"))?;
        if params.is_auto() {
            return Err("the language of its text is open".to_owned());
        }
        let Arrays { text, starts, slots, idf } = &arrays;
        let columns = match params.hashing {
            Some(columns) if text.is_empty() && starts.is_empty() && slots.is_empty() => columns,
            Some(_) => return Err("it has terms, though its columns are hashed".to_owned()),
            None => check_terms(text, starts, slots)?,
        };
        if idf.len() != if params.idf { columns } else { 0 } {
            return Err(format!("{} weights do not fit {columns} columns", idf.len()));
        }
        if !idf.iter().all(|weight| weight.is_finite() && *weight > 0.0) {
            return Err("a weight of its columns is not a positive number".to_owned());
        }
        Ok(Vectoriser { analyser: Analyser::new(params), arrays })
    }

    /// The settings.
    pub fn params(&self) -> &Params {
        self.analyser.params()
    }

    /// The arrays that a model keeps besides the settings.
    pub fn arrays(&self) -> &Arrays {
        &self.arrays
    }

    /// How many columns its rows have: the number of terms, or that of hashing.
    pub fn columns(&self) -> usize {
        self.params().hashing.unwrap_or_else(|| self.view().len())
    }

    /// The terms in the order of the columns; none with hashing.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        let view = self.view();
        (0..view.len()).map(move |id| as_text(view.term(id as u32)))
    }

    /// The term of a column; none with hashing.
    pub fn term(&self, id: u32) -> Option<&str> {
        let view = self.view();
        ((id as usize) < view.len()).then(|| as_text(view.term(id)))
    }

    /// How rare the term of a column is: 1 for the rarest that there are, 0 for one that all documents had, and
    /// in between by the logarithm of how many had it. All are 1 without idf.
    ///
    /// ```
    /// use labelwood::run::Pool;
    /// use labelwood::text::{Fitting, Params};
    /// let task = Pool::new(1)?.task();
    /// let mut fitting = Fitting::new(Params::default())?;
    /// fitting.add(&["the old map", "the map", "the old", "the map"], &task)?;
    /// let (vectoriser, _) = fitting.finish(&task)?;
    /// let rarity = vectoriser.rarity();
    /// let of = |term| vectoriser.id(term).map(&rarity);
    /// assert_eq!((of("the"), of("old")), (Some(0.0), Some(1.0)));
    /// assert!((of("map").unwrap_or_default() - 0.437).abs() < 0.001, "log(5/4) / log(5/3)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rarity(&self) -> impl Fn(u32) -> f64 {
        let idf = &self.arrays.idf;
        let above = |weight: f32| f64::from(weight) - 1.0;
        let most = above(idf.iter().copied().fold(1.0, f32::max));
        move |id| match idf.get(id as usize) {
            Some(&weight) if most > 0.0 => (above(weight) / most).clamp(0.0, 1.0),
            _ => 1.0,
        }
    }

    /// The scripts of terms that are no words between spaces, if one term of twenty has one; the most
    /// frequent first. None with hashing.
    ///
    /// ```
    /// use labelwood::run::Pool;
    /// use labelwood::text::{Fitting, Params, Script};
    /// let task = Pool::new(1)?.task();
    /// let mut fitting = Fitting::new(Params::default())?;
    /// fitting.add(&["日本の地図", "日本の鳥"], &task)?;
    /// let (vectoriser, _) = fitting.finish(&task)?;
    /// assert_eq!(vectoriser.terms().collect::<Vec<_>>(), ["の", "日", "日本", "本", "本の"]);
    /// assert_eq!(vectoriser.scripts(), [Script::Han, Script::Hiragana]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scripts(&self) -> Vec<Script> {
        let mut counts: BTreeMap<Script, usize> = BTreeMap::new();
        for script in self.terms().filter_map(|term| term.chars().find_map(Script::of)) {
            *counts.entry(script).or_default() += 1;
        }
        let mut found: Vec<(usize, Script)> =
            counts.into_iter().map(|(script, count)| (count, script)).collect();
        found.retain(|(count, _)| count * NOTED_SHARE >= self.terms().len());
        found.sort_by_key(|&(count, script)| (Reverse(count), script));
        found.into_iter().map(|(_, script)| script).collect()
    }

    /// The column of a term, if it has one.
    ///
    /// ```
    /// # use labelwood::{run::Pool, text::{Fitting, Params}};
    /// # let task = Pool::new(1)?.task();
    /// # let mut fitting = Fitting::new(Params::default())?;
    /// fitting.add(&["old maps", "old books of maps"], &task)?;
    /// let (vectoriser, _) = fitting.finish(&task)?;
    /// assert_eq!(vectoriser.terms().collect::<Vec<_>>(), ["maps", "old"]);
    /// assert_eq!((vectoriser.id("old"), vectoriser.id("books")), (Some(1), None));
    /// assert_eq!(vectoriser.term(0), Some("maps"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn id(&self, term: &str) -> Option<u32> {
        find(self.params(), self.view(), term.as_bytes())
    }

    /// The rows of new texts, one for each, of length 1 (or empty, if a text has no known term).
    pub fn transform<T: AsRef<str> + Sync>(
        &self,
        texts: &[T],
        task: &Task,
    ) -> Result<Csr, Stopped> {
        let parts: Vec<_> = task.install(|| {
            let read = |range: Range<usize>| {
                task.check()?;
                Ok(self.read(&texts[range]))
            };
            ranges(texts).into_par_iter().map(read).collect::<Result<_, Stopped>>()
        })?;
        let entries = parts.iter().map(|part| part.indices.len()).sum();
        let mut all = Part::default();
        all.indices.reserve_exact(entries);
        all.values.reserve_exact(entries);
        let mut offsets = Vec::with_capacity(texts.len() + 1);
        offsets.push(0);
        for part in parts {
            let before = all.indices.len() as u64;
            offsets.extend(part.ends.iter().map(|&end| before + end as u64));
            all.indices.extend_from_slice(&part.indices);
            all.values.extend_from_slice(&part.values);
        }
        Ok(Csr::try_new(self.columns(), offsets, all.indices, all.values)
            .expect("rows are sorted and their columns known"))
    }

    /// Notes the terms of some texts that have no column; with hashing all have.
    pub(super) fn note_unknown<'t>(
        &self,
        texts: impl Iterator<Item = &'t str>,
        unknown: &mut HashSet<u64>,
    ) {
        let (params, view) = (self.params(), self.view());
        let mut buffers = Buffers::default();
        for text in texts {
            self.analyser.each_term(text, &mut buffers, |term| {
                if find(params, view, term).is_none() {
                    unknown.insert(xxh3_64(term));
                }
            });
        }
    }

    fn read<T: AsRef<str>>(&self, texts: &[T]) -> Part {
        let (params, view) = (self.params(), self.view());
        let mut weigher = Weigher::new(params, &self.arrays.idf);
        let mut counter = Counter::default();
        let mut part = Part::default();
        let mut entries = Vec::new();
        for text in texts {
            entries.clear();
            let id_of = |term: &[u8]| find(params, view, term);
            counter.count(&self.analyser, text.as_ref(), id_of, |id, count| {
                entries.push(entry(id, count));
            });
            weigher.weigh(&entries, |_, column, value| {
                part.indices.push(column);
                part.values.push(value);
            });
            part.ends.push(part.indices.len());
        }
        part
    }

    /// The column of a term, which is hashed if columns have no terms.
    pub(super) fn column(&self, term: &[u8]) -> Option<u32> {
        find(self.params(), self.view(), term)
    }

    pub(super) fn analyser(&self) -> &Analyser {
        &self.analyser
    }

    fn view(&self) -> TermsView<'_> {
        let Arrays { text, starts, slots, .. } = &self.arrays;
        TermsView { text, starts, slots }
    }
}

/// Some rows.
#[derive(Default)]
struct Part {
    ends: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

#[inline]
fn find(params: &Params, terms: TermsView<'_>, term: &[u8]) -> Option<u32> {
    match params.hashing {
        Some(columns) => Some(hashed_column(term, columns)),
        None => terms.find(hash(term), term).ok(),
    }
}

/// A term's text, which was checked when the arrays were taken over.
fn as_text(term: &[u8]) -> &str {
    std::str::from_utf8(term).unwrap_or_default()
}

/// Refuses arrays that are no terms, else gives their number.
fn check_terms(text: &[u8], starts: &[u64], slots: &[u64]) -> Result<usize, String> {
    let text =
        std::str::from_utf8(text).map_err(|error| format!("its terms are not UTF-8: {error}"))?;
    let (Some(&0), Some(&end)) = (starts.first(), starts.last()) else {
        return Err("its terms do not start at 0".to_owned());
    };
    let terms = starts.len() - 1;
    if end != text.len() as u64 || starts.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err("its terms do not lie one after the other".to_owned());
    }
    if !starts.iter().all(|&start| text.is_char_boundary(start as usize)) {
        return Err("a term starts within a character".to_owned());
    }
    if terms > MOST || slots.len() <= terms {
        return Err(format!("{} slots are too few for {terms} terms", slots.len()));
    }
    Ok(terms)
}
