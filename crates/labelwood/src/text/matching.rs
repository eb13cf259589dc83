//! Names of labels found in texts.
//!
//! A name is found in a text when the stems of all its words are there, in whatever order and form:
//! `histories of art` has the name `art history`. A name with characters of a script that is read in pieces,
//! such as Chinese, must be there in one piece. A [`Matcher`] holds the stems of all names, and
//! finds those in a text in one pass: each name waits at the one of its stems that fewest names have. What is found
//! is a row of [`Match`]es, packed into numbers, by label; so a text needs not be kept to learn from it.

use super::characters::is_word;
use super::params::Language;
use super::stems::{StemReader, Stems};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::Csr;
use crate::data::LabelIndex;
use rayon::prelude::*;
use std::collections::HashMap;

/// Names of more words are not looked for.
const LONGEST_NAME: usize = 31;
/// Texts that a thread takes at a time.
const TEXTS: usize = 256;

/// How the name of a label was found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// The number of different stems of the name.
    pub stems: u32,
    /// How often the rarest of them occurs.
    pub times: u32,
    /// Whether the words of the name stand one after the other, in its order.
    pub is_phrase: bool,
    /// How many words of the text stand before the name, or before the first of its words.
    pub position: u32,
    /// How many words the text has.
    pub words: u32,
}

impl Match {
    const MOST_STEMS: u32 = (1 << 3) - 1;
    const MOST_TIMES: u32 = (1 << 4) - 1;
    const LAST_POSITION: u32 = (1 << 12) - 1;
    const MOST_WORDS: u32 = (1 << 12) - 1;

    /// The match as a number; what is too large becomes the largest there is room for.
    pub fn pack(self) -> u32 {
        self.words.min(Self::MOST_WORDS)
            | self.position.min(Self::LAST_POSITION) << 12
            | self.times.min(Self::MOST_TIMES) << 24
            | u32::from(self.is_phrase) << 28
            | self.stems.min(Self::MOST_STEMS) << 29
    }

    /// The match of a number. Any number is one.
    pub fn unpack(packed: u32) -> Self {
        Match {
            words: packed & Self::MOST_WORDS,
            position: packed >> 12 & Self::LAST_POSITION,
            times: packed >> 24 & Self::MOST_TIMES,
            is_phrase: packed >> 28 & 1 == 1,
            stems: packed >> 29,
        }
    }

    /// Of two names of a label, the better match is that of more words, then in one piece, then earlier.
    fn rank(self) -> (u32, bool, u32) {
        (self.stems, self.is_phrase, u32::MAX - self.position)
    }
}

/// Finds the names of labels in texts.
#[derive(Clone, Debug)]
pub struct Matcher {
    language: Option<Language>,
    labels: usize,
    /// The number of each stem, by its hash.
    stems: HashMap<u32, u32>,
    names: Vec<Name>,
    /// The stems of all names, one after the other.
    sequences: Vec<u32>,
    /// Where the names start that wait at each stem, and last their number.
    starts: Vec<u32>,
    /// The names that wait at each stem, one after the other.
    waiting: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Name {
    label: u32,
    start: u32,
    len: u32,
    /// How many of its stems differ.
    distinct: u32,
    /// Whether it is found in one piece only.
    is_whole: bool,
}

/// A word of a text that no name has.
const UNKNOWN: u32 = u32::MAX;

impl Matcher {
    /// A matcher of the names of labels, all of them in `language`, in which their words are stemmed.
    ///
    /// ```
    /// use labelwood::data::LabelIndex;
    /// use labelwood::run::Pool;
    /// use labelwood::text::{Language, Match, Matcher};
    /// let labels = LabelIndex::from_lines(["p1\tart history", "p2\tlibraries"]);
    /// let matcher = Matcher::new(&labels, Some(Language::English));
    /// let task = Pool::new(1)?.task();
    /// let found = matcher.find(&["A library of histories of art"], &task)?;
    /// assert_eq!(found.row(0).indices, [0, 1]);
    /// let library = Match { stems: 1, times: 1, is_phrase: true, position: 1, words: 6 };
    /// assert_eq!(Match::unpack(found.row(0).values[1]), library);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(labels: &LabelIndex, language: Option<Language>) -> Self {
        let mut matcher = Matcher {
            language,
            labels: labels.len(),
            stems: HashMap::new(),
            names: Vec::new(),
            sequences: Vec::new(),
            starts: Vec::new(),
            waiting: Vec::new(),
        };
        let (mut reader, mut stems) = (StemReader::new(language), Vec::new());
        for label in 0..labels.len() as u32 {
            let first = matcher.names.len();
            for name in names_of(labels, label) {
                for variant in variants(name) {
                    stems.clear();
                    let is_whole = reader.each(&variant, |stem| stems.push(stem));
                    matcher.add(label, &stems, is_whole, first);
                }
            }
        }
        matcher.index();
        matcher
    }

