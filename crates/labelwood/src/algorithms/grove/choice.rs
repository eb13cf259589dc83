//! Which parts of a grove stay, and how many trees they get: what each adds on held-out rows is weighed
//! against its size and the time that it takes.
//!
//! More trees of a part bring the precision near a limit, and what is missing falls with their number:
//! it is `missing / trees`. Two sizes of the part tell what that is, and from it follows how many trees
//! are worth their cost.

use super::answers::Answers;
use super::params::{Params, seconds};
use super::ranker::{Ranker, Scratch};
use super::trial::{Trial, Tried};
use crate::algorithms::{Interrupted, Settings};
use crate::base::run::Task;
use crate::data::DatasetView;
use rayon::prelude::*;

/// What a byte of the model must add to the mean precision: a tenth of a point for 33 MB.
const PRICE: f64 = 3e-11;
/// What a part that takes all of the time of training would have to add.
const PRICE_OF_TIME: f64 = 1e-2;
/// How much dearer bytes become at a time until what is left has room.
const DEARER: f64 = 1.25;
/// Precision is measured among so many labels.
const PLACES: [usize; 3] = [1, 3, 5];
/// Of more held-out rows only every second or third, and so on, is looked at.
const MOST_ROWS: usize = 4000;

/// A part that may stay.
struct Part<'t> {
    /// With all its trees.
    settings: &'t Settings,
    tried: &'t Tried,
    /// How many trees that was, and what half of them say, if it has several.
    half: Option<(usize, Answers)>,
    /// Bytes of a tree, or of the part if it has none, when it has learned from all rows.
    bytes: f64,
    /// The share of the time of training that a tree takes, or the part if it has none.
    time: f64,
    /// How many trees are worth their cost.
    trees: usize,
    /// What the part adds, and how sure that is.
    gain: Gain,
    /// What half of the trees that were tried lack.
    lacking: Gain,
}

/// A difference of mean precision, with its standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Gain {
    mean: f64,
    error: f64,
}

/// The settings with the parts that stay, of at most `room` bytes.
pub(super) fn choose(
    params: &Params,
    trial: &Trial,
    rows: DatasetView<'_>,
    room: Option<u64>,
    task: &Task,
) -> Result<Params, Interrupted> {
    let times: Vec<f64> = params.parts.iter().map(|part| seconds(part, rows)).collect();
    let time = times.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let parts = params.parts.iter().zip(&trial.parts).zip(times);
    let parts = parts.map(|((settings, tried), seconds)| {
        Part::new(settings, tried, rows.len(), seconds / time, trial, task)
    });
    let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
    let (mut gone, mut price) = (Vec::new(), PRICE);
    loop {
        task.check()?;
        weigh(&mut parts, trial, rows, task);
        match settle(&mut parts, room, &mut price) {
            Some(at) => gone.push(parts.remove(at)),
            None => break,
        }
    }
    let chosen = Some(describe(&parts, &gone));
    let parts = parts.iter().map(Part::chosen).collect();
    Ok(Params { parts, chosen, choose: false, ..params.clone() })
}

/// Sees how many trees of each part are worth it, and which part is not, if there is one. Bytes become
/// dearer until what is left has room.
fn settle(parts: &mut [Part<'_>], room: Option<u64>, price: &mut f64) -> Option<usize> {
    loop {
        parts.iter_mut().for_each(|part| part.set_trees(*price));
        let surplus = parts.iter().map(|part| part.gain.most(1.0) - part.cost(*price)).enumerate();
        let worst = surplus.min_by(|one, other| one.1.total_cmp(&other.1));
        if let Some((at, _)) = worst.filter(|&(_, surplus)| surplus < 0.0 && parts.len() > 1) {
            return Some(at);
        }
        let bytes: f64 = parts.iter().map(|part| part.trees as f64 * part.bytes).sum();
        let is_least = parts.len() == 1 && parts[0].trees == 1;
        if is_least || room.is_none_or(|room| bytes <= room as f64) {
            return None;
        }
        *price *= DEARER;
    }
}

/// How many trees a part has; 1 if it has none.
fn trees(part: &Settings) -> usize {
    part.size().first().map_or(1, |size| size.count)
}

impl<'t> Part<'t> {
    /// A part that will learn from so many rows, and with all its trees takes the share `time` of the time
    /// of training.
    fn new(
        settings: &'t Settings,
        tried: &'t Tried,
        rows: usize,
        time: f64,
        trial: &Trial,
        task: &Task,
    ) -> Result<Self, Interrupted> {
        let all = trees(&tried.settings);
        let half = trial.ask_fewer(tried, all.div_ceil(2), task)?;
        let growth = rows as f64 / (rows - trial.held_out.len()) as f64;
        Ok(Part {
            settings,
            half: half.map(|answers| (all.div_ceil(2), answers)),
            bytes: growth * tried.bytes as f64 / all as f64,
            time: time / trees(settings) as f64,
            trees: trees(settings),
            gain: Gain::default(),
            lacking: Gain::default(),
            tried,
        })
    }

    /// The settings with so many trees as are worth it.
    fn chosen(&self) -> Settings {
        self.settings.resized(&[self.trees])
    }

    /// What its trees cost, if bytes have this price.
    fn cost(&self, price: f64) -> f64 {
        self.trees as f64 * self.cost_of_tree(price)
    }

    fn cost_of_tree(&self, price: f64) -> f64 {
        price * self.bytes + PRICE_OF_TIME * self.time
    }

    /// Sees how many trees are worth it, if bytes have this price.
    fn set_trees(&mut self, price: f64) {
        // What a few trees add is little, and chance hides it easily.
        let worth = (self.missing(self.lacking.most(2.0)) / self.cost_of_tree(price)).sqrt().ceil();
        if self.half.is_some() {
            self.trees = (worth as usize).clamp(1, trees(self.settings));
        }
    }

    /// What a single tree lacks if half of those that were tried lack this.
    fn missing(&self, lacking: f64) -> f64 {
        let Some((half, _)) = self.half else { return 0.0 };
        lacking.max(0.0) / (1.0 / half as f64 - 1.0 / trees(&self.tried.settings) as f64)
    }

    /// What it is, for people.
    fn describe(&self) -> String {
        let (name, all) = (self.settings.name(), trees(self.settings));
        let noun = |count: usize| if count == 1 { "tree" } else { "trees" };
        match all - self.trees {
            _ if self.settings.size().is_empty() => name.to_owned(),
            0 => format!("{name} with {all} {}", noun(all)),
            more => {
                let apart = 1.0 / self.trees as f64 - 1.0 / all as f64;
                let points = self.missing(self.lacking.mean) * apart;
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

    /// What it may well be, if so many errors are allowed for.
    fn most(self, errors: f64) -> f64 {
        self.mean + errors * self.error
    }
}

/// Sees what each part adds to the others, and what more trees of it add.
fn weigh(parts: &mut [Part<'_>], trial: &Trial, rows: DatasetView<'_>, task: &Task) {
    let kept = |without: Option<usize>| {
        let others = parts.iter().enumerate().filter(move |&(at, _)| Some(at) != without);
        others.map(|(_, part)| (part.settings, &part.tried.answers)).collect::<Vec<_>>()
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
            part.lacking = Gain::new(all, half);
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
fn describe(parts: &[Part<'_>], gone: &[Part<'_>]) -> String {
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
