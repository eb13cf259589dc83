//! Choosing settings: successive halving over the few that matter.
//!
//! A [`Plan`] lists candidates: the settings to start from, and those with a few changes. [`tune`]
//! trains them all on a few rows and with few trees, cross-validated. The best third goes on with
//! three times the rows and trees, and so on until the last round, which has all of them. The
//! settings to start from are in every round, so that it can be said what another choice gains, and
//! how sure that is; unless it is sure enough, they are kept.
//!
//! Which candidates go on follows from the rows and the seed alone, never from time or threads.
//! Every finished trial is kept in a folder, and the same call goes on with what is there.
//!
//! Algorithms are chosen among in the same way: the plan has the candidates of all. [`TextPlan`] chooses
//! how text is read, before there are rows to tune with.
//!
//! ```
//! use labelwood::data::{Dataset, generate::{Generator, Profile}};
//! use labelwood::Settings;
//! use labelwood::run::Pool;
//! use labelwood::tune::{Measure, Plan, tune};
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
//! let (features, labels) = Generator::new(profile, 1)?.rows(0..200, &task)?;
//! let dataset = Dataset { features, labels, label_names: None, named: None };
//!
//! let start = Settings::named("label-tree").unwrap();
//! let keep = ["weight_threshold".to_owned(), "branches".to_owned()];
//! let plan = Plan::new(dataset.view(), &[start], &keep, Measure::default(), 3)?;
//! let folder = tempfile::tempdir()?;
//! let outcome = tune(dataset.view(), &plan, folder.path(), &task)?;
//! println!("{}\n{}", outcome.table(), outcome.verdict());
//! assert_eq!(outcome.chosen().settings.name(), "label-tree");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chart;
mod folder;
mod grid;
mod schedule;
mod table;
mod text;

pub use super::error::TrialError;
pub use super::measure::Measure;
pub use schedule::Round;
pub use text::{TEXT_SAMPLE, TextOutcome, TextPlan};

use super::folder::{Folder, damaged, found_or};
use super::trial::{Rows, Trial, drawn, lead, mean};
use crate::algorithms::Settings;
use crate::base::run::{Stage, Stopped, Task};
use crate::base::settings::shown_number;
use crate::base::words::plural;
use crate::data::DatasetView;
use folder::Place;
pub(super) use folder::TEXT;
use serde_json::{Value, json};
use std::path::Path;

/// A lead counts if it is larger than so many standard errors. The best of twenty candidates that are
/// no better lies above two errors in every third tuning, but hardly ever above three.
const SURE: f64 = 3.0;
/// What the rows of rounds are drawn for: those of a round are among those of the next.
const DRAWING: u64 = 0x7475_6e65;
/// Rows to tune with at least.
const LEAST_ROWS: usize = 20;

/// What is tried.
#[derive(Clone, Debug)]
pub struct Plan {
    candidates: Vec<Candidate>,
    rounds: Vec<Round>,
    measure: Measure,
    folds: usize,
    data: String,
    /// How the text of all candidates is read but for their changes, if these are ways to read it.
    text: Option<Value>,
}

/// Settings to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// What differs from the settings to start from: names, in a grove after that of the part and
    /// a point, and values. Another algorithm comes first, as `algorithm`.
    pub changes: Vec<(String, Value)>,
    /// All settings.
    pub settings: Settings,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    plan: Plan,
    /// The rounds that are finished.
    rounds: Vec<Vec<Standing>>,
    chosen: usize,
}

/// How good a candidate was in a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The candidate's place in the plan.
    pub candidate: usize,
    /// The mean of the measure over all rows of the round, each tested once.
    pub score: f64,
    /// By how much that is better than the settings to start from.
    pub lead: f64,
    /// The standard error of the lead, from the differences of each row.
    pub error: f64,
    /// Bytes of what was learned, a mean over the folds.
    pub bytes: u64,
    /// Seconds of training, over all folds.
    pub seconds: f64,
}

