//! Algorithms side by side: each learns from the same rows and is tested with the same others.
//!
//! A [`Comparison`] tries every [`Contestant`] on every [`Split`] with every seed; predictions of other
//! systems can join. Its [`Outcome`] has the figures and costs of all, and says how far each is behind
//! the best, with intervals from a paired bootstrap over the test rows.
//!
//! Figures follow from the rows, the settings and the seeds alone; times are as measured. Every
//! finished trial is kept in a folder, and the same comparison goes on with what is there.
//!
//! ```
//! use labelwood::compare::{Comparison, Contestant, Split};
//! use labelwood::data::{Dataset, generate::{Generator, Profile, TEST_START}};
//! use labelwood::run::Pool;
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 200, ..Profile::named("eurlex-4k").unwrap() };
//! let generator = Generator::new(profile, 1)?;
//! let rows = |range| {
//!     let (features, labels) = generator.rows(range, &task)?;
//!     Ok::<_, Box<dyn std::error::Error>>(Dataset { features, labels, label_names: None, named: None })
//! };
//! let (train, test) = (rows(0..200)?, rows(TEST_START..TEST_START + 50)?);
//!
//! let contestants = vec![Contestant::named("label-tree:bonsai")?, Contestant::named("neighbours")?];
//! let mut comparison = Comparison::new(contestants, 1, 42, 1, None)?;
//! comparison.try_out(&Split { train: &train, test: &test, reader: None }, &task)?;
//! let outcome = comparison.outcome(&task)?;
//! assert_eq!(outcome.systems.len(), 2);
//! println!("{}\n{}", outcome.markdown(), outcome.verdict());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod outcome;
mod table;

pub use super::error::TrialError;
pub use outcome::{Costs, Figures, Lead, Outcome, System};

use super::folder::{Folder, damaged, first_difference, found_or};
use super::measure::CUT;
use super::trial::train_and_test;
use crate::algorithms::Settings;
use crate::base::run::{Spent, Stage, Stopped, Task};
use crate::base::sparse::{Predictions, Scored};
use crate::data::Dataset;
use crate::metrics::{Band, Evaluation, MetricOptions, TrainingCounts};
use crate::model::TrainError;
use crate::text::TextReader;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;

/// The cuts of the figures.
const CUTS: [usize; 3] = [1, 3, CUT];

/// An algorithm that takes part.
#[derive(Clone, Debug, PartialEq)]
pub struct Contestant {
    /// What it is called in tables: the algorithm, and the preset if that is not the default.
    pub name: String,
    /// Its settings; the seed is that of each round.
    pub settings: Settings,
}

/// Rows to learn from, and others to test with.
#[derive(Clone, Copy, Debug)]
pub struct Split<'a> {
    /// The rows to learn from.
    pub train: &'a Dataset,
    /// The rows to test with, with the same features and labels.
    pub test: &'a Dataset,
    /// How text became the rows, if they were text.
    pub reader: Option<&'a TextReader>,
}

/// Trials of several algorithms.
pub struct Comparison {
    contestants: Vec<Contestant>,
    /// The seeds of the rounds of each split.
    seeds: Vec<u64>,
    splits: usize,
    /// Rows to learn from, features and labels of the first split.
    shape: [usize; 3],
    folder: Option<Folder>,
    /// The rows of the splits until now, and what each contestant did with them.
    tested: Vec<Tested>,
    /// The names of the systems that joined, and their answers.
    joined: Vec<(String, Answers)>,
}

/// What was done with a split.
struct Tested {
    /// Of each row, what the best ranking would reach: the denominators of PSP at each cut.
    ideals: Vec<[f64; 3]>,
    /// A round for each seed: what each contestant did, if it was finished.
    rounds: Vec<Vec<Option<Finished>>>,
}

/// What a contestant did in a round.
struct Finished {
    answers: Answers,
    costs: Costs,
}

/// How good answers are.
struct Answers {
    rows: Vec<RowFigures>,
    bands: Vec<Band>,
}

/// The figures of a row: P at each cut, nDCG at the last, and the numerators of PSP at each.
type RowFigures = [f64; 7];

/// What is kept of a trial.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trial {
    /// The digests of the rows.
    data: String,
    training: Spent,
    predicting: Spent,
    /// Bytes that the training needs at the peak, as estimated.
    memory: u64,
    /// Bytes of the model.
    bytes: u64,
    /// The best labels of each test row, best first.
    best: Vec<Vec<u32>>,
}

