//! What the models know of their labels.

use super::body::{Params, Place};
use super::predict::{Label, json, label, names_in};
use super::problem::{Problem, Problems};
use crate::app::App;
use crate::project::Opened;
use axum::extract::State;
use axum::response::Response;
use labelwood::data::LabelIndex;
use labelwood::run::Task;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// The most labels of one answer.
const MOST: usize = 1000;
/// How many training rows are shown for a label.
const EXAMPLES: usize = 5;
/// The longest text that is searched for.
const LONGEST: usize = 200;

/// Which labels are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Search {
    /// What stands in a name or the code, in upper or lower case; without it, all labels.
    #[param(nullable = false, max_length = 200)]
    search: Option<String>,
    /// How many are wanted.
    #[serde(default = "twenty")]
    #[param(required = false, default = 20, minimum = 0, maximum = 1000)]
    limit: usize,
    /// How many of the best are left out.
    #[serde(default)]
    #[param(required = false, default = 0, minimum = 0)]
    offset: usize,
    /// The language of the names.
    #[param(nullable = false)]
    language: Option<String>,
}

fn twenty() -> usize {
    20
}

/// The language of the names.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct InLanguage {
    /// The language of the names.
    #[param(nullable = false)]
    language: Option<String>,
}

/// Labels, the best matches first.
#[derive(Serialize, ToSchema)]
struct LabelList<'a> {
    /// How many there are.
    total: usize,
    labels: Vec<CountedLabel<'a>>,
}

/// A label, and how frequent it is.
#[derive(Serialize, ToSchema)]
struct CountedLabel<'a> {
    #[serde(flatten)]
    label: Label<'a>,
    /// How many training rows have it.
    count: u32,
}

/// All that is known of a label.
#[derive(Serialize, ToSchema)]
struct LabelCard<'a> {
    #[serde(flatten)]
    label: Label<'a>,
    /// What it is called.
    names: Vec<Name<'a>>,
    /// The labels right above it, as the vocabulary has them.
    broader: Vec<Label<'a>>,
    /// Those right below it.
    narrower: Vec<Label<'a>>,
    /// How many training rows have it.
    count: u32,
    /// The words that tell most about it, best first.
    terms: Vec<Term<'a>>,
    /// Training rows that have it, if the model keeps these.
    examples: Vec<Example<'a>>,
}

#[derive(Serialize, ToSchema)]
struct Name<'a> {
    /// The language, if it is known.
    language: Option<&'a str>,
    name: &'a str,
    /// Whether it is the name that is shown.
    preferred: bool,
}

#[derive(Serialize, ToSchema)]
struct Term<'a> {
    term: &'a str,
    weight: f32,
}

/// A training row.
#[derive(Serialize, ToSchema)]
struct Example<'a> {
    /// Its number, from 0.
    row: u32,
    /// The words that weigh most in it; models keep no texts.
    terms: Vec<&'a str>,
}

/// Labels by their names
#[utoipa::path(
    get, path = "/api/models/{model}/labels", tag = "labels",
    params(("model" = String, Path, description = "The name of a model"), Search),
    responses((status = 200, description = "The labels, best matches first", body = LabelList), Problems)
)]
pub(crate) async fn search(
    State(app): State<Arc<App>>,
    Place(model): Place<String>,
    Params(search): Params<Search>,
) -> Result<Response, Problem> {
    let opened = app.project(&model)?.current();
    if search.limit > MOST {
        return Err(Problem::bad(format!("limit: give a number from 0 to {MOST}")));
    }
    if search.search.as_ref().is_some_and(|wanted| wanted.chars().count() > LONGEST) {
        return Err(Problem::bad(format!("search: give {LONGEST} characters at most")));
    }
    let names = names_in(&opened, search.language.as_deref())?;
    app.call(move |_: &Task| found(&opened, &search, names.as_deref())).await?
}

