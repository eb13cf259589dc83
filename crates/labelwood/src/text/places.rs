//! Where the terms of a text stand in it.
//!
//! A row has forgotten its text: a term is in lower case, stemmed, a few characters, or several words with stop
//! words between them. So the text is read again in the same way, and each term is traced back to the
//! characters that it was made of. Places count characters (code points) of the text as it was given.

use super::analyse::{CHARACTERS, Stems, Token, each_slice, prefix};
use super::characters::{Origins, is_space, lowercase, start_of};
use super::params::CharNgramsIn;
use super::scripts::{each_character, each_run};
use super::vectorise::Vectoriser;
use std::ops::Range;

/// A place in a text that a term was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Where it starts, in characters.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The column of the term.
    pub column: u32,
}

/// A word of a text as people see it: a run of letters, or one character where no spaces part words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word in lower case.
    pub text: String,
    /// Where it stands, in characters.
    pub place: Range<usize>,
}

impl Vectoriser {
    /// The places of all terms of a text that have a column, in order.
    ///
    /// ```
    /// use labelwood::run::Pool;
    /// use labelwood::text::{Fitting, Language, Params, Stem};
    /// let task = Pool::new(1)?.task();
    /// let stem = Some(Stem::Of(Language::English));
    /// let mut fitting = Fitting::new(Params { stem, ..Params::default() })?;
    /// fitting.add(&["old maps", "an old map"], &task)?;
    /// let (vectoriser, _) = fitting.finish(&task)?;
    /// let text = "Två MAPS, older";
    /// let places = vectoriser.places(text);
    /// let marked = |at: usize| &text[text.char_indices().nth(places[at].start).unwrap().0..][..4];
    /// assert_eq!((places.len(), marked(0)), (1, "MAPS"));
    /// assert_eq!(vectoriser.term(places[0].column), Some("map"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn places(&self, text: &str) -> Vec<Place> {
        let is_lowered = self.params().lowercase;
        let origins = Origins::new(text, is_lowered);
        let mut places = Vec::new();
        self.each_place(text, |term, bytes| {
            if let (Some(column), Some(Range { start, end })) =
                (self.column(term), origins.of(bytes))
            {
                places.push(Place { start, end, column });
            }
        });
        places.sort_unstable();
        places
    }

    /// Calls `take` with each term of a text and the bytes of the lower-case text that it was made of.
    fn each_place(&self, text: &str, mut take: impl FnMut(&[u8], Range<usize>)) {
        let (params, mut lower) = (self.params(), String::new());
        match params.lowercase {
            true => lowercase(text, &mut lower),
            false => lower.push_str(text),
        }
        let (text, bytes_of) = (&*lower, |part: &str| {
            let start = start_of(part, &lower);
            start..start + part.len()
        });
        if let Some((least, most)) = params.word_ngrams {
            let mut words: Vec<(String, Range<usize>)> = Vec::new();
            self.analyser().each_token(text, &mut Stems::default(), |part, token| match token {
                Token::Word(word) => words.push((word.to_owned(), bytes_of(part))),
                Token::Piece(piece) => take(piece.as_bytes(), bytes_of(part)),
            });
            for length in least..=most {
                for run in words.windows(length) {
                    let joined: Vec<&str> = run.iter().map(|(word, _)| &**word).collect();
                    take(joined.join(" ").as_bytes(), run[0].1.start..run[length - 1].1.end);
                }
            }
        }
        if let Some(lengths) = params.char_ngrams {
            let is_marked = params.word_ngrams.is_some();
            let mut marked = String::new();
            each_char_ngram(text, lengths, params.char_ngrams_in, |term, bytes| {
                marked.clear();
                if is_marked {
                    marked.push(CHARACTERS);
                }
                marked.push_str(term);
                take(marked.as_bytes(), bytes);
            });
        }
    }
}