impl Contestant {
    /// The algorithm of this name with its defaults, or with a preset after a colon; else what is wrong.
    ///
    /// ```
    /// use labelwood::compare::Contestant;
    /// assert_eq!(Contestant::named("craftml:paper").unwrap().settings.name(), "craftml");
    /// assert!(Contestant::named("craftml:bonsai").unwrap_err().contains("paper"));
    /// assert!(Contestant::named("forest").is_err());
    /// ```
    pub fn named(name: &str) -> Result<Contestant, String> {
        let (algorithm, preset) = name.split_once(':').unwrap_or((name, "default"));
        let Some(known) = Settings::named(algorithm) else {
            let all = Settings::names().join(", ");
            return Err(format!("`{algorithm}` is no algorithm: there are {all}"));
        };
        let settings = Settings::preset(algorithm, preset).ok_or_else(|| {
            let presets: Vec<&str> = known.presets().iter().map(|(name, _)| *name).collect();
            format!("`{preset}` is no preset of {algorithm}: there are {}", presets.join(", "))
        })?;
        let name = name.strip_suffix(":default").unwrap_or(name).to_owned();
        Ok(Contestant { name, settings })
    }

    /// All algorithms with their defaults that suit such rows: those that go by the names of labels alone
    /// want some, and those for few labels have a limit.
    pub fn all(rows: &Dataset) -> Vec<Contestant> {
        let labels = rows.labels.columns();
        let suits = |settings: &Settings| {
            let facts = settings.facts();
            let wants_names = facts.reads_names && settings.parts().is_empty();
            let is_for_few = facts.tried_up_to > 0 && labels > facts.tried_up_to;
            (rows.named.is_some() || !wants_names) && !is_for_few
        };
        Settings::all()
            .filter(suits)
            .map(|settings| Contestant { name: settings.name().to_owned(), settings })
            .collect()
    }

    fn with_seed(&self, seed: u64) -> Settings {
        self.settings.with("seed", &seed.into()).unwrap_or_else(|_| self.settings.clone())
    }
}

impl Split<'_> {
    fn digest(&self) -> String {
        format!("{:032x}-{:032x}", self.train.digest(), self.test.digest())
    }

    /// How good answers for the test rows are, and what the best ranking of each row would reach.
    fn judge(&self, predictions: &Predictions) -> Result<(Answers, Vec<[f64; 3]>), String> {
        let counts = self.train.labels.view().column_counts();
        let training = TrainingCounts { instances: self.train.len(), labels: &counts };
        let options = MetricOptions { at: CUTS.to_vec(), ..MetricOptions::default() };
        let evaluation = Evaluation::new(self.test.labels.view(), predictions, training, &options);
        let evaluation = evaluation.map_err(|error| error.to_string())?;
        let figures = evaluation.instances().map(|row| {
            let at = [row.at[0], row.at[1], row.at[2]];
            let ([p1, p3, p5], [h1, h3, h5]) =
                (at.map(|at| at.precision), at.map(|at| at.weighted_hits));
            ([p1, p3, p5, at[2].ndcg, h1, h3, h5], at.map(|at| at.ideal_weighted_hits))
        });
        let (rows, ideals) = figures.unzip();
        Ok((Answers { rows, bands: evaluation.by_frequency() }, ideals))
    }
}

impl Comparison {
    /// A comparison on so many splits, each with so many seeds from `seed` on. Finished trials are kept
    /// in `folder`, and taken from there.
    pub fn new(
        contestants: Vec<Contestant>,
        seeds: usize,
        seed: u64,
        splits: usize,
        folder: Option<&Path>,
    ) -> Result<Comparison, TrialError> {
        for (at, one) in contestants.iter().enumerate() {
            one.settings.check()?;
            refuse_twice(&one.name, contestants[..at].iter().map(|other| &*other.name))?;
        }
        let seeds: Vec<u64> = (0..seeds as u64).map(|at| seed.wrapping_add(at)).collect();
        let named = |one: &Contestant| json!({ "name": one.name, "settings": one.settings });
        let plan = json!({
            "seeds": seeds,
            "splits": splits,
            "contestants": contestants.iter().map(named).collect::<Vec<_>>(),
        });
        let open = |path| Folder::open(path, "comparison", &plan, difference);
        let folder = folder.map(open).transpose()?;
        let (tested, joined) = (Vec::new(), Vec::new());
        Ok(Comparison { contestants, seeds, splits, shape: [0; 3], folder, tested, joined })
    }

    /// How many trainings there are.
    pub fn trials(&self) -> usize {
        self.splits * self.seeds.len() * self.contestants.len()
    }

    /// How many are finished.
    fn finished(&self) -> usize {
        let rounds = self.tested.iter().flat_map(|tested| &tested.rounds);
        rounds.map(|round| round.iter().flatten().count()).sum()
    }

