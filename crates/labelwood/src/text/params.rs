//! The settings of a vectoriser.

use crate::base::settings::{Kind, ParamError, SettingType, choices, settings};
use serde::de::{self, IntoDeserializer as _};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;

/// The name of no stop words.
const NONE: &str = "none";
/// The name of a language that is guessed.
const AUTO: &str = "auto";
/// Characters in a row that make a term in languages that join words.
const JOINED: (usize, usize) = (4, 4);

settings! {
    /// How text becomes rows. With `tokens: Tokens::Word`, the defaults are those of scikit-learn's
    /// `TfidfVectorizer(sublinear_tf=True, min_df=2)`; without, they give the same rows where scripts
    /// part words by spaces, letters have no combining marks, and the language does not join words.
    ///
    /// ```
    /// use labelwood::text::{Frequency, Params};
    /// let params = Params { word_ngrams: Some((1, 2)), max_df: Frequency::Share(0.5), ..Params::default() };
    /// assert!(params.check().is_ok());
    /// assert!(Params { word_ngrams: Some((2, 1)), ..params }.check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Params {
        /// What a word is: a run of letters, digits and underscores (word), or what Unicode's rules
        /// say (unicode). With auto it is a run, but characters of scripts without spaces between words,
        /// as of Chinese, Japanese and Thai, make terms one by one and in short pieces; and where the
        /// language of the texts joins words, as German and Finnish do, pieces of 4 characters of words
        /// are terms, too, unless char_ngrams says which.
        tokens: Tokens = Tokens::Auto;
        /// Words of fewer characters than this are left out.
        min_token: usize = 2, within(1.0, 1000.0);
        /// Whether text is put into lower case first.
        lowercase: bool = true, off("keep-case", "Take upper and lower case for different letters");
        /// The language whose Snowball stemmer cuts the endings off words; auto guesses it from the
        /// texts, and stems nothing if that is unsure.
        stem: Option<Stem> = None;
        /// Words that are left out, before stemming: a language, whose most common words are taken;
        /// auto, which guesses it; or others (for the command, those of a file with one in a line).
        stop_words: StopWords = StopWords::None;
        /// From how many to how many words in a row make a term; none for terms of characters only.
        word_ngrams: Option<(usize, usize)> = Some((1, 1));
        /// From how many to how many characters in a row make a term. If there are terms of words too,
        /// those of characters start with `~`, so that the two never meet.
        char_ngrams: Option<(usize, usize)> = None;
        /// Where terms of characters are taken from: within words, with a space on both sides
        /// (scikit-learn's char_wb), or across the whole text (its char).
        char_ngrams_in: CharNgramsIn = CharNgramsIn::Words;
        /// Terms in fewer documents than this are left out: a number, or a share such as 0.001.
        min_df: Frequency = Frequency::Count(2);
        /// Terms in more documents than this are left out: a number, or a share such as 0.5.
        max_df: Frequency = Frequency::Share(1.0);
        /// At most this many terms are kept: those that occur most often, then the first in order.
        max_features: Option<usize> = None, least(1.0);
        /// Whether a term that occurs n times in a document counts 1 + ln n rather than n.
        sublinear_tf: bool = true,
            off("no-sublinear-tf", "Count a term that occurs n times in a document n rather than 1 + ln n");
        /// Whether terms weigh the more the fewer documents have them: by 1 + ln(documents / documents
        /// with the term).
        idf: bool = true, off("no-idf", "Weigh rare terms no more than frequent ones");
        /// Whether both of these numbers of documents are taken one larger than they are.
        smooth_idf: bool = true,
            off("no-smooth-idf", "Do not count one document with every term more than there are");
        /// The number of columns to hash terms to. Hashing takes no memory for terms, but columns have
        /// no names then, and `min_df` and `max_df` have no effect.
        hashing: Option<usize> = None, within(1.0, 1_073_741_824.0);
    }
}

