//! The settings of an algorithm as flags, made from the library's tables of settings.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::builder::{BoolValueParser, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use labelwood::Settings;
use labelwood::algorithms::SetError;
use labelwood::settings::Favour;
use labelwood::settings::{Kind, ParamError, Setting};
use labelwood::store::{Manifest, Training};
use labelwood::text::{Frequency, TextSettings};
use serde::de::{DeserializeOwned, IntoDeserializer, value};
use serde_json::{Map, Value, json};

use crate::args::whole;
use crate::context::Context;

/// Where the settings come from.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingsArgs {
    /// What to learn; auto chooses [default: grove]
    #[arg(long, value_name = "NAME", value_delimiter = ',', hide_possible_values = true,
        value_parser = PossibleValuesParser::new(names()), long_help = algorithm_help())]
    algorithm: Vec<String>,

    /// Settings to start from, which the flags below change; `labelwood train --algorithm NAME --help`
    /// lists those of an algorithm [default: default]
    #[arg(long, value_name = "NAME", conflicts_with = "settings",
        value_parser = PossibleValuesParser::new(presets()), hide_possible_values = true)]
    preset: Option<String>,

    /// Start from the settings of this model, or from those that `tune` found in this folder; the
    /// seed included
    #[arg(long, value_name = "MODEL")]
    settings: Option<PathBuf>,

    #[command(flatten)]
    typed: Typed,
}

/// The settings that were typed, by the names that they have in the library.
#[derive(Clone, Debug, Default)]
struct Typed(Map<String, Value>);

/// A flag: the setting of this name, of all algorithms that have it.
pub struct Flag {
    /// The setting's name.
    pub name: &'static str,
    /// The algorithms that have it, or `text`.
    pub of: Vec<(&'static str, Setting)>,
}

/// The flags of all algorithms' settings, those of most algorithms first.
fn flags() -> Vec<Flag> {
    let mut flags: Vec<Flag> = Vec::new();
    for settings in Settings::all() {
        for setting in settings.table().into_iter().filter(|setting| !setting.is_elsewhere) {
            let own = (settings.name(), setting);
            match flags.iter_mut().find(|flag| flag.name == own.1.name) {
                Some(flag) => flag.of.push(own),
                None => flags.push(Flag { name: own.1.name, of: vec![own] }),
            }
        }
    }
    flags.sort_by_key(|flag| std::cmp::Reverse(flag.of.len()));
    flags
}

impl Flag {
    /// The argument, as far as it concerns one algorithm, or all.
    pub fn arg(&self, of: Option<&str>) -> Arg {
        let own = |(name, _): &&(&str, Setting)| of.is_none_or(|of| of == *name);
        let shown: Vec<_> = self.of.iter().filter(own).collect();
        let is_shown = !shown.is_empty();
        let of = if is_shown { shown } else { self.of.iter().collect() };
        let setting = &self.of[0].1;
        let arg = Arg::new(self.name)
            .long(setting.flag())
            .help(help(&of))
            .help_heading(heading(&of))
            .hide(!is_shown);
        if let Some((_, help)) = setting.off {
            let parser = BoolValueParser::new().map(|is_off| Value::from(!is_off));
            return arg.help(help).action(ArgAction::SetTrue).value_parser(parser);
        }
        match setting.kind {
            Kind::Whole { .. } => {
                let kind = setting.kind.clone();
                arg.value_name("N").allow_negative_numbers(true).value_parser(move |text: &str| {
                    let number = whole(text).map(Value::from);
                    number.map_err(|problem| match (text.parse::<i128>(), &kind) {
                        (Ok(..0), Kind::Whole { least, .. }) => format!("must be at least {least}"),
                        _ => problem,
                    })
                })
            }
            Kind::Number { .. } => {
                arg.value_name("X").allow_negative_numbers(true).value_parser(|text: &str| {
                    let number = text.parse::<f64>().map(Value::from);
                    number.map_err(|_| "expected a number such as 0.5")
                })
            }
            Kind::Flag => {
                arg.value_name("true|false").value_parser(BoolValueParser::new().map(Value::from))
            }
            Kind::Lengths => arg.value_name("A,B").value_parser(lengths),
            Kind::CountOrShare => arg
                .value_name("N|SHARE")
                .value_parser(|text: &str| text.parse().map(|found: Frequency| json!(found))),
            _ => {
                let names = PossibleValuesParser::new(self.choices());
                arg.value_name("NAME").value_parser(names.map(Value::from))
            }
        }
    }