    /// Adds a name of a label, whose names start at `first`.
    fn add(&mut self, label: u32, hashes: &[u32], is_whole: bool, first: usize) {
        if hashes.is_empty() || hashes.len() > LONGEST_NAME {
            return;
        }
        let start = self.sequences.len();
        for &hash in hashes {
            let next = self.stems.len() as u32;
            self.sequences.push(*self.stems.entry(hash).or_insert(next));
        }
        let own = &self.sequences[start..];
        let same = |name: &Name| self.sequence(name) == own;
        if self.names[first..].iter().any(same) {
            self.sequences.truncate(start);
            return;
        }
        let distinct = distinct(own).count() as u32;
        let (start, len) = (start as u32, own.len() as u32);
        self.names.push(Name { label, start, len, distinct, is_whole });
    }

    /// Lets each name wait at its rarest stem.
    fn index(&mut self) {
        let mut counts = vec![0u32; self.stems.len()];
        for name in &self.names {
            distinct(self.sequence(name)).for_each(|stem| counts[stem as usize] += 1);
        }
        let rarest = |name: &Name| {
            let stems = self.sequence(name).iter().copied();
            stems.min_by_key(|&stem| (counts[stem as usize], stem)).unwrap_or(0)
        };
        let mut places: Vec<(u32, u32)> =
            (0..).zip(&self.names).map(|(at, name)| (rarest(name), at)).collect();
        places.sort_unstable();
        self.starts = vec![0; self.stems.len() + 1];
        places.iter().for_each(|&(stem, _)| self.starts[stem as usize + 1] += 1);
        for stem in 0..self.stems.len() {
            self.starts[stem + 1] += self.starts[stem];
        }
        self.waiting = places.into_iter().map(|(_, name)| name).collect();
    }

    fn sequence(&self, name: &Name) -> &[u32] {
        &self.sequences[name.start as usize..(name.start + name.len) as usize]
    }

    /// The language in which words are stemmed.
    pub fn language(&self) -> Option<Language> {
        self.language
    }

    /// Whether no label has a name that could be found.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The matches of some texts, a row for each and a column for each label.
    pub fn find<T: AsRef<str> + Sync>(
        &self,
        texts: &[T],
        task: &Task,
    ) -> Result<Csr<u32>, Stopped> {
        self.find_stems(&Stems::read(texts, self.language, task)?, task)
    }

    /// The matches of texts whose words are stemmed already.
    pub(super) fn find_stems(&self, stems: &Stems, task: &Task) -> Result<Csr<u32>, Stopped> {
        let of_chunk = |first: usize| {
            task.check()?;
            let (mut scratch, last) = (Scratch::default(), stems.len().min(first + TEXTS));
            Ok((first..last).map(|text| self.matches(stems.of(text), &mut scratch)).collect())
        };
        let chunks = task.install(|| {
            let firsts =
                (0..stems.len().div_ceil(TEXTS)).into_par_iter().map(|chunk| chunk * TEXTS);
            firsts.map(of_chunk).collect::<Result<Vec<Vec<_>>, Stopped>>()
        })?;
        Ok(self.rows(chunks.into_iter().flatten()))
    }