choices! {
    /// What a word is.
    pub enum Tokens {
        /// As the script of each run of characters asks for: [`Tokens::Word`] where spaces part words,
        /// with marks kept on their letters; single characters and pairs of ideographs and kana; pieces
        /// of 2 to 4 characters of Thai, Lao, Khmer and Myanmar; words and pairs of syllables of Hangul.
        /// In a language that [joins words](Language::joins_words), with `char_ngrams` of 4 where they
        /// are not set.
        Auto = "auto",
        /// A run of letters, digits and underscores, as Python's `\w+` matches it.
        Word = "word",
        /// A word by the rules of Unicode (UAX #29), which keeps "can't" and "3.14" whole.
        Unicode = "unicode",
    }
}

choices! {
    /// Where terms of characters are taken from.
    pub enum CharNgramsIn {
        /// Each word between white space, with a space on both sides (scikit-learn's `char_wb`).
        Words = "words",
        /// The whole text, across words (scikit-learn's `char`).
        Text = "text",
    }
}

/// Whose stemmer cuts the endings off words. A fitted vectoriser has a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stem {
    /// That of the language that the texts are written in, as [`Language::guess`] says.
    Auto,
    /// That of this language.
    #[serde(untagged)]
    Of(Language),
}

/// Words that are left out. A fitted vectoriser has no [`StopWords::Auto`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopWords {
    /// None.
    None,
    /// Those of the language that the texts are written in, as [`Language::guess`] says.
    Auto,
    /// These; they are put into lower case if text is.
    Words(Vec<String>),
    /// The most common words of a language, which say nothing about a text.
    #[serde(untagged)]
    Of(Language),
}

choices! {
    /// A language with a Snowball stemmer.
    #[expect(missing_docs, reason = "the names say it")]
    pub enum Language {
        Arabic = "arabic",
        Danish = "danish",
        Dutch = "dutch",
        English = "english",
        Finnish = "finnish",
        French = "french",
        German = "german",
        Greek = "greek",
        Hungarian = "hungarian",
        Italian = "italian",
        Norwegian = "norwegian",
        Portuguese = "portuguese",
        Romanian = "romanian",
        Russian = "russian",
        Spanish = "spanish",
        Swedish = "swedish",
        Tamil = "tamil",
        Turkish = "turkish",
    }
}

/// The names that stop words have; without the first, those that stems have.
const NAMES: [&str; Language::NAMES.len() + 2] = {
    let mut names = [NONE; Language::NAMES.len() + 2];
    names[1] = AUTO;
    let mut at = 0;
    while at < Language::NAMES.len() {
        names[at + 2] = Language::NAMES[at];
        at += 1;
    }
    names
};

/// The language of this name.
fn named<E: de::Error>(name: &str, names: &'static [&'static str]) -> Result<Language, E> {
    let found = Language::deserialize(name.into_deserializer());
    found.map_err(|_: de::value::Error| E::unknown_variant(name, names))
}

// By hand, so that a wrong name is answered with the right ones.
impl<'de> Deserialize<'de> for Stem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            AUTO => Ok(Stem::Auto),
            name => named(name, &NAMES[1..]).map(Stem::Of),
        }
    }
}

impl<'de> Deserialize<'de> for StopWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Name(String),
            List { words: Vec<String> },
        }
        match Written::deserialize(deserializer)? {
            Written::List { words } => Ok(StopWords::Words(words)),
            Written::Name(name) => match name.as_str() {
                NONE => Ok(StopWords::None),
                AUTO => Ok(StopWords::Auto),
                name => named(name, &NAMES).map(StopWords::Of),
            },
        }
    }
}

impl SettingType for Stem {
    const KIND: Kind = Kind::Choice(NAMES.split_at(1).1);
}

impl SettingType for StopWords {
    const KIND: Kind = Kind::Words;
}