/// Calls `take` with the terms of characters of a text, and the bytes that each was made of, without spaces
/// at its ends that were added.
fn each_char_ngram(
    text: &str,
    (least, most): (usize, usize),
    within: CharNgramsIn,
    mut take: impl FnMut(&str, Range<usize>),
) {
    let mut each = |whole: &str, origins: &[usize], is_word: bool| {
        for length in least..=most {
            let end = prefix(whole, length);
            if end.is_some() || is_word {
                each_slice(whole, length, |part| {
                    let start = start_of(part, whole);
                    take(part, origins[start]..origins[start + part.len()]);
                });
            }
            // A word that is too short for a length counts once, whole.
            if is_word && end.is_none_or(|end| end == whole.len()) {
                break;
            }
        }
    };
    let mut whole = String::new();
    match within {
        CharNgramsIn::Text => {
            // Where each byte of the text with single spaces comes from, and last where the text ends.
            let (mut origins, mut rest) = (Vec::with_capacity(text.len() + 1), text);
            while let Some(next) = rest.chars().next() {
                let at = text.len() - rest.len();
                let spaces = &rest[..rest.len() - rest.trim_start_matches(is_space).len()];
                let taken = if spaces.is_empty() { &rest[..next.len_utf8()] } else { spaces };
                let kept = if prefix(spaces, 2).is_some() { " " } else { taken };
                whole.push_str(kept);
                origins.extend((0..kept.len()).map(|byte| at + byte));
                rest = &rest[taken.len()..];
            }
            origins.push(text.len());
            each(&whole, &origins, false);
        }
        CharNgramsIn::Words => {
            for word in text.split(is_space).filter(|word| !word.is_empty()) {
                let start = start_of(word, text);
                whole.clear();
                whole.extend([" ", word, " "]);
                let within = (0..=word.len()).map(|at| start + at);
                let last = start + word.len();
                let origins: Vec<usize> = [start].into_iter().chain(within).chain([last]).collect();
                each(&whole, &origins, true);
            }
        }
    }
}