    fn rows(&self, rows: impl Iterator<Item = Vec<(u32, u32)>>) -> Csr<u32> {
        let (mut offsets, mut labels, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            labels.extend(row.iter().map(|&(label, _)| label));
            values.extend(row.iter().map(|&(_, packed)| packed));
            offsets.push(labels.len() as u64);
        }
        Csr::try_new(self.labels, offsets, labels, values).expect("labels are sorted and known")
    }

    /// The labels whose names are in a text, in order, with the best match of each.
    fn matches(&self, hashes: &[u32], scratch: &mut Scratch) -> Vec<(u32, u32)> {
        let Scratch { text, sorted, found } = scratch;
        text.clear();
        text.extend(hashes.iter().map(|hash| *self.stems.get(hash).unwrap_or(&UNKNOWN)));
        sorted.clear();
        let known = (0..).zip(&*text).filter(|(_, stem)| **stem != UNKNOWN);
        sorted.extend(known.map(|(place, &stem)| (stem, place)));
        sorted.sort_unstable();
        found.clear();
        for same in sorted.chunk_by(|one, other| one.0 == other.0) {
            let stem = same[0].0 as usize;
            for &name in &self.waiting[self.starts[stem] as usize..self.starts[stem + 1] as usize] {
                let name = &self.names[name as usize];
                if let Some((is_phrase, position)) = self.place(name, same, text, sorted) {
                    let words = hashes.len() as u32;
                    let (stems, times) = (name.distinct, same.len() as u32);
                    found.push((name.label, Match { stems, times, is_phrase, position, words }));
                }
            }
        }
        found.sort_unstable_by_key(|&(label, found)| (label, std::cmp::Reverse(found.rank())));
        found.dedup_by_key(|&mut (label, _)| label);
        found.iter().map(|&(label, found)| (label, found.pack())).collect()
    }

    /// Whether a name is in a text, if it is in one piece, and at which place; `same` are the places of its rarest stem.
    fn place(
        &self,
        name: &Name,
        same: &[(u32, u32)],
        text: &[u32],
        sorted: &[(u32, u32)],
    ) -> Option<(bool, u32)> {
        let sequence = self.sequence(name);
        let mut first = same[0].1;
        if sequence.len() == 1 {
            return Some((true, first));
        }
        for &stem in sequence {
            let at = sorted.partition_point(|&(other, _)| other < stem);
            let &(found, place) = sorted.get(at)?;
            if found != stem {
                return None;
            }
            first = first.min(place);
        }
        let before = sequence.iter().position(|&stem| stem == same[0].0).unwrap_or(0);
        let is_phrase = |&&(_, place): &&(u32, u32)| {
            let start = (place as usize).checked_sub(before);
            start.and_then(|start| text.get(start..start + sequence.len())) == Some(sequence)
        };
        Some(match same.iter().find(is_phrase) {
            Some(&(_, place)) => (true, place - before as u32),
            None if name.is_whole => return None,
            None => (false, first),
        })
    }
}

/// Memory that is used again for every text.
#[derive(Default)]
struct Scratch {
    /// The stem of each word.
    text: Vec<u32>,
    /// The known stems with their places, in order.
    sorted: Vec<(u32, u32)>,
    found: Vec<(u32, Match)>,
}

pub(super) fn distinct(stems: &[u32]) -> impl Iterator<Item = u32> + '_ {
    let is_first = |(at, stem): &(usize, &u32)| !stems[..*at].contains(*stem);
    stems.iter().enumerate().filter(is_first).map(|(_, &stem)| stem)
}

