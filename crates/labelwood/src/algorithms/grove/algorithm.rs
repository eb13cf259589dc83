//! The grove behind the traits of the registry: the units of each part, and one for the ranker.

use super::answers::Answers;
use super::params::{CHOOSE, LABEL_TREE, LABEL_TREES, Prior};
use super::ranker::{Ranker, Said, Scratch, learning_bytes};
use super::trial::held_out;
use super::{
    BLOCK, Grove, Params, RANKER, RANKER_COST, TRIAL_SHARE, Trainer, known, prefix, write_ranker,
};
use crate::algorithms::explain::Reasons;
use crate::algorithms::{
    Algorithm, Budget, Change, Cost, Costs, Facts, GrowError, Growth, Interrupted, NewRows,
    OpenUnit, Predict, Role, RowVotes, SetError, Settings, Shrink, Shrunk, Size, StoredAs, Table,
    Train, Trained, UnitSink, UnitSpec, Updates, WriteUnit, seconds_left, shares,
};
use crate::base::run::{Estimate, Stopped, Task};
use crate::base::settings::{Kind, ParamError, Setting};
use crate::base::sparse::{Predictions, Query, RowsView, Scored};
use crate::base::store::{FormatError, StoreError, Stored};
use crate::data::DatasetView;
use crate::learn::favour::{Favour, Scores};
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::ops::Range;

