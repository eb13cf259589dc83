//! `labelwood inspect`: what is inside a model, and how far a plan has come.

mod plan;

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use labelwood::Settings;
use labelwood::algorithms::Table;
use labelwood::app::names_in;
use labelwood::data::LabelIndex;
use labelwood::model::{Model, UnitUse};
use labelwood::run::Bytes;
use labelwood::settings::{Favour, Scores};
use labelwood::store::Update;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::output::{as_object, print_as};
use crate::prediction::LoadArgs;

/// How many of the most frequent labels are shown.
const FREQUENT: usize = 10;

/// Arguments of `labelwood inspect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of the model, or of a plan
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// Print it as one line of JSON
    #[arg(long)]
    json: bool,

    /// Show the terms that tell most about this label, by its name or as training had it
    #[arg(long, value_name = "NAME")]
    label: Option<String>,

    /// Of a plan: further folders with finished units, such as copies of the plan from other machines
    #[arg(long, value_name = "DIR", num_args = 1..)]
    units: Vec<PathBuf>,

    /// Show the names of labels in this language, where they have some, such as fi or pt-br
    #[arg(long, value_name = "TAG")]
    language: Option<String>,

    #[command(flatten)]
    loading: LoadArgs,
}

/// Opens a model and shows what is inside.
pub fn run(args: Args, context: &Context) -> Result<()> {
    let task = context.run()?;
    if args.model.join("plan.json").is_file() {
        return plan::show(&args.model, &args.units, args.json, &task);
    }
    if !args.units.is_empty() {
        bail!("{}: --units is for a plan, and there is none here", args.model.display());
    }
    let model = args.loading.open(&args.model, &task)?;
    let names = names_in(&model, args.language.as_deref())?;
    if let Some(label) = &args.label {
        return print_as(args.json, &Terms::of(&args.model, &model, label, names.as_ref())?);
    }
    let manifest_file = args.model.join("manifest.json");
    let manifest_bytes =
        fs::metadata(&manifest_file).with_context(|| manifest_file.display().to_string())?.len();
    print_as(args.json, &Inside::new(&model, names.as_ref(), manifest_bytes))
}

/// A label and what tells most about it; the line that `inspect --label --json` prints.
#[derive(Serialize)]
struct Terms<'a> {
    label: u32,
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    instances: u32,
    terms: Vec<Term<'a>>,
}

/// A term and by how much its mean value in the label's documents exceeds that in all.
#[derive(Serialize)]
struct Term<'a> {
    term: &'a str,
    weight: f32,
}

impl<'a> Terms<'a> {
    fn of(
        folder: &Path,
        model: &'a Model,
        wanted: &str,
        names: Option<&'a LabelIndex>,
    ) -> Result<Self> {
        let find = |names: &LabelIndex| names.find(wanted).or_else(|| model.labels().find(wanted));
        let found = names.and_then(|names| Some((names, find(names)?)));
        let Some((names, label)) = found else {
            bail!(
                "{}: there is no label `{wanted}`: predict or inspect without --label show how \
                 labels are called",
                folder.display()
            );
        };
        let Some(terms) = model.label_terms(label) else {
            bail!(
                "{}: --label needs a model that was trained on text and keeps terms: this one \
                 knows its features by number only",
                folder.display()
            );
        };
        Ok(Terms {
            label,
            code: names.code(label),
            name: names.name(label),
            instances: model.labels().counts()[label as usize],
            terms: terms.into_iter().map(|(term, weight)| Term { term, weight }).collect(),
        })
    }
}

impl Display for Terms<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let name = self.name.map(|name| format!("  {name}")).unwrap_or_default();
        writeln!(out, "{}{name}: {} training rows", self.code, self.instances)?;
        for Term { term, weight } in &self.terms {
            writeln!(out, "  {weight:.4}  {term}")?;
        }
        Ok(())
    }
}

