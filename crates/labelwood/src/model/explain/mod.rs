//! Why a model gives a label its score.
//!
//! Each part says how it came to its score ([`Reasons`]): to the last bit where it is linear, by the rows
//! that vote where it goes by rows. What a word means to the model as a whole, its [`Mark`], follows from that:
//! of one algorithm it is the word's own term, and of a grove what the parts make of the word, each part
//! counting for as much as the log-odds of the label would change without it. A word counts as far as it is
//! rare: models read small words, too, but these tell people nothing.
//!
//! ```
//! use labelwood::Settings;
//! use labelwood::data::LabelIndex;
//! use labelwood::model::explain::ExplainOptions;
//! use labelwood::model::{Model, TrainOptions};
//! use labelwood::run::Pool;
//! use labelwood::sparse::LabelRows;
//! use labelwood::text::{Params, learn};
//! let task = Pool::new(1)?.task();
//! let texts = ["owls and herons", "owls and finches", "an old atlas", "the old atlas"];
//! let labels = LabelRows::try_new(2, vec![0, 1, 2, 3, 4], vec![0, 0, 1, 1], vec![(); 4])?;
//! let names = LabelIndex::from_lines(["birds", "maps"]);
//! let (reader, dataset) = learn(&texts, labels, names, Default::default(), Params::default(), &task)?;
//! let settings = Settings::named("one-vs-rest").expect("it is an algorithm");
//! let options = TrainOptions { text: Some(&reader), ..Default::default() };
//! let model = Model::train(dataset.view(), options, &settings, &task)?;
//!
//! let why = model.explain("My Atlas of places", &ExplainOptions::default(), &task)?;
//! let best = &why.labels[0];
//! assert_eq!((best.label.name.as_str(), best.rank), ("maps", Some(1)));
//! assert_eq!((best.marks[0].term.as_str(), best.marks[0].start), ("atlas", 3));
//! assert!(best.marks[0].weight > 0.0);
//! assert_eq!(why.unknown.len(), 3, "my, of and places");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fill;
mod html;
mod weigh;

pub use crate::algorithms::explain::{
    Contribution, Evidence, Fact, LabelCount, Leaf, NameAt, NamedLabel, NearRow, Reasons, Rest,
    Step,
};

pub use html::Page;

use super::Model;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{Csr, Query, Rows, RowsView, Scored};
use crate::data::LabelIndex;
use crate::text::TextError;
use fill::{Filler, Source};
use serde::Serialize;
use weigh::Weights;

/// Labels whose rank is known, at least.
const RANKED: usize = 100;

/// What is to be explained, and how much is told.
#[derive(Clone, Copy, Debug)]
pub struct ExplainOptions<'a> {
    /// The labels; none for the best of the prediction.
    pub labels: &'a [u32],
    /// How many those are at most.
    pub k: usize,
    /// How many entries a list has at most, half as many in a list within a list; the others are summed up.
    pub most: usize,
    /// The most nodes of a level to follow; `None` for as many as the model's settings say.
    pub beam: Option<usize>,
    /// The names to show instead of the model's own.
    pub names: Option<&'a LabelIndex>,
}

impl Default for ExplainOptions<'_> {
    /// The five best labels, with lists of ten.
    fn default() -> Self {
        ExplainOptions { labels: &[], k: 5, most: 10, beam: None, names: None }
    }
}

/// Why a text or row has its labels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The text; nothing for a row of features.
    pub text: Option<String>,
    /// The words of the text that the model does not know, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Span>,
    /// What there is to say if there are no labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The labels, best first, or in the order in which they were asked for.
    pub labels: Vec<LabelExplanation>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Span {
    /// Where it starts, in characters (code points).
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The word in lower case.
    pub term: String,
}

/// Why a label has its score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelExplanation {
    /// The label.
    pub label: NamedLabel,
    /// The score that a prediction gives it; 0 if it gives it none.
    pub score: f32,
    /// Whether the score is a probability.
    pub is_probability: bool,
    /// Its place in the prediction, from 1; nothing if it is not among the labels that the prediction comes to.
    pub rank: Option<usize>,
    /// What there is to say of a label without a score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What the words of the text mean to the score, in their order; those that mean little beside the
    /// strongest are left out.
    pub marks: Vec<Mark>,
    /// The same of the features of a row without text, strongest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Contribution>,
    /// What each part says, and the ranker last.
    pub parts: Vec<Reasons>,
    /// How the score comes about, in order.
    pub how: Vec<Fact>,
}

/// What a word means to the score of a label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// Where it starts, in characters (code points).
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The word in lower case.
    pub term: String,
    /// What the parts make of the word, at all its places together, times how rare it is, from 0 to 1: above 0 it
    /// speaks for the label, below 0 against it.
    pub weight: f32,
    /// The part that it is a mark of; nothing, since it is of all together.
    pub part: Option<&'static str>,
}

impl LabelExplanation {
    /// The different words that are marked, strongest first.
    pub fn words(&self) -> Vec<Contribution> {
        let mut words: Vec<Contribution> = Vec::new();
        for mark in &self.marks {
            let is_known = |word: &Contribution| word.term.as_deref() == Some(&mark.term);
            if !words.iter().any(is_known) {
                let number = words.len() as u32;
                let word = Contribution::new(number, mark.weight);
                words.push(Contribution { term: Some(mark.term.clone()), ..word });
            }
        }
        words.sort_by(|one, other| other.contribution.abs().total_cmp(&one.contribution.abs()));
        words
    }

