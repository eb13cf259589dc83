//! `labelwood inspect`: what is inside a model, and how far a plan has come.

mod plan;

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use labelwood::calibration::Calibration;
use labelwood::favour::{Favour, Scores};
use labelwood::grove::Blend;
use labelwood::metrics::Slice;
use labelwood::model::store::Update;
use labelwood::model::{Learned, Model};
use serde::Serialize;

use crate::bytes::Bytes;
use crate::context::Context;
use crate::output::print;
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

    #[command(flatten)]
    loading: LoadArgs,
}

/// Opens a model and shows what is inside.
pub fn run(args: Args, context: &Context) -> Result<()> {
    let run = context.run()?;
    if args.model.join("plan.json").is_file() {
        return plan::show(&args.model, &args.units, args.json, &run);
    }
    if !args.units.is_empty() {
        bail!("{}: --units is for a plan, and there is none here", args.model.display());
    }
    let model = args.loading.open(&args.model, &run)?;
    if let Some(label) = &args.label {
        let terms = Terms::of(&args.model, &model, label)?;
        if args.json {
            return print(&format_args!("{}\n", serde_json::to_string(&terms)?));
        }
        return print(&terms);
    }
    let manifest_file = args.model.join("manifest.json");
    let manifest_bytes =
        fs::metadata(&manifest_file).with_context(|| manifest_file.display().to_string())?.len();
    let inside = Inside::new(&model, manifest_bytes);
    if args.json {
        return print(&format_args!("{}\n", serde_json::to_string(&inside)?));
    }
    print(&inside)
}

/// A label and what tells most about it; the line that `inspect --label --json` prints.
#[derive(Serialize)]
struct Terms {
    label: u32,
    code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    instances: u32,
    terms: Vec<Term>,
}

/// A term and by how much its mean value in the label's documents exceeds that in all.
#[derive(Serialize)]
struct Term {
    term: String,
    weight: f32,
}

impl Terms {
    fn of(folder: &Path, model: &Model, wanted: &str) -> Result<Self> {
        let names = model.labels().names();
        let found = names.and_then(|names| Some((names, names.find(wanted)?)));
        let Some((names, label)) = found else {
            bail!(
                "{}: there is no label `{wanted}`: predict or inspect without --label show how \
                 labels are called",
                folder.display()
            );
        };
        let Some(terms) = model.label_terms(label) else {
            bail!(
                "{}: --label needs a model that was trained on text with a vocabulary: this one \
                 knows its features by number only",
                folder.display()
            );
        };
        let term = |(term, weight): (&str, f32)| Term { term: term.to_owned(), weight };
        Ok(Terms {
            label,
            code: names.code(label).to_owned(),
            name: names.name(label).map(str::to_owned),
            instances: model.labels().counts()[label as usize],
            terms: terms.into_iter().map(term).collect(),
        })
    }
}

impl Display for Terms {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let name = self.name.as_deref().map(|name| format!("  {name}")).unwrap_or_default();
        writeln!(out, "{}{name}: {} training rows", self.code, self.instances)?;
        for Term { term, weight } in &self.terms {
            writeln!(out, "  {weight:.4}  {term}")?;
        }
        Ok(())
    }
}

/// What `inspect` shows; the line that `inspect --json` prints.
#[derive(Serialize)]
struct Inside {
    model_id: String,
    algorithm: String,
    instances: u64,
    features: u64,
    labels: u64,
    unseen_labels: usize,
    frequent_labels: Vec<FrequentLabel>,
    settings: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<serde_json::Value>,
    favour: Favour,
    #[serde(skip)]
    scores: Scores,
    #[serde(skip_serializing_if = "Option::is_none")]
    shrunk: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    updates: Vec<Update>,
    bytes: u64,
    bytes_by_part: Parts,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blend: Vec<BlendLine>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calibration: Vec<CurvePoint>,
    trees: Vec<TreeLine>,
}

/// What the parts of a grove make the probability of a label that so many training rows have, when
/// the one, the other or both score it 0.5, and the other 0.
#[derive(Serialize)]
struct BlendLine {
    labels: &'static str,
    instances: u32,
    forest: f32,
    label_tree: f32,
    both: f32,
}

/// The probability that a score stands for.
#[derive(Serialize)]
struct CurvePoint {
    score: f32,
    probability: f32,
}

