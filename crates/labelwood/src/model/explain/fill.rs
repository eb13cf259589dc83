//! Numbers become words: terms of features, names of labels, places in the text.

use super::{ExplainOptions, LabelExplanation, Mark, Model, Span};
use crate::algorithms::explain::{Contribution, Evidence, NameAt, NamedLabel, Reasons, cut};
use crate::model::rows;
use crate::text::{NamePlaces, Place, TextReader, Vectoriser, Word, words};
use std::collections::{BTreeMap, BTreeSet};

/// How many labels of a training row are named.
const LABELS: usize = 20;
/// How many words of a training row are told, if the model keeps its rows.
const WORDS: usize = 12;

/// What is explained, as far as it is known besides its features.
pub(super) struct Source<'a> {
    text: Option<Text<'a>>,
}

struct Text<'a> {
    text: &'a str,
    words: Vec<Word>,
    /// The different words, each with its places among `words`, in the order in which they come first.
    different: Vec<Vec<usize>>,
    /// The features that each of these is a part of.
    features: Vec<BTreeSet<u32>>,
    places: Vec<Place>,
    names: NamePlaces,
    vectoriser: &'a Vectoriser,
    /// Whether labels' names are looked for, so that any word may be part of one.
    finds_names: bool,
}

impl<'a> Source<'a> {
    pub(super) fn of_row() -> Self {
        Source { text: None }
    }

    pub(super) fn of_text(text: &'a str, reader: &'a TextReader) -> Self {
        let words = words(text);
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut different: Vec<Vec<usize>> = Vec::new();
        // The number of each word among the different ones.
        let mut number_of = Vec::with_capacity(words.len());
        for (at, word) in words.iter().enumerate() {
            let next = numbers.len();
            let number = *numbers.entry(&word.text).or_insert(next);
            if number == different.len() {
                different.push(Vec::new());
            }
            different[number].push(at);
            number_of.push(number);
        }
        let vectoriser = reader.vectoriser();
        let places = vectoriser.places(text);
        let mut features = vec![BTreeSet::new(); different.len()];
        for place in &places {
            let first = words.partition_point(|word| word.place.end <= place.start);
            let touched = words[first..].iter().take_while(|word| word.place.start < place.end);
            for (_, &number) in touched.zip(&number_of[first..]) {
                features[number].insert(place.column);
            }
        }
        let names = NamePlaces::new(text, reader.language());
        let finds_names = reader.finds_names();
        let text =
            Text { text, words, different, features, places, names, vectoriser, finds_names };
        Source { text: Some(text) }
    }

    pub(super) fn has_text(&self) -> bool {
        self.text.is_some()
    }

    /// The different words that may mean something to the model, by their numbers, each with the features
    /// that it is a part of.
    pub(super) fn known_words(&self) -> impl Iterator<Item = (usize, &BTreeSet<u32>)> {
        let text = self.text.iter();
        text.flat_map(|text| {
            let all = text.features.iter().enumerate();
            all.filter(|(_, features)| text.finds_names || !features.is_empty())
        })
    }

    /// How rare a feature is, from 0 to 1.
    pub(super) fn rarity(&self) -> impl Fn(u32) -> f64 {
        let rarity = self.text.as_ref().map(|text| text.vectoriser.rarity());
        move |feature| rarity.as_ref().map_or(1.0, |rarity| rarity(feature))
    }

    /// The marks of a word at its places.
    pub(super) fn marks(&self, word: usize, weight: f32) -> Vec<Mark> {
        let Some(text) = &self.text else { return Vec::new() };
        let mark = |&at: &usize| {
            let Word { text: term, place } = &text.words[at];
            Mark { start: place.start, end: place.end, term: term.clone(), weight, part: None }
        };
        text.different[word].iter().map(mark).collect()
    }

    /// The words of which no feature is made.
    pub(super) fn unknown(&self) -> Vec<Span> {
        let Some(text) = &self.text else { return Vec::new() };
        let mut unknown: Vec<Span> = Vec::new();
        let all = text.different.iter().zip(&text.features);
        for (at, _) in all.filter(|(_, features)| features.is_empty()) {
            for Word { text: term, place } in at.iter().map(|&at| &text.words[at]) {
                unknown.push(Span { start: place.start, end: place.end, term: term.clone() });
            }
        }
        unknown.sort_by_key(|span| span.start);
        unknown
    }

