//! Which parts of a grove stay, and how many trees they get: what each adds on held-out rows is weighed
//! against its size.
//!
//! More trees of a part bring the precision near a limit, and what is missing falls with their number:
//! it is `missing / trees`. Two sizes of the part tell what that is, and from it follows how many trees
//! are worth their bytes.

use super::Params;
use super::answers::Answers;
use super::ranker::{Ranker, Scratch};
use super::trial::{Trial, Tried};
use crate::algorithms::{Interrupted, Settings};
use crate::base::run::Task;
use crate::data::DatasetView;
use rayon::prelude::*;

/// What a byte of the model must add to the mean precision.
const PRICE: f64 = 2e-11;
/// Precision is measured among so many labels.
const PLACES: [usize; 3] = [1, 3, 5];
/// Of more held-out rows only every second or third, and so on, is looked at.
const MOST_ROWS: usize = 4000;

/// A part that may stay.
struct Part {
    /// With all its trees.
    settings: Settings,
    tried: Tried,
    /// How many trees that was, and what half of them say, if it has several.
    half: Option<(usize, Answers)>,
    /// Bytes of a tree, or of the part if it has none, when it has learned from all rows.
    bytes: f64,
    /// How many trees are worth their bytes.
    trees: usize,
    /// What the part adds, and how sure that is.
    gain: Gain,
    /// What is missing with a single tree.
    missing: f64,
}

/// A difference of mean precision, with its standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Gain {
    mean: f64,
    error: f64,
}

/// The parts that stay, with the trial that these would have, if it was made already.
pub(super) fn choose(
    params: &Params,
    trial: Option<Trial>,
    rows: DatasetView<'_>,
    task: &Task,
) -> Result<(Params, Option<Trial>), Interrupted> {
    let as_they_are = Params { choose: false, ..params.clone() };
    let Some(mut trial) = trial else { return Ok((as_they_are, None)) };
    let growth = rows.len() as f64 / (rows.len() - trial.held_out.len()) as f64;
    let (mut parts, mut gone) = (Vec::new(), Vec::new());
    for (settings, tried) in params.parts.iter().zip(std::mem::take(&mut trial.parts)) {
        parts.push(Part::new(settings, tried, growth, &trial, task)?);
    }
    loop {
        task.check()?;
        weigh(&mut parts, &trial, rows, task);
        let surplus = |part: &Part| part.gain.most() - PRICE * part.bytes * part.trees as f64;
        let surplus = parts.iter().map(surplus).enumerate();
        match surplus.min_by(|one, other| one.1.total_cmp(&other.1)) {
            Some((at, surplus)) if surplus < 0.0 && parts.len() > 1 => gone.push(parts.remove(at)),
            _ => break,
        }
    }
    let chosen = Params {
        parts: parts.iter().map(Part::chosen).collect(),
        chosen: Some(describe(&parts, &gone)),
        ..as_they_are
    };
    for (part, settings) in parts.into_iter().zip(chosen.reduced().parts) {
        let trees = trees(&settings);
        let tried = match trial.ask_fewer(&part.tried, trees, task)? {
            Some(answers) => Tried { settings, answers, ..part.tried },
            None => part.tried,
        };
        trial.parts.push(tried);
    }
    // Which rows are held out follows from the seed of the first part.
    let is_same = chosen.parts[0].seed() == params.parts[0].seed();
    Ok((chosen, is_same.then_some(trial)))
}

/// How many trees a part has; 1 if it has none.
fn trees(part: &Settings) -> usize {
    part.size().first().map_or(1, |size| size.count)
}

impl Part {
    fn new(
        settings: &Settings,
        tried: Tried,
        growth: f64,
        trial: &Trial,
        task: &Task,
    ) -> Result<Self, Interrupted> {
        let all = trees(&tried.settings);
        let half = trial.ask_fewer(&tried, all.div_ceil(2), task)?;
        Ok(Part {
            settings: settings.clone(),
            half: half.map(|answers| (all.div_ceil(2), answers)),
            bytes: growth * tried.bytes as f64 / all as f64,
            trees: trees(settings),
            gain: Gain::default(),
            missing: 0.0,
            tried,
        })
    }

    /// The settings with so many trees as are worth it.
    fn chosen(&self) -> Settings {
        self.settings.resized(&[self.trees])
    }

    /// Sees what half of the trees lack.
    fn set_trees(&mut self, lacking: Gain) {
        let Some((half, _)) = self.half else { return };
        let apart = 1.0 / half as f64 - 1.0 / trees(&self.tried.settings) as f64;
        let most = lacking.most().max(0.0) / apart;
        self.missing = lacking.mean.max(0.0) / apart;
        let worth = (most / (PRICE * self.bytes)).sqrt().ceil() as usize;
        self.trees = worth.clamp(1, trees(&self.settings));
    }

