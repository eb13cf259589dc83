//! `labelwood inspect`: what is inside a model, and how far a plan has come.

mod page;
mod plan;

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use labelwood::algorithms::Table;
use labelwood::app::names_in;
use labelwood::data::LabelIndex;
use labelwood::model::{Model, UnitUse};
use labelwood::settings::{Favour, with_short_numbers};
use labelwood::store::Update;
use labelwood::words::plural;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::output::{as_object, print_as};
use crate::prediction::LoadArgs;
use crate::table::write_labelled;
use crate::terminal::{shortened, table_width};

/// How many of the most frequent labels are shown.
const FREQUENT: usize = 10;

/// Arguments of `labelwood inspect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model, its folder or file; or the folder of a plan
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
    print_as(args.json, &Inside::new(&model, names.as_ref()))
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
            let folder = folder.display();
            if let Some(like) = names.and_then(|names| Some(names.code(names.find_like(wanted)?))) {
                bail!("{folder}: there is no label `{wanted}`: did you mean `{like}`?");
            }
            bail!(
                "{folder}: there is no label `{wanted}`: predict or inspect without --label show how \
                 labels are called"
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
        let line = format!("{}{name}: {}", self.code, plural(self.instances, "training row"));
        write_labelled(out, ("", 0), &line, table_width())?;
        for Term { term, weight } in &self.terms {
            writeln!(out, "{}", shortened(&format!("  {weight:.3}  {term}"), table_width()))?;
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
    settings: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Value>,
    favour: Favour,
    #[serde(skip_serializing_if = "Option::is_none")]
    shrunk: Option<Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    updates: &'a [Update],
    bytes: u64,
    #[serde(serialize_with = "as_object")]
    bytes_by_part: Vec<(&'static str, u64)>,
    #[serde(flatten)]
    tables: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calibration: Vec<CurvePoint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold: Option<f32>,
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
    fn new(model: &'a Model, names: Option<&'a LabelIndex>) -> Self {
        let (manifest, labels) = (model.manifest(), model.labels());
        let manifest_bytes = manifest.to_bytes().len() as u64;
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
            settings: with_short_numbers(&training.settings),
            text: training.text.as_ref().map(with_short_numbers),
            favour: training.favour,
            shrunk: training.shrunk.as_ref().map(with_short_numbers),
            updates: &training.updates,
            bytes: manifest.bytes() + manifest_bytes,
            bytes_by_part: shown.chain([("manifest", manifest_bytes)]).collect(),
            tables: model.learned().tables().into_iter().map(table).collect(),
            calibration: [0.1, 0.3, 0.5, 0.7, 0.9].into_iter().filter_map(calibration).collect(),
            threshold: model.threshold(),
            trees: model.learned().figures().into_iter().map(line).collect(),
            model,
        }
    }
}