impl Algorithm for Params {
    fn name(&self) -> &'static str {
        "grove"
    }

    fn about(&self) -> &'static str {
        "the algorithms below that pay, answering together; how their answers are ranked is learned, too"
    }

    /// The settings that a grove has besides those of its parts.
    fn table(&self) -> Vec<Setting> {
        let parts = "The algorithms that answer together, each with its settings.";
        let learn_ranker =
            "Whether what the parts' scores are worth is learned from held-out rows.";
        let choose = "Whether held-out rows decide which parts stay, and how many of their trees.";
        let label_trees = "Label trees of a grove, while trees says how many trees its forest has.";
        let chosen = Setting::new::<bool>("chosen", "What was decided, in words.").elsewhere();
        vec![
            Setting { kind: Kind::Parts, ..Setting::new::<bool>("parts", parts).elsewhere() },
            Setting::new::<bool>("learn_ranker", learn_ranker).elsewhere(),
            Setting::new::<bool>(CHOOSE, choose).common(),
            Setting { kind: Kind::Words, is_optional: true, ..chosen },
            Setting::new::<usize>(LABEL_TREES, label_trees).within(1.0, 1_048_576.0).common(),
        ]
    }

    fn presets(&self) -> Vec<(&'static str, Settings)> {
        vec![("default", Params::default().into())]
    }

    fn facts(&self) -> Facts {
        let parts: Vec<Facts> = self.parts.iter().map(|part| part.facts()).collect();
        // Parts that would need the rows stay as they are beside one that does not.
        let updates = if parts.iter().any(|part| part.updates == Updates::Never) {
            Updates::Never
        } else if parts.iter().all(|part| part.updates == Updates::WithRows) {
            Updates::WithRows
        } else {
            Updates::Always(Some("leaves that grew are not divided and label trees not relearned"))
        };
        Facts {
            scores: Scores::Probabilities,
            is_calibrated: true,
            grows: Some(Growth::Together),
            units: "units",
            updates,
            reads_names: parts.iter().any(|part| part.reads_names),
            needs_rows: true,
            tried_up_to: 0,
            judges: false,
        }
    }

    fn check(&self) -> Result<(), ParamError> {
        self.check()
    }

    fn resolve(&self, rows: DatasetView<'_>) -> Settings {
        self.resolved(rows).into()
    }

    /// The ranker learns what the scores of rare labels are worth, and takes a weight of their rows out
    /// again: it is 0 unless settings say otherwise.
    fn favouring(&self, favour: Option<Favour>) -> Settings {
        self.map(|part| part.favouring(favour.map(|_| Favour::None))).into()
    }

    /// The settings with another value: `trees` is the first part's, `label_trees` the number of label
    /// trees, `part.setting` one part's, and any other goes to each part that has it.
    fn with(&self, setting: &str, value: &Value) -> Result<Settings, SetError> {
        let (part, name) = match setting.split_once('.') {
            Some((part, name)) => (Some(part), name),
            None if setting == LABEL_TREES => (Some(LABEL_TREE), "trees"),
            None => (None, setting),
        };
        let mut params = self.clone();
        if setting == CHOOSE {
            let wrong = || SetError::Wrong(format!("{value} is neither true nor false"));
            params.choose = value.as_bool().ok_or_else(wrong)?;
            return Ok(params.into());
        }
        let mut is_known = false;
        for settings in &mut params.parts {
            if part.is_some_and(|part| part != settings.name()) {
                continue;
            }
            match settings.with(name, value) {
                Err(SetError::Unknown) => continue,
                changed => *settings = changed?,
            }
            is_known = true;
            if setting == "trees" {
                break;
            }
        }
        if is_known { Ok(params.into()) } else { Err(SetError::Unknown) }
    }

    fn find(&self, setting: &str) -> Option<Value> {
        match setting.split_once('.') {
            _ if setting == CHOOSE => Some(json!(self.choose)),
            Some((part, name)) => self.parts.iter().find(|found| found.name() == part)?.find(name),
            None => self.parts.iter().find_map(|part| part.find(setting)),
        }
    }

    fn size(&self) -> Vec<Size> {
        self.parts.iter().flat_map(|part| part.size()).collect()
    }

    fn resized(&self, sizes: &[usize]) -> Settings {
        let mut left = sizes;
        let resized = self.map(|part| {
            let own = left.split_off(..part.size().len()).unwrap_or_default();
            if own.is_empty() { part.clone() } else { part.resized(own) }
        });
        resized.into()
    }

    /// Any of its parts may be left out.
    fn may_become(&self, found: &Settings) -> bool {
        let is_ours = |found: &Settings| self.parts.iter().any(|part| part.may_become(found));
        found.name() == self.name() && found.parts().iter().all(is_ours)
    }

    fn left_out(&self) -> Option<&'static str> {
        let text = "there was no time to learn the ranker, so the default one is taken";
        (!self.learn_ranker).then_some(text)
    }

    /// What tuning tries: one setting of each part, the last part first, and whether the last part
    /// weights features; forests are hardly ever better without.
    fn changes(&self) -> Vec<Change> {
        let of_part = |part: &Settings, name: &str| {
            let setting = format!("{}.{name}", part.name());
            let own = part.changes().into_iter().filter(|change| change.setting == name);
            own.map(|change| Change { setting: setting.clone(), ..change }).collect::<Vec<_>>()
        };
        let tuned = self.parts.iter().rev();
        let tuned = tuned.flat_map(|part| of_part(part, Prior::of(part).tuned.unwrap_or_default()));
        let weighting = self.parts.last().map(|part| of_part(part, "weighting"));
        tuned.chain(weighting.into_iter().flatten()).collect()
    }

    fn chosen(&self) -> Option<&str> {
        self.chosen.as_deref()
    }

    fn parts(&self) -> &[Settings] {
        &self.parts
    }

    /// One part is trained after the other and written as it is trained; the small ones that the
    /// ranker is learned with stay in memory until they have scored the held-out rows.
    fn estimate(&self, rows: DatasetView<'_>, threads: usize) -> Estimate {
        let DatasetView { features, labels, .. } = rows;
        let offsets = (features.len() + labels.len()) * 8;
        let copied = (offsets + features.entries() * 8 + labels.entries() * 4) as u64;
        let of = |part: &Settings| part.estimate(rows, threads);
        let params = self.resolved(rows);
        let whole: Vec<Estimate> = params.parts.iter().map(of).collect();
        let reduced: Vec<Estimate> = params.reduced().parts.iter().map(of).collect();
        let kept: u64 = reduced.iter().map(|part| part.model).sum();
        let reduced = reduced.iter().map(|part| copied + part.memory.saturating_add(kept));
        let learning = learning_bytes(held_out(rows.len()), params.parts.len());
        let needs = whole.iter().map(|part| part.memory).chain(reduced).chain([copied + learning]);
        let memory = needs.max().unwrap_or(0);
        Estimate { memory, model: whole.iter().map(|part| part.model).sum() }
    }

    fn members(&self, labels: usize) -> usize {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.members(labels)))
    }

    fn member(&self, unit: &str, labels: usize) -> Option<usize> {
        let mut before = 0;
        for part in &self.parts {
            if let Some(own) = unit.strip_prefix(&prefix(part)) {
                return part.member(own, labels).map(|member| before + member);
            }
            before += part.members(labels);
        }
        None
    }

    fn units(&self, labels: usize, open: &OpenUnit<'_>) -> Result<Vec<UnitSpec>, StoreError> {
        let mut units = Vec::new();
        for part in &self.parts {
            let prefix = prefix(part);
            let own = part.units(labels, &|name| open(&format!("{prefix}{name}")))?;
            units.extend(
                own.into_iter().map(|unit| UnitSpec { name: prefix.clone() + &unit.name, ..unit }),
            );
        }
        units.push(UnitSpec::new(RANKER, Role::Ranker));
        Ok(units)
    }

    fn costs(&self, units: &[UnitSpec], rows: DatasetView<'_>, threads: usize) -> Costs {
        let mut costs = Costs { units: vec![Cost::default(); units.len()], ..Costs::default() };
        for part in &self.parts {
            let prefix = prefix(part);
            let own: Vec<(usize, UnitSpec)> = units
                .iter()
                .enumerate()
                .filter_map(|(at, unit)| {
                    let name = unit.name.strip_prefix(&prefix)?.to_owned();
                    Some((at, UnitSpec { name, ..unit.clone() }))
                })
                .collect();
            let (places, own): (Vec<usize>, Vec<UnitSpec>) = own.into_iter().unzip();
            let of_part = part.costs(&own, rows, threads);
            places.iter().zip(of_part.units).for_each(|(&at, cost)| costs.units[at] = cost);
            costs.below.seconds += of_part.below.seconds;
            costs.below.memory = costs.below.memory.max(of_part.below.memory);
        }
        let seconds = RANKER_COST
            * (costs.units.iter().map(|cost| cost.seconds).sum::<f64>() + costs.below.seconds);
        let memory = self.estimate(rows, threads).memory;
        for (unit, cost) in units.iter().zip(&mut costs.units) {
            if unit.role == Role::Ranker {
                *cost = Cost { seconds, memory };
            }
        }
        costs
    }

    fn prepare<'a>(
        &self,
        rows: DatasetView<'a>,
        task: &Task,
    ) -> Result<Box<dyn Train + 'a>, Interrupted> {
        self.check()?;
        Ok(Box::new(Trainer::new(self, rows, task)?))
    }

    fn prepare_within<'a>(
        &self,
        rows: DatasetView<'a>,
        _task: &Task,
    ) -> Result<Box<dyn Train + 'a>, Interrupted> {
        self.check()?;
        Ok(Box::new(Trainer::undecided(self, rows)))
    }

    fn open(&self, trained: &Trained<'_>) -> Result<Box<dyn Predict>, FormatError> {
        let labels = trained.stored.manifest().labels as usize;
        let (mut parts, mut before) = (Vec::new(), 0);
        for part in &self.parts {
            let count = part.members(labels);
            let Range { start, end } = trained.members;
            let clamp = |member: usize| member.saturating_sub(before).min(count);
            let stored = &trained.stored.below(&prefix(part));
            let members = clamp(start)..clamp(end);
            parts.push(part.open(&Trained { stored, counts: trained.counts, members })?);
            before += count;
        }
        let ranker = Ranker::read(trained.stored.unit(RANKER)?, &self.parts)?;
        let counts = trained.counts.clone();
        Ok(Box::new(Grove { params: self.clone(), parts, ranker, counts }))
    }

    fn shrunk(&self, how: Shrink) -> Option<Settings> {
        if !self.parts.iter().any(is_shrinkable) {
            return None;
        }
        // What has no values, such as counts of names, stays as it is.
        let shrunk = |part: &Settings| match is_shrinkable(part) {
            true => part.shrunk(how),
            false => Some(part.clone()),
        };
        let parts = self.parts.iter().map(shrunk).collect::<Option<_>>()?;
        Some(Params { parts, ..self.clone() }.into())
    }

    fn shrink_unit(
        &self,
        how: Shrink,
        stored: &Stored,
        name: &str,
        write: &WriteUnit<'_>,
    ) -> Result<Option<Shrunk>, StoreError> {
        for part in &self.parts {
            let prefix = prefix(part);
            if let Some(own) = name.strip_prefix(&prefix).filter(|_| is_shrinkable(part)) {
                return part.shrink_unit(how, &stored.below(&prefix), own, write);
            }
        }
        Ok(None)
    }
}