impl Plan {
    /// What to try for these rows, beginning with the settings to start from; of several algorithms,
    /// with those of the first. Settings whose names are in `keep` are not changed. Each round is
    /// cross-validated with so many folds.
    pub fn new(
        dataset: DatasetView<'_>,
        starts: &[Settings],
        keep: &[String],
        measure: Measure,
        folds: usize,
    ) -> Result<Plan, TrialError> {
        starts.iter().try_for_each(|start| start.check())?;
        let rows = dataset.len();
        if folds < 2 || rows < LEAST_ROWS || folds > rows / 10 {
            return Err(TrialError::Refused(format!(
                "{} of {}: there must be 2 folds or more, with 10 rows each",
                plural(folds, "fold"),
                plural(rows, "row")
            )));
        }
        let candidates = among(starts, dataset, keep);
        if candidates.len() < 2 {
            let names: Vec<&str> = starts.iter().map(|start| start.name()).collect();
            return Err(TrialError::Refused(format!(
                "nothing is left to tune: every setting of {} that would be tried was given a value",
                names.join(", ")
            )));
        }
        let rounds = schedule::rounds(candidates.len(), rows);
        let data = format!("{:032x}", dataset.digest());
        Ok(Plan { candidates, rounds, measure, folds, data, text: None })
    }

    /// What is tried, the settings to start from first.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The rounds.
    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// How many trainings there are in all rounds.
    pub fn trials(&self) -> usize {
        self.rounds.iter().map(|round| round.candidates * self.folds).sum()
    }

    /// What all trials cost.
    fn cost(&self) -> f64 {
        let of = |round: &Round| (round.candidates * self.folds) as f64 * round.cost();
        self.rounds.iter().map(of).sum()
    }

    /// The algorithms that are tried.
    fn algorithms(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.candidates.iter().map(|one| one.settings.name()).collect();
        names.dedup();
        names
    }

    /// What is tuned.
    fn title(&self) -> String {
        match self.text {
            Some(_) => "text".to_owned(),
            None => self.algorithms().join(", "),
        }
    }

    /// All that the trials follow from.
    fn written(&self) -> Value {
        let changes: Vec<_> = self.candidates.iter().map(|one| &one.changes).collect();
        let mut start = json!({ "text": self.text });
        for candidate in self.candidates.iter().rev() {
            // The first of an algorithm has its settings to start from.
            start[candidate.settings.name()] = candidate.settings.values();
        }
        json!({
            "data": self.data,
            "algorithm": self.algorithms().join(", "),
            "measure": self.measure,
            "folds": self.folds,
            "start": start,
            "candidates": changes,
        })
    }
}

/// What to try for each of these algorithms; one that is not the first is a change, too.
fn among(starts: &[Settings], dataset: DatasetView<'_>, keep: &[String]) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    for (at, start) in starts.iter().enumerate() {
        let mut own = grid::candidates(start, dataset, keep);
        if starts.len() > 1 {
            // With every combination for every algorithm, chance would decide.
            own.retain(|one| one.changes.len() <= 1);
        }
        if at > 0 {
            let algorithm = ("algorithm".to_owned(), json!(start.name()));
            own.iter_mut().for_each(|one| one.changes.insert(0, algorithm.clone()));
        }
        candidates.extend(own);
    }
    candidates
}

impl Candidate {
    /// The changes in words.
    pub fn describe(&self) -> String {
        if self.changes.is_empty() {
            return "(as given)".to_owned();
        }
        let value = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Null => "auto".to_owned(),
            Value::Array(lengths) => {
                lengths.iter().map(Value::to_string).collect::<Vec<_>>().join(",")
            }
            number => number.as_f64().map_or_else(|| number.to_string(), shown_number),
        };
        let change = |(setting, changed): &(String, Value)| format!("{setting} {}", value(changed));
        self.changes.iter().map(change).collect::<Vec<_>>().join(", ")
    }
}

