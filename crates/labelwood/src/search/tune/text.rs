//! How text is read: a few ways, tried on a sample of the documents.
//!
//! The settings of an algorithm are tuned on rows, and how text becomes rows decides more than most of
//! them. So the ways to read it are tried first, each by the same quick algorithm on the same documents,
//! in rounds and by the rule that settings are chosen by.

use super::{Candidate, LEAST_ROWS, Measure, Outcome, Plan, TrialError, tune_each};
use crate::algorithms::Settings;
use crate::base::run::Task;
use crate::data::{Dataset, DatasetView};
use crate::model::check_rows;
use crate::search::tune::schedule;
use crate::text::{Params, TextError, TextSample};
use serde_json::{Value, json};
use std::path::Path;

/// Documents that ways to read text are tried on at most.
pub const TEXT_SAMPLE: usize = 20_000;

/// Words in a row that make a term, where pairs are tried.
const PAIRS: (usize, usize) = (1, 2);
/// Characters in a row that make a term, where pieces of words are tried.
const PIECES: (usize, usize) = (3, 5);

/// Ways to read text, the one to start from first, and what a sample of documents becomes in each.
#[derive(Debug)]
pub struct TextPlan {
    plan: Plan,
    ways: Vec<Params>,
    rows: Vec<Dataset>,
}

/// What came of trying ways to read text.
#[derive(Clone, Debug)]
pub struct TextOutcome {
    /// The rounds.
    pub outcome: Outcome,
    /// The settings to take.
    pub params: Params,
}

