//! What came of a comparison.

use super::{Comparison, Finished, TrialError};
use crate::base::run::{Stopped, Task};
use crate::base::words::plural;
use crate::metrics::{Band, Bootstrap, Interval, bounds};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::iter::Sum;

/// Draws of the test rows.
const DRAWS: usize = 2000;
/// The share of the draws that may lie beyond an interval.
const BEYOND: f64 = 0.05;
/// Figures of a row.
const FIGURES: usize = 7;
/// With the mean of the first three.
const ALL: usize = FIGURES + 1;

/// What came of a comparison: the systems, those with the best mean of P@1, P@3 and P@5 first.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The systems.
    pub systems: Vec<System>,
    /// Test rows, each of which was tested once in a round of each split.
    pub rows: usize,
    /// Rows that were learned from, in the first split, with so many features and labels.
    pub training_rows: usize,
    /// How many features these have.
    pub features: usize,
    /// How many labels there are.
    pub labels: usize,
    /// How often the rows were divided into those to learn from and those to test with.
    pub splits: usize,
    /// The seeds of the rounds of each split.
    pub seeds: Vec<u64>,
    /// Rounds that all were in.
    pub rounds: usize,
    /// Rounds that were planned.
    pub planned_rounds: usize,
    /// The algorithms that no round was finished with.
    pub unfinished: Vec<String>,
}

/// A system, and how good and how costly it is.
#[derive(Clone, Debug, Serialize)]
pub struct System {
    /// Its name.
    pub name: String,
    /// Its settings, if it is one of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Value>,
    /// How good it is: means over all rounds.
    pub figures: Figures,
    /// Between what each of these lies, 95 of 100 times, if other rows of the same kind are tested.
    pub intervals: Figures<Interval>,
    /// By how much it is better than the best system, which is never sure; nothing for the best itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead: Option<Lead>,
    /// For each figure, in their order, whether it is the best or may be as good.
    pub may_be_best: [bool; ALL],
    /// What it makes of frequent and rare labels, in the best five: sums over all rounds.
    pub by_frequency: Vec<Band>,
    /// What it costs, if it is one of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<Costs>,
}

/// How good a system is, in fractions of 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Figures<T = f64> {
    pub p_at_1: T,
    pub p_at_3: T,
    pub p_at_5: T,
    pub ndcg_at_5: T,
    pub psp_at_1: T,
    pub psp_at_3: T,
    pub psp_at_5: T,
    /// The mean of P@1, P@3 and P@5, which systems are ranked by.
    pub mean_p: T,
}

/// A difference, and between what it lies: for all systems together, 95 of 100 times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Lead {
    pub difference: f64,
    pub low: f64,
    pub high: f64,
}

/// What a system costs: means over the rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Costs {
    /// Seconds of training by the clock.
    pub train_seconds: f64,
    /// Seconds of training of all threads together, where the system tells it.
    pub train_cpu_seconds: Option<f64>,
    /// Bytes of memory that training needs at the peak, as estimated.
    pub memory: f64,
    /// Bytes of the model.
    pub model: f64,
    /// Milliseconds of predicting a row by the clock.
    pub predict_ms: f64,
    /// Milliseconds of predicting a row of all threads together.
    pub predict_cpu_ms: Option<f64>,
}

impl Sum for Costs {
    fn sum<I: Iterator<Item = Costs>>(costs: I) -> Costs {
        let add = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
        let nothing =
            Costs { train_cpu_seconds: Some(0.0), predict_cpu_ms: Some(0.0), ..Costs::default() };
        costs.fold(nothing, |sum, one| Costs {
            train_seconds: sum.train_seconds + one.train_seconds,
            train_cpu_seconds: add(sum.train_cpu_seconds, one.train_cpu_seconds),
            memory: sum.memory + one.memory,
            model: sum.model + one.model,
            predict_ms: sum.predict_ms + one.predict_ms,
            predict_cpu_ms: add(sum.predict_cpu_ms, one.predict_cpu_ms),
        })
    }
}

impl Costs {
    fn divided(self, by: usize) -> Costs {
        let by = by as f64;
        Costs {
            train_seconds: self.train_seconds / by,
            train_cpu_seconds: self.train_cpu_seconds.map(|seconds| seconds / by),
            memory: self.memory / by,
            model: self.model / by,
            predict_ms: self.predict_ms / by,
            predict_cpu_ms: self.predict_cpu_ms.map(|ms| ms / by),
        }
    }
}

impl<T: Copy> Figures<T> {
    fn of(figures: [T; ALL]) -> Self {
        let [p_at_1, p_at_3, p_at_5, ndcg_at_5, psp_at_1, psp_at_3, psp_at_5, mean_p] = figures;
        Figures { p_at_1, p_at_3, p_at_5, ndcg_at_5, psp_at_1, psp_at_3, psp_at_5, mean_p }
    }