/// What `inspect` shows; the line that `inspect --json` prints.
#[derive(Serialize)]
struct Inside<'a> {
    model_id: String,
    algorithm: &'a str,
    instances: u64,
    features: u64,
    labels: u64,
    unseen_labels: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    vocabulary: Option<VocabularyLine<'a>>,
    frequent_labels: Vec<FrequentLabel<'a>>,
    settings: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a Value>,
    favour: Favour,
    #[serde(skip_serializing_if = "Option::is_none")]
    shrunk: Option<&'a Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    updates: &'a [Update],
    bytes: u64,
    #[serde(serialize_with = "as_object")]
    bytes_by_part: Vec<(&'static str, u64)>,
    #[serde(flatten)]
    tables: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calibration: Vec<CurvePoint>,
    trees: Vec<TreeLine>,
    #[serde(skip)]
    model: &'a Model,
}

/// The probability that a score stands for.
#[derive(Serialize)]
struct CurvePoint {
    score: f32,
    probability: f32,
}

/// A label that many training rows have.
#[derive(Serialize)]
struct FrequentLabel<'a> {
    label: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    instances: u32,
}

/// What is known of the labels besides their codes.
#[derive(Serialize)]
struct VocabularyLine<'a> {
    /// How many labels have a preferred name.
    names: usize,
    /// How many further names there are.
    further_names: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    languages: Vec<&'a str>,
    /// How many pairs of a label and a broader one there are.
    broader: usize,
}

impl<'a> VocabularyLine<'a> {
    fn of(names: &'a LabelIndex) -> Self {
        let ids = || 0..names.len() as u32;
        let preferred = ids().filter(|&id| names.name(id).is_some()).count();
        VocabularyLine {
            names: preferred,
            further_names: ids().map(|id| names.names(id).count()).sum::<usize>() - preferred,
            languages: names.languages().collect(),
            broader: names.broader_pairs(),
        }
    }

    /// Whether there is more than a code for each label.
    fn is_rich(&self) -> bool {
        self.names + self.further_names + self.languages.len() + self.broader > 0
    }
}

/// What the bytes of a model's files are for; those of the first three are shown even if there are
/// none.
const USES: [(&str, UnitUse); 6] = [
    ("trees", UnitUse::Learned),
    ("features", UnitUse::FeatureWeights),
    ("labels", UnitUse::Labels),
    ("text", UnitUse::Text),
    ("calibration", UnitUse::Probabilities),
    ("rows", UnitUse::Rows),
];

/// A tree and its figures by their names, which differ from algorithm to algorithm.
#[derive(Serialize)]
struct TreeLine {
    unit: String,
    #[serde(flatten)]
    figures: Map<String, Value>,
    bytes: u64,
}

impl<'a> Inside<'a> {
    fn new(model: &'a Model, names: Option<&'a LabelIndex>, manifest_bytes: u64) -> Self {
        let (manifest, labels) = (model.manifest(), model.labels());
        let training = &manifest.training;
        let bytes_for = |(name, what): (&'static str, UnitUse)| {
            let units = manifest.units.iter().filter(|unit| model.unit_use(unit.name()) == what);
            (name, units.map(|unit| unit.bytes).sum())
        };
        let uses = USES.into_iter().map(bytes_for).enumerate();
        let shown = uses.filter(|&(at, (_, bytes))| at < 3 || bytes > 0).map(|(_, own)| own);
        let line = |(unit, figures): (String, Value)| {
            let own = manifest.units.iter().filter(|file| file.name().starts_with(&unit));
            TreeLine {
                bytes: own.map(|file| file.bytes).sum(),
                figures: figures.as_object().cloned().unwrap_or_default(),
                unit,
            }
        };
        let table = |table: Table| (table.name.to_owned(), table.rows.into());
        let frequent = |label| {
            let name = names.map(|names| names.display(label));
            let instances = labels.counts()[label as usize];
            FrequentLabel { label, name, instances }
        };
        let frequent = labels.most_frequent(FREQUENT).into_iter().map(frequent);
        let calibration = |score| {
            Some(CurvePoint { score, probability: model.calibration()?.probability(score) })
        };
        Inside {
            model_id: manifest.model_id().to_string(),
            algorithm: &training.algorithm,
            instances: manifest.instances,
            features: manifest.features,
            labels: manifest.labels,
            unseen_labels: labels.counts().iter().filter(|&&count| count == 0).count(),
            vocabulary: labels.names().map(VocabularyLine::of),
            frequent_labels: frequent.filter(|label| label.instances > 0).collect(),
            settings: &training.settings,
            text: training.text.as_ref(),
            favour: training.favour,
            shrunk: training.shrunk.as_ref(),
            updates: &training.updates,
            bytes: manifest.bytes() + manifest_bytes,
            bytes_by_part: shown.chain([("manifest", manifest_bytes)]).collect(),
            tables: model.learned().tables().into_iter().map(table).collect(),
            calibration: [0.1, 0.3, 0.5, 0.7, 0.9].into_iter().filter_map(calibration).collect(),
            trees: model.learned().figures().into_iter().map(line).collect(),
            model,
        }
    }
}