impl BlendLine {
    fn all(blend: &Blend) -> Vec<Self> {
        let line = |instances| BlendLine {
            labels: Slice::of(instances).name(),
            instances,
            forest: blend.probability(0.5, 0.0, instances),
            label_tree: blend.probability(0.0, 0.5, instances),
            both: blend.probability(0.5, 0.5, instances),
        };
        [300, 30, 3].map(line).into()
    }
}

impl CurvePoint {
    fn all(calibration: &Calibration) -> Vec<Self> {
        let point = |score| CurvePoint { score, probability: calibration.probability(score) };
        [0.1, 0.3, 0.5, 0.7, 0.9].map(point).into()
    }
}

/// A label that many training rows have.
#[derive(Serialize)]
struct FrequentLabel {
    label: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    instances: u32,
}

/// The bytes of a model's files.
#[derive(Default, Serialize)]
struct Parts {
    trees: u64,
    features: u64,
    labels: u64,
    #[serde(skip_serializing_if = "is_zero")]
    text: u64,
    #[serde(skip_serializing_if = "is_zero")]
    calibration: u64,
    #[serde(skip_serializing_if = "is_zero")]
    rows: u64,
    manifest: u64,
}

/// A part that not all models have.
fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

/// A tree and its figures by their names, which differ from algorithm to algorithm.
#[derive(Serialize)]
struct TreeLine {
    unit: String,
    #[serde(flatten)]
    figures: serde_json::Map<String, serde_json::Value>,
    bytes: u64,
}

impl Inside {
    fn new(model: &Model, manifest_bytes: u64) -> Self {
        let manifest = model.manifest();
        let mut parts = Parts { manifest: manifest_bytes, ..Parts::default() };
        for unit in &manifest.units {
            match unit.name() {
                "features" | "linear-features" => parts.features += unit.bytes,
                "labels" => parts.labels += unit.bytes,
                "text" | "label-terms" => parts.text += unit.bytes,
                "blend" | "calibration" => parts.calibration += unit.bytes,
                stem if stem.starts_with("rows-") => parts.rows += unit.bytes,
                _ => parts.trees += unit.bytes,
            }
        }
        let line = |(unit, figures): (String, serde_json::Value)| {
            let own = manifest.units.iter().filter(|file| file.name().starts_with(&unit));
            TreeLine {
                bytes: own.map(|file| file.bytes).sum(),
                figures: figures.as_object().cloned().unwrap_or_default(),
                unit,
            }
        };
        let trees = figures(model.learned()).into_iter().map(line).collect();
        let blend = match model.learned() {
            Learned::Grove(grove) => BlendLine::all(grove.blend()),
            _ => Vec::new(),
        };
        let counts = model.labels().counts();
        let seen = |&label: &u32| counts[label as usize] > 0;
        let frequent = model.labels().most_frequent(FREQUENT).into_iter().filter(seen);
        Inside {
            model_id: manifest.model_id().to_string(),
            algorithm: manifest.training.algorithm.clone(),
            instances: manifest.instances,
            features: manifest.features,
            labels: manifest.labels,
            unseen_labels: counts.iter().filter(|&&count| count == 0).count(),
            frequent_labels: frequent
                .map(|label| FrequentLabel {
                    label,
                    name: model.labels().name(label).map(str::to_owned),
                    instances: counts[label as usize],
                })
                .collect(),
            settings: manifest.training.settings.clone(),
            text: manifest.training.text.clone(),
            favour: manifest.training.favour,
            scores: model.learned().scores(model.calibration().is_some()),
            shrunk: manifest.training.shrunk.clone(),
            updates: manifest.training.updates.clone(),
            bytes: manifest.bytes() + manifest_bytes,
            bytes_by_part: parts,
            blend,
            calibration: model.calibration().map(CurvePoint::all).unwrap_or_default(),
            trees,
        }
    }
}