    /// The figures in their order, the mean last.
    pub fn all(&self) -> [T; ALL] {
        let Figures { p_at_1, p_at_3, p_at_5, ndcg_at_5, psp_at_1, psp_at_3, psp_at_5, mean_p } =
            *self;
        [p_at_1, p_at_3, p_at_5, ndcg_at_5, psp_at_1, psp_at_3, psp_at_5, mean_p]
    }
}

/// The rounds that count, and who was in them.
struct Counted<'a> {
    /// For each split, the rounds.
    rounds: Vec<Vec<&'a Vec<Option<Finished>>>>,
    /// The contestants that finished all of them.
    contestants: Vec<usize>,
}

impl Comparison {
    /// What came of it: of all rounds that every contestant finished, or, if there is none, of the
    /// first as far as it came.
    pub fn outcome(&self, task: &Task) -> Result<Outcome, TrialError> {
        let counted = self.counted();
        if counted.contestants.is_empty() {
            let (finished, total) = (self.finished(), self.trials());
            return Err(TrialError::TimeUp { finished, total });
        }
        let (rows, width) = self.matrix(&counted);
        let systems = counted.contestants.len() + self.joined.len();
        let stopped = |source| {
            let (finished, total) = (self.finished(), self.trials());
            TrialError::Stopped { finished, total, source }
        };
        let own = plain(&rows, width, systems);
        let mut bootstrap = Bootstrap::new(rows.len() / width, width, self.seeds[0]);
        rows.chunks_exact(width).enumerate().for_each(|(row, own)| bootstrap.add(row, own));
        let task = task.without_deadline().quiet();
        let draw = |number| {
            task.check()?;
            Ok(figures(&bootstrap.draw(number), systems))
        };
        let draws = || (0..DRAWS).into_par_iter().map(draw).collect::<Result<Vec<_>, Stopped>>();
        let drawn = task.install(draws).map_err(stopped)?;
        let tail = BEYOND / 2.0 / (systems - 1).max(1) as f64;
        let best = |figure: usize| {
            (0..systems)
                .rev()
                .max_by(|&one, &other| own[one][figure].total_cmp(&own[other][figure]))
        };
        let behind = |one: usize, figure: usize| {
            let best = best(figure).unwrap_or(0);
            let differences = drawn.iter().map(|own| own[one][figure] - own[best][figure]);
            let (low, high) = bounds(differences.collect(), tail);
            let difference = own[one][figure] - own[best][figure];
            (best != one).then_some(Lead { difference, low, high })
        };
        let interval = |one: usize, figure: usize| {
            let drawn = drawn.iter().map(|own| own[one][figure]);
            let (from, to) = bounds(drawn.collect(), BEYOND / 2.0);
            Interval { from, to }
        };
        let system = |at: usize| {
            let ours = counted.contestants.get(at).map(|&at| &self.contestants[at]);
            let joined = || &self.joined[at - counted.contestants.len()];
            System {
                name: ours.map_or_else(|| &joined().0, |one| &one.name).clone(),
                settings: ours.map(|one| serde_json::to_value(&one.settings).unwrap_or_default()),
                figures: Figures::of(own[at]),
                intervals: Figures::of(std::array::from_fn(|figure| interval(at, figure))),
                lead: behind(at, FIGURES),
                may_be_best: std::array::from_fn(|figure| {
                    behind(at, figure).is_none_or(|behind| behind.high >= 0.0)
                }),
                by_frequency: match counted.contestants.get(at) {
                    Some(&at) => {
                        summed(counted.of(at).flat_map(|finished| &finished.answers.bands))
                    }
                    None => summed(joined().1.bands.iter()),
                },
                costs: counted.contestants.get(at).map(|&at| counted.costs(at)),
            }
        };
        let mut all: Vec<System> = (0..systems).map(system).collect();
        all.sort_by(|one, other| other.figures.mean_p.total_cmp(&one.figures.mean_p));
        let [training_rows, features, labels] = self.shape;
        let is_left_out = |at: &usize| !counted.contestants.contains(at);
        let left_out = (0..self.contestants.len()).filter(is_left_out);
        Ok(Outcome {
            systems: all,
            rows: rows.len() / width,
            training_rows,
            features,
            labels,
            splits: self.splits,
            seeds: self.seeds.clone(),
            rounds: counted.rounds.iter().map(Vec::len).sum(),
            planned_rounds: self.splits * self.seeds.len(),
            unfinished: left_out.map(|at| self.contestants[at].name.clone()).collect(),
        })
    }