    /// The names that any algorithm has for the setting.
    fn choices(&self) -> Vec<&'static str> {
        let mut all = Vec::new();
        for (_, setting) in &self.of {
            if let Kind::Choice(names) = setting.kind {
                all.extend(
                    names.iter().filter(|name| !all.contains(*name)).copied().collect::<Vec<_>>(),
                );
            }
        }
        all
    }

    /// The value that was typed.
    pub fn value(&self, matches: &ArgMatches) -> Option<Value> {
        let is_typed = matches.value_source(self.name) == Some(ValueSource::CommandLine);
        matches.get_one(self.name).filter(|_| is_typed).cloned()
    }
}

/// From how many to how many, or null for none.
fn lengths(text: &str) -> Result<Value, &'static str> {
    if text == "none" {
        return Ok(Value::Null);
    }
    let (least, most) = text.split_once(',').unwrap_or((text, text));
    match (least.trim().parse::<usize>(), most.trim().parse::<usize>()) {
        (Ok(least), Ok(most)) if least > 0 => Ok(json!([least, most])),
        _ => Err("expected two lengths such as 1,2, or none"),
    }
}

/// What the setting does, once for all algorithms that say the same.
fn help(of: &[&(&str, Setting)]) -> String {
    let mut texts: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, setting) in of {
        match texts.iter_mut().find(|(text, _)| *text == setting.help) {
            Some((_, names)) => names.push(name),
            None => texts.push((&setting.help, vec![name])),
        }
    }
    match &texts[..] {
        [(text, _)] => text.trim_end_matches('.').to_owned(),
        texts => {
            let of = |(text, names): &(&str, Vec<&str>)| format!("{}: {text}", names.join(", "));
            texts.iter().map(of).collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned()
        }
    }
}

/// The heading that tells which algorithms have the setting.
fn heading(of: &[&(&str, Setting)]) -> String {
    let names: Vec<&str> = of.iter().map(|(name, _)| *name).collect();
    match &names[..] {
        [] | [_] => format!("Settings of {}", names.concat()),
        [all @ .., last] => format!("Settings of {} and {last}", all.join(", ")),
    }
}