/// The names of a label: its code is one if it has no other, unless it is an address or a number.
pub(super) fn names_of(labels: &LabelIndex, label: u32) -> impl Iterator<Item = &str> {
    let code = labels.code(label);
    let is_name = !code.contains("://") && code.chars().any(char::is_alphabetic);
    let code = Some(code).filter(|_| is_name && labels.names(label).next().is_none());
    labels.names(label).chain(code)
}

/// The texts under which a name is looked for: as it is, divided at a change of case, without what
/// stands in brackets, and each of the names that commas divide.
pub(super) fn variants(name: &str) -> Vec<String> {
    let whole = name.to_owned();
    let without_brackets = without_brackets(name);
    let commas = [',', '，', '、', '،'];
    let pieces = name.split(commas).filter(|_| name.contains(commas)).map(str::to_owned);
    let mut variants = vec![whole];
    variants.extend(without_brackets);
    variants.extend(pieces);
    let divided: Vec<String> = variants.iter().filter_map(|name| divided_at_case(name)).collect();
    variants.extend(divided);
    variants
}

/// The name without what stands in round brackets, if anything else is left.
fn without_brackets(name: &str) -> Option<String> {
    let (mut depth, mut left) = (0usize, String::new());
    for character in name.chars() {
        match character {
            '(' | '（' => depth += 1,
            ')' | '）' => depth = depth.saturating_sub(1),
            _ if depth == 0 => left.push(character),
            _ => {}
        }
    }
    (left.len() < name.len() && left.chars().any(is_word)).then_some(left)
}