    /// The score with its rank, as people read it.
    pub fn score_in_words(&self) -> String {
        match self.rank {
            Some(rank) => format!("{:.2}, number {rank}", self.score),
            None => "not among the labels of the prediction".to_owned(),
        }
    }
}

impl Model {
    /// Why a text has its labels, or what speaks for and against others.
    pub fn explain(
        &self,
        text: &str,
        options: &ExplainOptions<'_>,
        task: &Task,
    ) -> Result<Explanation, TextError> {
        let reader = self.text().ok_or(TextError::TrainedOnVectors)?;
        let row = self.read_texts(&[text], task)?;
        let source = Source::of_text(text, reader);
        let labels = self.explained(&source, row.view(), options, task)?;
        let note = self
            .says_nothing_of(row.view(), 0)
            .then(|| "the model knows no word of the text, so it names no label".to_owned());
        Ok(Explanation { text: Some(text.to_owned()), unknown: source.unknown(), note, labels })
    }

    /// Why a row of features, the first of `rows`, has its labels, or what speaks for and against others.
    pub fn explain_row<'r>(
        &self,
        rows: impl Into<RowsView<'r>>,
        options: &ExplainOptions<'_>,
        task: &Task,
    ) -> Result<Explanation, Stopped> {
        let rows = rows.into();
        let row = match rows.is_empty() {
            true => Rows::from(Csr::empty(1, 0)),
            false => rows.slice(0..1),
        };
        let row = row.view();
        let labels = self.explained(&Source::of_row(), row, options, task)?;
        let is_empty = row.features.row(0).is_empty();
        let note = is_empty.then(|| "the row has no features".to_owned());
        Ok(Explanation { text: None, unknown: Vec::new(), note, labels })
    }

    fn explained(
        &self,
        source: &Source<'_>,
        row: RowsView<'_>,
        options: &ExplainOptions<'_>,
        task: &Task,
    ) -> Result<Vec<LabelExplanation>, Stopped> {
        let most = options.labels.len().max(options.k).max(RANKED);
        let query = Query { beam: options.beam, ..Query::top(most) };
        let predicted = self.predict(row, query, task)?;
        let predicted = predicted.row(0);
        let best = predicted.iter().take(options.k).map(|best| best.id);
        let labels: Vec<u32> = match options.labels {
            [] => best.collect(),
            labels => labels.to_vec(),
        };
        let known = self.labels().counts().len() as u32;
        let labels: Vec<u32> = labels.into_iter().filter(|&label| label < known).collect();
        if labels.is_empty() {
            return Ok(Vec::new());
        }
        let asked = self.asked(query);
        let reasons = self.learned().explain(row, &labels, asked, task)?;
        let filler = Filler { model: self, source, options };
        let explain = |(&label, parts): (&u32, Vec<Reasons>)| {
            let weights = Weights::of(&parts);
            let explanation = self.explanation(label, parts, predicted);
            if !source.has_text() {
                return filler
                    .fill(LabelExplanation { features: weights.features(), ..explanation });
            }
            let filled = filler.fill(explanation);
            LabelExplanation { marks: weights.marks(source, &filled.parts), ..filled }
        };
        Ok(labels.iter().zip(reasons).map(explain).collect())
    }

    /// What the parts say of a label, and how its score comes about. The words come later.
    fn explanation(
        &self,
        label: u32,
        mut parts: Vec<Reasons>,
        predicted: &[Scored],
    ) -> LabelExplanation {
        let place = predicted.iter().position(|best| best.id == label);
        let said = parts.last().map_or(0.0, |last| last.score);
        let is_named = parts.last().is_some_and(|last| last.evidence != Evidence::None);
        let mut how: Vec<Fact> =
            parts.iter_mut().flat_map(|part| std::mem::take(&mut part.how)).collect();
        let score = match (place, &self.calibration) {
            (Some(place), _) => predicted[place].score,
            (None, Some(calibration)) if said > 0.0 => calibration.probability(said),
            (None, _) => said,
        };
        if self.calibration.is_some() && said > 0.0 {
            how.push(Fact::new("the probability that the calibration makes of the score", score));
        }
        if let Some(ranking) = &self.ranking {
            let weight = ranking.weight(label);
            how.push(Fact::new(
                "rare labels are favoured: this one is ranked by its score times",
                weight,
            ));
        }
        if let Some(threshold) = self.threshold() {
            let reached = if score >= threshold { "is reached" } else { "is not reached" };
            how.push(Fact::new(format!("the model's threshold, which {reached}"), threshold));
        }
        let note = match (place, is_named, self.labels().counts().get(label as usize)) {
            (Some(_), ..) => None,
            (None, _, Some(0)) if !is_named => {
                Some("no training row has the label, and its name was not found".to_owned())
            }
            (None, false, _) => Some("nothing in it leads to the label".to_owned()),
            (None, true, _) => {
                Some("other labels fit so much better that this one is not looked at".to_owned())
            }
        };
        LabelExplanation {
            label: NamedLabel::unnamed(label),
            score,
            is_probability: self.gives_probabilities(),
            rank: place.map(|place| place + 1),
            note,
            marks: Vec::new(),
            features: Vec::new(),
            parts,
            how,
        }
    }
}

#[cfg(test)]
mod tests;
