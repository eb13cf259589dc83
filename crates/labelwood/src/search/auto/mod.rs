//! Choosing an algorithm for some rows, and for the time and space that there are.
//!
//! [`choose`] tries the parts of a grove on samples of the rows: how long they take, how large they
//! become, and how good they are on rows held out. From that it predicts what all rows would take,
//! and chooses what fits: the grove where nothing speaks against it, else one of its parts. Algorithms
//! that are only good for few labels are tried beside it where labels are few.
//! [`train_within`](crate::model::train_within) then adds trees while there is time.
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

use super::measure::Measure;
use super::trial::{Rows, drawn, lead, mean};
pub use crate::algorithms::Limits;
use crate::algorithms::{Growth, Settings};
use crate::base::run::{Stopped, Task};
use crate::data::DatasetView;
use std::time::Instant;
use thiserror::Error;

/// Rows of a sample at most: enough to tell algorithms apart.
const SAMPLE: usize = 20_000;
/// Rows of a sample at least.
const LEAST: usize = 20;
/// Rows of the first sample, if time is short; each further one is `STEP` times as large.
const FIRST_SAMPLE: usize = 1000;
const STEP: usize = 4;
/// One of so many rows of a sample is held out.
const HELD_OUT: usize = 5;
/// What the rows of a sample are drawn for.
const SAMPLING: u64 = 0x7472_6961;
/// Trees of a part that is tried, if it grows several at a time; else one.
const TREES: usize = 8;
/// The share of the time that a trial may take.
const TRIAL_SHARE: f64 = 0.05;
/// The share that trying an algorithm for few labels may take.
const RIVAL_SHARE: f64 = 0.08;
/// What cannot be stopped early must fit into this share of the time.
const WHOLE_SHARE: f64 = 0.4;
/// How much longer than predicted a training may take.
const SAFETY: f64 = 1.3;
/// Trees of a part without which a grove is not begun, if the part grows several at a time.
const FEWEST_TREES: f64 = 4.0;
/// What compact settings take of the bytes of whole ones, about.
const COMPACT: f64 = 0.4;

/// What was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The algorithm with its settings; under limits, numbers of trees are the most to grow.
    pub settings: Settings,
    /// Why, in sentences.
    pub why: Vec<String>,
}

/// Why nothing was chosen.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ChooseError {
    /// There is not enough time or room for any model, as it says.
    #[error("{0}")]
    Limits(String),
    /// The task was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Chooses an algorithm for these rows. `fits` says whether there is memory for one.
///
/// Without a limit of time the choice follows from the rows and the seed alone.
pub fn choose(
    dataset: DatasetView<'_>,
    seed: u64,
    limits: Limits,
    fits: impl Fn(&Settings) -> bool,
    task: &Task,
) -> Result<Choice, ChooseError> {
    let seeded = |settings: &Settings| {
        settings.with("seed", &seed.into()).unwrap_or_else(|_| settings.clone())
    };
    let whole = Settings::all().find(|settings| !settings.parts().is_empty());
    let whole = seeded(&whole.expect("one algorithm is made of others"));
    let samples = try_out(&whole, dataset, seed, limits, task)?;
    let Some(last) = samples.last() else {
        let why = vec!["there are too few rows to try anything out".to_owned()];
        return Ok(Choice { settings: whole, why });
    };
    let mut why = vec![last.describe(&whole)];
    let is_rival = |settings: &Settings| dataset.labels.columns() <= settings.facts().tried_up_to;
    for rival in Settings::all().filter(is_rival).map(|settings| seeded(&settings)) {
        if fits(&rival) && is_better(&rival, &whole, dataset, limits, last, &mut why, task)? {
            return Ok(Choice { settings: rival, why });
        }
    }
    let forecasts = (0..whole.parts().len()).map(|part| {
        let point = |sample: &Sample| (sample.rows.train.len() as f64, sample.parts[part].needs);
        forecast(&samples.iter().map(point).collect::<Vec<_>>(), dataset.len() as f64)
    });
    let chooser =
        Chooser { limits, forecasts: forecasts.collect(), threads: task.threads() as f64 };
    let settings = chooser.choose(&whole, last, &fits, &mut why)?;
    Ok(Choice { settings, why })
}

/// Time and space.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Needs {
    seconds: f64,
    bytes: f64,
}

/// A sample of the rows, and what the parts of a grove did on it.
struct Sample {
    rows: Rows,
    parts: Vec<Measured>,
}

/// What an algorithm did on a sample.
struct Measured {
    /// Of one tree, if there are trees.
    needs: Needs,
    /// The precision of each row held out.
    rows: Vec<f64>,
}

