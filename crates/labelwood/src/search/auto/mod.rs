//! Choosing an algorithm for some rows, and for the time and space that there are.
//!
//! [`choose`] tries a few algorithms on samples of the rows: how long they take, how large they
//! become, and how good they are on rows held out. From that it predicts what all rows would take,
//! and chooses what fits. A grove is the answer where nothing speaks against it.
//! [`train_within`](crate::model::train_within) then adds trees while there is time.
//!
//! ```
//! use labelwood::auto::{Limits, choose};
//! use labelwood::data::{Dataset, generate::{Generator, Profile}};
//! use labelwood::run::Pool;
//! let run = Pool::new(2)?.task();
//! let profile = Profile { instances: 300, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..300, &run)?;
//! let dataset = Dataset { features, labels, label_names: None };
//! let choice = choose(dataset.view(), 42, Limits::default(), |_| true, &run)?;
//! println!("{}: {}", choice.algorithm.name(), choice.why.join("; "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod trial;

use crate::algorithms::{craftml, grove, label_tree, one_vs_rest};
use crate::base::run::{Stopped, Task};
use crate::data::DatasetView;
use crate::model::Algorithm;
use std::time::Instant;
use thiserror::Error;
use trial::{Sizes, Trial};

/// Rows of a sample at most: enough to tell algorithms apart.
const SAMPLE: usize = 20_000;
/// Rows of the first sample, if time is short; each further one is `STEP` times as large.
const FIRST_SAMPLE: usize = 1000;
const STEP: usize = 4;
/// The share of the time that a trial may take.
const TRIAL_SHARE: f64 = 0.05;
/// Labels up to which one-vs-rest is tried.
const FEW_LABELS: usize = 2000;
/// The share that trying one-vs-rest may take.
const OTHERS_SHARE: f64 = 0.08;
/// One-vs-rest cannot be stopped early: it must fit into this share of the time.
const OVER_SHARE: f64 = 0.4;
/// How much longer than predicted a training may take.
const SAFETY: f64 = 1.3;
/// Trees of a grove's forest without which it is not begun.
const FEWEST_TREES: f64 = 4.0;
/// What pruned centroids take of the bytes of whole ones, about.
const PRUNED: f64 = 0.4;

/// What the model to choose may take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// When its training must be done.
    pub until: Option<Instant>,
    /// The most bytes of its files.
    pub bytes: Option<u64>,
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The algorithm with its settings; under limits, numbers of trees are the most to grow.
    pub algorithm: Algorithm,
    /// Why, in sentences.
    pub why: Vec<String>,
}

/// Why nothing was chosen.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ChooseError {
    /// There is not enough time.
    #[error(
        "there are {left:.0} s left, but a training will take about {needed:.0} s: allow more time"
    )]
    Time {
        /// Seconds that are left.
        left: f64,
        /// Seconds of the quickest training.
        needed: f64,
    },
    /// There is not enough room for a model.
    #[error("a model may have {allowed} bytes, but will take about {needed}: allow more")]
    Room {
        /// Bytes that are allowed.
        allowed: u64,
        /// Bytes of the smallest model.
        needed: u64,
    },
    /// The run was cancelled.
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
    fits: impl Fn(&Algorithm) -> bool,
    run: &Task,
) -> Result<Choice, ChooseError> {
    let trials = try_out(dataset, seed, limits, run)?;
    let Some(last) = trials.last() else {
        let why = vec!["there are too few rows to try anything out".to_owned()];
        return Ok(Choice { algorithm: grove_of(seed), why });
    };
    let forecast = Forecast::new(&trials, dataset.len());
    let mut why = vec![forecast.describe(last)];
    if let Some(chosen) = few_labels(dataset, last, seed, limits, &fits, &mut why, run)? {
        return Ok(Choice { algorithm: chosen, why });
    }
    let chosen = Chooser { seed, limits, forecast, threads: run.threads() as f64 }.choose(
        last.label_tree.precision > last.forest.precision,
        &fits,
        &mut why,
    )?;
    Ok(Choice { algorithm: chosen, why })
}

