//! From text to rows: words, n-grams, tf-idf.
//!
//! [`Fitting`] reads the training texts once, in batches, and learns which terms there are and how
//! much each one weighs. What it leaves is the matrix of those texts and a [`Vectoriser`], which a
//! model keeps to read new text in the same way. [`Params`] says what a term is. On the same
//! settings, terms and values are those of scikit-learn's `TfidfVectorizer`, which most vectors in
//! use come from; [`Script`] says where the default finds other terms.
//!
//! [`TextReader`] puts it to work on files of documents. [`TextSample`] keeps some of them, to read them in several ways. [`Matcher`] finds the names of labels in texts.
//! [`Language::guess`] says which language texts are written in.
//!
//! A vectoriser is four flat [`Arrays`]; looking a term up goes through a hash table that is one of
//! them, so that a model is open at once however many terms it has.

mod analyse;
mod characters;
mod chunk;
mod fit;
mod language;
mod matching;
mod params;
mod named;
mod name_places;
mod no_terms;
mod places;
mod reader;
mod sample;
mod scripts;
mod stems;
mod stop_words;
mod terms;
mod vectorise;
mod weigh;

pub use fit::Fitting;
pub use language::LanguageSample;
pub use matching::{Match, Matcher};
pub(crate) use name_places::NamePlaces;
pub use named::learn;
pub use no_terms::NoTerms;
pub use params::{CharNgramsIn, Frequency, Language, Params, Stem, StopWords, Tokens};
pub use places::Place;
pub(crate) use places::{Word, words};
pub use reader::{TextError, TextReader, TextSettings, mostly_unshared, read_labels};
pub use sample::TextSample;
pub use scripts::{Pieces, Script};
pub use vectorise::{Arrays, Vectoriser};

#[cfg(test)]
mod tests;