/// The labels that are wanted, as an answer.
fn found(
    opened: &Opened,
    search: &Search,
    names: Option<&LabelIndex>,
) -> Result<Response, Problem> {
    let counts = opened.model().labels().counts();
    let wanted = search.search.as_deref().unwrap_or_default().trim().to_lowercase();
    let rank = |id: u32| match wanted.is_empty() {
        true => Some(0),
        false => rank(&opened.searched()[id as usize], &wanted),
    };
    let ids = 0..counts.len() as u32;
    let mut found: Vec<(u8, Reverse<u32>, u32)> =
        ids.filter_map(|id| Some((rank(id)?, Reverse(counts[id as usize]), id))).collect();
    found.sort_unstable();
    let shown = found.iter().skip(search.offset).take(search.limit);
    let labels =
        shown.map(|&(_, Reverse(count), id)| CountedLabel { label: label(id, names), count });
    json(&LabelList { total: found.len(), labels: labels.collect() })
}

/// How well lines match: as a whole, from the start, from the start of a word, within one; nothing if they
/// do not.
fn rank(lines: &str, wanted: &str) -> Option<u8> {
    let mut best = None;
    for line in lines.lines() {
        let Some(at) = line.find(wanted) else { continue };
        let starts_word = || {
            line.match_indices(wanted).any(|(at, _)| {
                line[..at].chars().next_back().is_none_or(|it| !it.is_alphanumeric())
            })
        };
        let rank = match at {
            0 if line.len() == wanted.len() => 0,
            0 => 1,
            _ if starts_word() => 2,
            _ => 3,
        };
        best = Some(best.map_or(rank, |best: u8| best.min(rank)));
    }
    best
}

/// All that is known of a label
#[utoipa::path(
    get, path = "/api/models/{model}/labels/{id}", tag = "labels",
    params(
        ("model" = String, Path, description = "The name of a model"),
        ("id" = u32, Path, description = "The number of a label"),
        InLanguage
    ),
    responses((status = 200, description = "The label", body = LabelCard), Problems)
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Place((model, id)): Place<(String, u32)>,
    Params(InLanguage { language }): Params<InLanguage>,
) -> Result<Response, Problem> {
    let opened = app.project(&model)?.current();
    let names = names_in(&opened, language.as_deref())?;
    if id as usize >= opened.labels() {
        let last = opened.labels().saturating_sub(1);
        return Err(Problem::missing(format!("there is no label {id}: ids run from 0 to {last}")));
    }
    app.call(move |_: &Task| card(&opened, id, names.as_deref())).await?
}

fn card(opened: &Opened, id: u32, names: Option<&LabelIndex>) -> Result<Response, Problem> {
    let model = opened.model();
    let labels = model.labels();
    let terms = model.label_terms(id).unwrap_or_default();
    let narrower = opened.narrower(id).take(MOST);
    let examples = model.examples(id, EXAMPLES).into_iter();
    json(&LabelCard {
        label: label(id, names),
        names: labels.names().map(|index| all_names(index, id)).unwrap_or_default(),
        broader: labels.broader(id).iter().map(|&id| label(id, names)).collect(),
        narrower: narrower.map(|id| label(id, names)).collect(),
        count: labels.counts()[id as usize],
        terms: terms.into_iter().map(|(term, weight)| Term { term, weight }).collect(),
        examples: examples.map(|(row, terms)| Example { row, terms }).collect(),
    })
}

/// The names of a label in all languages, that of the model's names first.
fn all_names(index: &LabelIndex, id: u32) -> Vec<Name<'_>> {
    let own = index.language();
    let preferred = index.name(id);
    let mut all: Vec<Name<'_>> = index
        .names(id)
        .map(|name| Name { language: own, name, preferred: preferred == Some(name) })
        .collect();
    for language in index.languages().skip(usize::from(own.is_some())) {
        // The first name of a language is the preferred one.
        let names = index.names_in(language, id).enumerate();
        let named =
            names.map(|(at, name)| Name { language: Some(language), name, preferred: at == 0 });
        all.extend(named);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_names_go_before_starts_words_and_parts() {
        let ranks =
            ["art", "arts and crafts", "modern art", "parts", "maps"].map(|it| rank(it, "art"));
        assert_eq!(ranks, [Some(0), Some(1), Some(2), Some(3), None]);
        assert_eq!(rank("parts\nart\nx", "art"), Some(0), "the best of several names");
        assert_eq!(rank("part art", "art"), Some(2), "the best place in a name");
    }
}
