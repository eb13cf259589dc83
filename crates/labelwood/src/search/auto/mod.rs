//! Choosing an algorithm for some rows, and for the time and space that there are.
//!
//! A grove tries its parts on held-out rows by itself and keeps what pays and fits, so [`choose`] takes
//! the grove where nothing speaks against it. Algorithms that are only good for few labels are tried
//! beside it, on a sample of the rows, where labels are few.
//!
//! [`choose_text`] chooses how text is read, before there are rows.
//!
//! ```
//! use labelwood::auto::{Limits, choose};
//! use labelwood::data::{Dataset, generate::{Generator, Profile}};
//! use labelwood::run::Pool;
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..300, &task)?;
//! let dataset = Dataset { features, labels, label_names: None, named: None };
//! let choice = choose(dataset.view(), 42, Limits::default(), |_| true, &task)?;
//! println!("{}: {}", choice.settings.name(), choice.why.join("; "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod text;

use super::measure::Measure;
use super::trial::{Rows, Trial, drawn, lead};
pub use crate::algorithms::Limits;
use crate::algorithms::Settings;
use crate::base::run::{Stopped, Task};
use crate::base::words::plural;
use crate::data::DatasetView;
use std::time::{Duration, Instant};
pub use text::{TextChoice, choose_text, text_sample};

/// Rows of a sample at most: enough to tell algorithms apart.
const SAMPLE: usize = 20_000;
/// Rows of a sample at least.
const LEAST: usize = 20;
/// Rows of a sample if time is short.
const HURRIED_SAMPLE: usize = 4000;
/// One of so many rows of a sample is held out.
const HELD_OUT: usize = 5;
/// What the rows of a sample are drawn for.
const SAMPLING: u64 = 0x7472_6961;
/// The share of the time that trying an algorithm for few labels may take.
const RIVAL_SHARE: f64 = 0.08;
/// What cannot be stopped early must fit into this share of the time.
const WHOLE_SHARE: f64 = 0.4;
/// What may go wrong with a forecast of bytes.
const ROOM_SHARE: f64 = 0.8;

/// What was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The algorithm with its settings; under limits, numbers of trees are the most to grow.
    pub settings: Settings,
    /// Why, in sentences.
    pub why: Vec<String>,
}

/// Chooses an algorithm for these rows. `fits` says whether there is memory for one that is to be tried.
///
/// Without a limit of time the choice follows from the rows and the seed alone.
pub fn choose(
    dataset: DatasetView<'_>,
    seed: u64,
    limits: Limits,
    fits: impl Fn(&Settings) -> bool,
    task: &Task,
) -> Result<Choice, Stopped> {
    let whole = seeded(&whole(), seed);
    let mut why = Vec::new();
    for rival in Settings::all().map(|settings| seeded(&settings, seed)) {
        let is_tried = dataset.labels.columns() <= rival.facts().tried_up_to;
        if is_tried && fits(&rival) {
            let verdict = compare(&rival, &whole, dataset, seed, limits, task)?;
            why.push(verdict.why);
            if verdict.is_better {
                return Ok(Choice { settings: rival, why });
            }
        }
    }
    why.push(format!("so {} is trained", whole.name()));
    Ok(Choice { settings: whole, why })
}

/// What to choose among for these rows: the grove, and what of its parts does well alone.
pub fn algorithms(dataset: DatasetView<'_>, seed: u64) -> Vec<Settings> {
    let does_well = |part: &&Settings| {
        part.facts().grows.is_some() || dataset.labels.columns() <= part.facts().tried_up_to
    };
    let whole = whole();
    let parts = whole.parts().iter().filter(does_well);
    [&whole].into_iter().chain(parts).map(|settings| seeded(settings, seed)).collect()
}

/// The settings with this seed.
fn seeded(settings: &Settings, seed: u64) -> Settings {
    settings.with("seed", &seed.into()).unwrap_or_else(|_| settings.clone())
}

/// The algorithm that is made of others.
fn whole() -> Settings {
    let whole = Settings::all().find(|settings| !settings.parts().is_empty());
    whole.expect("one algorithm is made of others")
}

/// Whether an algorithm for few labels is better than the grove.
struct Verdict {
    is_better: bool,
    why: String,
}

/// Whether an algorithm for few labels is measurably better on a sample of the rows, and fits.
fn compare(
    rival: &Settings,
    whole: &Settings,
    dataset: DatasetView<'_>,
    seed: u64,
    limits: Limits,
    task: &Task,
) -> Result<Verdict, Stopped> {
    let name = rival.name();
    let not_better = |why: String| Ok(Verdict { is_better: false, why });
    let mut sample = drawn(dataset.len(), seed, SAMPLING);
    sample.truncate(limits.until.map_or(SAMPLE, |_| HURRIED_SAMPLE));
    if sample.len() < LEAST {
        return not_better("there are too few rows to try anything out".to_owned());
    }
    let (test, train) = sample.split_at(sample.len() / HELD_OUT);
    let rows = Rows::new(dataset, train, test);
    let hurried = &task.quiet().until(share_of(limits, RIVAL_SHARE));
    let own = rows.try_out(rival, hurried);
    let (own, other) = match own.and_then(|own| Ok((own, rows.try_out(whole, hurried)?))) {
        Ok(both) => both,
        // The caller's own deadline may have passed as well.
        Err(_) => {
            task.check()?;
            return not_better(format!("{name} takes too long to try"));
        }
    };
    let growth = dataset.len() as f64 / train.len() as f64;
    // Both the rows and the labels that occur grow.
    let seconds = own.seconds * growth.powf(1.5);
    let is_slow =
        limits.until.is_some_and(|until| seconds > WHOLE_SHARE * left(until).as_secs_f64());
    let bytes = own.bytes as f64 * growth;
    let is_large = limits.bytes.is_some_and(|most| bytes > ROOM_SHARE * most as f64);
    let precisions = |trial: &Trial| {
        let true_labels = rows.test.labels.rows().map(|row| row.indices.len());
        trial.figures(true_labels, Measure::Precision).collect::<Vec<f64>>()
    };
    let (lead, error) = lead(&precisions(&own), &precisions(&other));
    let is_better = lead > 2.0 * error;
    let verdict = match is_better {
        true if is_slow => "but would take too long",
        true if is_large => "but would become too large",
        true => "and so it is trained",
        false => "so it is not taken",
    };
    let why = format!(
        "with {} {name} was tried, too: on a sample of {} it is {:.1} points {} than a \
         {} (mean of P@1, P@3 and P@5 in percent on rows held out), {verdict}",
        plural(dataset.labels.columns(), "label"),
        plural(train.len(), "row"),
        100.0 * lead.abs(),
        if lead > 0.0 { "better" } else { "worse" },
        whole.name(),
    );
    Ok(Verdict { is_better: is_better && !is_slow && !is_large, why })
}

/// When this share of the time that is left will be over.
fn share_of(limits: Limits, share: f64) -> Option<Instant> {
    limits.until.map(|until| Instant::now() + left(until).mul_f64(share))
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

#[cfg(test)]
mod tests;