    fn counted(&self) -> Counted<'_> {
        let is_complete = |round: &&Vec<Option<Finished>>| round.iter().all(Option::is_some);
        let all = self.tested.iter().map(|tested| &tested.rounds);
        let rounds: Vec<Vec<_>> =
            all.map(|rounds| rounds.iter().filter(is_complete).collect()).collect();
        if rounds.iter().any(|rounds| !rounds.is_empty()) {
            return Counted { rounds, contestants: (0..self.contestants.len()).collect() };
        }
        let first: Vec<_> =
            self.tested.first().into_iter().flat_map(|tested| tested.rounds.first()).collect();
        let finished = |at: &usize| first.iter().any(|round| round[*at].is_some());
        let contestants = (0..self.contestants.len()).filter(finished).collect();
        Counted { rounds: vec![first], contestants }
    }

    /// For each test row the figures of each system, which are means over its rounds, and then what they
    /// are divided by: 1, or for PSP what the best ranking would reach.
    fn matrix(&self, counted: &Counted<'_>) -> (Vec<f64>, usize) {
        let systems = counted.contestants.len() + self.joined.len();
        let width = FIGURES * (systems + 1);
        let mut matrix = Vec::new();
        for (tested, rounds) in self.tested.iter().zip(&counted.rounds) {
            let ideals = if rounds.is_empty() { &[][..] } else { &tested.ideals };
            for (row, ideal) in ideals.iter().enumerate() {
                for &at in &counted.contestants {
                    let own = rounds.iter().filter_map(|round| round[at].as_ref());
                    let mut sums = [0.0; FIGURES];
                    for finished in own {
                        let own = finished.answers.rows[row];
                        sums.iter_mut().zip(own).for_each(|(sum, one)| *sum += one);
                    }
                    matrix.extend(sums.map(|sum| sum / rounds.len() as f64));
                }
                self.joined.iter().for_each(|(_, answers)| matrix.extend(answers.rows[row]));
                matrix.extend([1.0; 4].iter().chain(ideal));
            }
        }
        (matrix, width)
    }
}

impl Counted<'_> {
    /// What a contestant did in the rounds.
    fn of(&self, at: usize) -> impl Iterator<Item = &Finished> {
        self.rounds.iter().flatten().filter_map(move |round| round[at].as_ref())
    }

    fn costs(&self, at: usize) -> Costs {
        self.of(at).map(|finished| finished.costs).sum::<Costs>().divided(self.of(at).count())
    }
}

/// The sums of the bands that have true labels.
fn summed<'b>(bands: impl Iterator<Item = &'b Band>) -> Vec<Band> {
    let mut sums: BTreeMap<u32, Band> = BTreeMap::new();
    for band in bands.filter(|band| band.support > 0) {
        let none = Band { labels: 0, support: 0, predicted: 0, hits: 0, ..*band };
        let sum = sums.entry(band.from).or_insert(none);
        sum.labels += band.labels;
        sum.support += band.support;
        sum.predicted += band.predicted;
        sum.hits += band.hits;
    }
    sums.into_values().collect()
}

/// The figures of each system from all rows.
fn plain(rows: &[f64], width: usize, systems: usize) -> Vec<[f64; ALL]> {
    let mut sums = vec![0.0; width];
    for row in rows.chunks_exact(width) {
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    figures(&sums, systems)
}

/// The figures of each system from the sums over some rows.
fn figures(sums: &[f64], systems: usize) -> Vec<[f64; ALL]> {
    let (own, divisors) = sums.split_at(FIGURES * systems);
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let of = |own: &[f64]| {
        let figure = |at: usize| ratio(own[at], divisors[at]);
        std::array::from_fn(|at| match at {
            FIGURES => (figure(0) + figure(1) + figure(2)) / 3.0,
            at => figure(at),
        })
    };
    own.chunks_exact(FIGURES).map(of).collect()
}

impl Lead {
    /// Whether the system is surely behind the best.
    pub fn is_behind(&self) -> bool {
        self.high < 0.0
    }
}

impl Outcome {
    /// Who is surely ahead, in a sentence.
    pub fn verdict(&self) -> String {
        let (best, others) = self.systems.split_first().expect("an outcome has systems");
        let rows = plural(self.rows, "test row");
        let names = |is_behind: bool| -> Vec<&str> {
            let same = |one: &&System| one.lead.is_some_and(|lead| lead.is_behind()) == is_behind;
            others.iter().filter(same).map(|one| &*one.name).collect()
        };
        let (behind, close) = (names(true), names(false));
        let best = &best.name;
        let mut verdict = match (&behind[..], &close[..]) {
            ([], []) => format!("{best} stands alone: there is nothing to compare it with"),
            (_, []) => format!("{best} is surely ahead of {}", listed(&behind)),
            ([], _) => {
                format!("{best} has the best figures, but {} may be as good", listed(&close))
            }
            _ => format!(
                "{best} has the best figures, but {} may be as good; surely behind: {}",
                listed(&close),
                listed(&behind)
            ),
        };
        if !others.is_empty() {
            let all = plural(others.len(), "difference");
            verdict += &format!(
                " (mean of P@1, P@3 and P@5; paired bootstrap over {rows}, 95 % for {all} together)"
            );
        }
        if !self.unfinished.is_empty() {
            verdict += &format!("; without time: {}", self.unfinished.join(", "));
        } else if self.rounds < self.planned_rounds {
            verdict += &format!("; {} of {} rounds are done", self.rounds, self.planned_rounds);
        }
        verdict
    }
}

/// Names as a sentence lists them.
fn listed(names: &[&str]) -> String {
    match names {
        [] | [_] => names.concat(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
