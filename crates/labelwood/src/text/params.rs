//! The settings of a vectoriser.

use crate::base::settings::ParamError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How text becomes rows. The defaults are those of scikit-learn's
/// `TfidfVectorizer(sublinear_tf=True, min_df=2)`.
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
    /// What a word is.
    pub tokens: Tokens,
    /// Words of fewer characters than this are left out.
    pub min_token: usize,
    /// Whether text is put into lower case first.
    pub lowercase: bool,
    /// The language whose Snowball stemmer cuts the endings off words.
    pub stem: Option<Language>,
    /// Words that are left out, before stemming.
    pub stop_words: StopWords,
    /// From how many to how many words in a row make a term; `None`: terms of characters only.
    pub word_ngrams: Option<(usize, usize)>,
    /// From how many to how many characters in a row make a term. If there are terms of words too,
    /// those of characters start with `~`, so that the two never meet.
    pub char_ngrams: Option<(usize, usize)>,
    /// Where terms of characters are taken from.
    pub char_ngrams_in: CharNgramsIn,
    /// Terms in fewer documents than this are left out.
    pub min_df: Frequency,
    /// Terms in more documents than this are left out.
    pub max_df: Frequency,
    /// At most this many terms are kept: those that occur most often, then the first in order.
    pub max_features: Option<usize>,
    /// Whether a term that occurs n times in a document counts 1 + ln n rather than n.
    pub sublinear_tf: bool,
    /// Whether terms weigh the more the fewer documents have them: by 1 + ln(documents / documents
    /// with the term).
    pub idf: bool,
    /// Whether both of these numbers of documents are taken one larger than they are.
    pub smooth_idf: bool,
    /// Makes columns of terms by hashing them to so many, which takes no memory for terms. There
    /// are no names of terms then, and `min_df` and `max_df` have no effect.
    pub hashing: Option<usize>,
}

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tokens {
    /// A run of letters, digits and underscores, as Python's `\w+` matches it.
    Word,
    /// A word by the rules of Unicode (UAX #29), which keeps "can't" and "3.14" whole.
    Unicode,
}

/// Where terms of characters are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CharNgramsIn {
    /// Each word between white space, with a space on both sides (scikit-learn's `char_wb`).
    Words,
    /// The whole text, across words (scikit-learn's `char`).
    Text,
}

/// Words that are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopWords {
    /// None.
    None,
    /// The most common English words that say nothing about a text.
    English,
    /// These; they are put into lower case if text is.
    Words(Vec<String>),
}

/// A language with a Snowball stemmer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Language {
    Arabic,
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
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
    /// So many documents.
    Count(u64),
    /// This share of the documents, from 0 to 1.
    Share(f64),
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

impl Default for Params {
    fn default() -> Self {
        Params {
            tokens: Tokens::Word,
            min_token: 2,
            lowercase: true,
            stem: None,
            stop_words: StopWords::None,
            word_ngrams: Some((1, 1)),
            char_ngrams: None,
            char_ngrams_in: CharNgramsIn::Words,
            min_df: Frequency::Count(2),
            max_df: Frequency::Share(1.0),
            max_features: None,
            sublinear_tf: true,
            idf: true,
            smooth_idf: true,
            hashing: None,
        }
    }
}

impl Params {
    /// Refuses settings that no text can be read with, naming the first.
    pub fn check(&self) -> Result<(), ParamError> {
        let refuse = |setting: &'static str, found: String, expected: &str| {
            Err(ParamError::new(setting, found, expected))
        };
        if !(1..=1000).contains(&self.min_token) {
            return refuse("min_token", self.min_token.to_string(), "from 1 to 1000");
        }
        let ngrams = [("word_ngrams", self.word_ngrams), ("char_ngrams", self.char_ngrams)];
        for (setting, range) in ngrams {
            if let Some((least, most)) = range
                && !(1 <= least && least <= most && most <= 100)
            {
                let expected = "a smaller and a larger length, both from 1 to 100";
                return refuse(setting, format!("{least},{most}"), expected);
            }
        }
        if self.word_ngrams.is_none() && self.char_ngrams.is_none() {
            let expected = "set, or char_ngrams must be: else there are no terms";
            return refuse("word_ngrams", "none".to_owned(), expected);
        }
        for (setting, frequency) in [("min_df", self.min_df), ("max_df", self.max_df)] {
            if let Frequency::Share(share) = frequency
                && !(0.0..=1.0).contains(&share)
            {
                return refuse(
                    setting,
                    frequency.to_string(),
                    "from 0.0 to 1.0, or a whole number",
                );
            }
        }
        let is_empty = match (self.min_df, self.max_df) {
            (Frequency::Count(least), Frequency::Count(most)) => most < least,
            (Frequency::Share(least), Frequency::Share(most)) => most < least,
            _ => false,
        };
        if is_empty {
            return refuse("max_df", self.max_df.to_string(), "at least min_df");
        }
        self.check_columns()
    }

    fn check_columns(&self) -> Result<(), ParamError> {
        let refuse =
            |setting, found: usize, expected| Err(ParamError::new(setting, found, expected));
        if let Some(hashing) = self.hashing.filter(|found| !(1..=1 << 30).contains(found)) {
            return refuse("hashing", hashing, "from 1 to 1,073,741,824");
        }
        match self.max_features {
            Some(0) => refuse("max_features", 0, "at least 1"),
            Some(found) if self.hashing.is_some() => {
                refuse("max_features", found, "left out with hashing, whose number is the width")
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
            stem: Some(Language::Finnish),
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
        assert_eq!(error.to_string(), "max_df is 1, but must be at least min_df");
    }
}