impl Sample {
    /// Draws so many rows and tries the parts; nothing if they are too few.
    fn new(
        whole: &Settings,
        dataset: DatasetView<'_>,
        rows: usize,
        seed: u64,
        task: &Task,
    ) -> Result<Option<Sample>, Stopped> {
        if rows < LEAST {
            return Ok(None);
        }
        let mut sample = drawn(dataset.len(), seed, SAMPLING);
        sample.truncate(rows);
        let (test, train) = sample.split_at(rows / HELD_OUT);
        let rows = Rows::new(dataset, train, test);
        let mut parts = Vec::new();
        for part in whole.parts() {
            let trees = match part.facts().grows {
                Some(Growth::Together) => TREES,
                _ => 1,
            };
            let mut measured = measure(&rows, &part.resized(&[trees]), task)?;
            measured.needs.seconds /= trees as f64;
            measured.needs.bytes /= trees as f64;
            parts.push(measured);
        }
        Ok(Some(Sample { rows, parts }))
    }

    fn describe(&self, whole: &Settings) -> String {
        let part = |(part, measured): (&Settings, &Measured)| {
            format!("{} reaches {:.1}", part.name(), 100.0 * mean(&measured.rows))
        };
        let parts: Vec<String> = whole.parts().iter().zip(&self.parts).map(part).collect();
        format!(
            "on a sample of {} rows {} (mean of P@1, P@3 and P@5 in percent on rows held out)",
            self.rows.train.len(),
            parts.join(" and ")
        )
    }
}

fn measure(rows: &Rows, settings: &Settings, task: &Task) -> Result<Measured, Stopped> {
    let trial = rows.try_out(settings, task)?;
    let true_labels = rows.test.labels.rows().map(|row| row.indices.len());
    let figures = trial.figures(true_labels, Measure::Precision).collect();
    let needs = Needs { seconds: trial.seconds, bytes: trial.bytes as f64 };
    Ok(Measured { needs, rows: figures })
}

/// Samples of growing size, the last as large as there is time for.
fn try_out(
    whole: &Settings,
    dataset: DatasetView<'_>,
    seed: u64,
    limits: Limits,
    task: &Task,
) -> Result<Vec<Sample>, Stopped> {
    let most = dataset.len().min(SAMPLE);
    let mut samples = Vec::new();
    let Some(until) = limits.until else {
        samples.extend(Sample::new(whole, dataset, most, seed, task)?);
        return Ok(samples);
    };
    let mut rows = most.min(FIRST_SAMPLE);
    loop {
        let start = Instant::now();
        let sample = Sample::new(whole, dataset, rows, seed, task)?;
        let Some(sample) = sample else { return Ok(samples) };
        samples.push(sample);
        let next = start.elapsed().as_secs_f64() * STEP as f64;
        if rows == most || next > TRIAL_SHARE * left(until) {
            return Ok(samples);
        }
        rows = most.min(rows * STEP);
    }
}

/// Seconds until a moment.
fn left(until: Instant) -> f64 {
    until.saturating_duration_since(Instant::now()).as_secs_f64()
}

/// Whether an algorithm for few labels is measurably better than the grove, and fits.
fn is_better(
    rival: &Settings,
    whole: &Settings,
    dataset: DatasetView<'_>,
    limits: Limits,
    last: &Sample,
    why: &mut Vec<String>,
    task: &Task,
) -> Result<bool, Stopped> {
    let name = rival.name();
    let share = |until: Instant| {
        let now = Instant::now();
        now + until.saturating_duration_since(now).mul_f64(RIVAL_SHARE)
    };
    let hurried = &task.until(limits.until.map(share));
    let tried = measure(&last.rows, rival, hurried);
    let both = tried.and_then(|own| Ok((own, measure(&last.rows, whole, hurried)?)));
    let (own, other) = match both {
        Ok(both) => both,
        // The caller's own deadline may have passed as well.
        Err(_) => {
            task.check()?;
            why.push(format!("{name} takes too long to try"));
            return Ok(false);
        }
    };
    let growth = dataset.len() as f64 / last.rows.train.len() as f64;
    // Both the rows and the labels that occur grow.
    let seconds = own.needs.seconds * growth.powf(1.5);
    let is_slow = limits.until.is_some_and(|until| seconds > WHOLE_SHARE * left(until));
    let bytes = own.needs.bytes * growth;
    let is_large = limits.bytes.is_some_and(|most| bytes > 0.8 * most as f64);
    let (lead, error) = lead(&own.rows, &other.rows);
    let is_better = lead > 2.0 * error;
    let verdict = match is_better {
        true if is_slow => "but would take too long",
        true if is_large => "but would become too large",
        true => "and so it is trained",
        false => "so it is not taken",
    };
    why.push(format!(
        "with {} labels {name} was tried, too: it is {:.1} points {} than a {}, {verdict}",
        dataset.labels.columns(),
        100.0 * lead.abs(),
        if lead > 0.0 { "better" } else { "worse" },
        whole.name(),
    ));
    Ok(is_better && !is_slow && !is_large)
}

/// What a tree will take of so many rows: the power of the rows that the last two samples lie on, a
/// little more than linear for one sample.
fn forecast(points: &[(f64, Needs)], rows: f64) -> Needs {
    let Some(&(last_rows, last)) = points.last() else { return Needs::default() };
    let power = match points {
        [.., (before_rows, before), _] if before.seconds > 0.0 => {
            let power = (last.seconds / before.seconds).ln() / (last_rows / before_rows).ln();
            power.clamp(1.0, 1.4)
        }
        _ => 1.15,
    };
    let growth = rows / last_rows;
    Needs { seconds: last.seconds * growth.powf(power), bytes: last.bytes * growth }
}