/// A number of documents, or a share of all of them.
///
/// Written as a whole number or with a decimal point, as in scikit-learn: `1` is one document, `1.0`
/// all of them.
///
/// ```
/// use labelwood::text::Frequency;
/// assert_eq!("2".parse(), Ok(Frequency::Count(2)));
/// assert_eq!("1.0".parse(), Ok(Frequency::Share(1.0)));
/// assert!("-1".parse::<Frequency>().is_err());
/// assert_eq!(Frequency::Share(1.0).to_string(), "1.0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Frequency {
    /// This many documents.
    Count(u64),
    /// This share of the documents, from 0 to 1.
    Share(f64),
}

impl SettingType for Frequency {
    const KIND: Kind = Kind::CountOrShare;

    fn not_finite(&self) -> Option<String> {
        match self {
            Frequency::Count(_) => None,
            Frequency::Share(share) => share.not_finite(),
        }
    }
}

impl Frequency {
    /// The number of documents, of `documents` in all.
    pub(super) fn of(self, documents: usize) -> f64 {
        match self {
            Frequency::Count(count) => count as f64,
            Frequency::Share(share) => share * documents as f64,
        }
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frequency::Count(count) => write!(out, "{count}"),
            // Debug writes the decimal point that tells a share from a count.
            Frequency::Share(share) => write!(out, "{share:?}"),
        }
    }
}

impl FromStr for Frequency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = || text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        let count = text.parse().ok().map(Frequency::Count);
        count.or_else(|| share().map(Frequency::Share)).ok_or_else(|| {
            "must be a number of documents, such as 2, or a share of them, such as 0.5".to_owned()
        })
    }
}

impl Params {
    /// The language that is stated for stems or, if there is none, for stop words.
    pub fn language(&self) -> Option<Language> {
        match (self.stem, &self.stop_words) {
            (Some(Stem::Of(language)), _) => Some(language),
            (_, StopWords::Of(language)) => Some(*language),
            _ => None,
        }
    }

    /// Whether a language is to be guessed from the texts.
    pub fn is_auto(&self) -> bool {
        self.stem == Some(Stem::Auto) || self.stop_words == StopWords::Auto
    }

    /// Whether the language of the texts changes something.
    pub(super) fn asks_for_language(&self) -> bool {
        self.is_auto() || self.may_join()
    }

    /// Whether pieces of words become terms if the language joins words.
    fn may_join(&self) -> bool {
        self.tokens == Tokens::Auto && self.word_ngrams.is_some() && self.char_ngrams.is_none()
    }

    /// The settings for texts in this language, which takes the place of every `auto`; if it is not
    /// known, nothing is stemmed or left out there. Texts in a language that joins words get pieces of
    /// them as terms, if `tokens` is `auto` and `char_ngrams` is not set.
    #[must_use]
    pub fn in_language(mut self, language: Option<Language>) -> Self {
        if self.stem == Some(Stem::Auto) {
            self.stem = language.map(Stem::Of);
        }
        if self.stop_words == StopWords::Auto {
            self.stop_words = language.map_or(StopWords::None, StopWords::Of);
        }
        if self.may_join() && language.is_some_and(Language::joins_words) {
            self.char_ngrams = Some(JOINED);
        }
        self
    }