/// Tries what is planned, keeping each finished trial in the folder `path`, and going on with those
/// that are there. If the deadline passes, the rounds until then decide.
pub fn tune(
    dataset: DatasetView<'_>,
    plan: &Plan,
    path: &Path,
    task: &Task,
) -> Result<Outcome, TrialError> {
    tune_each(&[dataset], plan, Some(path), task)
}

/// The same with the rows of each candidate, or those of all, which have the same labels.
fn tune_each(
    datasets: &[DatasetView<'_>],
    plan: &Plan,
    path: Option<&Path>,
    task: &Task,
) -> Result<Outcome, TrialError> {
    let folder = path.map(|path| folder::open(path, plan)).transpose()?;
    let drawn = drawn(datasets[0].len(), plan.candidates[0].settings.seed(), DRAWING);
    let mut tuning = Tuning { datasets, plan, folder, drawn, finished: 0, cost: 0.0, task };
    let mut rounds: Vec<Vec<Standing>> = Vec::new();
    for number in 0..plan.rounds.len() {
        let candidates = match rounds.last() {
            None => (0..plan.candidates.len()).collect(),
            Some(before) => going_on(before, plan.rounds[number].candidates),
        };
        match tuning.round(number, &candidates) {
            Ok(standings) => rounds.push(standings),
            Err(TrialError::Stopped { finished, total, source: Stopped::Late }) => {
                if rounds.is_empty() {
                    return Err(TrialError::TimeUp { finished, total });
                }
                break;
            }
            Err(other) => return Err(other),
        }
    }
    let chosen = rounds.last().map_or(0, |last| choose(last));
    Ok(Outcome { plan: plan.clone(), rounds, chosen })
}

/// The settings to start from and the best others, so many in all, in the order of the plan.
fn going_on(before: &[Standing], count: usize) -> Vec<usize> {
    let others = before.iter().map(|standing| standing.candidate).filter(|&one| one != 0);
    let mut on: Vec<usize> = others.take(count - 1).chain([0]).collect();
    on.sort_unstable();
    on
}

/// The best, if its lead is sure.
fn choose(last: &[Standing]) -> usize {
    last.first().filter(|best| best.is_surely_better()).map_or(0, |best| best.candidate)
}

impl Standing {
    /// Whether the lead is more than chance, even for the best of many: more than three standard
    /// errors.
    pub fn is_surely_better(&self) -> bool {
        self.lead > SURE * self.error
    }
}

/// The rows to test with in the fold of this number, of so many, and the others, both in order.
fn split(drawn: &[usize], fold: usize, folds: usize) -> [Vec<usize>; 2] {
    let mut parts = [Vec::new(), Vec::new()];
    for (at, &row) in drawn.iter().enumerate() {
        parts[usize::from(at % folds != fold)].push(row);
    }
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts
}

/// A tuning under way.
struct Tuning<'a> {
    /// The rows of each candidate, or those of all.
    datasets: &'a [DatasetView<'a>],
    plan: &'a Plan,
    folder: Option<Folder>,
    /// All rows in the order in which they are drawn.
    drawn: Vec<usize>,
    finished: usize,
    /// What the finished trials cost.
    cost: f64,
    task: &'a Task,
}