impl Display for Inside<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "model_id    {}", self.model_id)?;
        writeln!(out, "algorithm   {}", self.algorithm)?;
        writeln!(
            out,
            "trained on  {} instances, {} features, {} labels",
            self.instances, self.features, self.labels
        )?;
        if let Some(known) = self.vocabulary.as_ref().filter(|known| known.is_rich()) {
            let languages = match &known.languages[..] {
                [] => String::new(),
                tags => format!(" ({})", tags.join(", ")),
            };
            writeln!(
                out,
                "vocabulary  {} names and {} further ones{languages}, {} broader pairs",
                known.names, known.further_names, known.broader
            )?;
        }
        if !self.updates.is_empty() {
            let rows: Vec<String> = self.updates.iter().map(|one| one.rows.to_string()).collect();
            writeln!(out, "updated     {} times, by {} rows", rows.len(), rows.join(", "))?;
        }
        let part = |&(name, bytes): &(&str, u64)| {
            let name = if name == "features" { "feature weights" } else { name };
            format!("{name} {}", Bytes(bytes))
        };
        let parts: Vec<String> = self.bytes_by_part.iter().map(part).collect();
        writeln!(out, "size        {}: {}", Bytes(self.bytes), parts.join(", "))?;
        if let Some(chosen) = self.model.learned().settings().chosen() {
            writeln!(out, "parts       {chosen}")?;
        }
        if self.favour == Favour::Tail {
            let is_calibrated = self.model.calibration().is_some();
            let weight = match self.model.learned().settings().scores(is_calibrated) {
                Scores::Probabilities => "inverse propensity",
                Scores::Unbounded => "the root of inverse propensity",
            };
            writeln!(out, "favours     rare labels (tail): ranked by score x {weight}")?;
        }
        self.write_settings(out)?;
        self.write_probabilities(out)?;
        self.write_labels(out)?;
        self.write_trees(out)
    }
}

impl Inside<'_> {
    fn write_settings(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let of_text = |name| self.text.map(|text| entries(&text[name])).unwrap_or_default();
        let sections = [
            ("settings", shown_settings(&self.model.learned().settings())),
            ("made smaller", self.shrunk.map(entries).unwrap_or_default()),
            ("documents", of_text("documents")),
            ("text to vectors", of_text("vectoriser")),
        ];
        for (title, settings) in sections.iter().filter(|(_, settings)| !settings.is_empty()) {
            writeln!(out, "\n{title}")?;
            for (name, value) in settings {
                let shown = match value.as_str() {
                    Some(" ") => "space".to_owned(),
                    Some(text) => text.to_owned(),
                    None if value.is_null() => "none".to_owned(),
                    None => value.to_string(),
                };
                let width = if name.contains(' ') { 32 } else { 20 };
                writeln!(out, "  {:width$}{shown}", name.replace('_', "-"))?;
            }
        }
        Ok(())
    }

    fn write_labels(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "\nlabels: {}", self.labels)?;
        writeln!(out, ", of which {} have no training row", self.unseen_labels)?;
        for FrequentLabel { label, name, instances } in &self.frequent_labels {
            let name = name.unwrap_or_default();
            writeln!(out, "  {}", format!("{label:>8} {instances:>9} rows  {name}").trim_end())?;
        }
        Ok(())
    }

    /// What scores mean, if they are probabilities.
    fn write_probabilities(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for Table { name, title, rows } in &self.model.learned().tables() {
            writeln!(out, "\n{}: {title}", name.replace('_', " "))?;
            let columns = rows.first().into_iter().flat_map(|row| row.keys());
            let mut columns: Vec<&String> = columns.collect();
            columns.sort_by_key(|column| *column != "instances");
            let cell = |row: &Map<String, Value>, column: &String| match row.get(column) {
                Some(Value::String(text)) => text.replace('_', " "),
                Some(number) if column == "percent" => {
                    format!("{:.1}", number.as_f64().unwrap_or(0.0))
                }
                Some(Value::Number(number)) if number.is_f64() => {
                    format!("{:.3}", number.as_f64().unwrap_or(0.0))
                }
                other => other.map(Value::to_string).unwrap_or_default(),
            };
            let widest = |column: &&String| {
                let cells = rows.iter().map(|row| cell(row, column).len() + 2);
                cells.chain([width(column) + 2]).max().unwrap_or(0)
            };
            let widths: Vec<usize> = columns.iter().map(widest).collect();
            for (column, width) in columns.iter().zip(&widths) {
                write!(out, "{:>width$}", column.replace('_', " "))?;
            }
            writeln!(out)?;
            for row in rows {
                for (column, width) in columns.iter().zip(&widths) {
                    write!(out, "{:>width$}", cell(row, column))?;
                }
                writeln!(out)?;
            }
        }
        if !self.calibration.is_empty() {
            writeln!(out, "\ncalibration: raw scores and the probabilities that are shown")?;
        }
        for CurvePoint { score, probability } in &self.calibration {
            writeln!(out, "  {score:.1}  {probability:.3}")?;
        }
        Ok(())
    }

    /// A line for each tree, and one for all of them, for each kind of tree.
    fn write_trees(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let is_same_kind =
            |left: &TreeLine, right: &TreeLine| left.figures.keys().eq(right.figures.keys());
        self.trees.chunk_by(is_same_kind).try_for_each(|trees| write_kind(out, trees))
    }
}