/// Samples of growing size, the last as large as there is time for.
fn try_out(
    dataset: DatasetView<'_>,
    seed: u64,
    limits: Limits,
    run: &Task,
) -> Result<Vec<Trial>, Stopped> {
    let most = dataset.len().min(SAMPLE);
    let mut trials = Vec::new();
    let Some(until) = limits.until else {
        trials.extend(Trial::new(dataset, most, seed, run)?);
        return Ok(trials);
    };
    let mut rows = most.min(FIRST_SAMPLE);
    loop {
        let start = Instant::now();
        let Some(trial) = Trial::new(dataset, rows, seed, run)? else { return Ok(trials) };
        trials.push(trial);
        let left = until.saturating_duration_since(Instant::now()).as_secs_f64();
        let next = start.elapsed().as_secs_f64() * STEP as f64;
        if rows == most || next > TRIAL_SHARE * left {
            return Ok(trials);
        }
        rows = most.min(rows * STEP);
    }
}

/// One-vs-rest, if labels are few and it is measurably better than a grove.
fn few_labels(
    dataset: DatasetView<'_>,
    last: &Trial,
    seed: u64,
    limits: Limits,
    fits: impl Fn(&Algorithm) -> bool,
    why: &mut Vec<String>,
    run: &Task,
) -> Result<Option<Algorithm>, Stopped> {
    let over = Algorithm::OneVsRest(one_vs_rest::Params { seed, ..Default::default() });
    let labels = dataset.labels.columns();
    if labels > FEW_LABELS || !fits(&over) {
        return Ok(None);
    }
    let left = |until: Instant| until.saturating_duration_since(Instant::now());
    let until = limits.until.map(|until| Instant::now() + left(until).mul_f64(OTHERS_SHARE));
    let hurried = &run.until(until);
    let tried = last.measure(&over, hurried);
    let both = tried.and_then(|tried| Ok((tried, last.measure(&grove_of(seed), hurried)?)));
    let (tried, grove) = match both {
        Ok(both) => both,
        // The caller's own deadline may have passed as well.
        Err(_) => {
            run.check()?;
            why.push("one-vs-rest takes too long to try".to_owned());
            return Ok(None);
        }
    };
    let growth = dataset.len() as f64 / last.rows as f64;
    // Both the rows and the labels that occur grow.
    let seconds = tried.sizes.seconds * growth.powf(1.5);
    let is_slow =
        limits.until.is_some_and(|until| seconds > OVER_SHARE * left(until).as_secs_f64());
    let bytes = tried.sizes.bytes * growth;
    let is_large = limits.bytes.is_some_and(|most| bytes > 0.8 * most as f64);
    let (lead, error) = tried.lead_over(&grove);
    let verdict = match lead > 2.0 * error {
        true if is_slow => "but would take too long",
        true if is_large => "but would become too large",
        true => "and so it is trained",
        false => "so it is not taken",
    };
    why.push(format!(
        "with {labels} labels one-vs-rest was tried, too: it is {:.1} points {} than a grove, {verdict}",
        100.0 * lead.abs(),
        if lead > 0.0 { "better" } else { "worse" },
    ));
    Ok((lead > 2.0 * error && !is_slow && !is_large).then_some(over))
}

fn grove_of(seed: u64) -> Algorithm {
    let mut params = grove::Params::default();
    params.forest.seed = seed;
    params.label_tree.seed = seed;
    Algorithm::Grove(params)
}

/// What a tree and a label tree of all rows will take.
#[derive(Clone, Copy, Debug)]
struct Forecast {
    tree: Sizes,
    label_tree: Sizes,
}

impl Forecast {
    fn new(trials: &[Trial], rows: usize) -> Self {
        let part = |sizes: fn(&Trial) -> Sizes| {
            let points: Vec<(f64, Sizes)> =
                trials.iter().map(|trial| (trial.rows as f64, sizes(trial))).collect();
            forecast(&points, rows as f64)
        };
        Forecast {
            tree: part(|trial| trial.forest.sizes),
            label_tree: part(|trial| trial.label_tree.sizes),
        }
    }

    fn describe(&self, last: &Trial) -> String {
        format!(
            "on a sample of {} rows the forest reaches {:.1} and the label tree {:.1} (mean of P@1, \
             P@3 and P@5 in percent on rows held out)",
            last.rows,
            100.0 * last.forest.precision,
            100.0 * last.label_tree.precision,
        )
    }
}

/// The power of the rows that the last two points lie on; a little more than linear for one point.
fn forecast(points: &[(f64, Sizes)], rows: f64) -> Sizes {
    let Some(&(last_rows, last)) = points.last() else { return Sizes::default() };
    let power = match points {
        [.., (before_rows, before), _] if before.seconds > 0.0 => {
            let power = (last.seconds / before.seconds).ln() / (last_rows / before_rows).ln();
            power.clamp(1.0, 1.4)
        }
        _ => 1.15,
    };
    let growth = rows / last_rows;
    Sizes { seconds: last.seconds * growth.powf(power), bytes: last.bytes * growth }
}

