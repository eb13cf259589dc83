//! A budget instead of settings: what may be taken, what is chosen for it, and what became of it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use labelwood::Settings;
use labelwood::algorithms::Size;
use labelwood::app::TrainingNeed;
use labelwood::auto;
use labelwood::data::Dataset;
use labelwood::model::{Limits, unfinished};
use labelwood::run::{Bytes, Task};
use labelwood::store::{Manifest, Training};
use labelwood::text::{Params, TextReader, TextSettings};
use labelwood::words::plural;

use super::memory::fits;
use super::{Args, Choice};
use crate::context::Context;
use crate::duration::{self, shown};

/// The share of the budget after which nothing is begun any more that would end later: the rest is
/// for putting the model into place.
const PLANNED: f64 = 0.96;
/// How much longer than its budget a training may become before what is unfinished is given up.
const GRACE: f64 = 0.05;
const GRACE_SECONDS: Duration = Duration::from_secs(1);

/// The flags that bound a training.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Be done within this time, such as 60s, 5m or 1h30m
    ///
    /// Reading and saving included: trees are added while there is time, --trees and --label-trees at
    /// most. For auto, grove, craftml and label-tree.
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub budget: Option<Duration>,

    /// The largest model, such as 200M: trees are added while there is room. For auto, grove,
    /// craftml and label-tree
    #[arg(long, value_name = "SIZE")]
    pub max_model: Option<Bytes>,
}

impl LimitArgs {
    /// Whether trees are added one by one.
    pub fn are_given(&self) -> bool {
        self.budget.is_some() || self.max_model.is_some()
    }

    /// What a training may take that belongs to a command of this start.
    pub fn within(&self, start: Instant) -> Limits {
        Limits {
            until: self.budget.map(|budget| start + budget.mul_f64(PLANNED)),
            grace: self.budget.map_or(Duration::ZERO, |budget| {
                budget.mul_f64(1.0 - PLANNED + GRACE) + GRACE_SECONDS
            }),
            bytes: self.max_model.map(|bytes| bytes.0),
        }
    }
}

impl Args {
    /// The algorithm for these rows: the one that was asked for, or the one that is best and fits.
    pub fn choose(
        &self,
        choice: &Choice,
        calibrate: bool,
        train: &Dataset,
        reader: Option<&TextReader>,
        context: &Context,
        task: &Task,
    ) -> Result<Settings> {
        let seed = match choice {
            Choice::Named(settings) => return Ok((**settings).clone()),
            Choice::Auto { seed } => *seed,
        };
        let limits = self.limits.within(context.started());
        let (threads, keeps_model) = (task.threads(), self.model.is_none());
        let has_memory = |settings: &Settings| {
            let rows = train.view();
            let need = TrainingNeed {
                calibrate,
                keeps_model,
                reader,
                ..TrainingNeed::new(rows, settings, threads)
            };
            fits(&need, context.max_memory)
        };
        let auto::Choice { settings, why } =
            auto::choose(train.view(), seed, limits, has_memory, task)?;
        why.iter().for_each(|reason| self.note(context, format!("auto: {reason}")));
        Ok(settings)
    }

    /// How text is read if that is to be chosen, or was chosen before.
    pub fn choose_text(
        &self,
        choice: &Choice,
        before: Option<&Training>,
        context: &Context,
        task: &Task,
    ) -> Result<Option<Params>> {
        if let Some(text) = before.and_then(|training| training.text.clone()) {
            let settings = serde_json::from_value::<TextSettings>(text);
            let settings = settings.context("the text settings of the training cannot be read")?;
            return Ok(Some(settings.vectoriser));
        }
        let &Choice::Auto { seed } = choice else { return Ok(None) };
        if self.split.train_split.is_some() {
            return Ok(None);
        }
        let limits = self.limits.within(context.started());
        self.learn.choose_text(seed, limits, |why| self.note(context, why), task)
    }

    /// What an unfinished training that is to be resumed, or a finished one, was begun with, if that was
    /// chosen then.
    pub fn chosen_before(&self, choice: &Choice) -> Result<Option<Training>> {
        let is_chosen = matches!(choice, Choice::Auto { .. });
        let target = self.model.as_ref().filter(|_| self.resume && is_chosen);
        let Some(target) = target else { return Ok(None) };
        if let Some(training) = unfinished(target)? {
            return Ok(Some(training));
        }
        match Manifest::read(target) {
            Ok(Manifest { training, .. }) if !self.overwrite => Ok(Some(training)),
            _ => Ok(None),
        }
    }

    /// The settings of a training that is gone on with.
    pub fn going_on(&self, training: Training, context: &Context) -> Result<Settings> {
        let settings = Settings::from_values(&training.algorithm, training.settings);
        let settings = settings
            .map_err(|reason| anyhow!("the settings to go on with cannot be read: {reason}"))?;
        self.note(context, format!("auto: going on with {}", settings.name()));
        Ok(settings)
    }
}

/// What a limited training came to, in a sentence.
pub fn outcome(args: &Args, planned: &Settings, grown: &Settings, start: Instant) -> String {
    let (most, found) = (planned.size(), grown.size());
    let is_whole = found == most;
    let part = |size: &Size| {
        let own = found.iter().find(|own| own.noun == size.noun);
        match own {
            Some(own) => {
                let was = if own.count == 1 { "was" } else { "were" };
                format!("{} of {} {was} grown", own.count, plural(size.count, size.noun))
            }
            None => format!("no {}", size.noun),
        }
    };
    let trees = match is_whole {
        true => "all trees were grown".to_owned(),
        false => most.iter().map(part).collect::<Vec<_>>().join(" and "),
    };
    let other = match grown.name() == planned.name() {
        true => String::new(),
        false => format!(": the model is {}", grown.name()),
    };
    let left_out = grown.left_out().map(|left_out| format!("; {left_out}")).unwrap_or_default();
    let used = shown(start.elapsed());
    let budget = args.limits.budget.map(|budget| format!("; {used} of {} are used", shown(budget)));
    let more = match args.limits.budget {
        Some(_) if is_whole => " (--trees and --label-trees allow more)",
        _ => "",
    };
    format!("limits: {trees}{other}{left_out}{}{more}", budget.unwrap_or_default())
}