impl Display for Inside {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "model_id    {}", self.model_id)?;
        writeln!(out, "algorithm   {}", self.algorithm)?;
        writeln!(
            out,
            "trained on  {} instances, {} features, {} labels",
            self.instances, self.features, self.labels
        )?;
        if !self.updates.is_empty() {
            let rows: Vec<String> = self.updates.iter().map(|one| one.rows.to_string()).collect();
            writeln!(out, "updated     {} times, by {} rows", rows.len(), rows.join(", "))?;
        }
        let Parts { trees, features, labels, text, calibration, rows, manifest } =
            self.bytes_by_part;
        let part = |name, bytes| match bytes {
            0 => String::new(),
            bytes => format!("{name} {}, ", Bytes(bytes)),
        };
        let text = part("text", text) + &part("calibration", calibration) + &part("rows", rows);
        writeln!(
            out,
            "size        {}: trees {}, feature weights {}, labels {}, {text}manifest {}",
            Bytes(self.bytes),
            Bytes(trees),
            Bytes(features),
            Bytes(labels),
            Bytes(manifest)
        )?;
        if self.favour == Favour::Tail {
            let weight = match self.scores {
                Scores::Probabilities => "inverse propensity",
                Scores::Everywhere => "the root of inverse propensity",
            };
            writeln!(out, "favours     rare labels (tail): ranked by score x {weight}")?;
        }
        self.write_settings(out)?;
        self.write_probabilities(out)?;
        self.write_labels(out)?;
        self.write_trees(out)
    }
}

impl Inside {
    fn write_settings(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let text = self.text.as_ref();
        let parts = [
            ("settings", Some(&self.settings)),
            ("made smaller", self.shrunk.as_ref()),
            ("documents", text.map(|text| &text["documents"])),
            ("text to vectors", text.map(|text| &text["vectoriser"])),
        ];
        for (title, settings) in parts {
            let Some(settings) = settings.and_then(serde_json::Value::as_object) else { continue };
            writeln!(out, "\n{title}")?;
            // Parts have settings of their own.
            let inner = |(name, value)| match serde_json::Value::as_object(value) {
                None => vec![(String::clone(name), value)],
                Some(part) => {
                    part.iter().map(|(inner, value)| (format!("{name} {inner}"), value)).collect()
                }
            };
            for (name, value) in settings.iter().flat_map(inner) {
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
            let name = name.as_deref().unwrap_or_default();
            writeln!(out, "  {}", format!("{label:>8} {instances:>9} rows  {name}").trim_end())?;
        }
        Ok(())
    }

    /// What scores mean, if they are probabilities.
    fn write_probabilities(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if !self.blend.is_empty() {
            writeln!(out, "\nblend: the probability of a label that scores 0.5 in")?;
            writeln!(out, "{:20}{:>12}{:>14}{:>8}", "", "the forest", "label trees", "both")?;
        }
        for BlendLine { labels, instances, forest, label_tree, both } in &self.blend {
            let labels = format!("  {labels}, {instances} rows");
            writeln!(out, "{labels:20}{forest:>12.3}{label_tree:>14.3}{both:>8.3}")?;
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

/// The figures of each tree or block by the name of its unit.
fn figures(learned: &Learned) -> Vec<(String, serde_json::Value)> {
    match learned {
        Learned::CraftMl(forest) => {
            named(|at| format!("tree-{at:04}"), forest.trees().iter().map(|tree| tree.figures()))
        }
        Learned::LabelTree(trees) => {
            named(|at| format!("tree-{at:04}"), trees.trees().iter().map(|tree| tree.figures()))
        }
        Learned::OneVsRest(labels) => named(
            |at| format!("block-{at:05}"),
            labels.blocks().iter().map(|block| block.figures()),
        ),
        Learned::LabelForest(forest) => named(
            |at| format!("submodel-{at:04}"),
            forest.submodels().iter().map(|tree| tree.figures()),
        ),
        Learned::Grove(grove) => {
            let (forest, label_tree) = (grove.forest().trees(), grove.label_tree().trees());
            let mut all =
                named(|at| format!("tree-{at:04}"), forest.iter().map(|tree| tree.figures()));
            all.extend(named(
                |at| format!("label-tree-{at:04}"),
                label_tree.iter().map(|tree| tree.figures()),
            ));
            all
        }
        _ => Vec::new(),
    }
}

fn named<T: Serialize>(
    name: impl Fn(usize) -> String,
    figures: impl Iterator<Item = T>,
) -> Vec<(String, serde_json::Value)> {
    let value = |figures| serde_json::to_value(figures).unwrap_or_default();
    figures.enumerate().map(|(at, tree)| (name(at), value(tree))).collect()
}
