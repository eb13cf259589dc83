//! Choosing how text is read, before there are rows to choose an algorithm with.

use super::{HURRIED_SAMPLE, Limits, SAMPLE, share_of};
use crate::base::run::{Stopped, Task};
use crate::base::words::plural;
use crate::search::measure::Measure;
use crate::search::tune::{TextOutcome, TextPlan, TrialError};
use crate::text::{Params, TextError, TextSample};

/// Folds in which ways to read text are tried.
const FOLDS: usize = 3;
/// The share of the time that trying ways to read text may take.
const TEXT_SHARE: f64 = 0.1;

/// How text is read.
#[derive(Clone, Debug, PartialEq)]
pub struct TextChoice {
    /// The settings to take.
    pub params: Params,
    /// Why, in a sentence.
    pub why: String,
}

/// How many documents a choice under these limits wants to see, at most.
pub fn text_sample(limits: Limits) -> usize {
    limits.until.map_or(SAMPLE, |_| HURRIED_SAMPLE)
}

/// Chooses how texts like these are read. Settings whose names are in `keep` stay as in `start`.
///
/// Without a limit of time the choice follows from the sample and the seed alone.
///
/// ```
/// use labelwood::auto::{Limits, choose_text};
/// use labelwood::data::{LabelIndexBuilder, corpus};
/// use labelwood::run::Pool;
/// use labelwood::text::{Language, Params, Stem, TextSample};
/// let task = Pool::new(2)?.task();
/// let sample = TextSample::of(corpus::train(), LabelIndexBuilder::default(), 1000, 42);
/// let choice = choose_text(&sample, &Params::default(), &[], 42, Limits::default(), &task)?;
/// println!("{}", choice.why);
/// assert_eq!(choice.params.stem, Some(Stem::Of(Language::English)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn choose_text(
    sample: &TextSample,
    start: &Params,
    keep: &[String],
    seed: u64,
    limits: Limits,
    task: &Task,
) -> Result<TextChoice, TextError> {
    let stays = |why: &str| {
        let why = format!("{why}, so text is read as it is without");
        Ok(TextChoice { params: start.clone(), why })
    };
    let measure = Measure::default();
    let hurried = &task.until(share_of(limits, TEXT_SHARE));
    let tried =
        TextPlan::new(sample, start, keep, measure, FOLDS, seed, hurried).and_then(|plan| {
            let tune = |plan: TextPlan| match plan.tune(None, hurried) {
                Ok(found) => Ok((plan.plan().candidates().len(), found)),
                Err(TrialError::Stopped { source, .. }) => Err(source.into()),
                Err(TrialError::TimeUp { .. }) => Err(Stopped::Late.into()),
                Err(error) => unreachable!("trials without a folder need no file, but: {error}"),
            };
            plan.map(tune).transpose()
        });
    let (ways, TextOutcome { outcome, params }) = match tried {
        Ok(Some(tried)) => tried,
        Ok(None) => {
            return stays("there are no other ways to read text to try, or too few documents");
        }
        Err(TextError::Stopped(Stopped::Late)) => {
            // The caller's own deadline may have passed as well.
            task.check()?;
            return stays("other ways to read text take too long to try");
        }
        Err(error) => return Err(error),
    };
    let chosen = outcome.chosen();
    let what = match outcome.last().filter(|_| !chosen.changes.is_empty()) {
        Some(standing) => format!(
            "{} is {:.1} points better than text as it is (mean of P@1, P@3 and P@5 in percent), and so \
             text is read like that",
            chosen.describe(),
            100.0 * standing.lead
        ),
        None => "none is surely better than text as it is, which stays so".to_owned(),
    };
    let why = format!(
        "{ways} ways to read text were tried on {}: {what}",
        plural(sample.len(), "document")
    );
    Ok(TextChoice { params, why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use crate::data::LabelIndexBuilder;
    use crate::data::corpus;
    use std::time::Instant;

    fn questions() -> TextSample {
        TextSample::of(corpus::train(), LabelIndexBuilder::default(), SAMPLE, 42)
    }

    #[test]
    fn questions_are_stemmed() {
        let task = Pool::new(2).unwrap().task();
        let choose = |start: &Params, keep: &[&str], limits| {
            let keep: Vec<String> = keep.iter().map(|&name| name.to_owned()).collect();
            choose_text(&questions(), start, &keep, 42, limits, &task).unwrap()
        };
        let plain = Params::default();
        let TextChoice { params, why } = choose(&plain, &[], Limits::default());
        assert!(params.stem.is_some(), "{why}");
        assert!(why.contains("stem english") && why.contains("points better"), "{why}");
        let all = ["stem", "stop_words", "word_ngrams", "char_ngrams"];
        let kept = choose(&plain, &all, Limits::default());
        assert_eq!(kept.params, plain, "{}", kept.why);
        let late = Limits { until: Some(Instant::now()), ..Limits::default() };
        let late = choose(&plain, &[], late);
        assert_eq!(late.params, plain);
        assert!(late.why.contains("take too long"), "{}", late.why);
    }
}