/// The words of a text, in order.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut lower = String::new();
    lowercase(text, &mut lower);
    let (origins, mut words) = (Origins::new(text, true), Vec::new());
    let mut push = |word: &str| {
        let start = start_of(word, &lower);
        if let Some(place) = origins.of(start..start + word.len()) {
            words.push(Word { text: word.to_owned(), place });
        }
    };
    each_run(&lower, |run| match run.is_word() {
        true => push(run.text),
        false => each_character(run.text, &mut push),
    });
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use crate::text::{Fitting, Frequency, Language, Params, Stem, StopWords, Tokens};
    use proptest::prelude::*;

    fn fitted(params: Params, text: &str) -> Option<Vectoriser> {
        let task = Pool::new(1).unwrap().task();
        let mut fitting = Fitting::new(Params { min_df: Frequency::Count(1), ..params }).unwrap();
        fitting.add(&[text], &task).unwrap();
        fitting.finish(&task).ok().map(|(vectoriser, _)| vectoriser)
    }

    /// Each term of a text with the part of it that it was made of.
    fn marked(params: Params, text: &str) -> Vec<(String, String)> {
        let vectoriser = fitted(params, text).unwrap();
        let characters: Vec<char> = text.chars().collect();
        let places = vectoriser.places(text).into_iter();
        let marked = places.map(|Place { start, end, column }| {
            let term = vectoriser.term(column).unwrap().to_owned();
            (term, characters[start..end].iter().collect())
        });
        marked.collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|&(term, part)| (term.to_owned(), part.to_owned())).collect()
    }

    #[test]
    fn stems_are_traced_back_to_the_words_that_they_were_made_of() {
        let stem = Some(Stem::Of(Language::English));
        let params = Params { stem, ..Params::default() };
        let expected = [("stori", "STORIES"), ("of", "of"), ("cat", "Cats"), ("stori", "story")];
        assert_eq!(marked(params, "STORIES of Cats, a story"), pairs(&expected));
    }

    #[test]
    fn ngrams_of_words_reach_over_the_stop_words_between_them() {
        let stop_words = StopWords::Words(vec!["of".to_owned()]);
        let params = Params { stop_words, word_ngrams: Some((1, 2)), ..Params::default() };
        let expected = [("history", "History"), ("history art", "History of Art"), ("art", "Art")];
        assert_eq!(marked(params, "History of Art"), pairs(&expected));
    }

    #[test]
    fn letters_whose_lower_case_is_longer_move_no_place() {
        let expected = [("i\u{307}stanbul", "İSTANBUL"), ("ve", "ve"), ("οδος", "ΟΔΟΣ")];
        assert_eq!(marked(Params::default(), "İSTANBUL ve ΟΔΟΣ"), pairs(&expected));
    }

    #[test]
    fn pieces_of_every_script_are_found_where_they_stand() {
        let mut found = marked(Params::default(), "Die 猫の本, ไทย 도서관");
        found.sort();
        let mut expected = pairs(&[
            ("die", "Die"),
            ("猫", "猫"),
            ("猫の", "猫の"),
            ("の", "の"),
            ("の本", "の本"),
            ("本", "本"),
            ("ไท", "ไท"),
            ("ทย", "ทย"),
            ("ไทย", "ไทย"),
            ("도서관", "도서관"),
            ("도서", "도서"),
            ("서관", "서관"),
        ]);
        expected.sort();
        assert_eq!(found, expected);
        assert_eq!(
            marked(Params::default(), "हिन्दी שָׁלוֹם"),
            pairs(&[("हिन्दी", "हिन्दी"), ("שָׁלוֹם", "שָׁלוֹם")])
        );
    }

    #[test]
    fn characters_are_found_without_the_spaces_that_were_added() {
        let params = Params { word_ngrams: None, char_ngrams: Some((3, 3)), ..Params::default() };
        let expected = [(" öl", "Öl"), ("öl ", "Öl"), (" x ", "x")];
        assert_eq!(marked(params, "Öl  x"), pairs(&expected));
        let params = Params {
            word_ngrams: None,
            char_ngrams: Some((3, 3)),
            char_ngrams_in: CharNgramsIn::Text,
            ..Params::default()
        };
        assert_eq!(marked(params, "Ab \n c"), pairs(&[("ab ", "Ab \n "), ("b c", "b \n c")]));
    }

    #[test]
    fn words_are_runs_of_letters_and_single_characters_where_no_spaces_part_them() {
        let found: Vec<(String, Range<usize>)> = words("A house, 猫の; 도서관에")
            .into_iter()
            .map(|word| (word.text, word.place))
            .collect();
        let expected =
            [("a", 0..1), ("house", 2..7), ("猫", 9..10), ("の", 10..11), ("도서관에", 13..17)];
        assert_eq!(found, expected.map(|(word, place)| (word.to_owned(), place)));
    }

    fn settings() -> impl Strategy<Value = Params> {
        let ngrams = prop::sample::select(vec![None, Some((1, 1)), Some((1, 3)), Some((2, 2))]);
        let char_ngrams = prop::sample::select(vec![None, Some((1, 3)), Some((4, 4))]);
        let tokens = prop::sample::select(vec![Tokens::Auto, Tokens::Word, Tokens::Unicode]);
        let within = prop::sample::select(vec![CharNgramsIn::Words, CharNgramsIn::Text]);
        let stem = prop::sample::select(vec![None, Some(Stem::Of(Language::English))]);
        let all = (ngrams, char_ngrams, tokens, within, stem, any::<bool>(), 1usize..3);
        let params =
            |(word_ngrams, char_ngrams, tokens, char_ngrams_in, stem, lowercase, min_token)| {
                Params {
                    word_ngrams,
                    char_ngrams,
                    tokens,
                    char_ngrams_in,
                    stem,
                    lowercase,
                    min_token,
                    ..Params::default()
                }
            };
        all.prop_map(params).prop_filter("there are terms", |it| it.check().is_ok())
    }

    proptest! {
        #[test]
        fn all_terms_that_a_row_counts_have_a_place_and_no_others(
            params in settings(),
            text in "[aBİßΣς .,'é日本カのกาิ한국हिि́\u{200d}\u{302}😀_\n]{0,24}",
        ) {
            let Some(vectoriser) = fitted(params, &text) else { return Ok(()) };
            let mut placed = Vec::new();
            vectoriser.each_place(&text, |term, _| placed.push(term.to_vec()));
            let mut counted = Vec::new();
            vectoriser.analyser().each_term(&text, &mut Default::default(), |term| counted.push(term.to_vec()));
            placed.sort();
            counted.sort();
            prop_assert_eq!(placed, counted);
            let length = text.chars().count();
            let places = vectoriser.places(&text);
            prop_assert!(places.iter().all(|place| place.start < place.end && place.end <= length));
            prop_assert!(words(&text).iter().all(|word| word.place.end <= length));
        }
    }
}