impl Tuning<'_> {
    /// A round of these candidates; gives them best first.
    fn round(&mut self, number: usize, candidates: &[usize]) -> Result<Vec<Standing>, TrialError> {
        let mut results = vec![Results::default(); candidates.len()];
        for fold_number in 0..self.plan.folds {
            let drawn = &self.drawn[..self.plan.rounds[number].rows];
            let fold = split(drawn, fold_number, self.plan.folds);
            let mut rows = None;
            for (&candidate, results) in candidates.iter().zip(&mut results) {
                let place = Place { round: number, candidate, fold: fold_number };
                if self.datasets.len() > 1 {
                    rows = None;
                }
                let trial = self.trial(place, &fold, &mut rows)?;
                let labels = self.datasets[0].labels;
                let true_labels = fold[0].iter().map(|&row| labels.row(row).indices.len());
                results.figures.extend(trial.figures(true_labels, self.plan.measure));
                results.bytes += trial.bytes;
                results.seconds += trial.seconds;
            }
        }
        Ok(standings(candidates, &results, self.plan.folds))
    }

    /// A trial that is there, or else a new one. The rows are copied when the first one needs them.
    fn trial(
        &mut self,
        place: Place,
        [test, train]: &[Vec<usize>; 2],
        rows: &mut Option<Rows>,
    ) -> Result<Trial, TrialError> {
        let name = place.name();
        let trial: Trial = found_or(self.folder.as_ref(), &name, || {
            let dataset = *self.datasets.get(place.candidate).unwrap_or(&self.datasets[0]);
            let rows = rows.get_or_insert_with(|| Rows::new(dataset, train, test));
            let settings = &self.plan.candidates[place.candidate].settings;
            let fewer = settings.reduced(self.plan.rounds[place.round].fewer_trees);
            let (finished, total) = (self.finished, self.plan.trials());
            let trial = rows.try_out(&fewer, &self.piece(place.round));
            trial.map_err(|source| TrialError::Stopped { finished, total, source })
        })?;
        if let Some(folder) = &self.folder
            && trial.hits.len() != test.len()
        {
            let found = plural(trial.hits.len(), "row");
            let reason = format!("it has {found} rather than {}", test.len());
            return Err(damaged(&folder.file(&name), reason));
        }
        self.cost += self.plan.rounds[place.round].cost();
        self.finished += 1;
        let (finished, total) = (self.finished as u64, self.plan.trials() as u64);
        // What is left has no share in this report.
        let end = self.cost / self.plan.cost();
        self.task.share(end..end).progress(Stage::Trials, finished, total);
        Ok(trial)
    }

    /// The task of the next trial, which is of this round.
    fn piece(&self, round: usize) -> Task {
        let (finished, total) = (self.finished as u64, self.plan.trials() as u64);
        let (cost, all) = (self.plan.rounds[round].cost(), self.plan.cost());
        let share = self.cost / all..(self.cost + cost) / all;
        self.task.share(share).piece_of(Stage::Trials, finished, total)
    }
}

/// What a candidate did in the folds of a round.
#[derive(Clone, Default)]
struct Results {
    figures: Vec<f64>,
    bytes: u64,
    seconds: f64,
}

/// The candidates of a round, the first of which is the settings to start from, best first. Of equal
/// ones the smaller model comes first, then what is tried first.
fn standings(candidates: &[usize], results: &[Results], folds: usize) -> Vec<Standing> {
    let standing = |(&candidate, result): (&usize, &Results)| {
        let (lead, error) = lead(&result.figures, &results[0].figures);
        let (score, bytes) = (mean(&result.figures), result.bytes / folds as u64);
        Standing { candidate, score, lead, error, bytes, seconds: result.seconds }
    };
    let mut standings: Vec<Standing> = candidates.iter().zip(results).map(standing).collect();
    standings.sort_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score.then(one.bytes.cmp(&other.bytes)).then(one.candidate.cmp(&other.candidate))
    });
    standings
}

impl Outcome {
    /// What was tried.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The finished rounds, each with its candidates, best first.
    pub fn rounds(&self) -> &[Vec<Standing>] {
        &self.rounds
    }

    /// Whether all rounds are finished.
    pub fn is_finished(&self) -> bool {
        self.rounds.len() == self.plan.rounds.len()
    }

    /// How good the settings to take were in the last finished round.
    pub fn last(&self) -> Option<&Standing> {
        self.rounds.last()?.iter().find(|standing| standing.candidate == self.chosen)
    }

    /// The settings to take.
    pub fn chosen(&self) -> &Candidate {
        &self.plan.candidates[self.chosen]
    }
}

#[cfg(test)]
mod tests;
