//! Why no term of some texts is kept, and which settings would keep some.

use super::analyse::{Analyser, Buffers};
use super::params::{Params, StopWords, Tokens};
use super::scripts::{Pieces, Script};
use super::terms::TermsView;
use crate::base::words::plural;
use std::fmt;

/// Characters of an example, at most.
const EXAMPLE: usize = 20;

/// No term of some documents is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct NoTerms {
    documents: usize,
    reason: Reason,
    /// The settings that would keep terms, with their values.
    settings: Vec<Change>,
}

/// A setting, and a value that leaves less out.
type Change = (&'static str, &'static str);

/// A change, and the settings with it.
type Way = (Change, fn(Params) -> Params);

#[derive(Clone, Debug, PartialEq)]
enum Reason {
    Blank,
    NoLetters,
    /// All words are left out, such as this one.
    LeftOut(String),
    /// Words are runs of a script that has no spaces between words.
    Runs(Script),
    Rare,
    Frequent,
}

impl NoTerms {
    /// The same of so many documents.
    pub(super) fn of(self, documents: usize) -> Self {
        NoTerms { documents, ..self }
    }

    /// What is wrong and what to do. `set` says how settings are changed, such as `min_df` to `1`.
    ///
    /// ```
    /// use labelwood::run::Pool;
    /// use labelwood::text::{Fitting, Params, TextError};
    /// let task = Pool::new(1)?.task();
    /// let mut fitting = Fitting::new(Params::default())?;
    /// fitting.add(&["x y", "x"], &task)?;
    /// let Err(TextError::NoTerms(error)) = fitting.finish_with_terms(&task) else { panic!() };
    /// assert_eq!(
    ///     error.describe(|changes| format!("change {changes:?}")),
    ///     "no term of the 2 documents is kept: settings leave out every word, such as `x`: \
    ///      change [(\"min_token\", \"1\")]"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn describe(&self, set: impl Fn(&[Change]) -> String) -> String {
        let reason = match &self.reason {
            Reason::Blank => "all of them are empty".to_owned(),
            Reason::NoLetters => "there is no letter or digit in them".to_owned(),
            Reason::LeftOut(word) => format!("settings leave out every word, such as `{word}`"),
            Reason::Runs(script) => format!(
                "{} has no spaces between words, and so whole runs of it are words here",
                script.name()
            ),
            Reason::Rare => "too few documents have the same one".to_owned(),
            Reason::Frequent => "too many documents have each of them".to_owned(),
        };
        let mut message =
            format!("no term of the {} is kept: {reason}", plural(self.documents, "document"));
        match &self.settings[..] {
            [] => {}
            settings if self.reason == Reason::Rare => {
                message.extend([": give more text, or ", &set(settings)]);
            }
            settings => message.extend([": ", &set(settings)]),
        }
        message
    }
}

impl fmt::Display for NoTerms {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = |changes: &[Change]| {
            let set = |(name, value): &Change| format!("{name} to {value}");
            format!("set {}", changes.iter().map(set).collect::<Vec<_>>().join(" and "))
        };
        out.write_str(&self.describe(set))
    }
}

/// What was seen of texts without a single term.
#[derive(Clone, Debug, Default)]
pub(super) struct Wordless {
    has_text: bool,
    /// What would keep terms, and one of these.
    remedy: Option<(Vec<Change>, String)>,
}

impl Wordless {
    /// Looks at texts that have no term with these settings.
    pub(super) fn add<T: AsRef<str>>(&mut self, texts: &[T], params: &Params) {
        self.has_text |= texts.iter().any(|text| !text.as_ref().trim().is_empty());
        if !self.has_text || self.remedy.is_some() {
            return;
        }
        let ways = ways(params);
        let alone = |(change, with): &Way| {
            first_term(texts, with(params.clone())).map(|term| (vec![*change], term))
        };
        let together = || {
            let all = ways.iter().fold(params.clone(), |params, (_, with)| with(params));
            let changes = ways.iter().map(|(change, _)| *change).collect();
            first_term(texts, all).map(|term| (changes, term))
        };
        self.remedy = ways.iter().find_map(alone).or_else(together);
    }

    pub(super) fn why(self, documents: usize) -> NoTerms {
        let (reason, settings) = match self.remedy {
            Some((changes, term)) => (Reason::LeftOut(term), changes),
            None if self.has_text => (Reason::NoLetters, vec![("char_ngrams", "1,3")]),
            None => (Reason::Blank, Vec::new()),
        };
        NoTerms { documents, reason, settings }
    }
}