    /// Tries all contestants on the next split. When the time is up, what is finished counts, and
    /// [`Comparison::outcome`] says what is not.
    pub fn try_out(&mut self, split: &Split<'_>, task: &Task) -> Result<(), TrialError> {
        let number = self.tested.len();
        if number == 0 {
            let (train, test) = (split.train, split.test);
            let labels = train.labels.columns().max(test.labels.columns());
            self.shape = [train.len(), train.features.columns(), labels];
        }
        let data = split.digest();
        self.tested.push(Tested { ideals: Vec::new(), rounds: Vec::new() });
        for (round, seed) in self.seeds.clone().into_iter().enumerate() {
            self.tested[number].rounds.push(Vec::new());
            for at in 0..self.contestants.len() {
                let place = format!("split-{}-seed-{}-{}", number + 1, round + 1, at + 1);
                let settings = self.contestants[at].with_seed(seed);
                let found = self.trial(&place, (split, &data), &settings, at, task);
                let trial = match found {
                    Err(TrialError::Stopped { source: Stopped::Late, .. }) => {
                        self.tested[number].rounds[round].push(None);
                        continue;
                    }
                    other => other?,
                };
                let judged = split.judge(&trial.predictions());
                let (answers, ideals) = judged.map_err(|reason| self.damage(&place, reason))?;
                let tested = &mut self.tested[number];
                tested.ideals = ideals;
                tested.rounds[round].push(Some(Finished { answers, costs: trial.costs() }));
            }
        }
        Ok(())
    }

    /// A trial with rows of this digest that is there, or else a new one.
    fn trial(
        &self,
        place: &str,
        (split, data): (&Split<'_>, &str),
        settings: &Settings,
        at: usize,
        task: &Task,
    ) -> Result<Trial, TrialError> {
        let file = format!("{place}.json");
        let (finished, total) = (self.finished(), self.trials());
        let trial = found_or(self.folder.as_ref(), &file, || {
            let part = |at: usize| at as f64 / total as f64;
            let own = task.share(part(finished)..part(finished + 1));
            let own = own.piece_of(Stage::Trials, finished as u64, total as u64);
            try_one(split, settings, data.to_owned(), &own).map_err(|error| match error {
                TrainError::Stopped { source, .. } => {
                    TrialError::Stopped { finished, total, source }
                }
                other => TrialError::Refused(format!("{}: {other}", self.contestants[at].name)),
            })
        })?;
        match trial.data == data {
            true => Ok(trial),
            false => Err(TrialError::Refused(format!(
                "{place}: it was begun with other data: repeat the data, or choose another folder"
            ))),
        }
    }

    fn damage(&self, place: &str, reason: String) -> TrialError {
        match &self.folder {
            Some(folder) => damaged(&folder.file(&format!("{place}.json")), reason),
            None => TrialError::Refused(reason),
        }
    }

    /// Adds what another system predicted for the test rows of the only split, in their order.
    pub fn join(
        &mut self,
        name: &str,
        predictions: &Predictions,
        split: &Split<'_>,
    ) -> Result<(), TrialError> {
        let others = self.contestants.iter().map(|one| &*one.name);
        refuse_twice(name, others.chain(self.joined.iter().map(|(name, _)| &**name)))?;
        let judged = split.judge(predictions);
        let (answers, _) =
            judged.map_err(|reason| TrialError::Refused(format!("{name}: {reason}")))?;
        self.joined.push((name.to_owned(), answers));
        Ok(())
    }
}

/// Refuses a name that others have.
fn refuse_twice<'n>(
    name: &str,
    mut others: impl Iterator<Item = &'n str>,
) -> Result<(), TrialError> {
    match others.any(|other| other == name) {
        true => Err(TrialError::Refused(format!("{name} takes part twice: leave one out"))),
        false => Ok(()),
    }
}

/// The first thing that two plans differ in.
fn difference(found: &Value, wanted: &Value) -> Option<String> {
    let name = first_difference(found, wanted)?;
    Some(match name.split('.').next() {
        Some("contestants") => {
            "it compares other algorithms, or the same with other settings".to_owned()
        }
        _ => format!("the {name} were others"),
    })
}

/// Trains and tests.
fn try_one(
    split: &Split<'_>,
    settings: &Settings,
    data: String,
    task: &Task,
) -> Result<Trial, TrainError> {
    let tried = train_and_test(split.train, split.test, split.reader, settings, task)?;
    let best = |row: &[Scored]| row.iter().take(CUT).map(|label| label.id).collect();
    Ok(Trial {
        data,
        training: tried.training,
        predicting: tried.predicting,
        memory: settings.estimate(split.train.view(), task.threads()).memory,
        bytes: tried.bytes,
        best: tried.predictions.rows().map(best).collect(),
    })
}

impl Trial {
    /// What was predicted, with scores that fall from rank to rank.
    fn predictions(&self) -> Predictions {
        let mut predictions = Predictions::default();
        for row in &self.best {
            let ranked = row.iter().zip((1..=CUT).rev());
            let scored: Vec<Scored> =
                ranked.map(|(&id, left)| Scored { id, score: left as f32 }).collect();
            predictions.push_ranked(&scored);
        }
        predictions
    }

    fn costs(&self) -> Costs {
        let per_row = 1000.0 / self.best.len().max(1) as f64;
        Costs {
            train_seconds: self.training.seconds,
            train_cpu_seconds: self.training.cpu_seconds,
            memory: self.memory as f64,
            model: self.bytes as f64,
            predict_ms: self.predicting.seconds * per_row,
            predict_cpu_ms: self.predicting.cpu_seconds.map(|seconds| seconds * per_row),
        }
    }
}

#[cfg(test)]
mod tests;
