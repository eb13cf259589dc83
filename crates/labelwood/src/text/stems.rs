//! The words of texts as numbers: hashes of their stems.
//!
//! Names of labels are found in texts by them. Where no spaces part words, or endings stand in the same
//! word, each character counts as a word. A text is kept as the numbers of its words from when it is
//! read until the names of all labels are known, and no longer than that.

use super::analyse::{LONGEST_STEMMED, stemmer};
use super::characters::lowercase;
use super::params::Language;
use super::scripts::{each_character, each_run};
use crate::base::run::{Stopped, Task};
use rayon::prelude::*;
use rust_stemmers::Stemmer;
use std::collections::HashMap;
use xxhash_rust::xxh3::xxh3_64;

/// Words whose stems a thread keeps at hand.
const KEPT: usize = 1 << 16;
/// Texts that a thread takes at a time.
const TEXTS: usize = 64;

/// The stems of some texts, one after the other.
#[derive(Debug, Default)]
pub(super) struct Stems {
    stems: Vec<u32>,
    /// Where those of each text end.
    ends: Vec<usize>,
}

impl Stems {
    /// Reads some texts, whose words are stemmed in `language`.
    pub(super) fn read<T: AsRef<str> + Sync>(
        texts: &[T],
        language: Option<Language>,
        task: &Task,
    ) -> Result<Self, Stopped> {
        let chunks = task.install(|| {
            let of_chunk = |texts: &[T]| {
                task.check()?;
                let (mut reader, mut chunk) = (StemReader::new(language), Stems::default());
                for text in texts {
                    reader.each(text.as_ref(), |stem| chunk.stems.push(stem));
                    chunk.ends.push(chunk.stems.len());
                }
                Ok(chunk)
            };
            texts.par_chunks(TEXTS).map(of_chunk).collect::<Result<Vec<_>, Stopped>>()
        })?;
        let mut all = Stems::default();
        chunks.iter().for_each(|chunk| all.append(chunk));
        Ok(all)
    }

    /// Adds the texts of others after these.
    pub(super) fn append(&mut self, more: &Stems) {
        let before = self.stems.len();
        self.stems.extend_from_slice(&more.stems);
        self.ends.extend(more.ends.iter().map(|end| before + end));
    }

    /// The number of texts.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The stems of a text.
    pub(super) fn of(&self, text: usize) -> &[u32] {
        let start = if text == 0 { 0 } else { self.ends[text - 1] };
        &self.stems[start..self.ends[text]]
    }

    /// The memory that they take.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.stems[..]) + size_of_val(&self.ends[..])
    }
}

/// Takes the words of texts apart and stems them.
pub(super) struct StemReader {
    stemmer: Option<Stemmer>,
    lower: String,
    /// The stem of a word by the hash of the word: most words come again, and stemming is slow.
    known: HashMap<u64, u32>,
}

impl StemReader {
    pub(super) fn new(language: Option<Language>) -> Self {
        StemReader { stemmer: language.map(stemmer), lower: String::new(), known: HashMap::new() }
    }

    /// Calls `take` with each word: a run of letters and digits in lower case, stemmed, or a character of a
    /// script that is read in pieces. Tells whether there was such a character.
    pub(super) fn each(&mut self, text: &str, mut take: impl FnMut(u32)) -> bool {
        self.each_placed(text, |_, _, stem| take(stem))
    }

    /// The same, with each stem after the text in lower case and the part of it that the word is.
    pub(super) fn each_placed(
        &mut self,
        text: &str,
        mut take: impl FnMut(&str, &str, u32),
    ) -> bool {
        let StemReader { stemmer, lower, known } = self;
        lowercase(text, lower);
        let mut has_characters = false;
        each_run(lower, |run| {
            if run.pieces.is_some() {
                has_characters = true;
                return each_character(run.text, |it| {
                    take(lower, it, xxh3_64(it.as_bytes()) as u32)
                });
            }
            for word in run.text.split('_').filter(|word| !word.is_empty()) {
                let hash = xxh3_64(word.as_bytes());
                let stem = match stemmer {
                    Some(stemmer) if word.len() <= LONGEST_STEMMED => {
                        if known.len() >= KEPT {
                            known.clear();
                        }
                        let stem = || xxh3_64(stemmer.stem(word).as_bytes()) as u32;
                        *known.entry(hash).or_insert_with(stem)
                    }
                    _ => hash as u32,
                };
                take(lower, word, stem);
            }
        });
        has_characters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;

    #[test]
    fn forms_of_a_word_have_one_stem_and_texts_stay_apart() {
        let task = Pool::new(2).unwrap().task();
        let texts = ["Old maps", "", "map_old"];
        let mut stems = Stems::read(&texts[..1], Some(Language::English), &task).unwrap();
        stems.append(&Stems::read(&texts[1..], Some(Language::English), &task).unwrap());
        assert_eq!(stems.len(), 3);
        assert_eq!(stems.of(0), [stems.of(2)[1], stems.of(2)[0]]);
        assert!(stems.of(1).is_empty());
        let plain = Stems::read(&texts, None, &task).unwrap();
        assert_ne!(plain.of(0)[1], plain.of(2)[0]);
    }
}