impl TextPlan {
    /// What to try for texts like these, beginning with the settings to start from, and in their
    /// language where that is left open. Settings whose names are in `keep` are not changed.
    ///
    /// Nothing if there is nothing to choose from: too few documents, or every setting was given.
    pub fn new(
        sample: &TextSample,
        start: &Params,
        keep: &[String],
        measure: Measure,
        folds: usize,
        seed: u64,
        task: &Task,
    ) -> Result<Option<Self>, TextError> {
        if folds < 2 || sample.len() < LEAST_ROWS.max(10 * folds) {
            return Ok(None);
        }
        let language = start.language().or(sample.language());
        let start = start.clone().in_language(language);
        let judge = judge(seed);
        let (mut candidates, mut ways, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for changes in changes(&start, keep, language.map(|language| json!(language))) {
            let way = changed(&start, &changes);
            let read = match sample.rows(&way, task) {
                Ok(read) if check_rows(read.view()).is_ok() => read,
                Err(error @ (TextError::Stopped(_) | TextError::Params(_))) => return Err(error),
                // Nothing can be learned from texts in which this way finds nothing.
                _ if changes.is_empty() => return Ok(None),
                _ => continue,
            };
            candidates.push(Candidate { changes, settings: judge.clone() });
            ways.push(way);
            rows.push(read);
        }
        if ways.len() < 2 {
            return Ok(None);
        }
        let plan = Plan {
            rounds: schedule::rounds(candidates.len(), sample.len()),
            candidates,
            measure,
            folds,
            data: format!("{:032x}", rows[0].digest()),
            text: Some(json!(ways[0])),
        };
        Ok(Some(TextPlan { plan, ways, rows }))
    }

    /// What is tried, and in which rounds.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Tries what is planned. With a folder, each finished trial is kept there, as [`tune`] does. The deadline
    /// must leave time for all rounds: another choice would be of other rows to tune with.
    ///
    /// [`tune`]: super::tune
    pub fn tune(&self, folder: Option<&Path>, task: &Task) -> Result<TextOutcome, TrialError> {
        let rows: Vec<DatasetView<'_>> = self.rows.iter().map(Dataset::view).collect();
        let outcome = tune_each(&rows, &self.plan, folder, &task.part("text"))?;
        if !outcome.is_finished() {
            let done = &self.plan.rounds()[..outcome.rounds().len()];
            let finished = done.iter().map(|round| round.candidates * self.plan.folds).sum();
            return Err(TrialError::TimeUp { finished, total: self.plan.trials() });
        }
        let params = self.ways[outcome.chosen].clone();
        Ok(TextOutcome { outcome, params })
    }
}

/// What texts are read for: one tree is quick and, other than that of a forest, not left to chance.
fn judge(seed: u64) -> Settings {
    let judge = Settings::all().find(|settings| settings.facts().judges);
    let judge = judge.expect("one algorithm judges").reduced(usize::MAX);
    judge.with("seed", &seed.into()).unwrap_or(judge)
}

/// The changes to try, none first. `language` is that of the texts, if it is known.
fn changes(start: &Params, keep: &[String], language: Option<Value>) -> Vec<Vec<(String, Value)>> {
    let start = json!(start);
    // Only what is as in the beginning is changed, so that nothing is tried twice.
    let is_plain = |name: &str| start[name] == json!(Params::default())[name];
    let change = |name: &str, value: Option<Value>| {
        let is_open = is_plain(name) && keep.iter().all(|kept| kept != name);
        value.filter(|_| is_open).map(|value| (name.to_owned(), value))
    };
    let stem = change("stem", language.clone());
    let stop_words = change("stop_words", language);
    let pairs = change("word_ngrams", Some(json!(PAIRS)));
    let pieces = change("char_ngrams", Some(json!(PIECES)));
    let sets: [&[&Option<_>]; 7] = [
        &[],
        &[&stem],
        &[&stem, &stop_words],
        &[&pairs],
        &[&stem, &stop_words, &pairs],
        &[&pieces],
        &[&stem, &stop_words, &pieces],
    ];
    let mut all: Vec<Vec<(String, Value)>> = Vec::new();
    for set in sets {
        let set = set.iter().filter_map(|change| (*change).clone()).collect();
        if !all.contains(&set) {
            all.push(set);
        }
    }
    all
}

/// The settings with these changes.
fn changed(start: &Params, changes: &[(String, Value)]) -> Params {
    let mut values = json!(start);
    for (name, value) in changes {
        values[name] = value.clone();
    }
    serde_json::from_value(values).expect("the values to try are possible")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use crate::data::LabelIndexBuilder;
    use crate::text::{Language, Stem, StopWords};

    fn described(start: &Params, keep: &[&str], language: Option<Language>) -> Vec<String> {
        let keep: Vec<String> = keep.iter().map(|&name| name.to_owned()).collect();
        let settings = judge(1);
        let describe = |changes| Candidate { changes, settings: settings.clone() }.describe();
        changes(start, &keep, language.map(|language| json!(language)))
            .into_iter()
            .map(describe)
            .collect()
    }

    #[test]
    fn a_few_ways_are_tried() {
        let plain = Params::default();
        assert_eq!(
            described(&plain, &[], Some(Language::Finnish)),
            [
                "(as given)",
                "stem finnish",
                "stem finnish, stop_words finnish",
                "word_ngrams 1,2",
                "stem finnish, stop_words finnish, word_ngrams 1,2",
                "char_ngrams 3,5",
                "stem finnish, stop_words finnish, char_ngrams 3,5",
            ]
        );
        assert_eq!(
            described(&plain, &[], None),
            ["(as given)", "word_ngrams 1,2", "char_ngrams 3,5"]
        );
    }

    #[test]
    fn what_was_given_stays() {
        let given = Params {
            stem: Some(Stem::Of(Language::English)),
            char_ngrams: Some((2, 4)),
            ..Params::default()
        };
        let ways = described(&given, &["word_ngrams"], Some(Language::English));
        assert_eq!(ways, ["(as given)", "stop_words english"]);
        let all = ["stem", "stop_words", "word_ngrams", "char_ngrams"];
        assert_eq!(described(&Params::default(), &all, Some(Language::English)), ["(as given)"]);
    }

    /// Questions whose words tell their label but for their endings.
    fn sample() -> TextSample {
        let nouns = ["bird", "map", "house", "letter", "river", "school"];
        let frames =
            ["Where can I find the {} of the town", "How do the {} look that we have here"];
        let text = |at: usize| {
            let noun = nouns[at % nouns.len()];
            let word =
                [noun.to_owned(), format!("{noun}s"), format!("{noun}'s")][at / 6 % 3].clone();
            frames[at / 18 % 2].replace("{}", &word)
        };
        let documents = (0..240).map(|at| (text(at), [nouns[at % nouns.len()]]));
        TextSample::of(documents, LabelIndexBuilder::default(), TEXT_SAMPLE, 42)
    }

    #[test]
    fn the_choice_is_the_same_on_any_threads_and_with_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let found = [1, 3].map(|threads| {
            let task = Pool::new(threads).unwrap().task();
            let plan =
                TextPlan::new(&sample(), &Params::default(), &[], Measure::default(), 2, 42, &task);
            let plan = plan.unwrap().unwrap();
            let TextOutcome { outcome, params } = plan.tune(None, &task).unwrap();
            let again = plan.tune(Some(folder.path()), &task).unwrap();
            assert_eq!(again.params, params);
            (params, outcome.verdict())
        });
        assert_eq!(found[0], found[1]);
        assert!(folder.path().join("text/plan.json").exists());
    }

    #[test]
    fn too_few_documents_and_settings_that_were_all_given_leave_nothing_to_try() {
        let task = Pool::new(1).unwrap().task();
        let plan = |sample: &TextSample, keep: &[&str], folds| {
            let keep: Vec<String> = keep.iter().map(|&name| name.to_owned()).collect();
            let plan = TextPlan::new(
                sample,
                &Params::default(),
                &keep,
                Measure::default(),
                folds,
                1,
                &task,
            );
            plan.unwrap()
        };
        let names = LabelIndexBuilder::default;
        let few = TextSample::of((0..19).map(|_| ("a map", ["maps"])), names(), 99, 1);
        let unshared = TextSample::of((0..99).map(|at| (at.to_string(), ["maps"])), names(), 99, 1);
        assert!(plan(&few, &[], 2).is_none() && plan(&unshared, &[], 2).is_none());
        let all = ["stem", "stop_words", "word_ngrams", "char_ngrams"];
        assert!(plan(&sample(), &all, 2).is_none());
        assert!(plan(&sample(), &[], 2).is_some());
        let stop_words = plan(&sample(), &["stem", "word_ngrams", "char_ngrams"], 2).unwrap();
        assert_eq!(stop_words.ways[1].stop_words, StopWords::Of(Language::English));
    }
}