/// The name with a space wherever a small letter is followed by a capital one, if there is such a place.
pub(super) fn divided_at_case(name: &str) -> Option<String> {
    let mut divided = String::with_capacity(name.len() + 8);
    let mut was_small = false;
    for character in name.chars() {
        if was_small && character.is_uppercase() {
            divided.push(' ');
        }
        was_small = character.is_lowercase();
        divided.push(character);
    }
    (divided.len() > name.len()).then_some(divided)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use proptest::prelude::*;

    fn found(names: &[&str], text: &str) -> Vec<(u32, Match)> {
        let labels = LabelIndex::from_lines(names.iter().copied());
        let task = Pool::new(1).unwrap().task();
        let rows = Matcher::new(&labels, Some(Language::English)).find(&[text], &task).unwrap();
        rows.row(0).iter().map(|(label, packed)| (label, Match::unpack(packed))).collect()
    }

    #[test]
    fn a_name_is_found_when_all_its_stems_are_there() {
        let names = ["a\told maps", "b\tmap", "c\tsea", "d\tsea birds"];
        let text = "Birds, and a Map: the oldest maps of old sea-bird islands";
        let expected = [
            (0, Match { stems: 2, times: 1, is_phrase: false, position: 3, words: 12 }),
            (1, Match { stems: 1, times: 2, is_phrase: true, position: 3, words: 12 }),
            (2, Match { stems: 1, times: 1, is_phrase: true, position: 9, words: 12 }),
            (3, Match { stems: 2, times: 2, is_phrase: true, position: 9, words: 12 }),
        ];
        assert_eq!(found(&names, text), expected);
        assert_eq!(found(&names, "birds alone"), []);
        assert_eq!(found(&names, ""), []);
    }

    #[test]
    fn further_names_brackets_commas_and_changes_of_case_are_tried_too() {
        let labels = |text| {
            found(&["a\tMercury (planet)", "b\tTensorFlow", "c\tcat,house_cat"], text)
                .iter()
                .map(|(label, _)| *label)
                .collect::<Vec<_>>()
        };
        assert_eq!(labels("mercury rising"), [0]);
        assert_eq!(labels("with tensorflow"), [1]);
        assert_eq!(labels("a tensor flow"), [1]);
        assert_eq!(labels("the cat"), [2]);
        let house_cat = found(&["cat,house_cat"], "a house cat");
        assert_eq!(
            house_cat[0].1,
            Match { stems: 2, times: 1, is_phrase: true, position: 1, words: 3 }
        );
    }

    #[test]
    fn names_without_spaces_are_found_in_one_piece() {
        let names = ["a\t机器学习", "b\tการศึกษา", "c\t도서관", "d\tRust 入門", "e\t電気（物理）"];
        let labels = |text| found(&names, text).iter().map(|it| it.0).collect::<Vec<_>>();
        assert_eq!(labels("这是机器学习的书"), [0]);
        assert_eq!(labels("学习机器"), [0; 0], "characters in another order are another word");
        assert_eq!(labels("ประวัติการศึกษาไทย"), [1]);
        assert_eq!(labels("학교 도서관에서"), [2]);
        assert_eq!(labels("Rust入門の本"), [3]);
        assert_eq!(labels("電気"), [4]);
        let expected = Match { stems: 4, times: 1, is_phrase: true, position: 2, words: 8 };
        assert_eq!(found(&names, "这是机器学习的书")[0].1, expected);
    }

    #[test]
    fn names_that_repeat_a_word_and_labels_without_words_are_safe() {
        let names = ["a\tknock knock", "b\t?", "c\t", "d\tknock"];
        let expected = Match { stems: 1, times: 2, is_phrase: true, position: 1, words: 3 };
        let matches = found(&names, "who knock knock");
        assert_eq!(matches[0], (0, expected));
        assert_eq!(matches.last(), Some(&(3, expected)));
        assert!(!found(&names, "knock").is_empty());
        let long = "word ".repeat(100);
        assert_eq!(found(&[&format!("a\t{long}")], &long), []);
    }

    proptest! {
        #[test]
        fn a_packed_match_is_unpacked_as_it_was(
            stems in 1u32..8, times in 1u32..16, is_phrase: bool, position in 0u32..4096, words in 0u32..4096,
        ) {
            let packed = Match { stems, times, is_phrase, position, words };
            prop_assert_eq!(Match::unpack(packed.pack()), packed);
        }

        #[test]
        fn what_is_found_is_what_looking_at_every_name_finds(
            names in prop::collection::vec(prop::collection::vec(0u8..6, 1..4), 1..8),
            texts in prop::collection::vec(prop::collection::vec(0u8..9, 0..12), 1..5),
        ) {
            let join = |words: &[u8]| words.iter().map(|w| format!("w{w}")).collect::<Vec<_>>().join(" ");
            let lines: Vec<String> = names.iter().enumerate().map(|(at, name)| format!("c{at}\t{}", join(name))).collect();
            let labels = LabelIndex::from_lines(lines.iter().map(String::as_str));
            let joined: Vec<String> = texts.iter().map(|text| join(text)).collect();
            let task = Pool::new(2).unwrap().task();
            let rows = Matcher::new(&labels, None).find(&joined, &task).unwrap();
            for (row, text) in texts.iter().enumerate() {
                let mut expected = Vec::new();
                for (label, name) in (0..).zip(&names) {
                    if !name.iter().all(|word| text.contains(word)) {
                        continue;
                    }
                    let phrase = text.windows(name.len()).position(|words| words == name);
                    let first = text.iter().position(|word| name.contains(word)).unwrap();
                    let mut distinct = name.clone();
                    distinct.sort_unstable();
                    distinct.dedup();
                    // Of its rarest stem, ties going to the one that names met first.
                    let names_with = |word: &u8| names.iter().filter(|name| name.contains(word)).count();
                    let met = |word: &u8| names.iter().flatten().position(|other| other == word);
                    let rarest = name.iter().min_by_key(|word| (names_with(word), met(word))).unwrap();
                    expected.push((label, Match {
                        stems: distinct.len() as u32,
                        times: text.iter().filter(|word| *word == rarest).count() as u32,
                        is_phrase: phrase.is_some(),
                        position: phrase.unwrap_or(first) as u32,
                        words: text.len() as u32,
                    }));
                }
                let found: Vec<_> =
                    rows.row(row).iter().map(|(label, packed)| (label, Match::unpack(packed))).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
