//! From a text to its terms: lower case, words, stop words, stems, n-grams.

use super::characters::{IS_WORD, is_space, is_word, lowercase, width};
use super::params::{CharNgramsIn, Language, Params, Stem, StopWords, Tokens};
use super::scripts;
use super::stop_words::of_language;
use super::terms::{Terms, hash};
use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

/// No language has longer words, and stemmers take a time that grows with the square of the length.
pub(super) const LONGEST_STEMMED: usize = 300;

/// The first character of terms of characters, if there are terms of words, too. No word starts with it.
pub(super) const CHARACTERS: char = '~';

/// Takes texts apart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Analyser {
    params: Params,
    stop_words: Terms,
}

/// Memory that is used again for every text.
#[derive(Default)]
pub(super) struct Buffers {
    lower: String,
    stems: Stems,
    words: Words,
    /// A word or text whose characters make terms.
    whole: String,
    marked: String,
}

/// The stems of the words so far. Most words come again, and stemming is slow.
#[derive(Default)]
pub(super) struct Stems {
    words: Terms,
    text: String,
    /// Where the stem of each word ends.
    ends: Vec<usize>,
}

/// The words of a text, joined by single spaces, so that every n-gram is a part of it.
#[derive(Default)]
struct Words {
    joined: String,
    /// Where each word starts and ends.
    places: Vec<(usize, usize)>,
}

/// What a text is taken apart into.
#[derive(Clone, Copy)]
pub(super) enum Token<'t> {
    Word(&'t str),
    /// A part of a run without spaces: a term by itself, never a part of an n-gram of words.
    Piece(&'t str),
}

impl<'t> Token<'t> {
    pub(super) fn text(self) -> &'t str {
        match self {
            Token::Word(text) | Token::Piece(text) => text,
        }
    }
}

impl Analyser {
    /// The language of settings with `auto` is not known yet, and taken for none.
    pub(super) fn new(params: Params) -> Self {
        let mut stop_words = Terms::new();
        let mut lower = String::new();
        let mut add = |word: &str| {
            let word = if params.lowercase { in_lower_case(word, &mut lower) } else { word };
            stop_words.intern(hash(word.as_bytes()), word.as_bytes());
        };
        match &params.stop_words {
            StopWords::None | StopWords::Auto => {}
            StopWords::Of(language) => of_language(*language, &mut add),
            StopWords::Words(words) => words.iter().for_each(|word| add(word)),
        }
        Analyser { params, stop_words }
    }

    pub(super) fn params(&self) -> &Params {
        &self.params
    }

    /// Calls `take` with every term of a text, as often as it occurs.
    #[inline]
    pub(super) fn each_term(&self, text: &str, buffers: &mut Buffers, mut take: impl FnMut(&[u8])) {
        let Buffers { lower, stems, words, whole, marked } = buffers;
        let text = if self.params.lowercase { in_lower_case(text, lower) } else { text };
        match self.params.word_ngrams {
            None => {}
            Some((1, 1)) => self.each_token(text, stems, |_, token| take(token.text().as_bytes())),
            Some(lengths) => {
                words.clear();
                self.each_token(text, stems, |_, token| match token {
                    Token::Word(word) => words.push(word),
                    Token::Piece(piece) => take(piece.as_bytes()),
                });
                words.each_ngram(lengths, &mut take);
            }
        }
        if let Some(lengths) = self.params.char_ngrams {
            if self.params.word_ngrams.is_none() {
                self.each_char_ngram(text, lengths, whole, |term| take(term.as_bytes()));
            } else {
                self.each_char_ngram(text, lengths, whole, |term| {
                    marked.clear();
                    marked.push(CHARACTERS);
                    marked.push_str(term);
                    take(marked.as_bytes());
                });
            }
        }
    }