/// Why none of these terms is kept, which so many documents have each.
pub(super) fn why_none(
    params: &Params,
    terms: TermsView<'_>,
    occurrences: &[u32],
    documents: usize,
) -> NoTerms {
    let least = params.min_df.of(documents);
    let why = |reason, change| NoTerms { documents, reason, settings: vec![change] };
    if occurrences.iter().any(|&documents| f64::from(documents) >= least) {
        return why(Reason::Frequent, ("max_df", "1.0"));
    }
    let mut letters = (0..terms.len() as u32)
        .filter_map(|id| std::str::from_utf8(terms.term(id)).ok()?.chars().find_map(Script::of))
        .filter(|script| script.pieces() != Pieces::Syllables);
    match letters.next().filter(|_| params.tokens != Tokens::Auto) {
        Some(script) if 2 * (1 + letters.count()) > terms.len() => {
            why(Reason::Runs(script), ("tokens", "auto"))
        }
        _ => why(Reason::Rare, ("min_df", "1")),
    }
}

/// The changes of settings by which less is left out.
fn ways(params: &Params) -> Vec<Way> {
    let mut ways: Vec<Way> = Vec::new();
    if let Some((least, _)) = params.word_ngrams {
        if params.tokens != Tokens::Auto {
            ways.push((("tokens", "auto"), |it| Params { tokens: Tokens::Auto, ..it }));
        }
        if params.min_token > 1 {
            ways.push((("min_token", "1"), |it| Params { min_token: 1, ..it }));
        }
        if params.stop_words != StopWords::None {
            ways.push((("stop_words", "none"), |it| Params { stop_words: StopWords::None, ..it }));
        }
        if least > 1 {
            ways.push((("word_ngrams", "1,1"), |it| Params { word_ngrams: Some((1, 1)), ..it }));
        }
    } else if params.char_ngrams.is_some_and(|(least, _)| least > 1) {
        ways.push((("char_ngrams", "1,3"), |it| Params { char_ngrams: Some((1, 3)), ..it }));
    }
    ways
}

/// The start of the first term of texts.
fn first_term<T: AsRef<str>>(texts: &[T], params: Params) -> Option<String> {
    let (analyser, mut buffers, mut found) = (Analyser::new(params), Buffers::default(), None);
    for text in texts {
        analyser.each_term(text.as_ref(), &mut buffers, |term| {
            if found.is_none() {
                let text = String::from_utf8_lossy(term);
                found = Some(text.chars().take(EXAMPLE).collect());
            }
        });
        if found.is_some() {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use crate::text::{Fitting, Frequency, TextError};

    fn why(texts: &[&str], params: Params) -> String {
        let task = Pool::new(1).unwrap().task();
        let mut fitting = Fitting::new(params).unwrap();
        // In two batches, the first of which says nothing.
        fitting.add(&[" "], &task).unwrap();
        fitting.add(texts, &task).unwrap();
        match fitting.finish_with_terms(&task) {
            Err(TextError::NoTerms(error)) => {
                let message = error.to_string();
                let documents = texts.len() + 1;
                let start = format!("no term of the {} is kept: ", plural(documents, "document"));
                message.strip_prefix(&start).expect(&message).to_owned()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_reason_is_said_and_what_helps() {
        let plain = Params::default;
        let one = || Params { min_df: Frequency::Count(1), ..plain() };
        let word = || Params { tokens: Tokens::Word, ..plain() };
        assert_eq!(why(&["", " \n"], one()), "all of them are empty");
        assert_eq!(
            why(&["?! 😀", "--"], one()),
            "there is no letter or digit in them: set char_ngrams to 1,3"
        );
        assert_eq!(
            why(&["a b", "b"], one()),
            "settings leave out every word, such as `a`: set min_token to 1"
        );
        assert_eq!(
            why(&["猫 犬"], Params { min_df: Frequency::Count(1), ..word() }),
            "settings leave out every word, such as `猫`: set tokens to auto"
        );
        let stop_words = StopWords::Words(vec!["b".to_owned(), "the".to_owned()]);
        assert_eq!(
            why(&["the", "the the"], Params { stop_words: stop_words.clone(), ..one() }),
            "settings leave out every word, such as `the`: set stop_words to none"
        );
        assert_eq!(
            why(&["b"], Params { stop_words, ..one() }),
            "settings leave out every word, such as `b`: set min_token to 1 and stop_words to none"
        );
        assert_eq!(
            why(&["alone"], Params { word_ngrams: Some((2, 3)), ..one() }),
            "settings leave out every word, such as `alone`: set word_ngrams to 1,1"
        );
    }

    #[test]
    fn terms_that_are_too_rare_or_too_frequent_are_told_apart() {
        let word = || Params { tokens: Tokens::Word, ..Params::default() };
        assert_eq!(
            why(&["one", "two"], Params::default()),
            "too few documents have the same one: give more text, or set min_df to 1"
        );
        assert_eq!(
            why(&["古城历史", "秋天鸟儿"], word()),
            "Han has no spaces between words, and so whole runs of it are words here: set tokens to auto"
        );
        let one = Frequency::Count(1);
        let rare = Params { min_df: one, max_df: one, ..Params::default() };
        assert_eq!(
            why(&["one", "one"], rare),
            "too many documents have each of them: set max_df to 1.0"
        );
    }
}