/// What follows from forecasts and limits.
struct Chooser {
    seed: u64,
    limits: Limits,
    forecast: Forecast,
    threads: f64,
}

impl Chooser {
    fn choose(
        &self,
        label_tree_is_better: bool,
        fits: impl Fn(&Algorithm) -> bool,
        why: &mut Vec<String>,
    ) -> Result<Algorithm, ChooseError> {
        let Forecast { tree, label_tree } = self.forecast;
        let left = self
            .limits
            .until
            .map(|until| until.saturating_duration_since(Instant::now()).as_secs_f64());
        let allowed = self.limits.bytes.map(|bytes| bytes as f64);
        let pruned = self.is_pruned();
        let tree_bytes = if pruned { tree.bytes * PRUNED } else { tree.bytes };
        let fewest = FEWEST_TREES.max(self.threads);
        let seconds = label_tree.seconds + fewest * tree.seconds;
        let grove = (seconds, label_tree.bytes + FEWEST_TREES * tree_bytes);
        let trees = (label_tree.seconds, label_tree.bytes);
        let forest = (tree.seconds * self.threads, tree_bytes);
        if let Some(left) = left {
            why.push(format!(
                "of all rows a tree will take about {:.2} s and a label tree {:.1} s; {left:.0} s are left",
                tree.seconds, label_tree.seconds
            ));
        }
        if pruned {
            why.push(
                "the forest's centroids are pruned, so that the model becomes smaller".to_owned(),
            );
        }
        let alone = if label_tree_is_better {
            [(self.label_trees(), trees), (self.forest(pruned), forest)]
        } else {
            [(self.forest(pruned), forest), (self.label_trees(), trees)]
        };
        let candidates = [(self.grove(pruned), grove)].into_iter().chain(alone);
        let is_short = |seconds: f64| left.is_some_and(|left| SAFETY * seconds > left);
        let is_large = |bytes: f64| allowed.is_some_and(|allowed| bytes > allowed);
        for (algorithm, (seconds, bytes)) in candidates {
            let name = algorithm.name();
            if is_short(seconds) {
                why.push(format!("{name} would take {seconds:.0} s at least"));
            } else if is_large(bytes) {
                why.push(format!("{name} would take {:.0} MB at least", bytes / 1e6));
            } else if !fits(&algorithm) {
                why.push(format!("{name} would take more memory than there is"));
            } else {
                why.push(format!("so {name} is trained"));
                return Ok(algorithm);
            }
        }
        let least = |one: f64, other: f64| one.min(other);
        match (left, allowed) {
            (_, Some(allowed)) if is_large(least(trees.1, forest.1)) => Err(ChooseError::Room {
                allowed: allowed as u64,
                needed: least(trees.1, forest.1) as u64,
            }),
            (Some(left), _) if is_short(least(trees.0, forest.0)) => {
                Err(ChooseError::Time { left, needed: SAFETY * least(trees.0, forest.0) })
            }
            // What is short of memory is refused, with what to do, before it is trained.
            _ => Ok(self.forest(pruned)),
        }
    }

    /// Whether a grove with whole centroids would be too large.
    fn is_pruned(&self) -> bool {
        let Forecast { tree, label_tree } = self.forecast;
        let grove = grove::Params::default();
        let trees = grove.forest.trees as f64 * tree.bytes;
        let whole = trees + grove.label_tree.trees as f64 * label_tree.bytes;
        self.limits.bytes.is_some_and(|bytes| whole > bytes as f64)
    }

    fn grove(&self, pruned: bool) -> Algorithm {
        let forest = self.forest_params(pruned);
        let label_tree = self.label_tree_params();
        Algorithm::Grove(grove::Params { forest, label_tree, learn_blend: true })
    }

    fn forest(&self, pruned: bool) -> Algorithm {
        Algorithm::CraftMl(self.forest_params(pruned))
    }

    fn label_trees(&self) -> Algorithm {
        Algorithm::LabelTree(self.label_tree_params())
    }

    fn forest_params(&self, pruned: bool) -> craftml::Params {
        let whole = craftml::Params { seed: self.seed, ..Default::default() };
        if pruned {
            let craftml::Params { keep, keep_at_least, .. } = craftml::Params::compact();
            return craftml::Params { keep, keep_at_least, ..whole };
        }
        whole
    }

    fn label_tree_params(&self) -> label_tree::Params {
        label_tree::Params { seed: self.seed, ..Default::default() }
    }
}

#[cfg(test)]
mod tests;