    /// The part of the text that a feature was made of, in lower case.
    fn made_of(&self, feature: u32) -> Option<String> {
        let text = self.text.as_ref()?;
        let Place { start, end, .. } = text.places.iter().find(|place| place.column == feature)?;
        Some(text.text.chars().skip(*start).take(end - start).collect::<String>().to_lowercase())
    }
}

/// Fills explanations in.
pub(super) struct Filler<'a> {
    pub model: &'a Model,
    pub source: &'a Source<'a>,
    pub options: &'a ExplainOptions<'a>,
}

impl Filler<'_> {
    pub(super) fn fill(&self, mut explanation: LabelExplanation) -> LabelExplanation {
        let label = explanation.label.id;
        self.name(&mut explanation.label);
        self.terms(&mut explanation.features);
        explanation.parts.iter_mut().for_each(|part| self.reasons(part, label));
        explanation
    }

    fn reasons(&self, part: &mut Reasons, label: u32) {
        let most = self.options.most;
        let within = most.div_ceil(2);
        part.rest = cut(&mut part.terms, most);
        self.terms(&mut part.terms);
        match &mut part.evidence {
            Evidence::Linear { steps, .. } => {
                for step in steps {
                    step.rest = cut(&mut step.terms, within);
                    self.terms(&mut step.terms);
                }
            }
            Evidence::Forest { leaves, .. } => {
                leaves.truncate(most);
                let labels = leaves.iter_mut().flat_map(|leaf| &mut leaf.labels);
                labels.for_each(|count| self.name(&mut count.label));
            }
            Evidence::Names { names, .. } => *names = self.names(label),
            Evidence::Neighbours { rows, .. } => {
                // Those with the label first to stay; the order is left as it is.
                let mut left = most.saturating_sub(rows.iter().filter(|row| row.has_label).count());
                rows.retain(|row| {
                    let stays = row.has_label || left > 0;
                    left -= usize::from(stays && !row.has_label);
                    stays
                });
                rows.truncate(most);
                for row in rows {
                    row.rest = cut(&mut row.terms, within);
                    self.terms(&mut row.terms);
                    row.labels.truncate(LABELS);
                    row.labels.iter_mut().for_each(|label| self.name(label));
                    row.words = self.words(row.row);
                }
            }
            Evidence::Ranker { .. } | Evidence::Counts { .. } | Evidence::None => {}
        }
    }

    fn terms(&self, terms: &mut [Contribution]) {
        let Some(reader) = self.model.text() else { return };
        for term in terms.iter_mut().filter(|term| term.term.is_none()) {
            let known = reader.vectoriser().term(term.feature).map(str::to_owned);
            term.term = known.or_else(|| self.source.made_of(term.feature));
        }
    }

    fn name(&self, label: &mut NamedLabel) {
        let names = self.options.names.filter(|names| (label.id as usize) < names.len());
        let own = self.model.labels().names().filter(|names| (label.id as usize) < names.len());
        let number = || label.id.to_string();
        label.code = own.map_or_else(number, |own| own.code(label.id).to_owned());
        label.name = names.or(own).map_or_else(number, |names| names.display(label.id).to_owned());
    }

    /// Where a label's name stands in the text.
    fn names(&self, label: u32) -> Vec<NameAt> {
        let found = self.source.text.as_ref().zip(self.model.labels().names());
        let found = found.and_then(|(text, labels)| text.names.of(labels, label));
        let Some(found) = found else { return Vec::new() };
        let at = |place: std::ops::Range<usize>| NameAt {
            name: found.name.clone(),
            start: place.start,
            end: place.end,
        };
        found.places.iter().cloned().map(at).collect()
    }

    /// The words of a training row that weigh most, if the model keeps its rows.
    fn words(&self, row: u32) -> Vec<String> {
        let Some(reader) = self.model.text() else { return Vec::new() };
        let heaviest = rows::heaviest(self.model.stored(), row, WORDS).unwrap_or_default();
        let term = |feature: u32| reader.vectoriser().term(feature).map(str::to_owned);
        heaviest.into_iter().filter_map(term).collect()
    }
}