/// Whether a part has values that can be stored in some other way.
fn is_shrinkable(part: &Settings) -> bool {
    let ways = [StoredAs::U8, StoredAs::F16, StoredAs::F32];
    ways.into_iter().any(|way| part.shrunk(Shrink { values: Some(way), prune: None }).is_some())
}

impl Train for Trainer<'_> {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    /// The ranker first: it takes the most memory.
    fn train(&self, units: &UnitSink<'_>, task: &Task) -> Result<(), Interrupted> {
        let mut start = 0.0;
        if units.lacks(RANKER) {
            write_ranker(&self.ranker(task)?, units)?;
            start = TRIAL_SHARE;
        } else if self.trial.is_some() {
            start = TRIAL_SHARE;
        }
        let sinks = self.params.parts.iter().map(|part| units.below(&prefix(part)));
        let sinks: Vec<UnitSink<'_>> = sinks.collect();
        let left = self.params.parts.iter().zip(&sinks);
        let left = left.map(|(part, units)| seconds_left(part, self.rows, units));
        let left: Vec<Option<f64>> = left.collect::<Result<_, _>>()?;
        let costs = left.iter().map(|seconds| seconds.unwrap_or(0.0)).collect();
        let shares = shares(costs, start..1.0);
        for (((part, units), left), share) in
            self.params.parts.iter().zip(&sinks).zip(left).zip(shares)
        {
            // A part that is another's work is not worth preparing the rows for.
            if left.is_some() {
                let task = &task.share(share).part(part.name());
                part.prepare(self.rows, task)?.train(units, task)?;
            }
        }
        Ok(())
    }

    fn train_within(
        &self,
        budget: &Budget,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<Settings, GrowError> {
        self.train_in_time(budget, units, task)
    }
}