/// The lines of trees of one kind; the last has the sum of each figure, but of depths and largest
/// leaves the largest.
fn write_kind(out: &mut Formatter<'_>, trees: &[TreeLine]) -> fmt::Result {
    let names: Vec<&String> = trees[0].figures.keys().collect();
    let of = |tree: &TreeLine, name: &str| tree.figures[name].as_u64().unwrap_or(0);
    let first = trees.iter().map(|tree| tree.unit.len() + 2).max().unwrap_or(0).max(14);
    write!(out, "\n{:first$}", "")?;
    for name in &names {
        write!(out, "{:>width$}", name.replace('_', " "), width = width(name))?;
    }
    writeln!(out, "{:>12}", "size")?;
    let line = |out: &mut Formatter<'_>, unit: &str, figure: &dyn Fn(&str) -> u64, bytes| {
        write!(out, "{unit:first$}")?;
        for name in &names {
            write!(out, "{:>width$}", figure(name), width = width(name))?;
        }
        writeln!(out, "{:>12}", Bytes(bytes).to_string())
    };
    for tree in trees {
        line(out, &tree.unit, &|name| of(tree, name), tree.bytes)?;
    }
    let total = |name: &str| {
        let figures = trees.iter().map(|tree| of(tree, name));
        let is_largest = name == "depth" || name.starts_with("largest");
        if is_largest { figures.max().unwrap_or(0) } else { figures.sum() }
    };
    line(out, "all", &total, trees.iter().map(|tree| tree.bytes).sum())
}

/// The width of a figure's column.
fn width(name: &str) -> usize {
    name.len().max(7) + 2
}

/// The names and values of a JSON object.
fn entries(object: &Value) -> Vec<(String, Value)> {
    let entries = object.as_object().into_iter().flatten();
    entries.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The settings of an algorithm; those of its parts, if it has parts, each after the part's name.
fn shown_settings(settings: &Settings) -> Vec<(String, Value)> {
    let own = |settings: &Settings| {
        let table = settings.table();
        let shown = |(name, value): (String, Value)| {
            let setting = table.iter().find(|setting| setting.name == name);
            let shown = setting.filter(|_| value.is_f64()).map(|setting| setting.shown(&value));
            (name, shown.map_or(value, Into::into))
        };
        entries(&settings.values()).into_iter().map(shown).collect::<Vec<_>>()
    };
    let of_part = |part: &Settings| {
        let named = |(name, value)| (format!("{} {name}", part.name()), value);
        own(part).into_iter().map(named).collect::<Vec<_>>()
    };
    match settings.parts() {
        [] => own(settings),
        parts => parts.iter().flat_map(of_part).collect(),
    }
}