    /// What it is, for people.
    fn describe(&self) -> String {
        let (name, all) = (self.settings.name(), trees(&self.settings));
        let noun = |count: usize| if count == 1 { "tree" } else { "trees" };
        match all - self.trees {
            _ if self.settings.size().is_empty() => name.to_owned(),
            0 => format!("{name} with {all} {}", noun(all)),
            more => {
                let points = self.missing * (1.0 / self.trees as f64 - 1.0 / all as f64);
                let cost = cost(points, more as f64 * self.bytes);
                format!("{name} with {} of {all} trees ({more} more would add {cost})", self.trees)
            }
        }
    }
}

impl Gain {
    fn new(better: &[f64], worse: &[f64]) -> Self {
        let rows = better.len().max(1) as f64;
        let apart = || better.iter().zip(worse).map(|(better, worse)| better - worse);
        let mean = apart().sum::<f64>() / rows;
        let spread = apart().map(|apart| (apart - mean).powi(2)).sum::<f64>() / rows;
        Gain { mean, error: (spread / rows).sqrt() }
    }

    /// What it may well be.
    fn most(self) -> f64 {
        self.mean + self.error
    }
}

/// Sees what each part adds to the others, and what more trees of it add.
fn weigh(parts: &mut [Part], trial: &Trial, rows: DatasetView<'_>, task: &Task) {
    let kept = |without: Option<usize>| {
        let others = parts.iter().enumerate().filter(move |&(at, _)| Some(at) != without);
        others.map(|(_, part)| (&part.settings, &part.tried.answers)).collect::<Vec<_>>()
    };
    let mut groves = vec![kept(None)];
    groves.extend((0..parts.len()).map(|at| kept(Some(at))));
    for (at, part) in parts.iter().enumerate() {
        groves.extend(part.half.iter().map(|(_, half)| {
            let mut grove = kept(None);
            grove[at].1 = half;
            grove
        }));
    }
    let precisions = groves.par_iter().map(|grove| precisions(grove, trial, rows));
    let precisions: Vec<Vec<f64>> = task.install(|| precisions.collect());
    let (all, others) = precisions.split_first().expect("there is the whole grove");
    let (without, mut halves) = (&others[..parts.len()], others[parts.len()..].iter());
    for (part, without) in parts.iter_mut().zip(without) {
        part.gain = Gain::new(all, without);
        if part.half.is_some() {
            let half = halves.next().expect("half of each part was weighed");
            part.set_trees(Gain::new(all, half));
        }
    }
}

/// The mean precision of each row that is looked at, if these parts are blended.
fn precisions(parts: &[(&Settings, &Answers)], trial: &Trial, rows: DatasetView<'_>) -> Vec<f64> {
    let every = trial.held_out.len().div_ceil(MOST_ROWS);
    let said = |row| parts.iter().map(|(_, answers)| answers.of_row(row)).collect::<Vec<_>>();
    let seen = || trial.truth(rows).enumerate().step_by(every);
    let settings: Vec<Settings> = parts.iter().map(|&(settings, _)| settings.clone()).collect();
    let examples = seen().map(|(row, truth)| (said(row), truth));
    let ranker = Ranker::learn_blend(&settings, examples, &trial.counts);
    let scratch = &mut Scratch::default();
    let precision = |(row, truth): (usize, &[u32])| {
        let ranked = ranker.rank(&said(row), &trial.counts, PLACES[PLACES.len() - 1], scratch);
        let hits = |places: usize| {
            let best = ranked.iter().take(places);
            best.filter(|label| truth.binary_search(&label.id).is_ok()).count() as f64
        };
        let of = PLACES.map(|places| hits(places) / places as f64);
        of.iter().sum::<f64>() / PLACES.len() as f64
    };
    seen().map(precision).collect()
}

/// What was chosen and why, for people.
fn describe(parts: &[Part], gone: &[Part]) -> String {
    let kept: Vec<String> = parts.iter().map(Part::describe).collect();
    let gone: Vec<String> = gone
        .iter()
        .map(|part| {
            let cost = cost(part.gain.mean, part.bytes * part.trees as f64);
            format!("{} (would add {cost})", part.settings.name())
        })
        .collect();
    let kept = format!("kept: {}", kept.join(", "));
    if gone.is_empty() { kept } else { format!("{kept}; left out: {}", gone.join(", ")) }
}

/// Precision and bytes, for people.
fn cost(precision: f64, bytes: f64) -> String {
    // No minus before a zero.
    let points = (1000.0 * precision).round() / 10.0 + 0.0;
    format!("{points:.1} points of precision and {:.1} MB", bytes / 1e6)
}