    /// The words that count, stemmed, and pieces of text that has no spaces between words; each after the part
    /// of the text that it is.
    #[inline]
    pub(super) fn each_token(
        &self,
        text: &str,
        stems: &mut Stems,
        mut take: impl FnMut(&str, Token<'_>),
    ) {
        let stemmer = match self.params.stem {
            Some(Stem::Of(language)) => Some(stemmer(language)),
            _ if self.stop_words.len() == 0 => {
                return each_word(text, &self.params, |token| take(token.text(), token));
            }
            _ => None,
        };
        each_word(text, &self.params, |token| {
            let term = token.text().as_bytes();
            if self.stop_words.view().find(hash(term), term).is_ok() {
                return;
            }
            match (token, &stemmer) {
                (Token::Word(word), Some(stemmer)) if word.len() <= LONGEST_STEMMED => {
                    take(word, Token::Word(stems.stem(word, stemmer)));
                }
                _ => take(token.text(), token),
            }
        });
    }

    fn each_char_ngram(
        &self,
        text: &str,
        lengths: (usize, usize),
        whole: &mut String,
        mut take: impl FnMut(&str),
    ) {
        match self.params.char_ngrams_in {
            CharNgramsIn::Text => {
                collapse_spaces(text, whole);
                for length in lengths.0..=lengths.1 {
                    if prefix(whole, length).is_some() {
                        each_slice(whole, length, &mut take);
                    }
                }
            }
            CharNgramsIn::Words => {
                for word in text.split(is_space).filter(|word| !word.is_empty()) {
                    whole.clear();
                    whole.extend([" ", word, " "]);
                    for length in lengths.0..=lengths.1 {
                        each_slice(whole, length, &mut take);
                        // A word that is too short for a length counts once, whole.
                        if prefix(whole, length).is_none_or(|end| end == whole.len()) {
                            break;
                        }
                    }
                }
            }
        }
    }
}

impl Stems {
    fn stem(&mut self, word: &str, stemmer: &Stemmer) -> &str {
        let known = self.words.len();
        let id = self.words.intern(hash(word.as_bytes()), word.as_bytes()) as usize;
        if id == known {
            self.text.push_str(&stemmer.stem(word));
            self.ends.push(self.text.len());
        }
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.text[start..self.ends[id]]
    }
}

impl Words {
    fn clear(&mut self) {
        self.joined.clear();
        self.places.clear();
    }

    fn push(&mut self, word: &str) {
        if !self.places.is_empty() {
            self.joined.push(' ');
        }
        let start = self.joined.len();
        self.joined.push_str(word);
        self.places.push((start, self.joined.len()));
    }

    fn each_ngram(&self, (least, most): (usize, usize), mut take: impl FnMut(&[u8])) {
        for length in least..=most {
            for places in self.places.windows(length) {
                let (start, end) = (places[0].0, places[length - 1].1);
                take(&self.joined.as_bytes()[start..end]);
            }
        }
    }
}

fn in_lower_case<'a>(text: &str, lower: &'a mut String) -> &'a str {
    lowercase(text, lower);
    lower
}

/// The words of at least `min_token` characters, and the pieces.
#[inline]
fn each_word(text: &str, params: &Params, mut take: impl FnMut(Token<'_>)) {
    let least = params.min_token;
    match params.tokens {
        Tokens::Auto => scripts::each_run(text, |run| {
            if run.is_word() && run.characters >= least {
                take(Token::Word(run.text));
            }
            if let Some(pieces) = run.pieces {
                let lengths = pieces.lengths(params.word_ngrams.unwrap_or((1, 1)));
                scripts::each_piece(run, lengths, &mut |piece| take(Token::Piece(piece)));
            }
        }),
        Tokens::Word => each_run(text, least, |word| take(Token::Word(word))),
        Tokens::Unicode => {
            let words = text.unicode_words().filter(|word| prefix(word, least).is_some());
            words.for_each(|word| take(Token::Word(word)));
        }
    }
}

/// The runs of at least `least` word characters.
#[inline]
fn each_run(text: &str, least: usize, mut take: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let (start, mut characters) = (at, 0);
        while at < bytes.len() {
            let width = if IS_WORD[bytes[at] as usize] {
                1
            } else {
                match text[at..].chars().next() {
                    Some(character) if !character.is_ascii() && is_word(character) => {
                        character.len_utf8()
                    }
                    _ => break,
                }
            };
            at += width;
            characters += 1;
        }
        if characters >= least {
            take(&text[start..at]);
        }
        at += bytes.get(at).map_or(0, |&byte| width(byte));
    }
}

/// Writes `text` into `whole` with every run of two or more white-space characters as one space. A
/// single one stays what it is, as in scikit-learn.
fn collapse_spaces(text: &str, whole: &mut String) {
    whole.clear();
    let mut rest = text;
    while let Some(start) = rest.find(is_space) {
        let (before, spaces) = rest.split_at(start);
        rest = spaces.trim_start_matches(is_space);
        let task = &spaces[..spaces.len() - rest.len()];
        whole.push_str(before);
        whole.push_str(if prefix(task, 2).is_some() { " " } else { task });
    }
    whole.push_str(rest);
}

/// All parts of `length` characters; the whole if it is shorter.
pub(super) fn each_slice(text: &str, length: usize, mut take: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let (mut start, mut end) = (0, prefix(text, length).unwrap_or(text.len()));
    take(&text[start..end]);
    while end < text.len() {
        start += width(bytes[start]);
        end += width(bytes[end]);
        take(&text[start..end]);
    }
}

/// Where the first `length` characters end, if there are as many.
pub(super) fn prefix(text: &str, length: usize) -> Option<usize> {
    text.char_indices().nth(length - 1).map(|(at, last)| at + last.len_utf8())
}