impl Predict for Grove {
    fn settings(&self) -> Settings {
        self.params.clone().into()
    }

    fn predict(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Predictions, Stopped> {
        let (known, quiet) = (known(query), &task.quiet());
        task.predict_blocks(rows, BLOCK, |rows| {
            let ask = |part: &dyn Predict| Answers::new(part, rows, known, quiet);
            // Many rows keep all threads busy in any part, and take memory in each.
            let answers: Vec<Answers> = match rows.len() {
                1 => task.install(|| {
                    let parts = self.parts.par_iter().map(Box::as_ref);
                    parts.map(ask).collect::<Result<_, _>>()
                })?,
                _ => self.parts.iter().map(Box::as_ref).map(ask).collect::<Result<_, _>>()?,
            };
            let ranked = |scratch: &mut Scratch, row| {
                let said: Vec<Said<'_>> = answers.iter().map(|part| part.of_row(row)).collect();
                self.ranker.rank(&said, &self.counts, query.k, scratch)
            };
            let ranked = (0..rows.len()).into_par_iter().map_init(Default::default, ranked);
            let ranked: Vec<Vec<Scored>> = task.install(|| ranked.collect());
            let mut predictions = Predictions::default();
            ranked.iter().for_each(|row| predictions.push_row(row));
            Ok(predictions)
        })
    }

    fn votes(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<RowVotes>>, Stopped> {
        let mut votes = Vec::new();
        for part in &self.parts {
            votes.extend(part.votes(rows, known(query), task)?);
        }
        Ok(votes)
    }

    fn voters(&self) -> Vec<Vec<u32>> {
        self.parts.iter().flat_map(|part| part.voters()).collect()
    }

    fn combine(&self, votes: &[RowVotes], voters: &[Vec<u32>], query: Query<'_>) -> Vec<Scored> {
        let mut at = 0;
        let of_part = |part: &dyn Predict| {
            let own = at..at + part.voters().len();
            at = own.end;
            Answers::from_votes(part, &votes[own.clone()], &voters[own], known(query))
        };
        let answers: Vec<Answers> = self.parts.iter().map(Box::as_ref).map(of_part).collect();
        let said: Vec<Said<'_>> = answers.iter().map(|part| part.of_row(0)).collect();
        self.ranker.rank(&said, &self.counts, query.k, &mut Scratch::default())
    }

    fn explain(
        &self,
        row: RowsView<'_>,
        labels: &[u32],
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<Reasons>>, Stopped> {
        self.reasons(row, labels, query, task)
    }

    fn figures(&self) -> Vec<(String, Value)> {
        let of_part = |part: &dyn Predict| {
            let prefix = prefix(&part.settings());
            let figures = part.figures().into_iter();
            figures.map(|(unit, value)| (format!("{prefix}{unit}"), value)).collect::<Vec<_>>()
        };
        self.parts.iter().map(Box::as_ref).flat_map(of_part).collect()
    }

    fn threshold(&self) -> Option<f32> {
        self.ranker.threshold()
    }

    /// What the parts make the probability of a label that so many training rows have, when one of
    /// them or all score it 0.5, and the others 0.
    fn tables(&self) -> Vec<Table> {
        let names: Vec<String> =
            self.parts.iter().map(|part| part.settings().name().replace('-', "_")).collect();
        let row = |instances: u32| {
            let of = |scores: Vec<f32>| json!(self.ranker.probability(&scores, instances));
            let mut row = Map::from_iter([("instances".to_owned(), json!(instances))]);
            for (at, name) in names.iter().enumerate() {
                let scores = (0..names.len()).map(|part| if part == at { 0.5 } else { 0.0 });
                row.insert(name.clone(), of(scores.collect()));
            }
            row.insert("all".to_owned(), of(vec![0.5; names.len()]));
            row
        };
        let title = "the probability of a label with so many training rows that scores 0.5 in one part or all";
        let mut tables = vec![Table { name: "ranker", title, rows: [300, 30, 3].map(row).into() }];
        if self.ranker.has_trees() {
            let title = "how much of what the ranker's trees gain comes from each number";
            let percent = |share: f64| json!((share * 1000.0).round() / 10.0);
            let mut numbers: Vec<_> = self.ranker.importance().collect();
            numbers.sort_by(|one, other| other.2.total_cmp(&one.2));
            let row = |(part, number, share): (Option<usize>, &str, f64)| {
                let part = part.map_or("label", |part| &names[part]);
                let cells =
                    [("part", json!(part)), ("number", json!(number)), ("percent", percent(share))];
                Map::from_iter(cells.map(|(column, cell)| (column.to_owned(), cell)))
            };
            let rows = numbers.into_iter().map(row).collect();
            tables.push(Table { name: "ranker_trees", title, rows });
        }
        tables
    }

    fn update(
        &self,
        rows: NewRows<'_>,
        units: &UnitSink<'_>,
        task: &Task,
    ) -> Result<(), Interrupted> {
        let count = self.parts.len() as f64;
        for (part, at) in self.parts.iter().zip(0..) {
            let settings = part.settings();
            let share = f64::from(at) / count..f64::from(at + 1) / count;
            let task = &task.share(share).part(settings.name());
            part.update(rows, &units.below(&prefix(&settings)), task)?;
        }
        Ok(())
    }

    fn clusters(&self, tree: usize) -> Option<Vec<Vec<u32>>> {
        self.parts.iter().find_map(|part| part.clusters(tree))
    }
}