/// What follows from forecasts and limits.
struct Chooser {
    limits: Limits,
    /// What a tree of each part will take.
    forecasts: Vec<Needs>,
    threads: f64,
}

impl Chooser {
    fn choose(
        &self,
        whole: &Settings,
        last: &Sample,
        fits: impl Fn(&Settings) -> bool,
        why: &mut Vec<String>,
    ) -> Result<Settings, ChooseError> {
        let left = self.limits.until.map(left);
        let allowed = self.limits.bytes.map(|bytes| bytes as f64);
        let compact = whole.compact().filter(|_| self.is_large(whole));
        if let Some(left) = left {
            let part = |(part, needs): (&Settings, &Needs)| {
                let noun = part.size().first().map_or("model", |size| size.noun);
                format!("a {noun} will take about {:.2} s", needs.seconds)
            };
            let parts: Vec<String> = whole.parts().iter().zip(&self.forecasts).map(part).collect();
            why.push(format!("of all rows {}; {left:.0} s are left", parts.join(" and ")));
        }
        if compact.is_some() {
            why.push("compact settings are taken, so that the model becomes smaller".to_owned());
        }
        let chosen = compact.as_ref().unwrap_or(whole);
        let needs: Vec<Needs> = (0..chosen.parts().len())
            .map(|at| {
                let is_smaller = compact.is_some() && whole.parts()[at].compact().is_some();
                let Needs { seconds, bytes } = self.forecasts[at];
                Needs { seconds, bytes: if is_smaller { COMPACT * bytes } else { bytes } }
            })
            .collect();
        let together = self.least_of_all(chosen, &needs);
        let mut alone: Vec<usize> = (0..needs.len()).collect();
        let precision = |part: &usize| mean(&last.parts[*part].rows);
        alone.sort_by(|one, other| precision(other).total_cmp(&precision(one)));
        let alone: Vec<(&Settings, Needs)> = alone
            .into_iter()
            .map(|at| (&chosen.parts()[at], self.least_alone(&chosen.parts()[at], needs[at])))
            .collect();
        let is_short = |seconds: f64| left.is_some_and(|left| SAFETY * seconds > left);
        let is_large = |bytes: f64| allowed.is_some_and(|allowed| bytes > allowed);
        for (settings, Needs { seconds, bytes }) in [(chosen, together)].iter().chain(&alone) {
            let name = settings.name();
            if is_short(*seconds) {
                why.push(format!("{name} would take {seconds:.0} s at least"));
            } else if is_large(*bytes) {
                why.push(format!("{name} would take {:.0} MB at least", bytes / 1e6));
            } else if !fits(settings) {
                why.push(format!("{name} would take more memory than there is"));
            } else {
                why.push(format!("so {name} is trained"));
                return Ok((*settings).clone());
            }
        }
        let least = |figure: fn(&Needs) -> f64| {
            alone.iter().map(|(_, needs)| figure(needs)).fold(f64::INFINITY, f64::min)
        };
        let (seconds, bytes) = (least(|needs| needs.seconds), least(|needs| needs.bytes));
        match (left, allowed) {
            (_, Some(allowed)) if is_large(bytes) => Err(ChooseError::Limits(format!(
                "a model may have {allowed:.0} bytes, but will take about {}: allow more",
                bytes as u64
            ))),
            (Some(left), _) if is_short(seconds) => Err(ChooseError::Limits(format!(
                "there are {left:.0} s left, but a training will take about {:.0} s: allow more time",
                SAFETY * seconds
            ))),
            // What is short of memory is refused, with what to do, before it is trained.
            _ => Ok(chosen.parts()[0].clone()),
        }
    }

    /// The least that a grove of all parts takes.
    fn least_of_all(&self, whole: &Settings, needs: &[Needs]) -> Needs {
        let mut sum = Needs::default();
        for (part, needs) in whole.parts().iter().zip(needs) {
            let (trees, at_once) = match part.facts().grows {
                Some(Growth::Together) => (FEWEST_TREES, FEWEST_TREES.max(self.threads)),
                _ => (1.0, 1.0),
            };
            sum.seconds += at_once * needs.seconds;
            sum.bytes += trees * needs.bytes;
        }
        sum
    }

    /// The least that a part takes alone.
    fn least_alone(&self, part: &Settings, needs: Needs) -> Needs {
        match part.facts().grows {
            Some(Growth::Together) => Needs { seconds: needs.seconds * self.threads, ..needs },
            _ => needs,
        }
    }

    /// Whether all trees of all parts would be too large.
    fn is_large(&self, whole: &Settings) -> bool {
        let part = |(part, needs): (&Settings, &Needs)| {
            needs.bytes * part.size().first().map_or(1.0, |size| size.count as f64)
        };
        let all: f64 = whole.parts().iter().zip(&self.forecasts).map(part).sum();
        self.limits.bytes.is_some_and(|bytes| all > bytes as f64)
    }
}

#[cfg(test)]
mod tests;