    /// Refuses settings that no text can be read with, naming the first.
    pub fn check(&self) -> Result<(), ParamError> {
        self.check_values()?;
        if self.word_ngrams.is_none() && self.char_ngrams.is_none() {
            let expected = "set, or char_ngrams must be: else there are no terms";
            return Err(ParamError::new("word_ngrams", "none", expected));
        }
        let is_empty = match (self.min_df, self.max_df) {
            (Frequency::Count(least), Frequency::Count(most)) => most < least,
            (Frequency::Share(least), Frequency::Share(most)) => most < least,
            _ => false,
        };
        if is_empty {
            let expected = match self.max_df {
                Frequency::Count(_) => "at least min_df; 1 means one document, 1.0 means all",
                Frequency::Share(_) => "at least min_df",
            };
            return Err(ParamError::new("max_df", self.max_df, expected));
        }
        match self.max_features {
            Some(found) if self.hashing.is_some() => {
                let expected = "left out with hashing, whose number is the width";
                Err(ParamError::new("max_features", found, expected))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_json() {
        let params = Params {
            stem: Some(Stem::Of(Language::Finnish)),
            stop_words: StopWords::Words(vec!["ja".to_owned()]),
            min_df: Frequency::Share(1.0),
            max_df: Frequency::Share(1.0),
            char_ngrams: Some((3, 5)),
            ..Params::default()
        };
        let json = serde_json::to_string(&params).unwrap();
        assert!(json.contains(r#""stem":"finnish","stop_words":{"words":["ja"]}"#));
        assert!(json.contains(r#""char_ngrams":[3,5],"char_ngrams_in":"words","min_df":1.0"#));
        assert_eq!(serde_json::from_str::<Params>(&json).unwrap(), params);
        let json = serde_json::to_value(Params::default()).unwrap();
        assert_eq!(json["min_df"], serde_json::json!(2));
        assert_eq!(serde_json::from_value::<Params>(json).unwrap(), Params::default());
    }

    #[test]
    fn languages_of_files_are_read_and_written_by_name() {
        let read = |stem: &str, stop_words: &str| {
            let mut json = serde_json::to_value(Params::default()).unwrap();
            (json["stem"], json["stop_words"]) = (stem.into(), stop_words.into());
            let params: Params = serde_json::from_value(json.clone()).unwrap();
            params.check().unwrap();
            assert_eq!(serde_json::to_value(&params).unwrap(), json);
            params
        };
        let stated = read("finnish", "english");
        assert_eq!(stated.stem, Some(Stem::Of(Language::Finnish)));
        assert_eq!(stated.stop_words, StopWords::Of(Language::English));
        assert_eq!((stated.language(), stated.is_auto()), (Some(Language::Finnish), false));
        let auto = read("auto", "auto");
        assert_eq!((auto.language(), auto.is_auto()), (None, true));
        assert_eq!(auto.clone().in_language(Some(Language::Tamil)), read("tamil", "tamil"));
        assert_eq!(auto.in_language(None), Params::default());
        assert_eq!(read("auto", "none").in_language(None), Params::default());
        let error = serde_json::from_str::<StopWords>("\"klingon\"").unwrap_err().to_string();
        assert!(error.contains("expected one of `none`, `auto`, `arabic`, "), "{error}");
        let error = serde_json::from_str::<Stem>("\"klingon\"").unwrap_err().to_string();
        assert!(error.contains("expected one of `auto`, `arabic`, "), "{error}");
    }

    #[test]
    fn settings_that_mean_nothing_are_refused_by_name() {
        let base = Params::default;
        let refused = [
            ("min_token", Params { min_token: 0, ..base() }),
            ("word_ngrams", Params { word_ngrams: Some((0, 1)), ..base() }),
            ("word_ngrams", Params { word_ngrams: None, ..base() }),
            ("char_ngrams", Params { char_ngrams: Some((5, 3)), ..base() }),
            ("min_df", Params { min_df: Frequency::Share(f64::NAN), ..base() }),
            ("max_df", Params { max_df: Frequency::Share(1.5), ..base() }),
            ("max_df", Params { max_df: Frequency::Count(1), ..base() }),
            ("max_features", Params { max_features: Some(0), ..base() }),
            ("max_features", Params { max_features: Some(9), hashing: Some(9), ..base() }),
            ("hashing", Params { hashing: Some(0), ..base() }),
        ];
        for (setting, params) in refused {
            assert_eq!(params.check().unwrap_err().setting, setting);
        }
        let error = Params { max_df: Frequency::Count(1), ..base() }.check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "max_df is 1, but must be at least min_df; 1 means one document, 1.0 means all"
        );
    }
}