pub(super) fn stemmer(language: Language) -> Stemmer {
    use Algorithm::*;
    /// In the order of [`Language`].
    const ALL: [Algorithm; Language::NAMES.len()] = [
        Arabic, Danish, Dutch, English, Finnish, French, German, Greek, Hungarian, Italian,
        Norwegian, Portuguese, Romanian, Russian, Spanish, Swedish, Tamil, Turkish,
    ];
    Stemmer::create(ALL[language as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(params: Params, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        Analyser::new(params).each_term(text, &mut Buffers::default(), |term| {
            terms.push(String::from_utf8(term.to_vec()).unwrap());
        });
        terms
    }

    #[test]
    fn words_are_runs_of_two_or_more_word_characters() {
        assert_eq!(
            terms(Params::default(), "A Bird's-eye view_2, été! x ½½ ab"),
            ["bird", "eye", "view_2", "été", "½½", "ab"]
        );
        let params = Params { min_token: 1, lowercase: false, ..Params::default() };
        assert_eq!(terms(params, "A bird's"), ["A", "bird", "s"]);
        let params = Params { tokens: Tokens::Word, ..Params::default() };
        assert_eq!(terms(params, "İstanbul"), ["stanbul"], "the dot is split off");
        assert_eq!(terms(Params::default(), "ΟΔΟΣ"), ["οδος"]);
    }

    #[test]
    fn pieces_stand_beside_words_and_are_no_part_of_their_ngrams() {
        assert_eq!(
            terms(Params::default(), "Die 猫の本, İstanbul हिन्दी"),
            ["die", "猫", "の", "本", "猫の", "の本", "i\u{307}stanbul", "हिन्दी"]
        );
        let stop_words = StopWords::Words(vec!["の".to_owned()]);
        let params = Params { word_ngrams: Some((1, 2)), stop_words, ..Params::default() };
        assert_eq!(
            terms(params, "old 猫の本 maps"),
            ["猫", "本", "猫の", "の本", "猫の本", "old", "maps", "old maps"]
        );
        let korean = "도서관에 책이";
        assert_eq!(terms(Params::default(), korean), ["도서관에", "도서", "서관", "관에", "책이"]);
        let params = Params { tokens: Tokens::Word, ..Params::default() };
        assert_eq!(terms(params, korean), ["도서관에", "책이"]);
    }

    #[test]
    fn unicode_words_keep_apostrophes_and_decimals() {
        let params = Params { tokens: Tokens::Unicode, ..Params::default() };
        assert_eq!(terms(params, "I can't pay 3.14 (x)"), ["can't", "pay", "3.14"]);
    }

    #[test]
    fn word_ngrams_skip_stop_words() {
        let stop_words = StopWords::Words(vec!["OF".to_owned()]);
        let params = Params { word_ngrams: Some((1, 3)), stop_words, ..Params::default() };
        assert_eq!(
            terms(params, "history of old maps"),
            ["history", "old", "maps", "history old", "old maps", "history old maps"]
        );
        let params = Params { word_ngrams: Some((2, 2)), ..Params::default() };
        assert!(terms(params, "alone").is_empty());
    }

    #[test]
    fn stems_are_made_of_words_that_are_no_stop_words() {
        let params = Params {
            stem: Some(Stem::Of(Language::English)),
            stop_words: StopWords::Of(Language::English),
            ..Params::default()
        };
        assert_eq!(
            terms(params.clone(), "The stories of cats: cat stories, running cats"),
            ["stori", "cat", "cat", "stori", "run", "cat"]
        );
        let long = "y".repeat(1 << 20);
        assert_eq!(terms(params, &long), [long]);
    }

    #[test]
    fn characters_within_words_have_a_space_on_both_sides() {
        let params = Params { word_ngrams: None, char_ngrams: Some((3, 4)), ..Params::default() };
        assert_eq!(
            terms(params.clone(), "Öl\u{1c} \tx,yz "),
            [" öl", "öl ", " öl ", " x,", "x,y", ",yz", "yz ", " x,y", "x,yz", ",yz "]
        );
        assert_eq!(terms(params, "a"), [" a "], "a short word counts once");
    }

    #[test]
    fn characters_of_the_text_cross_words() {
        let params = Params {
            word_ngrams: None,
            char_ngrams: Some((2, 4)),
            char_ngrams_in: CharNgramsIn::Text,
            ..Params::default()
        };
        assert_eq!(terms(params.clone(), "a \n b"), ["a ", " b", "a b"]);
        assert_eq!(terms(params, "a\nb"), ["a\n", "\nb", "a\nb"]);
    }

    #[test]
    fn terms_of_characters_are_marked_beside_words() {
        let params = Params { char_ngrams: Some((4, 4)), ..Params::default() };
        assert_eq!(terms(params, "it"), ["it", "~ it "]);
    }
}