impl Args for Typed {
    fn augment_args(command: Command) -> Command {
        command.args(flags().iter().map(|flag| flag.arg(None)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Typed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = flags()
            .into_iter()
            .filter_map(|flag| Some((flag.name.to_owned(), flag.value(matches)?)));
        Ok(Typed(typed.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The same command with the flags of one algorithm's settings only, and its presets by name.
pub fn only_of(command: Command, algorithm: &Settings) -> Command {
    let presets: Vec<&str> = algorithm.presets().iter().map(|(name, _)| *name).collect();
    let presets = format!("Settings to start from: {} [default: default]", presets.join(", "));
    let (all, table) = (flags(), algorithm.table());
    command.about(format!("{}: {}", algorithm.name(), algorithm.about())).mut_args(|arg| {
        let Some(flag) = all.iter().find(|flag| arg.get_id() == flag.name) else {
            return if arg.get_id() == "preset" { arg.help(presets.clone()) } else { arg };
        };
        let arg = flag.arg(Some(algorithm.name()));
        let Some(at) = table.iter().position(|setting| setting.name == flag.name) else {
            return arg;
        };
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let value = algorithm.find(flag.name).unwrap_or_default();
        arg.help(help + &default(&table[at], &value)).display_order(100 + at)
    })
}

/// The default of a setting and its range, after its help.
pub fn default(setting: &Setting, value: &Value) -> String {
    let range = match setting.kind {
        Kind::Whole { .. } | Kind::Number { .. } => format!("; {}", setting.kind),
        _ => String::new(),
    };
    format!(" [default: {}{range}]", setting.shown(value))
}

/// What `--algorithm` takes.
fn algorithm_help() -> String {
    format!(
        "What to learn [default: grove]: {}\n\nauto takes the grove, or what is better for these rows, and says \
         why. `tune` chooses among several, as in grove,craftml, and auto has it choose among all that do well \
         alone.",
        names().join(", ")
    )
}

/// The algorithm that is chosen for the data.
const AUTO: &str = "auto";

fn names() -> Vec<&'static str> {
    Settings::names().into_iter().chain([AUTO]).collect()
}

/// The presets of all algorithms.
fn presets() -> Vec<&'static str> {
    let all = Settings::all().flat_map(|settings| settings.presets());
    let mut presets: Vec<_> = all.map(|(name, _)| name).collect();
    presets.sort_unstable();
    presets.dedup();
    presets
}

/// A parser of the names that a setting of the library has in model files.
pub fn named<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| {
        let name: value::StringDeserializer<value::Error> = name.into_deserializer();
        T::deserialize(name)
    })
}

/// What is to be learned.
#[derive(Debug)]
pub enum Choice {
    /// What is best for the data.
    Auto {
        /// Seed of all randomness.
        seed: u64,
    },
    /// This.
    Named(Box<Settings>),
}

impl SettingsArgs {
    /// What the flags mean, checked, for a model that favours such labels.
    pub fn resolve(&self, favour: Favour, context: &Context) -> Result<Choice> {
        match &self.algorithm[..] {
            [name] if name == AUTO => {
                self.refuse_settings()?;
                Ok(Choice::Auto { seed: context.seed })
            }
            [] | [_] => Ok(Choice::Named(Box::new(self.named(self.typed(), favour, context)?))),
            several => bail!(
                "--algorithm {}: choose one; `labelwood tune` chooses among several",
                several.join(",")
            ),
        }
    }

    /// The same for a choice among several: the settings of each algorithm to start from. What is typed is
    /// for those that have such a setting. Nothing with auto, which depends on the rows.
    pub fn starts(&self, favour: Favour, context: &Context) -> Result<Option<Vec<Settings>>> {
        if self.algorithm.iter().any(|name| name == AUTO) {
            if self.algorithm.len() > 1 {
                bail!("--algorithm auto stands alone: it is a list of algorithms already");
            }
            self.refuse_settings()?;
            return Ok(None);
        }
        let [_, _, ..] = &self.algorithm[..] else {
            return Ok(Some(vec![self.named(self.typed(), favour, context)?]));
        };
        let mut names: Vec<String> = Vec::new();
        for name in &self.algorithm {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let mut unknown = self.typed().clone();
        let start = |name: &String| {
            let args = SettingsArgs { algorithm: vec![name.clone()], ..self.clone() };
            let table = Settings::named(name).map(|known| known.table()).unwrap_or_default();
            let mut typed = self.typed().clone();
            typed.retain(|typed, _| table.iter().any(|setting| setting.name == typed));
            unknown.retain(|setting, _| !typed.contains_key(setting));
            args.named(&typed, favour, context)
        };
        let starts = names.iter().map(start).collect::<Result<_>>()?;
        if let Some(setting) = unknown.keys().next() {
            bail!("--{} is no setting of {}", setting.replace('_', "-"), names.join(", "));
        }
        Ok(Some(starts))
    }

    /// Refuses settings beside auto.
    fn refuse_settings(&self) -> Result<()> {
        let typed = self.typed().keys().next().cloned();
        let others = [("preset", self.preset.is_some()), ("settings", self.settings.is_some())];
        let other = others.iter().find(|(_, is_typed)| *is_typed).map(|(flag, _)| flag.to_string());
        if let Some(flag) = typed.or(other) {
            let flag = flag.replace('_', "-");
            bail!(
                "--{flag} does not go with auto, which chooses settings: leave it out, or choose an --algorithm"
            );
        }
        Ok(())
    }

    /// The algorithm that is named, with what was typed.
    fn named(
        &self,
        typed: &Map<String, Value>,
        favour: Favour,
        context: &Context,
    ) -> Result<Settings> {
        let (base, seed) = match &self.settings {
            Some(model) => (self.of_model(model)?, context.typed_seed),
            None => (self.of_preset()?, Some(context.seed)),
        };
        // What the model weighed is for what it favours.
        let base = if favour == self.favour()? { base } else { base.favouring(None) };
        let mut typed = typed.clone();
        if let Some(seed) = seed {
            typed.insert("seed".to_owned(), seed.into());
        }
        Ok(over(&base, typed)?.favour(favour))
    }

    /// The settings that were typed, by the names that they have in the library.
    pub fn typed(&self) -> &Map<String, Value> {
        &self.typed.0
    }

    fn of_preset(&self) -> Result<Settings> {
        let default = Settings::default().name();
        let name = self.algorithm.first().map_or(default, String::as_str);
        let preset = self.preset.as_deref().unwrap_or("default");
        Settings::preset(name, preset).ok_or_else(|| {
            let has = |name: &&str| Settings::preset(name, preset).is_some();
            let others: Vec<&str> = Settings::names().into_iter().filter(has).collect();
            anyhow!(
                "--preset {preset} is none of {name}: add --algorithm {}",
                others.join(" or --algorithm ")
            )
        })
    }

    /// The algorithm and settings that a model was trained with.
    fn of_model(&self, model: &Path) -> Result<Settings> {
        let training = training(model)?;
        if let Some(name) = self.algorithm.first().filter(|name| **name != training.algorithm) {
            bail!(
                "--algorithm is {name}, but {} was trained with {}: leave one of --algorithm and \
                 --settings out",
                model.display(),
                training.algorithm
            );
        }
        Settings::from_values(&training.algorithm, training.settings)
            .map_err(|reason| anyhow!("{}: its settings cannot be read: {reason}", model.display()))
    }

    /// Whether the model whose settings are taken is calibrated.
    pub fn is_calibrated(&self) -> Result<bool> {
        let Some(model) = &self.settings else { return Ok(false) };
        Ok(training(model)?.calibrate)
    }

    /// Whether the model whose settings are taken learned a threshold by itself.
    pub fn has_threshold(&self) -> Result<bool> {
        let Some(model) = &self.settings else { return Ok(false) };
        Ok(training(model)?.threshold)
    }

    /// What the model whose settings are taken favours.
    pub fn favour(&self) -> Result<Favour> {
        let Some(model) = &self.settings else { return Ok(Favour::None) };
        Ok(training(model)?.favour)
    }

    /// How the model whose settings are taken reads text, if it does.
    pub fn text(&self) -> Result<Option<TextSettings>> {
        let Some(model) = &self.settings else { return Ok(None) };
        let Some(text) = training(model)?.text else { return Ok(None) };
        let settings = serde_json::from_value(text)
            .with_context(|| format!("{}: its text settings cannot be read", model.display()))?;
        Ok(Some(settings))
    }
}

/// The file in the folder of a tuning that says what to train with.
pub const TUNED: &str = "settings.json";

/// What a model was trained with, or what a tuning found.
fn training(folder: &Path) -> Result<Training> {
    let tuned = folder.join(TUNED);
    if !tuned.exists() {
        return Ok(Manifest::read(folder)?.training);
    }
    let text = fs::read(&tuned).with_context(|| tuned.display().to_string())?;
    serde_json::from_slice(&text).with_context(|| tuned.display().to_string())
}

/// `base` with what was typed; a wrong value is named as it was typed.
fn over(base: &Settings, typed: Map<String, Value>) -> Result<Settings> {
    let name = base.name();
    let mut settings = base.clone();
    for (setting, value) in typed {
        let flag = setting.replace('_', "-");
        if value.is_null() {
            bail!("--{flag} must be a finite number");
        }
        if let Some(known) = settings.table().iter().find(|known| known.name == setting) {
            known.check(&value).map_err(as_flag)?;
        }
        // One by one, so that the one to blame can be named.
        let changed = settings.with(&setting, &value).map_err(|error| match error {
            SetError::Unknown => anyhow!(
                "--{flag} is no setting of {name}: leave it out, or choose another --algorithm"
            ),
            SetError::Wrong(reason) => {
                let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                anyhow!("--{flag} {shown} does not go with {name}: {reason}")
            }
        });
        settings = changed?;
    }
    settings.check().map_err(as_flag)?;
    Ok(settings)
}

/// The error with the setting's name as it is typed.
pub fn as_flag(error: ParamError) -> anyhow::Error {
    let ParamError { setting, found, expected } = error;
    anyhow::anyhow!("--{} is {found}, but must be {expected}", setting.replace('_', "-"))
}
